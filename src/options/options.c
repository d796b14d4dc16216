/*
 * Responsible for the table of options, and for reading the command line with it. An option is one row: its
 * name, its help, and the setter that writes its argument into a member of struct options. The limits of a
 * session, which limits.c defines, are options too.
 */
#include "options/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/user_directory.h"
#include "calls/listing.h"
#include "join/address.h"
#include "tools/table.h"

#define MOST_COUNT 1000000
#define MOST_OPTIONS 128

static void *place_of(struct options *o, const struct option_definition *option)
{
    return (char *)o + option->place;
}

static bool set_flag(struct options *o, const struct option_definition *option, const char *argument,
                     struct err *err)
{
    *(bool *)place_of(o, option) = true;
    return true;
}

static bool set_text(struct options *o, const struct option_definition *option, const char *argument,
                     struct err *err)
{
    *(const char **)place_of(o, option) = argument;
    return true;
}

static bool add_text(struct options *o, const struct option_definition *option, const char *argument,
                     struct err *err)
{
    const char **list = *(const char ***)place_of(o, option);
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    if (n == OPTIONS_MOST_REPEATED)
        return err_set(err, ERR_INVALID, "--%s can be given at most %d times", option->name,
                       OPTIONS_MOST_REPEATED);
    list[n] = argument;
    return true;
}

static bool set_count(struct options *o, const struct option_definition *option, const char *argument,
                      struct err *err)
{
    errno = 0;
    char *end;
    long value = strtol(argument, &end, 10);
    if (end == argument || *end != '\0' || errno != 0 || value < 1 || value > MOST_COUNT)
        return err_set(err, ERR_INVALID, "--%s must be a whole number from 1 to %d, not '%s'", option->name,
                       MOST_COUNT, argument);
    *(size_t *)place_of(o, option) = (size_t)value;
    return true;
}

static bool set_listing(struct options *o, const struct option_definition *option, const char *argument,
                        struct err *err)
{
    struct err wrong;
    json_t *listing = listing_of(&tool_table, argument, &wrong);
    if (listing == NULL)
        return err_set(err, ERR_INVALID, "--%s: %s", option->name, wrong.message);
    json_decref(listing);
    if (listing_is_former_set(argument))
        log_warning("--%s %s has no effect any more: there is one list of tools", option->name, argument);
    return set_text(o, option, argument, err);
}

