/*
 * Responsible for the life of a call: it starts with checked arguments, may wait for an operation, and is
 * answered once.
 */
#include "calls/call.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/similar.h"
#include "base/text.h"
#include "calls/arguments.h"
#include "calls/evaluations.h"
#include "calls/person_deeds.h"
#include "calls/reply_text.h"
#include "calls/syntax.h"
#include "calls/tool_call.h"
#include "events/events.h"
#include "lisp/confinement.h"
#include "report/reply.h"
#include "report/report.h"
#include "session/session.h"
#include "session/sessions.h"
#include "session/store/saved.h"

#define MOST_OFFERED 1000 /* sessions that are searched for a similar name */
#define MOST_NAMED 20

static void call_free(struct tool_call *call)
{
    evaluations_forget(call);
    json_decref(call->arguments);
    json_decref(call->structured);
    strbuf_fini(&call->text);
    strbuf_fini(&call->picture);
    strbuf_fini(&call->request);
    free(call->default_session);
    free(call->moment);
    free(call);
}

/* It has been answered. What it waits for besides its operation is given up, unless that keeps the result. */
static void end(struct tool_call *call)
{
    person_deeds_tell(call);
    if (call->pending != NULL && !call->is_answered)
        call->cancel_pending(call->pending);
    call_free(call);
}

static void run(struct tool_call *call)
{
    const struct tool *tool = call->tool;
    if (tool->run != NULL) {
        tool->run(call);
        return;
    }
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    if (tool->operation != NULL)
        call_begin_operation(call, tool->operation);
    tool->run_in(call, s);
}

struct tool_call *call_start(struct toolbox *toolbox, const struct tool *tool, json_t *arguments,
                             const struct tool_call_options *options)
{
    struct tool_call *call = xcalloc(1, sizeof *call);
    call->started_ns = uv_hrtime();
    call->tool = tool;
    call->toolbox = toolbox;
    call->arguments = arguments;
    call->default_session = xstrdup(options->default_session);
    call->options = *options;
    if (toolbox != NULL && options->author.kind == AUTHOR_AGENT && options->author.name[0] != '\0')
        toolbox->caller = options->author;
    call->is_document = options->is_for_resource;
    run(call);
    if (call->options.done == NULL) { /* run() has answered */
        end(call);
        return NULL;
    }
    CHECK(call->operation != NULL || call->pending != NULL);
    return call;
}

void call_cancel(void *ticket)
{
    struct tool_call *call = ticket;
    reply_text_record(call, call->arguments, "cancelled");
    CHECK(call->operation != NULL || call->pending != NULL);
    if (call->operation != NULL)
        session_cancel(call->operation);
    if (call->pending != NULL)
        call->cancel_pending(call->pending);
    call_free(call);
}

void call_finish(struct tool_call *call)
{
    reply_text_complete(call);
    reply_text_record(call, call->arguments, call->is_error ? "error" : "ok");
    struct tool_result result = {.text = &call->text,
                                 .structured = call->structured,
                                 .picture = call->picture_type == NULL ? NULL : call->picture.bytes,
                                 .picture_type = call->picture_type,
                                 .is_error = call->is_error,
                                 .is_absent = call->is_absent};
    CHECK(call->options.done != NULL);
    tool_call_done *done = call->options.done;
    call->options.done = NULL;
    done(call->options.arg, &result);
}

void call_answer(struct tool_call *call, bool is_error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    strbuf_vaddf(&call->text, format, arguments);
    va_end(arguments);
    call->is_error = is_error;
    call_finish(call);
}

void call_begin_request(struct tool_call *call, const char *operation)
{
    strbuf_clear(&call->request);
    sexp_write_symbol(&call->request, operation);
}

void call_write_string(struct tool_call *call, const char *argument)
{
    call_write_string_as(call, argument, argument);
}

void call_write_string_as(struct tool_call *call, const char *key, const char *argument)
{
    size_t len;
    const char *text = arguments_string(call, argument, &len);
    if (text == NULL)
        return;
    sexp_write_symbol(&call->request, key);
    sexp_write_string(&call->request, text, len);
}

void call_write_text(struct tool_call *call, const char *key, const char *text)
{
    sexp_write_symbol(&call->request, key);
    sexp_write_string(&call->request, text, strlen(text));
}

void call_write_integer(struct tool_call *call, const char *key, int64_t n)
{
    sexp_write_symbol(&call->request, key);
    sexp_write_integer(&call->request, n);
}

void call_write_flag(struct tool_call *call, const char *key, bool value)
{
    sexp_write_symbol(&call->request, key);
    sexp_write_boolean(&call->request, value);
}

