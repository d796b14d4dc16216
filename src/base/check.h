/*
 * CHECK: our own mistakes abort loudly, in release builds too.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

/*
 * check_failed(file, line, sentence):
 * Print what was found wrong on stderr and abort. Does not return.
 */
_Noreturn void check_failed(const char *file, int line, const char *sentence);

/* CHECK(condition): the program's own invariant; never used on what comes from outside. */
#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#endif
