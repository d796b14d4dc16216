/*
 * Responsible for the table's machinery: dispatching events, entering states, and the deadline of each state.
 */
#include "session/core/core.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/log.h"
#include "session/core/wording.h"
#include "session/records/error_record.h"

/* A deadline of at least this for a copy counts wall-clock time: the user waits for the copy. */
#define COPY_LIMIT_MS 30000

void session_dispatch(struct session *s, struct event *event)
{
    s->host->actions[session_table[s->state][event->kind]](s, event);
}

void session_take_step(struct session *s)
{
    enum session_step step = s->next;
    s->next = STEP_NONE;
    CHECK(step != STEP_NONE);
    s->host->steps[step](s);
}

void session_look_at_queue(struct session *s)
{
    session_dispatch(s, &(struct event){.kind = EVENT_SUBMITTED});
}

void session_enter_rest(struct session *s)
{
    bool stands = s->at_error.standing != NULL;
    session_enter_state(s, stands ? SESSION_STANDING : SESSION_IDLE, stands ? s->host->waits.standing_ms : 0);
}

void session_rest(struct session *s)
{
    session_enter_rest(s);
    session_look_at_queue(s);
}

static void on_later(uv_timer_t *timer)
{
    struct session *s = timer->data;
    if (s->clock.close != NULL)
        s->clock.close(s);
    else if (s->why != NULL)
        session_dispatch(s, &(struct event){.kind = EVENT_UNAVAILABLE});
    else
        session_look_at_queue(s);
}

void session_later(struct session *s)
{
    uv_timer_start(s->clock.later, on_later, 0, 0);
}

/* When the server waits for the agent's own work, the deadline detects a hang, so only CPU time counts;
 * the user's time limits are wall-clock time. */
static bool counts_processor_time(enum session_state state, int deadline_ms)
{
    return state == SESSION_COPYING ? deadline_ms < COPY_LIMIT_MS
                                    : state == SESSION_STARTING || state == SESSION_CHECKING ||
                                          state == SESSION_REPLAYING || state == SESSION_UNWINDING;
}

static pid_t process_waited_for(const struct session *s)
{
    pid_t pid = session_core_pid(s);
    const struct snapshot *source = s->snapshots.source;
    return pid != 0 || source == NULL ? pid : worker_pid(source->worker);
}

static void on_deadline(uv_timer_t *timer)
{
    struct session *s = timer->data;
    int more_ms = cpu_grace_more_ms(&s->clock.grace, process_waited_for(s));
    if (more_ms > 0)
        uv_timer_start(timer, on_deadline, (uint64_t)more_ms, 0);
    else
        session_dispatch(s, &(struct event){.kind = EVENT_DEADLINE});
}

void session_set_deadline(struct session *s, int deadline_ms)
{
    cpu_grace_begin(&s->clock.grace, counts_processor_time(s->state, deadline_ms) ? deadline_ms : 0,
                    process_waited_for(s));
    uv_timer_start(s->clock.timer, on_deadline, (uint64_t)deadline_ms, 0);
}

static void note_idle(struct session *s);

static void on_idle_for_too_long(uv_timer_t *timer)
{
    struct session_host *host = timer->data;
    if (!list_is_empty(&host->idle) && host->suspending == NULL) {
        struct session *s = list_entry(host->idle.next, struct session, clock.idle_node);
        if (s->clock.idle_since + host->options.idle_timeout_ms <= uv_now(host->options.loop)) {
            note_idle(s); /* what cannot be suspended now is tried again later */
            session_dispatch(s, &(struct event){.kind = EVENT_DEADLINE, .is_unused = true});
        }
    }
    session_watch_idle(host);
}

void session_watch_idle(struct session_host *host)
{
    if (host->suspending != NULL || list_is_empty(&host->idle) ||
        uv_is_active((uv_handle_t *)host->idle_timer))
        return;
    uint64_t due = list_entry(host->idle.next, struct session, clock.idle_node)->clock.idle_since +
                   host->options.idle_timeout_ms;
    uint64_t now = uv_now(host->options.loop);
    uv_timer_start(host->idle_timer, on_idle_for_too_long, due > now ? due - now : 0, 0);
}

