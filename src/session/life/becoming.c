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
#include "session/errors/unwinding.h"
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

enum origin { FROM_ZYGOTE, FROM_SNAPSHOT, FROM_IMAGE };

struct becoming {
    bool is_under_way;
    enum start_cause cause;
    enum origin origin;
    void (*lost)(struct session *s); /* FROM_IMAGE */
    uint64_t best;                   /* the newest state of which a snapshot existed when the process died */
    uint64_t died_at;                /* ${at} when it died */
    bool may_replay;
    bool had_threads; /* when it died: its newest snapshot is older than what they have done */
    uint64_t wanted;  /* START_ROLLBACK: the state that was asked for */
    size_t next;      /* index into the journal */
    uint64_t replayed, replay_failed;
    struct strbuf failures;      /* of the first replayed definitions that failed, for the reader */
    struct error_record *record; /* the answer to the operation that died */
    struct child_end end;
    bool was_not_resumed;
    bool is_in_error;               /* FROM_SNAPSHOT: it stands in an error, which the process has to leave */
    int idle_ends;                  /* how many have ended in a row before they were asked for anything */
    char *killer;                   /* the code during which the process died last */
    char *severed;                  /* the pipes and sockets that the snapshot lacks */
    struct replaced_facts replaced; /* by a restore; its ${checkpoints} are owned, as are ${not_held} */
    char *not_held;
};

struct becoming *becoming_new(void)
{
    struct becoming *b = xcalloc(1, sizeof *b);
    strbuf_init(&b->failures, 4096);
    return b;
}

static void forget_replaced(struct becoming *b)
{
    free((char *)(uintptr_t)b->replaced.checkpoints);
    free(b->not_held);
    b->replaced = (struct replaced_facts){.at = 0};
    b->not_held = NULL;
}

void becoming_free(struct becoming *b)
{
    forget_replaced(b);
    error_record_free(b->record);
    free(b->killer);
    free(b->severed);
    strbuf_fini(&b->failures);
    free(b);
}

bool becoming_is_under_way(const struct session *s)
{
    return s->becoming->is_under_way;
}

struct snapshot *becoming_newest(const struct session *s, uint64_t most)
{
    struct snapshot *sn = snapshots_newest(&s->snapshots, most);
    while (sn != NULL && sn->evaluation > 0 && !journal_is_live(&s->journal, sn->evaluation))
        sn = snapshots_newest(&s->snapshots, sn->evaluation - 1);
    return sn;
}

static void set_severed(struct becoming *b, const char *severed)
{
    xstrset(&b->severed, severed);
}

/* Start from the current state. */
static void begin(struct session *s, enum start_cause cause)
{
    struct becoming *b = s->becoming;
    b->is_under_way = true;
    b->cause = cause;
    forget_replaced(b);
    b->had_threads = s->flags.has_threads;
    s->flags.has_hooks = false;
    if (cause != START_ROLLBACK)
        s->flags.has_threads = false; /* otherwise checkpointing_retire() needs it */
    b->may_replay = cause != START_ROLLBACK && cause != START_RESTORE;
    b->next = 0;
    b->replayed = b->replay_failed = 0;
    strbuf_clear(&b->failures);
    b->was_not_resumed = false;
    set_severed(b, NULL);
    b->died_at = s->at;
    b->best = cause == START_RESUME ? 0 : s->at;
}

void becoming_note_replaced(struct session *s, const struct replaced_facts *replaced, const char *not_held)
{
    struct becoming *b = s->becoming;
    b->replaced = *replaced;
    b->replaced.checkpoints = xstrdup(replaced->checkpoints);
    b->not_held = xstrdup(not_held);
}

/* A snapshot was killed from outside. Its state was not damaged, so the evaluations after it are worth
 * replaying. */
static void lower_best(struct session *s)
{
    const struct snapshot *sn = becoming_newest(s, s->becoming->died_at);
    s->becoming->best = sn == NULL ? 0 : sn->evaluation;
}

