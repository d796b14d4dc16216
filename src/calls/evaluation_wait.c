/*
 * Responsible for the time that a call waits for an evaluation that continues, and for asking where that is.
 */
#include "calls/evaluation_wait.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "calls/arguments.h"
#include "calls/tool_call.h"
#include "proc/loop_handle.h"
#include "report/reply.h"
#include "session/session.h"
#include "session/sessions.h"
#include "wire/sexp.h"

#define GATHER_MS 1000 /* output comes in many pieces: show it this long after the first */
#define ASKING_MS 300
#define LEAST_RUNNING_S 0.2 /* before, a look-up would wait */
#define FRAMES_ASKED 60     /* some are folded into a line; the program's own may be below a library's */

struct evaluation_wait {
    struct tool_call *call;
    struct sessions_watcher watcher;
    uint64_t number, printed;
    uint64_t end_ms; /* loop time */
    bool gathers;    /* it has printed more */
    uv_timer_t *timer;
    struct operation *asking; /* for the frames; NULL: it still waits */
    evaluation_waited *done;
};

bool evaluation_wait_asks(const struct session_evaluation *e)
{
    return e->is_running && e->elapsed_s >= LEAST_RUNNING_S;
}

void evaluation_wait_cancel(void *arg)
{
    struct evaluation_wait *w = arg;
    if (w == NULL)
        return;
    if (w->asking != NULL)
        session_cancel(w->asking);
    sessions_unwatch(&w->watcher);
    loop_handle_free(w->timer);
    free(w);
}

static void end(struct evaluation_wait *w, const struct sexp *frames)
{
    struct tool_call *call = w->call;
    evaluation_waited *done = w->done;
    evaluation_wait_cancel(w);
    done(call, frames);
}

static void on_outcome(void *arg, const struct outcome *outcome)
{
    struct evaluation_wait *w = arg;
    w->asking = NULL;
    bool is_known =
        outcome->kind == OUTCOME_OK && sexp_is_symbol(reply_get(outcome->reply, "outcome"), "done");
    end(w, is_known ? reply_get(outcome->reply, "frames") : NULL);
}

static void on_time_over(uv_timer_t *timer)
{
    end(timer->data, NULL);
}

static void ask(struct evaluation_wait *w, struct session *s)
{
    struct strbuf request = {0};
    sexp_write_symbol(&request, "running-frames");
    sexp_write_symbol(&request, "count");
    sexp_write_integer(&request, FRAMES_ASKED);
    uv_timer_start(w->timer, on_time_over, ASKING_MS, 0);
    w->asking = session_run(s, &(struct operation_options){.request = &request,
                                                           .what = "the frames of what runs",
                                                           .timeout_ms = ASKING_MS,
                                                           .is_look_up = true,
                                                           .done = on_outcome,
                                                           .arg = w});
}

static void on_look(uv_timer_t *timer)
{
    struct evaluation_wait *w = timer->data;
    struct session *s = arguments_session(w->call);
    struct session_evaluation e;
    uint64_t now_ms = uv_now(timer->loop);
    bool goes_on = s != NULL && session_evaluation(s, w->number, &e);
    if (goes_on && !w->gathers && e.output_bytes > w->printed) {
        w->gathers = true;
        w->end_ms = w->end_ms < now_ms + GATHER_MS ? w->end_ms : now_ms + GATHER_MS;
    }
    if (goes_on && now_ms < w->end_ms)
        uv_timer_start(timer, on_look, w->end_ms - now_ms, 0);
    else if (goes_on && evaluation_wait_asks(&e))
        ask(w, s);
    else
        end(w, NULL);
}

/* News arrives in the middle of other work, so it is handled a moment later. */
static void on_news(void *arg, struct session *s, enum sessions_news news)
{
    struct evaluation_wait *w = arg;
    if (w->asking == NULL && strcmp(session_name(s), arguments_session_name(w->call)) == 0)
        uv_timer_start(w->timer, on_look, 0, 0);
}

struct evaluation_wait *evaluation_wait(struct tool_call *call, uint64_t number, uint64_t printed,
                                        uint64_t wait_ms, evaluation_waited *done)
{
    struct evaluation_wait *w = xcalloc(1, sizeof *w);
    uv_loop_t *loop = call->toolbox->loop;
    w->call = call;
    w->number = number;
    w->printed = printed;
    w->end_ms = uv_now(loop) + wait_ms;
    w->done = done;
    w->timer = loop_handle_timer(loop, w);
    w->watcher = (struct sessions_watcher){.on_news = on_news, .arg = w};
    list_init(&w->watcher.node);
    if (printed != UINT64_MAX)
        sessions_watch(call->toolbox->sessions, &w->watcher);
    uv_timer_start(w->timer, on_look, printed == UINT64_MAX ? wait_ms : 0, 0);
    return w;
}
