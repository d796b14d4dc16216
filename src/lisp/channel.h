/*
 * The server's end of the socket to one Lisp: sends whole messages, delivers parsed ones. Knows the
 * framing but not the meaning.
 */
#ifndef LISP_CHANNEL_H
#define LISP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/errors.h"
#include "wire/sexp.h"

struct channel;
struct frame_format;
struct strbuf;

struct channel_events {
    /* A message has arrived; given. The channel may be freed in this callback. */
    void (*on_message)(void *arg, struct sexp_document *message);
    /* No more messages will come: the peer closed, or sent something that is not a message (${why} is then
     * set). Called once; the channel may be freed in this callback. */
    void (*on_closed)(void *arg, const struct err *why);
    /* A whole frame has arrived that holds no value of the agent protocol. NULL: that closes the channel. */
    void (*on_unreadable)(void *arg, const struct err *why);
    void *arg;
};

#define CHANNEL_MAX_DESCRIPTORS 3

/*
 * channel_new(loop, fd, format, events): ${fd} is taken. channel_free(c): close it; no event follows.
 * channel_hang_up(c): both ends find it closed, this one in a later turn of the loop.
 */
struct channel *channel_new(uv_loop_t *loop, int fd, const struct frame_format *format,
                            const struct channel_events *events);
void channel_free(struct channel *c);
void channel_hang_up(struct channel *c);

/*
 * channel_send(c, frame, descriptors, count):
 * Send one frame: at once as far as the socket accepts it, the rest later. A peer that leaves 64 MiB unread
 * is hung up on.
 *
 * frame        borrowed; header included
 * descriptors  taken: sent with the first byte, then closed here; NULL for none
 * count        at most CHANNEL_MAX_DESCRIPTORS
 * Returns      false if the peer has closed or was hung up on, so that it cannot read all of the frame
 */
bool channel_send(struct channel *c, const struct strbuf *frame, const int *descriptors, size_t count);

/* channel_was_unread(c): whether the peer closed without reading everything that was sent. */
bool channel_was_unread(struct channel *c);

/*
 * channel_drain(c):
 * Deliver what is in the socket now, without waiting; for a process that is known to be dead. What its
 * children write meanwhile is not read. The channel may be freed during the call.
 */
void channel_drain(struct channel *c);

#endif
