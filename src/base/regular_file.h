/*
 * One regular file: read whole with a bound, and replaced in one step by other bytes.
 */
#ifndef BASE_REGULAR_FILE_H
#define BASE_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/errors.h"
#include "base/strbuf.h"

struct regular_file {
    int directory;      /* the folder the file is in, -1 when closed */
    char *path;         /* as given; owned */
    const char *name;   /* its last part, in ${path} */
    struct stat status; /* as it was when it was read */
    struct strbuf text;
};

/*
 * regular_file_read(file, path, limit, err):
 * Read the whole file at ${path}. A symbolic link is followed; a folder, device, socket or pipe is refused
 * without waiting for it.
 *
 * file        filled in; regular_file_fini() on it afterwards, also after a failure
 * path        borrowed; relative to the current directory or absolute
 * limit       most bytes
 * Errors      ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_INVALID (not a regular file), ERR_SYSTEM
 */
bool regular_file_read(struct regular_file *file, const char *path, size_t limit, struct err *err);

/*
 * regular_file_read_beneath(file, root, path, limit, err):
 * The same for a file in the folder ${root} or below it, and nowhere else: neither `..` nor a symbolic link
 * leads out of it, and the file itself is no link.
 *
 * root        borrowed; a folder
 * path        borrowed; relative to ${root}, or absolute
 * Errors      and ERR_INVALID (not in the folder)
 * Source      openat2(2), RESOLVE_BENEATH
 */
bool regular_file_read_beneath(struct regular_file *file, const char *root, const char *path, size_t limit,
                               struct err *err);

/*
 * regular_file_replace(file, bytes, len, err):
 * Put ${bytes} in the place of the file that was read: a new file beside it with the same mode, owner and
 * group, synchronised and renamed over it. Readers see the old text or the new text.
 *
 * Nothing is written if the path is a symbolic link, if the file has more than one hard link (they would
 * part), or if it was changed or exchanged since it was read. Extended attributes and access control lists
 * are not copied.
 *
 * Errors      ERR_INVALID, ERR_SYSTEM; the old file is then whole and no other is left behind
 */
bool regular_file_replace(const struct regular_file *file, const char *bytes, size_t len, struct err *err);

/*
 * regular_file_create(path, mode, bytes, len, err):
 * Make a file that does not exist yet, complete from the moment that it is there.
 *
 * mode        without the bits of the umask
 * Errors      ERR_NOT_FOUND (no such folder), ERR_SYSTEM (it exists already, among others)
 */
bool regular_file_create(const char *path, mode_t mode, const char *bytes, size_t len, struct err *err);

void regular_file_fini(struct regular_file *file);

#endif
