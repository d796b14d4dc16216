/*
 * Common parts of the tools that look into the image: the request, a range of a long list, the place of a
 * definition, and long text.
 */
#ifndef CALLS_LOOK_UP_H
#define CALLS_LOOK_UP_H

#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "report/report.h"
#include "session/session.h"

/* A look-up takes milliseconds; if it takes longer, the user's own code delays it. */
#define LOOK_UP_MS 5000

/*
 * look_up_showing(call, show):
 * An on_outcome for an operation that is not an evaluation, and after which ${show} appends the reply to the
 * call's text; then the call is finished. If the operation ends in an error (one of the user's PRINT-OBJECT
 * methods failed, the time limit was reached, it was cancelled, the process ended), the error is the answer
 * instead, and the session's last error stays as it is. look_up_request(call, session, kind, name, show): the
 * same for session_request().
 */
call_outcome *look_up_showing(struct tool_call *call, call_outcome *show);
void look_up_request(struct tool_call *call, struct session *session, enum operation_kind kind,
                     const char *name, call_outcome *show);

/*
 * look_up(call, session, show), look_up_whatever(call, session, on_outcome):
 * Run the operation in the call's request, which only looks, with the time limit LOOK_UP_MS. The second hands
 * over an error, too, and ${on_outcome} finishes the call.
 *
 * session     of the call; not NULL
 */
void look_up(struct tool_call *call, struct session *session, call_outcome *show);
void look_up_whatever(struct tool_call *call, struct session *session, call_outcome *on_outcome);

/* look_up_run(call, session): the run_in of a tool that is a look-up: its operation, then its show. */
void look_up_run(struct tool_call *call, struct session *session);

/* The members of a tool that is one, beside its names and arguments. */
#define LOOK_UP(its_operation, its_show)                                                                     \
    .is_read_only = true, .operation = its_operation, .show = its_show, .run_in = look_up_run

/*
 * look_up_in_copy(call, session, what, timeout_ms, effects, show):
 * Run it in a copy of the session that is then discarded, because it loads or evaluates something on the way;
 * beside threads, which prevent a copy, in the session itself.
 *
 * what, timeout_ms    as in struct operation_options
 * effects             borrowed: added to the reply if it ran in the session; NULL: it has none
 */
void look_up_in_copy(struct tool_call *call, struct session *session, const char *what, int timeout_ms,
                     const char *effects, call_outcome *show);

/* look_up_add_rest(call, shown, total): append a line that explains how to see the rest of ${total}; nothing
 * if all are shown. */
void look_up_add_rest(struct tool_call *call, size_t shown, size_t total);

/* look_up_frames(call, operation, from, count): begin the request for ${count} frames of a stack, with their
 * variables if the argument locals is true; of the call's thread, if it names one. */
void look_up_frames(struct tool_call *call, const char *operation, int64_t from, int64_t count);

/* look_up_add_frames(call, frames, total): append a stack: those of its frames that the arguments from and
 * max-frames name, with their variables if the argument locals is true. ${total} is negative if there are
 * more. */
void look_up_add_frames(struct tool_call *call, const struct sexp *frames, int64_t total);

/* For reply_fill(), the place of a definition: " at FILE:LINE", " in this session, evaluation 3", or nothing.
 */
#define PLACE                                                                                                \
    "{evaluation? in this session, evaluation {evaluation}}"                                                 \
    "{evaluation!{file? at {file}{line?:{line}}{changed? (changed since it was loaded)}}}"

/* look_up_add_text(call, session, text, len): append it within the session's max-output limit; a truncated
 * text is kept for get-output. */
void look_up_add_text(struct tool_call *call, struct session *session, const char *text, size_t len);

/* LIMIT_ARGUMENT_OF(usual): how many are shown; LIMIT_ARGUMENT: the agent's 100 if it is absent. */
#define LIMIT_ARGUMENT_OF(usual)                                                                             \
    ARGUMENT("limit", INTEGER, "", .minimum = 1, .maximum = 10000, .fallback = usual)
#define LIMIT_ARGUMENT LIMIT_ARGUMENT_OF(0)
#define FROM_ARGUMENT ARGUMENT("from", INTEGER, "", .minimum = 0, .maximum = 1000000)
#define PACKAGE_ARGUMENT ARGUMENT("package", STRING, "")
#define NAME_ARGUMENT ARGUMENT("name", STRING, "", .is_required = true)

#endif
