/*
 * Where running code is: its top frames, asked of the process within a short time.
 */
#ifndef TOOLS_RUNNING_FRAMES_H
#define TOOLS_RUNNING_FRAMES_H

#include <stdbool.h>
#include <uv.h>

struct running_frames;
struct session;
struct session_evaluation;
struct sexp;
struct strbuf;

/* Called once. ${frames} are borrowed; NULL: the process did not react in time, or nothing ran any more. */
typedef void running_frames_done(void *arg, const struct sexp *frames);

/* running_frames_are_wanted(e): it has been running for long enough to be somewhere in particular. */
bool running_frames_are_wanted(const struct session_evaluation *e);

/*
 * running_frames_ask(loop, session, done, arg):
 * Ask for the top frames of what runs in ${session}; at most a third of a second.
 *
 * done        never called from inside this call
 * Returns     borrowed, for running_frames_cancel(), until ${done} is called
 */
struct running_frames *running_frames_ask(uv_loop_t *loop, struct session *session, running_frames_done *done,
                                          void *arg);

/* running_frames_cancel(f): ${done} will not be called; NULL does nothing. */
void running_frames_cancel(struct running_frames *f);

/* running_frames_add(out, frames): append them as a section; NULL: say that they are not known. */
void running_frames_add(struct strbuf *out, const struct sexp *frames);

#endif
