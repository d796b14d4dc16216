/*
 * measure-code: the time and allocation of an evaluation, once or over many runs. profile_code.c samples it.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/evaluations.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "report/report.h"
#include "report/section.h"
#include "session/session.h"
#include "tools/profile_code.h"

#define MOST_RUNS 1000
#define SHORT_US 1000 /* of one run of this length, chance is a large part */

/* The measurements of a run, in the order in which the agent sends them. */
static const struct {
    const char *name;
    bool is_time; /* microseconds; else bytes */
} readings[] = {{"real time", true}, {"run time", true}, {"GC time", true}, {"consed", false}};

#define READINGS (sizeof readings / sizeof readings[0])

/* What the run took. The Lisp process sends it, so it may be anything; figures computed from it do not
 * overflow. */
static int64_t reading_of(const struct sexp *run, size_t i)
{
    static const int64_t most = INT64_C(1000000000000000); /* 31 years, or a petabyte */
    int64_t n = sexp_integer(sexp_nth(run, i), 0);
    return n < 0 ? 0 : n > most ? most : n;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How many calls of the code each run was. */
static int64_t calls_of(const struct sexp *run)
{
    int64_t calls = sexp_integer(sexp_nth(run, READINGS), 1);
    return calls < 1 ? 1 : calls;
}

/* "1,234.567 ms" or "32,768 bytes", right-aligned in a column; of code that is called many times in a run,
 * where ${n} is in nanoseconds, "1,234.567 us". */
static void add_reading(struct strbuf *out, int64_t n, bool is_time, bool is_ns, int width)
{
    const char *unit = !is_time ? " bytes" : is_ns ? " us" : " ms";
    int number_width = width > 0 ? width - (int)strlen(unit) : 0;
    if (is_time)
        strbuf_adds(out, text_ms(n, number_width).text);
    else
        strbuf_adds(out, text_column(n, number_width).text);
    strbuf_adds(out, unit);
}

/* The quartile with this number, 0 to 4, of the sorted values. */
static int64_t quartile(const int64_t *sorted, size_t count, size_t quarter)
{
    size_t at = (count - 1) * quarter;
    int64_t low = sorted[at / 4], high = at % 4 == 0 ? low : sorted[at / 4 + 1];
    return low + (high - low) * (int64_t)(at % 4) / 4;
}

static void add_one_run(struct strbuf *out, const struct sexp *run)
{
    section_begin(out, HEADING_TIMING);
    for (size_t i = 0; i < READINGS; i++) {
        strbuf_addf(out, "  %-9s  ", readings[i].name);
        add_reading(out, reading_of(run, i), readings[i].is_time, false, 0);
        strbuf_addc(out, '\n');
    }
    if (reading_of(run, 0) < SHORT_US)
        strbuf_adds(out, "A single run this short is not reliable. With runs: 0 it is repeated until its "
                         "time is known.\n");
    section_end(out);
}

/* How much the runs differ. ${quartiles} are those of the real time. */
static void add_noise(struct strbuf *out, const int64_t *quartiles)
{
    int64_t spread = quartiles[3] - quartiles[1], median = quartiles[2] > 0 ? quartiles[2] : 1;
    strbuf_addf(out,
                "Noise: the middle half of the runs differs by %" PRId64
                " %% of the median. A smaller difference between two timings is not significant.\n",
                spread > INT64_MAX / 100 ? (int64_t)0 : spread * 100 / median);
}

/* What one of ${calls} took of the ${total} of a run: microseconds are returned as nanoseconds if ${in_ns}.
 */
static int64_t per_call(int64_t total, int64_t calls, bool in_ns)
{
    return (in_ns ? total * 1000 : total) / calls;
}

static void add_many_runs(struct strbuf *out, const struct sexp *runs)
{
    enum { WIDTH = 20 };
    size_t count = sexp_count(runs);
    int64_t *values = xcalloc(count, sizeof *values);
    section_begin(out, HEADING_NONE);
    int64_t calls = calls_of(sexp_nth(runs, 0)), real_time[5] = {0};
    strbuf_addf(out, "Timing: %zu runs", count);
    if (calls > 1)
        strbuf_addf(out, " of %s; the figures are per call", text_count((uint64_t)calls, "call").text);
    strbuf_addf(out, "\n  %-9s%*s%*s%*s%*s%*s\n", "", WIDTH, "median", WIDTH, "lower quartile", WIDTH,
                "upper quartile", WIDTH, "minimum", WIDTH, "maximum");
    for (size_t i = 0; i < READINGS; i++) {
        for (size_t k = 0; k < count; k++) {
            const struct sexp *run = sexp_nth(runs, k);
            values[k] = per_call(reading_of(run, i), calls_of(run), calls > 1 && readings[i].is_time);
        }
        qsort(values, count, sizeof *values, compare);
        for (size_t k = 0; i == 0 && k < 5; k++)
            real_time[k] = quartile(values, count, k);
        strbuf_addf(out, "  %-9s", readings[i].name);
        static const size_t quarters[] = {2, 1, 3, 0, 4};
        for (size_t k = 0; k < sizeof quarters / sizeof quarters[0]; k++)
            add_reading(out, quartile(values, count, quarters[k]), readings[i].is_time, calls > 1, WIDTH);
        strbuf_addc(out, '\n');
    }
    add_noise(out, real_time);
    section_end(out);
    free(values);
}

static void on_timed(struct tool_call *call, const struct outcome *o)
{
    if (call_report_begin(call, o, "runs")) {
        const struct sexp *runs = reply_get(o->reply, "runs");
        if (sexp_count(runs) > 1)
            add_many_runs(&call->text, runs);
        else
            add_one_run(&call->text, sexp_nth(runs, 0));
        section_begin(&call->text, HEADING_RESULT);
        report_values(&call->text, o, call_max_output(call, o));
    }
    call_report_end(call, o);
}

static void run(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *code = arguments_string(call, "code", &len);
    if (arguments_has(call, "profile")) {
        profile_code_run(call, s);
        return;
    }
    call_begin_operation(call, "time");
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    call_evaluate(call, s, code, len, on_timed);
}

static const char *const modes[] = {"cpu", "time", "alloc", NULL};
static const char *const report_types[] = {"flat", "graph", NULL};

const struct tool tool_measure_code = {
    .name = "measure-code",
    .title = "Time or profile",
    .description = "Benchmark or profile code: time and memory of one or many runs, or the functions in "
                   "which it spends time or allocates.",
    RUNS_CODE,
    .arguments = {ARGUMENT("code", STRING, "", .is_required = true), ARGUMENT("package", STRING, ""),
                  ARGUMENT("runs", INTEGER, "0: as many as a reliable result needs.", .minimum = 0,
                           .maximum = MOST_RUNS, .fallback = 1, .excludes = "profile"),
                  ARGUMENT("profile", STRING, "What to sample; time includes waiting.", .choices = modes,
                           .is_servers = true),
                  ARGUMENT("report-type", STRING, "graph: with callers and callees.", .choices = report_types,
                           .is_servers = true, .needs = "profile"),
                  ARGUMENT("sample-interval", NUMBER, "", .minimum = 0.0005, .maximum = 10,
                           .needs = "profile"),
                  TIMEOUT_ARGUMENT, WAIT_ARGUMENT, SESSION_ARGUMENT},
    .run_in = run,
};
