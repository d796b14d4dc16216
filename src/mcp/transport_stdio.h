/*
 * Messages over standard input and output, one per line. The only writer of stdout.
 */
#ifndef MCP_TRANSPORT_STDIO_H
#define MCP_TRANSPORT_STDIO_H

#include <uv.h>

#include "base/errors.h"
#include "mcp/transport.h"

struct client;
struct transport_stdio;

struct transport_stdio_events {
    struct client *client; /* whose messages are read */
    /* ${bytes} may be changed; they become invalid on return; ${origin} is NULL */
    void (*on_message)(struct client *client, struct transport_origin *origin, char *bytes, size_t len);
    void (*on_oversized)(struct client *client);
    void (*on_end)(void *arg);    /* end of input; called once, after the last message */
    void (*on_broken)(void *arg); /* writing stdout has failed (EPIPE) */
    void *arg;                    /* of these two */
};

/*
 * transport_stdio_new(loop, err), transport_stdio_begin(t, events):
 * Take over descriptors 0 and 1; begin to read. Pipes, sockets, terminals and regular files all work, for
 * both descriptors. A last line without a newline counts as a message. `\r\n` and blank lines are tolerated.
 *
 * Returns     given; NULL with ${err} set
 */
struct transport_stdio *transport_stdio_new(uv_loop_t *loop, struct err *err);
void transport_stdio_begin(struct transport_stdio *t, const struct transport_stdio_events *events);

/* transport_stdio_send(arg, message): a transport_send; ${arg} is the transport. Written at once if the peer
 * accepts it, otherwise queued in order. */
void transport_stdio_send(void *arg, const struct transport_message *message);

/* transport_stdio_free(t): write the queued lines, which may take two seconds, and free. Not from inside
 * on_message() or on_oversized(). NULL does nothing. */
void transport_stdio_free(struct transport_stdio *t);

#endif
