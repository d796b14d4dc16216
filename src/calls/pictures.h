/*
 * Pictures that code has made: image content beside the text of a reply.
 */
#ifndef CALLS_PICTURES_H
#define CALLS_PICTURES_H

struct outcome;
struct tool_call;

/* pictures_ask(call): have the Lisp send the bytes of a picture, if the value that the call asks for has any,
 * and its client is not known to drop pictures. */
void pictures_ask(struct tool_call *call);

/* pictures_take(call, outcome): if the reply has the bytes of a picture, the call returns it, and its text
 * begins with a sentence about it. */
void pictures_take(struct tool_call *call, const struct outcome *outcome);

#endif
