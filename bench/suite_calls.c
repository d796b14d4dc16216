/*
 * Round trips and starts of the server in turns with what they are compared with: a bare Lisp, a server
 * without checkpoints, another build, one outside the sandbox, one whose session is idle.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/remove_tree.h"
#include "client.h"
#include "rounds.h"

#define ROUNDS 11
#define SLICE_MS 60 /* for each of the two, per figure and round */
#define LEAST_SAMPLES 5
#define PACE_MS 10.0
#define MOST_FIGURES 16

/* The calls of a client that pauses are 10 ms apart. ${bare}: the form for the bare Lisp, or NULL. */
struct figure {
    const char *name, *request, *expected;
    struct target target;
    const char *bare;
    bool is_paced;
    double least_per_second; /* 0: no row of rates */
};

#define FAIL EVALUATE("(car 42)", "")
#define TIMES(times) .target = {TARGET_MOST_TIMES, times}
#define MS(ms) .target = {TARGET_MOST_MS, ms}

/* clang-format off */
static const struct figure beside_bare[] = {
    {"(+ 1 2)", ADD, ADDED, TIMES(5), .bare = "(+ 1 2)", .least_per_second = 20000},
    {"error (car 42), with its whole report", FAIL, "[Backtrace]", MS(0.37), .bare = "(car 42)"},
    {"error three functions deep", EVALUATE("(bench-a 1)", ""), "(BENCH-C 1)", MS(0.37), .bare = "(bench-a 1)"},
    {"defun", EVALUATE("(defun bench-f (x) (* x 2))", ""), "=> BENCH-F", .bare = "(defun bench-f (x) (* x 2))"},
    {"100 kB printed, 1,000 lines", EVALUATE("(bench-lines)", ",\"max-output\":200000"), "=> NIL",
     .bare = "(with-output-to-string (*standard-output*) (bench-lines))"},
    {"100 kB value, one string", EVALUATE("*bench-text*", ",\"max-output\":200000"), "xx", .bare = "*bench-text*"},
    {"the last error, described", CALL("list-errors", "\"index\":0"), "result", .bare = NULL},
    {"tools/list", "\"tools/list\"", "evaluate-lisp", MS(1)},
    {"ping", "\"ping\"", "\"result\"", .bare = NULL},
    {0}};

static const struct figure with_copies[] = {
    {"(+ 1 2), one after the other", ADD, ADDED, .least_per_second = 3000},
    {"error (car 42), one after the other", FAIL, "[Backtrace]", .is_paced = false},
    {"(+ 1 2), 10 ms between calls", ADD, ADDED, TIMES(1.1), .is_paced = true},
    {"error (car 42), 10 ms between calls", FAIL, "[Backtrace]", TIMES(1.1), .is_paced = true},
    {0}};

static const struct figure in_sandbox[] = {
    {"(+ 1 2)", ADD, ADDED, TIMES(1.1)},
    {"error (car 42), with its whole report", FAIL, "[Backtrace]", .bare = NULL},
    {"a file of the project opened and read",
     EVALUATE("(with-open-file (s \\\"bench.txt\\\" :direction :io :if-exists :overwrite "
              ":if-does-not-exist :create) (read-line s nil 5))", ""), "=> ", .bare = NULL},
    {"a program, (run-program \"/bin/true\")",
     EVALUATE("(sb-ext:process-exit-code (sb-ext:run-program \\\"/bin/true\\\" nil))", ""), "=> 0", .bare = NULL},
    {0}};

static const struct figure beside_a_loop[] = {
    {"describe-symbol car", CALL("describe-symbol", "\"name\":\"car\""), "LIST", TIMES(3)},
    {0}};

static const struct figure lookups[] = {
    {"describe-symbol", CALL("describe-symbol", "\"name\":\"mapcar\""), "MAPCAR", MS(5)},
    {"find-definition", CALL("find-definition", "\"name\":\"ironclad:digest-sequence\""), "DIGEST-SEQUENCE", MS(5)},
    {"find-references, callers",
     CALL("find-references", "\"name\":\"ironclad:digest-length\",\"relation\":\"callers\""), "DIGEST-LENGTH", MS(5)},
    {"describe-symbol, methods", CALL("describe-symbol", "\"name\":\"print-object\",\"show\":\"methods\""), "PRINT-OBJECT", MS(5)},
    {"apropos-search, completion",
     CALL("apropos-search", "\"pattern\":\"ironclad:dig\",\"complete\":true"), "digest", MS(5)},
    {"session-info", CALL("session-info", ""), "Session", MS(5)},
    {"apropos-search, all packages", CALL("apropos-search", "\"pattern\":\"digest\""), "DIGEST", MS(50)},
    {0}};
/* clang-format on */

struct party {
    struct bench *b;
    struct peer peer;
    const struct figure *figure; /* the one being measured */
    bool is_bare;
    double next_ms; /* the next beat of a client that pauses */
};