/* Ask ${sn} for a copy. False if it cannot even be asked. */
static bool start_copy(struct session *s, struct snapshot *sn)
{
    struct err err;
    struct worker_events events = process_events(s);
    s->becoming->origin = FROM_SNAPSHOT;
    set_severed(s->becoming, sn->severed);
    s->becoming->is_in_error = sn->is_in_error;
    s->at = sn->evaluation;
    xstrset(&s->package, sn->package);
    sn->is_source = true;
    s->snapshots.was_source_killed = false;
    session_enter_state(s, SESSION_STARTING, CHECK_MS);
    do
        s->worker = copies_of(sn->worker, &events, &err);
    while (s->worker == NULL && err.code == ERR_LIMIT && eviction_for_process(s));
    if (s->worker == NULL)
        log_error("%s", err.message);
    return s->worker != NULL;
}

static void drop_source(struct session *s, enum fact_kind why)
{
    struct snapshot *sn = snapshots_source(&s->snapshots);
    if (sn != NULL)
        snapshot_drop(sn, why);
}

/* Become the newest snapshot, or a fresh process. */
static void go_back(struct session *s)
{
    struct snapshot *sn;
    worker_free(s->worker);
    s->worker = NULL;
    if (s->becoming->cause == START_DEATH_IN_ENTRY) /* the error is lost, too */
        s->becoming->cause = START_DEATH_IN_CALL;
    session_lose_standing(s);
    while ((sn = becoming_newest(s, s->becoming->died_at)) != NULL) {
        if (start_copy(s, sn))
            return;
        drop_source(s, FACT_COPY_SILENT);
    }
    s->becoming->origin = FROM_ZYGOTE;
    s->at = 0;
    set_severed(s->becoming, NULL);
    xstrset(&s->package, NULL);
    process_forget(s);
    process_request(s);
}

void becoming_fresh(struct session *s)
{
    begin(s, START_NEW);
    s->becoming->origin = FROM_ZYGOTE;
    process_request(s);
}

void becoming_snapshot(struct session *s, struct snapshot *sn)
{
    begin(s, START_ROLLBACK);
    s->becoming->wanted = sn->evaluation;
    sn->is_source = true; /* the current process may be a later version of the same state */
    checkpointing_retire(s);
    if (start_copy(s, sn))
        return;
    drop_source(s, FACT_COPY_SILENT);
    go_back(s);
}

void becoming_image(struct session *s, enum start_cause cause, void (*lost)(struct session *s))
{
    begin(s, cause);
    s->becoming->origin = FROM_IMAGE;
    s->becoming->lost = lost;
    session_enter_state(s, SESSION_STARTING, IMAGE_MS);
}

/* Processes in this state never last: otherwise the session would return to it for ever. */
static bool is_state_lost(struct session *s)
{
    bool is_another = s->current == NULL && s->flags.is_untried;
    s->becoming->idle_ends = is_another ? s->becoming->idle_ends + 1 : 0;
    return s->becoming->idle_ends >= MOST_IDLE_ENDS;
}

/* The first evaluation after a return has ended in a way that shows damage, and its code is not the one
 * that died before: the state itself is suspect. */
static bool is_state_suspect(struct session *s, const struct child_end *end)
{
    const struct becoming *b = s->becoming;
    const struct operation *op = s->current;
    return op != NULL && s->flags.is_untried && !run_is_stopped(s) && op->has_code &&
           exit_record_shows_damage(s, end) &&
           (b->killer == NULL || strcmp(b->killer, strbuf_string(&op->code)) != 0);
}

