/*
 * Responsible for finding out where an image listens.
 */
#include "join/address.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular_file.h"

#define DEFAULT_PORT "4005"
#define LONGEST_PORT_FILE 64

static bool is_port(const char *text, size_t len)
{
    if (len == 0 || len > 5 || strspn(text, "0123456789") < len)
        return false;
    long port = strtol(text, NULL, 10);
    return port >= 1 && port <= 65535;
}

static void set(struct join_address *address, const char *host, size_t host_len, const char *port,
                size_t port_len)
{
    *address = (struct join_address){.origin = ""};
    memcpy(address->host, host, host_len);
    memcpy(address->port, port, port_len);
}

bool join_address_parse(const char *text, struct join_address *address, struct err *err)
{
    *address = (struct join_address){.origin = ""};
    if (strcmp(text, JOIN_AUTO) == 0)
        return true;
    const char *colon = strrchr(text, ':'), *host = text;
    size_t host_len = colon == NULL ? 0 : (size_t)(colon - text);
    if (host_len > 2 && host[0] == '[' && host[host_len - 1] == ']') {
        host++;
        host_len -= 2;
    } else if (memchr(host, ':', host_len) != NULL) {
        host_len = 0; /* an IPv6 address without its brackets: the port could not be told from it */
    }
    if (host_len == 0 || host_len >= sizeof address->host || strcspn(host, " []") < host_len ||
        !is_port(colon + 1, strlen(colon + 1)))
        return err_set(err, ERR_INVALID, "'%.100s' is not an image's address: ADDRESS:PORT or auto is one",
                       text);
    set(address, host, host_len, colon + 1, strlen(colon + 1));
    return true;
}

/* A file that someone else has put there could lead us, and the secret, to a server of theirs. */
static bool read_port(const char *path, struct join_address *address)
{
    struct regular_file file;
    struct err err;
    bool ok = regular_file_read(&file, path, LONGEST_PORT_FILE, &err) &&
              (file.status.st_uid == geteuid() || file.status.st_uid == 0);
    if (ok) {
        const char *port = strbuf_string(&file.text) + strspn(strbuf_string(&file.text), " \t\r\n");
        size_t len = strcspn(port, " \t\r\n");
        ok = is_port(port, len);
        if (ok) {
            set(address, "127.0.0.1", strlen("127.0.0.1"), port, len);
            snprintf(address->origin, sizeof address->origin, ", as %.400s says", path);
        }
    }
    regular_file_fini(&file);
    return ok;
}

void join_address_find(const char *directory, struct join_address *address)
{
    static const char *const names[] = {".swank-port", ".slynk-port", ".slime-port"};
    char at[PATH_MAX], path[PATH_MAX + 16];
    if (realpath(directory, at) == NULL)
        at[0] = '\0';
    for (char *end = at + strlen(at); end != NULL; end = strrchr(at, '/')) {
        *end = '\0';
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            snprintf(path, sizeof path, "%s/%s", at, names[i]);
            if (read_port(path, address))
                return;
        }
    }
    set(address, "127.0.0.1", strlen("127.0.0.1"), DEFAULT_PORT, strlen(DEFAULT_PORT));
    snprintf(address->origin, sizeof address->origin,
             ", where servers listen if no .swank-port, .slynk-port or .slime-port in %.300s or above says "
             "otherwise",
             directory);
}
