/*
 * Responsible for parsing networks and finding addresses in them.
 */
#include "http/networks.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPPED_BITS 96 /* ::ffff:0:0/96 has the IPv4 addresses */

static void map(unsigned char *address, const void *ipv4)
{
    memset(address, 0, 10);
    memset(address + 10, 0xff, 2);
    memcpy(address + 12, ipv4, 4);
}

static bool shares_bits(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    unsigned bytes = bits / 8, rest = bits % 8;
    return memcmp(a, b, bytes) == 0 && (rest == 0 || ((a[bytes] ^ b[bytes]) >> (8 - rest)) == 0);
}

bool network_parse(struct network *n, const char *text, struct err *err)
{
    char address[INET6_ADDRSTRLEN];
    struct in_addr ipv4;
    size_t len = strcspn(text, "/");
    snprintf(address, sizeof address, "%.*s", (int)(len < sizeof address ? len : 0), text);
    bool is_ipv4 = inet_pton(AF_INET, address, &ipv4) == 1;
    if (is_ipv4)
        map(n->address, &ipv4);
    else if (inet_pton(AF_INET6, address, n->address) != 1)
        return err_set(err, ERR_INVALID, "'%.100s' is not a network: give ADDRESS or ADDRESS/BITS", text);
    unsigned first = is_ipv4 ? MAPPED_BITS : 0;
    n->bits = 128;
    if (text[len] == '/') {
        const char *bits = text + len + 1;
        size_t digits = strspn(bits, "0123456789");
        if (digits == 0 || digits > 3 || bits[digits] != '\0' || (unsigned)atoi(bits) > 128 - first)
            return err_set(err, ERR_INVALID, "'%.100s': the number of bits is from 0 to %u", text,
                           128 - first);
        n->bits = first + (unsigned)atoi(bits);
    }
    return true;
}

bool network_has(const struct network *n, const struct sockaddr *address)
{
    unsigned char mapped[16];
    if (address->sa_family == AF_INET)
        map(mapped, &((const struct sockaddr_in *)(const void *)address)->sin_addr);
    else if (address->sa_family == AF_INET6)
        memcpy(mapped, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, sizeof mapped);
    else
        return false;
    return shares_bits(n->address, mapped, n->bits);
}

bool network_has_this_machine(const struct network *n)
{
    struct ifaddrs *all;
    /* Loopback is more than the addresses that its interface lists: all of 127.0.0.0/8 is. */
    const struct network loopback = {{[10] = 0xff, [11] = 0xff, [12] = 127}, MAPPED_BITS + 8};
    bool has = shares_bits(n->address, loopback.address, n->bits < loopback.bits ? n->bits : loopback.bits);
    if (getifaddrs(&all) != 0)
        return true;
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next)
        has = has || (one->ifa_addr != NULL && network_has(n, one->ifa_addr));
    freeifaddrs(all);
    return has;
}
