/*
 * The channel over a socket pair, with this test as the other end.
 */
#define OWN_MAIN
#include "proc_test.h"

#include "lisp/channel.h"
#include "wire/frame.h"

struct fixture {
    uv_loop_t loop;
    struct channel *channel;
    int peer;
    size_t messages, bytes; /* how many came, and of the last one the length of its string */
    int64_t last_id;
    bool is_closed, has_reason;
    size_t closings;
    enum error_code reason;
    size_t free_at; /* free the channel inside this message; 0: never */
    bool frees_when_closed, sends_back;
    size_t wanted;
    size_t descriptors;
    struct strbuf frames; /* for the test to fill */
};

static void on_message(void *arg, struct sexp_document *message)
{
    struct fixture *f = arg;
    f->messages++;
    f->last_id = sexp_integer(sexp_nth(sexp_root(message), 0), -1);
    sexp_string(sexp_nth(sexp_root(message), 1), &f->bytes);
    sexp_document_free(message);
    if (f->free_at != 0 && f->messages == f->free_at) {
        channel_free(f->channel);
        f->channel = NULL;
    }
}

static void on_closed(void *arg, const struct err *why)
{
    struct fixture *f = arg;
    f->is_closed = true;
    f->closings++;
    f->has_reason = why != NULL;
    f->reason = why == NULL ? ERR_NONE : why->code;
    if (f->frees_when_closed) {
        channel_free(f->channel);
        f->channel = NULL;
    }
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    int ends[2];
    strbuf_init(&f->frames, 0);
    uv_loop_init(&f->loop);
    f->descriptors = count_descriptors();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct channel_events events = {.on_message = on_message, .on_closed = on_closed, .arg = f};
    f->channel = channel_new(&f->loop, ends[0], &frame_agent, &events);
    f->peer = ends[1];
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    channel_free(f->channel);
    if (f->peer >= 0)
        close(f->peer);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(count_descriptors(), f->descriptors);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    strbuf_fini(&f->frames);
    free(f);
    return 0;
}

/* "(ID "xxx")", framed. */
static void add_frame(struct strbuf *out, int id, size_t len)
{
    size_t at = frame_begin(&frame_agent, out);
    strbuf_addf(out, "(%d \"", id);
    for (size_t i = 0; i < len; i++)
        strbuf_addc(out, 'x');
    strbuf_adds(out, "\")");
    frame_end(&frame_agent, out, at);
}

static void close_peer(struct fixture *f)
{
    close(f->peer);
    f->peer = -1;
}

static bool has_wanted(void *arg)
{
    struct fixture *f = arg;
    return f->messages >= f->wanted;
}

static bool is_closed(void *arg)
{
    return ((struct fixture *)arg)->is_closed;
}

/* Write it all to the channel, running the loop in between as a peer in another process would. */
static void feed(struct fixture *f, const char *bytes, size_t len)
{
    int flags = fcntl(f->peer, F_GETFL);
    fcntl(f->peer, F_SETFL, flags | O_NONBLOCK);
    while (len > 0) {
        ssize_t n = write(f->peer, bytes, len);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            uv_run(&f->loop, UV_RUN_ONCE);
        } else {
            fail_msg("%s", strerror(errno));
        }
    }
    fcntl(f->peer, F_SETFL, flags);
}

static void assert_messages(struct fixture *f, size_t n)
{
    f->wanted = n;
    assert_true(run_until(&f->loop, has_wanted, f, LIMIT_MS));
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->messages, n);
}

