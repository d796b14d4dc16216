/*
 * A session: the Lisp that a client uses by name. It owns the queue of operations, the Lisp process they run
 * in, their time limits, their output and the records of errors; it outlives the process. sessions.h creates,
 * finds and closes sessions.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/errors.h"
#include "session/output/capture.h"
#include "session/records/error_record.h"
#include "session/records/limits.h"
#include "session/records/notices.h"
#include "session/records/operation.h"

struct confinement;
struct journal;
struct session;
struct sessions;
struct snapshots;
struct operation;
struct strbuf;

/*
 * session_run(s, options):
 * Queue an operation; start the process if there is none. At an error it runs in the process or the thread
 * that stands in it, otherwise in a copy of its snapshot. With OPERATION_VISIT the copy is discarded. With
 * OPERATION_CONTINUE, if it succeeds, the copy becomes the session's process and the old process a snapshot.
 *
 * done        called once; never from inside this call
 * Returns     a ticket for session_cancel(), valid until done has been called
 * States      docs/states.md
 */
struct operation *session_run(struct session *s, const struct operation_options *options);

/* session_has_room(s, options): whether session_run() may be called with ${options}. What
 * waits or runs in all sessions of the owner may take 128 MiB. */
bool session_has_room(const struct session *s, const struct operation_options *options);

/*
 * session_request(s, kind, name, done, arg):
 * Queue an operation that is not an evaluation. It is done as session_run() says; for the last three kinds
 * the outcome has ${text}.
 *
 * kind        OPERATION_RESET: replace the process by a fresh one, and keep only the limits; without a name
 *             OPERATION_CHECKPOINT: save the current state as a named checkpoint; an older one of that name
 * is dropped OPERATION_ROLLBACK: return to a checkpoint: a name, a number of evaluations from the start, or
 *             "-N": N back
 *             OPERATION_SAVE: write a copy of the session to the store while the session continues; under its
 *             own name without one
 *             OPERATION_RESTORE: replace its process, journal and package by those of that save
 * name        borrowed, copied; may be NULL
 * done        NULL for a save or a restore: the next reply then reports a failure
 */
struct operation *session_request(struct session *s, enum operation_kind kind, const char *name,
                                  operation_done *done, void *arg);

/* session_delete_checkpoint(s, name): drop the checkpoint of that name; false if there is none. */
bool session_delete_checkpoint(struct session *s, const char *name);

/* session_person(s): what the person who runs a joined image has done, the oldest first, each a FACT_PERSON;
 * borrowed. */
const struct notices *session_person(const struct session *s);

/* session_snapshots(s), session_journal(s): for reading; borrowed. Snapshots beyond the limit are
 * dropped first. session_why_no_checkpoint(s): why the last one could not be made, or NULL. session_at(s):
 * the number of the evaluation after which the process is. */
const struct snapshots *session_snapshots(struct session *s);
const struct journal *session_journal(const struct session *s);
const char *session_why_no_checkpoint(const struct session *s);
uint64_t session_at(const struct session *s);

/* session_branch(s, source): a new session, ${s}, is to begin with the present state of ${source}, of the
 * same collection: a copy of its process, with its history, limits, directory and confinement, but not its
 * errors and checkpoints. Operations of ${s} wait for that. If ${source} cannot be copied, they are told why
 * not. */
void session_branch(struct session *s, struct session *source);

/* session_place(s, directory, confinement): give it a directory of its own, a real path, copied, and a
 * confinement; before its process starts. session_directory(s): NULL: the server's. session_confinement(s):
 * NULL for none; it is borrowed from the server's confinements. */
void session_place(struct session *s, const char *directory, const struct confinement *confinement);
const char *session_directory(const struct session *s);
const struct confinement *session_confinement(const struct session *s);

/*
 * session_attach(s, address, directory): make its process an image that a person runs; before its process
 * starts.
 *
 * address     borrowed, copied; as join_address_parse() takes it
 * directory   borrowed, copied: where "auto" begins to look
 *
 * session_attached(s): that address; NULL if its process is the server's own. session_image(s): what is known
 * of the image, "SBCL 2.2.9 at 127.0.0.1:4005, ..."; NULL while it is not joined.
 */
void session_attach(struct session *s, const char *address, const char *directory);
const char *session_attached(const struct session *s);
const char *session_image(const struct session *s);

/* session_may_have_news(s): the program runs threads, which may have failed since the last reply, and the
 * process is free to tell. */
bool session_may_have_news(const struct session *s);

/* session_is_unrestored(s): it began empty because its save could not be restored; a server that exits does
 * not overwrite that. */
bool session_is_unrestored(const struct session *s);

/* session_wants_save(s): it is idle, and its state is not that of its last save. A session that stands in an
 * error is not idle: a save would end the error. */
bool session_wants_save(const struct session *s);

/* session_checkpoint_cost_ms(s): the cost of a copy; 0 while unknown. session_checkpoints_when_idle(s):
 * copies cost too much to make one right after each evaluation. */
double session_checkpoint_cost_ms(const struct session *s);
bool session_checkpoints_when_idle(const struct session *s);

/* session_cancel(op): withdraw it: done will not run. A running operation is stopped as if its time limit had
 * expired. */
void session_cancel(struct operation *op);

/*
 * session_answer(op, question, text, len):
 * Answer the question of ${op}. Nothing happens if it no longer waits for the answer.
 *
 * text        borrowed: a line, or several; NULL: there is no more input
 */
void session_answer(struct operation *op, int64_t question, const char *text, size_t len);

/* session_dismiss(op, question): stop ${op} if it waits for the answer; it ends with an error of type
 * CANCELLED. */
void session_dismiss(struct operation *op, int64_t question);

