/*
 * The benchmark: drives the real server over its standard input and output and, in the same rounds and turn
 * by turn, a bare SBCL that reads, evaluates and prints over a pipe, so that what disturbs one disturbs the
 * other. A figure's p50 is the median of the p50s of its rounds, its ratio the median of the rounds' ratios,
 * its p99 that of all its samples.
 *
 * It measures and says what it saw; missing a target is not a failure of the run.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "measure.h"
#include "memory.h"
#include "peer.h"
#include "table.h"

#define ROUNDS 11
#define SLICE_MS 60 /* of one figure in one round, for each of the two */
#define LEAST_SAMPLES 5
#define IN_FLIGHT 64
#define STARTS 11
#define COLD_STARTS 2
#define SESSIONS 200
#define STORM 10000

#define EVALUATE(code, more)                                                                                 \
    "\"tools/call\",\"params\":{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"" code "\"" more "}}"
#define CALL(tool, arguments)                                                                                \
    "\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{" arguments "}}"

static const char initialize[] =
    "\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/* What both Lisps are told first. 1,000 lines of 100 bytes; a string of 100,000. */
#define DEFINITIONS(quote)                                                                                   \
    "(progn (defun bench-a (x) (1+ (bench-b x))) (defun bench-b (x) (1+ (bench-c x)))"                       \
    " (defun bench-c (x) (error " quote "no such item: ~a" quote " x))"                                      \
    " (defparameter *bench-line* (make-string 99 :initial-element (code-char 120)))"                         \
    " (defparameter *bench-text* (make-string 100000 :initial-element (code-char 120)))"                     \
    " (defun bench-lines () (loop repeat 1000 do (write-line *bench-line*))))"

static const char bare_definitions[] = DEFINITIONS("\"");

struct figure {
    const char *name;
    const char *request; /* from the method's name on, without the last brace */
    const char *expected;
    const char *prepare; /* a request before each round's turn, or NULL */
    const char *bare;    /* the form for the bare Lisp, or NULL */
    const char *bare_expected;
    struct target target;
};

static const struct figure round_trips[] = {
    {"(+ 1 2)", EVALUATE("(+ 1 2)", ""), "=> 3\"", NULL, "(+ 1 2)", "3", {TARGET_MOST_TIMES_BARE, 5}},
    {"error (car 42), with its whole report",
     EVALUATE("(car 42)", ""),
     "[Backtrace]",
     NULL,
     "(car 42)",
     "TYPE-ERROR",
     {TARGET_MOST_MS, 0.37}},
    {"error three functions deep",
     EVALUATE("(bench-a 1)", ""),
     "(BENCH-C 1)",
     NULL,
     "(bench-a 1)",
     "no such item",
     {TARGET_MOST_MS, 0.37}},
    {"defun",
     EVALUATE("(defun bench-f (x) (* x 2))", ""),
     "=> BENCH-F",
     NULL,
     "(defun bench-f (x) (* x 2))",
     "BENCH-F",
     {TARGET_NONE, 0}},
    {"100 kB printed, 1,000 lines",
     EVALUATE("(bench-lines)", ",\"max-output\":200000"),
     "=> NIL",
     NULL,
     "(with-output-to-string (*standard-output*) (bench-lines))",
     "xxxx",
     {TARGET_NONE, 0}},
    {"100 kB value, one string",
     EVALUATE("*bench-text*", ",\"max-output\":200000"),
     "xxxx",
     NULL,
     "*bench-text*",
     "xxxx",
     {TARGET_NONE, 0}},
    {"describe-last-error",
     CALL("describe-last-error", ""),
     "TYPE-ERROR",
     EVALUATE("(car 42)", ""),
     NULL,
     NULL,
     {TARGET_NONE, 0}},
    {"tools/list", "\"tools/list\"", "evaluate-lisp", NULL, NULL, NULL, {TARGET_NONE, 0}},
    {"ping", "\"ping\"", "\"result\"", NULL, NULL, NULL, {TARGET_NONE, 0}},
};

#define ROUND_TRIPS (sizeof round_trips / sizeof round_trips[0])

