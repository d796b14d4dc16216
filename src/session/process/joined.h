/*
 * A session whose process is an image that a person runs. It has no snapshots, and nothing ends it: for the
 * rest of the session it is a process in which threads run.
 */
#ifndef SESSION_PROCESS_JOINED_H
#define SESSION_PROCESS_JOINED_H

#include <stdbool.h>

#include "lisp/worker.h"
#include "session/records/facts.h"

struct operation;
struct session;
struct sexp;

/*
 * joined_begin(s, events): begin to join its image. The worker becomes ${s->worker}, or EVENT_UNAVAILABLE
 * follows with the reason in ${s->why}. joined_cancel(s): stop that, if it is under way; the image is no
 * longer joined. joined_came(s): the agent there has said hello.
 */
void joined_begin(struct session *s, const struct worker_events *events);
void joined_cancel(struct session *s);
void joined_came(struct session *s);

/*
 * joined_lose(s, why): the connection to its image was cut; the reply that finds it joined again tells that.
 * Returns the fact for an operation that was running then; its texts are borrowed.
 */
struct fact joined_lose(struct session *s, const char *why);

/* joined_note_person(session, event): an event of its worker: the next reply tells what the person who runs
 * the image has done there; of that the last twenty. */
void joined_note_person(void *session, const struct sexp *event);

/* joined_refuse(s, op): answer ${op} with the reason why there is nothing of the kind in an image that was
 * joined. False if it can be performed. */
bool joined_refuse(struct session *s, struct operation *op);

#endif
