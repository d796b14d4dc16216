/*
 * A long session: the memory of the server and all its Lisps after a thousand evaluations of many kinds.
 */
#include <stdio.h>

#include "base/strbuf.h"
#include "client.h"
#include "measure.h"
#include "memory.h"

#define EVALUATIONS 1000
/* Copies beyond the limit end when the session has been idle for a second. */
#define QUIET_MS 2500

/* What is evaluated in turn. '#' is the number of the evaluation, '&' that of the one before. */
static const struct {
    const char *request, *expected;
} kinds[] = {
    {EVALUATE("(defun bench-f# (x) (if (plusp x) (+ x #) (list x :no)))", ""), "=> BENCH-F"},
    {EVALUATE("(bench-f& 3)", ""), "=> "},
    {EVALUATE("(defvar *bench-v#* (list # :a 3.5))", ""), "=> *BENCH-V"},
    {EVALUATE("(error \\\"number #\\\")", ""), "[Backtrace]"},
    {EVALUATE("(defclass bench-c# () ((a :initarg :a :accessor bench-a#)))", ""), "BENCH-C"},
    {EVALUATE("(make-instance 'bench-c& :a 1)", ""), "=> "},
    {EVALUATE("(length (loop for j below 2000 collect (cons j j)))", ""), "=> 2000"},
    {EVALUATE("(car #)", ""), "[Backtrace]"},
    {EVALUATE("(format nil \\\"~a ~a\\\" # (expt 3 50))", ""), "=> "},
    {ADD, ADDED},
};

static void add_request(struct strbuf *request, const char *text, int number)
{
    for (; *text != '\0'; text++)
        if (*text == '#' || *text == '&')
            strbuf_addf(request, "%d", *text == '#' ? number : number - 1);
        else
            strbuf_addc(request, *text);
}

static void measure_memory(struct bench *b, const struct peer *server)
{
    struct memory of_server, sum;
    size_t n = memory_sum_children(server->pid, "sbcl", 0, &sum);
    if (!memory_read(server->pid, &of_server))
        bench_fail("cannot read the memory of the server");
    memory_sum(&sum, &of_server);
    char title[80];
    snprintf(title, sizeof title, "Memory after it: the server and %zu Lisp processes", n);
    table_sizes(&b->table, title);
    table_add_size(&b->table, "PSS of all", sum.pss_mib, 60);
    table_add_size(&b->table, "page tables of all (kernel)", sum.page_tables_mib, 0);
}

static void run(struct bench *b)
{
    struct peer server;
    struct samples all;
    struct strbuf request;
    samples_init(&all);
    strbuf_init(&request, 0);
    client_start(b, &server, "on", NULL, NULL);
    for (int i = 0; i < EVALUATIONS; i++) {
        size_t kind = (size_t)i % (sizeof kinds / sizeof kinds[0]);
        strbuf_clear(&request);
        add_request(&request, kinds[kind].request, i);
        samples_add(&all, client_call(b, &server, strbuf_string(&request), kinds[kind].expected));
    }
    table_times(&b->table, "A long session", NULL);
    table_add(&b->table, &(struct row){
                             .name = "1,000 evaluations of ten kinds, in sequence",
                             .p50_ms = samples_quantile(&all, 0.5),
                             .p99_ms = samples_quantile(&all, 0.99),
                             .best_ms = samples_quantile(&all, 0),
                         });
    measure_wait_until_ms(measure_now_ms() + QUIET_MS);
    measure_memory(b, &server);
    peer_stop(&server);
    strbuf_fini(&request);
    samples_fini(&all);
}

const struct suite suite_mixed = {"mixed", "memory after a thousand evaluations of many kinds", 0, run};
