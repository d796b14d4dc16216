/*
 * What a connection offers beside tools: resources, prompts, completion, subscriptions, the log. The sessions
 * are real and have no process; the tools are the tests' own.
 */
#include <uv.h>

#define FAKE_READABLE_TOOLS
#include "base/log.h"
#include "client.h"
#include "mcp/resources.h"
#include "mcp/tasks.h"
#include "session/session_host.h"
#include "session/sessions.h"

#define SUBSCRIPTION(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"

static int set_up_modern(void **state)
{
    static const struct limits limits;
    struct test_client *client = *state = calloc(1, sizeof *client);
    client->host =
        session_host_new(&(struct session_host_options){.loop = uv_default_loop(), .limits = &limits});
    client->toolbox.sessions = sessions_new(client->host, &(struct sessions_options){0});
    client_connect(client, (struct connection_options){.toolbox = &client->toolbox, .shows_log = true});
    return 0;
}

static int set_up(void **state)
{
    set_up_modern(state);
    shake_hands(*state, "2025-11-25");
    forget(*state);
    return 0;
}

static int tear_down(void **state)
{
    struct test_client *client = *state;
    client_disconnect(client);
    sessions_free(client->toolbox.sessions);
    session_host_free(client->host);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    free(client);
    return 0;
}

#define CASE(test) TEST_WITH(struct test_client, client, test, set_up, tear_down)
#define MODERN_CASE(test) TEST_WITH(struct test_client, client, test, set_up_modern, tear_down)

static struct session *create(struct test_client *client, const char *name)
{
    struct err err;
    forget(client);
    struct session *s = sessions_create(client->toolbox.sessions, name, &err);
    assert_non_null(s);
    return s;
}

/* ${method} with ${params} is answered by one message that contains ${part}. */
static void ask(struct test_client *client, const char *method, const char *params, const char *part)
{
    char json[2000];
    snprintf(json, sizeof json, REQUEST("7", "%s", "%s"), method, params);
    say(client, json);
    if (client->count != 1 || strncmp(sent(client), "{\"jsonrpc\":\"2.0\",\"id\":7,", 24) != 0 ||
        !strstr(sent(client), part))
        fail_msg("%s\nanswered: %swanted: %s", json, sent(client), part);
}

CASE(resources_of_sessions_come_and_go_with_them)
{
    ask(client, "resources/list", "{}", "\"resources\":[{\"uri\":\"lisp://guide\",\"name\":\"guide\",");
    assert_null(strstr(sent(client), "session"));
    struct session *s = create(client, "work");
    assert_string_equal(sent(client), NOTICE("notifications/resources/list_changed", "{}") "\n");
    ask(client, "resources/list", "{}",
        "{\"uri\":\"lisp://session/work/transcript\",\"name\":\"work/transcript\",");
    assert_null(strstr(sent(client), "{session}"));
    assert_null(strstr(sent(client), "{name}"));
    strbuf_clear(&client->sent);
    sessions_close(s);
    assert_sent_part(client, "notifications/resources/list_changed");
    ask(client, "resources/list", "{\"cursor\":\"x\"}", "\"code\":-32602");
    ask(client, "resources/templates/list", "{}", "\"uriTemplate\":\"lisp://symbol/{package}/{name}\"");
    assert_null(strstr(sent(client), "lisp://guide"));
}

CASE(a_resource_is_the_reply_of_its_tool)
{
    static const char *const readings[][2] = {
        {"lisp://guide", "{}"},
        {"lisp://session/default/transcript", "{\\\"limit\\\":200,\\\"session\\\":\\\"default\\\"}"},
        {"lisp://session/default/source",
         "{\\\"format\\\":\\\"lisp\\\",\\\"max-output\\\":4000000,\\\"session\\\":\\\"default\\\"}"},
        {"lisp://symbol/CL/car", "{\\\"name\\\":\\\"car\\\",\\\"package\\\":\\\"CL\\\"}"},
        {"lisp://symbol/CL//", "{\\\"name\\\":\\\"/\\\",\\\"package\\\":\\\"CL\\\"}"},
        {"lisp://symbol/a%2Fb/%25%c3%bc", "{\\\"name\\\":\\\"%\xc3\xbc\\\",\\\"package\\\":\\\"a/b\\\"}"},
        {"lisp://session/default/symbol/p/x/y",
         "{\\\"name\\\":\\\"x/y\\\",\\\"package\\\":\\\"p\\\",\\\"session\\\":\\\"default\\\"}"},
    };
    char params[300], part[300];
    create(client, "default");
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        snprintf(params, sizeof params, "{\"uri\":\"%s\"}", readings[i][0]);
        snprintf(part, sizeof part, ",\"text\":\"%s\"}]}}\n", readings[i][1]);
        ask(client, "resources/read", params, part);
        snprintf(part, sizeof part, "\"contents\":[{\"uri\":\"%s\",\"mimeType\":\"text/", readings[i][0]);
        assert_sent_part(client, part);
    }
}

