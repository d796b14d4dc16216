/*
 * One client's conversation: both eras, requests under way, batches, and that no bytes at all bring it down.
 */
#include <time.h>

#include "../assert_between.h"
#include "client.h"
#include "mcp/json_text.h"

#define SERVER_META                                                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"cl-mcp-server\",\"title\":\"Common "      \
    "Lisp\",\"version\":\"" CL_MCP_VERSION "\"}}"

/* ${json} is answered by exactly one message, ${answer}. */
static void ask(struct test_client *client, const char *json, const char *answer)
{
    say(client, json);
    if (client->count != 1 || client->sent.len != strlen(answer) + 1 ||
        memcmp(client->sent.bytes, answer, strlen(answer)) != 0)
        fail_msg("%s\nanswered: %swanted:   %s", json, sent(client), answer);
}

/* ${json} is answered by exactly one error with that id and code, whose message contains ${part}. */
static void ask_wrong(struct test_client *client, const char *json, const char *id, int code,
                      const char *part)
{
    char start_of_answer[300];
    say(client, json);
    snprintf(start_of_answer, sizeof start_of_answer,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id, code);
    if (client->count != 1 || strncmp(sent(client), start_of_answer, strlen(start_of_answer)) != 0 ||
        !strstr(sent(client), part))
        fail_msg("%s\nanswered: %swanted:   %s ... %s", json, sent(client), start_of_answer, part);
}

static void ask_nothing(struct test_client *client, const char *json)
{
    say(client, json);
    if (client->count != 0)
        fail_msg("%s\nanswered: %s", json, sent(client));
}

#define FAILURE(id, text) RESULT(id, "{\"content\":[{\"type\":\"text\",\"text\":" text "}],\"isError\":true}")

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct test_client));
    client_connect(*state, (struct connection_options){0});
    return 0;
}

static int set_up_structured(void **state)
{
    *state = calloc(1, sizeof(struct test_client));
    client_connect(*state, (struct connection_options){.wants_structured = true});
    return 0;
}

static int tear_down(void **state)
{
    client_disconnect(*state);
    free(*state);
    return 0;
}

/* ${messages} end with NULL. */
static void say_batch(struct test_client *client, const char *const messages[])
{
    struct strbuf json = {0};
    for (size_t i = 0; messages[i] != NULL; i++)
        strbuf_addf(&json, "%c%s", i == 0 ? '[' : ',', messages[i]);
    strbuf_addc(&json, ']');
    say(client, strbuf_string(&json));
    strbuf_fini(&json);
}

/* What is under way is cancelled. */
static void hang_up(struct test_client *client)
{
    connection_free(client->connection);
    client->connection = NULL;
    assert_int_equal(fake_call_count, 0);
}

#define CASE(test) TEST_WITH(struct test_client, client, test, set_up, tear_down)
#define STRUCTURED_CASE(test) TEST_WITH(struct test_client, client, test, set_up_structured, tear_down)

CASE(initialize_answers_with_name_and_version)
{
    say(client,
        "{\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}},\"jsonrpc\":\"2.0\",\"id\":0}");
    json_t *answer = json_loads(sent(client), 0, NULL);
    const char *name, *version, *revision, *instructions;
    int id;
    json_t *result, *tools;
    assert_int_equal(json_unpack(answer, "{s:i, s:o}", "id", &id, "result", &result), 0);
    assert_int_equal(json_unpack(result, "{s:s, s:{s:o}, s:{s:s, s:s}, s:s}", "protocolVersion", &revision,
                                 "capabilities", "tools", &tools, "serverInfo", "name", &name, "version",
                                 &version, "instructions", &instructions),
                     0);
    assert_int_equal(id, 0);
    assert_int_equal(json_object_size(result), 4);
    assert_string_equal(revision, "2025-06-18");
    assert_true(json_is_object(tools));
    assert_string_equal(name, "cl-mcp-server");
    assert_string_equal(version, CL_MCP_VERSION);
    /* Clients that list no tools show these only, some of them no more than the first 512 bytes. */
    static const char *const named[] = {"evaluate-lisp",  "get-backtrace",   "evaluate-in-frame",
                                        "invoke-restart", "restart-frame",   "load-system",
                                        "run-tests",      "rollback-session"};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        assert_between(strstr(instructions, named[i]) - instructions, 0, 512);
    json_decref(answer);
}

CASE(initialize_negotiates)
{
    static const char *const asked[] = {"2026-07-28", "2024-10-07", "x"};
    char json[200];
    for (size_t i = 0; i < 3; i++) {
        snprintf(json, sizeof json, REQUEST("\"i\"", "initialize", "{\"protocolVersion\":\"%s\"}"), asked[i]);
        say(client, json);
        assert_sent_part(client, "\"protocolVersion\":\"2025-11-25\"");
    }
    shake_hands(client, "2024-11-05");
}

CASE(initialize_refuses_params_of_the_wrong_shape)
{
    ask_wrong(client, BARE("1", "initialize"), "1", -32602, "protocolVersion");
    ask_wrong(client, REQUEST("1", "initialize", "{\"protocolVersion\":1}"), "1", -32602, "protocolVersion");
    ask_wrong(client, REQUEST("1", "initialize", "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":[]}"),
              "1", -32602, "capabilities");
    ask_wrong(client, BARE("2", "tools/list"), "2", -32602, "initialize");
}

