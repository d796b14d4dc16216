/*
 * The capped buffer: its three invariants after every kind of call.
 */
#include <stdio.h>
#include <string.h>

#include "strbuf_test.h"

static void assert_invariants(const struct strbuf *b)
{
    if (b->bytes) {
        assert_int_equal(b->bytes[b->len], 0);
        assert_true(b->len < b->capacity);
    } else {
        assert_int_equal(b->len, 0);
    }
    if (b->limit)
        assert_true(b->len <= b->limit);
}

#define assert_holds(b, text)                                                                                \
    do {                                                                                                     \
        assert_invariants(b);                                                                                \
        assert_string_equal(strbuf_string(b), text);                                                         \
        assert_int_equal((b)->len, strlen(text));                                                            \
    } while (0)

STRBUF_TEST(b, strbuf_is_an_empty_string_before_anything_is_added)
{
    assert_null(b->bytes);
    assert_holds(b, "");
}

STRBUF_TEST(b, strbuf_appends_in_every_way)
{
    assert_true(strbuf_add(b, "one ", 4));
    assert_true(strbuf_adds(b, "two "));
    assert_true(strbuf_addc(b, '3'));
    assert_true(strbuf_addf(b, " %s %d", "four", 5));
    assert_true(strbuf_add(b, NULL, 0));
    assert_holds(b, "one two 3 four 5");
    strbuf_fini(b);
    assert_null(b->bytes);
}

STRBUF_TEST(b, strbuf_holds_nul_bytes)
{
    assert_true(strbuf_add(b, "a\0b", 3));
    assert_true(strbuf_addc(b, '\0'));
    assert_int_equal(b->len, 4);
    assert_memory_equal(b->bytes, "a\0b\0", 5);
}

STRBUF_TEST(b, strbuf_grows_by_single_bytes)
{
    for (int i = 0; i < 10000; i++) {
        assert_true(strbuf_addc(b, (char)('a' + i % 26)));
        assert_invariants(b);
    }
    for (int i = 0; i < 10000; i++)
        assert_int_equal(b->bytes[i], 'a' + i % 26);
}

TEST(strbuf_addf_formats_text_longer_than_its_buffer)
{
    struct strbuf b;
    char *text = malloc(5001);
    memset(text, 'x', 5000);
    text[5000] = '\0';
    strbuf_init(&b, 0);
    /* Every length around the first capacity. */
    for (int n = 0; n < 200; n++) {
        strbuf_clear(&b);
        assert_true(strbuf_addf(&b, "%.*s", n, text));
        assert_int_equal(b.len, n);
        assert_invariants(&b);
        strbuf_fini(&b);
    }
    assert_true(strbuf_addf(&b, "<%s>", text));
    assert_int_equal(b.len, 5002);
    assert_int_equal(b.bytes[5001], '>');
    assert_invariants(&b);
    strbuf_fini(&b);
    free(text);
}

TEST(strbuf_fills_exactly_to_its_cap)
{
    struct strbuf b;
    for (size_t limit = 1; limit < 200; limit++) {
        strbuf_init(&b, limit);
        for (size_t i = 0; i < limit; i++)
            assert_true(strbuf_addc(&b, 'x'));
        assert_int_equal(b.len, limit);
        assert_false(b.is_overflown);
        assert_false(strbuf_addc(&b, 'y'));
        assert_true(b.is_overflown);
        assert_int_equal(b.len, limit);
        assert_invariants(&b);
        strbuf_fini(&b);
    }
}

TEST(strbuf_appends_nothing_of_text_that_does_not_fit)
{
    static const struct {
        const char *first;
        int number;
        const char *text;
    } rows[] = {{"abc", 123, "abc"}, {"", 12345, "12345"}, {"", 123456, ""}, {"12345", 6, "12345"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int is_formatted = 0; is_formatted < 2; is_formatted++) {
            struct strbuf b;
            char digits[16];
            snprintf(digits, sizeof digits, "%d", rows[i].number);
            strbuf_init(&b, 5);
            assert_true(strbuf_adds(&b, rows[i].first));
            bool fits = is_formatted ? strbuf_addf(&b, "%d", rows[i].number) : strbuf_adds(&b, digits);
            assert_int_equal(fits, strlen(rows[i].first) + strlen(digits) <= 5);
            assert_int_equal(b.is_overflown, !fits);
            assert_holds(&b, rows[i].text);
            strbuf_fini(&b);
        }
    }
}

