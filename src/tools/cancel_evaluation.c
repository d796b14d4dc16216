/*
 * cancel-evaluation: stop the running evaluation of a session; the stopped call reports how it ended.
 */
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/evaluations.h"
#include "calls/tool_call.h"
#include "session/session.h"

/* Has its call been answered, so that the result is kept? */
static bool goes_on_alone(const struct tool_call *call, const struct session *s, uint64_t number)
{
    struct evaluations *all = call->toolbox->evaluations;
    const struct evaluation *e = all == NULL ? NULL : evaluations_find(all, session_name(s), number);
    return e != NULL && !e->has_ended;
}

static void run(struct tool_call *call, struct session *s)
{
    struct strbuf what = {0};
    struct session_evaluation e = {0};
    uint64_t number = (uint64_t)arguments_integer(call, "evaluation", 0);
    if (number == 0 && session_unstoppable(s) != NULL) {
        call_answer(call, false, "Session %s is %s, which cannot be stopped.", session_name(s),
                    session_unstoppable(s));
        return;
    }
    bool is_known = number > 0 || session_evaluation_at(s, 0, &e);
    bool is_alone = is_known && goes_on_alone(call, s, number > 0 ? number : e.number);
    bool is_stopping = session_stop(s, number, &what);
    if (is_stopping)
        call_answer(call, false, "Stopping: %s\n%s", strbuf_string(&what),
                    is_alone ? "evaluation-status reports how it was stopped."
                             : "The reply to that call reports how it was stopped.");
    else if (number > 0)
        call_answer(call, false, "Evaluation %llu is not running or waiting in session %s.",
                    (unsigned long long)number, session_name(s));
    else
        call_answer(call, false, "Nothing is running in session %s.", session_name(s));
    strbuf_fini(&what);
}

const struct tool tool_cancel_evaluation = {
    .name = "cancel-evaluation",
    .title = "Stop an evaluation",
    .description = "Stop the running evaluation, or a waiting one.",
    .is_destructive = true,
    .arguments = {ARGUMENT("evaluation", INTEGER, "", .minimum = 1, .maximum = 1000000000), SESSION_ARGUMENT},
    .run_in = run,
};
