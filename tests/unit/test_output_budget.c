/*
 * The budget of kept outputs: who loses which output when it is full.
 */
#include <string.h>

#include "../cases.h"
#include "session/output/output_budget.h"

#define KIB ((size_t)1 << 10)

static void keep(struct output_budget *b, struct kept_output *kept, size_t bytes, int reference)
{
    static char text[64 << 10];
    struct capture c;
    capture_init(&c);
    memset(text, 'x', bytes);
    capture_add(&c, text, bytes);
    output_budget_keep(b, kept, &c, reference);
    assert_int_equal(c.total, 0);
}

TEST(the_owners_oldest_are_dropped_first_and_no_other_owners)
{
    struct output_budget all, a, b;
    struct kept_output of_a[3], of_b[2];
    output_budget_init(&all, NULL, 100 * KIB);
    output_budget_init(&a, &all, 80 * KIB);
    output_budget_init(&b, &all, 80 * KIB);
    for (int i = 0; i < 3; i++)
        kept_output_init(&of_a[i]);
    for (int i = 0; i < 2; i++)
        kept_output_init(&of_b[i]);
    keep(&a, &of_a[0], 30 * KIB, 1);
    keep(&a, &of_a[1], 30 * KIB, 2);
    keep(&a, &of_a[2], 30 * KIB, 3); /* more than A may have */
    assert_int_equal(of_a[0].reference, 0);
    assert_int_equal(of_a[1].reference, 2);
    assert_int_equal(of_a[2].reference, 3);

    keep(&b, &of_b[0], 20 * KIB, 1);
    keep(&b, &of_b[1], 30 * KIB, 2); /* more than all may have */
    assert_int_equal(of_b[0].reference, 0);
    assert_int_equal(of_b[1].reference, 2);
    assert_int_equal(of_a[1].reference, 2);
    assert_int_equal(of_a[2].reference, 3);

    kept_output_drop(&of_a[1]);
    kept_output_drop(&of_a[1]); /* harmless */
    kept_output_drop(&of_a[2]);
    kept_output_drop(&of_b[1]);
    assert_int_equal(all.used, 0);
    assert_int_equal(a.used, 0);
}

TEST(one_that_is_larger_than_the_budget_is_kept_alone)
{
    struct output_budget b;
    struct kept_output kept[2];
    output_budget_init(&b, NULL, 10 * KIB);
    kept_output_init(&kept[0]);
    kept_output_init(&kept[1]);
    keep(&b, &kept[0], 5 * KIB, 1);
    keep(&b, &kept[1], 50 * KIB, 2);
    assert_int_equal(kept[0].reference, 0);
    assert_int_equal(kept[1].reference, 2);
    kept_output_drop(&kept[1]);
    assert_int_equal(b.used, 0);
}