struct bench {
    const char *server_path, *lisp, *bare_path;
    const char *checkpoints; /* "on" or "off", as the server's option takes it */
    struct peer server, bare;
    long last_id;
    struct strbuf line;
    struct table table;
    struct row bare_start; /* its p50 is what a new session is compared with */
};

/* Make the next request in bench->line. */
static void write_request(struct bench *b, const char *request)
{
    strbuf_addf(&b->line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":%s}\n", ++b->last_id, request);
}

static void verify(const struct peer *p, const char *reply, size_t len, const char *expected)
{
    if (memmem(reply, len, expected, strlen(expected)) == NULL)
        bench_fail("%s answered without '%s': %.*s", p->name, expected, (int)(len < 500 ? len : 500), reply);
}

/* One round trip; how long it took. */
static double call(struct bench *b, struct peer *server, const char *request, const char *expected)
{
    strbuf_clear(&b->line);
    write_request(b, request);
    double start = measure_now_ms();
    peer_send(server, b->line.bytes, b->line.len);
    size_t len;
    const char *reply = peer_receive(server, &len);
    double end = measure_now_ms();
    verify(server, reply, len, expected);
    return end - start;
}

static double call_bare(struct peer *bare, const char *form, const char *expected)
{
    double start = measure_now_ms();
    peer_send(bare, form, strlen(form) + 1);
    size_t len;
    const char *reply = peer_receive(bare, &len);
    double end = measure_now_ms();
    verify(bare, reply, len, expected);
    return end - start;
}

static void shake_hands(struct bench *b, struct peer *server)
{
    call(b, server, initialize, "\"protocolVersion\"");
    peer_send(server, initialized, sizeof initialized - 1);
}

static void start_server(struct bench *b, struct peer *server, const char *path,
                         const char *const *environment)
{
    const char *const argv[] = {path, "--no-userinit", "--checkpoints", b->checkpoints, "--lisp", b->lisp, NULL};
    peer_start(server, "the server", argv, environment, '\n');
}

static void start_bare(struct bench *b)
{
    const char *const argv[] = {b->lisp, "--script", b->bare_path, NULL};
    peer_start(&b->bare, "the bare Lisp", argv, NULL, '\0');
    call_bare(&b->bare, bare_definitions, "BENCH-LINES");
}

/* Round trips and calls a second in sequence. */

struct rounds {
    struct samples round, all, medians;      /* of the server */
    struct samples bare_round, bare_medians; /* of the bare Lisp */
    struct samples ratios, rates, bare_rates, rate_ratios;
};

static void rounds_each(struct rounds *r, void (*function)(struct samples *s))
{
    struct samples *all[] = {&r->round,  &r->all,   &r->medians,    &r->bare_round, &r->bare_medians,
                             &r->ratios, &r->rates, &r->bare_rates, &r->rate_ratios};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        function(all[i]);
}

/* One turn of the server; samples go to r->round. Returns calls a second. */
static double take_turn(struct bench *b, const struct figure *f, struct rounds *r)
{
    samples_clear(&r->round);
    if (f->prepare != NULL)
        call(b, &b->server, f->prepare, "\"result\"");
    double start = measure_now_ms(), now = start;
    while (now - start < SLICE_MS || r->round.count < LEAST_SAMPLES) {
        samples_add(&r->round, call(b, &b->server, f->request, f->expected));
        now = measure_now_ms();
    }
    return (double)r->round.count * 1e3 / (now - start);
}

static double take_bare_turn(struct bench *b, const struct figure *f, struct rounds *r)
{
    samples_clear(&r->bare_round);
    double start = measure_now_ms(), now = start;
    while (now - start < SLICE_MS || r->bare_round.count < LEAST_SAMPLES) {
        samples_add(&r->bare_round, call_bare(&b->bare, f->bare, f->bare_expected));
        now = measure_now_ms();
    }
    return (double)r->bare_round.count * 1e3 / (now - start);
}

