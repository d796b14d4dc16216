/*
 * Snapshots send no hello, which would cost more than the rest of the copying: the reply of the process shows
 * that a copy exists.
 */
#include "session/snapshots/copies.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/records/error_record.h"
#include "session/work/memory_watch.h"
#include "session/work/run.h"

#define EXPENSIVE_MS 20.0 /* a copy that takes longer is not made after every evaluation */
#define MOST_LISTED 20
#define LONGEST_LISTED 150

/* A copy for another session than ${original}'s has output pipes of its own. */
static struct worker *request(struct session *s, struct worker *original, enum worker_hello hello,
                              const struct worker_events *events, struct err *err)
{
    struct worker_ends ends = {-1, -1, -1};
    bool is_separate = hello == WORKER_SEPARATE;
    struct worker *copy = is_separate
                              ? worker_new(s->host->options.loop, zygotes_children(s->host->options.zygotes),
                                           &s->all->processes, events, &ends, err)
                              : worker_new_copy(original, events, &ends.channel, err);
    if (copy == NULL)
        return NULL;
    int descriptors[] = {ends.channel, ends.output, ends.error};
    if (worker_fork(original, descriptors, is_separate ? 3 : 1, hello, err))
        return copy;
    worker_free(copy);
    return NULL;
}

static struct worker *request_with_room(struct session *s, struct worker *original, enum worker_hello hello,
                                        const struct worker_events *events, bool (*evict)(struct session *s),
                                        struct err *err)
{
    struct worker *copy = NULL;
    if (worker_is_carried(original))
        err_set(err, ERR_INVALID, "An image that was joined is not copied.");
    else
        do
            copy = request(s, original, hello, events, err);
        while (copy == NULL && err->code == ERR_LIMIT && evict(s));
    return copy;
}

struct worker *copies_of(struct session *s, struct worker *original, const struct worker_events *events,
                         bool (*evict)(struct session *s), struct err *err)
{
    return request_with_room(s, original, events->on_ready == NULL ? WORKER_SILENT : WORKER_SAYS_HELLO,
                             events, evict, err);
}

struct worker *copies_for_another(struct session *s, struct worker *original,
                                  const struct worker_events *events, struct err *err)
{
    return request_with_room(s, original, WORKER_SEPARATE, events, eviction_for_process, err);
}

static struct session *session_of(const struct snapshot *sn)
{
    return (struct session *)(void *)((char *)sn->owner - offsetof(struct session, snapshots));
}

/* Its copies report their own lives. */
static void on_reply(void *arg, struct sexp_document *reply)
{
    sexp_document_free(reply);
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct snapshot *sn = arg;
    struct session *s = session_of(sn);
    /* The process's reply is on its way and gives the reason, unless evaluated code has read the request
     * from the channel. */
    if (s->snapshots.making == sn && s->state == SESSION_COPYING)
        session_set_deadline(s, COPY_ANSWER_MS);
    if (s->snapshots.source == sn)
        s->snapshots.was_source_killed = s->snapshots.was_source_killed || end->signal == SIGKILL;
    snapshot_drop(sn, s->snapshots.making == sn ? FACT_NONE : FACT_COPY_ENDED);
}

static struct worker_events events_of(struct snapshot *sn)
{
    return (struct worker_events){.on_reply = on_reply, .on_gone = on_gone, .arg = sn};
}

struct snapshot *copies_adopt(struct session *s, struct worker *worker, uint64_t evaluation)
{
    struct snapshot *sn = snapshots_add(&s->snapshots, worker, evaluation, session_core_package(s));
    struct worker_events events = events_of(sn);
    worker_set_events(worker, &events);
    return sn;
}

void copies_await(struct session *s, int deadline_ms, enum session_step next)
{
    s->next = next;
    s->copies.error = 0;
    s->snapshots.asked_at_ns = uv_hrtime();
    session_enter_state(s, SESSION_COPYING, deadline_ms);
}

