/*
 * Responsible for the values of the agent protocol: from bytes to a tree and back. src/lisp interprets the
 * trees.
 *
 * A document is one block of memory: the root, the other values, and all text. The values are counted before
 * they are parsed. The text never outgrows the payload: a string loses its two quotes, a symbol its colon,
 * and each gains only a NUL. The items of an open list wait on a stack and move to the document, side by
 * side, when the list closes.
 */
#include "wire/sexp.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define MAX_FLOAT_LEN 1400 /* the exact decimal form of any double is shorter */

struct sexp_document {
    struct sexp root;
    size_t bytes;         /* allocated for it in all */
    struct sexp values[]; /* the text follows them */
};

struct parser {
    const char *bytes;
    size_t len;
    size_t at;
    struct err *err;
    char *text;               /* where the next string goes; at least len - at + 1 bytes are left */
    struct sexp *free_values; /* of the document */
    size_t value_count;
    struct sexp *stack; /* has room for all values */
    size_t stack_count;
    size_t depth;
    size_t first_item[SEXP_MAX_DEPTH]; /* for each open list, the index of its first item on the stack */
};

/* The number of bytes before the first quote or backslash. */
static size_t plain_len(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && bytes[at] != '"' && bytes[at] != '\\')
        at++;
    return at;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_symbol_character(char c)
{
    return is_letter(c) || is_digit(c) || c == '-';
}

static bool fail_at(struct parser *p, enum error_code code, size_t position, const char *what)
{
    err_set(p->err, code, "%s at byte %zu", what, position);
    if (p->err)
        p->err->position = position;
    return false;
}

static bool fail(struct parser *p, size_t position, const char *what)
{
    return fail_at(p, ERR_SYNTAX, position, position < p->len ? what : "the value is not complete");
}

static bool parse_string(struct parser *p, struct sexp *value)
{
    char *text = p->text;
    size_t at = p->at + 1, run;
    for (;;) {
        run = plain_len(p->bytes + at, p->len - at);
        memcpy(text, p->bytes + at, run);
        text += run;
        at += run;
        if (at == p->len)
            return fail(p, at, "");
        if (p->bytes[at] == '"')
            break;
        at++;
        if (at == p->len || (p->bytes[at] != '"' && p->bytes[at] != '\\'))
            return fail(p, at, "only a quote or a backslash may follow a backslash");
        *text++ = p->bytes[at++];
    }
    value->type = SEXP_STRING;
    value->text.bytes = p->text;
    value->text.len = (size_t)(text - p->text);
    *text++ = '\0';
    p->text = text;
    p->at = at + 1;
    return true;
}

static bool parse_keyword(struct parser *p, struct sexp *value)
{
    size_t start = p->at + 1, at = start;
    if (at == p->len || !is_letter(p->bytes[at]))
        return fail(p, at, "no name after the colon");
    while (at < p->len && is_symbol_character(p->bytes[at]))
        at++;
    value->type = SEXP_SYMBOL;
    value->text.bytes = p->text;
    value->text.len = at - start;
    memcpy(p->text, p->bytes + start, at - start);
    p->text[at - start] = '\0';
    p->text += at - start + 1;
    p->at = at;
    return true;
}

/* The two symbols without a colon: the document has no room for their text. */
static bool parse_constant(struct parser *p, struct sexp *value, const char *name)
{
    size_t i;
    for (i = 0; name[i] != '\0'; i++)
        if (p->at + i == p->len || p->bytes[p->at + i] != name[i])
            return fail(p, p->at + i, "an unknown word");
    value->type = SEXP_SYMBOL;
    value->text.bytes = name;
    value->text.len = i;
    p->at += i;
    return true;
}

static size_t skip_digits(const struct parser *p, size_t at)
{
    while (at < p->len && is_digit(p->bytes[at]))
        at++;
    return at;
}

/* The program stays in the C locale, in which the decimal point is a point. */
static bool parse_number(struct parser *p, struct sexp *value)
{
    size_t digits = p->at + (p->bytes[p->at] == '-'), at = skip_digits(p, digits);
    if (at == digits)
        return fail(p, at, "no digit after the sign");
    bool is_float = at < p->len && p->bytes[at] == '.';
    if (is_float) {
        size_t fraction = at + 1;
        at = skip_digits(p, fraction);
        if (at == fraction)
            return fail(p, at, "no digit after the point");
        if (at - p->at > MAX_FLOAT_LEN)
            return fail(p, p->at, "a float with too many digits");
    }
    /* The place of the next string serves for the NUL that the library needs, and stays free. */
    memcpy(p->text, p->bytes + p->at, at - p->at);
    p->text[at - p->at] = '\0';
    if (is_float) {
        value->type = SEXP_FLOAT;
        value->number = strtod(p->text, NULL);
        if (!isfinite(value->number))
            return fail(p, p->at, "a float out of range");
    } else {
        errno = 0;
        value->type = SEXP_INTEGER;
        value->integer = strtoll(p->text, NULL, 10);
        if (errno != 0)
            return fail(p, p->at, "an integer out of range");
    }
    p->at = at;
    return true;
}

