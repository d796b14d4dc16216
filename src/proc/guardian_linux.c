/*
 * The guardian, by /proc/PID/environ. A program that clears its environment escapes it; nothing else does.
 */
#include "proc/guardian.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

struct guardian {
    pid_t pid;
    int alive; /* write end of the pipe it watches; closed with us, however we end */
    char mark[64];
};

/* The mark, if present, is near the end of the environment, so all of it is read, in pieces; an environment
 * has at most ARG_MAX bytes. */
static bool environment_has(const char *pid, const char *mark)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char buffer[8192];
    size_t kept = 0, mark_len = strlen(mark);
    bool found = false;
    ssize_t n;
    while (!found && (n = read(fd, buffer + kept, sizeof buffer - kept)) > 0) {
        size_t len = kept + (size_t)n;
        found = memmem(buffer, len, mark, mark_len) != NULL;
        kept = len < mark_len ? len : mark_len;
        memmove(buffer, buffer + len - kept, kept);
    }
    close(fd);
    return found;
}

/* True if any was there to kill. */
static bool kill_marked(const char *mark)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return false;
    bool any = false;
    const struct dirent *entry;
    while ((entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid() ||
            !environment_has(entry->d_name, mark))
            continue;
        kill(pid, SIGKILL);
        any = true;
    }
    closedir(proc);
    return any;
}

static _Noreturn void guard(int alive, const char *mark)
{
    prctl(PR_SET_NAME, "cl-mcp-guardian");
    setsid();
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN);
    if (alive != 3 && dup2(alive, 3) < 0)
        _exit(1);
    /* The guardian must not keep the pipes of the client or of the Lisps open. */
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    close_range(4, ~0u, 0);
    char c;
    ssize_t n;
    while ((n = read(3, &c, 1)) < 0 && errno == EINTR)
        ;
    /* A byte means that the server dismisses us. The second and third round catch what was forking in the
     * first. */
    for (int round = 0; n == 0 && round < 8 && kill_marked(mark); round++)
        ;
    _exit(0);
}

struct guardian *guardian_new(struct err *err)
{
    struct guardian *g = xcalloc(1, sizeof *g);
    unsigned long long random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (unsigned long long)getpid();
    snprintf(g->mark, sizeof g->mark, "CL_MCP_SERVER_MARK=%d-%016llx", (int)getpid(), random);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe for the guardian");
        free(g);
        return NULL;
    }
    g->pid = fork();
    if (g->pid == 0) {
        close(ends[1]);
        guard(ends[0], g->mark);
    }
    close(ends[0]);
    g->alive = ends[1];
    if (g->pid < 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot start the guardian");
        close(g->alive);
        free(g);
        return NULL;
    }
    return g;
}

void guardian_free(struct guardian *g)
{
    if (g == NULL)
        return;
    ssize_t ignored = write(g->alive, "q", 1);
    (void)ignored;
    close(g->alive);
    kill(g->pid, SIGKILL);
    waitpid(g->pid, NULL, 0);
    free(g);
}

const char *guardian_mark(const struct guardian *g)
{
    return g->mark;
}
