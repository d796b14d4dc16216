/*
 * Responsible for answering a call before its evaluation has ended, and for keeping the result.
 */
#include "calls/evaluations.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "calls/arguments.h"
#include "calls/evaluation_progress.h"
#include "calls/evaluation_wait.h"
#include "calls/reply_text.h"
#include "calls/tool_call.h"
#include "events/events.h"
#include "session/records/limits.h"
#include "session/session.h"
#include "session/sessions.h"

struct evaluations {
    uv_loop_t *loop;
    struct sessions *sessions;
    struct list list; /* of struct evaluation, the newest first */
    size_t ended;
    struct sessions_watcher watcher;
};

static void drop(struct evaluation *e)
{
    list_remove(&e->node);
    e->all->ended -= e->has_ended;
    strbuf_fini(&e->text);
    json_decref(e->structured);
    free(e->session);
    free(e->what);
    free(e);
}

static void drop_of_session(struct evaluations *all, const char *session)
{
    list_each(struct evaluation, e, &all->list, node)
        if (e->has_ended && strcmp(e->session, session) == 0)
            drop(e);
}

static void on_news(void *arg, struct session *s, enum sessions_news news)
{
    /* It begins with evaluation 1 again, as a new session of that name does. */
    if (news == SESSIONS_CAME || news == SESSIONS_WENT || news == SESSIONS_CLEARED)
        drop_of_session(arg, session_name(s));
}

struct evaluations *evaluations_new(uv_loop_t *loop, struct sessions *sessions)
{
    struct evaluations *all = xcalloc(1, sizeof *all);
    all->loop = loop;
    all->sessions = sessions;
    list_init(&all->list);
    list_init(&all->watcher.node);
    all->watcher.on_news = on_news;
    all->watcher.arg = all;
    sessions_watch(sessions, &all->watcher);
    return all;
}

void evaluations_free(struct evaluations *all)
{
    if (all == NULL)
        return;
    while (!list_is_empty(&all->list))
        drop(list_entry(all->list.next, struct evaluation, node));
    free(all);
}

static void put_first(struct evaluation *e)
{
    list_remove(&e->node);
    list_append(e->all->list.next, &e->node);
}

static struct evaluation *add(struct evaluations *all, const struct session *session,
                              const struct session_evaluation *e)
{
    struct evaluation *kept = xcalloc(1, sizeof *kept);
    kept->all = all;
    kept->session = xstrdup(session_name(session));
    kept->what = xstrdup(e->what);
    kept->number = e->number;
    kept->began_ms = uv_now(all->loop) - (uint64_t)(e->elapsed_s * 1000);
    list_init(&kept->node);
    put_first(kept);
    return kept;
}

static void drop_oldest(struct evaluations *all)
{
    for (struct list *node = all->list.previous; node != &all->list; node = node->previous) {
        struct evaluation *e = list_entry(node, struct evaluation, node);
        if (e->has_ended) {
            drop(e);
            return;
        }
    }
}

/* The next reply of its session reports this. */
static void add_notice(const struct evaluation *e)
{
    struct session *s = sessions_find(e->all->sessions, e->session);
    if (s != NULL)
        notices_add(session_notices(s), FACT(FACT_ENDED, .texts = {e->is_error ? " with an error" : ""},
                                             .numbers = {e->number}, .seconds = e->took_s));
}

void evaluations_tell_less(struct session *session, uint64_t number)
{
    notices_remove(session_notices(session), FACT_ENDED, number);
}

static void on_done(void *arg, const struct tool_result *result)
{
    struct evaluation *e = arg;
    e->is_error = result->is_error;
    e->structured = json_incref(result->structured);
    e->took_s = (double)(uv_now(e->all->loop) - e->began_ms) / 1000.0;
    strbuf_add(&e->text, result->text->bytes, result->text->len);
    e->has_ended = true;
    put_first(e); /* those that ended last are kept longest */
    add_notice(e);
    if (++e->all->ended > EVALUATIONS_KEPT)
        drop_oldest(e->all);
}

/* Answer the call now. Its operation continues, and evaluation-status reports the result later. */
static void answer_early(struct tool_call *call, struct session *s, const struct session_evaluation *e,
                         const struct sexp *frames)
{
    struct evaluation *kept = add(call->toolbox->evaluations, s, e);
    struct strbuf text = {0};
    events_add(call->toolbox->events, s, "job", NULL,
               json_pack("{s:I, s:s}", "evaluation", (json_int_t)e->number, "state", "detached"));
    evaluation_progress_add(&text, s, e, kept->seen, frames);
    strbuf_addf(
        &text,
        "\n\nIt continues without this call. evaluation-status (evaluation: %llu) shows new output and "
        "the result; cancel-evaluation stops it.",
        (unsigned long long)e->number);
    if (call->pending != NULL)
        strbuf_addf(&text, " Pass session: %s to both.", session_name(s));
    reply_text_redact(call, &text);
    tool_call_done *done = call->options.done;
    void *arg = call->options.arg;
    call->options.done = on_done;
    call->options.on_progress = NULL;
    call->options.on_question = NULL;
    call->options.arg = kept;
    call->is_answered = true;
    session_let_go(call->operation);
    done(arg, &(struct tool_result){.text = &text});
    strbuf_fini(&text);
}

static void await(struct tool_call *call, struct session *s);

/* It waits, and what runs has no time limit, so nothing bounds the wait. */
static bool is_behind_unlimited(const struct session *s, const struct session_evaluation *e)
{
    struct session_evaluation first;
    return !e->is_running && session_evaluation_at(s, 0, &first) && first.is_running && first.limit_s <= 0;
}

static void on_waited(struct tool_call *call, const struct sexp *frames)
{
    struct session *s = arguments_session(call);
    struct session_evaluation e;
    call->early_answer = NULL;
    bool is_asked = arguments_has(call, "wait");
    if (s == NULL || !session_evaluation(s, session_number(call->operation), &e))
        return;
    if (is_asked ? !session_is_asking(call->operation) : is_behind_unlimited(s, &e))
        answer_early(call, s, &e, frames);
    else if (is_asked || !e.is_running)
        await(call, s); /* a question belongs to a call */
}

static void await(struct tool_call *call, struct session *s)
{
    uint64_t ms = arguments_has(call, "wait") ? (uint64_t)(arguments_number(call, "wait", 0) * 1000)
                                              : (uint64_t)limits_timeout_ms(session_limits(s));
    call->early_answer = evaluation_wait(call, session_number(call->operation), UINT64_MAX, ms, on_waited);
}

void evaluations_await(struct tool_call *call, struct session *session)
{
    struct session_evaluation e;
    uint64_t number = call->toolbox->evaluations == NULL ? 0 : session_number(call->operation);
    if (number > 0 &&
        (arguments_has(call, "wait") ||
         (!arguments_has(call, "timeout") && session_evaluation(session, number, &e) && !e.is_next)))
        await(call, session);
}

void evaluations_forget(struct tool_call *call)
{
    evaluation_wait_cancel(call->early_answer);
    call->early_answer = NULL;
}

struct evaluation *evaluations_find(struct evaluations *all, const char *session, uint64_t number)
{
    list_each(struct evaluation, e, &all->list, node)
        if (strcmp(e->session, session) == 0 && (number == 0 || e->number == number))
            return e;
    return NULL;
}

struct evaluation *evaluations_at(struct evaluations *all, size_t n)
{
    list_each(struct evaluation, e, &all->list, node)
        if (n-- == 0)
            return e;
    return NULL;
}
