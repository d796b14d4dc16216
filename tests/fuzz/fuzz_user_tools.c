/*
 * Any bytes as the list of tools that a session's code defines. Invariants: what is listed keeps the limits,
 * is JSON, and has a name under which it is found; arguments that its schema admits are accepted.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "calls/toolbox.h"
#include "calls/user_tools.h"
#include "fuzz_session.h"
#include "session/process/process.h"
#include "wire/sexp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Arguments as a client would make them from the schema: for each one its type's plainest value. */
static json_t *arguments_for(const json_t *tool)
{
    json_t *given = json_object();
    const char *name;
    json_t *schema;
    json_object_foreach(json_object_get(json_object_get(tool, "inputSchema"), "properties"), name, schema) {
        const char *type = json_string_value(json_object_get(schema, "type"));
        json_t *choice = json_array_get(json_object_get(schema, "enum"), 0);
        CHECK(type != NULL);
        if (strcmp(name, "session") == 0)
            continue;
        json_t *value = choice != NULL                 ? json_incref(choice)
                        : strcmp(type, "string") == 0  ? json_string("text")
                        : strcmp(type, "boolean") == 0 ? json_true()
                        : strcmp(type, "array") == 0   ? json_pack("[s]", "text")
                                                       : json_integer(1);
        json_object_set_new(given, name, value);
    }
    return given;
}

static void check_tool(const struct toolbox *toolbox, const json_t *tool)
{
    const char *name = json_string_value(json_object_get(tool, "name"));
    struct strbuf near;
    struct err err = {0};
    bool is_known = false;
    CHECK(name != NULL && strncmp(name, "user-", 5) == 0);
    CHECK(strlen(name) <= 5 + USER_TOOLS_LONGEST_NAME);
    CHECK(json_object_size(json_object_get(json_object_get(tool, "inputSchema"), "properties")) <=
          USER_TOOLS_MAX_ARGUMENTS + 1);
    json_t *given = arguments_for(tool);
    json_t *prepared = user_tools_prepare(toolbox, "default", name, given, &is_known, &err);
    CHECK(is_known && (prepared != NULL || err.code != ERR_NONE));
    CHECK(prepared == NULL || strcmp(json_string_value(json_object_get(prepared, "tool")), name + 5) == 0);
    json_decref(prepared);
    json_decref(given);
    strbuf_init(&near, 0);
    CHECK(user_tools_nearest(toolbox, name, &near));
    strbuf_fini(&near);
}

static void check_listing(const struct toolbox *toolbox)
{
    json_t *listing = json_array();
    const json_t *tool;
    size_t i;
    user_tools_list(toolbox, "default", listing);
    CHECK(json_array_size(listing) <= USER_TOOLS_MAX);
    char *text = json_dumps(listing, 0);
    CHECK(text != NULL);
    free(text);
    json_array_foreach(listing, i, tool)
        check_tool(toolbox, tool);
    json_decref(listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session *s; /* one for all: making a session's host reads files of the system */
    if (s == NULL)
        s = fuzz_session();
    struct sexp_document *document = sexp_parse((const char *)data, size, NULL);
    if (document == NULL)
        return -1; /* fuzz_sexp has these */
    process_note_tools(s, sexp_root(document));
    check_listing(&(struct toolbox){.sessions = s->all});
    sexp_document_free(document);
    return 0;
}