static bool open_list(struct parser *p)
{
    if (p->depth == SEXP_MAX_DEPTH)
        return fail_at(p, ERR_TOO_DEEP, p->at, "one list too deep");
    p->first_item[p->depth++] = p->stack_count;
    p->at++;
    return true;
}

static bool close_list(struct parser *p, struct sexp *value)
{
    if (p->depth == 0)
        return fail(p, p->at, "a parenthesis closes nothing");
    size_t first = p->first_item[--p->depth];
    size_t count = p->stack_count - first;
    memcpy(p->free_values, p->stack + first, count * sizeof *p->stack);
    p->stack_count = first;
    value->type = SEXP_LIST;
    value->list.items = p->free_values;
    value->list.count = count;
    p->free_values += count;
    p->at++;
    return true;
}

static bool parse_atom(struct parser *p, struct sexp *value)
{
    char c = p->bytes[p->at];
    if (c == '"')
        return parse_string(p, value);
    if (c == ':')
        return parse_keyword(p, value);
    if (is_digit(c) || c == '-')
        return parse_number(p, value);
    if (c == 'n')
        return parse_constant(p, value, "nil");
    if (c == 't')
        return parse_constant(p, value, "t");
    return fail(p, p->at, "a byte that starts no value");
}

static void skip_space(struct parser *p)
{
    while (p->at < p->len && is_space(p->bytes[p->at]))
        p->at++;
}

static bool parse(struct parser *p, struct sexp *root)
{
    bool is_after_value = false;
    struct sexp value;
    for (;;) {
        size_t before = p->at;
        skip_space(p);
        if (p->at == p->len)
            return fail(p, p->at, "");
        char c = p->bytes[p->at];
        if (c != ')') {
            if (is_after_value && p->at == before)
                return fail(p, p->at, "no space between two values");
            if (p->value_count++ == SEXP_MAX_VALUES)
                return fail_at(p, ERR_TOO_LARGE, p->at, "one value too many");
        }
        if (c == '(') {
            if (!open_list(p))
                return false;
            is_after_value = false;
            continue;
        }
        if (!(c == ')' ? close_list(p, &value) : parse_atom(p, &value)))
            return false;
        is_after_value = true;
        if (p->depth == 0)
            break;
        p->stack[p->stack_count++] = value;
    }
    *root = value;
    skip_space(p);
    if (p->at < p->len)
        return fail(p, p->at, "something behind the value");
    return true;
}

/* At least the number of values: each begins with a parenthesis, a quote or a word. */
static size_t count_values(const char *bytes, size_t len)
{
    size_t count = 0;
    bool is_word = false;
    for (size_t at = 0; at < len; at++) {
        char c = bytes[at];
        bool was_word = is_word;
        is_word = !is_space(c) && c != '(' && c != ')' && c != '"';
        count += c == '(' || c == '"' || (is_word && !was_word);
        if (c == '"')
            for (at++; at < len && bytes[at] != '"'; at++)
                at += bytes[at] == '\\';
    }
    return count < SEXP_MAX_VALUES ? count : SEXP_MAX_VALUES;
}

struct sexp_document *sexp_parse(const char *bytes, size_t len, struct err *err)
{
    struct parser p = {.bytes = bytes, .len = len, .err = err};
    if (len > SEXP_MAX_PAYLOAD) {
        fail_at(&p, ERR_TOO_LARGE, SEXP_MAX_PAYLOAD, "the payload is too long");
        return NULL;
    }
    size_t valid_len = utf8_valid_prefix(bytes, len);
    if (valid_len < len) {
        fail(&p, valid_len, "bytes that are not UTF-8");
        return NULL;
    }
    size_t count = count_values(bytes, len),
           size = sizeof(struct sexp_document) + count * sizeof *p.stack + len + 1;
    struct sexp_document *document = malloc(size);
    p.stack = malloc((count + 1) * sizeof *p.stack);
    bool is_parsed = false;
    if (document == NULL || p.stack == NULL) {
        fail_at(&p, ERR_TOO_LARGE, 0, "no memory for the payload");
    } else {
        document->bytes = size;
        p.free_values = document->values;
        p.text = (char *)(document->values + count);
        is_parsed = parse(&p, &document->root);
    }
    free(p.stack);
    if (is_parsed)
        return document;
    free(document);
    return NULL;
}

void sexp_document_free(struct sexp_document *document)
{
    free(document);
}

const struct sexp *sexp_root(const struct sexp_document *document)
{
    return &document->root;
}

