/*
 * Sections of a report: a heading, text, one blank line between two sections. Private to this folder.
 */
#ifndef REPORT_SECTION_H
#define REPORT_SECTION_H

#include <stdbool.h>
#include <stddef.h>

struct sexp;
struct strbuf;

/* section_begin(out, heading): append a blank line unless ${out} is empty, and the heading (NULL for none) on
 * a separate line. */
void section_begin(struct strbuf *out, const char *heading);

/* section_end(out): remove the newline at the end. */
void section_end(struct strbuf *out);

/* section_add_first_line(out, text, len, most): at most ${most} bytes of it, and " ..." if that is not all.
 */
void section_add_first_line(struct strbuf *out, const char *text, size_t len, size_t most);

/* section_add_place(out, place): a file, with the directory of the machine's libraries as "…". */
void section_add_place(struct strbuf *out, const struct sexp *place);

/* section_add_frame(out, index, frame): "0: (FOO 1) at FILE:LINE" without a newline. */
void section_add_frame(struct strbuf *out, size_t index, const struct sexp *frame);

/* section_add_stack(out, frames, from, end, number, locals): those frames, the first one under that number,
 * each on a new line; ${locals}: with their variables and the parts of their code that they are at. */
void section_add_stack(struct strbuf *out, const struct sexp *frames, size_t from, size_t end, size_t number,
                       bool locals);

#endif
