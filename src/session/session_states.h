/*
 * The states and events of a session and the table that joins them, apart from the actions, so that a test
 * can walk it.
 */
#ifndef SESSION_SESSION_STATES_H
#define SESSION_SESSION_STATES_H

/* docs/states.md says what each means; the names are the same. One a line: */
/* clang-format off */
#define SESSION_STATES(X)                                                                                      \
    X(ABSENT, "absent")               /* no process */                                                         \
    X(ASLEEP, "asleep")               /* no process, but an image of the last one */                           \
    X(STARTING, "starting")           /* asked the zygote for one */                                           \
    X(IDLE, "idle")                   /* nothing to do */                                                      \
    X(COPYING, "copying")             /* a copy is being made, of a frozen error or of the process, to run an operation in */ \
    X(RUNNING, "running")             /* an operation was sent */                                              \
    X(INTERRUPTING, "interrupting")   /* it was interrupted once */                                            \
    X(INSISTING, "insisting")         /* and again */                                                          \
    X(FREEZING, "freezing")           /* it failed; the process is being copied at the point of the error */   \
    X(EXAMINING, "examining")         /* no copy can be made: the locals of its frames are being read */       \
    X(HURRYING, "hurrying")           /* that took too long and was interrupted */                             \
    X(ABORTING, "aborting")           /* the failed operation is being unwound */                              \
    X(FORCING, "forcing")             /* that took too long and was interrupted */                             \
    X(KILLING, "killing")             /* SIGKILL was sent */                                                   \
    X(CHECKPOINTING, "checkpointing") /* the process is being copied, for later */                             \
    X(CHECKING, "checking")           /* a checkpoint has become the process; does it live? */                 \
    X(REPLAYING, "replaying")         /* definitions that no checkpoint holds are evaluated again */

#define SESSION_EVENTS(X)                                                                                      \
    X(SUBMITTED, "submitted")     /* an operation was queued */                                                \
    X(READY, "ready")             /* the process said hello */                                                 \
    X(UNAVAILABLE, "unavailable") /* there will be no process */                                               \
    X(OK, "ok")                   /* reply :ok or :refused */                                                  \
    X(FAILED, "failed")           /* reply :error */                                                           \
    X(DEADLINE, "deadline")       /* the timer ran out */                                                      \
    X(CANCEL, "cancel")           /* the running operation is to be stopped */                                 \
    X(COPIED, "copied")           /* reply to the request for a copy */                                        \
    X(GONE, "gone")               /* the process has ended */                                                 \
    X(UNUSED, "unused")           /* it has been idle for the idle timeout */                                  \
    X(STORED, "stored")           /* the image that it is to sleep in is there, or could not be made */

/* clang-format on */
enum session_state {
#define X(name, text) SESSION_##name,
    SESSION_STATES(X)
#undef X
        SESSION_STATE_COUNT
};

enum session_event {
#define X(name, text) EVENT_##name,
    SESSION_EVENTS(X)
#undef X
        SESSION_EVENT_COUNT
};

/* clang-format off */
/* The actions, by name; each is a function of one of the files of a session's life (session_internal.h). */
#define SESSION_ACTIONS(X)                                                                                     \
    X(ignore)      /* nothing is to be done */                                                                 \
    X(start)       /* ask the zygote for a process */                                                          \
    X(begin)       /* the process is there: send the next operation, if there is one */                        \
    X(give_up)     /* every queued operation ends as unavailable */                                            \
    X(start_again) /* the process ended before it was ready: ask once more, or give up */                      \
    X(cut_short)   /* the process does not say hello: end it */                                                \
    X(answered)    /* whoever was asked for the copy has answered; if it refused, the copy's end says so */        \
    X(enter)       /* the copy is there: send the operation to it */                                           \
    X(finish)      /* the operation succeeded */                                                               \
    X(freeze)      /* the operation failed: report it, then copy the process where it stands */                \
    X(frozen)      /* copied, or refused: unwind, or read what cannot be read later; or go on */               \
    X(put_off)     /* it is to be stopped, and goes on when it is copied: stop it then */                      \
    X(interrupt)   /* first interrupt */                                                                       \
    X(insist)      /* second interrupt */                                                                      \
    X(kill)        /* SIGKILL */                                                                               \
    X(abort)       /* unwind the failed operation */                                                           \
    X(hurry)       /* interrupt the look at the frames */                                                      \
    X(force)       /* interrupt the unwinding */                                                               \
    X(settle)      /* unwound: the session is as before the operation, but for what it did */                  \
    X(discard)     /* a reply that came too late */                                                            \
    X(checkpoint)  /* make the checkpoint that was put off */                                                  \
    X(kept)        /* the checkpoint is made, or could not be */                                               \
    X(keep)        /* the same, and the next operation runs already */                                         \
    X(do_without)  /* nobody answers for the copy: go on without one if it has come to nothing, else SIGKILL */ \
    X(check)       /* the process returned to is there: try it */                                              \
    X(healthy)     /* it lives: the session goes on from there */                                              \
    X(replayed)    /* one entry of the journal was evaluated again */                                          \
    X(handle_exit)  /* the process died: return to the newest checkpoint that lives */                          \
    X(suspend)     /* have a copy write itself to an image */                                                  \
    X(fall_asleep) /* nothing has happened since: end the process */                                           \
    X(stay_awake)  /* something has: the image is of no use */                                                 \
    X(wake)        /* start the image */                                                                       \
    X(stay_asleep) /* it cannot be started: those that wait are told why */

/* clang-format on */
enum session_action {
#define X(name) ACTION_##name,
    SESSION_ACTIONS(X)
#undef X
        SESSION_ACTION_COUNT
};

/* Every cell is filled. */
extern const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT];

const char *session_state_text(enum session_state state);
const char *session_event_text(enum session_event event);
const char *session_action_text(enum session_action action);

#endif