static bool set_node(struct options *o, const struct option_definition *option, const char *argument,
                     struct err *err)
{
    /* What a machine or a pod may be called. */
    size_t len = strspn(argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.");
    if (len == 0 || len > OPTIONS_MOST_NODE || argument[len] != '\0' || argument[0] == '-' ||
        argument[0] == '.')
        return err_set(
            err, ERR_INVALID,
            "--%s must be 1 to %d letters, digits, dots and dashes, the first a letter or a digit, "
            "not '%s'",
            option->name, OPTIONS_MOST_NODE, argument);
    return set_text(o, option, argument, err);
}

/* Takes effect at once, so that it applies to the options after it. */
static bool set_log_level(struct options *o, const struct option_definition *option, const char *argument,
                          struct err *err)
{
    int level = log_level_parse(argument);
    if (level < 0)
        return err_set(err, ERR_INVALID, "--%s must be error, warning, info or debug, not '%s'", option->name,
                       argument);
    log_set_level((enum log_level)level);
    return true;
}

/* The index of ${argument} in ${choices}, which are separated by bars; -1 for any other word. */
static int choice_of(const char *choices, const char *argument)
{
    size_t len = strlen(argument);
    for (int n = 0;; n++) {
        size_t choice_len = strcspn(choices, "|");
        if (choice_len == len && strncmp(choices, argument, len) == 0)
            return n;
        if (choices[choice_len] == '\0')
            return -1;
        choices += choice_len + 1;
    }
}

static bool refuse_choice(const struct option_definition *option, const char *argument, struct err *err)
{
    return err_set(err, ERR_INVALID, "--%s must be one of %s, not '%s'", option->name, option->argument,
                   argument);
}

static bool set_choice(struct options *o, const struct option_definition *option, const char *argument,
                       struct err *err)
{
    int choice = choice_of(option->argument, argument);
    if (choice < 0)
        return refuse_choice(option, argument, err);
    *(unsigned *)place_of(o, option) = (unsigned)choice;
    return true;
}

static bool set_checkpoints(struct options *o, const struct option_definition *option, const char *argument,
                            struct err *err)
{
    int choice = choice_of(option->argument, argument);
    o->limits.value[LIMIT_CHECKPOINTS] = choice == 0 ? limit_definition(LIMIT_CHECKPOINTS)->initial : 0;
    return choice >= 0 || refuse_choice(option, argument, err);
}

static bool set_view(struct options *o, const struct option_definition *option, const char *argument,
                     struct err *err)
{
    if (argument != NULL)
        return set_choice(o, option, argument, err);
    o->view = VIEW_PAGE;
    return true;
}

static bool set_sandbox(struct options *o, const struct option_definition *option, const char *argument,
                        struct err *err)
{
    o->is_sandbox_given = true;
    return set_choice(o, option, argument, err);
}

static bool set_attach(struct options *o, const struct option_definition *option, const char *argument,
                       struct err *err)
{
    struct join_address address;
    struct err wrong;
    if (!join_address_parse(argument, &address, &wrong))
        return err_set(err, ERR_INVALID, "--%s: %s", option->name, wrong.message);
    return set_text(o, option, argument, err);
}

static bool set_limit(struct options *o, const struct option_definition *option, const char *argument,
                      struct err *err)
{
    char *end;
    double value = strtod(argument, &end);
    if (end == argument || *end != '\0')
        return err_set(err, ERR_INVALID, "--%s must be a number, not '%s'", option->name, argument);
    return limits_set(&o->limits, limit_find(option->name), value, err);
}

#define SERVER "Server"
#define HTTP "HTTP"
#define LISP "Lisp"
#define SANDBOX "Sandbox"
#define TOOLS "Tools"
#define SESSIONS "Sessions"
#define LIMITS "Limits of a new session (configure-limits changes those of a running one)"

#define FLAG(member) .set = set_flag, .place = offsetof(struct options, member)
#define TEXT(member) .set = set_text, .place = offsetof(struct options, member)
#define LIST(member) .set = add_text, .place = offsetof(struct options, member), .is_repeatable = true
#define CHOICE(member) .set = set_choice, .place = offsetof(struct options, member)
#define COMMON .is_common = true
#define COUNT(member) .set = set_count, .place = offsetof(struct options, member)

/* clang-format off */
static const struct option_definition table[] = {
    {SERVER, "stdio", NULL, "Serve MCP on standard input and output; the default without --http",
     FLAG(wants_stdio)},
    {SERVER, "http", "ADDRESS", "Serve MCP over HTTP at HOST:PORT, unix:PATH or systemd (an inherited socket)",
     LIST(http.addresses), COMMON},
    {SERVER, "metrics", "ADDRESS", "Serve /metrics and /healthz over HTTP at HOST:PORT or unix:PATH",
     TEXT(metrics_address)},
    {SERVER, "log-level", "LEVEL", "Log to standard error from this level: error, warning, info or debug",
     "warning", .set = set_log_level, COMMON},
    {SERVER, "audit", "FILE", "Append a line of JSON to FILE for each call and typed line; SIGHUP reopens it",
     TEXT(audit_file)},
    {SERVER, "view", "on|off",
     "Offer the socket that cl-mcp-server view connects to; without on or off, also serve its page over HTTP", "on",
     .set = set_view, .place = offsetof(struct options, view), .is_argument_optional = true},
    {SERVER, "redact", NULL, "Remove what looks like a credential from replies and the audit log",
     FLAG(redacts)},
    {SERVER, "build-core", "DIR", "Build the Lisp image in DIR and exit",
     TEXT(build_core)},
    {SERVER, "help", NULL, "Print the common options and exit; --help all prints every option",
     FLAG(wants_help), COMMON},
    {SERVER, "version", NULL, "Print the version and exit",
     FLAG(wants_version), COMMON},

    {HTTP, "token-file", "FILE", "Require a bearer token from FILE, lines of NAME:TOKEN; each name has its own sessions",
     TEXT(http.principals.token_file)},
    {HTTP, "trust-header", "NAME", "Take the user from this header, which only an authenticating proxy may send",
     TEXT(http.principals.trust_header)},
    {HTTP, "trust-from", "ADDRESS[/BITS]", "Such a proxy's address or network; one on a Unix socket needs none",
     LIST(http.principals.trust_from)},
    {HTTP, "oauth-issuer", "URL", "Accept access tokens of this issuer (OAuth 2.1), to which clients are sent",
     TEXT(http.principals.access_tokens.issuer)},
    {HTTP, "oauth-audience", "URL", "This server's own URL, which access tokens must be for",
     TEXT(http.principals.access_tokens.audience)},
    {HTTP, "oauth-keys", "FILE", "The issuer's public keys (JWKS), read again on SIGHUP and when FILE changes",
     TEXT(http.principals.access_tokens.keys_file)},
    {HTTP, "oauth-claim", "NAME", "The claim of access tokens that names the user", "sub",
     TEXT(http.principals.access_tokens.user)},
    {HTTP, "principal-sessions", "N", "Maximum number of sessions for each user over HTTP", "unlimited",
     COUNT(principal_sessions)},
    {HTTP, "principal-processes", "N", "Maximum number of Lisp processes for each user over HTTP", "unlimited",
     COUNT(principal_processes)},
    {HTTP, "allow-host", "HOST", "Accept requests with this Host header as well",
     LIST(http.rules.allowed_hosts)},
    {HTTP, "allow-origin", "ORIGIN", "Accept requests from web pages of this origin",
     LIST(http.rules.allowed_origins)},
    {HTTP, "cors-origin", "ORIGIN", "Like --allow-origin, and let those pages read the responses",
     LIST(http.rules.cors_origins)},
    {HTTP, "tls-cert", "FILE", "Serve HTTPS with this certificate chain (PEM)",
     TEXT(http.tls_certificate_file)},
    {HTTP, "tls-key", "FILE", "Private key of the certificate (PEM)",
     TEXT(http.tls_key_file)},
    {HTTP, "node", "NAME", "Prefix the ids of HTTP sessions with NAME, so that a load balancer can route by it",
     .set = set_node, .place = offsetof(struct options, http.node)},

    {LISP, "lisp", "PROGRAM", "SBCL to run; tested with 2.2.9, 2.5.2 and 2.6.4", "sbcl",
     TEXT(zygote.lisp), COMMON},
    {LISP, "userinit", "FILE", "Init file to load", "~/.sbclrc if it exists",
     TEXT(zygote.user_init)},
    {LISP, "no-userinit", NULL, "Load no init file",
     FLAG(has_no_user_init)},
    {LISP, "load", "FILE", "Load a Lisp file into every session",
     LIST(zygote.loads), COMMON},
    {LISP, "preload", "SYSTEM", "Load an ASDF system into every session",
     LIST(zygote.preloads), COMMON},
    {LISP, "directory", "DIR", "Working directory of the Lisp processes", "the client's project",
     TEXT(zygote.directory), COMMON},

    {LISP, "attach", "ADDRESS",
     "Join the Lisp that a person runs, by its Swank or Slynk at HOST:PORT, or auto",
     .set = set_attach, .place = offsetof(struct options, attach), COMMON},
    {LISP, "allow-attach", NULL, "Let clients over HTTP name the Lisp that a new session joins",
     FLAG(allows_attach)},
    {LISP, "attach-read-only", NULL, "Offer only tools that look at the joined Lisp and evaluate nothing in it",
     FLAG(is_attach_read_only)},
    {LISP, "attach-secret", NULL, "Send the secret of Swank also to a joined Lisp that may be another user's",
     FLAG(sends_secret)},
    {LISP, "announce", "on|off|buffer", "Tell the person who runs a joined Lisp what is done in it", "on",
     CHOICE(announces)},
    {LISP, "lock-grace", "SECONDS", "How long a joined program may wait for a lock that an error of the agent's holds", "10",
     COUNT(lock_grace_s)},

    {SANDBOX, "sandbox", "off|workspace|read-only",
     "Let Lisps write only in the working directory, or nowhere", "off",
     .set = set_sandbox, .place = offsetof(struct options, confinement.mode), COMMON},
    {SANDBOX, "network", "on|loopback|off", "Network of sandboxed Lisp processes", "on",
     CHOICE(confinement.network)},
    {SANDBOX, "writable", "PATH", "Let sandboxed Lisp processes read and write this file or directory",
     LIST(confinement.writable)},
    {SANDBOX, "readable", "PATH", "Let sandboxed Lisp processes read this file or directory",
     LIST(confinement.readable)},
    {SANDBOX, "sandbox-strict", NULL, "Start only if this kernel can enforce all of --sandbox",
     FLAG(confinement.is_strict)},

    {TOOLS, "tools", "NAMES", "Tools to list, separated by commas", "all",
     .set = set_listing, .place = offsetof(struct options, http.connection.listing), COMMON},
    {TOOLS, "structured", NULL, "Add structuredContent to evaluation results",
     FLAG(http.connection.wants_structured)},

    {SESSIONS, "state-dir", "DIR", "Directory for saved sessions", "~/.local/state/cl-mcp-server",
     TEXT(state_directory)},
    {SESSIONS, "persist", NULL, "Save all sessions on exit; restore a saved session when it is first used",
     FLAG(is_persistent), COMMON},
    {SESSIONS, "save-every", "SECONDS", "With --persist, save idle sessions that have changed this often", "on exit only",
     COUNT(save_every_s)},
    {SESSIONS, "checkpoints", "on|off", "Make a checkpoint after each evaluation", "on",
     .set = set_checkpoints},
    {SESSIONS, "idle-timeout", "SECONDS", "Suspend a session to disk when it has been idle this long", "never",
     COUNT(idle_timeout_s)},
    {SESSIONS, "max-sessions", "N", "Maximum number of sessions", "20000",
     COUNT(most_sessions)},
    {SESSIONS, "max-processes", "N", "Maximum number of Lisp processes, including checkpoints", "unlimited",
     COUNT(most_processes)},
    {SESSIONS, "control-groups", NULL,
     "Give each session its own control group, in the server's, which must be delegated to it", "",
     FLAG(has_control_groups)},
};
/* clang-format on */

#define TABLE_COUNT (sizeof table / sizeof table[0])

_Static_assert(TABLE_COUNT + LIMIT_COUNT <= MOST_OPTIONS, "options_parse() has room for every option");

size_t options_count(void)
{
    return TABLE_COUNT + LIMIT_COUNT;
}

static const char *argument_of_unit(const char *unit)
{
    return unit[0] == '\0'              ? "N"
           : strcmp(unit, "s") == 0     ? "SECONDS"
           : strcmp(unit, "bytes") == 0 ? "BYTES"
                                        : unit;
}

struct option_definition options_at(size_t n)
{
    CHECK(n < options_count());
    if (n < TABLE_COUNT)
        return table[n];
    const struct limit_definition *limit = limit_definition((enum limit)(n - TABLE_COUNT));
    struct option_definition option = {
        .section = LIMITS,
        .name = limit->name,
        .argument = argument_of_unit(limit->unit),
        .help = limit->description,
        .set = set_limit,
        .is_common = n - TABLE_COUNT == LIMIT_TIMEOUT,
    };
    snprintf(option.initial, sizeof option.initial, "%.10g", limit->initial);
    return option;
}

void options_help(FILE *out, bool is_all)
{
    const char *section = "";
    if (!is_all)
        fprintf(out, "\nCommon options:\n");
    for (size_t i = 0; i < options_count(); i++) {
        struct option_definition option = options_at(i);
        if (!is_all && !option.is_common)
            continue;
        if (is_all && strcmp(section, option.section) != 0)
            fprintf(out, "\n%s:\n", option.section);
        section = option.section;
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", option.name, option.argument != NULL ? " " : "",
                 option.argument != NULL ? option.argument : "");
        fprintf(out, "  %-24s %s%s%s%s\n", left, option.help, option.initial[0] != '\0' ? "; default: " : "",
                option.initial, option.is_repeatable ? "; repeatable" : "");
    }
}