#define CASE(test)                                                                                           \
    static void test(struct fixture *f, struct strbuf *frames);                                              \
    REGISTER_TEST(test, run_##test, set_up, tear_down)                                                       \
    {                                                                                                        \
        test(*state, &((struct fixture *)*state)->frames);                                                   \
    }                                                                                                        \
    static void test(struct fixture *f, __attribute__((unused)) struct strbuf *frames)

CASE(a_message_comes_once)
{
    add_frame(frames, 7, 3);
    feed(f, frames->bytes, frames->len);
    assert_messages(f, 1);
    assert_int_equal(f->last_id, 7);
    assert_int_equal(f->bytes, 3);
    assert_false(f->is_closed);
}

CASE(a_message_comes_byte_by_byte)
{
    add_frame(frames, 1, 20);
    add_frame(frames, 2, 0);
    for (size_t i = 0; i < frames->len; i++) {
        feed(f, frames->bytes + i, 1);
        uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_false(f->is_closed);
        assert_int_equal(f->messages, i + 1 == frames->len ? 2 : i + 1 >= frame_agent.digits + 26 ? 1 : 0);
    }
    assert_int_equal(f->last_id, 2);
}

CASE(many_messages_in_one_read_come_in_order)
{
    for (int i = 1; i <= 1000; i++)
        add_frame(frames, i, (size_t)i % 7);
    feed(f, frames->bytes, frames->len);
    assert_messages(f, 1000);
    assert_int_equal(f->last_id, 1000);
}

CASE(messages_cut_anywhere_come_whole)
{
    random_seed();
    for (int i = 1; i <= 60; i++)
        add_frame(frames, i, (size_t)random() % (i % 10 == 0 ? 300000 : 300));
    for (size_t at = 0; at < frames->len;) {
        size_t n = 1 + (size_t)random() % (random() % 2 ? 100 : 100000);
        if (n > frames->len - at)
            n = frames->len - at;
        feed(f, frames->bytes + at, n);
        uv_run(&f->loop, UV_RUN_NOWAIT);
        at += n;
    }
    assert_messages(f, 60);
    assert_int_equal(f->last_id, 60);
}

CASE(the_largest_message_comes)
{
    size_t len = SEXP_MAX_PAYLOAD - strlen("(1 \"\")");
    add_frame(frames, 1, len);
    assert_false(frames->is_overflown);
    add_frame(frames, 2, 5);
    feed(f, frames->bytes, frames->len);
    assert_messages(f, 2);
    assert_false(f->is_closed);
}

CASE(a_message_over_the_limit_closes_the_channel)
{
    char header[32];
    snprintf(header, sizeof header, "%08x(1 \"", SEXP_MAX_PAYLOAD + 1);
    feed(f, header, strlen(header));
    assert_true(run_until(&f->loop, is_closed, f, LIMIT_MS));
    assert_true(f->has_reason);
    assert_int_equal(f->messages, 0);
}

TEST(bytes_that_are_not_a_message_close_the_channel_with_a_reason)
{
    static const char *const garbage[] = {
        "hello, world",    "0000000g",    "0000000A(1 2 3 4 5)",
        "00000003abc",     "00000003(1(", "00000000",
        "00000006(1) (2)", "-0000003(1)", "0000000e(0 :hello :x \xFF)",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        struct fixture *f;
        set_up((void **)&f);
        struct strbuf b;
        strbuf_init(&b, 0);
        add_frame(&b, 1, 0);
        strbuf_adds(&b, garbage[i]);
        add_frame(&b, 2, 0);
        feed(f, b.bytes, b.len);
        if (!run_until(&f->loop, is_closed, f, 2000))
            fail_msg("\"%s\" is taken", garbage[i]);
        assert_true(f->has_reason);
        assert_int_equal(f->messages, 1);
        assert_int_equal(f->closings, 1);
        strbuf_fini(&b);
        tear_down((void **)&f);
    }
    (void)state;
}

CASE(a_peer_that_closes_is_noticed_after_its_last_message)
{
    add_frame(frames, 1, 5);
    feed(f, frames->bytes, frames->len);
    close_peer(f);
    assert_true(run_until(&f->loop, is_closed, f, LIMIT_MS));
    assert_int_equal(f->messages, 1);
    assert_false(f->has_reason);
    assert_int_equal(f->closings, 1);
    /* Sending is harmless now. */
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    channel_send(f->channel, frames, ends, 2);
    assert_int_equal(fcntl(ends[0], F_GETFD), -1);
}

CASE(a_peer_that_reads_nothing_is_hung_up_on)
{
    size_t sent = 0;
    add_frame(frames, 1, 1 << 20);
    while (sent < 100 && channel_send(f->channel, frames, NULL, 0))
        sent++;
    assert_between(sent, 60, 70);
    assert_false(channel_send(f->channel, frames, NULL, 0));
    assert_true(run_until(&f->loop, is_closed, f, LIMIT_MS));
    assert_int_equal(f->reason, ERR_LIMIT);
    assert_int_equal(f->closings, 1);
}

CASE(a_peer_that_is_slow_gets_everything)
{
    char bytes[65536];
    size_t got = 0;
    add_frame(frames, 1, 1 << 20);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++)
            assert_true(channel_send(f->channel, frames, NULL, 0));
        for (ssize_t n; got < (size_t)(round + 1) * 40 * frames->len; got += (size_t)n) {
            n = read(f->peer, bytes, sizeof bytes);
            assert_true(n > 0);
            uv_run(&f->loop, UV_RUN_NOWAIT);
        }
    }
    assert_false(f->is_closed);
}

