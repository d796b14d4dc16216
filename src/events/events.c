/*
 * Responsible for the logs of events: which there are, their numbers and bounds, and that their readers are
 * notified at most ten times a second. event_text.c writes the members, event_definitions.c what an
 * evaluation has defined.
 */
#include "events/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/event_log.h"
#include "base/hash_table.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/text.h"
#include "events/audit.h"
#include "events/event_definitions.h"
#include "events/event_text.h"
#include "lisp/worker.h"
#include "proc/loop_handle.h"
#include "report/reply.h"
#include "session/records/author.h"
#include "session/records/error_record.h"
#include "session/records/journal.h"
#include "session/records/operation.h"
#include "session/session.h"
#include "session/sessions.h"

#define MOST_EVENTS (4 * JOURNAL_ENTRIES)
#define MOST_BYTES JOURNAL_BYTES
#define MOST_READ_BYTES ((size_t)1 << 20)
#define MOST_WARNINGS 50 /* of one evaluation */
#define MOST_UNDONE 1000 /* ranges */
#define PERIOD_MS 100    /* between two notifications, and between two events of output */
#define PROGRESS_MS 1000

static const struct author image = {.kind = AUTHOR_IMAGE};

/* The streams, in this order: those of enum worker_stream, and what is printed between operations. */
enum { BETWEEN = 2, STREAMS };

struct log {
    struct events *all;
    struct hash_node by_name;
    char *session;
    struct timespec began;
    struct event_log kept;
    uint64_t last; /* the number of the newest */
    uint64_t told[STREAMS];
    uint64_t evaluation; /* the one that runs; 0: none */
    int64_t question;    /* the last that this evaluation put to a person; 0: none */
    uint64_t began_ms, progressed_ms;
    uv_timer_t *timer; /* active: the readers were notified a moment ago */
    bool is_due;       /* they are to be notified again, or there is output to be told */
};

struct events {
    uv_loop_t *loop;
    struct sessions *sessions;
    struct hash_table by_name;
    struct sessions_watcher watcher;
    bool redacts;
};

static struct log *find(const struct events *all, const char *session)
{
    struct hash_node *node = hash_table_first(&all->by_name, hash_text(session, (uintptr_t)all));
    for (; node != NULL; node = hash_table_next(node)) {
        struct log *log = hash_table_entry(node, struct log, by_name);
        if (strcmp(log->session, session) == 0)
            return log;
    }
    return NULL;
}

static void add_time(struct strbuf *out, const struct timespec *when)
{
    strbuf_addf(out, "%.19s.%03ldZ", text_date(when->tv_sec).text, when->tv_nsec / 1000000);
}

static void log_free(struct log *log)
{
    event_log_fini(&log->kept);
    hash_table_remove(&log->all->by_name, &log->by_name);
    loop_handle_free(log->timer);
    free(log->session);
    free(log);
}

static void on_period(uv_timer_t *timer);

static void notify(struct log *log, struct session *s)
{
    log->is_due = uv_is_active((uv_handle_t *)log->timer);
    if (log->is_due)
        return;
    uv_timer_start(log->timer, on_period, PERIOD_MS, 0);
    sessions_tell_events(s);
}

/* Begin an event: further members follow, and end_event(). */
static json_t *begin_event(struct log *log, const char *kind, uint64_t evaluation)
{
    struct timespec now;
    struct strbuf time = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    add_time(&time, &now);
    json_t *event = json_pack("{s:I, s:s, s:s}", "number", (json_int_t)log->last + 1, "time",
                              strbuf_string(&time), "kind", kind);
    strbuf_fini(&time);
    if (evaluation > 0)
        json_object_set_new(event, "evaluation", json_integer((json_int_t)evaluation));
    return event;
}

static void end_event(struct log *log, struct session *s, json_t *event)
{
    json_t *shown = audit_shown(event, log->all->redacts);
    char *text = json_dumps(shown, JSON_COMPACT | JSON_REAL_PRECISION(12));
    CHECK(text != NULL);
    event_log_add(&log->kept, 0, ++log->last, text, strlen(text));
    free(text);
    json_decref(shown);
    json_decref(event);
    notify(log, s);
}

static void add_text(struct log *log, struct session *s, const char *kind, uint64_t evaluation,
                     const char *text)
{
    json_t *event = begin_event(log, kind, evaluation);
    event_text_string(event, "text", text, strlen(text));
    end_event(log, s, event);
}

