/*
 * Responsible for an operation that waits for a line of input: its caller is asked, and the process gets the
 * answer. The caller's own way to a person is not known here.
 */
#include "session/core/core.h"
#include "session/work/run.h"

/* Of one operation. The agent asks less; more are forged by the user's code and not answered. */
#define MOST_QUESTIONS 200

void session_action_ask(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    if (op == NULL || op->on_question == NULL || op->questions == MOST_QUESTIONS || run_is_stopped(s))
        return;
    op->questions++;
    s->current->question = e->question;
    run_pause(s);
    session_enter_state(s, SESSION_ASKING, s->host->waits.asking_ms);
    struct strbuf prompt = {0};
    session_output_progress(&s->output, &prompt, s->host->redacts);
    op->on_question(op->arg, s->current->question, strbuf_string(&prompt));
    strbuf_fini(&prompt);
}

static void give(struct session *s, const char *text, size_t len)
{
    worker_give_input(s->scratch != NULL ? s->scratch : s->worker, s->current->question, text, len);
    run_resume(s);
}

void session_action_decline(struct session *s, struct event *e)
{
    (void)e;
    struct operation *op = s->current;
    give(s, NULL, 0);
    session_notify(s, FACT(FACT_NO_INPUT));
    if (op != NULL && op->on_question != NULL)
        op->on_question(op->arg, s->current->question, NULL);
}

void session_action_give_answer(struct session *s, struct event *e)
{
    give(s, e->text, e->text_len);
}
