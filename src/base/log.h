/*
 * The log: one line per event on stderr. A reader that does not read its pipe must not block the server,
 * so a line that cannot be written at once is dropped. Lines beyond 1,000 at once or 100 a second are
 * dropped, too. The next line that is written reports how many were dropped.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

#include "base/list.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG, LOG_LEVEL_COUNT };

/* log_set_level(level): write only lines of this severity or worse; the default is LOG_LEVEL_WARNING. The
 * level and the listeners are the only process-wide state outside main. */
void log_set_level(enum log_level level);

/* A listener receives lines whether or not they are written. The caller sets all members except node. */
struct log_listener {
    struct list node;
    enum log_level level; /* less severe lines are not sent to it */
    /* ${text} is borrowed: valid UTF-8 without control characters and without the prefix that stderr
     * shows. The function must not add or remove listeners. */
    void (*on_line)(void *arg, enum log_level level, const char *text, size_t len);
    void *arg;
};

/* log_add_listener(l): ${l} is borrowed until log_remove_listener(l), which does nothing if it was not
 * added. */
void log_add_listener(struct log_listener *l);
void log_remove_listener(struct log_listener *l);

/* log_level_parse(name): the level named error, warning, info or debug; -1 for any other name. */
int log_level_parse(const char *name);

/* log_line(level, format, ...), by log_error(format, ...) and so on: write "cl-mcp-server: LEVEL: ..." as one
 * line of at most 4,000 bytes; control characters become '?'. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* log_status(format, ...): write a line that the operator asked for: marked "status", at every level, and
 * not sent to listeners. */
void log_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