CASE(a_peer_that_closes_in_the_middle_of_a_message_is_gone)
{
    feed(f, "00000010(1 ", 11);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    close_peer(f);
    assert_true(run_until(&f->loop, is_closed, f, LIMIT_MS));
    assert_int_equal(f->messages, 0);
}

CASE(draining_delivers_what_has_come_without_the_loop)
{
    for (int i = 1; i <= 20; i++)
        add_frame(frames, i, 5000);
    assert_int_equal(write(f->peer, frames->bytes, frames->len), frames->len);
    close_peer(f);
    channel_drain(f->channel);
    assert_int_equal(f->messages, 20);
    channel_drain(f->channel);
    assert_true(f->closings <= 1);
}

/* Each message that is read makes this write another one, as a child that has outlived its parent can. */
static void on_message_write_another(void *arg, struct sexp_document *message)
{
    struct fixture *f = arg;
    on_message(f, message);
    assert_true(f->messages < 100);
    struct strbuf b;
    strbuf_init(&b, 0);
    add_frame(&b, 1, 70000); /* more than one read takes */
    assert_int_equal(write(f->peer, b.bytes, b.len), b.len);
    strbuf_fini(&b);
}

CASE(draining_ends_although_a_writer_continues)
{
    channel_free(f->channel);
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    close(f->peer);
    f->peer = ends[1];
    struct channel_events events = {.on_message = on_message_write_another, .on_closed = on_closed, .arg = f};
    f->channel = channel_new(&f->loop, ends[0], &frame_agent, &events);
    add_frame(frames, 1, 70000);
    add_frame(frames, 2, 10);
    assert_int_equal(write(f->peer, frames->bytes, frames->len), frames->len);
    channel_drain(f->channel);
    assert_int_equal(f->messages, 2);
    assert_false(f->is_closed);
}

CASE(the_channel_may_be_freed_inside_a_message)
{
    for (int i = 1; i <= 10; i++)
        add_frame(frames, i, 10);
    f->free_at = 4;
    feed(f, frames->bytes, frames->len);
    assert_messages(f, 4);
    assert_null(f->channel);
    assert_false(f->is_closed);
}

CASE(the_channel_may_be_freed_inside_a_message_that_was_kept_in_part)
{
    add_frame(frames, 1, 100000);
    add_frame(frames, 2, 10);
    f->free_at = 1;
    int flags = fcntl(f->peer, F_GETFL);
    fcntl(f->peer, F_SETFL, flags | O_NONBLOCK);
    for (size_t at = 0; at < frames->len && f->channel != NULL;) {
        ssize_t n = write(f->peer, frames->bytes + at, frames->len - at);
        at += n > 0 ? (size_t)n : 0;
        uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    assert_messages(f, 1);
}

CASE(the_channel_may_be_freed_when_it_is_closed)
{
    f->frees_when_closed = true;
    feed(f, "garbage!", 8);
    assert_true(run_until(&f->loop, is_closed, f, LIMIT_MS));
    assert_null(f->channel);
}

CASE(the_channel_may_be_freed_inside_a_drain)
{
    add_frame(frames, 1, 10);
    add_frame(frames, 2, 10);
    f->free_at = 1;
    assert_int_equal(write(f->peer, frames->bytes, frames->len), frames->len);
    channel_drain(f->channel);
    assert_int_equal(f->messages, 1);
    assert_null(f->channel);
}

CASE(messages_arrive_unchanged)
{
    char got[200];
    add_frame(frames, 1, 50);
    channel_send(f->channel, frames, NULL, 0);
    assert_int_equal(read(f->peer, got, sizeof got), frames->len);
    assert_memory_equal(got, frames->bytes, frames->len);
}

/* How many descriptors come with the next bytes; closes them. */
static size_t receive_descriptors(int peer, char *bytes, size_t size, ssize_t *len)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 16)];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    *len = recvmsg(peer, &message, MSG_CMSG_CLOEXEC);
    if (*len <= 0)
        return 0; /* the control data is then unchanged */
    size_t n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c))
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++, n++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            close(fd);
        }
    return n;
}

CASE(descriptors_are_sent_with_the_first_byte_and_closed_here)
{
    char bytes[200];
    ssize_t len;
    int fds[3];
    add_frame(frames, 1, 50);
    for (int i = 0; i < 3; i++)
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    channel_send(f->channel, frames, fds, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fcntl(fds[i], F_GETFD), -1);
    assert_int_equal(receive_descriptors(f->peer, bytes, 1, &len), 3);
    assert_int_equal(len, 1);
    assert_int_equal(receive_descriptors(f->peer, bytes, sizeof bytes, &len), 0);
    assert_int_equal(len, frames->len - 1);
}

