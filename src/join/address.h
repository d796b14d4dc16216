/*
 * Where an image listens: ADDRESS:PORT as it was given, or found by the files in which people leave the port.
 */
#ifndef JOIN_ADDRESS_H
#define JOIN_ADDRESS_H

#include "base/errors.h"

struct join_address {
    char host[256]; /* a name or a number */
    char port[6];
    char origin[512]; /* how it was found, after a comma and a space: ", as /home/me/.swank-port says"; or ""
                       */
};

#define JOIN_AUTO "auto"

/*
 * join_address_parse(text, address, err): read ADDRESS:PORT, [ADDRESS]:PORT or "auto", for which ${address}
 * is left empty.
 *
 * Errors      ERR_INVALID
 */
bool join_address_parse(const char *text, struct join_address *address, struct err *err);

/* join_address_find(directory, address): what a .swank-port, .slynk-port or .slime-port in ${directory} or
 * above it says; otherwise 127.0.0.1:4005. A file that belongs to another user does not count. */
void join_address_find(const char *directory, struct join_address *address);

#endif