static void run_round(struct bench *b, const struct figure *f, struct rounds *r)
{
    double rate = take_turn(b, f, r), p50 = samples_quantile(&r->round, 0.5);
    samples_add(&r->medians, p50);
    samples_add_all(&r->all, &r->round);
    samples_add(&r->rates, rate);
    if (f->bare == NULL)
        return;
    double bare_rate = take_bare_turn(b, f, r), bare_p50 = samples_quantile(&r->bare_round, 0.5);
    samples_add(&r->bare_medians, bare_p50);
    samples_add(&r->ratios, p50 / bare_p50);
    samples_add(&r->bare_rates, bare_rate);
    samples_add(&r->rate_ratios, rate / bare_rate);
}

/* Keep IN_FLIGHT requests on their way for one turn; calls a second. */
static double pipeline(struct bench *b, struct peer *p, bool is_bare)
{
    static const char form[] = "(+ 1 2)";
    size_t in_flight = 0, done = 0;
    double start = measure_now_ms(), now = start;
    bool is_over = false;
    while (!is_over || in_flight > 0) {
        strbuf_clear(&b->line);
        for (; !is_over && in_flight < IN_FLIGHT; in_flight++) {
            if (is_bare)
                strbuf_add(&b->line, form, sizeof form);
            else
                write_request(b, round_trips[0].request);
        }
        peer_send(p, b->line.bytes, b->line.len);
        size_t n = peer_receive_many(p, is_bare ? "3" : round_trips[0].expected, in_flight);
        in_flight -= n;
        done += n;
        now = measure_now_ms();
        is_over = now - start >= SLICE_MS;
    }
    return (double)done * 1e3 / (now - start);
}

static void measure_calls(struct bench *b, const char *times_title, const char *rates_title)
{
    struct rounds all[ROUND_TRIPS], pipelined;
    for (size_t i = 0; i < ROUND_TRIPS; i++)
        rounds_each(&all[i], samples_init);
    rounds_each(&pipelined, samples_init);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ROUND_TRIPS; i++)
            run_round(b, &round_trips[i], &all[i]);
        double rate = pipeline(b, &b->server, false), bare_rate = pipeline(b, &b->bare, true);
        samples_add(&pipelined.rates, rate);
        samples_add(&pipelined.bare_rates, bare_rate);
        samples_add(&pipelined.rate_ratios, rate / bare_rate);
    }
    table_times(times_title);
    for (size_t i = 0; i < ROUND_TRIPS; i++) {
        struct rounds *r = &all[i];
        table_add(&b->table, &(struct row){
                                 .name = round_trips[i].name,
                                 .p50_ms = samples_quantile(&r->medians, 0.5),
                                 .p99_ms = samples_quantile(&r->all, 0.99),
                                 .best_ms = samples_quantile(&r->medians, 0),
                                 .bare = samples_quantile(&r->bare_medians, 0.5),
                                 .bare_best_ms = samples_quantile(&r->bare_medians, 0),
                                 .ratio = samples_quantile(&r->ratios, 0.5),
                                 .target = round_trips[i].target,
                             });
    }
    table_rates(rates_title);
    static const char *const names[] = {"(+ 1 2) in sequence", "(+ 1 2) with 64 in flight"};
    struct rounds *rates[] = {&all[0], &pipelined};
    for (size_t i = 0; i < 2; i++)
        table_add(&b->table, &(struct row){
                                 .name = names[i],
                                 .per_second = samples_quantile(&rates[i]->rates, 0.5),
                                 .bare = samples_quantile(&rates[i]->bare_rates, 0.5),
                                 .ratio = samples_quantile(&rates[i]->rate_ratios, 0.5),
                                 .target = i == 0 ? (struct target){TARGET_LEAST_PER_SECOND, 20000}
                                                  : (struct target){TARGET_NONE, 0},
                             });
    for (size_t i = 0; i < ROUND_TRIPS; i++)
        rounds_each(&all[i], samples_fini);
    rounds_each(&pipelined, samples_fini);
}

/* Starts */

struct start {
    struct samples answer, value;
};

