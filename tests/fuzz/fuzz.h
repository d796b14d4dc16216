/*
 * A fuzz target: FUZZ(bytes, size) { ... } is what the fuzzer calls.
 *
 * bytes  a copy of the input in a block of exactly that size, so that the sanitizer detects an overrun
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define FUZZ(bytes, size)                                                                                    \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);                                             \
    static void fuzz_once(char *bytes, size_t size);                                                         \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)                                              \
    {                                                                                                        \
        char *copy = malloc(len > 0 ? len : 1);                                                              \
        CHECK(copy != NULL);                                                                                 \
        if (len > 0)                                                                                         \
            memcpy(copy, data, len);                                                                         \
        fuzz_once(copy, len);                                                                                \
        free(copy);                                                                                          \
        return 0;                                                                                            \
    }                                                                                                        \
    static void fuzz_once(char *bytes, size_t size)

#endif
