/*
 * The table of revisions.
 */
#include <string.h>

#include "mcp/revisions.h"
#include "strbuf_test.h"

static const struct revision *find(const char *name)
{
    return revisions_find(name, strlen(name));
}

static const char *negotiated(const char *name)
{
    return revisions_negotiate(name, strlen(name))->name;
}

TEST(revisions_are_found_by_their_exact_names)
{
    static const char *const names[] = {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(find(names[i])->name, names[i]);
    assert_null(find("2024-10-07"));
    assert_null(find("2025-06-1"));
    assert_null(find("2025-06-188"));
    assert_null(find(""));
    assert_null(revisions_find("2025-06-18\0", 11));
}

TEST(negotiation_answers_what_was_asked_if_it_has_a_handshake)
{
    assert_string_equal(negotiated("2024-11-05"), "2024-11-05");
    assert_string_equal(negotiated("2025-03-26"), "2025-03-26");
    assert_string_equal(negotiated("2025-06-18"), "2025-06-18");
    assert_string_equal(negotiated("2025-11-25"), "2025-11-25");
}

TEST(negotiation_answers_the_newest_with_a_handshake_otherwise)
{
    assert_string_equal(negotiated("2026-07-28"), "2025-11-25");
    assert_string_equal(negotiated("2024-10-07"), "2025-11-25");
    assert_string_equal(negotiated("9999-99-99"), "2025-11-25");
    assert_string_equal(negotiated(""), "2025-11-25");
}

TEST(revisions_differ_as_in_the_reference)
{
    assert_true(find("2026-07-28")->is_modern);
    assert_false(find("2025-11-25")->is_modern);
    assert_true(find("2025-03-26")->has_batches);
    assert_false(find("2024-11-05")->has_batches);
    assert_false(find("2025-06-18")->has_batches);
    assert_false(find("2024-11-05")->has_progress_message);
    assert_true(find("2025-03-26")->has_progress_message);
    assert_false(find("2025-03-26")->has_structured);
    assert_true(find("2025-06-18")->has_structured);
    assert_true(find("2025-11-25")->has_object_structured_only);
    assert_false(find("2026-07-28")->has_object_structured_only);
    assert_false(find("2025-06-18")->argument_errors_are_results);
    assert_true(find("2025-11-25")->argument_errors_are_results);
    assert_true(find("2026-07-28")->argument_errors_are_results);
}

STRBUF_TEST(out, names_are_listed_newest_first)
{
    revisions_add_names(out);
    assert_string_equal(out->bytes,
                        "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]");
}