static void start_once(struct bench *b, const char *path, const char *const *environment, struct start *s)
{
    struct peer server;
    double start = measure_now_ms();
    start_server(b, &server, path, environment);
    shake_hands(b, &server);
    samples_add(&s->answer, measure_now_ms() - start);
    call(b, &server, round_trips[0].request, round_trips[0].expected);
    samples_add(&s->value, measure_now_ms() - start);
    peer_stop(&server);
}

static double start_bare_once(struct bench *b)
{
    static const char *const print =
        "(progn (prin1 (+ 1 2)) (terpri) (finish-output) (sb-ext:exit :abort t))";
    const char *const argv[] = {b->lisp, "--noinform", "--no-sysinit", "--no-userinit", "--eval",
                                print,   NULL};
    struct peer bare;
    double start = measure_now_ms();
    peer_start(&bare, "a bare Lisp", argv, NULL, '\n');
    size_t len;
    const char *reply = peer_receive(&bare, &len);
    double end = measure_now_ms();
    verify(&bare, reply, len, "3");
    peer_stop(&bare);
    return end - start;
}

static void copy_program(const char *from, const char *to)
{
    char bytes[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    ssize_t n = -1;
    while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)n) != n)
            bench_fail("cannot write %s: %s", to, strerror(errno));
    if (n != 0)
        bench_fail("cannot copy %s: %s", from, strerror(errno));
    close(in);
    close(out);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    return remove(path);
}

/* A copy of the server that finds no core, neither beside itself nor in the cache. */
static void start_cold(struct bench *b, struct start *s)
{
    char directory[] = "/tmp/cl-mcp-bench-XXXXXX", program[64], cache[64];
    if (mkdtemp(directory) == NULL)
        bench_fail("cannot make a directory in /tmp: %s", strerror(errno));
    snprintf(program, sizeof program, "%s/cl-mcp-server", directory);
    snprintf(cache, sizeof cache, "XDG_CACHE_HOME=%s/cache", directory);
    copy_program(b->server_path, program);
    start_once(b, program, (const char *const[]){cache, NULL}, s);
    nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void measure_starts(struct bench *b)
{
    struct start cached, cold;
    struct samples bare;
    samples_init(&cached.answer);
    samples_init(&cached.value);
    samples_init(&cold.answer);
    samples_init(&cold.value);
    samples_init(&bare);
    for (int i = 0; i < STARTS; i++) {
        start_once(b, b->server_path, NULL, &cached);
        samples_add(&bare, start_bare_once(b));
    }
    for (int i = 0; i < COLD_STARTS; i++)
        start_cold(b, &cold);
    double bare_p50 = samples_quantile(&bare, 0.5);
    b->bare_start.p50_ms = bare_p50;
    const struct {
        const char *name;
        struct samples *samples;
        bool has_bare;
        struct target target;
    } rows[] = {
        {"to the answer to initialize", &cached.answer, false, {TARGET_MOST_MS, 20}},
        {"to the first value, core cached", &cached.value, true, {TARGET_MOST_MS, 60}},
        {"to the answer to initialize, no core yet", &cold.answer, false, {TARGET_MOST_MS, 20}},
        {"to the first value, no core yet", &cold.value, true, {TARGET_NONE, 0}},
    };
    table_times("From the start of the server");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double p50 = samples_quantile(rows[i].samples, 0.5);
        table_add(&b->table, &(struct row){
                                 .name = rows[i].name,
                                 .p50_ms = p50,
                                 .p99_ms = samples_quantile(rows[i].samples, 0.99),
                                 .best_ms = samples_quantile(rows[i].samples, 0),
                                 .bare = rows[i].has_bare ? bare_p50 : 0,
                                 .ratio = rows[i].has_bare ? p50 / bare_p50 : 0,
                                 .target = rows[i].target,
                             });
    }
    samples_fini(&cached.answer);
    samples_fini(&cached.value);
    samples_fini(&cold.answer);
    samples_fini(&cold.value);
    samples_fini(&bare);
}

/* Sessions and memory */

