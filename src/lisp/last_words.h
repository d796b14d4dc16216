/*
 * What SBCL's runtime and the C library print as they end a process.
 */
#ifndef LISP_LAST_WORDS_H
#define LISP_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* last_words_name_heap(text), last_words_name_stack(text): it ended because memory, or a stack, was used up.
 * last_words_are_fatal(text): SBCL's runtime has ended it. last_words_show_damage(text): SBCL or the C
 * library has found its heap damaged; an abort() of the program's own is no sign of that. */
bool last_words_name_heap(const char *text);
bool last_words_name_stack(const char *text);
bool last_words_are_fatal(const char *text);
bool last_words_show_damage(const char *text);

/* last_words_frames(text): where SBCL's own backtrace begins; borrowed; NULL if there is none.
 * last_words_next_frame(text, name, len): the next frame of it: its name, and where the search goes on; NULL
 * at the end. */
const char *last_words_frames(const char *text);
const char *last_words_next_frame(const char *text, const char **name, size_t *len);

#endif
