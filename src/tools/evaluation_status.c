/*
 * evaluation-status and list-evaluations: evaluations that run or wait, and the results of those whose calls
 * were answered early.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "proc/loop_handle.h"
#include "session/sessions.h"
#include "tools/call.h"
#include "tools/evaluations.h"
#include "tools/running.h"
#include "tools/running_frames.h"

#define GATHER_MS 1000 /* output comes in many pieces: show it this long after the first */
#define MOST_LISTED 200

/* A call of evaluation-status that waits for the end, for output, or for its own time limit, and then for the
 * frames of what runs. */
struct status_wait {
    struct tool_call *call;
    struct evaluations_watcher watcher;
    char *session;
    uint64_t number, printed;
    uv_timer_t *timer; /* its time limit */
    uv_timer_t *soon;  /* fires soon after news */
    bool gathers;
    struct running_frames *frames; /* they are being asked for; else NULL */
};

static struct session *session_of(const struct status_wait *v)
{
    return sessions_find(v->call->toolbox->sessions, v->session);
}

static void add_ended(struct strbuf *out, struct session *s, const struct evaluation *e)
{
    strbuf_addf(out, "Evaluation %llu has ended after %.1f s.\n\n", (unsigned long long)e->number, e->took_s);
    strbuf_add(out, e->text.bytes, e->text.len);
    if (s != NULL)
        evaluations_tell_less(s, e->number);
}

/* Answer with the current status of evaluation ${number}. */
static void answer(struct tool_call *call, const char *session, uint64_t number, const struct sexp *frames)
{
    struct session *s = sessions_find(call->toolbox->sessions, session);
    struct evaluation *kept = evaluations_find(call->toolbox->evaluations, session, number);
    struct session_evaluation e;
    uint64_t unseen[2] = {0, 0};
    if (s != NULL && session_evaluation(s, number, &e)) {
        running_add(&call->text, s, &e, kept != NULL && !kept->has_ended ? kept->seen : unseen);
        if (running_frames_are_wanted(&e))
            running_frames_add(&call->text, frames);
        call_finish(call);
    } else if (kept != NULL && kept->has_ended) {
        add_ended(&call->text, s, kept);
        call->structured = call->wants_structured ? json_incref(kept->structured) : NULL;
        call->is_error = kept->is_error;
        call_finish(call);
    } else {
        call_answer(
            call, false,
            "Evaluation %llu of session %s is not running, and no result of it is kept. The results of the "
            "last "
            "%d evaluations that outlived their call are kept; session-history lists all evaluations.",
            (unsigned long long)number, session, EVALUATIONS_KEPT);
    }
}

static void end_wait(struct status_wait *v)
{
    evaluations_unwatch(&v->watcher);
    running_frames_cancel(v->frames);
    loop_handle_free(v->timer);
    loop_handle_free(v->soon);
    free(v->session);
    free(v);
}

static void on_frames(void *arg, const struct sexp *frames)
{
    struct status_wait *v = arg;
    struct tool_call *call = v->call;
    v->frames = NULL;
    answer(call, v->session, v->number, frames);
    end_wait(v);
    call_awaited(call);
}

static void on_time_over(uv_timer_t *timer)
{
    struct status_wait *v = timer->data;
    struct session *s = session_of(v);
    struct session_evaluation e;
    uv_timer_stop(v->timer);
    if (s != NULL && session_evaluation(s, v->number, &e) && running_frames_are_wanted(&e))
        v->frames = running_frames_ask(timer->loop, s, on_frames, v);
    else
        on_frames(v, NULL);
}

/* News arrives in the middle of other work, so it is handled a moment later. */
static void on_soon(uv_timer_t *timer)
{
    struct status_wait *v = timer->data;
    struct session *s = session_of(v);
    struct session_evaluation e;
    if (v->frames != NULL)
        return; /* they end soon */
    if (s == NULL || !session_evaluation(s, v->number, &e)) {
        on_time_over(v->timer);
    } else if (e.output_bytes != v->printed && !v->gathers) {
        uint64_t left_ms = uv_timer_get_due_in(v->timer);
        v->gathers = true;
        uv_timer_start(v->timer, on_time_over, left_ms < GATHER_MS ? left_ms : GATHER_MS, 0);
    }
}

static void on_news(void *arg)
{
    struct status_wait *v = arg;
    uv_timer_start(v->soon, on_soon, 0, 0);
}

static void cancel_wait(void *arg)
{
    end_wait(arg);
}

