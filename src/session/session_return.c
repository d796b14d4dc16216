/*
 * Returning: after a death, by request, or from a file. A copy of a checkpoint, or a saved image, becomes the
 * process when it has shown that it lives; definitions that no checkpoint held are evaluated again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "session/saved.h"
#include "session/session_internal.h"

#define CHECK_MS 5000   /* for the process that was returned to to show that it lives */
#define START_MS 20000  /* for a saved image to start */
#define REPLAY_MS 10000 /* for evaluating one entry of the journal again */
#define UNDONE_SHOWN 10

static void return_to(struct session *s, struct checkpoint *cp);

struct checkpoint *session_newest_checkpoint(const struct session *s, uint64_t most)
{
    struct checkpoint *cp = checkpoints_newest(&s->checkpoints, most);
    while (cp != NULL && cp->evaluation > 0 && !journal_is_live(&s->journal, cp->evaluation))
        cp = checkpoints_newest(&s->checkpoints, cp->evaluation - 1);
    return cp;
}

/* A checkpoint was killed from outside: its state was no worse than the others, so that what came after them
 * is worth evaluating again. */
void session_lower_best(struct session *s)
{
    const struct checkpoint *cp = session_newest_checkpoint(s, s->died_at);
    s->best = cp == NULL ? 0 : cp->evaluation;
}

/* An operation that nobody waits for leaves its failure to the next reply. */
static void refuse(struct session *s, struct operation *op, const char *why)
{
    if (op->done == NULL)
        strbuf_addf(&s->notice, "%s\n", why);
    session_deliver(s, op, &(struct outcome){.kind = OUTCOME_UNAVAILABLE, .why = why});
}

void session_begin_return(struct session *s, bool may_replay)
{
    s->is_returning = true;
    s->may_replay = may_replay;
    s->replay_next = s->replayed = s->replay_failed = 0;
    s->died_at = s->at;
    strbuf_clear(&s->return_text);
}

/* Nothing is given up before the save has been found good; whether its image lives is seen when it is tried.
 */
void session_perform_restore(struct session *s, struct operation *op)
{
    struct err err;
    struct saved saved;
    struct journal journal;
    journal_init(&journal);
    err_set(&err, ERR_INVALID, "Sessions cannot be restored: no directory for it (--state-dir).");
    if (s->all->store == NULL ||
        !saved_find(s->all->store, op->name, zygotes_lisp(s->host->zygotes), &saved, &journal, &err)) {
        s->is_unrestored = err.code != ERR_NOT_FOUND;
        refuse(s, op, err.message);
        return;
    }
    s->is_unrestored = false;
    session_clear(s);
    s->journal = journal;
    s->at = s->evaluations = saved.evaluations;
    s->package = xstrdup(saved.package);
    struct worker_events events = session_process_events(s);
    s->heap_mib = limits_int(&s->limits, LIMIT_MAX_HEAP);
    s->worker = zygotes_start_image(s->host->zygotes, s->heap_mib, &s->all->processes, saved.image, NULL,
                                    &events, &err);
    saved_fini(&saved);
    if (s->worker == NULL) {
        refuse(s, op, err.message);
        return;
    }
    session_take_up(s, op);
    s->is_restoring = true;
    session_begin_return(s, false);
    s->best = s->at;
    session_enter_state(s, SESSION_CHECKING, START_MS);
}

/* The image of a saved session did not come to life: an empty session is left. */
void session_restore_failed(struct session *s)
{
    struct operation *op = s->current;
    char name[80];
    snprintf(name, sizeof name, "%.79s", op->name);
    s->is_restoring = s->is_returning = false;
    session_clear(s);
    s->is_unrestored = true;
    char why[256];
    snprintf(why, sizeof why,
             "The saved session %s could not be started: its image was perhaps written by another SBCL. The "
             "session is empty now.",
             name);
    refuse(s, op, why);
    session_proceed(s);
}

/* The state ${n} evaluations ago; those that were undone do not count. */
static uint64_t evaluations_back(const struct session *s, uint64_t n)
{
    for (size_t i = s->journal.count; i > 0; i--) {
        const struct journal_entry *entry = journal_at(&s->journal, i - 1);
        if (entry->evaluation > s->at || entry->is_undone || entry->outcome == JOURNAL_DIED)
            continue;
        if (n == 0)
            return entry->evaluation;
        n--;
    }
    return 0;
}

/* Where a roll-back is to go: a name, or -N: N evaluations back. */
static struct checkpoint *rollback_target(struct session *s, const char *to)
{
    struct checkpoint *cp = checkpoints_named(&s->checkpoints, to);
    char *end;
    long n = strtol(to, &end, 10);
    if (cp == NULL && *end == '\0' && end != to && n < 0)
        cp = session_newest_checkpoint(s, evaluations_back(s, (uint64_t)-n));
    else if (cp == NULL && *end == '\0' && end != to && n >= 0) {
        cp = checkpoints_newest(&s->checkpoints, (uint64_t)n);
        if (cp != NULL && cp->evaluation != (uint64_t)n)
            cp = NULL;
    }
    return cp;
}

