/*
 * The end of a process as an error record.
 */
#ifndef SESSION_EXIT_RECORD_H
#define SESSION_EXIT_RECORD_H

#include <stdbool.h>

struct child_end;
struct error_record;
struct session;

/* exit_record_new(s, end): given. The frames that the process printed as it died are taken out of the output
 * of the current operation. */
struct error_record *exit_record_new(struct session *s, const struct child_end *end);

/* exit_record_shows_damage(s, end): it looks as if something had been damaged before, rather than as if this
 * code ended the process. */
bool exit_record_shows_damage(struct session *s, const struct child_end *end);

#endif
