/*
 * The images of suspended sessions. They are in a directory of this server's own, which it removes when it
 * exits. If the server is killed, the next one removes it.
 */
#ifndef SESSION_SLEEP_STORE_H
#define SESSION_SLEEP_STORE_H

#include <time.h>

#include "base/errors.h"

struct sleep_store;

/* sleep_store_new(parent): ${parent} is copied; NULL: the directory for temporary files. Nothing is
 * created before it is needed. sleep_store_free(d): removes the directory and all in it. */
struct sleep_store *sleep_store_new(const char *parent);
void sleep_store_free(struct sleep_store *d);

/* sleep_store_prepare(d, err): a path for one more image; given. NULL with ${err} set. */
char *sleep_store_prepare(struct sleep_store *d, struct err *err);

/* The image of one session. */
struct sleep_image {
    char *path;            /* NULL: none */
    char *directory;       /* the working directory of its process; NULL: unknown */
    struct timespec since; /* when it was suspended; kept when the image is dropped */
};

/* sleep_image_drop(i): remove the file: the session was resumed, or never will be. */
void sleep_image_drop(struct sleep_image *i);

#endif
