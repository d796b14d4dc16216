/*
 * Responsible for reporting to a client what other clients evaluated in its session.
 */
#include "tools/others.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"

#define MOST_CODE_BYTES 100
#define MOST_TOLD 3

struct evaluated {
    uint64_t client; /* 0: the entry is free */
    uint64_t at;     /* its position among all evaluations */
    char *session, *code;
};

struct told_client {
    uint64_t client; /* 0: the entry is free */
    uint64_t at;     /* the position of the last evaluation at that time */
    uint64_t used;   /* when this entry was last needed */
    char *session;
};

struct others {
    uint64_t evaluations, tellings; /* how many there were */
    struct evaluated evaluated[OTHERS_EVALUATIONS];
    struct told_client clients[OTHERS_CLIENTS];
};

struct others *others_new(void)
{
    return xcalloc(1, sizeof(struct others));
}

void others_free(struct others *others)
{
    if (others == NULL)
        return;
    for (size_t i = 0; i < OTHERS_EVALUATIONS; i++) {
        free(others->evaluated[i].session);
        free(others->evaluated[i].code);
    }
    for (size_t i = 0; i < OTHERS_CLIENTS; i++)
        free(others->clients[i].session);
    free(others);
}

/* The first line of the code. */
static char *beginning(const char *code, size_t len)
{
    struct strbuf text = {0};
    size_t line = 0;
    while (line < len && code[line] != '\n' && code[line] != '\0')
        line++;
    size_t shown = line > MOST_CODE_BYTES ? utf8_floor(code, line, MOST_CODE_BYTES) : line;
    strbuf_add(&text, code, shown);
    if (shown < len)
        strbuf_adds(&text, " ...");
    return strbuf_steal(&text, NULL);
}

void others_evaluated(struct others *others, uint64_t client, const char *session, const char *code,
                      size_t len)
{
    struct evaluated *e = &others->evaluated[others->evaluations % OTHERS_EVALUATIONS];
    free(e->session);
    free(e->code);
    *e = (struct evaluated){.client = client,
                            .at = ++others->evaluations,
                            .session = xstrdup(session),
                            .code = beginning(code, len)};
}

/* The entry for the client in that session; a new one replaces the entry that was not needed for longest. */
static struct told_client *client_told(struct others *others, uint64_t client, const char *session,
                                       bool *is_new)
{
    struct told_client *oldest = &others->clients[0];
    *is_new = false;
    for (size_t i = 0; i < OTHERS_CLIENTS; i++) {
        struct told_client *h = &others->clients[i];
        if (h->client == client && strcmp(h->session, session) == 0)
            return h;
        if (h->used < oldest->used)
            oldest = h;
    }
    free(oldest->session);
    *oldest = (struct told_client){.client = client, .session = xstrdup(session)};
    *is_new = true;
    return oldest;
}

static bool is_news(const struct evaluated *e, const struct told_client *h)
{
    return e->client != 0 && e->client != h->client && e->at > h->at && strcmp(e->session, h->session) == 0;
}

void others_tell(struct others *others, uint64_t client, const char *session, struct strbuf *out)
{
    bool is_new;
    struct told_client *h = client_told(others, client, session, &is_new);
    size_t count = 0, told = 0;
    for (size_t i = 0; i < OTHERS_EVALUATIONS && !is_new; i++)
        count += is_news(&others->evaluated[i], h);
    if (count > 0) {
        strbuf_adds(out,
                    "\n\n[Other clients]\nSince your last call another client evaluated in this session:");
        /* Oldest first. */
        for (size_t i = 0; i < OTHERS_EVALUATIONS; i++) {
            const struct evaluated *e = &others->evaluated[(others->evaluations + i) % OTHERS_EVALUATIONS];
            if (!is_news(e, h) || told++ + MOST_TOLD < count)
                continue;
            strbuf_addf(out, "\n  %s", e->code);
        }
        if (count > MOST_TOLD)
            strbuf_addf(out, "\nand before that %s; session-history shows them.",
                        text_count(count - MOST_TOLD, "more evaluation").text);
    }
    h->at = others->evaluations;
    h->used = ++others->tellings;
}
