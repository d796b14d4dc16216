/*
 * The checks of a request before its body is read: a table, in the order in which they run.
 */
#ifndef HTTP_CHECKS_H
#define HTTP_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

struct exchange;
struct http_file;
struct principal;
struct principals;
struct refusal;

struct check_rules {
    const char *const *allowed_hosts;   /* NULL-terminated, or NULL; in addition to loopback names */
    const char *const *allowed_origins; /* the same */
    const char *const *cors_origins;    /* pages of these origins may also read answers */
    struct principals *principals;
    const struct http_file *files; /* anybody may read them, "index.html" as /: a page that asks for its token
                                      itself; borrowed; NULL: none */
    size_t file_count;
    bool is_ending;
    /* whom a server that is not one of MCP admits: true with the principal set, or refuse. NULL: this is one
     */
    bool (*admit)(void *arg, struct exchange *e);
    void *arg; /* of ${admit} */
};

/* checks_run(rules, e): run the checks up to the first that fails, which refuses the exchange. Sets the
 * principal and the accepted types in ${e}. */
void checks_run(const struct check_rules *rules, struct exchange *e);

/* checks_principal(rules, e, refusal): whose the request is, as principals_find() has it. */
struct principal *checks_principal(const struct check_rules *rules, struct exchange *e,
                                   struct refusal *refusal);

#endif
