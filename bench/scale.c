/*
 * Many sessions at once: how long they take to make, what they cost, whether each answers, and what stopped the making when
 * fewer came than were asked for. And fairness: how long the calls of a small session take while others print or spin.
 *
 *   bench_scale [--lisp PROGRAM] [--checkpoints on|off] sessions COUNT SERVER
 *   bench_scale [--lisp PROGRAM] [--checkpoints on|off] fairness SERVER
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "measure.h"
#include "memory.h"
#include "peer.h"
#include "table.h"

#define IN_FLIGHT 64
#define SPINNERS 50
#define SAMPLES 300

struct scale {
    const char *lisp, *checkpoints;
    struct peer server;
    struct strbuf line;
    struct table table;
    long last_id;
};

static const char initialize[] =
    "\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

static long write_request(struct scale *b, const char *method_and_parameters)
{
    strbuf_addf(&b->line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":%s}\n", ++b->last_id, method_and_parameters);
    return b->last_id;
}

static void write_create(struct scale *b, long n)
{
    char text[160];
    snprintf(text, sizeof text, "\"tools/call\",\"params\":{\"name\":\"create-session\",\"arguments\":{\"name\":\"b%ld\"}}", n);
    write_request(b, text);
}

static long write_evaluate(struct scale *b, long session, const char *code, int timeout_s)
{
    struct strbuf text;
    strbuf_init(&text, 0);
    strbuf_addf(&text, "\"tools/call\",\"params\":{\"name\":\"evaluate-lisp\",\"arguments\":{\"session\":\"b%ld\",\"timeout\":%d,\"code\":\"%s\"}}", session, timeout_s, code);
    long id = write_request(b, strbuf_string(&text));
    strbuf_fini(&text);
    return id;
}

static void send_line(struct scale *b)
{
    peer_send(&b->server, b->line.bytes, b->line.len);
    strbuf_clear(&b->line);
}

static void start_server(struct scale *b, const char *path)
{
    const char *const argv[] = {path, "--no-userinit", "--checkpoints", b->checkpoints, "--lisp", b->lisp, NULL};
    peer_start(&b->server, "the server", argv, NULL, '\n');
    size_t len;
    write_request(b, initialize);
    send_line(b);
    peer_receive(&b->server, &len);
    peer_send(&b->server, initialized, sizeof initialized - 1);
}

static bool contains(const char *reply, size_t len, const char *text)
{
    return memmem(reply, len, text, strlen(text)) != NULL;
}

/* The text of a reply that was not what was hoped for. */
static void keep_reason(char *out, size_t size, const char *reply, size_t len)
{
    static const char mark[] = "\"text\":\"";
    const char *text = memmem(reply, len, mark, sizeof mark - 1);
    size_t skipped = text == NULL ? 0 : (size_t)(text - reply) + sizeof mark - 1;
    size_t n = len - skipped < 300 ? len - skipped : 300;
    const char *end = memchr(reply + skipped, '"', n);
    snprintf(out, size, "%.*s", end == NULL ? (int)n : (int)(end - reply - (long)skipped), reply + skipped);
}

typedef void writer(struct scale *b, long n);

static void write_evaluation(struct scale *b, long n)
{
    char code[80];
    snprintf(code, sizeof code, "(progn (defun f (x) (* x 2)) (f %ld))", n);
    write_evaluate(b, n, code, 60);
}

/* Requests 0 to ${count} - 1, IN_FLIGHT at a time. How many were answered with ${expected} before the first that was not. */
static long pipeline(struct scale *b, long count, writer *write, const char *expected, char *reason, size_t size)
{
    long sent = 0, answered = 0, good = 0;
    reason[0] = '\0';
    while (answered < count && (reason[0] == '\0' || answered < sent)) {
        while (sent < count && sent - answered < IN_FLIGHT && reason[0] == '\0')
            write(b, sent++);
        send_line(b);
        size_t len;
        const char *reply = peer_receive(&b->server, &len);
        answered++;
        if (contains(reply, len, expected))
            good++;
        else if (reason[0] == '\0')
            keep_reason(reason, size, reply, len);
    }
    return good;
}

