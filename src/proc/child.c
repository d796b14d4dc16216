/*
 * Signalling and reaping child processes; spawn.c starts them. One SIGCHLD handler reaps all children first
 * and then calls their owners, since a callback may change the lists.
 *
 * For waitpid(-1) the kernel walks the list of all our children, which takes a millisecond for ten thousand,
 * and a copy is killed after almost every evaluation. So children that we have killed are waited for by pid.
 * The walk, which finds those that exit by themselves, is done at once while it is cheap, and otherwise
 * rarely enough to take a twentieth of the time.
 */
#include "proc/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/hash_table.h"
#include "base/list.h"
#include "base/memory.h"
#include "proc/kernel_file.h"
#include "proc/loop_handle.h"
#include "proc/process.h"
#include "proc/spawn.h"
#include "proc/tree.h"

/* A copy can exit before its parent has reported its pid; this many such exits are remembered. */
#define EARLY_ENDS 256

#define MOST_PROBED 64          /* dying children that are probed at a time */
#define CHEAP_WALK_NS 50000     /* a shorter walk is done at once */
#define LONGEST_WALK_NS 5000000 /* a longer series of walks is interrupted for the loop */
#define WALK_SHARE 20           /* time spent elsewhere, in multiples of the time spent walking */

#define LAST_WAIT_MS 2000 /* for the processes that are killed at the end */

#define MOST_EXPENDABLE 1000 /* the kernel's maximum */

struct early_end {
    pid_t pid;
    int status;
};

struct children {
    uv_loop_t *loop;
    uv_signal_t *sigchld; /* own allocation: libuv frees handles later than we may free ourselves */
    uv_async_t *wake;     /* for children that had ended before they were adopted */
    struct list running;  /* of struct child */
    struct list dying;    /* of struct child: sent SIGKILL, not reaped; the owners of some have freed them */
    struct list ended;    /* of struct child: reaped, and their owners are still to be told */
    struct list told;     /* of struct child: their owners have been told */
    struct hash_table by_pid; /* those that run or are dying */
    uv_timer_t *walk;         /* the deferred walk over all children */
    uint64_t walk_ns;         /* the duration of the last one */
    int64_t own_score;        /* the server's oom_score_adj */
    int64_t memory_kills;     /* processes killed by the kernel that have been accounted for */
    struct early_end early[EARLY_ENDS];
    size_t early_next;
    char *mark;          /* children_expect(); NULL: none */
    struct rlimit files; /* as at our start; ours is raised, since every session takes several descriptors */
};

struct child {
    struct list node; /* in one of the four lists of ${owner} */
    struct hash_node by_pid;
    struct children *owner;
    pid_t pid;
    bool has_exited;
    bool is_killed; /* SIGKILL was sent */
    int status;
    child_on_exit *on_exit; /* NULL: its owner has freed it; it is freed when it has been reaped */
    void *arg;
};

struct child_end child_end_of_status(int status)
{
    struct child_end end = {.is_known = true};
    if (WIFSIGNALED(status))
        end.signal = WTERMSIG(status);
    else
        end.exit_code = WEXITSTATUS(status);
    return end;
}

static int64_t kills_for_memory(void)
{
    int64_t kills = 0;
    kernel_file_number("/proc/vmstat", "oom_kill", &kills);
    return kills;
}

/* Each kill by the kernel is attributed to one process that still has an owner. That we sent it SIGKILL
 * proves nothing: a process whose channel closes, as it does when the kernel kills it, is killed by us as
 * well. */
static bool was_killed_for_memory(struct child *child, const struct child_end *end)
{
    struct children *c = child->owner;
    if (end->signal != SIGKILL || child->on_exit == NULL || kills_for_memory() <= c->memory_kills)
        return false;
    c->memory_kills++;
    return true;
}

