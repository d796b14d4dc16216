/*
 * The effect of --sandbox: which files, which network and which environment the Lisps get. proc/sandbox.h
 * is the kernel's part.
 */
#ifndef APP_CONFINEMENT_H
#define APP_CONFINEMENT_H

#include "base/errors.h"

struct confinement;
struct options;
struct sandbox;

/*
 * confinement_new(options, err):
 * Create the directories that a sandboxed Lisp writes to, and prepare the sandbox.
 *
 * options     borrowed for the call
 * Returns     given: needs confinement_free(), also without --sandbox, when it restricts nothing. NULL with
 *             ${err} set if the kernel, or the choice of the project directory, does not allow the request
 */
struct confinement *confinement_new(const struct options *options, struct err *err);

/* confinement_free(c): remove the private temporary directory and its contents. Call it after the last
 * Lisp has ended. */
void confinement_free(struct confinement *c);

/* confinement_sandbox(c): borrowed; NULL without --sandbox. */
const struct sandbox *confinement_sandbox(const struct confinement *c);

/* confinement_environment(c): NAME=VALUE for the Lisps; NULL-terminated, borrowed, never NULL. */
const char *const *confinement_environment(const struct confinement *c);

/* confinement_drafts(c): where a confined Lisp writes its image, on the file system of the saves; borrowed.
 * NULL without --sandbox. */
const char *confinement_drafts(const struct confinement *c);

#endif
