/*
 * The verdict on a Lisp text, for a reader; shared by the commands that check files.
 */
#ifndef CLI_LISP_CHECK_H
#define CLI_LISP_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "scan/scan.h"
#include "scan/scan_repair.h"

struct lisp_check {
    bool is_in_order;
    struct scan_place place;   /* otherwise: where to look */
    struct strbuf explanation; /* what is wrong, where, in which form, and the likely repair; several lines */
    struct scan_repair repair;
    struct strbuf repaired; /* the repaired text, when the repair is certain */
};

/*
 * lisp_check_init(check, text, len), lisp_check_fini(check):
 * Check ${text}; free the result.
 *
 * text        borrowed; any bytes
 */
void lisp_check_init(struct lisp_check *check, const char *text, size_t len);
void lisp_check_fini(struct lisp_check *check);

/* lisp_check_is_lisp(path): whether the name has an extension of Common Lisp. */
bool lisp_check_is_lisp(const char *path);

/* lisp_check_looks_like_lisp(path, text, len): false for a `.cl` file that does not begin like Lisp:
 * OpenCL has the same extension. */
bool lisp_check_looks_like_lisp(const char *path, const char *text, size_t len);

/* The maximum size of a text to check, in bytes. */
enum { LISP_CHECK_MOST_BYTES = 16 << 20 };

#endif
