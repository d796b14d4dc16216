/*
 * The way back from a death, a roll-back, saves, and the memory that the waiting copies take.
 */
#include <stdio.h>

#include "base/remove_tree.h"
#include "client.h"
#include "memory.h"
#include "rounds.h"

#define PAUSE_MS 10.0
#define RETURNS 25
#define CHECKPOINTS 8
#define SAVES 5
#define EVALUATIONS 1000
/* Copies beyond the limit end when the session has been idle for a second. */
#define QUIET_MS 2500

static double call_after_pause(struct bench *b, struct peer *server, const char *request,
                               const char *expected)
{
    measure_wait_until_ms(measure_now_ms() + PAUSE_MS);
    return client_call(b, server, request, expected);
}

static void measure_returns(struct bench *b)
{
    struct samples deaths = {0}, after = {0}, rollbacks = {0};
    struct peer server;
    client_start(b, &server, b->server_path, "on", NULL);
    for (int i = 0; i < RETURNS; i++) {
        call_after_pause(b, &server, ADD, ADDED);
        samples_add(&deaths,
                    call_after_pause(b, &server, EVALUATE("(sb-ext:exit :abort t)", ""), "continues from"));
        samples_add(&after, client_call(b, &server, ADD, ADDED));
        call_after_pause(b, &server, ADD, ADDED);
        samples_add(&rollbacks,
                    call_after_pause(b, &server, CALL("rollback-session", "\"to\":\"-1\""), "Returned"));
    }
    peer_stop(&server);
    table_times(&b->table, "The way back", NULL);
    samples_print(&deaths, &b->table, "(sb-ext:exit :abort t) until the session continues", 50);
    samples_print(&after, &b->table, "the evaluation after it", 0);
    samples_print(&rollbacks, &b->table, "rollback-session by one evaluation", 0);
}

static void measure_saves(struct bench *b)
{
    struct peer server;
    struct samples saves = {0}, restores = {0}, after = {0};
    char directory[DIRECTORY_SIZE];
    directory_make(directory);
    client_start(b, &server, b->server_path, "on", (const char *const[]){"--state-dir", directory, NULL});
    client_call(b, &server, EVALUATE(DEFINITIONS("\\\""), ""), "=> BENCH-LINES");
    for (int i = 0; i < SAVES; i++) {
        samples_add(&saves,
                    client_call(b, &server, CALL("checkpoint-session", "\"action\":\"save\""), "Saved"));
        samples_add(&restores,
                    client_call(b, &server, CALL("create-session", "\"name\":\"default\",\"saved\":true"),
                                "Restored"));
        samples_add(&after, client_call(b, &server, EVALUATE("(length *bench-text*)", ""), "=> 100000"));
    }
    table_times(&b->table, "On disk, a session of a few definitions", NULL);
    samples_print(&saves, &b->table, "save", 2000);
    samples_print(&restores, &b->table, "restore", 100);
    samples_print(&after, &b->table, "the evaluation after it", 0);
    peer_stop(&server);
    remove_tree(directory);
}

static void run_returns(struct bench *b)
{
    measure_returns(b);
    measure_saves(b);
}

/* All processes except the zygote and the session are the copies. */
static void measure_copies(struct bench *b)
{
    struct peer server;
    struct memory copies;
    client_start(b, &server, b->server_path, "on", NULL);
    client_call(b, &server, CALL("configure-limits", "\"checkpoint-limit\":0"), "checkpoint");
    for (int i = 0; i < CHECKPOINTS; i++)
        call_after_pause(b, &server, ADD, ADDED);
    size_t without = memory_sum_children(server.pid, 0, &copies);
    client_call(b, &server, CALL("configure-limits", "\"checkpoint-limit\":8"), "checkpoint");
    for (int i = 0; i < CHECKPOINTS; i++)
        call_after_pause(b, &server, ADD, ADDED);
    measure_wait_until_ms(measure_now_ms() + 10 * PAUSE_MS);
    size_t all = memory_sum_children(server.pid, without, &copies);
    char title[80];
    snprintf(title, sizeof title, "Memory of the %zu copies of an idle session", all - without);
    table_sizes(&b->table, title);
    table_add_size(&b->table, "private dirty and page tables of the copies",
                   copies.private_dirty_mib + copies.page_tables_mib, 12);
    peer_stop(&server);
}

/* What is evaluated in turn. '#' is the number of the evaluation, '&' that of the one before. */
static const char *const kinds[] = {
    EVALUATE("(defun bench-f# (x) (if (plusp x) (+ x #) (list x :no)))", ""),
    EVALUATE("(bench-f& 3)", ""),
    EVALUATE("(defvar *bench-v#* (list # :a 3.5))", ""),
    EVALUATE("(error \\\"number #\\\")", ""),
    EVALUATE("(defclass bench-c# () ((a :initarg :a :accessor bench-a#)))", ""),
    EVALUATE("(make-instance 'bench-c& :a 1)", ""),
    EVALUATE("(length (loop for j below 2000 collect (cons j j)))", ""),
    EVALUATE("(car #)", ""),
    EVALUATE("(format nil \\\"~a ~a\\\" # (expt 3 50))", ""),
    ADD,
};

static void run_memory(struct bench *b)
{
    struct peer server;
    struct memory lisps, of_server;
    struct strbuf request;
    measure_copies(b);
    client_start(b, &server, b->server_path, "on", NULL);
    strbuf_init(&request, 0);
    for (int i = 0; i < EVALUATIONS; i++) {
        strbuf_clear(&request);
        for (const char *at = kinds[(size_t)i % (sizeof kinds / sizeof kinds[0])]; *at != '\0'; at++)
            if (*at == '#' || *at == '&')
                strbuf_addf(&request, "%d", *at == '#' ? i : i - 1);
            else
                strbuf_addc(&request, *at);
        client_call(b, &server, strbuf_string(&request), "\"result\"");
    }
    strbuf_fini(&request);
    measure_wait_until_ms(measure_now_ms() + QUIET_MS);
    size_t n = memory_sum_children(server.pid, 0, &lisps);
    char title[80];
    snprintf(title, sizeof title, "After 1,000 evaluations: the server and %zu Lisps", n);
    table_sizes(&b->table, title);
    if (memory_read(server.pid, &of_server))
        table_add_size(&b->table, "PSS of all", lisps.pss_mib + of_server.pss_mib, 60);
    table_add_size(&b->table, "page tables of all (kernel)", lisps.page_tables_mib, 0);
    peer_stop(&server);
}

const struct suite suite_returns = {"returns", "back from a death, a roll-back, a save", run_returns};
const struct suite suite_memory = {"memory", "memory of copies, and after a thousand evaluations",
                                   run_memory};
