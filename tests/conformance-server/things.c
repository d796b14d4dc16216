/*
 * Fixtures that are not tools: resources, a template, prompts, a completion.
 */
#include <stdio.h>
#include <string.h>

#include "fixtures.h"
#include "base/json_write.h"
#include "mcp/method.h"
#include "mcp/request.h"

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

static const char *argument(const json_t *params, const char *name)
{
    const char *value = json_string_value(json_object_get(json_object_get(params, "arguments"), name));
    return value == NULL ? "" : value;
}

static void get_with_arguments(struct request *r, const json_t *params)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_addf(&text, "Prompt with arguments: arg1='%s', arg2='%s'", argument(params, "arg1"),
                argument(params, "arg2"));
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    json_write_string(out, text.bytes, text.len);
    strbuf_adds(out, "}}]");
    request_finish(r);
    strbuf_fini(&text);
}

static void get_with_resource(struct request *r, const json_t *params)
{
    const char *uri = argument(params, "resourceUri");
    struct strbuf *out = request_result(r);
    strbuf_adds(out,
                "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":");
    json_write_string(out, uri, strlen(uri));
    strbuf_adds(
        out, ",\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content for testing.\"}}}," MESSAGE(
                 TEXT("Please process the embedded resource above.")) "]");
    request_finish(r);
}

#define ARGUMENTS(list) ",\"description\":\"For tests.\",\"arguments\":[" list "]"
#define REQUIRED(name) "{\"name\":\"" name "\",\"description\":\"For tests.\",\"required\":true}"

const struct fixture fixture_prompts[] = {
    {.name = "test_simple_prompt", .content = "[" MESSAGE(TEXT("This is a simple prompt for testing.")) "]"},
    {.name = "test_prompt_with_arguments",
     .rest = ARGUMENTS(REQUIRED("arg1") "," REQUIRED("arg2")),
     .run = get_with_arguments},
    {.name = "test_prompt_with_embedded_resource",
     .rest = ARGUMENTS(REQUIRED("resourceUri")),
     .run = get_with_resource},
    {
        .name = "test_prompt_with_image",
        .content = "[" MESSAGE(
            "{\"type\":\"image\",\"data\":\"" FIXTURE_PNG
            "\",\"mimeType\":\"image/png\"}") "," MESSAGE(TEXT("Please analyze the image above.")) "]",
    },
    {0},
};

#define WATCHED "test://watched-resource"
#define TEMPLATE_BEGIN "test://template/"
#define TEMPLATE_END "/data"

static const struct {
    const char *uri, *name, *mime_type, *member, *value;
} table[] = {
    {"test://static-text", "static-text", "text/plain", "text",
     "This is the content of the static text resource."},
    {"test://static-binary", "static-binary", "image/png", "blob", FIXTURE_PNG},
    {WATCHED, "watched-resource", "text/plain", "text", "It may be watched."},
};

#define COUNT (sizeof table / sizeof table[0])

static bool read_template(struct request *r, const char *uri)
{
    size_t len = strlen(uri), begin = strlen(TEMPLATE_BEGIN), end = strlen(TEMPLATE_END);
    if (len <= begin + end || len > 200 || strncmp(uri, TEMPLATE_BEGIN, begin) != 0 ||
        strcmp(uri + len - end, TEMPLATE_END) != 0)
        return false;
    char text[500];
    snprintf(text, sizeof text, "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}",
             (int)(len - begin - end), uri + begin, (int)(len - begin - end), uri + begin);
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"contents\":[{\"uri\":");
    json_write_string(out, uri, len);
    strbuf_adds(out, ",\"mimeType\":\"application/json\",\"text\":");
    json_write_string(out, text, strlen(text));
    strbuf_adds(out, "}]");
    request_finish(r);
    return true;
}

static bool read_resource(struct request *r, const char *uri)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(table[i].uri, uri) != 0)
            continue;
        strbuf_addf(request_result(r), "\"contents\":[{\"uri\":\"%s\",\"mimeType\":\"%s\",\"%s\":\"%s\"}]",
                    uri, table[i].mime_type, table[i].member, table[i].value);
        request_finish(r);
        return true;
    }
    return read_template(r, uri);
}

static bool complete(struct request *r, const json_t *params)
{
    const char *name = json_string_value(json_object_get(json_object_get(params, "ref"), "name"));
    if (name == NULL || strcmp(name, "test_prompt_with_arguments") != 0)
        return false;
    strbuf_adds(request_result(r),
                "\"completion\":{\"values\":[\"test1\",\"test2\"],\"total\":2,\"hasMore\":false}");
    request_finish(r);
    return true;
}

bool fixture_resources_take(struct request *r, const json_t *params)
{
    const char *method = request_arrival(r)->method->name,
               *uri = json_string_value(json_object_get(params, "uri"));
    if (strcmp(method, "completion/complete") == 0)
        return complete(r, params);
    if (uri == NULL)
        return false;
    if (strcmp(method, "resources/read") == 0)
        return read_resource(r, uri);
    if (strcmp(uri, WATCHED) == 0 &&
        (strcmp(method, "resources/subscribe") == 0 || strcmp(method, "resources/unsubscribe") == 0)) {
        request_result(r);
        request_finish(r);
        return true;
    }
    return false;
}

void fixture_resources_add_items(struct strbuf *out, const char *list)
{
    for (size_t i = 0; strcmp(list, "resources") == 0 && i < COUNT; i++)
        strbuf_addf(out,
                    ",{\"uri\":\"%s\",\"name\":\"%s\",\"description\":\"For tests.\",\"mimeType\":\"%s\"}",
                    table[i].uri, table[i].name, table[i].mime_type);
    if (strcmp(list, "resourceTemplates") == 0)
        strbuf_adds(
            out,
            ",{\"uriTemplate\":\"" TEMPLATE_BEGIN "{id}" TEMPLATE_END
            "\",\"name\":\"template\",\"description\":\"For tests.\",\"mimeType\":\"application/json\"}");
}
