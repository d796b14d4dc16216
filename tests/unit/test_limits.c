/*
 * The table of limits: bounds, wholeness, names.
 */
#include <math.h>
#include <string.h>

#include "../cases.h"
#include "session/records/limits.h"

TEST(limits_begin_within_their_bounds)
{
    struct limits l;
    struct err err;
    limits_init(&l);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        assert_true(d->minimum <= d->initial && d->initial <= d->maximum);
        assert_true(limits_set(&l, (enum limit)i, d->initial, &err));
    }
    assert_int_equal(limits_timeout_ms(&l), 30000);
    assert_int_equal(limits_int(&l, LIMIT_MAX_OUTPUT), 4096);
}

TEST(limits_are_found_by_name)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        assert_int_equal(limit_find(limit_definition((enum limit)i)->name), i);
    assert_int_equal(limit_find("no-such-limit"), LIMIT_COUNT);
    assert_int_equal(limit_find(""), LIMIT_COUNT);
    assert_int_equal(limit_find("Timeout"), LIMIT_COUNT);
}

TEST(limits_accept_both_bounds_and_nothing_beyond)
{
    struct limits l;
    struct err err;
    limits_init(&l);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        assert_true(limits_set(&l, (enum limit)i, d->minimum, &err));
        assert_true(limits_set(&l, (enum limit)i, d->maximum, &err));
        const double wrong[] = {
            d->minimum - 1, nextafter(d->minimum, -INFINITY), nextafter(d->maximum, INFINITY), NAN, INFINITY,
            -INFINITY};
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            memset(&err, 0, sizeof err);
            if (limits_set(&l, (enum limit)i, wrong[k], &err))
                fail_msg("%s accepts %.17g", d->name, wrong[k]);
            assert_int_equal(err.code, ERR_INVALID);
            assert_true(strncmp(err.message, d->name, strlen(d->name)) == 0);
            assert_true(l.value[i] >= d->maximum);
        }
    }
}

TEST(limits_that_are_whole_refuse_fractions)
{
    struct limits l;
    struct err err;
    limits_init(&l);
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        assert_int_equal(limits_set(&l, (enum limit)i, d->minimum + 0.5, &err), !d->is_whole);
        if (d->is_whole)
            assert_non_null(strstr(err.message, "whole number"));
    }
}

TEST(limits_report_the_allowed_range)
{
    struct limits l;
    struct err err;
    limits_init(&l);
    assert_false(limits_set(&l, LIMIT_TIMEOUT, 0, &err));
    assert_string_equal(err.message, "timeout must be a number from 0.05 to 86400 s.");
    assert_false(limits_set(&l, LIMIT_PRINT_LEVEL, -1, &err));
    assert_string_equal(err.message, "print-level must be a whole number from 0 to 1000.");
}

/* "%g" has six digits: a bound with more must not be shown as another number. */
TEST(limits_name_their_bounds_exactly)
{
    struct limits l;
    struct err err;
    limits_init(&l);
    assert_false(limits_set(&l, LIMIT_MAX_OUTPUT, 1, &err));
    assert_string_equal(err.message, "max-output must be a whole number from 200 to 4000000 bytes.");
    assert_false(limits_set(&l, LIMIT_MAX_HEAP, 1, &err));
    assert_string_equal(err.message, "max-heap must be a whole number from 128 to 1048576 MiB.");
}

TEST(limits_give_milliseconds_of_fractions)
{
    struct limits l;
    struct err err;
    limits_init(&l);
    assert_true(limits_set(&l, LIMIT_TIMEOUT, 0.25, &err));
    assert_int_equal(limits_timeout_ms(&l), 250);
    assert_true(limits_set(&l, LIMIT_TIMEOUT, 86400, &err));
    assert_int_equal(limits_timeout_ms(&l), 86400000);
}

TEST(limits_have_a_description_each)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_definition *d = limit_definition((enum limit)i);
        assert_true(strlen(d->description) > 10);
        assert_int_equal(strspn(d->name, "abcdefghijklmnopqrstuvwxyz-"), strlen(d->name));
    }
}
