/*
 * Responsible for the sentences of the facts that sessions report (session/records/facts.h). In them $a to $c
 * are the fact's texts, $1 to $3 its numbers and $g the second one in groups of digits; $t, $w and $e are its
 * seconds to a tenth, in whole and as they are.
 */
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "report/report.h"
#include "session/records/facts.h"

/* clang-format off */
static const char *const sentences[] = {
    [FACT_TEXT] = "$a",
    [FACT_STAGED] = "$a",

    [FACT_CONTINUED] = "A restart has continued the computation from there.",
    [FACT_COPY_ENDED] = "The copy of the process that stood in it has ended.",
    [FACT_COPY_SILENT] = "The copy of the process that stood in it did not answer.",
    [FACT_DAMAGED] = "The state in which it stood was damaged.",
    [FACT_ENDED_IN_COPYING] = "The process ended while it was copied there.",
    [FACT_EVICTED] = "There was no room for its process any more.",
    [FACT_IMAGE_LEFT] = "The connection to its image has ended since, which unwinds what stood there.",
    [FACT_LEFT_AT_ONCE] = "The Lisp had to leave it at once; list-errors and get-backtrace show its "
        "text.",
    [FACT_NEVER_RAN] = "It never ran.",
    [FACT_NOT_COPIED] = "The Lisp has left it, and no copy was made there.",
    [FACT_PROCESS_ENDED] = "The process has ended.",
    [FACT_SUPERSEDED] = "Its checkpoint was dropped: the session has taken another way since.",
    [FACT_SUSPENDED] = "The session was suspended meanwhile.",
    [FACT_THINNED] = "Its checkpoint was dropped with other old ones.",
    [FACT_THREAD_ENDED] = "Its thread has ended.",
    [FACT_THREAD_LEFT] = "Its thread is no longer stopped there.",
    [FACT_TOO_MUCH_MEMORY] = "The session held more memory than --max-memory allows.",
    [FACT_TOO_OLD] = "It is no longer one of the last five.",
    [FACT_UNWOUND] = "It has been unwound.",

    [FACT_COPIES_OFF] = "This session makes no copies of itself (checkpoint-limit is 0).",
    [FACT_COPY_FAILED] = "the Lisp could not be copied",
    [FACT_COPY_UNANSWERED] = "the process has not answered for the copy",
    [FACT_NOT_READY] = "The session's process ended before it was ready.",
    [FACT_NOT_STARTED] = "The Lisp could not be started.",

    [FACT_CANCELLED_UNBEGUN] = "The evaluation was cancelled before it began.",
    [FACT_CANNOT_BE_ENTERED] = "This error cannot be entered: $a",
    [FACT_CLOSED] = "The session was closed.",
    [FACT_DIED_IN_COPY] = "It died in a copy of the session, which itself is as it was.",
    [FACT_DIED_IN_ERROR_COPY] = "It died in a copy of the process that stands in the error: the session and "
        "the error are as they were.",
    [FACT_EXPIRED] = "The evaluation did not begin within its time limit of $e s and was taken out of the "
        "queue; nothing of it ran. It waited $a.",
    [FACT_IMAGE_HAS_NO_CHECKPOINTS] = "This session is an image that a person runs (attach): it is never "
        "copied, so it has no checkpoints and cannot be rolled back. Undo by hand what has to be undone; "
        "create-session makes a session in which this works.",
    [FACT_IMAGE_IS_NOT_COPIED] = "It is an image that a person runs (attach), and no copies are made of "
        "that.",
    [FACT_IMAGE_IS_NOT_SAVED] = "This session is an image that a person runs (attach): it is neither saved "
        "nor replaced by a save. Write what has to last into the program's files.",
    [FACT_IMAGE_ENDED_IN_CALL] = "The image at $a has ended while this ran: process $1 is gone, with all "
        "that was defined in it. The next call joins the image that answers there by then.",
    [FACT_IMAGE_LEFT_IN_CALL] = "The connection to the image at $a was cut while this ran: $b. Its process "
        "$1 is still there. The agent in it unwinds what this call was running; what had been done by then "
        "stays. The next call joins the image again and tells what became of this one.",
    [FACT_IMAGE_LOST_IN_CALL] = "The connection to the image at $a was cut while this ran: $b. Its process "
        "does not run where the server can see it, so nobody here knows whether it has ended. If it still "
        "runs, the agent in it unwinds what this call was running; what had been done by then stays. The "
        "next call joins the image again.",
    [FACT_LOOK_LATE] = "The look-up took longer than its time limit and was abandoned. The running code "
        "continues.",
    [FACT_LOOK_LOST] = "The copy of the process that was to answer this has ended. The running code "
        "continues.",
    [FACT_LOOK_UNANSWERED] = "No answer is available: the process did not reach a point where it can be "
        "examined within 2 s. It is collecting garbage, has interrupts disabled (without-interrupts), or is "
        "in foreign code that blocks signals. The running code continues. Try again later; "
        "cancel-evaluation stops it.",
    [FACT_NEEDS_COPY] = "This needs a copy of the Lisp, which could not be made.",
    [FACT_NO_CHECKPOINT] = "There is no such checkpoint; session-history with checkpoints: true lists them.",
    [FACT_NO_LONGER_ENTERABLE] = "This error can no longer be entered; list-errors shows which can.",
    [FACT_NO_STATE] = "There is no checkpoint of the state after evaluation $1; session-history with "
        "checkpoints: true lists them.",
    [FACT_NO_STATE_NEAR] = "There is no checkpoint of the state after evaluation $1. The nearest is of the "
        "state after evaluation $2; session-history with checkpoints: true lists them.",
    [FACT_NO_STATE_BETWEEN] = "There is no checkpoint of the state after evaluation $1. The nearest are of "
        "the states after evaluations $2 and $3; session-history with checkpoints: true lists them.",
    [FACT_NOT_RESTORED] = "The saved session $a could not be started. $b The session is empty now; "
        "create-session with saved: true tries again.",
    [FACT_OTHER_SBCL] = "Its image was perhaps written by another SBCL.",
    [FACT_THREADS_IN_THE_WAY] = "Threads of the program run (list-threads), so the session cannot be "
        "copied. To continue in the copy of this error would end them, and what was done since could not be "
        "restored. evaluate-in-frame works in the copy. To continue there, end the threads first, or return "
        "to an earlier state (rollback-session).",
    [FACT_NOT_SAVED] = "The session was not saved: $a",
    [FACT_NOT_SAVED_EXIT] = "The session was not saved: the copy that was to write it exited with code $1. "
        "Is there room in $a?",
    [FACT_NOT_SAVED_SIGNAL] = "The session was not saved: the copy that was to write it was ended by signal "
        "$1. Is there room in $a?",
    [FACT_SAVE_COPY_FAILED] = "a copy of its process could not be made.",
    [FACT_SAVE_LATE] = "it took longer than five minutes.",
    [FACT_SAVE_OPEN_ELSEWHERE] = "another process has its image open, and could read or change it later.",
    [FACT_SAVE_REFUSED] = "The Lisp could not be saved.",
    [FACT_SAVED] = "Saved session $a, the state after evaluation $1.\nFile: $b\nSize: $g bytes\nTime: $t s",

    [FACT_MOMENT] = "$a has been running for $t s; this is from that moment.",
    [FACT_MOMENT_IN_EVALUATION] = "Evaluation $1 has been running for $t s; this is from that moment.",
    [FACT_REPLAY_FAILED] = "\n  failed: $a",

    [FACT_AFTER_CANCELLED] = "After a call that was cancelled: $a",
    [FACT_CLEANUP_FAILED] = "When error $1 was left, a cleanup form of its evaluation did not finish: $a: $b",
    [FACT_CONTINUES_UNDONE] = "The session continues from the point of the error in evaluation $1, which "
        "had been undone or ran in a copy: its effects are there now.",
    [FACT_ENDED] = "Evaluation $1 has ended$a after $t s; evaluation-status shows its result.",
    [FACT_ERROR_LOST] = "1 more error occurred in threads or outside evaluations; nothing of it was kept.",
    [FACT_ERRORS_LOST] = "$1 more errors occurred in threads or outside evaluations; nothing of them was "
        "kept.",
    [FACT_ERROR_IN_COPY] = "In the copy, thread $a failed: $b: $c",
    [FACT_FILES_OPEN] = "Files open for writing at the error: $a. The session has left it since, and its "
        "cleanup forms may have closed, renamed or deleted them.",
    [FACT_HOOK_FAILED] = "cl-mcp:$a $b failed: $c",
    [FACT_HOOKS_LEFT_OUT] = "The forms registered with cl-mcp:on-return were not evaluated again: the "
        "process died after them, before anything else was evaluated.",
    [FACT_HOOKS_UNFINISHED] = "The forms registered with cl-mcp:$a were not finished: $b: $c",
    [FACT_IMAGE_CHANGED] = "Process $1 has ended; this is $2$a. Nothing that you defined is there; the "
        "package is CL-USER. session-history has your code.",
    [FACT_IMAGE_IS_ANOTHER] = "Another process answers than before: this is $2$a, not $1. Nothing that you "
        "defined is there; the package is CL-USER. session-history has your code.",
    [FACT_IMAGE_JOINED] = "You work in the Lisp that a person runs: $a. Its directory is $b; your package "
        "is CL-USER.",
    [FACT_IMAGE_LOST] = "The connection to the image at $a had been cut: $b. It was joined again: it is "
        "still process $1, with what you defined. Errors that stood there for this session were unwound; "
        "the package is CL-USER.$c",
    [FACT_LIBRARIES] = "Foreign libraries were loaded again, without what they had in memory: $a. Pointers "
        "from before the save, such as open databases, are invalid; using one ends in a memory fault. Code "
        "registered with cl-mcp:on-start can make them anew.",
    [FACT_MEMORY_ERRORS] = "This session and its copies held $1 MiB, more than --max-memory allows ($2 "
        "MiB). Only the last error can still be entered.",
    [FACT_MEMORY_STATES] = "This session and its copies held $1 MiB, more than --max-memory allows ($2 "
        "MiB). Of its unnamed checkpoints only the newest was kept.",
    [FACT_NO_INPUT] = "The code's question was not answered in time: it has read end of file.",
    [FACT_NOT_SAVED_AT_END] = "Work done now is not saved when the server ends, unless checkpoint-session "
        "saves it (action: save).",
    [FACT_PERSON] = "$a",
    [FACT_STARTED] = "$a",
    [FACT_BRANCH_CLOSED] = "Open in the session that this one was copied from, and closed here: $a.",
    [FACT_STREAMS_CLOSED] = "Open at the error and closed in the copy: $a.",
    [FACT_THREADS_BEGAN] = "Threads of the program run now: $a. Until they end, no checkpoints are made: "
        "rollback-session goes to earlier states only, after a crash only definitions come back, and the "
        "session cannot be saved. cl-mcp:on-return registers code that runs after a return.$b",
    [FACT_MORE_THREADS_BEGAN] = "Threads of the program run now: $a",
    [FACT_WAITED] = "This evaluation waited $w s for its turn, behind $a",
};
/* clang-format on */

