/*
 * Responsible for writing strings and values as JSON text.
 */
#include "base/json_write.h"

#include "base/utf8.h"

/* The letter after the backslash; 'u' for \u00XX, 0 for what stands for itself. */
static const char escapes[256] = {
    [0] = 'u',    [1] = 'u',    [2] = 'u',    [3] = 'u',    [4] = 'u',    [5] = 'u',     [6] = 'u',
    [7] = 'u',    ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', [0x0b] = 'u', ['\f'] = 'f',  ['\r'] = 'r',
    [0x0e] = 'u', [0x0f] = 'u', [0x10] = 'u', [0x11] = 'u', [0x12] = 'u', [0x13] = 'u',  [0x14] = 'u',
    [0x15] = 'u', [0x16] = 'u', [0x17] = 'u', [0x18] = 'u', [0x19] = 'u', [0x1a] = 'u',  [0x1b] = 'u',
    [0x1c] = 'u', [0x1d] = 'u', [0x1e] = 'u', [0x1f] = 'u', ['"'] = '"',  ['\\'] = '\\',
};

static void add_escaped(struct strbuf *out, const char *bytes, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    size_t at = 0;
    char text[6] = "\\u00";
    while (at < len) {
        size_t start = at;
        while (at < len && !escapes[(unsigned char)bytes[at]])
            at++;
        strbuf_add(out, bytes + start, at - start);
        if (at == len)
            break;
        char escape = escapes[(unsigned char)bytes[at]];
        if (escape == 'u') {
            text[4] = hex[(unsigned char)bytes[at] >> 4];
            text[5] = hex[(unsigned char)bytes[at] & 15];
            strbuf_add(out, text, 6);
        } else {
            strbuf_add(out, (char[]){'\\', escape}, 2);
        }
        at++;
    }
}

void json_write_string(struct strbuf *out, const char *bytes, size_t len)
{
    strbuf_addc(out, '"');
    if (utf8_is_valid(bytes, len)) {
        add_escaped(out, bytes, len);
    } else {
        struct strbuf repaired = {0};
        utf8_repair(&repaired, bytes, len);
        add_escaped(out, strbuf_string(&repaired), repaired.len);
        strbuf_fini(&repaired);
    }
    strbuf_addc(out, '"');
}

static int add_dumped(const char *bytes, size_t len, void *out)
{
    return strbuf_add(out, bytes, len) ? 0 : -1;
}

void json_write_value(struct strbuf *out, const json_t *value)
{
    json_dump_callback(value, add_dumped, out, JSON_COMPACT | JSON_ENCODE_ANY);
}

void json_write_new(struct strbuf *out, json_t *value)
{
    json_write_value(out, value);
    json_decref(value);
}
