/*
 * The prompts: one row each, with a text from texts/.
 */
#include "mcp/prompts.h"

#include <string.h>

#define SESSION_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "session", .description = "Session to use; default: \"default\".", .names = NAMES_SESSIONS,  \
    }

extern const char text_debug_last_error[], text_explore_system[], text_write_and_test[],
    text_profile_hotspot[]; /* texts/ */

static const struct prompt table[] = {
    {
        .name = "debug-last-error",
        .title = "Debug the last error",
        .description = "Find the cause of the last error in place, fix it, and continue the computation.",
        .arguments = {SESSION_ARGUMENT},
        .text = text_debug_last_error,
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
                    .names = NAMES_SYSTEMS,
                },
                {.name = "question", .description = "Question to answer."},
                SESSION_ARGUMENT,
            },
        .text = text_explore_system,
    },
    {
        .name = "write-and-test",
        .title = "Write and test",
        .description =
            "Write code in small steps in the running Lisp, test each one, then save it to a file.",
        .arguments =
            {
                {.name = "task", .description = "What the code should do.", .is_required = true},
                {.name = "package", .description = "Package to write it in.", .names = NAMES_PACKAGES},
                {.name = "file", .description = "File for the finished code."},
                SESSION_ARGUMENT,
            },
        .text = text_write_and_test,
    },
    {
        .name = "profile-hotspot",
        .title = "Find the slow part",
        .description = "Measure code, find where its time goes, change that and measure again.",
        .arguments =
            {
                {.name = "code", .description = "Slow form.", .is_required = true},
                {.name = "package", .description = "Package to read the form in.", .names = NAMES_PACKAGES},
                SESSION_ARGUMENT,
            },
        .text = text_profile_hotspot,
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
