/*
 * doctor: checks everything that the server needs, and reports what is missing and what to do about it.
 * The exit status is 1 if there is a problem.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/doctor_checks.h"
#include "lisp/core.h"

/* Lines after the first are indented under it. */
static void print_finding(const char *name, const char *status, const char *advice, const char *text)
{
    printf("%-8s %-14s ", status, name);
    for (const char *c = text; *c != '\0'; c++) {
        putchar(*c);
        if (*c == '\n' && c[1] != '\0')
            printf("%24s", "");
    }
    putchar('\n');
    if (advice != NULL)
        printf("%24s-> %s\n", "", advice);
    fflush(stdout);
}

void finding(struct examination *x, enum verdict verdict, const char *advice, const char *format, ...)
{
    static const char *const words[] = {"ok", "note", "problem"};
    struct strbuf raw = {0}, text = {0};
    va_list arguments;
    va_start(arguments, format);
    strbuf_vaddf(&raw, format, arguments);
    va_end(arguments);
    size_t len = raw.len;
    while (len > 0 && strbuf_string(&raw)[len - 1] == '\n') /* what a program printed */
        len--;
    utf8_repair(&text, strbuf_string(&raw), len);
    if (x->findings == NULL)
        print_finding(x->name, words[verdict], advice, strbuf_string(&text));
    else
        json_array_append_new(x->findings,
                              json_pack("{ss ss ss ss*}", "check", x->name, "status", words[verdict],
                                        "finding", strbuf_string(&text), "advice", advice));
    x->problems += verdict == VERDICT_PROBLEM;
    strbuf_fini(&raw);
    strbuf_fini(&text);
}

/* ${server_options}: as on the command line; ends with NULL. */
static void examine(struct examination *x, const char *const *server_options)
{
    x->lisp = core_find_lisp(x->options->zygote.lisp, &x->no_lisp);
    if (x->lisp != NULL) {
        struct err err;
        free(core_path(x->lisp, &x->was_core_there, &err));
        x->has_session = own_session_run(server_options, doctor_questions, &x->session, &x->no_session);
    }
    for (const struct check *check = doctor_checks; check->name != NULL; check++) {
        x->name = check->name;
        check->run(x);
    }
    own_session_fini(&x->session);
    free(x->lisp);
}

static void print_end(const struct examination *x)
{
    if (x->findings != NULL) {
        json_t *root = json_pack("{ss si so}", "version", CL_MCP_VERSION, "problems", (int)x->problems,
                                 "checks", x->findings);
        char *text = json_dumps(root, JSON_INDENT(2));
        puts(text);
        free(text);
        json_decref(root);
    } else if (x->problems == 0) {
        printf("\nNo problem was found.\n");
    } else {
        printf("\n%zu problem%s found.\n", x->problems, x->problems == 1 ? " was" : "s were");
    }
}

int doctor(int argc, char **argv)
{
    int first = 1;
    bool wants_json = argc > first && strcmp(argv[first], "--json") == 0;
    first += wants_json;
    if (argc > first && strcmp(argv[first], "--") != 0)
        return command_usage(argv[0]);
    /* The server's options follow --; getopt() expects a name in front of them. */
    struct options options;
    char *none[] = {argv[0], NULL};
    char **server = argc > first ? argv + first : none;
    server[0] = argv[0];
    bool is_parsed = options_parse(&options, argc > first ? argc - first : 1, server);
    struct examination x = {.options = &options, .findings = wants_json ? json_array() : NULL};
    if (is_parsed) {
        examine(&x, (const char *const *)server + 1);
        print_end(&x);
    }
    options_fini(&options);
    return !is_parsed ? 2 : x.problems == 0 ? 0 : 1;
}
