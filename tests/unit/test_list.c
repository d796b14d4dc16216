/*
 * The intrusive list: order, removal, and walking while removing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
    int number;
    struct list link;
};

static void list_is_empty_after_init(void **state)
{
    struct list head;

    (void)state;
    list_init(&head);
    assert_true(list_is_empty(&head));
    assert_ptr_equal(head.previous, &head);
}

static void list_keeps_the_order_of_appending(void **state)
{
    struct item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct list head, *node, *next;
    int expected = 1;

    (void)state;
    list_init(&head);
    for (size_t i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    assert_false(list_is_empty(&head));
    list_for_each(node, next, &head)
        assert_int_equal(list_entry(node, struct item, link)->number, expected++);
    assert_int_equal(expected, 4);
    for (node = head.previous; node != &head; node = node->previous)
        assert_int_equal(list_entry(node, struct item, link)->number, --expected);
    assert_int_equal(expected, 1);
}

static void list_remove_leaves_the_others_linked(void **state)
{
    struct item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct list head;

    (void)state;
    list_init(&head);
    for (size_t i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    list_remove(&items[1].link);
    assert_ptr_equal(head.next, &items[0].link);
    assert_ptr_equal(items[0].link.next, &items[2].link);
    assert_ptr_equal(items[2].link.previous, &items[0].link);
    assert_ptr_equal(items[2].link.next, &head);
}

static void list_remove_twice_is_harmless(void **state)
{
    struct item items[2] = {{.number = 1}, {.number = 2}};
    struct list head;

    (void)state;
    list_init(&head);
    list_append(&head, &items[0].link);
    list_append(&head, &items[1].link);
    list_remove(&items[0].link);
    assert_true(list_is_empty(&items[0].link));
    list_remove(&items[0].link);
    assert_ptr_equal(head.next, &items[1].link);
    assert_ptr_equal(head.previous, &items[1].link);
}

static void list_walk_survives_removal_of_the_current_node(void **state)
{
    struct item items[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    struct list head, *node, *next;
    int seen = 0;

    (void)state;
    list_init(&head);
    for (size_t i = 0; i < 4; i++)
        list_append(&head, &items[i].link);
    list_for_each(node, next, &head)
    {
        seen++;
        list_remove(node);
    }
    assert_int_equal(seen, 4);
    assert_true(list_is_empty(&head));
}

static void list_walk_of_an_empty_list_does_nothing(void **state)
{
    struct list head, *node, *next;
    int seen = 0;

    (void)state;
    list_init(&head);
    list_for_each(node, next, &head) seen++;
    assert_int_equal(seen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_is_empty_after_init),
        cmocka_unit_test(list_keeps_the_order_of_appending),
        cmocka_unit_test(list_remove_leaves_the_others_linked),
        cmocka_unit_test(list_remove_twice_is_harmless),
        cmocka_unit_test(list_walk_survives_removal_of_the_current_node),
        cmocka_unit_test(list_walk_of_an_empty_list_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
