/*
 * Responsible for recovery, the states from SOURCING to REPLAYING, and for the answer at its end.
 */
#include "session/recovery.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "lisp/zygotes.h"
#include "session/answer.h"
#include "session/checkpointing.h"
#include "session/copies.h"
#include "session/error_record.h"
#include "session/eviction.h"
#include "session/exit_record.h"
#include "session/history.h"
#include "session/hooks.h"
#include "session/process.h"
#include "session/run.h"
#include "session/session_core.h"

#define CHECK_MS 5000   /* for the health check */
#define REPLAY_MS 10000 /* for replaying one entry of the journal */

struct recovery {
    enum recovery_cause cause;
    struct checkpoint *source; /* borrowed: the checkpoint that the session returns to */
    uint64_t best;             /* the newest state of which a checkpoint existed at the time of the death */
    uint64_t died_at;          /* ${at} when it died */
    bool may_replay;
    size_t next; /* index into the journal */
    uint64_t replayed, replay_failed;
    struct strbuf failures;      /* of the first replayed definitions that failed, for the reader */
    struct error_record *record; /* the answer to the operation that died */
    struct child_end end;
    bool was_not_resumed;
    bool is_untried;                /* nothing has been evaluated since the return */
    bool is_after_hooks;            /* nothing has been evaluated since the hooks were called */
    char *killer;                   /* the code during which the process died last */
    char *severed;                  /* the pipes and sockets that ${source} lacks */
    struct replaced_facts replaced; /* by a restore; its ${checkpoints} are owned, as are ${not_held} */
    char *not_held;
};

struct recovery *recovery_new(void)
{
    struct recovery *r = xcalloc(1, sizeof *r);
    strbuf_init(&r->failures, 4096);
    return r;
}

static void forget_replaced(struct recovery *r)
{
    free((char *)(uintptr_t)r->replaced.checkpoints);
    free(r->not_held);
    r->replaced = (struct replaced_facts){.at = 0};
    r->not_held = NULL;
}

void recovery_free(struct recovery *r)
{
    forget_replaced(r);
    error_record_free(r->record);
    free(r->killer);
    free(r->severed);
    strbuf_fini(&r->failures);
    free(r);
}

struct checkpoint *recovery_newest(const struct session *s, uint64_t most)
{
    struct checkpoint *cp = checkpoints_newest(&s->checkpoints, most);
    while (cp != NULL && cp->evaluation > 0 && !journal_is_live(&s->journal, cp->evaluation))
        cp = checkpoints_newest(&s->checkpoints, cp->evaluation - 1);
    return cp;
}

void recovery_note_evaluation(struct session *s)
{
    s->recovery->is_untried = s->recovery->is_after_hooks = false;
}

void recovery_begin(struct session *s, enum recovery_cause cause)
{
    struct recovery *r = s->recovery;
    r->cause = cause;
    forget_replaced(r);
    s->has_hooks = false;
    if (cause != RECOVERY_ROLLBACK)
        s->has_threads = false; /* otherwise checkpointing_retire() needs it */
    r->may_replay = cause != RECOVERY_ROLLBACK && cause != RECOVERY_RESTORE;
    r->next = 0;
    r->replayed = r->replay_failed = 0;
    strbuf_clear(&r->failures);
    r->was_not_resumed = false;
    free(r->severed);
    r->severed = NULL;
    r->died_at = s->at;
    r->best = cause == RECOVERY_RESUME ? 0 : s->at;
}

void recovery_note_replaced(struct session *s, const struct replaced_facts *replaced, const char *not_held)
{
    struct recovery *r = s->recovery;
    r->replaced = *replaced;
    r->replaced.checkpoints = xstrdup(replaced->checkpoints);
    r->not_held = xstrdup(not_held);
}

static void set_source(struct session *s, struct checkpoint *cp)
{
    s->recovery->source = cp;
    s->waits_for = cp == NULL ? 0 : worker_pid(cp->worker);
    if (cp == NULL)
        return;
    cp->is_source = true;
    free(s->recovery->severed);
    s->recovery->severed = xstrdup(cp->severed);
}

