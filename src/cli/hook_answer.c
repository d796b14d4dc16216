/*
 * Responsible for the verdict on an edit and for the form that each client expects.
 */
#include "cli/hook_answer.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "cli/hook_event.h"
#include "cli/lisp_check.h"

/* Clients cut longer replies. */
enum { MOST_REASON = 9000 };

struct verdict {
    struct strbuf reason; /* empty: no objection */
    const enum hook_dialect *dialect;
};

static bool is_in_order(const struct strbuf *text)
{
    struct lisp_check check;
    lisp_check_init(&check, strbuf_string(text), text->len);
    bool is_good = check.is_in_order;
    lisp_check_fini(&check);
    return is_good;
}

static bool is_to_come(enum hook_dialect dialect)
{
    return dialect == HOOK_PRE_TOOL_USE || dialect == HOOK_BEFORE_TOOL;
}

static void on_file(void *arg, const char *path, const struct strbuf *before, const struct strbuf *after)
{
    struct verdict *verdict = arg;
    struct lisp_check check;
    const char *text = strbuf_string(after);
    if (!lisp_check_looks_like_lisp(path, text, after->len))
        return;
    lisp_check_init(&check, text, after->len);
    if (!check.is_in_order && (before == NULL || is_in_order(before))) {
        if (verdict->reason.len > 0)
            strbuf_adds(&verdict->reason, "\n\n");
        strbuf_addf(&verdict->reason,
                    is_to_come(*verdict->dialect)
                        ? "%s was not written: with this edit its parentheses would be wrong.\n"
                        : "%s was changed, and its parentheses are now wrong. Correct the file.\n",
                    path);
        strbuf_addf(&verdict->reason, "Line %zu, column %zu: %s", check.place.line, check.place.column,
                    strbuf_string(&check.explanation));
    }
    lisp_check_fini(&check);
}

static json_t *refusal(enum hook_dialect dialect, const char *reason)
{
    switch (dialect) {
    case HOOK_PRE_TOOL_USE:
        return json_pack("{s{ssssss}}", "hookSpecificOutput", "hookEventName", "PreToolUse",
                         "permissionDecision", "deny", "permissionDecisionReason", reason);
    case HOOK_POST_TOOL_USE:
        return json_pack("{ssss}", "decision", "block", "reason", reason);
    case HOOK_BEFORE_TOOL:
    case HOOK_AFTER_TOOL:
        return json_pack("{ssss}", "decision", "deny", "reason", reason);
    }
    return NULL;
}

bool hook_answer(const char *input, size_t len, struct strbuf *out, struct err *err)
{
    enum hook_dialect dialect;
    struct verdict verdict = {.dialect = &dialect};
    bool is_read = hook_event_read(input, len, &dialect, on_file, &verdict, err);
    if (is_read && verdict.reason.len > 0) {
        struct strbuf shown = {.limit = MOST_REASON};
        utf8_repair(&shown, verdict.reason.bytes, verdict.reason.len);
        json_t *answer = refusal(dialect, strbuf_string(&shown));
        char *text = json_dumps(answer, JSON_COMPACT);
        strbuf_adds(out, text);
        strbuf_addc(out, '\n');
        free(text);
        json_decref(answer);
        strbuf_fini(&shown);
    }
    strbuf_fini(&verdict.reason);
    return is_read;
}