bool copies_snapshot(struct session *s, struct error_record *r, const char *name, enum session_step next,
                     struct err *err)
{
    if (r != NULL && r->snapshot != NULL)
        snapshot_drop(r->snapshot, FACT_NONE);
    if (name == NULL && limits_int(&s->limits, LIMIT_CHECKPOINTS) == 0)
        return err_set(err, ERR_LIMIT, "%s", session_sentence(s, FACT_COPIES_OFF));
    memory_watch_wake(s->host->memory_watch);
    struct snapshot *sn = snapshots_add(&s->snapshots, NULL, s->at, session_core_package(s));
    struct worker_events events = events_of(sn);
    s->snapshots.making = sn;
    err_set(err, ERR_GONE, "%s", session_sentence(s, FACT_PROCESS_ENDED));
    if (worker_is_alive(s->worker))
        sn->worker = copies_of(s, s->worker, &events, r != NULL ? eviction_for_copy : eviction_of_own, err);
    if (sn->worker == NULL) {
        snapshot_drop(sn, FACT_NONE);
        return false;
    }
    sn->name = xstrdup(name);
    if (r != NULL)
        snapshot_stands_in(sn, r);
    s->snapshots.is_one_owed = false;
    copies_await(s, COPY_MS, next);
    s->copies.error = r == NULL ? 0 : r->sequence;
    return true;
}

/* The strings under ${key} of the answer, of which there are as many as ${count_key} says; given, NULL for
 * none. */
static char *list_of(const struct sexp *reply, const char *key, const char *count_key)
{
    const struct sexp *items = sexp_get(reply, 2, key);
    int64_t all = sexp_integer(sexp_get(reply, 2, count_key), 0);
    size_t shown = sexp_count(items) < MOST_LISTED ? sexp_count(items) : MOST_LISTED;
    if (shown == 0)
        return NULL;
    struct strbuf text = {0};
    for (size_t i = 0; i < shown; i++) {
        size_t len;
        const char *one = sexp_string(sexp_nth(items, i), &len);
        strbuf_adds(&text, i > 0 ? ", " : "");
        if (one != NULL)
            strbuf_add(&text, one, utf8_floor(one, len, len < LONGEST_LISTED ? len : LONGEST_LISTED));
    }
    if (all > (int64_t)shown)
        strbuf_addf(&text, " and %lld more", (long long)(all - (int64_t)shown));
    return strbuf_steal(&text, NULL);
}

char *copies_severed(const struct sexp *answer)
{
    return list_of(answer, "severed", "severed-count");
}

/* Why the process refused, or that it has not answered if ${answer} is NULL. */
static const char *reason_of(const struct session *s, const struct sexp_document *answer)
{
    const char *why = answer == NULL ? NULL : sexp_string(sexp_nth(sexp_root(answer), 2), NULL);
    return why != NULL ? why : session_sentence(s, answer == NULL ? FACT_COPY_UNANSWERED : FACT_COPY_FAILED);
}

static void note_cost(struct copies *c, const struct sexp_document *answer)
{
    double ms = (double)sexp_integer(sexp_get(sexp_root(answer), 2, "took"), -1) / 1e3;
    if (ms < 0)
        return;
    /* The lesser of the last two: a copy that the scheduler delayed is not representative. */
    c->ms = c->last_ms < ms ? c->last_ms : ms;
    c->last_ms = ms;
}

/* The copy counts from now on, or never was. It may have ended already. */
static void confirm(struct session *s, const struct sexp_document *answer)
{
    struct snapshot *sn = s->snapshots.making;
    bool ok = session_is_reply(answer, "ok");
    s->snapshots.making = NULL;
    if (answer != NULL)
        note_cost(&s->copies, answer);
    session_count(s, ok ? METRIC_CHECKPOINTS_MADE : METRIC_CHECKPOINTS_REFUSED);
    xstrset(&s->copies.why_not, ok ? NULL : reason_of(s, answer));
    struct error_record *r = ok ? NULL : error_history_find(&s->errors, s->copies.error);
    if (r != NULL)
        error_record_cannot_be_entered(r, FACT_TEXT, reason_of(s, answer));
    if (sn != NULL && !ok)
        snapshot_drop(sn, FACT_NONE);
    if (sn == NULL || !ok)
        return;
    sn->severed = copies_severed(sexp_root(answer));
    sn->files = list_of(sexp_root(answer), "files", "files-count");
    snapshots_drop_namesakes(&s->snapshots, sn);
    snapshot_confirm(sn, sexp_integer(sexp_get(sexp_root(answer), 2, "pid"), 0));
}

void session_action_copied(struct session *s, struct event *e)
{
    confirm(s, e->document);
    s->copies.answer = e->document;
    session_take_step(s);
    s->copies.answer = NULL;
    sexp_document_free(e->document);
}

void session_action_forgo(struct session *s, struct event *e)
{
    if (s->snapshots.making != NULL) {
        run_kill(s);
        return;
    }
    worker_forget_forks(s->worker);
    session_action_copied(s, e);
}

bool copies_are_expensive(const struct session *s)
{
    return s->copies.ms > EXPENSIVE_MS;
}
