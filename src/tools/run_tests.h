/*
 * Reports of test runs, including runs that a restart continued.
 */
#ifndef TOOLS_RUN_TESTS_H
#define TOOLS_RUN_TESTS_H

#include <stdbool.h>

struct outcome;
struct tool_call;

/* run_tests_is_result(outcome): true if it is the result of a test run. */
bool run_tests_is_result(const struct outcome *outcome);

/* run_tests_report(call, outcome): an on_outcome: answer with counts and failures. */
void run_tests_report(struct tool_call *call, const struct outcome *outcome);

#endif
