/*
 * Lines in and out of descriptors 0 and 1. Each test runs the transport in a child process, whose descriptors
 * are pipes, sockets or files of the test's; the child gives each message back as "LEN:FIRST BYTES", or what
 * its mode says.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN_MAIN
#include "../assert_between.h"
#include "mcp/transport_stdio.h"
#include "strbuf_test.h"

/* The longest that any single event may take. */
#define LIMIT_MS 20000

struct child {
    struct transport_stdio *transport;
    uv_loop_t loop;
    size_t answer_len; /* 0: say what came */
    int messages;
};

static void say(const struct child *child, const char *bytes, size_t len)
{
    transport_stdio_send(child->transport, &(struct transport_message){.bytes = bytes, .len = len});
}

/* The transport does not look into its client, which is the child here. */
static void on_message(struct client *client, struct transport_origin *origin, char *bytes, size_t len)
{
    struct child *child = (struct child *)client;
    char said[64];
    char *large;
    child->messages++;
    if (child->answer_len) {
        large = malloc(child->answer_len);
        if (!large)
            abort();
        memset(large, 'a' + child->messages % 26, child->answer_len);
        for (int i = bytes[0] == 'f' ? 200 : 1; i > 0; i--)
            say(child, large, child->answer_len);
        free(large);
        return;
    }
    snprintf(said, sizeof said, "%zu:%.*s", len, (int)(len < 10 ? len : 10), bytes);
    memset(bytes, '#', len);
    say(child, said, strlen(said));
}

static void on_oversized(struct client *client)
{
    say((struct child *)client, "oversized", 9);
}

static void on_end(void *arg)
{
    struct child *child = arg;
    if (!child->answer_len)
        say(child, "end", 3);
    transport_stdio_free(child->transport);
    child->transport = NULL;
}

static void on_broken(void *arg)
{
    struct child *child = arg;
    transport_stdio_free(child->transport);
    child->transport = NULL;
}

/* The child's whole life. Exit status: messages received, at most 100; 101 it could not start; 102 something
 * was left open. */
static void run_child(bool is_in_closed, bool is_out_closed, size_t answer_len)
{
    struct child child = {.answer_len = answer_len};
    struct transport_stdio_events events = {
        (struct client *)&child, on_message, on_oversized, on_end, on_broken, &child};
    struct err err;
    signal(SIGPIPE, SIG_IGN);
    /* Only then is a descriptor closed, or the loop would use its number for itself. */
    uv_loop_init(&child.loop);
    if (is_in_closed)
        close(0);
    if (is_out_closed)
        close(1);
    child.transport = transport_stdio_new(&child.loop, &err);
    if (!child.transport) {
        uv_run(&child.loop, UV_RUN_DEFAULT);
        _exit(uv_loop_close(&child.loop) == 0 ? 101 : 102);
    }
    transport_stdio_begin(child.transport, &events);
    uv_run(&child.loop, UV_RUN_DEFAULT);
    if (child.transport || uv_loop_close(&child.loop) != 0)
        _exit(102);
    _exit(child.messages < 100 ? child.messages : 100);
}

/* Fork a child with these as its descriptors 0 and 1, which are closed here; -1: closed there too. */
static pid_t start(int in, int out, int ours_1, int ours_2, size_t answer_len)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int saved_in = fcntl(in < 0 ? 0 : in, F_DUPFD, 100),
            saved_out = fcntl(out < 0 ? 1 : out, F_DUPFD, 100);
        alarm(60);
        dup2(saved_in, 0);
        dup2(saved_out, 1);
        if (ours_1 >= 0)
            close(ours_1);
        if (ours_2 >= 0)
            close(ours_2);
        close(saved_in);
        close(saved_out);
        if (in > 2)
            close(in);
        if (out > 2)
            close(out);
        run_child(in < 0, out < 0, answer_len);
    }
    if (in >= 0)
        close(in);
    if (out >= 0 && out != in)
        close(out);
    return pid;
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void write_all(int fd, const char *bytes, size_t len)
{
    ssize_t n;
    while (len > 0) {
        n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        assert_true(n > 0);
        bytes += n;
        len -= (size_t)n;
    }
}

