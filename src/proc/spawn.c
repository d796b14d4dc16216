/*
 * Responsible for the steps between fork and exec, and for reporting their failure to the caller.
 */
#include "proc/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "proc/sandbox.h"

/* The same as close_range(4, ~0u, CLOSE_RANGE_CLOEXEC), which Linux has since 5.11. */
static bool close_on_exec(void)
{
    _Alignas(struct dirent64) char entries[4096];
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t len = -1;
    while (directory >= 0 && (len = getdents64(directory, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            int fd = 0;
            for (const char *digit = entry->d_name; *digit >= '0' && *digit <= '9'; digit++)
                fd = fd * 10 + (*digit - '0');
            if (fd >= 4)
                fcntl(fd, F_SETFD, FD_CLOEXEC);
            at += entry->d_reclen;
        }
    int failure = errno;
    if (directory >= 0)
        close(directory);
    errno = failure;
    return len == 0;
}

/* Runs between fork and exec: only async-signal-safe calls. Returns only on failure, with errno set. */
static void become(const struct spawn_spec *spec, char *const *environment, pid_t server,
                   const struct rlimit *files)
{
    sigset_t none;
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server)
        _exit(127); /* the server died before the line above */
    setsid();       /* a terminal's ^C is for the server, not for its children */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high[4];
    for (int i = 0; i < 4; i++) {
        int from = spec->descriptors[i] >= 0 ? spec->descriptors[i] : i < 3 ? null : -1;
        /* Move them above 0 to 3 first: the sources may themselves be among these. */
        high[i] = from < 0 ? -1 : fcntl(from, F_DUPFD_CLOEXEC, 10);
        if (from >= 0 && high[i] < 0)
            return;
    }
    for (int i = 0; i < 4; i++) {
        if (high[i] >= 0 && dup2(high[i], i) < 0)
            return;
        if (high[i] < 0)
            close(i);
    }
    /* Descriptors that we inherited must not reach the child. The pipe that reports a failure is
     * close-on-exec already. */
    if (close_range(4, ~0u, CLOSE_RANGE_CLOEXEC) != 0 && !close_on_exec())
        return;
    setrlimit(RLIMIT_NOFILE, files);
    if (spec->largest_file_bytes > 0)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){spec->largest_file_bytes, spec->largest_file_bytes});
    if (spec->directory != NULL && chdir(spec->directory) != 0)
        return;
    if (spec->sandbox != NULL) {
        if (!sandbox_enter(spec->sandbox))
            return;
        if (getppid() != server)
            _exit(127); /* entering a namespace has reset the signal for a moment */
    }
    environ = (char **)(uintptr_t)environment;
    execvp(spec->argv[0], (char *const *)(uintptr_t)spec->argv);
}

static bool has_name(const char *entry, const char *assignment)
{
    size_t n = strcspn(assignment, "=");
    return strncmp(entry, assignment, n) == 0 && entry[n] == '=';
}

/* Our environment with the additions; the strings stay where they are. */
static char **merged_environment(const char *const *additions, bool is_sandboxed)
{
    size_t n = 0, extra = 0;
    while (environ[n] != NULL)
        n++;
    while (additions != NULL && additions[extra] != NULL)
        extra++;
    char **out = xcalloc(n + extra + 1, sizeof *out);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_replaced = is_sandboxed && !sandbox_keeps_variable(environ[i]);
        for (size_t k = 0; k < extra; k++)
            is_replaced = is_replaced || has_name(environ[i], additions[k]);
        if (!is_replaced)
            out[used++] = environ[i];
    }
    for (size_t k = 0; k < extra; k++)
        out[used++] = (char *)(uintptr_t)additions[k];
    return out;
}

pid_t spawn_program(const struct spawn_spec *spec, const struct rlimit *files, struct err *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe");
        return -1;
    }
    char **environment = merged_environment(spec->environment, spec->sandbox != NULL);
    pid_t server = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        /* Move it above the descriptors that become() replaces. */
        int out = fcntl(report[1], F_DUPFD_CLOEXEC, 10);
        become(spec, environment, server, files);
        int failure = errno;
        ssize_t ignored = write(out, &failure, sizeof failure);
        (void)ignored;
        _exit(127);
    }
    int fork_errno = errno;
    free(environment);
    close(report[1]);
    int failure = 0;
    ssize_t n = 0;
    if (pid > 0)
        while ((n = read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR)
            ;
    close(report[0]);
    if (pid < 0) {
        err_set_errno(err, ERR_SYSTEM, fork_errno, "cannot start %s", spec->argv[0]);
        return -1;
    }
    if (n > 0) {
        waitpid(pid, NULL, 0);
        err_set_errno(err, failure == ENOENT ? ERR_NOT_FOUND : ERR_START, failure, "cannot run %s",
                      spec->argv[0]);
        return -1;
    }
    return pid;
}
