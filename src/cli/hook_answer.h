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
 * A coming edit is refused if it would break a correct file, or create a broken one. A file that is
 * already broken may be edited: repairing it can take several steps. After an edit, every broken file is
 * reported. The hook never writes a file, and never changes or allows an edit: allowing it would skip the
 * client's own question to the user.
 *
 * input       borrowed; what the client wrote, any bytes
 * out         borrowed; the JSON to print is appended, or nothing if all is well
 * Returns     false with ${err} set if the input is not understood
 */
bool hook_answer(const char *input, size_t len, struct strbuf *out, struct err *err);

#endif
