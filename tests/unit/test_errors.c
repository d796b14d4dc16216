/*
 * struct err is always a well-formed, NUL-terminated sentence, whatever it was made of.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "base/errors.h"
#include "base/utf8.h"

TEST(err_set_fills_every_field_and_returns_false)
{
    struct err e;
    memset(&e, 0xff, sizeof e);
    assert_false(err_set(&e, ERR_NOT_FOUND, "no %s in %d places", "lisp", 3));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(e.position, 0);
    assert_string_equal(e.message, "no lisp in 3 places");
}

TEST(err_set_errno_appends_the_systems_message)
{
    struct err e;
    char expected[256];
    memset(&e, 0xff, sizeof e);
    assert_false(err_set_errno(&e, ERR_SYSTEM, ENOENT, "open %s", "core"));
    snprintf(expected, sizeof expected, "open core: %s", strerror(ENOENT));
    assert_int_equal(e.code, ERR_SYSTEM);
    assert_int_equal(e.position, 0);
    assert_string_equal(e.message, expected);
}

TEST(err_set_accepts_no_place_to_write_to)
{
    assert_false(err_set(NULL, ERR_BUSY, "%s", "busy"));
    assert_false(err_set_errno(NULL, ERR_SYSTEM, EIO, "%s", "busy"));
}

TEST(err_set_can_wrap_the_error_it_overwrites)
{
    struct err e;
    err_set(&e, ERR_GONE, "the pipe is closed");
    err_set(&e, ERR_START, "cannot start: %s", e.message);
    assert_string_equal(e.message, "cannot start: the pipe is closed");
    err_set_errno(&e, ERR_START, EIO, "again: %s", e.message);
    assert_memory_equal(e.message, "again: cannot start: the pipe is closed: ", 41);
}

TEST(err_set_cuts_a_long_message_between_characters)
{
    char text[2000];
    struct err e;
    /* Each shift of the two-, three- and four-byte characters puts the cut at another of their bytes. */
    for (size_t shift = 0; shift < 12; shift++) {
        memset(text, 'x', shift);
        for (size_t at = shift; at < sizeof text; at += 4)
            memcpy(text + at, "\xf0\x9f\x8c\xb2", sizeof text - at < 4 ? sizeof text - at : 4);
        text[sizeof text - 8] = '\0';
        err_set(&e, ERR_INVALID, "%s", text);
        assert_true(strlen(e.message) >= sizeof e.message - 4);
        assert_true(strlen(e.message) < sizeof e.message);
        assert_true(utf8_is_valid(e.message, strlen(e.message)));
        assert_null(strchr(e.message, '?'));
    }
}

TEST(err_set_errno_keeps_the_reason_of_a_long_message)
{
    char text[700];
    struct err e;
    const char *reason = strerror(EACCES);
    size_t room = sizeof e.message - 1, whole;
    memset(text, 'x', sizeof text);
    for (size_t len = 450; len < sizeof text; len++) {
        whole = len + strlen(": ") + strlen(reason);
        err_set_errno(&e, ERR_SYSTEM, EACCES, "%.*s", (int)len, text);
        assert_int_equal(strlen(e.message), whole < room ? whole : room);
        assert_string_equal(e.message + strlen(e.message) - strlen(reason), reason);
    }
}

TEST(err_set_masks_bytes_that_are_not_utf8)
{
    struct err e;
    err_set(&e, ERR_NOT_FOUND, "no file %s", "a\xff\xc3(\xc3\xa9\xe2\x82");
    assert_string_equal(e.message, "no file a?"
                                   "?(\xc3\xa9?"
                                   "?");
}
