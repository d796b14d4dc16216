/*
 * Prompts: templates that a person can pick in the client. The rows and their texts are in
 * prompt_table.c.
 */
#ifndef MCP_PROMPTS_H
#define MCP_PROMPTS_H

#include <stdbool.h>
#include <stddef.h>

/* What the values of an argument name, for completion; those of a resource may name symbols. */
enum names { NAMES_NONE, NAMES_SESSIONS, NAMES_SYMBOLS, NAMES_PACKAGES, NAMES_SYSTEMS };

struct prompt_argument {
    const char *name; /* NULL ends the list */
    const char *description;
    bool is_required;
    enum names names;
};

#define PROMPT_MAX_ARGUMENTS 4

/*
 * In the text, {name} stands for the argument of that name. A line that uses an absent argument is
 * omitted. Words in backquotes are names of tools and of their arguments.
 */
struct prompt {
    const char *name, *title, *description;
    struct prompt_argument arguments[PROMPT_MAX_ARGUMENTS + 1];
    const char *text;
};

/* prompts_count(), prompts_at(n): the table. prompts_find(name): the row; NULL if there is none. */
size_t prompts_count(void);
const struct prompt *prompts_at(size_t n);
const struct prompt *prompts_find(const char *name);

#endif
