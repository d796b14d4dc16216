/*
 * Loading a large library, ironclad, in a session and in a bare Lisp: from fasls, and with nothing compiled.
 * Each of the two has its own cache.
 */
#include <stdio.h>

#include "client.h"
#include "directory.h"
#include "memory.h"
#include "processor.h"
#include "rounds.h"

#define ROUNDS 5
#define LISPS 8

struct cache {
    char directory[DIRECTORY_SIZE], variable[DIRECTORY_SIZE + 32];
    const char *environment[2];
};

struct pair {
    struct bench *b;
    struct cache server, bare;
};

struct figures {
    struct rounds wall, processor;
};

/* Duration of a load. */
struct cost {
    double wall_ms, processor_ms;
};

static void cache_make(struct cache *c)
{
    directory_make(c->directory);
    snprintf(c->variable, sizeof c->variable, "XDG_CACHE_HOME=%s", c->directory);
    c->environment[0] = c->variable;
    c->environment[1] = NULL;
}

static void load_in_session(struct pair *p, struct cost *c)
{
    struct peer server;
    pid_t lisps[LISPS];
    client_start(p->b, &server, p->b->checkpoints, (const char *const[]){"--timeout", "3600", NULL},
                 p->server.environment);
    client_call(p->b, &server, ADD, ADDED);
    size_t n = memory_children(server.pid, "sbcl", lisps, LISPS);
    if (n < 2)
        bench_fail("the session has no process");
    double before = processor_ms(server.pid) + processor_ms(lisps[1]);
    c->wall_ms =
        client_call(p->b, &server, CALL("load-system", "\"system\":\"ironclad\""), "\"isError\":false");
    c->processor_ms = processor_ms(server.pid) + processor_ms(lisps[1]) - before;
    peer_stop(&server);
}

static void load_in_bare(struct pair *p, struct cost *c)
{
    struct peer bare;
    const char *const argv[] = {p->b->lisp, "--script", p->b->bare_path, NULL};
    peer_start(&bare, "the bare Lisp", argv, p->bare.environment, '\0');
    /* The policy that the loop was compiled with must not apply to the library. */
    bare_call(&bare, "(proclaim '(optimize (speed 1) (safety 1) (debug 1)))", "");
    bare_call(&bare, "(and (require :asdf) t)", "T");
    double before = processor_ms(bare.pid);
    c->wall_ms = bare_call(&bare,
                           "(let* ((*standard-output* (make-broadcast-stream))"
                           " (*error-output* *standard-output*) (*trace-output* *standard-output*))"
                           " (and (funcall (intern \"LOAD-SYSTEM\" :asdf) \"ironclad\") :loaded))",
                           ":LOADED");
    c->processor_ms = processor_ms(bare.pid) - before;
    peer_stop(&bare);
}

static void run_round(struct pair *p, struct figures *f)
{
    struct cost one, other;
    load_in_session(p, &one);
    load_in_bare(p, &other);
    rounds_add_times(&f->wall, one.wall_ms, other.wall_ms);
    rounds_add_times(&f->processor, one.processor_ms, other.processor_ms);
}

static void print(struct bench *b, const char *title, struct figures *f)
{
    table_times(&b->table, title, "bare");
    rounds_print_times(&f->wall, &b->table, "until it is loaded", (struct target){TARGET_MOST_TIMES, 1.05});
    rounds_print_times(&f->processor, &b->table, "processor time of it",
                       (struct target){TARGET_MOST_TIMES, 1.05});
    rounds_fini(&f->wall);
    rounds_fini(&f->processor);
}

static void run(struct bench *b)
{
    struct pair p = {.b = b};
    struct figures cold, warm;
    rounds_init(&cold.wall);
    rounds_init(&cold.processor);
    rounds_init(&warm.wall);
    rounds_init(&warm.processor);
    for (long i = 0; i < b->count; i++) {
        cache_make(&p.server);
        cache_make(&p.bare);
        run_round(&p, &cold);
        for (int j = 0; i == 0 && j < ROUNDS; j++)
            run_round(&p, &warm);
        directory_remove(p.server.directory);
        directory_remove(p.bare.directory);
    }
    print(b, "Loading ironclad, compiled before", &warm);
    print(b, "Loading ironclad, nothing compiled yet", &cold);
}

const struct suite suite_loading = {
    "loading", "loading ironclad in a session and in a bare Lisp; COUNT times with nothing compiled", 1, run};
