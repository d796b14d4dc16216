/*
 * Removing a directory that the processes of a hostile program may still be changing.
 */
#ifndef BASE_REMOVE_TREE_H
#define BASE_REMOVE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/*
 * remove_tree(path):
 * Remove the directory and all that is in it, however deep. No symbolic link is followed, also none that
 * takes the place of a directory meanwhile. What the user may not remove stays.
 *
 * path        borrowed; no other user and no hostile program can replace the directories above its last
 * component
 */
void remove_tree(const char *path);

/*
 * remove_files(path, given_len, most, is_meant, arg):
 * Remove the files and links in the directory, but none below it, that ${is_meant} accepts. It should accept
 * only names that the server gives.
 *
 * given_len   the length of the part of ${path} that the user has named; no link is followed after it
 * most        the number of entries that are looked at
 * is_meant    called with ${arg}, the open directory and each name
 * Returns     false with errno set if the directory cannot be read, among others because there is a link
 */
typedef bool remove_choice(void *arg, int directory, const char *name);
bool remove_files(const char *path, size_t given_len, unsigned long most, remove_choice *is_meant, void *arg);

/*
 * remove_old_files(path, given_len, pattern, before):
 * The same for the names that match a pattern (fnmatch(3)), if they were last changed before that time.
 */
void remove_old_files(const char *path, size_t given_len, const char *pattern, time_t before);

#endif
