/*
 * Responsible for the start of a session's process, the states STARTING, CHECKING and REPLAYING, and for the
 * answer at its end.
 */
#include "session/life/becoming.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "lisp/zygotes.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/errors/exit_record.h"
#include "session/errors/standing.h"
#include "session/process/hooks.h"
#include "session/process/process.h"
#include "session/records/error_record.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/history.h"
#include "session/work/run.h"

#define CHECK_MS 5000     /* for a copy of a snapshot to start, and for its health check */
#define IMAGE_MS 20000    /* the same for an image */
#define REPLAY_MS 10000   /* for replaying one entry of the journal */
#define MOST_IDLE_ENDS 10 /* of processes that returned to a state and were asked for nothing */

struct snapshot *becoming_newest(const struct session *s, uint64_t most)
{
    struct snapshot *sn = snapshots_newest(&s->snapshots, most);
    while (sn != NULL && sn->evaluation > 0 && !journal_is_live(&s->journal, sn->evaluation))
        sn = snapshots_newest(&s->snapshots, sn->evaluation - 1);
    return sn;
}

/* Start from the current state. */
static void begin(struct session *s, enum start_cause cause)
{
    struct becoming *b = &s->becoming;
    b->is_under_way = true;
    b->facts = (struct start_facts){.cause = cause,
                                    .had_threads = s->flags.has_threads,
                                    .died_at = s->at,
                                    .best = cause == START_RESUME ? 0 : s->at};
    xstrset(&b->replaced, NULL);
    xstrset(&b->not_held, NULL);
    xstrset(&b->severed, NULL);
    strbuf_clear(&b->failures);
    s->flags.has_hooks = false;
    if (cause != START_ROLLBACK)
        s->flags.has_threads = false; /* otherwise checkpointing_retire() needs it */
    b->may_replay = cause != START_ROLLBACK && cause != START_RESTORE;
    b->next = 0;
}

/* A snapshot was killed from outside. Its state was not damaged, so the evaluations after it are worth
 * replaying. */
static void lower_best(struct session *s)
{
    const struct snapshot *sn = becoming_newest(s, s->becoming.facts.died_at);
    s->becoming.facts.best = sn == NULL ? 0 : sn->evaluation;
}

/* Ask ${sn} for a copy. False if it cannot even be asked. */
static bool start_copy(struct session *s, struct snapshot *sn)
{
    struct err err;
    struct worker_events events = process_events(s);
    s->becoming.origin = FROM_SNAPSHOT;
    xstrset(&s->becoming.severed, sn->severed);
    s->becoming.is_in_error = sn->is_in_error;
    s->at = sn->evaluation;
    xstrset(&s->package, sn->package);
    s->snapshots.source = sn;
    s->snapshots.was_source_killed = false;
    session_enter_state(s, SESSION_STARTING, cpu_grace_stretched(CHECK_MS));
    s->worker = copies_of(s, sn->worker, &events, eviction_for_process, &err);
    if (s->worker == NULL)
        log_error("%s", err.message);
    return s->worker != NULL;
}

static void drop_source(struct session *s, enum fact_kind why)
{
    if (s->snapshots.source != NULL)
        snapshot_drop(s->snapshots.source, why);
}

/* Become the newest snapshot, or a fresh process. */
static void go_back(struct session *s)
{
    struct snapshot *sn;
    worker_free(s->worker);
    s->worker = NULL;
    if (s->becoming.facts.cause == START_DEATH_IN_ENTRY) /* the error is lost, too */
        s->becoming.facts.cause = START_DEATH_IN_CALL;
    session_lose_standing(s);
    while ((sn = becoming_newest(s, s->becoming.facts.died_at)) != NULL) {
        if (start_copy(s, sn))
            return;
        drop_source(s, FACT_COPY_SILENT);
    }
    s->becoming.origin = FROM_ZYGOTE;
    s->at = 0;
    xstrset(&s->becoming.severed, NULL);
    xstrset(&s->package, NULL);
    process_forget(s);
    process_request(s);
}

void becoming_fresh(struct session *s)
{
    begin(s, START_NEW);
    s->becoming.origin = FROM_ZYGOTE;
    process_request(s);
}

void becoming_branch(struct session *s)
{
    begin(s, START_NEW);
    s->becoming.origin = FROM_SESSION;
    session_enter_state(s, SESSION_STARTING, 0);
}

void becoming_snapshot(struct session *s, struct snapshot *sn)
{
    begin(s, START_ROLLBACK);
    s->becoming.facts.wanted = sn->evaluation;
    s->snapshots.source = sn; /* the current process may be a later version of the same state */
    checkpointing_retire(s);
    if (start_copy(s, sn))
        return;
    drop_source(s, FACT_COPY_SILENT);
    go_back(s);
}