STRBUF_TEST(b, strbuf_adds_nothing_more_after_an_overflow)
{
    b->limit = 5;
    assert_true(strbuf_adds(b, "abc"));
    assert_false(strbuf_adds(b, "def"));
    assert_false(strbuf_addc(b, 'd'));
    assert_false(strbuf_addf(b, "d"));
    assert_false(strbuf_add(b, "", 0));
    assert_null(strbuf_reserve(b, 1));
    assert_holds(b, "abc");
    strbuf_clear(b);
    assert_false(b->is_overflown);
    assert_true(strbuf_adds(b, "defgh"));
    assert_holds(b, "defgh");
}

TEST(strbuf_survives_sizes_that_wrap_around)
{
    struct strbuf b;
    strbuf_init(&b, 100);
    assert_true(strbuf_adds(&b, "abc"));
    assert_null(strbuf_reserve(&b, SIZE_MAX));
    strbuf_clear(&b);
    assert_true(strbuf_adds(&b, "abc"));
    assert_null(strbuf_reserve(&b, SIZE_MAX - 3));
    assert_holds(&b, "abc");
    strbuf_fini(&b);
    /* Without a cap to stop it, it is the sum that must not wrap. */
    strbuf_init(&b, 0);
    assert_true(strbuf_adds(&b, "abc"));
    assert_null(strbuf_reserve(&b, SIZE_MAX - 3));
    assert_true(b.is_overflown);
    strbuf_fini(&b);
}

STRBUF_TEST(b, strbuf_reserve_makes_room_at_the_end)
{
    b->limit = 1000;
    strbuf_adds(b, "ab");
    char *room = strbuf_reserve(b, 998);
    assert_ptr_equal(room, b->bytes + 2);
    memset(room, 'x', 998);
    strbuf_added(b, 3);
    assert_holds(b, "abxxx");
    assert_non_null(strbuf_reserve(b, 995));
    assert_null(strbuf_reserve(b, 996));
    assert_true(b->is_overflown);
}

STRBUF_TEST(b, strbuf_reserve_of_nothing_makes_a_string)
{
    assert_null(b->bytes);
    assert_non_null(strbuf_reserve(b, 0));
    strbuf_added(b, 0);
    assert_non_null(b->bytes);
    assert_int_equal(b->bytes[0], '\0');
    assert_holds(b, "");
}

STRBUF_TEST(b, strbuf_consume_drops_from_the_front)
{
    strbuf_consume(b, 1);
    assert_holds(b, "");
    strbuf_adds(b, "abcdef");
    strbuf_consume(b, 0);
    assert_holds(b, "abcdef");
    strbuf_consume(b, 2);
    assert_holds(b, "cdef");
    strbuf_consume(b, 100);
    assert_holds(b, "");
    strbuf_adds(b, "g");
    assert_holds(b, "g");
}

STRBUF_TEST(b, strbuf_steal_hands_over_and_starts_again)
{
    b->limit = 6;
    size_t len = 99;
    char *bytes = strbuf_steal(b, &len);
    assert_string_equal(bytes, "");
    assert_int_equal(len, 0);
    free(bytes);
    strbuf_adds(b, "abc");
    bytes = strbuf_steal(b, &len);
    assert_string_equal(bytes, "abc");
    assert_int_equal(len, 3);
    free(bytes);
    assert_holds(b, "");
    assert_int_equal(b->limit, 6);
    assert_true(strbuf_adds(b, "abcdef"));
    assert_false(strbuf_addc(b, 'g'));
    free(strbuf_steal(b, NULL));
    assert_false(b->is_overflown);
}

STRBUF_TEST(b, strbuf_clear_keeps_the_memory)
{
    char *bytes;
    strbuf_clear(b);
    assert_holds(b, "");
    strbuf_adds(b, "abc");
    bytes = b->bytes;
    strbuf_clear(b);
    assert_ptr_equal(b->bytes, bytes);
    assert_holds(b, "");
}