static void write_list(struct strbuf *request, const json_t *list)
{
    sexp_write_open(request);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        sexp_write_string(request, json_string_value(item), json_string_length(item));
    }
    sexp_write_close(request);
}

static void write_argument(struct tool_call *call, const struct tool_argument *a)
{
    const char *key = a->key != NULL ? a->key : a->name, *text = arguments_string(call, a->name, NULL);
    if (a->type == ARGUMENT_INTEGER && (arguments_has(call, a->name) || a->fallback != 0))
        call_write_integer(call, key, arguments_integer(call, a->name, a->fallback));
    else if (a->type == ARGUMENT_BOOLEAN &&
             (arguments_boolean(call, a->name) ||
              (a->is_persons_word && call->options.author.kind == AUTHOR_PERSON)))
        call_write_flag(call, key, true);
    else if (a->type == ARGUMENT_STRING &&
             (text == NULL || a->default_choice == NULL || strcmp(text, a->default_choice) != 0))
        call_write_string_as(call, key, a->name);
    if (a->type == ARGUMENT_STRING_LIST && arguments_has(call, a->name)) {
        sexp_write_symbol(&call->request, key);
        write_list(&call->request, json_object_get(call->arguments, a->name));
    }
}

void call_begin_operation(struct tool_call *call, const char *operation)
{
    call_begin_request(call, operation);
    for (const struct tool_argument *a = call->tool->arguments; a->name != NULL; a++)
        if (!a->is_servers)
            write_argument(call, a);
}

void call_write_asks(struct tool_call *call)
{
    call->asks = call->options.on_question != NULL || call->toolbox->persons > 0;
    if (call->asks)
        call_write_flag(call, "asks", true);
}

/* An earlier session of that name that was not saved when its server ended. */
static bool take_loss(const struct tool_call *call, const char *name, struct strbuf *out)
{
    return call->toolbox->is_persistent && strchr(name, '/') == NULL &&
           saved_take_loss(call->toolbox->store, name, out);
}

void call_tell_loss(const struct tool_call *call, struct session *s)
{
    struct strbuf loss = {0};
    if (take_loss(call, session_name(s), &loss))
        notices_addf(session_notices(s), "%s It begins empty.", strbuf_string(&loss));
    strbuf_fini(&loss);
}

bool call_find_session(struct tool_call *call, const char *name, struct session **s)
{
    struct toolbox *toolbox = call->toolbox;
    bool is_joined = toolbox->attach != NULL && strcmp(name, call->default_session) == 0;
    bool may_be_saved = toolbox->is_persistent && strchr(name, '/') == NULL && !is_joined;
    struct err err;
    *s = sessions_find(toolbox->sessions, name);
    if (*s != NULL && !sessions_confirm(*s, &err)) {
        call_answer(call, true, "%s", err.message);
        return false;
    }
    if (*s != NULL)
        return true;
    if (may_be_saved && saved_is_announced(toolbox->store, name)) {
        call_answer(call, true,
                    "Session %s is being saved by another server, which is shutting down. Try again in a "
                    "moment; it will continue here.",
                    name);
        return false;
    }
    if (may_be_saved && saved_exists(toolbox->store, name)) {
        *s = sessions_create(toolbox->sessions, name, &err);
        if (*s == NULL)
            call_answer(call, true, "%s", err.message);
        else
            session_request(*s, OPERATION_RESTORE, name, NULL, NULL); /* calls made now wait their turn */
        return *s != NULL;
    }
    if (may_be_saved && sessions_are_elsewhere(toolbox->sessions, name, &err)) {
        call_answer(call, true, "%s", err.message);
        return false;
    }
    if (strcmp(name, call->default_session) == 0)
        return true;
    if (take_loss(call, name, &call->text))
        strbuf_addc(&call->text, '\n');
    call_unknown_session(call, name);
    return false;
}

struct session *call_session(struct tool_call *call)
{
    const char *name = arguments_session_name(call);
    struct session *s;
    struct err err;
    if (!call_find_session(call, name, &s) || s != NULL)
        return s;
    s = sessions_create(call->toolbox->sessions, name, &err);
    if (s == NULL) {
        call_answer(call, true, "%s", err.message);
        return NULL;
    }
    if (call->toolbox->attach != NULL)
        session_attach(s, call->toolbox->attach, call_directory(call));
    call_tell_loss(call, s);
    return s;
}

const char *call_directory(const struct tool_call *call)
{
    const struct session *s = arguments_session(call);
    const char *directory = s == NULL ? NULL : confinement_root(session_confinement(s));
    if (directory == NULL && s != NULL)
        directory = session_directory(s);
    if (directory == NULL)
        directory = call->toolbox->directory;
    return directory != NULL ? directory : ".";
}

