/*
 * What the tests with real processes share: a loop that runs until a condition holds or time runs out,
 * waiting for the end of processes that are not children, and the check that nothing is left.
 */
#ifndef PROC_PROC_TEST_H
#define PROC_PROC_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "../assert_between.h"
#include "../cases.h"
#include "base/strbuf.h"
#include "proc/child.h"
#include "proc/tree.h"

/* No event takes this long on a machine that is not overloaded; nothing waits for it to pass. */
#define LIMIT_MS 20000

/* A time limit that a test sets; CL_MCP_TEST_STRETCH multiplies it. */
static inline int stretched(int ms)
{
    const char *factor = getenv("CL_MCP_TEST_STRETCH");
    return (int)(ms * (factor == NULL ? 1 : atof(factor)));
}

/* The helpers are built beside the tests. */
static inline const char *helper_path(const char *name)
{
    static char path[4200];
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, sizeof path, "%s/%s", self, name);
    return path;
}

struct limit_timer {
    uv_timer_t timer;
    bool is_over;
};

static inline void on_limit(uv_timer_t *timer)
{
    ((struct limit_timer *)timer->data)->is_over = true;
}

static inline void on_limit_closed(uv_handle_t *handle)
{
    *(bool *)handle->data = true;
}

struct condition {
    bool (*is_true)(void *arg);
    void *arg;
};

/* A timer's callback may have made it true, and the loop would then wait for the next event. */
static inline void stop_before_waiting(uv_prepare_t *handle)
{
    const struct condition *c = handle->data;
    if (c->is_true(c->arg))
        uv_stop(handle->loop);
}

static inline void on_prepare_closed(uv_handle_t *handle)
{
    handle->data = NULL;
}

/* Run the loop until ${is_true}(arg), which is called before each wait and after each round of events;
 * false if that takes too long. */
static inline bool run_until(uv_loop_t *loop, bool (*is_true)(void *arg), void *arg, int limit_ms)
{
    struct limit_timer limit = {0};
    uv_timer_init(loop, &limit.timer);
    limit.timer.data = &limit;
    uv_timer_start(&limit.timer, on_limit, (uint64_t)limit_ms, 0);
    struct condition condition = {is_true, arg};
    uv_prepare_t prepare;
    uv_prepare_init(loop, &prepare);
    prepare.data = &condition;
    uv_prepare_start(&prepare, stop_before_waiting);
    bool held;
    while (!(held = is_true(arg)) && !limit.is_over)
        uv_run(loop, UV_RUN_ONCE);
    bool is_closed = false;
    limit.timer.data = &is_closed;
    uv_close((uv_handle_t *)&limit.timer, on_limit_closed);
    uv_close((uv_handle_t *)&prepare, on_prepare_closed);
    while (!is_closed || prepare.data != NULL)
        uv_run(loop, UV_RUN_NOWAIT);
    return held;
}

static inline bool is_set(void *arg)
{
    return *(bool *)arg;
}

/* True if the process has ended or does so in time. It need not be a child. */
static inline bool has_gone(pid_t pid, int limit_ms)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, limit_ms)) < 0 && errno == EINTR)
        ;
    close(fd);
    return n == 1;
}

static inline bool is_running(pid_t pid)
{
    return !has_gone(pid, 0);
}

/* No child is left, dead or alive. */
static inline void assert_no_process_left(void)
{
    pid_t left[64];
    size_t n = tree_children(getpid(), left, 64);
    if (n > 0) {
        char path[64], name[64] = "?";
        snprintf(path, sizeof path, "/proc/%d/comm", (int)left[0]);
        FILE *f = fopen(path, "re");
        if (f != NULL) {
            if (fgets(name, sizeof name, f) == NULL)
                name[0] = '?';
            fclose(f);
        }
        fail_msg("%zu processes are left; %d is %s", n, (int)left[0], name);
    }
}

/* Descriptors that are open in this process. */
static inline size_t count_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/*
 * For the beginning of main(): descriptors that the test inherited must not look like a leak, and what libuv
 * opens once for the whole process is opened before anything is counted.
 */
static inline void keep_only_standard_descriptors(void)
{
    uv_loop_t loop;
    uv_signal_t handle;
    close_range(3, ~0u, 0);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop);
    uv_signal_init(&loop, &handle);
    uv_close((uv_handle_t *)&handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
}

/* Read a line of the helper's output, in time; false at the end of its output. */
static inline bool read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    while (n + 1 < size) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, LIMIT_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            fail_msg("a helper said nothing for %d ms", LIMIT_MS);
        ssize_t got = read(fd, line + n, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0 || line[n] == '\n') {
            line[n] = '\0';
            return got > 0;
        }
        n++;
    }
    line[n] = '\0';
    return true;
}

static inline pid_t read_pid(int fd)
{
    char line[64];
    assert_true(read_line(fd, line, sizeof line));
    pid_t pid = (pid_t)atoi(line);
    assert_true(pid > 1);
    return pid;
}

#endif
