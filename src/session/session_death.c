/*
 * The death of a session's process: what is to be said of it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/session_internal.h"

static bool is_storage_death(const char *text)
{
    static const char *const marks[] = {"Heap exhausted",          "heap exhausted",
                                        "Control stack exhausted", "Binding stack exhausted",
                                        "Alien stack exhausted",   "out of memory"};
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
        strbuf_addf(out, "The Lisp process was killed by signal %d (%s).", end->signal,
                    strsignal(end->signal));
    else
        strbuf_addf(out, "The Lisp process exited with code %d.", end->exit_code);
}

/* Up to 64 KiB of the end of what the process printed. */
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

/* SBCL says on descriptor 2 that it ends, and on 1 in which frames. */
static bool is_end_of_runtime(const char *words)
{
    return strstr(words, "fatal error encountered in SBCL") != NULL;
}

/* The frames that SBCL printed as the last thing it did. They are no output of the program's, so they are
 * taken out of it. */
static char *take_crash_frames(struct capture *out, const char *words)
{
    char *text = last_words(out);
    char *first = is_end_of_runtime(words) ? strstr(text, "   0: fp=0x") : NULL;
    if (first == NULL) {
        free(text);
        return NULL;
    }
    char *frames = xstrdup(first);
    capture_cut(out, out->total - strlen(first));
    free(text);
    return frames;
}

struct error_record *session_make_exit_record(struct session *s, const struct child_end *end)
{
    char *words = last_words(&s->output[WORKER_STDERR]);
    struct strbuf message;
    strbuf_init(&message, 0);
    const char *type = end->signal != 0 ? "PROCESS-KILLED" : "PROCESS-EXITED";
    if (is_storage_death(words)) {
        type = "STORAGE-CONDITION";
        strbuf_adds(&message,
                    strstr(words, "ontrol stack") != NULL ? "Control stack exhausted. " : "Heap exhausted. ");
    }
    describe_end(end, &message);
    char *frames = take_crash_frames(&s->output[WORKER_STDOUT], words);
    struct error_record *r =
        error_record_make(type, strbuf_string(&message), frames != NULL ? frames : words);
    free(frames);
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

/*
 * Does it look as if something was damaged before, rather than as if this code ended the process? SBCL's
 * runtime ends it when it finds its heap damaged, the C library calls abort() when it finds its own so; any
 * other abort(), and a signal that is no fault, comes from the code.
 */
static bool shows_damage(struct session *s, const struct child_end *end)
{
    static const char *const marks[] = {"malloc()",  "free()",      "realloc()",      "munmap_chunk()",
                                        "corrupted", "double free", "invalid pointer"};
    char *words = last_words(&s->output[WORKER_STDERR]);
    bool is_shown = end->signal == SIGSEGV || end->signal == SIGBUS || end->signal == SIGILL ||
                    end->signal == SIGFPE || end->signal == SIGTRAP ||
                    (is_end_of_runtime(words) && strstr(words, "SIGABRT received") == NULL);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        is_shown = is_shown || strstr(words, marks[i]) != NULL;
    free(words);
    return is_shown;
}

void session_action_handle_exit(struct session *s, struct event *e)
{
    if (e->is_scratch) {
        session_scratch_died(s, e);
        return;
    }
    session_count(s, METRIC_DEATHS);
    session_drop_ahead(s);
    if (s->making != NULL) {
        struct checkpoint *cp = s->making;
        s->making = NULL;
        checkpoint_drop(cp);
    }
    if (s->is_restoring) {
        session_restore_failed(s);
        return;
    }
    if (s->is_waking && s->return_text.len == 0)
        strbuf_adds(&s->return_text, "The session could not be woken from its sleep. ");
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
    bool has_begun = s->current == NULL || s->stop != STOP_NONE ||
                     (s->state != SESSION_RUNNING && s->state != SESSION_KILLING) ||
                     worker_has_begun(s->worker);
    if (!has_begun)
        session_put_back(s);
    struct operation *op = s->current;
    s->was_idle = op == NULL;
    session_begin_return(s, true);
    bool is_suspect = false;
    if (op == NULL) {
        strbuf_adds(&s->return_text,
                    s->state == SESSION_IDLE || s->state == SESSION_CHECKPOINTING || !has_begun
                        ? "Between two calls: "
                        : "While the last failed call was being unwound: ");
        describe_end(e->end, &s->return_text);
        strbuf_addc(&s->return_text, ' ');
        s->examined = NULL;
    } else {
        s->exit_record = session_make_exit_record(s, e->end);
        if (s->held != NULL)
            s->died_at = s->at_before; /* it is in the journal already, as stopped */
        else
            session_write_journal(s, op, JOURNAL_DIED);
        error_record_free(s->held);
        s->held = NULL;
        s->examined = NULL;
        /* The first evaluation in a state that was returned to, ended in a way that shows damage, and not the
         * one that died before: the state itself is suspect. */
        is_suspect = s->is_untried && shows_damage(s, e->end) && s->stop == STOP_NONE && op->has_code &&
                     (s->killer == NULL || strcmp(s->killer, strbuf_string(&op->code)) != 0);
        free(s->killer);
        s->killer = xstrdup(strbuf_string(&op->code));
    }
    struct checkpoint *newest = session_newest_checkpoint(s, s->died_at);
    s->best = newest == NULL ? 0 : newest->evaluation;
    if (is_suspect && newest != NULL && newest->evaluation == s->at)
        checkpoint_drop(newest);
    session_go_back(s);
}
