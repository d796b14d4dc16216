/*
 * The states and events of a session and the table that joins them, apart from the actions, so that a test
 * can walk it. docs/states.md is printed from this file (print_states.c).
 */
#ifndef SESSION_CORE_STATES_H
#define SESSION_CORE_STATES_H

/* Name, text, meaning. How hard a stop is tried, in which process an operation runs and why a process starts
 * are not states but fields: run.c, scratch.c, becoming.c. */
/* clang-format off */
#define SESSION_STATES(X)                                                                                       \
    X(ABSENT, "absent", "The session has no process and has requested none: it is new, or none could be started.") \
    X(SUSPENDED, "suspended", "It has no process but an image of the last one, from which the next use starts one.") \
    X(STARTING, "starting", "A process is on its way, from the zygote, from an image or as a copy of a snapshot; its hello is awaited.") \
    X(CHECKING, "checking", "A process from an image or a snapshot is running its health check, or a process is told its directory.") \
    X(REPLAYING, "replaying", "The new process evaluates definitions from the journal that no snapshot held.")  \
    X(IDLE, "idle", "The process has nothing to do.")                                                           \
    X(RUNNING, "running", "An operation was sent and is not answered.")                                         \
    X(ASKING, "asking", "It waits for a line of input, for which its caller was asked; its clock stands still.") \
    X(STANDING, "standing", "An evaluation failed and was reported. The process stands in the error, with nothing unwound, and serves requests from there.") \
    X(COPYING, "copying", "The process makes a copy of itself: a snapshot, or one that writes itself to a file.") \
    X(SCRATCH, "scratch", "A throw-away copy is being made, in which an operation will run.")                   \
    X(EXAMINING, "examining", "No copy can be made of the error: its frames and their variables are read before it is unwound.") \
    X(UNWINDING, "unwinding", "The failed operation is being unwound to the top level; its cleanup forms run.") \
    X(KILLING, "killing", "SIGKILL was sent; the end of the process is awaited.")

#define SESSION_EVENTS(X)                                                                                       \
    X(SUBMITTED, "submitted", "An operation was added to the queue.")                                           \
    X(READY, "ready", "The process that is being started or copied has sent its hello.")                        \
    X(UNAVAILABLE, "unavailable", "No process can be started.")                                                 \
    X(OK, "ok", "The reply `:ok` or `:refused` to the last request has arrived.")                               \
    X(FAILED, "failed", "The reply `:error` to it has arrived.")                                                \
    X(DEADLINE, "deadline", "The state's time limit has passed, or the session has been idle for the idle timeout.") \
    X(CANCEL, "cancel", "The operation that runs is to be stopped.")                                            \
    X(GONE, "gone", "The process in which the operation runs has ended, and everything that it sent and printed has been read.") \
    X(INPUT, "input", "The operation asks for a line of input; or its caller has answered.")

/* clang-format on */
enum session_state {
#define X(name, text, meaning) SESSION_##name,
    SESSION_STATES(X)
#undef X
        SESSION_STATE_COUNT
};

enum session_event {
#define X(name, text, meaning) EVENT_##name,
    SESSION_EVENTS(X)
#undef X
        SESSION_EVENT_COUNT
};

