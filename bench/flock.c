/*
 * Many sessions of one server.
 */
#include "flock.h"

#include <stdio.h>
#include <string.h>

#define IN_FLIGHT 64

void flock_write_create(struct bench *b, long n)
{
    char text[160];
    snprintf(text, sizeof text, CALL("create-session", "\"name\":\"b%ld\""), n);
    client_write_request(b, text);
}

long flock_write_evaluate(struct bench *b, long n, const char *code, int timeout_s)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_addf(&text, CALL("evaluate-lisp", "\"session\":\"b%ld\",\"timeout\":%d,\"code\":\"%s\""), n,
                timeout_s, code);
    client_write_request(b, strbuf_string(&text));
    strbuf_fini(&text);
    return b->last_id;
}

/* The text of a reply that was not the expected one. */
static void keep_reason(char *out, size_t size, const char *reply, size_t len)
{
    static const char mark[] = "\"text\":\"";
    const char *text = memmem(reply, len, mark, sizeof mark - 1);
    size_t skipped = text == NULL ? 0 : (size_t)(text - reply) + sizeof mark - 1;
    size_t n = len - skipped < 300 ? len - skipped : 300;
    const char *end = memchr(reply + skipped, '"', n);
    snprintf(out, size, "%.*s", end == NULL ? (int)n : (int)(end - reply - (long)skipped), reply + skipped);
}

long flock_pipeline(struct bench *b, struct peer *server, long count, flock_writer *write,
                    const char *expected, char *reason, size_t size)
{
    long sent = 0, answered = 0, good = 0;
    reason[0] = '\0';
    strbuf_clear(&b->line);
    while (answered < count && (reason[0] == '\0' || answered < sent)) {
        while (sent < count && sent - answered < IN_FLIGHT && reason[0] == '\0')
            write(b, sent++);
        client_send(b, server);
        size_t len;
        const char *reply = peer_receive(server, &len);
        answered++;
        if (memmem(reply, len, expected, strlen(expected)) != NULL)
            good++;
        else if (reason[0] == '\0')
            keep_reason(reason, size, reply, len);
    }
    return good;
}

double flock_call(struct bench *b, struct peer *server, long n, const char *code, const char *expected)
{
    strbuf_clear(&b->line);
    flock_write_evaluate(b, n, code, 60);
    double start = measure_now_ms();
    client_send(b, server);
    size_t len;
    const char *reply = peer_receive(server, &len);
    double end = measure_now_ms();
    client_verify(server, reply, len, expected);
    return end - start;
}

void flock_print_calls(struct bench *b, const char *name, struct samples *s)
{
    table_add(&b->table, &(struct row){
                             .name = name,
                             .p50_ms = samples_quantile(s, 0.5),
                             .p99_ms = samples_quantile(s, 0.99),
                             .best_ms = samples_quantile(s, 0),
                         });
}