void session_perform_rollback(struct session *s, struct operation *op)
{
    session_thin_checkpoints(s);
    struct checkpoint *cp = rollback_target(s, op->name);
    if (cp == NULL) {
        session_deliver(
            s, op,
            &(struct outcome){.kind = OUTCOME_UNAVAILABLE,
                              .why = "There is no such checkpoint; list-checkpoints shows which there are."});
        return;
    }
    session_take_up(s, op);
    s->was_idle = false;
    session_begin_return(s, false);
    s->best = s->at;
    session_retire(s);
    return_to(s, cp);
}

void session_ask_source(struct session *s)
{
    struct err err;
    struct worker_events events = session_process_events(s);
    s->worker = session_fork_from(s->source->worker, &events, &err);
    if (s->worker == NULL) {
        log_error("%s", err.message);
        s->source = NULL;
        session_go_back(s);
    }
}

static void return_to(struct session *s, struct checkpoint *cp)
{
    s->source = cp;
    s->at = cp->evaluation;
    free(s->package);
    s->package = xstrdup(cp->package);
    session_enter_state(s, SESSION_CHECKING, CHECK_MS);
    if (worker_state(cp->worker) == WORKER_IDLE)
        session_ask_source(s);
    /* else its answer about the copy before is on the way */
}

/* The process is gone or useless: to the newest checkpoint there is, or to the beginning. */
void session_go_back(struct session *s)
{
    worker_free(s->worker);
    s->worker = NULL;
    struct checkpoint *cp = session_newest_checkpoint(s, s->died_at);
    if (cp != NULL) {
        return_to(s, cp);
        return;
    }
    s->at = 0;
    free(s->package);
    s->package = NULL;
    session_forget_process(s);
    session_request_process(s);
}

