/*
 * Numbers that another process is not likely to have, and secrets, which cannot be guessed.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* random_number(): any; never 0. From the kernel's generator, or from the clock while that is not ready. */
uint64_t random_number(void);

#define RANDOM_SECRET_DIGITS 32

/* random_secret(digits): write hexadecimal digits and a NUL. False while the kernel's generator is not ready.
 */
bool random_secret(char digits[RANDOM_SECRET_DIGITS + 1]);

#endif
