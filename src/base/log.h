/*
 * The log: one line per event on stderr. A reader that never reads its pipe must not stop us, so a line that
 * cannot be written at once is dropped (and counted).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* log_set_level(level): what is written from now on; starts at LOG_LEVEL_WARNING. The one piece of process-wide state outside main. */
void log_set_level(enum log_level level);

/* log_level_parse(name): the level called error, warning, info or debug; -1 for another word. */
int log_level_parse(const char *name);

/* log_error(format, ...) and so on: write "cl-mcp-server: LEVEL: ..." as one line of at most 4,000 bytes; control characters become '?'. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
