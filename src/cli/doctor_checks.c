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
#include "proc/child.h"
#include "proc/cpu_grace.h"
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
    " (format t \"quicklisp ~:[no~;yes~]~%\" (find-package \"QL\"))"
    " (asdf:ensure-source-registry)"
    " (format t \"asdf ASDF ~a; a session in ~a finds ~d systems in the source registry; directories in the"
    " central registry: ~d~%\" (asdf:asdf-version) (namestring *default-pathname-defaults*)"
    "  (let ((table (symbol-value (find-symbol \"*SOURCE-REGISTRY*\" \"ASDF/SOURCE-REGISTRY\"))))"
    "   (if (hash-table-p table) (hash-table-count table) 0))"
    "  (length asdf:*central-registry*))"
    " (values))",
    NULL,
};

/* The value of a fact; false if it is absent. */
static bool get_fact(const struct examination *x, const char *key, char *out, size_t size)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\n%s ", key);
    const char *text = x->has_session ? strbuf_string(&x->session.replies[QUESTION_FACTS]) : "";
    const char *at = strstr(text, wanted);
    if (at == NULL)
        return false;
    at += strlen(wanted);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static bool is_fact(const struct examination *x, const char *key, const char *value)
{
    char found[64];
    return get_fact(x, key, found, sizeof found) && strcmp(found, value) == 0;
}

static void check_lisp(struct examination *x)
{
    if (x->lisp == NULL)
        finding(x, VERDICT_PROBLEM, ADVICE_LISP, "%s", x->no_lisp.message);
    else
        finding(x, VERDICT_GOOD, NULL, "%s", x->lisp);
}

static void check_release(struct examination *x)
{
    struct program_result result;
    struct err err;
    int major = 0, minor = 0, patch = 0;
    if (x->lisp == NULL)
        return;
    bool is_run = run_program((const char *const[]){x->lisp, "--version", NULL}, "",
                              cpu_grace_stretched(VERSION_LIMIT_MS), &result, &err);
    const char *text = strbuf_string(&result.output);
    const char *nothing = result.output.len + result.errors.len == 0 ? "(nothing)" : "";
    int len = (int)strcspn(text, "\n");
    struct child_end end = child_end_of_status(result.status);
    char how[CHILD_END_TEXT];
    child_end_text(&end, how, sizeof how);
    if (!is_run)
        finding(x, VERDICT_PROBLEM, ADVICE_LISP, "%s --version: %s", x->lisp, err.message);
    else if (result.status != 0 || sscanf(text, "SBCL %d.%d.%d", &major, &minor, &patch) < 2)
        finding(x, VERDICT_PROBLEM, ADVICE_LISP,
                "%s --version ended%s and named no SBCL. It printed: %s%.100s%.200s", x->lisp, how, nothing,
                text, strbuf_string(&result.errors));
    else if (major * 10000 + minor * 100 + patch < 20208)
        finding(x, VERDICT_PROBLEM, "Install SBCL 2.2.8 or newer.", "%.*s is too old", len, text);
    else
        finding(x, VERDICT_GOOD, NULL, "%.*s", len, text);
    program_result_fini(&result);
}

static void check_core(struct examination *x)
{
    struct err err;
    bool exists;
    char *path = x->lisp == NULL ? NULL : core_path(x->lisp, &exists, &err);
    if (x->lisp == NULL)
        return;
    if (path == NULL)
        finding(x, VERDICT_PROBLEM, "Make ~/.cache a directory that you own and that nobody else can write.",
                "%s", err.message);
    else if (!exists)
        finding(x, VERDICT_PROBLEM, "Read what the check `evaluation` reports.",
                "the core does not exist and could not be built: %s", path);
    else
        finding(x, VERDICT_GOOD, NULL, "%s: %s", x->was_core_there ? "built" : "did not exist, built now",
                path);
    free(path);
}

