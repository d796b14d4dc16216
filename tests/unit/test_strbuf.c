/*
 * The capped buffer: its three invariants after every kind of call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"

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

static void strbuf_is_an_empty_string_before_anything_is_added(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    assert_null(b.bytes);
    assert_holds(&b, "");
    strbuf_fini(&b);
}

static void strbuf_appends_in_every_way(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    assert_true(strbuf_add(&b, "one ", 4));
    assert_true(strbuf_adds(&b, "two "));
    assert_true(strbuf_addc(&b, '3'));
    assert_true(strbuf_addf(&b, " %s %d", "four", 5));
    assert_true(strbuf_add(&b, NULL, 0));
    assert_holds(&b, "one two 3 four 5");
    strbuf_fini(&b);
    assert_null(b.bytes);
}

static void strbuf_holds_nul_bytes(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    assert_true(strbuf_add(&b, "a\0b", 3));
    assert_true(strbuf_addc(&b, '\0'));
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.bytes, "a\0b\0", 5);
    strbuf_fini(&b);
}

static void strbuf_grows_by_single_bytes(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    for (int i = 0; i < 10000; i++) {
        assert_true(strbuf_addc(&b, (char)('a' + i % 26)));
        assert_invariants(&b);
    }
    for (int i = 0; i < 10000; i++)
        assert_int_equal(b.bytes[i], 'a' + i % 26);
    strbuf_fini(&b);
}

static void strbuf_addf_formats_text_longer_than_its_buffer(void **state)
{
    struct strbuf b;
    char *text = malloc(5001);

    (void)state;
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

static void strbuf_fills_exactly_to_its_cap(void **state)
{
    struct strbuf b;

    (void)state;
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

static void strbuf_appends_nothing_of_text_that_does_not_fit(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 5);
    assert_true(strbuf_adds(&b, "abc"));
    assert_false(strbuf_adds(&b, "def"));
    assert_true(b.is_overflown);
    assert_holds(&b, "abc");
    strbuf_fini(&b);

    strbuf_init(&b, 5);
    assert_true(strbuf_adds(&b, "abc"));
    assert_false(strbuf_addf(&b, "%d", 123));
    assert_true(b.is_overflown);
    assert_holds(&b, "abc");
    strbuf_fini(&b);

    strbuf_init(&b, 5);
    assert_true(strbuf_addf(&b, "%d", 12345));
    assert_false(b.is_overflown);
    assert_holds(&b, "12345");
    strbuf_fini(&b);

    strbuf_init(&b, 5);
    assert_false(strbuf_addf(&b, "%d", 123456));
    assert_holds(&b, "");
    strbuf_fini(&b);
}

static void strbuf_adds_nothing_more_after_an_overflow(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 5);
    assert_true(strbuf_adds(&b, "abc"));
    assert_false(strbuf_adds(&b, "def"));
    assert_false(strbuf_addc(&b, 'd'));
    assert_false(strbuf_addf(&b, "d"));
    assert_false(strbuf_add(&b, "", 0));
    assert_null(strbuf_reserve(&b, 1));
    assert_holds(&b, "abc");
    strbuf_clear(&b);
    assert_false(b.is_overflown);
    assert_true(strbuf_adds(&b, "defgh"));
    assert_holds(&b, "defgh");
    strbuf_fini(&b);
}

static void strbuf_survives_sizes_that_wrap_around(void **state)
{
    struct strbuf b;

    (void)state;
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

static void strbuf_reserve_makes_room_at_the_end(void **state)
{
    struct strbuf b;
    char *room;

    (void)state;
    strbuf_init(&b, 1000);
    strbuf_adds(&b, "ab");
    room = strbuf_reserve(&b, 998);
    assert_ptr_equal(room, b.bytes + 2);
    memset(room, 'x', 998);
    strbuf_added(&b, 3);
    assert_holds(&b, "abxxx");
    assert_non_null(strbuf_reserve(&b, 995));
    assert_null(strbuf_reserve(&b, 996));
    assert_true(b.is_overflown);
    strbuf_fini(&b);
}

static void strbuf_reserve_of_nothing_makes_a_string(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    assert_null(b.bytes);
    assert_non_null(strbuf_reserve(&b, 0));
    strbuf_added(&b, 0);
    assert_non_null(b.bytes);
    assert_int_equal(b.bytes[0], '\0');
    assert_holds(&b, "");
    strbuf_fini(&b);
}

static void strbuf_consume_drops_from_the_front(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 0);
    strbuf_consume(&b, 1);
    assert_holds(&b, "");
    strbuf_adds(&b, "abcdef");
    strbuf_consume(&b, 0);
    assert_holds(&b, "abcdef");
    strbuf_consume(&b, 2);
    assert_holds(&b, "cdef");
    strbuf_consume(&b, 100);
    assert_holds(&b, "");
    strbuf_adds(&b, "g");
    assert_holds(&b, "g");
    strbuf_fini(&b);
}

static void strbuf_steal_hands_over_and_starts_again(void **state)
{
    struct strbuf b;
    size_t len = 99;
    char *bytes;

    (void)state;
    strbuf_init(&b, 6);
    bytes = strbuf_steal(&b, &len);
    assert_string_equal(bytes, "");
    assert_int_equal(len, 0);
    free(bytes);
    strbuf_adds(&b, "abc");
    bytes = strbuf_steal(&b, &len);
    assert_string_equal(bytes, "abc");
    assert_int_equal(len, 3);
    free(bytes);
    assert_holds(&b, "");
    assert_int_equal(b.limit, 6);
    assert_true(strbuf_adds(&b, "abcdef"));
    assert_false(strbuf_addc(&b, 'g'));
    free(strbuf_steal(&b, NULL));
    assert_false(b.is_overflown);
    strbuf_fini(&b);
}

static void strbuf_clear_keeps_the_memory(void **state)
{
    struct strbuf b;
    char *bytes;

    (void)state;
    strbuf_init(&b, 0);
    strbuf_clear(&b);
    assert_holds(&b, "");
    strbuf_adds(&b, "abc");
    bytes = b.bytes;
    strbuf_clear(&b);
    assert_ptr_equal(b.bytes, bytes);
    assert_holds(&b, "");
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strbuf_is_an_empty_string_before_anything_is_added),
        cmocka_unit_test(strbuf_appends_in_every_way),
        cmocka_unit_test(strbuf_holds_nul_bytes),
        cmocka_unit_test(strbuf_grows_by_single_bytes),
        cmocka_unit_test(strbuf_addf_formats_text_longer_than_its_buffer),
        cmocka_unit_test(strbuf_fills_exactly_to_its_cap),
        cmocka_unit_test(strbuf_appends_nothing_of_text_that_does_not_fit),
        cmocka_unit_test(strbuf_adds_nothing_more_after_an_overflow),
        cmocka_unit_test(strbuf_survives_sizes_that_wrap_around),
        cmocka_unit_test(strbuf_reserve_makes_room_at_the_end),
        cmocka_unit_test(strbuf_reserve_of_nothing_makes_a_string),
        cmocka_unit_test(strbuf_consume_drops_from_the_front),
        cmocka_unit_test(strbuf_steal_hands_over_and_starts_again),
        cmocka_unit_test(strbuf_clear_keeps_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
