/*
 * Fixtures that answer at once: every kind of content, an error, progress, the log, a schema.
 */
#include <string.h>

#include "fixtures.h"
#include "base/log.h"
#include "mcp/request.h"
#include "mcp/subscriptions.h"

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE "{\"type\":\"image\",\"data\":\"" FIXTURE_PNG "\",\"mimeType\":\"image/png\"}"

static void progress(struct request *r, const json_t *params)
{
    (void)params;
    for (int done = 0; done <= 100; done += 50)
        request_progress(r, done, NULL);
    fixture_answer_text(r, "Progress was reported.");
}

static void log_lines(struct request *r, const json_t *params)
{
    static const char *const lines[] = {"Tool execution started", "Tool processing data",
                                        "Tool execution completed"};
    (void)params;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        log_info("%s", lines[i]);
    fixture_answer_text(r, "Three lines were logged.");
}

static void missing_capability(struct request *r, const json_t *params)
{
    (void)params;
    if (json_is_object(json_object_get(request_arrival(r)->capabilities, "sampling")))
        fixture_answer_text(r, "The client can sample.");
    else
        request_fail_with(r, JSONRPC_MISSING_CAPABILITY, "This needs a client that can sample",
                          "{\"requiredCapabilities\":{\"sampling\":{}}}");
}

static void change_tools(struct request *r, const json_t *params)
{
    (void)params;
    subscriptions_tools_changed(r);
    fixture_answer_text(r, "The client was notified of a change of the tools.");
}

const struct fixture content_tools[] = {
    {.name = "test_simple_text", .content = "[" TEXT("This is a simple text response for testing.") "]"},
    {.name = "test_image_content", .content = "[" IMAGE "]"},
    {.name = "test_audio_content",
     .content = "[{\"type\":\"audio\",\"data\":\"" FIXTURE_WAV "\",\"mimeType\":\"audio/wav\"}]"},
    {
        .name = "test_embedded_resource",
        .content = "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
                   "embedded-resource\",\"mimeType\":\"text/plain\","
                   "\"text\":\"This is an embedded resource content.\"}}]",
    },
    {
        .name = "test_multiple_content_types",
        .content = "[" TEXT(
            "Multiple content types test:") "," IMAGE
                                            ",{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
                                            "mixed-content-resource\",\"mimeType\":\"application/json\","
                                            "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]",
    },
    {.name = "test_error_handling",
     .content = "[" TEXT("This tool intentionally returns an error for testing") "]",
     .is_error = true},
    {.name = "test_tool_with_progress", .run = progress},
    {.name = "test_tool_with_logging", .run = log_lines},
    {.name = "test_logging_tool", .run = log_lines},
    {.name = "test_missing_capability", .run = missing_capability},
    {.name = "test_trigger_tool_change", .run = change_tools},
    {
        .name = "json_schema_2020_12_tool",
        .rest = ",\"description\":\"A schema of 2020-12, to be listed as it is.\",\"inputSchema\":{"
                "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
                "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":"
                "{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
                "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
                "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":"
                "\"string\"},\"email\":{\"type\":\"string\"}},"
                "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
                "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["
                "\"contactMethod\"]},"
                "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
                "\"additionalProperties\":false}",
        .content = "[" TEXT("The schema was met.") "]",
    },
    {0},
};
