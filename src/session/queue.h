/*
 * The queue of a session: whose turn it is.
 */
#ifndef SESSION_QUEUE_H
#define SESSION_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

struct operation;
struct session;
struct strbuf;

/* queue_add(s, op): as the last; see also session_put_first(). queue_first(s): borrowed; NULL if nothing
 * waits. queue_length(s). */
void queue_add(struct session *s, struct operation *op);
struct operation *queue_first(const struct session *s);
size_t queue_length(const struct session *s);

/* queue_cancel_first(s, what): end the first operation, which has not begun, as cancelled, and append to
 * ${what} what it is; false if there is none that can be. */
bool queue_cancel_first(struct session *s, struct strbuf *what);

#endif
