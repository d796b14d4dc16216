/*
 * Responsible for one walk over the text of a message. Whether it is JSON, jansson finds out.
 */
#include "mcp/json_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

enum { ESCAPE_LEN = 6 }; /* of \uXXXX */

/* The code unit of the escape at ${at}; -1 if there is none. */
static int unit_at(const char *bytes, size_t len, size_t at)
{
    if (at + ESCAPE_LEN > len || bytes[at] != '\\' || bytes[at + 1] != 'u')
        return -1;
    int unit = 0;
    for (size_t i = 2; i < ESCAPE_LEN; i++) {
        int digit = text_hex_digit(bytes[at + i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Mend the escape at ${at}. Returns its length, that of a pair for a pair. */
static size_t mend_escape(char *bytes, size_t len, size_t at)
{
    int unit = unit_at(bytes, len, at);
    if (unit < 0xd800 || unit > 0xdfff)
        return 2;
    int next = unit_at(bytes, len, at + ESCAPE_LEN);
    if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff)
        return 2 * ESCAPE_LEN;
    memcpy(bytes + at + 2, "fffd", 4);
    return ESCAPE_LEN;
}

/* Returns where the string at ${at} ends, behind its quote. */
static size_t mend_string(char *bytes, size_t len, size_t at)
{
    for (at++; at < len && bytes[at] != '"';)
        at += bytes[at] == '\\' ? mend_escape(bytes, len, at) : 1;
    return at < len ? at + 1 : len;
}

static size_t skip_space(const char *bytes, size_t len, size_t at)
{
    while (at < len && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n'))
        at++;
    return at;
}

struct json_text json_text_mend(char *bytes, size_t len)
{
    static const char id[] = "\"id\"";
    struct json_text text = {.value_count = 1};
    size_t depth = 0;
    bool is_object = false; /* the root */
    for (size_t at = 0; at < len;) {
        char c = bytes[at];
        size_t end = c == '"' ? mend_string(bytes, len, at) : at + 1;
        if (c == '{' || c == '[') {
            is_object = is_object || (depth == 0 && c == '{');
            depth++;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
        /* An opening bracket precedes the first value in it, and a comma each of the others. */
        text.value_count += c == '{' || c == '[' || c == ',';
        if (is_object && depth == 1 && end - at == sizeof id - 1 && memcmp(bytes + at, id, end - at) == 0) {
            size_t colon = skip_space(bytes, len, end);
            if (colon < len && bytes[colon] == ':')
                text.id_at = colon + 1;
        }
        at = end;
    }
    return text;
}

json_t *json_text_id(const struct json_text *text, const char *bytes, size_t len)
{
    size_t at = skip_space(bytes, len, text->id_at);
    /* Of a list, its size may be what exceeds the limit. */
    if (text->id_at == 0 || at == len || bytes[at] == '[' || bytes[at] == '{')
        return NULL;
    return json_loadb(bytes + at, len - at, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, NULL);
}
