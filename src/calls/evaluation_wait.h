/*
 * Waiting for an evaluation, for a bounded time, and then asking the process for the top frames of what it
 * runs.
 */
#ifndef CALLS_EVALUATION_WAIT_H
#define CALLS_EVALUATION_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct evaluation_wait;
struct session_evaluation;
struct sexp;
struct tool_call;

/* Called once. ${frames} are borrowed; NULL: nobody knows them, because the evaluation has ended, began a
 * moment ago, or its process did not react within a third of a second. */
typedef void evaluation_waited(struct tool_call *call, const struct sexp *frames);

/* evaluation_wait_asks(e): would it ask for the frames of ${e} now? It has been running for long enough to be
 * somewhere in particular. */
bool evaluation_wait_asks(const struct session_evaluation *e);

/*
 * evaluation_wait(call, number, printed, wait_ms, done):
 * Wait until evaluation ${number} of the call's session has ended, or until a second after it has printed
 * more than
 * ${printed} bytes; but not longer than ${wait_ms}. With UINT64_MAX for ${printed}, exactly that long.
 *
 * done        never called from inside this call
 * Returns     borrowed, for evaluation_wait_cancel(), until ${done} is called
 */
struct evaluation_wait *evaluation_wait(struct tool_call *call, uint64_t number, uint64_t printed,
                                        uint64_t wait_ms, evaluation_waited *done);

/* evaluation_wait_cancel(w): its done will not be called; NULL does nothing. */
void evaluation_wait_cancel(void *w);

#endif
