/*
 * Completion of names in a session's image.
 */
#include "tools/complete_names.h"

#include "base/utf8.h"
#include "calls/look_up.h"

static void on_names(struct tool_call *call, const struct outcome *o)
{
    json_t *names = json_array();
    const struct sexp *list = o->kind == OUTCOME_OK ? reply_get(o->reply, "names") : NULL;
    for (size_t i = 0; i < sexp_count(list) && i < COMPLETE_NAMES_MOST; i++) {
        size_t len;
        const char *name = sexp_string(sexp_nth(list, i), &len);
        if (name != NULL && utf8_is_valid(name, len))
            json_array_append_new(names, json_stringn(name, len));
    }
    size_t shown = json_array_size(names), total = shown == 0 ? 0 : reply_count(o->reply, "total");
    call->structured =
        json_pack("{s:o,s:I}", "names", names, "total", (json_int_t)(total < shown ? shown : total));
    call_finish(call);
}

static void run(struct tool_call *call, struct session *s)
{
    call_write_string(call, "type");
    call_write_string(call, "prefix");
    call_write_string(call, "package");
    look_up_whatever(call, s, on_names);
}

const struct tool tool_complete_names = {
    .name = "complete-names",
    .title = "Complete a name",
    .description = "Completes arguments.",
    .is_read_only = true,
    .operation = "complete-names",
    .run_in = run,
};
