/*
 * The two programs that are measured, as their client sees them, with plain blocking reads and writes: the
 * server, and a bare Lisp that reads, evaluates and prints over a pipe.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bench.h"

/* Requests, from the method's name on, without the last brace. ${code} is escaped for JSON. */
#define EVALUATE(code, more)                                                                                 \
    "\"tools/call\",\"params\":{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"" code "\"" more "}}"
#define CALL(tool, arguments)                                                                                \
    "\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{" arguments "}}"
#define ADD EVALUATE("(+ 1 2)", "")
#define ADDED "=> 3\""

/* The definitions that both Lisps evaluate first. 1,000 lines of 100 bytes; a string of 100,000. */
#define DEFINITIONS(quote)                                                                                   \
    "(progn (defun bench-a (x) (1+ (bench-b x))) (defun bench-b (x) (1+ (bench-c x)))"                       \
    " (defun bench-c (x) (error " quote "no such item: ~a" quote " x))"                                      \
    " (defparameter *bench-line* (make-string 99 :initial-element (code-char 120)))"                         \
    " (defparameter *bench-text* (make-string 100000 :initial-element (code-char 120)))"                     \
    " (defun bench-lines () (loop repeat 1000 do (write-line *bench-line*))))"

#define DIRECTORY_SIZE 64

struct peer {
    const char *name;
    pid_t pid;
    int in, out; /* the benchmark writes to in and reads from out */
    char end;    /* the byte that ends a message in both directions */
    struct strbuf received;
    size_t delivered; /* of it is the last answer */
};

/* bench_fail(format, ...): print what went wrong on standard error and end the benchmark. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* peer_start(p, name, argv, end): start a program with a pipe each for its standard input and output.
 * peer_call(p, bytes, len, expected): send a message with its end and wait for the answer, which must contain
 * ${expected}; returns the milliseconds. peer_stop(p): close its input, wait until it has ended. */
void peer_start(struct peer *p, const char *name, const char *const *argv, char end);
double peer_call(struct peer *p, const char *bytes, size_t len, const char *expected);
void peer_stop(struct peer *p);

/* client_start(b, server, path, checkpoints, more): start the server at ${path}, with --checkpoints "on" or
 * "off" and further arguments, NULL at the end or for none, and shake hands with it. */
void client_start(struct bench *b, struct peer *server, const char *path, const char *checkpoints,
                  const char *const *more);

/* client_call(b, server, request, expected): one round trip, as peer_call(). */
double client_call(struct bench *b, struct peer *server, const char *request, const char *expected);

/* bare_start(b, bare): a bare Lisp with the DEFINITIONS. */
void bare_start(struct bench *b, struct peer *bare);

/* directory_make(path): a new temporary directory, whose name is written to DIRECTORY_SIZE bytes. */
void directory_make(char *path);

#endif
