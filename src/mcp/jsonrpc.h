/*
 * JSON-RPC 2.0: the kinds of messages, and the envelopes of messages that the server sends. Pure; knows
 * nothing about MCP.
 */
#ifndef MCP_JSONRPC_H
#define MCP_JSONRPC_H

#include <jansson.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Why a request is refused; the last ones are MCP's, since 2026-07-28. */
enum jsonrpc_code {
    JSONRPC_PARSE_ERROR = -32700,
    JSONRPC_INVALID_REQUEST = -32600,
    JSONRPC_METHOD_NOT_FOUND = -32601,
    JSONRPC_INVALID_PARAMS = -32602,
    JSONRPC_INTERNAL_ERROR = -32603,
    JSONRPC_HEADER_MISMATCH = -32020,
    JSONRPC_MISSING_CAPABILITY = -32021,
    JSONRPC_RESOURCE_NOT_FOUND = -32002, /* MCP's, up to 2025-11-25 */
    JSONRPC_UNSUPPORTED_VERSION = -32022
};

/* Bytes that somebody else owns; NULL: none. */
struct jsonrpc_slice {
    const char *bytes;
    size_t len;
};

enum jsonrpc_kind {
    JSONRPC_REQUEST,      /* answer it */
    JSONRPC_NOTIFICATION, /* act on it, never answer */
    JSONRPC_RESPONSE,     /* to a question of the server's (calls.c, roots.c); others are ignored */
    JSONRPC_REFUSED       /* answer with ${code} and ${reason} */
};

struct jsonrpc_message {
    enum jsonrpc_kind kind;
    struct jsonrpc_slice id;     /* JSON text; none if it has no usable one */
    struct jsonrpc_slice method; /* requests and notifications */
    const json_t *params;        /* borrowed from the object; NULL or an object */
    enum jsonrpc_code code;
    const char *reason;
    char *id_text; /* what ${id} points into; owned */
};

/* jsonrpc_token(value): an id or a progress token as JSON text, given: a string or an integer. NULL for any
 * other value, and for none. */
char *jsonrpc_token(const json_t *value);

/* jsonrpc_slice_of(text): its bytes; none for NULL. Borrowed. */
struct jsonrpc_slice jsonrpc_slice_of(const char *text);

/*
 * jsonrpc_classify(object):
 * Determine what ${object} is. A message without an id that names a method is a notification, whatever
 * else is wrong with it.
 *
 * object      borrowed; an object
 * Returns     a message that needs jsonrpc_message_fini()
 */
struct jsonrpc_message jsonrpc_classify(const json_t *object);
void jsonrpc_message_fini(struct jsonrpc_message *m);

/*
 * jsonrpc_begin_result(out, id), jsonrpc_end_result(out): append what precedes and what follows the result
 * object of a response. jsonrpc_begin_notification(out, method), jsonrpc_end_notification(out): the same
 * for the params of a notification.
 */
void jsonrpc_begin_result(struct strbuf *out, struct jsonrpc_slice id);
void jsonrpc_end_result(struct strbuf *out);
void jsonrpc_begin_notification(struct strbuf *out, const char *method);
void jsonrpc_end_notification(struct strbuf *out);

/*
 * jsonrpc_add_error(out, id, code, message, data):
 * Append a whole error response.
 *
 * id          none: null
 * message     any bytes, NUL-terminated
 * data        JSON text, or NULL for no data member
 */
void jsonrpc_add_error(struct strbuf *out, struct jsonrpc_slice id, enum jsonrpc_code code,
                       const char *message, const char *data);

/* jsonrpc_quotable(s): the length of the part of ${s} to show in a message: whole characters, at most 100
 * bytes; for "%.*s". */
int jsonrpc_quotable(struct jsonrpc_slice s);

#endif
