/*
 * Printed text as a reader needs it, who has no terminal: without escape sequences, each line in its last
 * state, and a line that is repeated only once.
 */
#ifndef BASE_TERMINAL_TEXT_H
#define BASE_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

/*
 * terminal_text_add(out, bytes, len):
 * Append ${bytes} without escape sequences (ECMA-48: CSI, OSC, DCS and the others). Of a line that was
 * overwritten after CR or BS, only the last state is appended, and of a line that follows itself more than
 * twice, only the first with the count. CR LF is a line end and stays. A sequence that no byte of ${bytes}
 * ends is left out; one that is interrupted is appended as it is.
 *
 * Returns     true if something was left out
 */
bool terminal_text_add(struct strbuf *out, const char *bytes, size_t len);

/* terminal_text_floor(bytes, len): ${len}, or the place where a sequence begins that does not end before it.
 */
size_t terminal_text_floor(const char *bytes, size_t len);

#endif
