/*
 * The subcommands: `cl-mcp-server COMMAND ...` does one thing and exits, without a loop, sessions or a
 * client.
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
     * Run the command. ${argv} begins with its name and ends with NULL; the command may use standard
     * input, output and error.
     *
     * Returns     the exit status; 2 if the command line was wrong
     */
    int (*run)(int argc, char **argv);
};

/* commands_at(n): the row in the order of --help; NULL after the last. */
const struct command *commands_at(size_t n);

/* command_find(name): the row of that name; NULL if there is none. ${name} may be NULL. */
const struct command *command_find(const char *name);

/* command_usage(name): print the usage of the command on standard error. Returns 2, the exit status for that.
 */
int command_usage(const char *name);

/*
 * command_option(argv, &i, option):
 * Read an option with its value, "--scope user" or "--scope=user", at ${argv}[${i}]; ${i} is moved to the
 * value.
 *
 * Returns     the value, borrowed from ${argv}; NULL: it is another option, or has no value
 */
const char *command_option(char **argv, int *i, const char *option);

/* command_help(command, out): print its usage and description. Returns 0. */
int command_help(const struct command *command, FILE *out);

/* commands_help(out): a line for each command. */
void commands_help(FILE *out);

/* check_parens(argc, argv), completions(argc, argv), doctor(argc, argv), hook(argc, argv), install(argc,
 * argv), uninstall(argc, argv), view(argc, argv): the run of each row, in the file of the same name;
 * uninstall is in install.c, view in the folder view. */
int check_parens(int argc, char **argv);
int completions(int argc, char **argv);
int doctor(int argc, char **argv);
int hook(int argc, char **argv);
int install(int argc, char **argv);
int uninstall(int argc, char **argv);
int view(int argc, char **argv);

#endif
