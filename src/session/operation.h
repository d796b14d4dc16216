/*
 * An operation: something that a client asked of a session, from the queue to its answer.
 */
#ifndef SESSION_OPERATION_H
#define SESSION_OPERATION_H

#include "base/list.h"
#include "base/strbuf.h"
#include "session/outcome.h"

enum operation_kind {
    OPERATION_RUN,        /* in the session's process */
    OPERATION_LOOK,       /* in a scratch copy of a frozen error or of the process */
    OPERATION_RESUME,     /* in a scratch copy of a frozen error, which is promoted if it succeeds */
    OPERATION_RESET,      /* a fresh process */
    OPERATION_CHECKPOINT, /* make one with a name */
    OPERATION_ROLLBACK,   /* return to one */
    OPERATION_SAVE,       /* a copy writes itself to a file, while the session goes on */
    OPERATION_RESTORE,    /* a process from such a file */
};

struct look;
struct saving;

struct operation {
    struct list node;
    struct session *session;
    enum operation_kind kind;
    struct strbuf request;
    struct strbuf what;
    struct strbuf code;    /* for the journal */
    bool is_in_copy;       /* LOOK and RESUME: not where the error stands */
    char *package;         /* in which it is read: given with it, or the session's when it was sent */
    bool has_code;         /* and is an evaluation of it */
    int sequence;          /* LOOK and RESUME: which error; 0: the session's own process */
    char *name;            /* CHECKPOINT: its name; ROLLBACK: where to; RESTORE: which save */
    struct saving *saving; /* SAVE: once it is under way, and out of the queue */
    int timeout_ms;
    uint64_t number;       /* of the evaluation in the journal; 0: it is none */
    uint64_t submitted_ms; /* loop time */
    struct strbuf behind;  /* what it waited behind when it was submitted; empty: nothing */
    bool keeps_record;
    bool goes_on, has_met_error; /* it may go on after an error; it has */
    bool is_put_aside;           /* FREEZING: it goes on when the copy is made */
    bool is_to_stop;             /* it was cancelled meanwhile */
    bool is_examination;
    bool is_look_up;      /* it can be answered while another one runs */
    struct look *look;    /* it is; it is out of the queue then */
    operation_done *done; /* NULL once cancelled */
    operation_progress *on_progress;
    void *arg;
};

/* operation_new(s, kind, done, arg): given; in no queue. operation_new_run(s, kind, options): with a request
 * for the Lisp. operation_free(op): takes it out of its queue. */
struct operation *operation_new(struct session *s, enum operation_kind kind, operation_done *done, void *arg);
struct operation *operation_new_run(struct session *s, enum operation_kind kind,
                                    const struct operation_options *options);
void operation_free(struct operation *op);

/* operation_add_name(op, out): append what it is: "evaluation 3: (loop)". */
void operation_add_name(const struct operation *op, struct strbuf *out);

#endif
