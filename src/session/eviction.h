/*
 * Eviction: when memory is low or the process limit is reached, drop old checkpoints so that sessions can
 * run.
 */
#ifndef SESSION_EVICTION_H
#define SESSION_EVICTION_H

#include <stdbool.h>

struct session;
struct session_host;

/* eviction_for_memory(host): if memory is short, keep one unnamed checkpoint of each session. */
void eviction_for_memory(struct session_host *host);

/* eviction_for_process(s): drop a checkpoint of this owner, or of any owner if that allows ${s} another
 * process; false if there is none. */
bool eviction_for_process(struct session *s);

#endif