/* Read to the end, or until ${wanted} bytes are there. */
static void read_some(int fd, struct strbuf *out, size_t wanted)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char *room;
    ssize_t n;
    while (out->len < wanted) {
        assert_int_equal(poll(&wait, 1, LIMIT_MS), 1);
        room = strbuf_reserve(out, 1 << 16);
        n = read(fd, room, 1 << 16);
        assert_true(n >= 0);
        if (n == 0)
            return;
        strbuf_added(out, (size_t)n);
    }
}

struct pipes {
    int to_child, from_child;
    pid_t pid;
};

static struct pipes start_with_pipes(size_t answer_len)
{
    int in[2], out[2];
    struct pipes p;
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    p.to_child = in[1];
    p.from_child = out[0];
    p.pid = start(in[0], out[1], in[1], out[0], answer_len);
    return p;
}

static void expect_output(struct pipes *p, const char *wanted, int status)
{
    struct strbuf out;
    strbuf_init(&out, 0);
    close(p->to_child);
    read_some(p->from_child, &out, SIZE_MAX);
    assert_string_equal(strbuf_string(&out), wanted);
    strbuf_fini(&out);
    close(p->from_child);
    assert_int_equal(wait_for(p->pid), status);
}

TEST(lines_are_messages)
{
    static const char input[] = "{\"a\":1}\nbb\r\n\n \r\n\t\nc\rd\n\nlast";
    struct pipes p = start_with_pipes(0);
    write_all(p.to_child, input, sizeof input - 1);
    expect_output(&p, "7:{\"a\":1}\n2:bb\n3:c\rd\n4:last\nend\n", 4);
}

STRBUF_TEST(out, lines_may_come_byte_by_byte)
{
    static const char input[] = "abc\n\r\n de \nf";
    struct pipes p = start_with_pipes(0);
    size_t i;
    for (i = 0; i < 4; i++)
        write_all(p.to_child, input + i, 1);
    read_some(p.from_child, out, 6);
    assert_string_equal(out->bytes, "3:abc\n");
    for (; i < sizeof input - 1; i++)
        write_all(p.to_child, input + i, 1);
    expect_output(&p, "4: de \n1:f\nend\n", 3);
}

TEST(an_empty_input_ends)
{
    struct pipes p = start_with_pipes(0);
    expect_output(&p, "end\n", 0);
}

STRBUF_TEST(out, a_socket_can_be_both_ends)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t pid = start(pair[0], pair[0], pair[1], -1, 0);
    write_all(pair[1], "x\ny\n", 4);
    shutdown(pair[1], SHUT_WR);
    read_some(pair[1], out, SIZE_MAX);
    assert_string_equal(out->bytes, "1:x\n1:y\nend\n");
    close(pair[1]);
    assert_int_equal(wait_for(pid), 2);
}

static int temporary_file(const char *bytes, size_t len)
{
    char name[] = "/tmp/cl-mcp-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    write_all(fd, bytes, len);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

TEST(regular_files_work_for_both_ends)
{
    int in = temporary_file("x\nyy", 4), out = temporary_file("", 0), kept = dup(out);
    char bytes[64];
    assert_int_equal(wait_for(start(in, out, -1, -1, 0)), 2);
    assert_int_equal(lseek(kept, 0, SEEK_SET), 0);
    ssize_t n = read(kept, bytes, sizeof bytes);
    assert_int_equal(n, 13);
    assert_memory_equal(bytes, "1:x\n2:yy\nend\n", 13);
    close(kept);
}

TEST(devices_work)
{
    assert_int_equal(wait_for(start(open("/dev/null", O_RDONLY), open("/dev/null", O_WRONLY), -1, -1, 0)), 0);
}

TEST(a_closed_descriptor_is_an_error)
{
    assert_int_equal(wait_for(start(-1, open("/dev/null", O_WRONLY), -1, -1, 0)), 101);
    assert_int_equal(wait_for(start(open("/dev/null", O_RDONLY), -1, -1, -1, 0)), 101);
}

TEST(a_broken_output_is_reported)
{
    struct pipes p = start_with_pipes(0);
    close(p.from_child);
    assert_int_equal(wait_for(p.pid), 0); /* before it writes anything */
    close(p.to_child);
}

TEST(the_descriptors_flags_are_put_back)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t pid = start(dup(pair[0]), dup(pair[0]), pair[1], -1, 0);
    shutdown(pair[1], SHUT_WR);
    assert_int_equal(wait_for(pid), 0);
    assert_int_equal(fcntl(pair[0], F_GETFL) & O_NONBLOCK, 0);
    close(pair[0]);
    close(pair[1]);
}

