/*
 * As it ends, SBCL prints the reason on descriptor 2 ("fatal error encountered in SBCL",
 * src/runtime/interr.c) and the frames on descriptor 1, as lines "   3: fp=0x7f33 pc=0x5349 (LABELS
 * CL-USER::F ...)" (src/runtime/backtrace.c). glibc names the damage that it finds in its heap
 * (malloc/malloc.c).
 */
#include "lisp/last_words.h"

#include <string.h>

static bool has_any(const char *text, const char *const *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, marks[i]) != NULL)
            return true;
    return false;
}

bool last_words_name_heap(const char *text)
{
    static const char *const marks[] = {"Heap exhausted", "heap exhausted", "Binding stack exhausted",
                                        "Alien stack exhausted", "out of memory"};
    return has_any(text, marks, sizeof marks / sizeof marks[0]);
}

bool last_words_name_stack(const char *text)
{
    return strstr(text, "Control stack exhausted") != NULL;
}

bool last_words_are_fatal(const char *text)
{
    return strstr(text, "fatal error encountered in SBCL") != NULL;
}

bool last_words_show_damage(const char *text)
{
    static const char *const marks[] = {"malloc()",  "free()",      "realloc()",      "munmap_chunk()",
                                        "corrupted", "double free", "invalid pointer"};
    bool is_abort = strstr(text, "SIGABRT received") != NULL;
    return (last_words_are_fatal(text) && !is_abort) || has_any(text, marks, sizeof marks / sizeof marks[0]);
}

const char *last_words_frames(const char *text)
{
    return strstr(text, "   0: fp=0x");
}

const char *last_words_next_frame(const char *text, const char **name, size_t *len)
{
    const char *pc = strstr(text, ": fp=0x");
    if (pc == NULL)
        return NULL;
    size_t line = strcspn(pc, "\n");
    const char *at = memmem(pc, line, " pc=0x", 6);
    *name = pc + line;
    if (at != NULL) {
        at += 6;
        at += strspn(at, "0123456789abcdefABCDEF");
        at += strspn(at, " ");
        *name = at < pc + line ? at : pc + line;
    }
    *len = (size_t)(pc + line - *name);
    return pc + line;
}
