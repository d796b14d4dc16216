/*
 * The states and events of a session and the table that joins them, apart from the actions, so that a test
 * can walk it.
 */
#ifndef SESSION_SESSION_STATES_H
#define SESSION_SESSION_STATES_H

/* docs/states.md says what each means; the names are the same. One a line: */
/* clang-format off */
#define SESSION_STATES(X)                                                                                     \
    X(ABSENT, "absent")               /* no process */                                                        \
    X(ASLEEP, "asleep")               /* no process, but an image of the last one */                          \
    X(STARTING, "starting")           /* asked the zygote for one */                                          \
    X(RESTARTING, "restarting")       /* the same, to go on in after a death */                               \
    X(IDLE, "idle")                   /* nothing to do */                                                     \
    X(STANDING, "standing")           /* it stands in an error and serves from there */                       \
    X(WAITING, "waiting")             /* the frozen process that is to be copied answers for the copy before */ \
    X(COPYING, "copying")             /* a scratch copy is being made */                                      \
    X(RUNNING, "running")             /* an operation was sent */                                             \
    X(INTERRUPTING, "interrupting")   /* it was interrupted once */                                           \
    X(INSISTING, "insisting")         /* and again */                                                         \
    X(RECORDING, "recording")         /* it met an error and will go on; the process is being copied at the point of the error */ \
    X(FREEZING, "freezing")           /* it failed, and a copy of the process was asked for before */         \
    X(INSURING, "insuring")           /* the process is being copied at the point of the error, before an entry */ \
    X(LEAVING, "leaving")             /* the same, before the error is left */                                \
    X(EXAMINING, "examining")         /* no copy can be made: the locals of its frames are being read */      \
    X(HURRYING, "hurrying")           /* that took too long and was interrupted */                            \
    X(ABORTING, "aborting")           /* the failed operation is being unwound */                             \
    X(FORCING, "forcing")             /* that took too long and was interrupted */                            \
    X(KILLING, "killing")             /* SIGKILL was sent */                                                  \
    X(CHECKPOINTING, "checkpointing") /* the process is being copied, for later */                            \
    X(RESTORING, "restoring")         /* a saved image is starting */                                         \
    X(WAKING, "waking")               /* the image of a sleeping session is starting */                       \
    X(SOURCING, "sourcing")           /* the checkpoint that is returned to answers for the copy before */    \
    X(CHECKING, "checking")           /* its copy is the process; does it live? */                            \
    X(REPLAYING, "replaying")         /* definitions that no checkpoint holds are evaluated again */

