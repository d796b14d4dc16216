/*
 * Responsible for turning --sandbox, --writable, --readable and --network into the lists of paths that the
 * sandbox takes, and for the private directories of a sandboxed Lisp.
 */
#include "app/confinement.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/user_directory.h"
#include "lisp/core.h"
#include "options/options.h"
#include "proc/sandbox.h"

#define MOST_PATHS (2 * OPTIONS_MOST_REPEATED + 32)
#define MOST_VARIABLES 8
#define OLD_DRAFT_S 3600 /* nobody writes an image for that long */

struct paths {
    char *all[MOST_PATHS + 1]; /* owned; ends with NULL */
    size_t count;
};

struct confinement {
    struct sandbox *sandbox;
    struct paths writable, readable;
    char *environment[MOST_VARIABLES + 1];
    size_t variables;
    char *temporary; /* NULL: does not exist */
    char *drafts;    /* NULL: does not exist */
};

static void add(struct paths *paths, const char *directory, const char *name)
{
    char path[PATH_MAX];
    if (directory == NULL || directory[0] != '/' || paths->count == MOST_PATHS)
        return;
    int len = snprintf(path, sizeof path, "%s%s", directory, name);
    if (len > 0 && (size_t)len < sizeof path)
        paths->all[paths->count++] = xstrdup(path);
}

/* The real path: a relative one is relative to where the server was started. */
static void add_given(struct paths *paths, const char *path)
{
    char *real = realpath(path, NULL);
    add(paths, real, "");
    free(real);
}

static void add_variable(struct confinement *c, const char *name, const char *value)
{
    char text[PATH_MAX + 32];
    snprintf(text, sizeof text, "%s=%s", name, value);
    c->environment[c->variables++] = xstrdup(text);
}

/* Whether ${outer} is the directory ${inner} or one of its parents. */
static bool holds(const char *outer, const char *inner)
{
    size_t len = strlen(outer);
    if (strcmp(outer, "/") == 0)
        return true;
    return strncmp(outer, inner, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

/* The Lisps have access to the whole project, so it must not contain what is to be kept from them. */
static char *find_project(const struct options *o, struct err *err)
{
    char *project = realpath(o->directory != NULL ? o->directory : ".", NULL);
    if (project == NULL) {
        err_set_errno(err, ERR_SYSTEM, errno, "the project directory %s cannot be opened",
                      o->directory != NULL ? o->directory : ".");
        return NULL;
    }
    const char *home = getenv("HOME");
    char *real_home = home == NULL ? NULL : realpath(home, NULL);
    if (strcmp(project, "/") == 0 || (real_home != NULL && holds(project, real_home))) {
        err_set(
            err, ERR_INVALID,
            "The project directory %s holds your home directory, so --sandbox could keep nothing from the "
            "Lisps. Start the server in the project, or give --directory.",
            project);
        free(project);
        project = NULL;
    }
    free(real_home);
    return project;
}

/* Where Lisp programmers keep their libraries and configuration. */
static void add_lisp_places(struct paths *paths)
{
    static const char *const in_home[] = {
        "/.sbclrc",
        "/quicklisp",
        "/common-lisp",
        "/.config/common-lisp",
        "/.local/share/common-lisp",
        "/.local/share/ocicl",
        "/.config/ocicl",
        "/.roswell",
    };
    for (size_t i = 0; i < sizeof in_home / sizeof in_home[0]; i++)
        add(paths, getenv("HOME"), in_home[i]);
    add(paths, getenv("XDG_DATA_HOME"), "/common-lisp");
    add(paths, getenv("XDG_CONFIG_HOME"), "/common-lisp");
    add(paths, getenv("SBCL_HOME"), "");
}

/* The SBCL, the files that belong to it, and the image that it starts from. */
static void add_lisp(struct paths *paths, const struct options *o)
{
    struct err ignored;
    bool exists;
    char *lisp = core_find_lisp(o->lisp, &ignored);
    if (lisp == NULL)
        return; /* the first call reports it */
    char *core = core_path(lisp, &exists, &ignored);
    add(paths, lisp, "");
    *strrchr(lisp, '/') = '\0';
    add(paths, lisp, "/../lib/sbcl");
    if (core != NULL) {
        *strrchr(core, '/') = '\0';
        add(paths, core, "");
    }
    free(core);
    free(lisp);
}

static bool is_own_directory(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid();
}

/* A cache that no Lisp outside the sandbox reads: files compiled here must not be loaded there. */
static bool make_cache(struct confinement *c)
{
    char path[PATH_MAX];
    if (!user_directory("XDG_CACHE_HOME", ".cache", "cl-mcp-server-sandbox", path, sizeof path))
        return false;
    *strrchr(path, '/') = '\0';
    mkdir(path, 0700); /* a home in which no program has cached anything yet */
    path[strlen(path)] = '/';
    mkdir(path, 0700);
    if (!is_own_directory(path) || access(path, W_OK) != 0)
        return false;
    add(&c->writable, path, "");
    add_variable(c, "XDG_CACHE_HOME", path);
    return true;
}

static bool make_directories(struct confinement *c, struct err *err)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/cl-mcp-server-XXXXXX",
             parent != NULL && parent[0] == '/' ? parent : "/tmp");
    if (mkdtemp(path) == NULL)
        return err_set_errno(err, ERR_SYSTEM, errno, "no temporary directory for the sandbox: %s", path);
    c->temporary = xstrdup(path);
    add(&c->writable, path, "");
    add_variable(c, "TMPDIR", path);
    if (!make_cache(c))
        add_variable(c, "XDG_CACHE_HOME", path);
    return true;
}

