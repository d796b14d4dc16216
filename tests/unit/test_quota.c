/*
 * Quotas: the bound, the one around it, nothing taken on refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/quota.h"

static void quota_refuses_one_more_than_the_bound_with_the_reason(void **state)
{
    struct quota q = {.most = 2, .holder = "The server", .what = "things"};
    struct err err = {0};
    (void)state;
    assert_true(quota_take(&q, &err));
    assert_true(quota_take(&q, &err));
    assert_false(quota_take(&q, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.message, "The server may have at most 2 things.");
    quota_give_back(&q);
    assert_true(quota_take(&q, &err));
}

static void quota_counts_in_the_one_around_it(void **state)
{
    struct quota outer = {.most = 3, .holder = "The house", .what = "things"};
    struct quota a = {.parent = &outer, .most = 2, .holder = "The room", .what = "things"},
                 b = {.parent = &outer};
    struct err err;
    (void)state;
    assert_true(quota_take(&a, &err));
    assert_true(quota_take(&b, &err));
    assert_true(quota_take(&b, &err));
    assert_false(quota_take(&a, &err));
    assert_string_equal(err.message, "The house may have at most 3 things.");
    assert_int_equal(a.used, 1);
    assert_int_equal(b.used, 2);
    assert_int_equal(outer.used, 3);
    quota_give_back(&b);
    assert_true(quota_take(&a, &err));
    assert_false(quota_take(&a, &err));
    assert_string_equal(err.message, "The room may have at most 2 things.");
}

static void an_absent_quota_counts_nothing(void **state)
{
    struct err err;
    (void)state;
    assert_true(quota_take(NULL, &err));
    quota_give_back(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota_refuses_one_more_than_the_bound_with_the_reason),
        cmocka_unit_test(quota_counts_in_the_one_around_it),
        cmocka_unit_test(an_absent_quota_counts_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