static double one_call(void *arg)
{
    struct party *p = arg;
    const struct figure *f = p->figure;
    double now = measure_now_ms();
    if (f->is_paced) {
        p->next_ms = p->next_ms + PACE_MS < now ? now + PACE_MS : p->next_ms + PACE_MS;
        measure_wait_until_ms(p->next_ms);
    }
    if (p->is_bare)
        return peer_call(&p->peer, f->bare, strlen(f->bare) + 1, "");
    return client_call(p->b, &p->peer, f->request, f->expected);
}

/* What copies add to the second figure, beside what they add to the first. */
static void print_added(struct table *t, struct rounds *all)
{
    double added[2], best[2];
    for (size_t i = 0; i < 2; i++) {
        added[i] = samples_quantile(&all[i].one.medians, 0.5) - samples_quantile(&all[i].other.medians, 0.5);
        best[i] = samples_quantile(&all[i].one.medians, 0) - samples_quantile(&all[i].other.medians, 0);
    }
    table_times(t, "What copies add, one after the other", "to (+ 1 2)");
    table_add(t, &(struct row){.name = "to error (car 42)",
                               .p50_ms = added[1],
                               .best_ms = best[1],
                               .other = added[0],
                               .other_best = best[0],
                               .ratio = added[1] / added[0],
                               TIMES(1.5)});
}

/* Measure and print the figures; ${name} names the other side, which is NULL if there is none. */
static void compare(struct party *one, struct party *other, const struct figure *figures, const char *title,
                    const char *name)
{
    struct table *t = &one->b->table;
    const struct side here = {one_call, one}, there = {one_call, other};
    struct rounds all[MOST_FIGURES] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; figures[i].name != NULL; i++) {
            one->figure = &figures[i];
            bool is_compared = other != NULL && (!other->is_bare || figures[i].bare != NULL);
            if (is_compared)
                other->figure = &figures[i];
            rounds_run(&all[i], &here, is_compared ? &there : NULL, SLICE_MS, LEAST_SAMPLES);
        }
    }
    table_times(t, title, name);
    for (size_t i = 0; figures[i].name != NULL; i++)
        rounds_print_times(&all[i], t, figures[i].name, figures[i].target);
    if (figures[0].least_per_second > 0) {
        table_rates(t, title, name);
        rounds_print_rates(&all[0], t, figures[0].name,
                           (struct target){TARGET_LEAST_PER_SECOND, figures[0].least_per_second});
    }
    if (figures == with_copies && strcmp(name, "no copies") == 0)
        print_added(t, all);
    for (size_t i = 0; i < MOST_FIGURES; i++)
        rounds_fini(&all[i]);
}

static void stop(struct party *one, struct party *other)
{
    peer_stop(&one->peer);
    peer_stop(&other->peer);
}

/*
 * On one CPU, a round trip is the work of all processes involved and the switches between them. If the
 * scheduler puts them on several, each wake-up of a sleeping CPU adds to it: that varies most.
 */
static void run_calls(struct bench *b)
{
    struct party one = {.b = b}, bare = {.b = b, .is_bare = true};
    cpu_set_t every, last;
    if (sched_getaffinity(0, sizeof every, &every) != 0)
        bench_fail("cannot learn the processors: %s", strerror(errno));
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &every)) {
            CPU_ZERO(&last);
            CPU_SET(i, &last);
        }
    }
    sched_setaffinity(0, sizeof last, &last);
    bare_start(b, &bare.peer);
    client_start(b, &one.peer, b->server_path, b->checkpoints, NULL);
    client_call(b, &one.peer, EVALUATE(DEFINITIONS("\\\""), ""), "=> BENCH-LINES");
    compare(&one, &bare, beside_bare, "Round trips, all on one processor", "bare");
    stop(&one, &bare);
    sched_setaffinity(0, sizeof every, &every);
}

static void run_checkpoints(struct bench *b)
{
    static const char *const live = EVALUATE(
        "(progn (defvar *bench-data* (loop repeat 500 collect (make-list 65536))) (gc :full t))", "");
    static const char *const roomy[] = {"--max-heap", "2048", NULL};
    struct party on = {.b = b}, off = {.b = b};
    client_start(b, &on.peer, b->server_path, "on", roomy);
    client_start(b, &off.peer, b->server_path, "off", roomy);
    compare(&on, &off, with_copies, "A copy after each evaluation", "no copies");
    client_call(b, &on.peer, live, "=> NIL");
    client_call(b, &off.peer, live, "=> NIL");
    compare(&on, &off, with_copies, "The same with 500 MiB of live lists", "no copies");
    stop(&on, &off);
}

struct start {
    struct bench *b;
    const char *path, *const *options;
    struct samples answer;
};

static double one_start(void *arg)
{
    struct start *s = arg;
    struct peer server;
    double start = measure_now_ms();
    client_start(s->b, &server, s->path, s->b->checkpoints, s->options);
    samples_add(&s->answer, measure_now_ms() - start);
    client_call(s->b, &server, ADD, ADDED);
    double took = measure_now_ms() - start;
    peer_stop(&server);
    return took;
}