static void begin_wait(struct tool_call *call, struct session *s, uint64_t number, uint64_t printed)
{
    struct status_wait *v = xcalloc(1, sizeof *v);
    uv_loop_t *loop = evaluations_loop(call->toolbox->evaluations);
    v->call = call;
    v->session = xstrdup(session_name(s));
    v->number = number;
    v->printed = printed;
    v->timer = loop_handle_timer(loop, v);
    v->soon = loop_handle_timer(loop, v);
    v->watcher = (struct evaluations_watcher){.session = v->session, .on_news = on_news, .arg = v};
    list_init(&v->watcher.node);
    evaluations_watch(call->toolbox->evaluations, &v->watcher);
    uv_timer_start(v->timer, on_time_over, (uint64_t)(call_number(call, "wait", 0) * 1000), 0);
    on_news(v);
    call_await(call, v, cancel_wait);
}

static void evaluation_status(struct tool_call *call, struct session *s)
{
    struct evaluations *all = call->toolbox->evaluations;
    uint64_t number = (uint64_t)call_integer(call, "evaluation", 0);
    struct session_evaluation e;
    struct evaluation *kept = evaluations_find(all, session_name(s), number);
    bool goes_on = number > 0 ? session_evaluation(s, number, &e) : session_evaluation_at(s, 0, &e);
    if (goes_on)
        number = e.number;
    else if (kept != NULL)
        number = kept->number;
    if (number == 0) {
        call_answer(call, false,
                    "Nothing is running in session %s, and no result of an earlier evaluation is kept.",
                    session_name(s));
        return;
    }
    if (!goes_on || (call_number(call, "wait", 0) == 0 && !running_frames_are_wanted(&e))) {
        answer(call, session_name(s), number, NULL);
        return;
    }
    kept = evaluations_find(all, session_name(s), number);
    bool is_alone = kept != NULL && !kept->has_ended;
    begin_wait(call, s, number, is_alone ? kept->seen[0] + kept->seen[1] : e.output_bytes);
}

static void add_line_end(struct strbuf *out)
{
    if (out->len > 0)
        strbuf_addc(out, '\n');
}

static void list_evaluations(struct tool_call *call)
{
    struct strbuf *out = &call->text;
    struct evaluations *all = call->toolbox->evaluations;
    struct session_evaluation e;
    size_t listed = 0, left_out = 0;
    for (struct session *s = sessions_first(call->toolbox->sessions); s != NULL; s = sessions_next(s)) {
        for (size_t n = 0; session_evaluation_at(s, n, &e); n++) {
            if (listed++ >= MOST_LISTED) {
                left_out++;
                break;
            }
            add_line_end(out);
            strbuf_addf(out, "%s: ", session_name(s));
            running_add_line(out, &e);
        }
    }
    const struct evaluation *kept;
    for (size_t n = 0; (kept = evaluations_at(all, n)) != NULL; n++) {
        if (!kept->has_ended)
            continue;
        add_line_end(out);
        strbuf_addf(out, "%s: Evaluation %llu has ended%s, result kept: %.*s", kept->session,
                    (unsigned long long)kept->number, kept->is_error ? " with an error" : "",
                    (int)strcspn(kept->what, "\n"), kept->what);
    }
    if (left_out > 0)
        strbuf_addf(out, "\n... more than %d", MOST_LISTED);
    if (out->len == 0)
        strbuf_adds(out, "No evaluation is running or waiting, and no result of an earlier one is kept.");
    call_finish(call);
}

const struct tool tool_evaluation_status = {
    .name = "evaluation-status",
    .title = "Show an evaluation",
    .description = "Show an evaluation that outlived its call: new output, or its result.",
    .search_hint = "long-running evaluation, progress, poll",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = true,
    .arguments = {ARGUMENT("evaluation", INTEGER, "Evaluation number; default: the running one.",
                           .minimum = 1, .maximum = 1000000000),
                  ARGUMENT("wait", NUMBER, "Seconds to wait for output or the result.", .minimum = 0,
                           .maximum = 86400),
                  SESSION_ARGUMENT},
    .run_in = evaluation_status,
};

const struct tool tool_list_evaluations = {
    .name = "list-evaluations",
    .title = "List evaluations",
    .description =
        "List the running and waiting evaluations of all sessions, and those whose results are kept.",
    .toolset = TOOLSET_FULL,
    .is_read_only = true,
    .run = list_evaluations,
};
