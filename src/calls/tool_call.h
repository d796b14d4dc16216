/*
 * A call of a tool: what the files that serve it and the tool itself know of it.
 */
#ifndef CALLS_TOOL_CALL_H
#define CALLS_TOOL_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "calls/tool.h"
#include "calls/toolbox.h"

struct evaluation_wait;
struct operation;
struct outcome;

struct tool_call {
    const struct tool *tool;
    struct toolbox *toolbox;
    json_t *arguments; /* owned */
    char *default_session;
    struct tool_call_options options; /* its done is NULL once it was called, its default_session invalid */
    bool is_evaluation;     /* it has evaluated something that is reported to other clients of the session */
    bool takes_unavailable; /* its on_outcome handles OUTCOME_UNAVAILABLE itself */
    bool takes_refusal;     /* and OUTCOME_REFUSED */
    bool asks;              /* the operation may ask */
    struct strbuf request;  /* for the agent, between call_begin_request() and call_run() */
    struct operation *operation; /* what it waits for; NULL: nothing */
    void *pending;               /* call_await() */
    void (*cancel_pending)(void *pending);
    void (*on_outcome)(struct tool_call *call, const struct outcome *outcome); /* a call_outcome */
    void (*show)(struct tool_call *call, const struct outcome *outcome);       /* look_up_showing() */
    bool is_answered;                     /* already, and its result is kept (evaluations.h) */
    struct evaluation_wait *early_answer; /* evaluations.c: then it is answered early; NULL: it is not */
    char *moment;             /* owned; set if it shows the session in the middle of an operation */
    const char *effects;      /* look_up_in_copy(): of what could not run in a copy; NULL: none */
    size_t step, since;       /* for tools that must remember something while they wait */
    struct strbuf text;       /* the answer */
    json_t *structured;       /* owned */
    struct strbuf picture;    /* in base64 */
    const char *picture_type; /* constant; NULL: there is none */
    bool is_error, is_absent; /* as in struct tool_result */
    bool is_of_asked_length;  /* the client chose the length: call_finish() cuts nothing */
    bool is_redacted;         /* already: its text is JSON */
    bool is_of_record;        /* it shows a record in the same words each time: no news is added */
    bool is_document;         /* the text is a file or a resource: call_finish() adds nothing */
    uint64_t started_ns;
};

#endif
