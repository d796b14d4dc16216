/*
 * The head of a request of HTTP/1.1 from a browser: what the view needs of it. Strict, because it is passed
 * on: what is not plainly right is refused. Pure; accepts any bytes.
 */
#ifndef VIEW_REQUEST_HEAD_H
#define VIEW_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define REQUEST_HEAD_MOST ((size_t)32 << 10)
#define REQUEST_BODY_MOST ((size_t)16 << 20)

struct request_head {
    size_t len; /* of the head, with its empty line */
    bool is_post;
    const char *target;                 /* "/servers/7/mcp"; these strings are in the parsed text */
    const char *host, *origin, *cookie; /* NULL: absent */
    bool is_json;                       /* its Content-Type */
    size_t body_len;                    /* its Content-Length */
    struct strbuf passed_on;            /* the lines of headers that a server gets */
};

enum request_head_state { REQUEST_HEAD_INCOMPLETE, REQUEST_HEAD_WHOLE, REQUEST_HEAD_WRONG };

/*
 * request_head_parse(head, text, len):
 * Parse the beginning of ${text}, in which ends of strings are marked by NULs if the head is whole.
 *
 * head        filled in; needs request_head_fini() in any case
 * text        borrowed, outlives ${head}
 */
enum request_head_state request_head_parse(struct request_head *head, char *text, size_t len);
void request_head_fini(struct request_head *head);

/* request_head_cookie(cookie, name, value): the header Cookie, which may be NULL, has ${name} with this
 * value. The time that it takes does not depend on how much of the value is right. */
bool request_head_cookie(const char *cookie, const char *name, const char *value);

/* request_head_is_secret(given, len, secret): the same for any text. */
bool request_head_is_secret(const char *given, size_t len, const char *secret);

#endif
