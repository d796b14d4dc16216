/*
 * Responsible for an operation that waits for a line of input: its caller is asked, and the process gets the
 * answer. The caller's own way to a person is not known here.
 */
#include "session/run.h"
#include "session/session.h"
#include "session/session_core.h"

/* Of one operation. The agent asks less; more are forged by the user's code and not answered. */
#define MOST_QUESTIONS 200

void session_action_ask(struct session *s, struct event *e)
{
    struct operation *op = s->current;
    if (op == NULL || op->on_question == NULL || op->questions == MOST_QUESTIONS || run_is_stopped(s))
        return;
    op->questions++;
    s->question = e->question;
    run_pause(s);
    session_enter_state(s, SESSION_ASKING, s->host->waits.asking_ms);
    struct strbuf prompt;
    strbuf_init(&prompt, 0);
    session_output_progress(&s->output, &prompt, s->host->redacts);
    op->on_question(op->arg, s->question, strbuf_string(&prompt));
    strbuf_fini(&prompt);
}

static void give(struct session *s, const char *text, size_t len)
{
    worker_give_input(s->scratch != NULL ? s->scratch : s->worker, s->question, text, len);
    run_resume(s);
}

void session_action_decline(struct session *s, struct event *e)
{
    (void)e;
    struct operation *op = s->current;
    give(s, NULL, 0);
    strbuf_adds(&s->notice, "Nobody answered the code's question in time: it has read end of file.\n");
    if (op != NULL && op->on_question != NULL)
        op->on_question(op->arg, s->question, NULL);
}

void session_action_give_answer(struct session *s, struct event *e)
{
    give(s, e->text, e->text_len);
}

bool session_is_asking(const struct operation *op)
{
    return op == op->session->current && op->session->state == SESSION_ASKING;
}

static bool waits_for(const struct operation *op, int64_t question)
{
    return session_is_asking(op) && op->session->question == question;
}

void session_answer(struct operation *op, int64_t question, const char *text, size_t len)
{
    if (waits_for(op, question))
        session_dispatch(op->session, &(struct event){.kind = EVENT_INPUT, .text = text, .text_len = len});
}

void session_dismiss(struct operation *op, int64_t question)
{
    if (waits_for(op, question))
        session_dispatch(op->session, &(struct event){.kind = EVENT_CANCEL});
}