CASE(before_initialize_only_ping_is_served)
{
    ask(client, BARE("1", "ping"), DONE("1"));
    ask_wrong(client, BARE("1", "tools/list"), "1", -32602, "_meta");
    ask_wrong(client, CALL("\"c\"", "echo-text", "{}"), "\"c\"", -32602, "initialize");
    ask_wrong(client, BARE("1", "server/discover"), "1", -32602, "_meta");
    ask_wrong(client, BARE("1", "nope"), "1", -32601, "Method not found: nope");
    ask_nothing(client, BARE_NOTICE("tools/list"));
    assert_int_equal(client->handshake_count, 0);
}

CASE(requests_are_served_before_initialized_arrives)
{
    say(client, REQUEST("0", "initialize", "{\"protocolVersion\":\"2025-11-25\"}"));
    ask(client, CALL("1", "echo-text", "{\"code\":\"hi\"}"), TEXT_RESULT("1", "\"hi\""));
    assert_int_equal(client->handshake_count, 1);
    ask_nothing(client, BARE_NOTICE("notifications/initialized"));
    assert_int_equal(client->handshake_count, 1);
}

CASE(tools_list_is_one_page)
{
    shake_hands(client, "2025-06-18");
    assert_int_equal(client->handshake_count, 1);
    say(client, BARE("1", "tools/list"));
    json_t *answer = json_loads(sent(client), 0, NULL), *result = json_object_get(answer, "result");
    assert_int_equal(json_object_size(result), 1);
    const json_t *tools = json_object_get(result, "tools");
    assert_int_equal(json_array_size(tools), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(tools, 0), "name")), "echo-text");
    json_decref(answer);
    ask_wrong(client, REQUEST("1", "tools/list", "{\"cursor\":\"\"}"), "1", -32602, "cursor");
    ask_wrong(client, REQUEST("1", "tools/list", "{\"cursor\":7}"), "1", -32602, "cursor");
}

CASE(tools_call_returns_the_text_of_the_tool)
{
    shake_hands(client, "2025-06-18");
    ask(client, CALL("5", "Echo_Text", "{\"form\":\"a \\\"q\\\"\\n\\u0000\\u00e9\"}"),
        TEXT_RESULT("5", "\"a \\\"q\\\"\\n\\u0000\xc3\xa9\""));
    ask(client, CALL("6", "load-system", "{\"system\":\"x\"}"), TEXT_RESULT("6", "\"x\""));
    say(client, CALL("7", "wait", "{}"));
    assert_int_equal(client->count, 0);
    assert_false(requests_are_idle(client->connection));
    fake_finish(0, "boom", true);
    assert_string_equal(sent(client), FAILURE("7", "\"boom\"") "\n");
    say(client, REQUEST("8", "tools/call", "{\"name\":\"wait\"}"));
    fake_finish(0, "", false);
    assert_string_equal(sent(client), TEXT_RESULT("8", "\"\"") "\n");
    say(client, CALL("9", "wait", "null"));
    fake_finish(0, "", false);
    assert_int_equal(client->count, 1);
}

CASE(tools_call_repairs_invalid_utf8)
{
    shake_hands(client, "2025-06-18");
    say(client, CALL("1", "wait", "{}"));
    fake_finish(0, "a\xff", false);
    assert_string_equal(sent(client), TEXT_RESULT("1", "\"a\xef\xbf\xbd\"") "\n");
}

CASE(an_unknown_tool_is_a_protocol_error_in_every_revision)
{
    static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
    for (size_t i = 0; i < 4; i++) {
        shake_hands(client, revisions[i]);
        ask_wrong(client, CALL("1", "ehco-text", "{}"), "1", -32602,
                  "Unknown tool: ehco-text. Did you mean echo-text?");
        ask_wrong(client, CALL("1", "frobnicate", "{}"), "1", -32602, "\"Unknown tool: frobnicate\"");
        ask_wrong(client, CALL("1", "wait\\u0000", "{}"), "1", -32602, "Unknown tool");
        ask_wrong(client, BARE("1", "tools/call"), "1", -32602, "name");
        ask_wrong(client, REQUEST("1", "tools/call", "{\"name\":5}"), "1", -32602, "name");
        ask_wrong(client, CALL("1", "wait", "[]"), "1", -32602, "arguments must be an object");
    }
}

CASE(wrong_arguments_are_errors_first_and_results_later)
{
    static const char *const early[] = {"2024-11-05", "2025-03-26", "2025-06-18"};
    for (size_t i = 0; i < 3; i++) {
        shake_hands(client, early[i]);
        ask_wrong(client, CALL("1", "echo-text", "{\"code\":5}"), "1", -32602,
                  "Invalid params: Argument code must be a string, got 5");
    }
    shake_hands(client, "2025-11-25");
    ask(client, CALL("1", "echo-text", "{\"code\":5}"),
        FAILURE("1", "\"Argument code must be a string, got 5\""));
    say(client, MODERN_REQUEST("1", "tools/call", "\"name\":\"echo-text\","));
    assert_sent_part(client, "Missing argument code");
    assert_sent_part(client, "\"isError\":true");
}

STRUCTURED_CASE(structured_content_is_sent_where_it_exists)
{
    static const struct {
        const char *revision;
        bool has;
    } rows[] = {{"2024-11-05", false}, {"2025-03-26", false}, {"2025-06-18", true}, {"2025-11-25", true}};
    for (size_t i = 0; i < 4; i++) {
        shake_hands(client, rows[i].revision);
        say(client, CALL("1", "echo-text", "{\"code\":\"abc\"}"));
        assert_true(rows[i].has ==
                    (strstr(sent(client), ",\"structuredContent\":{\"len\":3},\"isError\"") != NULL));
    }
}

