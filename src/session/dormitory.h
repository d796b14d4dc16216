/*
 * Where the images of sleeping sessions lie: a directory of this server's own, which goes with the server.
 * What a server that was killed has left there is removed by the next one.
 */
#ifndef SESSION_DORMITORY_H
#define SESSION_DORMITORY_H

#include "base/errors.h"

struct dormitory;

/* dormitory_new(parent): ${parent} is copied; NULL: the directory for temporary files. Nothing is made before
 * it is needed. dormitory_free(d): removes the directory and all in it. */
struct dormitory *dormitory_new(const char *parent);
void dormitory_free(struct dormitory *d);

/* dormitory_prepare(d, err): a path for one more image; given. NULL with ${err} set. */
char *dormitory_prepare(struct dormitory *d, struct err *err);

#endif
