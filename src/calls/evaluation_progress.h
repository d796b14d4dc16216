/*
 * The text about an evaluation that runs or waits for its turn: how long, where, and its output.
 */
#ifndef CALLS_EVALUATION_PROGRESS_H
#define CALLS_EVALUATION_PROGRESS_H

#include <stdint.h>

#include "session/session.h"

/* evaluation_progress_add_line(out, e): "Evaluation 3 is running, 12 s of 30 s: (loop)", without a newline.
 */
void evaluation_progress_add_line(struct strbuf *out, const struct session_evaluation *e);

/*
 * evaluation_progress_add(out, session, e, seen, frames):
 * Append the line, the progress or what it waits behind, its output after ${seen}, and, if it has been
 * running for a moment, its top frames.
 *
 * seen        in and out: how many bytes of its output there were the last time, by enum worker_stream
 * frames      as in evaluation_waited
 */
void evaluation_progress_add(struct strbuf *out, struct session *session, const struct session_evaluation *e,
                             uint64_t seen[2], const struct sexp *frames);

#endif