void becoming_survivor(struct session *s, enum start_cause cause, struct error_record *record,
                       const struct child_end *end)
{
    struct becoming *b = s->becoming;
    bool is_lost = is_state_lost(s), is_suspect = is_state_suspect(s, end);
    bool was_killed_from_outside = end->signal == SIGKILL && s->state != SESSION_KILLING;
    bool ends_in_cleanup = cause == START_DEATH_IN_UNWINDING && !was_killed_from_outside;
    begin(s, cause);
    b->may_replay = b->may_replay && !is_lost;
    b->record = record;
    b->end = *end;
    if (s->current != NULL) {
        s->flags.is_after_hooks = s->flags.is_after_hooks && !s->current->keeps_record;
        xstrset(&b->killer, strbuf_string(&s->current->code));
    }
    lower_best(s);
    struct snapshot *newest = becoming_newest(s, b->died_at);
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
    const struct becoming *b = s->becoming;
    if (b->origin == FROM_SNAPSHOT) {
        process_call(s, ":probe");
        return;
    }
    /* Tell a process from an image where it is, and any other that it is not in the server's directory. */
    struct strbuf request = {0};
    process_is_first(s);
    zygotes_configure_request(s->host->zygotes, b->origin == FROM_ZYGOTE || b->cause == START_RESTORE,
                              s->place.directory, &request);
    worker_call(s->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

static void continue_(struct session *s);

void session_action_check(struct session *s, struct event *e)
{
    if (s->becoming->origin == FROM_ZYGOTE) {
        process_came(s);
        if (s->place.directory == NULL || s->place.joined.address != NULL) {
            continue_(s);
            return;
        }
    }
    session_enter_state(s, SESSION_CHECKING, s->becoming->origin == FROM_IMAGE ? IMAGE_MS : CHECK_MS);
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

/* The cleanup forms of the error that it stands in end each copy. The error can still be entered, and what
 * was evaluated before it is worth replaying. */
static void set_source_aside(struct session *s)
{
    struct snapshot *sn = snapshots_source(&s->snapshots);
    if (sn != NULL)
        snapshot_set_aside(sn);
    lower_best(s);
}

void session_action_lose(struct session *s, struct event *e)
{
    struct becoming *b = s->becoming;
    sexp_document_free(e->document);
    if (b->origin == FROM_ZYGOTE) {
        lose_fresh(s, e);
        return;
    }
    session_count(s, METRIC_DEATHS);
    if (b->origin == FROM_IMAGE && b->lost != NULL) {
        b->is_under_way = false;
        b->lost(s);
        return;
    }
    b->was_not_resumed = b->was_not_resumed || b->origin == FROM_IMAGE;
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
    const struct becoming *b = s->becoming;
    struct exit_facts exit = {.end = &b->end};
    struct start_facts facts = {
        .cause = b->cause,
        .name = s->current == NULL ? NULL : s->current->name,
        .replaced = b->replaced,
        .not_held = b->not_held,
        .at = s->at,
        .had_threads = b->had_threads,
        .wanted = b->wanted,
        .died_at = b->died_at,
        .best = b->best,
        .exit = &exit,
        .was_not_resumed = b->was_not_resumed,
        .suspended_since = &s->suspension.image.since,
        .idle_timeout_ms = s->host->idle_timeout_ms,
        .why_not_started = why_not_started,
        .why_not_copied = copies_why_not(s),
        .replayed = b->replayed,
        .replay_failed = b->replay_failed,
        .failures = strbuf_string((struct strbuf *)(uintptr_t)&b->failures),
        .journal = &s->journal,
        .severed = b->severed,
    };
    s->host->wording->start(&facts, out);
}

/* Answer the operation that asked for the return; if none did, the next reply reports it. */
static void answer(struct session *s, const char *text)
{
    struct operation *op = s->current;
    struct error_record *record = s->becoming->record;
    s->becoming->record = NULL;
    if (op != NULL && record != NULL) {
        record->session_note = xstrdup(text);
        if (op->done == NULL)
            session_notify(s, FACT(FACT_AFTER_CANCELLED, .texts = {text}));
        answer_error(s, op, record);
        return;
    }
    error_record_free(record);
    /* No call asked for it, or its call was cancelled. */
    if (op == NULL || op->done == NULL)
        session_notify(s, FACT(FACT_TEXT, .texts = {text}));
    if (op != NULL)
        answer_text(s, op, text);
}

static void finish(struct session *s, const char *why_not_started)
{
    struct becoming *b = s->becoming;
    b->is_under_way = false;
    if (b->cause == START_NEW)
        return;
    struct strbuf text = {.limit = (size_t)64 << 10};
    word(s, why_not_started, &text);
    copies_refuse(s, NULL); /* that was another process */
    bool is_complete = s->at == b->died_at;
    if (b->replayed > 0)
        s->at = b->died_at; /* replayed evaluations remain part of the session's history */
    journal_settle(&s->journal, s->at);
    session_tell(s, SESSIONS_STATE);
    s->flags.is_untried = b->cause != START_RESTORE && b->cause != START_ROLLBACK &&
                          b->cause != START_DEATH_IN_ENTRY && !(b->cause == START_RESUME && is_complete);
    stored_image_drop(&s->suspension.image);
    session_tell_event(s, &(struct sessions_event){.kind = SESSIONS_EVENT_BECAME,
                                                   .operation = s->current,
                                                   .cause = b->cause,
                                                   .text = strbuf_string(&text)});
    answer(s, strbuf_string(&text));
    strbuf_fini(&text);
}

/* Is this an entry that neither the restored state nor any snapshot contains? */
static bool is_to_replay(const struct session *s, const struct journal_entry *entry)
{
    return !entry->is_undone && entry->evaluation > s->at && entry->evaluation <= s->becoming->died_at &&
           entry->outcome != JOURNAL_DIED;
}

static void replay(struct session *s, const struct journal_entry *entry)
{
    struct strbuf request = {0};
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
    struct becoming *b = s->becoming;
    bool is_asked_for = is_new_image || b->cause == START_ROLLBACK;
    if (s->flags.is_after_hooks && !is_asked_for) {
        hooks_leave_out(s);
        return;
    }
    s->flags.is_after_hooks = true;
    hooks_call(s, is_new_image ? "start" : "return");
}

static void release_source(struct session *s)
{
    struct snapshot *sn = snapshots_source(&s->snapshots);
    if (sn != NULL)
        sn->is_source = false;
}

/* The process is usable. Replay the definitions that no snapshot holds. */
static void continue_(struct session *s)
{
    struct becoming *b = s->becoming;
    while (b->may_replay && s->at == b->best && b->next < s->journal.count) {
        const struct journal_entry *entry = journal_at(&s->journal, b->next++);
        if (!is_to_replay(s, entry))
            continue;
        replay(s, entry);
        return;
    }
    bool is_new_image = b->cause == START_RESTORE || b->cause == START_RESUME;
    bool is_first = b->cause == START_NEW;
    session_enter_state(s, SESSION_IDLE, 0);
    finish(s, NULL);
    if (!is_first)
        call_hooks(s, is_new_image);
    if (is_new_image && s->state == SESSION_IDLE)
        checkpointing_settle_down(s, true);
    else
        session_look_at_queue(s);
}

/* The entry ended its process, a copy of which, from before, stands in the error again. */
static void stand_again(struct session *s)
{
    release_source(s);
    finish(s, NULL);
    standing_begin(s, s->at_error.standing);
}

static void at_top_level(struct session *s)
{
    release_source(s);
    continue_(s);
}

void session_action_healthy(struct session *s, struct event *e)
{
    struct becoming *b = s->becoming;
    sexp_document_free(e->document);
    if (b->cause == START_DEATH_IN_ENTRY)
        stand_again(s);
    else if (b->origin == FROM_SNAPSHOT && b->is_in_error)
        unwinding_leave(s, at_top_level);
    else
        at_top_level(s);
}

/* Count the replayed evaluations and collect their failures, for the reply. */
static void count_replayed(struct session *s, const struct sexp *reply, bool ok)
{
    struct becoming *b = s->becoming;
    int64_t n = sexp_integer(sexp_get(reply, 2, "evaluated"), 0);
    int64_t failed = sexp_integer(sexp_get(reply, 2, "failed"), 0);
    b->replayed += n > 0 ? (uint64_t)n : 0;
    b->replay_failed += !ok ? 1 : failed > 0 ? (uint64_t)failed : 0;
    const struct sexp *failures = sexp_get(reply, 2, "failures");
    for (size_t i = 0; i < sexp_count(failures); i++) {
        const char *text = sexp_string(sexp_nth(failures, i), NULL);
        if (text != NULL && b->failures.len + strlen(text) < 2000)
            s->host->wording->fact(FACT(FACT_REPLAY_FAILED, .texts = {text}), &b->failures);
    }
}

void session_action_replayed(struct session *s, struct event *e)
{
    struct becoming *b = s->becoming;
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
    s->becoming->may_replay = false;
    s->becoming->replayed = s->becoming->replay_failed = 0;
    strbuf_clear(&s->becoming->failures);
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