/* session_asking(s, question): the operation that waits for the answer to this question; NULL: none does. */
struct operation *session_asking(const struct session *s, int64_t question);

/* session_let_go(op): its caller was answered before its end. Look-ups that were sent after that answer are
 * meant for the operation as it runs, so they need not wait for its end. */
void session_let_go(struct operation *op);

/* session_is_asking(op): it waits for the answer to a question. */
bool session_is_asking(const struct operation *op);

/*
 * session_stop(s, number, what): stop an operation; it ends with an error of type CANCELLED, and its done is
 * called. One that waits is cancelled before it begins.
 *
 * number      of an evaluation; 0: the operation that runs, or is the next
 * what        out, appended: the description of what is stopped
 * Returns     false if there is none
 */
bool session_stop(struct session *s, uint64_t number, struct strbuf *what);

/* session_unstoppable(s): what it is doing that session_stop() does not stop: "being restored"; NULL: nothing
 * of the kind. */
const char *session_unstoppable(const struct session *s);

/*
 * session_running(s, what, waiting): the seconds for which the current evaluation has been running; negative
 * if none is. Look-ups, which end soon, do not count.
 *
 * what        out, appended: the description of the running operation, at most 200 bytes
 * waiting     out: how many operations wait behind it, or for their turn
 */
double session_running(const struct session *s, struct strbuf *what, size_t *waiting);

/* session_number(op): the number of its evaluation; 0 if it is not an evaluation. */
uint64_t session_number(const struct operation *op);

/* An evaluation that runs or waits for its turn. */
struct session_evaluation {
    uint64_t number;
    const char *what;         /* borrowed: the beginning of its code */
    double elapsed_s;         /* since it began; while it waits: since it was submitted */
    bool is_running, is_next; /* is_next: it waits only for the process */
    bool is_asking;           /* RUNNING: it waits for the answer to a question; its time stands still */
    double limit_s;           /* RUNNING; 0: none */
    uint64_t output_bytes;    /* RUNNING */
};

/*
 * session_evaluation(s, number, e), session_evaluation_at(s, n, e):
 * The evaluation with this number; the n-th, 0 for the one that runs or is next. False if there is none.
 * session_evaluation_where(s, number, out): append its progress, or what it waits behind; nothing if it
 * reports none.
 */
bool session_evaluation(const struct session *s, uint64_t number, struct session_evaluation *e);
bool session_evaluation_at(const struct session *s, size_t n, struct session_evaluation *e);
void session_evaluation_where(const struct session *s, uint64_t number, struct strbuf *out);

/* session_output(s, stream): what the current operation has printed so far; borrowed, by enum
 * worker_stream. */
const struct capture *session_output(struct session *s, int stream);

/* session_last_error(s): NULL if there is none, or an evaluation has succeeded since.
 * session_find_error(s, number): by its number, which never changes; NULL if it is not kept.
 * session_error(s, n): to go through all session_error_count(s), from the newest, which is 0. */
const struct error_record *session_last_error(const struct session *s);
const struct error_record *session_find_error(const struct session *s, int number);
const struct error_record *session_error(const struct session *s, size_t n);
size_t session_error_count(const struct session *s);

/* session_redact(s, capture): with --redact, before only a part of ${capture} is shown: a part alone need not
 * look like a credential. */
void session_redact(const struct session *s, struct capture *capture);

/* session_keep_output(s, capture): keep it for get-output: taken (moved out). Returns its reference; the
 * oldest outputs are dropped. session_next_ref(s): the reference that the next output will get.
 * session_kept(s, ref): borrowed; NULL if unknown or dropped. */
int session_keep_output(struct session *s, struct capture *capture);
int session_next_ref(const struct session *s);
const struct capture *session_kept(const struct session *s, int ref);

/* session_between(s): output from outside any call. session_notices(s): what the next reply must
 * report. Both may be moved or cleared. */
struct capture *session_between(struct session *s);
struct notices *session_notices(struct session *s);

/* session_note_announced(s, n): a reply has shown error ${n}; those outside evaluations are announced once.
 */
void session_note_announced(struct session *s, size_t n);

/* session_has_limit(s, limit): an image that a person runs was given its heap, and is not copied. */
bool session_has_limit(const struct session *s, enum limit limit);

/* session_limits(s): its limits, which may be changed. session_name(s), session_package(s), session_pid(s),
 * session_state_name(s): what session-info shows; strings are borrowed. */
struct limits *session_limits(struct session *s);
const char *session_name(const struct session *s);
const char *session_package(const struct session *s); /* as the last reply reported it */
/* session_tools(s): the tools that its code defines, as last reported by the Lisp (docs/agent-protocol.md
 * section 6): one s-expression, or empty; borrowed, until the loop runs again. Untrusted. */
const struct strbuf *session_tools(const struct session *s);
pid_t session_pid(const struct session *s); /* 0 if there is no process */
const char *session_state_name(const struct session *s);
/* session_suspended_since(s): when it was suspended, or NULL. Any operation that needs its process resumes
 * it. */
const struct timespec *session_suspended_since(const struct session *s);

/* The memory of its processes: itself, scratch copies and snapshots; each page divided by the number of
 * processes that share it. */
struct session_memory {
    uint64_t bytes;
    size_t processes;
    size_t unread; /* processes not in ${bytes}: out of time, or unreadable */
};

/* session_memory(s, most_ms): read now, in half a millisecond per process; after ${most_ms} the rest stays
 * unread. */
struct session_memory session_memory(const struct session *s, int most_ms);

/* session_age_s(s). session_evaluations(s): how many there were; one that was cancelled while it waited does
 * not count, although it had a number. */
double session_age_s(const struct session *s);
uint64_t session_evaluations(const struct session *s);

#endif