/* Tell what was printed since. Whatever else is told comes after it. */
static void tell_output(struct log *log, struct session *s)
{
    for (int stream = 0; stream < STREAMS; stream++) {
        const struct capture *c = stream == BETWEEN ? session_between(s) : session_output(s, stream);
        if (c->total < log->told[stream])
            log->told[stream] = 0; /* it was reported, and begins anew */
        if (capture_floor(c, c->total) <= log->told[stream])
            continue;
        json_t *event = begin_event(log, "output", stream == BETWEEN ? 0 : log->evaluation);
        json_object_set_new(event, "stream", json_string(stream == WORKER_STDERR ? "stderr" : "stdout"));
        log->told[stream] = event_text_output(event, c, log->told[stream]);
        end_event(log, s, event);
    }
}

static void on_period(uv_timer_t *timer)
{
    struct log *log = timer->data;
    struct session *s = sessions_find(log->all->sessions, log->session);
    if (s == NULL || !log->is_due)
        return;
    tell_output(log, s);
    notify(log, s);
}

static uint64_t number_of(const struct session *s, const struct operation *op)
{
    return op == NULL || !op->has_code ? 0 : op->number;
}

static void tell_began(struct log *log, struct session *s, const struct operation *op)
{
    if (op->code.len == 0)
        return; /* nobody's code: a look-up */
    log->evaluation = number_of(s, op);
    log->began_ms = uv_hrtime() / 1000000;
    json_t *event = begin_event(log, "started", log->evaluation);
    event_text_began(event, op);
    end_event(log, s, event);
}

static void tell_warnings(struct log *log, struct session *s, const struct sexp *reply)
{
    const struct sexp *warnings = reply_get(reply, "warnings");
    for (size_t i = 0; i < sexp_count(warnings) && i < MOST_WARNINGS; i++) {
        json_t *event = begin_event(log, "warning", log->evaluation);
        event_text_warning(event, sexp_nth(warnings, i));
        end_event(log, s, event);
    }
}

static void tell_definitions(struct log *log, struct session *s, const struct operation *op)
{
    json_t *definitions =
               event_definitions(session_journal(s), op->code.bytes, op->code.len, log->evaluation),
           *definition;
    size_t i;
    json_array_foreach(definitions, i, definition) {
        json_t *event = begin_event(log, "definition", log->evaluation);
        json_object_update(event, definition);
        end_event(log, s, event);
    }
    json_decref(definitions);
}

static void tell_end(struct log *log, struct session *s, const struct operation *op,
                     const struct outcome *outcome)
{
    const struct sexp *reply = outcome->kind == OUTCOME_ERROR ? outcome->error->condition : outcome->reply;
    if (outcome->kind == OUTCOME_OK && op->has_code)
        tell_definitions(log, s, op);
    tell_warnings(log, s, reply);
    json_t *event = begin_event(log, outcome->kind == OUTCOME_OK ? "value" : "error", log->evaluation);
    if (outcome->kind == OUTCOME_OK) {
        event_text_values(event, reply);
    } else if (outcome->kind == OUTCOME_ERROR) {
        event_text_error(event, outcome->error);
    } else {
        const char *refusal = outcome->kind == OUTCOME_REFUSED ? sexp_string(sexp_nth(reply, 2), NULL) : NULL;
        const char *why = refusal != NULL ? refusal : outcome->why != NULL ? outcome->why : "";
        json_object_set_new(event, "type", json_string("NOT-EVALUATED"));
        event_text_string(event, "message", why, strlen(why));
    }
    double elapsed_ms = (double)(uv_hrtime() / 1000000 - log->began_ms);
    json_object_set_new(event, "elapsed", json_real(elapsed_ms / 1000));
    end_event(log, s, event);
}

/* Beside the operation that has the session's output others end: look-ups in copies, calls that waited for
 * their turn. */
static void tell_ended(struct log *log, struct session *s, const struct operation *op,
                       const struct outcome *outcome)
{
    bool was_running = outcome->output[WORKER_STDOUT] == session_output(s, WORKER_STDOUT);
    tell_output(log, s);
    if (op->kind == OPERATION_CHECKPOINT && outcome->kind == OUTCOME_OK) {
        json_t *event = begin_event(log, "checkpoint", session_at(s));
        event_text_string(event, "name", op->name, strlen(op->name));
        end_event(log, s, event);
    } else if (op->code.len > 0 && (was_running || log->evaluation == 0)) {
        tell_end(log, s, op, outcome);
    }
    if (!was_running)
        return;
    if (op->code.len > 0) {
        log->evaluation = 0;
        log->question = 0;
    }
    memset(log->told, 0, BETWEEN * sizeof log->told[0]);
}

static void tell_error(struct log *log, struct session *s, const struct error_record *r)
{
    json_t *event = begin_event(log, r->thread != NULL ? "thread-error" : "error", log->evaluation);
    if (r->thread != NULL && session_attached(s) != NULL)
        event_text_author(event, &image);
    if (error_record_is_persons(r))
        json_object_set_new(event, "is-persons", json_true());
    event_text_error(event, r);
    if (r->met > 0)
        json_object_set_new(event, "goes-on", json_true());
    end_event(log, s, event);
}

