/*
 * The cost of a copy as a function of the session's live data: the copying, the next call, which pays for the
 * pages it writes, and the recovery after a death, which walks the heap.
 */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "rounds.h"

#define ROUNDS 3
#define CALLS 10
#define PAUSE_MS 5.0

static const long sizes_mib[] = {40, 100, 250, 500, 950, 2000};
#define GIGABYTE_MIB 954

#define SIZES (sizeof sizes_mib / sizeof sizes_mib[0])

struct figures {
    /* Of a copy, with nothing or a word of each MiB written since the previous one: how long the client
     * waits for it, and the time that session-info reports. */
    struct samples asked[2], told[2];
    struct samples death;
    struct rounds add, touch;
};

/* Both sides use one session, which makes copies only on request. */
struct turn {
    struct bench *b;
    struct peer *server;
    struct figures *figures;
    int is_touching;
    const char *request, *expected;
};

/* The duration of a copy that session-info reports after the second one. */
static void add_told(struct turn *t)
{
    client_call(t->b, t->server, CALL("session-info", ""), "Checkpoints: ");
    size_t len;
    const char *at, *reply = client_reply(t->server, &len);
    long count;
    double ms;
    at = memmem(reply, len, "Checkpoints: ", 13);
    if (at != NULL && sscanf(at, "Checkpoints: %ld, %lf ms each", &count, &ms) == 2)
        samples_add(&t->figures->told[t->is_touching], ms);
}

static void make_copy(struct turn *t)
{
    static const char *const request = CALL("checkpoint-session", "\"name\":\"b\"");
    samples_add(&t->figures->asked[t->is_touching],
                client_call(t->b, t->server, request, "\"isError\":false"));
    add_told(t);
}

static double call_after_pause(void *arg)
{
    struct turn *t = arg;
    measure_wait_until_ms(measure_now_ms() + PAUSE_MS);
    return client_call(t->b, t->server, t->request, t->expected);
}

static double call_after_copy(void *arg)
{
    make_copy(arg);
    return call_after_pause(arg);
}

static void run_round(struct turn *t, struct rounds *r)
{
    const struct side one = {call_after_copy, t}, other = {call_after_pause, t};
    call_after_pause(t);
    rounds_run(r, &one, &other, 0, CALLS);
}

static void fill(struct turn *t, long mib)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_addf(&text,
                EVALUATE("(progn (defparameter *bench-data* (loop repeat %ld collect (make-list 65536)))"
                         " (defun bench-touch () (dolist (l *bench-data* :touched) (incf (car l))))"
                         " (dolist (l *bench-data*) (setf (car l) 0)) (gc :full t) :filled)",
                         ""),
                mib);
    client_call(t->b, t->server, strbuf_string(&text), "=> :FILLED");
    strbuf_fini(&text);
}

static void measure_size(struct bench *b, long mib, struct figures *f)
{
    struct peer server;
    struct turn t = {.b = b, .server = &server, .figures = f};
    char heap_mib[24];
    snprintf(heap_mib, sizeof heap_mib, "%ld", 3 * mib + 512);
    client_start(
        b, &server, "on",
        (const char *const[]){"--max-heap", heap_mib, "--checkpoint-limit", "0", "--timeout", "300", NULL},
        NULL);
    fill(&t, mib);
    t.request = ADD;
    t.expected = ADDED;
    t.is_touching = 0;
    for (int i = 0; i < ROUNDS; i++)
        run_round(&t, &f->add);
    /* After these, all huge pages are split, which would be a different measurement. */
    t.request = EVALUATE("(bench-touch)", "");
    t.expected = "=> :TOUCHED";
    t.is_touching = 1;
    for (int i = 0; i < ROUNDS; i++)
        run_round(&t, &f->touch);
    for (int i = 0; i < ROUNDS; i++) {
        make_copy(&t);
        samples_add(&f->death,
                    client_call(b, &server, EVALUATE("(sb-ext:exit :abort t)", ""), "continues from"));
    }
    peer_stop(&server);
}

static void print_samples(struct bench *b, const char *name, struct samples *s, struct target target)
{
    table_add(&b->table, &(struct row){
                             .name = name,
                             .p50_ms = samples_quantile(s, 0.5),
                             .p99_ms = samples_quantile(s, 0.99),
                             .best_ms = samples_quantile(s, 0),
                             .target = target,
                         });
}

static void run(struct bench *b)
{
    static const struct target none = {TARGET_NONE, 0};
    struct figures all[SIZES];
    char names[SIZES][32];
    for (size_t i = 0; i < SIZES; i++) {
        for (int j = 0; j < 2; j++) {
            samples_init(&all[i].asked[j]);
            samples_init(&all[i].told[j]);
        }
        samples_init(&all[i].death);
        rounds_init(&all[i].add);
        rounds_init(&all[i].touch);
        snprintf(names[i], sizeof names[i], "%ld MiB live", sizes_mib[i]);
        measure_size(b, sizes_mib[i], &all[i]);
    }
    static const char *const written[] = {"nothing written between two",
                                          "a word of each MiB written between two"};
    char title[80];
    for (int j = 0; j < 2; j++) {
        snprintf(title, sizeof title, "A copy: session-info, %s", written[j]);
        table_times(&b->table, title, NULL);
        for (size_t i = 0; i < SIZES; i++) {
            bool is_aimed_at = j == 0 && sizes_mib[i] <= GIGABYTE_MIB;
            print_samples(b, names[i], &all[i].told[j],
                          is_aimed_at ? (struct target){TARGET_MOST_MS, 1.0} : none);
        }
        snprintf(title, sizeof title, "Its client, %s", written[j]);
        table_times(&b->table, title, NULL);
        for (size_t i = 0; i < SIZES; i++)
            print_samples(b, names[i], &all[i].asked[j], none);
    }
    table_times(&b->table, "(+ 1 2) after a copy", "no copies");
    for (size_t i = 0; i < SIZES; i++)
        rounds_print_times(&all[i].add, &b->table, names[i], none);
    table_times(&b->table, "one word of each MiB written after a copy", "no copies");
    for (size_t i = 0; i < SIZES; i++)
        rounds_print_times(&all[i].touch, &b->table, names[i], none);
    table_times(&b->table, "(sb-ext:exit :abort t) until the session continues", NULL);
    for (size_t i = 0; i < SIZES; i++)
        print_samples(b, names[i], &all[i].death, none);
    for (size_t i = 0; i < SIZES; i++) {
        for (int j = 0; j < 2; j++) {
            samples_fini(&all[i].asked[j]);
            samples_fini(&all[i].told[j]);
        }
        samples_fini(&all[i].death);
        rounds_fini(&all[i].add);
        rounds_fini(&all[i].touch);
    }
}

const struct suite suite_heaps = {"heaps", "what a copy costs with 40 to 2,000 MiB of live data", 0, run};
