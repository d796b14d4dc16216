/*
 * The texts of the prompts against the real tools: each name in backquotes is one of a tool or of an
 * argument, and each variable is an argument of the prompt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../assert_between.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "tools/registry.h"

static bool is_tool_or_argument(const char *name, size_t len)
{
    const struct tool_argument *a;
    size_t i;

    for (i = 0; i < registry_count(); i++) {
        if (strlen(registry_at(i)->name) == len && memcmp(registry_at(i)->name, name, len) == 0)
            return true;
        for (a = registry_at(i)->arguments; a->name; a++) {
            if (strlen(a->name) == len && memcmp(a->name, name, len) == 0)
                return true;
        }
    }
    return false;
}

static void each_name_in_backquotes_is_one_of_a_tool_or_an_argument(void **state)
{
    const char *at, *end;
    size_t i;

    (void)state;
    for (i = 0; i < prompts_count(); i++) {
        for (at = strchr(prompts_at(i)->text, '`'); at; at = strchr(end + 1, '`')) {
            end = strchr(at + 1, '`');
            assert_non_null(end);
            if (!is_tool_or_argument(at + 1, (size_t)(end - at - 1)))
                fail_msg("%s: there is no %.*s", prompts_at(i)->name, (int)(end - at + 1), at);
        }
    }
}

static void each_variable_is_an_argument_and_each_argument_is_used(void **state)
{
    const struct prompt_argument *a;
    const char *at, *end;
    char variable[64];
    size_t i;

    (void)state;
    for (i = 0; i < prompts_count(); i++) {
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

static void texts_are_short(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < prompts_count(); i++)
        assert_between(strlen(prompts_at(i)->text), 100, 2000);
}

/* A resource without a tool behind it, or with variables the tool does not take, could not be read. */
static void each_resource_has_a_tool_that_takes_its_variables(void **state)
{
    const struct tool *tool;
    const struct tool_argument *a;
    const char *at, *end;
    size_t i;

    (void)state;
    for (i = 0; i < resources_count(); i++) {
        tool = registry_find(resources_at(i)->tool);
        assert_non_null(tool);
        assert_true(tool->is_read_only);
        for (at = strchr(resources_at(i)->uri, '{'); at; at = strchr(end, '{')) {
            end = strchr(at, '}');
            for (a = tool->arguments; a->name; a++) {
                if (strlen(a->name) == (size_t)(end - at - 1) &&
                    memcmp(a->name, at + 1, strlen(a->name)) == 0)
                    break;
            }
            assert_non_null(a->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_in_backquotes_is_one_of_a_tool_or_an_argument),
        cmocka_unit_test(each_variable_is_an_argument_and_each_argument_is_used),
        cmocka_unit_test(texts_are_short),
        cmocka_unit_test(each_resource_has_a_tool_that_takes_its_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
