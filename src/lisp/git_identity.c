/*
 * Responsible for taking single settings out of configurations of git.
 */
#include "lisp/git_identity.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/regular_file.h"
#include "base/user_directory.h"

#define MOST_BYTES 1000000

static const struct {
    const char *section, *name;
} kept[] = {{"user", "name"}, {"user", "email"}, {"init", "defaultBranch"}};

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

/* Add what is kept of one line. ${section}: the rest of the text from the name of its section on. */
static void add_setting(struct strbuf *out, const char *section, const char *setting, size_t len)
{
    size_t section_len = strcspn(section, "]\n"), name_len = strcspn(setting, " \t=\n");
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        /* A value that continues on the next line is left out. */
        if (is_word(section, section_len, kept[i].section) && is_word(setting, name_len, kept[i].name) &&
            setting[len - 1] != '\\')
            strbuf_addf(out, "[%s]\n\t%.*s\n", kept[i].section, (int)len, setting);
}

/* Source: git-config(1), "Syntax" */
static void add_settings(struct strbuf *out, const char *path)
{
    struct regular_file file;
    struct err ignored; /* git would not find this file either, or not read it */
    bool is_read = regular_file_read(&file, path, MOST_BYTES, &ignored);
    const char *section = "", *at = is_read ? strbuf_string(&file.text) : "";
    while (*at != '\0') {
        at += strspn(at, " \t\n");
        size_t len = strcspn(at, "\n");
        const char *end = at + len, *setting = at;
        if (*at == '[') {
            section = at + 1;
            setting += strcspn(at, "]\n");
            setting += strspn(setting, "] \t");
        }
        if (setting < end)
            add_setting(out, section, setting, (size_t)(end - setting));
        at = end;
    }
    regular_file_fini(&file);
}

bool git_identity_write(const char *path, struct err *err)
{
    struct strbuf text = {0};
    char place[4096];
    const char *given = getenv("GIT_CONFIG_GLOBAL");
    if (given != NULL)
        add_settings(&text, given);
    /* In this order: the last setting of a name holds. */
    if (given == NULL && user_directory("XDG_CONFIG_HOME", ".config", "git/config", place, sizeof place))
        add_settings(&text, place);
    if (given == NULL && user_directory("HOME", "", ".gitconfig", place, sizeof place))
        add_settings(&text, place);
    bool ok = regular_file_write(path, text.bytes, text.len, err);
    strbuf_fini(&text);
    return ok;
}
