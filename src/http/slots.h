/*
 * The slots for connections: how many are served, and which must leave when none is free.
 *
 * A connection is a newcomer until one of its requests has been authenticated. To make room for another,
 * the oldest newcomer is disconnected, so clients that only connect cannot block others.
 */
#ifndef HTTP_SLOTS_H
#define HTTP_SLOTS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/list.h"

struct slots {
    unsigned most, taken;
    struct list newcomers; /* oldest first */
};

struct slot {
    struct list node; /* among the newcomers */
    struct slots *slots;
    int descriptor;            /* borrowed */
    unsigned char address[16]; /* of the client: IPv4, or the network part of IPv6; zeros: another kind */
    unsigned *holder;          /* counts the slots of its principal; NULL: a newcomer */
    bool is_counted;           /* it occupies a slot; otherwise it gets 503 or is being closed */
};

/* slots_init(p, most): all ${most} slots are free. */
void slots_init(struct slots *p, unsigned most);

/*
 * slot_take(slot, slots, descriptor, address):
 * Give a connection a slot. If its address has a quarter of the slots for newcomers, or none is free, the
 * oldest newcomer is disconnected for it; the library then sees that connection's end.
 *
 * address     of the client
 */
void slot_take(struct slot *slot, struct slots *slots, int descriptor, const struct sockaddr *address);

/*
 * slot_admit(slot, holder, is_bounded):
 * A request of this connection has been authenticated.
 *
 * holder      counts the slots of its principal; borrowed until slot_leave()
 * is_bounded  the principal may have at most half of the slots
 * Returns     false: there are too many connections
 */
bool slot_admit(struct slot *slot, unsigned *holder, bool is_bounded);

/* slot_leave(slot): the connection is closed. */
void slot_leave(struct slot *slot);

#endif
