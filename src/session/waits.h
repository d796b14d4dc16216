/*
 * How long a session waits where the user sets no limit.
 */
#ifndef SESSION_WAITS_H
#define SESSION_WAITS_H

/* How long a session waits at each point where the user sets no limit, in milliseconds. */
struct session_waits {
    int step_ms;     /* between the steps of the escalation: interrupt, interrupt again, kill */
    int progress_ms; /* between two progress reports */
    int idle_ms;     /* until an idle session catches up on its checkpoints */
    int hello_ms;    /* for the hello of a new process */
    int examine_ms;  /* for reading the frames of a failure */
    int abort_ms;    /* for unwinding a failed operation */
    int standing_ms; /* until an error that nobody enters is left */
    int patience_ms; /* until somebody who waits for another operation hears of it */
};

#endif
