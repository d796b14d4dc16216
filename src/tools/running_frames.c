/*
 * Responsible for asking a running process where it is, and for the time that this may take.
 */
#include "tools/running_frames.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "proc/loop_handle.h"
#include "report/reply.h"
#include "report/report.h"
#include "report/section.h"
#include "report/warnings.h"
#include "session/session.h"
#include "wire/sexp.h"

#define MOST_MS 300
#define LEAST_RUNNING_S 0.2 /* before, a look-up would wait */
#define FRAMES_ASKED 60     /* some are folded into a line; the program's own may be below a library's */
#define LINES_SHOWN 5
#define MOST_BYTES 1000

struct running_frames {
    struct operation *operation; /* NULL: it is done */
    uv_timer_t *timer;
    running_frames_done *done;
    void *arg;
};

bool running_frames_are_wanted(const struct session_evaluation *e)
{
    return e->is_running && e->elapsed_s >= LEAST_RUNNING_S;
}

static void free_frames(struct running_frames *f)
{
    loop_handle_free(f->timer);
    free(f);
}

static void end(struct running_frames *f, const struct sexp *frames)
{
    running_frames_done *done = f->done;
    void *arg = f->arg;
    free_frames(f);
    done(arg, frames);
}

static void on_outcome(void *arg, const struct outcome *outcome)
{
    struct running_frames *f = arg;
    f->operation = NULL;
    bool is_known =
        outcome->kind == OUTCOME_OK && sexp_is_symbol(reply_get(outcome->reply, "outcome"), "done");
    end(f, is_known ? reply_get(outcome->reply, "frames") : NULL);
}

static void on_time_over(uv_timer_t *timer)
{
    struct running_frames *f = timer->data;
    session_cancel(f->operation);
    f->operation = NULL;
    end(f, NULL);
}

struct running_frames *running_frames_ask(uv_loop_t *loop, struct session *session, running_frames_done *done,
                                          void *arg)
{
    struct running_frames *f = xcalloc(1, sizeof *f);
    struct strbuf request = {0};
    f->done = done;
    f->arg = arg;
    f->timer = loop_handle_timer(loop, f);
    uv_timer_start(f->timer, on_time_over, MOST_MS, 0);
    sexp_write_symbol(&request, "running-frames");
    sexp_write_symbol(&request, "count");
    sexp_write_integer(&request, FRAMES_ASKED);
    f->operation = session_run(session, &(struct operation_options){.request = &request,
                                                                    .what = "the frames of what runs",
                                                                    .timeout_ms = MOST_MS,
                                                                    .is_look_up = true,
                                                                    .done = on_outcome,
                                                                    .arg = f});
    strbuf_fini(&request);
    return f;
}

void running_frames_cancel(struct running_frames *f)
{
    if (f == NULL)
        return;
    session_cancel(f->operation);
    free_frames(f);
}

void running_frames_add(struct strbuf *out, const struct sexp *frames)
{
    section_begin(out, "[Backtrace]");
    if (frames == NULL) {
        strbuf_adds(out, "(not known: the process did not react at once)");
    } else {
        size_t shown = report_frames(out, frames, LINES_SHOWN, MOST_BYTES), own = warnings_own_frame(frames);
        if (own >= shown && own < sexp_count(frames)) {
            strbuf_adds(out, own > shown ? "\n...\n" : "\n");
            section_add_frame(out, own, sexp_nth(frames, own));
            shown = own + 1;
        }
        if (shown < sexp_count(frames))
            strbuf_adds(out, "\n... more frames; get-backtrace shows them");
    }
    section_end(out);
}
