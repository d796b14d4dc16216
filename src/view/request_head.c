/*
 * Responsible for parsing heads of requests.
 */
#include "view/request_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/header_values.h"

static bool take_length(struct request_head *head, const char *value, bool *has_length)
{
    size_t digits = strspn(value, "0123456789");
    bool is_first = !*has_length;
    *has_length = true;
    if (digits == 0 || digits > 9 || value[digits] != '\0')
        return false;
    head->body_len = (size_t)strtoul(value, NULL, 10);
    return is_first;
}

/* A header that counts may be sent once. */
static bool take_once(const char **place, const char *value)
{
    bool is_first = *place == NULL;
    *place = value;
    return is_first;
}

static bool is_passed_on(const char *name)
{
    return strncasecmp(name, "mcp-", 4) == 0 || strcasecmp(name, "accept") == 0 ||
           strcasecmp(name, "authorization") == 0 || strcasecmp(name, "last-event-id") == 0;
}

static bool take_header(struct request_head *head, const char *name, const char *value, bool *has_length)
{
    if (!header_name_is_valid(name) || !header_value_is_valid(value) ||
        strcasecmp(name, "transfer-encoding") == 0)
        return false;
    if (strcasecmp(name, "host") == 0)
        return take_once(&head->host, value);
    if (strcasecmp(name, "origin") == 0)
        return take_once(&head->origin, value);
    if (strcasecmp(name, "cookie") == 0)
        return take_once(&head->cookie, value);
    if (strcasecmp(name, "content-length") == 0)
        return take_length(head, value, has_length);
    if (strcasecmp(name, "content-type") == 0)
        head->is_json = media_type_is(value, "application/json");
    else if (is_passed_on(name))
        strbuf_addf(&head->passed_on, "%s: %s\r\n", name, value);
    return true;
}

/* "GET /path HTTP/1.1" */
static bool take_request_line(struct request_head *head, char *line)
{
    head->is_post = strncmp(line, "POST ", 5) == 0;
    if (!head->is_post && strncmp(line, "GET ", 4) != 0)
        return false;
    char *target = strchr(line, ' ') + 1, *end = strchr(target, ' ');
    if (end == NULL || target[0] != '/' || strcmp(end, " HTTP/1.1") != 0)
        return false;
    *end = '\0';
    for (const char *c = target; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    head->target = target;
    return true;
}

enum request_head_state request_head_parse(struct request_head *head, char *text, size_t len)
{
    size_t most = len < REQUEST_HEAD_MOST ? len : REQUEST_HEAD_MOST;
    const char *end = memmem(text, most, "\r\n\r\n", 4);
    bool has_length = false;
    *head = (struct request_head){.len = 0};
    strbuf_init(&head->passed_on, 2 * REQUEST_HEAD_MOST);
    if (end == NULL)
        return len < REQUEST_HEAD_MOST ? REQUEST_HEAD_INCOMPLETE : REQUEST_HEAD_WRONG;
    head->len = (size_t)(end - text) + 4;
    if (memchr(text, '\0', head->len) != NULL)
        return REQUEST_HEAD_WRONG;
    for (char *line = text; line < end;) {
        char *stop = strstr(line, "\r\n");
        *stop = '\0';
        if (line == text && !take_request_line(head, line))
            return REQUEST_HEAD_WRONG;
        char *colon = line == text ? NULL : strchr(line, ':');
        if (line != text && colon == NULL)
            return REQUEST_HEAD_WRONG;
        if (colon != NULL) {
            *colon++ = '\0';
            colon += strspn(colon, " \t");
            for (char *last = stop; last > colon && strchr(" \t", last[-1]) != NULL; last--)
                last[-1] = '\0';
            if (!take_header(head, line, colon, &has_length))
                return REQUEST_HEAD_WRONG;
        }
        line = stop + 2;
    }
    return head->host != NULL && has_length == head->is_post ? REQUEST_HEAD_WHOLE : REQUEST_HEAD_WRONG;
}

void request_head_fini(struct request_head *head)
{
    strbuf_fini(&head->passed_on);
}

bool request_head_is_secret(const char *given, size_t len, const char *secret)
{
    unsigned char difference = len != strlen(secret);
    for (size_t i = 0; secret[i] != '\0'; i++)
        difference |= (unsigned char)(i < len ? given[i] ^ secret[i] : 1);
    return difference == 0;
}

bool request_head_cookie(const char *cookie, const char *name, const char *value)
{
    size_t name_len = strlen(name);
    bool is_there = false;
    for (const char *at = cookie; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, ";");
        if (len > name_len && strncmp(at, name, name_len) == 0 && at[name_len] == '=')
            is_there |= request_head_is_secret(at + name_len + 1, len - name_len - 1, value);
        at += len + (at[len] == ';');
        at += strspn(at, " ");
    }
    return is_there;
}
