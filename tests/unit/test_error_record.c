/*
 * Error records: made of replies, and made by the server for what only it can know.
 */
#include <string.h>
#include <time.h>

#include "session/records/error_history.h"
#include "session/records/error_record.h"
#include "strbuf_test.h"

static struct sexp_document *parsed(const char *text)
{
    struct err err;
    struct sexp_document *document = sexp_parse(text, strlen(text), &err);
    if (document == NULL)
        fail_msg("%s", err.message);
    return document;
}

TEST(record_takes_type_message_and_time_of_a_reply)
{
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    struct error_record *r =
        error_record_new(parsed("(3 :error :type \"TYPE-ERROR\" :message \"two\nlines\" :frames ((\"(F)\" "
                                "nil) (\"(G 1)\" \"a:1\")) :total-frames 9)"));
    clock_gettime(CLOCK_REALTIME, &after);
    assert_string_equal(r->type, "TYPE-ERROR");
    assert_string_equal(r->message, "two\nlines");
    assert_null(r->session_note);
    assert_true(r->when.tv_sec >= before.tv_sec && r->when.tv_sec <= after.tv_sec);
    assert_int_equal(sexp_count(error_record_frames(r)), 2);
    assert_int_equal(error_record_total_frames(r), 9);
    error_record_free(r);
}

TEST(record_of_a_reply_without_anything_is_an_error_without_frames)
{
    static const char *const replies[] = {"(1 :error)",
                                          "(1 :error :type 5 :message (1) :frames \"x\" :total-frames \"y\")",
                                          "(1 :error :type)", "nil"};
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct error_record *r = error_record_new(parsed(replies[i]));
        assert_string_equal(r->type, "ERROR");
        assert_string_equal(r->message, "");
        assert_int_equal(sexp_count(error_record_frames(r)), 0);
        assert_int_equal(error_record_total_frames(r), 0);
        error_record_free(r);
    }
}

