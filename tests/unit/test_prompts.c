/*
 * The texts of the prompts against the real tools: each name in backquotes is one of a tool or of an
 * argument, and each variable is an argument of the prompt.
 */
#include <stdio.h>
#include <string.h>

#include "../assert_between.h"
#include "../cases.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "tools/table.h"

static bool is_tool_or_argument(const char *name, size_t len)
{
    const struct tool_argument *a;
    for (size_t i = 0; i < registry_count(&tool_table); i++) {
        if (strlen(registry_at(&tool_table, i)->name) == len &&
            memcmp(registry_at(&tool_table, i)->name, name, len) == 0)
            return true;
        for (a = registry_at(&tool_table, i)->arguments; a->name; a++) {
            if (strlen(a->name) == len && memcmp(a->name, name, len) == 0)
                return true;
        }
    }
    return false;
}

TEST(each_name_in_backquotes_is_one_of_a_tool_or_an_argument)
{
    const char *at, *end;
    for (size_t i = 0; i < prompts_count(); i++) {
        for (at = strchr(prompts_at(i)->text, '`'); at; at = strchr(end + 1, '`')) {
            end = strchr(at + 1, '`');
            assert_non_null(end);
            if (!is_tool_or_argument(at + 1, (size_t)(end - at - 1)))
                fail_msg("%s: there is no %.*s", prompts_at(i)->name, (int)(end - at + 1), at);
        }
    }
}

TEST(each_variable_is_an_argument_and_each_argument_is_used)
{
    const struct prompt_argument *a;
    const char *at, *end;
    char variable[64];
    for (size_t i = 0; i < prompts_count(); i++) {
        for (a = prompts_at(i)->arguments; a->name; a++) {
            snprintf(variable, sizeof variable, "{%s}", a->name);
            assert_non_null(strstr(prompts_at(i)->text, variable));
        }
        for (at = strchr(prompts_at(i)->text, '{'); at; at = strchr(end, '{')) {
            end = strchr(at, '}');
            assert_non_null(end);
            for (a = prompts_at(i)->arguments; a->name; a++) {
                if (strlen(a->name) == (size_t)(end - at - 1) &&
                    memcmp(a->name, at + 1, strlen(a->name)) == 0)
                    break;
            }
            assert_non_null(a->name);
        }
    }
}

TEST(texts_are_short)
{
    for (size_t i = 0; i < prompts_count(); i++)
        assert_between(strlen(prompts_at(i)->text), 100, 2000);
}

/* A resource without a tool behind it, or with variables the tool does not take, could not be read. */
TEST(each_resource_has_a_tool_that_takes_its_variables)
{
    const struct tool *tool;
    const struct tool_argument *a;
    const char *at, *end;
    for (size_t i = 0; i < resources_count(); i++) {
        tool = registry_find(&tool_table, resources_at(i)->tool);
        assert_non_null(tool);
        assert_true(tool->is_read_only);
        for (at = strchr(resources_at(i)->uri, '{'); at; at = strchr(end, '{')) {
            end = strchr(at, '}');
            for (at += at[1] == '?'; at < end; at += strcspn(at + 1, ",}") + 1) {
                size_t len = strcspn(at + 1, ",}");
                for (a = tool->arguments; a->name; a++) {
                    if (strlen(a->name) == len && memcmp(a->name, at + 1, len) == 0)
                        break;
                }
                assert_non_null(a->name);
            }
        }
    }
}
