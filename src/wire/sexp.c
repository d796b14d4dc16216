/*
 * Responsible for the values of the agent protocol: from bytes to a tree and back. src/lisp interprets the
 * trees.
 *
 * A document is usually one block of memory: the root, some values, and all text. The text never
 * outgrows the payload: a string loses its two quotes, a symbol its colon, and each gains only a NUL.
 * Further values go into further blocks, each twice as large. The items of an open list wait on a
 * stack and move to the document, side by side, when the list closes.
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

#define FIRST_BLOCK_VALUES 512 /* at most */
#define FIRST_STACK_VALUES 64
#define MAX_FLOAT_LEN 1400 /* the exact decimal form of any double is shorter */

struct block {
    struct block *next;
    struct sexp values[];
};

struct sexp_document {
    struct sexp root;
    struct block *blocks; /* owned; holds what exceeds the values below */
    size_t bytes;         /* allocated for it in all */
    struct sexp values[]; /* the text follows them */
};

struct parser {
    const char *bytes;
    size_t len;
    size_t at;
    struct err *err;
    struct sexp_document *document;
    char *text; /* where the next string goes; at least len - at + 1 bytes are left */
    struct sexp *free_values;
    size_t free_count;
    size_t block_capacity; /* of the newest block, in values */
    size_t value_count;
    struct sexp *stack; /* first_stack, or owned */
    size_t stack_count;
    size_t stack_capacity;
    size_t depth;
    size_t first_item[SEXP_MAX_DEPTH]; /* for each open list, the index of its first item on the stack */
    struct sexp first_stack[FIRST_STACK_VALUES];
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

/* Allocate ${count} adjacent values in the document; NULL with the error set. */
static struct sexp *take_values(struct parser *p, size_t count)
{
    if (count > p->free_count) {
        size_t capacity = 2 * p->block_capacity > count ? 2 * p->block_capacity : count;
        size_t bytes = sizeof(struct block) + capacity * sizeof(struct sexp);
        struct block *block = malloc(bytes);
        if (block == NULL) {
            fail_at(p, ERR_TOO_LARGE, p->at, "no memory for more values");
            return NULL;
        }
        p->document->bytes += bytes;
        block->next = p->document->blocks;
        p->document->blocks = block;
        p->free_values = block->values;
        p->free_count = p->block_capacity = capacity;
    }
    struct sexp *taken = p->free_values;
    p->free_values += count;
    p->free_count -= count;
    return taken;
}

static bool grow_stack(struct parser *p)
{
    size_t capacity = 2 * p->stack_capacity;
    struct sexp *stack = realloc(p->stack == p->first_stack ? NULL : p->stack, capacity * sizeof *stack);
    if (stack == NULL)
        return fail_at(p, ERR_TOO_LARGE, p->at, "no memory for more values");
    if (p->stack == p->first_stack)
        memcpy(stack, p->first_stack, sizeof p->first_stack);
    p->stack = stack;
    p->stack_capacity = capacity;
    return true;
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
    struct sexp *items = NULL;
    if (p->depth == 0)
        return fail(p, p->at, "a parenthesis closes nothing");
    size_t first = p->first_item[p->depth - 1];
    size_t count = p->stack_count - first;
    if (count > 0) {
        items = take_values(p, count);
        if (items == NULL)
            return false;
        memcpy(items, p->stack + first, count * sizeof *items);
    }
    p->stack_count = first;
    p->depth--;
    value->type = SEXP_LIST;
    value->list.items = items;
    value->list.count = count;
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

static bool parse(struct parser *p)
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
        if (p->stack_count == p->stack_capacity && !grow_stack(p))
            return false;
        p->stack[p->stack_count++] = value;
    }
    p->document->root = value;
    skip_space(p);
    if (p->at < p->len)
        return fail(p, p->at, "something behind the value");
    return true;
}

struct sexp_document *sexp_parse(const char *bytes, size_t len, struct err *err)
{
    struct parser p;
    size_t estimate = len / 6 + 4, valid_len;
    /* Member by member: clearing the whole struct would take longer than parsing a short payload. */
    p.bytes = bytes;
    p.len = len;
    p.at = 0;
    p.err = err;
    if (len > SEXP_MAX_PAYLOAD) {
        fail_at(&p, ERR_TOO_LARGE, SEXP_MAX_PAYLOAD, "the payload is too long");
        return NULL;
    }
    valid_len = utf8_valid_prefix(bytes, len);
    if (valid_len < len) {
        fail(&p, valid_len, "bytes that are no UTF-8");
        return NULL;
    }
    if (estimate > FIRST_BLOCK_VALUES)
        estimate = FIRST_BLOCK_VALUES;
    size_t size = sizeof *p.document + estimate * sizeof *p.document->values + len + 1;
    p.document = malloc(size);
    if (p.document == NULL) {
        fail_at(&p, ERR_TOO_LARGE, 0, "no memory for the payload");
        return NULL;
    }
    p.document->blocks = NULL;
    p.document->bytes = size;
    p.free_values = p.document->values;
    p.free_count = p.block_capacity = estimate;
    p.text = (char *)(p.document->values + estimate);
    p.value_count = 0;
    p.stack = p.first_stack;
    p.stack_count = 0;
    p.stack_capacity = FIRST_STACK_VALUES;
    p.depth = 0;
    bool is_parsed = parse(&p);
    if (p.stack != p.first_stack)
        free(p.stack);
    if (!is_parsed) {
        sexp_document_free(p.document);
        return NULL;
    }
    return p.document;
}

void sexp_document_free(struct sexp_document *document)
{
    if (document == NULL)
        return;
    for (struct block *block = document->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
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
