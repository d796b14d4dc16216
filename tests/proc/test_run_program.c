/*
 * Programs that a subcommand runs: what they write and how they end, or that they do not end in time.
 */
#include "../cases.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/run_program.h"

#define LONG_MS 60000
#define SHORT_MS 1000

static bool run(const char *script, const char *input, int limit_ms, struct program_result *result,
                struct err *err)
{
    return run_program((const char *const[]){"/bin/sh", "-c", script, NULL}, input, limit_ms, result, err);
}

TEST(output_errors_and_status_are_returned)
{
    struct program_result result;
    struct err err;
    assert_true(run("cat; echo error >&2; exit 3", "input", LONG_MS, &result, &err));
    assert_string_equal("input", strbuf_string(&result.output));
    assert_string_equal("error\n", strbuf_string(&result.errors));
    assert_int_equal(3, WEXITSTATUS(result.status));
    program_result_fini(&result);
}

static void assert_too_late(const char *script)
{
    struct program_result result;
    struct err err;
    assert_false(run(script, "", SHORT_MS, &result, &err));
    assert_int_equal(ERR_LIMIT, err.code);
    assert_string_equal("it did not end within 1 s", err.message);
    assert_int_equal(SIGKILL, WTERMSIG(result.status));
    program_result_fini(&result);
}

TEST(a_program_that_does_not_end_is_ended)
{
    assert_too_late("exec sleep 1000");
    assert_too_late("while :; do echo error >&2; done");
}

TEST(so_is_one_that_has_closed_its_output)
{
    assert_too_late("exec >&- 2>&- sleep 1000");
}

TEST(output_without_end_is_refused)
{
    struct program_result result;
    struct err err;
    assert_false(run("exec yes", "", LONG_MS, &result, &err));
    assert_int_equal(ERR_TOO_LARGE, err.code);
    program_result_fini(&result);
}
