/*
 * A process at the other end of two pipes.
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_AT_ONCE ((size_t)256 << 10)

_Noreturn void bench_fail(const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "bench: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static _Noreturn void become(const char *const *argv, const char *const *environment, int in, int out)
{
    /* However the benchmark ends, no process that it started remains. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, 0);
    dup2(out, 1);
    for (size_t i = 0; environment != NULL && environment[i] != NULL; i++)
        putenv((char *)(uintptr_t)environment[i]);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    fprintf(stderr, "bench: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

void peer_start(struct peer *p, const char *name, const char *const *argv, const char *const *environment,
                char end)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        bench_fail("cannot make pipes: %s", strerror(errno));
    *p = (struct peer){.name = name, .in = to[1], .out = from[0], .end = end};
    strbuf_init(&p->received, 0);
    p->pid = fork();
    if (p->pid < 0)
        bench_fail("cannot start %s: %s", name, strerror(errno));
    if (p->pid == 0)
        become(argv, environment, to[0], from[1]);
    close(to[0]);
    close(from[1]);
}

void peer_stop(struct peer *p)
{
    close(p->in);
    char rest[4096];
    while (read(p->out, rest, sizeof rest) > 0)
        ;
    close(p->out);
    waitpid(p->pid, NULL, 0);
    strbuf_fini(&p->received);
}

void peer_send(struct peer *p, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(p->in, bytes, len);
        if (n < 0)
            bench_fail("%s does not read: %s", p->name, strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

static void read_more(struct peer *p)
{
    ssize_t n = read(p->out, strbuf_reserve(&p->received, READ_AT_ONCE), READ_AT_ONCE);
    if (n <= 0)
        bench_fail("%s ended in the middle of a figure", p->name);
    strbuf_added(&p->received, (size_t)n);
}

static bool is_ignored(const struct peer *p, const char *message, size_t len)
{
    size_t ignored = p->ignored != NULL ? strlen(p->ignored) : 0;
    return ignored > 0 && len >= ignored && memcmp(message, p->ignored, ignored) == 0;
}

static const char *receive_any(struct peer *p, size_t *len)
{
    strbuf_consume(&p->received, p->delivered);
    size_t searched = 0;
    for (;;) {
        const char *end = p->received.len == searched
                              ? NULL
                              : memchr(p->received.bytes + searched, p->end, p->received.len - searched);
        if (end != NULL) {
            *len = (size_t)(end - p->received.bytes);
            p->delivered = *len + 1;
            return p->received.bytes;
        }
        searched = p->received.len;
        read_more(p);
    }
}

const char *peer_receive(struct peer *p, size_t *len)
{
    const char *message;
    do
        message = receive_any(p, len);
    while (is_ignored(p, message, *len));
    return message;
}

size_t peer_receive_many(struct peer *p, const char *expected, size_t most)
{
    strbuf_consume(&p->received, p->delivered);
    p->delivered = 0;
    size_t at = 0, count = 0;
    while (count < most) {
        const char *end =
            p->received.len == at ? NULL : memchr(p->received.bytes + at, p->end, p->received.len - at);
        if (end == NULL && count > 0)
            break;
        if (end == NULL) {
            read_more(p);
            continue;
        }
        size_t len = (size_t)(end - (p->received.bytes + at));
        if (is_ignored(p, p->received.bytes + at, len)) {
            at += len + 1;
            continue;
        }
        if (memmem(p->received.bytes + at, len, expected, strlen(expected)) == NULL)
            bench_fail("%s answered without '%s': %.*s", p->name, expected, (int)(len < 500 ? len : 500),
                       p->received.bytes + at);
        at += len + 1;
        count++;
    }
    strbuf_consume(&p->received, at);
    return count;
}
