/*
 * completions: a script for a shell. The scripts are in completions/; each gets the words of the command line
 * as a table, from those of options, subcommands and clients.
 */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/clients.h"
#include "cli/commands.h"
#include "options/options.h"

#define TABLE_MARK "@TABLE@"

extern const char completions_bash[], completions_fish[], completions_zsh[];

static const struct {
    const char *name, *script;
    const char *quote; /* within single quotes */
} shells[] = {
    {"bash", completions_bash, "'\\''"},
    {"zsh", completions_zsh, "'\\''"},
    {"fish", completions_fish, "\\'"},
};

/* The kind of an option, by the word that --help has for its argument. */
static const char *option_kind(const char *argument)
{
    if (argument == NULL)
        return "flag";
    if (strchr(argument, '|') != NULL)
        return "choice";
    if (strcmp(argument, "DIR") == 0)
        return "directory";
    return strcmp(argument, "FILE") == 0 || strcmp(argument, "PATH") == 0 || strcmp(argument, "PROGRAM") == 0
               ? "file"
               : "value";
}

/* Alternatives, separated by blanks. */
static void add_alternatives(struct strbuf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        strbuf_addc(out, text[i] == '|' ? ' ' : text[i]);
}

/* Every word that can follow a subcommand: the options and the alternatives in its usage line. */
static void add_following(struct strbuf *out, const struct command *command)
{
    size_t len;
    for (const char *word = command->arguments; *word != '\0'; word += len) {
        word += strspn(word, " []");
        len = strcspn(word, " []");
        if ((len > 2 && strncmp(word, "--", 2) == 0) || memchr(word, '|', len) != NULL) {
            add_alternatives(out, word, len);
            strbuf_addc(out, ' ');
        }
    }
    if (strstr(command->arguments, "CLIENT") == NULL)
        return;
    for (size_t n = 0; clients_at(n) != NULL; n++)
        strbuf_addf(out, "%s ", clients_at(n)->name);
    strbuf_adds(out, "all");
}

static void add_table(struct strbuf *out)
{
    for (size_t n = 0; commands_at(n) != NULL; n++) {
        const struct command *command = commands_at(n);
        bool takes_files = strstr(command->arguments, "FILE") != NULL;
        strbuf_addf(out, "%s\t%s\tonce\t%s\t", command->name, takes_files ? "command-files" : "command",
                    command->description);
        add_following(out, command);
        strbuf_addc(out, '\n');
    }
    for (size_t n = 0; n < options_count(); n++) {
        struct option_definition option = options_at(n);
        const char *argument = option.argument == NULL ? "" : option.argument;
        strbuf_addf(out, "%s--%s\t%s\t%s\t%s\t", n == 0 ? "" : "\n", option.name,
                    option_kind(option.argument), option.is_repeatable ? "often" : "once", option.help);
        add_alternatives(out, argument, strlen(argument));
    }
}

int completions(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, argv[1]) != 0)
            continue;
        struct strbuf table = {0};
        const char *mark = strstr(shells[i].script, TABLE_MARK);
        add_table(&table);
        fwrite(shells[i].script, 1, (size_t)(mark - shells[i].script), stdout);
        for (const char *c = strbuf_string(&table); *c != '\0'; c++)
            *c == '\'' ? fputs(shells[i].quote, stdout) : putchar(*c);
        puts(mark + strlen(TABLE_MARK));
        strbuf_fini(&table);
        return 0;
    }
    return command_usage(argv[0]);
}