CASE(reading_starts_no_session)
{
    ask(client, "resources/read", "{\"uri\":\"lisp://symbol/cl/car\"}",
        "\"error\":{\"code\":-32002,\"message\":\"Resource not found: the default session has not been "
        "started;");
    ask(client, "resources/read", "{\"uri\":\"lisp://session/default/transcript\"}", "has not been started;");
    ask(client, "resources/subscribe", "{\"uri\":\"lisp://symbol/cl/car\"}", "\"result\":{}}");
    ask(client, "resources/read", "{\"uri\":\"lisp://guide\"}", "\"contents\":");
    create(client, "default");
    ask(client, "resources/read", "{\"uri\":\"lisp://symbol/cl/car\"}", "\"contents\":");
}

CASE(a_missing_resource_is_reported_as_the_revision_requires)
{
    static const char *const uris[] = {"lisp://nothing",
                                       "lisp://guide/",
                                       "",
                                       "file:///etc/passwd",
                                       "lisp://session/nobody/transcript",
                                       "lisp://session//transcript",
                                       "lisp://session/default/nothing",
                                       "lisp://symbol/CL/",
                                       "lisp://symbol//car",
                                       "lisp://symbol/CL/%",
                                       "lisp://symbol/CL/%4",
                                       "lisp://symbol/CL/%zz",
                                       "lisp://symbol/CL/%00",
                                       "lisp://symbol/CL/%ff",
                                       "lisp://symbol/CL/absent",
                                       "lisp://session/{session}/transcript"};
    char params[400];
    create(client, "default");
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        snprintf(params, sizeof params, "{\"uri\":\"%s\"}", uris[i]);
        ask(client, "resources/read", params,
            "\"error\":{\"code\":-32002,\"message\":\"Resource not found\",\"data\":{\"uri\":\"");
        snprintf(params, sizeof params, "{\"uri\":\"%s\"," MODERN_META("") "}", uris[i]);
        ask(client, "resources/read", params,
            "\"error\":{\"code\":-32602,\"message\":\"Resource not found\",\"data\":{\"uri\":\"");
    }
    ask(client, "resources/read", "{}", "\"code\":-32602,\"message\":\"Invalid params: uri must be a string");
    ask(client, "resources/read", "{\"uri\":1}", "\"code\":-32602");
    ask(client, "resources/read", "{\"uri\":\"lisp://symbol/CL/broken\"}", "\"code\":-32603");
    ask(client, "resources/read", "{\"uri\":\"lisp://guide\"," MODERN_META("") "}",
        "\"ttlMs\":0,\"cacheScope\":\"private\"");
}

CASE(a_subscribed_resource_is_notified_until_it_is_unsubscribed)
{
    ask(client, "resources/subscribe", "{\"uri\":\"lisp://session/work/transcript\"}", "\"code\":-32002");
    ask(client, "resources/subscribe", "{\"uri\":\"lisp://session/default/transcript\"}", "\"result\":{}}");
    ask(client, "resources/subscribe", "{\"uri\":\"lisp://session/default/transcript\"}", "\"result\":{}}");
    struct session *s = create(client, "default");
    assert_sent_part(client, NOTICE("notifications/resources/updated",
                                    "{\"uri\":\"lisp://session/default/transcript\"}") "\n");
    assert_int_equal(client->count, 2);
    create(client, "other");
    assert_int_equal(client->count, 1);
    ask(client, "resources/unsubscribe", "{\"uri\":\"lisp://session/default/transcript\"}", "\"result\":{}}");
    ask(client, "resources/unsubscribe", "{\"uri\":\"lisp://session/default/transcript\"}", "\"result\":{}}");
    ask(client, "resources/unsubscribe", "{}", "\"code\":-32602");
    strbuf_clear(&client->sent);
    sessions_close(s);
    assert_null(strstr(sent(client), "resources/updated"));
}

