/*
 * The log never blocks, never tears a line, and says how many lines it had to drop. Stderr is a pipe here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../cases.h"
#include "base/log.h"
#include "base/utf8.h"

static time_t seconds = 1000;

/* In the place of the C library's: the time that the log sees stands still until a test moves it. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = seconds};
    return 0;
}

struct capture {
    int saved_stderr;
    int reader;
    char text[200000];
};

/* Make stderr a new pipe, whose other end is the capture's. */
static void connect_stderr(struct capture *c)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    /* Where stderr is closed, one of the ends has its number. */
    c->reader = fcntl(ends[0], F_DUPFD, STDERR_FILENO + 1);
    assert_int_equal(fcntl(c->reader, F_SETFL, O_NONBLOCK), 0);
    if (ends[1] != STDERR_FILENO) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
    }
    if (ends[0] != STDERR_FILENO)
        close(ends[0]);
}

static int capture_begin(void **state)
{
    struct capture *c = calloc(1, sizeof *c);
    if (!c)
        return -1;
    c->saved_stderr = dup(STDERR_FILENO);
    connect_stderr(c);
    log_set_level(LOG_LEVEL_WARNING);
    *state = c;
    return 0;
}

static int capture_end(void **state)
{
    struct capture *c = *state;
    dup2(c->saved_stderr, STDERR_FILENO);
    close(c->saved_stderr);
    close(c->reader);
    free(c);
    return 0;
}

static const char *captured(struct capture *c)
{
    size_t len = 0;
    ssize_t n;
    while ((n = read(c->reader, c->text + len, sizeof c->text - 1 - len)) > 0)
        len += (size_t)n;
    c->text[len] = '\0';
    return c->text;
}

TEST_BETWEEN(a_line_names_the_program_and_the_level, capture_begin, capture_end)
{
    log_error("no %s", "lisp");
    log_warning("%d", 5);
    assert_string_equal(captured(*state), "cl-mcp-server: error: no lisp\ncl-mcp-server: warning: 5\n");
}

TEST_BETWEEN(levels_above_the_set_one_are_silent, capture_begin, capture_end)
{
    log_info("quiet");
    log_debug("quiet");
    log_set_level(LOG_LEVEL_ERROR);
    log_warning("quiet");
    assert_string_equal(captured(*state), "");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("loud");
    assert_string_equal(captured(*state), "cl-mcp-server: debug: loud\n");
}

TEST_BETWEEN(level_names_are_parsed, capture_begin, capture_end)
{
    assert_int_equal(log_level_parse("error"), LOG_LEVEL_ERROR);
    assert_int_equal(log_level_parse("warning"), LOG_LEVEL_WARNING);
    assert_int_equal(log_level_parse("info"), LOG_LEVEL_INFO);
    assert_int_equal(log_level_parse("debug"), LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_parse("Debug"), -1);
    assert_int_equal(log_level_parse(""), -1);
}

TEST_BETWEEN(a_line_stays_one_line_of_text, capture_begin, capture_end)
{
    log_error("a\nb\r\x1b[31m\x7f\xff\xc3\xa9");
    assert_string_equal(captured(*state), "cl-mcp-server: error: a?b??[31m??\xc3\xa9\n");
}

TEST_BETWEEN(a_long_line_is_cut_between_characters, capture_begin, capture_end)
{
    char text[9001];
    const char *line;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t at = shift; at + 3 < sizeof text; at += 3)
            memcpy(text + at, "\xe2\x82\xac", 4);
        log_error("%s", text);
        line = captured(*state);
        assert_true(strlen(line) <= 4000 && strlen(line) > 3990);
        assert_true(utf8_is_valid(line, strlen(line)));
        assert_null(strchr(line, '?'));
        assert_int_equal(line[strlen(line) - 1], '\n');
    }
}

TEST_BETWEEN(a_full_pipe_drops_lines_and_the_next_one_counts_them, capture_begin, capture_end)
{
    char filler[3000];
    const char *text;
    size_t lines = 0;
    char expected[100];
    memset(filler, 'x', sizeof filler);
    /* The pipe holds 64 KiB or so; a blocking write would hang here. */
    for (int i = 0; i < 100; i++)
        log_error("%.*s", (int)sizeof filler, filler);
    for (text = captured(*state); *text; text++)
        lines += *text == '\n';
    assert_true(lines > 0 && lines < 100);
    log_error("again");
    snprintf(expected, sizeof expected,
             "cl-mcp-server: error: (%zu lines before this one were dropped) again\n", 100 - lines);
    assert_string_equal(captured(*state), expected);
    log_error("and on");
    assert_string_equal(captured(*state), "cl-mcp-server: error: and on\n");
}

/* Until the log drops a line, reading what was written meanwhile. How many lines were written. */
static size_t flood(struct capture *c, size_t most)
{
    size_t lines = 0;
    while (lines < most) {
        log_error("flood");
        if (*captured(c) == '\0')
            break;
        lines++;
    }
    return lines;
}

static void assert_counts_the_lost_line(struct capture *c)
{
    log_error("again");
    assert_string_equal(captured(c), "cl-mcp-server: error: (1 lines before this one were dropped) again\n");
}

TEST_BETWEEN(a_reader_that_is_gone_does_no_harm, capture_begin, capture_end)
{
    struct capture *c = *state;
    close(c->reader);
    /* SIGPIPE has its default action here: a write would end the test. */
    log_error("nobody hears this");
    connect_stderr(c);
    assert_counts_the_lost_line(c);
}

TEST_BETWEEN(a_closed_stderr_does_no_harm, capture_begin, capture_end)
{
    struct capture *c = *state;
    close(c->reader);
    close(STDERR_FILENO);
    errno = EDOM;
    log_error("nobody hears this");
    assert_int_equal(errno, EDOM);
    connect_stderr(c);
    assert_counts_the_lost_line(c);
}

TEST_BETWEEN(errno_is_kept, capture_begin, capture_end)
{
    errno = EDOM;
    log_error("kept");
    assert_int_equal(errno, EDOM);
    captured(*state);
}

TEST_BETWEEN(log_status_is_written_whatever_the_level, capture_begin, capture_end)
{
    log_set_level(LOG_LEVEL_ERROR);
    log_status("%s is idle", "default");
    log_set_level(LOG_LEVEL_WARNING);
    assert_string_equal(captured(*state), "cl-mcp-server: status: default is idle\n");
}

/* The last: few lines may be written after it. */
TEST_BETWEEN(a_flood_of_lines_is_cut_off, capture_begin, capture_end)
{
    struct capture *c = *state;
    seconds += 10; /* the other tests have written some lines */
    assert_int_equal(flood(c, 5000), 1000);
    log_error("dropped");
    seconds++;
    log_error("flood");
    assert_string_equal(captured(c), "cl-mcp-server: error: (2 lines before this one were dropped) flood\n");
    assert_int_equal(flood(c, 5000), 99);
    seconds += 3;
    assert_int_equal(flood(c, 5000), 300);
    seconds += 1000;
    assert_int_equal(flood(c, 5000), 1000);
}
