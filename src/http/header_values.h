/*
 * The values of HTTP headers that we read: media types, Host, Origin, Authorization, Last-Event-ID. Pure; any
 * bytes are fine.
 */
#ifndef HTTP_HEADER_VALUES_H
#define HTTP_HEADER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* media_type_is(value, type): the media type, without its parameters, is ${type}; case is ignored. */
bool media_type_is(const char *value, const char *type);

/* accept_admits(value, type): ${value}, a list as in Accept, contains ${type} or a range that includes it,
 * with a weight other than 0. */
bool accept_admits(const char *value, const char *type);

/* header_name_is_valid(name): a token, as RFC 9110 section 5.1 wants it. */
bool header_name_is_valid(const char *name);

/* header_value_is_valid(value): without control characters, apart from tabs. */
bool header_value_is_valid(const char *value);

/* Part of a header's value. */
struct header_part {
    const char *at;
    size_t len;
};

/*
 * host_split(value, &host, &port): take HOST[:PORT] apart. False: it is not of that form.
 *
 * host        an IPv6 address without its brackets, otherwise a name or an IPv4 address
 * port        empty when there is none
 */
bool host_split(const char *value, struct header_part *host, struct header_part *port);

/* host_is_loopback(host): localhost, 127.0.0.0/8 or ::1. host_is_address(host): a literal address, no name.
 */
bool host_is_loopback(struct header_part host);
bool host_is_address(struct header_part host);

/* part_is(part, text): they are equal, ignoring case. */
bool part_is(struct header_part part, const char *text);

/* origin_is_loopback(value): http or https on a host of this machine, any port. */
bool origin_is_loopback(const char *value);

/* bearer_token(value): the token behind "Bearer "; NULL for another scheme. */
const char *bearer_token(const char *value);

/* event_id_parse(value, &stream, &sequence): the two numbers of "STREAM-SEQUENCE", at most 18 digits each. */
bool event_id_parse(const char *value, uint64_t *stream, uint64_t *sequence);

#endif
