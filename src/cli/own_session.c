/*
 * Responsible for a whole conversation with the server at once: all requests are written first, since
 * the server answers everything it has read before it ends.
 */
#include "cli/own_session.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "cli/run_program.h"
#include "proc/cpu_grace.h"

/* The first call may build the image. */
enum { LIMIT_MS = 90000, MOST_OPTIONS = 64 };

static void add_message(struct strbuf *out, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    strbuf_addf(out, "%s\n", text);
    free(text);
    json_decref(message);
}

static size_t write_requests(struct strbuf *out, const char *const *codes)
{
    add_message(out, json_pack("{ss si ss s{ss s{} s{ssss}}}", "jsonrpc", "2.0", "id", 0, "method",
                               "initialize", "params", "protocolVersion", "2025-06-18", "capabilities",
                               "clientInfo", "name", "cl-mcp-server-doctor", "version", CL_MCP_VERSION));
    add_message(out, json_pack("{ss ss}", "jsonrpc", "2.0", "method", "notifications/initialized"));
    size_t count = 0;
    for (; codes[count] != NULL && count < OWN_SESSION_MOST_CALLS; count++)
        add_message(out, json_pack("{ss si ss s{ss s{ss}}}", "jsonrpc", "2.0", "id", (int)count + 1, "method",
                                   "tools/call", "params", "name", "evaluate-lisp", "arguments", "code",
                                   codes[count]));
    return count;
}

/* Handle one line from the server. True if it answers a call. */
static bool take_line(struct own_session *s, const char *line, size_t len)
{
    json_t *message = json_loadb(line, len, 0, NULL);
    json_int_t id = json_integer_value(json_object_get(message, "id"));
    const json_t *result = json_object_get(message, "result");
    bool is_answer = id >= 1 && id <= OWN_SESSION_MOST_CALLS && json_is_object(result);
    if (is_answer) {
        const json_t *content = json_array_get(json_object_get(result, "content"), 0);
        const char *text = json_string_value(json_object_get(content, "text"));
        strbuf_adds(&s->replies[id - 1], text == NULL ? "" : text);
        s->is_error[id - 1] = json_is_true(json_object_get(result, "isError"));
    }
    json_decref(message);
    return is_answer;
}

static size_t take_lines(struct own_session *s, const struct strbuf *output)
{
    size_t answers = 0;
    const char *line = strbuf_string(output);
    while (*line != '\0') {
        size_t len = strcspn(line, "\n");
        answers += take_line(s, line, len);
        line += len + (line[len] == '\n');
    }
    return answers;
}

bool own_session_run(const char *const *options, const char *const *codes, struct own_session *out,
                     struct err *err)
{
    char self[PATH_MAX] = "";
    size_t self_size = sizeof self;
    const char *argv[MOST_OPTIONS + 2] = {self};
    struct strbuf input = {0};
    struct program_result result;
    *out = (struct own_session){.log = {.bytes = NULL}};
    uv_exepath(self, &self_size);
    for (size_t i = 0; options[i] != NULL && i < MOST_OPTIONS; i++)
        argv[i + 1] = options[i];
    size_t count = write_requests(&input, codes);
    bool is_run = run_program(argv, strbuf_string(&input), cpu_grace_stretched(LIMIT_MS), &result, err);
    size_t answers = take_lines(out, &result.output);
    strbuf_add(&out->log, strbuf_string(&result.errors), result.errors.len);
    program_result_fini(&result);
    strbuf_fini(&input);
    if (is_run && answers < count) {
        const char *log = strbuf_string(&out->log);
        int shown = out->log.len > 400 ? 400 : (int)out->log.len;
        return err_set(err, ERR_START, "the server ended without an answer: %.*s", shown, log);
    }
    return is_run;
}

void own_session_fini(struct own_session *session)
{
    for (size_t i = 0; i < OWN_SESSION_MOST_CALLS; i++)
        strbuf_fini(&session->replies[i]);
    strbuf_fini(&session->log);
}