/* A directory that only its user can change; a missing one is created on demand. */
static void check_directory(struct examination *x, const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0 && errno == ENOENT)
        finding(x, VERDICT_GOOD, NULL, "%s is created when it is needed", path);
    else if (stat(path, &s) != 0)
        finding(x, VERDICT_PROBLEM, "Make it accessible, or choose another directory.", "%s: %s", path,
                strerror(errno));
    else if (!S_ISDIR(s.st_mode))
        finding(x, VERDICT_PROBLEM, "Move it away.", "%s is not a directory", path);
    else if (s.st_uid != geteuid())
        finding(x, VERDICT_PROBLEM,
                "Make the user who runs the server its owner, or choose another directory.",
                "%s belongs to user %u", path, (unsigned)s.st_uid);
    else if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        finding(x, VERDICT_PROBLEM, "Remove the right of others to write: chmod go-w.",
                "others can write to %s, mode %04o", path, (unsigned)(s.st_mode & 07777));
    else if (access(path, W_OK | X_OK) != 0)
        finding(x, VERDICT_PROBLEM, "Make it writable, or choose another directory.", "%s cannot be written",
                path);
    else
        finding(x, VERDICT_GOOD, NULL, "%s, mode %04o", path, (unsigned)(s.st_mode & 07777));
}

static void check_cache(struct examination *x)
{
    char path[PATH_MAX];
    if (user_directory("XDG_CACHE_HOME", ".cache", "cl-mcp-server", path, sizeof path))
        check_directory(x, path);
    else
        finding(x, VERDICT_NOTE, "Set HOME.", "HOME is not set; /tmp is used");
}

static void check_state(struct examination *x)
{
    if (x->options->state_directory == NULL)
        finding(x, VERDICT_NOTE, "Set HOME, or give --state-dir.",
                "HOME is not set, so sessions cannot be saved");
    else
        check_directory(x, x->options->state_directory);
}

static void check_evaluation(struct examination *x)
{
    if (x->lisp == NULL)
        return;
    if (!x->has_session) {
        finding(x, VERDICT_PROBLEM, "Start the server with the same options and --log-level debug.", "%s",
                x->no_session.message);
        return;
    }
    const struct strbuf *reply = &x->session.replies[QUESTION_SUM];
    const char *text = strbuf_string(reply);
    if (x->session.is_error[QUESTION_SUM] || strstr(text, "=> 3") == NULL)
        finding(x, VERDICT_PROBLEM, "Correct what the reply reports.", "the reply to (+ 1 2) was: %.800s",
                text);
    else if (strcmp(text, "=> 3") != 0)
        finding(x, VERDICT_NOTE, "Correct what the reply reports.",
                "(+ 1 2) returned 3, and the reply reports more: %.800s", text);
    else
        finding(x, VERDICT_GOOD, NULL, "(+ 1 2) returned 3 in a new session");
}

static void check_threads(struct examination *x)
{
    if (is_fact(x, "threads", "yes"))
        finding(x, VERDICT_GOOD, NULL, "this SBCL has threads");
    else if (is_fact(x, "threads", "no"))
        finding(x, VERDICT_PROBLEM, "Install an SBCL that is built with threads.",
                "this SBCL has no threads");
}

