/*
 * Captured output: its invariants, what it shows, and a naive model that remembers every byte.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../cases.h"
#include "../assert_between.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "report/output.h"
#include "session/output/capture.h"

static void assert_invariants(const struct capture *c)
{
    assert_int_equal(c->head.len, c->total < CAPTURE_PART ? c->total : CAPTURE_PART);
    if (c->total <= CAPTURE_PART) {
        assert_null(c->tail);
        assert_int_equal(c->tail_len, 0);
    } else {
        uint64_t behind = c->total - CAPTURE_PART;
        assert_non_null(c->tail);
        assert_int_equal(c->tail_len, behind < CAPTURE_PART ? behind : CAPTURE_PART);
        assert_between(c->tail_start, 0, CAPTURE_PART - 1);
    }
}

static void add_repeated(struct capture *c, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        capture_add(c, text, strlen(text));
}

struct fixture {
    struct capture capture;
    struct strbuf out; /* what was shown of it */
    bool is_cut;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    capture_init(&f->capture);
    strbuf_init(&f->out, 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    capture_fini(&f->capture);
    strbuf_fini(&f->out);
    free(f);
    return 0;
}

/* ${c} is the capture of the fixture ${f}, empty at first. */
#define CASE(test)                                                                                           \
    static void test(struct fixture *f, struct capture *c);                                                  \
    REGISTER_TEST(test, run_##test, set_up, tear_down)                                                       \
    {                                                                                                        \
        test(*state, &((struct fixture *)*state)->capture);                                                  \
    }                                                                                                        \
    static void test(__attribute__((unused)) struct fixture *f, struct capture *c)

static void start_again(struct capture *c)
{
    capture_fini(c);
    capture_init(c);
}

/* What is shown; valid UTF-8 in any case. */
static const char *shown(struct fixture *f, size_t most)
{
    strbuf_clear(&f->out);
    f->is_cut = output_show(&f->capture, &f->out, most, 7);
    if (!utf8_is_valid(strbuf_string(&f->out), f->out.len))
        fail_msg("what is shown of %llu bytes with %zu allowed is no UTF-8",
                 (unsigned long long)f->capture.total, most);
    return strbuf_string(&f->out);
}

/* The two numbers of the line between head and tail; what is around it must make up the rest. */
static void assert_counts(const char *text, uint64_t total)
{
    const char *mark = strstr(text, "[… ");
    assert_non_null(mark);
    assert_null(strstr(mark + 1, "[… "));
    uint64_t numbers[2] = {0, 0};
    const char *p = mark + strlen("[… ");
    for (int i = 0; i < 2; i++) {
        for (; (*p >= '0' && *p <= '9') || *p == ','; p++)
            if (*p != ',')
                numbers[i] = numbers[i] * 10 + (uint64_t)(*p - '0');
        if (i == 0) {
            assert_memory_equal(p, " of ", 4);
            p += 4;
        }
    }
    static const char rest[] = " bytes left out; get-output ref 7 …]\n";
    if (strncmp(p, rest, strlen(rest)) != 0)
        fail_msg("\"%.80s\"", mark);
    assert_int_equal(numbers[1], total);
    size_t head = (size_t)(mark - text);
    /* A newline that was not there is put before the mark, so that it has a line of its own. */
    size_t left = (size_t)(total - numbers[0]), around = head + strlen(p + strlen(rest));
    if (around != left && around != left + 1)
        fail_msg("%zu bytes are shown, but %zu should be", around, left);
}

CASE(capture_of_nothing_is_empty)
{
    uint64_t start, end;
    char byte;
    assert_invariants(c);
    assert_false(capture_gap(c, &start, &end));
    assert_int_equal(capture_read(c, 0, &byte, 1), 0);
    assert_int_equal(capture_read(c, UINT64_MAX, &byte, 1), 0);
    const char *text = shown(f, 200);
    assert_string_equal(text, "");
    assert_false(f->is_cut);
}

CASE(capture_shows_everything_within_the_limit)
{
    add_repeated(c, "0123456789", 20);
    const char *text = shown(f, 200);
    assert_false(f->is_cut);
    assert_int_equal(strlen(text), 200);
    capture_add(c, "x", 1);
    text = shown(f, 200);
    assert_true(f->is_cut);
    assert_counts(text, 201);
}

CASE(capture_cuts_with_exact_counts_and_the_reference)
{
    add_repeated(c, "a", 104304);
    const char *text = shown(f, 6000);
    assert_true(f->is_cut);
    const char *mark = strstr(text, "\n[… 98,304 of 104,304 bytes left out; get-output ref 7 …]\n");
    assert_non_null(mark);
    assert_int_equal(mark - text, 4000);
    assert_int_equal(strspn(text, "a"), 4000);
    assert_int_equal(strlen(strrchr(text, '\n') + 1), 2000);
}

CASE(capture_cuts_at_line_ends_where_one_is_near)
{
    add_repeated(c, "a line of thirty bytes, always\n", 1000);
    const char *text = shown(f, 3000);
    assert_true(f->is_cut);
    assert_counts(text, c->total);
    const char *line = text;
    while (*line != '\0') {
        if (strncmp(line, "a line of thirty bytes, always\n", 31) != 0 && strncmp(line, "[… ", 5) != 0)
            fail_msg("a line was cut: \"%.40s\"", line);
        line = strchr(line, '\n') + 1;
    }
}

CASE(capture_cuts_no_character_in_two)
{
    static const char *const characters[] = {"é", "€", "𝄞"};
    for (size_t i = 0; i < 3; i++)
        for (size_t shift = 0; shift < 8; shift++)
            for (size_t most = 200; most < 212; most++) {
                start_again(c);
                capture_add(c, "xxxxxxxx", shift);
                add_repeated(c, characters[i], 500);
                const char *text = shown(f, most);
                assert_true(f->is_cut);
                assert_null(strstr(text, "\xEF\xBF\xBD"));
                assert_counts(text, c->total);
            }
}

CASE(capture_shows_invalid_bytes_as_replacement_characters)
{
    capture_add(c,
                "a\xFF"
                "b\xE2\x82"
                "c\xED\xA0\x80"
                "d\0e",
                12);
    assert_false(output_show(c, &f->out, 200, 1));
    static const char expected[] = "a\uFFFDb\uFFFDc\uFFFD\uFFFD\uFFFDd\0e";
    assert_int_equal(f->out.len, sizeof expected - 1);
    assert_memory_equal(f->out.bytes, expected, sizeof expected - 1);
    /* Nothing in it begins a character. */
    start_again(c);
    add_repeated(c, "\x80", 5000);
    const char *text = shown(f, 200);
    assert_true(f->is_cut);
    assert_non_null(strstr(text, " of 5,000 bytes left out"));
}

CASE(capture_shows_a_head_of_bytes_that_begin_no_character)
{
    add_repeated(c, "\x80", 5000);
    const char *text = shown(f, 300);
    assert_true(strstr(text, "[…") >= text + 3 * 190);
}

CASE(capture_keeps_everything_that_fits_into_head_and_tail)
{
    uint64_t start, end;
    size_t len = 2 * CAPTURE_PART;
    char *bytes = malloc(len + 1), *read = malloc(len + 1);
    assert_true(bytes != NULL && read != NULL);
    for (size_t i = 0; i <= len; i++)
        bytes[i] = (char)('a' + i * 31 % 26 % 23);
    capture_add(c, bytes, len);
    assert_invariants(c);
    assert_false(capture_gap(c, &start, &end));
    assert_int_equal(capture_read(c, 0, read, len + 1), len);
    assert_memory_equal(read, bytes, len);
    capture_add(c, bytes + len, 1);
    assert_invariants(c);
    assert_true(capture_gap(c, &start, &end));
    assert_int_equal(start, CAPTURE_PART);
    assert_int_equal(end, CAPTURE_PART + 1);
    assert_int_equal(capture_read(c, 0, read, len), CAPTURE_PART);
    assert_int_equal(capture_read(c, CAPTURE_PART, read, len), 0);
    assert_int_equal(capture_read(c, CAPTURE_PART + 1, read, len), CAPTURE_PART);
    assert_memory_equal(read, bytes + CAPTURE_PART + 1, CAPTURE_PART);
    free(bytes);
    free(read);
}

/* The limit may be larger than either part: what is kept whole is shown whole, and nothing is shown twice. */
CASE(capture_shows_everything_it_keeps_under_a_large_limit)
{
    size_t total = 2 * CAPTURE_PART / 2;
    for (size_t i = 0; i < total / 16; i++) {
        char line[17];
        snprintf(line, sizeof line, "%015zu\n", i);
        capture_add(c, line, 16);
    }
    const char *text = shown(f, 4000000);
    if (f->is_cut) {
        const char *mark = strstr(text, "[… ");
        fail_msg("cut: \"%.70s\"", mark == NULL ? "?" : mark);
    }
    assert_int_equal(strlen(text), total);
}

CASE(capture_counts_exactly_when_it_shows_both_parts_and_a_gap)
{
    add_repeated(c, "0123456789abcde\n", 3 * CAPTURE_PART / 16);
    static const size_t limits[] = {200, 16384, 1000000, 1500000, 2500000, 4000000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const char *text = shown(f, limits[i]);
        assert_true(f->is_cut);
        assert_counts(text, c->total);
        assert_true(strlen(text) <= limits[i] + 100);
    }
}

TEST(capture_of_small_parts_takes_little_memory)
{
    enum { PART = 1000 };
    struct capture c, kept;
    char bytes[2 * PART];
    uint64_t start, end;
    capture_init_small(&c, PART);
    for (int round = 0; round < 2; round++) {
        add_repeated(&c, "0123456789", 100000);
        assert_between(capture_bytes(&c), 2 * PART, 4 * PART);
        assert_true(capture_gap(&c, &start, &end));
        assert_int_equal(start, PART);
        assert_int_equal(end, c.total - PART);
        assert_int_equal(capture_read(&c, 0, bytes, sizeof bytes), PART);
        assert_int_equal(capture_read(&c, end, bytes, sizeof bytes), PART);
        capture_move(&kept, &c);
        capture_fini(&kept);
    }
    capture_fini(&c);
}

TEST(capture_moves_leave_an_empty_one_behind)
{
    struct capture from, to;
    char byte;
    capture_init(&from);
    add_repeated(&from, "0123456789", CAPTURE_PART / 10 + 10);
    uint64_t total = from.total;
    capture_move(&to, &from);
    assert_invariants(&from);
    assert_int_equal(from.total, 0);
    assert_invariants(&to);
    assert_int_equal(to.total, total);
    capture_add(&from, "x", 1);
    assert_int_equal(capture_read(&to, 0, &byte, 1), 1);
    assert_int_equal(byte, '0');
    capture_fini(&from);
    capture_fini(&to);
    assert_int_equal(to.total, 0);
    assert_invariants(&to);
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

CASE(capture_of_a_hundred_megabytes_stays_small)
{
    char chunk[65536], last[100];
    memset(chunk, 'z', sizeof chunk);
    long before = peak_kib();
    uint64_t total = 0;
    for (size_t i = 0; total < 100u * 1000 * 1000; i++) {
        size_t len = sizeof chunk - i % 1000;
        chunk[0] = (char)('0' + i % 10);
        capture_add(c, chunk, len);
        total += len;
    }
    capture_add(c, "the end", 7);
    assert_int_equal(c->total, total + 7);
    assert_invariants(c);
    assert_int_equal(capture_read(c, c->total - 7, last, sizeof last), 7);
    assert_memory_equal(last, "the end", 7);
    assert_between(c->head.capacity, CAPTURE_PART, 2 * CAPTURE_PART + 4096);
    if (peak_kib() - before > 16 * 1024)
        fail_msg("it took %ld KiB", peak_kib() - before);
}

/* The model: every byte, in one piece. */
struct model {
    char *bytes;
    size_t len;
};

static void assert_agrees(const struct capture *c, const struct model *m)
{
    static char out[300000];
    uint64_t start, end;
    assert_invariants(c);
    assert_int_equal(c->total, m->len);
    bool has_gap = capture_gap(c, &start, &end);
    assert_int_equal(has_gap, m->len > 2 * CAPTURE_PART);
    size_t gap_start = CAPTURE_PART, gap_end = has_gap ? m->len - CAPTURE_PART : CAPTURE_PART;
    for (int i = 0; i < 40; i++) {
        size_t offset = m->len == 0 ? 0 : (size_t)random() % (m->len + 10);
        if (i % 4 == 0) /* near the borders */
            offset = (i % 8 == 0 ? gap_start : gap_end) + (size_t)random() % 20 - 10;
        size_t len = (size_t)random() % sizeof out, expected = len;
        if (offset >= m->len || (has_gap && offset >= gap_start && offset < gap_end))
            expected = 0;
        else if (has_gap && offset < gap_start && expected > gap_start - offset)
            expected = gap_start - offset;
        if (expected > 0 && expected > m->len - offset)
            expected = m->len - offset;
        size_t n = capture_read(c, offset, out, len);
        if (n != expected)
            fail_msg("%zu bytes at %zu of %zu: %zu came, not %zu", len, offset, m->len, n, expected);
        if (memcmp(out, m->bytes + offset, n) != 0)
            fail_msg("%zu bytes at %zu of %zu are wrong", len, offset, m->len);
    }
}

CASE(capture_agrees_with_a_naive_model)
{
    random_seed();
    size_t most = 8u << 20;
    struct model m = {.bytes = malloc(most)};
    assert_non_null(m.bytes);
    for (int round = 0; round < 40; round++) {
        start_again(c);
        m.len = 0;
        size_t goal = (size_t)random() % (round % 2 == 0 ? most : 3u << 20);
        while (m.len < goal) {
            size_t len = (size_t)random() % (1u << (random() % 22));
            if (len > most - m.len)
                len = most - m.len;
            for (size_t i = 0; i < len; i++)
                m.bytes[m.len + i] = (char)((m.len + i) * 2654435761u >> 13);
            capture_add(c, m.bytes + m.len, len);
            m.len += len;
            assert_invariants(c);
        }
        assert_agrees(c, &m);
        shown(f, 200 + (size_t)random() % 20000);
    }
    free(m.bytes);
}

CASE(capture_shows_random_text_as_its_beginning_and_its_end)
{
    static const char *const pieces[] = {"a", "é", "€", "𝄞", "\n", "word ", "0123456789\n"};
    for (int round = 0; round < 300; round++) {
        struct strbuf all;
        start_again(c);
        strbuf_init(&all, 0);
        size_t goal = 300 + (size_t)random() % 5000;
        while (all.len < goal)
            strbuf_adds(&all, pieces[(size_t)random() % (sizeof pieces / sizeof pieces[0])]);
        capture_add(c, all.bytes, all.len);
        size_t most = 200 + (size_t)random() % 3000;
        const char *text = shown(f, most);
        assert_int_equal(f->is_cut, all.len > most);
        if (!f->is_cut) {
            assert_string_equal(text, all.bytes);
        } else {
            assert_counts(text, all.len);
            const char *mark = strstr(text, "[… "), *tail = strchr(mark, '\n') + 1;
            size_t head = (size_t)(mark - text), tail_len = strlen(tail);
            if (strncmp(text, all.bytes, head) != 0)
                assert_memory_equal(text, all.bytes, head - 1);
            assert_string_equal(tail, all.bytes + all.len - tail_len);
            assert_true(head + tail_len <= most + 1);
        }
        strbuf_fini(&all);
    }
}

CASE(capture_forgets_an_end_that_is_cut)
{
    char text[8];
    capture_add(c, "abcdef", 6);
    assert_false(capture_cut(c, 7));
    assert_true(capture_cut(c, 2));
    assert_int_equal(c->total, 2);
    capture_add(c, "xy", 2);
    assert_int_equal(capture_read(c, 0, text, sizeof text), 4);
    assert_memory_equal(text, "abxy", 4);
    assert_true(capture_cut(c, 0));
    assert_int_equal(capture_read(c, 0, text, sizeof text), 0);
    char *much = malloc(CAPTURE_PART + 1);
    memset(much, 'x', CAPTURE_PART + 1);
    capture_add(c, much, CAPTURE_PART + 1);
    free(much);
    assert_false(capture_cut(c, 1));
    assert_int_equal(c->total, CAPTURE_PART + 1);
}

CASE(a_floor_is_the_beginning_of_a_character_that_is_not_complete)
{
    static const struct {
        const char *text;
        uint64_t floor;
    } cases[] = {
        {"", 0},
        {"a", 1},
        {"\xc3", 0},
        {"a\xc3\xa4", 3},
        {"a\xe2\x82", 1},
        {"a\xe2\x82\xac", 4},
        {"ab\xf0\x9f\x98", 2},
        {"ab\xf0\x9f\x98\x80", 6},
        {"\x80\x80\x80\x80", 4}, /* no character begins there */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_again(c);
        capture_add(c, cases[i].text, strlen(cases[i].text));
        assert_int_equal(capture_floor(c, c->total), cases[i].floor);
        capture_add(c, "z", 1);
        assert_int_equal(capture_floor(c, c->total - 1), cases[i].floor);
        assert_int_equal(capture_floor(c, c->total), c->total);
    }
}

CASE(the_last_line_is_the_last_that_is_not_blank)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"", ""},
        {"\n \t\n", ""},
        {"one", "one"},
        {"one\ntwo", "two"},
        {"one\ntwo\n\n  \n", "two"},
        {"10 %\r20 %\r", "20 %"},
        {"a\n\xc3\xa4\xc3\xb6\xc3\xbc", "\xc3\xa4\xc3\xb6"}, /* four bytes are asked for */
        {"a\nxy\xe2\x82", "xy"},
        {"\xff\n", "\xef\xbf\xbd"},
        {"12345678", "1234"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_again(c);
        strbuf_clear(&f->out);
        capture_add(c, cases[i].text, strlen(cases[i].text));
        capture_last_line(c, &f->out, 4, false);
        assert_string_equal(strbuf_string(&f->out), cases[i].line);
    }
}

