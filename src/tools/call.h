/*
 * A call of a tool, from the inside: what the files in this folder use to read their arguments, run
 * operations and answer.
 */
#ifndef TOOLS_CALL_H
#define TOOLS_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "report/report.h"
#include "session/session.h"
#include "tools/tool.h"
#include "tools/toolbox.h"

struct tool_call {
    const struct tool *tool;
    struct toolbox *toolbox;
    json_t *arguments; /* owned */
    char *default_session;
    bool wants_structured, wants_progress;
    bool takes_unavailable; /* its on_outcome deals with OUTCOME_UNAVAILABLE itself */
    tool_call_done *done;   /* NULL once cancelled */
    tool_call_progress *on_progress;
    void *arg;
    struct operation *operation; /* what it waits for; NULL when nothing */
    void (*on_outcome)(struct tool_call *call, const struct outcome *outcome); /* a call_outcome */
    size_t step, since;       /* for tools that must remember something while they wait */
    struct strbuf text;       /* the answer */
    json_t *structured;       /* owned */
    bool is_error, is_absent; /* as in struct tool_result */
};

/* The checked arguments; the fallback when absent. Strings are borrowed from the call and may hold NULs. */
bool call_has(const struct tool_call *call, const char *name);
const char *call_string(const struct tool_call *call, const char *name, size_t *len);
double call_number(const struct tool_call *call, const char *name, double fallback);
bool call_boolean(const struct tool_call *call, const char *name);

/* call_write_string(call, request, argument): append the argument, if it was given, as a string under a
 * keyword of its name. */
void call_write_string(const struct tool_call *call, struct strbuf *request, const char *argument);

/* What one value may print before it is stopped: more than any reply shows, so that get-output can give the
 * rest. */
#define MOST_VALUE_CHARACTERS (1 << 20)

/* call_session(call): the session it means; made on first use if it is the default one. NULL: there is none
 * of that name, and the call has been answered. */
struct session *call_session(struct tool_call *call);

/* call_unknown_session(call, name, is_error): answer that there is no such session, with the nearest name and
 * those there are. */
void call_unknown_session(struct tool_call *call, const char *name, bool is_error);

/* call_finish(call): send the text and forget the call. call_answer(call, is_error, format, ...): with this
 * text. */
void call_finish(struct tool_call *call);
void call_answer(struct tool_call *call, bool is_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * call_run(call, session, options, on_outcome):
 * Run an operation and wait for it. ${on_outcome} is called when it is over, unless it could not run at all,
 * which is answered here. It must end in call_finish() or call_answer().
 *
 * options     borrowed; who is told is filled in here
 */
typedef void call_outcome(struct tool_call *call, const struct outcome *outcome);
void call_run(struct tool_call *call, struct session *session, const struct operation_options *options,
              call_outcome *on_outcome);

/* call_enter(call, session, options, sequence, resumes, on_outcome): the same for session_enter(). */
void call_enter(struct tool_call *call, struct session *session, const struct operation_options *options,
                int sequence, bool resumes, call_outcome *on_outcome);

/* call_wait(call, on_outcome): prepare to wait for an operation that the caller starts with call_done and the
 * call as arguments; it then stores the ticket in ${call->operation}. */
void call_wait(struct tool_call *call, call_outcome *on_outcome);
operation_done call_done;

/*
 * call_evaluate(call, session, request, code, len, on_outcome):
 * call_run() of what counts as an evaluation of the session: it is in the journal as ${code}, its failure is
 * the session's last error, and the state after it is kept. The arguments package and timeout of the call
 * hold.
 *
 * request     borrowed
 * code        borrowed; what is no form of Lisp stands in it as a comment
 */
void call_evaluate(struct tool_call *call, struct session *session, const struct strbuf *request,
                   const char *code, size_t len, call_outcome *on_outcome);

/*
 * call_report(call, outcome): an on_outcome: answer with the report of an evaluation. call_report_with(call,
 * outcome, body): with something else in the place of its values; ${body} gets the call as its arg.
 */
void call_report(struct tool_call *call, const struct outcome *outcome);
void call_report_with(struct tool_call *call, const struct outcome *outcome, report_body *body);

/*
 * call_report_if_ended(out, outcome, key, max_output):
 * For a report_body: an evaluation that invoked ABORT itself succeeded without what the tool asked for, which
 * would be under
 * ${key} in the reply. True if so: its values, none, were shown.
 */
bool call_report_if_ended(struct strbuf *out, const struct outcome *outcome, const char *key,
                          size_t max_output);

/* call_report_failed_look(call, outcome): if a look into the image ended in an error (somebody's
 * print-object, the time limit), answer so and return true. It is no error of the session's. */
bool call_report_failed_look(struct tool_call *call, const struct outcome *outcome);

/* A look into the image takes milliseconds; one that takes longer hangs on something of the user's. */
#define LOOK_UP_MS 5000

/* The argument that every tool has that looks at or runs Lisp. */
#define SESSION_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "session", .type = ARGUMENT_STRING, .names_session = true, .description = "Session."         \
    }
#define TIMEOUT_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "timeout", .type = ARGUMENT_NUMBER, .minimum = 0.05, .maximum = 86400,                       \
        .description = "Time limit in seconds."                                                              \
    }

#endif