/* What an operation waits behind, and how to stop that. */
static void add_behind(const struct fact *f, struct strbuf *out)
{
    strbuf_addf(out, "%sbehind %s", f->kind == FACT_WAITING ? "waiting; " : "", f->texts[0]);
    if (f->seconds >= 0)
        strbuf_addf(out, " (running for %.0f s)", f->seconds);
    if (f->numbers[0] > 0)
        strbuf_addf(out, " and %s", text_count(f->numbers[0], "other call").text);
    strbuf_adds(out, "; cancel-evaluation stops that, and other sessions are free");
}

/* Texts of the program, such as an error's message, stand among the server's sentences, so their lines hang.
 * A person's remark (FACT_STAGED) has its own section, and in a finished sentence (FACT_TEXT) the quotations
 * hang already. */
static void add_text(struct strbuf *out, const char *text, bool is_hanging)
{
    if (text != NULL)
        text_add_hanging(out, text, strlen(text), is_hanging ? "  " : "");
}

void report_fact(const struct fact *f, struct strbuf *out)
{
    if (f->kind == FACT_BEHIND || f->kind == FACT_WAITING) {
        add_behind(f, out);
        return;
    }
    const char *at = sentences[f->kind];
    for (const char *sign; (sign = strchr(at, '$')) != NULL; at = sign + 2) {
        char c = sign[1];
        strbuf_add(out, at, (size_t)(sign - at));
        if (c >= 'a' && c <= 'c')
            add_text(out, f->texts[c - 'a'], f->kind != FACT_STAGED && f->kind != FACT_TEXT);
        else if (c >= '1' && c <= '3')
            strbuf_addf(out, "%llu", (unsigned long long)f->numbers[c - '1']);
        else if (c == 'g')
            strbuf_adds(out, text_grouped(f->numbers[1]).text);
        else
            strbuf_addf(out, c == 't' ? "%.1f" : c == 'w' ? "%.0f" : "%.10g", f->seconds);
    }
    strbuf_adds(out, at);
}

const char *report_sentence(const struct fact *f)
{
    return f->kind == FACT_NONE ? NULL : f->kind == FACT_TEXT ? f->texts[0] : sentences[f->kind];
}

const char *report_why_not(const struct error_record *r)
{
    return report_sentence(error_record_why_not(r));
}
