/*
 * JSON as text, before jansson reads it: a strict scanner that finds what must be echoed exactly as it was
 * written. Knows where JSON-RPC and MCP keep ids and tokens, but not what they are for. No I/O, no recursion.
 */
#ifndef MCP_JSON_TEXT_H
#define MCP_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/strbuf.h"

/* The maximum number of messages in a batch. */
#define JSON_TEXT_MAX_MESSAGES 100

/* A tree of more values than this needs too much memory (some 100 bytes each): the caller refuses the
 * message. */
#define JSON_TEXT_MAX_VALUES 1000000

enum json_token_kind {
    JSON_TOKEN_ABSENT,
    JSON_TOKEN_STRING,
    JSON_TOKEN_INTEGER, /* digits and perhaps a sign, of any length; 1.0 is not one */
    JSON_TOKEN_NULL,
    JSON_TOKEN_OTHER
};

/* A value as it was written, quotes included: ${len} bytes at ${at} of json_text.kept. Strings and
 * integers only. */
struct json_token {
    enum json_token_kind kind;
    size_t at;
    size_t len;
};

/* One message: the root object, or an element of the root array. Of duplicate members the last one counts, as
 * in jansson. */
struct json_text_message {
    size_t at;      /* where it begins in the text */
    size_t len;     /* bytes */
    bool is_object; /* if false, all tokens are absent */
    struct json_token id;
    struct json_token request_id;     /* params.requestId */
    struct json_token progress_token; /* params._meta.progressToken */
};

enum json_text_root { JSON_TEXT_SCALAR, JSON_TEXT_OBJECT, JSON_TEXT_ARRAY };

struct json_text {
    enum json_text_root root;
    size_t count;          /* elements of the array, 1 for an object, 0 for a scalar */
    size_t value_count;    /* number of values at all depths */
    struct strbuf kept;    /* the bytes of the tokens */
    struct strbuf nesting; /* one bit per level: set for an object */
    struct json_text_message
        messages[JSON_TEXT_MAX_MESSAGES]; /* the first min(count, JSON_TEXT_MAX_MESSAGES) are filled in */
};

/* json_text_init(t), json_text_fini(t): on the caller's memory; one json_text can be used for many scans. */
void json_text_init(struct json_text *t);
void json_text_fini(struct json_text *t);

/*
 * json_text_scan(t, bytes, len, err):
 * Check that ${bytes} is one JSON text (RFC 8259, any depth, UTF-8 without a byte order mark), find its
 * messages and their tokens, and change in place what jansson would reject although it is JSON: a number
 * that is a token becomes 0 (it may have more than 64 bits), and the escape of a surrogate without a
 * partner, which JavaScript can write, becomes \ufffd. Tokens keep the original text.
 *
 * Returns     false with ${err} set (ERR_SYNTAX) to what was expected and what was found; position is the
 *             byte from 0
 */
bool json_text_scan(struct json_text *t, char *bytes, size_t len, struct err *err);

/* json_text_token(t, token): borrowed; its ${token->len} bytes, until the next scan. */
const char *json_text_token(const struct json_text *t, const struct json_token *token);

#endif
