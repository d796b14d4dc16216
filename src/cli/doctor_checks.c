/*
 * Responsible for the table of checks: what each examines, when it is a problem, and what to do then.
 */
#include "cli/doctor_checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user_directory.h"
#include "cli/client_config.h"
#include "cli/run_program.h"
#include "lisp/core.h"
#include "proc/kernel_file.h"
#include "proc/sandbox.h"

#define ADVICE_LISP                                                                                          \
    "Install SBCL 2.2.8 or newer (Debian, Ubuntu: apt install sbcl), or: doctor -- --lisp PATH"
enum { VERSION_LIMIT_MS = 20000 };

/* Facts about a session, one per line: KEY VALUE. */
const char *const doctor_questions[] = {
    "(+ 1 2)",
    "(progn"
    " (format t \"~&threads ~:[no~;yes~]~%\" (find :sb-thread *features*))"
    " (format t \"asdf ~a~%\" (asdf:asdf-version))"
    " (format t \"central ~d~%\" (length asdf:*central-registry*))"
    " (asdf:ensure-source-registry)"
    " (format t \"systems ~d~%\" (length (asdf:registered-systems)))"
    " (format t \"registry ~d~%\" (let ((table (symbol-value (find-symbol \"*SOURCE-REGISTRY*\" "
    "\"ASDF/SOURCE-REGISTRY\"))))"
    "   (if (hash-table-p table) (hash-table-count table) 0)))"
    " (format t \"quicklisp ~:[no~;yes~]~%\" (find-package \"QL\"))"
    " (format t \"ocicl ~:[no~;yes~]~%\" (find-package \"OCICL-RUNTIME\"))"
    " (format t \"directory ~a~%\" (namestring *default-pathname-defaults*))"
    " (values))",
    NULL,
};

/* The value of a fact; false if it is absent. */
static bool get_fact(const struct patient *p, const char *key, char *out, size_t size)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\n%s ", key);
    const char *text = p->has_session ? strbuf_string(&p->session.replies[QUESTION_FACTS]) : "";
    const char *at = strstr(text, wanted);
    if (at == NULL)
        return false;
    at += strlen(wanted);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static bool is_fact(const struct patient *p, const char *key, const char *value)
{
    char found[64];
    return get_fact(p, key, found, sizeof found) && strcmp(found, value) == 0;
}

static void check_lisp(const struct patient *p, const char *name, finding *found, void *arg)
{
    if (p->lisp == NULL)
        found(arg, name, VERDICT_PROBLEM, ADVICE_LISP, "%s", p->no_lisp.message);
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s", p->lisp);
}

static void check_release(const struct patient *p, const char *name, finding *found, void *arg)
{
    struct program_result result;
    struct err err;
    int major = 0, minor = 0, patch = 0;
    if (p->lisp == NULL)
        return;
    bool is_run =
        run_program((const char *const[]){p->lisp, "--version", NULL}, "", VERSION_LIMIT_MS, &result, &err);
    const char *text = strbuf_string(&result.output);
    int len = (int)strcspn(text, "\n");
    if (!is_run)
        found(arg, name, VERDICT_PROBLEM, ADVICE_LISP, "%s", err.message);
    else if (sscanf(text, "SBCL %d.%d.%d", &major, &minor, &patch) < 2)
        found(arg, name, VERDICT_PROBLEM, ADVICE_LISP, "%s --version does not name an SBCL: %.*s", p->lisp,
              len > 100 ? 100 : len, text);
    else if (major * 10000 + minor * 100 + patch < 20208)
        found(arg, name, VERDICT_PROBLEM, "Install SBCL 2.2.8 or newer.", "%.*s is too old", len, text);
    else
        found(arg, name, VERDICT_GOOD, NULL, "%.*s", len, text);
    program_result_fini(&result);
}

static void check_core(const struct patient *p, const char *name, finding *found, void *arg)
{
    struct err err;
    bool exists;
    char *path = p->lisp == NULL ? NULL : core_path(p->lisp, &exists, &err);
    if (p->lisp == NULL)
        return;
    if (path == NULL)
        found(arg, name, VERDICT_PROBLEM,
              "Make ~/.cache a directory that you own and that nobody else can write.", "%s", err.message);
    else if (!exists)
        found(arg, name, VERDICT_PROBLEM, "Read what the check `evaluation` reports.",
              "the core does not exist and could not be built: %s", path);
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s: %s",
              p->was_core_there ? "built" : "did not exist, built now", path);
    free(path);
}

