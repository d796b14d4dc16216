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
    char secret[TOKEN_MOST_BYTES]; /* ends with a NUL */
};

struct tokens {
    struct token *items; /* owned */
    size_t count;
};

/*
 * tokens_parse(t, text, len, err): parse the text of such a file. tokens_read(t, path, err): read the
 * file, which only its owner may be able to read.
 *
 * Errors      ERR_INVALID; the message names the line, never its text
 */
bool tokens_parse(struct tokens *t, const char *text, size_t len, struct err *err);
bool tokens_read(struct tokens *t, const char *path, struct err *err);

/* tokens_fini(t): wipe the secrets and free the rest. */
void tokens_fini(struct tokens *t);

/*
 * tokens_find(t, given): the token that equals ${given}; NULL if there is none. The time does not depend on
 * how much of ${given} is right.
 */
const struct token *tokens_find(const struct tokens *t, const char *given);

#endif
