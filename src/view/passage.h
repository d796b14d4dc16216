/*
 * One message of a page on its way to a server's socket, and the answer back to the page as it comes.
 */
#ifndef VIEW_PASSAGE_H
#define VIEW_PASSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct exchange;
struct passage;

/*
 * passage_begin(loop, e, socket):
 * Pass the request of ${e} on, and answer it: with what the server answers, or with an error of MCP that says
 * that the server has ended.
 *
 * socket      connected to the server; taken; -1: the server has ended
 * Returns     what passage_end() takes; NULL: it is answered already
 */
struct passage *passage_begin(uv_loop_t *loop, struct exchange *e, int socket);

/* passage_end(p): the exchange has ended, and with it the call. NULL ${p}: do nothing. */
void passage_end(struct passage *p);

/*
 * passage_head(text, len, status, type):
 * Parse the head of a server's answer.
 *
 * text        any bytes, with a NUL after the last
 * type        set to a static text
 * Returns     the length of the head; 0: it is not whole, or not one
 */
size_t passage_head(const char *text, size_t len, unsigned *status, const char **type);

#endif