/* A directory that only its user can change; a missing one is created on demand. */
static void check_directory(const char *path, const char *name, finding *found, void *arg)
{
    struct stat s;
    if (stat(path, &s) != 0 && errno == ENOENT)
        found(arg, name, VERDICT_GOOD, NULL, "%s is created when it is needed", path);
    else if (stat(path, &s) != 0)
        found(arg, name, VERDICT_PROBLEM, "Make it accessible, or choose another directory.", "%s: %s", path,
              strerror(errno));
    else if (!S_ISDIR(s.st_mode))
        found(arg, name, VERDICT_PROBLEM, "Move it away.", "%s is not a directory", path);
    else if (s.st_uid != geteuid())
        found(arg, name, VERDICT_PROBLEM,
              "Make the user who runs the server its owner, or choose another directory.",
              "%s belongs to user %u", path, (unsigned)s.st_uid);
    else if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        found(arg, name, VERDICT_PROBLEM, "Remove the right of others to write: chmod go-w.",
              "others can write to %s, mode %04o", path, (unsigned)(s.st_mode & 07777));
    else if (access(path, W_OK | X_OK) != 0)
        found(arg, name, VERDICT_PROBLEM, "Make it writable, or choose another directory.",
              "%s cannot be written", path);
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s, mode %04o", path, (unsigned)(s.st_mode & 07777));
}

static void check_cache(const struct patient *p, const char *name, finding *found, void *arg)
{
    char path[PATH_MAX];
    if (user_directory("XDG_CACHE_HOME", ".cache", "cl-mcp-server", path, sizeof path))
        check_directory(path, name, found, arg);
    else
        found(arg, name, VERDICT_NOTE, "Set HOME.", "HOME is not set; /tmp is used");
}

static void check_state(const struct patient *p, const char *name, finding *found, void *arg)
{
    if (p->options->state_directory == NULL)
        found(arg, name, VERDICT_NOTE, "Set HOME, or give --state-dir.",
              "HOME is not set, so sessions cannot be saved");
    else
        check_directory(p->options->state_directory, name, found, arg);
}

static void check_evaluation(const struct patient *p, const char *name, finding *found, void *arg)
{
    if (p->lisp == NULL)
        return;
    if (!p->has_session) {
        found(arg, name, VERDICT_PROBLEM, "Start the server with the same options and --log-level debug.",
              "%s", p->no_session.message);
        return;
    }
    const struct strbuf *reply = &p->session.replies[QUESTION_SUM];
    const char *text = strbuf_string(reply);
    if (p->session.is_error[QUESTION_SUM] || strstr(text, "=> 3") == NULL)
        found(arg, name, VERDICT_PROBLEM, "Correct what the reply reports.",
              "the reply to (+ 1 2) was: %.800s", text);
    else if (strcmp(text, "=> 3") != 0)
        found(arg, name, VERDICT_NOTE, "Correct what the reply reports.",
              "(+ 1 2) returned 3, and the reply reports more: %.800s", text);
    else
        found(arg, name, VERDICT_GOOD, NULL, "(+ 1 2) returned 3 in a new session");
}

static void check_threads(const struct patient *p, const char *name, finding *found, void *arg)
{
    if (is_fact(p, "threads", "yes"))
        found(arg, name, VERDICT_GOOD, NULL, "this SBCL has threads");
    else if (p->has_session)
        found(arg, name, VERDICT_PROBLEM, "Install an SBCL that is built with threads.",
              "this SBCL has no threads");
}

static void check_asdf(const struct patient *p, const char *name, finding *found, void *arg)
{
    char version[64], central[64], registry[64], directory[256];
    if (get_fact(p, "asdf", version, sizeof version) && get_fact(p, "central", central, sizeof central) &&
        get_fact(p, "registry", registry, sizeof registry) &&
        get_fact(p, "directory", directory, sizeof directory))
        found(arg, name, VERDICT_GOOD, NULL,
              "ASDF %s; a session in %s finds %s systems in the source registry; directories in the "
              "central registry: %s",
              version, directory, registry, central);
    else if (p->has_session)
        found(arg, name, VERDICT_PROBLEM, "Check ~/.config/common-lisp/source-registry.conf.",
              "ASDF's configuration cannot be read: %.800s",
              strbuf_string(&p->session.replies[QUESTION_FACTS]));
}

static bool is_in(const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct stat s;
    if (directory == NULL)
        return false;
    snprintf(path, sizeof path, "%.3900s/%s", directory, name);
    return stat(path, &s) == 0;
}

