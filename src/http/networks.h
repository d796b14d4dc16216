/*
 * Networks of Internet addresses, "ADDRESS" or "ADDRESS/BITS". An IPv4 address counts as the IPv6 address
 * that it is mapped to, so both families are compared alike. Knows nothing about HTTP.
 */
#ifndef HTTP_NETWORKS_H
#define HTTP_NETWORKS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/errors.h"

struct network {
    unsigned char address[16];
    unsigned bits; /* the leading bits that an address must share with it */
};

/* network_parse(n, text, err): read an address with or without its number of bits; false: ERR_INVALID. */
bool network_parse(struct network *n, const char *text, struct err *err);

/* network_has(n, address): whether ${address} is in it; an address of another family never is. */
bool network_has(const struct network *n, const struct sockaddr *address);

/* network_has_this_machine(n): whether it has an address that this machine has now, loopback included. */
bool network_has_this_machine(const struct network *n);

#endif
