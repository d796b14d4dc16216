/*
 * Responsible for filling in struct err: always a NUL-terminated sentence in valid UTF-8, whatever its
 * arguments contain.
 */
#include "base/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

/*
 * ${tail} is always kept whole; the rest is cut to fit. The arguments may point into e->message (one error
 * wrapping another), so it is written only after they have been read.
 */
static void __attribute__((format(printf, 3, 0)))
fill(struct err *e, enum error_code code, const char *format, va_list arguments, const char *tail)
{
    /* Larger than the message, so that the cut can see a character that crosses it. */
    char text[sizeof e->message + 8];
    size_t room = sizeof e->message - 1, tail_len = strlen(tail);
    int formatted = vsnprintf(text, sizeof text, format, arguments);
    CHECK(formatted >= 0);
    size_t len = (size_t)formatted < sizeof text ? (size_t)formatted : sizeof text - 1;
    if (tail_len > room / 2)
        tail_len = utf8_floor(tail, tail_len, room / 2);
    len = utf8_floor(text, len, len < room - tail_len ? len : room - tail_len);
    memcpy(e->message, text, len);
    memcpy(e->message + len, tail, tail_len);
    e->message[len + tail_len] = '\0';
    utf8_mask(e->message, len + tail_len);
    e->code = code;
    e->position = 0;
}

bool err_set(struct err *e, enum error_code code, const char *format, ...)
{
    if (e == NULL)
        return false;
    va_list arguments;
    va_start(arguments, format);
    fill(e, code, format, arguments, "");
    va_end(arguments);
    return false;
}

bool err_set_errno(struct err *e, enum error_code code, int errno_value, const char *format, ...)
{
    if (e == NULL)
        return false;
    char tail[128];
    snprintf(tail, sizeof tail, ": %s", strerror(errno_value));
    va_list arguments;
    va_start(arguments, format);
    fill(e, code, format, arguments, tail);
    va_end(arguments);
    return false;
}