static void check_quicklisp(const struct patient *p, const char *name, finding *found, void *arg)
{
    if (is_fact(p, "quicklisp", "yes"))
        found(arg, name, VERDICT_GOOD, NULL, "loaded in every session by the init file");
    else if (is_in(getenv("HOME"), "quicklisp/setup.lisp"))
        found(arg, name, VERDICT_GOOD, NULL, "installed in ~/quicklisp; the tool quickload loads it");
    else
        found(arg, name, VERDICT_NOTE, "Only the tool quickload needs it: https://www.quicklisp.org/beta/",
              "not installed");
}

static void check_manager(const char *program, const char *sign, const struct patient *p, const char *name,
                          finding *found, void *arg)
{
    const char *directory = p->options->directory != NULL ? p->options->directory : ".";
    char *path = find_program(program);
    if (is_in(directory, sign))
        found(arg, name, VERDICT_GOOD, NULL, "the project has %s; the systems that it pins are found first",
              sign);
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s%s; the project has no %s",
              path != NULL ? path : "not installed", path != NULL ? " is installed" : "", sign);
    free(path);
}

static void check_ocicl(const struct patient *p, const char *name, finding *found, void *arg)
{
    check_manager("ocicl", "ocicl.csv", p, name, found, arg);
}

static void check_qlot(const struct patient *p, const char *name, finding *found, void *arg)
{
    check_manager("qlot", ".qlot", p, name, found, arg);
}

static void check_landlock(const struct patient *p, const char *name, finding *found, void *arg)
{
    int version = sandbox_landlock_version();
    if (version < 0)
        found(arg, name, VERDICT_NOTE, "Without Landlock, --sandbox does not start.",
              "this kernel has no Landlock: %s", strerror(errno));
    else if (version < SANDBOX_LANDLOCK_VERSION)
        found(arg, name, VERDICT_NOTE,
              "--sandbox needs version 6 (Linux 6.12); --sandbox-best-effort starts with less.", "version %d",
              version);
    else
        found(arg, name, VERDICT_GOOD, NULL, "version %d", version);
}

static void check_seccomp(const struct patient *p, const char *name, finding *found, void *arg)
{
    char actions[256];
    if (kernel_file_line("/proc/sys/kernel/seccomp/actions_avail", actions, sizeof actions))
        found(arg, name, VERDICT_GOOD, NULL, "available: %s", actions);
    else
        found(arg, name, VERDICT_NOTE, "Without seccomp, --sandbox does not start.",
              "this kernel has no seccomp, or /proc is not mounted");
}

static void check_sandbox(const struct patient *p, const char *name, finding *found, void *arg)
{
    char directory[] = "/tmp/cl-mcp-server-doctor-XXXXXX";
    struct own_session session;
    struct err err;
    if (p->lisp == NULL)
        return;
    if (mkdtemp(directory) == NULL) {
        found(arg, name, VERDICT_PROBLEM, "Make /tmp writable.", "no directory can be created in /tmp: %s",
              strerror(errno));
        return;
    }
    const char *options[] = {"--sandbox", "workspace", "--network", "off",           "--directory",
                             directory,   "--lisp",    p->lisp,     "--no-userinit", NULL};
    const char *codes[] = {
        "(progn (with-open-file (out \"inside\" :direction :output) (print 1 out))"
        " (delete-file \"inside\")"
        " (handler-case (with-open-file (out \"../outside-of-it\" :direction :output :if-exists :append"
        " :if-does-not-exist :create) :open) (error () :closed)))",
        NULL};
    bool is_run = own_session_run(options, codes, &session, &err);
    const char *reply = strbuf_string(&session.replies[0]);
    if (!is_run)
        found(arg, name, VERDICT_NOTE, "Only --sandbox needs it.", "%s", err.message);
    else if (strstr(reply, "=> :CLOSED") != NULL)
        found(arg, name, VERDICT_GOOD, NULL,
              "a sandboxed session could write inside its directory and not outside");
    else
        found(arg, name, VERDICT_PROBLEM, "Do not rely on --sandbox here.",
              "a sandboxed session failed this test; its reply: %.400s", reply);
    own_session_fini(&session);
    rmdir(directory);
}

