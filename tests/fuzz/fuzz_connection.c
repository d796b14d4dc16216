/*
 * Whole messages, one a line, into a connection with the tests' own tools. The first byte chooses the
 * handshake; a line that begins with + or - makes or closes the session of that name. What must hold: no
 * message brings it down, each gets at most one answer, and every answer and notification is JSON. Seeds are
 * in seeds/connection.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define FAKE_READABLE_TOOLS
#include "../unit/fake_tools.h"
#include "mcp/connection.h"
#include "mcp/json_text.h"
#include "session/session_host.h"
#include "session/sessions.h"
#include "tools/toolbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const revisions[] = {NULL, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

struct answers {
    size_t count;
    struct json_text text;
};

static void on_send(void *arg, const struct transport_message *message)
{
    struct answers *answers = arg;
    const char *bytes = message->bytes;
    size_t len = message->len;
    char *copy = malloc(len + 1);
    json_t *answer;

    CHECK(copy);
    CHECK(!memchr(bytes, '\n', len));
    memcpy(copy, bytes, len);
    /* An id may hold what only the scanner makes readable. */
    CHECK(json_text_scan(&answers->text, copy, len, NULL));
    answer = json_loadb(copy, len, JSON_ALLOW_NUL, NULL);
    CHECK(answer);
    answers->count += json_is_array(answer) || json_object_get(answer, "id");
    json_decref(answer);
    free(copy);
}

static void hand_over(struct connection *c, struct answers *answers, const char *bytes, size_t len)
{
    /* A copy of just that size, so that reading behind it is seen. */
    char *copy = malloc(len ? len : 1);

    CHECK(copy);
    memcpy(copy, bytes, len);
    answers->count = 0;
    connection_message(c, NULL, copy, len);
    CHECK(answers->count <= 1);
    free(copy);
}

static void come_or_go(struct sessions *sessions, const char *line, size_t len)
{
    char name[100];
    struct session *s;
    struct err err;

    snprintf(name, sizeof name, "%.*s", (int)(len < 90 ? len - 1 : 90), line + 1);
    s = sessions_find(sessions, name);
    if (*line == '+' && !s && sessions_count(sessions) < 20)
        sessions_create(sessions, name, &err);
    else if (*line == '-' && s)
        sessions_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct limits limits;
    struct session_host *host;
    struct toolbox toolbox = {0};
    static struct answers answers;
    struct connection_options options = {.listing = "full",
                                         .default_session = "default",
                                         .toolbox = &toolbox,
                                         .shows_log = true,
                                         .send = on_send,
                                         .arg = &answers};
    struct connection *c;
    const char *at = (const char *)data + 1, *end = (const char *)data + size, *newline, *revision;
    char hello[200];

    if (size < 2)
        return 0;
    json_text_init(&answers.text);
    host = session_host_new(&(struct session_host_options){.loop = uv_default_loop(), .limits = &limits});
    toolbox.sessions = sessions_new(host, &(struct sessions_options){0});
    options.wants_structured = data[0] & 8;
    c = connection_new(&options);
    revision = revisions[(data[0] & 7) % 5];
    if (revision) {
        snprintf(hello, sizeof hello,
                 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%"
                 "s\"}}",
                 revision);
        hand_over(c, &answers, hello, strlen(hello));
    }
    while (at < end) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (*at == '+' || *at == '-')
            come_or_go(toolbox.sessions, at, (size_t)((newline ? newline : end) - at));
        else
            hand_over(c, &answers, at, (size_t)((newline ? newline : end) - at));
        at = newline ? newline + 1 : end;
        if (fake_call_count > 3)
            fake_finish(1, "x", false);
    }
    if (data[0] & 16)
        connection_end(c);
    connection_free(c);
    sessions_free(toolbox.sessions);
    session_host_free(host);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    CHECK(fake_call_count == 0);
    json_text_fini(&answers.text);
    return 0;
}
