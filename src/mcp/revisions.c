/*
 * Responsible for the table of revisions. Names are opaque: they are compared for equality, never ordered.
 */
#include "mcp/revisions.h"

#include <string.h>

#include "base/strbuf.h"
#include "mcp/jsonrpc.h"

/* clang-format off */
static const struct revision revisions[] = {
    {.name = "2026-07-28", .is_modern = true, .has_progress_message = true, .has_structured = true,
     .argument_errors_are_results = true, .missing_resource_code = JSONRPC_INVALID_PARAMS},
    {.name = "2025-11-25", .has_priming_event = true, .has_elicitation = true, .has_progress_message = true,
     .has_structured = true, .has_object_structured_only = true, .argument_errors_are_results = true,
     .missing_resource_code = JSONRPC_RESOURCE_NOT_FOUND},
    {.name = "2025-06-18", .has_elicitation = true, .has_progress_message = true, .has_structured = true,
     .has_object_structured_only = true, .missing_resource_code = JSONRPC_RESOURCE_NOT_FOUND},
    {.name = "2025-03-26", .has_batches = true, .has_progress_message = true,
     .missing_resource_code = JSONRPC_RESOURCE_NOT_FOUND},
    {.name = "2024-11-05", .missing_resource_code = JSONRPC_RESOURCE_NOT_FOUND},
};
/* clang-format on */

#define REVISION_COUNT (sizeof revisions / sizeof *revisions)

const struct revision *revisions_find(const char *name, size_t len)
{
    for (size_t i = 0; i < REVISION_COUNT; i++) {
        if (strlen(revisions[i].name) == len && memcmp(revisions[i].name, name, len) == 0)
            return &revisions[i];
    }
    return NULL;
}

const struct revision *revisions_negotiate(const char *name, size_t len)
{
    const struct revision *asked = revisions_find(name, len);
    size_t i = 0;
    if (asked != NULL && !asked->is_modern)
        return asked;
    while (revisions[i].is_modern)
        i++;
    return &revisions[i];
}

void revisions_add_names(struct strbuf *out)
{
    for (size_t i = 0; i < REVISION_COUNT; i++)
        strbuf_addf(out, "%c\"%s\"", i == 0 ? '[' : ',', revisions[i].name);
    strbuf_addc(out, ']');
}