static void check_asdf(struct examination *x)
{
    char systems[600];
    if (get_fact(x, "asdf", systems, sizeof systems))
        finding(x, VERDICT_GOOD, NULL, "%s", systems);
    else if (x->has_session && is_fact(x, "threads", "yes"))
        finding(x, VERDICT_PROBLEM, "Check ~/.config/common-lisp/source-registry.conf.",
                "ASDF's configuration cannot be read: %.800s",
                strbuf_string(&x->session.replies[QUESTION_FACTS]));
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

static void check_quicklisp(struct examination *x)
{
    if (is_fact(x, "quicklisp", "yes"))
        finding(x, VERDICT_GOOD, NULL, "loaded in every session by the init file");
    else if (is_in(getenv("HOME"), "quicklisp/setup.lisp"))
        finding(x, VERDICT_GOOD, NULL,
                "installed in ~/quicklisp; load-system with quicklisp: true loads from it");
    else
        finding(x, VERDICT_NOTE,
                "Only load-system with quicklisp: true needs it: https://www.quicklisp.org/beta/",
                "not installed");
}

static void check_manager(struct examination *x, const char *program, const char *sign)
{
    const char *directory = x->options->zygote.directory != NULL ? x->options->zygote.directory : ".";
    char *path = find_program(program);
    if (is_in(directory, sign))
        finding(x, VERDICT_GOOD, NULL, "the project has %s; the systems that it pins are found first", sign);
    else
        finding(x, VERDICT_GOOD, NULL, "%s%s; the project has no %s", path != NULL ? path : "not installed",
                path != NULL ? " is installed" : "", sign);
    free(path);
}

static void check_ocicl(struct examination *x)
{
    check_manager(x, "ocicl", "ocicl.csv");
}

static void check_qlot(struct examination *x)
{
    check_manager(x, "qlot", ".qlot");
}

static void check_landlock(struct examination *x)
{
    int version = sandbox_landlock_version();
    if (version < 1)
        finding(x, VERDICT_NOTE, "Without Landlock, --sandbox does not start. Linux has it since 5.13.",
                "this kernel has no Landlock: %s", strerror(errno));
    else
        finding(x, VERDICT_GOOD, NULL, "version %d", version);
}

static void check_seccomp(struct examination *x)
{
    char actions[256];
    if (kernel_file_line("/proc/sys/kernel/seccomp/actions_avail", actions, sizeof actions))
        finding(x, VERDICT_GOOD, NULL, "available: %s", actions);
    else
        finding(x, VERDICT_NOTE, "Without seccomp, --sandbox does not start.",
                "this kernel has no seccomp, or /proc is not mounted");
}

static void check_namespaces(struct examination *x)
{
    if (sandbox_has_namespaces())
        finding(x, VERDICT_GOOD, NULL, "available: --network loopback makes a private loopback");
    else
        finding(x, VERDICT_NOTE, "Only --network loopback needs them; without them it becomes off.",
                "this system allows no user namespaces: %s", strerror(errno));
}

/* Report what the sandbox restricts with the network that the options choose, and what ${proof} showed. */
static void report_sandbox(struct examination *x, const char *proof)
{
    struct err err;
    struct sandbox *s =
        sandbox_new(&(struct sandbox_policy){.network = x->options->confinement.network}, &err);
    if (s == NULL)
        finding(x, VERDICT_NOTE, "Only --sandbox needs it.", "%s", err.message);
    else if (sandbox_is_complete(s))
        finding(x, VERDICT_GOOD, NULL, "%s\n%s", proof, sandbox_guarantees(s));
    else
        finding(x, VERDICT_NOTE, "With --sandbox-strict the server does not start here.", "%s\n%s", proof,
                sandbox_guarantees(s));
    sandbox_free(s);
}

static void check_sandbox(struct examination *x)
{
    char directory[] = "/tmp/cl-mcp-server-doctor-XXXXXX";
    struct own_session session;
    struct err err;
    if (x->lisp == NULL)
        return;
    if (mkdtemp(directory) == NULL) {
        finding(x, VERDICT_PROBLEM, "Make /tmp writable.", "no directory can be created in /tmp: %s",
                strerror(errno));
        return;
    }
    const char *options[] = {"--sandbox", "workspace", "--network", "off",           "--directory",
                             directory,   "--lisp",    x->lisp,     "--no-userinit", NULL};
    const char *codes[] = {
        "(progn (with-open-file (out \"inside\" :direction :output) (print 1 out))"
        " (delete-file \"inside\")"
        " (handler-case (with-open-file (out \"../outside-of-it\" :direction :output :if-exists :append"
        " :if-does-not-exist :create) :open) (error () :closed)))",
        NULL};
    bool is_run = own_session_run(options, codes, &session, &err);
    const char *reply = strbuf_string(&session.replies[0]);
    if (!is_run)
        finding(x, VERDICT_NOTE, "Only --sandbox needs it.", "%s", err.message);
    else if (strstr(reply, "=> :CLOSED") != NULL)
        report_sandbox(x, "a sandboxed session could write inside its directory and not outside");
    else
        finding(x, VERDICT_PROBLEM, "Do not rely on --sandbox here.",
                "a sandboxed session failed this test; its reply: %.400s", reply);
    own_session_fini(&session);
    rmdir(directory);
}

static void check_cgroup(struct examination *x)
{
    char group[PATH_MAX], path[PATH_MAX + 32];
    if (!kernel_file_group("", "", group, sizeof group) ||
        access("/sys/fs/cgroup/cgroup.controllers", R_OK) != 0) {
        finding(x, VERDICT_GOOD, NULL, "no cgroup v2 hierarchy; the server does not need one");
        return;
    }
    snprintf(path, sizeof path, "/sys/fs/cgroup%s", group);
    finding(x, VERDICT_GOOD, NULL, "%s%s; only --control-groups needs delegation", path,
            access(path, W_OK) == 0 ? ", delegated to this user" : ", not delegated");
}

static void check_huge_pages(struct examination *x)
{
    char modes[128];
    if (!kernel_file_line("/sys/kernel/mm/transparent_hugepage/enabled", modes, sizeof modes))
        finding(x, VERDICT_NOTE, NULL, "this kernel has no huge pages; copies of sessions are slower");
    else if (strstr(modes, "[never]") != NULL)
        finding(x, VERDICT_NOTE, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root.",
                "switched off; copies of sessions are slower");
    else
        finding(x, VERDICT_GOOD, NULL, "%s", modes);
}

static bool can_be_run(const char *command)
{
    if (strchr(command, '/') != NULL)
        return access(command, X_OK) == 0;
    char *path = find_program(command);
    free(path);
    return path != NULL;
}

static void check_client(struct examination *x, const struct client *client, enum client_scope scope)
{
    struct client_config config;
    struct err err;
    char name[64], advice[160];
    x->name = name;
    snprintf(name, sizeof name, "%s%s", client->name, scope == SCOPE_PROJECT ? " (project)" : "");
    snprintf(advice, sizeof advice, "cl-mcp-server install %s%s", client->name,
             scope == SCOPE_PROJECT ? " --scope project" : "");
    bool is_read = client_config_read(&config, client, scope, "lisp", &err);
    const char *shown = config.shown != NULL ? config.shown : client->title;
    if (!is_read && err.code == ERR_NOT_FOUND)
        finding(x, VERDICT_NOTE, NULL, "%s was not read: %s", shown, err.message);
    else if (!is_read)
        finding(x, VERDICT_PROBLEM, "Correct the file; the client may not read it either.", "%s: %s", shown,
                err.message);
    else if (scope == SCOPE_PROJECT && config.presence != PRESENCE_OURS && config.presence != PRESENCE_OTHER)
        ; /* most projects have none */
    else if (config.presence == PRESENCE_NONE)
        finding(x, VERDICT_NOTE, advice, "installed, but %s has no server named lisp", shown);
    else if (config.presence == PRESENCE_OTHER)
        finding(x, VERDICT_NOTE, NULL, "the server named lisp in %s runs another program: %s", shown,
                config.command);
    else if (!can_be_run(config.command))
        finding(x, VERDICT_PROBLEM, advice, "%s names %s, which cannot be run", shown, config.command);
    else
        finding(x, VERDICT_GOOD, NULL, "%s runs %s", shown, config.command);
    client_config_fini(&config);
}

static void check_clients(struct examination *x)
{
    const char *name = x->name;
    bool is_any = false;
    for (size_t n = 0; clients_at(n) != NULL; n++) {
        const struct client *client = clients_at(n);
        bool is_found = client_is_found(client);
        if (is_found)
            check_client(x, client, SCOPE_USER);
        is_any = is_any || is_found;
        if (client->files[SCOPE_PROJECT][0] != NULL)
            check_client(x, client, SCOPE_PROJECT);
    }
    x->name = name;
    if (!is_any)
        finding(x, VERDICT_NOTE, "cl-mcp-server install CLIENT", "no client found");
}

const struct check doctor_checks[] = {
    {"sbcl", check_lisp},
    {"release", check_release},
    {"core", check_core},
    {"cache", check_cache},
    {"state", check_state},
    {"evaluation", check_evaluation},
    {"threads", check_threads},
    {"asdf", check_asdf},
    {"quicklisp", check_quicklisp},
    {"ocicl", check_ocicl},
    {"qlot", check_qlot},
    {"landlock", check_landlock},
    {"seccomp", check_seccomp},
    {"namespaces", check_namespaces},
    {"sandbox", check_sandbox},
    {"cgroup", check_cgroup},
    {"huge-pages", check_huge_pages},
    {"clients", check_clients},
    {NULL, NULL},
};
