/*
 * Our end of the socket to one Lisp process: whole messages out, parsed messages in. Knows the framing, not
 * the meaning.
 */
#ifndef LISP_CHANNEL_H
#define LISP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/errors.h"
#include "wire/sexp.h"

struct channel;
struct strbuf;

struct channel_events {
    /* A message arrived: given. The channel may be freed in it. */
    void (*on_message)(void *arg, struct sexp_document *message);
    /* Nothing more will come: the peer closed, or sent what is no message (then ${why} is set). Called once;
     * the channel may be freed in it. */
    void (*on_closed)(void *arg, const struct err *why);
    void *arg;
};

#define CHANNEL_MAX_DESCRIPTORS 3

/*
 * channel_new(loop, fd, events): ${fd} is taken. channel_free(c): closes it; no event comes after this.
 */
struct channel *channel_new(uv_loop_t *loop, int fd, const struct channel_events *events);
void channel_free(struct channel *c);

/*
 * channel_send(c, frame, descriptors, count):
 * Send one frame, at once where the socket takes it, else when it does.
 *
 * frame        borrowed; header included
 * descriptors  taken: travel with the first byte and are closed here once sent; NULL for none
 * count        at most CHANNEL_MAX_DESCRIPTORS
 */
void channel_send(struct channel *c, const struct strbuf *frame, const int *descriptors, size_t count);

/* channel_was_unread(c): the peer has closed, and had not read all that was sent. */
bool channel_was_unread(struct channel *c);

/*
 * channel_drain(c):
 * Deliver what lies in the socket now, without waiting; for a process that is known to be dead. What its
 * children write meanwhile is left unread. The channel may be freed in it.
 */
void channel_drain(struct channel *c);

#endif
