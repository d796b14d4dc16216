/*
 * A list of tools and a call_start() of the tests' own: `echo` answers at once, `wait` when
 * fake_finish() says so.
 */
#ifndef UNIT_FAKE_TOOLS_H
#define UNIT_FAKE_TOOLS_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "calls/call.h"
#include "tools/table.h"

static const char *const fake_kinds[] = {"all", "functions", "variables", NULL};

static const struct tool fake_echo = {
    .name = "echo-text",
    .title = "Echo",
    .description = "Give back the code.",
    .is_read_only = true,
    .arguments =
        {
            {.name = "code",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "What to give back."},
            {.name = "max-output",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = 1000,
             .description = "Bytes."},
            {.name = "timeout",
             .type = ARGUMENT_NUMBER,
             .minimum = 0.1,
             .maximum = 600,
             .description = "Seconds."},
            {.name = "level", .type = ARGUMENT_INTEGER, .description = "Any integer."},
            {.name = "capture-time", .type = ARGUMENT_BOOLEAN, .description = "Measure."},
            {.name = "type", .type = ARGUMENT_STRING, .choices = fake_kinds, .description = "What kind."},
            {.name = "systems", .type = ARGUMENT_STRING_LIST, .description = "Names."},
            {.name = NULL},
        },
};

static const struct tool fake_wait = {
    .name = "wait",
    .title = "Wait",
    .description = "Answer when told to.",
    .is_destructive = true,
    .is_open_world = true,
    .arguments = {{.name = NULL}},
};

static const struct tool fake_load = {
    .name = "load-system",
    .title = "Load",
    .description = "Answer with the system's name.",
    .arguments =
        {
            {.name = "system", .type = ARGUMENT_STRING, .is_required = true, .description = "Its name."},
            {.name = "ratio", .type = ARGUMENT_NUMBER, .description = "Any number."},
            {.name = NULL},
        },
};

#ifdef FAKE_READABLE_TOOLS
/* What resources read from: they answer with their arguments; of the name "absent" there is nothing, "broken"
 * fails. */
#define FAKE_TEXT(argument)                                                                                  \
    {                                                                                                        \
        .name = argument, .type = ARGUMENT_STRING, .description = "Text."                                    \
    }
static const struct tool fake_guide = {
    .name = "get-usage-guide", .title = "", .description = "", .arguments = {{.name = NULL}}};
static const struct tool fake_history = {
    .name = "session-history",
    .title = "",
    .description = "",
    .arguments = {{.name = "limit", .type = ARGUMENT_INTEGER, .description = "N."},
                  FAKE_TEXT("format"),
                  {.name = "max-output", .type = ARGUMENT_INTEGER, .maximum = 4000000, .description = "N."},
                  FAKE_TEXT("session")},
};
static const struct tool fake_error = {
    .name = "describe-last-error", .title = "", .description = "", .arguments = {FAKE_TEXT("session")}};
static const struct tool fake_definitions = {
    .name = "list-definitions", .title = "", .description = "", .arguments = {FAKE_TEXT("session")}};
static const struct tool fake_symbol = {
    .name = "describe-symbol",
    .title = "",
    .description = "",
    .arguments = {FAKE_TEXT("name"), FAKE_TEXT("package"), FAKE_TEXT("session")},
};
#define FAKE_READABLE                                                                                        \
    {"Fake", &fake_guide}, {"Fake", &fake_history}, {"Fake", &fake_error}, {"Fake", &fake_definitions},      \
        {"Fake", &fake_symbol},
#else
#define FAKE_READABLE
#endif

static const struct tool_row fake_rows[] = {
    {"Fake", &fake_echo}, {"Fake", &fake_wait}, FAKE_READABLE{"Fake", &fake_load}};
static const struct tool_former fake_formers[] = {{"say", &fake_echo, "type", "variables"}};
const struct tool_table tool_table = {fake_rows, sizeof fake_rows / sizeof *fake_rows, fake_formers, 1};

/* Sessions' own tools need sessions; the tests that have some are e2e. */
const struct tool tool_user = {.name = "user"};
const struct tool tool_complete_names = {.name = "complete-names"};

struct tool_call {
    struct tool_call_options options;
    int64_t question; /* what its code waits for an answer to; 0: nothing */
};

/* What waits, the oldest first. */
static struct tool_call *fake_calls[4096];
static size_t fake_call_count, fake_cancel_count, fake_dismiss_count;
static bool fake_wanted_progress;

static void fake_done(const struct tool_call_options *options, const struct tool *tool, const char *bytes,
                      size_t len, bool is_error)
{
    struct strbuf text;
    struct tool_result result = {.text = &text, .is_error = is_error};
    strbuf_init(&text, 0);
    strbuf_add(&text, bytes, len);
    if (options->wants_structured)
        result.structured = json_pack(tool == &fake_load ? "[s,i]" : "{s:i}", "len", (int)len);
    options->done(options->arg, &result);
    json_decref(result.structured);
    strbuf_fini(&text);
}

