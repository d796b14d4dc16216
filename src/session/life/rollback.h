/*
 * Returning by request to a snapshot or to a save.
 */
#ifndef SESSION_LIFE_ROLLBACK_H
#define SESSION_LIFE_ROLLBACK_H

struct operation;
struct session;

/* rollback_perform(s, op), rollback_restore(s, op): begin it, or answer why that is impossible. */
void rollback_perform(struct session *s, struct operation *op);
void rollback_restore(struct session *s, struct operation *op);

/* rollback_restore_settings(s, name): take over the limits, the directory and the sandbox of that save, if it
 * can be used: before a restore that no call waits for, so that calls made meanwhile show and use these. */
void rollback_restore_settings(struct session *s, const char *name);

/* rollback_clear(s): make everything but name, limits, queue and notice as in a new session. */
void rollback_clear(struct session *s);

#endif
