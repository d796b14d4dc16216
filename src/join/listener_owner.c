/*
 * Responsible for reading /proc/net/tcp and /proc/net/tcp6. Source: proc_net_tcp in the kernel's
 * documentation.
 */
#include "join/listener_owner.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/errors.h"
#include "proc/kernel_file.h"

#define LISTENING 0x0a
#define MAPPED htonl(0xffff) /* the third word of an IPv4 address that is written as one of IPv6 */

struct end {
    struct in6_addr address; /* of IPv4: mapped */
    unsigned port;
};

static bool find_end(int fd, int (*find)(int, struct sockaddr *, socklen_t *), struct end *end)
{
    struct sockaddr_storage name = {0};
    socklen_t len = sizeof name;
    bool is_found = find(fd, (struct sockaddr *)&name, &len) == 0;
    const struct sockaddr_in *four = (struct sockaddr_in *)&name;
    const struct sockaddr_in6 *six = (struct sockaddr_in6 *)&name;
    *end = (struct end){.address = six->sin6_addr, .port = ntohs(six->sin6_port)};
    if (name.ss_family == AF_INET)
        *end = (struct end){{{.__u6_addr32 = {0, 0, MAPPED, four->sin_addr.s_addr}}}, ntohs(four->sin_port)};
    return is_found && (name.ss_family == AF_INET || name.ss_family == AF_INET6);
}

/* The kernel prints each word of an address as a number of this machine. */
static struct in6_addr read_address(const char *digits)
{
    uint32_t words[4] = {0, 0, MAPPED, 0};
    size_t count = strlen(digits) / 8;
    for (size_t i = 0; i < count; i++)
        sscanf(digits + 8 * i, "%8x", &words[count == 1 ? 3 : i]);
    struct in6_addr address;
    memcpy(&address, words, sizeof address);
    return address;
}

static bool is_same(const struct end *a, const struct end *b)
{
    return a->port == b->port && IN6_ARE_ADDR_EQUAL(&a->address, &b->address);
}

/* A socket that listens at every address of IPv6 may get connections of IPv4, too. */
static bool receives(const struct end *listener, const struct end *at)
{
    bool is_every = IN6_IS_ADDR_UNSPECIFIED(&listener->address) ||
                    (IN6_IS_ADDR_V4MAPPED(&listener->address) && listener->address.s6_addr32[3] == 0 &&
                     IN6_IS_ADDR_V4MAPPED(&at->address));
    return is_same(listener, at) || (is_every && listener->port == at->port);
}

/* Of system calls. Linux before 5.9 does not tell; then it is 0. */
static int64_t count_filters(const char *process)
{
    char path[40];
    int64_t count = 0;
    snprintf(path, sizeof path, "/proc/%.20s/status", process);
    kernel_file_number(path, "Seccomp_filters:", &count);
    return count;
}

static bool has_socket(const char *process, unsigned long inode)
{
    char path[40], link[64], target[64];
    bool has = false;
    snprintf(path, sizeof path, "/proc/%.20s/fd", process);
    snprintf(target, sizeof target, "socket:[%lu]", inode);
    DIR *files = opendir(path);
    const struct dirent *entry;
    while (files != NULL && !has && (entry = readdir(files)) != NULL) {
        ssize_t len = readlinkat(dirfd(files), entry->d_name, link, sizeof link);
        has = len == (ssize_t)strlen(target) && memcmp(link, target, (size_t)len) == 0;
    }
    if (files != NULL)
        closedir(files);
    return has;
}

/* Code in a sandbox is of the same user, may listen, and may not read the secret. It can hide what it has
 * open. */
static bool is_of_confined(unsigned long inode)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    int64_t own = count_filters("self");
    bool is_found = false, is_confined = false;
    while (processes != NULL && !is_confined && (entry = readdir(processes)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && has_socket(entry->d_name, inode)) {
            is_found = true;
            is_confined = count_filters(entry->d_name) > own;
        }
    if (processes != NULL)
        closedir(processes);
    return is_confined || !is_found;
}

/* What the sockets in this file tell of the connection from ${ours} to ${theirs}: its listener, and the
 * socket that a program has accepted it with. */
static void look(const char *path, const struct end *theirs, const struct end *ours, bool *is_found,
                 bool *is_confined, long *other)
{
    char line[512], local[33], remote[33];
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        struct end here, there;
        unsigned state, user;
        unsigned long inode;
        if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %u %*u %lu", local,
                   &here.port, remote, &there.port, &state, &user, &inode) != 7)
            continue;
        here.address = read_address(local);
        there.address = read_address(remote);
        bool is_listener = state == LISTENING && receives(&here, theirs);
        bool is_accepted = inode != 0 && is_same(&here, theirs) && is_same(&there, ours);
        *is_found = *is_found || is_listener;
        if ((is_listener || is_accepted) && user != geteuid())
            *other = (long)user;
        else if (is_listener || is_accepted)
            *is_confined = *is_confined || is_of_confined(inode);
    }
    if (file != NULL)
        fclose(file);
}

bool listener_is_ours(int fd, struct err *err)
{
    struct end theirs, ours;
    bool is_found = false, is_confined = false;
    long other = -1;
    if (!find_end(fd, getpeername, &theirs) || !find_end(fd, getsockname, &ours) ||
        !(IN6_ARE_ADDR_EQUAL(&theirs.address, &ours.address) ||
          (IN6_IS_ADDR_V4MAPPED(&theirs.address) && theirs.address.s6_addr[12] == IN_LOOPBACKNET)))
        return err_set(err, ERR_INVALID, "is not on this machine");
    look("/proc/net/tcp", &theirs, &ours, &is_found, &is_confined, &other);
    look("/proc/net/tcp6", &theirs, &ours, &is_found, &is_confined, &other);
    if (other >= 0)
        return err_set(err, ERR_INVALID, "belongs to another user of this machine (user id %ld)", other);
    if (is_confined)
        return err_set(err, ERR_INVALID, "belongs to a program in a sandbox, or to one that hides its files");
    return is_found ||
           err_set(err, ERR_INVALID,
                   "has no owner that the kernel names, as behind a port that a container publishes");
}