static void print_limits(void)
{
    struct rlimit files, processes;
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NPROC, &processes);
    char pids[32] = "?";
    FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
    if (f != NULL) {
        if (fgets(pids, sizeof pids, f) != NULL)
            pids[strcspn(pids, "\n")] = '\0';
        fclose(f);
    }
    printf("This machine: %.1f GiB of memory, at most %s process numbers, %llu processes of this user, %llu descriptors.\n",
           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30), pids, (unsigned long long)processes.rlim_max,
           (unsigned long long)files.rlim_max);
}

static void add_size(struct scale *b, const char *name, double mib, double most_mib)
{
    table_add(&b->table, &(struct row){.name = name, .mib = mib, .target = {most_mib > 0 ? TARGET_MOST_MIB : TARGET_NONE, most_mib}});
}

static void measure_memory(struct scale *b, long sessions)
{
    size_t capacity = (size_t)sessions * 10 + 64;
    pid_t *lisps = calloc(capacity, sizeof *lisps);
    if (lisps == NULL)
        bench_fail("no memory");
    size_t n = memory_children(b->server.pid, "sbcl", lisps, capacity);
    struct memory m, sum = {0};
    for (size_t i = 0; i < n; i++) {
        if (!memory_read(lisps[i], &m))
            continue;
        sum.pss_mib += m.pss_mib;
        sum.page_tables_mib += m.page_tables_mib;
    }
    free(lisps);
    if (!memory_read(b->server.pid, &m))
        bench_fail("cannot read the memory of the server");
    char title[80];
    snprintf(title, sizeof title, "Memory of %zu Lisp processes", n);
    table_sizes(title);
    add_size(b, "PSS of all, server included", sum.pss_mib + m.pss_mib, 1536.0 * (double)sessions / 1000);
    add_size(b, "PSS of a session", sum.pss_mib / (double)sessions, 1.5);
    add_size(b, "page tables of all (kernel)", sum.page_tables_mib, 0);
    add_size(b, "server, PSS", m.pss_mib, 0);
}

static void add_time(struct scale *b, const char *name, double ms, double most_ms)
{
    table_add(&b->table, &(struct row){.name = name, .p50_ms = ms, .target = {most_ms > 0 ? TARGET_MOST_MS : TARGET_NONE, most_ms}});
}

static double call_ms(struct scale *b, long session, const char *code, const char *expected)
{
    double start = measure_now_ms();
    write_evaluate(b, session, code, 60);
    send_line(b);
    size_t len;
    const char *reply = peer_receive(&b->server, &len);
    if (!contains(reply, len, expected))
        bench_fail("session b%ld answered without '%s': %.*s", session, expected, (int)(len < 300 ? len : 300), reply);
    return measure_now_ms() - start;
}

static void add_calls(struct scale *b, const char *name, struct samples *s)
{
    table_add(&b->table, &(struct row){.name = name, .p50_ms = samples_quantile(s, 0.5), .p99_ms = samples_quantile(s, 0.99), .best_ms = samples_quantile(s, 0)});
}

