/*
 * Responsible for the JSON of a tool's result.
 */
#include "mcp/tool_answer.h"

#include <jansson.h>

#include "base/json_write.h"
#include "base/strbuf.h"
#include "calls/tool.h"
#include "mcp/request.h"
#include "mcp/revisions.h"

void tool_answer_add(struct strbuf *out, const struct revision *revision, const struct tool_result *result)
{
    const json_t *structured = result->structured;
    strbuf_adds(out, "\"content\":[{\"type\":\"text\",\"text\":");
    json_write_string(out, strbuf_string(result->text), result->text->len);
    strbuf_addc(out, '}');
    if (result->picture_type != NULL)
        strbuf_addf(out, ",{\"type\":\"image\",\"data\":\"%s\",\"mimeType\":\"%s\"}", result->picture,
                    result->picture_type);
    strbuf_addc(out, ']');
    if (structured != NULL && (json_is_object(structured) || !revision->has_object_structured_only)) {
        strbuf_adds(out, ",\"structuredContent\":");
        json_write_value(out, structured);
    }
    strbuf_adds(out, result->is_error ? ",\"isError\":true" : ",\"isError\":false");
}

bool tool_answer(struct request *r, const struct tool_result *result)
{
    tool_answer_add(request_result(r), request_revision(r), result);
    return request_finish(r);
}

bool tool_answer_error(struct request *r, const char *text)
{
    struct strbuf copy = {0};
    strbuf_adds(&copy, text);
    bool is_answered = tool_answer(r, &(struct tool_result){.text = &copy, .is_error = true});
    strbuf_fini(&copy);
    return is_answered;
}
