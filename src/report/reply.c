/*
 * Looks up the values of an agent's reply by key.
 */
#include "report/reply.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "wire/sexp.h"

#define FIRST_KEY 2 /* after the id and :ok */

const struct sexp *reply_get(const struct sexp *reply, const char *key)
{
    return sexp_get(reply, FIRST_KEY, key);
}

int64_t reply_integer(const struct sexp *reply, const char *key)
{
    return sexp_integer(reply_get(reply, key), 0);
}

size_t reply_count(const struct sexp *reply, const char *key)
{
    int64_t n = reply_integer(reply, key);
    return n < 0 ? 0 : (size_t)n;
}

bool reply_flag(const struct sexp *reply, const char *key)
{
    return !sexp_is_nil(reply_get(reply, key));
}

bool reply_is_same(const struct sexp *a, const struct sexp *b)
{
    const char *text = sexp_string(a, NULL), *other = sexp_string(b, NULL);
    return text != NULL && other != NULL && strcmp(text, other) == 0;
}

void reply_add_string(struct strbuf *out, const struct sexp *value)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    if (text != NULL)
        strbuf_add(out, text, len);
}

/* The item of the list with that number, or the value of that key: a property list may stand behind a name.
 */
static const struct sexp *value_named(const struct sexp *list, const char *name, size_t len)
{
    char key[32];
    CHECK(len < sizeof key);
    snprintf(key, sizeof key, "%.*s", (int)len, name);
    if (len == 0)
        return list;
    if (key[0] >= '0' && key[0] <= '9')
        return sexp_nth(list, strtoul(key, NULL, 10));
    const struct sexp *value = sexp_get(list, 0, key);
    return value != NULL ? value : sexp_get(list, 1, key);
}

static bool is_true(const struct sexp *value)
{
    size_t len;
    if (sexp_string(value, &len) != NULL)
        return len > 0;
    return !sexp_is_nil(value) && sexp_integer(value, 1) > 0;
}

static void add_value(struct strbuf *out, const struct sexp *value, bool is_item, bool is_upper)
{
    if (value != NULL && value->type == SEXP_INTEGER)
        strbuf_addf(out, "%lld", (long long)value->integer);
    else if (is_item && value != NULL && value->type == SEXP_SYMBOL)
        for (const char *c = value->text.bytes; *c != '\0'; c++)
            strbuf_addc(out, is_upper ? (char)toupper((unsigned char)*c) : *c);
    else
        reply_add_string(out, value);
}

static uint64_t number_of(const struct sexp *value)
{
    int64_t n = sexp_integer(value, (int64_t)sexp_count(value));
    return n < 0 ? 0 : (uint64_t)n;
}

static void add_count(struct strbuf *out, uint64_t n, const char *noun, const char *end)
{
    char singular[32];
    snprintf(singular, sizeof singular, "%.*s", (int)(end - noun), noun);
    strbuf_adds(out, text_count(n, singular).text);
}

/* The lines of a text after a margin; ${is_hanging}: all but the first, whatever ends one. */
static void add_indented(struct strbuf *out, const struct sexp *value, const char *indent, const char *end,
                         bool is_hanging)
{
    char margin[32];
    size_t len;
    const char *text = sexp_string(value, &len);
    snprintf(margin, sizeof margin, "%.*s", (int)(end - indent), indent);
    if (text == NULL)
        return;
    if (is_hanging)
        text_add_hanging(out, text, len, margin);
    else
        text_add_indented(out, text, len, margin);
}

static void fill(struct strbuf *out, const struct sexp *list, const char *at, const char *end);

static void fill_each(struct strbuf *out, const struct sexp *lists, const char *at, const char *end)
{
    const char *bar = memchr(at, '|', (size_t)(end - at));
    CHECK(bar != NULL);
    for (size_t i = 0; i < sexp_count(lists); i++) {
        if (i > 0)
            strbuf_add(out, at, (size_t)(bar - at));
        fill(out, sexp_nth(lists, i), bar + 1, end);
    }
}

/* ${width}: 15 or 15ms */
static void add_column(struct strbuf *out, int64_t n, const char *width)
{
    char *unit;
    int columns = (int)strtol(width, &unit, 10);
    strbuf_adds(out, *unit == 'm' ? text_ms(n, columns).text : text_column(n, columns).text);
}

/* ${at}: WORD?TEXT */
static void fill_if_word(struct strbuf *out, const struct sexp *list, const struct sexp *value,
                         const char *at, const char *end)
{
    const char *mark = memchr(at, '?', (size_t)(end - at));
    CHECK(mark != NULL);
    bool is_word = value != NULL && (value->type == SEXP_STRING || value->type == SEXP_SYMBOL);
    if (is_word && value->text.len == (size_t)(mark - at) &&
        memcmp(value->text.bytes, at, value->text.len) == 0)
        fill(out, list, mark + 1, end);
}

/* What is between two braces that belong together. */
static void fill_braces(struct strbuf *out, const struct sexp *list, const char *at, const char *end)
{
    bool is_grouped = *at == ',', is_counted = *at == '#', is_upper = *at == '^';
    at += is_grouped || is_counted || is_upper;
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
    const struct sexp *value = value_named(list, at, len);
    const char *rest = at + len + 1;
    char sign = at + len == end ? '\0' : at[len];
    if (is_counted)
        add_count(out, number_of(value), rest, end);
    else if (is_grouped)
        strbuf_adds(out, text_grouped(number_of(value)).text);
    else if (sign == '\0')
        add_value(out, value, len == 0, is_upper);
    else if (sign == '>' || sign == '/')
        add_indented(out, value, rest, end, sign == '/');
    else if (sign == '*')
        fill_each(out, value, rest, end);
    else if (sign == ':')
        add_column(out, sexp_integer(value, 0), rest);
    else if (sign == '=')
        fill_if_word(out, list, value, rest, end);
    else if (is_true(value) == (sign == '?'))
        fill(out, list, rest, end);
}

static void fill(struct strbuf *out, const struct sexp *list, const char *at, const char *end)
{
    while (at < end) {
        const char *open = memchr(at, '{', (size_t)(end - at));
        strbuf_add(out, at, (size_t)((open == NULL ? end : open) - at));
        if (open == NULL)
            return;
        size_t depth = 1;
        for (at = open + 1; depth > 0; at++) {
            CHECK(at < end);
            depth += *at == '{';
            depth -= *at == '}';
        }
        fill_braces(out, list, open + 1, at - 1);
    }
}

void reply_fill(struct strbuf *out, const struct sexp *list, const char *template)
{
    fill(out, list, template, template + strlen(template));
}

void reply_fill_each(struct strbuf *out, const struct sexp *lists, const char *template)
{
    for (size_t i = 0; i < sexp_count(lists); i++)
        reply_fill(out, sexp_nth(lists, i), template);
}
