/*
 * The queue of a session: which operation runs next.
 */
#ifndef SESSION_LIFE_QUEUE_H
#define SESSION_LIFE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/records/facts.h"

struct operation;
struct session;
struct strbuf;

/* queue_add(s, op): append it; see also session_put_first(). One whose own time limit has passed
 * before its turn comes is answered, and never begins. */
void queue_add(struct session *s, struct operation *op);

/* queue_add_behind(s, op, kind, out): append what the waiting ${op} waits behind and how to stop that, in the
 * words of ${kind}, FACT_BEHIND or FACT_WAITING; nothing if ${op} is next. */
void queue_add_behind(const struct session *s, const struct operation *op, enum fact_kind kind,
                      struct strbuf *out);

/* queue_find(s, number): the evaluation with that number, running or waiting; NULL if there is none. */
struct operation *queue_find(const struct session *s, uint64_t number);

/* queue_cancel(s, op): cancel an operation that has not begun. queue_cancel_first(s, what): cancel the first
 * operation if it has not begun, and append its description to ${what}; false if there is none. */
void queue_cancel(struct session *s, struct operation *op);
bool queue_cancel_first(struct session *s, struct strbuf *what);

#endif
