/*
 * Responsible for cutting TOML into statements. The input is a user's file: each byte is visited a bounded
 * number of times, and brackets are counted without recursion.
 */
#include "cli/toml_lines.h"

#include <string.h>

#include "base/utf8.h"

static bool fail(const struct toml_lines *l, size_t at, struct err *err, const char *what)
{
    size_t line = 1;
    for (size_t i = 0; i < at && i < l->len; i++)
        line += l->text[i] == '\n';
    return err_set(err, ERR_SYNTAX, "line %zu: %s", line, what);
}

/* A NUL marks the end of the text; a NUL in the text is an error anywhere. */
static char peek(const struct toml_lines *l)
{
    return l->at < l->len ? l->text[l->at] : '\0';
}

static void skip_spaces(struct toml_lines *l)
{
    while (peek(l) == ' ' || peek(l) == '\t')
        l->at++;
}

static void skip_comment(struct toml_lines *l)
{
    const char *newline = memchr(l->text + l->at, '\n', l->len - l->at);
    l->at = newline == NULL ? l->len : (size_t)(newline - l->text);
}

/* The rest of the line: blanks and a comment. */
static bool end_line(struct toml_lines *l, struct err *err)
{
    skip_spaces(l);
    if (peek(l) == '#')
        skip_comment(l);
    if (l->at < l->len && l->text[l->at] == '\r')
        l->at++;
    if (l->at == l->len)
        return true;
    if (l->text[l->at] != '\n')
        return fail(l, l->at, err, "the line should end here");
    l->at++;
    return true;
}

/* A string of any of the four kinds; ${l} is at its opening quote. */
static bool skip_string(struct toml_lines *l, struct err *err)
{
    size_t start = l->at;
    char quote = l->text[l->at];
    bool is_long = l->len - l->at >= 3 && l->text[l->at + 1] == quote && l->text[l->at + 2] == quote;
    l->at += is_long ? 3 : 1;
    while (l->at < l->len) {
        char c = l->text[l->at];
        if (c == '\n' && !is_long)
            break;
        if (c == '\\' && quote == '"' && l->at + 1 < l->len) {
            l->at += 2;
        } else if (c != quote) {
            l->at++;
        } else if (!is_long) {
            l->at++;
            return true;
        } else if (l->len - l->at >= 3 && l->text[l->at + 1] == quote && l->text[l->at + 2] == quote) {
            l->at += 3;
            /* Up to two more quotes belong to the string. */
            for (int i = 0; i < 2 && peek(l) == quote; i++)
                l->at++;
            return true;
        } else {
            l->at++;
        }
    }
    return fail(l, start, err, "a string begins here and has no end");
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool read_part(struct toml_lines *l, struct toml_statement *out, struct err *err)
{
    size_t from = l->at, to;
    if (peek(l) == '"' || peek(l) == '\'') {
        if (!skip_string(l, err))
            return false;
        from++;
        to = l->at - 1;
    } else {
        while (is_bare(peek(l)))
            l->at++;
        to = l->at;
        if (from == to)
            return fail(l, from, err, "a key is expected here");
    }
    size_t len = to - from;
    if (out->part_count < TOML_MOST_PARTS && len <= TOML_MOST_PART &&
        memchr(l->text + from, '\\', len) == NULL) {
        memcpy(out->parts[out->part_count], l->text + from, len);
        out->parts[out->part_count][len] = '\0';
    }
    out->part_count++;
    return true;
}

static bool read_key(struct toml_lines *l, struct toml_statement *out, struct err *err)
{
    while (true) {
        skip_spaces(l);
        if (!read_part(l, out, err))
            return false;
        skip_spaces(l);
        if (peek(l) != '.')
            return true;
        l->at++;
    }
}

/* Skip to the end of the line in which the value ends; arrays may span several. */
static bool skip_value(struct toml_lines *l, struct toml_statement *out, struct err *err)
{
    size_t depth = 0;
    out->value = out->value_end = l->at;
    while (l->at < l->len) {
        char c = l->text[l->at];
        if (depth == 0 && (c == '\n' || c == '#' || c == '\r'))
            break;
        if (c == '"' || c == '\'') {
            if (!skip_string(l, err))
                return false;
        } else if (c == '#') {
            skip_comment(l);
            continue;
        } else {
            if (c == '[' || c == '{')
                depth++;
            if ((c == ']' || c == '}') && depth-- == 0)
                return fail(l, l->at, err, "a bracket is closed that was not opened");
            l->at++;
        }
        if (strchr(" \t", c) == NULL)
            out->value_end = l->at;
    }
    if (depth > 0)
        return fail(l, out->value, err, "the value that begins here has no end");
    if (out->value_end == out->value)
        return fail(l, out->value, err, "a value is expected behind the =");
    return true;
}

static bool read_header(struct toml_lines *l, struct toml_statement *out, struct err *err)
{
    l->at++;
    out->kind = peek(l) == '[' ? TOML_TABLE_IN_ROW : TOML_TABLE;
    l->at += out->kind == TOML_TABLE_IN_ROW;
    if (!read_key(l, out, err))
        return false;
    for (int i = 0; i < (out->kind == TOML_TABLE_IN_ROW ? 2 : 1); i++)
        if (peek(l) == ']')
            l->at++;
        else
            return fail(l, l->at, err, "] is expected behind the name of the table");
    return true;
}

static bool read_pair(struct toml_lines *l, struct toml_statement *out, struct err *err)
{
    out->kind = TOML_KEY;
    if (!read_key(l, out, err))
        return false;
    if (peek(l) != '=')
        return fail(l, l->at, err, "= is expected behind a key");
    l->at++;
    skip_spaces(l);
    return skip_value(l, out, err);
}

void toml_lines_init(struct toml_lines *lines, const char *text, size_t len)
{
    *lines = (struct toml_lines){.text = text, .len = len};
}

bool toml_lines_next(struct toml_lines *l, struct toml_statement *out, struct err *err)
{
    *out = (struct toml_statement){.kind = TOML_EMPTY, .from = l->at};
    err->code = ERR_NONE;
    if (l->at == 0) {
        size_t valid = l->len == 0 ? 0 : utf8_valid_prefix(l->text, l->len);
        if (valid < l->len)
            return fail(l, valid, err, "this is not UTF-8");
        if (l->len > 0 && memchr(l->text, '\0', l->len) != NULL)
            return fail(l, 0, err, "the text has bytes in it that are zero");
        if (l->len >= 3 && memcmp(l->text, "\xef\xbb\xbf", 3) == 0)
            l->at = 3;
    }
    if (l->at == l->len)
        return false;
    skip_spaces(l);
    char c = peek(l);
    bool is_read = true;
    if (c == '[')
        is_read = read_header(l, out, err);
    else if (c != '\0' && c != '#' && c != '\r' && c != '\n')
        is_read = read_pair(l, out, err);
    if (!is_read || !end_line(l, err))
        return false;
    out->to = l->at;
    return true;
}
