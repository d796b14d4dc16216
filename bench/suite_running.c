/*
 * Look-ups in a session whose evaluation runs, beside those in an idle one; how long they hold up what runs;
 * ten sessions that all run while look-ups, statuses and cancels come in.
 */
#include <stdlib.h>

#include "client.h"
#include "flock.h"
#include "rounds.h"

#define BUSY 0
#define ROUNDS 7
#define LEAST_SAMPLES 20
#define SLICE_MS 100
#define HOLDING_LOOKUPS 100
#define CROWD 10
#define CROWD_CALLS 1000
#define SEED 20261124 /* the calls are random, and the same in each run */

#define LOOK_UP(session) CALL("describe-symbol", "\"name\":\"car\",\"session\":\"b" session "\"")
#define CONTINUES "continues"

/* Time its thread got no further, by its own CPU clock (3), wherever that is more than 0.2 ms: that is the
 * work of a look-up, in the kernel for the most part, and not the turns of other processes. */
#define WATCH_ITSELF                                                                                         \
    "(let ((gaps '()) (last 0) (end (+ (get-internal-real-time) (* 3 internal-time-units-per-second))))"     \
    " (flet ((now () (multiple-value-bind (s ns) (sb-unix::clock-gettime 3) (+ (* s 1000000000) ns))))"      \
    " (setf last (now))"                                                                                     \
    " (loop while (< (get-internal-real-time) end)"                                                          \
    " do (loop repeat 1000 do (let ((now (now))) (when (> (- now last) 200000) (push (- now last) gaps))"    \
    " (setf last now)))))"                                                                                   \
    " (setf gaps (sort gaps #'<))"                                                                           \
    " (format t \\\"gaps ~d median ~,3f longest ~,3f~%\\\" (length gaps)"                                    \
    " (/ (or (nth (floor (length gaps) 2) gaps) 0) 1e6) (/ (or (first (last gaps)) 0) 1e6)))"

struct turn {
    struct bench *b;
    struct peer *server;
    const char *request;
};

static double one_call(void *arg)
{
    struct turn *t = arg;
    return client_call(t->b, t->server, t->request, "LIST");
}

/* An evaluation that continues after its call has returned. */
static void evaluate_on(struct bench *b, struct peer *server, int n, const char *code)
{
    struct strbuf request;
    strbuf_init(&request, 0);
    strbuf_addf(&request,
                CALL("evaluate-lisp", "\"session\":\"b%d\",\"timeout\":600,\"wait\":0,\"code\":\"%s\""), n,
                code);
    client_call(b, server, strbuf_string(&request), CONTINUES);
    strbuf_fini(&request);
}

static double call_in(struct bench *b, struct peer *server, const char *tool, const char *more, int n)
{
    struct strbuf request;
    strbuf_init(&request, 0);
    strbuf_addf(&request, CALL("%s", "\"session\":\"b%d\"%s"), tool, n, more);
    double ms = client_call(b, server, strbuf_string(&request), "\"result\"");
    strbuf_fini(&request);
    return ms;
}

static void measure_beside(struct bench *b, struct peer *server)
{
    struct turn busy = {b, server, LOOK_UP("0")}, idle = {b, server, LOOK_UP("1")};
    const struct side one = {one_call, &busy}, other = {one_call, &idle};
    struct rounds all;
    rounds_init(&all);
    evaluate_on(b, server, BUSY, "(loop)");
    for (int round = 0; round < ROUNDS; round++)
        rounds_run(&all, &one, &other, SLICE_MS, LEAST_SAMPLES);
    table_times(&b->table, "Look-ups in a session that runs (loop)", "idle");
    rounds_print_times(&all, &b->table, "describe-symbol car", (struct target){TARGET_MOST_TIMES, 3});
    rounds_fini(&all);
    call_in(b, server, "cancel-evaluation", "", BUSY);
}

static void measure_hold_up(struct bench *b, struct peer *server)
{
    evaluate_on(b, server, BUSY, WATCH_ITSELF);
    for (int i = 0; i < HOLDING_LOOKUPS; i++)
        client_call(b, server, LOOK_UP("0"), "LIST");
    client_call(b, server, CALL("evaluation-status", "\"session\":\"b0\",\"wait\":60"), "gaps");
    double median_ms = client_number(server, "median "), longest_ms = client_number(server, "longest ");
    table_times(&b->table, "How long 100 look-ups hold up the code that runs, CPU time of its thread", NULL);
    table_add(&b->table, &(struct row){.name = "a look-up",
                                       .p50_ms = median_ms,
                                       .p99_ms = longest_ms,
                                       .target = {TARGET_MOST_MS, 2}});
}

static void measure_crowd(struct bench *b, struct peer *server)
{
    static const struct {
        const char *tool, *more;
    } calls[] = {
        {"describe-symbol", ",\"name\":\"mapcar\""},
        {"apropos-search", ",\"pattern\":\"with-open\",\"package\":\"cl\""},
        {"macroexpand-form", ",\"form\":\"(loop for i below 3 collect i)\""},
        {"list-definitions", ""},
        {"evaluation-status", ""},
        {"session-info", ""},
        {"cancel-evaluation", ""},
    };
    const unsigned kinds = sizeof calls / sizeof calls[0], cancel = kinds - 1;
    struct samples s;
    unsigned short seed[3] = {SEED & 0xffff, SEED >> 16, 0x330e};
    samples_init(&s);
    for (int n = 0; n < CROWD; n++)
        evaluate_on(b, server, n, "(loop)");
    for (int i = 0; i < CROWD_CALLS; i++) {
        int n = (int)(nrand48(seed) % CROWD);
        unsigned kind = (unsigned)nrand48(seed) % kinds;
        samples_add(&s, call_in(b, server, calls[kind].tool, calls[kind].more, n));
        if (kind == cancel)
            evaluate_on(b, server, n, "(loop)");
    }
    for (int n = 0; n < CROWD; n++)
        call_in(b, server, "cancel-evaluation", "", n);
    table_times(&b->table, "Calls to ten sessions that all run (loop)", NULL);
    flock_print_calls(b, "look-ups, statuses, cancels at random", &s);
    table_add_time(&b->table, "99 of 100 of them", samples_quantile(&s, 0.99), 100);
    samples_fini(&s);
}

static void run(struct bench *b)
{
    struct peer server;
    char reason[400];
    client_start(b, &server, "on", NULL, NULL);
    if (flock_pipeline(b, &server, CROWD, flock_write_create, "created", reason, sizeof reason) < CROWD)
        bench_fail("cannot make the sessions: %s", reason);
    for (int n = 0; n < CROWD; n++)
        flock_call(b, &server, n, "(+ 1 2)", ADDED);
    measure_beside(b, &server);
    measure_hold_up(b, &server);
    measure_crowd(b, &server);
    peer_stop(&server);
}

const struct suite suite_running = {"running", "look-ups, statuses and cancels while evaluations run", 0,
                                    run};
