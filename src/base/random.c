/*
 * Asks the kernel for a random number without waiting.
 */
#include "base/random.h"

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
