/*
 * Whose program a server on this machine is, as the kernel tells it.
 */
#ifndef JOIN_LISTENER_OWNER_H
#define JOIN_LISTENER_OWNER_H

#include <stdbool.h>

struct err;

/*
 * listener_is_ours(fd, err):
 * Whether the other end of a TCP connection is a listener of this user on this machine. Every socket that may
 * have got the connection has to be.
 *
 * Errors      ERR_INVALID; the message goes on after "it"
 */
bool listener_is_ours(int fd, struct err *err);

#endif
