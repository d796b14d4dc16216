/*
 * What a session is made of; shared by session.c (the public face), sessions.c and session_host.c (the
 * collections) and the files of its life: session_machine.c, session_process.c, session_failure.c,
 * session_escalation.c, session_copies.c, session_scratch.c, session_death.c, session_return.c,
 * session_eviction.c, session_sleep.c, saving.c.
 */
#ifndef SESSION_SESSION_INTERNAL_H
#define SESSION_SESSION_INTERNAL_H

#include <uv.h>

#include "base/hash_table.h"
#include "base/quota.h"
#include "base/strbuf.h"
#include "lisp/worker.h"
#include "lisp/zygotes.h"
#include "session/checkpoints.h"
#include "session/journal.h"
#include "session/metrics.h"
#include "session/cpu_grace.h"
#include "session/session.h"
#include "session/session_host.h"
#include "session/session_states.h"
#include "session/sessions.h"

#define HISTORY 32                        /* errors kept */
#define KEPT 16                           /* outputs kept for get-output */
#define MOST_TOOLS_TEXT ((size_t)1 << 20) /* what is longer is no list of tools */
#define FREEZE_MS 30000                   /* for copying the process */
#define ANSWER_MS 2000                    /* for saying why there is no copy */
#define COSTLY_MS 20.0 /* a checkpoint that takes longer than this is not made after each evaluation, */
#define COSTLY_SHARE                                                                                         \
    20 /* but when the session has been idle, or this many times that long after the last one */

enum operation_kind {
    OPERATION_RUN,        /* in the session's process */
    OPERATION_LOOK,       /* in a copy of a frozen error or of the process, which is thrown away */
    OPERATION_RESUME,     /* in a copy of a frozen error, which becomes the process if it succeeds */
    OPERATION_RESET,      /* a fresh process */
    OPERATION_CHECKPOINT, /* make one with a name */
    OPERATION_ROLLBACK,   /* return to one */
    OPERATION_SAVE,       /* a copy writes itself to a file, while the session goes on */
    OPERATION_RESTORE,    /* a process from such a file */
};

struct sleep_store;
struct saving;

struct operation {
    struct list node;
    struct session *session;
    enum operation_kind kind;
    struct strbuf request;
    struct strbuf what;
    struct strbuf code; /* for the journal */
    char *package;      /* in which it is read: given with it, or the session's when it was sent */
    bool has_code;
    int sequence;          /* LOOK and RESUME: which error; 0: the session's own process */
    char *name;            /* CHECKPOINT: its name; ROLLBACK: where to; RESTORE: which save */
    struct saving *saving; /* SAVE: once it is under way, and out of the queue */
    int timeout_ms;
    bool keeps_record;
    bool goes_on, has_met_error; /* it may go on after an error; it has */
    bool is_put_aside;           /* FREEZING: it goes on when the copy is made */
    bool is_to_stop;             /* it was cancelled meanwhile */
    bool is_examination;
    operation_done *done; /* NULL once cancelled */
    operation_progress *on_progress;
    void *arg;
};

enum stop_reason { STOP_NONE, STOP_TIMEOUT, STOP_CANCEL };

struct kept {
    int ref;
    struct capture capture;
};

struct session {
    struct list node; /* in ${all->all} */
    struct hash_node by_name;
    struct sessions *all;
    struct session_host *host;
    char *name;
    enum session_state state;
    struct worker *worker;  /* the process; NULL in ABSENT, and in STARTING until the zygote made it */
    struct worker *scratch; /* a copy of a frozen error in which the current operation runs; NULL: it runs in
                               ${worker} */
    struct zygote_request request;
    bool is_requested; /* the zygote has our request */
    int start_attempts;
    struct cpu_grace grace;    /* with the deadline of the state that it is in */
    struct list queue;         /* of struct operation */
    struct operation *current; /* the one that was sent; NULL once it was answered */
    uint64_t started_at;       /* loop time in ms when it was sent */
    int running_timeout_ms;
    uint64_t answered_at_ns; /* loop time when the last one was answered */
    bool is_asked_at_once;   /* the current one came right after that: what can wait is done while the process
                                is busy, and not while nobody waits */
    enum stop_reason stop;
    uint64_t kill_at; /* loop time in ms at which the escalation ends */
    int interrupts;
    struct error_record *held; /* its report waits until the unwinding has shown how it ends */
    struct error_record
        *awaited; /* borrowed: COPYING, and its frozen process has not answered for the copy before */
    struct error_record *examined; /* borrowed: the record of the failure that is being frozen or unwound */

