/*
 * The cases of a file of C tests: TEST(test) { ... } defines one, and main() runs all in the order of the
 * file. The case may use ${state}, as cmocka gives it. A file that defines OWN_MAIN calls run_cases() itself.
 */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct test_case {
    int line;
    struct CMUnitTest test;
} test_cases[256];

static size_t test_case_count;

/* Constructors run before main(), in an order that the compiler chooses. */
#define REGISTER_TEST(test, function, set_up, tear_down)                                                     \
    static void function(void **state);                                                                      \
    __attribute__((constructor)) static void register_##test(void)                                           \
    {                                                                                                        \
        test_cases[test_case_count++] =                                                                      \
            (struct test_case){__LINE__, {#test, function, set_up, tear_down, NULL}};                        \
    }                                                                                                        \
    static void function(__attribute__((unused)) void **state)

#define TEST_BETWEEN(test, set_up, tear_down) REGISTER_TEST(test, test, set_up, tear_down)

#define TEST(test) TEST_BETWEEN(test, NULL, NULL)

/* The case gets what ${set_up} made as ${variable}, a pointer to a ${type}. */
#define TEST_WITH(type, variable, test, set_up, tear_down)                                                   \
    static void test(type *variable);                                                                        \
    REGISTER_TEST(test, run_##test, set_up, tear_down)                                                       \
    {                                                                                                        \
        test(*state);                                                                                        \
    }                                                                                                        \
    static void test(__attribute__((unused)) type *variable)

/* random_seed(): returns the seed of this run, which random() has from now on; it is printed, and
 * CL_MCP_TEST_SEED gives it again. */
static inline unsigned random_seed(void)
{
    const char *given = getenv("CL_MCP_TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL) * 2654435761u;
    print_message("# CL_MCP_TEST_SEED=%u\n", seed);
    srandom(seed);
    return seed;
}

static int compare_cases(const void *one, const void *other)
{
    return ((const struct test_case *)one)->line - ((const struct test_case *)other)->line;
}

/* run_cases(set_up, tear_down): returns how many failed; ${set_up} is called before the first case,
 * ${tear_down} after the last. */
static inline int run_cases(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct CMUnitTest tests[sizeof test_cases / sizeof test_cases[0]];
    qsort(test_cases, test_case_count, sizeof test_cases[0], compare_cases);
    for (size_t i = 0; i < test_case_count; i++)
        tests[i] = test_cases[i].test;
    return _cmocka_run_group_tests("tests", tests, test_case_count, set_up, tear_down);
}

#ifndef OWN_MAIN
int main(void)
{
    return run_cases(NULL, NULL);
}
#endif

#endif
