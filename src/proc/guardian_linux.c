/*
 * The guardian, by /proc/PID/environ. Only a program that clears its environment escapes it.
 */
#include "proc/guardian.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "proc/loop_handle.h"
#include "proc/process.h"

#define MOST_STARTS 100

struct guardian {
    pid_t pid;
    int alive; /* write end of the pipe it watches; closes when the server ends, in any way; -1: there is no
                  guardian */
    uv_poll_t *watch;
    uv_loop_t *loop;
    int starts; /* restarts it */
    char mark[64];
};

/* True if it killed any. */
static bool kill_marked(const char *mark)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return false;
    bool any = false;
    const struct dirent *entry;
    while ((entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid() || !process_has_variable(pid, mark))
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
    /* The guardian must not keep the client's or the Lisps' pipes open. */
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    close_range(4, ~0u, 0);
    char c;
    ssize_t n;
    while ((n = read(3, &c, 1)) < 0 && errno == EINTR)
        ;
    /* A byte means that the server dismisses it. The second and third rounds catch processes that were
     * forking during the first. */
    for (int round = 0; n == 0 && round < 8 && kill_marked(mark); round++)
        ;
    _exit(0);
}

static void stop_watching(struct guardian *g)
{
    loop_handle_free(g->watch);
    g->watch = NULL;
}

static bool start(struct guardian *g, struct err *err);

/* Its end of the pipe has closed, so it has ended; evaluated code may have killed it. */
static void on_end(uv_poll_t *poll, int status, int events)
{
    struct guardian *g = poll->data;
    struct err err;
    stop_watching(g);
    close(g->alive);
    /* A process closes its descriptors a moment before it can be waited for; no process would reap it later.
     */
    kill(g->pid, SIGKILL);
    waitpid(g->pid, NULL, 0);
    g->alive = -1;
    if (++g->starts > MOST_STARTS)
        log_error("the guardian has ended %d times and will not be restarted: if this server is killed, "
                  "programs that its "
                  "sessions have started may survive",
                  MOST_STARTS);
    else if (start(g, &err))
        log_warning("the guardian had ended and was restarted");
    else
        log_error("%s", err.message);
}

static bool start(struct guardian *g, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot make a pipe for the guardian");
    g->pid = fork();
    if (g->pid == 0) {
        close(ends[1]);
        guard(ends[0], g->mark);
    }
    close(ends[0]);
    if (g->pid < 0) {
        close(ends[1]);
        return err_set_errno(err, ERR_SYSTEM, errno, "cannot start the guardian");
    }
    g->alive = ends[1];
    /* poll reports an error on the write end of a pipe without readers, also if it was not asked for. */
    g->watch = loop_handle_poll(g->loop, g->alive, g);
    CHECK(uv_poll_start(g->watch, UV_DISCONNECT, on_end) == 0);
    uv_unref((uv_handle_t *)g->watch);
    return true;
}

struct guardian *guardian_new(uv_loop_t *loop, struct err *err)
{
    struct guardian *g = xcalloc(1, sizeof *g);
    unsigned long long random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (unsigned long long)getpid();
    snprintf(g->mark, sizeof g->mark, "CL_MCP_SERVER_MARK=%d-%016llx", (int)getpid(), random);
    g->loop = loop;
    g->alive = -1;
    if (start(g, err))
        return g;
    free(g);
    return NULL;
}

void guardian_free(struct guardian *g)
{
    if (g == NULL)
        return;
    if (g->alive >= 0) {
        stop_watching(g);
        ssize_t ignored = write(g->alive, "q", 1);
        (void)ignored;
        close(g->alive);
        kill(g->pid, SIGKILL);
        waitpid(g->pid, NULL, 0);
    }
    free(g);
}

const char *guardian_mark(const struct guardian *g)
{
    return g->mark;
}
