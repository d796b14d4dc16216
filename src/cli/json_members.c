/*
 * Responsible for reading JSON with comments by position. The input is a user's file: depth is
 * bounded, and each byte is visited a bounded number of times.
 */
#include "cli/json_members.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"

enum { MOST_DEPTH = 200, MOST_KEY = 256, NOT_WATCHED = JSON_MEMBERS_MOST_PATH };

struct scanner {
    const char *text;
    size_t len, at;
    const char *const *path;
    size_t path_len;
    struct json_members *out;
    struct err *err;
};

static bool fail(const struct scanner *s, enum error_code code, size_t at, const char *what)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = s->text[i] == '\n' ? 1 : column + 1;
        line += s->text[i] == '\n';
    }
    return err_set(s->err, code, "line %zu, column %zu: %s", line, column, what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* False for a comment that does not end; ${at} is then its start. */
static bool skip(const char *text, size_t len, size_t *at)
{
    while (*at < len) {
        if (is_blank(text[*at])) {
            (*at)++;
        } else if (len - *at >= 2 && memcmp(text + *at, "//", 2) == 0) {
            const char *end = memchr(text + *at, '\n', len - *at);
            *at = end == NULL ? len : (size_t)(end - text);
        } else if (len - *at >= 2 && memcmp(text + *at, "/*", 2) == 0) {
            const char *end = memmem(text + *at + 2, len - *at - 2, "*/", 2);
            if (end == NULL)
                return false;
            *at = (size_t)(end - text) + 2;
        } else {
            break;
        }
    }
    return true;
}

static bool skip_blanks(struct scanner *s)
{
    return skip(s->text, s->len, &s->at) ||
           fail(s, ERR_SYNTAX, s->at, "a comment begins here and has no end");
}

static char peek(const struct scanner *s)
{
    return s->at < s->len ? s->text[s->at] : '\0';
}

/* Whether the next bytes are four hexadecimal digits. */
static bool has_four_digits(const struct scanner *s)
{
    if (s->len - s->at < 4)
        return false;
    for (size_t i = 0; i < 4; i++)
        if (strchr("0123456789abcdefABCDEF", s->text[s->at + i]) == NULL || s->text[s->at + i] == '\0')
            return false;
    return true;
}

static bool scan_string(struct scanner *s)
{
    size_t start = s->at++;
    while (s->at < s->len && s->text[s->at] != '"') {
        if ((unsigned char)s->text[s->at] < ' ')
            return fail(s, ERR_SYNTAX, start, "a string begins here and does not end in its line");
        if (s->text[s->at++] != '\\')
            continue;
        char escaped = peek(s);
        if (escaped == '\0' || strchr("\"\\/bfnrtu", escaped) == NULL)
            return fail(s, ERR_SYNTAX, s->at, "no such escape sequence in a string");
        s->at++;
        if (escaped == 'u' && !has_four_digits(s))
            return fail(s, ERR_SYNTAX, s->at, "\\u needs four hexadecimal digits");
    }
    if (s->at >= s->len)
        return fail(s, ERR_SYNTAX, start, "a string begins here and has no end");
    s->at++;
    return true;
}

static size_t scan_digits(struct scanner *s)
{
    size_t start = s->at;
    while (peek(s) >= '0' && peek(s) <= '9')
        s->at++;
    return s->at - start;
}

static bool scan_number(struct scanner *s)
{
    size_t start = s->at;
    s->at += peek(s) == '-';
    bool starts_with_zero = peek(s) == '0';
    size_t digits = scan_digits(s);
    bool is_good = digits == 1 || (digits > 1 && !starts_with_zero);
    if (is_good && peek(s) == '.') {
        s->at++;
        is_good = scan_digits(s) > 0;
    }
    if (is_good && (peek(s) == 'e' || peek(s) == 'E')) {
        s->at++;
        s->at += peek(s) == '+' || peek(s) == '-';
        is_good = scan_digits(s) > 0;
    }
    return is_good || fail(s, ERR_SYNTAX, start, "this is not a JSON value");
}

static bool scan_word(struct scanner *s)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen(words[i]);
        if (s->len - s->at >= len && memcmp(s->text + s->at, words[i], len) == 0) {
            s->at += len;
            return true;
        }
    }
    return scan_number(s);
}

