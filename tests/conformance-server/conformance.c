/*
 * Responsible for finding the fixture for a request.
 */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "fixtures.h"
#include "mcp/extension.h"
#include "mcp/method.h"
#include "mcp/request.h"

struct conformance {
    struct extension extension; /* the first member */
    char key[33];               /* cannot be guessed */
};

static const struct fixture *const tool_tables[] = {content_tools, asking_tools, tasking_tools, NULL};
static const struct fixture *const prompt_tables[] = {fixture_prompts, NULL};

static const struct fixture *find(const struct fixture *const *tables, const char *name)
{
    for (; name != NULL && *tables != NULL; tables++)
        for (const struct fixture *f = *tables; f->name != NULL; f++)
            if (strcmp(f->name, name) == 0)
                return f;
    return NULL;
}

static bool take_named(struct request *r, const json_t *params, const struct fixture *const *tables,
                       const char *member)
{
    const struct fixture *f = find(tables, json_string_value(json_object_get(params, "name")));
    if (f == NULL)
        return false;
    if (f->run != NULL) {
        f->run(r, params);
        return true;
    }
    strbuf_addf(request_result(r), "\"%s\":%s%s", member, f->content, f->is_error ? ",\"isError\":true" : "");
    request_finish(r);
    return true;
}

static bool take(const struct extension *extension, struct request *r, const json_t *params)
{
    const struct conformance *c = (const struct conformance *)(const void *)extension;
    const char *method = request_arrival(r)->method->name;
    if (strcmp(method, "tools/call") == 0)
        return take_named(r, params, tool_tables, "content") || inputs_take(r, params, c->key);
    if (strcmp(method, "prompts/get") == 0)
        return take_named(r, params, prompt_tables, "messages") || inputs_take(r, params, c->key);
    return fixture_resources_take(r, params);
}

static void add_named(struct strbuf *out, const struct fixture *const *tables, const char *rest)
{
    for (; *tables != NULL; tables++)
        for (const struct fixture *f = *tables; f->name != NULL; f++)
            strbuf_addf(out, ",{\"name\":\"%s\"%s}", f->name, f->rest != NULL ? f->rest : rest);
}

static void add_items(const struct extension *extension, struct strbuf *out, const char *list)
{
    (void)extension;
    bool are_tools = strcmp(list, "tools") == 0, are_prompts = strcmp(list, "prompts") == 0;
    if (are_tools)
        add_named(out, tool_tables,
                  ",\"description\":\"For tests.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}");
    if (are_prompts)
        add_named(out, prompt_tables, ",\"description\":\"For tests.\"");
    if (are_tools || are_prompts)
        inputs_add_items(out, list);
    else
        fixture_resources_add_items(out, list);
}

static void on_response(const struct extension *extension, const json_t *response)
{
    (void)extension;
    asking_take_response(response);
}

struct extension *conformance_new(void)
{
    struct conformance *c = xcalloc(1, sizeof *c);
    unsigned char random[16];
    CHECK(uv_random(NULL, NULL, random, sizeof random, 0, NULL) == 0);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(c->key + 2 * i, 3, "%02x", random[i]);
    c->extension = (struct extension){.take = take, .add_items = add_items, .on_response = on_response};
    return &c->extension;
}

void conformance_free(struct extension *extension)
{
    free(extension);
}
