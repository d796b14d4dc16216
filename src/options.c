/*
 * Options: one table for parsing and for --help; every limit of a session is an option as well.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "tools/registry.h"

enum option_key {
    KEY_STDIO = 1,
    KEY_HTTP,
    KEY_TOKEN_FILE,
    KEY_ALLOW_HOST,
    KEY_ALLOW_ORIGIN,
    KEY_CORS_ORIGIN,
    KEY_TLS_CERT,
    KEY_TLS_KEY,
    KEY_NODE,
    KEY_LISP,
    KEY_USERINIT,
    KEY_NO_USERINIT,
    KEY_LOAD,
    KEY_PRELOAD,
    KEY_DIRECTORY,
    KEY_TOOLS,
    KEY_STRUCTURED,
    KEY_LOG_LEVEL,
    KEY_STATE_DIR,
    KEY_PERSIST,
    KEY_CHECKPOINTS,
    KEY_METRICS,
    KEY_IDLE_TIMEOUT,
    KEY_MAX_SESSIONS,
    KEY_MAX_PROCESSES,
    KEY_PRINCIPAL_SESSIONS,
    KEY_PRINCIPAL_PROCESSES,
    KEY_BUILD_CORE,
    KEY_CONFORMANCE,
    KEY_HELP,
    KEY_VERSION,
    KEY_LIMITS = 1000
};

static const struct {
    enum option_key key;
    const char *name, *argument, *help;
} table[] = {
    {KEY_STDIO, "stdio", NULL, "Serve MCP on standard input and output (the default without --http)"},
    {KEY_HTTP, "http", "WHERE",
     "Serve MCP over HTTP at ADDRESS:PORT, unix:PATH or systemd (a socket passed on); can be repeated; with "
     "--stdio beside it"},
    {KEY_TOKEN_FILE, "token-file", "FILE",
     "Let in who has a bearer token: lines NAME:TOKEN; each name has its own sessions"},
    {KEY_ALLOW_HOST, "allow-host", "HOST", "Serve requests for this Host, too; can be repeated"},
    {KEY_ALLOW_ORIGIN, "allow-origin", "ORIGIN", "Serve requests from pages of this origin; can be repeated"},
    {KEY_CORS_ORIGIN, "cors-origin", "ORIGIN",
     "The same, and let such pages read the answers; can be repeated"},
    {KEY_TLS_CERT, "tls-cert", "FILE", "Serve HTTPS with this certificate (PEM)"},
    {KEY_TLS_KEY, "tls-key", "FILE", "The key of the certificate (PEM)"},
    {KEY_NODE, "node", "NAME",
     "Begin the ids of HTTP sessions with this, so that a load balancer can tell servers apart"},
    {KEY_LISP, "lisp", "PROGRAM", "The SBCL to use; default: sbcl"},
    {KEY_USERINIT, "userinit", "FILE", "Init file to load; default: ~/.sbclrc if it is there"},
    {KEY_NO_USERINIT, "no-userinit", NULL, "Load no init file"},
    {KEY_LOAD, "load", "FILE", "Load a Lisp file into every session; can be repeated"},
    {KEY_PRELOAD, "preload", "SYSTEM", "Load an ASDF system into every session; can be repeated"},
    {KEY_DIRECTORY, "directory", "DIR", "Directory in which the Lisps work; default: the current one"},
    {KEY_TOOLS, "tools", "SET",
     "Tools to list: core, standard (the default), full, or names separated by commas"},
    {KEY_STRUCTURED, "structured", NULL, "Add structuredContent to the reports of evaluations"},
    {KEY_LOG_LEVEL, "log-level", "LEVEL",
     "What goes to standard error: error, warning (the default), info, debug"},
    {KEY_STATE_DIR, "state-dir", "DIR", "Where sessions are saved; default: ~/.local/state/cl-mcp-server"},
    {KEY_PERSIST, "persist", NULL,
     "Save every session at the end; bring saved sessions back when first used"},
    {KEY_CHECKPOINTS, "checkpoints", "on|off",
     "Keep the state after each evaluation, to return to; default: on"},
    {KEY_METRICS, "metrics", "WHERE",
     "Serve figures (/metrics, /healthz) over HTTP at ADDRESS:PORT or unix:PATH"},
    {KEY_IDLE_TIMEOUT, "idle-timeout", "SECONDS",
     "Save a session to disk and end its processes when it was not used for so long"},
    {KEY_MAX_SESSIONS, "max-sessions", "N", "At most so many sessions; default: 20000"},
    {KEY_MAX_PROCESSES, "max-processes", "N",
     "At most so many Lisp processes, kept states included; default: no bound of ours"},
    {KEY_PRINCIPAL_SESSIONS, "principal-sessions", "N",
     "At most so many sessions for each name of the token file"},
    {KEY_PRINCIPAL_PROCESSES, "principal-processes", "N",
     "At most so many Lisp processes for each name of the token file"},
    {KEY_BUILD_CORE, "build-core", "DIR", "Build the image of the Lisp in DIR and exit"},
    {KEY_CONFORMANCE, "conformance", NULL, NULL},
    {KEY_HELP, "help", NULL, "Show this text"},
    {KEY_VERSION, "version", NULL, "Show the version"},
};

#define MOST_COUNT 1000000
#define TABLE_COUNT (sizeof table / sizeof table[0])

static void show_help(void)
{
    printf("Usage: cl-mcp-server [OPTION]...\n"
           "       cl-mcp-server COMMAND ...\n"
           "A live Common Lisp for AI agents, over the Model Context Protocol.\n\n");
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        char left[64];
        if (table[i].help == NULL)
            continue; /* for tests of the server only */
        snprintf(left, sizeof left, "--%s%s%s", table[i].name, table[i].argument != NULL ? " " : "",
                 table[i].argument != NULL ? table[i].argument : "");
        printf("  %-22s %s\n", left, table[i].help);
    }
    printf("\nCommands:\n");
    commands_help(stdout);
    printf("\nLimits (each session begins with these; configure-limits changes them):\n");
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        char left[64];
        snprintf(left, sizeof left, "--%s %s", d->name, d->unit[0] == '\0' ? "N" : d->unit);
        printf("  %-22s %s; default: %.10g\n", left, d->description, d->initial);
    }
}

