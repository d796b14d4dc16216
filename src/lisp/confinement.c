/*
 * Responsible for turning a mode, a network and a project into the lists of paths that the sandbox takes, and
 * for the private directories of confined Lisps. Each confinement of each project has directories of its own,
 * also if it differs only in paths that options add: files that a Lisp leaves there must not be loaded by one
 * that may do more, or has another project.
 */
#include "lisp/confinement.h"

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
#include "base/log.h"
#include "base/memory.h"
#include "base/own_directory.h"
#include "base/remove_tree.h"
#include "base/strbuf.h"
#include "base/user_directory.h"
#include "lisp/core.h"
#include "lisp/git_identity.h"

#define OLD_DRAFT_S 3600 /* writing an image never takes that long */
#define MOST_CONFINEMENTS 200

struct paths {
    char **all; /* owned; ends with NULL */
    size_t count;
};

struct confinement {
    struct confinement *next;
    enum confinement_mode mode;
    enum sandbox_network network;
    char *directory; /* a session's own; NULL: the server's */
    char *project;   /* the real path of either */
    int descriptor;  /* of ${directory}; -1: none */
    char root[32];   /* the path of ${descriptor} */
    char name[48];   /* of its directories */
    struct sandbox *sandbox;
    char *description;
    struct paths writable, readable;
    char *environment[CONFINEMENT_MOST_VARIABLES + 1];
    size_t variables;
    char *temporary; /* NULL: does not exist */
    int temporary_lock;
    char *drafts; /* NULL: does not exist */
};

struct confinements {
    struct confinements_options options;
    struct confinement *all, *own; /* made on first use; none for the mode off */
    size_t count;
    char *open_address; /* NULL: none. Without a token, whoever reaches it evaluates code in any session */
};

const char *const confinement_mode_names[CONFINEMENT_MODES + 1] = {
    [CONFINEMENT_OFF] = "off",
    [CONFINEMENT_WORKSPACE] = "workspace",
    [CONFINEMENT_READ_ONLY] = "read-only",
};

const char *const confinement_network_names[SANDBOX_NETWORKS + 1] = {
    [SANDBOX_NETWORK_ON] = "on",
    [SANDBOX_NETWORK_LOOPBACK] = "loopback",
    [SANDBOX_NETWORK_OFF] = "off",
};

static void add(struct paths *paths, const char *directory, const char *name)
{
    char path[PATH_MAX];
    if (directory == NULL || directory[0] != '/')
        return;
    int len = snprintf(path, sizeof path, "%s%s", directory, name);
    if (len <= 0 || (size_t)len >= sizeof path)
        return;
    paths->all = xrealloc(paths->all, (paths->count + 2) * sizeof *paths->all);
    paths->all[paths->count++] = xstrdup(path);
    paths->all[paths->count] = NULL;
}

/* The real path: a relative one is relative to where the server was started. */
static void add_given(struct paths *paths, const char *path)
{
    char *real = realpath(path, NULL);
    add(paths, real, "");
    free(real);
}

