/*
 * The journal stays within its bounds, whatever a Lisp reports about an evaluation.
 */
#include <string.h>

#include "../cases.h"
#include "session/records/journal.h"

#define MIB ((size_t)1 << 20)

static struct journal_entry *add(struct journal *j, uint64_t evaluation)
{
    return journal_add(j, evaluation, evaluation - 1, "(f)", 3, "CL-USER", JOURNAL_OK);
}

static char *text_of(size_t len)
{
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

TEST(journal_counts_the_pieces_of_an_entry)
{
    struct journal j = {0};
    char *package = text_of(MIB);
    for (uint64_t i = 1; i <= 100; i++) {
        struct journal_entry *e = add(&j, i);
        for (int k = 0; k < 3; k++)
            journal_add_piece(e, i, 0, 3, package, k == 0 ? package : NULL);
        journal_weigh(&j, e);
        assert_true(j.bytes <= JOURNAL_BYTES);
    }
    assert_int_equal(j.count, 1);
    assert_int_equal(j.dropped, 99);
    assert_int_equal(journal_at(&j, 0)->evaluation, 100);
    journal_fini(&j);
    free(package);
}

TEST(journal_counts_additions_that_come_later)
{
    struct journal j = {0};
    for (uint64_t i = 1; i <= 20; i++)
        add(&j, i);
    for (uint64_t i = 5; i <= 14; i++) {
        struct journal_entry *e = journal_find(&j, i);
        e->additions = text_of(MIB);
        journal_weigh(&j, e);
        journal_weigh(&j, e); /* counted once */
    }
    assert_true(j.bytes <= JOURNAL_BYTES);
    assert_int_equal(journal_at(&j, 0)->evaluation, 8);
    assert_int_equal(j.count, 13);
    journal_fini(&j);
}

TEST(an_entry_beyond_the_bound_stays_by_itself)
{
    struct journal j = {0};
    add(&j, 1);
    struct journal_entry *e = add(&j, 2);
    add(&j, 3);
    e->additions = text_of(JOURNAL_BYTES);
    journal_weigh(&j, e);
    assert_int_equal(journal_at(&j, 0)->evaluation, 2);
    journal_fini(&j);
}
