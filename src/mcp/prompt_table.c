/*
 * The prompts and their texts: one row each.
 */
#include "mcp/prompts.h"

#include <string.h>

#define SESSION_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "session", .description = "Session to use; default: \"default\".",                           \
        .names = PROMPT_NAMES_SESSIONS,                                                                      \
    }
#define SESSION_LINE "Use the session {session}: pass its name as `session` to every tool.\n"

static const struct prompt table[] = {
    {
        .name = "debug-last-error",
        .title = "Debug the last error",
        .description = "Find the cause of the last error in place, fix it, and continue the computation.",
        .arguments = {SESSION_ARGUMENT},
        .text =
            "Find the cause of the last error in the Lisp session and fix it.\n" SESSION_LINE
            "1. Read the error with `describe-last-error`, then `get-backtrace` with `locals` true.\n"
            "2. The error can still be entered where it happened. Look around there with "
            "`evaluate-in-frame`: pass `frame` and `code`.\n"
            "3. Read the relevant definitions with `find-definition`. If the cause lies before the error, "
            "evaluate (step FORM): `invoke-restart` STEP-INTO stops at each call in the called function, "
            "STEP-NEXT runs the call. State in one sentence what is "
            "wrong before you change anything.\n"
            "4. Redefine the function with `evaluate-lisp`, then continue the computation with "
            "`invoke-restart`: `restart` RETRY evaluates the form again. `restart-frame` calls only the "
            "function "
            "of one frame again; `return-from-frame` has it return a value. If an evaluation has succeeded "
            "since the error, pass `index` from `list-errors`.\n"
            "5. Evaluate the failing case again with `evaluate-lisp`, and one more case like it.\n"
            "Report the cause, the change, and how you know that it works.",
    },
    {
        .name = "explore-system",
        .title = "Explore a system",
        .description = "Load an ASDF system and find out what it offers and how it is organized.",
        .arguments =
            {
                {
                    .name = "system",
                    .description = "Name of the ASDF system.",
                    .is_required = true,
                    .names = PROMPT_NAMES_SYSTEMS,
                },
                {.name = "question", .description = "Question to answer."},
                SESSION_ARGUMENT,
            },
        .text = "Explore the Common Lisp system {system}.\n" SESSION_LINE "Answer this question: {question}\n"
                "1. Read its description and dependencies with `describe-system`, then load it with "
                "`load-system`.\n"
                "2. Find its packages and their exported symbols with `apropos-search`: pass `package` and "
                "set `external-only`.\n"
                "3. Read the central names with `describe-symbol` and `find-definition`. `class-info` and "
                "`find-methods` show how its classes are organized, `who-calls` how its parts depend on each "
                "other.\n"
                "4. Try the main entry points with small inputs in `evaluate-lisp`. Report what you "
                "observed, not what the names suggest.\n"
                "Summarize what the system is for, its main functions and classes, each with an example that "
                "you ran, and where they are in the source.",
    },
    {
        .name = "write-and-test",
        .title = "Write and test",
        .description =
            "Write code in small steps in the running Lisp, test each one, then save it to a file.",
        .arguments =
            {
                {.name = "task", .description = "What the code should do.", .is_required = true},
                {.name = "package", .description = "Package to write it in.", .names = PROMPT_NAMES_PACKAGES},
                {.name = "file", .description = "File for the finished code."},
                SESSION_ARGUMENT,
            },
        .text =
            "Write Common Lisp code for this task: {task}\n" SESSION_LINE
            "Write it in the package {package}: pass that as `package` to the tools that evaluate.\n"
            "1. First write down three or four examples with their results, including an edge case and an "
            "error.\n"
            "2. Define one function at a time with `evaluate-lisp` and test it at once. Read the warnings: "
            "an undefined function or an unused variable is usually a mistake. `compile-form` shows compiler "
            "messages without defining anything, `validate-syntax` finds a missing parenthesis.\n"
            "3. When an error occurs, examine it with `get-backtrace` and `evaluate-in-frame`, fix the "
            "function, and continue with `invoke-restart`.\n"
            "4. Before you change code that works, save the state with `checkpoint-session`. "
            "`rollback-session` restores it.\n"
            "5. Evaluate every example again at the end. If the system has tests, run them with "
            "`run-tests`.\n"
            "Then write the code to {file}, call `reset-session`, and load the file with `load-file`: this "
            "shows that the file is complete.\n"
            "Show the code and the results of the examples.",
    },
    {
        .name = "profile-hotspot",
        .title = "Find the slow part",
        .description = "Measure code, find where its time goes, change that and measure again.",
        .arguments =
            {
                {.name = "code", .description = "Slow form.", .is_required = true},
                {.name = "package",
                 .description = "Package to read the form in.",
                 .names = PROMPT_NAMES_PACKAGES},
                SESSION_ARGUMENT,
            },
        .text =
            "Find out where this Common Lisp form spends its time, and make it faster: {code}\n" SESSION_LINE
            "Read it in the package {package}: pass that as `package`.\n"
            "1. Measure it with `time-execution` and several `runs`. Note time and bytes consed, and keep "
            "its value for comparison.\n"
            "2. Find the function that takes the time with `profile-code`.\n"
            "3. Read that function with `find-definition`, and the notes of the compiler with "
            "`compile-form`. Generic arithmetic and unknown types are the usual causes; a better algorithm "
            "gains the most.\n"
            "4. Change one thing at a time with `evaluate-lisp` and measure again with the same `runs`. Keep "
            "a change only if the code is faster and the value is the same; otherwise undo it with "
            "`rollback-session`.\n"
            "Report time and memory before and after, and what made the difference.",
    },
};

size_t prompts_count(void)
{
    return sizeof table / sizeof *table;
}

const struct prompt *prompts_at(size_t n)
{
    return &table[n];
}

const struct prompt *prompts_find(const char *name)
{
    for (size_t i = 0; i < prompts_count(); i++) {
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    return NULL;
}
