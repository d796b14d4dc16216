/*
 * One connection of a client, seen from our side of the library: its deadlines, and whether the client is
 * still there.
 */
#ifndef HTTP_LINK_H
#define HTTP_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct link;

/* link_new(loop, descriptor, is_surplus): the descriptor stays the library's; is_surplus: there are more
 * clients than are served, and this is one too many. link_free(l): before the descriptor is closed. */
struct link *link_new(uv_loop_t *loop, int descriptor, bool is_surplus);
void link_free(struct link *l);

bool link_is_surplus(const struct link *l);

/* link_expect(l, ms): what is awaited from the client must have come in so long, or it is shut down; the
 * library then finds its end. 0: nothing is awaited. */
void link_expect(struct link *l, uint64_t ms);

/* link_watch(l, on_gone, arg): call once, from the loop, when the client has closed its side.
 * link_unwatch(l): the twin. */
void link_watch(struct link *l, void (*on_gone)(void *arg), void *arg);
void link_unwatch(struct link *l);

#endif