static int remove_if_old(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    if (where->level > 0 && time(NULL) - s->st_mtime > OLD_DRAFT_S)
        remove(path);
    return 0;
}

/* The Lisps may not write to the state directory itself: in there are the saves of all sessions. What a
 * server that was killed has left in the drafts goes now. */
static bool make_drafts(struct confinement *c, const struct options *o, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/drafts",
             o->state_directory != NULL ? o->state_directory : c->temporary);
    if (!user_directory_make(path, err))
        return false;
    if (!is_own_directory(path))
        return err_set(err, ERR_SYSTEM, "%s is no directory of yours", path);
    nftw(path, remove_if_old, 16, FTW_DEPTH | FTW_PHYS);
    c->drafts = realpath(path, NULL);
    add(&c->writable, c->drafts, "");
    return c->drafts != NULL || err_set_errno(err, ERR_SYSTEM, errno, "cannot use %s", path);
}

static bool prepare(struct confinement *c, const struct options *o, struct err *err)
{
    char *project = find_project(o, err);
    if (project == NULL || !make_directories(c, err) || !make_drafts(c, o, err)) {
        free(project);
        return false;
    }
    add(o->sandbox == CONFINE_WORKSPACE ? &c->writable : &c->readable, project, "");
    free(project);
    for (size_t i = 0; o->writable[i] != NULL; i++)
        add_given(&c->writable, o->writable[i]);
    for (size_t i = 0; o->readable[i] != NULL; i++)
        add_given(&c->readable, o->readable[i]);
    for (size_t i = 0; o->loads[i] != NULL; i++)
        add_given(&c->readable, o->loads[i]);
    if (o->user_init != NULL)
        add_given(&c->readable, o->user_init);
    add_lisp_places(&c->readable);
    add_lisp(&c->readable, o);
    add_variable(c, "CL_MCP_SANDBOX", o->sandbox == CONFINE_WORKSPACE ? "workspace" : "read-only");
    c->sandbox = sandbox_new(&(struct sandbox_policy){.writable = (const char *const *)c->writable.all,
                                                      .readable = (const char *const *)c->readable.all,
                                                      .network = (enum sandbox_network)o->network,
                                                      .is_best_effort = o->is_sandbox_best_effort},
                             err);
    if (c->sandbox != NULL && sandbox_gaps(c->sandbox)[0] != '\0')
        log_warning("the sandbox has a gap: %s", sandbox_gaps(c->sandbox));
    return c->sandbox != NULL;
}

struct confinement *confinement_new(const struct options *options, struct err *err)
{
    struct confinement *c = xcalloc(1, sizeof *c);
    if (options->sandbox != CONFINE_OFF && !prepare(c, options, err)) {
        confinement_free(c);
        return NULL;
    }
    return c;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->all[i]);
}

void confinement_free(struct confinement *c)
{
    if (c == NULL)
        return;
    /* FTW_PHYS: remove links that a Lisp has left there, and do not follow them. */
    if (c->temporary != NULL)
        nftw(c->temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(c->temporary);
    free(c->drafts);
    sandbox_free(c->sandbox);
    free_paths(&c->writable);
    free_paths(&c->readable);
    for (size_t i = 0; i < c->variables; i++)
        free(c->environment[i]);
    free(c);
}

const struct sandbox *confinement_sandbox(const struct confinement *c)
{
    return c->sandbox;
}

const char *confinement_drafts(const struct confinement *c)
{
    return c->drafts;
}

const char *const *confinement_environment(const struct confinement *c)
{
    return (const char *const *)c->environment;
}
