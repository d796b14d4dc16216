/*
 * A process at the other end of two pipes, with plain blocking reads and writes.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"

struct peer {
    const char *name;
    pid_t pid;
    int in, out;         /* the benchmark writes to in and reads from out */
    char end;            /* the byte that ends a message in both directions */
    const char *ignored; /* messages with this prefix are dropped; NULL for none */
    struct strbuf received;
    size_t delivered; /* of it was handed out by the last peer_receive() */
};

/* bench_fail(format, ...): print what went wrong on standard error and end the benchmark. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * peer_start(p, name, argv, environment, end):
 * Start a program with a pipe each for its standard input and output.
 *
 * argv         borrowed; argv[0] is looked up in PATH
 * environment  borrowed; NULL or assignments "NAME=value", NULL at the end, on top of our own
 */
void peer_start(struct peer *p, const char *name, const char *const *argv, const char *const *environment,
                char end);

/* peer_stop(p): close its input, wait until it has ended. */
void peer_stop(struct peer *p);

void peer_send(struct peer *p, const char *bytes, size_t len);

/* peer_receive(p, &len): the next message without its end, borrowed until the next call. */
const char *peer_receive(struct peer *p, size_t *len);

/* peer_receive_many(p, expected, most): wait for messages, drop up to ${most} that have arrived; each must
 * contain ${expected}. Returns how many it dropped, at least 1. */
size_t peer_receive_many(struct peer *p, const char *expected, size_t most);

#endif