static void tell_progress(struct log *log, struct session *s, const char *text)
{
    uint64_t now_ms = uv_now(log->all->loop);
    if (log->progressed_ms + PROGRESS_MS > now_ms)
        return;
    log->progressed_ms = now_ms;
    json_t *event = begin_event(log, "progress", log->evaluation);
    event_text_string(event, "text", text, strlen(text));
    /* Of files and tests whose number is known, the agent says at the end "(45 % done)". */
    const char *share = strrchr(text, '(');
    int percent, end = 0;
    if (share != NULL && sscanf(share, "(%3d %% done)%n", &percent, &end) == 1 && end > 0 && percent >= 0)
        json_object_set_new(event, "percent", json_integer(percent < 100 ? percent : 100));
    end_event(log, s, event);
}

/* Runs of numbers that the current state does not contain: [[3,7],[9,9]]. */
static json_t *undone(const struct journal *j)
{
    const struct journal_entry *e;
    json_t *ranges = json_array(), *range = NULL;
    for (size_t i = 0; (e = journal_at(j, i)) != NULL && json_array_size(ranges) <= MOST_UNDONE; i++) {
        if (!e->is_undone) {
            range = NULL;
            continue;
        }
        json_int_t number = (json_int_t)e->evaluation;
        if (range == NULL)
            json_array_append_new(ranges, range = json_pack("[I,I]", number, number));
        else
            json_array_set_new(range, 1, json_integer(number));
    }
    return ranges;
}

static void tell_became(struct log *log, struct session *s, const struct sessions_event *e)
{
    static const char *const kinds[] = {
        [START_NEW] = "recovery",
        [START_DEATH_IN_CALL] = "recovery",
        [START_DEATH_BETWEEN] = "recovery",
        [START_DEATH_IN_ENTRY] = "recovery",
        [START_DEATH_IN_UNWINDING] = "recovery",
        [START_ROLLBACK] = "rollback",
        [START_RESTORE] = "restore",
        [START_RESUME] = "recovery",
    };
    json_t *event = begin_event(log, kinds[e->cause], 0);
    if (e->operation != NULL && e->operation->asked.author.name[0] != '\0')
        event_text_author(event, &e->operation->asked.author);
    json_object_set_new(event, "to", json_integer((json_int_t)session_at(s)));
    event_text_string(event, "text", e->text, strlen(e->text));
    json_object_set_new(event, "undone", undone(session_journal(s)));
    end_event(log, s, event);
}

static void tell_deed(struct log *log, struct session *s, const struct sessions_event *e)
{
    json_t *event = begin_event(log, "person", 0);
    event_text_deed(event, e->deed);
    event_text_string(event, "text", e->text, strlen(e->text));
    end_event(log, s, event);
}

static void on_event(void *arg, struct session *s, const struct sessions_event *e)
{
    struct log *log = find(arg, session_name(s));
    if (log == NULL)
        return;
    if (e->kind != SESSIONS_EVENT_NOTED)
        tell_output(log, s);
    switch (e->kind) {
    case SESSIONS_EVENT_BEGAN:
        tell_began(log, s, e->operation);
        break;
    case SESSIONS_EVENT_ENDED:
        tell_ended(log, s, e->operation, e->outcome);
        break;
    case SESSIONS_EVENT_ERROR:
        tell_error(log, s, e->error);
        break;
    case SESSIONS_EVENT_NOTED:
        tell_progress(log, s, e->text);
        break;
    case SESSIONS_EVENT_DIED:
        add_text(log, s, "death", log->evaluation,
                 e->text != NULL ? e->text : "The process ended between two evaluations.");
        break;
    case SESSIONS_EVENT_PERSON:
        tell_deed(log, s, e);
        break;
    case SESSIONS_EVENT_BECAME:
        tell_became(log, s, e);
        break;
    }
}

static void on_news(void *arg, struct session *s, enum sessions_news news)
{
    struct events *all = arg;
    struct log *log = find(all, session_name(s));
    if (news == SESSIONS_CAME && log == NULL) {
        log = xcalloc(1, sizeof *log);
        log->all = all;
        log->session = xstrdup(session_name(s));
        log->timer = loop_handle_timer(all->loop, log);
        event_log_init(&log->kept, MOST_EVENTS, MOST_BYTES);
        clock_gettime(CLOCK_REALTIME, &log->began);
        hash_table_add(&all->by_name, &log->by_name, hash_text(log->session, (uintptr_t)all));
    } else if (log != NULL && news == SESSIONS_WENT) {
        log_free(log);
    } else if (log != NULL && news == SESSIONS_CLEARED) {
        add_text(log, s, "reset", 0, "The session begins anew; its evaluations are counted from 1.");
    } else if (log != NULL && news == SESSIONS_PROGRESS && !uv_is_active((uv_handle_t *)log->timer)) {
        tell_output(log, s);
    } else if (log != NULL && news == SESSIONS_PROGRESS) {
        log->is_due = true;
    }
}

