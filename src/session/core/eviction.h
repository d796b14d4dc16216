/*
 * Eviction: when memory is low or the process limit is reached, drop old snapshots so that sessions can
 * run.
 */
#ifndef SESSION_CORE_EVICTION_H
#define SESSION_CORE_EVICTION_H

#include <stdbool.h>

struct session;
struct session_host;

/* eviction_for_memory(host): if memory is short, keep one unnamed snapshot of each session. */
void eviction_for_memory(struct session_host *host);

/* eviction_for_process(s): drop a snapshot of this owner, or of any owner if that allows ${s} another
 * process; false if there is none. Each session keeps its newest while another has more than that.
 * eviction_for_copy(s): the same, but each session keeps its newest: for a copy that is needed less.
 * eviction_of_own(s): drop the oldest snapshot of ${s} itself. */
bool eviction_for_process(struct session *s);
bool eviction_of_own(struct session *s);
bool eviction_for_copy(struct session *s);

#endif
