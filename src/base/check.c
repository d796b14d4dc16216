/*
 * Writes the last message of a program that found a bug in itself. Uses neither the log nor the heap,
 * which may be what is broken.
 */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

_Noreturn void check_failed(const char *file, int line, const char *sentence)
{
    char text[512];
    int len = snprintf(text, sizeof text - 1, "cl-mcp-server: bug: %s:%d: this does not hold: %s", file, line,
                       sentence);
    size_t used = len < 0 ? 0 : (size_t)len;
    if (used > sizeof text - 2)
        used = sizeof text - 2;
    text[used++] = '\n';
    /* The program is aborting: no reader is left for a report of a failed write. */
    if (write(STDERR_FILENO, text, used) < 0)
        abort();
    abort();
}
