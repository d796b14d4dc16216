/*
 * Signed tokens in compact form (JWS, RFC 7515) and the public keys of those who sign them (JWKS, RFC 7517).
 * Accepts any text.
 *
 * Only the kinds of signatures in one table exist, RS256, ES256 and EdDSA with Ed25519, all of them with
 * public keys. So a token cannot choose "none", or have a public key taken for the secret of an HMAC. Keys
 * that a token brings along or refers to are never looked at.
 */
#ifndef HTTP_JOSE_H
#define HTTP_JOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

#define JOSE_MOST_KEYS 64

struct jose_keys;
struct strbuf;

/*
 * jose_keys_new(err): no keys yet. GnuTLS is loaded, which verifies; libmicrohttpd is linked with it, so that
 * it is there wherever HTTP works. jose_keys_free(k): NULL does nothing.
 *
 * Returns     given; NULL with ${err} set
 */
struct jose_keys *jose_keys_new(struct err *err);
void jose_keys_free(struct jose_keys *k);

/*
 * jose_keys_set(k, text, len, err):
 * Replace the keys by those of a JWKS that can verify one of the kinds; others, such as keys for encryption,
 * are left out.
 *
 * Errors      ERR_INVALID, also if no key is left or more than JOSE_MOST_KEYS; the keys stay as they were
 */
bool jose_keys_set(struct jose_keys *k, const char *text, size_t len, struct err *err);

/*
 * jose_verify(k, token, payload):
 *
 * payload     what the token says is appended
 * Returns     whether ${token} has a signature of one of the keys: the one that it names, if it names one
 */
bool jose_verify(const struct jose_keys *k, const char *token, struct strbuf *payload);

#endif
