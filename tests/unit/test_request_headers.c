/*
 * Whether a request agrees with the headers that repeat it.
 */
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "mcp/methods.h"
#include "mcp/request_headers.h"
#include "mcp/transport.h"

static bool says(const char *header, const char *value)
{
    return request_header_says(header, value, strlen(value));
}

TEST(plain_values_are_compared_as_they_are)
{
    assert_true(says("evaluate-lisp", "evaluate-lisp"));
    assert_false(says("evaluate-lisp", "Evaluate-lisp"));
    assert_false(says("evaluate", "evaluate-lisp"));
    assert_false(says("evaluate-lisp", "evaluate"));
    assert_true(says("", ""));
    assert_false(request_header_says("a", "a\0b", 3));
    /* Half of the mark is no mark. */
    assert_true(says("=?base64?YQ==", "=?base64?YQ=="));
    assert_true(says("YQ==?=", "YQ==?="));
    assert_true(says("=?base64?=", "=?base64?="));
    assert_true(says("=?BASE64?YQ==?=", "=?BASE64?YQ==?="));
}

TEST(base64_is_read_strictly)
{
    assert_true(says("=?base64?YQ==?=", "a"));
    assert_true(says("=?base64?YWI=?=", "ab"));
    assert_true(says("=?base64?YWJj?=", "abc"));
    assert_true(says("=?base64?YWJjZA==?=", "abcd"));
    assert_true(says("=?base64?"
                     "?=",
                     ""));
    assert_true(says("=?base64?w6TDtvCfmIA=?=", "\xc3\xa4\xc3\xb6\xf0\x9f\x98\x80"));
    assert_true(says("=?base64?Pz8/Pj4+?=", "?"
                                            "?"
                                            "?>>>"));
    assert_true(request_header_says("=?base64?YQBi?=", "a\0b", 3));
    assert_false(says("=?base64?YQ=?=", "a"));
    assert_false(says("=?base64?YQ?=", "a"));
    assert_false(says("=?base64?YR==?=", "a"));
    assert_false(says("=?base64?YWK=?=", "ab"));
    assert_false(says("=?base64?YQ== ?=", "a"));
    assert_false(says("=?base64?Y===?=", "a"));
    assert_false(says("=?base64?====?=", ""));
    assert_false(says("=?base64?Pz8_Pj4-?=", "?"
                                             "?"
                                             "?>>>"));
    assert_false(says("=?base64?YQ==YQ==?=", "aa"));
    assert_false(says("=?base64?YWJj?=", "abcd"));
    assert_false(says("=?base64?YWJjZA==?=", "abc"));
}

TEST(a_header_that_names_no_old_revision_is_modern)
{
    assert_false(request_headers_are_modern(NULL));
    assert_false(request_headers_are_modern(&(struct transport_headers){.version = NULL}));
    assert_false(request_headers_are_modern(&(struct transport_headers){.version = "2025-11-25"}));
    assert_true(request_headers_are_modern(&(struct transport_headers){.version = "2026-07-28"}));
    assert_true(request_headers_are_modern(&(struct transport_headers){.version = "x"}));
}

static const char *refuse_request(const struct transport_headers *headers, const char *method,
                                  const char *params)
{
    json_t *object = json_loads(params, 0, NULL);
    assert_non_null(object);
    const char *reason = request_headers_refuse_request(
        headers, (struct jsonrpc_slice){method, strlen(method)}, method_find(method, strlen(method)), object);
    json_decref(object);
    return reason;
}

TEST(method_and_name_must_be_those_of_the_body)
{
    struct transport_headers headers = {.method = "tools/call", .name = "x"};
    assert_null(refuse_request(NULL, "tools/call", "{\"name\":\"y\"}"));
    assert_null(refuse_request(&headers, "tools/call", "{\"name\":\"x\"}"));
    assert_non_null(refuse_request(&headers, "tools/call", "{\"name\":\"y\"}"));
    assert_non_null(refuse_request(&headers, "tools/list", "{}"));
    /* What is no name is for the method to refuse. */
    assert_null(refuse_request(&headers, "tools/call", "{\"name\":1}"));
    assert_null(refuse_request(&headers, "tools/call", "{}"));
    headers.name = NULL;
    assert_non_null(refuse_request(&headers, "tools/call", "{\"name\":\"x\"}"));
    headers.method = NULL;
    assert_non_null(refuse_request(&headers, "tools/call", "{}"));
    headers.method = "no/such";
    assert_null(refuse_request(&headers, "no/such", "{}"));
}

TEST(the_session_meant_must_be_in_its_header)
{
    static const struct {
        const char *session, *tool, *arguments;
        bool is_refused;
    } rows[] = {
        {"work", "evaluate-lisp", "{\"session\":\"work\"}", false},
        {"work", "evaluate-lisp", "{\"session\":\"other\"}", true},
        {"work", "evaluate-lisp", "{}", true},
        {"work", "evaluate-lisp", "{\"session\":null}", true},
        /* What is no name is for the tool to refuse. */
        {"work", "evaluate-lisp", "{\"session\":7}", false},
        /* A tool of a session's own, which nobody but the session knows. */
        {"work", "user.x", "{\"session\":\"work\"}", false},
        /* Where a session is made, its name says which is meant. */
        {"work", "create-session", "{\"name\":\"work\"}", false},
        {"=?base64?d29yaw==?=", "create-session", "{\"name\":\"work\"}", false},
        {NULL, "create-session", "{}", false},
        {NULL, "create-session", "{\"name\":\"work\"}", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct transport_headers headers = {
            .method = "tools/call", .name = rows[i].tool, .session = rows[i].session};
        char params[200];
        snprintf(params, sizeof params, "{\"name\":\"%s\",\"arguments\":%s}", rows[i].tool,
                 rows[i].arguments);
        if ((refuse_request(&headers, "tools/call", params) != NULL) != rows[i].is_refused)
            fail_msg("%s, %s", params, rows[i].session == NULL ? "no session" : rows[i].session);
    }
}

static const char *refuse_version(const struct transport_headers *headers, const char *method,
                                  const char *meta)
{
    json_t *object = json_loads(meta, 0, NULL);
    assert_non_null(object);
    const char *reason =
        request_headers_refuse_version(headers, object, (struct jsonrpc_slice){method, strlen(method)});
    json_decref(object);
    return reason;
}

TEST(the_version_must_be_that_of_the_body)
{
    struct transport_headers headers = {.version = "2026-07-28"};
    assert_null(refuse_version(NULL, "tools/list", "{\"" META_VERSION "\":\"x\"}"));
    assert_null(refuse_version(&headers, "tools/list", "{\"" META_VERSION "\":\"2026-07-28\"}"));
    assert_non_null(refuse_version(&headers, "tools/list", "{\"" META_VERSION "\":\"2025-11-25\"}"));
    /* What lacks its envelope is refused for that. */
    assert_null(refuse_version(&headers, "tools/list", "{}"));
    assert_null(refuse_version(&headers, "tools/list", "{\"" META_VERSION "\":7}"));
    assert_non_null(refuse_version(&headers, "initialize", "{}"));
    headers.is_ambiguous = true;
    assert_non_null(refuse_version(&headers, "tools/list", "{\"" META_VERSION "\":\"2026-07-28\"}"));
    headers = (struct transport_headers){.version = NULL};
    assert_non_null(refuse_version(&headers, "tools/list", "{\"" META_VERSION "\":\"2026-07-28\"}"));
}