static size_t allocated_count;

static void *count_allocation(size_t size)
{
    allocated_count++;
    return malloc(size);
}

/* News come with each piece of output, and a client may have subscribed to tens of thousands of addresses. */
CASE(news_are_matched_without_parsing_addresses)
{
    char params[200];
    ask(client, "resources/subscribe", "{\"uri\":\"lisp://session/default/source\"}", "\"result\":{}}");
    for (int i = 0; i < 200; i++) {
        snprintf(params, sizeof params, "{\"uri\":\"lisp://symbol/p/s%d\"}", i);
        ask(client, "resources/subscribe", params, "\"result\":{}}");
    }
    allocated_count = 0;
    json_set_alloc_funcs(count_allocation, free);
    create(client, "default");
    create(client, "other");
    json_set_alloc_funcs(malloc, free);
    assert_true(allocated_count < 200); /* those of the notifications, and none for each address */
    assert_int_equal(resources_changed_by() & 1u << SESSIONS_PROGRESS, 0);
    assert_int_not_equal(resources_changed_by() & 1u << SESSIONS_STATE, 0);
}

CASE(subscriptions_are_bounded)
{
    char params[200];
    for (size_t i = 0; i <= 256; i++) {
        snprintf(params, sizeof params, "{\"uri\":\"lisp://symbol/p/s%zu\"}", i);
        ask(client, "resources/subscribe", params, i < 256 ? "\"result\":{}" : "\"code\":-32602");
    }
}

#define LISTEN(id, filter) MODERN_REQUEST(id, "subscriptions/listen", "\"notifications\":" filter ",")

MODERN_CASE(a_listen_is_acknowledged_first_and_tags_what_it_sends)
{
    say(client, LISTEN("\"L1\"",
                       "{\"toolsListChanged\":true,\"promptsListChanged\":true,\"resourcesListChanged\":true,"
                       "\"resourceSubscriptions\":[\"lisp://session/a/last-error\",\"lisp://guide\",\"x\","
                       "\"lisp://session/a/last-error\"]}"));
    assert_string_equal(sent(client),
                        NOTICE("notifications/subscriptions/acknowledged",
                               "{\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true,"
                               "\"resourceSubscriptions\":[\"lisp://session/a/last-error\"]}," SUBSCRIPTION(
                                   "\"L1\"") "}") "\n");
    assert_true(requests_are_idle(client->connection));
    struct session *s = create(client, "a");
    assert_string_equal(
        sent(client),
        NOTICE("notifications/resources/list_changed", "{" SUBSCRIPTION("\"L1\"") "}") "\n" NOTICE(
            "notifications/resources/updated",
            "{\"uri\":\"lisp://session/a/last-error\"," SUBSCRIPTION("\"L1\"") "}") "\n");
    say(client, NOTICE("notifications/cancelled", "{\"requestId\":\"L1\"}"));
    sessions_close(s);
    assert_int_equal(client->count, 0);
}

MODERN_CASE(only_requested_notifications_are_sent)
{
    say(client, LISTEN("1", "{\"toolsListChanged\":true}"));
    assert_sent_part(client, "\"notifications\":{\"toolsListChanged\":true}," SUBSCRIPTION("1"));
    say(client, LISTEN("2", "{\"resourceSubscriptions\":[\"lisp://session/b/source\"]}"));
    assert_sent_part(client, "{\"resourceSubscriptions\":[\"lisp://session/b/source\"]}," SUBSCRIPTION("2"));
    say(client, LISTEN("3", "{\"toolsListChanged\":false}"));
    assert_sent_part(client, "\"notifications\":{}," SUBSCRIPTION("3"));
    create(client, "a");
    assert_int_equal(client->count, 0);
    create(client, "b");
    assert_int_equal(client->count, 1);
    assert_sent_part(client, SUBSCRIPTION("2"));
}

