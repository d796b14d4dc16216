/*
 * The death of a session's process: what is to be said of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/session_internal.h"

static bool is_storage_death(const char *text)
{
    static const char *const marks[] = {"Heap exhausted", "heap exhausted", "Control stack exhausted", "Binding stack exhausted", "Alien stack exhausted", "out of memory"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (strstr(text, marks[i]) != NULL)
            return true;
    return false;
}

static void describe_end(const struct child_end *end, struct strbuf *out)
{
    if (!end->is_known)
        strbuf_adds(out, "The Lisp process ended; how is not known.");
    else if (end->signal != 0)
        strbuf_addf(out, "The Lisp process was killed by signal %d (%s).", end->signal, strsignal(end->signal));
    else
        strbuf_addf(out, "The Lisp process exited with code %d.", end->exit_code);
}

/* Up to 64 KiB of the end of what the process printed on descriptor 2, where SBCL writes its last words. */
static char *last_words(const struct capture *c)
{
    size_t most = (size_t)64 << 10;
    char *text = xmalloc(most + 1);
    size_t n = capture_read(c, c->total > most ? c->total - most : 0, text, most);
    text[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

struct error_record *session_record_of_death(struct session *s, const struct child_end *end)
{
    char *words = last_words(&s->output[WORKER_STDERR]);
    struct strbuf message;
    strbuf_init(&message, 0);
    const char *type = end->signal != 0 ? "PROCESS-KILLED" : "PROCESS-EXITED";
    if (is_storage_death(words)) {
        type = "STORAGE-CONDITION";
        strbuf_adds(&message, strstr(words, "ontrol stack") != NULL ? "Control stack exhausted. " : "Heap exhausted. ");
    }
    describe_end(end, &message);
    struct error_record *r = error_record_make(type, strbuf_string(&message), words);
    free(words);
    strbuf_fini(&message);
    if (s->stop != STOP_NONE && s->state == SESSION_KILLING) {
        if (s->held != NULL) {
            /* Where it was is worth more than the frames of nobody. */
            sexp_document_free(r->document);
            r->document = s->held->document;
            r->condition = s->held->condition;
            r->details = s->held->details;
            r->frozen = s->held->frozen;
            s->held->document = s->held->details = NULL;
            s->held->frozen = NULL;
            if (r->frozen != NULL) {
                struct worker_events events = session_record_events(r);
                worker_set_events(r->frozen, &events);
            }
        }
        session_word_stop(s, r, true);
    }
    r->session = s;
    return r;
}

/* Did it break, rather than end because it was told to? SBCL's runtime exits by itself when it finds its heap damaged. */
static bool is_crash(struct session *s, const struct child_end *end)
{
    char *words = last_words(&s->output[WORKER_STDERR]);
    bool is_lost = strstr(words, "fatal error encountered in SBCL") != NULL;
    free(words);
    return end->signal != 0 || is_lost;
}

void session_action_mourn(struct session *s, struct event *e)
{
    if (e->is_visitor) {
        session_visitor_died(s, e);
        return;
    }
    if (s->making != NULL) {
        struct checkpoint *cp = s->making;
        s->making = NULL;
        checkpoint_drop(cp);
    }
    if (s->is_restoring) {
        session_restore_failed(s);
        return;
    }
    if (s->is_returning) {
        /* What was returned to does not live either. */
        struct checkpoint *cp = s->source;
        s->source = NULL;
        if (s->state == SESSION_REPLAYING || (cp == NULL && s->replay_next > 0))
            s->may_replay = false; /* it was not the state that died but what was done to it */
        else if (cp != NULL)
            checkpoint_drop(cp);
        if (s->state != SESSION_KILLING && e->end->signal == SIGKILL)
            session_lower_best(s);
        session_go_back(s);
        return;
    }
    struct operation *op = s->current;
    s->is_returning = true;
    s->was_idle = op == NULL;
    s->may_replay = true;
    s->replayed = s->replay_failed = 0;
    s->replay_next = 0;
    s->died_at = s->at;
    strbuf_clear(&s->return_text);
    bool is_suspect = false;
    if (op == NULL) {
        strbuf_adds(&s->return_text, s->state == SESSION_IDLE || s->state == SESSION_CHECKPOINTING ? "Between two calls: " : "While the last failed call was being unwound: ");
        describe_end(e->end, &s->return_text);
        strbuf_addc(&s->return_text, ' ');
        s->examined = NULL;
    } else {
        s->obituary = session_record_of_death(s, e->end);
        if (s->held != NULL)
            s->died_at = s->at_before; /* it is in the journal already, as stopped */
        else
            session_write_journal(s, op, JOURNAL_DIED);
        error_record_free(s->held);
        s->held = NULL;
        s->examined = NULL;
        /* The first evaluation in a state that was returned to, killed by a signal, and not the one that died before: the state itself is suspect. */
        is_suspect = s->is_unproven && is_crash(s, e->end) && s->stop == STOP_NONE && op->has_code && (s->killer == NULL || strcmp(s->killer, strbuf_string(&op->code)) != 0);
        free(s->killer);
        s->killer = xstrdup(strbuf_string(&op->code));
    }
    struct checkpoint *newest = session_newest_checkpoint(s, s->died_at);
    s->best = newest == NULL ? 0 : newest->evaluation;
    if (is_suspect && newest != NULL && newest->evaluation == s->at)
        checkpoint_drop(newest);
    session_go_back(s);
}
