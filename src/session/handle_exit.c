/*
 * Responsible for the unexpected end of a session's process: it makes the error record and starts the
 * recovery (recovery.c).
 */
#include "base/memory.h"
#include "session/answer.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/exit_record.h"
#include "session/programs.h"
#include "session/recovery.h"
#include "session/run.h"
#include "session/session_core.h"
#include "session/standing.h"

/* The error record that answers the operation that ran. */
static struct error_record *record_of(struct session *s, const struct child_end *end)
{
    struct error_record *r = exit_record_new(s, end);
    if (run_is_stopped(s) && s->state == SESSION_KILLING)
        run_word_stop(s, r, true);
    return r;
}

/* The operation waited behind a request for a copy that the process had not answered, or the process had
 * ended before the operation was sent. */
static bool has_not_begun(const struct session *s)
{
    return s->current != NULL && !run_is_stopped(s) &&
           (s->state == SESSION_RUNNING || s->state == SESSION_KILLING) &&
           (!worker_has_begun(s->worker) || worker_has_missed(s->worker));
}

static enum recovery_cause cause_of(const struct session *s, bool was_put_back)
{
    bool is_between = s->state == SESSION_IDLE || s->state == SESSION_STANDING ||
                      s->state == SESSION_CHECKPOINTING || was_put_back;
    return s->current != NULL ? RECOVERY_OF_CALL : is_between ? RECOVERY_BETWEEN : RECOVERY_OF_UNWINDING;
}

/* The process ended while an error was entered: only the entry is lost. */
static void answer_entry(struct session *s, struct error_record *r)
{
    const struct error_record *standing = s->standing;
    struct strbuf note;
    strbuf_init(&note, 0);
    strbuf_adds(&note,
                "It died in an entry to the error: the session and the error are as they were before.");
    if (standing->severed != NULL)
        strbuf_addf(&note, " Open before and closed now: %s.", standing->severed);
    r->session_note = strbuf_steal(&note, NULL);
    answer_write_journal(s, s->current, JOURNAL_DIED, NULL);
    answer_error(s, s->current, r);
    standing_resume(s);
}

/* The looks, copies and programs that the process had started end with it. */
static void end_what_it_began(struct session *s)
{
    programs_end(s);
    copies_drop_ahead(s);
    if (s->checkpoints.making != NULL)
        checkpoint_drop(s->checkpoints.making);
    struct error_record *r = error_history_being_frozen(&s->errors);
    if (r != NULL) { /* its answer, without which nobody knows whether the copy is one, does not come */
        r->is_being_frozen = false;
        error_record_drop_copy(r, "The process ended while it was copied there.");
    }
}

/* Continue from the newest state. */
static void recover(struct session *s, struct error_record *r, const struct child_end *end)
{
    uint64_t died_at = s->at;
    if (s->current != NULL)
        answer_write_journal(s, s->current, JOURNAL_DIED, NULL);
    session_forget_standing(s);
    s->failed = NULL;
    s->unwound = NULL;
    recovery_of_death(s, r, end, died_at);
}

void session_action_handle_exit(struct session *s, struct event *e)
{
    session_count(s, METRIC_DEATHS);
    end_what_it_began(s);
    bool is_put_back = has_not_begun(s);
    if (is_put_back)
        run_put_back(s);
    recovery_begin(s, cause_of(s, is_put_back));
    struct error_record *r = s->current == NULL ? NULL : record_of(s, e->end);
    if (standing_recover(s))
        answer_entry(s, r);
    else
        recover(s, r, e->end);
}
