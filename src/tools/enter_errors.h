/*
 * Finding the error that a tool enters, and the arguments that name it and a frame of it.
 */
#ifndef TOOLS_ENTER_ERRORS_H
#define TOOLS_ENTER_ERRORS_H

#include "calls/look_up.h"

struct error_record;

/* enter_errors_by_index(call, s): the error with the number that the call's index is; borrowed; NULL if it is
 * not kept: then the call has been answered. */
const struct error_record *enter_errors_by_index(struct tool_call *call, const struct session *s);

/*
 * enter_errors_find(call, s):
 * Find the error with the call's index; without one, the newest of an evaluation, or else of a thread.
 *
 * Returns     borrowed; NULL if it cannot be entered: then the call has been answered
 */
const struct error_record *enter_errors_find(struct tool_call *call, const struct session *s);

/*
 * enter_errors_examine(call, s, r, on_outcome), enter_errors_look_up(call, s, show):
 * Send the call's request to where the error ${r}, or that of the call's index, can be looked at. It only
 * looks, so the error stays.
 */
void enter_errors_examine(struct tool_call *call, struct session *s, const struct error_record *r,
                          call_outcome *on_outcome);
void enter_errors_look_up(struct tool_call *call, struct session *s, call_outcome *show);

/* enter_errors_note_unchanged(call, o): if the call has failed inside the error it entered, add that the
 * entered error stands as before, with its restarts. */
void enter_errors_note_unchanged(const struct tool_call *call, const struct outcome *o);

/* enter_errors_note_copy(o): if it ran in a copy that was made at an error, add that the session is
 * unchanged. */
void enter_errors_note_copy(const struct outcome *o);

#define ENTERED_FRAME_ARGUMENT                                                                               \
    ARGUMENT("frame", INTEGER, "", .is_required = true, .minimum = 0, .maximum = 1000)
#define INDEX_ARGUMENT ARGUMENT("index", INTEGER, "", .minimum = 1, .maximum = 1000000000, .is_servers = true)

#endif
