/*
 * --build-core: build the Lisp's image into a directory, for an installation.
 */
#ifndef APP_BUILD_CORE_H
#define APP_BUILD_CORE_H

/*
 * build_core(lisp, directory):
 * Build the core of ${lisp}, a program's name or path, in ${directory}. Errors are logged. Takes seconds.
 *
 * Returns     the exit status
 */
int build_core(const char *lisp, const char *directory);

#endif
