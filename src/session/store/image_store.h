/*
 * The images of suspended sessions. They are in a directory of this server's own, which it removes when it
 * exits. If the server is killed, the next one removes it.
 */
#ifndef SESSION_STORE_IMAGE_STORE_H
#define SESSION_STORE_IMAGE_STORE_H

#include <time.h>

#include "base/errors.h"

struct image_store;

/* image_store_new(parent): ${parent} is copied; NULL: the directory for temporary files. Nothing is
 * created before it is needed. image_store_free(d): removes the directory and all in it. */
struct image_store *image_store_new(const char *parent);
void image_store_free(struct image_store *d);

/* image_store_prepare(d, err): a path for one more image; given. NULL with ${err} set. */
char *image_store_prepare(struct image_store *d, struct err *err);

/* The image of one session. */
struct stored_image {
    char *path;            /* NULL: none */
    char *directory;       /* the working directory of its process; NULL: unknown */
    struct timespec since; /* when it was suspended; kept when the image is dropped */
};

/* stored_image_drop(i): remove the file: the session was resumed, or never will be. */
void stored_image_drop(struct stored_image *i);

#endif
