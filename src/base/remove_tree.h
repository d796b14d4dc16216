/*
 * Removing a directory that the processes of a hostile program may still be changing.
 */
#ifndef BASE_REMOVE_TREE_H
#define BASE_REMOVE_TREE_H

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
 * remove_old_files(path, pattern, before):
 * Remove the files and links in the directory, but none below it, that were last changed before that time.
 *
 * path        as above
 * pattern     of their names; "*" for all. Source: fnmatch(3)
 */
void remove_old_files(const char *path, const char *pattern, time_t before);

#endif