    struct checkpoints checkpoints;
    uint64_t at;               /* the process is in the state after this evaluation */
    uint64_t at_before;        /* the same, before the evaluation that is being unwound */
    struct checkpoint *source; /* borrowed: what is being returned to, in CHECKING */
    struct checkpoint *making; /* borrowed: what is being made, in CHECKPOINTING */
    struct worker *ahead; /* the copy that the process was asked for together with what it does now; NULL:
                             none, or it came to nothing */
    uint64_t forked_at;   /* loop time in ns of the last fork request */
    double fork_ms, last_fork_ms; /* what copying the process costs, and what it cost the last time */
    bool owes_checkpoint;         /* the one after the last evaluation was put off */
    char *why_no_checkpoint;      /* NULL, or why the last one could not be made */

    struct error_record *exit_record; /* how the current operation died; reported when the session has been
                                      returned to a state that lives */
    bool is_restoring;                /* the process comes from a file */
    bool is_delivering;               /* in session_deliver() */
    bool is_unrestored;  /* its save could not be restored, and must not be overwritten unasked */
    bool is_closing;     /* sessions_close_later() */
    bool is_waking;      /* the process comes from the image it slept in */
    struct list savings; /* under way */
    bool is_returning;   /* a death is being dealt with */
    bool was_idle;       /* it came between two operations */
    uint64_t best;       /* the newest state that a checkpoint held at the time of the death */
    uint64_t died_at;    /* ${at} when it died */
    bool is_untried;     /* nothing has been evaluated since the return */
    char *killer;        /* the code that died last */
    size_t replay_next;  /* index into the journal */
    size_t replayed, replay_failed;
    bool may_replay;
    struct strbuf return_text; /* what the return has to say */

    int heap_mib;                  /* of the process */
    struct list idle_node;         /* in ${host->idle} while it may be put to sleep */
    uint64_t idle_since;           /* loop time in ms */
    uint64_t uses, uses_at_image;  /* operations ever asked for; how many when the image was begun */
    pid_t image_pid;               /* whose image it is */
    char *image, *image_directory; /* ASLEEP, and while it wakes: path of the image, where its process worked
                                      (may be NULL) */
    struct timespec asleep_since;

    struct journal journal;
    struct capture output[2];
    enum worker_stream last_stream; /* to which something was written last */
    struct capture between;
    struct strbuf notice;
    struct strbuf progress;                /* last message from the agent */
    struct error_record *history[HISTORY]; /* newest at (errors - 1) % HISTORY */
    size_t errors;
    bool has_error; /* the newest is the last error still */
    struct kept kept[KEPT];
    int last_ref;
    struct limits limits;
    char *package;
    struct strbuf tools; /* what the process has told of them, as an s-expression; empty: there are none */
    struct strbuf scratch_tools; /* the same of the scratch copy */
    uint64_t created_at;
    uint64_t evaluations;
    char *why;         /* UNAVAILABLE */
    uv_timer_t *timer; /* the deadline of the state */
    uv_timer_t *later; /* what may not be done inside the caller's call */
    uv_timer_t *ticker;
};

/* sessions.c */
struct sessions {
    struct list node; /* in ${host->owners} */
    struct session_host *host;
    char *owner;
    struct saved_store *store; /* NULL: sessions cannot be saved */
    struct quota quota;        /* of sessions */
    struct quota processes;    /* of these sessions: their own, checkpoints, frozen errors, scratch copies */
    struct hash_table by_name;
    struct list all; /* the oldest first */
    struct list watchers;
    unsigned long made;
};

