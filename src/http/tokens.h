/*
 * The file of bearer tokens. Lines "NAME:TOKEN" or "TOKEN", which is the principal "default"; empty lines and
 * lines that begin with # are skipped. A name may have several tokens, so that one can replace another.
 */
#ifndef HTTP_TOKENS_H
#define HTTP_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"

#define TOKEN_LEAST_BYTES 16
#define TOKEN_MOST_BYTES 256
#define TOKENS_MOST 1000

struct token {
    char name[65];
    char secret[TOKEN_MOST_BYTES]; /* zeros behind it */
};

struct tokens {
    struct token *items; /* owned */
    size_t count;
};

/*
 * tokens_parse(t, text, len, err): take the text of such a file apart.
 * tokens_read(t, path, err): read the file, which must be its owner's alone.
 *
 * Errors      ERR_INVALID; the message names the line, never its text
 */
bool tokens_parse(struct tokens *t, const char *text, size_t len, struct err *err);
bool tokens_read(struct tokens *t, const char *path, struct err *err);

/* tokens_fini(t): the secrets are wiped. */
void tokens_fini(struct tokens *t);

/*
 * tokens_find(t, given): the token that is exactly ${given}; NULL if there is none. Takes the same time
 * whether ${given} is right, almost right or wrong.
 */
const struct token *tokens_find(const struct tokens *t, const char *given);

#endif
