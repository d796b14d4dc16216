/*
 * The states and events of a session and the table that joins them, apart from the actions, so that a test
 * can walk it.
 */
#ifndef SESSION_SESSION_STATES_H
#define SESSION_SESSION_STATES_H

/* docs/states.md explains each one; the names are the same. One a line: */
/* clang-format off */
#define SESSION_STATES(X)                                                                                     \
    X(ABSENT, "absent")               /* no process */                                                        \
    X(SUSPENDED, "suspended")         /* no process, but an image of the last one */                          \
    X(STARTING, "starting")           /* the zygote was asked for a process */                                \
    X(RESTARTING, "restarting")       /* the same, to continue in after a death */                            \
    X(IDLE, "idle")                   /* nothing to do */                                                     \
    X(STANDING, "standing")           /* the process stands in an error and serves requests there */          \
    X(WAITING, "waiting")             /* the frozen process to be copied is answering an earlier request */   \
    X(COPYING, "copying")             /* a scratch copy is being made */                                      \
    X(RUNNING, "running")             /* an operation was sent */                                             \
    X(ASKING, "asking")               /* it waits for a line of input, which its caller is asked for */       \
    X(INTERRUPTING, "interrupting")   /* it was interrupted once */                                           \
    X(INSISTING, "insisting")         /* it was interrupted twice */                                          \
    X(RECORDING, "recording")         /* it met an error and will continue; the process is being copied at the error */ \
    X(FREEZING, "freezing")           /* it failed, and a copy of the process was requested */                \
    X(INSURING, "insuring")           /* the process is being copied at the error, before an entry */         \
    X(LEAVING, "leaving")             /* the same, before the error is left */                                \
    X(EXAMINING, "examining")         /* no copy can be made: the locals of the frames are being read */      \
    X(HURRYING, "hurrying")           /* that took too long and was interrupted */                            \
    X(ABORTING, "aborting")           /* the failed operation is being unwound */                             \
    X(FORCING, "forcing")             /* that took too long and was interrupted */                            \
    X(KILLING, "killing")             /* SIGKILL was sent */                                                  \
    X(CHECKPOINTING, "checkpointing") /* the process is being copied, for later */                            \
    X(RESTORING, "restoring")         /* a saved image is starting */                                         \
    X(RESUMING, "resuming")           /* the image of a suspended session is starting */                      \
    X(SOURCING, "sourcing")           /* the checkpoint to return to is answering an earlier request */       \
    X(CHECKING, "checking")           /* its copy is the process; the health check is running */              \
    X(REPLAYING, "replaying")         /* definitions that no checkpoint holds are being replayed */

