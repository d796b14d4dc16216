/*
 * What --sandbox comes to: which files, which network and which environment the Lisps get. The kernel's part
 * is proc/sandbox.h.
 */
#ifndef APP_CONFINEMENT_H
#define APP_CONFINEMENT_H

#include "base/errors.h"

struct confinement;
struct options;
struct sandbox;

/*
 * confinement_new(options, err):
 * Make the directories that a sandboxed Lisp writes to, and prepare the sandbox.
 *
 * options     borrowed for the call
 * Returns     given: confinement_free() it, also without --sandbox, when it restricts nothing. NULL with
 *             ${err} set when the kernel, or the choice of the project directory, does not allow what was
 *             asked for
 */
struct confinement *confinement_new(const struct options *options, struct err *err);

/* confinement_free(c): removes the private temporary directory with all that is in it. After the last Lisp.
 */
void confinement_free(struct confinement *c);

/* confinement_sandbox(c): borrowed; NULL without --sandbox. */
const struct sandbox *confinement_sandbox(const struct confinement *c);

/* confinement_environment(c): NAME=VALUE for the Lisps; NULL-terminated, borrowed, never NULL. */
const char *const *confinement_environment(const struct confinement *c);

#endif
