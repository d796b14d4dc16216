/*
 * The two programs that are measured, as their client sees them: the server, and a bare Lisp that reads,
 * evaluates and prints over a pipe.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include "bench.h"
#include "peer.h"

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

/*
 * client_start(b, server, checkpoints, more, environment):
 * Start the server and shake hands with it.
 *
 * checkpoints  "on" or "off"
 * more         borrowed; NULL or further arguments, NULL at the end
 * environment  borrowed; as peer_start() takes it
 */
void client_start(struct bench *b, struct peer *server, const char *checkpoints, const char *const *more,
                  const char *const *environment);

/* client_start_program(b, server, path, environment): the same for a copy of the server elsewhere;
 * checkpoints as the bench's option. */
void client_start_program(struct bench *b, struct peer *server, const char *path,
                          const char *const *environment);

/* client_write_request(b, request): write the next request to b->line. client_send(b, server): send it. */
void client_write_request(struct bench *b, const char *request);
void client_send(struct bench *b, struct peer *server);

/* client_call(b, server, request, expected): one round trip, whose answer must contain ${expected};
 * returns its duration in milliseconds. client_reply(server, &len): the last answer, borrowed until the
 * next one. */
double client_call(struct bench *b, struct peer *server, const char *request, const char *expected);
const char *client_reply(const struct peer *server, size_t *len);

/* client_number(server, mark): the number after ${mark} in the last answer; -1 if there is none. */
double client_number(const struct peer *server, const char *mark);

/* bare_start(b, bare): a bare Lisp with the DEFINITIONS. bare_call(...): as client_call(). */
void bare_start(struct bench *b, struct peer *bare);
double bare_call(struct peer *bare, const char *form, const char *expected);

/* client_verify(p, reply, len, expected): end the benchmark unless ${reply} contains ${expected}. */
void client_verify(const struct peer *p, const char *reply, size_t len, const char *expected);

#endif