static void measure_sessions(struct scale *b, long count)
{
    char reason[400], name[80];
    struct samples one, each;
    samples_init(&one);
    samples_init(&each);
    print_limits();
    double start = measure_now_ms();
    long made = pipeline(b, count, write_create, "created", reason, sizeof reason);
    double created = measure_now_ms();
    if (made < count)
        printf("The making stopped at %ld of %ld sessions: %s\n", made, count, reason);
    if (made == 0)
        bench_fail("no session could be made");
    long good = pipeline(b, made, write_evaluation, "=> ", reason, sizeof reason);
    double evaluated = measure_now_ms();
    if (good < made)
        printf("Only %ld of %ld answered: %s\n", good, made, reason);
    snprintf(name, sizeof name, "%ld sessions, checkpoints %s", made, b->checkpoints);
    table_times(name);
    double share = (double)made / 1000;
    add_time(b, "create-session, 64 in flight", created - start, 0);
    add_time(b, "a first evaluation in each, 64 in flight", evaluated - created, 0);
    add_time(b, "both", evaluated - start, 2000 * share);
    for (int i = 0; i < SAMPLES; i++)
        samples_add(&one, call_ms(b, 0, "(+ 1 2)", "=> 3"));
    for (int i = 0; i < SAMPLES; i++)
        samples_add(&each, call_ms(b, (long)i * 7919 % made, "(+ 1 2)", "=> 3"));
    add_calls(b, "(+ 1 2) in one of them, the others idle", &one);
    add_calls(b, "(+ 1 2) here and there", &each);
    measure_memory(b, made);
    double before = measure_now_ms();
    peer_stop(&b->server);
    table_times("The end");
    add_time(b, "end of input to end of server", measure_now_ms() - before, 0);
    samples_fini(&one);
    samples_fini(&each);
}

/* Calls of session 0, while what was started in the others goes on unanswered. */
static void measure_small(struct scale *b, const char *name)
{
    struct samples s;
    samples_init(&s);
    for (int i = 0; i < SAMPLES; i++)
        samples_add(&s, call_ms(b, 0, "(+ 1 2)", "=> 3"));
    add_calls(b, name, &s);
    samples_fini(&s);
}

/* What is cancelled is not answered. */
static void cancel(struct scale *b, const long *ids, long count)
{
    for (long i = 0; i < count; i++)
        strbuf_addf(&b->line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%ld}}\n", ids[i]);
    send_line(b);
}

static void measure_fairness(struct scale *b)
{
    char reason[400];
    long ids[SPINNERS];
    if (pipeline(b, SPINNERS + 1, write_create, "created", reason, sizeof reason) < SPINNERS + 1)
        bench_fail("cannot make the sessions: %s", reason);
    table_times("(+ 1 2) in a small session");
    measure_small(b, "while the others are idle");
    ids[0] = write_evaluate(b, 1, "(loop (write-string (make-string 4000 :initial-element #\\\\x)))", 600);
    send_line(b);
    measure_small(b, "while another floods its output");
    cancel(b, ids, 1);
    call_ms(b, 1, "(+ 1 2)", "=> 3");
    ids[0] = write_evaluate(b, 1, "(loop)", 600);
    send_line(b);
    measure_small(b, "while another spins");
    for (long i = 1; i < SPINNERS; i++)
        ids[i] = write_evaluate(b, i + 1, "(loop)", 600);
    send_line(b);
    measure_small(b, "while 50 others spin");
    cancel(b, ids, SPINNERS);
    call_ms(b, SPINNERS, "(+ 1 2)", "=> 3");
    peer_stop(&b->server);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"lisp", 1, NULL, 'l'}, {"checkpoints", 1, NULL, 'k'}, {0}};
    struct scale b = {.lisp = "sbcl", .checkpoints = "off"};
    int key;
    while ((key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (key == 'l')
            b.lisp = optarg;
        else if (key == 'k')
            b.checkpoints = optarg;
        else
            return 2;
    }
    bool is_fairness = argc - optind == 2 && strcmp(argv[optind], "fairness") == 0;
    long count = argc - optind == 3 && strcmp(argv[optind], "sessions") == 0 ? strtol(argv[optind + 1], NULL, 10) : 0;
    if (!is_fairness && count <= 0) {
        fprintf(stderr, "usage: bench_scale [--lisp PROGRAM] [--checkpoints on|off] sessions COUNT SERVER\n"
                        "       bench_scale [--lisp PROGRAM] [--checkpoints on|off] fairness SERVER\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    strbuf_init(&b.line, 0);
    start_server(&b, argv[argc - 1]);
    if (is_fairness)
        measure_fairness(&b);
    else
        measure_sessions(&b, count);
    strbuf_fini(&b.line);
    return 0;
}
