/*
 * Look-ups that do not wait for the operation that runs. Each is answered by a copy that the process makes of
 * itself or, if the program runs threads, by one of the process's threads.
 */
#ifndef SESSION_WORK_LOOK_UPS_H
#define SESSION_WORK_LOOK_UPS_H

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"

struct operation;
struct session;
struct worker;

struct look {
    struct list node; /* in ${session->looks} */
    struct session *session;
    struct operation *op;  /* NULL: it was answered or cancelled */
    struct worker *worker; /* NULL: it could not be started */
    bool has_reacted;      /* the process has copied itself, or answered */
    bool is_overdue;       /* the process did not react in time: later look-ups are refused until it does */
    char *moment, *refusal;
    uv_timer_t *timer;
};

/* look_cancel(look): its answer is no longer wanted. looks_cancel(s): the session is being closed. */
void look_cancel(struct look *look);
void looks_cancel(struct session *s);

#endif
