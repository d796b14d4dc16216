/*
 * Responsible for finding tools by name. arguments.c checks their arguments, listing.c lists them.
 */
#include "calls/registry.h"

#include <string.h>

#include "base/check.h"
#include "base/similar.h"
#include "calls/table.h"

size_t registry_count(void)
{
    size_t count = 0;
    while (count < tool_table_count && tool_table[count].family != NULL)
        count++;
    return count;
}

const struct tool *registry_at(size_t n)
{
    CHECK(n < tool_table_count);
    return tool_table[n].tool;
}

bool registry_is_spelling(const char *given, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++) {
        if (name[i] == '\0' || similar_fold(given[i]) != similar_fold(name[i]))
            return false;
    }
    return name[len] == '\0';
}

/* The former name that ${name} spells. */
static const struct tool_former *find_former(const char *name)
{
    for (size_t i = 0; i < tool_former_count; i++) {
        if (registry_is_spelling(name, strlen(name), tool_formers[i].name))
            return &tool_formers[i];
    }
    return NULL;
}

static const struct tool *find_spelling(const char *name)
{
    const struct tool_former *former = find_former(name);
    for (size_t i = 0; i < tool_table_count; i++) {
        if (registry_is_spelling(name, strlen(name), tool_table[i].tool->name))
            return tool_table[i].tool;
    }
    return former == NULL ? NULL : former->tool;
}

/* The name without the namespace that some clients prepend. */
static const char *without_namespace(const char *name)
{
    const char *at = name + strlen(name);
    while (at > name && at[-1] != '/' && at[-1] != '.')
        at--;
    return at;
}

const struct tool_former *registry_former(const char *name)
{
    const struct tool_former *former = find_former(name);
    return former != NULL ? former : find_former(without_namespace(name));
}

const struct tool *registry_find(const char *name)
{
    const struct tool *tool = find_spelling(name);
    return tool != NULL ? tool : find_spelling(without_namespace(name));
}

const char *registry_nearest(const char *name)
{
    struct similar search;
    similar_init(&search, without_namespace(name));
    for (size_t i = 0; i < registry_count(); i++)
        similar_offer(&search, registry_at(i)->name);
    return search.best;
}