void call_unknown_session(struct tool_call *call, const char *name)
{
    struct sessions *all = call->toolbox->sessions;
    struct similar similar;
    similar_init(&similar, name);
    strbuf_addf(&call->text, "No session named %s.", name);
    size_t offered = 0;
    for (struct session *s = sessions_first(all); s != NULL && offered < MOST_OFFERED;
         s = sessions_next(s), offered++)
        similar_offer(&similar, session_name(s));
    if (similar.best != NULL)
        strbuf_addf(&call->text, " Did you mean %s?", similar.best);
    strbuf_addf(&call->text, "\nThere %s: %s", sessions_count(all) > 1 ? "are" : "is", call->default_session);
    size_t named = 0;
    for (struct session *s = sessions_first(all); s != NULL && named < MOST_NAMED;
         s = sessions_next(s), named++)
        if (strcmp(session_name(s), call->default_session) != 0)
            strbuf_addf(&call->text, ", %s", session_name(s));
    if (sessions_count(all) > named)
        strbuf_addf(&call->text, ", and %zu more", sessions_count(all) - named);
    call_answer(call, true, ". create-session creates another.");
}

/* What the session has to report is for the agent: a person's reply takes none of it away. */
static void deliver(struct tool_call *call, const struct outcome *outcome)
{
    struct notices *notices = call->options.author.kind == AUTHOR_PERSON && outcome->session != NULL
                                  ? session_notices(outcome->session)
                                  : NULL;
    if (notices != NULL)
        notices_hold(notices, true);
    call->on_outcome(call, outcome);
    if (notices != NULL)
        notices_hold(notices, false);
}

void call_done(void *arg, const struct outcome *outcome)
{
    struct tool_call *call = arg;
    call->operation = NULL;
    if (outcome->moment != NULL && outcome->kind != OUTCOME_UNAVAILABLE && call->moment == NULL)
        call->moment = xstrdup(outcome->moment);
    if (outcome->kind != OUTCOME_OK || outcome->was_in_copy)
        call->effects = NULL;
    if (outcome->kind == OUTCOME_UNAVAILABLE && !call->takes_unavailable) {
        call_answer(call, true, "%s", outcome->why);
    } else if (outcome->kind == OUTCOME_REFUSED && !call->takes_refusal) {
        /* That nothing has the requested name is an answer, not a failure; that its package does not exist is
         * one. */
        const struct sexp *absent = sexp_get(outcome->reply, 3, "absent");
        const char *why = sexp_string(sexp_nth(outcome->reply, 2), NULL);
        call->is_absent = !sexp_is_nil(absent);
        if (call->options.wants_data)
            call->structured = report_data(outcome->reply, 3);
        call_answer(call, !sexp_is_symbol(absent, "t"), "%s",
                    why == NULL ? "The Lisp refused the request." : why);
    } else {
        deliver(call, outcome);
    }
    /* A tool with several steps waits for the next one now. */
    if (call->operation != NULL)
        return;
    CHECK(call->options.done == NULL);
    end(call);
}

static void on_operation_progress(void *arg, double elapsed_s, uint64_t output_bytes, const char *message)
{
    struct tool_call *call = arg;
    struct strbuf line = {0};
    if (call->options.on_progress == NULL)
        return; /* it was answered early */
    strbuf_addf(&line, "%.0f s", elapsed_s);
    if (output_bytes > 0)
        strbuf_addf(&line, ", %s bytes of output", text_grouped(output_bytes).text);
    if (message[0] != '\0')
        strbuf_addf(&line, ": %s", message);
    reply_text_redact(call, &line);
    call->options.on_progress(call->options.arg, elapsed_s, strbuf_string(&line));
    strbuf_fini(&line);
}

/* If the client cannot be asked, or was answered early, a person who follows the events can answer. */
static void ask_person(struct tool_call *call, int64_t question, const char *prompt)
{
    struct session *s = arguments_session(call);
    if (call->toolbox->persons == 0 || s == NULL) {
        session_answer(call->operation, question, NULL, 0);
    } else if (prompt != NULL) {
        events_ask(call->toolbox->events, s, session_number(call->operation), question, prompt);
    }
}

static void on_operation_question(void *arg, int64_t question, const char *prompt)
{
    struct tool_call *call = arg;
    struct strbuf text = {0};
    if (call->options.on_question == NULL) {
        ask_person(call, question, prompt);
        return;
    }
    if (prompt == NULL) {
        call->options.on_question(call->options.arg, call, question, NULL);
        return;
    }
    strbuf_adds(&text, prompt);
    reply_text_redact(call, &text);
    call->options.on_question(call->options.arg, call, question, strbuf_string(&text));
    strbuf_fini(&text);
}

