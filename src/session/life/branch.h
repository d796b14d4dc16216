/*
 * A session that begins with the present state of another, its source: the two are independent from then on.
 */
#ifndef SESSION_LIFE_BRANCH_H
#define SESSION_LIFE_BRANCH_H

struct operation;
struct session;

/* branch_begin(s, source): ${s}, which is new, waits for its process: STARTING. Returns the operation for the
 * queue of ${source}; given. */
struct operation *branch_begin(struct session *s, struct session *source);

/* branch_perform(source, op): its turn has come: request the copy, or answer why that is impossible. */
void branch_perform(struct session *source, struct operation *op);

#endif
