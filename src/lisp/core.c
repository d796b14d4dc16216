/*
 * Finding and building the agent's core.
 */
#include "lisp/core.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/regular_file.h"
#include "base/remove_tree.h"
#include "base/strbuf.h"
#include "base/user_directory.h"
#include "lisp/agent_source.h"
#include "proc/child.h"
#include "proc/cpu_grace.h"
#include "proc/loop_handle.h"
#include "proc/spawn.h"

#define LOG_READ 65536 /* bytes of the Lisp's output */
#define LOG_SHOWN 400
#define MOST_EXTENSIONS 100                    /* of the time limit, each for a file that was loaded */
#define OLD_BUILD_S 3600                       /* no build takes that long */
#define LARGEST_FILE_BYTES ((uint64_t)1 << 30) /* the image, or the output of another program than SBCL */
#define CORE_HEAP_MIB "2048"                   /* the default of --max-heap */

struct core_build {
    struct child *child;
    char *source;    /* temporary file for the agent's sources */
    char *temporary; /* the core while it is being written */
    char *log;       /* temporary file for the Lisp's output */
    char *path;
    char *lisp;
    uv_timer_t *deadline;
    struct cpu_grace grace; /* of the deadline */
    int limit_ms;
    int extensions;  /* of the limit, so far */
    off_t log_bytes; /* when the limit began */
    bool is_late;
    core_build_done *done;
    void *arg;
};

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

char *core_find_program(const char *name, const char *path)
{
    for (size_t len; path != NULL && *path != '\0'; path += len + (path[len] == ':')) {
        len = strcspn(path, ":");
        char *candidate = strbuf_format("%.*s/%s", (int)len, path, name);
        if (path[0] == '/' && is_program(candidate))
            return candidate;
        free(candidate);
    }
    return NULL;
}

char *core_find_lisp(const char *program, struct err *err)
{
    bool is_path = strchr(program, '/') != NULL;
    const char *path = getenv("PATH");
    char *found = is_path ? is_program(program) ? xstrdup(program) : NULL
                          : core_find_program(program, path == NULL ? "/usr/local/bin:/usr/bin:/bin" : path);
    char *real = found == NULL ? NULL : realpath(found, NULL);
    free(found);
    if (real == NULL && is_path)
        err_set(err, ERR_NO_LISP,
                "No Lisp at %s. Give --lisp the path of an SBCL, or install one (Debian, Ubuntu: apt install "
                "sbcl).",
                program);
    else if (real == NULL)
        err_set(err, ERR_NO_LISP,
                "No Lisp found: there is no program '%s' in PATH. Install SBCL (Debian, Ubuntu: apt install "
                "sbcl; Fedora: dnf install sbcl) or give its path with --lisp; the "
                "next call will find it.",
                program);
    return real;
}

/* It distinguishes files, and is not a protection. */
static uint64_t key_of(const char *lisp)
{
    uint64_t h = hash_text(lisp, hash_bytes((const char *)agent_source, agent_source_len, 0));
    struct stat s;
    if (stat(lisp, &s) == 0)
        h = hash_number(hash_number(h ^ (uint64_t)s.st_size) ^ (uint64_t)s.st_mtim.tv_sec);
    return h;
}

char *core_name(const char *lisp)
{
    return strbuf_format("agent-%016llx.core", (unsigned long long)key_of(lisp));
}

char *core_path(const char *lisp, bool *exists, struct err *err)
{
    unsigned long long key = key_of(lisp);
    char self[PATH_MAX];
    size_t self_size = sizeof self;
    *exists = true;
    static const char *const beside[] = {"", "/../lib/cl-mcp-server"};
    bool is_known = uv_exepath(self, &self_size) == 0;
    for (size_t i = 0; is_known && i < sizeof beside / sizeof beside[0]; i++) {
        int len = (int)(strrchr(self, '/') - self);
        char *path = strbuf_format("%.*s%s/agent-%016llx.core", len, self, beside[i], key);
        if (access(path, R_OK) == 0)
            return path;
        free(path);
    }
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char in_tmp[48];
    snprintf(in_tmp, sizeof in_tmp, "cl-mcp-server-%u", (unsigned)getuid());
    const struct {
        const char *parent, *name;
    } places[] = {{cache, "cl-mcp-server"}, {home, ".cache/cl-mcp-server"}, {"/tmp", in_tmp}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].parent == NULL || places[i].parent[0] != '/')
            continue;
        char *place = strbuf_format("%s/%s", places[i].parent, places[i].name);
        user_directory_make(place, NULL);
        char *directory = user_directory_trusted(place);
        free(place);
        if (directory == NULL)
            continue;
        char *path = strbuf_format("%s/agent-%016llx.core", directory, key);
        free(directory);
        *exists = access(path, R_OK) == 0;
        return path;
    }
    err_set(err, ERR_SYSTEM,
            "no directory that only this user can write was found for the Lisp image (tried "
            "$XDG_CACHE_HOME/cl-mcp-server, ~/.cache/cl-mcp-server and /tmp/cl-mcp-server-UID)");
    return NULL;
}

/* Two zygotes of one server may build at once. */
static char *with_suffix(const char *path, const char *suffix)
{
    return strbuf_format("%s.%d-%016llx%s", path, (int)getpid(), (unsigned long long)random_number(), suffix);
}

/* What builds of servers that were killed have left beside ${path}. */
static void remove_leftovers(const char *path)
{
    char *directory = xmemdup0(path, (size_t)(strrchr(path, '/') - path));
    remove_old_files(directory, strlen(directory), "agent-*.core.[0-9]*.*", time(NULL) - OLD_BUILD_S);
    free(directory);
}