/* A checkpoint was killed from outside. Its state was not damaged, so the evaluations after it are worth
 * replaying. */
static void lower_best(struct session *s)
{
    const struct checkpoint *cp = recovery_newest(s, s->recovery->died_at);
    s->recovery->best = cp == NULL ? 0 : cp->evaluation;
}

/* The first evaluation after a return has ended in a way that shows damage, and its code is not the one
 * that died before: the state itself is suspect. */
static bool is_state_suspect(struct session *s, const struct child_end *end)
{
    const struct recovery *r = s->recovery;
    const struct operation *op = s->current;
    return op != NULL && r->is_untried && !run_is_stopped(s) && op->has_code &&
           exit_record_shows_damage(s, end) &&
           (r->killer == NULL || strcmp(r->killer, strbuf_string(&op->code)) != 0);
}

static void go_back(struct session *s);

void recovery_of_death(struct session *s, struct error_record *record, const struct child_end *end,
                       uint64_t died_at)
{
    struct recovery *r = s->recovery;
    bool is_suspect = is_state_suspect(s, end);
    r->record = record;
    r->end = *end;
    r->died_at = died_at;
    if (s->current != NULL) {
        r->is_after_hooks = r->is_after_hooks && !s->current->keeps_record;
        free(r->killer);
        r->killer = xstrdup(strbuf_string(&s->current->code));
    }
    lower_best(s);
    struct checkpoint *newest = recovery_newest(s, died_at);
    if (is_suspect && newest != NULL && newest->evaluation == s->at)
        checkpoint_drop(newest);
    go_back(s);
}

static void drop_source(struct session *s)
{
    struct checkpoint *cp = s->recovery->source;
    set_source(s, NULL);
    if (cp != NULL)
        checkpoint_drop(cp);
}

static void ask_source(struct session *s)
{
    struct err err;
    struct worker_events events = process_events(s);
    session_enter_state(s, SESSION_CHECKING, CHECK_MS);
    do
        s->worker = copies_of(s->recovery->source->worker, &events, &err);
    while (s->worker == NULL && err.code == ERR_LIMIT && eviction_for_process(s));
    if (s->worker != NULL)
        return;
    log_error("%s", err.message);
    drop_source(s);
    go_back(s);
}

void recovery_go_to(struct session *s, struct checkpoint *cp)
{
    set_source(s, cp);
    s->at = cp->evaluation;
    free(s->package);
    s->package = xstrdup(cp->package);
    if (worker_state(cp->worker) == WORKER_IDLE)
        ask_source(s);
    else /* it is still answering an earlier request for a copy */
        session_enter_state(s, SESSION_SOURCING, CHECK_MS);
}

/* Return to the newest checkpoint, or to an empty session. */
static void go_back(struct session *s)
{
    worker_free(s->worker);
    s->worker = NULL;
    struct checkpoint *cp = recovery_newest(s, s->recovery->died_at);
    if (cp != NULL) {
        recovery_go_to(s, cp);
        return;
    }
    s->at = 0;
    free(s->recovery->severed);
    s->recovery->severed = NULL;
    free(s->package);
    s->package = NULL;
    process_forget(s);
    process_request(s, SESSION_RESTARTING);
}

void session_action_ask_source(struct session *s, struct event *e)
{
    (void)e;
    ask_source(s);
}

void session_action_forget_source(struct session *s, struct event *e)
{
    (void)e;
    set_source(s, NULL); /* if it has already made its copy, the copy lives without it */
}

void session_action_lose_source(struct session *s, struct event *e)
{
    set_source(s, NULL);
    if (e->end->signal == SIGKILL)
        lower_best(s);
    go_back(s);
}

/* The checkpoint cannot even make a copy. */
void session_action_drop_source(struct session *s, struct event *e)
{
    (void)e;
    drop_source(s);
    go_back(s);
}

