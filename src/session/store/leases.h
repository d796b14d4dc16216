/*
 * Leases: which of several servers with one directory of saves has a session. A server takes the lease of a
 * session before it makes or restores it, and gives it back when the session ends.
 *
 * NAME.lease, a directory beside the saves, contains a mark of each server that has the session or tries to
 * take it: an empty file NODE.NUMBER, the number chosen by the server at its start. Each server renews one
 * file for all its leases, nodes/NODE, which contains that number. A server that has not renewed it for a
 * minute is gone; so is one whose name is used by a later server. Their marks do not count.
 *
 * A server takes a lease so: if no mark counts, it makes its own, then it looks at the others. If one of them
 * counts, it removes its own and has not got the lease. It uses a lease for 45 s after it has renewed its
 * file; after a longer time, by its own clock or by the times of the file, it takes each of its leases again,
 * and loses those that another has.
 *
 * Why no two have a session, whatever the order of their steps and however long the pauses between them: a
 * mark is removed only by its server, when that has not got the lease, or when it can never count again. (A
 * server that has been silent for a day counts as one of these.) So, if A and B have taken it, and A has made
 * its mark first, the later one, B has seen that mark when it looked, and found A gone: A had not renewed its
 * file for a minute. Then A used the lease at most until 15 s before, and before it uses it once more it
 * renews its file and looks again, which is after B has made its mark: the same holds with A and B exchanged.
 * Two that try at once may see each other, and neither gets it; their clients try again.
 *
 * What this relies on holds on network file systems too: a file that was made is seen by who opens its
 * directory afterwards, and open(2) sees what was written to a file before it was last closed elsewhere.
 * Times are compared only with each other as the file system has stamped them, so the servers' clocks may
 * differ; they must not differ in speed by a quarter, and the file system's must not jump ahead. After a
 * jump, and in a virtual machine that was paused with its clock, a server may use what another has taken over
 * until its next renewal, 10 s at most. Nothing can stop a server between its last look at the lease and what
 * it does then: see saved_commit().
 *
 * A server that finds a lease held asks for it with a file in wanted/HOLDER, whose name is the path of the
 * lease with % for /. The holder looks there every two seconds.
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

/* lease_holder(lease): who holds it, borrowed. lease_is_held(path, holder): whether the lease at this path is
 * still theirs; it may be called in any thread. */
const char *lease_holder(const struct lease *lease);
bool lease_is_held(const char *path, const char *holder);

#endif
