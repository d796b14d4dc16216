/*
 * Responsible for starting the process of a session that is new or was reset.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "session/answer.h"
#include "session/process.h"
#include "session/session_core.h"

void session_action_started(struct session *s, struct event *e)
{
    (void)e;
    process_came(s);
    session_look_at_queue(s);
}

void session_action_give_up(struct session *s, struct event *e)
{
    (void)e;
    char *why = s->why != NULL ? s->why : xstrdup("The Lisp could not be started.");
    s->why = NULL;
    process_forget(s);
    answer_all_waiting(s, why);
    free(why);
}

/* The process ended before it was ready. */
void session_action_start_again(struct session *s, struct event *e)
{
    enum session_state state = s->state;
    if (!process_request_again(s))
        s->actions[session_table[state][EVENT_UNAVAILABLE]](s, e);
}

/* The process's end, which follows, leads to start_again. */
void session_action_cut_short(struct session *s, struct event *e)
{
    (void)e;
    worker_kill(s->worker);
}
