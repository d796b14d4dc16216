/*
 * The table of subcommands. A new one is a row here, a declaration in commands.h and a file beside this one.
 */
#include "cli/commands.h"

#include <stddef.h>
#include <string.h>

static const struct command table[] = {
    {"check-parens", "[--fix] FILE...",
     "Check the parentheses of Lisp files; --fix makes the repairs that are certain", check_parens},
    {"hook", "", "Answer a client's hook, read on standard input: refuse edits that break Lisp files", hook},
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

const struct command *command_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < TABLE_COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

int command_usage(const char *name)
{
    const struct command *command = command_find(name);
    fprintf(stderr, "usage: cl-mcp-server %s %s\n", command->name, command->arguments);
    return 2;
}

void commands_help(FILE *out)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", table[i].name, table[i].arguments);
        fprintf(out, "  %-28s %s\n", left, table[i].description);
    }
}
