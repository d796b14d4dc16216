/*
 * The way out of a connection: everything sent to a client goes through its outbox.
 */
#ifndef MCP_OUTBOX_H
#define MCP_OUTBOX_H

#include "base/strbuf.h"
#include "mcp/transport.h"

struct outbox {
    transport_send *send;
    void *arg;
    struct strbuf text; /* of the message being written */
};

/* outbox_init(o, send, arg), outbox_fini(o). */
void outbox_init(struct outbox *o, transport_send *send, void *arg);
void outbox_fini(struct outbox *o);

/* outbox_mute(o): send nothing from now on. */
void outbox_mute(struct outbox *o);

/*
 * outbox_begin(o):
 * Begin a message, which outbox_end() sends. No other may be begun meanwhile.
 *
 * Returns     borrowed, empty
 */
struct strbuf *outbox_begin(struct outbox *o);

/*
 * outbox_end(o, origin, kind, code), outbox_send(o, origin, kind, code, text):
 * Send the message that was begun, or ${text}.
 *
 * origin      of the request that the message is about; NULL: none, or a request that has none
 * code        of an error; otherwise 0
 * text        borrowed; a whole message
 */
void outbox_end(struct outbox *o, struct transport_origin *origin, enum transport_kind kind, int code);
void outbox_send(const struct outbox *o, struct transport_origin *origin, enum transport_kind kind, int code,
                 const struct strbuf *text);

/* outbox_notify(o, origin, text): send a message that answers nothing. ${text} is borrowed. */
void outbox_notify(const struct outbox *o, struct transport_origin *origin, const struct strbuf *text);

#endif
