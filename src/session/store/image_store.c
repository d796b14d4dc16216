/*
 * The directory of images, made when the first session is suspended.
 */
#include "session/store/image_store.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/own_directory.h"
#include "base/strbuf.h"

struct image_store {
    char *parent;
    char *path; /* NULL: not created yet */
    int lock;   /* descriptor of the directory; -1 */
    unsigned long made;
};

struct image_store *image_store_new(const char *parent)
{
    struct image_store *d = xcalloc(1, sizeof *d);
    const char *temporary = getenv("TMPDIR");
    d->parent = xstrdup(parent != NULL                             ? parent
                        : temporary != NULL && temporary[0] == '/' ? temporary
                                                                   : "/tmp");
    d->lock = -1;
    return d;
}

char *image_store_prepare(struct image_store *d, struct err *err)
{
    if (d->path == NULL) {
        mkdir(d->parent, 0700);
        d->path = own_directory_make(d->parent, "cl-mcp-suspended-", &d->lock, err);
        if (d->path == NULL)
            return NULL;
    }
    return strbuf_format("%s/%lu.core", d->path, ++d->made);
}

void image_store_free(struct image_store *d)
{
    if (d == NULL)
        return;
    own_directory_remove(d->path, d->lock);
    free(d->parent);
    free(d);
}

void stored_image_drop(struct stored_image *i)
{
    if (i->path != NULL)
        unlink(i->path);
    free(i->path);
    free(i->directory);
    i->path = i->directory = NULL;
}
