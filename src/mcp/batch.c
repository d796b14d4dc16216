/*
 * Responsible for collecting the answers to a batch.
 */
#include "mcp/batch.h"

#include <stdlib.h>

#include "base/memory.h"
#include "mcp/client.h"

/* The answers are built and held in one turn of the loop if their requests do not wait, so this bounds the
 * time that others wait, too. */
#define MOST_ANSWERS ((size_t)16 << 20)

struct batch {
    struct client *client;
    struct transport_origin *origin;
    size_t holders;
    struct strbuf answers; /* a JSON array that is still open */
};

struct batch *batch_new(struct client *client, struct transport_origin *origin)
{
    struct batch *b = xcalloc(1, sizeof *b);
    b->client = client;
    b->origin = origin;
    b->holders = 1;
    return b;
}

void batch_hold(struct batch *b)
{
    b->holders++;
}

void batch_release(struct batch *b)
{
    if (--b->holders > 0)
        return;
    if (b->answers.len > 0 && !(b->origin != NULL && b->origin->is_abandoned)) {
        strbuf_addc(&b->answers, ']');
        client_send(b->client, b->origin, TRANSPORT_RESULT, 0, &b->answers);
    }
    strbuf_fini(&b->answers);
    free(b);
}

bool batch_is_full(const struct batch *b)
{
    return b->answers.len > MOST_ANSWERS;
}

void batch_add(struct batch *b, const struct strbuf *answer)
{
    strbuf_addc(&b->answers, b->answers.len > 0 ? ',' : '[');
    strbuf_add(&b->answers, answer->bytes, answer->len);
}
