/*
 * Recognizes what SBCL's runtime and the C library print when they end a process.
 */
#ifndef LISP_LAST_WORDS_H
#define LISP_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* last_words_name_heap(text), last_words_name_stack(text): the process ended because its heap, or a stack,
 * was exhausted. last_words_are_fatal(text): SBCL's runtime ended it. last_words_show_damage(text): SBCL
 * or the C library found its heap damaged; the program's own abort() does not count. */
bool last_words_name_heap(const char *text);
bool last_words_name_stack(const char *text);
bool last_words_are_fatal(const char *text);
bool last_words_show_damage(const char *text);

/* last_words_frames(text): where SBCL's own backtrace begins; borrowed; NULL if there is none.
 * last_words_next_frame(text, name, len): the name of the next frame, and where to continue; NULL at the
 * end. */
const char *last_words_frames(const char *text);
const char *last_words_next_frame(const char *text, const char **name, size_t *len);

#endif
