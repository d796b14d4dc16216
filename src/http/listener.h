/*
 * Where the server listens: an address and a port, or a socket in the file system. Knows nothing about HTTP.
 */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <stdbool.h>

#include "base/errors.h"

struct listener {
    int descriptor;           /* -1: none */
    bool is_owners;           /* peers of another user are turned away */
    bool is_unix;             /* the file's permissions decide who can connect */
    bool is_loopback;         /* only this machine can connect */
    char name[160];           /* for people: "127.0.0.1:8080", "unix:/run/lisp.sock" */
    char unix_path[108];      /* removed at the end; "" for none */
    unsigned long long inode; /* of ${unix_path}, so that another process's file is not removed */
};

/*
 * listener_open(l, address, err):
 * Bind and listen. Only its owner can open the file of a socket (mode 0600); a file on which no server
 * listens any more is replaced.
 *
 * address     "ADDRESS:PORT", "[ADDRESS]:PORT", "PORT" (on 127.0.0.1), "unix:PATH", or "systemd" or
 *             "systemd:N" for the first or Nth socket passed by socket activation. With port 0 the system
 *             chooses one
 * Errors      ERR_INVALID, ERR_START
 */
bool listener_open(struct listener *l, const char *address, struct err *err);

/* listener_close(l): does nothing if it is not open. */
void listener_close(struct listener *l);

#endif
