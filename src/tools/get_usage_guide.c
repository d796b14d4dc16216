/*
 * get-usage-guide: how to work with this server, in one page; or one topic of it. The list of tools is the
 * registry's.
 */
#include <string.h>

#include "tools/call.h"
#include "tools/registry.h"

/* A topic without a text is the list of tools. */
static const struct {
    const char *topic, *text;
} topics[] = {
    {"workflow", "WORKFLOW\n"
                 "You have a live Common Lisp. What you define stays until reset-session: build a program in "
                 "small steps and try each one.\n"
                 "1. evaluate-lisp takes one or more forms. Values come behind =>, output under [stdout] and "
                 "[stderr], warnings under [warnings].\n"
                 "2. Redefine by evaluating the new definition; callers use it at once.\n"
                 "3. (in-package ...) holds for later calls, the argument package for one call. * ** *** / + "
                 "and so on work as in a REPL.\n"
                 "4. Look instead of guessing: list-definitions shows what this session has made, "
                 "describe-symbol explains any name, find-definition shows\n"
                 "   its source, apropos-search finds names, who-calls finds callers. What is not found is "
                 "answered with the nearest names.\n"
                 "5. inspect-object looks into a value, part by part; explain-dispatch says which methods "
                 "run for a call.\n"
                 "6. macroexpand-form, compile-form and validate-syntax (a missing parenthesis) look at code "
                 "without running it.\n"
                 "7. When the code is right, write it to a file; load-system and load-file load it, "
                 "run-tests runs its tests."},
    {"tools", NULL},
    {"patterns",
     "PATTERNS\n"
     "Fix and go on: after an error define the function anew with evaluate-lisp, then invoke-restart RETRY "
     "or CONTINUE. Or give the fix as\n"
     "code, or a value for USE-VALUE. What was computed before the error is not computed again.\n"
     "See the variables: get-backtrace with locals: true; evaluate-in-frame evaluates code with the "
     "variables of a frame, without effect.\n"
     "Try something risky: checkpoint-session first, rollback-session when it was wrong (to a name, the "
     "number of an evaluation, or -1 for\n"
     "one back). Every evaluation leaves a checkpoint anyway: list-checkpoints. Files and other processes "
     "are not rolled back.\n"
     "Long runs: the argument timeout of evaluate-lisp, load-system and load-file. cancel-evaluation stops "
     "what runs.\n"
     "Long output is cut in the middle; get-output shows the rest by the number that the reply names, or "
     "only lines that hold a pattern.\n"
     "Load a library or a project: load-system. It finds systems in the current directory, ~/common-lisp,\n"
     "~/.local/share/common-lisp/source and /usr/share/common-lisp.\n"
     "A test fails: run-tests shows the form, what was expected and what came. An unexpected error in a test "
     "can be entered like any other.\n"
     "Something is slow: time-execution measures, profile-code says where the time goes (mode alloc: the "
     "memory), profile-functions and\n"
     "trace-functions watch the functions that they are given.\n"
     "Work on two things: create-session makes another Lisp; its name goes into the argument session of "
     "other tools. Otherwise\n"
     "they use the session \"default\". Sessions run at the same time and do not see each other.\n"
     "Keep the work: session-history with format lisp is a file that loads; save-session writes the whole "
     "session to disk and\n"
     "restore-session brings it back, in this server or another.\n"
     "What you do again and again can be a tool of your own. This makes user.greet, with a schema from its "
     "parameters:\n"
     "  (cl-mcp:define-tool greet ((name string \"Whom\")) \"Greet somebody.\" (format nil \"Hello, ~a.\" "
     "name))\n"
     "(cl-mcp:call-tool \"greet\" :name \"Ann\") calls it from Lisp."},
    {"recovery",
     "RECOVERY\n"
     "An error is a result: [ERROR] with the condition's type and message, [Backtrace] from the point of the "
     "error down to your form,\n"
     "[Restarts], [Slots], often a [Hint]. It stays as it was until the next error, the next success or "
     "reset-session:\n"
     "describe-last-error, get-backtrace. list-errors has the older ones, whose index goes into those tools. "
     "The last five can be entered.\n"
     "[ERROR] TIMEOUT: the call was stopped at its time limit (30 s at first) where it was. invoke-restart "
     "CONTINUE with a longer timeout\n"
     "goes on from there; configure-limits sets the limit of the session.\n"
     "The Lisp died (exit, crash, memory used up, a loop that ignores interrupts): the reply says how, and "
     "under [Session] which state the\n"
     "session went on from. Usually that is the state before the call, and nothing else is lost.\n"
     "Nothing makes sense any more: rollback-session to an earlier state, or reset-session to begin anew."},
};

#define TOPIC_COUNT (sizeof topics / sizeof topics[0])

static void add_tools(struct strbuf *out)
{
    strbuf_adds(out, "TOOLS");
    for (size_t i = 0; i < registry_count(); i++) {
        bool is_first = i == 0 || registry_family(i) != registry_family(i - 1);
        strbuf_addf(out, "%s%s%s", is_first ? "\n" : ", ", is_first ? registry_family(i) : "",
                    is_first ? ": " : "");
        strbuf_adds(out, registry_at(i)->name);
    }
    strbuf_adds(out, "\nAll of them can be called, also those that tools/list does not show: it shows a set "
                     "that the server was started with.");
}

static void run(struct tool_call *call)
{
    const char *topic = call_string(call, "topic", NULL);
    for (size_t i = 0; i < TOPIC_COUNT; i++) {
        if (topic != NULL && strcmp(topic, topics[i].topic) != 0)
            continue;
        strbuf_adds(&call->text, call->text.len > 0 ? "\n\n" : "");
        if (topics[i].text == NULL)
            add_tools(&call->text);
        else
            strbuf_adds(&call->text, topics[i].text);
    }
    call_finish(call);
}

static const char *const topic_names[] = {"workflow", "tools", "patterns", "recovery", NULL};

const struct tool tool_get_usage_guide = {
    .name = "get-usage-guide",
    .title = "Usage guide",
    .description = "How to work with this server, and all its tools by name.",
    .toolset = TOOLSET_STANDARD,
    .is_read_only = true,
    .is_idempotent = true,
    .arguments = {{.name = "topic",
                   .type = ARGUMENT_STRING,
                   .choices = topic_names,
                   .description = "One topic; default: all."}},
    .run = run,
};
