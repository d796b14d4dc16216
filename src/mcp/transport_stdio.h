/*
 * Messages over standard input and output, one per line. The only writer of stdout.
 */
#ifndef MCP_TRANSPORT_STDIO_H
#define MCP_TRANSPORT_STDIO_H

#include <uv.h>

#include "base/errors.h"
#include "mcp/transport.h"

struct transport_stdio;

struct transport_stdio_events {
    /* ${bytes} may be changed; they become invalid on return */
    void (*on_message)(void *arg, char *bytes, size_t len);
    void (*on_oversized)(void *arg);
    void (*on_end)(void *arg);    /* end of input; called once, after the last message */
    void (*on_broken)(void *arg); /* writing stdout has failed (EPIPE) */
    void *arg;
};

/*
 * transport_stdio_new(loop, events, err):
 * Begin to read descriptor 0. Pipes, sockets, terminals and regular files all work, for both descriptors.
 * A last line without a newline counts as a message. `\r\n` and blank lines are tolerated.
 *
 * Returns     given; NULL with ${err} set
 */
struct transport_stdio *transport_stdio_new(uv_loop_t *loop, const struct transport_stdio_events *events,
                                            struct err *err);

/* transport_stdio_send(arg, bytes, len): a transport_send; ${arg} is the transport. Written at once if the
 * peer accepts it, otherwise queued in order. */
void transport_stdio_send(void *arg, const char *bytes, size_t len);

/* transport_stdio_free(t): write the queued lines, which may take two seconds, and free. Not from inside
 * on_message() or on_oversized(). NULL does nothing. */
void transport_stdio_free(struct transport_stdio *t);

#endif
