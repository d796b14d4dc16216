/*
 * A top-level form as shown to a reader: its position and its first tokens.
 */
#ifndef SCAN_SCAN_FORM_H
#define SCAN_SCAN_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "scan/scan_lexer.h"
#include "scan/scan_place.h"

enum { SCAN_HEAD_SIZE = 80 }; /* bytes of scan_form.head with its NUL */

struct scan_form {
    struct scan_place start;
    struct scan_place end;     /* its last byte; line 0: still open at the fault */
    char head[SCAN_HEAD_SIZE]; /* its first tokens on one line, as `(defun foo …)`; valid UTF-8 */
};

/*
 * scan_wrapper_find(name, len):
 * The row of an operator whose forms contain other top-level forms.
 *
 * name        borrowed; need not end there
 * Returns     NULL if it is not one
 */
struct scan_wrapper {
    const char *name;
    size_t elements;  /* data before these forms, the operator included */
    bool is_standard; /* to the compiler they are top-level forms (CLHS 3.2.3.1), or nearly */
};
const struct scan_wrapper *scan_wrapper_find(const char *name, size_t len);

/*
 * scan_form_open(text, len, start), scan_form_closed(text, len, start, end):
 * The form whose first token is at ${start}; still open, or with its last byte just before ${end}.
 *
 * text        borrowed
 */
struct scan_form scan_form_open(const char *text, size_t len, size_t start);
struct scan_form scan_form_closed(const char *text, size_t len, size_t start, size_t end);

/* scan_form_skip(lexer): skip the next datum, prefixes included. Returns its last token; the end of the text,
 * or a `)` that closes nothing, if there is none. */
struct scan_token scan_form_skip(struct scan_lexer *lexer);

#endif
