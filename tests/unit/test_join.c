/*
 * What joining an image does without one: addresses, port files, secrets, the packets of Swank, the cache.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "join/address.h"
#include "join/agent_cache.h"
#include "join/image_process.h"
#include "join/listener_owner.h"
#include "join/secret.h"
#include "join/swank.h"
#include "proc/process.h"
#include "wire/frame.h"
#include "folder_test.h"

static void check_address(const char *text, const char *host, const char *port)
{
    struct join_address address;
    struct err err;
    assert_true(join_address_parse(text, &address, &err));
    assert_string_equal(address.host, host);
    assert_string_equal(address.port, port);
}

TEST(an_address_is_a_host_and_a_port)
{
    check_address("127.0.0.1:4005", "127.0.0.1", "4005");
    check_address("host.docker.internal:1", "host.docker.internal", "1");
    check_address("[::1]:65535", "::1", "65535");
    check_address("auto", "", "");
}

TEST(what_is_no_address_is_refused_with_its_form)
{
    static const char *const wrong[] = {"",         "4005",     ":4005",     "localhost:", "localhost:0",
                                        "a:65536",  "a:123456", "a:40 05",   "::1:4005",   "[]:4005",
                                        "a b:4005", "a:-1",     "automatic", "[::1]4005",  "localhost:x"};
    struct join_address address;
    struct err err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (join_address_parse(wrong[i], &address, &err))
            fail_msg("%s was taken for an address", wrong[i]);
        assert_non_null(strstr(err.message, "ADDRESS:PORT"));
    }
    char longest[400];
    memset(longest, 'a', sizeof longest);
    strcpy(longest + 390, ":4005");
    assert_false(join_address_parse(longest, &address, &err));
}

static int enter_a_home(void **state)
{
    return enter_a_folder(state) != 0 || setenv("HOME", *state, 1) != 0;
}

TEST_BETWEEN(the_nearest_port_file_is_found, enter_a_home, leave_the_folder)
{
    struct join_address address;
    assert_int_equal(mkdir("project", 0700), 0);
    assert_int_equal(mkdir("project/src", 0700), 0);
    put(".slynk-port", "4111\n");
    join_address_find("project/src", &address);
    assert_string_equal(address.host, "127.0.0.1");
    assert_string_equal(address.port, "4111");
    assert_non_null(strstr(address.origin, "/.slynk-port"));
    put("project/.slime-port", " 4222 ");
    join_address_find("project/src", &address);
    assert_string_equal(address.port, "4222");
}

TEST_BETWEEN(a_port_file_without_a_port_does_not_count, enter_a_home, leave_the_folder)
{
    struct join_address address;
    put(".swank-port", "soon");
    put(".slynk-port", "99999");
    join_address_find(".", &address);
    assert_string_equal(address.port, "4005");
    assert_non_null(strstr(address.origin, "no .swank-port"));
    put(".swank-port", "");
    join_address_find("/nowhere/at/all", &address);
    assert_string_equal(address.port, "4005");
}

static void check_secret(size_t n, const char *expected, const char *file)
{
    struct strbuf secret, path;
    strbuf_init(&secret, 0);
    strbuf_init(&path, 0);
    assert_int_equal(join_secret(n, &secret, &path), expected != NULL);
    assert_string_equal(strbuf_string(&secret), expected == NULL ? "" : expected);
    assert_true(expected == NULL ? path.len == 0 : strstr(strbuf_string(&path), file) != NULL);
    strbuf_fini(&secret);
    strbuf_fini(&path);
}

TEST_BETWEEN(the_first_lines_of_both_files_are_secrets, enter_a_home, leave_the_folder)
{
    check_secret(0, NULL, NULL);
    put(".sly-secret", "for sly\r\nmore");
    check_secret(0, "for sly", "/.sly-secret");
    check_secret(1, NULL, NULL);
    put(".slime-secret", "for slime");
    check_secret(0, "for slime", "/.slime-secret");
    check_secret(1, "for sly", "/.sly-secret");
    check_secret(2, NULL, NULL);
}

TEST(packets_have_six_digits_small_or_capital)
{
    static const struct {
        const char *bytes;
        enum frame_status status;
        size_t payload_len;
    } rows[] = {
        {"00000", FRAME_PARTIAL, 0},
        {"000003(1", FRAME_PARTIAL, 0},
        {"000003(1)", FRAME_COMPLETE, 3},
        {"00000A(:ok \"123\")", FRAME_COMPLETE, 10},
        {"00000a(:ok \"123\")", FRAME_COMPLETE, 10},
        {"ffffff", FRAME_PARTIAL, 0},
        {"00000g", FRAME_MALFORMED, 0},
        {"(:retu", FRAME_MALFORMED, 0},
        {"HTTP/1", FRAME_MALFORMED, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct frame_result r = frame_scan(&frame_swank, rows[i].bytes, strlen(rows[i].bytes));
        if (r.status != rows[i].status)
            fail_msg("%s: status %d", rows[i].bytes, (int)r.status);
        assert_int_equal(r.payload_len, rows[i].payload_len);
    }
}

TEST(a_packet_that_is_written_is_found_again)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    size_t at = frame_begin(&frame_swank, &b);
    strbuf_adds(&b, "(:emacs-rex (cl:+ 1 2) nil t 1)");
    frame_end(&frame_swank, &b, at);
    assert_string_equal(strbuf_string(&b), "00001f(:emacs-rex (cl:+ 1 2) nil t 1)");
    strbuf_fini(&b);
}

static void check_answer(const char *message, const char *answer)
{
    struct err err;
    struct sexp_document *document = sexp_parse(message, strlen(message), &err);
    struct strbuf out;
    strbuf_init(&out, 0);
    assert_non_null(document);
    assert_int_equal(swank_answer(sexp_root(document), &out), answer != NULL);
    assert_string_equal(strbuf_string(&out), answer == NULL ? "" : answer);
    strbuf_fini(&out);
    sexp_document_free(document);
}

TEST(what_a_thread_of_the_server_waits_for_is_answered)
{
    check_answer("(:ping 3 (1 2))", "(:emacs-pong 3 (1 2))");
    check_answer("(:read-string 12 7)", "(:emacs-return-string 12 7 \"\n\")");
    check_answer("(:y-or-n-p 12 7 \"Sure?\")", "(:emacs-return 12 7 nil)");
    check_answer("(:eval 1 2 \"(ding)\")", "(:emacs-return 1 2 (:abort nil))");
    check_answer("(:ping)", "(:emacs-pong nil nil)");
    check_answer("(:debug 1 1 (\"x\" \"y\" nil) nil nil nil)", NULL);
    check_answer("7", NULL);
    check_answer("()", NULL);
}

TEST_BETWEEN(the_cache_holds_the_source_and_a_word, enter_a_home, leave_the_folder)
{
    struct agent_cache cache, again;
    struct err err;
    struct stat status;
    unsetenv("XDG_CACHE_HOME");
    assert_true(agent_cache_open(&cache, "SBCL", "2.2.9 /../x", &err));
    assert_true(agent_cache_open(&again, "SBCL", "2.2.9", &err));
    assert_true(cache.word.len >= 32);
    assert_string_equal(strbuf_string(&cache.word), strbuf_string(&again.word));
    assert_int_equal(stat(strbuf_string(&cache.source), &status), 0);
    assert_true(status.st_size > 0);
    assert_int_equal(stat(strbuf_string(&cache.word_file), &status), 0);
    assert_int_equal(status.st_mode & 077, 0);
    assert_non_null(strstr(strbuf_string(&cache.compiled), "/SBCL-2.2.9--..-x.fasl"));
    assert_non_null(strstr(strbuf_string(&again.compiled), "/SBCL-2.2.9.fasl"));
    agent_cache_fini(&cache);
    agent_cache_fini(&again);
}

TEST_BETWEEN(other_lisps_load_another_source, enter_a_home, leave_the_folder)
{
    struct agent_cache cache, again;
    struct err err;
    char version[AGENT_VERSION_LEN + 1], other_version[AGENT_VERSION_LEN + 1];
    unsetenv("XDG_CACHE_HOME");
    assert_true(agent_cache_open(&cache, "SBCL", "2.2.9", &err));
    assert_true(agent_cache_open(&again, "ECL", "21.2.1", &err));
    assert_string_not_equal(strbuf_string(&cache.source), strbuf_string(&again.source));
    assert_int_equal(again.compiled.len, 0);
    agent_cache_version("ECL", version);
    agent_cache_version("ABCL", other_version);
    assert_string_equal(version, other_version);
    assert_non_null(strstr(strbuf_string(&again.source), version));
    agent_cache_fini(&cache);
    agent_cache_fini(&again);
}

/* Port 0: any, which is set. */
static int listen_at(struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    socklen_t len = sizeof *at;
    *at = (struct sockaddr_in){AF_INET, at->sin_port, {htonl(INADDR_LOOPBACK)}, {0}};
    assert_int_equal(0, setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    assert_int_equal(0, bind(fd, (struct sockaddr *)at, sizeof *at));
    assert_int_equal(0, listen(fd, 1));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)at, &len));
    return fd;
}

