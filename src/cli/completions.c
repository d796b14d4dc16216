/*
 * completions: a script for a shell, generated from the tables of options, subcommands and clients.
 */
#include <stdio.h>
#include <string.h>

#include "cli/clients.h"
#include "cli/commands.h"
#include "options/options.h"

/* The kind of an argument, by the word that --help has for it. */
enum completed { COMPLETED_NOTHING, COMPLETED_FILE, COMPLETED_DIRECTORY, COMPLETED_CHOICE };

static enum completed completed_by(const char *argument)
{
    if (strchr(argument, '|') != NULL)
        return COMPLETED_CHOICE;
    if (strcmp(argument, "DIR") == 0)
        return COMPLETED_DIRECTORY;
    if (strcmp(argument, "FILE") == 0 || strcmp(argument, "PATH") == 0 || strcmp(argument, "PROGRAM") == 0)
        return COMPLETED_FILE;
    return COMPLETED_NOTHING;
}

/* A text in single quotes; those inside are escaped for the shell. */
static void print_quoted(const char *text, const char *quote)
{
    putchar('\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs(quote, stdout);
        else
            putchar(*text);
    putchar('\'');
}

/* The choices of an argument, separated by blanks. */
static void print_choices(const char *choices)
{
    for (; *choices != '\0'; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* The next word of a usage line: an option, or one of several alternatives. False at the end. */
static bool next_word(const char **usage, const char **word, size_t *len)
{
    while (**usage != '\0') {
        *usage += strspn(*usage, " []");
        *word = *usage;
        *len = strcspn(*usage, " []");
        *usage += *len;
        bool is_option = *len > 2 && strncmp(*word, "--", 2) == 0;
        if (is_option || memchr(*word, '|', *len) != NULL)
            return true;
    }
    return false;
}

/* Every word that can follow a subcommand. */
static void print_words(const struct command *command)
{
    const char *usage = command->arguments, *word;
    size_t len;
    while (next_word(&usage, &word, &len))
        for (size_t i = 0; i <= len; i++)
            putchar(i == len || word[i] == '|' ? ' ' : word[i]);
    for (size_t n = 0; strstr(command->arguments, "CLIENT") != NULL && clients_at(n) != NULL; n++)
        printf("%s ", clients_at(n)->name);
    if (strstr(command->arguments, "CLIENT") != NULL)
        fputs("all", stdout);
}

static void print_commands(void)
{
    for (size_t n = 0; commands_at(n) != NULL; n++)
        printf("%s%s", n == 0 ? "" : " ", commands_at(n)->name);
}

static bool takes_files(const struct command *command)
{
    return strstr(command->arguments, "FILE") != NULL;
}

static void print_bash(void)
{
    puts("# bash completion for cl-mcp-server\n"
         "_cl_mcp_server()\n"
         "{\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    COMPREPLY=()\n"
         "    case ${COMP_WORDS[1]} in");
    for (size_t n = 0; commands_at(n) != NULL; n++) {
        printf("    %s)\n        if [ \"$COMP_CWORD\" -gt 1 ]; then\n            COMPREPLY=($(compgen ",
               commands_at(n)->name);
        printf("%s-W '", takes_files(commands_at(n)) ? "-f " : "");
        print_words(commands_at(n));
        puts("' -- \"$current\"))\n            return\n        fi\n        ;;");
    }
    puts("    esac\n    case $previous in");
    for (size_t i = 0; i < options_count(); i++) {
        struct option_definition option = options_at(i);
        if (option.argument == NULL)
            continue;
        printf("    --%s) ", option.name);
        switch (completed_by(option.argument)) {
        case COMPLETED_FILE:
            fputs("COMPREPLY=($(compgen -f -- \"$current\")); ", stdout);
            break;
        case COMPLETED_DIRECTORY:
            fputs("COMPREPLY=($(compgen -d -- \"$current\")); ", stdout);
            break;
        case COMPLETED_CHOICE:
            fputs("COMPREPLY=($(compgen -W '", stdout);
            print_choices(option.argument);
            fputs("' -- \"$current\")); ", stdout);
            break;
        case COMPLETED_NOTHING:
            break;
        }
        puts("return ;;");
    }
    fputs("    esac\n    local words='", stdout);
    for (size_t i = 0; i < options_count(); i++)
        printf("%s--%s", i == 0 ? "" : " ", options_at(i).name);
    fputs("'\n    [ \"$COMP_CWORD\" -gt 1 ] || words=\"$words ", stdout);
    print_commands();
    puts("\"\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o filenames -F _cl_mcp_server cl-mcp-server");
}

/* In _arguments, a bracketed text must not contain brackets, and a colon begins the next part. */
static void print_zsh_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("[]:\\", *text) != NULL)
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void print_zsh_options(void)
{
    for (size_t i = 0; i < options_count(); i++) {
        struct option_definition option = options_at(i);
        printf("    '%s--%s[", option.is_repeatable ? "*" : "", option.name);
        print_zsh_text(option.help);
        putchar(']');
        if (option.argument != NULL) {
            enum completed by = completed_by(option.argument);
            fputs(by == COMPLETED_CHOICE ? ":choice" : ":", stdout);
            if (by != COMPLETED_CHOICE)
                print_zsh_text(option.argument);
            putchar(':');
            if (by == COMPLETED_FILE || by == COMPLETED_DIRECTORY)
                fputs(by == COMPLETED_FILE ? "_files" : "_files -/", stdout);
            if (by == COMPLETED_CHOICE) {
                putchar('(');
                print_choices(option.argument);
                putchar(')');
            }
        }
        puts("' \\");
    }
}

static void print_zsh(void)
{
    puts("#compdef cl-mcp-server\n"
         "local -a commands\n"
         "commands=(");
    for (size_t n = 0; commands_at(n) != NULL; n++) {
        printf("    '%s:", commands_at(n)->name);
        print_zsh_text(commands_at(n)->description);
        puts("'");
    }
    puts(")\n"
         "case ${words[2]} in");
    for (size_t n = 0; commands_at(n) != NULL; n++) {
        printf("%s)\n    (( CURRENT > 2 )) && { compadd -- ", commands_at(n)->name);
        print_words(commands_at(n));
        printf("%s; return }\n    ;;\n", takes_files(commands_at(n)) ? "; _files" : "");
    }
    puts("esac\n"
         "(( CURRENT == 2 )) && [[ ${words[2]} != -* ]] && _describe command commands\n"
         "_arguments \\");
    print_zsh_options();
    puts("    && return");
}

static void print_fish(void)
{
    puts("# fish completion for cl-mcp-server\n"
         "complete -c cl-mcp-server -f");
    for (size_t n = 0; commands_at(n) != NULL; n++) {
        const struct command *command = commands_at(n);
        printf("complete -c cl-mcp-server -n __fish_use_subcommand -a %s -d ", command->name);
        print_quoted(command->description, "\\'");
        printf("\ncomplete -c cl-mcp-server -n '__fish_seen_subcommand_from %s' %s-a '", command->name,
               takes_files(command) ? "-F " : "");
        print_words(command);
        puts("'");
    }
    for (size_t i = 0; i < options_count(); i++) {
        struct option_definition option = options_at(i);
        printf("complete -c cl-mcp-server -n 'not __fish_seen_subcommand_from ");
        print_commands();
        printf("' -l %s ", option.name);
        enum completed by = option.argument == NULL ? COMPLETED_NOTHING : completed_by(option.argument);
        if (by == COMPLETED_FILE)
            fputs("-r -F ", stdout);
        else if (by == COMPLETED_DIRECTORY)
            fputs("-x -a '(__fish_complete_directories)' ", stdout);
        else if (option.argument != NULL)
            fputs("-x ", stdout);
        if (by == COMPLETED_CHOICE) {
            fputs("-a '", stdout);
            print_choices(option.argument);
            fputs("' ", stdout);
        }
        fputs("-d ", stdout);
        print_quoted(option.help, "\\'");
        putchar('\n');
    }
}

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

int completions(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, argv[1]) == 0) {
            shells[i].print();
            return 0;
        }
    return command_usage(argv[0]);
}
