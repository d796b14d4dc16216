/*
 * The values of the HTTP headers that the server reads: media types, Host, Origin, Authorization,
 * Last-Event-ID. Pure; accepts any bytes.
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

/* header_name_is_valid(name): whether it is a token according to RFC 9110 section 5.1. */
bool header_name_is_valid(const char *name);

/* header_value_is_valid(value): whether it has no control characters other than tabs. */
bool header_value_is_valid(const char *value);

/* Part of a header's value. */
struct header_part {
    const char *at;
    size_t len;
};

/*
 * host_split(value, &host, &port): split HOST[:PORT]. False: it does not have that form.
 *
 * host        an IPv6 address without its brackets, otherwise a name or an IPv4 address
 * port        empty if there is none
 */
bool host_split(const char *value, struct header_part *host, struct header_part *port);

/* host_is_loopback(host): localhost, 127.0.0.0/8 or ::1. host_is_address(host): a literal address rather
 * than a name. */
bool host_is_loopback(struct header_part host);
bool host_is_address(struct header_part host);

/* part_is(part, text): they are equal, ignoring case. */
bool part_is(struct header_part part, const char *text);

/* origin_is_loopback(value): http or https on a loopback host, any port. */
bool origin_is_loopback(const char *value);

/* bearer_token(value): the token after "Bearer "; NULL for another scheme. */
const char *bearer_token(const char *value);

/* secret_is(given, len, secret): they are equal. The time does not depend on how much of them is right. */
bool secret_is(const char *given, size_t len, const char *secret);

/* event_id_parse(value, &stream, &sequence): the two numbers of "STREAM-SEQUENCE", at most 18 digits each. */
bool event_id_parse(const char *value, uint64_t *stream, uint64_t *sequence);

#endif