#ifdef FAKE_READABLE_TOOLS
static void fake_read(const struct tool_call_options *options, json_t *arguments)
{
    const char *name = json_string_value(json_object_get(arguments, "name"));
    char *dumped = json_dumps(arguments, JSON_SORT_KEYS | JSON_COMPACT);
    struct strbuf text;
    struct tool_result result = {.text = &text};
    strbuf_init(&text, 0);
    strbuf_adds(&text, dumped);
    result.is_absent = name && strcmp(name, "absent") == 0;
    result.is_error = name && strcmp(name, "broken") == 0;
    options->done(options->arg, &result);
    strbuf_fini(&text);
    free(dumped);
    json_decref(arguments);
}

/* 150 names there are, as many as may be are given; the first says what was asked. */
static void fake_complete(const struct tool_call_options *options, json_t *arguments)
{
    char *dumped = json_dumps(arguments, JSON_SORT_KEYS | JSON_COMPACT);
    json_t *names = json_array();
    struct strbuf text;
    struct tool_result result = {.text = &text};
    strbuf_init(&text, 0);
    json_array_append_new(names, json_string(dumped));
    while (json_array_size(names) < 100)
        json_array_append_new(names, json_string("x"));
    CHECK(options->wants_structured);
    result.structured = json_pack("{s:o,s:i}", "names", names, "total", 150);
    options->done(options->arg, &result);
    json_decref(result.structured);
    strbuf_fini(&text);
    free(dumped);
    json_decref(arguments);
}
#endif

struct tool_call *call_start(struct toolbox *toolbox, const struct tool *tool, json_t *arguments,
                             const struct tool_call_options *options)
{
    const json_t *text = json_object_get(arguments, tool == &fake_load ? "system" : "code");
    struct tool_call *call;
    (void)toolbox;
#ifdef FAKE_READABLE_TOOLS
    if (tool == &tool_complete_names) {
        fake_complete(options, arguments);
        return NULL;
    }
    if (!json_object_get(arguments, "code") && !json_object_get(arguments, "system") && tool != &fake_wait) {
        fake_read(options, arguments);
        return NULL;
    }
#endif
    if (tool != &fake_wait) {
        CHECK(json_is_string(text));
        fake_done(options, tool, json_string_value(text), json_string_length(text), false);
        json_decref(arguments);
        return NULL;
    }
    json_decref(arguments);
    CHECK(fake_call_count < sizeof fake_calls / sizeof *fake_calls);
    call = calloc(1, sizeof *call);
    CHECK(call);
    call->options = *options;
    fake_wanted_progress = options->wants_progress;
    fake_calls[fake_call_count++] = call;
    return call;
}

static void fake_forget(size_t n)
{
    free(fake_calls[n]);
    fake_call_count--;
    memmove(fake_calls + n, fake_calls + n + 1, (fake_call_count - n) * sizeof *fake_calls);
}

void call_answer_question(struct tool_call *call, int64_t question, const char *text, size_t len)
{
    CHECK(question != 0 && call->question == question);
    CHECK(!text || strlen(text) <= len);
    call->question = 0;
}

/* Let the code of the newest call that waits ask, if it may and does not wait for an answer already. */
static inline void fake_ask(const char *prompt)
{
    static int64_t asked;
    struct tool_call *call = fake_call_count > 0 ? fake_calls[fake_call_count - 1] : NULL;
    if (!call || !call->options.on_question || call->question != 0)
        return;
    call->question = ++asked;
    call->options.on_question(call->options.arg, call, call->question, prompt);
}

/* The time for the answer to the question of the newest call is over. */
static inline void fake_expire(void)
{
    struct tool_call *call = fake_call_count > 0 ? fake_calls[fake_call_count - 1] : NULL;
    int64_t question = call ? call->question : 0;
    if (question == 0)
        return;
    call->question = 0;
    call->options.on_question(call->options.arg, call, question, NULL);
}

void call_let_go(struct tool_call *call)
{
    (void)call;
}

void call_dismiss_question(struct tool_call *call, int64_t question)
{
    CHECK(question != 0 && call->question == question);
    call->question = 0;
    fake_dismiss_count++;
}

void call_cancel(void *call)
{
    size_t n = 0;
    while (n < fake_call_count && fake_calls[n] != call)
        n++;
    CHECK(n < fake_call_count);
    fake_cancel_count++;
    fake_forget(n);
}

/* Let the n-th of the calls that wait finish. */
static inline void fake_finish(size_t n, const char *text, bool is_error)
{
    struct tool_call_options options;
    CHECK(n < fake_call_count);
    options = fake_calls[n]->options;
    fake_forget(n);
    fake_done(&options, &fake_wait, text, strlen(text), is_error);
}

#endif
