/*
 * Sockets that the parent process has opened: systemd's socket activation, sd_listen_fds(3).
 */
#ifndef HTTP_ACTIVATION_H
#define HTTP_ACTIVATION_H

#include "base/errors.h"

/*
 * activation_take(n, err):
 * Take the ${n}th inherited socket, 0 for the first: a listening stream socket. It becomes non-blocking and
 * close-on-exec.
 *
 * Returns     the descriptor, given; -1 with ${err} set
 * Errors      ERR_INVALID: there is no such socket, or it is not a listening stream socket
 * Source      sd_listen_fds(3): LISTEN_PID, LISTEN_FDS, descriptors from 3 on
 */
int activation_take(unsigned n, struct err *err);

#endif
