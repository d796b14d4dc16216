/*
 * Where the images of suspended sessions are kept: a directory of this server's own, which it removes when it
 * ends. The next server removes what a killed one left.
 */
#ifndef SESSION_SLEEP_STORE_H
#define SESSION_SLEEP_STORE_H

#include "base/errors.h"

struct sleep_store;

/* sleep_store_new(parent): ${parent} is copied; NULL: the directory for temporary files. Nothing is made
 * before it is needed. sleep_store_free(d): removes the directory and all in it. */
struct sleep_store *sleep_store_new(const char *parent);
void sleep_store_free(struct sleep_store *d);

/* sleep_store_prepare(d, err): a path for one more image; given. NULL with ${err} set. */
char *sleep_store_prepare(struct sleep_store *d, struct err *err);

#endif
