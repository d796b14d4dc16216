/*
 * Responsible for everything written to stderr, except the message of a failed CHECK (check.c). Never blocks:
 * poll(2) reports a pipe writable only when a whole page is free in it, and a line is shorter than a page.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"

#define LINE_MAX_LEN 4000 /* with the newline; below PIPE_BUF, so that lines are not torn */

/* A repeating fault must not fill a disk: lines beyond this rate are dropped and counted. */
#define BURST_LINES 1000
#define LINES_PER_SECOND 100

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};
_Static_assert(sizeof level_names / sizeof *level_names == LOG_LEVEL_COUNT, "each level has a name");

static enum log_level current_level = LOG_LEVEL_WARNING;
static unsigned long dropped_lines; /* since the last line written */
static struct list listeners = {&listeners, &listeners};
static unsigned allowance = BURST_LINES; /* lines that may be written now */
static time_t allowance_renewed_at;      /* monotonic seconds */

/* Take one line from the budget; false if it is used up. */
static bool take_allowance(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    time_t seconds = now.tv_sec - allowance_renewed_at;
    allowance_renewed_at = now.tv_sec;
    if (seconds >= BURST_LINES / LINES_PER_SECOND)
        allowance = BURST_LINES;
    else if (allowance + (unsigned)seconds * LINES_PER_SECOND < BURST_LINES)
        allowance += (unsigned)seconds * LINES_PER_SECOND;
    else
        allowance = BURST_LINES;
    if (allowance == 0)
        return false;
    allowance--;
    return true;
}

void log_add_listener(struct log_listener *l)
{
    list_init(&l->node);
    list_append(&listeners, &l->node);
}

void log_remove_listener(struct log_listener *l)
{
    list_remove(&l->node);
}

void log_set_level(enum log_level level)
{
    current_level = level;
}

int log_level_parse(const char *name)
{
    for (size_t i = 0; i < LOG_LEVEL_COUNT; i++)
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

/* How many bytes of a buffer of ${room} bytes a snprintf() that returned ${formatted} has filled. */
static size_t filled(int formatted, size_t room)
{
    if (formatted < 0)
        return 0;
    return (size_t)formatted < room ? (size_t)formatted : room - 1;
}

/* Make ${text} safe for one line of the log: whole characters, no control characters. Returns its length. */
static size_t clean(char *text, size_t len, size_t most)
{
    len = utf8_floor(text, len, len < most ? len : most);
    utf8_mask(text, len);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    return len;
}

static void write_line(const char *kind, const char *message, size_t message_len)
{
    if (!is_stderr_writable()) {
        dropped_lines++;
        return;
    }
    char text[LINE_MAX_LEN + 8];
    size_t len = filled(snprintf(text, sizeof text, "cl-mcp-server: %s: ", kind), sizeof text);
    if (dropped_lines > 0)
        len += filled(snprintf(text + len, sizeof text - len, "(%lu lines before this one were dropped) ",
                               dropped_lines),
                      sizeof text - len);
    if (message_len > sizeof text - len)
        message_len = sizeof text - len;
    memcpy(text + len, message, message_len);
    len = clean(text, len + message_len, LINE_MAX_LEN - 1);
    text[len++] = '\n';
    if (write(STDERR_FILENO, text, len) == (ssize_t)len)
        dropped_lines = 0;
    else
        dropped_lines++;
}

static bool has_listener(enum log_level level)
{
    list_each(struct log_listener, l, &listeners, node)
        if (level <= l->level)
            return true;
    return false;
}

static void tell(enum log_level level, const char *text, size_t len)
{
    list_each(struct log_listener, l, &listeners, node)
        if (level <= l->level)
            l->on_line(l->arg, level, text, len);
}

void log_line(enum log_level level, const char *format, ...)
{
    int saved_errno = errno; /* for %m, and for the caller */
    CHECK((unsigned)level < LOG_LEVEL_COUNT);
    if (level > current_level && !has_listener(level))
        return;
    va_list arguments;
    va_start(arguments, format);
    /* Longer than a line may be, so that the cut can see a character that crosses it. */
    char message[LINE_MAX_LEN + 8];
    size_t len = filled(vsnprintf(message, sizeof message, format, arguments), sizeof message);
    va_end(arguments);
    if (!take_allowance()) {
        dropped_lines++;
        errno = saved_errno;
        return;
    }
    if (level <= current_level)
        write_line(level_names[level], message, len);
    tell(level, message, clean(message, len, LINE_MAX_LEN - 1));
    errno = saved_errno;
}

void log_status(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char message[LINE_MAX_LEN + 8];
    int formatted = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    write_line("status", message, filled(formatted, sizeof message));
}
