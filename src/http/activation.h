/*
 * Sockets that whoever started us has opened: systemd's socket activation, sd_listen_fds(3).
 */
#ifndef HTTP_ACTIVATION_H
#define HTTP_ACTIVATION_H

#include "base/errors.h"

/*
 * activation_take(n, err):
 * The ${n}th socket that was passed on, 0 for the first: a listening stream socket, not blocking, not
 * inherited by children.
 *
 * Returns     the descriptor, given; -1 with ${err} set
 * Errors      ERR_INVALID: none was passed on to this process, or it is not such a socket
 * Source      sd_listen_fds(3): LISTEN_PID, LISTEN_FDS, descriptors from 3 on
 */
int activation_take(unsigned n, struct err *err);

#endif
