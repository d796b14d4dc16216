/*
 * The inside of a session: its data, and how events reach its table. Only files of this folder include it.
 */
#ifndef SESSION_CORE_CORE_H
#define SESSION_CORE_CORE_H

#include "join/image_process.h"
#include "lisp/worker.h"
#include "lisp/zygotes.h"
#include "proc/cpu_grace.h"
#include "session/core/actions.h"
#include "session/core/collections.h"
#include "session/core/states.h"
#include "session/output/session_output.h"
#include "session/records/error_history.h"
#include "session/records/journal.h"
#include "session/records/notices.h"
#include "session/records/operation.h"
#include "session/records/snapshots.h"
#include "session/store/image_store.h"

/* What it joins (joined.c). */
struct session_joined {
    char *address;       /* of the image that is its process; NULL: its process is the server's own */
    char *directory;     /* where "auto" begins to look */
    struct image *image; /* while it is being joined */
    char *doing;         /* what is being done then */
    char *description;   /* NULL: it is not joined */
    char *lost;          /* why the connection to it was cut, until it is joined again */
    struct image_process process; /* the last one that was joined */
    uint64_t person_events;       /* how many there were */
    struct notices person;        /* the last of them */
};

enum stop_reason { STOP_NONE, STOP_TIMEOUT, STOP_CANCEL };

/* The current operation's time, and how it is stopped (run.c). */
struct run {
    uint64_t started_at; /* loop time in ms when it was sent; later by what does not count */
    uint64_t paused_at;  /* ASKING */
    int timeout_ms;
    enum stop_reason stop;
    int interrupts;         /* of the operation, or of the work after it */
    struct strbuf progress; /* the agent's last message */
};

/* How the process is started (process.c). */
struct process {
    struct zygote_request request;
    bool is_requested;        /* the zygote is working on our request */
    struct operation *branch; /* of another session, which is to give the process; NULL: none */
    int attempts;
    pid_t first; /* the pid of the last process that was not copied from another one of this session, which
                    marks the programs of the session; 0: none */
    struct zygote_kind kind;
    struct control_group *group; /* NULL: none */
};

/* The cost of copies, and the answer to the last request for one (copies.c). */
struct copies {
    const struct sexp_document *answer; /* inside the step after it: borrowed; NULL: none has arrived */
    int error;                          /* COPYING: the number of the error that it stands in; 0: none */
    double ms, last_ms; /* the cost of copying the process, 0 while unknown; that of the last copy */
    char *why_not;      /* NULL, or why the last one could not be made */
};

enum origin { FROM_ZYGOTE, FROM_SNAPSHOT, FROM_IMAGE, FROM_SESSION };

/* The start of a process, and the return to a usable state (becoming.c). */
struct becoming {
    bool is_under_way; /* between the first step and the answer at the end */
    enum origin origin;
    struct start_facts facts;  /* as far as they are known */
    char *replaced, *not_held; /* by a restore: the named checkpoints that there were, and of the save */
    char *severed;             /* the pipes and sockets that the snapshot lacks */
    bool may_replay;
    size_t next;                 /* index into the journal */
    struct strbuf failures;      /* of the first replayed definitions that failed, for the reader */
    struct error_record *record; /* the answer to the operation that died */
    struct child_end end;
    bool is_in_error; /* FROM_SNAPSHOT: it stands in an error, which the process has to leave */
    int idle_ends;    /* how many have ended in a row before they were asked for anything */
    char *killer;     /* the code during which the process died last */
};

struct session {
    struct session_identity {
        struct list node; /* in ${all->all} */
        struct hash_node by_name;
        char *name;
        uint64_t created_at;
        struct lease *lease; /* NULL: none, so other servers may use the same save */
    } id;
    struct sessions *all;
    struct session_host *host;
    struct limits limits;
    struct session_place {
        const struct confinement *confinement; /* borrowed; NULL: none */
        char *directory;                       /* its own, a real path; NULL: the server's */
        struct session_joined joined;
    } place;

    enum session_state state;
    enum session_step next;    /* COPYING, UNWINDING: what follows; STARTING: what follows if it fails */
    struct worker *worker;     /* the live process; NULL when there is none */
    struct worker *scratch;    /* the copy in which the current operation runs; NULL: it runs in ${worker} */
    struct list queue;         /* of struct operation */
    struct operation *current; /* the one that was sent; NULL once it is answered */
    struct session_output output;

