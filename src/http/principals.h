/*
 * The users of the server over HTTP. Each principal has its own sessions, which others can neither see
 * nor name. Without a token file there is one principal: everybody who can connect.
 */
#ifndef HTTP_PRINCIPALS_H
#define HTTP_PRINCIPALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/list.h"
#include "http/tokens.h"

struct connection;
struct toolbox;

struct principal {
    struct list node;
    char *name;                   /* "" for anybody */
    struct toolbox *toolbox;      /* borrowed; NULL until it is first needed */
    struct connection *stateless; /* for requests of 2026-07-28; NULL until there is one */
    struct list sessions;         /* by Mcp-Session-Id */
    size_t session_count;
    size_t body_bytes;    /* of its requests being read */
    size_t answer_bytes;  /* of its answers and events that are not read */
    unsigned connections; /* those whose latest request was its own */
};

struct principals {
    const char *token_file; /* NULL: no tokens */
    struct tokens tokens;
    struct list all;
};

/* principals_init(p, token_file, err): ${token_file} is borrowed; NULL: no token is required.
 * principals_fini(p): free what ${p} holds. */
bool principals_init(struct principals *p, const char *token_file, struct err *err);
void principals_fini(struct principals *p);

/* principals_reload(p, err): read the file again. If it has an error, nothing changes. A principal
 * that has lost its tokens remains, but no request can authenticate as it. */
bool principals_reload(struct principals *p, struct err *err);

/* principals_find(p, authorization): the principal that the value of the header Authorization, which may be
 * NULL, authenticates. NULL: none. */
struct principal *principals_find(struct principals *p, const char *authorization);

#endif