static void check_cgroup(const struct patient *p, const char *name, finding *found, void *arg)
{
    char line[512] = "", path[1024];
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool is_unified = false;
    while (f != NULL && !is_unified && fgets(line, sizeof line, f) != NULL)
        is_unified = strncmp(line, "0::", 3) == 0;
    if (f != NULL)
        fclose(f);
    line[strcspn(line, "\n")] = '\0';
    snprintf(path, sizeof path, "/sys/fs/cgroup%s", is_unified ? line + 3 : "");
    if (!is_unified || access("/sys/fs/cgroup/cgroup.controllers", R_OK) != 0)
        found(arg, name, VERDICT_GOOD, NULL, "no cgroup v2 hierarchy; the server does not need one");
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s%s; the server needs no delegation", path,
              access(path, W_OK) == 0 ? ", delegated to this user" : ", not delegated");
}

static void check_huge_pages(const struct patient *p, const char *name, finding *found, void *arg)
{
    char modes[128];
    if (!kernel_file_line("/sys/kernel/mm/transparent_hugepage/enabled", modes, sizeof modes))
        found(arg, name, VERDICT_NOTE, NULL, "this kernel has no huge pages; copies of sessions are slower");
    else if (strstr(modes, "[never]") != NULL)
        found(arg, name, VERDICT_NOTE, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root.",
              "switched off; copies of sessions are slower");
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s", modes);
}

static bool can_be_run(const char *command)
{
    if (strchr(command, '/') != NULL)
        return access(command, X_OK) == 0;
    char *path = find_program(command);
    free(path);
    return path != NULL;
}

static void check_client(const struct client *client, enum client_scope scope, finding *found, void *arg)
{
    struct client_config config;
    struct err err;
    char name[64], advice[160];
    snprintf(name, sizeof name, "%s%s", client->name, scope == SCOPE_PROJECT ? " (project)" : "");
    snprintf(advice, sizeof advice, "cl-mcp-server install %s%s", client->name,
             scope == SCOPE_PROJECT ? " --scope project" : "");
    bool is_read = client_config_read(&config, client, scope, "lisp", &err);
    const char *shown = config.shown != NULL ? config.shown : client->title;
    if (!is_read && err.code == ERR_NOT_FOUND)
        found(arg, name, VERDICT_NOTE, NULL, "%s was not read: %s", shown, err.message);
    else if (!is_read)
        found(arg, name, VERDICT_PROBLEM, "Correct the file; the client may not read it either.", "%s: %s",
              shown, err.message);
    else if (scope == SCOPE_PROJECT && config.presence != PRESENCE_OURS && config.presence != PRESENCE_OTHER)
        ; /* most projects have none */
    else if (config.presence == PRESENCE_NONE)
        found(arg, name, VERDICT_NOTE, advice, "installed, but %s has no server named lisp", shown);
    else if (config.presence == PRESENCE_OTHER)
        found(arg, name, VERDICT_NOTE, NULL, "the server named lisp in %s runs another program: %s", shown,
              config.command);
    else if (!can_be_run(config.command))
        found(arg, name, VERDICT_PROBLEM, advice, "%s names %s, which cannot be run", shown, config.command);
    else
        found(arg, name, VERDICT_GOOD, NULL, "%s runs %s", shown, config.command);
    client_config_fini(&config);
}

static void check_clients(const struct patient *p, const char *name, finding *found, void *arg)
{
    bool is_any = false;
    for (size_t n = 0; clients_at(n) != NULL; n++) {
        const struct client *client = clients_at(n);
        if (client_is_found(client))
            check_client(client, SCOPE_USER, found, arg);
        is_any = is_any || client_is_found(client);
        if (client->files[SCOPE_PROJECT][0] != NULL)
            check_client(client, SCOPE_PROJECT, found, arg);
    }
    if (!is_any)
        found(arg, name, VERDICT_NOTE, "cl-mcp-server install CLIENT", "no client found");
}

static const struct check table[] = {
    {"sbcl", check_lisp},           {"release", check_release},
    {"core", check_core},           {"cache", check_cache},
    {"state", check_state},         {"evaluation", check_evaluation},
    {"threads", check_threads},     {"asdf", check_asdf},
    {"quicklisp", check_quicklisp}, {"ocicl", check_ocicl},
    {"qlot", check_qlot},           {"landlock", check_landlock},
    {"seccomp", check_seccomp},     {"sandbox", check_sandbox},
    {"cgroup", check_cgroup},       {"huge-pages", check_huge_pages},
    {"clients", check_clients},
};

const struct check *checks_at(size_t n)
{
    return n < sizeof table / sizeof table[0] ? &table[n] : NULL;
}
