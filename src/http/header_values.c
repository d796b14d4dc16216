/*
 * Responsible for parsing header values.
 */
#include "http/header_values.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANK " \t"

bool part_is(struct header_part part, const char *text)
{
    return strlen(text) == part.len && strncasecmp(part.at, text, part.len) == 0;
}

bool header_name_is_valid(const char *name)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    return name[0] != '\0' && name[strspn(name, token)] == '\0';
}

bool header_value_is_valid(const char *value)
{
    for (; *value != '\0'; value++)
        if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

/* Up to ${end} or one of ${stops}, without surrounding white space. */
static struct header_part trimmed(const char *at, size_t len)
{
    while (len > 0 && strchr(BLANK, *at) != NULL) {
        at++;
        len--;
    }
    while (len > 0 && strchr(BLANK, at[len - 1]) != NULL)
        len--;
    return (struct header_part){at, len};
}

bool media_type_is(const char *value, const char *type)
{
    return part_is(trimmed(value, strcspn(value, ";")), type);
}

/* "q=0", "q=0.0" and so on among the parameters: the client refuses that type. */
static bool is_unwanted(const char *parameters, size_t len)
{
    while (len > 0) {
        size_t skipped = *parameters == ';' ? 1 : 0;
        parameters += skipped;
        len -= skipped;
        const char *end = memchr(parameters, ';', len);
        size_t own = end == NULL ? len : (size_t)(end - parameters);
        struct header_part p = trimmed(parameters, own);
        if (p.len >= 3 && strncasecmp(p.at, "q=0", 3) == 0 && strspn(p.at + 3, ".0") >= p.len - 3)
            return true;
        if (own == 0 && skipped == 0)
            break;
        parameters += own;
        len -= own;
    }
    return false;
}

bool accept_admits(const char *value, const char *type)
{
    const size_t main_len = strcspn(type, "/") + 1;
    while (true) {
        size_t len = strcspn(value, ","), name_len = strcspn(value, ",;");
        struct header_part range = trimmed(value, name_len);
        bool is_in = part_is(range, type) || part_is(range, "*/*") ||
                     (range.len == main_len + 1 && range.at[main_len] == '*' &&
                      strncasecmp(range.at, type, main_len) == 0);
        if (is_in && !is_unwanted(value + name_len, len - name_len))
            return true;
        if (value[len] == '\0')
            return false;
        value += len + 1;
    }
}

bool host_split(const char *value, struct header_part *host, struct header_part *port)
{
    static const char of_names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    struct header_part whole = trimmed(value, strlen(value));
    const char *end = whole.at + whole.len, *behind;
    if (whole.len > 0 && whole.at[0] == '[') {
        const char *bracket = memchr(whole.at, ']', whole.len);
        if (bracket == NULL)
            return false;
        *host = (struct header_part){whole.at + 1, (size_t)(bracket - whole.at) - 1};
        if (host->len == 0 || strspn(host->at, "0123456789abcdefABCDEF:.") < host->len)
            return false;
        behind = bracket + 1;
    } else {
        *host = (struct header_part){whole.at, strspn(whole.at, of_names)};
        if (host->len > whole.len)
            host->len = whole.len;
        if (host->len == 0)
            return false;
        behind = whole.at + host->len;
    }
    *port = (struct header_part){behind, 0};
    if (behind == end)
        return true;
    if (*behind != ':')
        return false;
    *port = (struct header_part){behind + 1, (size_t)(end - behind) - 1};
    return port->len <= 5 && strspn(port->at, "0123456789") >= port->len;
}

static bool parses_as(struct header_part host, int family, void *address)
{
    char text[64];
    if (host.len >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)host.len, host.at);
    return inet_pton(family, text, address) == 1;
}

bool host_is_address(struct header_part host)
{
    unsigned char address[16];
    return parses_as(host, AF_INET, address) || parses_as(host, AF_INET6, address);
}

bool host_is_loopback(struct header_part host)
{
    static const unsigned char one[16] = {[15] = 1};
    if (part_is(host, "localhost"))
        return true;
    unsigned char address[16];
    if (parses_as(host, AF_INET, address))
        return address[0] == 127;
    return parses_as(host, AF_INET6, address) && memcmp(address, one, sizeof one) == 0;
}

bool origin_is_loopback(const char *value)
{
    if (strncasecmp(value, "http://", 7) == 0)
        value += 7;
    else if (strncasecmp(value, "https://", 8) == 0)
        value += 8;
    else
        return false;
    struct header_part host, port;
    return strchr(BLANK, value[0]) == NULL && host_split(value, &host, &port) && host_is_loopback(host);
}

const char *bearer_token(const char *value)
{
    value += strspn(value, BLANK);
    if (strncasecmp(value, "Bearer", 6) != 0 || strspn(value + 6, BLANK) == 0)
        return NULL;
    return value + 6 + strspn(value + 6, BLANK);
}

static const char *digits(const char *at, uint64_t *number)
{
    size_t len = strspn(at, "0123456789");
    if (len == 0 || len > 18)
        return NULL;
    *number = 0;
    for (size_t i = 0; i < len; i++)
        *number = *number * 10 + (uint64_t)(at[i] - '0');
    return at + len;
}

bool event_id_parse(const char *value, uint64_t *stream, uint64_t *sequence)
{
    const char *at = digits(value, stream);
    if (at == NULL || *at != '-')
        return false;
    at = digits(at + 1, sequence);
    return at != NULL && *at == '\0';
}

bool secret_is(const char *given, size_t len, const char *secret)
{
    volatile unsigned char difference = len != strlen(secret);
    for (size_t i = 0; secret[i] != '\0'; i++)
        difference = (unsigned char)(difference | (i < len ? given[i] ^ secret[i] : 1));
    return difference == 0;
}
