/*
 * The users of the server over HTTP. Each principal has its own sessions, which others can neither see
 * nor name. A request says whose it is by a token, or a proxy says it in a header. If the server asks for
 * neither, there is one principal: everybody who can connect.
 */
#ifndef HTTP_PRINCIPALS_H
#define HTTP_PRINCIPALS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/errors.h"
#include "base/list.h"
#include "http/access_tokens.h"
#include "http/networks.h"
#include "http/tokens.h"

/* The longest name of a principal; it is also the name of a folder. */
#define PRINCIPAL_MOST_NAME 200
#define PRINCIPALS_MOST 10000

struct client;
struct toolbox;

struct principal {
    struct list node;
    char *name;               /* "" for anybody */
    struct toolbox *toolbox;  /* borrowed; NULL until it is first needed */
    struct client *stateless; /* for requests of 2026-07-28; NULL until there is one */
    struct list sessions;     /* by Mcp-Session-Id */
    size_t session_count;
    size_t body_bytes;    /* of its requests being read */
    size_t answer_bytes;  /* of its answers and events that are not read */
    unsigned connections; /* those whose latest request was its own */
};

struct principals_options {
    const char *token_file;        /* borrowed, like the next two; NULL: no tokens */
    const char *trust_header;      /* the header in which a proxy names the user; NULL: none */
    const char *const *trust_from; /* networks of such proxies, NULL-terminated, or NULL */
    struct access_tokens_options access_tokens;
};

struct principals {
    struct principals_options options;
    struct tokens tokens;
    struct access_tokens *access_tokens; /* owned; NULL: none are accepted */
    struct network *trusted;             /* owned */
    size_t trusted_count;
    struct list all;
};

/*
 * principals_init(p, options, err): ready to tell whose a request is. principals_fini(p): free what ${p}
 * holds.
 *
 * Errors      ERR_INVALID, ERR_START
 */
bool principals_init(struct principals *p, const struct principals_options *options, struct err *err);
void principals_fini(struct principals *p);

/* principals_reload(p): read the files again, and log that. If one has an error, what it said before remains.
 * A principal that has lost its tokens remains, but no request can authenticate as it. */
void principals_reload(struct principals *p);

/* principals_are_anybody(p): a request needs not say whose it is. principals_trust_this_machine(p): programs
 * of this machine may connect to an Internet address of it and name any user. */
bool principals_are_anybody(const struct principals *p);
bool principals_trust_this_machine(const struct principals *p);

/* What a request says about whose it is. */
struct credentials {
    const char *authorization;   /* the value of that header; NULL: it was not sent */
    const char *user;            /* the value of the trusted header; NULL: it was not sent */
    const struct sockaddr *from; /* the address of the client; NULL: it came over a Unix socket */
    time_t at;                   /* when the request came */
};

/* Why a request is nobody's. */
struct refusal {
    unsigned status;
    const char *message;   /* static */
    const char *challenge; /* the value of WWW-Authenticate; borrowed from the principals */
};

/* principals_find(p, credentials, refusal): the principal of a request, made on its first. NULL: none, and
 * ${refusal} is set. */
struct principal *principals_find(struct principals *p, const struct credentials *credentials,
                                  struct refusal *refusal);

/*
 * principal_name(user, name):
 * Write the name of the principal for what a proxy calls its user. Letters, digits, and . _ - @ + stand for
 * themselves, except a leading dot; every other byte becomes %XX. So names differ if users do, and each can
 * be the name of a folder.
 *
 * Returns     false: ${user} is empty, or the name would be longer than PRINCIPAL_MOST_NAME
 */
bool principal_name(const char *user, char name[PRINCIPAL_MOST_NAME + 1]);

#endif