MODERN_CASE(a_listen_ends_with_a_result_when_the_server_does)
{
    say(client, LISTEN("\"a\"", "{\"toolsListChanged\":true}"));
    say(client, LISTEN("-1234567890123456789", "{}"));
    forget(client);
    connection_end(client->connection);
    assert_int_equal(client->count, 2);
    assert_sent_part(client, "\"id\":\"a\",\"result\":{\"resultType\":\"complete\",\"_meta\":{");
    assert_sent_part(client, ",\"io.modelcontextprotocol/subscriptionId\":\"a\"}}}\n");
    assert_sent_part(client, "subscriptionId\":-1234567890123456789}}}\n");
    say(client, LISTEN("\"a\"", "{}"));
    assert_int_equal(client->count, 1);
}

CASE(a_call_after_the_end_is_refused)
{
    connection_end(client->connection);
    ask(client, "tools/call", "{\"name\":\"echo\",\"arguments\":{}}", "The server is shutting down");
}

CASE(a_wrong_listen_is_refused)
{
    static const char *const filters[] = {"1",
                                          "null",
                                          "[]",
                                          "{\"toolsListChanged\":1}",
                                          "{\"resourceSubscriptions\":{}}",
                                          "{\"resourceSubscriptions\":[1]}"};
    char json[500];
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        snprintf(json, sizeof json, "{\"notifications\":%s," MODERN_META("") "}", filters[i]);
        ask(client, "subscriptions/listen", json, "\"code\":-32602");
    }
    ask(client, "subscriptions/listen", "{" MODERN_META("") "}", "\"code\":-32602");
    ask(client, "subscriptions/listen", "{\"notifications\":{}}", "\"code\":-32601");
    ask(client, "resources/subscribe", "{\"uri\":\"lisp://guide\"," MODERN_META("") "}", "\"code\":-32601");
    for (size_t i = 0; i < 256; i++) {
        snprintf(json, sizeof json, LISTEN("%zu", "{}"), i);
        say(client, json);
        assert_sent_part(client, "acknowledged");
    }
    snprintf(json, sizeof json, "{\"notifications\":{}," MODERN_META("") "}");
    say(client, LISTEN("\"more\"", "{}"));
    assert_sent_part(client, "\"code\":-32603");
}

CASE(prompts_hold_what_was_given)
{
    ask(client, "prompts/list", "{}", "{\"name\":\"write-and-test\",");
    assert_non_null(strstr(
        sent(client), "{\"name\":\"task\",\"description\":\"What the code should do.\",\"required\":true}"));
    ask(client, "prompts/get",
        "{\"name\":\"write-and-test\",\"arguments\":{\"task\":\"sort \\\"{package}\\\" %s\"}}",
        "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Write Common Lisp code "
        "for this task: sort "
        "\\\"{package}\\\" %s\\n1. ");
    assert_null(strstr(sent(client), "Use the session"));
    ask(client, "prompts/get",
        "{\"name\":\"write-and-test\",\"arguments\":{\"task\":\"x\",\"session\":\"s1\",\"package\":\"\"}}",
        "\\nUse the session s1: ");
    assert_null(strstr(sent(client), "Write it in the package"));
    ask(client, "prompts/get", "{\"name\":\"debug-last-error\"}", "\"messages\"");
    ask(client, "prompts/get", "{\"name\":\"write-and-test\"}",
        "\"code\":-32602,\"message\":\"Invalid params: the prompt write-and-test needs the argument task");
    ask(client, "prompts/get", "{\"name\":\"write-and-test\",\"arguments\":{\"task\":1}}", "\"code\":-32602");
    ask(client, "prompts/get",
        "{\"name\":\"write-and-test\",\"arguments\":{\"task\":\"x\",\"pakage\":\"y\"}}",
        "Did you mean package?");
    ask(client, "prompts/get", "{\"name\":\"write-and-test\",\"arguments\":[]}", "\"code\":-32602");
    ask(client, "prompts/get", "{\"name\":\"write-test\"}", "Did you mean write-and-test?");
    ask(client, "prompts/get", "{\"name\":7}", "\"code\":-32602");
    ask(client, "prompts/get", "{\"name\":\"debug-last-error\"," MODERN_META("") "}",
        "\"resultType\":\"complete\"");
    assert_null(strstr(sent(client), "ttlMs"));
}

