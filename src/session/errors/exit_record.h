/*
 * Makes an error record from the end of a process.
 */
#ifndef SESSION_ERRORS_EXIT_RECORD_H
#define SESSION_ERRORS_EXIT_RECORD_H

#include <stdbool.h>

struct child_end;
struct error_record;
struct session;

/* exit_record_new(s, end): given; it describes the stop if the operation was stopped by SIGKILL. The frames
 * that the process printed as it died are removed from the output of the current operation. */
struct error_record *exit_record_new(struct session *s, const struct child_end *end);

/* exit_record_shows_damage(s, end): the process seems to have died of earlier damage to its state, rather
 * than because this code ended it. */
bool exit_record_shows_damage(struct session *s, const struct child_end *end);

#endif
