/*
 * What replies show of an output that was captured.
 */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct capture;
struct strbuf;

/*
 * output_show(c, out, most, ref):
 * Append the output as valid UTF-8, and as readers get it: all of it if that has at most ${most} bytes,
 * otherwise head and tail with a line between them that reports how much was left out and names ${ref}. Cuts
 * between characters, and between lines if a line end is near. The last line names ${ref} if readers do not
 * get the bytes that were printed.
 *
 * Returns     true if ${ref} was named
 */
bool output_show(const struct capture *c, struct strbuf *out, size_t most, int ref);

#endif
