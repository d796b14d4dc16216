/*
 * Responsible for a child of a subcommand, which has no loop: pipes, poll() and a deadline.
 */
#include "cli/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

enum { INPUT, OUTPUT, ERRORS, PIPES };
enum { MOST_OUTPUT = 1 << 20, MOST_ERRORS = 1 << 16 };

extern char **environ;

static int64_t now_ms(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_all(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++)
        for (int end = 0; end < 2; end++)
            close_end(&pipes[i][end]);
}

static bool start(const char *const *argv, int pipes[PIPES][2], pid_t *pid, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < PIPES; i++)
        posix_spawn_file_actions_adddup2(&actions, pipes[i][i == INPUT ? 0 : 1], i);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int error = posix_spawn(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 || err_set_errno(err, ERR_START, error, "%s cannot be started", argv[0]);
}

/* Error output beyond the limit is read and dropped, so that the program can continue. */
static void take(int *fd, struct strbuf *out)
{
    char piece[1 << 14];
    ssize_t got = read(*fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0)
        close_end(fd);
    else
        strbuf_add(out, piece, (size_t)got);
}

/* Write as much as the pipe accepts. */
static void give(int *fd, const char **input)
{
    ssize_t given = write(*fd, *input, strnlen(*input, PIPE_BUF));
    if (given < 0 && errno == EINTR)
        return;
    if (given > 0)
        *input += given;
    if (given < 0 || **input == '\0')
        close_end(fd);
}

static bool be_late(int limit_ms, struct err *err)
{
    return err_set(err, ERR_LIMIT, "it did not end within %d s", limit_ms / 1000);
}

/* Until it has closed its output. */
static bool talk(int pipes[PIPES][2], const char *input, int limit_ms, int64_t deadline,
                 struct program_result *out, struct err *err)
{
    if (*input == '\0')
        close_end(&pipes[INPUT][1]);
    while (pipes[OUTPUT][0] >= 0 || pipes[ERRORS][0] >= 0) {
        struct pollfd polled[PIPES] = {{.fd = pipes[INPUT][1], .events = POLLOUT},
                                       {.fd = pipes[OUTPUT][0], .events = POLLIN},
                                       {.fd = pipes[ERRORS][0], .events = POLLIN}};
        int64_t left = deadline - now_ms();
        if (left <= 0)
            return be_late(limit_ms, err);
        if (poll(polled, PIPES, (int)left) < 0 && errno != EINTR)
            return err_set_errno(err, ERR_SYSTEM, errno, "poll");
        if (polled[INPUT].revents != 0)
            give(&pipes[INPUT][1], &input);
        if (polled[OUTPUT].revents != 0)
            take(&pipes[OUTPUT][0], &out->output);
        if (polled[ERRORS].revents != 0)
            take(&pipes[ERRORS][0], &out->errors);
        if (out->output.is_overflown)
            return err_set(err, ERR_TOO_LARGE, "its output has more than %d bytes", MOST_OUTPUT);
    }
    return true;
}

/* A program may close its output long before it ends. */
static bool await_end(pid_t pid, int limit_ms, int64_t deadline, struct err *err)
{
    struct pollfd polled = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int ready = polled.fd < 0 ? 1 : 0; /* without descriptors for processes, waitpid() waits */
    int64_t left;
    while (ready <= 0 && (left = deadline - now_ms()) > 0)
        ready = poll(&polled, 1, (int)left);
    close_end(&polled.fd);
    return ready > 0 || be_late(limit_ms, err);
}

bool run_program(const char *const *argv, const char *input, int limit_ms, struct program_result *out,
                 struct err *err)
{
    int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t pid;
    *out = (struct program_result){.status = -1};
    strbuf_init(&out->output, MOST_OUTPUT);
    strbuf_init(&out->errors, MOST_ERRORS);
    int64_t deadline = now_ms() + limit_ms;
    bool is_good = true;
    for (int i = 0; is_good && i < PIPES; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0)
            is_good = err_set_errno(err, ERR_SYSTEM, errno, "pipe");
    if (is_good && (is_good = start(argv, pipes, &pid, err))) {
        close_end(&pipes[INPUT][0]);
        close_end(&pipes[OUTPUT][1]);
        close_end(&pipes[ERRORS][1]);
        is_good = talk(pipes, input, limit_ms, deadline, out, err) && await_end(pid, limit_ms, deadline, err);
        if (!is_good)
            kill(-pid, SIGKILL);
        while (waitpid(pid, &out->status, 0) < 0 && errno == EINTR)
            ;
    }
    close_all(pipes);
    return is_good;
}

void program_result_fini(struct program_result *result)
{
    strbuf_fini(&result->output);
    strbuf_fini(&result->errors);
}
