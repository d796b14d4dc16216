/*
 * The prompts: a row each, with its text. To add one: a row.
 */
#include "mcp/prompts.h"

#include <string.h>

#define SESSION_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "session", .description = "Session to work in; default: \"default\".",                       \
        .names = PROMPT_NAMES_SESSIONS,                                                                      \
    }
#define SESSION_LINE "Work in the session {session}: give its name as `session` to every tool.\n"

static const struct prompt table[] = {
    {
        .name = "debug-last-error",
        .title = "Debug the last error",
        .description =
            "Find the cause of the last error where it stands, mend it, and let the computation go on.",
        .arguments = {SESSION_ARGUMENT},
        .text = "Find out why the last error in the Lisp session happened, and mend it.\n" SESSION_LINE
                "1. Read it with `describe-last-error`, then `get-backtrace` with `locals` true.\n"
                "2. The error still stands where it happened. Look around there with "
                "`evaluate-in-frame`: give `frame` and `code`; it has no effect on the session.\n"
                "3. Read the definitions that matter with `find-definition`. Say in a sentence what is "
                "wrong before you change anything.\n"
                "4. Define the mended function with `evaluate-lisp`, then let the computation go on "
                "with `invoke-restart`: `restart` RETRY evaluates the form again. Give `index`, as "
                "`list-errors` shows it, if something has succeeded since the error.\n"
                "5. Try the case that failed once more, and one beside it, with `evaluate-lisp`.\n"
                "Tell the cause, the change, and how you know that it works.",
    },
    {
        .name = "explore-system",
        .title = "Explore a system",
        .description = "Load an ASDF system and find out what it offers and how it is built.",
        .arguments =
            {
                {
                    .name = "system",
                    .description = "Name of the ASDF system.",
                    .is_required = true,
                    .names = PROMPT_NAMES_SYSTEMS,
                },
                {.name = "question", .description = "What is to be found out."},
                SESSION_ARGUMENT,
            },
        .text = "Explore the Common Lisp system {system}.\n" SESSION_LINE "The question is: {question}\n"
                "1. `describe-system` says what it is and what it needs; load it with `load-system`.\n"
                "2. Find its packages and what they export with `apropos-search`: give `package` and "
                "set `external-only`.\n"
                "3. Read the central names with `describe-symbol` and `find-definition`; `class-info` "
                "and `find-methods` show how its classes are laid out, `who-calls` how things hang "
                "together.\n"
                "4. Try the main entry points with small inputs in `evaluate-lisp`. Report what you "
                "have seen, not what the names suggest.\n"
                "Sum up: what it is for, its main functions and classes with an example of each that "
                "you ran, and where in the source they are.",
    },
    {
        .name = "write-and-test",
        .title = "Write and test",
        .description = "Write code in small steps in the running Lisp, each one tried, and then into a file.",
        .arguments =
            {
                {.name = "task", .description = "What the code is to do.", .is_required = true},
                {.name = "package", .description = "Package to write it in.", .names = PROMPT_NAMES_PACKAGES},
                {.name = "file", .description = "File the finished code goes to."},
                SESSION_ARGUMENT,
            },
        .text =
            "Write Common Lisp code for this task: {task}\n" SESSION_LINE
            "Write it in the package {package}: give that as `package` to the tools that evaluate.\n"
            "1. Write down three or four examples with their results first, an edge case and an error among "
            "them.\n"
            "2. Define one function at a time with `evaluate-lisp` and try it at once. Read the warnings: an "
            "undefined function or an unused variable is usually a slip. `compile-form` shows what the "
            "compiler "
            "thinks without defining anything, `validate-syntax` finds a missing parenthesis.\n"
            "3. An error is no end: look at it with `get-backtrace` and `evaluate-in-frame`, mend the "
            "function, and "
            "go on with `invoke-restart`.\n"
            "4. Keep a good state with `checkpoint-session` before you change what works; `rollback-session` "
            "goes "
            "back.\n"
            "5. Evaluate every example again at the end. If the system has tests, run them with "
            "`run-tests`.\n"
            "Then write the code to {file} and load it with `load-file` after `reset-session`, so that "
            "nothing it "
            "needs is only in the session.\n"
            "Show the code and what the examples gave.",
    },
    {
        .name = "profile-hotspot",
        .title = "Find the slow part",
        .description = "Measure code, find where its time goes, change that and measure again.",
        .arguments =
            {
                {.name = "code", .description = "The form that is slow.", .is_required = true},
                {.name = "package", .description = "Package to read it in.", .names = PROMPT_NAMES_PACKAGES},
                SESSION_ARGUMENT,
            },
        .text =
            "Find out where the time of this Common Lisp form goes, and make it faster: {code}\n" SESSION_LINE
            "Read it in the package {package}: give that as `package`.\n"
            "1. Measure it with `time-execution` and several `runs`; note time and bytes consed. Keep its "
            "value to "
            "compare with.\n"
            "2. Find the function in which the time is spent with `profile-code`.\n"
            "3. Read that function with `find-definition`, and what the compiler could not do with "
            "`compile-form`: "
            "notes about generic arithmetic and unknown types are the usual causes, a wrong algorithm the "
            "best one.\n"
            "4. Change one thing at a time with `evaluate-lisp`; measure again with the same `runs`. Keep it "
            "only if it "
            "is faster and the value is the same. `rollback-session` takes a change back.\n"
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
