/*
 * The lines of a text that a reader takes for the headings of a reply, for tests that compare a reply to text
 * with headings in it with the reply to the same text without them.
 */
#ifndef TESTS_HEADING_LINES_H
#define TESTS_HEADING_LINES_H

#include <string.h>

#include "base/strbuf.h"
#include "report/section.h"

/* heading_lines_add(out, text, len): append the headings at the beginning of each line. */
static inline void heading_lines_add(struct strbuf *out, const char *text, size_t len)
{
#define HEADING_WORDS(name, words) words,
    static const char *const headings[] = {HEADINGS(HEADING_WORDS)};
#undef HEADING_WORDS
    static const char *const ends[] = {"\n",   "\r",   "\v",       "\f",           "\x1c",
                                       "\x1d", "\x1e", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t at = 0; at < len; at++) {
        bool begins = at == 0;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            size_t end_len = strlen(ends[i]);
            begins = begins || (at >= end_len && memcmp(text + at - end_len, ends[i], end_len) == 0);
        }
        for (size_t i = 0; begins && text[at] == '[' && i < sizeof headings / sizeof *headings; i++) {
            size_t words = strcspn(headings[i], "]") + 1;
            if (words <= len - at && memcmp(text + at, headings[i], words) == 0)
                strbuf_add(out, headings[i], words);
        }
    }
}

#endif
