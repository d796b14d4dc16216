/*
 * CHECK: a bug in the server aborts the program with a message, in release builds too.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

/*
 * check_failed(file, line, sentence):
 * Print the violated invariant on stderr and abort. Does not return.
 */
_Noreturn void check_failed(const char *file, int line, const char *sentence);

/* CHECK(condition): an invariant of the program; never for input. */
#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#endif
