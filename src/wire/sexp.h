/*
 * The values of the agent protocol: s-expressions, parsed and written. Pure: no I/O, no clock. The parser
 * treats its input as hostile: it bounds depth and number of values, and does not recurse.
 */
#ifndef WIRE_SEXP_H
#define WIRE_SEXP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errors.h"

struct strbuf;

enum sexp_type { SEXP_LIST, SEXP_STRING, SEXP_INTEGER, SEXP_FLOAT, SEXP_SYMBOL };

/* A parsed value; it lives in its document. The empty list is nil. */
struct sexp {
    enum sexp_type type;
    union {
        struct {
            const struct sexp *items; /* contiguous */
            size_t count;
        } list;
        struct {
            const char *bytes; /* NUL-terminated, may hold NULs; for a symbol without the colon, lower case */
            size_t len;
        } text;
        int64_t integer;
        double number;
    };
};

struct sexp_document; /* owns every value parsed from one payload */

#define SEXP_MAX_DEPTH 64
#define SEXP_MAX_PAYLOAD (16u << 20)
#define SEXP_MAX_VALUES (1u << 20) /* in one document; bounds what a small payload can make us allocate */

/*
 * sexp_parse(bytes, len, err):
 * Parse one payload, which must hold exactly one value (white space may surround it).
 *
 * bytes       borrowed; not needed after return
 * Returns     given: sexp_document_free() it; NULL with ${err} set (position: the byte to blame)
 * Errors      ERR_SYNTAX, ERR_TOO_DEEP, ERR_TOO_LARGE
 * Source      docs/agent-protocol.md section 2
 */
struct sexp_document *sexp_parse(const char *bytes, size_t len, struct err *err);
void sexp_document_free(struct sexp_document *document);

/* sexp_root(document): its value; borrowed. sexp_document_bytes(document): the memory that it takes; 0 for
 * NULL. */
const struct sexp *sexp_root(const struct sexp_document *document);
size_t sexp_document_bytes(const struct sexp_document *document);

/*
 * sexp_is_nil(value), sexp_is_symbol(value, name), sexp_count(list), sexp_nth(list, n), sexp_get(list, from,
 * key), sexp_integer(value, fallback), sexp_string(value, len): Read a value. They never fail: a value of
 * another type, or NULL, gives false, zero, NULL or ${fallback}.
 *
 * name        a symbol's, without the colon
 * key         of a property list that begins at item ${from}; its value is returned
 * len         out: 0 for NULL; may be NULL
 * Returns     sexp_is_nil(): true for NULL, the empty list and the symbol nil
 */
bool sexp_is_nil(const struct sexp *value);
bool sexp_is_symbol(const struct sexp *value, const char *name);
size_t sexp_count(const struct sexp *list);
const struct sexp *sexp_nth(const struct sexp *list, size_t n);
const struct sexp *sexp_get(const struct sexp *list, size_t from, const char *key);
int64_t sexp_integer(const struct sexp *value, int64_t fallback);
const char *sexp_string(const struct sexp *value, size_t *len);

/*
 * sexp_write_open(out), sexp_write_close(out), sexp_write_string(out, bytes, len), sexp_write_integer(out,
 * integer), sexp_write_symbol(out, name), sexp_write_boolean(out, value), sexp_write_value(out, value):
 * Append a parenthesis or a value, with a separator where one is needed.
 *
 * bytes       any; those that are not UTF-8 become U+FFFD
 * name        a symbol's or key's; it is written with a colon in front
 * value       t or nil; or a parsed value, NULL for nil
 */
void sexp_write_open(struct strbuf *out);
void sexp_write_close(struct strbuf *out);
void sexp_write_string(struct strbuf *out, const char *bytes, size_t len);
void sexp_write_integer(struct strbuf *out, int64_t integer);
void sexp_write_symbol(struct strbuf *out, const char *name);
void sexp_write_boolean(struct strbuf *out, bool value);
void sexp_write_value(struct strbuf *out, const struct sexp *value);

#endif
