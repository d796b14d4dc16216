/*
 * The part of HTTP/1.1 that the server's plain answers need: a status, headers, Content-Length.
 */
#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

#define READ_AT_ONCE ((size_t)64 << 10)
#define LEGACY "2025-11-25"
#define MODERN "2026-07-28"

static struct sockaddr_in loopback(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int http_client_free_port(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        bench_fail("cannot find a port: %s", strerror(errno));
    close(fd);
    return ntohs(address.sin_port);
}

void http_client_open(struct http_client *c, int port)
{
    struct sockaddr_in address = loopback(port);
    int on = 1;
    *c = (struct http_client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    strbuf_init(&c->request, 0);
    strbuf_init(&c->received, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
        bench_fail("cannot connect to port %d: %s", port, strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void http_client_close(struct http_client *c)
{
    close(c->fd);
    strbuf_fini(&c->request);
    strbuf_fini(&c->received);
}

void http_client_write(struct http_client *c, const char *method, const char *tool, const char *body)
{
    strbuf_clear(&c->request);
    strbuf_addf(&c->request,
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n",
                strlen(body));
    if (c->session_id[0] != '\0')
        strbuf_addf(&c->request, "MCP-Protocol-Version: " LEGACY "\r\nMcp-Session-Id: %s\r\n", c->session_id);
    else if (strcmp(method, "initialize") != 0)
        strbuf_addf(&c->request, "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: %s\r\n", method);
    if (c->session_id[0] == '\0' && tool != NULL)
        strbuf_addf(&c->request, "Mcp-Name: %s\r\n", tool);
    strbuf_addf(&c->request, "\r\n%s", body);
}

void http_client_send(struct http_client *c)
{
    const char *bytes = c->request.bytes;
    size_t len = c->request.len;
    while (len > 0) {
        ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0)
            bench_fail("the server does not read from a connection: %s", strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

/* The value of a header, up to the end of its line; NULL if there is none. */
static const char *find_header(const char *head, const char *end, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL && line < end; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) == 0 && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " ");
    }
    return NULL;
}

static void keep_session_id(struct http_client *c, const char *head, const char *end)
{
    const char *id = find_header(head, end, "Mcp-Session-Id");
    size_t len = id != NULL ? strcspn(id, "\r\n") : 0;
    if (len > 0 && len < sizeof c->session_id) {
        memcpy(c->session_id, id, len);
        c->session_id[len] = '\0';
    }
}

const char *http_client_try(struct http_client *c, size_t *len)
{
    strbuf_consume(&c->received, c->delivered);
    c->delivered = 0;
    ssize_t n = recv(c->fd, strbuf_reserve(&c->received, READ_AT_ONCE), READ_AT_ONCE - 1, 0);
    if (n <= 0)
        bench_fail("the server closed a connection in the middle of a figure");
    strbuf_added(&c->received, (size_t)n);
    c->received.bytes[c->received.len] = '\0';
    const char *head = c->received.bytes, *end = strstr(head, "\r\n\r\n");
    if (end == NULL)
        return NULL;
    const char *body = end + 4, *length = find_header(head, end, "Content-Length");
    if (strncmp(head, "HTTP/1.1 20", 11) != 0 || length == NULL)
        bench_fail("the server refused or answered with a stream: %.300s", head);
    *len = strtoul(length, NULL, 10);
    size_t whole = (size_t)(body - head) + *len;
    if (c->received.len < whole)
        return NULL;
    if (c->session_id[0] == '\0')
        keep_session_id(c, head, end);
    c->delivered = whole;
    return body;
}

const char *http_client_receive(struct http_client *c, size_t *len)
{
    const char *body;
    do
        body = http_client_try(c, len);
    while (body == NULL);
    return body;
}

void http_client_shake_hands(struct http_client *c)
{
    size_t len;
    http_client_write(
        c, "initialize", NULL,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"" LEGACY "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}");
    http_client_send(c);
    http_client_receive(c, &len);
    if (c->session_id[0] == '\0')
        bench_fail("the server gave no session id");
    http_client_write(c, "notifications/initialized", NULL,
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    http_client_send(c);
    http_client_receive(c, &len);
}
