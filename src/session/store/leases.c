/*
 * Responsible for the leases of one server: taking, renewing and losing them.
 */
#include "session/store/leases.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/own_path.h"
#include "base/random.h"
#include "base/remove_tree.h"
#include "base/strbuf.h"
#include "base/user_directory.h"
#include "proc/loop_handle.h"

#define WANTED "wanted/"
#define LEASE ".lease"
#define LOOK_S 2 /* for what others want */
#define RENEW_S 10
#define HELD_S 45 /* after a renewal its leases are used for this long: less than until others take them */
#define GONE_S 60
#define FORGOTTEN_S (24 * 60 * 60)
#define MOST_WANTED 1000 /* files that are read at a time */
#define MOST_MARKS 1000  /* of one session */
#define MOST_TRIES 10    /* others may remove the directory, which they leave empty, in between */

/* "NUMBER\n" in a server's own file, where it is always written as a whole. */
#define MOST_TEXT (RANDOM_SECRET_DIGITS + 1)
#define NODE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"
#define MOST_MARK (LEASE_MOST_NODE + 1 + RANDOM_SECRET_DIGITS)

struct leases {
    uv_timer_t *timer;
    char *root;   /* directory */
    char *nodes;  /* directory in it */
    char *wanted; /* the same: what others ask of this server */
    char *own;    /* path of this server's file there */
    char number[RANDOM_SECRET_DIGITS + 1];
    char *holder; /* path: NODE.NUMBER in nodes; its last part is the mark of its leases */
    struct list all;
    int64_t renewed_at;  /* on this machine's clock, before the last renewal */
    time_t renewed_time; /* of that renewal, on the file system's; 0: there was none */
    bool is_replaced;    /* another server has this one's name */
};

struct lease {
    struct list node;
    struct leases *leases;
    char *path, *name;
    bool is_lost;
    void (*on_lost)(void *arg);
    void (*on_wanted)(void *arg);
    void *arg;
};

/* Who else has a lease, as the marks and the files of their servers tell. */
struct holding {
    bool is_held, has_own; /* by another; there is the mark of the one who looks */
    char node[LEASE_MOST_NODE + 1];
    int64_t silent_s; /* since that one has renewed it */
};

/* It goes on while the server is stopped and while the machine sleeps. */
static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec;
}

static char *path_of(const char *directory, const char *name, const char *suffix)
{
    return strbuf_format("%s/%s%s", directory, name, suffix);
}

/* The text of an open file, empty if it is too long, and its time; false if it cannot be read. */
static bool read_open(int fd, char text[MOST_TEXT + 1], struct stat *status)
{
    if (fd < 0 || fstat(fd, status) != 0 || !S_ISREG(status->st_mode))
        return false;
    ssize_t n = pread(fd, text, MOST_TEXT + 1, 0);
    text[n < 0 || n > MOST_TEXT ? 0 : n] = '\0';
    return n >= 0;
}

/* The length of the part of a path in the directory of the leases that the user has named. */
static size_t given_len(const struct leases *l)
{
    return strlen(l->root);
}

static bool read_file(const char *path, char text[MOST_TEXT + 1], struct stat *status)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = read_open(fd, text, status);
    if (fd >= 0)
        close(fd);
    return ok;
}

static const char *mark_of(const char *holder)
{
    return strrchr(holder, '/') + 1;
}

/* How long the server with this mark has been silent, at a time of the file system's clock; INT64_MAX: for
 * ever, since a later server has its name. One without a file of its own, for example in a copy of the
 * directory, has been silent for as long as its mark is there. */
static int64_t silence(const char *nodes, int marks, const char *mark, char node[LEASE_MOST_NODE + 1],
                       time_t now)
{
    char number[MOST_TEXT + 1];
    struct stat status;
    size_t len = strlen(mark), tail = RANDOM_SECRET_DIGITS + 1;
    bool is_mark = len > tail && len <= LEASE_MOST_NODE + tail && mark[len - tail] == '.' && mark[0] != '.' &&
                   mark[strspn(mark, NODE_CHARACTERS)] == '\0' &&
                   strspn(mark + len - tail + 1, "0123456789abcdef") == RANDOM_SECRET_DIGITS;
    snprintf(node, LEASE_MOST_NODE + 1, "%.*s", is_mark ? (int)(len - tail) : 0, mark);
    char *path = path_of(nodes, node, "");
    bool is_there = is_mark && read_file(path, number, &status) && strlen(number) == tail;
    free(path);
    bool is_known = is_there && strncmp(number, mark + len - tail + 1, RANDOM_SECRET_DIGITS) == 0;
    bool is_over = (is_there && !is_known) ||
                   (!is_known && fstatat(marks, mark, &status, AT_SYMLINK_NOFOLLOW) != 0); /* given back */
    return is_over ? INT64_MAX : now - status.st_mtim.tv_sec;
}

