/*
 * Responsible for finding tools by name. arguments.c checks their arguments, listing.c lists them.
 */
#include "calls/registry.h"

#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/similar.h"
#include "calls/toolbox.h"

size_t registry_count(const struct tool_table *table)
{
    size_t count = 0;
    while (count < table->count && table->rows[count].family != NULL)
        count++;
    return count;
}

const struct tool *registry_at(const struct tool_table *table, size_t n)
{
    CHECK(n < table->count);
    return table->rows[n].tool;
}

/* The former name that ${name} spells. */
static const struct tool_former *find_former(const struct tool_table *table, const char *name)
{
    for (size_t i = 0; i < table->former_count; i++) {
        if (similar_is_spelling(name, strlen(name), table->formers[i].name))
            return &table->formers[i];
    }
    return NULL;
}

static const struct tool *find_spelling(const struct tool_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (similar_is_spelling(name, strlen(name), table->rows[i].tool->name))
            return table->rows[i].tool;
    }
    const struct tool_former *former = find_former(table, name);
    return former == NULL ? NULL : former->tool;
}

/* The name without the namespace that some clients prepend. "user." is none: with it the names of tools that
 * sessions define began earlier. */
static const char *without_namespace(const char *name)
{
    const char *slash = strrchr(name, '/'), *rest = slash == NULL ? name : slash + 1,
               *point = strrchr(rest, '.');
    return point == NULL || strncasecmp(rest, "user.", 5) == 0 ? rest : point + 1;
}

const struct tool_former *registry_former(const struct tool_table *table, const char *name)
{
    const struct tool_former *former = find_former(table, name);
    return former != NULL ? former : find_former(table, without_namespace(name));
}

const struct tool *registry_find(const struct tool_table *table, const char *name)
{
    const struct tool *tool = find_spelling(table, name);
    return tool != NULL ? tool : find_spelling(table, without_namespace(name));
}

const char *registry_nearest(const struct tool_table *table, const char *name)
{
    struct similar search;
    similar_init(&search, without_namespace(name));
    for (size_t i = 0; i < registry_count(table); i++)
        similar_offer(&search, registry_at(table, i)->name);
    return search.best;
}

bool registry_offers(const struct toolbox *toolbox, const struct tool *tool)
{
    return toolbox == NULL || !toolbox->only_looks || (tool->is_read_only && !tool->evaluates_code);
}