void becoming_image(struct session *s, enum start_cause cause)
{
    begin(s, cause);
    s->becoming.origin = FROM_IMAGE;
    s->next = cause == START_RESTORE ? STEP_restore_lost : STEP_NONE;
    session_enter_state(s, SESSION_STARTING, cpu_grace_stretched(IMAGE_MS));
}

/* Processes in this state never last: otherwise the session would return to it for ever. */
static bool is_state_lost(struct session *s)
{
    bool is_another = s->current == NULL && s->flags.is_untried;
    s->becoming.idle_ends = is_another ? s->becoming.idle_ends + 1 : 0;
    return s->becoming.idle_ends >= MOST_IDLE_ENDS;
}

/* The first evaluation after a return has ended in a way that shows damage, and its code is not the one
 * that died before: the state itself is suspect. */
static bool is_state_suspect(struct session *s, const struct child_end *end)
{
    const struct becoming *b = &s->becoming;
    const struct operation *op = s->current;
    return op != NULL && s->flags.is_untried && !run_is_stopped(s) && op->has_code &&
           exit_record_shows_damage(s, end) &&
           (b->killer == NULL || strcmp(b->killer, strbuf_string(&op->code)) != 0);
}

void becoming_survivor(struct session *s, enum start_cause cause, struct error_record *record,
                       const struct child_end *end)
{
    struct becoming *b = &s->becoming;
    bool is_lost = is_state_lost(s), is_suspect = is_state_suspect(s, end);
    bool was_killed_from_outside = end->signal == SIGKILL && s->state != SESSION_KILLING;
    bool ends_in_cleanup = cause == START_DEATH_IN_UNWINDING && !was_killed_from_outside;
    begin(s, cause);
    b->may_replay = b->may_replay && !is_lost;
    b->record = record;
    b->end = *end;
    if (s->current != NULL) {
        s->flags.is_after_hooks = s->flags.is_after_hooks && !s->current->asked.keeps_record;
        xstrset(&b->killer, strbuf_string(&s->current->code));
    }
    lower_best(s);
    struct snapshot *newest = becoming_newest(s, b->facts.died_at);
    if (newest != NULL && (is_lost || (is_suspect && newest->evaluation == s->at)))
        snapshot_drop(newest, FACT_DAMAGED);
    else if (newest != NULL && ends_in_cleanup && newest->is_in_error && newest->evaluation == s->at) {
        snapshot_set_aside(newest); /* its copies would end in the same cleanup forms */
        lower_best(s);              /* it is not damaged */
        b->may_replay = false;
    }
    worker_free(s->worker);
    s->worker = NULL;
    if (cause != START_DEATH_IN_ENTRY || !start_copy(s, s->at_error.standing->snapshot))
        go_back(s);
}

