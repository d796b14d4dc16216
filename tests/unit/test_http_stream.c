/*
 * Streams of server-sent events: their text, readers that come, go and do not read, and what is kept for
 * them.
 */
#include <string.h>

#include "../cases.h"
#include "base/strbuf.h"
#include "base/event_log.h"
#include "http/limits.h"
#include "http/stream.h"

struct client {
    struct stream_reader reader;
    size_t readable_count, overrun_count;
};

static void on_readable(void *arg)
{
    ((struct client *)arg)->readable_count++;
}

static void on_overrun(void *arg)
{
    ((struct client *)arg)->overrun_count++;
}

static void client_init(struct client *c)
{
    *c = (struct client){
        .reader = {.on_readable = on_readable, .on_overrun = on_overrun, .arg = c},
    };
}

/* What can be taken now, in pieces of ${piece} bytes, "<end>" behind it when it has ended. */
static void take(struct stream *s, size_t piece, const char *expected)
{
    struct strbuf out;
    char bytes[4096];
    ssize_t n;
    strbuf_init(&out, 0);
    while ((n = stream_take(s, bytes, piece)) > 0)
        strbuf_add(&out, bytes, (size_t)n);
    if (n < 0)
        strbuf_adds(&out, "<end>");
    assert_string_equal(strbuf_string(&out), expected);
    strbuf_fini(&out);
}

TEST(events_without_a_log_have_no_ids)
{
    struct stream *s = stream_new(NULL, 7);
    struct client c;
    client_init(&c);
    stream_attach(s, &c.reader);
    stream_prime(s);
    stream_send(s, "{}", 2);
    assert_int_equal(c.readable_count, 1);
    take(s, 5, "event: message\ndata: {}\n\n");
    take(s, 5, "");
    stream_keep_alive(s);
    take(s, 4096, ": keep-alive\n\n");
    stream_send(s, "[]", 2);
    stream_keep_alive(s);
    take(s, 4096, "event: message\ndata: []\n\n");
    stream_end(s);
    take(s, 5, "<end>");
    stream_detach(s);
}

TEST(events_of_a_log_have_ids_and_can_be_had_again)
{
    struct event_log log;
    struct client first, second;
    event_log_init(&log, 10, 1000);
    client_init(&first);
    client_init(&second);
    struct stream *s = stream_new(&log, 3);
    stream_attach(s, &first.reader);
    stream_prime(s);
    stream_send(s, "1", 1);
    take(s, 4096, "id: 3-0\ndata: \n\nevent: message\nid: 3-1\ndata: 1\n\n");
    stream_detach(s);
    stream_send(s, "2", 1);
    stream_send(s, "3", 1);
    assert_int_equal(first.readable_count, 2);
    stream_attach(s, &second.reader);
    stream_replay(s, 1);
    take(s, 4096, "event: message\nid: 3-2\ndata: 2\n\nevent: message\nid: 3-3\ndata: 3\n\n");
    stream_replay(s, 3);
    take(s, 4096, "");
    stream_end(s);
    take(s, 4096, "<end>");
    stream_detach(s);
    event_log_fini(&log);
}

TEST(the_newest_reader_counts)
{
    struct stream *s = stream_new(NULL, 0);
    struct client first, second;
    client_init(&first);
    client_init(&second);
    stream_attach(s, &first.reader);
    stream_send(s, "1", 1);
    stream_attach(s, &second.reader);
    assert_int_equal(first.overrun_count, 1);
    take(s, 4096, "");
    stream_send(s, "2", 1);
    assert_int_equal(first.readable_count, 1);
    assert_int_equal(second.readable_count, 1);
    take(s, 4096, "event: message\ndata: 2\n\n");
    stream_detach(s);
    stream_end(s);
}

TEST(a_client_that_does_not_read_is_disconnected)
{
    static char large[1 << 20];
    struct event_log log;
    struct client c;
    size_t i;
    event_log_init(&log, 10, 1000);
    memset(large, 'x', sizeof large);
    client_init(&c);
    struct stream *s = stream_new(&log, 1);
    stream_attach(s, &c.reader);
    for (i = 0; i < 100 && c.overrun_count == 0; i++)
        stream_send(s, large, sizeof large);
    assert_int_equal(c.overrun_count, 1);
    assert_true(i >= HTTP_MOST_PENDING_BYTES / sizeof large &&
                i <= HTTP_MOST_PENDING_BYTES / sizeof large + 3);
    assert_int_equal(s->pending.len, 0);
    assert_null(s->reader);
    assert_int_equal(log.count, 1);
    stream_end(s);
    event_log_fini(&log);
}

/* It takes as much as is sent, but has never taken everything. */
TEST(the_queue_of_a_client_that_is_always_behind_stays_small)
{
    static const char text[] = "event: message\ndata: 123\n\n";
    struct stream *s = stream_new(NULL, 0);
    struct client c;
    size_t len = strlen(text), offset = 0;
    client_init(&c);
    stream_attach(s, &c.reader);
    stream_send(s, "123", 3);
    for (int i = 0; i < 1000; i++) {
        char bytes[sizeof text];
        stream_send(s, "123", 3);
        size_t piece = 1 + (size_t)i % len;
        for (size_t left = len; left > 0; left -= piece, piece = left) {
            if (piece > left)
                piece = left;
            assert_int_equal(stream_take(s, bytes, piece), piece);
            for (size_t n = 0; n < piece; n++)
                assert_int_equal(bytes[n], text[offset++ % len]);
        }
        assert_true(s->pending.capacity <= 16 * len);
    }
    take(s, 4096, text);
    stream_detach(s);
    stream_end(s);
}
