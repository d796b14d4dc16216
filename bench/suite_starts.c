/*
 * From the start of the server to its first answers, with and without a core in the cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "directory.h"
#include "measure.h"

#define STARTS 11
#define COLD_STARTS 2

struct start {
    struct samples answer, value;
};

static void start_init(struct start *s)
{
    samples_init(&s->answer);
    samples_init(&s->value);
}

static void start_fini(struct start *s)
{
    samples_fini(&s->answer);
    samples_fini(&s->value);
}

static void start_once(struct bench *b, const char *path, const char *const *environment, struct start *s)
{
    struct peer server;
    double start = measure_now_ms();
    client_start_program(b, &server, path, environment);
    samples_add(&s->answer, measure_now_ms() - start);
    client_call(b, &server, ADD, ADDED);
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
    client_verify(&bare, reply, len, "3");
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

/* A copy of the server that finds no core, either beside itself or in the cache. */
static void start_cold(struct bench *b, struct start *s)
{
    char directory[DIRECTORY_SIZE], program[DIRECTORY_SIZE + 16], cache[DIRECTORY_SIZE + 32];
    directory_make(directory);
    snprintf(program, sizeof program, "%s/cl-mcp-server", directory);
    snprintf(cache, sizeof cache, "XDG_CACHE_HOME=%s/cache", directory);
    copy_program(b->server_path, program);
    start_once(b, program, (const char *const[]){cache, NULL}, s);
    directory_remove(directory);
}

static void add_row(struct bench *b, const char *name, struct samples *s, struct samples *bare,
                    struct target target)
{
    struct row row = {
        .name = name,
        .p50_ms = samples_quantile(s, 0.5),
        .p99_ms = samples_quantile(s, 0.99),
        .best_ms = samples_quantile(s, 0),
        .target = target,
    };
    if (bare != NULL) {
        row.other = samples_quantile(bare, 0.5);
        row.other_best = samples_quantile(bare, 0);
        row.ratio = row.p50_ms / row.other;
    }
    table_add(&b->table, &row);
}

static void run(struct bench *b)
{
    struct start cached, cold;
    struct samples bare;
    start_init(&cached);
    start_init(&cold);
    samples_init(&bare);
    for (int i = 0; i < STARTS; i++) {
        start_once(b, b->server_path, NULL, &cached);
        samples_add(&bare, start_bare_once(b));
    }
    for (int i = 0; i < COLD_STARTS; i++)
        start_cold(b, &cold);
    table_times(&b->table, "From the start of the server", "bare");
    add_row(b, "to the answer to initialize", &cached.answer, NULL, (struct target){TARGET_MOST_MS, 20});
    add_row(b, "to the first value, core cached", &cached.value, &bare, (struct target){TARGET_MOST_MS, 60});
    add_row(b, "to the answer to initialize, no core yet", &cold.answer, NULL,
            (struct target){TARGET_MOST_MS, 20});
    add_row(b, "to the first value, no core yet", &cold.value, &bare, (struct target){TARGET_NONE, 0});
    start_fini(&cached);
    start_fini(&cold);
    samples_fini(&bare);
}

const struct suite suite_starts = {"starts", "from the start of the server to its first answers", 0, run};