/* session_host.c */
struct session_host {
    uv_loop_t *loop;
    struct zygotes *zygotes;
    struct limits limits;
    struct session_waits waits;
    struct list owners;               /* of struct sessions */
    struct quota sessions, processes; /* of all owners */
    uint64_t seed;                    /* of the hashes of names */
    uint64_t idle_timeout_ms;         /* 0: nobody is put to sleep */
    struct sleep_store *sleep_store;
    struct list idle; /* of struct session: idle, the longest first */
    uv_timer_t *sleeper;
    struct session *suspending; /* borrowed: whose image is being written */
    size_t asleep;
    uint64_t started_at; /* loop time in ms */
    struct metrics metrics;
    uint64_t memory_looked_at; /* loop time in ms */
};

struct event {
    enum session_event kind;
    struct sexp_document *document; /* OK, FAILED: given to the action */
    const struct child_end *end;    /* GONE */
    bool is_scratch;                /* GONE: it was the scratch copy */
    char *image;                    /* STORED: path, given to the action; NULL if it could not be made */
};

/* session_count(s, metric): one more of these. */
static inline void session_count(const struct session *s, enum metric metric)
{
    s->host->metrics.counters[metric]++;
}

/* session_new(all, name): one that is in no list and was counted nowhere yet. session_free(s): see
 * sessions_close(). */
struct session *session_new(struct sessions *all, const char *name);
void session_free(struct session *s);

/* session_dispatch(s, event): run the cell of the table. */
void session_dispatch(struct session *s, struct event *event);

/* session_drop_waiting(s, what): end the first operation of the queue, which has not begun, as cancelled;
 * false if there is none. */
bool session_drop_waiting(struct session *s, struct strbuf *what);

/* session_tell(s, news): tell whoever watches the collection. */
void session_tell(struct session *s, enum sessions_news news);

/* session_later(s): look at the queue from the loop. */
void session_later(struct session *s);

/* session_clear(s): everything but name, limits and queue is as in a new session. */
void session_clear(struct session *s);

/* saving_start_asleep(s, op): the same of a session that sleeps: the image it sleeps in is the save. False if
 * the store cannot have it; the operation waits still. */
bool saving_start_asleep(struct session *s, struct operation *op);

/* saving_start_for_sleep(s, image, err): have a copy write itself to ${image} (taken); STORED follows. */
bool saving_start_for_sleep(struct session *s, char *image, struct err *err);

/* saving_start(s, op): begin to save; the operation leaves the queue. False if no copy can be made: it was
 * answered. saving_cancel(saving). savings_cancel(s). */
bool saving_start(struct session *s, struct operation *op);
void saving_cancel(struct saving *saving);
void savings_cancel(struct session *s);

/* session_deliver(s, op, outcome): tell whoever asked, and free the operation. */
void session_deliver(struct session *s, struct operation *op, struct outcome *outcome);

/*
 * What follows joins the files of a session's life. Each function is called from the loop, in the state that
 * its file says.
 *
 * session_machine.c: operations come and go
 */

/* session_enter_state(s, state, deadline_ms): 0 for no deadline; that of IDLE follows from what is left to
 * do. session_proceed(s): in IDLE, ABSENT or ASLEEP, do what is queued; in any other state the event that
 * leads out of it comes back here. */
void session_enter_state(struct session *s, enum session_state state, int deadline_ms);
void session_proceed(struct session *s);

/* session_put_back(s): the current one has not begun: it is the first to be taken up again.
 * session_take_up(s, op): it is the current one now. session_run_current(s): send it, to the scratch copy if
 * there is one: RUNNING. */
void session_put_back(struct session *s);
void session_take_up(struct session *s, struct operation *op);
void session_run_current(struct session *s);

/* session_remember_package(s, reply): take :package from it. session_write_journal(s, op, outcome): count and
 * keep what it evaluated, if it keeps records. */
void session_remember_package(struct session *s, const struct sexp *reply);
void session_write_journal(struct session *s, const struct operation *op, enum journal_outcome outcome);

/* session_set_deadline(s, deadline_ms): DEADLINE follows then, or later if the process has had no processor
 * (cpu_grace.h). */
void session_set_deadline(struct session *s, int deadline_ms);

/* session_process.c: the process comes, tells things, goes */

/* session_request_process(s): ask the zygote for one: STARTING. session_forget_process(s): no process any
 * more: ABSENT. Checkpoints stay. */