    uint64_t at;   /* the process is in the state after this evaluation; 0: before the first */
    char *package; /* in that state */
    struct session_numbers {
        uint64_t evaluations; /* the number of the last one */
        uint64_t skipped;     /* how many numbers up to that were of evaluations that never began */
        uint64_t saved;       /* the last save of that name holds the state after this one */
        uint64_t last;        /* the highest that a client was told; the journal gets it later, or never */
    } numbers;
    struct journal journal;
    struct snapshots snapshots;
    struct error_history errors;
    struct session_error {
        struct error_record *standing; /* borrowed: the error that the process stands in; NULL: none */
        struct error_record *unwound;  /* borrowed: the error that is being left; NULL: a look-up's */
    } at_error;
    struct session_told {
        /* The tools that its code defines (docs/agent-protocol.md section 6): one s-expression, or empty. It
         * is kept as it arrived, so that two reports can be compared byte by byte. */
        struct strbuf tools, scratch_tools;
        struct notices notices; /* for the next reply */
    } told;
    struct session_flags {
        bool is_delivering;       /* inside answer_deliver() */
        bool has_threads;         /* the program runs threads in the process: thread_errors.c */
        bool was_told_of_threads; /* what threads prevent was told */
        bool has_hooks;           /* the process that is returned to has forms to evaluate: hooks.c */
        bool is_after_hooks;      /* nothing has been evaluated since the hooks were called */
        bool is_untried;          /* nothing has been evaluated since the session returned after a death */
        bool is_unrestored; /* it began empty where its save could not be restored, which it must not replace
                               unasked */
    } flags;

    struct run run;
    struct process process;
    struct copies copies;
    struct becoming becoming;
    struct list savings; /* saving.c: saves under way */
    struct list looks;   /* look_ups.c: look-ups under way */
    struct session_suspension {
        struct stored_image image; /* SUSPENDED, and until the process from it is healthy */
        uint64_t uses;             /* of the session when its image was begun */
        pid_t pid;                 /* of its process then */
    } suspension;                  /* suspension.c */
    struct session_footprint {
        uint64_t bytes, uses, round; /* ${uses}: of the session at that time; ${round}: of memory_watch.c */
        bool is_known;
    } footprint; /* memory_watch.c: its memory when it was last measured */

    struct session_clock {
        uv_timer_t *timer;      /* the deadline of the state */
        struct cpu_grace grace; /* for the deadline */
        uv_timer_t *ticker;     /* queue.c: reports progress */
        uv_timer_t *later;      /* work that must not be done inside the caller's call */
        void (*close)(
            struct session *s); /* what it calls to close the session; NULL: it is not to be closed */
        struct list idle_node;  /* in ${host->idle} */
        uint64_t idle_since;
        uint64_t uses; /* how many operations were submitted */
    } clock;
    char *why; /* UNAVAILABLE: why there is no process */
};

/* session_dispatch(s, event): run the action in the table's cell. session_look_at_queue(s): act as if an
 * operation had been submitted. session_enter_rest(s): the process
 * has nothing to do: IDLE, or STANDING if it stands in an error. session_rest(s): both. session_later(s): as
 * session_look_at_queue(), but from the loop; or tell the waiting operations why there is no process.
 * session_not_before(s, delay_ms): as session_later(), after
 * ${delay_ms} at the latest. */
void session_dispatch(struct session *s, struct event *event);
void session_look_at_queue(struct session *s);
void session_enter_rest(struct session *s);
void session_rest(struct session *s);
void session_later(struct session *s);
void session_not_before(struct session *s, uint64_t delay_ms);

/* session_put_first(s, op): put ${op}, which is taken, at the head of the queue. session_first_operation(s):
 * the first that waits or runs; borrowed, NULL if there is none. */
void session_put_first(struct session *s, struct operation *op);
struct operation *session_first_operation(const struct session *s);

/* session_enter_state(s, state, deadline_ms): 0 for no deadline; that of IDLE follows from the work that
 * is left. session_set_deadline(s, deadline_ms): DEADLINE follows then, or later (cpu_grace.h). */
void session_enter_state(struct session *s, enum session_state state, int deadline_ms);
void session_set_deadline(struct session *s, int deadline_ms);

/* session_take_step(s): the state has ended, or a start has failed: run the step that was given for it. */
void session_take_step(struct session *s);

/* session_watch_idle(host): a suspension has ended; look for the next session to be suspended. */
void session_watch_idle(struct session_host *host);

/* session_forget_standing(s): the process no longer stands in an error; session_lose_standing(s): it has
 * ended there. */
void session_forget_standing(struct session *s);
void session_lose_standing(struct session *s);

/* session_tell(s, news), session_tell_event(s, event): notify the watchers of the collection.
 * session_count(s, metric): increment it. */
void session_tell(struct session *s, enum sessions_news news);
void session_tell_event(struct session *s, const struct sessions_event *event);
void session_count(const struct session *s, enum metric metric);

/* session_sentence(s, kind): the words of a fact without members, constant. session_words(s, fact):
 * those of any fact, given. session_notify(s, fact): the next reply reports it. */
const char *session_sentence(const struct session *s, enum fact_kind kind);
char *session_words(const struct session *s, const struct fact *fact);
void session_notify(struct session *s, const struct fact *fact);

/* session_core_package(s): the current package. session_core_pid(s): 0 if there is no process. */
const char *session_core_package(const struct session *s);
pid_t session_core_pid(const struct session *s);

/* session_is_reply(document, kind): does it have the form (ID :kind ...)? False for NULL. */
bool session_is_reply(const struct sexp_document *document, const char *kind);

#endif
