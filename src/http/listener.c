/*
 * Responsible for parsing an address and binding to it.
 */
#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/activation.h"

#define BACKLOG 511

static bool is_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return false;
    bool is_refused =
        connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    close(probe);
    return is_refused;
}

static bool open_unix(struct listener *l, const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path)
        return err_set(err, ERR_INVALID, "unix:PATH needs a path of 1 to %zu bytes",
                       sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_stale(&address))
        unlink(path);
    l->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket before it is bound becomes the mode of the file, so others can never open it. */
    struct stat status;
    if (l->descriptor < 0 || fchmod(l->descriptor, 0600) != 0 ||
        bind(l->descriptor, (struct sockaddr *)&address, sizeof address) != 0 || chmod(path, 0600) != 0 ||
        lstat(path, &status) != 0 || listen(l->descriptor, BACKLOG) != 0)
        return err_set(err, ERR_START, "cannot listen on unix:%s: %s", path, strerror(errno));
    l->is_unix = l->is_loopback = true;
    l->inode = status.st_ino;
    memcpy(l->unix_path, path, strlen(path) + 1);
    snprintf(l->name, sizeof l->name, "unix:%s", path);
    return true;
}

static bool is_loopback_address(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24) == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool bind_to(struct listener *l, const struct addrinfo *found)
{
    int on = 1;
    l->descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->descriptor < 0)
        return false;
    setsockopt(l->descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(l->descriptor, found->ai_addr, found->ai_addrlen) == 0 && listen(l->descriptor, BACKLOG) == 0;
}

/* Read from the socket, because the system may have chosen the port. */
static void set_name(struct listener *l)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    char host[INET6_ADDRSTRLEN + 20], port[8];
    if (getsockname(l->descriptor, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    l->is_loopback = is_loopback_address((struct sockaddr *)&address);
    snprintf(l->name, sizeof l->name, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static bool open_internet(struct listener *l, const char *address, struct err *err)
{
    char host[256] = "127.0.0.1";
    const char *colon = strrchr(address, ':'), *port = colon == NULL ? address : colon + 1;
    size_t len = colon == NULL ? 0 : (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    } else if (memchr(address, ':', len) != NULL) {
        return err_set(err, ERR_INVALID, "an IPv6 address needs brackets: [::1]:8080");
    }
    if (len >= sizeof host || port[0] == '\0' || strlen(port) > 5 ||
        strspn(port, "0123456789") != strlen(port) || atoi(port) > 65535)
        return err_set(err, ERR_INVALID, "--http takes ADDRESS:PORT, PORT or unix:PATH, not '%s'", address);
    if (len > 0)
        snprintf(host, sizeof host, "%.*s", (int)len, address);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0)
        return err_set(err, ERR_INVALID, "no address '%s': %s", host, gai_strerror(error));
    bool is_bound = bind_to(l, found);
    if (!is_bound)
        err_set(err, ERR_START, "cannot listen on %s:%s: %s", host, port, strerror(errno));
    freeaddrinfo(found);
    if (is_bound)
        set_name(l);
    return is_bound;
}

/* "systemd" or "systemd:N". The server does not remove the file of an inherited socket. */
static bool open_passed_on(struct listener *l, const char *number, struct err *err)
{
    if (*number != '\0' &&
        (strlen(number) > 3 || number[1] < '1' || strspn(number + 1, "0123456789") != strlen(number + 1)))
        return err_set(err, ERR_INVALID, "--http systemd:N needs a number from 1 up, not '%s'", number + 1);
    l->descriptor = activation_take(*number == '\0' ? 0 : (unsigned)atoi(number + 1) - 1, err);
    if (l->descriptor < 0)
        return false;
    struct sockaddr_storage address;
    socklen_t len = sizeof address;
    if (getsockname(l->descriptor, (struct sockaddr *)&address, &len) == 0 && address.ss_family == AF_UNIX) {
        l->is_unix = l->is_loopback = true;
        snprintf(l->name, sizeof l->name, "unix:%.107s",
                 ((const struct sockaddr_un *)(const void *)&address)->sun_path);
    } else {
        set_name(l);
    }
    return true;
}

bool listener_open(struct listener *l, const char *address, struct err *err)
{
    *l = (struct listener){.descriptor = -1};
    bool is_open;
    if (strncmp(address, "unix:", 5) == 0)
        is_open = open_unix(l, address + 5, err);
    else if (strcmp(address, "systemd") == 0 || strncmp(address, "systemd:", 8) == 0)
        is_open = open_passed_on(l, address + 7, err);
    else
        is_open = open_internet(l, address, err);
    if (!is_open)
        listener_close(l);
    return is_open;
}

void listener_close(struct listener *l)
{
    if (l->descriptor >= 0)
        close(l->descriptor);
    l->descriptor = -1;
    struct stat status;
    if (l->unix_path[0] != '\0' && lstat(l->unix_path, &status) == 0 && status.st_ino == l->inode)
        unlink(l->unix_path);
    l->unix_path[0] = '\0';
}
