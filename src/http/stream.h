/*
 * A stream of server-sent events: takes messages, produces bytes of text/event-stream. It is independent
 * of the HTTP response that carries it, so a client that lost its connection can resume it.
 *
 * A stream that has ended is freed with its reader, or at once if it has none.
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

/* What carries a stream to a client. */
struct stream_reader {
    void (*on_readable)(void *arg); /* bytes are available, or the stream has ended */
    /* the client does not read: disconnect it; the stream has already detached the reader */
    void (*on_overrun)(void *arg);
    void *arg;
};

struct stream {
    struct list node;                   /* for the owner's use; in no list at first */
    uint64_t id, sequence;              /* of the last event */
    struct event_log *log;              /* borrowed; NULL: events have no ids and are not kept */
    const struct stream_reader *reader; /* NULL: none */
    struct strbuf pending;              /* for the reader, from ${taken} on */
    size_t taken;
    void (*on_empty)(void *arg); /* the reader has taken everything; NULL: nobody waits for that */
    void *arg;
    bool ends_with_reader; /* nothing more will be sent: free it with its reader */
    bool is_ended;
};

/* stream_new(log, id): ${log} may be NULL. */
struct stream *stream_new(struct event_log *log, uint64_t id);

/* stream_prime(s): send an event without data: its id lets a client resume before the first other event. */
void stream_prime(struct stream *s);

/* stream_pass(s, bytes, len): send bytes as they are: the stream is somebody else's answer. stream_send(s,
 * bytes, len): send one message, which must not contain newlines. stream_keep_alive(s): send a comment, if
 * nothing is queued. */
void stream_pass(struct stream *s, const char *bytes, size_t len);
void stream_send(struct stream *s, const char *bytes, size_t len);
void stream_keep_alive(struct stream *s);

/* stream_end(s): nothing more will be sent. The owner must not use the stream afterwards. */
void stream_end(struct stream *s);

/* stream_attach(s, reader), stream_detach(s): ${reader} is borrowed. A stream that had another reader calls
 * that one's on_overrun(). */
void stream_attach(struct stream *s, const struct stream_reader *reader);
void stream_detach(struct stream *s);

/* stream_replay(s, after): queue the events after ${after} that the log has kept. */
void stream_replay(struct stream *s, uint64_t after);

/* stream_unread(s): the number of bytes that are queued. */
size_t stream_unread(const struct stream *s);

/* stream_take(s, bytes, len): move at most ${len} bytes to ${bytes}. 0: none is queued; -1: the stream has
 * ended. */
ssize_t stream_take(struct stream *s, char *bytes, size_t len);

#endif
