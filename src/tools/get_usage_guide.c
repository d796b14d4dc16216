/*
 * get-usage-guide: a page on how to work with this server, or one topic of it. The list of tools comes from
 * the registry.
 */
#include <string.h>

#include "tools/call.h"
#include "tools/registry.h"

/* A topic without a text is the list of tools. */
static const struct {
    const char *topic, *text;
} topics[] = {
    {"workflow",
     "WORKFLOW\n"
     "You have a live Common Lisp. Definitions stay until reset-session: build a program in small steps and "
     "test each one.\n"
     "1. evaluate-lisp takes one or more forms. Values follow =>, output is under [stdout] and [stderr], "
     "warnings under [warnings].\n"
     "2. To redefine something, evaluate the new definition. Callers use it at once.\n"
     "3. (in-package ...) applies to later calls, the argument package to one call. * ** *** / + and so on "
     "work as in a REPL.\n"
     "4. Look things up instead of guessing: list-definitions lists what this session has defined, "
     "describe-symbol explains any name,\n"
     "   find-definition returns its source, apropos-search finds names, who-calls finds callers. If a name "
     "is not found, the reply\n"
     "   suggests similar ones.\n"
     "5. inspect-object shows a value part by part. explain-dispatch shows which methods a call runs.\n"
     "6. macroexpand-form, compile-form and validate-syntax (for a missing parenthesis) examine code without "
     "running it.\n"
     "7. When the code works, write it to a file. load-system and load-file load it, run-tests runs its "
     "tests."},
    {"tools", NULL},
    {"patterns",
     "PATTERNS\n"
     "Fix and continue: after an error, redefine the function with evaluate-lisp, then call invoke-restart "
     "with RETRY or CONTINUE. Or pass\n"
     "the fix as code, or a value for USE-VALUE. The computation continues at the restart; what it did "
     "before is not repeated.\n"
     "See the variables: get-backtrace with locals: true. evaluate-in-frame evaluates code with the "
     "variables of a frame, and can set them.\n"
     "Continue from a frame: return-from-frame makes a function of the backtrace return the values you give, "
     "restart-frame calls it again, as it is defined now.\n"
     "Step: (step (f 1)) stops at the call of f, and invoke-restart STEP-INTO at each call in f, like an "
     "error: get-backtrace shows the variables.\n"
     "STEP-NEXT runs the call, STEP-OUT the rest of the function, STEP-CONTINUE everything.\n"
     "Try something risky: call checkpoint-session first, and rollback-session if it goes wrong (to a name, "
     "to the number of an evaluation,\n"
     "or -1 for one back). Every evaluation leaves a checkpoint too: see list-checkpoints. Files and other "
     "processes are not rolled back.\n"
     "Run something long: set the argument timeout of evaluate-lisp, load-system, run-tests and so on (0: no "
     "limit), and wait: the call\n"
     "returns after that many seconds and the evaluation continues. evaluation-status shows its new output "
     "and its result,\n"
     "list-evaluations shows what is running and waiting, cancel-evaluation stops it.\n"
     "Read long output: replies omit its middle. get-output returns the rest, by the number given in the "
     "reply, or only the lines that\n"
     "contain a text.\n"
     "Threads: list-errors has their errors. configure-limits thread-errors: 5 lets failed ones wait.\n"
     "Load a library or a project: load-system finds systems in the current directory, ~/common-lisp,\n"
     "~/.local/share/common-lisp/source and /usr/share/common-lisp.\n"
     "A test fails: run-tests shows the form, the expected value and the actual one. An unexpected error in "
     "a test can be entered too.\n"
     "Something is slow: time-execution measures it, profile-code shows where the time goes (mode alloc: the "
     "memory), profile-functions and\n"
     "trace-functions watch the functions that you name.\n"
     "Stop at a call: trace-functions with break, and condition or where-in, stops the program there as at "
     "an error: examine frame 0, then\n"
     "invoke-restart CONTINUE.\n"
     "Work on two things: create-session starts another Lisp. Pass its name as the argument session of other "
     "tools; without it they use the\n"
     "session \"default\". Sessions do not see each other.\n"
     "Save your work: session-history with format lisp returns a file that loads. save-session saves the "
     "whole session to disk, and\n"
     "restore-session restores it, in this server or another.\n"
     "Make your own tool: this defines user-greet and its schema.\n"
     "  (cl-mcp:define-tool greet ((name string \"Whom\")) \"Greet somebody.\" (format nil \"Hello, ~a.\" "
     "name))\n"
     "(cl-mcp:call-tool \"greet\" :name \"Ann\") calls it from Lisp."},
    {"recovery",
     "RECOVERY\n"
     "An error is a result: [ERROR] with the condition's type and message, [Backtrace] from the point of the "
     "error down to your form,\n"
     "[Restarts], [Slots], often a [Hint]. The server keeps it until the next error, the next success or "
     "reset-session: see\n"
     "describe-last-error and get-backtrace. list-errors lists the older ones; pass their index to those "
     "tools. The last five can be entered.\n"
     "[ERROR] TIMEOUT: the call reached its time limit (30 s by default) and was stopped. invoke-restart "
     "CONTINUE with a longer timeout\n"
     "continues it; configure-limits changes the limit of the session.\n"
     "The Lisp died (exit, crash, memory exhausted, a loop that ignores interrupts): the reply reports how, "
     "and [Session] names the state that the\n"
     "session continues from. Usually that is the state before the call: nothing else is lost.\n"
     "Nothing makes sense any more: rollback-session restores an earlier state, reset-session starts over."},
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
    strbuf_adds(out, "\nAny can be called. If the client lists few, set the server's option tools to full.");
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
    .title = "Show the usage guide",
    .description = "Explain how to work with this server and list all its tools.",
    .search_hint = "help",
    .toolset = TOOLSET_STANDARD,
    .returns_long_text = true,
    .is_read_only = true,
    .arguments = {{.name = "topic",
                   .type = ARGUMENT_STRING,
                   .choices = topic_names,
                   .description = "Topic; default: all."}},
    .run = run,
};
