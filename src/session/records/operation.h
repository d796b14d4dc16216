/*
 * An operation: a client's request to a session, from the queue to its answer.
 */
#ifndef SESSION_RECORDS_OPERATION_H
#define SESSION_RECORDS_OPERATION_H

#include "base/list.h"
#include "base/strbuf.h"
#include "session/records/outcome.h"

struct look;
struct saving;

struct operation {
    struct list node;
    struct session *session;
    enum operation_kind kind;
    struct strbuf request;
    struct strbuf what;
    struct strbuf code; /* to be kept in the journal */
    size_t weight;      /* what it counts as */
    size_t *total;      /* borrowed: what it is counted in; NULL: in nothing */
    bool is_in_copy;    /* VISIT and CONTINUE: run in a copy, not in the error that stands */
    char *
        package; /* the package in which the code is read: given with it, or the session's when it was sent */
    bool has_code; /* it is an evaluation of ${code} */
    int sequence;  /* VISIT and CONTINUE: the error; 0: the session's own process */
    char *name;    /* CHECKPOINT: the new name; ROLLBACK: the target; RESTORE, SAVE: the save; NULL: the
                      session's */
    struct saving *saving; /* SAVE: once it is under way, and out of the queue */
    uint64_t number;       /* of the evaluation in the journal; 0: none */
    uint64_t submitted_ms; /* loop time */
    struct strbuf behind;  /* description of what it waited behind when it was submitted; empty: nothing */
    int errors_met;        /* after which it continued */
    bool is_to_stop;       /* it was cancelled meanwhile */
    struct look *look;     /* the look-up under way; the operation is out of the queue then */
    int questions;         /* how many there were */
    int64_t question;      /* the agent's number of the one that waits for an answer */
    bool is_let_go;        /* its caller was answered early */
    struct operation_options asked; /* its texts are in the members above; ${done} is NULL once cancelled */
};

/* operation_new(s, kind, done, arg): given; in no queue. operation_new_run(s, options): with a request for
 * the Lisp. operation_free(op): also removes it from its queue. */
struct operation *operation_new(struct session *s, enum operation_kind kind, operation_done *done, void *arg);
struct operation *operation_new_run(struct session *s, const struct operation_options *options);
void operation_free(struct operation *op);

/*
 * operation_has_room(total, options), operation_weigh(op, total):
 * Whether there is room for one more beside operations that count as ${total}; count ${op} in ${total} until
 * it is freed. A call that was answered early counts here only: nothing else bounds what waits for it.
 */
bool operation_has_room(size_t total, const struct operation_options *options);
void operation_weigh(struct operation *op, size_t *total);

/* operation_add_name(op, out): append its description: "evaluation 3: (loop)". */
void operation_add_name(const struct operation *op, struct strbuf *out);

#endif
