/*
 * An error as the server keeps it: it outlives the process in which it happened, and never changes.
 */
#ifndef SESSION_RECORDS_ERROR_RECORD_H
#define SESSION_RECORDS_ERROR_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/strbuf.h"
#include "session/records/facts.h"
#include "wire/sexp.h"

/*
 * The condition's details stay in the form that the agent sent, docs/agent-protocol.md section 4. The server
 * writes the same form for errors that only it can report: a time limit, the death of a process.
 */
struct session;
struct snapshot;

struct error_record {
    struct sexp_document *document;
    const struct sexp *condition;  /* (ID :error :key value ...), in ${document} */
    struct sexp_document *details; /* the reply of a later examination of the frames with their locals; NULL
                                      if there was none */
    char *type;                    /* overrides the condition's own :type */
    char *message;                 /* likewise; may have several lines */
    char *session_note;            /* the text of a last section [Session]; NULL for none */
    struct session *session;       /* borrowed: whose error it is */
    struct snapshot *snapshot;     /* borrowed: the copy of the process that stands in it; NULL: none */
    bool stands_here;              /* the session's process stands in it */
    bool was_left;                 /* it was left before it was reported: it never could be entered */
    struct fact why_not;           /* why it cannot be entered; its text, of a FACT_TEXT, is owned */
    char *thread;         /* the name of the program's thread in which it occurred; NULL: in an evaluation */
    bool is_stray;        /* it occurred outside any evaluation, as in a timer; then ${thread} says when */
    bool is_announced;    /* a reply has shown it: session_note_announced() */
    int64_t standing;     /* the agent's number of it if it stood in a thread; otherwise 0 */
    uint64_t standing_in; /* the identity of the process in which it stood; 0: it no longer stands */
    struct worker *const *process; /* borrowed: the session's current process, if ${standing} */
    uint64_t evaluation;           /* the number of the evaluation that failed; 0 for a look-up */
    struct timespec when;          /* wall clock */
    int sequence;                  /* 1 for a session's first error */
    int met;                       /* its number among those after which its operation continued; 0: none */
};

/*
 * error_record_new(document): taken; its root must be a reply (ID :error ...). error_record_free(r).
 */
struct error_record *error_record_new(struct sexp_document *document);
void error_record_free(struct error_record *r);

/* error_record_make(type, message, crash_text): one that the server makes itself; ${crash_text} (may be
 * NULL) is searched for the frames that SBCL prints when it crashes. */
struct error_record *error_record_make(const char *type, const char *message, const char *crash_text);

/* error_record_bytes(r): the memory that its texts take. */
size_t error_record_bytes(const struct error_record *r);

/* error_record_is_enterable(r): the process or a thread stands in it, or a snapshot. */
bool error_record_is_enterable(const struct error_record *r);

/* error_record_is_persons(r): it stood in the debugger of the person who runs the image. */
bool error_record_is_persons(const struct error_record *r);

/* error_record_stands(r): it stands in a thread of the session's process, which has not ended it since. */
bool error_record_stands(const struct error_record *r);

/* error_record_continued(r): a restart has continued from it, which is why it cannot be entered. */
void error_record_continued(struct error_record *r);

/* error_record_cannot_be_entered(r, why, text): from now on ${why} is the reason, unless one is known
 * already;
 * ${text}, copied, is that of a FACT_TEXT. */
void error_record_cannot_be_entered(struct error_record *r, enum fact_kind why, const char *text);

/* error_record_restarts(r): a list of ("NAME" "description" takes-value), in the condition; NULL if none of
 * them could ever be invoked: the error is not kept, or the Lisp had to leave it at once. It never changes.
 */
const struct sexp *error_record_restarts(const struct error_record *r);

/* error_record_why_not(r): why it cannot be entered, borrowed; FACT_NONE if it can be. */
const struct fact *error_record_why_not(const struct error_record *r);

/* error_record_frames(r): the list of frames, with locals where they are known.
 * error_record_total_frames(r): how many there were; negative -n: more than n. */
const struct sexp *error_record_frames(const struct error_record *r);
int error_record_total_frames(const struct error_record *r);

#endif