void session_action_check(struct session *s, struct event *e)
{
    (void)e;
    struct strbuf request;
    strbuf_init(&request, 0);
    if (s->is_restoring || s->is_waking)
        zygotes_configure_request(s->host->zygotes, s->is_restoring, &request);
    else
        sexp_write_symbol(&request, "probe");
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

void session_action_healthy(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    s->source = NULL;
    session_enter_state(s, SESSION_IDLE, 0);
    session_returned(s);
}

/* Is this entry one that the state returned to does not hold and that no checkpoint ever held? */
static bool is_to_replay(const struct session *s, const struct journal_entry *entry)
{
    return !entry->is_undone && entry->evaluation > s->at && entry->evaluation <= s->died_at &&
           (entry->outcome == JOURNAL_OK || entry->outcome == JOURNAL_ERROR);
}

/* The process lives. What no checkpoint held is evaluated again, as far as it defines something. */
void session_returned(struct session *s)
{
    bool is_best = s->at == s->best || (s->best == 0 && s->at == 0);
    while (s->may_replay && is_best && s->replay_next < s->journal.count) {
        const struct journal_entry *entry = journal_at(&s->journal, s->replay_next++);
        if (!is_to_replay(s, entry))
            continue;
        struct strbuf request;
        strbuf_init(&request, 0);
        sexp_write_symbol(&request, "replay");
        sexp_write_symbol(&request, "code");
        sexp_write_string(&request, entry->code, entry->code_len);
        sexp_write_symbol(&request, "package");
        sexp_write_string(&request, entry->package, strlen(entry->package));
        sexp_write_symbol(&request, "evaluation");
        sexp_write_integer(&request, (int64_t)entry->evaluation);
        session_enter_state(s, SESSION_REPLAYING, REPLAY_MS);
        worker_call(s->worker, &request, NULL, 0);
        strbuf_fini(&request);
        return;
    }
    bool was_restored = s->is_restoring || s->is_waking;
    session_finish_recovery(s);
    if (was_restored && s->state == SESSION_IDLE)
        session_keep_state(s);
    else
        session_proceed(s);
}

void session_action_replayed(struct session *s, struct event *e)
{
    const struct sexp *reply = sexp_root(e->document);
    int64_t n = sexp_integer(sexp_get(reply, 2, "evaluated"), 0);
    s->replayed += n > 0 ? (size_t)n : 0;
    int64_t failed = sexp_integer(sexp_get(reply, 2, "failed"), 0);
    s->replay_failed += !session_is_reply(e->document, "ok") ? 1 : failed > 0 ? (size_t)failed : 0;
    session_remember_package(s, reply);
    sexp_document_free(e->document);
    session_enter_state(s, SESSION_IDLE, 0);
    session_returned(s);
}

static bool is_undone_now(const struct session *s, const struct journal_entry *entry)
{
    return entry->evaluation > s->at && entry->evaluation <= s->died_at && !entry->is_undone &&
           entry->outcome != JOURNAL_DIED;
}

/* The newest are told; the older ones counted. */
static void add_undone(struct session *s, struct strbuf *out, const char *heading)
{
    size_t left = 0;
    for (size_t i = 0; i < s->journal.count; i++)
        left += is_undone_now(s, journal_at(&s->journal, i));
    if (left == 0)
        return;
    strbuf_adds(out, heading);
    if (left > UNDONE_SHOWN)
        strbuf_addf(out, "\n  %zu earlier ones, and", left - UNDONE_SHOWN);
    for (size_t i = 0; i < s->journal.count; i++) {
        const struct journal_entry *entry = journal_at(&s->journal, i);
        if (!is_undone_now(s, entry) || left-- > UNDONE_SHOWN)
            continue;
        size_t line = strcspn(entry->code, "\n");
        size_t shown = utf8_floor(entry->code, line, line > 120 ? 120 : line);
        strbuf_addf(out, "\n  %llu: %.*s%s", (unsigned long long)entry->evaluation, (int)shown, entry->code,
                    entry->code[shown] != '\0' ? " ..." : "");
    }
}

/* Say what the return came to, and answer the operation that died. */
void session_finish_recovery(struct session *s)
{
    struct strbuf *out = &s->return_text;
    struct operation *op = s->current;
    char why[512];
    snprintf(why, sizeof why, "%s", s->why_no_checkpoint == NULL ? "" : s->why_no_checkpoint);
    size_t why_len = strlen(why);
    if (why_len > 0 && why[why_len - 1] == '.')
        why[why_len - 1] = '\0'; /* it stands in parentheses */
    bool is_complete = s->at == s->died_at;
    bool was_damaged = s->at < s->best;
    if (op != NULL && op->kind == OPERATION_RESTORE)
        strbuf_addf(out, "Restored session %s, the state after evaluation %llu.", op->name,
                    (unsigned long long)s->at);
    else if (op != NULL && op->kind == OPERATION_ROLLBACK)
        strbuf_addf(out, "Returned to the state after evaluation %llu.", (unsigned long long)s->at);
    else if (is_complete && s->is_waking)
        session_say_awake(s, out);
    else if (is_complete)
        strbuf_addf(
            out, "The session goes on from the state before %s: definitions and variables are as they were.",
            s->was_idle ? "that" : "this evaluation");
    else if (was_damaged)
        strbuf_addf(out,
                    "The states after that did not live, so the session goes on from the state after "
                    "evaluation %llu.",
                    (unsigned long long)s->at);
    else if (s->at > 0)
        strbuf_addf(out,
                    "The session goes on from its last checkpoint, the state after evaluation %llu%s%s%s.",
                    (unsigned long long)s->at, why_len == 0 ? "" : " (later ones could not be made: ", why,
                    why_len == 0 ? "" : ")");
    else
        strbuf_addf(out, "The session goes on in a fresh Lisp%s%s%s.",
                    why_len == 0 ? "" : ", because no checkpoint could be made (", why,
                    why_len == 0 ? "" : ")");
    if (s->replayed > 0 || s->replay_failed > 0) {
        strbuf_adds(out, " From the journal ");
        text_add_count(out, s->replayed, "definition");
        strbuf_adds(out, s->replayed == 1 ? " was evaluated again" : " were evaluated again");
        if (s->replay_failed > 0)
            strbuf_addf(out, ", %zu of them failed", s->replay_failed);
        strbuf_adds(out, "; what other forms had done is lost.");
    }
    if (!is_complete)
        add_undone(s, out, s->replayed > 0 ? "\nEvaluated since that state:" : "\nUndone:");
    if (s->replayed > 0)
        s->at = s->died_at; /* what was evaluated again is the session's history still */
    journal_settle(&s->journal, s->at);
    session_tell(s, SESSIONS_STATE);
    bool was_restored = s->is_restoring;
    s->is_untried = !was_restored && !(s->is_waking && is_complete);
    s->is_returning = s->is_restoring = false;
    session_forget_image(s);
    struct error_record *r = s->exit_record;
    s->exit_record = NULL;
    if (op != NULL && was_restored) {
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK, .text = strbuf_string(out)});
    } else if (op != NULL && op->kind == OPERATION_ROLLBACK) {
        s->is_untried = false;
        session_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK, .text = strbuf_string(out)});
    } else if (op != NULL && r != NULL) {
        r->session_note = xstrdup(strbuf_string(out));
        if (op->done == NULL)
            strbuf_addf(&s->notice, "After a call that was cancelled: %s\n", strbuf_string(out));
        session_deliver_error(s, op, r);
    } else {
        error_record_free(r);
        strbuf_add(&s->notice, out->bytes, out->len);
        strbuf_addc(&s->notice, '\n');
    }
    strbuf_clear(out);
}
