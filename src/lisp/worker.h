/*
 * One Lisp process seen from C: its channel, its two output pipes, its end. It holds one call, or several
 * requests for copies, which the process serves one after the other. It does not know the meaning of calls;
 * deadlines and their consequences are the session's.
 *
 * A process that is not ours has no channel and no pipes: a carrier takes the messages there and back. It is
 * never copied or killed.
 */
#ifndef LISP_WORKER_H
#define LISP_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/errors.h"
#include "proc/child.h"
#include "wire/sexp.h"

struct quota;
struct spawn_spec;
struct worker;
struct strbuf;

enum worker_state {
    WORKER_STARTING, /* made; its hello has not arrived */
    WORKER_IDLE,
    WORKER_BUSY, /* a call or requests for copies were sent and not answered */
    WORKER_GONE  /* its process has ended; on_gone was called */
};

enum worker_stream { WORKER_STDOUT, WORKER_STDERR };

struct worker_events {
    /* The hello has arrived; NULL for a silent copy, for which a hello is a stray message. The worker may
     * be freed in any callback except on_output. */
    void (*on_ready)(void *arg, const struct sexp *hello);
    /* A reply, (ID :ok ...), (ID :error ...) or (ID :refused ...): given. Everything that the process had
     * written before it has been passed to on_output. */
    void (*on_reply)(void *arg, struct sexp_document *reply);
    /* (0 :progress ...); NULL: it is dropped. */
    void (*on_progress)(void *arg, const struct sexp *event);
    /* (0 :input :question N): the call waits for a line of input; everything that the process had written
     * has been passed to on_output. NULL: a stray message. */
    void (*on_input)(void *arg, int64_t question);
    /* (0 :person ...): what the person who runs the process has done there. NULL: a stray message. */
    void (*on_person)(void *arg, const struct sexp *event);
    /* Bytes from descriptor 1 or 2, unchanged, from the worker made by worker_new() and all its copies.
     * Never called for a copy. */
    void (*on_output)(void *arg, enum worker_stream stream, const char *bytes, size_t len);
    /* The process has ended, and everything that it sent and wrote has been delivered. Called once. */
    void (*on_gone)(void *arg, const struct child_end *end);
    void *arg;
};

/* What reaches a process that is not ours. */
struct worker_carrier {
    /* Take one message to it; borrowed. The worker may not be freed in these functions. */
    void (*send)(void *arg, const char *message, size_t len);
    /* The operation or look-up with that token is to stop: said for the ${times}-th time, from 1. */
    void (*interrupt)(void *arg, int token, int times);
    /* The worker is being freed: nothing more is sent, and none of its functions may be called. */
    void (*leave)(void *arg);
    void *arg;
};

/* The process's ends of a worker's descriptors; -1: it has those of its original. */
struct worker_ends {
    int channel, output, error;
};

/*
 * worker_new(loop, children, quota, events, ends, err):
 * The C side of a process that the caller is about to make.
 *
 * quota       borrowed, outlives it and its copies, which it counts; NULL: none
 * ends        given: three descriptors (close-on-exec) to be passed to the process and closed here
 * Returns     given: worker_free() it; NULL with ${err} set
 * States      WORKER_STARTING
 */
struct worker *worker_new(uv_loop_t *loop, struct children *children, struct quota *quota,
                          const struct worker_events *events, struct worker_ends *ends, struct err *err);

/*
 * worker_new_copy(original, events, channel, err):
 * The C side of a copy that ${original} is about to make of itself. The two share their output pipes: only
 * one of them runs at a time, and the output of both goes to on_output of the one made by worker_new().
 *
 * channel     given: the descriptor to be passed to the copy
 * Returns     given; NULL with ${err} set
 * States      WORKER_STARTING
 */
struct worker *worker_new_copy(struct worker *original, const struct worker_events *events, int *channel,
                               struct err *err);

/*
 * worker_new_carried(loop, events, carrier): one of a process that is not ours, STARTING; given.
 * worker_receive(w, message): the carrier brings a message, which is given. It may free the worker.
 * worker_lose(w, why): the carrier cannot reach the process any more: on_gone follows inside this call.
 */
struct worker *worker_new_carried(uv_loop_t *loop, const struct worker_events *events,
                                  const struct worker_carrier *carrier);
void worker_receive(struct worker *w, struct sexp_document *message);
void worker_lose(struct worker *w, const struct err *why);

