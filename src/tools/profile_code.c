/*
 * measure-code by samples of the stack: where an evaluation spends its time, or allocates.
 */
#include "tools/profile_code.h"

#include <inttypes.h>

#include "base/text.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "report/report.h"
#include "report/section.h"
#include "session/session.h"

#define SAMPLES 10000
#define INTERVAL_S 0.01
#define KERNEL_TICK_US 10000 /* at most: timers of CPU time do not ring more often */
#define FLAT_SHOWN 30
#define GRAPH_SHOWN 20

static int64_t interval_us(const struct tool_call *call)
{
    return (int64_t)(arguments_number(call, "sample-interval", INTERVAL_S) * 1e6);
}

/* "  12   34.5 %" */
static void add_share(struct strbuf *out, int64_t n, int64_t all)
{
    strbuf_addf(out, "%9" PRId64 " %5.1f %%", n, all > 0 ? 100.0 * (double)n / (double)all : 0.0);
}

/* (NAME SELF TOTAL CALLERS CALLEES) */
static void add_functions(struct strbuf *out, const struct sexp *reply, int64_t samples, bool is_graph)
{
    const struct sexp *functions = reply_get(reply, "functions");
    size_t most = is_graph ? GRAPH_SHOWN : FLAT_SHOWN, count = sexp_count(functions);
    strbuf_addf(out, "%17s %17s  %s\n", "self", "total", "function");
    for (size_t i = 0; i < count && i < most; i++) {
        const struct sexp *f = sexp_nth(functions, i);
        add_share(out, sexp_integer(sexp_nth(f, 1), 0), samples);
        strbuf_addc(out, ' ');
        add_share(out, sexp_integer(sexp_nth(f, 2), 0), samples);
        reply_fill(out, f,
                   "  {0}\n{3?                                       called by: {3*, |{0} {1}}\n}"
                   "{4?                                       calls: {4*, |{0} {1}}\n}");
    }
    int64_t found = reply_integer(reply, "found");
    if (found > (int64_t)most)
        strbuf_addf(out, "%s left out.\n", text_count((uint64_t)found - most, "more function").text);
}

/* (REAL-US RUN-US GC-US BYTES) */
static void add_cost(struct strbuf *out, const struct sexp *took)
{
    strbuf_addf(out, "Total: %.1f ms real time, %.1f ms CPU time, of which %.1f ms garbage collection, and ",
                (double)sexp_integer(sexp_nth(took, 0), 0) / 1000,
                (double)sexp_integer(sexp_nth(took, 1), 0) / 1000,
                (double)sexp_integer(sexp_nth(took, 2), 0) / 1000);
    reply_fill(out, took, "{,3} bytes allocated.\n");
}

/* Where samples fell that show no function of the program, if they are the most. The kernel's clock may tick
 * but 100 times a second, and a busy machine loses ticks: unless the others were counted, only much fewer
 * samples than were due mean something. */
static void add_missed(struct strbuf *out, const struct sexp *reply, double expected)
{
    const struct sexp *elsewhere = reply_get(reply, "elsewhere");
    int64_t samples = reply_integer(reply, "samples"), foreign = 0;
    for (size_t i = 0; i < sexp_count(elsewhere); i++)
        foreign += sexp_integer(sexp_nth(sexp_nth(elsewhere, i), 1), 0);
    if (foreign <= samples && (expected < 10 || (double)samples * 20 > expected))
        return;
    strbuf_addf(out, "About %.0f samples were due. ", expected);
    reply_fill(out, reply,
               "{elsewhere?In foreign code, whose callers could not be seen: {elsewhere*, |{0} {1}}\n}");
    if (foreign * 2 < (int64_t)expected - samples)
        strbuf_adds(out, "Most fell where no signal is taken, as in foreign code or a garbage collection.\n");
    strbuf_adds(out, "trace-functions with profile: true counts and times the functions that you name.\n");
}

static void add_profile(struct tool_call *call, const struct outcome *o)
{
    struct strbuf *out = &call->text;
    bool is_alloc = arguments_is(call, "profile", "alloc"), is_time = arguments_is(call, "profile", "time");
    int64_t samples = reply_integer(o->reply, "samples");
    section_begin(out, HEADING_NONE);
    reply_fill(out, o->reply, "Profile: {#samples sample}");
    if (is_alloc)
        strbuf_adds(out, ", one per 32 kB allocated");
    else
        strbuf_addf(out, ", one every %g ms of %s time", (double)interval_us(call) / 1000,
                    is_time ? "real" : "CPU");
    strbuf_adds(out, ".\n");
    const struct sexp *took = reply_get(o->reply, "took");
    int64_t apart_us = interval_us(call);
    if (!is_time && apart_us < KERNEL_TICK_US)
        apart_us = KERNEL_TICK_US;
    double expected =
        is_alloc ? 0 : (double)sexp_integer(sexp_nth(took, is_time ? 0 : 1), 0) / (double)apart_us;
    add_cost(out, took);
    add_missed(out, o->reply, expected);
    if (samples > 0)
        add_functions(out, o->reply, samples, arguments_is(call, "report-type", "graph"));
    else if (expected < 10)
        strbuf_addf(out, "No samples: the code %s. Repeat it with DOTIMES until it %s%s.\n",
                    is_alloc  ? "allocated too little"
                    : is_time ? "finished too soon"
                              : "used too little CPU time",
                    is_alloc ? "allocates megabytes" : "takes a second",
                    is_alloc || is_time ? "" : "; if it waits, use profile: time");
    section_end(out);
    section_begin(out, HEADING_RESULT);
    report_values(out, o, call_max_output(call, o));
}

/* Of code that was stopped, which may never end, the samples until then are all that there will be. */
static void on_profiled(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *stopped = o->kind == OUTCOME_ERROR ? o->error->condition : NULL;
    int64_t samples = sexp_integer(sexp_get(stopped, 2, "samples"), 0);
    if (samples > 0) {
        strbuf_addf(&call->text, "Profile until it was stopped: %s.\n",
                    text_count((uint64_t)samples, "sample").text);
        add_functions(&call->text, stopped, samples, arguments_is(call, "report-type", "graph"));
        section_end(&call->text);
    }
    if (call_report_begin(call, o, "samples"))
        add_profile(call, o);
    call_report_end(call, o);
}

void profile_code_run(struct tool_call *call, struct session *s)
{
    size_t len;
    const char *code = arguments_string(call, "code", &len);
    call_begin_operation(call, "profile");
    call_write_integer(call, "max-chars", MOST_VALUE_CHARACTERS);
    call_write_text(call, "mode", arguments_string(call, "profile", NULL));
    call_write_flag(call, "graph", arguments_is(call, "report-type", "graph"));
    call_write_integer(call, "interval-us", interval_us(call));
    call_write_integer(call, "max-samples", SAMPLES);
    call_evaluate(call, s, code, len, on_profiled);
}