STRUCTURED_CASE(structured_content_is_an_object_until_it_may_be_anything)
{
    shake_hands(client, "2025-11-25");
    ask(client, CALL("1", "load-system", "{\"system\":\"x\"}"), TEXT_RESULT("1", "\"x\""));
    say(client,
        MODERN_REQUEST("1", "tools/call", "\"name\":\"load-system\",\"arguments\":{\"system\":\"x\"},"));
    assert_sent_part(client, "\"structuredContent\":[\"len\",1]");
}

CASE(ids_that_begin_alike_are_different)
{
    char json[1000], ones[601];
    memset(ones, '1', sizeof ones);
    shake_hands(client, "2025-11-25");
    for (int len = 300; len <= 600; len++) {
        snprintf(json, sizeof json, CALL("\"%.*s\"", "wait", "{}"), len, ones);
        ask_nothing(client, json);
    }
    for (int len = 1; len < 300; len++) {
        snprintf(json, sizeof json, BARE("\"%.*s\"", "ping"), len, ones);
        say(client, json);
        assert_sent_part(client, "\"result\":{}");
    }
    snprintf(json, sizeof json, BARE("\"%.*s\"", "ping"), 450, ones);
    say(client, json);
    assert_sent_part(client, "in progress");
}

CASE(ids_are_echoed)
{
    static const char *const ids[] = {
        "0",    "-1",    "9007199254740993", "9223372036854775807",  "-9223372036854775808",
        "\"\"", "\"1\"", "\"null\"",         "\"A/\\n\\u0000\\\"\"", "\"\xe2\x82\xac\xf0\x9f\x98\x80\""};
    char json[200], answer[200];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        snprintf(json, sizeof json, "{\"method\":\"ping\",\"id\" : %s ,\"jsonrpc\":\"2.0\"}", ids[i]);
        snprintf(answer, sizeof answer, DONE("%s"), ids[i]);
        ask(client, json, answer);
    }
    ask(client, BARE("\"\\u00e9\\ud83d\\ude00\"", "ping"), DONE("\"\xc3\xa9\xf0\x9f\x98\x80\""));
}

CASE(ids_of_other_types_are_refused)
{
    static const char *const ids[] = {"null", "1.5",   "-0.5", "1.0", "1e2",
                                      "true", "false", "[]",   "[1]", "{}"};
    char json[200];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        snprintf(json, sizeof json, BARE("%s", "ping"), ids[i]);
        ask_wrong(client, json, "null", -32600, "id must be");
    }
    ask_wrong(client, BARE("1e400", "ping"), "null", -32600, "");
    ask_wrong(client, BARE("9223372036854775808", "ping"), "null", -32600, "");
}

CASE(a_duplicate_of_an_id_under_way_is_refused)
{
    shake_hands(client, "2025-11-25");
    say(client, CALL("1", "wait", "{}"));
    ask_wrong(client, BARE("1", "ping"), "1", -32600, "in progress");
    ask(client, BARE("\"1\"", "ping"), DONE("\"1\""));
    fake_finish(0, "", false);
    ask(client, BARE("1", "ping"), DONE("1"));
}

CASE(cancelled_requests_are_not_answered)
{
    static const char *const no_requests[] = {"{\"requestId\":2}", "{\"requestId\":1.0}",
                                              "{\"requestId\":1e99}", "{\"requestId\":null}", "[1]"};
    char json[200];
    shake_hands(client, "2025-11-25");
    say(client, CALL("1", "wait", "{}"));
    say(client, CALL("\"1\"", "wait", "{}"));
    say(client, CALL("1234567890123456789", "wait", "{}"));
    for (size_t i = 0; i < sizeof no_requests / sizeof *no_requests; i++) {
        snprintf(json, sizeof json, NOTICE("notifications/cancelled", "%s"), no_requests[i]);
        ask_nothing(client, json);
    }
    ask_nothing(client, BARE_NOTICE("notifications/cancelled"));
    ask_nothing(client, NOTICE("cancelled", "{\"requestId\":1}"));
    assert_int_equal(fake_cancel_count, 0);
    ask_nothing(client, NOTICE("notifications/cancelled", "{\"reason\":\"r\",\"requestId\":\"1\"}"));
    assert_int_equal(fake_cancel_count, 1);
    ask_nothing(client, NOTICE("notifications/cancelled", "{\"requestId\":1234567890123456789}"));
    assert_int_equal(fake_cancel_count, 2);
    assert_int_equal(fake_call_count, 1);
    fake_finish(0, "still here", false);
    assert_string_equal(sent(client), TEXT_RESULT("1", "\"still here\"") "\n");
}

CASE(idle_is_reported_when_the_last_request_ends)
{
    shake_hands(client, "2025-11-25");
    say(client, CALL("1", "wait", "{}"));
    say(client, CALL("2", "wait", "{}"));
    client->idle_count = 0;
    say(client, BARE("3", "ping"));
    fake_finish(0, "", false);
    assert_int_equal(client->idle_count, 0);
    fake_finish(0, "", false);
    assert_int_equal(client->idle_count, 1);
    say(client, CALL("1", "wait", "{}"));
    say(client, NOTICE("notifications/cancelled", "{\"requestId\":1}"));
    assert_int_equal(client->idle_count, 2);
    say(client, CALL("1", "wait", "{}"));
    hang_up(client);
    assert_int_equal(client->idle_count, 2);
    assert_int_equal(fake_cancel_count, 2);
}