static int connect_to(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(0, connect(fd, (const struct sockaddr *)at, sizeof *at));
    return fd;
}

TEST(a_listener_is_ours_while_it_listens_here)
{
    struct sockaddr_in at = {0};
    struct err err;
    int listener = listen_at(&at), here = connect_to(&at), pair[2];
    assert_true(listener_is_ours(here, &err));
    int there = accept(listener, NULL, NULL);
    assert_true(listener_is_ours(here, &err));
    close(listener);
    assert_false(listener_is_ours(here, &err)); /* nobody knows who it was */
    assert_non_null(strstr(err.message, "no owner that the kernel names"));
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    assert_false(listener_is_ours(pair[0], &err));
    assert_non_null(strstr(err.message, "not on this machine"));
    close(there);
    close(here);
    close(pair[0]);
    close(pair[1]);
}

/* Somebody else's listener accepts and closes, and then one of this user has its port. */
TEST(a_connection_that_another_user_has_accepted_is_not_ours)
{
    struct sockaddr_in at = {0};
    struct err err;
    int ready[2], status;
    char byte;
    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    assert_int_equal(0, pipe(ready));
    pid_t pid = fork();
    if (pid == 0) {
        if (setuid(65534) != 0)
            _exit(1);
        int listener = listen_at(&at);
        if (write(ready[1], &at, sizeof at) != sizeof at)
            _exit(2);
        int there = accept(listener, NULL, NULL);
        close(listener);
        _exit(write(ready[1], "a", 1) == 1 && read(there, &byte, 1) == 0 ? 0 : 3);
    }
    assert_int_equal(sizeof at, read(ready[0], &at, sizeof at));
    int here = connect_to(&at);
    assert_int_equal(1, read(ready[0], &byte, 1));
    int listener = listen_at(&at);
    assert_false(listener_is_ours(here, &err));
    assert_non_null(strstr(err.message, "user id 65534"));
    close(here);
    close(listener);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_int_equal(0, status);
}

