/*
 * Responsible for describing how an operation was stopped, how a process ended, and what the session
 * continues from.
 */
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "proc/child.h"
#include "report/report.h"
#include "report/section.h"
#include "session/core/wording.h"
#include "session/records/journal.h"

#define LONGEST_NAMED 2000 /* bytes of a list of named checkpoints */
#define UNDONE_SHOWN 10
#define LONGEST_UNDONE 120

static void word_stop(const struct stop_facts *f, struct strbuf *out)
{
    const char *what = f->is_look_up ? "call" : "evaluation";
    if (f->is_limit)
        strbuf_addf(out, "The %s was stopped at its time limit of %.10g s.", what, f->limit_ms / 1000.0);
    else
        strbuf_addf(out, "The %s was cancelled after %.10g s.", what, f->ran_ms / 1000.0);
    if (f->still_running != NULL)
        strbuf_addf(
            out,
            " It reacted neither to two interrupts nor to being unwound, and nothing in a joined image is "
            "killed: it still runs there, in the thread %.200s. interrupt-thread acts on that "
            "thread with force: true.",
            f->still_running);
    else if (f->was_killed && f->is_joined)
        strbuf_adds(
            out, " The image did not answer after two interrupts, so the connection was cut: what ran may go "
                 "on there. The next call joins the image again.");
    else if (f->was_killed)
        strbuf_adds(out, " It did not respond to two interrupts, so its process was killed.");
    else if (f->interrupts > 2)
        strbuf_adds(out, " It did not respond to two interrupts and was unwound to its top level.");
    else if (f->interrupts > 1)
        strbuf_adds(out, " The second interrupt stopped it; the session is intact.");
    else
        strbuf_adds(out, " It was interrupted where it was; the session is intact.");
    if (!f->is_limit || f->is_look_up)
        return;
    strbuf_adds(out, "\nFor more time, give this call a longer timeout, or set one for the session with "
                     "configure-limits.");
    if (f->can_continue)
        strbuf_adds(out, "\ninvoke-restart CONTINUE continues from where it was interrupted.");
}

static void word_exit(const struct exit_facts *f, struct strbuf *out)
{
    if (f->exhaustion != EXHAUSTION_NONE)
        strbuf_adds(out,
                    f->exhaustion == EXHAUSTION_STACK ? "Control stack exhausted. " : "Heap exhausted. ");
    if (f->end->why[0] != '\0')
        strbuf_addf(out, "The server ended the Lisp process, because %s.", f->end->why);
    else if (!f->end->is_known)
        strbuf_adds(out, "The Lisp process ended; the cause is not known.");
    else if (f->end->signal != 0)
        strbuf_addf(out, "The Lisp process was killed by signal %d (%s).", f->end->signal,
                    strsignal(f->end->signal));
    else
        strbuf_addf(out, "The Lisp process exited with code %d.", f->end->exit_code);
    if (f->end->is_short_of_memory)
        strbuf_adds(out, " The kernel ran out of memory then and probably killed it.");
}

/* Why there is no newer checkpoint, in parentheses. */
static void add_why_not_copied(const struct start_facts *f, const char *before, struct strbuf *out)
{
    size_t len = f->why_not_copied == NULL ? 0 : strlen(f->why_not_copied);
    if (len == 0)
        return;
    if (f->why_not_copied[len - 1] == '.')
        len--;
    strbuf_addf(out, "%s%.*s)", before, (int)len, f->why_not_copied);
}

static void add_resumed(const struct start_facts *f, struct strbuf *out)
{
    strbuf_addf(out,
                "The session had been suspended since %s, after %.10g s without use. Definitions, "
                "variables and history are as they were; open files and sockets are closed, and earlier "
                "states and errors can no longer be entered.",
                text_date(f->suspended_since->tv_sec).text, (double)f->idle_timeout_ms / 1000);
}

/* What happened to a process that no call was waiting for. */
static void add_accident(const struct start_facts *f, struct strbuf *out)
{
    if (f->was_not_resumed)
        strbuf_adds(out, "The session could not be resumed. ");
    if (f->cause != START_DEATH_BETWEEN && f->cause != START_DEATH_IN_UNWINDING)
        return;
    strbuf_adds(out, f->cause == START_DEATH_BETWEEN ? "Between two calls: "
                                                     : "While the last failed call was being unwound: ");
    word_exit(f->exit, out);
    strbuf_addc(out, ' ');
}

