/*
 * Files and directories that the server keeps in a directory that its user has named: the path to that one
 * may contain links, what the server makes below it never does. A link that somebody has planted there leads
 * nowhere.
 */
#ifndef BASE_OWN_PATH_H
#define BASE_OWN_PATH_H

#include <stddef.h>
#include <stdint.h>

/*
 * own_path_open(path, given_len, flags):
 * Open a file or a directory, without waiting for a pipe's other end.
 *
 * given_len   the length of the part of ${path} that the user has named; no link is followed after it
 * flags       as for open(2); what O_CREAT makes is the user's alone
 * Returns     a descriptor, given; -1 with errno set, which is ELOOP if there is a link
 */
int own_path_open(const char *path, size_t given_len, int flags);

/*
 * open_beneath(top, inner, flags, resolve):
 * Open what ${inner} leads to from the directory ${top}, and never leave that.
 *
 * flags       as for open(2); what O_CREAT makes is the user's alone
 * resolve     as for openat2(2), besides RESOLVE_BENEATH
 * Returns     a descriptor, given; -1 with errno set
 */
int open_beneath(const char *top, const char *inner, int flags, uint64_t resolve);

/* own_path_remove(path, given_len): remove the file or link at its end, if it can be reached so. */
void own_path_remove(const char *path, size_t given_len);

#endif
