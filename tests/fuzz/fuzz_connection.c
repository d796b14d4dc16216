/*
 * Whole messages, one per line, into a connection with the tests' own tools. The first byte selects the
 * handshake; a line that begins with + or - creates or closes the session of that name, after a ? the
 * code of the newest call asks for input, with the rest as its prompt, and after a ~ the time for the answer
 * is over. Invariants: no message crashes it, each gets at most one answer, every answer and notification is
 * JSON, and no question is answered twice or late. Seeds are in seeds/connection.
 *
 * What cannot be guessed is filled in: 32 times S in a message stands for the last requestState that the
 * connection has sent, 32 times T for the last taskId.
 *
 * One bit of the first byte makes the messages arrive as over HTTP: each with an origin, and a line that
 * begins with ! abandons those in progress. Each origin is over once, and nothing is sent to it afterwards.
 */
#include <stdio.h>
#include <uv.h>

#include "fuzz.h"
#define FAKE_READABLE_TOOLS
#include "../unit/fake_tools.h"
#include "calls/toolbox.h"
#include "mcp/connection.h"
#include "mcp/requests.h"
#include "mcp/tasks.h"
#include "session/session_host.h"
#include "session/sessions.h"

static const char *const revisions[] = {NULL, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

#define ORIGINS 16
#define SECRET 32 /* characters of a requestState or a taskId */

struct answers {
    size_t count;
    char state[SECRET], task[SECRET];
    struct transport_origin origins[ORIGINS];
    bool is_under_way[ORIGINS];
};

static void on_over(void *arg, struct transport_origin *origin)
{
    struct answers *answers = arg;
    size_t n = (size_t)(origin - answers->origins);
    CHECK(n < ORIGINS && answers->is_under_way[n]);
    answers->is_under_way[n] = false;
}

/* An origin that is not in use; NULL if all are. */
static struct transport_origin *new_origin(struct answers *answers, const struct transport_headers *headers)
{
    size_t n = 0;
    while (n < ORIGINS && answers->is_under_way[n])
        n++;
    if (n == ORIGINS)
        return NULL;
    answers->is_under_way[n] = true;
    answers->origins[n].headers = headers;
    return &answers->origins[n];
}

static void abandon_all(struct client *c, struct answers *answers)
{
    for (size_t n = 0; n < ORIGINS; n++) {
        if (answers->is_under_way[n])
            requests_abandon(c, &answers->origins[n]);
        answers->is_under_way[n] = false;
    }
}

/* The value of the member, if the message has it: it is put into ${secret}. */
static void note_secret(char secret[SECRET], const json_t *answer, const char *name)
{
    const char *value = json_string_value(json_object_get(json_object_get(answer, "result"), name));
    if (value && strlen(value) == SECRET)
        memcpy(secret, value, SECRET);
}

static void fill_in(char *bytes, size_t len, char mark, const char secret[SECRET])
{
    char marks[SECRET], *found;
    memset(marks, mark, SECRET);
    while ((found = memmem(bytes, len, marks, SECRET)) && memcmp(marks, secret, SECRET))
        memcpy(found, secret, SECRET);
}

static void on_send(void *arg, const struct transport_message *message)
{
    struct answers *answers = arg;
    const char *bytes = message->bytes;
    size_t len = message->len;
    CHECK(!memchr(bytes, '\n', len));
    CHECK(!message->origin || answers->is_under_way[message->origin - answers->origins]);
    json_t *answer = json_loadb(bytes, len, JSON_ALLOW_NUL, NULL);
    CHECK(answer);
    /* What has a method is a request to the client. */
    answers->count +=
        json_is_array(answer) || (json_object_get(answer, "id") && !json_object_get(answer, "method"));
    note_secret(answers->state, answer, "requestState");
    note_secret(answers->task, answer, "taskId");
    json_decref(answer);
}

static void hand_over(struct client *c, struct answers *answers, struct transport_origin *origin,
                      const char *bytes, size_t len)
{
    /* A copy of exactly that size, so that an overrun is detected. */
    char *copy = malloc(len ? len : 1);

    CHECK(copy);
    memcpy(copy, bytes, len);
    fill_in(copy, len, 'S', answers->state);
    fill_in(copy, len, 'T', answers->task);
    answers->count = 0;
    connection_message(c, origin, copy, len);
    CHECK(answers->count <= 1);
    free(copy);
}

static void come_or_go(struct sessions *sessions, const char *line, size_t len)
{
    char name[100];
    struct err err;
    snprintf(name, sizeof name, "%.*s", (int)(len < 90 ? len - 1 : 90), line + 1);
    struct session *s = sessions_find(sessions, name);
    if (*line == '+' && !s && sessions_count(sessions) < 20)
        sessions_create(sessions, name, &err);
    else if (*line == '-' && s)
        sessions_close(s);
}

static void ask(const char *line, size_t len)
{
    char prompt[100];
    snprintf(prompt, sizeof prompt, "%.*s", (int)(len < 90 ? len - 1 : 90), line + 1);
    fake_ask(prompt);
}

FUZZ(data, size)
{
    static const struct limits limits;
    static struct session_host *host; /* one for all: making it reads files of the system */
    struct toolbox toolbox = {0};
    static const struct transport_headers headers = {
        .version = "2026-07-28", .method = "tools/call", .name = "wait"};
    static struct answers answers;
    struct connection_options options = {.default_session = "default",
                                         .toolbox = &toolbox,
                                         .shows_log = true,
                                         .send = on_send,
                                         .send_arg = &answers,
                                         .on_over = on_over,
                                         .arg = &answers};
    const char *at = data + 1, *end = data + size, *newline, *revision;
    char hello[200];

    if (size < 2)
        return;
    if (!host)
        host = session_host_new(&(struct session_host_options){.loop = uv_default_loop(), .limits = &limits});
    toolbox.sessions = sessions_new(host, &(struct sessions_options){0});
    options.wants_structured = data[0] & 8;
    options.is_stateless = data[0] & 64;
    options.initializes_once = (data[0] & 96) == 32;
    toolbox.loop = uv_default_loop();
    toolbox.tasks = tasks_new(toolbox.loop);
    memset(answers.is_under_way, 0, sizeof answers.is_under_way);
    memset(answers.state, 'S', SECRET);
    memset(answers.task, 'T', SECRET);
    struct client *c = connection_new(&options);
    revision = revisions[(data[0] & 7) % 5];
    if (revision) {
        snprintf(hello, sizeof hello,
                 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%"
                 "s\"}}",
                 revision);
        hand_over(c, &answers, NULL, hello, strlen(hello));
    }
    while (at < end) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (*at == '+' || *at == '-')
            come_or_go(toolbox.sessions, at, (size_t)((newline ? newline : end) - at));
        else if (*at == '!')
            abandon_all(c, &answers);
        else if (*at == '?')
            ask(at, (size_t)((newline ? newline : end) - at));
        else if (*at == '~')
            fake_expire();
        else
            hand_over(c, &answers, data[0] & 32 ? new_origin(&answers, &headers) : NULL, at,
                      (size_t)((newline ? newline : end) - at));
        at = newline ? newline + 1 : end;
        if (fake_call_count > 3)
            fake_finish(1, "x", false);
    }
    if (data[0] & 16)
        connection_end(c);
    connection_free(c);
    tasks_free(toolbox.tasks);
    sessions_free(toolbox.sessions);
    uv_run(uv_default_loop(), UV_RUN_NOWAIT);
    CHECK(fake_call_count == 0);
}