struct events *events_new(uv_loop_t *loop, struct sessions *sessions, bool redacts)
{
    struct events *all = xcalloc(1, sizeof *all);
    all->loop = loop;
    all->sessions = sessions;
    all->redacts = redacts;
    hash_table_init(&all->by_name);
    all->watcher = (struct sessions_watcher){.on_news = on_news, .on_event = on_event, .arg = all};
    sessions_watch(sessions, &all->watcher);
    return all;
}

/* The sessions are gone, and with them their logs. */
void events_free(struct events *all)
{
    if (all == NULL)
        return;
    hash_table_fini(&all->by_name);
    free(all);
}

struct reading {
    struct strbuf *out;
    size_t most_len, limit;
    uint64_t from, end;
};

static bool read_event(void *arg, uint64_t number, const char *bytes, size_t len)
{
    struct reading *r = arg;
    if (number >= r->end || number - r->from >= r->limit || r->out->len >= r->most_len)
        return false;
    strbuf_adds(r->out, number > r->from ? "," : "");
    return strbuf_add(r->out, bytes, len);
}

/* The numbers of the errors that can be entered now. */
static void add_enterable(struct strbuf *out, const struct session *s)
{
    size_t count = 0;
    for (size_t i = session_error_count(s); i-- > 0;)
        if (error_record_is_enterable(session_error(s, i)))
            strbuf_addf(out, "%s%d", count++ > 0 ? "," : "", session_error(s, i)->sequence);
}

void events_read(struct events *all, struct session *s, int64_t after, int64_t before, size_t limit,
                 struct strbuf *out)
{
    struct log *log = find(all, session_name(s));
    size_t start = out->len;
    tell_output(log, s);
    uint64_t oldest = log->last + 1 - log->kept.count, end = log->last + 1, from = oldest;
    if (after >= 0) {
        from = (uint64_t)after + 1 > oldest ? (uint64_t)after + 1 : oldest;
    } else {
        if (before > 0 && (uint64_t)before < end)
            end = (uint64_t)before;
        from = end > oldest + limit ? end - limit : oldest;
    }
    strbuf_addf(out, "{\"session\":\"%s\",\"began\":\"", log->session);
    add_time(out, &log->began);
    strbuf_addf(out, "\",\"first\":%llu,\"last\":%llu,\"at\":%llu,\"undone\":", (unsigned long long)oldest,
                (unsigned long long)log->last, (unsigned long long)session_at(s));
    json_t *ranges = undone(session_journal(s));
    json_write_value(out, ranges);
    json_decref(ranges);
    strbuf_adds(out, ",\"enterable\":[");
    add_enterable(out, s);
    strbuf_adds(out, "],\"events\":[");
    struct reading reading = {
        .out = out, .most_len = start + MOST_READ_BYTES, .from = from, .end = end, .limit = limit};
    event_log_replay(&log->kept, 0, from - 1, read_event, &reading);
    strbuf_adds(out, "]}");
}

void events_add(struct events *all, struct session *s, const char *kind, const struct author *author,
                json_t *members)
{
    struct log *log = all == NULL ? NULL : find(all, session_name(s));
    if (log != NULL) {
        tell_output(log, s);
        json_t *event = begin_event(log, kind, 0);
        if (author != NULL)
            event_text_author(event, author);
        json_object_update(event, members);
        end_event(log, s, event);
    }
    json_decref(members);
}

void events_ask(struct events *all, struct session *s, uint64_t evaluation, int64_t question,
                const char *prompt)
{
    struct log *log = all == NULL ? NULL : find(all, session_name(s));
    json_t *event =
        json_pack("{s:I, s:I}", "evaluation", (json_int_t)evaluation, "question", (json_int_t)question);
    event_text_string(event, "prompt", prompt, strlen(prompt));
    if (log != NULL)
        log->question = question;
    events_add(all, s, "question", NULL, event);
}

void events_end_questions(struct events *all)
{
    if (all == NULL)
        return;
    for (struct session *s = sessions_first(all->sessions); s != NULL; s = sessions_next(s)) {
        const struct log *log = find(all, session_name(s));
        struct operation *asking =
            log == NULL || log->question == 0 ? NULL : session_asking(s, log->question);
        if (asking != NULL)
            session_answer(asking, log->question, NULL, 0);
    }
}

void events_add_text(struct events *all, struct session *s, const char *kind, const struct author *author,
                     const char *name, const char *text)
{
    json_t *members = json_object();
    event_text_string(members, name, text, strlen(text));
    events_add(all, s, kind, author, members);
}