static struct child *find(struct children *c, pid_t pid)
{
    struct hash_node *node = hash_table_first(&c->by_pid, hash_number((uint64_t)pid));
    while (node != NULL && hash_table_entry(node, struct child, by_pid)->pid != pid)
        node = hash_table_next(node);
    return node == NULL ? NULL : hash_table_entry(node, struct child, by_pid);
}

static void move(struct child *child, struct list *to)
{
    list_remove(&child->node);
    list_append(to, &child->node);
}

static void has_ended(struct child *child, int status)
{
    if (child->on_exit == NULL) {
        list_remove(&child->node);
        free(child);
        return;
    }
    child->has_exited = true;
    child->status = status;
    move(child, &child->owner->ended);
}

void child_end_text(const struct child_end *end, char *out, size_t size)
{
    out[0] = '\0';
    if (end->is_known && end->signal != 0)
        snprintf(out, size, " with signal %d (%s)", end->signal, strsignal(end->signal));
    else if (end->is_known)
        snprintf(out, size, " with exit code %d", end->exit_code);
}

/* One at a time, always the first of the list: on_exit may free any child, its own included. */
static void tell_owners(struct children *c)
{
    while (!list_is_empty(&c->ended)) {
        struct child *child = list_entry(c->ended.next, struct child, node);
        struct child_end end = child_end_of_status(child->status);
        end.is_short_of_memory = was_killed_for_memory(child, &end);
        move(child, &c->told);
        child->on_exit(child->arg, &end);
    }
}

static void remember(struct children *c, pid_t pid, int status)
{
    c->early[c->early_next] = (struct early_end){.pid = pid, .status = status};
    c->early_next = (c->early_next + 1) % EARLY_ENDS;
}

static void was_reaped(struct children *c, pid_t pid, int status)
{
    struct child *child = find(c, pid);
    if (child == NULL) {
        remember(c, pid, status);
        return;
    }
    hash_table_remove(&c->by_pid, &child->by_pid);
    has_ended(child, status);
}

/* Waits for the children that we killed, by pid, as long as they are few. */
static void probe_dying(struct children *c)
{
    int probed = 0;
    list_each(struct child, child, &c->dying, node) {
        if (probed++ == MOST_PROBED)
            return;
        pid_t pid = child->pid;
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid)
            was_reaped(c, pid, status);
    }
}

static void on_walk(uv_timer_t *timer);

static void walk_later(struct children *c)
{
    if (!uv_is_active((uv_handle_t *)c->walk))
        uv_timer_start(c->walk, on_walk, c->walk_ns * WALK_SHARE / 1000000 + 1, 0);
}

static void walk(struct children *c)
{
    uint64_t start = uv_hrtime(), taken = 0;
    int status;
    pid_t pid;
    while (taken < LONGEST_WALK_NS && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        was_reaped(c, pid, status);
        taken = uv_hrtime() - start;
    }
    c->walk_ns = uv_hrtime() - start;
    if (taken >= LONGEST_WALK_NS)
        walk_later(c);
}

static void on_walk(uv_timer_t *timer)
{
    walk(timer->data);
    tell_owners(timer->data);
}

static void on_sigchld(uv_signal_t *handle, int signal)
{
    struct children *c = handle->data;
    probe_dying(c);
    if (c->walk_ns <= CHEAP_WALK_NS)
        walk(c);
    else
        walk_later(c);
    tell_owners(c);
}

static void on_wake(uv_async_t *handle)
{
    tell_owners(handle->data);
}

