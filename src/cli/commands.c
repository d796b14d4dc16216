/*
 * The table of subcommands. To add one: a row here, a declaration in commands.h and a file in this folder.
 */
#include "cli/commands.h"

#include <stddef.h>
#include <string.h>

static const struct command table[] = {
    {"install", "[--dry-run] [--scope user|project] [--name NAME] CLIENT... [-- OPTION...]",
     "Add the server to the configuration of MCP clients", install},
    {"uninstall", "[--dry-run] [--scope user|project] [--name NAME] CLIENT...",
     "Remove the server from the configuration of MCP clients", uninstall},
    {"doctor", "[--json] [-- OPTION...]",
     "Check everything that the server needs, and report how to fix problems", doctor},
    {"completions", "bash|zsh|fish", "Print the completions of the command line for a shell", completions},
    {"check-parens", "[--fix] FILE...",
     "Check the parentheses of Lisp files; --fix makes the repairs that are certain", check_parens},
    {"view", "[--no-open] [--read-only] [--listen ADDRESS:PORT] [--linger SECONDS]",
     "Open a page in the browser that shows what the agents of this user do", view},
    {"hook", "", "Answer a client's hook, read on standard input: refuse edits that break Lisp files", hook},
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

const struct command *commands_at(size_t n)
{
    return n < TABLE_COUNT ? &table[n] : NULL;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < TABLE_COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static int print_usage(const struct command *command, FILE *out)
{
    return fprintf(out, "usage: cl-mcp-server %s%s%s\n", command->name,
                   command->arguments[0] != '\0' ? " " : "", command->arguments);
}

int command_usage(const char *name)
{
    print_usage(command_find(name), stderr);
    return 2;
}

const char *command_option(char **argv, int *i, const char *option)
{
    size_t len = strlen(option);
    if (strncmp(argv[*i], option, len) != 0)
        return NULL;
    if (argv[*i][len] == '=')
        return argv[*i] + len + 1;
    return argv[*i][len] == '\0' && argv[*i + 1] != NULL ? argv[++*i] : NULL;
}

int command_help(const struct command *command, FILE *out)
{
    print_usage(command, out);
    fprintf(out, "%s.\n", command->description);
    return 0;
}

void commands_help(FILE *out)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        fprintf(out, "  %-24s %s\n", table[i].name, table[i].description);
}
