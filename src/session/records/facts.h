/*
 * What a session reports besides results: an enumerator for each sentence and the facts in it, which
 * report/facts.c words. Behind an enumerator: ${texts}; ${numbers}; ${seconds}.
 */
#ifndef SESSION_RECORDS_FACTS_H
#define SESSION_RECORDS_FACTS_H

#include <stdint.h>

/* clang-format off */
enum fact_kind {
    FACT_NONE,
    FACT_TEXT, /* a sentence */

    /* Why an error cannot be entered. */
    FACT_CONTINUED, FACT_COPY_ENDED, FACT_COPY_SILENT, FACT_DAMAGED, FACT_ENDED_IN_COPYING, FACT_EVICTED,
    FACT_IMAGE_LEFT, FACT_LEFT_AT_ONCE,
    FACT_NEVER_RAN, FACT_NOT_COPIED, FACT_PROCESS_ENDED, FACT_SUPERSEDED, FACT_SUSPENDED, FACT_THINNED,
    FACT_THREAD_ENDED, FACT_THREAD_LEFT, FACT_TOO_MUCH_MEMORY, FACT_TOO_OLD, FACT_UNWOUND,

    /* Why there is no copy, or no process. */
    FACT_COPIES_OFF, FACT_COPY_FAILED, FACT_COPY_UNANSWERED, FACT_NOT_READY, FACT_NOT_STARTED,

    /* Why an operation was not performed, or how it ended. */
    FACT_CANCELLED_UNBEGUN, FACT_CLOSED, FACT_DIED_IN_COPY, FACT_DIED_IN_ERROR_COPY, FACT_LOOK_LATE,
    FACT_LOOK_LOST, FACT_LOOK_UNANSWERED, FACT_NEEDS_COPY, FACT_NO_CHECKPOINT, FACT_NO_LONGER_ENTERABLE,
    FACT_IMAGE_HAS_NO_CHECKPOINTS, FACT_IMAGE_IS_NOT_COPIED, FACT_IMAGE_IS_NOT_SAVED, FACT_OTHER_SBCL,
    FACT_THREADS_IN_THE_WAY,
    FACT_IMAGE_ENDED_IN_CALL, FACT_IMAGE_LEFT_IN_CALL, /* its address, why; the process */
    FACT_IMAGE_LOST_IN_CALL,                           /* its address, why */
    FACT_CANNOT_BE_ENTERED, /* why */
    FACT_EXPIRED,           /* what it waited behind;; its limit */
    FACT_NO_STATE,          /* ; the evaluation */
    FACT_NO_STATE_NEAR,     /* ; the evaluation, the nearest with a state */
    FACT_NO_STATE_BETWEEN,  /* ; the evaluation, the nearest on either side */
    FACT_NOT_RESTORED, /* the save, why */

    /* Saves. */
    FACT_SAVE_COPY_FAILED, FACT_SAVE_LATE, FACT_SAVE_OPEN_ELSEWHERE, FACT_SAVE_REFUSED,
    FACT_NOT_SAVED,                             /* why */
    FACT_NOT_SAVED_EXIT, FACT_NOT_SAVED_SIGNAL, /* the directory; how the copy ended */
    FACT_SAVED,                                 /* name, file; the state, bytes; it took */

    /* Parts of other texts. */
    FACT_BEHIND, FACT_WAITING, /* an operation; calls between; it has run, or negative */
    FACT_MOMENT,               /* an operation;; it has run */
    FACT_MOMENT_IN_EVALUATION, /* ; the evaluation; it has run */
    FACT_REPLAY_FAILED,        /* a definition and its error */

    /* Notices. */
    FACT_HOOKS_LEFT_OUT, FACT_NO_INPUT, FACT_NOT_SAVED_AT_END,
    FACT_AFTER_CANCELLED,                     /* what the session continues from */
    FACT_CLEANUP_FAILED,                      /* type, message; the number of the error that was left */
    FACT_CONTINUES_UNDONE,                    /* ; the evaluation of the error */
    FACT_ENDED,                               /* "" or how; an evaluation; it took */
    FACT_ERROR_LOST, FACT_ERRORS_LOST,        /* ; how many */
    FACT_ERROR_IN_COPY,                       /* the thread, type, message */
    FACT_BRANCH_CLOSED, FACT_FILES_OPEN, FACT_STREAMS_CLOSED, /* their names */
    FACT_HOOK_FAILED,                         /* the macro, the form, the error */
    FACT_HOOKS_UNFINISHED,                    /* the macro, type, message */
    FACT_IMAGE_JOINED,                        /* its description, its directory */
    FACT_IMAGE_LOST,                          /* its address, why, what ran there or NULL; the process */
    FACT_IMAGE_CHANGED, FACT_IMAGE_IS_ANOTHER, /* "" or since when; the process before, this one */
    FACT_LIBRARIES,                           /* their names */
    FACT_MEMORY_ERRORS, FACT_MEMORY_STATES,   /* ; MiB held, MiB allowed */
    FACT_PERSON, /* a sentence; its number, that of the evaluation before it, its time */
    FACT_STAGED,                              /* what a person says to the agent */
    FACT_STARTED,                             /* what the start of the Lisp reported */
    FACT_THREADS_BEGAN,                       /* their names, "" or a hint after a space */
    FACT_MORE_THREADS_BEGAN,                  /* their names */
    FACT_WAITED,                              /* what it waited behind;; how long */
};
/* clang-format on */

/* The texts are borrowed, except in notices.h and error_record.h. */
struct fact {
    enum fact_kind kind;
    const char *texts[3];
    uint64_t numbers[3];
    double seconds;
};

/* FACT(kind, member...): a pointer to a fact of the enclosing block. */
#define FACT(...) (&(struct fact){__VA_ARGS__})

#endif
