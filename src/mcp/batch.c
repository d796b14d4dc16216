/*
 * Responsible for collecting the answers to a batch.
 */
#include "mcp/batch.h"

#include <stdlib.h>

#include "base/memory.h"
#include "mcp/outbox.h"

/* The answers are built and held in one turn of the loop if their requests do not wait, so this bounds the
 * time that others wait, too. */
#define MOST_ANSWERS ((size_t)16 << 20)

struct batch {
    struct outbox *outbox;
    struct transport_origin *origin;
    size_t holders;
    struct strbuf answers; /* a JSON array that is still open */
    size_t begins;         /* where the current answer begins in it */
};

struct batch *batch_new(struct outbox *outbox, struct transport_origin *origin)
{
    struct batch *b = xcalloc(1, sizeof *b);
    b->outbox = outbox;
    b->origin = origin;
    b->holders = 1;
    strbuf_init(&b->answers, 0);
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
        outbox_send(b->outbox, b->origin, TRANSPORT_RESULT, 0, &b->answers);
    }
    strbuf_fini(&b->answers);
    free(b);
}

bool batch_is_full(const struct batch *b)
{
    return b->answers.len > MOST_ANSWERS;
}

struct strbuf *batch_begin_answer(struct batch *b)
{
    b->begins = b->answers.len;
    strbuf_addc(&b->answers, b->answers.len > 0 ? ',' : '[');
    return &b->answers;
}

struct strbuf *batch_answer(struct batch *b)
{
    return &b->answers;
}

bool batch_drop_answer(struct batch *b)
{
    if (b->begins <= MOST_ANSWERS)
        return false;
    b->answers.len = b->begins;
    b->answers.bytes[b->begins] = '\0';
    return true;
}
