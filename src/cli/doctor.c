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

struct report {
    json_t *findings; /* NULL: they are printed */
    size_t problems;
};

static const char *const words[] = {"ok", "note", "problem"};

static void add_finding(struct report *r, const char *name, enum verdict verdict, const char *advice,
                        const char *text)
{
    json_t *item = json_pack("{ss ss ss}", "check", name, "status", words[verdict], "finding", text);
    if (advice != NULL)
        json_object_set_new(item, "advice", json_string(advice));
    json_array_append_new(r->findings, item);
}

/* Lines after the first are indented under it. */
static void print_finding(const char *name, enum verdict verdict, const char *advice, const char *text)
{
    printf("%-8s %-14s ", words[verdict], name);
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

static void on_finding(void *arg, const char *name, enum verdict verdict, const char *advice,
                       const char *format, ...)
{
    struct report *r = arg;
    struct strbuf raw = {0}, text = {0};
    va_list arguments;
    va_start(arguments, format);
    strbuf_vaddf(&raw, format, arguments);
    va_end(arguments);
    utf8_repair(&text, strbuf_string(&raw), raw.len);
    if (r->findings != NULL)
        add_finding(r, name, verdict, advice, strbuf_string(&text));
    else
        print_finding(name, verdict, advice, strbuf_string(&text));
    r->problems += verdict == VERDICT_PROBLEM;
    strbuf_fini(&raw);
    strbuf_fini(&text);
}

static void examine(struct patient *p, struct report *r)
{
    p->lisp = core_find_lisp(p->options->lisp, &p->no_lisp);
    if (p->lisp != NULL) {
        struct err err;
        char *core = core_path(p->lisp, &p->was_core_there, &err);
        free(core);
        p->has_session = own_session_run(p->server_options, doctor_questions, &p->session, &p->no_session);
    }
    for (size_t n = 0; checks_at(n) != NULL; n++)
        checks_at(n)->run(p, checks_at(n)->name, on_finding, r);
    own_session_fini(&p->session);
    free(p->lisp);
}

static void print_json(const struct report *r)
{
    json_t *root = json_pack("{ss si sO}", "version", CL_MCP_VERSION, "problems", (int)r->problems, "checks",
                             r->findings);
    char *text = json_dumps(root, JSON_INDENT(2));
    puts(text);
    free(text);
    json_decref(root);
}

static void print_end(const struct report *r)
{
    if (r->problems == 0)
        printf("\nNo problem was found.\n");
    else
        printf("\n%zu problem%s found.\n", r->problems, r->problems == 1 ? " was" : "s were");
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
    bool has_options = argc > first;
    if (has_options)
        argv[first] = argv[0];
    if (!options_parse(&options, has_options ? argc - first : 1, has_options ? argv + first : none)) {
        options_fini(&options);
        return 2;
    }
    struct report report = {.findings = wants_json ? json_array() : NULL};
    struct patient patient = {.options = &options,
                              .server_options =
                                  (const char *const *)(has_options ? argv + first + 1 : none + 1)};
    examine(&patient, &report);
    if (wants_json)
        print_json(&report);
    else
        print_end(&report);
    json_decref(report.findings);
    options_fini(&options);
    return report.problems == 0 ? 0 : 1;
}
