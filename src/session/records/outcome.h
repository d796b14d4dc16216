/*
 * A client's request to a session, and its outcome.
 */
#ifndef SESSION_RECORDS_OUTCOME_H
#define SESSION_RECORDS_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/output/capture.h"
#include "session/records/author.h"
#include "wire/sexp.h"

struct error_record;
struct operation;
struct session;
struct strbuf;

enum outcome_kind {
    OUTCOME_OK,      /* reply holds (ID :ok ...) */
    OUTCOME_REFUSED, /* reply holds (ID :refused "sentence") */
    OUTCOME_ERROR, /* error holds the record; it is the session's last error if the operation keeps the record
                    */
    OUTCOME_UNAVAILABLE /* it never ran; ${why} gives the reason (no Lisp, session closed) */
};

/* How an operation ended. Everything in it is borrowed and invalid after ${done} returns. */
struct outcome {
    enum outcome_kind kind;
    struct session *session; /* NULL if it was closed */
    const struct sexp *reply;
    const struct error_record *error;
    const char *why;
    bool was_in_copy;          /* OK, ERROR: none of its effects are in the session */
    const char *text;          /* what a rollback undid; NULL otherwise */
    const char *moment;        /* a look-up beside a running operation: when it looked; NULL otherwise */
    struct capture *output[2]; /* by enum worker_stream; may be moved out with session_keep_output() */
};

typedef void operation_done(void *arg, const struct outcome *outcome);
typedef void operation_progress(void *arg, double elapsed_s, uint64_t output_bytes, const char *message);
typedef void operation_question(void *arg, int64_t question, const char *prompt);

enum operation_kind {
    OPERATION_RUN,   /* evaluate in the session's process */
    OPERATION_VISIT, /* enter an error, or a copy of the process, without leaving it: code in a frame, frames.
                        It may have effects, which a scratch copy discards. */
    OPERATION_CONTINUE, /* enter an error and continue from there: a restart, a frame that returns. A scratch
                           copy in which it succeeds becomes the process. */
    OPERATION_RESET,    /* start a fresh process */
    OPERATION_CHECKPOINT, /* make a named snapshot */
    OPERATION_ROLLBACK,   /* return to a snapshot */
    OPERATION_SAVE,       /* have a copy write itself to a file while the session continues */
    OPERATION_RESTORE,    /* start a process from such a file */
    OPERATION_BRANCH,     /* have a copy become the process of a new session */
};

struct operation_options {
    struct strbuf *request; /* its text is taken, which empties it: "(OPERATION . plist)" without parentheses,
                               as for worker_call() */
    enum operation_kind kind; /* RUN, VISIT or CONTINUE */
    int sequence;      /* VISIT, CONTINUE: of the record of the error that is entered; 0: of none, but a copy
                          of the session's process as it is now */
    const char *what;  /* borrowed: shown while it runs, e.g. the beginning of the code */
    int timeout_ms;    /* from when it starts to run; 0: the session's limit at that time; -1: none */
    bool keeps_record; /* an error becomes the session's last error and a success clears it; a snapshot of
                          the state after it is made */
    bool goes_on;      /* after an error whose report contains :goes-on, the operation continues; the error is
                          recorded and can be entered */
    bool is_examination; /* VISIT: it only reads; a reply with frames and their locals becomes part
                            of the error's record */
    bool is_look_up;     /* it has no effects, and need not wait for an operation that runs */
    const char *code;    /* borrowed: the code for the journal; NULL for none */
    size_t code_len;
    const char *package; /* borrowed: the package in which it is read; NULL: the session's */
    operation_done *done;
    operation_progress *on_progress; /* called at least once a second with the agent's progress message or
                                        else the last line of the output; may be NULL */
    operation_question *on_question; /* the operation waits for a line of input until session_answer(), which
                                        this may call; ${prompt} is the last line of its output, borrowed.
                                        Called again with ${prompt} NULL if no answer came in time.
                                        NULL: it is not to ask */
    struct author author;            /* for events */
    void *arg;
};

#endif
