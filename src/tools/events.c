/*
 * Responsible for the logs of events: which there are, their numbers and bounds, and that their readers are
 * notified at most ten times a second. event_text.c writes the members, event_definitions.c what an
 * evaluation has defined.
 */
#include "tools/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/event_log.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/text.h"
#include "lisp/worker.h"
#include "proc/loop_handle.h"
#include "report/reply.h"
#include "session/records/author.h"
#include "session/records/journal.h"
#include "session/records/operation.h"
#include "session/session.h"
#include "session/sessions.h"
#include "tools/event_definitions.h"
#include "tools/event_text.h"

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
    strbuf_adds(out, text_date(when->tv_sec).text);
    out->len--; /* the Z */
    strbuf_addf(out, ".%03ldZ", when->tv_nsec / 1000000);
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

/* Begin an event: its members follow, and end_event(). */
static struct event_text begin_event(struct log *log, const char *kind, uint64_t evaluation,
                                     struct strbuf *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    strbuf_init(out, 0);
    strbuf_addf(out, "{\"number\":%llu,\"time\":\"", (unsigned long long)log->last + 1);
    add_time(out, &now);
    strbuf_addf(out, "\",\"kind\":\"%s\"", kind);
    struct event_text t = {.out = out, .redacts = log->all->redacts};
    if (evaluation > 0)
        event_text_number(&t, "evaluation", (int64_t)evaluation);
    return t;
}

static void end_event(struct log *log, struct session *s, struct strbuf *out)
{
    strbuf_addc(out, '}');
    event_log_add(&log->kept, 0, ++log->last, out->bytes, out->len);
    strbuf_fini(out);
    notify(log, s);
}

static void add_text(struct log *log, struct session *s, const char *kind, uint64_t evaluation,
                     const char *text)
{
    struct strbuf out;
    struct event_text t = begin_event(log, kind, evaluation, &out);
    event_text_string(&t, "text", text, strlen(text));
    end_event(log, s, &out);
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
        struct strbuf out;
        struct event_text t = begin_event(log, "output", stream == BETWEEN ? 0 : log->evaluation, &out);
        strbuf_addf(&out, ",\"stream\":\"%s\"", stream == WORKER_STDERR ? "stderr" : "stdout");
        log->told[stream] = event_text_output(&t, c, log->told[stream]);
        end_event(log, s, &out);
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
    struct strbuf out;
    if (op->code.len == 0)
        return; /* nobody's code: a look-up */
    log->evaluation = number_of(s, op);
    log->began_ms = uv_hrtime() / 1000000;
    struct event_text t = begin_event(log, "started", log->evaluation, &out);
    event_text_began(&t, op);
    end_event(log, s, &out);
}

static void tell_warnings(struct log *log, struct session *s, const struct sexp *reply)
{
    const struct sexp *warnings = reply_get(reply, "warnings");
    for (size_t i = 0; i < sexp_count(warnings) && i < MOST_WARNINGS; i++) {
        struct strbuf out;
        struct event_text t = begin_event(log, "warning", log->evaluation, &out);
        event_text_warning(&t, sexp_nth(warnings, i));
        end_event(log, s, &out);
    }
}

static void add_elapsed(struct log *log, struct strbuf *out)
{
    uint64_t elapsed_ms = uv_hrtime() / 1000000 - log->began_ms;
    strbuf_addf(out, ",\"elapsed\":%llu.%03llu", (unsigned long long)(elapsed_ms / 1000),
                (unsigned long long)(elapsed_ms % 1000));
}

/* For tell_definition(). */
struct definitions_call {
    struct log *log;
    struct session *session;
};

static void tell_definition(void *arg, const struct event_definition *d)
{
    struct definitions_call *call = arg;
    struct log *log = call->log;
    struct strbuf out;
    struct event_text t = begin_event(log, "definition", log->evaluation, &out);
    event_text_string(&t, "operator", d->operator, d->operator_len);
    event_text_string(&t, "name", d->name, d->name_len);
    event_text_string(&t, "text", d->text, d->len);
    if (d->replaced != NULL) {
        event_text_string(&t, "replaced", d->replaced, d->replaced_len);
        event_text_number(&t, "replaced-evaluation", (int64_t)d->replaced_evaluation);
    } else {
        strbuf_adds(&out, ",\"replaced\":null,\"replaced-evaluation\":null");
    }
    end_event(log, call->session, &out);
}

static void tell_end(struct log *log, struct session *s, const struct operation *op,
                     const struct outcome *outcome)
{
    struct strbuf out;
    const struct sexp *reply = outcome->kind == OUTCOME_ERROR ? outcome->error->condition : outcome->reply;
    if (outcome->kind == OUTCOME_OK && op->has_code)
        event_definitions_each(session_journal(s), op->code.bytes, op->code.len, log->evaluation,
                               tell_definition, &(struct definitions_call){.log = log, .session = s});
    tell_warnings(log, s, reply);
    struct event_text t =
        begin_event(log, outcome->kind == OUTCOME_OK ? "value" : "error", log->evaluation, &out);
    if (outcome->kind == OUTCOME_OK) {
        event_text_values(&t, reply);
    } else if (outcome->kind == OUTCOME_ERROR) {
        event_text_error(&t, outcome->error);
    } else {
        const char *refusal = outcome->kind == OUTCOME_REFUSED ? sexp_string(sexp_nth(reply, 2), NULL) : NULL;
        const char *why = refusal != NULL ? refusal : outcome->why != NULL ? outcome->why : "";
        event_text_string(&t, "type", "NOT-EVALUATED", strlen("NOT-EVALUATED"));
        event_text_string(&t, "message", why, strlen(why));
    }
    add_elapsed(log, &out);
    end_event(log, s, &out);
}

