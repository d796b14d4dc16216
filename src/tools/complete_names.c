/*
 * Completion of names in a session's image.
 */
#include "tools/complete_names.h"

#include "base/utf8.h"
#include "tools/call.h"

static void on_names(struct tool_call *call, const struct outcome *o)
{
    json_t *names = json_array();
    const struct sexp *list = o->kind == OUTCOME_OK ? sexp_get(o->reply, 2, "names") : NULL;
    for (size_t i = 0; i < sexp_count(list) && i < COMPLETE_NAMES_MOST; i++) {
        size_t len;
        const char *name = sexp_string(sexp_nth(list, i), &len);
        if (name != NULL && utf8_is_valid(name, len))
            json_array_append_new(names, json_stringn(name, len));
    }
    int64_t total = o->kind == OUTCOME_OK ? sexp_integer(sexp_get(o->reply, 2, "total"), 0) : 0;
    if (total < (int64_t)json_array_size(names))
        total = (int64_t)json_array_size(names);
    call->structured = json_pack("{s:o,s:I}", "names", names, "total", (json_int_t)total);
    call_finish(call);
}

static void run(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "complete-names");
    call_write_string(call, &request, "type");
    call_write_string(call, &request, "prefix");
    call_write_string(call, &request, "package");
    call_run(call, s,
             &(struct operation_options){.request = &request, .what = "completion", .timeout_ms = LOOK_UP_MS},
             on_names);
    strbuf_fini(&request);
}

const struct tool tool_complete_names = {
    .name = "complete-names",
    .title = "Complete a name",
    .description = "Completes arguments.",
    .is_read_only = true,
    .run = run,
};