/* SBCL's own rule for the default init file. NULL: there is none. */
static const char *find_init(char path[PATH_MAX])
{
    const char *home = getenv("HOME");
    if (home == NULL)
        return NULL;
    snprintf(path, PATH_MAX, "%.4000s/.sbclrc", home);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* The directory of the project that the client works on. Clients often start a plugin's server in the
 * plugin's own directory and name the project in this variable. The clients of an HTTP server did not set it.
 * NULL: the client named no directory. */
static const char *find_project(const struct options *o)
{
    const char *project = o->http.addresses[0] == NULL ? getenv("CLAUDE_PROJECT_DIR") : NULL;
    return project != NULL && project[0] == '/' && is_directory(project) ? project : NULL;
}

static void find_defaults(struct options *o)
{
    if (o->zygote.directory == NULL)
        o->zygote.directory = find_project(o);
    if (o->has_no_user_init)
        o->zygote.user_init = NULL;
    else if (o->zygote.user_init == NULL)
        o->zygote.user_init = find_init(o->found_init);
    /* Where the XDG base directory specification puts state. */
    if (o->state_directory == NULL &&
        user_directory("XDG_STATE_HOME", ".local/state", "cl-mcp-server", o->found_state_directory,
                       sizeof o->found_state_directory))
        o->state_directory = o->found_state_directory;
}

/* The name of a given option that works only in a sandbox, if --sandbox was not given; else NULL. */
static const char *without_sandbox(const struct options *o)
{
    return o->is_sandbox_given                            ? NULL
           : o->confinement.network != SANDBOX_NETWORK_ON ? "network"
           : o->confinement.writable[0] != NULL           ? "writable"
           : o->confinement.readable[0] != NULL           ? "readable"
           : o->confinement.is_strict                     ? "sandbox-strict"
                                                          : NULL;
}

/* Whether the options go together; the state directory has been looked for. */
static bool options_agree(const struct options *o, struct err *err)
{
    if (without_sandbox(o) != NULL)
        return err_set(
            err, ERR_INVALID,
            "without --sandbox, --%s restricts nothing. Add --sandbox workspace or read-only; or off, "
            "if it is meant for sessions that ask for a sandbox.",
            without_sandbox(o));
    if (o->is_attach_read_only && o->attach == NULL)
        return err_set(err, ERR_INVALID, "--attach-read-only goes together with --attach ADDRESS");
    if (o->attach != NULL && o->confinement.mode != CONFINEMENT_OFF)
        return err_set(err, ERR_INVALID,
                       "--attach and --sandbox exclude each other: nothing confines a Lisp that is not the "
                       "server's. Give one of them.");
    if (o->view == VIEW_PAGE && o->http.addresses[0] == NULL)
        return err_set(err, ERR_INVALID, "--view without on or off serves the page over HTTP: add --http");
    if (o->is_persistent && o->state_directory == NULL)
        return err_set(err, ERR_INVALID, "--persist needs --state-dir, since HOME names no home directory");
    if (o->save_every_s > 0 && !o->is_persistent)
        return err_set(err, ERR_INVALID, "--save-every needs --persist");
    return true;
}

bool options_parse(struct options *o, int argc, char **argv)
{
    /* Above all characters, so that getopt's '?' for an unknown option is not one of these. */
    enum { FORMER = 999, FIRST };
    *o = (struct options){.zygote.lisp = "sbcl",
                          .lock_grace_s = 10,
                          .http.connection = {.default_session = "default"},
                          .http.principals.access_tokens.user = "sub"};
    limits_init(&o->limits);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (table[i].is_repeatable)
            *(const char ***)place_of(o, &table[i]) = xcalloc(OPTIONS_MOST_REPEATED + 1, sizeof(char *));
    struct option longs[MOST_OPTIONS + 2] = {0};
    for (size_t i = 0; i < options_count(); i++) {
        struct option_definition option = options_at(i);
        int has_arg = option.is_argument_optional ? optional_argument : option.argument != NULL;
        longs[i] = (struct option){.name = option.name, .has_arg = has_arg, .val = FIRST + (int)i};
    }
    longs[options_count()] = (struct option){.name = "sandbox-best-effort", .val = FORMER};
    int key;
    while ((key = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (key < FORMER) { /* getopt_long() has reported what is wrong */
            fprintf(stderr, "Try cl-mcp-server --help.\n");
            return false;
        }
        if (key == FORMER)
            continue; /* --sandbox does now what that option asked for */
        struct option_definition option = options_at((size_t)(key - FIRST));
        struct err err;
        bool may_follow = option.is_argument_optional && optarg == NULL;
        if (may_follow && optind < argc && argv[optind][0] != '-')
            optarg = argv[optind++];
        if (!option.set(o, &option, optarg, &err)) {
            fprintf(stderr, "cl-mcp-server: %s\nTry cl-mcp-server --help.\n", err.message);
            return false;
        }
        o->wants_all_help = o->wants_help && optind < argc && strcmp(argv[optind], "all") == 0;
        if (o->wants_help || o->wants_version)
            return true;
    }
    if (optind < argc) {
        fprintf(stderr, "cl-mcp-server: unexpected argument '%s'\nTry cl-mcp-server --help.\n", argv[optind]);
        return false;
    }
    find_defaults(o);
    struct err wrong;
    if (options_agree(o, &wrong))
        return true;
    fprintf(stderr, "cl-mcp-server: %s\n", wrong.message);
    return false;
}

void options_fini(struct options *o)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (table[i].is_repeatable)
            free(*(const char ***)place_of(o, &table[i]));
}
