/*
 * Any payload is rejected with the position of one of its bytes, or survives writing and parsing unchanged.
 */
#include "fuzz.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "wire/sexp.h"

static void compare_values(const struct sexp *a, const struct sexp *b)
{
    CHECK(a->type == b->type);
    switch (a->type) {
    case SEXP_LIST:
        CHECK(sexp_count(a) == sexp_count(b));
        for (size_t i = 0; i < sexp_count(a); i++)
            compare_values(sexp_nth(a, i), sexp_nth(b, i));
        break;
    case SEXP_STRING:
    case SEXP_SYMBOL:
        CHECK(a->text.len == b->text.len);
        CHECK(memcmp(a->text.bytes, b->text.bytes, a->text.len + 1) == 0);
        CHECK(a->text.bytes[a->text.len] == '\0');
        break;
    case SEXP_INTEGER:
        CHECK(a->integer == b->integer);
        break;
    case SEXP_FLOAT:
        CHECK(memcmp(&a->number, &b->number, sizeof a->number) == 0);
        break;
    }
}

FUZZ(bytes, size)
{
    struct err err = {.code = ERR_NONE};
    struct strbuf out;
    struct sexp_document *first = sexp_parse(bytes, size, &err);
    memset(bytes, 0xff, size); /* nothing of it may be read after the return */
    if (!first) {
        CHECK(err.code == ERR_SYNTAX || err.code == ERR_TOO_DEEP || err.code == ERR_TOO_LARGE);
        CHECK(err.position <= size);
        CHECK(utf8_is_valid(err.message, strlen(err.message)));
        return;
    }
    strbuf_init(&out, 0);
    sexp_write_value(&out, sexp_root(first));
    CHECK(utf8_is_valid(out.bytes, out.len));
    struct sexp_document *second = sexp_parse(out.bytes, out.len, &err);
    CHECK(second);
    compare_values(sexp_root(first), sexp_root(second));
    sexp_document_free(first);
    sexp_document_free(second);
    strbuf_fini(&out);
}