#define COMPLETE(ref, argument, more) "{\"ref\":" ref ",\"argument\":" argument more "}"
#define SYMBOL_REF "{\"type\":\"ref/resource\",\"uri\":\"lisp://symbol/{package}/{name}\"}"
#define TRANSCRIPT_REF "{\"type\":\"ref/resource\",\"uri\":\"lisp://session/{session}/transcript\"}"
#define SYSTEM_REF "{\"type\":\"ref/prompt\",\"name\":\"explore-system\"}"

CASE(completion_asks_the_owner_of_the_names)
{
    char name[20];
    ask(client, "completion/complete",
        COMPLETE(SYMBOL_REF, "{\"name\":\"name\",\"value\":\"ca\"}",
                 ",\"context\":{\"arguments\":{\"package\":\"cl\"}}"),
        "{\"completion\":{\"values\":[\"{\\\"package\\\":\\\"cl\\\",\\\"prefix\\\":\\\"ca\\\",\\\"type\\\":"
        "\\\"symbols\\\"}\",\"x\"");
    assert_sent_part(client, "],\"total\":150,\"hasMore\":true}");
    ask(client, "completion/complete", COMPLETE(SYMBOL_REF, "{\"name\":\"package\",\"value\":\"\"}", ""),
        "\\\"type\\\":\\\"packages\\\"");
    ask(client, "completion/complete", COMPLETE(SYSTEM_REF, "{\"name\":\"system\",\"value\":\"a\"}", ""),
        "\\\"type\\\":\\\"systems\\\"");
    ask(client, "completion/complete", COMPLETE(SYSTEM_REF, "{\"name\":\"question\",\"value\":\"a\"}", ""),
        "{\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}}");
    for (size_t i = 0; i < 120; i++) {
        snprintf(name, sizeof name, "work%zu", i);
        create(client, name);
    }
    ask(client, "completion/complete", COMPLETE(SYSTEM_REF, "{\"name\":\"session\",\"value\":\"WORK1\"}", ""),
        "\"total\":31,\"hasMore\":false");
    ask(client, "completion/complete", COMPLETE(SYSTEM_REF, "{\"name\":\"session\",\"value\":\"\"}", ""),
        "\"total\":120,\"hasMore\":true");
    ask(client, "completion/complete",
        COMPLETE(TRANSCRIPT_REF, "{\"name\":\"session\",\"value\":\"work119\"}", ""),
        "{\"values\":[\"work119\"],\"total\":1,\"hasMore\":false}");
}