/* What a child with ${text} in the file that is its standard error is said to do. */
static const char *why_silent(const char *text, bool stops)
{
    char line[512] = "", path[64];
    FILE *file = tmpfile(), *stat;
    int ready[2], status;
    assert_int_equal(pipe(ready), 0);
    fputs(text, file);
    fflush(file);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(file), STDERR_FILENO);
        close(ready[0]);
        close(ready[1]);
        if (stops)
            raise(SIGSTOP);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], path, 1), 0); /* it has its standard error */
    close(ready[0]);
    if (stops)
        waitpid(child, &status, WUNTRACED);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    stat = fopen(path, "re");
    assert_non_null(stat);
    assert_non_null(fgets(line, sizeof line, stat));
    fclose(stat);
    struct process_stat facts;
    assert_true(process_stat_parse(line, &facts));
    struct image_process process = {.pid = child, .started_ticks = facts.started_ticks, .is_here = true};
    const char *why = image_process_why_silent(&process);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_string_equal(image_process_why_silent(&process), "");
    fclose(file);
    return why;
}

TEST(a_process_that_is_silent_shows_why)
{
    char long_text[9000];
    memset(long_text, 'x', sizeof long_text);
    strcpy(long_text + sizeof long_text - 200, "\nHeap exhausted, game over.\nWelcome to LDB\nldb> ");
    assert_non_null(strstr(why_silent(long_text, false), "its heap may be full (ldb)"));
    assert_string_equal(why_silent("Serving requests.\n", false), "");
    assert_non_null(strstr(why_silent("ldb> ", true), "stopped by a signal"));
}
