/*
 * Tools: looking them up, the schema that clients get, and the check of arguments.
 */
#include <stdio.h>

#include "../cases.h"
#include "base/similar.h"
#include "calls/arguments.h"
#include "calls/listing.h"
#include "calls/registry.h"
#include "fake_tools.h"

TEST(tools_are_found_by_any_spelling)
{
    static const char *const spellings[] = {"echo-text",         "Echo_Text",      "ECHO-TEXT",
                                            "lisp/echo-text",    "lisp.echo_text", "a/b/echo-text",
                                            "server.x/Echo-text"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        assert_ptr_equal(registry_find(&tool_table, spellings[i]), &fake_echo);
    assert_null(registry_find(&tool_table, ""));
    assert_null(registry_find(&tool_table, "echo"));
    assert_null(registry_find(&tool_table, "echo-text2"));
    assert_null(registry_find(&tool_table, "echo-text/"));
    assert_null(registry_find(&tool_table, "echo text"));
    assert_null(registry_find(&tool_table, "a/user.echo-text")); /* a session may define it */
    assert_ptr_equal(registry_find(&tool_table, "a.user/echo-text"), &fake_echo);
    assert_int_equal(registry_count(&tool_table), 3);
    assert_ptr_equal(registry_at(&tool_table, 1), &fake_wait);
}

TEST(the_nearest_tool_is_named)
{
    assert_string_equal(registry_nearest(&tool_table, "ehco-text"), "echo-text");
    assert_string_equal(registry_nearest(&tool_table, "Echo_Tex"), "echo-text");
    assert_string_equal(registry_nearest(&tool_table, "ns/load-sistem"), "load-system");
    assert_string_equal(registry_nearest(&tool_table, "load"), "load-system");
    assert_string_equal(registry_nearest(&tool_table, "wiat"), "wait");
    assert_null(registry_nearest(&tool_table, "frobnicate"));
    assert_null(registry_nearest(&tool_table, ""));
    assert_null(registry_nearest(&tool_table, "x"));
}

TEST(the_first_of_equally_near_names_is_taken)
{
    struct similar search;
    similar_init(&search, "AA_B");
    similar_offer(&search, "zzzz");
    assert_null(search.best);
    similar_offer(&search, "aa-c");
    similar_offer(&search, "aa-d");
    assert_string_equal(search.best, "aa-c");
    similar_offer(&search, "aa-b");
    assert_string_equal(search.best, "aa-b");
}

/* ${json} becomes ${expected}, or is refused with a sentence that contains it. */
static void expect(const struct tool *tool, const char *json, const char *expected, bool is_good)
{
    json_t *given = json_loads(json, JSON_ALLOW_NUL, NULL), *checked;
    struct err err = {.code = ERR_NONE};
    char *dumped;
    assert_non_null(given);
    checked = arguments_check(tool, NULL, given, &err);
    if (is_good) {
        if (!checked)
            fail_msg("%s: %s", json, err.message);
        dumped = json_dumps(checked, JSON_COMPACT | JSON_SORT_KEYS);
        assert_string_equal(dumped, expected);
        free(dumped);
    } else {
        if (checked)
            fail_msg("%s was taken", json);
        assert_int_equal(err.code, ERR_INVALID);
        if (!strstr(err.message, expected))
            fail_msg("%s: %s", json, err.message);
    }
    json_decref(checked);
    json_decref(given);
}

static void good(const char *json, const char *expected)
{
    expect(&fake_echo, json, expected, true);
}

static void bad(const char *json, const char *expected)
{
    expect(&fake_echo, json, expected, false);
}

TEST(arguments_get_their_canonical_names)
{
    good("{\"code\":\"x\"}", "{\"code\":\"x\"}");
    good("{\"Code\":\"x\",\"MAX_OUTPUT\":5}", "{\"code\":\"x\",\"max-output\":5}");
    good("{\"form\":\"x\"}", "{\"code\":\"x\"}");
    good("{\"expression\":\"x\"}", "{\"code\":\"x\"}");
    good("{\"input\":\"x\"}", "{\"code\":\"x\"}");
    expect(&fake_load, "{\"system_name\":\"alexandria\"}", "{\"system\":\"alexandria\"}", true);
    expect(&fake_load, "{\"form\":\"x\"}", "Unknown argument form", false);
    bad("{\"code\":\"x\",\"form\":\"y\"}", "Argument code is given twice, once as form");
    bad("{\"max-output\":1,\"max_output\":1,\"code\":\"\"}", "given twice");
}

TEST(arguments_that_are_null_count_as_absent)
{
    struct err err;
    good("{\"code\":\"x\",\"timeout\":null,\"nonsense\":null,\"form\":null}", "{\"code\":\"x\"}");
    good("{\"code\":\"x\",\"timeout\":\"null\",\"max-output\":\"\",\"systems\":\"\"}", "{\"code\":\"x\"}");
    good("{\"code\":\"null\"}", "{\"code\":\"null\"}");
    bad("{\"code\":null}", "Missing argument code of echo-text: a string. What to give back.");
    json_t *checked = arguments_check(&fake_wait, NULL, NULL, &err);
    assert_non_null(checked);
    json_decref(checked);
    assert_null(arguments_check(&fake_echo, NULL, NULL, &err));
}

TEST(numbers_may_be_strings)
{
    good("{\"code\":\"\",\"max-output\":\"30\"}", "{\"code\":\"\",\"max-output\":30}");
    good("{\"code\":\"\",\"max-output\":3e1}", "{\"code\":\"\",\"max-output\":30}");
    good("{\"code\":\"\",\"timeout\":\"0.5\"}", "{\"code\":\"\",\"timeout\":0.5}");
    good("{\"code\":\"\",\"timeout\":600}", "{\"code\":\"\",\"timeout\":600}");
    good("{\"code\":\"\",\"level\":\"-9007199254740992\"}", "{\"code\":\"\",\"level\":-9007199254740992}");
    good("{\"code\":\"\",\"level\":9223372036854775807}", "{\"code\":\"\",\"level\":9223372036854775807}");
    bad("{\"code\":\"\",\"max-output\":\" \"}",
        "Argument max-output must be an integer between 1 and 1000, got \" \"");
    bad("{\"code\":\"\",\"max-output\":\"5x\"}", "got \"5x\"");
    bad("{\"code\":\"\",\"max-output\":\"1-1\"}", "got \"1-1\"");
    bad("{\"code\":\"\",\"max-output\":\" 5\"}", "got \" 5\"");
    bad("{\"code\":\"\",\"max-output\":\"5\\u0000\"}", "max-output");
    bad("{\"code\":\"\",\"timeout\":\"nan\"}",
        "Argument timeout must be a number between 0.1 and 600, got \"nan\"");
    bad("{\"code\":\"\",\"timeout\":\"inf\"}", "timeout");
    bad("{\"code\":\"\",\"timeout\":\"1e999\"}", "timeout");
    bad("{\"code\":\"\",\"timeout\":\"0x10\"}", "timeout");
    expect(&fake_load, "{\"system\":\"x\",\"ratio\":\"1e999\"}",
           "Argument ratio must be a number, got \"1e999\"", false);
    expect(&fake_load, "{\"system\":\"x\",\"ratio\":\"-2.5e-1\"}", "{\"ratio\":-0.25,\"system\":\"x\"}",
           true);
    bad("{\"code\":\"\",\"level\":\"1e300\"}", "level must be an integer, got \"1e300\"");
}

TEST(arguments_of_the_wrong_type_are_refused)
{
    bad("{\"code\":5}", "Argument code must be a string, got 5");
    expect(&fake_load, "{\"system\":-1}", "{\"system\":\"-1\"}", true);
    expect(&fake_load, "{\"system\":9223372036854775807}", "{\"system\":\"9223372036854775807\"}", true);
    expect(&fake_load, "{\"system\":1.5}", "Argument system must be a string, got 1.5", false);
    expect(&fake_load, "{\"system\":true}", "Argument system must be a string, got true", false);
    bad("{\"code\":\"\",\"type\":1}", "one of all, functions, variables, got 1");
    bad("{\"code\":[\"x\"]}", "Argument code must be a string, got [\"x\"]");
    bad("{\"code\":{}}", "got {}");
    bad("{\"code\":\"\",\"max-output\":0}", "between 1 and 1000, got 0");
    bad("{\"code\":\"\",\"max-output\":1001}", "got 1001");
    bad("{\"code\":\"\",\"max-output\":1.5}", "an integer between 1 and 1000, got 1.5");
    bad("{\"code\":\"\",\"max-output\":true}", "got true");
    bad("{\"code\":\"\",\"timeout\":0.05}", "got 0.05");
    bad("{\"code\":\"\",\"capture-time\":\"yes\"}",
        "Argument capture-time must be true or false, got \"yes\"");
    bad("{\"code\":\"\",\"capture-time\":1}", "true or false, got 1");
    bad("{\"code\":\"\",\"type\":\"macros\"}",
        "Argument type must be one of all, functions, variables, got \"macros\"");
    good("{\"code\":\"\",\"systems\":\"a\"}", "{\"code\":\"\",\"systems\":[\"a\"]}");
    bad("{\"code\":\"\",\"systems\":{}}", "an array of strings, got {}");
    good("{\"capture-time\":\"true\",\"code\":\"\"}", "{\"capture-time\":true,\"code\":\"\"}");
    bad("{\"code\":\"\",\"systems\":[\"a\",2]}", "an array of strings, got [\"a\",2]");
    good("{\"code\":\"\",\"capture-time\":false,\"type\":\"Functions\",\"systems\":[\"a\",\"b\"]}",
         "{\"capture-time\":false,\"code\":\"\",\"systems\":[\"a\",\"b\"],\"type\":\"functions\"}");
}

TEST(unknown_arguments_are_refused_with_the_nearest_name)
{
    bad("{\"cdoe\":\"x\"}",
        "Unknown argument cdoe. Did you mean code? echo-text takes code, max-output, timeout");
    bad("{\"code\":\"x\",\"zzzzzzz\":1}", "Unknown argument zzzzzzz. echo-text takes");
    expect(&fake_wait, "{\"x\":1}", "wait takes no arguments", false);
}

TEST(a_former_name_stands_for_a_tool_and_an_argument)
{
    struct err err;
    const struct tool_former *former = registry_former(&tool_table, "ns/Say");
    assert_ptr_equal(registry_find(&tool_table, "ns/Say"), &fake_echo);
    assert_null(registry_former(&tool_table, "echo-text"));
    json_t *given = json_pack("{s:s}", "code", "x"),
           *checked = arguments_check(&fake_echo, former, given, &err);
    assert_string_equal(json_string_value(json_object_get(checked, "type")), "variables");
    json_decref(checked);
    json_object_set_new(given, "type", json_string("all"));
    checked = arguments_check(&fake_echo, former, given, &err);
    assert_string_equal(json_string_value(json_object_get(checked, "type")), "all");
    json_decref(checked);
    json_decref(given);
}

TEST(arguments_that_exclude_or_need_each_other)
{
    static const struct tool tool = {
        .name = "load",
        .arguments = {{.name = "system", .is_required = true, .excludes = "path", .description = "One."},
                      {.name = "path", .description = "Another."},
                      {.name = "package", .needs = "path", .description = "Its package."}},
    };
    expect(&tool, "{\"system\":\"a\"}", "{\"system\":\"a\"}", true);
    expect(&tool, "{\"path\":\"a\",\"package\":\"b\"}", "{\"package\":\"b\",\"path\":\"a\"}", true);
    expect(&tool, "{}", "Pass either system or path.", false);
    expect(&tool, "{\"system\":\"a\",\"path\":\"b\"}", "Pass either system or path.", false);
    expect(&tool, "{\"system\":\"a\",\"package\":\"b\"}",
           "Argument package goes with path, which is missing.", false);
    /* Clients send an empty text for what is absent. */
    expect(&tool, "{\"system\":\"a\",\"path\":\"\",\"package\":\"\"}", "{\"system\":\"a\"}", true);
    expect(&tool, "{\"system\":\"\",\"path\":\"a\"}", "{\"path\":\"a\"}", true);
    expect(&tool, "{\"path\":\"\"}", "{\"path\":\"\"}", true);
    json_t *listed = listing_of_tool(&tool);
    assert_null(json_object_get(json_object_get(listed, "inputSchema"), "required"));
    json_decref(listed);
}

TEST(code_is_passed_whole_with_its_nuls_and_names_have_none)
{
    json_t *given = json_loads("{\"code\":\"a\\u0000b\",\"systems\":[\"c\"]}", JSON_ALLOW_NUL, NULL),
           *checked;
    struct err err;
    checked = arguments_check(&fake_echo, NULL, given, &err);
    assert_non_null(checked);
    assert_int_equal(json_string_length(json_object_get(checked, "code")), 3);
    assert_memory_equal(json_string_value(json_object_get(checked, "code")), "a\0b", 3);
    json_decref(checked);
    json_array_append_new(json_object_get(given, "systems"), json_stringn("c\0d", 3));
    assert_null(arguments_check(&fake_echo, NULL, given, &err));
    assert_non_null(strstr(err.message, "must not contain a NUL"));
    json_decref(given);
}

static char *listing(const char *spec)
{
    struct err err;
    json_t *tools = listing_of(&tool_table, spec, &err);
    if (!tools)
        fail_msg("%s: %s", spec, err.message);
    char *dumped = json_dumps(tools, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(tools);
    return dumped;
}

TEST(the_listing_holds_schemas_that_strict_clients_accept)
{
    char *dumped = listing("echo-text");
    assert_string_equal(
        dumped,
        "[{\"name\":\"echo-text\",\"title\":\"Echo\",\"description\":\"Give back the "
        "code.\",\"inputSchema\":{\"type\":"
        "\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"description\":\"What to give back.\"},"
        "\"max-output\":{\"type\":\"integer\",\"description\":\"Bytes.\"},"
        "\"timeout\":{\"type\":\"number\",\"description\":\"Seconds.\"},"
        "\"level\":{\"type\":\"integer\",\"description\":\"Any integer.\"},"
        "\"capture-time\":{\"type\":\"boolean\",\"description\":\"Measure.\"},"
        "\"type\":{\"type\":\"string\",\"enum\":[\"all\",\"functions\",\"variables\"],\"description\":\"What "
        "kind.\"},"
        "\"systems\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Names.\"}},"
        "\"required\":[\"code\"]},\"annotations\":{\"readOnlyHint\":true}}]");
    free(dumped);
    dumped = listing("wait");
    assert_string_equal(
        dumped,
        "[{\"name\":\"wait\",\"title\":\"Wait\",\"description\":\"Answer when told to.\",\"inputSchema\":"
        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false},\"annotations\":"
        "{\"destructiveHint\":true}}"
        "]");
    free(dumped);
}

static void expect_listed(const char *spec, const char *names)
{
    struct err err;
    json_t *tools = listing_of(&tool_table, spec, &err), *tool;
    char found[100] = "";
    size_t i;
    assert_non_null(tools);
    json_array_foreach(tools, i, tool) {
        strcat(found, json_string_value(json_object_get(tool, "name")));
        strcat(found, " ");
    }
    assert_string_equal(found, names);
    json_decref(tools);
}

TEST(the_listing_has_every_tool_or_those_that_are_named)
{
    struct err err;
    expect_listed(NULL, "echo-text wait load-system ");
    expect_listed("core", "echo-text wait load-system ");
    expect_listed("wait,full", "echo-text wait load-system ");
    expect_listed("load_system, Echo-Text", "echo-text load-system ");
    expect_listed("wait,wait", "wait ");
    assert_null(listing_of(&tool_table, "load-sytem", &err));
    assert_string_equal(err.message, "unknown tool \"load-sytem\"; did you mean load-system?");
    assert_null(listing_of(&tool_table, "", &err));
    assert_null(listing_of(&tool_table, "wait,,core", &err));
    assert_int_equal(err.code, ERR_INVALID);
}
