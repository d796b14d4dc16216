/*
 * A stream of server-sent events: messages in, bytes of text/event-stream out. It lives apart from the HTTP
 * response that carries it, so that a client that lost its connection can go on reading where it was.
 *
 * A stream that has ended is freed with its reader, or at once when it has none.
 */
#ifndef HTTP_STREAM_H
#define HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/strbuf.h"

struct event_log;

/* Whoever carries a stream to a client. */
struct stream_reader {
    void (*on_readable)(void *arg); /* there is something to take, or it has ended */
    void (*on_overrun)(
        void *arg); /* the client does not read: let it go; the stream has forgotten the reader */
    void *arg;
};

struct stream {
    struct list node;                   /* for the owner's use; in no list at first */
    uint64_t id, sequence;              /* of the last event */
    struct event_log *log;              /* borrowed; NULL: events have no ids and are not kept */
    const struct stream_reader *reader; /* NULL: none */
    struct strbuf pending;              /* for the reader, from ${taken} on */
    size_t taken;
    bool ends_with_reader; /* nothing will come: it stays for as long as its reader does */
    bool is_ended;
};

/* stream_new(log, id): ${log} may be NULL. */
struct stream *stream_new(struct event_log *log, uint64_t id);

/* stream_prime(s): an event without data, by whose id a client can come back before there was any other. */
void stream_prime(struct stream *s);

/* stream_send(s, bytes, len): one message without newlines in it. stream_keep_alive(s): a comment, if nothing
 * else waits. */
void stream_send(struct stream *s, const char *bytes, size_t len);
void stream_keep_alive(struct stream *s);

/* stream_end(s): nothing more will come. The owner forgets the stream. */
void stream_end(struct stream *s);

/* stream_attach(s, reader), stream_detach(s): ${reader} is borrowed. A stream that had one lets go of it by
 * on_overrun(). */
void stream_attach(struct stream *s, const struct stream_reader *reader);
void stream_detach(struct stream *s);

/* stream_replay(s, after): for the reader, what the log has of it behind that event. */
void stream_replay(struct stream *s, uint64_t after);

/* stream_take(s, bytes, len): move at most ${len} bytes to ${bytes}; 0: nothing at the moment; -1: it has
 * ended. */
ssize_t stream_take(struct stream *s, char *bytes, size_t len);

#endif