#define SESSION_EVENTS(X)                                                                                     \
    X(SUBMITTED, "submitted")           /* an operation was queued */                                         \
    X(READY, "ready")                   /* the process said hello */                                          \
    X(UNAVAILABLE, "unavailable")       /* no process can be started */                                       \
    X(OK, "ok")                         /* reply :ok or :refused */                                           \
    X(FAILED, "failed")                 /* reply :error */                                                    \
    X(DEADLINE, "deadline")             /* the deadline of the state has passed */                            \
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
    X(SOURCE_GONE, "source gone")       /* that process has ended */                                          \
    X(UNUSED, "unused")                 /* it has been idle for the idle timeout */                           \
    X(STORED, "stored")                 /* the image to suspend the session in is complete, or could not be made */ \
    X(ASKED, "asked")                   /* the operation waits for a line of input */                         \
    X(ANSWERED, "answered")             /* the caller has answered, or will not */

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
/* The actions, by name; each is a function in the file that docs/states.md names. */
#define SESSION_ACTIONS(X)                                                                                    \
    X(ignore)         /* do nothing */                                                                        \
    X(start)          /* ask the zygote for a process */                                                      \
    X(begin)          /* the process is there: perform the next operation, if there is one */                 \
    X(follow)         /* send the next operation behind the request for a copy */                             \
    X(started)        /* the process is ready */                                                              \
    X(restarted)      /* the process is ready, and the recovery continues in it */                            \
    X(give_up)        /* every queued operation ends as unavailable */                                        \
    X(abandon)        /* the same, and answer the operation that waits for the recovery */                    \
    X(start_again)    /* the process ended before it was ready: ask once more, or give up */                  \
    X(cut_short)      /* the process does not send its hello: end it */                                       \
    X(ask_scratch)    /* ask for the scratch copy, or answer why there is none */                             \
    X(drop_error)     /* the frozen process does not respond: discard it */                                   \
    X(enter)          /* the copy exists: send it the operation */                                            \
    X(refuse_scratch) /* the copy could not be made */                                                        \
    X(finish_scratch) /* the operation succeeded in the scratch copy */                                       \
    X(fail_scratch)   /* it failed there */                                                                   \
    X(end_scratch)    /* the scratch copy ended */                                                            \
    X(finish)         /* the operation succeeded */                                                           \
    X(fail)           /* the operation failed: report it and stand in the error */                            \
    X(frozen)         /* the process has answered for the copy: stand in the error */                         \
    X(recorded)       /* the process has answered for the copy: the operation continues */                    \
    X(serve)          /* begin what can be done while the error stands, or leave the error */                 \
    X(enter_standing) /* the copy is made: send the entry */                                                  \
    X(finish_entry)   /* an entry succeeded, and the error stands */                                          \
    X(fail_entry)     /* an entry failed, and the error stands */                                             \
    X(end_standing)   /* leave the error */                                                                   \
    X(leave)          /* the process has answered for the copy: unwind */                                     \
    X(put_off)        /* it is to be stopped, but waits for a copy: stop it when it runs */                   \
    X(forgo)          /* the process does not answer the request for a copy at the error */                   \
    X(hasten)         /* the copy has ended: wait briefly for the process to report why */                    \
    X(look)           /* answer the look-ups that wait beside the operation that runs */                      \
    X(interrupt)      /* first interrupt */                                                                   \
    X(insist)         /* second interrupt */                                                                  \
    X(kill)           /* SIGKILL */                                                                           \
    X(abort)          /* unwind the failed operation */                                                       \
    X(hurry)          /* interrupt the look at the frames */                                                  \
    X(force)          /* interrupt the unwinding */                                                           \
    X(settle)         /* unwound: the session is as before the operation, except for its effects */           \
    X(discard)        /* a reply that arrived too late */                                                     \
    X(checkpoint)     /* make the checkpoint that was deferred */                                             \
    X(kept)           /* the checkpoint is made, or could not be */                                           \
    X(keep)           /* the same, and the next operation is already running */                               \
    X(do_without)     /* the process does not answer the request for a copy */                                \
    X(handle_exit)    /* the process died: return to the newest usable checkpoint */                          \
    X(ask_source)     /* ask the checkpoint for a copy */                                                     \
    X(drop_source)    /* the checkpoint does not answer: go back further */                                   \
    X(lose_source)    /* the checkpoint has ended: go back further */                                         \
    X(forget_source)  /* the checkpoint has ended, but its copy may live */                                   \
    X(check)          /* run the health check of the process that was returned to */                          \
    X(configure)      /* tell a process from an image where it is */                                          \
    X(healthy)        /* it passed: the session continues from there */                                       \
    X(reject)         /* it failed: go back further */                                                        \
    X(replayed)       /* one entry of the journal was replayed */                                             \
    X(stop_replay)    /* the replayed code kills the process: return without it */                            \
    X(fail_restore)   /* the saved image does not start: the session is empty */                              \
    X(fail_resume)    /* the image of a suspended session does not start */                                   \
    X(suspend)        /* have a copy write itself to an image */                                              \
    X(suspended)      /* the session was not used since: end the process */                                   \
    X(discard_image)  /* it was used: discard the image */                                                    \
    X(resume)         /* start the image */                                                                   \
    X(refuse_all)     /* it cannot be started: tell the waiting operations why */                             \
    X(ask)            /* ask the operation's caller for a line of input */                                    \
    X(decline)        /* the caller does not answer: the input ends */                                        \
    X(give_answer)    /* give the operation the answer */

/* clang-format on */
enum session_action {
#define X(name) ACTION_##name,
    SESSION_ACTIONS(X)
#undef X
        SESSION_ACTION_COUNT
};

/* Every cell is filled. */
extern const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT];

/* session_state_text(state), session_event_text(event), session_action_text(action): the name as in
 * docs/states.md. */
const char *session_state_text(enum session_state state);
const char *session_event_text(enum session_event event);
const char *session_action_text(enum session_action action);

#endif
