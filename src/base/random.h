/*
 * Numbers that another process is not likely to have. What must not be guessed by an attacker needs more:
 * getrandom() whose failure is looked at.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* random_number(): any; never 0. From the kernel's generator, or from the clock while that is not ready. */
uint64_t random_number(void);

#endif
