/*
 * One connection of a client: its deadlines, whether the client is still there, and whom to notify when it
 * ends.
 */
#ifndef HTTP_LINK_H
#define HTTP_LINK_H

#include <stdint.h>
#include <uv.h>

struct link;
struct slots;
struct slot;
struct sockaddr;

/* link_new(loop, descriptor, slots, address): the library keeps the descriptor; the connection takes one of
 * ${slots}. link_free(l): call it before the descriptor is closed; it calls what link_at_end() was given. */
struct link *link_new(uv_loop_t *loop, int descriptor, struct slots *slots, const struct sockaddr *address);
void link_free(struct link *l);

/* link_slot(l): borrowed. */
struct slot *link_slot(struct link *l);

/* link_expect(l, ms): shut the connection down in ${ms} milliseconds unless this is called again; the library
 * then sees its end. 0: no deadline. */
void link_expect(struct link *l, uint64_t ms);

/* link_watch(l, on_gone, arg): call ${on_gone} once, from the loop, when the client has closed its side.
 * link_unwatch(l): cancel that. */
void link_watch(struct link *l, void (*on_gone)(void *arg), void *arg);
void link_unwatch(struct link *l);

/* link_at_end(l, on_end, arg): call ${on_end} once, when the connection ends; NULL cancels that. */
void link_at_end(struct link *l, void (*on_end)(void *arg), void *arg);

#endif
