/*
 * The server as a resource server of OAuth 2.1, as MCP has it: which access tokens it accepts, and what it
 * tells clients about where to get one (RFC 9728). It never talks to the issuer, whose keys it reads from a
 * file.
 */
#ifndef HTTP_ACCESS_TOKENS_H
#define HTTP_ACCESS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/errors.h"

struct access_tokens;

/* All are borrowed. */
struct access_tokens_options {
    const char *issuer;    /* a URL: what "iss" must be; NULL: no access tokens are accepted */
    const char *audience;  /* a URL: what "aud" must be or contain */
    const char *keys_file; /* a JWKS; read again whenever it has changed */
    const char *user;      /* the claim that names the user */
};

/* access_tokens_new(options, err): given, with the keys read; NULL with ${err} set. access_tokens_free(a):
 * NULL does nothing. */
struct access_tokens *access_tokens_new(const struct access_tokens_options *options, struct err *err);
void access_tokens_free(struct access_tokens *a);

/* access_tokens_reload(a): read the keys again, and log that. If the file has an error, they stay as they
 * are. */
void access_tokens_reload(struct access_tokens *a);

/*
 * access_tokens_check(a, token, at, &user, &why):
 *
 * at          the time for which the token must be valid; a minute is allowed for clocks that differ
 * user        set to what it calls its user; given (free() it)
 * why         set to the reason if the token is not accepted; static
 * Returns     whether the issuer has made it for a user of this server
 */
bool access_tokens_check(struct access_tokens *a, const char *token, time_t at, char **user,
                         const char **why);

/* access_tokens_claim(options, payload, len, at, &user, &why): the same for what a token says, once its
 * signature is verified (RFC 7519, RFC 9068). Pure; accepts any bytes. */
bool access_tokens_claim(const struct access_tokens_options *options, const char *payload, size_t len,
                         time_t at, char **user, const char **why);

/* access_tokens_challenge(a, is_wrong): the value of WWW-Authenticate for a request without a token, or with
 * a wrong one. access_tokens_metadata(a, path): the document at this path; NULL: it has none. Both borrowed.
 */
const char *access_tokens_challenge(const struct access_tokens *a, bool is_wrong);
const char *access_tokens_metadata(const struct access_tokens *a, const char *path);

#endif