static double start_bare(void *arg)
{
    static const char answer[] = "(progn (prin1 (+ 1 2)) (terpri) (finish-output) (exit :abort t))";
    struct bench *b = arg;
    const char *const argv[] = {b->lisp, "--noinform", "--no-sysinit", "--no-userinit", "--eval",
                                answer,  NULL};
    struct peer bare;
    double start = measure_now_ms();
    peer_start(&bare, "a bare Lisp", argv, '\n');
    peer_call(&bare, "", 0, "3");
    double took = measure_now_ms() - start;
    peer_stop(&bare);
    return took;
}

/* A row of the table that has been begun. */
static void compare_starts(struct bench *b, const struct side *one, const struct side *other,
                           double most_times)
{
    struct rounds r = {0};
    for (int i = 0; i < ROUNDS; i++)
        rounds_run(&r, one, other, 0, 1);
    rounds_print_times(&r, &b->table, "start to first value, core cached",
                       (struct target){most_times > 0 ? TARGET_MOST_TIMES : TARGET_NONE, most_times});
    rounds_fini(&r);
}

static void run_starts(struct bench *b)
{
    struct start s = {.b = b, .path = b->server_path};
    const struct side one = {one_start, &s}, other = {start_bare, b};
    table_times(&b->table, "From the start of the server", "bare");
    compare_starts(b, &one, &other, 3);
    samples_print(&s.answer, &b->table, "start to the answer to initialize", 20);
}

/* The same calls to two servers, then their starts. */
static void compare_servers(struct bench *b, const struct start *one, const struct start *other,
                            const char *checkpoints, const struct figure *figures, const char *title,
                            const char *name)
{
    struct party here = {.b = b}, there = {.b = b};
    struct start starts[] = {*one, *other};
    const struct side sides[] = {{one_start, &starts[0]}, {one_start, &starts[1]}};
    client_start(b, &here.peer, one->path, checkpoints, one->options);
    client_start(b, &there.peer, other->path, checkpoints, other->options);
    compare(&here, &there, figures, title, name);
    stop(&here, &there);
    compare_starts(b, &sides[0], &sides[1], 0);
    free(starts[0].answer.values);
    free(starts[1].answer.values);
}

static void run_beside(struct bench *b)
{
    const struct start one = {.b = b, .path = b->server_path}, other = {.b = b, .path = b->beside_path};
    printf("Beside %s.\n", b->beside_path);
    compare_servers(b, &one, &other, "on", with_copies, "A copy after each evaluation", "beside");
}

static void run_sandbox(struct bench *b)
{
    char project[DIRECTORY_SIZE];
    directory_make(project);
    const char *const inside[] = {"--directory", project, "--sandbox", "workspace", NULL};
    const char *const outside[] = {"--directory", project, NULL};
    const struct start one = {.b = b, .path = b->server_path, .options = inside},
                       other = {.b = b, .path = b->server_path, .options = outside};
    compare_servers(b, &one, &other, b->checkpoints, in_sandbox, "In the sandbox", "without");
    remove_tree(project);
}

static void run_running(struct bench *b)
{
    struct party busy = {.b = b}, idle = {.b = b};
    client_start(b, &busy.peer, b->server_path, b->checkpoints, NULL);
    client_start(b, &idle.peer, b->server_path, b->checkpoints, NULL);
    client_call(b, &busy.peer, EVALUATE("(loop)", ",\"timeout\":600,\"wait\":0"), "continues");
    compare(&busy, &idle, beside_a_loop, "Look-ups in a session that runs (loop)", "idle");
    client_call(b, &busy.peer, CALL("cancel-evaluation", ""), "\"result\"");
    stop(&busy, &idle);
}

static void run_lookups(struct bench *b)
{
    struct party one = {.b = b};
    client_start(b, &one.peer, b->server_path, b->checkpoints,
                 (const char *const[]){"--timeout", "600", NULL});
    client_call(b, &one.peer, CALL("load-system", "\"system\":\"ironclad\""), "\"isError\":false");
    compare(&one, NULL, lookups, "Look-ups, with ironclad loaded", NULL);
    peer_stop(&one.peer);
}

const struct suite suite_calls = {"calls", "round trips, beside a bare Lisp", run_calls};
const struct suite suite_checkpoints = {"checkpoints", "what copies cost", run_checkpoints};
const struct suite suite_beside = {"beside", "calls with copies and starts, beside another build",
                                   run_beside};
const struct suite suite_running = {"running", "look-ups beside a loop", run_running};
const struct suite suite_sandbox = {"sandbox", "calls and starts in the sandbox, beside none", run_sandbox};
const struct suite suite_lookups = {"lookups", "look-ups, with a large library loaded", run_lookups};
const struct suite suite_starts = {"starts", "from the start to the first answers", run_starts};
