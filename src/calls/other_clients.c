/*
 * Responsible for reporting to a client what other clients evaluated in its session.
 */
#include "calls/other_clients.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "report/section.h"

#define MOST_CODE_BYTES 100
#define MOST_TOLD 3

struct evaluated {
    uint64_t client; /* 0: the entry is free */
    uint64_t at;     /* its position among all evaluations */
    char *session;
    struct strbuf code; /* its first line */
};

struct other_clients {
    uint64_t evaluations; /* how many there were */
    struct evaluated evaluated[OTHER_CLIENTS_EVALUATIONS];
    json_t *told; /* "CLIENT SESSION": how many there were when it was told last; whom that was least lately
                     first */
};

struct other_clients *other_clients_new(void)
{
    struct other_clients *others = xcalloc(1, sizeof *others);
    others->told = json_object();
    return others;
}

void other_clients_free(struct other_clients *others)
{
    if (others == NULL)
        return;
    for (size_t i = 0; i < OTHER_CLIENTS_EVALUATIONS; i++) {
        free(others->evaluated[i].session);
        strbuf_fini(&others->evaluated[i].code);
    }
    json_decref(others->told);
    free(others);
}

void other_clients_evaluated(struct other_clients *others, uint64_t client, const char *session,
                             const char *code, size_t len)
{
    struct evaluated *e = &others->evaluated[others->evaluations % OTHER_CLIENTS_EVALUATIONS];
    free(e->session);
    strbuf_fini(&e->code);
    *e = (struct evaluated){.client = client, .at = ++others->evaluations, .session = xstrdup(session)};
    section_add_first_line(&e->code, code, len, MOST_CODE_BYTES);
}

static bool is_news(const struct evaluated *e, uint64_t client, const char *session, uint64_t since)
{
    return e->client != 0 && e->client != client && e->at > since && strcmp(e->session, session) == 0;
}

/* How many evaluations there were when it was last told, which is now; all, if it is new here. */
static uint64_t note_told(struct other_clients *others, uint64_t client, const char *session)
{
    struct strbuf key = {0};
    strbuf_addf(&key, "%llu %s", (unsigned long long)client, session);
    const json_t *before = json_object_get(others->told, key.bytes);
    uint64_t since = before == NULL ? others->evaluations : (uint64_t)json_integer_value(before);
    json_object_del(others->told, key.bytes);
    if (json_object_size(others->told) == OTHER_CLIENTS_MOST)
        json_object_del(others->told, json_object_iter_key(json_object_iter(others->told)));
    json_object_set_new(others->told, key.bytes, json_integer((json_int_t)others->evaluations));
    strbuf_fini(&key);
    return since;
}

void other_clients_tell(struct other_clients *others, uint64_t client, const char *session,
                        struct strbuf *out)
{
    uint64_t since = note_told(others, client, session);
    size_t count = 0, told = 0;
    for (size_t i = 0; i < OTHER_CLIENTS_EVALUATIONS; i++)
        count += is_news(&others->evaluated[i], client, session, since);
    if (count == 0)
        return;
    section_begin(out, HEADING_OTHER_CLIENTS);
    strbuf_adds(out, "Since your last call another client evaluated in this session:");
    /* Oldest first. */
    for (size_t i = 0; i < OTHER_CLIENTS_EVALUATIONS; i++) {
        const struct evaluated *e = &others->evaluated[(others->evaluations + i) % OTHER_CLIENTS_EVALUATIONS];
        if (is_news(e, client, session, since) && told++ + MOST_TOLD >= count)
            strbuf_addf(out, "\n  %s", strbuf_string(&e->code));
    }
    if (count > MOST_TOLD)
        strbuf_addf(out, "\nand before that %s; session-history shows them.",
                    text_count(count - MOST_TOLD, "more evaluation").text);
}
