/*
 * The parts of an HTTP request that the server parses itself: header values, the token file, Mcp-Name,
 * networks and names of users. Invariants: no value crashes it, what is found lies within the value, an
 * accepted token is found again, and the name of a principal can be that of a folder.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "http/header_values.h"
#include "http/networks.h"
#include "http/principals.h"
#include "http/tokens.h"
#include "mcp/request_headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_values(const char *value)
{
    const char *end = value + strlen(value);
    struct header_part host, port;
    uint64_t stream, sequence;
    const char *token = bearer_token(value);
    CHECK(!token || (token >= value && token <= end));
    if (host_split(value, &host, &port)) {
        CHECK(host.len > 0 && host.at >= value && host.at + host.len <= end);
        CHECK(port.len <= 5 && port.at >= value && port.at + port.len <= end);
        CHECK(!host_is_loopback(host) || host_is_address(host) || part_is(host, "localhost"));
    }
    origin_is_loopback(value);
    media_type_is(value, "application/json");
    accept_admits(value, "text/event-stream");
    if (event_id_parse(value, &stream, &sequence))
        CHECK(strlen(value) <= 37);
    CHECK(!secret_is(value, strlen(value), "0123456789") || strcmp(value, "0123456789") == 0);
    request_header_says(value, value, strlen(value));
}

static void check_user(const char *value)
{
    char name[PRINCIPAL_MOST_NAME + 1];
    struct network network;
    struct err err;
    if (principal_name(value, name))
        CHECK(name[0] != '.' && name[0] != '\0' && strchr(name, '/') == NULL &&
              strlen(name) <= PRINCIPAL_MOST_NAME);
    if (network_parse(&network, value, &err))
        CHECK(network.bits <= 128);
}

static void check_tokens(const char *text, size_t len)
{
    struct tokens tokens;
    struct err err;
    size_t i;
    if (!tokens_parse(&tokens, text, len, &err)) {
        CHECK(!tokens.items);
        return;
    }
    for (i = 0; i < tokens.count; i++) {
        CHECK(strlen(tokens.items[i].secret) >= TOKEN_LEAST_BYTES);
        CHECK(strcmp(tokens_find(&tokens, tokens.items[i].secret)->name, tokens.items[i].name) == 0);
    }
    tokens_fini(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *value = malloc(size + 1);
    const char *split;
    CHECK(value);
    memcpy(value, data, size);
    value[size] = '\0';
    check_values(value);
    check_user(value);
    /* A header, then a NUL and the value in the body. */
    split = memchr(value, '\0', size);
    if (split)
        request_header_says(value, split + 1, size - (size_t)(split + 1 - value));
    check_tokens(value, size);
    free(value);
    return 0;
}