CASE(what_was_printed_is_shown_without_what_only_a_terminal_needs)
{
    static const char note[] =
        "[… cleaned for reading; get-output ref 7 with raw: true returns every byte …]\n";
    char line[40], expected[200];
    c->is_printed = true;
    capture_add(c, "plain\r\n", 7);
    assert_string_equal(shown(f, 200), "plain\r\n");
    assert_false(f->is_cut);
    for (int i = 0; i < 400; i++) {
        int len = snprintf(line, sizeof line, "%d/400\r", i + 1);
        /* A sequence that comes in two pieces. */
        capture_add(c, line, (size_t)len);
        capture_add(c, "\x1b[", 2);
        capture_add(c, "2K", 2);
    }
    snprintf(expected, sizeof expected, "plain\r\n400/400\n%s", note);
    assert_string_equal(shown(f, 200), expected);
    assert_true(f->is_cut);
    capture_last_line(c, &f->out, 200, false);
    assert_non_null(strstr(f->out.bytes, "\n400/400"));
    /* The middle is no longer kept. */
    for (size_t i = 0; i < CAPTURE_PART / 4; i++)
        capture_add(c, "\x1b[31mtick\x1b[0m\n", 14);
    const char *text = shown(f, 200);
    assert_true(strlen(text) < 400);
    assert_non_null(strstr(text, "plain\r\ntick [… "));
    assert_non_null(strstr(text, "bytes left out; get-output ref 7 …]\n"));
    assert_string_equal(text + strlen(text) - strlen(note), note);
    assert_null(strchr(text, 0x1b));
    /* It remains of that kind. */
    capture_fini(c);
    assert_true(c->is_printed);
}

CASE(a_floor_of_what_was_printed_is_where_an_unfinished_sequence_begins)
{
    c->is_printed = true;
    for (int i = 0; i < 1000; i++)
        capture_add(c, "\x1b[1m", 4);
    capture_add(c, "ab\x1b[3", 5);
    assert_int_equal(capture_floor(c, c->total), 4002);
    capture_add(c, "1m", 2);
    assert_int_equal(capture_floor(c, 4005), 4002);
    assert_int_equal(capture_floor(c, c->total), c->total);
}

CASE(the_last_line_of_a_flood_is_found)
{
    char line[40];
    for (int i = 0; i < 300000; i++) {
        int len = snprintf(line, sizeof line, "line %d\n", i);
        capture_add(c, line, (size_t)len);
    }
    capture_last_line(c, &f->out, 200, false);
    assert_string_equal(strbuf_string(&f->out), "line 299999");
    strbuf_clear(&f->out);
    for (int i = 0; i < 1000; i++)
        capture_add(c, "no end \xe2\x82\xac ", 11);
    capture_last_line(c, &f->out, 200, false);
    assert_true(utf8_is_valid(f->out.bytes, f->out.len));
    assert_between(f->out.len, 190, 200);
}
