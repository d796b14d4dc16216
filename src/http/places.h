/*
 * The places for connections: how many are served, and which must leave when none is free.
 *
 * A connection is a newcomer until one of its requests has been authenticated. To make room for another,
 * the oldest newcomer is disconnected, so clients that only connect cannot block others.
 */
#ifndef HTTP_PLACES_H
#define HTTP_PLACES_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/list.h"

struct places {
    unsigned most, taken;
    struct list newcomers; /* oldest first */
};

struct place {
    struct list node; /* among the newcomers */
    struct places *places;
    int descriptor;            /* borrowed */
    unsigned char address[16]; /* of the client: IPv4, or the network part of IPv6; zeros: another kind */
    unsigned *holder;          /* counts the places of its principal; NULL: a newcomer */
    bool is_counted;           /* it occupies a place; otherwise it gets 503 or is being closed */
};

/* places_init(p, most): all ${most} places are free. */
void places_init(struct places *p, unsigned most);

/*
 * place_take(place, places, descriptor, address):
 * Give a connection a place. If its address has a quarter of the places for newcomers, or none is free, the
 * oldest newcomer is disconnected for it; the library then sees that connection's end.
 *
 * address     of the client
 */
void place_take(struct place *place, struct places *places, int descriptor, const struct sockaddr *address);

/*
 * place_admit(place, holder, is_bounded):
 * A request of this connection has been authenticated.
 *
 * holder      counts the places of its principal; borrowed until place_leave()
 * is_bounded  the principal may have at most half of the places
 * Returns     false: there are too many connections
 */
bool place_admit(struct place *place, unsigned *holder, bool is_bounded);

/* place_leave(place): the connection is closed. */
void place_leave(struct place *place);

#endif
