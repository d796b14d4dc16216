/*
 * Sections of a reply: a heading, text, one blank line between two sections.
 */
#ifndef REPORT_SECTION_H
#define REPORT_SECTION_H

#include <stdbool.h>
#include <stddef.h>

struct sexp;
struct strbuf;

/* All headings that a reply can have, with what ends each. */
/* clang-format off */
#define HEADINGS(X) \
    X(BACKGROUND_ERRORS, "[Background errors]\n")  X(BACKTRACE, "[Backtrace]\n")        \
    X(BETWEEN, "[output between calls]\n")         X(CLASSES, "[Classes]\n")            \
    X(COMPILER_MACROS, "[Compiler Macros]\n")      X(COMPILER_WARNINGS, "[Warnings]\n") \
    X(ERROR, "[ERROR] ")                           X(ERRORS, "[Errors]\n")              \
    X(FUNCTIONS, "[Functions]\n")                  X(HINT, "[Hint]\n")                  \
    X(LOADED_SYSTEMS, "[Loaded Systems]\n")        X(MACROS, "[Macros]\n")              \
    X(METHODS, "[Methods]\n")                      X(NOTES, "[Notes]\n")                \
    X(OTHER_CLIENTS, "[Other clients]\n")          X(PACKAGES, "[Packages]\n")          \
    X(PERSON, "[From the person]\n")               X(RESTARTS, "[Restarts]\n")          \
    X(RESULT, "Result:\n")                         X(SESSION, "[Session]\n")            \
    X(SETF_EXPANDERS, "[Setf Expanders]\n")        X(SLOTS, "[Slots]\n")                \
    X(STDERR, "[stderr]\n")                        X(STDOUT, "[stdout]\n")              \
    X(STYLE_WARNINGS, "[Style warnings]\n")        X(SYNTAX, "[Syntax]\n")              \
    X(TIMING, "Timing:\n")                         X(TYPES, "[Types]\n")                \
    X(USER_TOOLS, "[User Tools]\n")                X(VARIABLES, "[Variables]\n")        \
    X(WARNINGS, "[warnings]\n")
/* clang-format on */

#define HEADING_NAME(name, text) HEADING_##name,
enum heading { HEADING_NONE, HEADINGS(HEADING_NAME) HEADING_COUNT };
#undef HEADING_NAME

/* section_heading(heading): its text, with what ends it; constant. */
const char *section_heading(enum heading heading);

/* section_begin(out, heading): mark the text in ${out} as section_mark() does, then append a blank line
 * unless it is empty, and the heading. */
void section_begin(struct strbuf *out, enum heading heading);

/*
 * section_mark(out):
 * Put "| " before each heading that begins a line and was not written by section_begin(): the text is the
 * program's, and the reader would take it for a section. A line begins after each character that Unicode, a
 * terminal or a language calls the end of one, and after an escape sequence. Blanks and characters without a
 * shape hide no heading, nor do the case of its letters, letters of another alphabet or other brackets. Every
 * text for a client goes through this once. The text must not be moved from one buffer to another before,
 * except by section_add_marked().
 */
void section_mark(struct strbuf *out);

/* section_add_line(out, beginning): append "=> " or another beginning of a line about values, after marking
 * the text in ${out}, in which nothing may look like one either. "" only marks. */
void section_add_line(struct strbuf *out, const char *beginning);

/* section_add_marked(out, text): append ${text}, which was marked; its headings remain. */
void section_add_marked(struct strbuf *out, const struct strbuf *text);

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