void call_answer_question(struct tool_call *call, int64_t question, const char *text, size_t len)
{
    if (call->operation == NULL)
        return;
    if (text != NULL && session_is_asking(call->operation)) {
        json_t *arguments = json_pack("{s:o}", "input", json_stringn_nocheck(text, len));
        reply_text_record(call, arguments, "input");
        json_decref(arguments);
    }
    session_answer(call->operation, question, text, len);
}

void call_dismiss_question(struct tool_call *call, int64_t question)
{
    if (call->operation != NULL)
        session_dismiss(call->operation, question);
}

void call_let_go(struct tool_call *call)
{
    if (call->operation != NULL)
        session_let_go(call->operation);
}

void call_await(struct tool_call *call, void *pending, void (*cancel)(void *pending))
{
    call->pending = pending;
    call->cancel_pending = cancel;
}

void call_awaited(struct tool_call *call)
{
    CHECK(call->pending != NULL && call->options.done == NULL);
    call_free(call);
}

/* Calls that were answered early still wait, so requests in progress do not bound them: the session does. */
void call_run(struct tool_call *call, struct session *session, const struct operation_options *options,
              call_outcome *on_outcome)
{
    struct operation_options all = *options;
    all.request = &call->request;
    if (!session_has_room(session, &all)) {
        call_answer(call, true,
                    "Too many evaluations wait: what was sent for them takes 128 MiB, which is the limit for "
                    "all your sessions together. This was not evaluated. evaluation-status with all: true "
                    "shows them, cancel-evaluation stops one.");
        return;
    }
    call->on_outcome = on_outcome;
    call->is_evaluation = options->keeps_record;
    all.author = call->options.author;
    all.done = call_done;
    all.on_progress =
        call->options.wants_progress && call->options.on_progress != NULL ? on_operation_progress : NULL;
    all.on_question = call->asks ? on_operation_question : NULL;
    all.arg = call;
    call->operation = session_run(session, &all);
    evaluations_await(call, session);
}

void call_load(struct tool_call *call, struct session *session, const char *what, struct strbuf *code,
               call_outcome *on_outcome)
{
    int session_ms = limits_timeout_ms(session_limits(session));
    struct operation_options options = {
        .what = what,
        .timeout_ms = arguments_has(call, "timeout") ? arguments_timeout_ms(call)
                      : session_ms > CALL_LOADING_MS ? session_ms
                                                     : CALL_LOADING_MS,
        .keeps_record = true,
        .goes_on = true,
        .code = code->bytes,
        .code_len = code->len,
    };
    call_run(call, session, &options, on_outcome);
    strbuf_fini(code);
}

size_t call_max_output(const struct tool_call *call, const struct outcome *o)
{
    return (size_t)arguments_integer(call, "max-output",
                                     limits_int(session_limits(o->session), LIMIT_MAX_OUTPUT));
}

bool call_report_begin(struct tool_call *call, const struct outcome *o, const char *key)
{
    size_t most = call_max_output(call, o);
    if (call->options.wants_structured)
        call->structured = report_structured(o, most);
    if (!report_begin(&call->text, o, most))
        return false;
    if (key == NULL || reply_get(o->reply, key) != NULL)
        return true;
    if (call->text.len > 0)
        strbuf_adds(&call->text, "\n\n");
    report_values(&call->text, o, most);
    return false;
}

/* What is added behind the report, if a file could not be read. */
static void end_report(struct tool_call *call, const struct outcome *o)
{
    const char *unread =
        o->kind == OUTCOME_ERROR ? sexp_string(reply_get(o->error->condition, "unread"), NULL) : NULL;
    if (unread != NULL)
        syntax_add_fault(&call->text, call_directory(call), unread);
    call->is_error = call->is_error || o->kind == OUTCOME_ERROR;
    call_finish(call);
}

void call_report_end(struct tool_call *call, const struct outcome *o)
{
    report_end(&call->text, o);
    end_report(call, o);
}

void call_report(struct tool_call *call, const struct outcome *o)
{
    if (call->options.wants_structured)
        call->structured = report_structured(o, call_max_output(call, o));
    report_evaluation(&call->text, o, call_max_output(call, o));
    end_report(call, o);
}

void call_evaluate(struct tool_call *call, struct session *session, const char *code, size_t len,
                   call_outcome *on_outcome)
{
    struct operation_options options = {
        .what = code,
        .timeout_ms = arguments_timeout_ms(call),
        .keeps_record = true,
        .code = code,
        .code_len = len,
        .package = arguments_string(call, "package", NULL),
    };
    call_run(call, session, &options, on_outcome);
}