/* clang-format off */
/* Name, file, effect. Each is a function session_action_NAME in that file. */
#define SESSION_ACTIONS(X)                                                                                      \
    X(wait, "life/finish.c", "The operation stays in the queue until the event that ends this state.")              \
    X(drop, "life/finish.c", "The event comes too late, or evaluated code has forged it: nothing follows.")        \
    X(never, "life/finish.c", "This cannot happen: the server reports a fault of its own and ends.")               \
    X(start, "life/queue.c", "Ask the zygote for a process. A reset or a restore at the head of the queue is performed at once.") \
    X(resume, "life/queue.c", "Start the image. A reset or a restore needs no process, nor does a save if the image can be linked into its directory.") \
    X(begin, "life/queue.c", "Perform the first operation of the queue.")                                            \
    X(serve, "life/queue.c", "Perform it if it can run while the error stands: an entry to the error, or a look-up. Anything else ends the error.") \
    X(look, "work/look_ups.c", "Have look-ups in the queue answered beside the operation, once it has run for a tenth of a second.") \
    X(check, "life/becoming.c", "A fresh process is ready to work, unless it has to be told its directory; one from an image or a snapshot is checked first.") \
    X(healthy, "life/becoming.c", "The check has passed. Replay what no snapshot held; then answer the operation that waits for this process.") \
    X(replayed, "life/becoming.c", "Replay the next entry of the journal, or answer the operation that waits for this process.")    \
    X(stop_replay, "life/becoming.c", "The replayed code has killed the process or takes too long: return once more, without replaying.") \
    X(lose, "life/becoming.c", "The process does not start or is not healthy: take the next older snapshot. A fresh process is requested three times.") \
    X(give_up, "life/becoming.c", "Answer every operation with the reason why there is no process.") \
    X(refuse_all, "life/suspension.c", "The image cannot be started now: answer every queued operation with the reason.") \
    X(rest, "life/suspension.c", "Make the snapshot that was put off and drop old ones; or, after the idle timeout, write the image to suspend the session.") \
    X(ask, "work/run.c", "Pass the question on to the operation's caller. Without a caller that can be asked, the input ends.") \
    X(give_answer, "work/run.c", "Send the operation the answer.")                                                \
    X(decline, "work/run.c", "No answer came within ten minutes: the operation reads end of file.")          \
    X(finish, "life/finish.c", "Answer the operation. After an evaluation a snapshot is made, or put off if copies are expensive.") \
    X(fail, "errors/failure.c", "Record the error and answer with it: the process stands in it. One that continues after errors (run-tests) is copied first, and answered later.") \
    X(end_standing, "errors/standing.c", "Copy the process unless a current copy exists, and unwind.")                 \
    X(enter, "errors/scratch.c", "The copy is ready: send it the operation.")                                          \
    X(refuse_scratch, "errors/scratch.c", "There is no copy: answer the operation with the reason.")                   \
    X(copied, "snapshots/copies.c", "Keep the snapshot, or note why there is none; then do what the copy was made for.")  \
    X(forgo, "snapshots/copies.c", "The process does not answer for the copy: kill it, or continue without if the copy itself has ended.") \
    X(put_off, "errors/failure.c", "The operation waits for a copy: it is stopped when it runs.")                      \
    X(unwind, "errors/standing.c", "Keep the frames with the record, and unwind.")                                    \
    X(settle, "errors/standing.c", "The error has been left: continue as after a success.")                           \
    X(press, "work/run.c", "Interrupt: an operation twice, other work once, a second apart; then kill.")             \
    X(die, "life/death.c", "Answer the operation with how its process ended. If that was the session's own process, it becomes its newest snapshot first.")

/* clang-format on */
enum session_action {
#define X(name, file, effect) ACTION_##name,
    SESSION_ACTIONS(X)
#undef X
        SESSION_ACTION_COUNT
};

/* What follows a state that is entered for several purposes; the purpose is given when the state is entered.
 */
/* clang-format off */
/* Name, the state that it follows, file, effect. Each is a function session_step_NAME in that file. */
#define SESSION_STEPS(X)                                                                                        \
    X(rest, COPYING, "snapshots/checkpointing.c", "The copy was a snapshot, a save or an image: drop snapshots if there are too many, and look at the queue.") \
    X(answer_copy, COPYING, "snapshots/checkpointing.c", "The copy is what the operation asked for, a checkpoint or another session's process: answer it, and look at the queue.") \
    X(send, COPYING, "work/run.c", "The operation enters the error in which the process stands, and the copy keeps what was before: send it.") \
    X(leave, COPYING, "errors/standing.c", "The error is to be left, and the copy keeps it: unwind. Without a copy, examine it first.") \
    X(go_on, COPYING, "errors/failure.c", "The operation continues after the error (run-tests), and the copy keeps the error.") \
    X(keep_state, UNWINDING, "errors/standing.c", "The evaluation has failed: make a snapshot of the state that it left behind, and look at the queue.") \
    X(restore_lost, STARTING, "life/rollback.c", "The image of the save does not start or is not healthy: the session is empty, and the restore is refused.") \
    X(become, UNWINDING, "life/becoming.c", "The process began as a copy of a snapshot in an error: replay what no snapshot held, and answer the operation that waits for the process.")

/* clang-format on */
enum session_step {
    STEP_NONE,
#define X(name, state, file, effect) STEP_##name,
    SESSION_STEPS(X)
#undef X
        SESSION_STEP_COUNT
};

/* The states that may follow a state, one bit each; session_enter_state() checks it. */
#define SESSION_NEXT(state) (1u << (state))
extern const unsigned session_nexts[SESSION_STATE_COUNT];

/* Every cell is filled. */
extern const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT];

/* The names, as in docs/states.md. */
extern const char *const session_state_texts[SESSION_STATE_COUNT];
extern const char *const session_event_texts[SESSION_EVENT_COUNT];
extern const char *const session_action_texts[SESSION_ACTION_COUNT];

#endif
