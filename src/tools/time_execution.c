/*
 * time-execution: the time and allocation of an evaluation, once or over many runs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/reply.h"
#include "report/section.h"
#include "tools/call.h"
#include "tools/detach.h"

#define MOST_RUNS 1000

/* The measurements of a run, in the order in which the agent sends them. */
static const struct {
    const char *name;
    bool is_time; /* microseconds; else bytes */
} readings[] = {{"real time", true}, {"run time", true}, {"GC time", true}, {"consed", false}};

#define READINGS (sizeof readings / sizeof readings[0])

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* "1,234.567 ms" or "32,768 bytes", right-aligned in a column. */
static void add_reading(struct strbuf *out, int64_t n, bool is_time, int width)
{
    const char *unit = is_time ? " ms" : " bytes";
    int number_width = width > 0 ? width - (int)strlen(unit) : 0;
    if (is_time)
        text_add_ms(out, n, number_width);
    else
        text_add_column(out, n, number_width);
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
    section_begin(out, "Timing:");
    for (size_t i = 0; i < READINGS; i++) {
        strbuf_addf(out, "  %-9s  ", readings[i].name);
        add_reading(out, sexp_integer(sexp_nth(run, i), 0), readings[i].is_time, 0);
        strbuf_addc(out, '\n');
    }
    section_end(out);
}

static void add_many_runs(struct strbuf *out, const struct sexp *runs)
{
    enum { WIDTH = 20 };
    size_t count = sexp_count(runs);
    int64_t *values = xcalloc(count, sizeof *values);
    section_begin(out, NULL);
    strbuf_addf(out, "Timing: %zu runs\n  %-9s%*s%*s%*s%*s%*s\n", count, "", WIDTH, "median", WIDTH,
                "lower quartile", WIDTH, "upper quartile", WIDTH, "minimum", WIDTH, "maximum");
    for (size_t i = 0; i < READINGS; i++) {
        for (size_t k = 0; k < count; k++)
            values[k] = sexp_integer(sexp_nth(sexp_nth(runs, k), i), 0);
        qsort(values, count, sizeof *values, compare);
        strbuf_addf(out, "  %-9s", readings[i].name);
        static const size_t quarters[] = {2, 1, 3, 0, 4};
        for (size_t k = 0; k < sizeof quarters / sizeof quarters[0]; k++)
            add_reading(out, quartile(values, count, quarters[k]), readings[i].is_time, WIDTH);
        strbuf_addc(out, '\n');
    }
    section_end(out);
    free(values);
}

static void add_timing(struct strbuf *out, const struct outcome *o, size_t max_output, void *arg)
{
    (void)arg;
    if (call_report_if_ended(out, o, "runs", max_output))
        return;
    const struct sexp *runs = reply_get(o->reply, "runs");
    if (sexp_count(runs) > 1)
        add_many_runs(out, runs);
    else
        add_one_run(out, sexp_nth(runs, 0));
    section_begin(out, "Result:");
    report_values(out, o, max_output);
}

static void on_timed(struct tool_call *call, const struct outcome *o)
{
    call_report_with(call, o, add_timing);
}

static void run(struct tool_call *call)
{
    struct session *s = call_begin(call, "time");
    if (s == NULL)
        return;
    size_t len;
    const char *code = call_string(call, "code", &len);
    call_write_string(call, "code");
    call_write_string(call, "package");
    call_write_integer(call, "runs", call_integer(call, "runs", 1));
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    call_evaluate(call, s, code, len, on_timed);
}

const struct tool tool_time_execution = {
    .name = "time-execution",
    .title = "Time an evaluation",
    .description = "Evaluate forms and report the time and memory they use, without compilation. With "
                   "several runs, report median, quartiles, minimum and maximum.",
    .search_hint = "benchmark",
    .toolset = TOOLSET_FULL,
    .is_destructive = true,
    .is_open_world = true,
    .arguments =
        {
            {.name = "code",
             .type = ARGUMENT_STRING,
             .is_required = true,
             .description = "One or more forms."},
            {.name = "package", .type = ARGUMENT_STRING, .description = "Package for this call only."},
            {.name = "runs",
             .type = ARGUMENT_INTEGER,
             .minimum = 1,
             .maximum = MOST_RUNS,
             .description = "Number of runs; default: 1."},
            TIMEOUT_ARGUMENT,
            WAIT_ARGUMENT,
            SESSION_ARGUMENT,
        },
    .run = run,
};