static void add_restored(const struct start_facts *f, struct strbuf *out)
{
    strbuf_addf(
        out,
        "Restored session %s, the state after evaluation %llu. A save holds neither checkpoints nor errors.",
        f->name, (unsigned long long)f->at);
    if (f->not_held != NULL) {
        strbuf_adds(out, "\nNamed checkpoints, which this save does not hold: ");
        strbuf_add(out, f->not_held, utf8_floor(f->not_held, strlen(f->not_held), LONGEST_NAMED));
        strbuf_addc(out, '.');
    }
    if (f->replaced.at == 0)
        return;
    strbuf_addf(out, "\nDiscarded: the state after evaluation %llu", (unsigned long long)f->replaced.at);
    if (f->replaced.errors > 0)
        strbuf_addf(out, ", %s", text_count(f->replaced.errors, "error").text);
    if (f->replaced.checkpoints != NULL) {
        const char *names = f->replaced.checkpoints;
        strbuf_adds(out, ", the named checkpoints ");
        strbuf_add(out, names, utf8_floor(names, strlen(names), LONGEST_NAMED));
    }
    strbuf_addc(out, '.');
}

/* Where the session is now. */
static void add_place(const struct start_facts *f, struct strbuf *out)
{
    unsigned long long at = f->at;
    if (f->cause == START_DEATH_IN_ENTRY)
        strbuf_adds(out,
                    "It died in an entry to the error: the session and the error are as they were before.");
    else if (f->cause == START_RESTORE)
        add_restored(f, out);
    else if (f->cause == START_ROLLBACK && f->at != f->wanted)
        strbuf_addf(
            out,
            "The checkpoint of the state after evaluation %llu did not start, so the session returned "
            "to the state after evaluation %llu.",
            (unsigned long long)f->wanted, at);
    else if (f->cause == START_ROLLBACK)
        strbuf_addf(out, "Returned to the state after evaluation %llu.", at);
    else if (f->at == f->died_at && f->cause == START_RESUME)
        add_resumed(f, out);
    else if (f->at == f->died_at && !f->had_threads)
        strbuf_addf(
            out,
            "The session continues from the state before %s: definitions and variables are as they were.",
            f->cause == START_DEATH_IN_CALL ? "this evaluation" : "that");
    else if (f->at < f->best)
        strbuf_addf(
            out,
            "The later states were damaged, so the session continues from the state after evaluation %llu.",
            at);
    else if (f->at > 0) {
        strbuf_addf(out, "The session continues from its last checkpoint, the state after evaluation %llu",
                    at);
        add_why_not_copied(f, " (later ones could not be made: ", out);
        strbuf_addc(out, '.');
    } else {
        strbuf_adds(out, "The session continues in a fresh Lisp");
        add_why_not_copied(f, ", because no checkpoint could be made (", out);
        strbuf_addc(out, '.');
    }
}

static bool is_undone(const struct start_facts *f, const struct journal_entry *entry)
{
    return entry->evaluation > f->at && entry->evaluation <= f->died_at && !entry->is_undone &&
           entry->outcome != JOURNAL_DIED;
}

/* The newest are listed; the older ones counted. */
static void add_undone(const struct start_facts *f, struct strbuf *out)
{
    const struct journal_entry *entry;
    size_t left = 0;
    for (size_t i = 0; (entry = journal_at(f->journal, i)) != NULL; i++)
        left += is_undone(f, entry);
    if (left == 0)
        return;
    strbuf_adds(out, f->replayed > 0 ? "\nEvaluated since that state:" : "\nUndone:");
    if (left > UNDONE_SHOWN)
        strbuf_addf(out, "\n  %zu earlier %s, and", left - UNDONE_SHOWN,
                    left - UNDONE_SHOWN == 1 ? "one" : "ones");
    for (size_t i = 0; (entry = journal_at(f->journal, i)) != NULL; i++) {
        if (!is_undone(f, entry) || left-- > UNDONE_SHOWN)
            continue;
        bool is_lost = f->replayed > 0 && entry->is_in_pieces && entry->piece_count == 0;
        strbuf_addf(out, "\n  %llu%s: ", (unsigned long long)entry->evaluation, is_lost ? ", lost" : "");
        section_add_first_line(out, entry->code, entry->code_len, LONGEST_UNDONE);
    }
}

static void word_start(const struct start_facts *f, struct strbuf *out)
{
    add_accident(f, out);
    if (f->why_not_started != NULL)
        strbuf_addf(out, "The session's process could not be started again: %s", f->why_not_started);
    else
        add_place(f, out);
    if (f->replayed > 0 || f->replay_failed > 0) {
        strbuf_adds(out, " From the journal ");
        uint64_t all = f->replayed + f->replay_failed;
        strbuf_addf(out, "%s%s", text_count(all, "definition").text,
                    all == 1 ? " was evaluated again" : " were evaluated again");
        if (f->replay_failed > 0)
            strbuf_addf(out, ", %llu of them failed", (unsigned long long)f->replay_failed);
        strbuf_addf(out, "; the effects of other forms are lost.%s", f->failures);
    }
    if (f->severed != NULL)
        strbuf_addf(out, " Open in that state and closed now: %s.", f->severed);
    if (f->at != f->died_at)
        add_undone(f, out);
}

const struct session_wording report_wording = {.sentence = report_sentence,
                                               .fact = report_fact,
                                               .stop = word_stop,
                                               .exit = word_exit,
                                               .start = word_start};
