/*
 * The time limits inside a session that the user does not set.
 */
#ifndef SESSION_CORE_WAITS_H
#define SESSION_CORE_WAITS_H

/* In milliseconds. */
struct session_waits {
    int step_ms;     /* between the steps of the escalation: interrupt, interrupt again, kill */
    int progress_ms; /* between two progress reports */
    int idle_ms;     /* until an idle session makes deferred snapshots */
    int hello_ms;    /* for the hello of a new process */
    int examine_ms;  /* for reading the frames of an error */
    int abort_ms;    /* for unwinding a failed operation */
    int standing_ms; /* until a standing error that is not entered is unwound */
    int asking_ms;   /* for the answer to a question; 0: no limit */
    int patience_ms; /* until a waiting operation reports what it waits behind */
};

#endif
