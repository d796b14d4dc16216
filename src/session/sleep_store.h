/*
 * Where the images of suspended sessions are kept: a directory of this server's own, which it removes when it
 * ends. The next server removes what a killed one left.
 */
#ifndef SESSION_SLEEP_STORE_H
#define SESSION_SLEEP_STORE_H

#include <time.h>

#include "base/errors.h"

struct sleep_store;

/* sleep_store_new(parent): ${parent} is copied; NULL: the directory for temporary files. Nothing is made
 * before it is needed. sleep_store_free(d): removes the directory and all in it. */
struct sleep_store *sleep_store_new(const char *parent);
void sleep_store_free(struct sleep_store *d);

/* sleep_store_prepare(d, err): a path for one more image; given. NULL with ${err} set. */
char *sleep_store_prepare(struct sleep_store *d, struct err *err);

/* The image of one session. */
struct sleep_image {
    char *path;            /* NULL: there is none */
    char *directory;       /* where its process worked; NULL: unknown */
    struct timespec since; /* when it was suspended; stays when the image is dropped */
};

/* sleep_image_drop(i): remove the file: the session is awake, or will never be. */
void sleep_image_drop(struct sleep_image *i);

#endif
