/*
 * compare-with-files: how the definitions of the session and of its files differ. The image compares; the
 * server sends what was evaluated.
 */
#include "calls/arguments.h"
#include "calls/look_up.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "session/session.h"
#include "session/work/history.h"

static const struct {
    const char *key, *title;
    bool is_remark; /* and no difference */
} groups[] = {
    {"session", "Only in the session"},
    {"replaced", "Replaced in the session"},
    {"changed", "Changed in the file"},
    {"unloaded", "Only in the file"},
    {"gone", "Gone from the file"},
    {"moved", "Moved"},
    {"uncomparable", "Cannot be compared"},
    {"values", "Not a difference, but other values", true},
    {"problems", "Files", true},
};

static void on_compared(struct tool_call *call, const struct outcome *o)
{
    bool differs = false;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const struct sexp *group = reply_get(o->reply, groups[i].key);
        differs = differs || (!groups[i].is_remark && sexp_count(group) > 0);
        if (sexp_count(sexp_get(group, 0, "items")) == 0)
            continue;
        strbuf_addf(&call->text, "%s%s:", call->text.len > 0 ? "\n\n" : "", groups[i].title);
        reply_fill_each(
            &call->text, sexp_get(group, 0, "items"),
            "\n- {name}{file?, {file}{line?:{line}}}{evaluation?, evaluation {evaluation}}{note?: {note}}");
        reply_fill(&call->text, group, "{more?\n… {,more} more; from: {next} shows them}");
    }
    strbuf_adds(&call->text, call->text.len > 0 ? "\n\n" : "");
    if (!differs)
        strbuf_adds(&call->text, "No difference found. ");
    reply_fill(&call->text, o->reply,
               "Compared: {#definitions definition} of {#files file}.{left? Not compared: {#left file}; "
               "pass system or path.}");
}

static void run(struct tool_call *call, struct session *s)
{
    call_begin_operation(call, "compare-with-files");
    history_write_since(session_journal(s), 0, &call->request);
    look_up(call, s, on_compared);
}

const struct tool tool_compare_with_files = {
    .name = "compare-with-files",
    .title = "Compare with files",
    .description =
        "List how session and files differ: what was only evaluated, replaced, edited, deleted or moved.",
    .is_read_only = true,
    .arguments = {ARGUMENT("system", STRING, "", .excludes = "path"), ARGUMENT("path", STRING, ""),
                  LIMIT_ARGUMENT, FROM_ARGUMENT, SESSION_ARGUMENT},
    .run_in = run,
};
