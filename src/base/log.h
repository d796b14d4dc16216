/*
 * The log: one line per event on stderr. A reader that never reads its pipe must not stop us, so a line that
 * cannot be written at once is dropped. So is what exceeds 1,000 lines at once or 100 a second for long. The
 * next line that is written counts the dropped ones.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

#include "base/list.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_COUNT };

/* log_set_level(level): what is written from now on; starts at LOG_LEVEL_WARNING. This and the listeners are
 * the one piece of process-wide state outside main. */
void log_set_level(enum log_level level);

/* A listener gets lines whether or not they are written. It sets all members except node. */
struct log_listener {
    struct list node;
    enum log_level level; /* less severe lines are not sent to it */
    /* ${text} is borrowed, without the prefix that it has on stderr; valid UTF-8 without control characters.
     * No listener may be added or removed during the call. */
    void (*on_line)(void *arg, enum log_level level, const char *text, size_t len);
    void *arg;
};

/* log_add_listener(l): ${l} is borrowed until log_remove_listener(l), which does nothing for one that was not
 * added. */
void log_add_listener(struct log_listener *l);
void log_remove_listener(struct log_listener *l);

/* log_level_parse(name): the level called error, warning, info or debug; -1 for another word. */
int log_level_parse(const char *name);

/* log_error(format, ...) and so on: write "cl-mcp-server: LEVEL: ..." as one line of at most 4,000 bytes;
 * control characters become '?'. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* log_status(format, ...): write a line that the operator asked for: with "status", whatever the level, and
 * not sent to listeners. */
void log_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
