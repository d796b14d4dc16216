/*
 * Responsible for everything that goes to stderr while the program is well (its last words are check.c's).
 * Never blocks: poll(2) calls a pipe writable when a whole page is free in it, and a line is shorter than
 * that.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"

#define LINE_MAX_LEN 4000 /* with the newline; below PIPE_BUF, so that lines are not torn */

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};
#define LEVEL_COUNT (sizeof level_names / sizeof *level_names)

static enum log_level current_level = LOG_LEVEL_WARNING;
static unsigned long dropped_lines; /* since the last line that was written */

void log_set_level(enum log_level level)
{
    current_level = level;
}

int log_level_parse(const char *name)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        if (strcmp(name, level_names[i]) == 0)
            return (int)i;
    return -1;
}

static bool is_stderr_writable(void)
{
    struct pollfd stderr_poll = {.fd = STDERR_FILENO, .events = POLLOUT};

    /* POLLERR: the reader is gone, and writing would raise SIGPIPE. */
    return poll(&stderr_poll, 1, 0) == 1 && stderr_poll.revents == POLLOUT;
}

/* How much of a buffer of ${room} bytes a call of snprintf that returned ${formatted} has filled. */
static size_t filled(int formatted, size_t room)
{
    if (formatted < 0)
        return 0;
    return (size_t)formatted < room ? (size_t)formatted : room - 1;
}

void log_line(enum log_level level, const char *format, ...)
{
    /* More than is written, so that a character that crosses the cut can be seen. */
    char text[LINE_MAX_LEN + 8];
    int saved_errno = errno;
    va_list arguments;
    size_t len;

    CHECK((unsigned)level < LEVEL_COUNT);
    if (level > current_level)
        return;
    if (!is_stderr_writable()) {
        dropped_lines++;
        errno = saved_errno;
        return;
    }
    len = filled(snprintf(text, sizeof text, "cl-mcp-server: %s: ", level_names[level]), sizeof text);
    if (dropped_lines > 0)
        len += filled(snprintf(text + len, sizeof text - len, "(%lu lines before this one were dropped) ",
                               dropped_lines),
                      sizeof text - len);
    errno = saved_errno; /* for %m */
    va_start(arguments, format);
    len += filled(vsnprintf(text + len, sizeof text - len, format, arguments), sizeof text - len);
    va_end(arguments);
    len = utf8_floor(text, len, len < LINE_MAX_LEN - 1 ? len : LINE_MAX_LEN - 1);
    utf8_mask(text, len);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    text[len++] = '\n';
    if (write(STDERR_FILENO, text, len) == (ssize_t)len)
        dropped_lines = 0;
    else
        dropped_lines++;
    errno = saved_errno;
}