struct look {
    struct holding holding;
    const char *nodes, *own; /* the mark of the server that looks */
    time_t now;
    unsigned seen;
};

/* Whether this mark will never count again. Other files than marks stay. */
static bool is_forgotten(void *arg, int marks, const char *mark)
{
    struct look *look = arg;
    struct holding *h = &look->holding;
    bool is_own = strcmp(mark, look->own) == 0;
    h->has_own = h->has_own || is_own;
    if (is_own || h->is_held)
        return false;
    h->silent_s = silence(look->nodes, marks, mark, h->node, look->now);
    h->is_held = h->silent_s <= GONE_S || ++look->seen > MOST_MARKS;
    return h->silent_s > FORGOTTEN_S && h->node[0] != '\0';
}

/* Looks at each mark in the directory at ${path}, for the server with the mark ${own}, and removes those that
 * will never count again. What cannot be read is held. */
static struct holding find_holding(const char *path, const char *nodes, const char *own, time_t now)
{
    struct look look = {.nodes = nodes, .own = own, .now = now};
    if (!remove_files(path, (size_t)(strrchr(nodes, '/') - nodes), MOST_MARKS + 10, is_forgotten, &look))
        look.holding.is_held = errno != ENOENT;
    return look.holding;
}

static struct holding find(const struct leases *l, const char *path)
{
    return find_holding(path, l->nodes, mark_of(l->holder), l->renewed_time);
}

/* The time is that at which this server has last renewed its own file: whoever has taken the lease over since
 * is not silent then. */
bool lease_is_held(const char *path, const char *holder)
{
    char number[MOST_TEXT + 1];
    struct stat own;
    char *file = xstrdup(holder), *nodes = xstrdup(holder);
    file[strlen(file) - RANDOM_SECRET_DIGITS - 1] = '\0';
    *strrchr(nodes, '/') = '\0';
    bool is_held = read_file(file, number, &own);
    if (is_held) {
        struct holding h = find_holding(path, nodes, mark_of(holder), own.st_mtim.tv_sec);
        is_held = h.has_own && !h.is_held;
    }
    free(nodes);
    free(file);
    return is_held;
}

static bool refuse(const struct leases *l, const char *path, const char *name, const struct holding *h,
                   struct err *err)
{
    if (l->is_replaced)
        return err_set(err, ERR_BUSY, "Another server with this one's name (--node) has its sessions now.");
    if (h->node[0] == '\0')
        return err_set(
            err, ERR_BUSY,
            "Session %s is locked by %s, which names no server. Remove that file or folder if no server "
            "has the session open.",
            name, path);
    if (h->silent_s > RENEW_S * 2)
        return err_set(err, ERR_BUSY,
                       "Session %s is held by node %s, which was last heard of %" PRId64
                       " s ago. If it does not return, the session can be used here in %" PRId64
                       " s; try again then.",
                       name, h->node, h->silent_s, h->silent_s < GONE_S ? GONE_S - h->silent_s : RENEW_S);
    return err_set(
        err, ERR_BUSY,
        "Session %s is open on another server, node %s, which is asked to save it and give it up. Try "
        "again in a few seconds.",
        name, h->node);
}

