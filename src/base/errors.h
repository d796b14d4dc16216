/*
 * How a function reports an external error: one struct, filled by the callee, owned by the caller.
 */
#ifndef BASE_ERRORS_H
#define BASE_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum error_code {
    ERR_NONE,
    ERR_SYNTAX,    /* malformed input */
    ERR_TOO_LARGE, /* larger than allowed */
    ERR_TOO_DEEP,  /* nested deeper than allowed */
    ERR_BUSY,      /* something else is being done */
    ERR_GONE,      /* the process has ended */
    ERR_NOT_FOUND,
    ERR_INVALID, /* not a valid value */
    ERR_NO_LISP, /* no Lisp is installed */
    ERR_START,   /* a program could not be started */
    ERR_SYSTEM,  /* a system call failed */
    ERR_LIMIT,   /* a limit is reached */
};

struct err {
    enum error_code code;
    size_t position;   /* byte offset, when parsing */
    char message[512]; /* one sentence, NUL-terminated, valid UTF-8 */
};

/* err_set(e, code, format, ...): fill ${e} (which may be NULL); always returns false, so that `return
 * err_set(...)` reads well. */
bool err_set(struct err *e, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* err_set_errno(e, code, errno_value, format, ...): the same, with ": strerror" appended. */
bool err_set_errno(struct err *e, enum error_code code, int errno_value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
