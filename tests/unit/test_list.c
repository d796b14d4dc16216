/*
 * The intrusive list: order, removal, and walking while removing.
 */
#include "../cases.h"
#include "base/list.h"

struct item {
    int number;
    struct list link;
};

TEST(list_is_empty_after_init)
{
    struct list head;
    list_init(&head);
    assert_true(list_is_empty(&head));
    assert_ptr_equal(head.previous, &head);
}

TEST(list_keeps_the_order_of_appending)
{
    struct item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct list head, *node;
    int expected = 1;
    list_init(&head);
    for (size_t i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    assert_false(list_is_empty(&head));
    assert_int_equal(list_count(&head), 3);
    list_each(struct item, item, &head, link)
        assert_int_equal(item->number, expected++);
    assert_int_equal(expected, 4);
    for (node = head.previous; node != &head; node = node->previous)
        assert_int_equal(list_entry(node, struct item, link)->number, --expected);
    assert_int_equal(expected, 1);
}

TEST(list_remove_leaves_the_others_linked)
{
    struct item items[3] = {{.number = 1}, {.number = 2}, {.number = 3}};
    struct list head;
    list_init(&head);
    for (size_t i = 0; i < 3; i++)
        list_append(&head, &items[i].link);
    list_remove(&items[1].link);
    assert_ptr_equal(head.next, &items[0].link);
    assert_ptr_equal(items[0].link.next, &items[2].link);
    assert_ptr_equal(items[2].link.previous, &items[0].link);
    assert_ptr_equal(items[2].link.next, &head);
}

TEST(list_remove_twice_is_harmless)
{
    struct item items[2] = {{.number = 1}, {.number = 2}};
    struct list head;
    list_init(&head);
    list_append(&head, &items[0].link);
    list_append(&head, &items[1].link);
    list_remove(&items[0].link);
    assert_true(list_is_empty(&items[0].link));
    list_remove(&items[0].link);
    assert_ptr_equal(head.next, &items[1].link);
    assert_ptr_equal(head.previous, &items[1].link);
}

TEST(list_walk_survives_removal_of_the_current_node)
{
    struct item items[4] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    struct list head;
    int seen = 0;
    list_init(&head);
    for (size_t i = 0; i < 4; i++)
        list_append(&head, &items[i].link);
    list_each(struct item, item, &head, link) {
        seen++;
        list_remove(&item->link);
    }
    assert_int_equal(seen, 4);
    assert_true(list_is_empty(&head));
}

TEST(list_walk_of_an_empty_list_does_nothing)
{
    struct list head;
    int seen = 0;
    list_init(&head);
    list_each(struct item, item, &head, link)
        seen += item->number;
    assert_int_equal(seen, 0);
}
