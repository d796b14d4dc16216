/*
 * Leases: which of several servers with one directory of saves has a session. A server takes the lease of a
 * session before it makes or restores it, and gives it back when the session ends.
 *
 * The file NAME.lease beside the saves names its holder, a server and a number that it has chosen at its
 * start. Each server renews one file for all its leases, nodes/NODE. A holder that has not renewed it for a
 * minute is gone, and another server may take its leases over; so is one whose name is used by a later
 * server.
 *
 * A server that finds a lease held asks for it with a file in wanted/HOLDER, whose name is the path of the
 * lease with % for /. The holder looks there every two seconds.
 *
 * What this relies on holds on network file systems too: link(2) never replaces a file, rename(2) of one file
 * succeeds once, and open(2) sees what was written to a file before it was last closed elsewhere. Times are
 * compared with each other only as the file system has stamped them, so the servers' clocks may differ.
 */
#ifndef SESSION_STORE_LEASES_H
#define SESSION_STORE_LEASES_H

#include <stdbool.h>
#include <uv.h>

#include "base/errors.h"

struct lease;
struct leases;

/*
 * leases_new(loop, directory, node, err), leases_free(l):
 * The leases of the server called ${node}, none yet. They must all have been released when it is freed.
 *
 * directory   borrowed, copied; the one that the servers share; made if it is missing
 * node        borrowed, copied: letters, digits, dots and dashes, the first a letter or a digit; at most
 *             LEASE_MOST_NODE
 * Returns     NULL with ${err} set
 */
#define LEASE_MOST_NODE 63
struct leases *leases_new(uv_loop_t *loop, const char *directory, const char *node, struct err *err);
void leases_free(struct leases *l);

/*
 * lease_take(l, directory, name, err):
 * Take the lease of the session ${name}, whose saves are in ${directory}.
 *
 * Returns     given, to lease_release(); NULL with ${err} set
 * Errors      ERR_BUSY: another server holds it, or may; ERR_SYSTEM
 */
struct lease *lease_take(struct leases *l, const char *directory, const char *name, struct err *err);

/* lease_is_elsewhere(l, directory, name, err): whether another server has it, or may; if so, ${err} says
 * which, as from lease_take(), and it is asked for it. */
bool lease_is_elsewhere(struct leases *l, const char *directory, const char *name, struct err *err);

/* lease_release(lease): give it back; NULL does nothing. */
void lease_release(struct lease *lease);

/* lease_watch(lease, on_lost, on_wanted, arg): call ${on_lost} once, from the loop or inside
 * lease_confirm(), if another server has taken the lease over; ${on_wanted}, from the loop, each time that
 * another asks for it. */
void lease_watch(struct lease *lease, void (*on_lost)(void *arg), void (*on_wanted)(void *arg), void *arg);

/* lease_confirm(lease, err): whether it is still held. Ask before each use: a server that was stopped for a
 * minute does not know what happened meanwhile. Errors: ERR_BUSY */
bool lease_confirm(struct lease *lease, struct err *err);

/* lease_holder(lease): what its file contains; borrowed. lease_is_held(path, holder): whether the file
 * contains that; it may be called in any thread. */
const char *lease_holder(const struct lease *lease);
bool lease_is_held(const char *path, const char *holder);

#endif