/* The process that was returned to does not pass the health check either. */
void session_action_reject(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    session_count(s, METRIC_DEATHS);
    drop_source(s);
    if (e->kind == EVENT_GONE && e->end->signal == SIGKILL)
        lower_best(s);
    go_back(s);
}

void session_action_check(struct session *s, struct event *e)
{
    (void)e;
    process_call(s, ":probe");
}

/* Tell a process from an image where it is. */
void session_action_configure(struct session *s, struct event *e)
{
    (void)e;
    struct strbuf request;
    strbuf_init(&request, 0);
    process_is_first(s);
    zygotes_configure_request(s->host->zygotes, s->state == SESSION_RESTORING, &request);
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

/* Describe the result of the recovery. */
static void word(const struct session *s, const char *why_not_started, struct strbuf *out)
{
    const struct recovery *r = s->recovery;
    struct exit_facts exit = {.end = &r->end};
    struct recovery_facts facts = {
        .cause = r->cause,
        .name = s->current == NULL ? NULL : s->current->name,
        .replaced = r->replaced,
        .not_held = r->not_held,
        .at = s->at,
        .died_at = r->died_at,
        .best = r->best,
        .exit = &exit,
        .was_not_resumed = r->was_not_resumed,
        .suspended_since = &s->image.since,
        .idle_timeout_ms = s->host->idle_timeout_ms,
        .why_not_started = why_not_started,
        .why_not_copied = copies_why_not(s),
        .replayed = r->replayed,
        .replay_failed = r->replay_failed,
        .failures = strbuf_string((struct strbuf *)(uintptr_t)&r->failures),
        .journal = &s->journal,
        .severed = r->severed,
    };
    s->host->wording->recovery(&facts, out);
}

/* Answer the operation that asked for the return; if none did, the next reply reports it. */
static void answer(struct session *s, const char *text)
{
    struct operation *op = s->current;
    struct error_record *record = s->recovery->record;
    s->recovery->record = NULL;
    if (op != NULL && record != NULL) {
        record->session_note = xstrdup(text);
        if (op->done == NULL)
            strbuf_addf(&s->notice, "After a call that was cancelled: %s\n", text);
        answer_error(s, op, record);
        return;
    }
    error_record_free(record);
    /* Nobody asked for it, or who did has cancelled the call. */
    if (op == NULL || op->done == NULL)
        strbuf_addf(&s->notice, "%s\n", text);
    if (op != NULL)
        answer_text(s, op, text);
}

static void finish(struct session *s, const char *why_not_started)
{
    struct recovery *r = s->recovery;
    struct strbuf text;
    strbuf_init(&text, (size_t)64 << 10);
    word(s, why_not_started, &text);
    copies_refuse(s, NULL); /* that was another process */
    bool is_complete = s->at == r->died_at;
    if (r->replayed > 0)
        s->at = r->died_at; /* replayed evaluations remain part of the session's history */
    journal_settle(&s->journal, s->at);
    session_tell(s, SESSIONS_STATE);
    r->is_untried = r->cause != RECOVERY_RESTORE && r->cause != RECOVERY_ROLLBACK &&
                    !(r->cause == RECOVERY_RESUME && is_complete);
    stored_image_drop(&s->image);
    answer(s, strbuf_string(&text));
    strbuf_fini(&text);
}

/* Is this an entry that neither the restored state nor any checkpoint contains? */
static bool is_to_replay(const struct session *s, const struct journal_entry *entry)
{
    return !entry->is_undone && entry->evaluation > s->at && entry->evaluation <= s->recovery->died_at &&
           entry->outcome != JOURNAL_DIED;
}

static void replay(struct session *s, const struct journal_entry *entry)
{
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "replay");
    sexp_write_symbol(&request, "definitions");
    sexp_write_open(&request);
    history_write_definitions(&s->journal, entry, 0, &request);
    sexp_write_close(&request);
    session_enter_state(s, SESSION_REPLAYING, REPLAY_MS);
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

/* Hooks that end the process would be called for ever. */
static void call_hooks(struct session *s, bool is_new_image)
{
    struct recovery *r = s->recovery;
    bool is_asked_for = is_new_image || r->cause == RECOVERY_ROLLBACK;
    if (r->is_after_hooks && !is_asked_for) {
        hooks_leave_out(s);
        return;
    }
    r->is_after_hooks = true;
    hooks_call(s, is_new_image ? "start" : "return");
}

/* The process passed its health check. Replay the definitions that no checkpoint holds. */
static void go_on(struct session *s)
{
    struct recovery *r = s->recovery;
    while (r->may_replay && s->at == r->best && r->next < s->journal.count) {
        const struct journal_entry *entry = journal_at(&s->journal, r->next++);
        if (!is_to_replay(s, entry))
            continue;
        replay(s, entry);
        return;
    }
    bool is_new_image = r->cause == RECOVERY_RESTORE || r->cause == RECOVERY_RESUME;
    session_enter_state(s, SESSION_IDLE, 0);
    finish(s, NULL);
    call_hooks(s, is_new_image);
    if (is_new_image && s->state == SESSION_IDLE)
        checkpointing_keep_state(s);
    else
        session_look_at_queue(s);
}

void session_action_healthy(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    if (s->recovery->source != NULL)
        s->recovery->source->is_source = false;
    set_source(s, NULL);
    go_on(s);
}

void session_action_restarted(struct session *s, struct event *e)
{
    (void)e;
    process_came(s);
    go_on(s);
}

/* Count the replayed evaluations and collect their failures, for the reply. */
static void count_replayed(struct recovery *r, const struct sexp *reply, bool ok)
{
    int64_t n = sexp_integer(sexp_get(reply, 2, "evaluated"), 0);
    int64_t failed = sexp_integer(sexp_get(reply, 2, "failed"), 0);
    r->replayed += n > 0 ? (uint64_t)n : 0;
    r->replay_failed += !ok ? 1 : failed > 0 ? (uint64_t)failed : 0;
    const struct sexp *failures = sexp_get(reply, 2, "failures");
    for (size_t i = 0; i < sexp_count(failures); i++) {
        const char *text = sexp_string(sexp_nth(failures, i), NULL);
        if (text != NULL && r->failures.len + strlen(text) < 2000)
            strbuf_addf(&r->failures, "\n  failed: %s", text);
    }
}

void session_action_replayed(struct session *s, struct event *e)
{
    struct recovery *r = s->recovery;
    const struct sexp *reply = sexp_root(e->document);
    count_replayed(r, reply, session_is_reply(e->document, "ok"));
    answer_note_package(s, reply);
    struct journal_entry *entry = r->next == 0 ? NULL : journal_at(&s->journal, r->next - 1);
    uint64_t dropped = s->journal.dropped;
    if (entry != NULL)
        history_note_replayed(&s->journal, entry, reply);
    r->next -= s->journal.dropped - dropped; /* only entries before ${entry} can have been dropped */
    sexp_document_free(e->document);
    go_on(s);
}

/* The replayed code killed the process, so the state itself is not at fault. */
void session_action_stop_replay(struct session *s, struct event *e)
{
    session_count(s, METRIC_DEATHS);
    s->recovery->may_replay = false;
    s->recovery->replayed = s->recovery->replay_failed = 0;
    strbuf_clear(&s->recovery->failures);
    if (e->kind == EVENT_GONE && e->end->signal == SIGKILL)
        lower_best(s);
    go_back(s);
}

/* The image of a suspended session does not start: its state is lost. */
void session_action_fail_resume(struct session *s, struct event *e)
{
    sexp_document_free(e->document);
    session_count(s, METRIC_DEATHS);
    s->recovery->was_not_resumed = true;
    go_back(s);
}

/* No process can be started. */
void session_action_abandon(struct session *s, struct event *e)
{
    (void)e;
    char *why = s->why != NULL ? s->why : xstrdup("The Lisp could not be started.");
    s->why = NULL;
    process_forget(s);
    finish(s, why);
    answer_all_waiting(s, why);
    free(why);
}