size_t sexp_document_bytes(const struct sexp_document *document)
{
    return document == NULL ? 0 : document->bytes;
}

bool sexp_is_nil(const struct sexp *value)
{
    return value == NULL || (value->type == SEXP_LIST && value->list.count == 0) ||
           sexp_is_symbol(value, "nil");
}

bool sexp_is_symbol(const struct sexp *value, const char *name)
{
    return value && value->type == SEXP_SYMBOL && strcmp(value->text.bytes, name) == 0;
}

size_t sexp_count(const struct sexp *list)
{
    return list && list->type == SEXP_LIST ? list->list.count : 0;
}

const struct sexp *sexp_nth(const struct sexp *list, size_t n)
{
    return n < sexp_count(list) ? &list->list.items[n] : NULL;
}

const struct sexp *sexp_get(const struct sexp *list, size_t from, const char *key)
{
    size_t count = sexp_count(list);
    for (size_t i = from; i < count && count - i >= 2; i += 2)
        if (sexp_is_symbol(&list->list.items[i], key))
            return &list->list.items[i + 1];
    return NULL;
}

int64_t sexp_integer(const struct sexp *value, int64_t fallback)
{
    return value && value->type == SEXP_INTEGER ? value->integer : fallback;
}

const char *sexp_string(const struct sexp *value, size_t *len)
{
    bool is_string = value && value->type == SEXP_STRING;
    if (len)
        *len = is_string ? value->text.len : 0;
    return is_string ? value->text.bytes : NULL;
}

/* A space separates a value from what precedes it, unless that opens a list (or is an empty frame
 * header). */
static void separate(struct strbuf *out)
{
    if (out->len > 0 && out->bytes[out->len - 1] != '(')
        strbuf_addc(out, ' ');
}

void sexp_write_open(struct strbuf *out)
{
    separate(out);
    strbuf_addc(out, '(');
}

void sexp_write_close(struct strbuf *out)
{
    strbuf_addc(out, ')');
}

void sexp_write_string(struct strbuf *out, const char *bytes, size_t len)
{
    bool is_valid = utf8_is_valid(bytes, len);
    size_t start = 0, at;
    separate(out);
    strbuf_addc(out, '"');
    while (start < len && !out->is_overflown) {
        /* Cutting at quotes and backslashes never cuts inside an ill-formed part, which contains no ASCII. */
        at = start + plain_len(bytes + start, len - start);
        if (is_valid)
            strbuf_add(out, bytes + start, at - start);
        else
            utf8_repair(out, bytes + start, at - start);
        if (at < len) {
            strbuf_addc(out, '\\');
            strbuf_addc(out, bytes[at++]);
        }
        start = at;
    }
    strbuf_addc(out, '"');
}

void sexp_write_integer(struct strbuf *out, int64_t integer)
{
    separate(out);
    strbuf_addf(out, "%" PRId64, integer);
}

void sexp_write_symbol(struct strbuf *out, const char *name)
{
    CHECK(is_letter(name[0]));
    for (const char *c = name; *c; c++)
        CHECK(is_symbol_character(*c));
    separate(out);
    strbuf_addc(out, ':');
    strbuf_adds(out, name);
}

void sexp_write_boolean(struct strbuf *out, bool value)
{
    separate(out);
    strbuf_adds(out, value ? "t" : "nil");
}

/* With all its digits: without an exponent, which the wire does not have, a small number needs them. */
static void write_float(struct strbuf *out, double number)
{
    char text[MAX_FLOAT_LEN + 1]; /* DBL_MAX has 309 digits, and the smallest number 1,074 behind the point */
    size_t len = (size_t)snprintf(text, sizeof text, "%.1074f", number);
    while (text[len - 1] == '0' && text[len - 2] != '.')
        len--;
    separate(out);
    strbuf_add(out, text, len);
}

void sexp_write_value(struct strbuf *out, const struct sexp *value)
{
    if (value == NULL) {
        sexp_write_boolean(out, false);
        return;
    }
    switch (value->type) {
    case SEXP_LIST:
        sexp_write_open(out);
        for (size_t i = 0; i < value->list.count; i++)
            sexp_write_value(out, &value->list.items[i]);
        sexp_write_close(out);
        break;
    case SEXP_STRING:
        sexp_write_string(out, value->text.bytes, value->text.len);
        break;
    case SEXP_INTEGER:
        sexp_write_integer(out, value->integer);
        break;
    case SEXP_FLOAT:
        write_float(out, value->number);
        break;
    case SEXP_SYMBOL:
        /* t and nil are written without a colon. */
        if (strcmp(value->text.bytes, "t") == 0 || strcmp(value->text.bytes, "nil") == 0)
            sexp_write_boolean(out, value->text.bytes[0] == 't');
        else
            sexp_write_symbol(out, value->text.bytes);
        break;
    }
}