static void request_check(struct session *s)
{
    const struct becoming *b = &s->becoming;
    if (b->origin == FROM_SNAPSHOT) {
        process_call(s, ":probe");
        return;
    }
    /* Tell a process from an image where it is, and any other that it is not in the server's directory. */
    struct strbuf request = {0};
    process_is_first(s);
    zygote_configure_request(zygotes_own(s->host->options.zygotes),
                             b->origin == FROM_ZYGOTE || b->facts.cause == START_RESTORE, s->place.directory,
                             &request);
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

static void continue_(struct session *s);

void session_action_check(struct session *s, struct event *e)
{
    if (s->becoming.origin == FROM_ZYGOTE) {
        process_came(s);
        if (s->place.directory == NULL || s->place.joined.address != NULL) {
            continue_(s);
            return;
        }
    }
    session_enter_state(s, SESSION_CHECKING,
                        cpu_grace_stretched(s->becoming.origin == FROM_IMAGE ? IMAGE_MS : CHECK_MS));
    request_check(s);
}

/* The zygote's copy ended before it was ready, or sends no hello: then its end follows. */
static void lose_fresh(struct session *s, struct event *e)
{
    if (e->kind == EVENT_DEADLINE)
        worker_kill(s->worker);
    else if (!process_request_again(s))
        session_action_give_up(s, e);
}

/* Without its copy of another session's process the new session is nothing. The other session's answer gives
 * the reason, if it has not come yet; or it came just before, and the next turn acts on it. */
static void lose_branch(struct session *s, struct event *e)
{
    if (s->process.branch != NULL || s->why != NULL)
        return;
    xstrset(&s->why, session_sentence(s, FACT_NOT_READY));
    session_action_give_up(s, e);
}

/* The cleanup forms of the error that it stands in end each copy. The error can still be entered, and what
 * was evaluated before it is worth replaying. */
static void set_source_aside(struct session *s)
{
    if (s->snapshots.source != NULL)
        snapshot_set_aside(s->snapshots.source);
    lower_best(s);
}

void session_action_lose(struct session *s, struct event *e)
{
    struct becoming *b = &s->becoming;
    sexp_document_free(e->document);
    if (b->origin == FROM_ZYGOTE) {
        lose_fresh(s, e);
        return;
    }
    if (b->origin == FROM_SESSION) {
        lose_branch(s, e);
        return;
    }
    session_count(s, METRIC_DEATHS);
    if (b->facts.cause == START_RESTORE) {
        b->is_under_way = false;
        session_take_step(s);
        return;
    }
    b->facts.was_not_resumed = b->facts.was_not_resumed || b->origin == FROM_IMAGE;
    if (s->state == SESSION_UNWINDING || s->state == SESSION_KILLING)
        set_source_aside(s);
    drop_source(s, FACT_COPY_ENDED);
    if (s->snapshots.was_source_killed || (e->end != NULL && e->end->signal == SIGKILL))
        lower_best(s);
    go_back(s);
}

/* Describe the result. */
static void word(const struct session *s, const char *why_not_started, struct strbuf *out)
{
    const struct becoming *b = &s->becoming;
    struct exit_facts exit = {.end = &b->end};
    struct start_facts facts = b->facts;
    facts.name = s->current == NULL ? NULL : s->current->name;
    facts.replaced.checkpoints = b->replaced;
    facts.not_held = b->not_held;
    facts.at = s->at;
    facts.exit = &exit;
    facts.suspended_since = &s->suspension.image.since;
    facts.idle_timeout_ms = s->host->options.idle_timeout_ms;
    facts.why_not_started = why_not_started;
    facts.why_not_copied = s->copies.why_not;
    facts.failures = strbuf_string((struct strbuf *)(uintptr_t)&b->failures);
    facts.journal = &s->journal;
    facts.severed = b->severed;
    s->host->options.wording->start(&facts, out);
}

/* Answer the operation that asked for the return; if none did, the next reply reports it. */
static void answer(struct session *s, const char *text)
{
    struct operation *op = s->current;
    struct error_record *record = s->becoming.record;
    s->becoming.record = NULL;
    if (op != NULL && record != NULL) {
        record->session_note = xstrdup(text);
        if (op->asked.done == NULL)
            session_notify(s, FACT(FACT_AFTER_CANCELLED, .texts = {text}));
        answer_error(s, op, record);
        return;
    }
    error_record_free(record);
    /* No call asked for it, or its call was cancelled. */
    if (op == NULL || op->asked.done == NULL)
        session_notify(s, FACT(FACT_TEXT, .texts = {text}));
    if (op != NULL)
        answer_deliver(s, op, &(struct outcome){.kind = OUTCOME_OK, .text = text});
}

static void finish(struct session *s, const char *why_not_started)
{
    struct becoming *b = &s->becoming;
    b->is_under_way = false;
    if (b->facts.cause == START_NEW)
        return;
    struct strbuf text = {.limit = (size_t)64 << 10};
    word(s, why_not_started, &text);
    xstrset(&s->copies.why_not, NULL); /* that was another process */
    bool is_complete = s->at == b->facts.died_at;
    if (b->facts.replayed > 0)
        s->at = b->facts.died_at; /* replayed evaluations remain part of the session's history */
    journal_settle(&s->journal, s->at);
    session_tell(s, SESSIONS_STATE);
    s->flags.is_untried = b->facts.cause != START_RESTORE && b->facts.cause != START_ROLLBACK &&
                          b->facts.cause != START_DEATH_IN_ENTRY &&
                          !(b->facts.cause == START_RESUME && is_complete);
    stored_image_drop(&s->suspension.image);
    session_tell_event(s, &(struct sessions_event){.kind = SESSIONS_EVENT_BECAME,
                                                   .operation = s->current,
                                                   .cause = b->facts.cause,
                                                   .text = strbuf_string(&text)});
    answer(s, strbuf_string(&text));
    strbuf_fini(&text);
}

/* Is this an entry that neither the restored state nor any snapshot contains? */
static bool is_to_replay(const struct session *s, const struct journal_entry *entry)
{
    return !entry->is_undone && entry->evaluation > s->at && entry->evaluation <= s->becoming.facts.died_at &&
           entry->outcome != JOURNAL_DIED;
}

static void replay(struct session *s, const struct journal_entry *entry)
{
    struct strbuf request = {0};
    strbuf_adds(&request, ":replay :definitions (");
    history_write_definitions(&s->journal, entry, 0, &request);
    strbuf_addc(&request, ')');
    session_enter_state(s, SESSION_REPLAYING, REPLAY_MS);
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

/* Hooks that end the process would be called for ever. */
static void call_hooks(struct session *s, bool is_new_image)
{
    struct becoming *b = &s->becoming;
    bool is_asked_for = is_new_image || b->facts.cause == START_ROLLBACK;
    if (s->flags.is_after_hooks && !is_asked_for) {
        hooks_leave_out(s);
        return;
    }
    s->flags.is_after_hooks = true;
    hooks_call(s, is_new_image);
}

/* The process is usable. Replay the definitions that no snapshot holds. */
static void continue_(struct session *s)
{
    struct becoming *b = &s->becoming;
    while (b->may_replay && s->at == b->facts.best && b->next < s->journal.count) {
        const struct journal_entry *entry = journal_at(&s->journal, b->next++);
        if (!is_to_replay(s, entry))
            continue;
        replay(s, entry);
        return;
    }
    bool is_new_image = b->facts.cause == START_RESTORE || b->facts.cause == START_RESUME;
    bool is_branch = b->origin == FROM_SESSION, is_first = b->facts.cause == START_NEW && !is_branch;
    session_enter_state(s, SESSION_IDLE, 0);
    finish(s, NULL);
    if (!is_first)
        call_hooks(s, is_new_image);
    if ((is_new_image || is_branch) && s->state == SESSION_IDLE)
        checkpointing_settle_down(s, true);
    else
        session_look_at_queue(s);
}

/* The entry ended its process, a copy of which, from before, stands in the error again. */
static void stand_again(struct session *s)
{
    s->snapshots.source = NULL;
    finish(s, NULL);
    standing_begin(s, s->at_error.standing);
}

void session_step_become(struct session *s)
{
    s->snapshots.source = NULL;
    continue_(s);
}

void session_action_healthy(struct session *s, struct event *e)
{
    struct becoming *b = &s->becoming;
    sexp_document_free(e->document);
    if (b->facts.cause == START_DEATH_IN_ENTRY)
        stand_again(s);
    else if (b->origin == FROM_SNAPSHOT && b->is_in_error)
        standing_leave_again(s);
    else
        session_step_become(s);
}

/* Count the replayed evaluations and collect their failures, for the reply. */
static void count_replayed(struct session *s, const struct sexp *reply, bool ok)
{
    struct becoming *b = &s->becoming;
    int64_t n = sexp_integer(sexp_get(reply, 2, "evaluated"), 0);
    int64_t failed = sexp_integer(sexp_get(reply, 2, "failed"), 0);
    b->facts.replayed += n > 0 ? (uint64_t)n : 0;
    b->facts.replay_failed += !ok ? 1 : failed > 0 ? (uint64_t)failed : 0;
    const struct sexp *failures = sexp_get(reply, 2, "failures");
    for (size_t i = 0; i < sexp_count(failures); i++) {
        const char *text = sexp_string(sexp_nth(failures, i), NULL);
        if (text != NULL && b->failures.len + strlen(text) < 2000)
            s->host->options.wording->fact(FACT(FACT_REPLAY_FAILED, .texts = {text}), &b->failures);
    }
}

void session_action_replayed(struct session *s, struct event *e)
{
    struct becoming *b = &s->becoming;
    const struct sexp *reply = sexp_root(e->document);
    count_replayed(s, reply, session_is_reply(e->document, "ok"));
    answer_note_package(s, reply);
    struct journal_entry *entry = b->next == 0 ? NULL : journal_at(&s->journal, b->next - 1);
    uint64_t dropped = s->journal.dropped;
    if (entry != NULL)
        history_note_replayed(&s->journal, entry, reply);
    b->next -= s->journal.dropped - dropped; /* only entries before ${entry} can have been dropped */
    sexp_document_free(e->document);
    continue_(s);
}

/* The replayed code killed the process, so the state itself is not at fault. */
void session_action_stop_replay(struct session *s, struct event *e)
{
    session_count(s, METRIC_DEATHS);
    s->becoming.may_replay = false;
    s->becoming.facts.replayed = s->becoming.facts.replay_failed = 0;
    strbuf_clear(&s->becoming.failures);
    if (e->kind == EVENT_GONE && e->end->signal == SIGKILL)
        lower_best(s);
    go_back(s);
}

void session_action_give_up(struct session *s, struct event *e)
{
    char *why = s->why != NULL ? s->why : xstrdup(session_sentence(s, FACT_NOT_STARTED));
    s->why = NULL;
    process_forget(s);
    finish(s, why);
    answer_all_waiting(s, why);
    free(why);
}