CASE(a_peer_that_never_reads_holds_nothing_up_and_gets_it_all_later)
{
    enum { COUNT = 200 };
    struct strbuf all, got;
    char bytes[65536];
    strbuf_init(&all, 0);
    strbuf_init(&got, 0);
    for (int i = 1; i <= COUNT; i++) {
        strbuf_clear(frames);
        add_frame(frames, i, 20000);
        channel_send(f->channel, frames, NULL, 0);
        strbuf_add(&all, frames->bytes, frames->len);
    }
    /* Far more than a socket holds; what it reads meanwhile still arrives. */
    strbuf_clear(frames);
    add_frame(frames, 5, 5);
    feed(f, frames->bytes, frames->len);
    assert_messages(f, 1);
    fcntl(f->peer, F_SETFL, O_NONBLOCK);
    uint64_t limit = uv_hrtime() + (uint64_t)LIMIT_MS * 1000000;
    while (got.len < all.len) {
        ssize_t n = read(f->peer, bytes, sizeof bytes);
        if (n > 0)
            strbuf_add(&got, bytes, (size_t)n);
        else
            uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_true(uv_hrtime() < limit);
    }
    assert_int_equal(got.len, all.len);
    assert_memory_equal(got.bytes, all.bytes, all.len);
    strbuf_fini(&all);
    strbuf_fini(&got);
}

/* Descriptors that wait behind other frames are sent with their own. */
CASE(descriptors_wait_with_their_frame)
{
    struct strbuf big, small;
    char bytes[65536];
    ssize_t len;
    strbuf_init(&big, 0);
    strbuf_init(&small, 0);
    add_frame(&big, 1, 3000000);
    add_frame(&small, 2, 5);
    channel_send(f->channel, &big, NULL, 0);
    int fds[2] = {open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_RDONLY | O_CLOEXEC)};
    channel_send(f->channel, &small, fds, 2);
    assert_int_not_equal(fcntl(fds[0], F_GETFD), -1);
    fcntl(f->peer, F_SETFL, O_NONBLOCK);
    size_t total = 0, found = 0, before = 0;
    uint64_t limit = uv_hrtime() + (uint64_t)LIMIT_MS * 1000000;
    while (total < big.len + small.len) {
        size_t n = receive_descriptors(f->peer, bytes, sizeof bytes, &len);
        if (len > 0) {
            if (n > 0)
                before = total;
            found += n;
            total += (size_t)len;
        } else {
            uv_run(&f->loop, UV_RUN_NOWAIT);
        }
        assert_true(uv_hrtime() < limit);
    }
    assert_int_equal(found, 2);
    assert_true(before <= big.len && before + sizeof bytes >= big.len);
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    strbuf_fini(&big);
    strbuf_fini(&small);
}

CASE(descriptors_that_were_never_sent_are_closed_with_the_channel)
{
    add_frame(frames, 1, 3000000);
    channel_send(f->channel, frames, NULL, 0);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    channel_send(f->channel, frames, &fd, 1);
    assert_int_not_equal(fcntl(fd, F_GETFD), -1);
    channel_free(f->channel);
    f->channel = NULL;
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

CASE(unread_bytes_of_a_dead_peer_are_known_while_its_copy_holds_the_socket)
{
    char got[100];
    add_frame(frames, 1, 1);
    channel_send(f->channel, frames, NULL, 0);
    assert_int_equal(read(f->peer, got, sizeof got), frames->len);
    assert_false(channel_was_unread(f->channel));
    channel_send(f->channel, frames, NULL, 0);
    int copy = fcntl(f->peer, F_DUPFD_CLOEXEC, 0);
    close(f->peer);
    f->peer = copy;
    assert_true(channel_was_unread(f->channel));
}

CASE(sending_to_a_peer_that_is_gone_is_harmless)
{
    add_frame(frames, 1, 1000000);
    channel_send(f->channel, frames, NULL, 0);
    close_peer(f);
    channel_send(f->channel, frames, NULL, 0);
    assert_true(run_until(&f->loop, is_closed, f, LIMIT_MS));
    channel_send(f->channel, frames, NULL, 0);
    assert_int_equal(f->closings, 1);
}

int main(void)
{
    keep_only_standard_descriptors();
    return run_cases(NULL, NULL);
}
