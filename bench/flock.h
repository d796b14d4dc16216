/*
 * Many sessions of one server, named b0, b1 and so on, and pipelined requests to them.
 */
#ifndef BENCH_FLOCK_H
#define BENCH_FLOCK_H

#include <stddef.h>

#include "client.h"
#include "measure.h"

/* Append request number ${n} to b->line. */
typedef void flock_writer(struct bench *b, long n);

/* flock_write_create/evaluate(b, n, ...): write a request to create session ${n}; to evaluate ${code},
 * escaped for JSON, in it. The latter returns its id. */
void flock_write_create(struct bench *b, long n);
long flock_write_evaluate(struct bench *b, long n, const char *code, int timeout_s);

/*
 * flock_pipeline(b, server, count, write, expected, reason, size):
 * Requests 0 to ${count} - 1, 64 at a time.
 *
 * reason   the text of the first reply that had no ${expected}; "" if there is none
 * Returns  how many were answered with ${expected}
 */
long flock_pipeline(struct bench *b, struct peer *server, long count, flock_writer *write,
                    const char *expected, char *reason, size_t size);

/* flock_call(b, server, n, code, expected): one evaluation in session ${n}; milliseconds. */
double flock_call(struct bench *b, struct peer *server, long n, const char *code, const char *expected);

/* flock_print_calls(b, name, s): print a row of the times in ${s}. */
void flock_print_calls(struct bench *b, const char *name, struct samples *s);

#endif