struct children *children_new(uv_loop_t *loop, struct err *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot become a subreaper");
        return NULL;
    }
    struct children *c = xcalloc(1, sizeof *c);
    unsetenv(CHILD_SESSION_VARIABLE); /* there if a Lisp of another server has started us */
    getrlimit(RLIMIT_NOFILE, &c->files);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = c->files.rlim_max, .rlim_max = c->files.rlim_max});
    c->loop = loop;
    kernel_file_number("/proc/self/oom_score_adj", "", &c->own_score);
    c->memory_kills = kills_for_memory();
    list_init(&c->running);
    list_init(&c->dying);
    list_init(&c->ended);
    list_init(&c->told);
    hash_table_init(&c->by_pid);
    c->sigchld = xcalloc(1, sizeof *c->sigchld);
    c->wake = xcalloc(1, sizeof *c->wake);
    CHECK(uv_signal_init(loop, c->sigchld) == 0);
    CHECK(uv_async_init(loop, c->wake, on_wake) == 0);
    c->sigchld->data = c->wake->data = c;
    c->walk = loop_handle_timer(loop, c);
    CHECK(uv_signal_start(c->sigchld, on_sigchld, SIGCHLD) == 0);
    /* These handles must not keep the loop alive. */
    uv_unref((uv_handle_t *)c->walk);
    uv_unref((uv_handle_t *)c->sigchld);
    uv_unref((uv_handle_t *)c->wake);
    return c;
}

bool children_have(struct children *c, pid_t pid)
{
    return find(c, pid) != NULL;
}

/* Wait until the killed process has ended, but not beyond the time. Returns whether it has. The SIGCHLD of
 * each other child interrupts poll(). */
static bool reap(pid_t pid, uint64_t until_ns)
{
    struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (ended.fd < 0) /* Linux before 5.3 has no such descriptor */
        return waitpid(pid, NULL, 0) == pid;
    uint64_t now_ns;
    do {
        now_ns = uv_hrtime();
    } while (poll(&ended, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0) < 0 &&
             errno == EINTR);
    close(ended.fd);
    return waitpid(pid, NULL, WNOHANG) == pid;
}