static void add_size(struct bench *b, const char *name, double mib, double most_mib)
{
    table_add(&b->table, &(struct row){.name = name,
                                       .mib = mib,
                                       .target = {most_mib > 0 ? TARGET_MOST_MIB : TARGET_NONE, most_mib}});
}

static void measure_memory(struct bench *b)
{
    pid_t lisps[SESSIONS + 8];
    struct memory m, sum = {0};
    size_t n = memory_children(b->server.pid, "sbcl", lisps, SESSIONS + 8), counted = 0;
    table_sizes("Memory with 200 sessions");
    if (!memory_read(b->server.pid, &m) || n < SESSIONS)
        bench_fail("cannot read the memory of the server and its %zu Lisps", n);
    add_size(b, "server, RSS", m.rss_mib, 0);
    add_size(b, "server, PSS", m.pss_mib, 10);
    if (memory_read(lisps[0], &m)) {
        add_size(b, "zygote, RSS (the core file's pages too)", m.rss_mib, 0);
        add_size(b, "zygote, PSS", m.pss_mib, 0);
    }
    /* The youngest: of the others one is the zygote, one the session that has run everything else. */
    for (size_t i = n - SESSIONS; i < n; i++) {
        if (!memory_read(lisps[i], &m))
            continue;
        counted++;
        sum.rss_mib += m.rss_mib;
        sum.pss_mib += m.pss_mib;
        sum.private_dirty_mib += m.private_dirty_mib;
        sum.page_tables_mib += m.page_tables_mib;
    }
    double count = counted > 0 ? (double)counted : 1;
    add_size(b, "idle session, private dirty", sum.private_dirty_mib / count, 0);
    add_size(b, "idle session, PSS", sum.pss_mib / count, 1.5);
    add_size(b, "idle session, page tables (kernel)", sum.page_tables_mib / count, 0);
    if (memory_read(b->bare.pid, &m))
        add_size(b, "bare SBCL, private dirty, to compare", m.private_dirty_mib, 0);
}

static void measure_sessions(struct bench *b)
{
    struct samples both;
    samples_init(&both);
    struct strbuf request;
    strbuf_init(&request, 0);
    for (int i = 0; i < SESSIONS; i++) {
        strbuf_clear(&request);
        strbuf_addf(&request, CALL("create-session", "\"name\":\"b%d\""), i);
        double ms = call(b, &b->server, strbuf_string(&request), "created");
        strbuf_clear(&request);
        strbuf_addf(&request, EVALUATE("(+ 1 2)", ",\"session\":\"b%d\""), i);
        samples_add(&both, ms + call(b, &b->server, strbuf_string(&request), "=> 3"));
    }
    table_times("New session");
    double p50 = samples_quantile(&both, 0.5);
    table_add(&b->table, &(struct row){
                             .name = "create-session and first evaluation, 200 times",
                             .p50_ms = p50,
                             .p99_ms = samples_quantile(&both, 0.99),
                             .best_ms = samples_quantile(&both, 0),
                             .bare = b->bare_start.p50_ms,
                             .ratio = p50 / b->bare_start.p50_ms,
                             .target = {TARGET_MOST_MS, 2},
                         });
    measure_memory(b);
    for (int i = 0; i < SESSIONS; i++) {
        strbuf_clear(&request);
        strbuf_addf(&request, CALL("close-session", "\"session\":\"b%d\""), i);
        call(b, &b->server, strbuf_string(&request), "closed");
    }
    strbuf_fini(&request);
    samples_fini(&both);
}

/* Error storm */

struct footprint {
    struct memory server, session;
};

static void read_footprint(struct bench *b, struct footprint *f)
{
    pid_t lisps[4];
    /* Garbage is not growth. */
    call(b, &b->server, EVALUATE("(gc :full t)", ""), "=> NIL");
    size_t n = memory_children(b->server.pid, "sbcl", lisps, 4);
    if (n < 2 || !memory_read(b->server.pid, &f->server) || !memory_read(lisps[1], &f->session))
        bench_fail("cannot read the memory of the server and its session");
}