/* A client that sends and does not read stops being read; when it reads, everything comes, in order. */
STRBUF_TEST(out, a_reader_that_sleeps_stops_the_reading)
{
    const size_t answer_len = 1 << 20;
    struct pipes p = start_with_pipes(answer_len);
    struct pollfd wait = {.fd = p.to_child, .events = POLLOUT};
    size_t written = 0;
    char message[4096];
    ssize_t n;
    /* 2,048 messages in 4 MiB: more than the 64 KiB of the pipe and what the child may read before it stops.
     */
    memset(message, ' ', sizeof message);
    message[0] = 'm';
    message[2047] = '\n';
    message[2048] = 'm';
    message[4095] = '\n';
    assert_int_equal(fcntl(p.to_child, F_SETFL, O_NONBLOCK), 0);
    while (written < (4u << 20) && poll(&wait, 1, 1000) == 1) {
        n = write(p.to_child, message + written % sizeof message, sizeof message - written % sizeof message);
        if (n > 0)
            written += (size_t)n;
    }
    assert_between(written, 1, 1u << 20);
    fcntl(p.to_child, F_SETFL, 0);
    written -= written % 2048;
    close(p.to_child);
    read_some(p.from_child, out, SIZE_MAX);
    /* A last message without its end may be there too. */
    assert_between(out->len, written / 2048 * (answer_len + 1), (written / 2048 + 1) * (answer_len + 1));
    for (size_t i = 0; i < written / 2048; i++) {
        assert_int_equal(out->bytes[i * (answer_len + 1)], 'a' + (int)((i + 1) % 26));
        assert_int_equal(out->bytes[i * (answer_len + 1) + answer_len - 1], 'a' + (int)((i + 1) % 26));
        assert_int_equal(out->bytes[i * (answer_len + 1) + answer_len], '\n');
    }
    close(p.from_child);
    assert_between(wait_for(p.pid), 1, 100);
}

/* 200 MiB for one message, which was read before any of them. */
TEST(a_reader_that_leaves_too_much_unread_is_cut_off)
{
    struct pipes p = start_with_pipes(1 << 20);
    write_all(p.to_child, "f\n", 2);
    assert_int_equal(wait_for(p.pid), 1);
    close(p.to_child);
    close(p.from_child);
}

TEST(closing_gives_up_on_a_reader_that_never_reads)
{
    struct pipes p = start_with_pipes(4 << 20);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    write_all(p.to_child, "x\n", 2);
    close(p.to_child);
    assert_int_equal(wait_for(p.pid), 1);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_between(after.tv_sec - before.tv_sec, 1, 10);
    close(p.from_child);
}

TEST(a_line_of_the_largest_size_is_taken_and_a_longer_one_dropped)
{
    struct pipes p = start_with_pipes(0);
    size_t chunk_len = 1 << 20;
    char *chunk = malloc(chunk_len);
    assert_non_null(chunk);
    memset(chunk, 'z', chunk_len);
    for (size_t i = 0; i < 16; i++)
        write_all(p.to_child, chunk, chunk_len);
    write_all(p.to_child, "\r\n", 2);
    for (size_t i = 0; i < 16; i++)
        write_all(p.to_child, chunk, chunk_len);
    write_all(p.to_child, "z\nx\n", 4);
    for (size_t i = 0; i < 50; i++)
        write_all(p.to_child, chunk, chunk_len);
    write_all(p.to_child, "\ny\n", 3);
    for (size_t i = 0; i < 20; i++)
        write_all(p.to_child, chunk, chunk_len);
    free(chunk);
    expect_output(&p, "16777216:zzzzzzzzzz\noversized\n1:x\noversized\n1:y\noversized\nend\n", 3);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return run_cases(NULL, NULL);
}
