/*
 * Responsible for carrying numbers through jansson as strings that begin with a zero byte. A string of the
 * text that begins with one gets a second one on the way in and loses it on the way out.
 */
#include "cli/json_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

#define MARK "\\u0000"
#define DIGITS "0123456789"

static bool is_marked(const char *text)
{
    return strncmp(text, MARK, strlen(MARK)) == 0;
}

/* The bytes of the number that the text begins with; 0 if JSON has no such number. */
static size_t number_len(const char *text)
{
    const char *c = text + (*text == '-');
    size_t digits = strspn(c, DIGITS);
    if (digits == 0 || (*c == '0' && digits > 1))
        return 0;
    c += digits;
    if (*c == '.') {
        digits = strspn(c + 1, DIGITS);
        c += 1 + digits;
    }
    if (digits > 0 && (*c == 'e' || *c == 'E')) {
        c += c[1] == '+' || c[1] == '-' ? 2 : 1;
        digits = strspn(c, DIGITS);
        c += digits;
    }
    return digits == 0 ? 0 : (size_t)(c - text);
}

json_t *json_numbers_load(const char *text, size_t len, size_t flags, json_error_t *error)
{
    struct strbuf marked = {0};
    bool is_string = false;
    for (const char *c = text; c < text + len; c++) {
        size_t number = is_string ? 0 : number_len(c);
        if (number > 0) {
            strbuf_addf(&marked, "\"" MARK "%.*s\"", (int)number, c);
            c += number - 1;
            continue;
        }
        strbuf_addc(&marked, *c);
        if (*c == '"')
            is_string = !is_string;
        if (is_string && *c == '"' && is_marked(c + 1))
            strbuf_adds(&marked, MARK);
        if (is_string && *c == '\\' && c + 1 < text + len)
            strbuf_addc(&marked, *++c);
    }
    json_t *value = json_loadb(strbuf_string(&marked), marked.len, flags | JSON_ALLOW_NUL, error);
    strbuf_fini(&marked);
    /* The error's place is to be one of the text itself. */
    if (value == NULL)
        json_decref(json_loadb(text, len, flags | JSON_ALLOW_NUL, error));
    return value;
}

char *json_numbers_dump(const json_t *value, size_t flags)
{
    struct strbuf out = {0};
    char *marked = json_dumps(value, flags);
    bool is_string = false;
    for (const char *c = marked; *c != '\0'; c++) {
        bool is_number = !is_string && *c == '"' && is_marked(c + 1) && !is_marked(c + 1 + strlen(MARK));
        if (is_number) {
            c += 1 + strlen(MARK);
            size_t len = strcspn(c, "\"");
            strbuf_add(&out, c, len);
            c += len;
            continue;
        }
        strbuf_addc(&out, *c);
        if (*c == '"')
            is_string = !is_string;
        if (is_string && *c == '"' && is_marked(c + 1))
            c += strlen(MARK);
        if (is_string && *c == '\\')
            strbuf_addc(&out, *++c);
    }
    free(marked);
    return strbuf_steal(&out, NULL);
}