static void build_free(struct core_build *b)
{
    child_free(b->child);
    unlink(b->source);
    unlink(b->temporary);
    unlink(b->log);
    free(b->source);
    free(b->temporary);
    free(b->log);
    free(b->path);
    free(b->lisp);
    loop_handle_free(b->deadline);
    free(b);
}

void core_build_cancel(struct core_build *build)
{
    if (build != NULL)
        build_free(build);
}

/* The part of the Lisp's output that names the error: SBCL prints it first, followed by pages of frames.
 * The end of the output if there is none. */
static void explain(const struct core_build *b, const struct child_end *end, struct err *err)
{
    char *text = xcalloc(1, LOG_READ + 1);
    FILE *f = fopen(b->log, "re");
    size_t n = 0;
    if (f != NULL) {
        n = fread(text, 1, LOG_READ, f);
        fclose(f);
    }
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        char c = (unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~' ? ' ' : text[i];
        if (c != ' ' || (len > 0 && text[len - 1] != ' '))
            text[len++] = c;
    }
    text[len] = '\0';
    const char *error = strstr(text, "Unhandled ");
    const char *said = error != NULL ? error : len > LOG_SHOWN ? text + len - LOG_SHOWN : text;
    const char *frames = strstr(said, " Backtrace for");
    int shown = frames != NULL && frames - said < LOG_SHOWN ? (int)(frames - said) : LOG_SHOWN;
    char how[CHILD_END_TEXT];
    child_end_text(end, how, sizeof how);
    if (b->is_late)
        err_set(
            err, ERR_START,
            "%.200s loaded nothing more of the agent for %.10g s while it built its image, and the server "
            "ended it. If it is not an SBCL, give --lisp the path of one. Its output: %.*s",
            b->lisp, b->limit_ms / 1000.0, shown, len == 0 ? "(nothing)" : said);
    else
        err_set(
            err, ERR_START,
            "%.200s could not build its image: it ended%s. If it is an SBCL, its release may be too old or "
            "too new: 2.2.9, 2.5.2 and 2.6.4 are tested. Its output: %.*s",
            b->lisp, how, shown, len == 0 ? "(nothing)" : said);
    free(text);
}

static void on_child_exit(void *arg, const struct child_end *end)
{
    struct core_build *b = arg;
    struct err err;
    bool ok = end->signal == 0 && end->exit_code == 0 && access(b->temporary, R_OK) == 0;
    if (!ok)
        explain(b, end, &err);
    else if (rename(b->temporary, b->path) != 0) {
        ok = false;
        err_set_errno(&err, ERR_SYSTEM, errno, "cannot rename %s to %s", b->temporary, b->path);
    }
    core_build_done *done = b->done;
    void *done_arg = b->arg;
    build_free(b);
    done(done_arg, ok ? NULL : &err);
}

static off_t log_size(const struct core_build *b)
{
    struct stat s;
    return stat(b->log, &s) == 0 ? s.st_size : 0;
}

static void on_deadline(uv_timer_t *timer);

static void begin_limit(struct core_build *b)
{
    b->log_bytes = log_size(b);
    cpu_grace_begin(&b->grace, b->limit_ms, child_pid(b->child));
    uv_timer_start(b->deadline, on_deadline, (uint64_t)b->limit_ms, 0);
}

static void on_deadline(uv_timer_t *timer)
{
    struct core_build *b = timer->data;
    int more_ms = cpu_grace_more_ms(&b->grace, child_pid(b->child));
    if (more_ms > 0) {
        uv_timer_start(timer, on_deadline, (uint64_t)more_ms, 0);
    } else if (b->extensions < MOST_EXTENSIONS && log_size(b) > b->log_bytes) {
        /* A slow machine, as one that is emulated, may need minutes; but then one file after the other is
         * loaded. */
        b->extensions++;
        begin_limit(b);
    } else {
        b->is_late = true;
        child_kill_tree(b->child);
    }
}

struct core_build *core_build(uv_loop_t *loop, struct children *children, const char *lisp, const char *path,
                              int limit_ms, core_build_done *done, void *arg, struct err *err)
{
    remove_leftovers(path);
    struct core_build *b = xcalloc(1, sizeof *b);
    b->limit_ms = limit_ms > 0 ? limit_ms : cpu_grace_stretched(CORE_BUILD_LIMIT_MS);
    b->deadline = loop_handle_timer(loop, b);
    b->lisp = xstrdup(lisp);
    b->source = with_suffix(path, ".lisp");
    b->temporary = with_suffix(path, ".new");
    b->log = with_suffix(path, ".log");
    b->path = xstrdup(path);
    b->done = done;
    b->arg = arg;
    bool is_written = regular_file_write(b->source, agent_source, agent_source_len, err);
    int log = is_written ? open(b->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (is_written && log < 0)
        err_set_errno(err, ERR_SYSTEM, errno, "cannot write %s", b->log);
    if (log < 0) {
        build_free(b);
        return NULL;
    }
    /* A core that is started with a larger heap than it was saved with is relocated at each start (17
     * ms instead of 3). */
    const char *argv[] = {lisp,
                          "--noinform",
                          "--dynamic-space-size",
                          CORE_HEAP_MIB,
                          "--no-sysinit",
                          "--no-userinit",
                          "--non-interactive",
                          "--load",
                          b->source,
                          "--",
                          b->temporary,
                          NULL};
    struct spawn_spec spec = {
        .argv = argv, .descriptors = {-1, log, log, -1}, .largest_file_bytes = LARGEST_FILE_BYTES};
    b->child = child_spawn(children, &spec, on_child_exit, b, err);
    close(log);
    if (b->child == NULL) {
        build_free(b);
        return NULL;
    }
    begin_limit(b);
    return b;
}
