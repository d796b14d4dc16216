/*
 * The answer to a client's hook: nothing, or a refusal with its reason.
 */
#ifndef CLI_HOOK_ANSWER_H
#define CLI_HOOK_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/strbuf.h"

/*
 * hook_answer(input, len, out, err):
 * Check the Lisp files that an edit is about to change, or has changed.
 *
 * An edit that is still to come is refused when it would break a file that is in order, or make a new one
 * that is not. What is broken already may be edited: it can take several steps to mend. After an edit every
 * broken file is reported. Nothing is ever written, and no edit is ever changed or allowed: allowing would
 * skip the client's own question to the user.
 *
 * input       borrowed; what the client wrote, any bytes
 * out         borrowed; the JSON to print is appended, or nothing when all is well
 * Returns     false with ${err} set when the input cannot be understood
 */
bool hook_answer(const char *input, size_t len, struct strbuf *out, struct err *err);

#endif