CASE(completion_of_anything_unknown_is_refused)
{
    static const char *const wrong[] = {
        "{}",
        COMPLETE("1", "{\"name\":\"name\",\"value\":\"\"}", ""),
        COMPLETE("{\"type\":\"ref/tool\",\"name\":\"x\"}", "{\"name\":\"name\",\"value\":\"\"}", ""),
        COMPLETE("{\"type\":\"ref/prompt\"}", "{\"name\":\"name\",\"value\":\"\"}", ""),
        COMPLETE("{\"type\":\"ref/prompt\",\"name\":\"nothing\"}", "{\"name\":\"name\",\"value\":\"\"}", ""),
        COMPLETE("{\"type\":\"ref/resource\",\"uri\":\"lisp://nothing\"}",
                 "{\"name\":\"name\",\"value\":\"\"}", ""),
        COMPLETE(SYSTEM_REF, "{\"name\":\"nothing\",\"value\":\"\"}", ""),
        COMPLETE(SYMBOL_REF, "{\"name\":\"session\",\"value\":\"\"}", ""),
        COMPLETE(SYMBOL_REF, "{\"name\":\"name\"}", ""),
        COMPLETE(SYMBOL_REF, "{\"name\":1,\"value\":\"\"}", ""),
        COMPLETE(SYMBOL_REF, "7", ""),
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ask(client, "completion/complete", wrong[i], "\"code\":-32602");
}

CASE(the_log_is_sent_from_the_level_that_was_set)
{
    log_set_level(LOG_LEVEL_ERROR);
    log_info("unheard");
    assert_int_equal(client->count, 0);
    ask(client, "logging/setLevel", "{\"level\":\"info\"}", "\"result\":{}}");
    forget(client);
    log_info("told \"%s\"\n", "once");
    log_debug("unheard");
    assert_string_equal(sent(client),
                        NOTICE("notifications/message", "{\"level\":\"info\",\"logger\":\"cl-mcp-server\","
                                                        "\"data\":\"told \\\"once\\\"?\"}") "\n");
    ask(client, "logging/setLevel", "{\"level\":\"emergency\"}", "\"result\":{}}");
    client->count = 0;
    log_info("unheard");
    assert_int_equal(client->count, 0);
    ask(client, "logging/setLevel", "{\"level\":\"loud\"}", "\"code\":-32602");
    ask(client, "logging/setLevel", "{}", "\"code\":-32602");
    ask(client, "logging/setLevel", "{\"level\":\"info\"," MODERN_META("") "}", "\"code\":-32601");
    log_info("nobody is left to hear");
    log_set_level(LOG_LEVEL_WARNING);
}

#define LOG_LEVEL(level) MODERN_META(",\"io.modelcontextprotocol/logLevel\":\"" level "\"")
#define WAIT(id, level) REQUEST(id, "tools/call", "{\"name\":\"wait\"," LOG_LEVEL(level) "}")

MODERN_CASE(a_modern_request_receives_the_log_while_it_runs)
{
    log_set_level(LOG_LEVEL_ERROR);
    say(client, WAIT("1", "info"));
    say(client, WAIT("2", "warning"));
    log_info("one");
    assert_int_equal(client->count, 1);
    log_warning("two");
    assert_int_equal(client->count, 2); /* on a transport without origins once */
    assert_sent_part(client, "\"data\":\"two\"");
    fake_finish(0, "done", false);
    client->count = 0;
    log_info("three");
    assert_int_equal(client->count, 0);
    log_warning("four");
    assert_int_equal(client->count, 1);
    fake_finish(0, "done", false);
    client->count = 0;
    log_warning("five");
    assert_int_equal(client->count, 0);
    say(client, REQUEST("3", "subscriptions/listen", "{\"notifications\":{}," LOG_LEVEL("debug") "}"));
    client->count = 0;
    log_warning("six");
    assert_int_equal(client->count, 0);
    log_set_level(LOG_LEVEL_WARNING);
}

#define TASK_META                                                                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                 \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},"                                    \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"

MODERN_CASE(a_task_does_not_ask_when_the_time_for_the_answer_is_over)
{
    char get[400], update[600], id[33];
    client->toolbox.loop = uv_default_loop();
    client->toolbox.tasks = tasks_new(client->toolbox.loop);
    fake_dismiss_count = 0;
    say(client, REQUEST("1", "tools/call", "{\"name\":\"wait\"," TASK_META "}"));
    assert_int_equal(client->count, 0);
    fake_ask("Name?");
    const char *at = strstr(sent(client), "\"taskId\":\"");
    assert_non_null(at);
    snprintf(id, sizeof id, "%s", at + strlen("\"taskId\":\""));
    snprintf(get, sizeof get, "{\"taskId\":\"%s\"," TASK_META "}", id);
    snprintf(update, sizeof update,
             "{\"taskId\":\"%s\",\"inputResponses\":{\"input\":{\"action\":\"cancel\"}}," TASK_META "}", id);
    ask(client, "tasks/get", get, "\"status\":\"input_required\"");
    fake_expire();
    ask(client, "tasks/get", get, "\"status\":\"working\"");
    assert_null(strstr(sent(client), "inputRequests"));
    ask(client, "tasks/update", update, "\"result\":{");
    assert_int_equal(fake_dismiss_count, 0);
    fake_finish(0, "end of file", false);
    ask(client, "tasks/get", get, "\"status\":\"completed\"");
    tasks_free(client->toolbox.tasks);
    client->toolbox.tasks = NULL;
}
