/*
 * get-usage-guide: how to work with this server, in one page; or one topic of it.
 */
#include <string.h>

#include "tools/call.h"

static const struct {
    const char *topic, *text;
} topics[] = {
    {"workflow",
     "WORKFLOW\n"
     "You have a live Common Lisp. What you define stays until reset-session: build a program in small steps and try each one.\n"
     "1. evaluate-lisp with one or more forms. Values come behind =>, output under [stdout] and [stderr], warnings under [warnings].\n"
     "2. Redefine a function by evaluating its new definition; callers use it at once.\n"
     "3. list-definitions shows what the session has; describe-symbol explains any name, the standard's included.\n"
     "4. (in-package ...) holds for later calls; the argument package holds for one call. * ** *** / + and so on work as in a REPL.\n"
     "5. When the code is right, write it to a file; load-file and load-system load it."},
    {"errors",
     "ERRORS\n"
     "An error is a result, not a failure of the server. The reply has [ERROR] with the condition's type, its message, [Backtrace] from the\n"
     "point of the error down to your form, [Restarts], [Slots] and often a [Hint].\n"
     "describe-last-error and get-backtrace (with locals: true for variables) show it again, unchanged, until the next error, the next\n"
     "success or reset-session. list-errors has the older ones; their index goes into both tools.\n"
     "An error can be entered. evaluate-in-frame evaluates code with the variables of a frame, without effect on anything. invoke-restart goes on from\n"
     "where the error stands: fix the function with evaluate-lisp, then invoke-restart RETRY or CONTINUE (with index if a success came since), or give\n"
     "the fix as code, or a value for USE-VALUE and the like. What was computed before the error is not computed again. A time limit is entered the\n"
     "same way: invoke-restart CONTINUE with a longer timeout. The last five errors can be entered, as list-errors shows.\n"
     "Warnings never stop an evaluation. validate-syntax finds a missing or extra parenthesis without running anything;\n"
     "compile-form says what the compiler thinks of code, without defining anything."},
    {"limits",
     "LIMITS\n"
     "Each call has a time limit (30 s at first). At the limit it is interrupted, and the reply shows where it was: [ERROR] TIMEOUT. The argument\n"
     "timeout of evaluate-lisp, load-system and load-file sets it for one call, configure-limits for the session. cancel-evaluation stops a running call.\n"
     "Long outputs and values are cut in the middle; get-output shows the rest by the number that the reply names, with offset and length, or\n"
     "only the lines that hold a pattern. print-length and print-level shorten values."},
    {"sessions",
     "SESSIONS\n"
     "Without the argument session every tool uses the session \"default\". create-session makes another, a Lisp of its own, with systems loaded on\n"
     "request; list-sessions, session-info and close-session manage them. Sessions run at the same time and do not see each other.\n"
     "After each evaluation the state is kept. If the Lisp itself dies (exit, crash, memory used up, a loop that ignores interrupts), the call that did\n"
     "it says so, with what was printed and how it ended, and under [Session] which state the session went back to; usually nothing is lost.\n"
     "checkpoint-session names a state, list-checkpoints shows which there are, rollback-session returns to one (a name, the number of an evaluation,\n"
     "or -1 for one back). Files and other processes are not rolled back. session-history shows what was evaluated; with format lisp it is a file\n"
     "that loads. save-session writes the session to disk, restore-session brings it back. reset-session starts afresh."},
    {"systems",
     "SYSTEMS\n"
     "load-system loads an ASDF system and what it depends on; it is found in the current directory, in ~/common-lisp, in\n"
     "~/.local/share/common-lisp/source and in /usr/share/common-lisp. load-file loads one file, with compile: true compiled first."},
};

#define TOPIC_COUNT (sizeof topics / sizeof topics[0])

static void run(struct tool_call *call)
{
    const char *topic = call_string(call, "topic", NULL);
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        if (topic == NULL || strcmp(topic, topics[i].topic) == 0)
            strbuf_addf(&call->text, "%s%s", call->text.len > 0 ? "\n\n" : "", topics[i].text);
    call_finish(call);
}

static const char *const topic_names[] = {"workflow", "errors", "limits", "sessions", "systems", NULL};

const struct tool tool_get_usage_guide = {
    .name = "get-usage-guide",
    .title = "Usage guide",
    .description = "How to work with this server: workflow, errors, limits, sessions, systems.",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = true,
    .is_idempotent = true,
    .arguments = {{.name = "topic", .type = ARGUMENT_STRING, .choices = topic_names, .description = "One topic; default: all."}},
    .run = run,
};
