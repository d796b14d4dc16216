/*
 * The server and the bare Lisp, as their client sees them.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rounds.h"

#define ARGUMENTS 24
#define READ_AT_ONCE ((size_t)256 << 10)

static const char initialize[] =
    "\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/* How the server's notifications begin. */
static const char notification[] = "{\"jsonrpc\":\"2.0\",\"method\"";

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

void peer_start(struct peer *p, const char *name, const char *const *argv, char end)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        bench_fail("cannot make pipes: %s", strerror(errno));
    *p = (struct peer){.name = name, .in = to[1], .out = from[0], .end = end};
    strbuf_init(&p->received, 0);
    p->pid = fork();
    if (p->pid < 0)
        bench_fail("cannot start %s: %s", name, strerror(errno));
    if (p->pid == 0) {
        /* However the benchmark ends, no process that it started remains. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], 0);
        dup2(from[1], 1);
        signal(SIGPIPE, SIG_DFL);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        fprintf(stderr, "bench: cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
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

static void send_all(struct peer *p, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(p->in, bytes, len);
        if (n < 0)
            bench_fail("%s does not read: %s", p->name, strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

static size_t receive(struct peer *p)
{
    strbuf_consume(&p->received, p->delivered);
    for (size_t searched = 0;;) {
        const char *end = p->received.len == searched
                              ? NULL
                              : memchr(p->received.bytes + searched, p->end, p->received.len - searched);
        if (end != NULL) {
            p->delivered = (size_t)(end - p->received.bytes) + 1;
            return p->delivered - 1;
        }
        searched = p->received.len;
        ssize_t n = read(p->out, strbuf_reserve(&p->received, READ_AT_ONCE), READ_AT_ONCE);
        if (n <= 0)
            bench_fail("%s ended in the middle of a figure", p->name);
        strbuf_added(&p->received, (size_t)n);
    }
}

double peer_call(struct peer *p, const char *bytes, size_t len, const char *expected)
{
    double start = measure_now_ms();
    send_all(p, bytes, len);
    size_t n;
    do
        n = receive(p);
    while (n >= sizeof notification && memcmp(p->received.bytes, notification, sizeof notification - 1) == 0);
    double end = measure_now_ms();
    if (memmem(p->received.bytes, n, expected, strlen(expected)) == NULL)
        bench_fail("%s answered without '%s': %.*s", p->name, expected, (int)(n < 500 ? n : 500),
                   p->received.bytes);
    return end - start;
}

double client_call(struct bench *b, struct peer *server, const char *request, const char *expected)
{
    strbuf_clear(&b->line);
    strbuf_addf(&b->line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":%s}\n", ++b->last_id, request);
    return peer_call(server, b->line.bytes, b->line.len, expected);
}

void client_start(struct bench *b, struct peer *server, const char *path, const char *checkpoints,
                  const char *const *more)
{
    const char *argv[ARGUMENTS] = {path, "--no-userinit", "--checkpoints", checkpoints, "--lisp", b->lisp};
    size_t n = 6;
    while (more != NULL && *more != NULL && n < ARGUMENTS - 1)
        argv[n++] = *more++;
    peer_start(server, "the server", argv, '\n');
    client_call(b, server, initialize, "\"protocolVersion\"");
    send_all(server, initialized, sizeof initialized - 1);
}

void bare_start(struct bench *b, struct peer *bare)
{
    static const char definitions[] = DEFINITIONS("\"");
    const char *const argv[] = {b->lisp, "--script", b->bare_path, NULL};
    peer_start(bare, "the bare Lisp", argv, '\0');
    peer_call(bare, definitions, sizeof definitions, "BENCH-LINES");
}

void directory_make(char *path)
{
    snprintf(path, DIRECTORY_SIZE, "/tmp/cl-mcp-bench-XXXXXX");
    if (mkdtemp(path) == NULL)
        bench_fail("cannot make a directory in /tmp: %s", strerror(errno));
}