static void note_idle(struct session *s)
{
    if (s->host->options.idle_timeout_ms == 0)
        return;
    list_remove(&s->clock.idle_node);
    list_append(&s->host->idle, &s->clock.idle_node);
    s->clock.idle_since = uv_now(s->host->options.loop);
    session_watch_idle(s->host);
}

/* What an idle session has left to do. */
static int idle_deadline_ms(const struct session *s)
{
    size_t most = (size_t)limits_int(&s->limits, LIMIT_CHECKPOINTS);
    bool is_due = s->snapshots.is_one_owed || snapshots_are_too_many(&s->snapshots, most);
    return is_due ? s->host->waits.idle_ms : 0;
}

struct operation *session_first_operation(const struct session *s)
{
    return list_is_empty(&s->queue) ? NULL : list_entry(s->queue.next, struct operation, node);
}

void session_put_first(struct session *s, struct operation *op)
{
    list_append(s->queue.next, &op->node);
    s->clock.uses++;
    session_count(s, METRIC_OPERATIONS);
}

void session_enter_state(struct session *s, enum session_state state, int deadline_ms)
{
    log_debug("session %s: %s -> %s", s->id.name, session_state_texts[s->state], session_state_texts[state]);
    CHECK((session_nexts[s->state] & SESSION_NEXT(state)) != 0);
    s->host->suspended += state == SESSION_SUSPENDED;
    s->host->suspended -= s->state == SESSION_SUSPENDED;
    s->state = state;
    if (state == SESSION_IDLE) {
        deadline_ms = idle_deadline_ms(s);
        note_idle(s);
    } else if (state == SESSION_STANDING) {
        note_idle(s);
    } else {
        list_remove(&s->clock.idle_node);
    }
    if (deadline_ms > 0)
        session_set_deadline(s, deadline_ms);
    else
        uv_timer_stop(s->clock.timer);
}

void session_forget_standing(struct session *s)
{
    if (s->at_error.standing != NULL)
        s->at_error.standing->stands_here = false;
    s->at_error.standing = NULL;
}

void session_lose_standing(struct session *s)
{
    struct error_record *r = s->at_error.standing;
    if (r != NULL && r->snapshot == NULL)
        error_record_cannot_be_entered(r, FACT_PROCESS_ENDED, NULL);
    session_forget_standing(s);
}

void session_tell(struct session *s, enum sessions_news news)
{
    list_each(struct sessions_watcher, w, &s->all->watchers, node)
        w->on_news(w->arg, s, news);
}

void session_tell_event(struct session *s, const struct sessions_event *event)
{
    list_each(struct sessions_watcher, w, &s->all->watchers, node)
        if (w->on_event != NULL)
            w->on_event(w->arg, s, event);
}

void session_count(const struct session *s, enum metric metric)
{
    s->host->metrics.counters[metric]++;
}

const char *session_sentence(const struct session *s, enum fact_kind kind)
{
    return s->host->options.wording->sentence(FACT(kind));
}

char *session_words(const struct session *s, const struct fact *fact)
{
    struct strbuf text = {0};
    s->host->options.wording->fact(fact, &text);
    return strbuf_steal(&text, NULL);
}

void session_notify(struct session *s, const struct fact *fact)
{
    notices_add(&s->told.notices, fact);
}

const char *session_core_package(const struct session *s)
{
    return s->package == NULL ? "CL-USER" : s->package;
}

pid_t session_core_pid(const struct session *s)
{
    return s->worker == NULL ? 0 : worker_pid(s->worker);
}

bool session_is_reply(const struct sexp_document *document, const char *kind)
{
    return document != NULL && sexp_is_symbol(sexp_nth(sexp_root(document), 1), kind);
}

void session_not_before(struct session *s, uint64_t delay_ms)
{
    if (!uv_is_active((uv_handle_t *)s->clock.later))
        uv_timer_start(s->clock.later, on_later, delay_ms, 0);
}
