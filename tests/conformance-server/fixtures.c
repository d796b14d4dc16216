/*
 * What fixtures of all families need.
 */
#include "fixtures.h"

#include <stdarg.h>

#include "base/json_write.h"
#include "mcp/request.h"

void fixture_answer_text(struct request *r, const char *format, ...)
{
    struct strbuf text;
    va_list arguments;
    strbuf_init(&text, 0);
    va_start(arguments, format);
    strbuf_vaddf(&text, format, arguments);
    va_end(arguments);
    struct strbuf *out = request_result(r);
    strbuf_adds(out, "\"content\":[{\"type\":\"text\",\"text\":");
    json_write_string(out, strbuf_string(&text), text.len);
    strbuf_adds(out, "}]");
    request_finish(r);
    strbuf_fini(&text);
}