void session_request_process(struct session *s);
void session_forget_process(struct session *s);

/* session_process_events(s): what the worker of the process tells, and whom. session_is_reply(document,
 * kind): is it (ID :kind ...)? NULL is not. */
struct worker_events session_process_events(struct session *s);
bool session_is_reply(const struct sexp_document *document, const char *kind);

/* session_call(s, request): send the process a request of our own. */
void session_call(struct session *s, const char *request);

/* session_note_tools(s, tools): the process has told which it has; NULL: none. session_note_scratch_tools(s,
 * tools): the scratch copy has. */
void session_note_tools(struct session *s, const struct sexp *tools);
void session_note_scratch_tools(struct session *s, const struct sexp *tools);

/* session_take_tools(s, told): ${told} is taken, empty afterwards: it is what the process has. */
void session_take_tools(struct session *s, struct strbuf *told);

/* session_runner(s): where the current operation runs: the scratch copy if there is one, or the process. */
static inline struct worker *session_runner(const struct session *s)
{
    return s->scratch != NULL ? s->scratch : s->worker;
}

/* session_failure.c: errors, from the failure to the end of the unwinding */

/* session_deliver_error(s, op, r): ${r} is taken: it becomes the session's last error, or goes when it was
 * told. session_clear_error(s): there is no last error; the history stays. */
void session_deliver_error(struct session *s, struct operation *op, struct error_record *r);
void session_clear_error(struct session *s);

/* session_escalation.c: session_word_stop(s, r, was_killed): the words of a stopped operation: what stopped
 * it, which step of the escalation worked, what to do about it. */
void session_word_stop(struct session *s, struct error_record *r, bool was_killed);

/* session_copies.c: checkpoints and frozen processes */

/* session_fork_from(original, events, err): ask ${original} for a copy of itself, a silent one if nobody
 * hears of its hello: given; NULL with ${err} set if there are no descriptors for it.
 * session_record_events(r): what a frozen process tells. */
struct worker *session_fork_from(struct worker *original, const struct worker_events *events,
                                 struct err *err);
struct worker_events session_record_events(struct error_record *r);

/*
 * The copy of the state that an operation leaves is asked for with the operation, so that the process need
 * not be waked for it.
 *
 * session_ask_ahead(s): right after a call to the process; not where copies are dear, were refused the last
 * time, or there is no room for one more. session_drop_ahead(s): it is not wanted; the process answers for it
 * all the same. session_copy_process(s, events, err): the copy that was asked for ahead, or one asked for
 * now; as session_fork_from(). session_settle_down(s): an operation is over and its state is not to be kept:
 * idle, as soon as the process has answered for the copy that it makes.
 */
void session_ask_ahead(struct session *s);
void session_drop_ahead(struct session *s);
struct worker *session_copy_process(struct session *s, const struct worker_events *events, struct err *err);
void session_settle_down(struct session *s);

/* session_note_copy(s, e): what the process has answered for the checkpoint that is being made; true if it
 * has made it. */
bool session_note_copy(struct session *s, const struct event *e);

/* session_why_not_copied(answer): what the process said; borrowed. NULL for ${answer}: it said nothing. */
const char *session_why_not_copied(const struct sexp_document *answer);

/* session_make_checkpoint(s, name): CHECKPOINTING, unless there are no descriptors for it.
 * session_keep_state(s): an evaluation is over and was answered: make one, now or when there is time, and
 * proceed. */
void session_make_checkpoint(struct session *s, const char *name);

/*
 * session_thin_checkpoints(s): keep no more than there may be. session_thin_checkpoints_rarely(s): once there
 * are more than half as many again; several processes that end one after the other cost less than as many
 * that end one by one, each beside the copy that is being made. session_idle_deadline_ms(s): 0 if nothing is
 * to be done when it has been idle for a while.
 */
void session_thin_checkpoints(struct session *s);
void session_thin_checkpoints_rarely(struct session *s);
int session_idle_deadline_ms(const struct session *s);
void session_keep_state(struct session *s);

/* session_retire(s): the process of now becomes a checkpoint as it is. */
void session_retire(struct session *s);

/* session_scratch.c: operations in copies */