static bool add(const char **list, const char *value, const char *name)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    if (n == OPTIONS_MOST_REPEATED) {
        fprintf(stderr, "cl-mcp-server: at most %d times --%s\n", OPTIONS_MOST_REPEATED, name);
        return false;
    }
    list[n] = value;
    return true;
}

static bool set_limit(struct options *o, enum limit limit, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    struct err err;
    if (end == text || *end != '\0')
        err_set(&err, ERR_INVALID, "--%s wants a number, not '%s'.", limit_definition(limit)->name, text);
    else if (limits_set(&o->limits, limit, value, &err))
        return true;
    fprintf(stderr, "cl-mcp-server: %s\n", err.message);
    return false;
}

static bool set_count(size_t *out, const char *option, const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > MOST_COUNT) {
        fprintf(stderr, "cl-mcp-server: --%s wants a number from 1 to %d, not '%s'\n", option, MOST_COUNT,
                text);
        return false;
    }
    *out = (size_t)value;
    return true;
}

static bool set_listing(struct options *o, const char *spec)
{
    struct err err;
    json_t *listing = registry_listing(spec, &err);
    if (listing == NULL) {
        fprintf(stderr, "cl-mcp-server: --tools: %s\n", err.message);
        return false;
    }
    json_decref(listing);
    o->listing = spec;
    return true;
}

static bool set_node(struct options *o, const char *name)
{
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    if (len == 0 || len > OPTIONS_MOST_NODE || name[len] != '\0') {
        fprintf(stderr, "cl-mcp-server: --node wants 1 to %d letters and digits, not '%s'\n",
                OPTIONS_MOST_NODE, name);
        return false;
    }
    o->node = name;
    return true;
}

