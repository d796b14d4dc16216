/*
 * Responsible for counting connections, by address until they are authenticated and by principal from then
 * on.
 */
#include "http/slots.h"

#include <netinet/in.h>
#include <string.h>

#include "base/log.h"

/* One client may own all addresses of an IPv6 network, so the network counts as one address. */
#define NETWORK_BYTES 8

void slots_init(struct slots *p, unsigned most)
{
    *p = (struct slots){.most = most};
    list_init(&p->newcomers);
}

static void read_address(struct slot *slot, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        memcpy(slot->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    else if (address->sa_family == AF_INET6)
        memcpy(slot->address, &((const struct sockaddr_in6 *)address)->sin6_addr, NETWORK_BYTES);
}

static struct slot *oldest(const struct slots *p)
{
    return list_is_empty(&p->newcomers) ? NULL : list_entry(p->newcomers.next, struct slot, node);
}

/* The oldest newcomer from the address of ${one} if that address has a quarter of the slots; otherwise
 * NULL. */
static struct slot *oldest_of_address(struct slots *p, const struct slot *one)
{
    struct slot *first = NULL;
    unsigned count = 0;
    list_each(struct slot, slot, &p->newcomers, node) {
        if (memcmp(slot->address, one->address, sizeof one->address) != 0)
            continue;
        first = first == NULL ? slot : first;
        count++;
    }
    return count >= p->most / 4 ? first : NULL;
}

static void leave(struct slot *slot)
{
    list_remove(&slot->node);
    if (slot->is_counted)
        slot->slots->taken--;
    slot->is_counted = false;
}

static void turn_out(struct slot *slot)
{
    leave(slot);
    log_debug("http: closing a connection without a request to make room for another");
    shutdown(slot->descriptor, SHUT_RDWR);
}

void slot_take(struct slot *slot, struct slots *slots, int descriptor, const struct sockaddr *address)
{
    *slot = (struct slot){.slots = slots, .descriptor = descriptor};
    list_init(&slot->node);
    read_address(slot, address);
    struct slot *gives_way = oldest_of_address(slots, slot);
    if (gives_way == NULL && slots->taken >= slots->most)
        gives_way = oldest(slots);
    if (gives_way != NULL)
        turn_out(gives_way);
    if (slots->taken >= slots->most)
        return;
    slot->is_counted = true;
    slots->taken++;
    list_append(&slots->newcomers, &slot->node);
}

bool slot_admit(struct slot *slot, unsigned *holder, bool is_bounded)
{
    if (!slot->is_counted)
        return false;
    if (slot->holder == holder)
        return true;
    if (is_bounded && *holder >= slot->slots->most / 2)
        return false;
    /* A proxy may send requests of several principals over one connection; the latest counts. */
    if (slot->holder != NULL)
        --*slot->holder;
    slot->holder = holder;
    ++*holder;
    list_remove(&slot->node);
    return true;
}

void slot_leave(struct slot *slot)
{
    leave(slot);
    if (slot->holder != NULL)
        --*slot->holder;
    slot->holder = NULL;
}
