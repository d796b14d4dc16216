/*
 * Quotas: the bound, the one around it, nothing taken on refusal.
 */
#include "../cases.h"
#include "base/quota.h"

TEST(quota_refuses_one_more_than_the_bound_with_the_reason)
{
    struct quota q = {.most = 2, .holder = "The server", .what = "things"};
    struct err err = {0};
    assert_true(quota_take(&q, &err));
    assert_true(quota_take(&q, &err));
    assert_false(quota_take(&q, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.message, "The server may have at most 2 things.");
    quota_give_back(&q);
    assert_true(quota_take(&q, &err));
}

TEST(quota_counts_in_the_one_around_it)
{
    struct quota outer = {.most = 3, .holder = "The house", .what = "things"};
    struct quota a = {.parent = &outer, .most = 2, .holder = "The room", .what = "things"},
                 b = {.parent = &outer};
    struct err err;
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

TEST(an_absent_quota_counts_nothing)
{
    struct err err;
    assert_true(quota_take(NULL, &err));
    quota_give_back(NULL);
}