/* Processes in uninterruptible sleep, or that a debugger holds, may remain; we do not wait for them. */
static void kill_everyone(void)
{
    uint64_t until_ns = uv_hrtime() + LAST_WAIT_MS * (uint64_t)1000000;
    size_t reaped = 1;
    for (int round = 0; round < 64 && reaped > 0; round++) {
        pid_t found[512];
        size_t n = tree_children(getpid(), found, sizeof found / sizeof found[0]);
        reaped = 0;
        for (size_t i = 0; i < n; i++)
            tree_kill(found[i]);
        for (size_t i = 0; i < n; i++)
            reaped += reap(found[i], until_ns);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

void children_free(struct children *c)
{
    if (c == NULL)
        return;
    kill_everyone();
    while (!list_is_empty(&c->dying)) {
        struct child *child = list_entry(c->dying.next, struct child, node);
        hash_table_remove(&c->by_pid, &child->by_pid);
        has_ended(child, SIGKILL);
    }
    struct list *lists[] = {&c->running, &c->ended, &c->told};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        while (!list_is_empty(lists[i])) {
            struct child *child = list_entry(lists[i]->next, struct child, node);
            child->has_exited = true;
            child->owner = NULL;
            list_remove(&child->node);
        }
    hash_table_fini(&c->by_pid);
    loop_handle_free(c->sigchld);
    loop_handle_free(c->wake);
    loop_handle_free(c->walk);
    free(c->mark);
    free(c);
}

void children_expect(struct children *c, const char *mark)
{
    free(c->mark);
    c->mark = mark == NULL ? NULL : xstrdup(mark);
}

static struct child *new_child(struct children *c, pid_t pid, child_on_exit *on_exit, void *arg)
{
    struct child *child = xcalloc(1, sizeof *child);
    child->owner = c;
    child->pid = pid;
    child->on_exit = on_exit;
    child->arg = arg;
    list_init(&child->node);
    list_append(&c->running, &child->node);
    return child;
}

struct child *child_spawn(struct children *c, const struct spawn_spec *spec, child_on_exit *on_exit,
                          void *arg, struct err *err)
{
    pid_t pid = spawn_program(spec, &c->files, err);
    if (pid < 0)
        return NULL;
    struct child *child = new_child(c, pid, on_exit, arg);
    hash_table_add(&c->by_pid, &child->by_pid, hash_number((uint64_t)pid));
    return child;
}

/* Takes the last remembered end of this pid out of the memory; valid until the next one is remembered.
 * NULL: there is none. */
static const struct early_end *take_early_end(struct children *c, pid_t pid)
{
    const struct early_end *last = NULL;
    for (size_t k = 0; k < EARLY_ENDS; k++) {
        struct early_end *end = &c->early[(c->early_next + k) % EARLY_ENDS]; /* oldest first */
        if (end->pid != pid)
            continue;
        end->pid = 0;
        last = end;
    }
    return last;
}

/* The guardian is such a process. */
static bool runs_this_program(pid_t pid)
{
    char path[32];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 && own.st_dev == other.st_dev &&
           own.st_ino == other.st_ino;
}

/* A copy has the environment that its Lisp was started with. A program has another, even if it clears it. If
 * code has forbidden to look, the copy of its process forbids it too; a program begins by allowing it. */
static bool can_be_copy(const struct children *c, pid_t pid)
{
    if (runs_this_program(pid))
        return false;
    return !process_shows_environment(pid) || (!process_has_variable(pid, CHILD_SESSION_VARIABLE "=") &&
                                               (c->mark == NULL || process_has_variable(pid, c->mark)));
}

/* False for a process that has ended or is about to: it has no environment any more, and nothing to lose. */
static bool has_memory(pid_t pid)
{
    char path[32];
    int64_t pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    return kernel_file_number(path, "", &pages) && pages > 0;
}

struct child *child_adopt(struct children *c, pid_t pid, child_on_exit *on_exit, void *arg)
{
    CHECK(pid > 1);
    if (find(c, pid) != NULL)
        return NULL;
    /* Pids are reused: a remembered exit belongs to this child only if no child with that pid can be waited
     * for. */
    siginfo_t info;
    bool is_there = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    const struct early_end *end = take_early_end(c, pid);
    if (is_there ? !can_be_copy(c, pid) && has_memory(pid) : end == NULL)
        return NULL;
    struct child *child = new_child(c, pid, on_exit, arg);
    if (is_there) {
        hash_table_add(&c->by_pid, &child->by_pid, hash_number((uint64_t)pid));
    } else {
        has_ended(child, end->status);
        uv_async_send(c->wake);
    }
    return child;
}

void child_free(struct child *child)
{
    if (child == NULL)
        return;
    if (!child->has_exited) {
        if (!child->is_killed)
            child_kill_tree(child);
        child->on_exit = NULL; /* freed when it has been reaped */
        return;
    }
    list_remove(&child->node);
    free(child);
}

pid_t child_pid(const struct child *child)
{
    return child->pid;
}

static void was_killed(struct child *child)
{
    if (!child->is_killed)
        move(child, &child->owner->dying);
    child->is_killed = true;
}

/* Called after each copy of a session, so it uses plain system calls without stdio's buffers. */
void child_expendable(struct child *child, int more)
{
    char path[64], text[16];
    int64_t score = child->owner->own_score + more;
    if (child->has_exited)
        return;
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)child->pid);
    int len = snprintf(text, sizeof text, "%d", (int)(score < MOST_EXPENDABLE ? score : MOST_EXPENDABLE));
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t ignored = write(file, text, (size_t)len); /* if it is refused, the kernel uses its own order */
    (void)ignored;
    close(file);
}

void child_signal(struct child *child, int signal)
{
    if (child->has_exited)
        return;
    kill(child->pid, signal);
    if (signal == SIGKILL)
        was_killed(child);
}

void child_interrupt(struct child *child, int token)
{
    if (!child->has_exited)
        sigqueue(child->pid, SIGURG, (union sigval){.sival_int = token});
}

void child_show(struct child *child, int token)
{
    if (!child->has_exited)
        sigqueue(child->pid, SIGWINCH, (union sigval){.sival_int = token});
}

void child_kill_tree(struct child *child)
{
    if (child->has_exited)
        return;
    tree_kill(child->pid);
    was_killed(child);
}