static void measure_storm(struct bench *b)
{
    struct footprint before, after;
    for (int i = 0; i < 100; i++)
        call(b, &b->server, EVALUATE("(car 42)", ""), "[Backtrace]");
    read_footprint(b, &before);
    double start = measure_now_ms();
    for (int i = 0; i < STORM; i++)
        call(b, &b->server, EVALUATE("(car 42)", ""), "[Backtrace]");
    double ms = measure_now_ms() - start;
    read_footprint(b, &after);
    table_rates("Error storm");
    table_add(&b->table, &(struct row){.name = "10,000 errors in sequence", .per_second = STORM * 1e3 / ms});
    table_sizes("Memory around the error storm");
    add_size(b, "server, RSS before", before.server.rss_mib, 0);
    add_size(b, "server, RSS after", after.server.rss_mib, 0);
    add_size(b, "session, private dirty before", before.session.private_dirty_mib, 0);
    add_size(b, "session, private dirty after", after.session.private_dirty_mib, 0);
}

static double load_average(void)
{
    double load[1] = {0};
    return getloadavg(load, 1) == 1 ? load[0] : 0;
}

static void start_both(struct bench *b)
{
    start_bare(b);
    start_server(b, &b->server, b->server_path, NULL);
    shake_hands(b, &b->server);
    call(b, &b->server, EVALUATE(DEFINITIONS("\\\""), ""), "=> BENCH-LINES");
}

static void stop_both(struct bench *b)
{
    peer_stop(&b->server);
    peer_stop(&b->bare);
}

/*
 * On one processor a round trip is the work of all who take part and the switches between them. Where the
 * scheduler puts them on several, each waking of a sleeping processor comes on top: that is what users get,
 * and what varies most.
 */
static void measure_calls_on_one_processor(struct bench *b)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        bench_fail("cannot learn the processors: %s", strerror(errno));
    size_t last = 0;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all))
            last = i;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bench_fail("cannot stay on one processor: %s", strerror(errno));
    start_both(b);
    measure_calls(b, "Round trips, all on one processor", "Evaluations a second, all on one processor");
    stop_both(b);
    sched_setaffinity(0, sizeof all, &all);
}

static void run(struct bench *b, bool calls_only)
{
    double start = measure_now_ms();
    printf("%ld processors, load average %.2f at the start; a busy machine makes every figure worse.\n",
           sysconf(_SC_NPROCESSORS_ONLN), load_average());
    printf("p50: median of the rounds' p50s; best: the p50 of the quietest round. bare: an SBCL that reads, "
           "evaluates\n"
           "and prints over a pipe in the same rounds; of an error it prints type and message only.\n");
    fflush(stdout);
    measure_calls_on_one_processor(b);
    start_both(b);
    measure_calls(b, "Round trips, wherever the scheduler puts them", "Evaluations a second, wherever");
    if (!calls_only) {
        measure_starts(b);
        measure_sessions(b);
        measure_storm(b);
    }
    stop_both(b);
    printf("\n%zu of %zu targets met, in %.0f s.\n", b->table.met, b->table.targets,
           (measure_now_ms() - start) / 1e3);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"lisp", 1, NULL, 'l'}, {"calls", 0, NULL, 'c'}, {"checkpoints", 1, NULL, 'k'}, {0}};
    struct bench b = {.lisp = "sbcl", .checkpoints = "off"};
    bool calls_only = false;
    int key;
    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (key == 'l')
            b.lisp = optarg;
        else if (key == 'c')
            calls_only = true;
        else if (key == 'k')
            b.checkpoints = optarg;
        else
            return 2;
    }
    if (argc - optind != 2) {
        fprintf(stderr, "usage: bench [--lisp PROGRAM] [--calls] [--checkpoints on|off] SERVER BARE.LISP\n"
                        "--calls: round trips and rates only; --checkpoints: as the server's option, off unless given\n");
        return 2;
    }
    b.server_path = argv[optind];
    b.bare_path = argv[optind + 1];
    signal(SIGPIPE, SIG_IGN);
    strbuf_init(&b.line, 0);
    run(&b, calls_only);
    strbuf_fini(&b.line);
    return 0;
}