#define SESSION_EVENTS(X)                                                                                     \
    X(SUBMITTED, "submitted")           /* an operation was queued */                                         \
    X(READY, "ready")                   /* the process said hello */                                          \
    X(UNAVAILABLE, "unavailable")       /* there will be no process */                                        \
    X(OK, "ok")                         /* reply :ok or :refused */                                           \
    X(FAILED, "failed")                 /* reply :error */                                                    \
    X(DEADLINE, "deadline")             /* the timer ran out */                                               \
    X(CANCEL, "cancel")                 /* the running operation is to be stopped */                          \
    X(COPIED, "copied")                 /* reply to the request for a copy */                                 \
    X(COPY_ENDED, "copy ended")         /* the copy that is being made has ended */                           \
    X(GONE, "gone")                     /* the process has ended */                                           \
    X(ENTRY_OK, "entry ok")             /* reply :ok or :refused to an entry; the error stands */             \
    X(ENTRY_FAILED, "entry failed")     /* reply :error to an entry; the error stands */                      \
    X(SCRATCH_OK, "scratch ok")         /* reply :ok or :refused of the scratch copy */                       \
    X(SCRATCH_FAILED, "scratch failed") /* reply :error of the scratch copy */                                \
    X(SCRATCH_GONE, "scratch gone")     /* the scratch copy has ended */                                      \
    X(SOURCE_FREE, "source free")       /* the process to be copied has answered for the copy before */       \
    X(SOURCE_GONE, "source gone")       /* it has ended */                                                    \
    X(UNUSED, "unused")                 /* it has been idle for the idle timeout */                           \
    X(STORED, "stored")                 /* the image that it is to sleep in is there, or could not be made */

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
/* The actions, by name; each is a function of one of the files of a session's life (docs/states.md). */
#define SESSION_ACTIONS(X)                                                                                    \
    X(ignore)         /* nothing is to be done */                                                             \
    X(start)          /* ask the zygote for a process */                                                      \
    X(begin)          /* the process is there: perform the next operation, if there is one */                 \
    X(follow)         /* send the next operation behind the request for a copy */                             \
    X(started)        /* the process is there */                                                              \
    X(restarted)      /* the process is there, and the recovery goes on in it */                              \
    X(give_up)        /* every queued operation ends as unavailable */                                        \
    X(abandon)        /* the same, and whoever waits for the recovery is answered */                          \
    X(start_again)    /* the process ended before it was ready: ask once more, or give up */                  \
    X(cut_short)      /* the process does not say hello: end it */                                            \
    X(ask_scratch)    /* ask for the scratch copy, or answer why there is none */                             \
    X(drop_error)     /* the frozen process does not come up: it is of no use */                              \
    X(enter)          /* the copy is there: send the operation to it */                                       \
    X(refuse_scratch) /* there is no copy */                                                                  \
    X(finish_scratch) /* the operation succeeded in the scratch copy */                                       \
    X(fail_scratch)   /* it failed there */                                                                   \
    X(end_scratch)    /* the scratch copy ended */                                                            \
    X(finish)         /* the operation succeeded */                                                           \
    X(fail)           /* the operation failed: report it and stand in the error */                            \
    X(frozen)         /* the process has answered for the copy: stand in the error */                         \
    X(recorded)       /* the process has answered for the copy: the operation goes on */                      \
    X(serve)          /* begin what can be done while the error stands, or leave the error */                 \
    X(enter_standing) /* the copy is made: send the entry */                                                  \
    X(finish_entry)   /* an entry succeeded, and the error stands */                                          \
    X(fail_entry)     /* an entry failed, and the error stands */                                             \
    X(end_standing)   /* leave the error */                                                                   \
    X(leave)          /* the process has answered for the copy: unwind */                                     \
    X(put_off)        /* it is to be stopped, and goes on when it is copied: stop it then */                  \
    X(forgo)          /* nobody answers for the copy at the error */                                          \
    X(hasten)         /* the copy has ended: its original has little time to say why */                       \
    X(look)           /* answer the look-ups that wait beside what runs */                                    \
    X(interrupt)      /* first interrupt */                                                                   \
    X(insist)         /* second interrupt */                                                                  \
    X(kill)           /* SIGKILL */                                                                           \
    X(abort)          /* unwind the failed operation */                                                       \
    X(hurry)          /* interrupt the look at the frames */                                                  \
    X(force)          /* interrupt the unwinding */                                                           \
    X(settle)         /* unwound: the session is as before the operation, but for what it did */              \
    X(discard)        /* a reply that came too late */                                                        \
    X(checkpoint)     /* make the checkpoint that was put off */                                              \
    X(kept)           /* the checkpoint is made, or could not be */                                           \
    X(keep)           /* the same, and the next operation runs already */                                     \
    X(do_without)     /* nobody answers for the copy */                                                       \
    X(handle_exit)    /* the process died: return to the newest checkpoint that lives */                      \
    X(ask_source)     /* ask the checkpoint for a copy */                                                     \
    X(drop_source)    /* the checkpoint does not answer: go back further */                                   \
    X(lose_source)    /* the checkpoint has ended: go back further */                                         \
    X(forget_source)  /* the checkpoint has ended, but its copy may live */                                   \
    X(check)          /* try the process that was returned to */                                              \
    X(configure)      /* tell the image where it is */                                                        \
    X(healthy)        /* it lives: the session goes on from there */                                          \
    X(reject)         /* what was returned to does not live: go back further */                               \
    X(replayed)       /* one entry of the journal was evaluated again */                                      \
    X(stop_replay)    /* what is evaluated again kills the process: return without */                         \
    X(fail_restore)   /* the saved image does not live: the session is empty */                               \
    X(fail_wake)      /* the image of a sleeping session does not live */                                     \
    X(suspend)        /* have a copy write itself to an image */                                              \
    X(fall_asleep)    /* nothing has happened since: end the process */                                       \
    X(stay_awake)     /* something has: the image is of no use */                                             \
    X(wake)           /* start the image */                                                                   \
    X(stay_asleep)    /* it cannot be started: those that wait are told why */

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
