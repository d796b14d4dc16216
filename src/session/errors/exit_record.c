/*
 * Responsible for the record of how a process ended, with its last words.
 */
#include "session/errors/exit_record.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lisp/last_words.h"
#include "proc/child.h"
#include "session/core/core.h"
#include "session/core/wording.h"
#include "session/records/error_record.h"
#include "session/work/run.h"

/* The last 64 KiB of what the process printed. */
static char *end_of(const struct capture *c)
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

/* The frames that SBCL printed when it crashed are not output of the program. NULL if there are none. */
static char *take_crash_frames(struct capture *out)
{
    char *text = end_of(out);
    const char *first = last_words_frames(text);
    char *frames = xstrdup(first);
    if (first != NULL)
        capture_cut(out, out->total - strlen(first));
    free(text);
    return frames;
}

struct error_record *exit_record_new(struct session *s, const struct child_end *end)
{
    char *words = end_of(&s->output.streams[WORKER_STDERR]);
    struct exit_facts facts = {
        .end = end,
        .exhaustion = last_words_name_stack(words)  ? EXHAUSTION_STACK
                      : last_words_name_heap(words) ? EXHAUSTION_HEAP
                                                    : EXHAUSTION_NONE,
    };
    struct strbuf message = {0};
    s->host->options.wording->exit(&facts, &message);
    const char *type = facts.exhaustion != EXHAUSTION_NONE ? "STORAGE-CONDITION"
                       : end->signal != 0                  ? "PROCESS-KILLED"
                                                           : "PROCESS-EXITED";
    char *frames = last_words_are_fatal(words) ? take_crash_frames(&s->output.streams[WORKER_STDOUT]) : NULL;
    struct error_record *r =
        error_record_make(type, strbuf_string(&message), frames != NULL ? frames : words);
    r->session = s;
    error_record_cannot_be_entered(r, FACT_PROCESS_ENDED, NULL);
    if (s->state == SESSION_KILLING)
        run_note_stop(s, r);
    free(frames);
    free(words);
    strbuf_fini(&message);
    return r;
}

bool exit_record_shows_damage(struct session *s, const struct child_end *end)
{
    char *words = end_of(&s->output.streams[WORKER_STDERR]);
    bool is_fault = end->signal == SIGSEGV || end->signal == SIGBUS || end->signal == SIGILL ||
                    end->signal == SIGFPE || end->signal == SIGTRAP;
    bool is_shown = is_fault || last_words_show_damage(words);
    free(words);
    return is_shown;
}
