/*
 * Calling a tool; and how the tool sends requests to the Lisp behind a session and answers its call.
 */
#ifndef CALLS_CALL_H
#define CALLS_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "calls/tool.h"

struct operation_options;

/* The most characters that printing one value may produce before it is stopped: more than any reply shows, so
 * that get-output can return the rest. */
#define MOST_VALUE_CHARACTERS (1 << 20)

/*
 * call_start(toolbox, tool, arguments, options):
 * Run ${tool}.
 *
 * arguments   taken; as arguments_check() gave them
 * options     borrowed; its done is called exactly once unless the call is cancelled, and may be called
 *             before this returns
 * Returns     a ticket for call_cancel(), valid until done has been called; NULL if done has been called
 *             already
 */
struct tool_call *call_start(struct toolbox *toolbox, const struct tool *tool, json_t *arguments,
                             const struct tool_call_options *options);

/* call_answer_question(call, question, text, len): answer a question; NULL: there is no more input.
 * call_dismiss_question(call, question): stop the evaluation instead: its result is that it was cancelled.
 * Neither does anything if the code no longer waits for this answer. */
void call_answer_question(struct tool_call *call, int64_t question, const char *text, size_t len);
void call_dismiss_question(struct tool_call *call, int64_t question);

/* call_let_go(call): its client was answered early; keep running. */
void call_let_go(struct tool_call *call);

/* call_cancel(ticket): stop the work of a call; done and on_progress will not run after this. */
void call_cancel(void *ticket);

/*
 * call_session(call):
 * Find the session that the call names. The default session is created on first use, a saved one restored.
 *
 * Returns     borrowed; NULL if there is no such session: then the call has been answered
 */
struct session *call_session(struct tool_call *call);

/* call_find_session(call, name, s): the same for any session, in which nothing needs to run: ${s} is NULL if
 * ${name} is the default session's, and it does not exist yet. Returns false if the call has been answered.
 */
bool call_find_session(struct tool_call *call, const char *name, struct session **s);

/*
 * call_begin_operation(call, operation), call_begin_request(call, operation):
 * Begin a request for the agent in ${call->request}. The first also writes the arguments that the tool's rows
 * send. The request is sent by call_run() and its like, and is empty after that.
 *
 * operation   of the agent, without the colon
 * Source      docs/agent-protocol.md
 */
void call_begin_operation(struct tool_call *call, const char *operation);
void call_begin_request(struct tool_call *call, const char *operation);

/*
 * call_write_string(call, argument), call_write_string_as(call, key, argument), call_write_text(call, key,
 * text), call_write_integer(call, key, n), call_write_flag(call, key, value): Append a keyword and a value to
 * the request. The first two append the argument of that name if it was given; without its own key,
 * under the argument's name.
 */
void call_write_string(struct tool_call *call, const char *argument);
void call_write_string_as(struct tool_call *call, const char *key, const char *argument);
void call_write_text(struct tool_call *call, const char *key, const char *text);
void call_write_integer(struct tool_call *call, const char *key, int64_t n);
void call_write_flag(struct tool_call *call, const char *key, bool value);
/* call_write_asks(call): what its code reads from a terminal is asked for, if its client can be asked. */
void call_write_asks(struct tool_call *call);

/* call_tell_loss(call, session): for a new session: if one of its name was lost when a server ended, the next
 * reply says so. */
void call_tell_loss(const struct tool_call *call, struct session *session);

/* call_directory(call): the directory of its session or, if there is none, the server's; borrowed. */
const char *call_directory(const struct tool_call *call);

/* call_unknown_session(call, name): answer that there is no such session; name the most similar one and
 * list the others. */
void call_unknown_session(struct tool_call *call, const char *name);

/* call_finish(call): send the text and free the call. call_answer(call, is_error, format, ...): the same with
 * this text. */
void call_finish(struct tool_call *call);
void call_answer(struct tool_call *call, bool is_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * call_run(call, session, options, on_outcome):
 * Run the operation in the call's request and wait for it. ${on_outcome} is called when it has ended, unless
 * it could not run at all, which is answered here. It must end in call_finish() or call_answer().
 *
 * options     borrowed; request, done, on_progress and arg are filled in here
 */
typedef void call_outcome(struct tool_call *call, const struct outcome *outcome);
void call_run(struct tool_call *call, struct session *session, const struct operation_options *options,
              call_outcome *on_outcome);

/* call_done(arg, outcome): the done of an operation that the caller starts with the call as its argument, and
 * stores in ${call->operation}; it calls ${call->on_outcome}. */
void call_done(void *arg, const struct outcome *outcome);

/* call_await(call, pending, cancel): wait for something other than an operation; ${cancel} abandons it. After
 * answering the call, the code that was awaited must call call_awaited(call): ${call} is freed. */
void call_await(struct tool_call *call, void *pending, void (*cancel)(void *pending));
void call_awaited(struct tool_call *call);

/*
 * call_evaluate(call, session, code, len, on_outcome):
 * call_run() for an evaluation of the session: it is in the journal as ${code}, its failure is the session's
 * last error, and the state after it is kept. The call's arguments package and timeout apply.
 *
 * code        borrowed; all but Lisp forms must be in comments
 */
void call_evaluate(struct tool_call *call, struct session *session, const char *code, size_t len,
                   call_outcome *on_outcome);

#define CALL_LOADING_MS 300000

/* call_load(call, session, what, code, on_outcome): call_run() for what loads, and compiles for that, or runs
 * tests: it has more time than an evaluation, unless the call has a time limit. The journal shows and replays
 * ${code}, which is emptied here. */
void call_load(struct tool_call *call, struct session *session, const char *what, struct strbuf *code,
               call_outcome *on_outcome);

/* call_report(call, outcome): an on_outcome: answer with the report of an evaluation. call_max_output(call,
 * outcome): how many bytes it shows of each part. */
void call_report(struct tool_call *call, const struct outcome *outcome);
size_t call_max_output(const struct tool_call *call, const struct outcome *outcome);

/*
 * call_report_begin(call, outcome, key), call_report_end(call, outcome):
 * The same with something else in the place of the values: what the caller appends in between, if the first
 * returns true. An evaluation that invoked ABORT itself succeeds without the result that the tool needs,
 * which would be under ${key} in the reply; that is reported here. ${key} may be NULL.
 */
bool call_report_begin(struct tool_call *call, const struct outcome *outcome, const char *key);
void call_report_end(struct tool_call *call, const struct outcome *outcome);

#define FORCE_ARGUMENT ARGUMENT("force", BOOLEAN, "", .is_persons_word = true)

/* The argument of every tool that reads or runs Lisp. */
#define SESSION_ARGUMENT ARGUMENT("session", STRING, "", .names_session = true, .is_servers = true)
#define ANY_TIMEOUT_ARGUMENT(...) ARGUMENT("timeout", NUMBER, __VA_ARGS__, .minimum = 0, .maximum = 86400)
#define TIMEOUT_ARGUMENT ANY_TIMEOUT_ARGUMENT("")

#endif