/* Makes an empty file; false with errno set. */
static bool make_file(const struct leases *l, const char *path)
{
    int fd = own_path_open(path, given_len(l), O_WRONLY | O_CREAT);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The name of a file that asks for the lease at ${path}. */
static char *name_of_wish(const struct leases *l, const char *path)
{
    char *name = xstrdup(path + strlen(l->root) + 1);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/')
            *c = '%';
    return name;
}

static void ask_for(const struct leases *l, const char *path, const struct holding *h)
{
    struct err err;
    char *name = name_of_wish(l, path), *directory = path_of(l->root, WANTED, h->node);
    char *wish = path_of(directory, name, "");
    bool ok = user_directory_make(directory, &err);
    if (!ok || !make_file(l, wish))
        log_warning("cannot ask for %s: %s", path, ok ? strerror(errno) : err.message);
    free(wish);
    free(directory);
    free(name);
}

static void grant(struct leases *l, const char *wish)
{
    list_each(struct lease, lease, &l->all, node) {
        char *name = name_of_wish(l, lease->path);
        if (strcmp(name, wish) == 0 && !lease->is_lost && lease->on_wanted != NULL)
            lease->on_wanted(lease->arg);
        free(name);
    }
}

static bool is_wish(void *arg, int directory, const char *name)
{
    bool is_wish = fnmatch("*" LEASE, name, 0) == 0;
    if (is_wish)
        grant(arg, name);
    return is_wish;
}

/* What other servers have asked for since the last time. */
static void grant_all(struct leases *l)
{
    remove_files(l->wanted, given_len(l), MOST_WANTED, is_wish, l);
}

static void withdraw(const struct leases *l, const char *path)
{
    char *mark = path_of(path, mark_of(l->holder), "");
    own_path_remove(mark, given_len(l));
    rmdir(path); /* which fails if another has its mark there */
    free(mark);
}

/* Makes the mark, and the directory, which whoever leaves it empty removes. */
static bool make_mark(const struct leases *l, const char *path, struct err *err)
{
    char *mark = path_of(path, mark_of(l->holder), "");
    bool is_made = false;
    errno = ENOENT;
    for (int i = 0; i < MOST_TRIES && !is_made && errno == ENOENT; i++)
        is_made = (mkdir(path, 0700) == 0 || errno == EEXIST) && make_file(l, mark);
    if (!is_made)
        err_set_errno(err, ERR_SYSTEM, errno, "cannot write %s", mark);
    free(mark);
    return is_made;
}

/* A look, so that nobody who has the lease sees the mark of one that cannot get it; then the mark; then the
 * look that counts. */
static bool claim(const struct leases *l, const char *path, const char *name, struct err *err)
{
    struct holding h = {.is_held = true};
    if (!l->is_replaced)
        h = find(l, path);
    if (!h.is_held) {
        if (!make_mark(l, path, err))
            return false;
        h = find(l, path);
    }
    if (h.has_own && !h.is_held)
        return true;
    withdraw(l, path);
    return refuse(l, path, name, &h, err);
}

static void lose(struct lease *lease, const struct err *err)
{
    log_error("session %s was lost to another server: %s", lease->name, err->message);
    lease->is_lost = true;
    if (lease->on_lost != NULL)
        lease->on_lost(lease->arg);
}

/* This server was stopped, or could not reach the directory, for so long that others may have taken its
 * leases over: it takes each one again, as if it were another's. */
static void check_all(struct leases *l)
{
    list_each(struct lease, lease, &l->all, node) {
        struct err err;
        if (!lease->is_lost && !claim(l, lease->path, lease->name, &err))
            lose(lease, &err);
    }
}

static bool write_own(int fd, const char *number)
{
    char text[MOST_TEXT + 1];
    int len = snprintf(text, sizeof text, "%s\n", number);
    return pwrite(fd, text, (size_t)len, 0) == len && ftruncate(fd, len) == 0;
}

/* Renew the file at ${fd}; ${*is_late}: others may have noticed that it was not. */
static bool renew_open(struct leases *l, int fd, bool *is_late)
{
    char text[MOST_TEXT + 1];
    struct stat before, after;
    if (!read_open(fd, text, &before))
        return false;
    if (l->renewed_time == 0)
        text[0] = '\0';                               /* of an earlier server with this name */
    if (text[0] == '\0' && !write_own(fd, l->number)) /* or somebody has removed it */
        return false;
    l->is_replaced = text[0] != '\0' && strncmp(text, l->number, strlen(l->number)) != 0;
    if (l->is_replaced)
        return true;
    if (futimens(fd, NULL) != 0 || fstat(fd, &after) != 0)
        return false;
    /* The file system's clock counts too: that of a paused virtual machine stands still. */
    *is_late = text[0] == '\0' || after.st_mtim.tv_sec - before.st_mtim.tv_sec > HELD_S;
    l->renewed_time = after.st_mtim.tv_sec;
    return true;
}

/* Renew this server's file, in place: a path that other machines remember leads to it. */
static bool renew(struct leases *l, struct err *err)
{
    int64_t now = now_s();
    bool is_late = false;
    int fd = own_path_open(l->own, given_len(l), O_RDWR | O_CREAT);
    bool ok = fd >= 0 && renew_open(l, fd, &is_late);
    if (!ok)
        err_set_errno(err, ERR_SYSTEM, errno, "cannot write %s", l->own);
    if (fd >= 0)
        close(fd);
    if (ok) {
        is_late = is_late || now - l->renewed_at > HELD_S;
        l->renewed_at = now;
    }
    if (l->is_replaced || (ok && is_late))
        check_all(l);
    if (l->is_replaced)
        uv_timer_stop(l->timer);
    return ok;
}

static void on_time(uv_timer_t *timer)
{
    struct leases *l = timer->data;
    struct err err;
    if (now_s() - l->renewed_at >= RENEW_S && !renew(l, &err))
        log_error("%s", err.message);
    grant_all(l);
}

struct leases *leases_new(uv_loop_t *loop, const char *directory, const char *node, struct err *err)
{
    struct leases *l = xcalloc(1, sizeof *l);
    list_init(&l->all);
    l->root = xstrdup(directory);
    l->nodes = path_of(directory, "nodes", "");
    l->wanted = path_of(directory, WANTED, node);
    l->own = path_of(l->nodes, node, "");
    l->timer = loop_handle_timer(loop, l);
    bool ok = random_secret(l->number) ||
              err_set(err, ERR_SYSTEM, "The kernel's random numbers are not ready yet.");
    char mark[MOST_MARK + 1];
    snprintf(mark, sizeof mark, "%.*s.%s", LEASE_MOST_NODE, node, l->number);
    l->holder = path_of(l->nodes, mark, "");
    if (!ok || !user_directory_make(l->nodes, err) || !renew(l, err)) {
        leases_free(l);
        return NULL;
    }
    uv_timer_start(l->timer, on_time, (uint64_t)LOOK_S * 1000, (uint64_t)LOOK_S * 1000);
    return l;
}

void leases_free(struct leases *l)
{
    if (l == NULL)
        return;
    loop_handle_free(l->timer);
    free(l->root);
    free(l->nodes);
    free(l->wanted);
    free(l->own);
    free(l->holder);
    free(l);
}

bool lease_is_elsewhere(struct leases *l, const char *directory, const char *name, struct err *err)
{
    char *path = path_of(directory, name, LEASE);
    struct holding h = find(l, path);
    if (h.is_held && h.node[0] != '\0' && h.node[0] != '.')
        ask_for(l, path, &h);
    if (h.is_held)
        refuse(l, path, name, &h, err);
    free(path);
    return h.is_held;
}

struct lease *lease_take(struct leases *l, const char *directory, const char *name, struct err *err)
{
    if (!user_directory_make(directory, err))
        return NULL;
    char *path = path_of(directory, name, LEASE);
    if (!claim(l, path, name, err)) {
        struct err same;
        lease_is_elsewhere(l, directory, name, &same);
        free(path);
        return NULL;
    }
    struct lease *lease = xcalloc(1, sizeof *lease);
    lease->leases = l;
    lease->path = path;
    lease->name = xstrdup(name);
    list_init(&lease->node);
    list_append(&l->all, &lease->node);
    return lease;
}

void lease_release(struct lease *lease)
{
    if (lease == NULL)
        return;
    if (!lease->is_lost)
        withdraw(lease->leases, lease->path);
    list_remove(&lease->node);
    free(lease->path);
    free(lease->name);
    free(lease);
}

void lease_watch(struct lease *lease, void (*on_lost)(void *arg), void (*on_wanted)(void *arg), void *arg)
{
    lease->on_lost = on_lost;
    lease->on_wanted = on_wanted;
    lease->arg = arg;
}

bool lease_confirm(struct lease *lease, struct err *err)
{
    struct leases *l = lease->leases;
    if (now_s() - l->renewed_at > HELD_S && !renew(l, err))
        log_error("%s", err->message);
    if (!lease->is_lost && now_s() - l->renewed_at <= HELD_S)
        return true;
    return err_set(err, ERR_BUSY,
                   lease->is_lost
                       ? "Session %s continues on another server: this one did not answer for a minute. What "
                         "was evaluated since its last save is lost."
                       : "Session %s cannot be used now: its lease in the state directory cannot be renewed.",
                   lease->name);
}

const char *lease_holder(const struct lease *lease)
{
    return lease->leases->holder;
}
