/*
 * How a function reports an external error: one struct, filled by the callee, owned by the caller.
 */
#ifndef BASE_ERRORS_H
#define BASE_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum error_code {
#define ERROR_CODE(name, sentence) name,
#include "base/errors.def"
#undef ERROR_CODE
    ERROR_CODE_COUNT
};

struct err {
    enum error_code code;
    int system_errno;  /* 0 if no system call was involved */
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

/* error_code_text(code): the text of ${code} in errors.def. */
const char *error_code_text(enum error_code code);

#endif