TEST(record_total_frames_may_be_negative_and_stays_an_int)
{
    static const struct {
        const char *reply;
        int total;
    } rows[] = {
        {"(1 :error :frames ((\"(F)\" nil)))", 1},
        {"(1 :error :total-frames -1000)", -1000},
        {"(1 :error :total-frames 9223372036854775807)", INT32_MAX},
        {"(1 :error :total-frames -9223372036854775808)", INT32_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error_record *r = error_record_new(parsed(rows[i].reply));
        assert_int_equal(error_record_total_frames(r), rows[i].total);
        error_record_free(r);
    }
}

TEST(record_prefers_the_frames_that_have_locals)
{
    struct error_record *r =
        error_record_new(parsed("(1 :error :type \"E\" :frames ((\"(F)\" nil)) :total-frames 1)"));
    r->details = parsed("(2 :ok :frames ((\"(F)\" nil (\"X\" \"1\"))) :total 1)");
    assert_int_equal(sexp_count(sexp_nth(error_record_frames(r), 0)), 3);
    error_record_free(r);
    r = error_record_new(parsed("(1 :error :type \"E\" :frames ((\"(F)\" nil)) :total-frames 1)"));
    r->details = parsed("(2 :ok)");
    assert_int_equal(sexp_count(error_record_frames(r)), 1);
    error_record_free(r);
}

TEST(record_made_by_the_server_reads_like_a_reply)
{
    struct error_record *r = error_record_make("PROCESS-EXITED", "It \"exited\" \\ with\ncode 3.", NULL);
    assert_string_equal(r->type, "PROCESS-EXITED");
    assert_string_equal(r->message, "It \"exited\" \\ with\ncode 3.");
    assert_true(sexp_is_symbol(sexp_nth(r->condition, 1), "error"));
    assert_string_equal(sexp_string(sexp_get(r->condition, 2, "type"), NULL), "PROCESS-EXITED");
    assert_int_equal(sexp_count(error_record_frames(r)), 0);
    assert_int_equal(error_record_total_frames(r), 0);
    error_record_free(r);
}

/* As src/runtime/backtrace.c of SBCL prints it. */
static const char crash[] =
    "Heap exhausted during allocation: 65536 bytes available, 80000016 requested.\n"
    "fatal error encountered in SBCL pid 4711:\n"
    "Heap exhausted, game over.\n"
    "\n"
    "   0: fp=0x7f3344556677 pc=0x5200abcd Foreign function (null)\n"
    "   0: fp=0x7f3344556677 pc=0x5200abce (LAMBDA (CL-MCP-AGENT::CONTEXT) :IN CL-MCP-AGENT::MAKE-ROOM)\n"
    "   1: fp=0x7f3344556678 pc=0x5349f00d (FLET \"WITHOUT-GCING-BODY-1\" IN SB-KERNEL::COLLECT-GARBAGE)\n"
    "   2: fp=0x7f3344556679 pc=0x5349f00e COMMON-LISP-USER::FILL-IT\n"
    "no frame: fp=1\n";

TEST(record_takes_the_frames_of_a_crash)
{
    struct error_record *r = error_record_make("STORAGE-CONDITION", "Heap exhausted.", crash);
    const struct sexp *frames = error_record_frames(r);
    assert_int_equal(sexp_count(frames), 3);
    assert_int_equal(error_record_total_frames(r), 3);
    assert_string_equal(sexp_string(sexp_nth(sexp_nth(frames, 0), 0), NULL), "Foreign function (null)");
    assert_string_equal(sexp_string(sexp_nth(sexp_nth(frames, 1), 0), NULL),
                        "((FLET \"WITHOUT-GCING-BODY-1\" IN SB-KERNEL::COLLECT-GARBAGE) ...)");
    assert_string_equal(sexp_string(sexp_nth(sexp_nth(frames, 2), 0), NULL),
                        "(COMMON-LISP-USER::FILL-IT ...)");
    assert_true(sexp_is_nil(sexp_nth(sexp_nth(frames, 2), 1)));
    error_record_free(r);
}

STRBUF_TEST(text, record_takes_at_most_twenty_frames_of_a_crash)
{
    for (int i = 0; i < 100; i++)
        strbuf_addf(text, "%4d: fp=0x7f%02x pc=0x53%02x F%d\n", i, i, i, i);
    struct error_record *r = error_record_make("STORAGE-CONDITION", "", strbuf_string(text));
    assert_int_equal(sexp_count(error_record_frames(r)), 20);
    error_record_free(r);
}

/* A program may print what looks like a crash, or a part of one. */
TEST(record_is_not_led_astray_by_crash_like_text)
{
    static const struct {
        const char *text;
        size_t frames;
    } rows[] = {
        {"", 0},
        {": fp=0x", 0},
        {"1: fp=0x12", 0},
        {"1: fp=0x12 pc=0x", 0},
        {"1: fp=0x12 pc=0x12", 0},
        {"1: fp=0x12 pc=0x12   ", 0},
        {"1: fp=0x12 pc=0x12\n2: fp=0x13 pc=0x14 G", 1},
        {"1: fp=0x12\n pc=0x12 F\n", 0},
        {"1: fp=0x12 pc=0x12 F\n2: fp=0x13 pc=0x13 SB-INT::SIMPLE-EVAL-IN-LEXENV\n3: fp=0x14 pc=0x14 "
         "EVAL\n4: fp=0x15 pc=0x15 CL-MCP-AGENT::G\n5: fp=0x16 pc=0x16 H\n",
         2},
        {"1: fp=0x12 pc=0x12 \"quote\\ \xFF\n", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error_record *r = error_record_make("T", "m", rows[i].text);
        if (sexp_count(error_record_frames(r)) != rows[i].frames)
            fail_msg("\"%s\": %zu frames", rows[i].text, sexp_count(error_record_frames(r)));
        error_record_free(r);
    }
}

TEST(record_keeps_all_of_a_message_with_a_nul)
{
    static const char reply[] = "(1 :error :type \"E\" :message \"before\0after\")";
    struct err err;
    struct sexp_document *document = sexp_parse(reply, sizeof reply - 1, &err);
    assert_non_null(document);
    struct error_record *r = error_record_new(document);
    if (strstr(r->message, "before") == NULL || strlen(r->message) <= strlen("before"))
        fail_msg("what stands behind a NUL is lost: \"%s\"", r->message);
    error_record_free(r);
    error_record_free(NULL);
}

TEST(the_history_drops_the_oldest_but_none_in_use)
{
    struct error_history h = {0};
    struct errors_in_use in_use = {.standing = NULL};
    for (int i = 1; i <= 3 * ERROR_HISTORY_KEPT; i++) {
        struct error_record *r = error_record_new(parsed("(1 :error :type \"E\")"));
        error_history_add(&h, r, &in_use);
        assert_int_equal(r->sequence, i);
        if (i == 1)
            in_use.standing = r;
        if (i == 2)
            in_use.unwound = r;
    }
    assert_int_equal(h.kept, ERROR_HISTORY_KEPT);
    assert_ptr_equal(error_history_at(&h, ERROR_HISTORY_KEPT - 1), in_use.standing);
    assert_ptr_equal(error_history_at(&h, ERROR_HISTORY_KEPT - 2), in_use.unwound);
    assert_ptr_equal(error_history_find(&h, 1), in_use.standing);
    for (size_t n = 0; n < ERROR_HISTORY_KEPT - 2; n++)
        assert_int_equal(error_history_at(&h, n)->sequence, 3 * ERROR_HISTORY_KEPT - (int)n);
    error_history_clear(&h);
}

/* ${before} "aaa…" ${after} */
static struct sexp_document *large(const char *before, size_t len, const char *after)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    strbuf_adds(&b, before);
    strbuf_addc(&b, '"');
    for (size_t i = 0; i < len; i++)
        strbuf_addc(&b, 'a');
    strbuf_addc(&b, '"');
    strbuf_adds(&b, after);
    struct sexp_document *d = parsed(b.bytes);
    strbuf_fini(&b);
    return d;
}

static size_t bytes_of(const struct error_history *h)
{
    size_t bytes = 0;
    for (size_t n = 0; n < h->kept; n++)
        bytes += error_record_bytes(error_history_at(h, n));
    return bytes;
}

TEST(the_history_keeps_to_its_budget_in_bytes)
{
    struct error_history h = {0};
    struct errors_in_use in_use = {.standing = NULL};
    for (int i = 1; i <= 40; i++) {
        struct error_record *r = error_record_new(large("(1 :error :hint ", 300000, ")"));
        error_history_add(&h, r, &in_use);
        if (i == 1)
            in_use.standing = r;
        assert_true(bytes_of(&h) <= ERROR_HISTORY_BYTES);
        assert_int_equal(error_history_at(&h, 0)->sequence, i);
    }
    size_t kept = h.kept;
    assert_true(kept >= 10 && kept <= ERROR_HISTORY_BYTES / 300000);
    assert_ptr_equal(error_history_at(&h, kept - 1), in_use.standing);
    assert_int_equal(error_history_at(&h, kept - 2)->sequence, 40 - (int)kept + 2);
    assert_null(error_history_find(&h, 2));
    /* Details go before errors do, those of the error that is examined last. */
    struct error_record *last = error_history_at(&h, 0), *first = error_history_at(&h, 1);
    error_history_add_details(&h, first, large("(2 :ok :frames ", 100000, ")"));
    assert_non_null(first->details);
    error_history_add_details(&h, last, large("(2 :ok :frames ", 1000000, ")"));
    assert_null(first->details);
    assert_non_null(last->details);
    assert_int_equal(h.kept, kept);
    /* The newest stays, whatever its size. */
    error_history_add(&h, error_record_new(large("(1 :error :hint ", 5000000, ")")), &in_use);
    assert_int_equal(h.kept, 2);
    assert_int_equal(error_history_at(&h, 0)->sequence, 41);
    assert_ptr_equal(error_history_at(&h, 1), in_use.standing);
    error_history_add(&h, error_record_new(parsed("(1 :error)")), &in_use);
    assert_int_equal(h.kept, 2);
    assert_int_equal(error_history_at(&h, 0)->sequence, 42);
    error_history_clear(&h);
}
