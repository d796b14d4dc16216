/*
 * The intrusive hash table: finding among many, equal hashes, growing, removing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "../assert_between.h"
#include "base/hash_table.h"

#define MANY 10000

struct item {
    char name[16];
    struct hash_node node;
};

static struct item *find(const struct hash_table *t, const char *name)
{
    for (struct hash_node *node = hash_table_first(t, hash_text(name, 7)); node != NULL;
         node = hash_table_next(node))
        if (strcmp(hash_table_entry(node, struct item, node)->name, name) == 0)
            return hash_table_entry(node, struct item, node);
    return NULL;
}

static struct item items[MANY];

static void add_many(struct hash_table *t)
{
    hash_table_init(t);
    for (int i = 0; i < MANY; i++) {
        snprintf(items[i].name, sizeof items[i].name, "s%d", i);
        hash_table_add(t, &items[i].node, hash_text(items[i].name, 7));
    }
}

TEST(hash_table_that_is_empty_finds_nothing)
{
    struct hash_table t;
    hash_table_init(&t);
    assert_null(hash_table_first(&t, 0));
    hash_table_fini(&t);
}

TEST(hash_table_finds_each_of_many)
{
    struct hash_table t;
    add_many(&t);
    assert_int_equal(t.count, MANY);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(find(&t, items[i].name), &items[i]);
    assert_null(find(&t, "s10000"));
    hash_table_fini(&t);
}

TEST(hash_table_removes_only_the_given_entry)
{
    struct hash_table t;
    add_many(&t);
    for (int i = 0; i < MANY; i += 2)
        hash_table_remove(&t, &items[i].node);
    assert_int_equal(t.count, MANY / 2);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(find(&t, items[i].name), i % 2 == 0 ? NULL : &items[i]);
    for (int i = 0; i < MANY; i += 2)
        hash_table_add(&t, &items[i].node, hash_text(items[i].name, 7));
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(find(&t, items[i].name), &items[i]);
    hash_table_fini(&t);
}

TEST(hash_table_visits_all_entries_of_a_hash_youngest_first_across_growth)
{
    struct hash_table t;
    static struct item same[50], others[200];
    hash_table_init(&t);
    for (int i = 0; i < 50; i++)
        hash_table_add(&t, &same[i].node, 5);
    for (int i = 0; i < 200; i++)
        hash_table_add(&t, &others[i].node, 6 + (uint64_t)i);
    int expected = 49;
    for (struct hash_node *node = hash_table_first(&t, 5); node != NULL; node = hash_table_next(node))
        assert_ptr_equal(hash_table_entry(node, struct item, node), &same[expected--]);
    assert_int_equal(expected, -1);
    hash_table_fini(&t);
}

TEST(hash_table_keeps_its_chains_short)
{
    struct hash_table t;
    add_many(&t);
    size_t longest = 0;
    for (size_t i = 0; i < t.bucket_count; i++) {
        size_t n = 0;
        for (struct hash_node *node = t.buckets[i]; node != NULL; node = node->next)
            n++;
        longest = n > longest ? n : longest;
    }
    assert_between(longest, 1, 12);
    hash_table_fini(&t);
}
