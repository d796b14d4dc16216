/*
 * memory-report: the contents of a session's heap.
 */
#include "base/text.h"
#include "calls/look_up.h"
#include "report/reply.h"
#include "report/section.h"

#define TYPES_SHOWN 20
/* Walking and collecting a large heap takes seconds, and neither can be interrupted. */
#define REPORT_MS 60000

static void add_generations(struct strbuf *out, const struct sexp *generations)
{
    section_end(out);
    section_begin(out, HEADING_NONE);
    strbuf_addf(out, "%15s\n", "bytes");
    reply_fill_each(out, generations, "{1:15}  {0}\n");
}

static void add_types(struct strbuf *out, const struct sexp *reply, size_t most, bool has_image,
                      bool is_collected)
{
    const struct sexp *types = reply_get(reply, "types");
    section_end(out);
    section_begin(out, HEADING_NONE);
    strbuf_addf(out, "Objects by type%s%s:\n%15s %12s  type\n",
                has_image ? "" : ", without the initial image", is_collected ? "" : ", including garbage",
                "bytes", "objects");
    for (size_t i = 0; i < sexp_count(types) && i < most; i++)
        reply_fill(out, sexp_nth(types, i), "{1:15}{2:13}  {0}\n");
    int64_t found = reply_integer(reply, "types-found");
    if (found > (int64_t)(most < 1000000 ? most : 1000000))
        strbuf_addf(out, "%s left out.\n", text_count((uint64_t)found - most, "more type").text);
    reply_fill(out, reply, "{partial?The heap is large, so only part of it was counted.\n}");
}

static void on_read(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    bool is_collected = arguments_boolean(call, "gc-first"),
         is_full = arguments_is(call, "verbosity", "full");
    reply_fill(out, o->reply,
               is_collected
                   ? "Heap after garbage collection: {,used} of {,limit} bytes in use; before it: {,before} "
                     "bytes.\n"
                   : "Heap: {,used} of {,limit} bytes in use.\n");
    add_generations(out, reply_get(o->reply, "generations"));
    if (!arguments_is(call, "verbosity", "brief"))
        add_types(out, o->reply, is_full ? SIZE_MAX : TYPES_SHOWN, is_full, is_collected);
    section_end(out);
}

/* A path is a list of its root, a text or nil, and of what it passes, from the outermost. */
static void on_retained(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *paths = reply_get(o->reply, "paths");
    strbuf_adds(&call->text, sexp_count(paths) == 0
                                 ? "Nothing keeps it: it is garbage, or only the evaluated code refers to it."
                                 : "Kept by, the holder last:");
    for (size_t i = 0; i < sexp_count(paths); i++) {
        const struct sexp *path = sexp_nth(paths, i);
        const char *separator = "";
        strbuf_addf(&call->text, "\n%zu. ", i + 1);
        for (size_t k = 0; k < sexp_count(path); k++) {
            if (sexp_string(sexp_nth(path, k), NULL) == NULL)
                continue;
            strbuf_adds(&call->text, separator);
            reply_add_string(&call->text, sexp_nth(path, k));
            separator = " -> ";
        }
    }
}

static void run(struct tool_call *call, struct session *s)
{
    if (arguments_has(call, "retains")) {
        call_begin_request(call, "retainers");
        call_write_string_as(call, "code", "retains");
        look_up_in_copy(call, s, "memory-report", REPORT_MS, "what the code did stays", on_retained);
        return;
    }
    call_begin_request(call, "memory");
    call_write_flag(call, "collect", arguments_boolean(call, "gc-first"));
    call_write_flag(call, "types", !arguments_is(call, "verbosity", "brief"));
    call_write_flag(call, "image", arguments_is(call, "verbosity", "full"));
    call_run(call, s, &(struct operation_options){.what = "memory-report", .timeout_ms = REPORT_MS},
             look_up_showing(call, on_read));
}

static const char *const verbosities[] = {"brief", "normal", "full", NULL};

const struct tool tool_memory_report = {
    .name = "memory-report",
    .title = "Show memory",
    .description = "Show what fills the heap, by generation and type; or what keeps an object alive (a "
                   "leak).",
    .arguments = {ARGUMENT("verbosity", STRING, "", .choices = verbosities),
                  ARGUMENT("gc-first", BOOLEAN, ""), ARGUMENT("retains", STRING, "Code or handle."),
                  SESSION_ARGUMENT},
    .run_in = run,
};