static void add_all_given(struct paths *paths, const char *const *given)
{
    for (size_t i = 0; given[i] != NULL; i++)
        add_given(paths, given[i]);
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

static bool is_at(int descriptor, const char *path)
{
    char link[32], target[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t len = readlink(link, target, sizeof target);
    return len == (ssize_t)strlen(path) && memcmp(target, path, (size_t)len) == 0;
}

/* Confined code can put a symbolic link in the place of a directory that it can write to, so a session's own
 * one is opened once, and is used through its descriptor. */
static bool hold_directory(struct confinement *c, struct err *err)
{
    if (c->directory == NULL)
        return true;
    c->descriptor = open(c->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(c->root, sizeof c->root, "/proc/self/fd/%d", c->descriptor);
    return is_at(c->descriptor, c->directory) ||
           err_set(err, ERR_INVALID, "%s is not a directory, or is reached through a symbolic link.",
                   c->directory);
}

/* The Lisps have access to the whole project, so it must not contain what is to be kept from them. */
static bool find_project(struct confinement *c, const struct confinements_options *o, struct err *err)
{
    const char *given = c->directory != NULL ? c->directory : o->directory != NULL ? o->directory : ".";
    c->project = realpath(given, NULL);
    if (c->project == NULL)
        return err_set_errno(err, ERR_SYSTEM, errno, "the project directory %s cannot be opened", given);
    const char *home = getenv("HOME");
    char *real_home = home == NULL ? NULL : realpath(home, NULL);
    bool holds_home = strcmp(c->project, "/") == 0 || (real_home != NULL && holds(c->project, real_home));
    free(real_home);
    if (holds_home)
        return err_set(
            err, ERR_INVALID,
            "The project directory %s holds your home directory, so --sandbox could keep nothing from the "
            "Lisps. Start the server in the project, or give --directory.",
            c->project);
    return hold_directory(c, err);
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
static void add_lisp(struct paths *paths, const struct confinements_options *o)
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

/* It may be there already. False if it cannot be made, or the existing path is not a directory the user
 * owns. */
static bool make_own_directory(const char *path)
{
    mkdir(path, 0700);
    return is_own_directory(path);
}

/* A cache that no Lisp outside the sandbox reads: files compiled here must not be loaded there. */
static bool make_cache(struct confinement *c)
{
    char all[PATH_MAX - sizeof c->name], path[PATH_MAX];
    if (!user_directory("XDG_CACHE_HOME", ".cache", "cl-mcp-server-sandbox", all, sizeof all))
        return false;
    char *name = strrchr(all, '/');
    *name = '\0';
    mkdir(all, 0700); /* a home in which no program has cached anything yet */
    *name = '/';
    snprintf(path, sizeof path, "%s/%s", all, c->name);
    if (!make_own_directory(all) || !make_own_directory(path) || access(path, W_OK) != 0)
        return false;
    add(&c->writable, path, "");
    add_variable(c, "XDG_CACHE_HOME", path);
    return true;
}

static bool make_git_configuration(struct confinement *c, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3900s/gitconfig", c->temporary);
    add_variable(c, "GIT_CONFIG_GLOBAL", path);
    return git_identity_write(path, err);
}

static bool make_directories(struct confinement *c, struct err *err)
{
    const char *parent = getenv("TMPDIR");
    c->temporary = own_directory_make(parent != NULL && parent[0] == '/' ? parent : "/tmp", "cl-mcp-sandbox-",
                                      &c->temporary_lock, err);
    if (c->temporary == NULL)
        return false;
    add(&c->writable, c->temporary, "");
    add_variable(c, "TMPDIR", c->temporary);
    if (!make_cache(c))
        add_variable(c, "XDG_CACHE_HOME", c->temporary);
    return make_git_configuration(c, err);
}

/* The Lisps may not write to the state directory itself: in there are the saves of all sessions. What a
 * server that was killed has left in the drafts goes now. */
static bool make_drafts(struct confinement *c, const struct confinements_options *o, struct err *err)
{
    char path[PATH_MAX];
    const char *given = o->state_directory != NULL ? o->state_directory : c->temporary;
    snprintf(path, sizeof path, "%.3900s/drafts/%s", given, c->name);
    if (!user_directory_make(path, err))
        return false;
    if (!is_own_directory(path))
        return err_set(err, ERR_SYSTEM, "%s is not a directory that you own", path);
    remove_old_files(path, strlen(given), "draft-*.core*", time(NULL) - OLD_DRAFT_S);
    c->drafts = realpath(path, NULL);
    add(&c->writable, c->drafts, "");
    return c->drafts != NULL || err_set_errno(err, ERR_SYSTEM, errno, "cannot use %s", path);
}

/* Tokens, keys, saves and the audit log are the server's: a Lisp that has them is not confined. */
static bool keeps_all(const struct confinement *c, const struct confinements_options *o, struct err *err)
{
    for (size_t i = 0; o->kept[i] != NULL; i++)
        if (sandbox_reaches(c->sandbox, o->kept[i]))
            return err_set(err, ERR_INVALID,
                           "Sandboxed Lisps could read %s, which is the server's own. Keep it out of the "
                           "directories that they may read.",
                           o->kept[i]);
    return true;
}

/* The server runs these outside the sandbox when it builds the image, or for a session without a sandbox, and
 * images that are joined load what is in the cache. */
static bool keeps_lisp(const struct confinement *c, const struct confinements_options *o, struct err *err)
{
    struct err ignored;
    bool exists;
    char *lisp = core_find_lisp(o->lisp, &ignored);
    char *core = lisp == NULL ? NULL : core_path(lisp, &exists, &ignored);
    char *real_core = core == NULL ? NULL : realpath(core, NULL);
    char *modules = getenv("SBCL_HOME") == NULL ? NULL : realpath(getenv("SBCL_HOME"), NULL);
    char place[PATH_MAX], *cache = NULL;
    if (user_directory("XDG_CACHE_HOME", ".cache", "cl-mcp-server", place, sizeof place) &&
        user_directory_make(place, &ignored))
        cache = realpath(place, NULL);
    const char *const run[] = {lisp, real_core != NULL ? real_core : core, modules, cache};
    bool is_kept = true;
    for (size_t i = 0; i < sizeof run / sizeof run[0] && is_kept; i++)
        for (size_t k = 0; run[i] != NULL && k < c->writable.count && is_kept; k++)
            if (holds(c->writable.all[k], run[i]))
                is_kept =
                    err_set(err, ERR_INVALID,
                            "Sandboxed Lisps could change %s, which the server runs. Move it out of the "
                            "directories that they may write.",
                            run[i]);
    free(cache);
    free(modules);
    free(real_core);
    free(core);
    free(lisp);
    return is_kept;
}

/* The directories must not be shared with Lisps that may do more, so the name depends on the project and on
 * the paths that the options add to it: all that is in the lists now. */
static void set_name(struct confinement *c)
{
    const struct paths *const lists[] = {&c->writable, &c->readable};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (size_t k = 0; k < lists[i]->count; k++)
            hash = hash_bytes(lists[i]->all[k], strlen(lists[i]->all[k]) + 1, hash);
        hash = hash_number(hash);
    }
    snprintf(c->name, sizeof c->name, "%s-network-%s-%016llx", confinement_mode_names[c->mode],
             confinement_network_names[c->network], (unsigned long long)hash);
}

/* The same words for the log, the client's instructions and session-info. */
static void describe(struct confinement *c)
{
    c->description = strbuf_format("%s, network %s. %s", confinement_mode_names[c->mode],
                                   confinement_network_names[c->network], sandbox_guarantees(c->sandbox));
    log_line(sandbox_is_complete(c->sandbox) ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "sandbox: %s",
             c->description);
}

static bool prepare(struct confinement *c, const struct confinements_options *o, struct err *err)
{
    struct paths *of_project = c->mode == CONFINEMENT_WORKSPACE ? &c->writable : &c->readable;
    if (!find_project(c, o, err))
        return false;
    add(of_project, c->project, "");
    add_all_given(&c->writable, o->writable);
    add_all_given(&c->readable, o->readable);
    set_name(c);
    if (!make_directories(c, err) || !make_drafts(c, o, err))
        return false;
    add_all_given(&c->readable, o->loads);
    if (o->user_init != NULL)
        add_given(&c->readable, o->user_init);
    add_lisp_places(&c->readable);
    add_lisp(&c->readable, o);
    add_variable(c, "CL_MCP_SANDBOX", confinement_mode_names[c->mode]);
    if (!keeps_lisp(c, o, err))
        return false;
    if (c->directory != NULL) {
        xstrset(&of_project->all[0], c->root);
    }
    c->sandbox = sandbox_new(&(struct sandbox_policy){.writable = (const char *const *)c->writable.all,
                                                      .readable = (const char *const *)c->readable.all,
                                                      .network = c->network,
                                                      .is_strict = o->is_strict},
                             err);
    if (c->sandbox == NULL)
        return false;
    describe(c);
    return keeps_all(c, o, err);
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->all[i]);
    free(paths->all);
}

static void confinement_free(struct confinement *c)
{
    if (c == NULL)
        return;
    own_directory_remove(c->temporary, c->temporary_lock);
    free(c->drafts);
    sandbox_free(c->sandbox);
    free(c->description);
    free_paths(&c->writable);
    free_paths(&c->readable);
    for (size_t i = 0; i < c->variables; i++)
        free(c->environment[i]);
    if (c->descriptor >= 0)
        close(c->descriptor);
    free(c->directory);
    free(c->project);
    free(c);
}

static bool refuse_open_address(const struct confinements *cs, struct err *err)
{
    return err_set(
        err, ERR_INVALID,
        "Sandboxed code with a network could connect to %s, which asks programs of this machine for "
        "no token, and evaluate code in any session. Give --token-file and no --trust-from that "
        "has this machine, or --http unix:PATH, or --network loopback or off.",
        cs->open_address);
}

/* A directory that was removed and made again under its name is another one. */
static bool is_of(const struct confinement *c, const char *directory)
{
    if (directory == NULL || c->directory == NULL)
        return directory == c->directory;
    return strcmp(c->directory, directory) == 0 && is_at(c->descriptor, directory);
}

static struct confinement *make(struct confinements *cs, enum confinement_mode mode,
                                enum sandbox_network network, const char *directory, struct err *err)
{
    if (cs->count == MOST_CONFINEMENTS) {
        err_set(err, ERR_LIMIT,
                "The server has made sandboxes for %d directories, and makes no more "
                "until it is started again.",
                MOST_CONFINEMENTS);
        return NULL;
    }
    struct confinement *c = xcalloc(1, sizeof *c);
    c->mode = mode;
    c->network = network;
    c->directory = xstrdup(directory);
    c->descriptor = -1;
    if (!prepare(c, &cs->options, err)) {
        confinement_free(c);
        return NULL;
    }
    c->next = cs->all;
    cs->all = c;
    cs->count++;
    return c;
}

/* Set ${c} to the confinement of this mode, network and directory, made on its first use; to NULL for the
 * mode off. */
static bool get(struct confinements *cs, enum confinement_mode mode, enum sandbox_network network,
                const char *directory, const struct confinement **c, struct err *err)
{
    *c = NULL;
    if (mode == CONFINEMENT_OFF)
        return true;
    if (network == SANDBOX_NETWORK_ON && cs->open_address != NULL)
        return refuse_open_address(cs, err);
    for (const struct confinement *known = cs->all; known != NULL && *c == NULL; known = known->next)
        if (known->mode == mode && known->network == network && is_of(known, directory))
            *c = known;
    if (*c == NULL)
        *c = make(cs, mode, network, directory, err);
    return *c != NULL;
}

struct confinements *confinements_new(const struct confinements_options *options, struct err *err)
{
    struct confinements *cs = xcalloc(1, sizeof *cs);
    const struct confinement *own;
    cs->options = *options;
    if (get(cs, options->mode, options->network, NULL, &own, err)) {
        cs->own = cs->all;
        return cs;
    }
    confinements_free(cs);
    return NULL;
}

void confinements_free(struct confinements *cs)
{
    if (cs == NULL)
        return;
    while (cs->all != NULL) {
        struct confinement *c = cs->all;
        cs->all = c->next;
        confinement_free(c);
    }
    free(cs->open_address);
    free(cs);
}

bool confinements_refuse_network(struct confinements *cs, const char *address, struct err *err)
{
    xstrset(&cs->open_address, address);
    return cs->options.mode == CONFINEMENT_OFF || cs->options.network != SANDBOX_NETWORK_ON ||
           refuse_open_address(cs, err);
}

const struct confinement *confinements_own(const struct confinements *cs)
{
    return cs == NULL ? NULL : cs->own;
}

/* The index of ${name} in ${names}: ${otherwise} if it is NULL, -1 if it is not among them. */
static int index_of(const char *const *names, const char *name, int otherwise)
{
    if (name == NULL)
        return otherwise;
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool refuse_looser(struct err *err, const char *option, const char *own, const char *chosen)
{
    return err_set(err, ERR_INVALID,
                   "The server runs with --%s %s, and %s would be looser. A session may only have a "
                   "stricter sandbox than the server.",
                   option, own, chosen);
}

/* A session's own directory must not widen what ${c} may use; NULL: that is not limited. */
static bool is_within(const struct confinement *c, const char *directory, struct err *err)
{
    return c == NULL || directory == NULL || holds(c->project, directory) ||
           err_set(
               err, ERR_INVALID,
               "%s is not in %s, the working directory of the sandbox %s. A session in a sandbox may only "
               "have a directory in it.",
               directory, c->project, confinement_mode_names[c->mode]);
}

bool confinements_choose(struct confinements *cs, const char *mode, const char *network,
                         const char *directory, const struct confinement **c, struct err *err)
{
    int own_mode = (int)cs->options.mode, own_network = (int)cs->options.network;
    int chosen_mode = index_of(confinement_mode_names, mode, own_mode);
    int chosen_network = index_of(confinement_network_names, network, own_network);
    if (chosen_mode < own_mode)
        return refuse_looser(err, "sandbox", confinement_mode_names[own_mode], mode);
    if (chosen_network < own_network)
        return refuse_looser(err, "network", confinement_network_names[own_network], network);
    if (chosen_mode == CONFINEMENT_OFF && network != NULL)
        return err_set(err, ERR_INVALID,
                       "The network is limited only in a sandbox: pass sandbox too, workspace or read-only.");
    return is_within(cs->own, directory, err) && get(cs, (enum confinement_mode)chosen_mode,
                                                     (enum sandbox_network)chosen_network, directory, c, err);
}

static int greatest(int a, int b)
{
    return a > b ? a : b;
}

bool confinements_tighten(struct confinements *cs, const struct confinement **c, const char *mode,
                          const char *network, const char *directory, struct err *err)
{
    int least_mode = index_of(confinement_mode_names, mode, CONFINEMENT_OFF);
    int least_network = index_of(confinement_network_names, network, SANDBOX_NETWORK_ON);
    if (least_mode < 0 || least_network < 0)
        return err_set(err, ERR_INVALID, "there is no sandbox %s with network %s", mode, network);
    if (!is_within(*c, directory, err))
        return false;
    if (*c != NULL) {
        directory = directory != NULL ? directory : (*c)->directory;
        least_mode = greatest(least_mode, (int)(*c)->mode);
        least_network = greatest(least_network, (int)(*c)->network);
    }
    if (least_mode != CONFINEMENT_OFF)
        least_network = greatest(least_network, (int)cs->options.network);
    return get(cs, (enum confinement_mode)least_mode, (enum sandbox_network)least_network, directory, c, err);
}

const char *confinement_mode(const struct confinement *c)
{
    return confinement_mode_names[c == NULL ? CONFINEMENT_OFF : c->mode];
}

const char *confinement_network(const struct confinement *c)
{
    return confinement_network_names[c == NULL ? SANDBOX_NETWORK_ON : c->network];
}

bool confinement_is_read_only(const struct confinement *c)
{
    return c != NULL && c->mode == CONFINEMENT_READ_ONLY;
}

const char *confinement_description(const struct confinement *c)
{
    return c == NULL ? NULL : c->description;
}

const char *confinement_directory(const struct confinement *c)
{
    return c == NULL ? NULL : c->directory;
}

const char *confinement_root(const struct confinement *c)
{
    return c == NULL || c->directory == NULL ? NULL : c->root;
}

const struct sandbox *confinement_sandbox(const struct confinement *c)
{
    return c == NULL ? NULL : c->sandbox;
}

const char *confinement_drafts(const struct confinement *c)
{
    return c == NULL ? NULL : c->drafts;
}

const char *const *confinement_environment(const struct confinement *c)
{
    static const char *const none[] = {NULL};
    return c == NULL ? none : (const char *const *)c->environment;
}