/* session_begin_scratch(s, op): take it up and ask for the copy: COPYING. session_ask_scratch(s): ask again,
 * when a frozen process that was waited for is there or gone. session_leave_scratch(s): the scratch copy is
 * done for. session_promote_scratch(s): it becomes the process. */
void session_begin_scratch(struct session *s, struct operation *op);
void session_ask_scratch(struct session *s);
void session_leave_scratch(struct session *s);
void session_promote_scratch(struct session *s);

/*
 * session_threads.c: errors in threads
 *
 * session_note_threads(s, reply): what a reply says of the errors of the program's threads, and of those that
 * stand no more. session_note_standing(s, r): whether a report says that its error stands in a thread.
 * session_remember_error(s, r): ${r} is taken.
 */
void session_note_threads(struct session *s, const struct sexp *reply);
void session_note_standing(struct session *s, struct error_record *r);
void session_remember_error(struct session *s, struct error_record *r);

/* session_find_error(s, sequence): borrowed; NULL if it is not kept. */
struct error_record *session_find_error(struct session *s, int sequence);

/* session_scratch_failed(s, op, r), session_scratch_died(s, e): report it and leave; ${r} is taken. */
void session_scratch_failed(struct session *s, struct operation *op, struct error_record *r);
void session_scratch_died(struct session *s, struct event *e);

/* session_death.c: what is to be said of the end of a process; given */
struct error_record *session_make_exit_record(struct session *s, const struct child_end *end);

/* session_return.c: returning to a state that lives */

/* session_newest_checkpoint(s, most): of a state after at most ${most} evaluations that is on the way to that
 * of now; NULL if there is none. */
struct checkpoint *session_newest_checkpoint(const struct session *s, uint64_t most);

/* Begin to return from ${at}: forget what an earlier return has come to. With ${may_replay} the definitions
 * that no checkpoint holds are evaluated again. */
void session_begin_return(struct session *s, bool may_replay);

/* session_go_back(s): to the newest checkpoint there is, or to the beginning. session_ask_source(s): ask the
 * checkpoint that is returned to for a copy. session_lower_best(s): a checkpoint was killed from outside. */
void session_go_back(struct session *s);
void session_ask_source(struct session *s);
void session_lower_best(struct session *s);

/* session_returned(s): the process lives: evaluate again what no checkpoint held, then
 * session_finish_recovery(s): answer the operation that died. session_restore_failed(s): the image of a saved
 * session did not come to life. */
void session_returned(struct session *s);
void session_finish_recovery(struct session *s);
void session_restore_failed(struct session *s);

/* session_perform_rollback(s, op), session_perform_restore(s, op): begin it, or answer why not. */
void session_perform_rollback(struct session *s, struct operation *op);
void session_perform_restore(struct session *s, struct operation *op);

/*
 * session_eviction.c: making room
 *
 * session_evict_for_memory(host): if memory is short, keep one unnamed checkpoint of each session; looks once
 * a second at most. session_drop_oldest_checkpoint(s): the oldest unnamed one; false if there is none.
 * session_evict_for_process(s): drop one of this owner's, or of anybody's if that helps ${s} to a process;
 * false if there is none.
 */
void session_evict_for_memory(struct session_host *host);
bool session_drop_oldest_checkpoint(struct session *s);
bool session_evict_for_process(struct session *s);

/*
 * session_sleep.c: sleeping and waking
 *
 * session_note_idle(s), session_note_activity(s): it is idle, it is not. session_suspend_is_over(host): the
 * image is there, or will not be. session_wake(s): ASLEEP: start the image: CHECKING.
 * session_forget_image(s): it is awake, or will never be. session_say_awake(s, out).
 */
void session_note_idle(struct session *s);
void session_note_activity(struct session *s);
void session_suspend_is_over(struct session_host *host);
void session_wake(struct session *s);
void session_forget_image(struct session *s);
void session_say_awake(const struct session *s, struct strbuf *out);

/* session_give_up_waiting(s, why): everything that waits now ends as unavailable. */
void session_give_up_waiting(struct session *s, const char *why);

/* The actions of the table. */
#define X(name) void session_action_##name(struct session *s, struct event *e);
SESSION_ACTIONS(X)
#undef X

#endif
