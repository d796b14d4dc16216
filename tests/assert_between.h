/*
 * The one assertion for which the releases of cmocka have no common name. Include it after cmocka.h.
 */
#ifndef CL_MCP_TESTS_ASSERT_BETWEEN_H
#define CL_MCP_TESTS_ASSERT_BETWEEN_H

#include <stdint.h>

/*
 * assert_between(value, low, high):
 * Fail unless ${low} <= ${value} <= ${high}.
 *
 * value, low, high   integers that fit an intmax_t; each is evaluated once
 * Source             cmocka 1 has only assert_in_range(), which cmocka 2 deprecates for two functions that 1
 * has not
 */
#define assert_between(value, low, high)                                                                     \
    do {                                                                                                     \
        const intmax_t value_ = (intmax_t)(value), low_ = (intmax_t)(low), high_ = (intmax_t)(high);         \
        if (value_ < low_ || value_ > high_)                                                                 \
            fail_msg("%s is %jd; it should be between %jd and %jd", #value, value_, low_, high_);            \
    } while (0)

#endif
