/*
 * Responsible for the text of server-sent events, and for the reader's queue.
 */
#include "http/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/event_log.h"
#include "http/limits.h"

/* A buffer that one large message has grown beyond this is freed. */
#define KEPT_CAPACITY (64u << 10)

struct stream *stream_new(struct event_log *log, uint64_t id)
{
    struct stream *s = xcalloc(1, sizeof *s);
    list_init(&s->node);
    s->log = log;
    s->id = id;
    return s;
}

static void stream_free(struct stream *s)
{
    list_remove(&s->node);
    strbuf_fini(&s->pending);
    free(s);
}

static void empty(struct stream *s)
{
    s->taken = 0;
    if (s->pending.capacity > KEPT_CAPACITY)
        strbuf_fini(&s->pending);
    else
        strbuf_clear(&s->pending);
}

static void let_go(struct stream *s)
{
    const struct stream_reader *reader = s->reader;
    s->reader = NULL;
    empty(s);
    if (reader != NULL)
        reader->on_overrun(reader->arg);
}

static void add_event(struct stream *s, uint64_t sequence, const char *bytes, size_t len)
{
    strbuf_adds(&s->pending, "event: message\n");
    if (s->log != NULL)
        strbuf_addf(&s->pending, "id: %" PRIu64 "-%" PRIu64 "\n", s->id, sequence);
    strbuf_adds(&s->pending, "data: ");
    strbuf_add(&s->pending, bytes, len);
    strbuf_adds(&s->pending, "\n\n");
}

static void tell(struct stream *s)
{
    if (s->reader != NULL)
        s->reader->on_readable(s->reader->arg);
}

void stream_prime(struct stream *s)
{
    if (s->log == NULL)
        return;
    strbuf_addf(&s->pending, "id: %" PRIu64 "-0\ndata: \n\n", s->id);
    tell(s);
}

size_t stream_unread(const struct stream *s)
{
    return s->pending.len - s->taken;
}

void stream_pass(struct stream *s, const char *bytes, size_t len)
{
    if (s->reader == NULL)
        return;
    strbuf_add(&s->pending, bytes, len);
    tell(s);
}

void stream_send(struct stream *s, const char *bytes, size_t len)
{
    s->sequence++;
    if (s->log != NULL)
        event_log_add(s->log, s->id, s->sequence, bytes, len);
    if (s->reader == NULL)
        return;
    if (stream_unread(s) > HTTP_MOST_PENDING_BYTES) {
        let_go(s);
        return;
    }
    add_event(s, s->sequence, bytes, len);
    tell(s);
}

void stream_keep_alive(struct stream *s)
{
    if (s->reader == NULL || s->pending.len > s->taken)
        return;
    strbuf_adds(&s->pending, ": keep-alive\n\n");
    tell(s);
}

void stream_end(struct stream *s)
{
    s->is_ended = true;
    list_remove(&s->node);
    if (s->reader == NULL)
        stream_free(s);
    else
        tell(s);
}

void stream_attach(struct stream *s, const struct stream_reader *reader)
{
    if (s->reader != NULL)
        let_go(s);
    s->reader = reader;
}

void stream_detach(struct stream *s)
{
    s->reader = NULL;
    empty(s);
    if (s->ends_with_reader)
        list_remove(&s->node);
    if (s->is_ended || s->ends_with_reader)
        stream_free(s);
}

static bool replay_event(void *arg, uint64_t sequence, const char *bytes, size_t len)
{
    add_event(arg, sequence, bytes, len);
    return true;
}

void stream_replay(struct stream *s, uint64_t after)
{
    if (s->log != NULL)
        event_log_replay(s->log, s->id, after, replay_event, s);
    if (s->pending.len > s->taken)
        tell(s);
}

ssize_t stream_take(struct stream *s, char *bytes, size_t len)
{
    size_t there = stream_unread(s);
    if (there == 0)
        return s->is_ended ? -1 : 0;
    if (len > there)
        len = there;
    memcpy(bytes, s->pending.bytes + s->taken, len);
    s->taken += len;
    if (s->taken == s->pending.len) {
        empty(s);
        if (s->on_empty != NULL && !s->is_ended)
            s->on_empty(s->arg);
    } else if (s->taken > s->pending.len / 2) {
        /* With a reader that is always a little behind, the queue is never empty. */
        strbuf_consume(&s->pending, s->taken);
        s->taken = 0;
    }
    return (ssize_t)len;
}