static bool take(struct options *o, int key, const char *argument, bool *is_init_chosen)
{
    int level;
    switch (key) {
    case KEY_STDIO:
        o->wants_stdio = true;
        return true;
    case KEY_HTTP:
        return add(o->http_addresses, argument, "http");
    case KEY_TOKEN_FILE:
        o->token_file = argument;
        return true;
    case KEY_ALLOW_HOST:
        return add(o->allowed_hosts, argument, "allow-host");
    case KEY_ALLOW_ORIGIN:
        return add(o->allowed_origins, argument, "allow-origin");
    case KEY_CORS_ORIGIN:
        return add(o->cors_origins, argument, "cors-origin");
    case KEY_TLS_CERT:
        o->tls_certificate = argument;
        return true;
    case KEY_TLS_KEY:
        o->tls_key = argument;
        return true;
    case KEY_NODE:
        return set_node(o, argument);
    case KEY_LISP:
        o->lisp = argument;
        return true;
    case KEY_USERINIT:
        *is_init_chosen = true;
        free((void *)(uintptr_t)o->user_init);
        o->user_init = xstrdup(argument);
        return true;
    case KEY_NO_USERINIT:
        *is_init_chosen = true;
        return true;
    case KEY_LOAD:
        return add(o->loads, argument, "load");
    case KEY_PRELOAD:
        return add(o->preloads, argument, "preload");
    case KEY_DIRECTORY:
        o->directory = argument;
        return true;
    case KEY_TOOLS:
        return set_listing(o, argument);
    case KEY_STRUCTURED:
        o->wants_structured = true;
        return true;
    case KEY_LOG_LEVEL:
        level = log_level_parse(argument);
        if (level < 0) {
            fprintf(stderr, "cl-mcp-server: --log-level is error, warning, info or debug\n");
            return false;
        }
        log_set_level((enum log_level)level);
        return true;
    case KEY_STATE_DIR:
        free(o->state_directory);
        o->state_directory = xstrdup(argument);
        return true;
    case KEY_PERSIST:
        o->is_persistent = true;
        return true;
    case KEY_CHECKPOINTS:
        if (strcmp(argument, "on") != 0 && strcmp(argument, "off") != 0) {
            fprintf(stderr, "cl-mcp-server: --checkpoints is on or off\n");
            return false;
        }
        o->limits.value[LIMIT_CHECKPOINTS] =
            strcmp(argument, "on") == 0 ? limit_definition(LIMIT_CHECKPOINTS)->initial : 0;
        return true;
    case KEY_METRICS:
        o->metrics_address = argument;
        return true;
    case KEY_IDLE_TIMEOUT:
        return set_count(&o->idle_timeout_s, "idle-timeout", argument);
    case KEY_MAX_SESSIONS:
        return set_count(&o->most_sessions, "max-sessions", argument);
    case KEY_MAX_PROCESSES:
        return set_count(&o->most_processes, "max-processes", argument);
    case KEY_PRINCIPAL_SESSIONS:
        return set_count(&o->principal_sessions, "principal-sessions", argument);
    case KEY_PRINCIPAL_PROCESSES:
        return set_count(&o->principal_processes, "principal-processes", argument);
    case KEY_CONFORMANCE:
        o->is_conformance = true;
        return true;
    case KEY_BUILD_CORE:
        o->build_core = argument;
        return true;
    default:
        /* getopt_long has said itself what it does not know: '?' */
        return key >= KEY_LIMITS && key < KEY_LIMITS + LIMIT_COUNT &&
               set_limit(o, (enum limit)(key - KEY_LIMITS), argument);
    }
}

/* SBCL's own rule for where the init file is, without its argument. */
static char *default_init(void)
{
    const char *home = getenv("HOME");
    if (home == NULL)
        return NULL;
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/.sbclrc", home);
    return access(path, R_OK) == 0 ? xstrdup(path) : NULL;
}

/* The XDG base directory specification's place for state. */
static char *default_state_directory(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char path[4096];
    if (state != NULL && state[0] == '/')
        snprintf(path, sizeof path, "%.4000s/cl-mcp-server", state);
    else if (home != NULL && home[0] == '/')
        snprintf(path, sizeof path, "%.4000s/.local/state/cl-mcp-server", home);
    else
        return NULL;
    return xstrdup(path);
}

enum options_outcome options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){.lisp = "sbcl", .listing = "standard"};
    limits_init(&o->limits);
    struct option longs[TABLE_COUNT + LIMIT_COUNT + 1] = {0};
    for (size_t i = 0; i < TABLE_COUNT; i++)
        longs[i] =
            (struct option){.name = table[i].name, .has_arg = table[i].argument != NULL, .val = table[i].key};
    for (int i = 0; i < LIMIT_COUNT; i++)
        longs[TABLE_COUNT + (size_t)i] = (struct option){
            .name = limit_definition((enum limit)i)->name, .has_arg = 1, .val = KEY_LIMITS + i};
    bool is_init_chosen = false;
    int key;
    while ((key = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (key == KEY_HELP) {
            show_help();
            return OPTIONS_DONE;
        }
        if (key == KEY_VERSION) {
            printf("cl-mcp-server %s\n", CL_MCP_VERSION);
            return OPTIONS_DONE;
        }
        if (!take(o, key, optarg, &is_init_chosen)) {
            fprintf(stderr, "Try cl-mcp-server --help.\n");
            return OPTIONS_WRONG;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "cl-mcp-server: unexpected argument '%s'. Try cl-mcp-server --help.\n", argv[optind]);
        return OPTIONS_WRONG;
    }
    if (!is_init_chosen)
        o->user_init = default_init();
    if (o->state_directory == NULL)
        o->state_directory = default_state_directory();
    return OPTIONS_SERVE;
}

void options_fini(struct options *o)
{
    free((void *)(uintptr_t)o->user_init);
    free(o->state_directory);
}