CASE(a_connection_may_be_freed_when_idle_is_reported)
{
    client->frees_when_idle = true;
    say(client, BARE("3", "ping"));
    assert_null(client->connection);
}

CASE(a_connection_may_be_freed_when_the_last_call_ends)
{
    shake_hands(client, "2025-11-25");
    say(client, CALL("1", "wait", "{}"));
    client->frees_when_idle = true;
    fake_finish(0, "", false);
    assert_null(client->connection);
}

#define WAIT_WITH_TOKEN(id, token)                                                                           \
    REQUEST(id, "tools/call", "{\"name\":\"wait\",\"_meta\":{\"progressToken\":" token "}}")
#define PROGRESS(token, value, message)                                                                      \
    NOTICE("notifications/progress", "{\"progressToken\":" token ",\"progress\":" value message "}") "\n"
#define TOKEN "1234567890123456789"

static void report_progress(double progress, const char *message)
{
    fake_calls[0]->options.on_progress(fake_calls[0]->options.arg, progress, message);
}

CASE(progress_carries_the_token_and_grows)
{
    shake_hands(client, "2025-11-25");
    say(client, WAIT_WITH_TOKEN("1", TOKEN));
    assert_true(fake_wanted_progress);
    report_progress(0, "one");
    report_progress(0, NULL);
    report_progress(2.5, "two \"q\"");
    report_progress(1, NULL);
    report_progress(-1, NULL);
    static const char *const expected[] = {PROGRESS(TOKEN, "0.000", ",\"message\":\"one\""),
                                           PROGRESS(TOKEN, "0.001", ""),
                                           PROGRESS(TOKEN, "2.500", ",\"message\":\"two \\\"q\\\"\""),
                                           PROGRESS(TOKEN, "2.501", ""), PROGRESS(TOKEN, "2.502", "")};
    const char *at = sent(client);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; at += strlen(expected[i]), i++)
        assert_memory_equal(at, expected[i], strlen(expected[i]));
    assert_string_equal(at, "");
    fake_finish(0, "", false);
    shake_hands(client, "2024-11-05");
    say(client, WAIT_WITH_TOKEN("1", "\"\""));
    report_progress(1, "not in this revision");
    assert_string_equal(sent(client), PROGRESS("\"\"", "1.000", ""));
}

CASE(without_a_token_there_is_no_progress)
{
    shake_hands(client, "2025-11-25");
    say(client, CALL("1", "wait", "{}"));
    assert_false(fake_wanted_progress);
    report_progress(1, "x");
    assert_int_equal(client->count, 0);
    say(client, WAIT_WITH_TOKEN("2", "null"));
    assert_false(fake_wanted_progress);
    ask_wrong(client, WAIT_WITH_TOKEN("3", "1.5"), "3", -32602, "progressToken");
    ask_wrong(client, REQUEST("3", "ping", "{\"_meta\":5}"), "3", -32602, "_meta");
}

CASE(a_token_of_any_length_is_not_echoed_again_and_again)
{
    char json[6000], token[5000];
    memset(token, 't', sizeof token);
    shake_hands(client, "2025-11-25");
    for (int len = 4094; len <= 4095; len++) {
        snprintf(json, sizeof json, WAIT_WITH_TOKEN("%d", "\"%.*s\""), len, len, token);
        ask_nothing(client, json);
        assert_true(fake_wanted_progress == (len == 4094));
    }
}

CASE(unknown_methods_name_the_nearest)
{
    shake_hands(client, "2025-11-25");
    ask_wrong(client, BARE("1", "tool/list"), "1", -32601,
              "Method not found: tool/list. Did you mean tools/list?");
    ask_wrong(client, BARE("1", "roots/list"), "1", -32601, "Method not found: roots/list");
    ask_wrong(client, BARE("1", "server/discover"), "1", -32601, "server/discover");
    ask_wrong(client, BARE("1", "ping\\u0000"), "1", -32601, "not found");
    ask_wrong(client, BARE("1", ""), "1", -32601, "not found");
}

