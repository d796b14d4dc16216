/*
 * The subcommands: `cl-mcp-server COMMAND ...` does one thing and ends, without a loop, sessions or a client.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdio.h>

struct command {
    const char *name;
    const char *arguments;   /* as in the usage line */
    const char *description; /* one line of --help */

    /*
     * run(argc, argv):
     * Do it. ${argv} begins with the command's name and ends with NULL; standard output, standard error and
     * standard input are the command's own.
     *
     * Returns     the exit status; 2 when the command line was wrong
     */
    int (*run)(int argc, char **argv);
};

/* commands_at(n): the row in the order of --help; NULL behind the last. */
const struct command *commands_at(size_t n);

/* command_find(name): the row of that name; NULL if there is none. ${name} may be NULL. */
const struct command *command_find(const char *name);

/* command_usage(command): print on standard error how it is called. Returns 2, the exit status for that. */
int command_usage(const char *name);

/* command_help(command, out): how it is called and what it does. Returns 0. */
int command_help(const struct command *command, FILE *out);

/* commands_help(out): a line for each command. */
void commands_help(FILE *out);

/* One function each, in the file of the same name. */
int check_parens(int argc, char **argv);
int completions(int argc, char **argv);
int doctor(int argc, char **argv);
int hook(int argc, char **argv);
int install(int argc, char **argv);
int uninstall(int argc, char **argv);

#endif
