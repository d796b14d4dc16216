/*
 * Responsible for the copy of one session's process that becomes the process of a new one. The source makes
 * it as it makes snapshots, and what follows in the new session is in becoming.c.
 */
#include "session/life/branch.h"

#include <stdlib.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/life/becoming.h"
#include "session/process/process.h"
#include "session/snapshots/copies.h"
#include "session/work/answer.h"
#include "session/work/run.h"

static void fail(struct session *s, const char *why)
{
    xstrset(&s->why, why);
    session_later(s);
}

/* The source has answered for the copy, which may have said hello already, or have ended. */
static void on_answer(void *arg, const struct outcome *o)
{
    struct session *s = arg;
    bool is_made = o->kind == OUTCOME_OK;
    char *severed = is_made ? copies_severed(o->reply) : NULL;
    s->process.branch = NULL;
    if (severed != NULL)
        session_notify(s, FACT(FACT_BRANCH_CLOSED, .texts = {severed}));
    free(severed);
    if (s->state != SESSION_STARTING)
        return;
    const char *refusal = o->kind == OUTCOME_REFUSED ? sexp_string(sexp_nth(o->reply, 2), NULL) : o->why;
    if (!is_made)
        fail(s, refusal != NULL ? refusal : session_sentence(s, FACT_NOT_STARTED));
    else if (worker_state(s->worker) == WORKER_GONE)
        fail(s, session_sentence(s, FACT_NOT_READY));
    else
        session_set_deadline(s, s->host->waits.hello_ms);
}

struct operation *branch_begin(struct session *s, struct session *source)
{
    s->limits = source->limits;
    s->place.confinement = source->place.confinement;
    xstrset(&s->place.directory, source->place.directory);
    becoming_branch(s);
    struct operation *op = operation_new(source, OPERATION_BRANCH, on_answer, s);
    strbuf_adds(&op->what, "create-session");
    return op;
}

void branch_perform(struct session *source, struct operation *op)
{
    struct session *s = op->asked.arg;
    struct worker_events events = process_events(s);
    struct err err;
    run_take_up(source, op);
    s->worker = copies_for_another(s, source->worker, &events, &err);
    if (s->worker == NULL) {
        answer_unavailable(source, op, err.message);
        return;
    }
    s->at = source->at;
    s->numbers = source->numbers;
    s->numbers.last = s->numbers.saved = 0; /* what waits in the source is not in its state */
    s->journal = journal_copy(&source->journal);
    xstrset(&s->package, source->package);
    s->process.kind = source->process.kind;
    copies_await(source, COPY_MS, STEP_answer_copy);
}
