/*
 * What the processes of a session print: during the current operation, between operations, and the outputs
 * that get-output can still show.
 */
#ifndef SESSION_OUTPUT_SESSION_OUTPUT_H
#define SESSION_OUTPUT_SESSION_OUTPUT_H

#include <stdbool.h>

#include "lisp/worker.h"
#include "session/output/capture.h"
#include "session/output/output_budget.h"

#define SESSION_OUTPUT_KEPT 32 /* outputs kept for get-output: more than one reply names */

struct strbuf;

struct session_output {
    struct capture streams[2]; /* by enum worker_stream */
    enum worker_stream last;   /* the stream that was written to last */
    struct capture between;
    struct output_budget *budget; /* borrowed */
    struct kept_output kept[SESSION_OUTPUT_KEPT];
    int last_reference;
};

/* session_output_init(o, budget), session_output_fini(o): ${budget} is borrowed and outlives it. */
void session_output_init(struct session_output *o, struct output_budget *budget);
void session_output_fini(struct session_output *o);

/* session_output_add(o, is_running, stream, bytes, len): add to the current operation's output, or to that
 * between operations. */
void session_output_add(struct session_output *o, bool is_running, enum worker_stream stream,
                        const char *bytes, size_t len);

/* session_output_clear(o): the operation has ended. */
void session_output_clear(struct session_output *o);

/* session_output_progress(o, line, redacts): append the last line printed. Returns the number of bytes
 * printed, as session_output_printed(o) does. */
uint64_t session_output_progress(const struct session_output *o, struct strbuf *line, bool redacts);
uint64_t session_output_printed(const struct session_output *o);

/* session_output_keep(o, capture): ${capture} is moved out. Returns its reference. session_output_kept(o,
 * reference): borrowed; NULL if it is unknown or was dropped. */
int session_output_keep(struct session_output *o, struct capture *capture);
const struct capture *session_output_kept(const struct session_output *o, int reference);

#endif
