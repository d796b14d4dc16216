/*
 * Responsible for answering operations: the only place that calls an operation's done.
 */
#include "session/work/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/records/error_record.h"
#include "session/work/history.h"
#include "session/work/run.h"

void answer_deliver(struct session *s, struct operation *op, struct outcome *outcome)
{
    bool was_current = s->current == op;
    struct capture nothing[2]; /* what was printed is that of the operation that runs */
    capture_init(&nothing[0]);
    capture_init(&nothing[1]);
    outcome->session = s;
    outcome->output[0] = was_current ? &s->output.streams[WORKER_STDOUT] : &nothing[0];
    outcome->output[1] = was_current ? &s->output.streams[WORKER_STDERR] : &nothing[1];
    if (was_current)
        s->current = NULL;
    list_remove(&op->node);
    if (op->number > 0)
        session_tell(s, SESSIONS_PROGRESS);
    session_tell_event(
        s, &(struct sessions_event){.kind = SESSIONS_EVENT_ENDED, .operation = op, .outcome = outcome});
    /* Operations that the callback submits wait until the code that delivers has brought the session to
     * rest. */
    s->flags.is_delivering = true;
    if (op->asked.done != NULL)
        op->asked.done(op->asked.arg, outcome);
    s->flags.is_delivering = false;
    operation_free(op);
    capture_fini(&nothing[0]);
    capture_fini(&nothing[1]);
    if (was_current)
        session_output_clear(&s->output);
}

void answer_unavailable(struct session *s, struct operation *op, const char *why)
{
    answer_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
}

void answer_fact(struct session *s, struct operation *op, const struct fact *why)
{
    char *text = session_words(s, why);
    answer_unavailable(s, op, text);
    free(text);
}

void answer_add_error(struct session *s, struct error_record *r)
{
    error_history_add(
        &s->errors, r,
        &(struct errors_in_use){.standing = s->at_error.standing, .unwound = s->at_error.unwound});
    if (r->thread != NULL || r->met > 0)
        session_tell_event(
            s, &(struct sessions_event){.kind = SESSIONS_EVENT_ERROR, .operation = s->current, .error = r});
    session_tell(s, SESSIONS_ERROR);
}

void answer_clear_error(struct session *s)
{
    if (s->errors.has_last)
        session_tell(s, SESSIONS_ERROR);
    s->errors.has_last = false;
}

void answer_error(struct session *s, struct operation *op, struct error_record *r)
{
    bool is_kept = op->asked.keeps_record;
    if (is_kept)
        answer_add_error(s, r);
    answer_deliver(s, op,
                   &(struct outcome){.kind = OUTCOME_ERROR, .error = r, .was_in_copy = op->is_in_copy});
    if (!is_kept)
        error_record_free(r);
}

void answer_error_of_entry(struct session *s, struct error_record *r)
{
    run_note_stop(s, r);
    s->current->asked.keeps_record = false;
    answer_error(s, s->current, r);
}

void answer_note_package(struct session *s, const struct sexp *reply)
{
    size_t len;
    const char *package = sexp_string(sexp_get(reply, 2, "package"), &len);
    if (package == NULL || (s->package != NULL && strcmp(package, s->package) == 0))
        return;
    free(s->package);
    s->package = xmemdup0(package, len);
}

void answer_write_journal(struct session *s, const struct operation *op, enum journal_outcome outcome,
                          const struct sexp *reply)
{
    static const enum metric metrics[] = {
        [JOURNAL_OK] = METRIC_EVALUATIONS_OK,
        [JOURNAL_ERROR] = METRIC_EVALUATIONS_ERROR,
        [JOURNAL_STOPPED] = METRIC_EVALUATIONS_STOPPED,
        [JOURNAL_DIED] = METRIC_EVALUATIONS_DIED,
    };
    if (!op->asked.keeps_record)
        return;
    session_count(s, metrics[outcome]);
    if (outcome != JOURNAL_DIED)
        s->flags.is_untried = s->flags.is_after_hooks = false;
    uint64_t next = s->numbers.evaluations + 1;
    s->numbers.evaluations = op->number > next ? op->number : next;
    s->numbers.skipped += s->numbers.evaluations - next;
    if (op->has_code) {
        struct journal_entry *e = journal_add(&s->journal, s->numbers.evaluations, s->at,
                                              strbuf_string(&op->code), op->code.len, op->package, outcome);
        history_note(s, op, e, reply);
    }
    session_tell(s, SESSIONS_STATE);
}

void answer_keep_examination(struct session *s, struct sexp_document **document)
{
    const struct operation *op = s->current;
    struct error_record *r = op->asked.is_examination ? error_history_find(&s->errors, op->sequence) : NULL;
    const struct sexp *reply = session_is_reply(*document, "ok") ? sexp_root(*document) : NULL;
    if (r == NULL || sexp_is_nil(sexp_get(reply, 2, "locals")) ||
        (r->details != NULL &&
         sexp_count(sexp_get(reply, 2, "frames")) <= sexp_count(error_record_frames(r))))
        return;
    error_history_add_details(&s->errors, r, *document);
    *document = NULL;
}

void answer_all_waiting(struct session *s, const char *why)
{
    /* Answer only the operations that wait now: one that a callback queues gets its own attempt. */
    struct list waiting;
    list_init(&waiting);
    list_each(struct operation, op, &s->queue, node) {
        list_remove(&op->node);
        list_append(&waiting, &op->node);
    }
    while (!list_is_empty(&waiting))
        answer_unavailable(s, list_entry(waiting.next, struct operation, node), why);
    if (!list_is_empty(&s->queue))
        session_later(s);
}
