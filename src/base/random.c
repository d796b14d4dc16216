/*
 * Asks the kernel for random bytes without waiting.
 */
#include "base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

uint64_t random_number(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == (ssize_t)sizeof number && number != 0)
        return number;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) | 1;
}

bool random_secret(char digits[RANDOM_SECRET_DIGITS + 1])
{
    uint64_t number[2];
    if (getrandom(number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        return false;
    snprintf(digits, RANDOM_SECRET_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, number[0], number[1]);
    return true;
}