CASE(notifications_and_responses_are_never_answered)
{
    static const char *const messages[] = {
        BARE_NOTICE("nope"),
        NOTICE("tools/call", "{\"name\":\"wait\"}"),
        BARE_NOTICE("initialize"),
        "{\"jsonrpc\":\"1.0\",\"method\":\"notifications/initialized\",\"params\":7}",
        BARE_NOTICE("notifications/roots/list_changed"),
        NOTICE("notifications/progress", "{}"),
        DONE("1"),
        MESSAGE("null", "\"error\":{\"code\":1,\"message\":\"\"}"),
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        ask_nothing(client, messages[i]);
    assert_true(requests_are_idle(client->connection));
}

#define REVISIONS "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]"

CASE(modern_requests_need_no_handshake)
{
    say(client, MODERN_REQUEST("\"p\"", "server/discover", ""));
    assert_sent_part(
        client, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{\"resultType\":\"complete\","
                "\"supportedVersions\":" REVISIONS ",\"capabilities\":{\"tools\":{\"listChanged\":true},"
                "\"resources\":{\"subscribe\":true,\"listChanged\":true},\"prompts\":{},\"completions\":{},"
                "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}},\"instructions\":\"A live");
    assert_sent_part(client, ",\"ttlMs\":3600000,\"cacheScope\":\"public\"," SERVER_META "}}\n");
    ask(client, MODERN_REQUEST("1", "tools/call", "\"name\":\"echo-text\",\"arguments\":{\"code\":\"hi\"},"),
        RESULT("1", "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],"
                    "\"isError\":false," SERVER_META "}"));
    say(client, MODERN_REQUEST("2", "tools/list", ""));
    assert_sent_part(client, "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"echo-text\"");
    assert_sent_part(client, "],\"ttlMs\":0,\"cacheScope\":\"private\"," SERVER_META "}}\n");
    ask_wrong(client, BARE("2", "tools/list"), "2", -32602, "initialize");
    shake_hands(client, "2025-06-18");
    say(client, BARE("2", "tools/list"));
    assert_null(strstr(sent(client), "resultType"));
    say(client, MODERN_REQUEST("2", "server/discover", ""));
    assert_sent_part(client, "resultType");
}

CASE(modern_envelopes_are_checked)
{
    static const struct {
        const char *version, *capabilities, *more, *part;
    } rows[] = {
        {"null", "{}", "", ""},
        {NULL, "{}", "", ""},
        {"5", "{}", "", "protocolVersion"},
        {"\"2026-07-28\"", NULL, "", "clientCapabilities"},
        {"\"2026-07-28\"", "[]", "", "clientCapabilities"},
        {"\"2026-07-28\"", "{}", ",\"io.modelcontextprotocol/logLevel\":\"loud\"", "logLevel"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf json = {0};
        strbuf_adds(&json,
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"x\":1");
        if (rows[i].version != NULL)
            strbuf_addf(&json, ",\"io.modelcontextprotocol/protocolVersion\":%s", rows[i].version);
        if (rows[i].capabilities != NULL)
            strbuf_addf(&json, ",\"io.modelcontextprotocol/clientCapabilities\":%s", rows[i].capabilities);
        strbuf_addf(&json, "%s}}}", rows[i].more);
        ask_wrong(client, strbuf_string(&json), "1", -32602, rows[i].part);
        strbuf_fini(&json);
    }
    ask(client, REQUEST("7", "tools/list", "{" META("2027-01-01", "") "}"),
        MESSAGE("7", "\"error\":{\"code\":-32022,\"message\":\"Unsupported protocol version\",\"data\":"
                     "{\"supported\":" REVISIONS ",\"requested\":\"2027-01-01\"}}"));
    ask_wrong(client, REQUEST("7", "tools/list", "{" META("2025-06-18", "") "}"), "7", -32022,
              "\"requested\":\"2025-06-18\"");
}

CASE(legacy_methods_do_not_exist_in_the_modern_era)
{
    static const char *const methods[] = {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                                          "resources/unsubscribe"};
    char json[400];
    for (size_t i = 0; i < 5; i++) {
        snprintf(json, sizeof json, MODERN_REQUEST("1", "%s", ""), methods[i]);
        ask_wrong(client, json, "1", -32601, methods[i]);
    }
}

CASE(batches_belong_to_one_revision)
{
    static const char *const others[] = {"2024-11-05", "2025-06-18", "2025-11-25"};
    static const char batch[] = "[" BARE("1", "ping") "]";
    ask_wrong(client, batch, "null", -32600, "batches");
    for (size_t i = 0; i < 3; i++) {
        shake_hands(client, others[i]);
        ask_wrong(client, batch, "null", -32600, "batches");
    }
    shake_hands(client, "2025-03-26");
    ask(client, batch, "[" DONE("1") "]");
}

CASE(a_batch_is_answered_when_all_of_it_is_done)
{
    shake_hands(client, "2025-03-26");
    say_batch(client,
              (const char *const[]){CALL("1", "wait", "{}"), CALL("2", "echo-text", "{\"code\":\"x\"}"),
                                    CALL("3", "wait", "{}"), CALL("4", "wait", "{}"), NULL});
    assert_int_equal(client->count, 0);
    ask_nothing(client, NOTICE("notifications/cancelled", "{\"requestId\":3}"));
    fake_finish(1, "four", false);
    assert_int_equal(client->count, 0);
    fake_finish(0, "one", false);
    assert_sent_part(client, "[" TEXT_RESULT("2", "\"x\"") ",");
    assert_sent_part(client, "," TEXT_RESULT("4", "\"four\"") ",");
    assert_sent_part(client, "," TEXT_RESULT("1", "\"one\"") "]\n");
    assert_int_equal(client->count, 1);
    ask_nothing(client, "[" CALL("1", "wait", "{}") "]");
    ask_nothing(client, "[" NOTICE("notifications/cancelled", "{\"requestId\":1}") "]");
    assert_true(requests_are_idle(client->connection));
    say(client, "[" CALL("1", "wait", "{}") "," CALL("2", "echo-text", "{\"code\":\"x\"}") "]");
    hang_up(client);
    assert_int_equal(client->count, 0);
}

CASE(wrong_messages_in_a_batch_are_answered_one_by_one)
{
    static const int codes[] = {-32600, -32600, -32600, -32600, -32601, -32600, -32602, -32600};
    shake_hands(client, "2025-03-26");
    say_batch(client, (const char *const[]){
                          "5",
                          "[]",
                          REQUEST("1", "initialize", "{\"protocolVersion\":\"2025-11-25\"}"),
                          MODERN_REQUEST("2", "tools/list", ""),
                          BARE("3", "nope"),
                          BARE_NOTICE("nope"),
                          DONE("4"),
                          "{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"ping\"}",
                          REQUEST("6", "ping", "1"),
                          "{}",
                          NULL,
                      });
    assert_int_equal(client->count, 1);
    json_t *answers = json_loads(sent(client), 0, NULL);
    assert_int_equal(json_array_size(answers), sizeof codes / sizeof *codes);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const json_t *error = json_object_get(json_array_get(answers, i), "error");
        assert_int_equal(json_integer_value(json_object_get(error, "code")), codes[i]);
    }
    json_decref(answers);
    ask_wrong(client, "[]", "null", -32600, "empty");
    ask_wrong(client, "[" REQUEST("5", "ping", "1e999") "]", "null", -32600, "overflow");
    ask_nothing(client, "[" BARE_NOTICE("nope") "," DONE("4") "]");
}

CASE(a_batch_has_at_most_100_messages)
{
    struct strbuf json = {0};
    shake_hands(client, "2025-03-26");
    strbuf_adds(&json, "[" BARE("0", "ping"));
    for (int i = 1; i < 100; i++)
        strbuf_addf(&json, "," BARE("%d", "ping"), i);
    strbuf_addc(&json, ']');
    say_bytes(client, json.bytes, json.len);
    assert_memory_equal(sent(client), "[{", 2);
    assert_sent_part(client, DONE("99") "]");
    json.bytes[json.len - 1] = ',';
    strbuf_adds(&json, BARE("100", "ping") "]");
    ask_wrong(client, strbuf_string(&json), "null", -32600, "100");
    strbuf_fini(&json);
}

CASE(a_batch_whose_answers_are_too_many_is_answered_with_errors)
{
    static const char last[] = "\"}}}," CALL("3", "echo-text", "{\"code\":\"y\"}") "]";
    size_t len = (16u << 20) + 1;
    char *text = malloc(len);
    struct strbuf json;
    shake_hands(client, "2025-03-26");
    memset(text, 'x', len);
    strbuf_init(&json, 0);
    strbuf_adds(&json,
                "[" CALL("1", "wait", "{}") ",{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
                                            "\"params\":{\"name\":\"echo-text\",\"arguments\":{\"code\":\"");
    strbuf_add(&json, text, len);
    strbuf_adds(&json, last);
    say_bytes(client, json.bytes, json.len);
    assert_int_equal(client->count, 0);
    fake_finish(0, "one", false);
    assert_int_equal(client->count, 1);
    json_t *answers = json_loads(sent(client), 0, NULL);
    assert_int_equal(json_array_size(answers), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *answer = json_array_get(answers, i), *error = json_object_get(answer, "error");
        static const int ids[] = {2, 3, 1};
        static const char *const parts[] = {NULL, "not carried out", "was carried out"};
        assert_int_equal(json_integer_value(json_object_get(answer, "id")), ids[i]);
        assert_int_equal(error != NULL, parts[i] != NULL);
        if (parts[i] == NULL)
            continue;
        assert_int_equal(json_integer_value(json_object_get(error, "code")), -32603);
        assert_non_null(strstr(json_string_value(json_object_get(error, "message")), parts[i]));
    }
    json_decref(answers);
    ask(client, "[" CALL("1", "echo-text", "{\"code\":\"x\"}") "]", "[" TEXT_RESULT("1", "\"x\"") "]");
    strbuf_fini(&json);
    free(text);
}

CASE(texts_that_are_not_json_say_where)
{
    ask_wrong(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", "null", -32700,
              "column 39 (byte 39)");
    ask_wrong(client, "garbage", "null", -32700,
              "Parse error: line 1, column 7 (byte 7): invalid token near 'garbage'");
    ask_wrong(client, BARE("1", "\xff"), "null", -32700, "unable to decode byte 0xff");
    static const char *const wrong[] = {"\x80",     "\xc0\xaf",    "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                        "\xe2\x82", "\xf0\x9f\x98"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[100];
        snprintf(json, sizeof json, NOTICE("ping", "{\"x\":\"%s\"}"), wrong[i]);
        ask_wrong(client, json, "null", -32700, "");
    }
    ask_wrong(client, "\xef\xbb\xbf" BARE("1", "ping"), "null", -32700, "");
    say_bytes(client, "{\"id\":1\0}", 9);
    assert_sent_part(client, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700");
    say_bytes(client, "", 0);
    assert_int_equal(client->count, 1);
    ask_wrong(client, "5", "null", -32600, "object");
    ask_wrong(client, "\"x\"", "null", -32600, "object");
    ask_wrong(client, "null", "null", -32600, "object");
}

CASE(json_that_is_more_than_we_take_is_answered_with_its_id)
{
    struct strbuf json;
    ask_wrong(client, NOTICE("ping", "{\"x\":1e999},\"id\":\"a\""), "\"a\"", -32600, "overflow");
    ask_wrong(client, NOTICE("ping", "{\"x\":99999999999999999999},\"id\":2"), "2", -32600, "big");
    ask_wrong(client, NOTICE("ping", "{\"\\u0000\":1},\"id\":3"), "3", -32600, "NUL");
    strbuf_init(&json, 0);
    strbuf_adds(&json, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"x\":");
    for (int i = 0; i < 100000; i++)
        strbuf_addc(&json, '[');
    for (int i = 0; i < 100000; i++)
        strbuf_addc(&json, ']');
    strbuf_adds(&json, "},\"id\":4}");
    ask_wrong(client, json.bytes, "4", -32600, "depth");
    strbuf_clear(&json);
    strbuf_adds(&json, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"x\":[0");
    for (int i = 0; i < 1000000; i++)
        strbuf_adds(&json, ",0");
    strbuf_adds(&json, "]},\"id\":5}");
    ask_wrong(client, json.bytes, "5", -32600, "values");
    strbuf_fini(&json);
}

CASE(lone_surrogates_become_replacement_characters)
{
    shake_hands(client, "2025-11-25");
    ask(client, CALL("1", "echo-text", "{\"code\":\"a\\ud800b\\ud83d\\ude00 \\udc00 \\ude00\\ud83d\"}"),
        TEXT_RESULT("1", "\"a\xef\xbf\xbd"
                         "b\xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\""));
}

CASE(the_last_of_duplicate_members_counts)
{
    ask(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"nothing\",\"method\":\"ping\"}",
        DONE("2"));
}

CASE(a_message_of_the_largest_size_is_taken)
{
    size_t len = TRANSPORT_MAX_MESSAGE;
    char *bytes = malloc(len);
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"";
    assert_non_null(bytes);
    memset(bytes, 'x', len);
    memcpy(bytes, head, sizeof head - 1);
    char *at = bytes + len - 3;
    memcpy(at, "\"}}", 3);
    connection_message(client->connection, NULL, bytes, len);
    assert_string_equal(sent(client), DONE("1") "\n");
    forget(client);
    connection_oversized(client->connection);
    assert_sent_part(client, "\"id\":null,\"error\":{\"code\":-32600");
    free(bytes);
}

CASE(too_much_under_way_is_refused)
{
    size_t len = 60u << 20;
    char *bytes = malloc(len), *again = malloc(len);
    assert_non_null(bytes);
    assert_non_null(again);
    shake_hands(client, "2025-11-25");
    for (size_t i = 0; i < 5; i++) {
        static const char call[] = CALL("0", "wait", "{}");
        memset(bytes, ' ', len);
        memcpy(bytes + 0, call, sizeof call - 2);
        bytes[len - 1] = '}';
        bytes[22] = (char)('0' + i);
        forget(client);
        connection_message(client->connection, NULL, bytes, len);
        assert_int_equal(client->count, i == 4);
    }
    assert_sent_part(client, "\"id\":4,\"error\":{\"code\":-32603");
    fake_finish(0, "", false);
    ask_nothing(client, CALL("77", "wait", "{}"));
    fake_finish(0, "", false);
    for (size_t i = 0; i < 2; i++) {
        bytes[22] = (char)('5' + i);
        forget(client);
        connection_message(client->connection, NULL, memcpy(again, bytes, len), len);
        assert_int_equal(client->count, 0);
        fake_finish(fake_call_count - 1, "", false);
    }
    free(again);
    free(bytes);
}

/* Every answer is one well-formed response. */
static void check_answers(struct test_client *client, const char *asked, size_t asked_len, bool must_be_error)
{
    if (client->count > 1)
        fail_msg("%.*s\nanswered: %s", (int)asked_len, asked, sent(client));
    if (client->count == 0)
        return;
    json_t *answer = json_loadb(client->sent.bytes, client->sent.len, JSON_ALLOW_NUL, NULL);
    if (answer == NULL)
        fail_msg("%.*s\nanswered: %s", (int)asked_len, asked, sent(client));
    json_t *error = json_object_get(answer, "error");
    if (must_be_error && (!json_is_integer(json_object_get(error, "code")) ||
                          !json_is_string(json_object_get(error, "message")) ||
                          json_object_get(answer, "id") == NULL || json_object_size(answer) != 3))
        fail_msg("%.*s\nanswered: %s", (int)asked_len, asked, sent(client));
    json_decref(answer);
}

CASE(every_truncation_and_every_changed_byte_gets_at_most_one_answer)
{
    static const char whole[] = REQUEST(
        "12", "tools/call", "{\"name\":\"wait\",\"_meta\":{\"progressToken\":\"\\u00e9\"},\"arguments\":{}}");
    char copy[sizeof whole];
    size_t len = sizeof whole - 1;
    shake_hands(client, "2025-11-25");
    for (size_t at = 0; at < len; at++) {
        say_bytes(client, whole, at);
        assert_int_equal(client->count, 1);
        check_answers(client, whole, at, true);
    }
    for (size_t at = 0; at < len; at++) {
        for (int byte = 0; byte < 256; byte += 3) {
            memcpy(copy, whole, sizeof whole);
            copy[at] = (char)byte;
            say_bytes(client, copy, len);
            while (fake_call_count > 0)
                fake_finish(0, "", false);
            check_answers(client, copy, len, false);
        }
    }
}

CASE(messages_go_back_the_way_they_came)
{
    struct transport_origin first = {0}, second = {0}, third = {0};
    shake_hands(client, "2025-11-25");
    client->over_count = 0;
    client->origin = client->expected = &first;
    ask_nothing(client, WAIT_WITH_TOKEN("1", "1"));
    assert_int_equal(client->over_count, 0);
    client->origin = client->expected = &second;
    ask(client, BARE("2", "ping"), DONE("2"));
    assert_int_equal(client->over_count, 1);
    assert_ptr_equal(client->over, &second);
    assert_int_equal(client->kind, TRANSPORT_RESULT);
    client->expected = &first;
    report_progress(1, NULL);
    assert_int_equal(client->kind, TRANSPORT_NOTIFICATION);
    assert_int_equal(client->over_count, 1);
    fake_finish(0, "x", false);
    assert_int_equal(client->over_count, 2);
    assert_ptr_equal(client->over, &first);
    client->origin = client->expected = &third;
    ask_nothing(client, BARE_NOTICE("notifications/unheard-of"));
    assert_int_equal(client->over_count, 3);
    assert_ptr_equal(client->over, &third);
}

CASE(errors_say_whether_a_method_has_run)
{
    struct transport_origin origin = {0};
    shake_hands(client, "2025-11-25");
    client->origin = client->expected = &origin;
    ask_wrong(client, "{", "null", -32700, "");
    assert_int_equal(client->kind, TRANSPORT_REFUSAL);
    assert_int_equal(client->code, -32700);
    ask_wrong(client, BARE("1", "nope"), "1", -32601, "");
    assert_int_equal(client->kind, TRANSPORT_REFUSAL);
    assert_int_equal(client->code, -32601);
    ask_wrong(client, CALL("1", "nope", "{}"), "1", -32602, "");
    assert_int_equal(client->kind, TRANSPORT_ERROR);
    assert_int_equal(client->code, -32602);
    ask_wrong(client, "[]", "null", -32600, "");
    assert_int_equal(client->kind, TRANSPORT_REFUSAL);
}

CASE(a_cancelled_request_is_over_without_an_answer)
{
    struct transport_origin first = {0}, second = {0};
    shake_hands(client, "2025-11-25");
    client->origin = client->expected = &first;
    ask_nothing(client, CALL("7", "wait", "{}"));
    client->over_count = 0;
    client->origin = &second;
    ask_nothing(client, NOTICE("notifications/cancelled", "{\"requestId\":7}"));
    assert_int_equal(fake_cancel_count, 1);
    assert_int_equal(client->over_count, 2);
    assert_ptr_equal(client->over, &second);
}

CASE(an_origin_that_is_abandoned_is_not_answered)
{
    struct transport_origin first = {0}, second = {0};
    shake_hands(client, "2025-03-26");
    client->origin = &first;
    ask_nothing(client, "[" CALL("1", "wait", "{}") "," BARE("8", "ping") "," CALL("2", "wait", "{}") "]");
    client->origin = &second;
    ask_nothing(client, CALL("3", "wait", "{}"));
    client->over_count = client->idle_count = 0;
    requests_abandon(client->connection, &first);
    assert_int_equal(fake_cancel_count, 2);
    assert_int_equal(fake_call_count, 1);
    assert_int_equal(client->count, 0);
    assert_int_equal(client->over_count, 0);
    assert_int_equal(client->idle_count, 0);
    client->expected = &second;
    fake_finish(0, "x", false);
    assert_int_equal(client->count, 1);
    assert_int_equal(client->over_count, 1);
    assert_int_equal(client->idle_count, 1);
}

CASE(a_batch_goes_back_the_way_it_came)
{
    struct transport_origin first = {0};
    shake_hands(client, "2025-03-26");
    client->over_count = 0;
    client->origin = client->expected = &first;
    ask_nothing(client, "[" CALL("1", "wait", "{}") "," BARE("2", "ping") "]");
    assert_int_equal(client->over_count, 0);
    fake_finish(0, "x", false);
    assert_int_equal(client->count, 1);
    assert_int_equal(client->kind, TRANSPORT_RESULT);
    assert_int_equal(client->over_count, 1);
}

/* A client that shows forms has called a tool, whose code asks. */
static void start_asking(struct test_client *client)
{
    say(client, REQUEST("0", "initialize",
                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}"));
    ask_nothing(client, CALL("1", "wait", "{}"));
    fake_dismiss_count = 0;
    fake_ask("Name?");
}

CASE(a_question_whose_time_is_over_is_withdrawn)
{
    start_asking(client);
    assert_sent_part(client, "\"id\":\"cl-mcp-1\",\"method\":\"elicitation/create\"");
    forget(client);
    fake_expire();
    assert_int_equal(client->count, 1);
    assert_sent_part(client, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
                             "\"cl-mcp-1\"");
    ask_nothing(client, RESULT("\"cl-mcp-1\"", "{\"action\":\"cancel\"}"));
    assert_int_equal(fake_dismiss_count, 0);
    forget(client);
    fake_finish(0, "end", false);
    assert_int_equal(client->count, 1);
}

CASE(a_question_that_is_dismissed_stops_the_code)
{
    start_asking(client);
    ask_nothing(client, RESULT("\"cl-mcp-1\"", "{\"action\":\"cancel\"}"));
    assert_int_equal(fake_dismiss_count, 1);
    fake_finish(0, "cancelled", true);
}

#define ASKED_CALL(id, more)                                                                                 \
    REQUEST(id, "tools/call",                                                                                \
            "{\"name\":\"wait\"," more                                                                       \
            "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                         \
            "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}")

/* The client repeats its call to get the result. */
CASE(a_parked_question_whose_time_is_over_is_not_asked_again)
{
    static const char *const answers[] = {
        "", "\"inputResponses\":{\"input\":{\"action\":\"cancel\"}},",
        "\"inputResponses\":{\"input\":{\"action\":\"accept\",\"content\":{\"line\":\"late\"}}},"};

    fake_dismiss_count = 0;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        char json[700], secret[33];
        ask_nothing(client, ASKED_CALL("1", ""));
        fake_ask("Name?");
        const char *at = strstr(sent(client), "\"requestState\":\"");
        assert_non_null(at);
        snprintf(secret, sizeof secret, "%s", at + strlen("\"requestState\":\""));
        fake_expire();
        snprintf(json, sizeof json, ASKED_CALL("2", "\"requestState\":\"%s\",%s"), secret, answers[i]);
        ask_nothing(client, json);
        assert_int_equal(fake_dismiss_count, 0);
        fake_finish(0, "end of file", false);
        assert_int_equal(client->count, 1);
        assert_sent_part(client, "\"id\":2,");
        assert_sent_part(client, "end of file");
    }
}
