/*
 * get-usage-guide: a page on how to work with this server, or one topic of it. The list of tools comes from
 * the registry.
 */
#include <string.h>

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/listing.h"
#include "calls/registry.h"
#include "tools/table.h"
#include "calls/tool_call.h"

/* guide/ */
extern const char guide_workflow[], guide_patterns[], guide_recovery[], guide_threads[],
    guide_joined_workflow[], guide_joined_patterns[], guide_joined_recovery[];

/* A topic without a text is the list of tools. */
static const struct {
    const char *topic, *text, *joined; /* in an image that a person runs, which always has threads */
} topics[] = {
    {"workflow", guide_workflow, guide_joined_workflow}, {"tools", NULL, NULL},
    {"patterns", guide_patterns, guide_joined_patterns}, {"recovery", guide_recovery, guide_joined_recovery},
    {"threads", guide_threads, guide_joined_recovery},
};

#define TOPIC_COUNT (sizeof topics / sizeof topics[0])

static void add_tools(const char *listing, struct strbuf *out)
{
    const char *family = "";
    strbuf_adds(out, "TOOLS");
    for (size_t i = 0; i < registry_count(&tool_table); i++) {
        if (!listing_has(&tool_table, listing, registry_at(&tool_table, i)))
            continue;
        bool is_first = strcmp(family, tool_table.rows[i].family) != 0;
        family = tool_table.rows[i].family;
        strbuf_addf(out, "%s%s%s%s", is_first ? "\n" : ", ", is_first ? family : "", is_first ? ": " : "",
                    registry_at(&tool_table, i)->name);
    }
}

static void run(struct tool_call *call)
{
    const char *topic = arguments_string(call, "topic", NULL);
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        /* The last one is for those who ask for it. */
        if (topic == NULL ? i + 1 == TOPIC_COUNT : strcmp(topic, topics[i].topic) != 0)
            continue;
        const char *text = call->toolbox->attach != NULL ? topics[i].joined : topics[i].text;
        strbuf_adds(&call->text, call->text.len > 0 ? "\n\n" : "");
        if (text == NULL)
            add_tools(call->toolbox->listing, &call->text);
        else
            listing_add_text(&tool_table, call->toolbox->listing, text, strlen(text), &call->text);
    }
    call->text.settled = call->text.len; /* all of it is the server's own: lines may begin with a heading */
    call_finish(call);
}

static const char *const topic_names[] = {"workflow", "tools", "patterns", "recovery", "threads", NULL};

const struct tool tool_get_usage_guide = {
    .name = "get-usage-guide",
    .title = "Usage guide",
    .description = "Explain how to work with this server and list its tools.",
    .is_read_only = true,
    .arguments = {ARGUMENT("topic", STRING, "", .choices = topic_names)},
    .run = run,
};