/* Keys may contain escapes, which jansson decodes. */
static bool is_key(const struct scanner *s, size_t from, size_t to, const char *name)
{
    if (memchr(s->text + from, '\\', to - from) == NULL)
        return to - from == strlen(name) + 2 && memcmp(s->text + from + 1, name, to - from - 2) == 0;
    if (to - from > MOST_KEY)
        return false;
    json_t *key = json_loadb(s->text + from, to - from, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool is_same = json_is_string(key) && json_string_length(key) == strlen(name) &&
                   memcmp(json_string_value(key), name, strlen(name)) == 0;
    json_decref(key);
    return is_same;
}

static bool scan_value(struct scanner *s, size_t depth, size_t level);

/* A member and the comma after it; ${level} is that of its object. */
static bool scan_member(struct scanner *s, size_t depth, size_t level, size_t comma_before)
{
    struct json_member member = {.is_there = true, .key = s->at, .comma_before = comma_before};
    if (peek(s) != '"')
        return fail(s, ERR_SYNTAX, s->at, "a member's name in quotes, or } is expected here");
    if (!scan_string(s))
        return false;
    bool is_wanted = level < s->path_len && is_key(s, member.key, s->at, s->path[level]);
    if (is_wanted && s->out->members[level].is_there)
        return fail(s, ERR_SYNTAX, member.key, "this member is there for the second time");
    if (!skip_blanks(s))
        return false;
    if (peek(s) != ':')
        return fail(s, ERR_SYNTAX, s->at, ": is expected here");
    s->at++;
    if (!skip_blanks(s))
        return false;
    member.value = s->at;
    member.is_object = peek(s) == '{';
    if (!scan_value(s, depth, is_wanted ? level + 1 : NOT_WATCHED))
        return false;
    member.end = member.value_end = s->at;
    if (!skip_blanks(s))
        return false;
    if (peek(s) == ',')
        member.end = ++s->at;
    if (is_wanted)
        s->out->members[level] = member;
    return true;
}

static bool scan_object(struct scanner *s, size_t depth, size_t level)
{
    struct json_object object = {.open = s->at++};
    if (!skip_blanks(s))
        return false;
    size_t comma_before = s->at;
    while (peek(s) != '}') {
        if (object.count > 0 && s->text[comma_before] != ',')
            return fail(s, ERR_SYNTAX, s->at, ", or } is expected here");
        if (object.count++ == 0)
            object.first_key = comma_before = s->at;
        if (!scan_member(s, depth, level, comma_before))
            return false;
        comma_before = s->at - 1;
        if (s->text[comma_before] != ',')
            comma_before = object.open; /* no comma: the object ends, or the text is wrong */
        if (!skip_blanks(s))
            return false;
    }
    object.close = s->at++;
    if (level < s->path_len)
        s->out->objects[level] = object;
    return true;
}

static bool scan_array(struct scanner *s, size_t depth)
{
    s->at++;
    bool needs_comma = false;
    while (true) {
        if (!skip_blanks(s))
            return false;
        if (peek(s) == ']')
            break;
        if (needs_comma)
            return fail(s, ERR_SYNTAX, s->at, ", or ] is expected here");
        if (!scan_value(s, depth, NOT_WATCHED) || !skip_blanks(s))
            return false;
        needs_comma = peek(s) != ',';
        s->at += !needs_comma;
    }
    s->at++;
    return true;
}

static bool scan_value(struct scanner *s, size_t depth, size_t level)
{
    if (depth == MOST_DEPTH)
        return fail(s, ERR_TOO_DEEP, s->at, "this is nested too deep");
    switch (peek(s)) {
    case '{':
        return scan_object(s, depth + 1, level);
    case '[':
        return scan_array(s, depth + 1);
    case '"':
        return scan_string(s);
    default:
        return scan_word(s);
    }
}

bool json_members_find(const char *text, size_t len, const char *const *path, struct json_members *out,
                       struct err *err)
{
    *out = (struct json_members){.has_root = false};
    struct scanner s = {.text = text, .len = len, .path = path, .out = out, .err = err};
    while (s.path_len < JSON_MEMBERS_MOST_PATH && path[s.path_len] != NULL)
        s.path_len++;
    size_t valid = len == 0 ? 0 : utf8_valid_prefix(text, len);
    if (valid < len)
        return fail(&s, ERR_SYNTAX, valid, "this is not UTF-8");
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        s.at = 3;
    if (!skip_blanks(&s))
        return false;
    if (s.at == len)
        return true;
    out->has_root = true;
    out->root = s.at;
    if (peek(&s) != '{')
        return fail(&s, ERR_SYNTAX, s.at, "{ is expected here");
    if (!scan_value(&s, 0, 0) || !skip_blanks(&s))
        return false;
    return s.at == len || fail(&s, ERR_SYNTAX, s.at, "there is text after the last }");
}

size_t json_members_skip(const char *text, size_t from, size_t to)
{
    skip(text, to, &from);
    return from;
}

static size_t string_end(const char *text, size_t at, size_t to)
{
    for (at++; at < to && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < to ? at + 1 : to;
}

json_t *json_members_value(const char *text, size_t from, size_t to)
{
    struct strbuf plain;
    strbuf_init(&plain, 0);
    size_t at = json_members_skip(text, from, to);
    while (at < to) {
        size_t end = text[at] == '"' ? string_end(text, at, to) : at + 1;
        size_t next = json_members_skip(text, end, to);
        bool is_trailing = text[at] == ',' && next < to && (text[next] == '}' || text[next] == ']');
        if (!is_trailing)
            strbuf_add(&plain, text + at, end - at);
        at = next;
    }
    json_t *value = json_loadb(strbuf_string(&plain), plain.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    strbuf_fini(&plain);
    return value;
}
