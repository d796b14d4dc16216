/*
 * Responsible for counting connections, by address until they are authenticated and by principal from then
 * on.
 */
#include "http/places.h"

#include <netinet/in.h>
#include <string.h>

#include "base/log.h"

/* One client may own all addresses of an IPv6 network, so the network counts as one address. */
#define NETWORK_BYTES 8

void places_init(struct places *p, unsigned most)
{
    *p = (struct places){.most = most};
    list_init(&p->newcomers);
}

static void read_address(struct place *place, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        memcpy(place->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6)
        memcpy(place->address, &((const struct sockaddr_in6 *)address)->sin6_addr, NETWORK_BYTES);
}

static struct place *oldest(const struct places *p)
{
    return list_is_empty(&p->newcomers) ? NULL : list_entry(p->newcomers.next, struct place, node);
}

/* The oldest newcomer from the address of ${one} if that address has a quarter of the places; otherwise
 * NULL. */
static struct place *oldest_of_address(struct places *p, const struct place *one)
{
    struct place *first = NULL;
    unsigned count = 0;
    struct list *node, *following;
    list_for_each(node, following, &p->newcomers)
    {
        struct place *place = list_entry(node, struct place, node);
        if (memcmp(place->address, one->address, sizeof one->address) != 0)
            continue;
        first = first == NULL ? place : first;
        count++;
    }
    return count >= p->most / 4 ? first : NULL;
}

static void leave(struct place *place)
{
    list_remove(&place->node);
    if (place->is_counted)
        place->places->taken--;
    place->is_counted = false;
}

static void turn_out(struct place *place)
{
    leave(place);
    log_debug("http: closing a connection without a request to make room for another");
    shutdown(place->descriptor, SHUT_RDWR);
}

void place_take(struct place *place, struct places *places, int descriptor, const struct sockaddr *address)
{
    *place = (struct place){.places = places, .descriptor = descriptor};
    list_init(&place->node);
    read_address(place, address);
    struct place *gives_way = oldest_of_address(places, place);
    if (gives_way == NULL && places->taken >= places->most)
        gives_way = oldest(places);
    if (gives_way != NULL)
        turn_out(gives_way);
    if (places->taken >= places->most)
        return;
    place->is_counted = true;
    places->taken++;
    list_append(&places->newcomers, &place->node);
}

bool place_admit(struct place *place, unsigned *holder, bool is_bounded)
{
    if (!place->is_counted)
        return false;
    if (place->holder == holder)
        return true;
    if (is_bounded && *holder >= place->places->most / 2)
        return false;
    /* A proxy may send requests of several principals over one connection; the latest counts. */
    if (place->holder != NULL)
        --*place->holder;
    place->holder = holder;
    ++*holder;
    list_remove(&place->node);
    return true;
}

void place_leave(struct place *place)
{
    leave(place);
    if (place->holder != NULL)
        --*place->holder;
    place->holder = NULL;
}
