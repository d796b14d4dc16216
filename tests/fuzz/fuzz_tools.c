/*
 * Any bytes as what a Lisp replies to a tool. The input is flags, a tool's name, its arguments and a newline;
 * then the replies, separated by the byte 1. Invariants: arguments that were accepted get exactly one answer,
 * which is valid UTF-8, within its bounds, and JSON where it is data.
 *
 * The linker replaces session_run(), by which the tools reach a Lisp, with the function here. Seeds are in
 * seeds/tools.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/toolbox.h"
#include "fuzz_session.h"
#include "session/records/error_record.h"
#include "session/session.h"
#include "tools/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
struct operation *__wrap_session_run(struct session *s, const struct operation_options *options);

#define SEPARATOR 1
#define MOST_REPLIES 4 /* no tool needs more */
#define MOST_BYTES 400000

enum {
    IS_ERROR = 1,         /* the first reply is an error's report */
    IS_AFTER_ERROR = 2,   /* the session has an error, whose report is the first reply */
    WANTS_STRUCTURED = 4, /* as for a client that takes it */
    WAS_IN_COPY = 8,      /* the replies come from a copy of the session */
};

/* Tools that act on sessions, saves and files instead of showing what a Lisp replies. */
static const char *const others[] = {
    "create-session",    "close-session",
    "reset-session",     "list-sessions",
    "session-info",      "checkpoint-session",
    "delete-checkpoint", "rollback-session",
    "save-session",      "restore-session",
    "delete-save",       "edit-form",
    "patch-form",        NULL,
};

static struct {
    operation_done *done; /* of the operation that waits; NULL: none does */
    void *arg;
    int answers;
} waiting;

struct operation *__wrap_session_run(struct session *s, const struct operation_options *options)
{
    (void)s;
    strbuf_fini(options->request); /* it is taken */
    waiting.done = options->done;
    waiting.arg = options->arg;
    return (struct operation *)&waiting; /* never looked into */
}

static void on_answer(void *arg, const struct tool_result *result)
{
    (void)arg;
    waiting.answers++;
    CHECK(utf8_is_valid(strbuf_string(result->text), result->text->len));
    CHECK(result->text->len <= MOST_BYTES);
    if (result->structured == NULL)
        return;
    char *text = json_dumps(result->structured, 0);
    CHECK(text != NULL);
    free(text);
}

static bool is_other(const char *name)
{
    for (size_t i = 0; others[i] != NULL; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

static struct error_record *record_of(struct session *s, const uint8_t *data, size_t size)
{
    struct sexp_document *document = sexp_parse((const char *)data, size, NULL);
    struct error_record *r =
        document == NULL ? error_record_make("ERROR", "an error", NULL) : error_record_new(document);
    r->session = s;
    r->stands_here = true; /* so it can be entered */
    return r;
}

/* Give the waiting operation this reply. */
static void reply(struct session *s, const uint8_t *data, size_t size, int flags)
{
    struct capture printed[2];
    struct outcome outcome = {.kind = OUTCOME_UNAVAILABLE,
                              .session = s,
                              .why = "it cannot be read",
                              .was_in_copy = (flags & WAS_IN_COPY) != 0,
                              .output = {&printed[0], &printed[1]}};
    bool is_error = (flags & IS_ERROR) != 0;
    struct sexp_document *document = is_error ? NULL : sexp_parse((const char *)data, size, NULL);
    struct error_record *error = is_error ? record_of(s, data, size) : NULL;
    operation_done *done = waiting.done;
    capture_init(&printed[0]);
    capture_init(&printed[1]);
    capture_add(&printed[0], "a line\n", 7);
    if (error != NULL) {
        outcome.kind = OUTCOME_ERROR;
        outcome.error = error;
        outcome.reply = error->condition;
    } else if (document != NULL) {
        const struct sexp *status = sexp_nth(sexp_root(document), 1);
        outcome.kind = status != NULL && status->type == SEXP_SYMBOL && status->text.len == 7
                           ? OUTCOME_REFUSED
                           : OUTCOME_OK;
        outcome.reply = sexp_root(document);
    }
    waiting.done = NULL;
    done(waiting.arg, &outcome);
    if (error != NULL)
        error_history_add(&s->errors, error, &(struct errors_in_use){.standing = NULL});
    capture_fini(&printed[0]);
    capture_fini(&printed[1]);
    sexp_document_free(document);
}

static void call(struct toolbox *toolbox, struct session *s, const struct tool *tool, json_t *arguments,
                 int flags, const uint8_t *replies, size_t size)
{
    const struct tool_call_options options = {
        .default_session = "default", .wants_structured = (flags & WANTS_STRUCTURED) != 0, .done = on_answer};
    waiting.answers = 0;
    struct tool_call *ticket = call_start(toolbox, tool, arguments, &options);
    for (int i = 0; i < MOST_REPLIES && waiting.done != NULL; i++) {
        const uint8_t *end = memchr(replies, SEPARATOR, size);
        size_t len = end == NULL ? size : (size_t)(end - replies);
        reply(s, replies, len, i == 0 ? flags : flags & ~IS_ERROR);
        replies += end == NULL ? 0 : len + 1;
        size -= end == NULL ? 0 : len + 1;
    }
    CHECK(waiting.done == NULL);
    /* evaluation-status and its like wait for something other than a reply. */
    if (waiting.answers == 0)
        call_cancel(ticket);
    CHECK(waiting.answers <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session *s; /* one for all: making a session's host reads files of the system */
    if (s == NULL)
        s = fuzz_session();
    struct toolbox toolbox = {.sessions = s->all};
    const uint8_t *newline = memchr(data, '\n', size);
    if (newline == NULL || newline == data)
        return -1;
    size_t head_len = (size_t)(newline - data) - 1;
    char *head = xmemdup0((const char *)data + 1, head_len);
    const uint8_t *replies = newline + 1;
    size_t replies_len = size - (size_t)(replies - data);
    char *space = strchr(head, ' ');
    json_t *given = space == NULL ? NULL : json_loads(space + 1, 0, NULL);
    if (space != NULL)
        *space = '\0';
    const struct tool *tool = registry_find(&tool_table, head);
    struct err err;
    json_t *arguments = tool == NULL || is_other(tool->name) || (given != NULL && !json_is_object(given))
                            ? NULL
                            : arguments_check(tool, NULL, given, &err);
    if (arguments != NULL) {
        if ((data[0] & IS_AFTER_ERROR) != 0)
            error_history_add(&s->errors, record_of(s, replies, replies_len),
                              &(struct errors_in_use){.standing = NULL});
        call(&toolbox, s, tool, arguments, data[0], replies, replies_len);
        uv_run(uv_default_loop(), UV_RUN_NOWAIT); /* frees closed handles */
        error_history_clear(&s->errors);
        notices_clear(session_notices(s));
    }
    json_decref(given);
    free(head);
    return arguments != NULL ? 0 : -1;
}