/* worker_set_events(w, events): call these from now on. */
void worker_set_events(struct worker *w, const struct worker_events *events);

/* worker_spawn(w, spec, ends, err): start a program as its process; the descriptors in ${spec} are set from
 * ${ends}, which are taken. */
bool worker_spawn(struct worker *w, struct spawn_spec *spec, struct worker_ends *ends, struct err *err);

/* worker_begin(w, pid): the process of a silent copy is this one; from now on it can be called. ${pid} comes
 * from the reply, unchecked: if no copy of ours has it, the worker is gone soon. States: STARTING to IDLE. */
void worker_begin(struct worker *w, int64_t pid);

/* worker_free(w): kills the process and its descendants if they still run; no event comes after this. */
void worker_free(struct worker *w);

/*
 * worker_call(w, request, descriptors, count):
 * Send an operation. One at a time: the state must be WORKER_IDLE.
 *
 * request      borrowed; the items after the id, as sexp_write_* made them: ":evaluate :code "..."", a list
 *              without its parentheses
 * descriptors  taken; as in channel_send()
 * Returns      the id, which is also the token for worker_interrupt()
 * States       WORKER_IDLE -> WORKER_BUSY
 */
int worker_call(struct worker *w, const struct strbuf *request, const int *descriptors, size_t count);

/*
 * worker_fork(w, descriptors, count, hello, err):
 * Ask for a copy of the process. It may be busy with earlier requests for copies, not with a call. With
 * WORKER_SILENT the copy sends no hello, which would cost it more than the rest of its work: the reply
 * contains its pid (worker_begin). With WORKER_SEPARATE it sends one, and neither has the pipes and sockets
 * of the process nor text that the process has yet to write to its files.
 *
 * descriptors  taken, also on failure
 * Errors       ERR_BUSY: too many requests for copies are unanswered
 * States       WORKER_IDLE, BUSY -> BUSY
 */
enum worker_hello { WORKER_SAYS_HELLO, WORKER_SILENT, WORKER_SEPARATE };
bool worker_fork(struct worker *w, const int *descriptors, size_t count, enum worker_hello hello,
                 struct err *err);

/* worker_has_missed(w): it has ended without reading the call under way. */
bool worker_has_missed(const struct worker *w);

/*
 * worker_look(original, request, events, err):
 * Have a look-up answered while ${original} performs a call: by a copy that it makes of itself for this or,
 * in a session with threads, by one of its threads.
 *
 * request      borrowed; the items of the request, as for worker_call()
 * events       on_ready: the copy exists and works; on_reply: the answer; on_gone: there is none, or the copy
 *              has ended
 * Returns      given: worker_free() it. Nothing can be sent to it. NULL with ${err} set
 * States       of the returned worker: STARTING, BUSY, IDLE once it has answered; of ${original}: none
 * Source       docs/agent-protocol.md
 */
struct worker *worker_look(struct worker *original, const struct strbuf *request,
                           const struct worker_events *events, struct err *err);

/* worker_give_input(w, question, text, len): answer the question of the call that runs; NULL: there is no
 * more input. A question that no longer waits is not answered. */
void worker_give_input(struct worker *w, int64_t question, const char *text, size_t len);

/* worker_end_look(original, look): the answer is no longer wanted: a thread of ${original} that works on
 * it is to end. A copy ends when its worker is freed. */
void worker_end_look(struct worker *original, const struct worker *look);

/* worker_forget_forks(w): the answers to requests for copies are no longer wanted. States: BUSY to IDLE. */
void worker_forget_forks(struct worker *w);

/* worker_interrupt(w): interrupt the call under way, if there is one. worker_kill(w): SIGKILL; on_gone
 * follows. A process that is not ours continues; it is only left. */
void worker_interrupt(struct worker *w);
void worker_kill(struct worker *w);

/* worker_state(w), worker_pid(w): its state; its pid, 0 if unknown. worker_is_alive(w): false from the
 * moment its end is known, a little before on_gone. A call made then is answered by on_gone. */
enum worker_state worker_state(const struct worker *w);
pid_t worker_pid(const struct worker *w);
bool worker_is_alive(const struct worker *w);

/* worker_is_carried(w): its process is not ours. worker_identity(w): never 0, and not that of another worker.
 */
bool worker_is_carried(const struct worker *w);
uint64_t worker_identity(const struct worker *w);

#endif
