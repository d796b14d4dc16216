/*
 * One regular file: read whole up to a limit, and replaced atomically.
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
    char *path;         /* as passed; owned */
    const char *name;   /* its last component, in ${path} */
    struct stat status; /* when it was read */
    struct strbuf text;
};

/*
 * regular_file_read(file, path, limit, err):
 * Read the whole file at ${path}. A symbolic link is followed; a folder, device, socket or pipe is refused
 * without waiting for it.
 *
 * file        filled in; needs regular_file_fini(), also after a failure
 * path        borrowed; relative to the current directory or absolute
 * limit       bytes
 * Errors      ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_INVALID (not a regular file), ERR_SYSTEM
 */
bool regular_file_read(struct regular_file *file, const char *path, size_t limit, struct err *err);

/*
 * regular_file_read_beneath(file, root, path, limit, err):
 * The same for a file in the folder ${root} or below it: neither `..` nor a symbolic link can lead
 * out of it, and the file itself must not be a link.
 *
 * root        borrowed; a folder
 * path        borrowed; relative to ${root}, or absolute
 * Errors      also ERR_INVALID (not in the folder)
 * Source      openat2(2), RESOLVE_BENEATH
 */
bool regular_file_read_beneath(struct regular_file *file, const char *root, const char *path, size_t limit,
                               struct err *err);

/*
 * regular_file_replace(file, bytes, len, err):
 * Replace the file that was read: write ${bytes} to a new file in the same folder, with the same mode,
 * owner and group, sync it and rename it over the old one. Readers see the old text or the new text.
 *
 * Fails without writing if the path is a symbolic link, if the file has more than one hard link (renaming
 * would separate them), or if it was changed or replaced since it was read. Extended attributes and access
 * control lists are not copied.
 *
 * Errors      ERR_INVALID, ERR_SYSTEM; the old file is then unchanged and no other is left behind
 */
bool regular_file_replace(const struct regular_file *file, const char *bytes, size_t len, struct err *err);

/*
 * regular_file_create(path, mode, bytes, len, err):
 * Create a file that does not exist yet. It is complete as soon as it is visible.
 *
 * mode        before the umask is applied
 * Errors      ERR_NOT_FOUND (no such folder), ERR_SYSTEM (among others, if it exists)
 */
bool regular_file_create(const char *path, mode_t mode, const char *bytes, size_t len, struct err *err);

/*
 * regular_file_write(path, bytes, len, err):
 * Write a file for this user alone, in place of what it contained: for files that no one reads yet, because
 * their names are temporary or their reader starts later.
 *
 * Errors      ERR_SYSTEM (among others, if it is a symbolic link); part of the file may then be written
 */
bool regular_file_write(const char *path, const void *bytes, size_t len, struct err *err);

void regular_file_fini(struct regular_file *file);

#endif
