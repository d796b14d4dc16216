/*
 * Who uses the server over HTTP. Each principal has sessions of its own, which nobody else can see or name.
 * Without a token file there is one, anybody who reaches us.
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
};

struct principals {
    const char *token_file; /* NULL: no tokens */
    struct tokens tokens;
    struct list all;
};

/* principals_init(p, token_file, err): ${token_file} is borrowed; NULL: anybody may come in.
 * principals_fini(p). */
bool principals_init(struct principals *p, const char *token_file, struct err *err);
void principals_fini(struct principals *p);

/* principals_reload(p, err): read the file again. If something is wrong with it everything stays as it was. A
 * principal without a token any more stays, but nobody can be it. */
bool principals_reload(struct principals *p, struct err *err);

/* principals_may_enter(p, principal): it has a token, or needs none. */
bool principals_may_enter(const struct principals *p, const struct principal *principal);

/* principals_find(p, authorization): whose request it is, by the header's value, which may be NULL; NULL:
 * nobody's. */
struct principal *principals_find(struct principals *p, const char *authorization);

#endif