static void tell_ended(struct log *log, struct session *s, const struct operation *op,
                       const struct outcome *outcome)
{
    struct strbuf out;
    tell_output(log, s);
    if (op->kind == OPERATION_CHECKPOINT && outcome->kind == OUTCOME_OK) {
        struct event_text t = begin_event(log, "checkpoint", session_at(s), &out);
        event_text_string(&t, "name", op->name, strlen(op->name));
        end_event(log, s, &out);
    } else if (op->code.len > 0) {
        tell_end(log, s, op, outcome);
    }
    if (op->code.len > 0)
        log->evaluation = 0;
    memset(log->told, 0, BETWEEN * sizeof log->told[0]);
}

static void tell_error(struct log *log, struct session *s, const struct error_record *r)
{
    struct strbuf out;
    struct event_text t =
        begin_event(log, r->thread != NULL ? "thread-error" : "error", log->evaluation, &out);
    if (r->thread != NULL && session_attached(s) != NULL)
        event_text_author(&t, &image);
    event_text_error(&t, r);
    if (r->met > 0)
        strbuf_adds(&out, ",\"goes-on\":true");
    end_event(log, s, &out);
}

static void tell_progress(struct log *log, struct session *s, const char *text)
{
    uint64_t now_ms = uv_now(log->all->loop);
    if (log->progressed_ms + PROGRESS_MS > now_ms)
        return;
    log->progressed_ms = now_ms;
    struct strbuf out;
    struct event_text t = begin_event(log, "progress", log->evaluation, &out);
    event_text_string(&t, "text", text, strlen(text));
    /* Of files and tests whose number is known, the agent says at the end "(45 % done)". */
    const char *share = strrchr(text, '(');
    int percent, end = 0;
    if (share != NULL && sscanf(share, "(%3d %% done)%n", &percent, &end) == 1 && end > 0 && percent >= 0)
        event_text_number(&t, "percent", percent < 100 ? percent : 100);
    end_event(log, s, &out);
}

/* Runs of numbers that the current state does not contain: "[[3,7],[9,9]]". */
static void add_undone(struct strbuf *out, const struct journal *j)
{
    const struct journal_entry *e;
    uint64_t first = 0, last = 0;
    size_t ranges = 0;
    strbuf_adds(out, ",\"undone\":[");
    for (size_t i = 0; (e = journal_at(j, i)) != NULL || first > 0; i++) {
        bool is_undone = e != NULL && e->is_undone;
        if (is_undone && first == 0)
            first = e->evaluation;
        if (is_undone)
            last = e->evaluation;
        if (is_undone || first == 0)
            continue;
        if (ranges++ < MOST_UNDONE)
            strbuf_addf(out, "%s[%llu,%llu]", ranges > 1 ? "," : "", (unsigned long long)first,
                        (unsigned long long)last);
        first = 0;
        if (e == NULL)
            break;
    }
    strbuf_addc(out, ']');
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
    struct strbuf out;
    struct event_text t = begin_event(log, kinds[e->cause], 0, &out);
    if (e->operation != NULL && e->operation->author.name[0] != '\0')
        event_text_author(&t, &e->operation->author);
    event_text_number(&t, "to", (int64_t)session_at(s));
    event_text_string(&t, "text", e->text, strlen(e->text));
    add_undone(&out, session_journal(s));
    end_event(log, s, &out);
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
        events_add(
            arg, s,
            &(struct events_note){.kind = "person", .author = &image, .name = "text", .text = e->text});
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

void events_read(struct events *all, struct session *s, const struct events_range *range, struct strbuf *out)
{
    struct log *log = find(all, session_name(s));
    size_t start = out->len;
    tell_output(log, s);
    uint64_t oldest = log->last + 1 - log->kept.count, end = log->last + 1, from = oldest;
    if (range->after >= 0) {
        from = (uint64_t)range->after + 1 > oldest ? (uint64_t)range->after + 1 : oldest;
    } else {
        if (range->before > 0 && (uint64_t)range->before < end)
            end = (uint64_t)range->before;
        from = end > oldest + range->limit ? end - range->limit : oldest;
    }
    strbuf_addf(out, "{\"session\":\"%s\",\"began\":\"", log->session);
    add_time(out, &log->began);
    strbuf_addf(out, "\",\"first\":%llu,\"last\":%llu,\"at\":%llu", (unsigned long long)oldest,
                (unsigned long long)log->last, (unsigned long long)session_at(s));
    add_undone(out, session_journal(s));
    strbuf_adds(out, ",\"events\":[");
    struct reading reading = {
        .out = out, .most_len = start + MOST_READ_BYTES, .from = from, .end = end, .limit = range->limit};
    event_log_replay(&log->kept, 0, from - 1, read_event, &reading);
    strbuf_adds(out, "]}");
}

void events_add(struct events *all, struct session *s, const struct events_note *note)
{
    struct log *log = all == NULL ? NULL : find(all, session_name(s));
    struct strbuf out;
    if (log == NULL)
        return;
    tell_output(log, s);
    struct event_text t = begin_event(log, note->kind, note->evaluation, &out);
    if (note->author != NULL)
        event_text_author(&t, note->author);
    if (note->number_name != NULL)
        event_text_number(&t, note->number_name, note->number);
    event_text_string(&t, note->name, note->text, strlen(note->text));
    end_event(log, s, &out);
}
