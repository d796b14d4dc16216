/*
 * Facts that only the session knows, and the functions of an upper layer that put them into words.
 */
#ifndef SESSION_CORE_WORDING_H
#define SESSION_CORE_WORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct child_end;
struct fact;
struct journal;
struct strbuf;

/* An operation was stopped. */
struct stop_facts {
    bool is_limit; /* it reached its time limit; otherwise it was cancelled */
    int limit_ms, ran_ms;
    int interrupts;
    bool was_killed;           /* with its process; if that was joined: the connection to it was cut */
    bool is_joined;            /* its process is an image that a person runs */
    const char *still_running; /* the thread there that still runs it; NULL: it has ended */
    bool is_look_up;           /* its limit cannot be set */
    bool can_continue;         /* its error can be entered */
};

enum exhaustion { EXHAUSTION_NONE, EXHAUSTION_HEAP, EXHAUSTION_STACK };

/* A process ended. */
struct exit_facts {
    const struct child_end *end;
    enum exhaustion exhaustion; /* named by its last words */
};

/* Why a session gets a process: those after a death are recoveries. */
enum start_cause {
    START_NEW,            /* a new session got its first process */
    START_DEATH_IN_CALL,  /* the process ended during a call */
    START_DEATH_BETWEEN,  /* it ended between two calls */
    START_DEATH_IN_ENTRY, /* it ended during an entry to the error in which it stood, and stands there again
                           */
    START_DEATH_IN_UNWINDING, /* it ended while a failed call was being unwound */
    START_ROLLBACK,           /* by request */
    START_RESTORE,            /* from a save */
    START_RESUME,             /* from the image of a suspended session */
};

/* What a save took the place of. */
struct replaced_facts {
    uint64_t at; /* the state that the session was in; 0: it had evaluated nothing */
    size_t errors;
    const char *checkpoints; /* the named ones: "good (evaluation 3), ..."; NULL: none */
};

/* A session has got a process, or none can be started. */
struct start_facts {
    enum start_cause cause;
    const char *name;               /* RESTORE: the name of the save */
    struct replaced_facts replaced; /* RESTORE */
    const char *not_held;           /* RESTORE: named checkpoints that the save does not hold; NULL: none */
    bool had_threads;               /* threads ran when the process died, so its state was not copied */
    uint64_t wanted;                /* ROLLBACK: the state that was asked for */
    uint64_t at, died_at;           /* the state it is in now, and the one it was in */
    uint64_t best;                  /* the newest state of which a snapshot existed */
    const struct exit_facts *exit;  /* DEATH_BETWEEN, DEATH_IN_UNWINDING */
    bool was_not_resumed;           /* RESUME: its image did not start */
    const struct timespec *suspended_since;
    uint64_t idle_timeout_ms;
    const char *why_not_started;      /* NULL, or why no process could be started */
    const char *why_not_copied;       /* NULL, or why the last snapshot could not be made */
    uint64_t replayed, replay_failed; /* definitions: all that were replayed, and those that failed */
    const char *failures;             /* a line for each of the first that failed */
    const char *severed;              /* NULL, or pipes and sockets that were open in that state */
    const struct journal *journal;    /* the journal before the undone evaluations are marked in it */
};

/* Those with ${out} append to it. */
struct session_wording {
    const char *(*sentence)(
        const struct fact *fact); /* one without members, or a FACT_TEXT; FACT_NONE: NULL */
    void (*fact)(const struct fact *fact, struct strbuf *out);
    void (*stop)(const struct stop_facts *facts, struct strbuf *out);
    void (*exit)(const struct exit_facts *facts, struct strbuf *out);
    void (*start)(const struct start_facts *facts, struct strbuf *out);
};

#endif
