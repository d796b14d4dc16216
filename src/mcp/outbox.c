/*
 * Responsible for passing messages to the transport, and for the buffer in which they are written.
 */
#include "mcp/outbox.h"

/* A buffer that one large message has grown beyond this is freed. */
#define KEPT_CAPACITY (1u << 20)

void outbox_init(struct outbox *o, transport_send *send, void *arg)
{
    o->send = send;
    o->arg = arg;
    strbuf_init(&o->text, 0);
}

void outbox_fini(struct outbox *o)
{
    strbuf_fini(&o->text);
}

static void send_nothing(void *arg, const struct transport_message *message)
{
}

void outbox_mute(struct outbox *o)
{
    o->send = send_nothing;
}

struct strbuf *outbox_begin(struct outbox *o)
{
    strbuf_clear(&o->text);
    return &o->text;
}

void outbox_send(const struct outbox *o, struct transport_origin *origin, enum transport_kind kind, int code,
                 const struct strbuf *text)
{
    struct transport_message message = {
        .origin = origin,
        .kind = kind,
        .code = code,
        .bytes = strbuf_string(text),
        .len = text->len,
    };
    o->send(o->arg, &message);
}

void outbox_end(struct outbox *o, struct transport_origin *origin, enum transport_kind kind, int code)
{
    outbox_send(o, origin, kind, code, &o->text);
    if (o->text.capacity > KEPT_CAPACITY)
        strbuf_fini(&o->text);
}

void outbox_notify(const struct outbox *o, struct transport_origin *origin, const struct strbuf *text)
{
    outbox_send(o, origin, TRANSPORT_NOTIFICATION, 0, text);
}
