/*
 * Responsible for the unexpected end of a session's process, or of the connection to it: it makes the error
 * record, and the session becomes its newest snapshot (becoming.c).
 */
#include <stdlib.h>

#include "session/core/core.h"
#include "session/errors/exit_record.h"
#include "session/errors/scratch.h"
#include "session/life/becoming.h"
#include "session/process/joined.h"
#include "session/process/process.h"
#include "session/records/error_record.h"
#include "session/work/answer.h"
#include "session/work/run.h"

/* The process had ended before the operation was sent; one that has met an error had begun. */
static bool has_not_begun(const struct session *s)
{
    return s->current != NULL && s->current->errors_met == 0 && !run_is_stopped(s) &&
           (s->state == SESSION_RUNNING || s->state == SESSION_KILLING) && worker_has_missed(s->worker);
}

static enum start_cause cause_of(const struct session *s, bool was_put_back)
{
    const struct error_record *r = s->at_error.standing;
    bool is_between = s->state == SESSION_IDLE || s->state == SESSION_STANDING || s->state == SESSION_COPYING;
    if (s->current != NULL)
        return r != NULL && r->snapshot != NULL ? START_DEATH_IN_ENTRY : START_DEATH_IN_CALL;
    return is_between || was_put_back ? START_DEATH_BETWEEN : START_DEATH_IN_UNWINDING;
}

/* The programs and the copy that the process had started end with it: without its answer it is unknown
 * whether the copy is one. */
static void end_what_it_began(struct session *s)
{
    process_end_programs(s);
    if (s->snapshots.making != NULL)
        snapshot_drop(s->snapshots.making, FACT_ENDED_IN_COPYING);
}

static struct error_record *record_of_loss(struct session *s, const struct fact *loss)
{
    char *text = session_words(s, loss);
    struct error_record *r = error_record_make("CONNECTION-LOST", text, NULL);
    free(text);
    r->session = s;
    error_record_cannot_be_entered(r, FACT_IMAGE_LEFT, NULL);
    if (s->state == SESSION_KILLING)
        run_note_stop(s, r);
    return r;
}

/* An image that was joined continues without the session. The next operation joins it again. */
static void lose_image(struct session *s, const char *why)
{
    struct operation *op = s->current;
    struct fact loss = joined_lose(s, why);
    struct error_record *r = op == NULL ? NULL : record_of_loss(s, &loss);
    process_forget(s);
    if (op != NULL) {
        answer_write_journal(s, op, JOURNAL_DIED, NULL);
        s->at = s->numbers.evaluations;
        answer_error(s, op, r);
    }
    session_later(s);
}

void session_action_die(struct session *s, struct event *e)
{
    if (s->scratch != NULL) {
        scratch_end(s, e->end);
        return;
    }
    if (s->becoming.is_under_way) {
        session_action_lose(s, e);
        return;
    }
    if (s->place.joined.address != NULL) {
        lose_image(s, e->end->why);
        return;
    }
    session_count(s, METRIC_DEATHS);
    end_what_it_began(s);
    bool is_put_back = has_not_begun(s);
    if (is_put_back)
        s->current = NULL; /* it is at the head of the queue again */
    enum start_cause cause = cause_of(s, is_put_back);
    struct error_record *r = s->current == NULL ? NULL : exit_record_new(s, e->end);
    session_tell_event(s, &(struct sessions_event){.kind = SESSIONS_EVENT_DIED,
                                                   .operation = s->current,
                                                   .text = r == NULL ? NULL : r->message});
    if (s->current != NULL)
        answer_write_journal(s, s->current, JOURNAL_DIED, NULL);
    s->at_error.unwound = NULL;
    becoming_survivor(s, cause, r, e->end);
}
