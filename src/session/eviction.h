/*
 * Making room: when memory is short or there are as many processes as there may be, old states are worth less
 * than what runs.
 */
#ifndef SESSION_EVICTION_H
#define SESSION_EVICTION_H

#include <stdbool.h>

struct session;
struct session_host;

/* eviction_for_memory(host): if memory is short, keep one unnamed checkpoint of each session. */
void eviction_for_memory(struct session_host *host);

/* eviction_for_process(s): drop a checkpoint of this owner's, or of anybody's if that helps ${s} to a
 * process; false if there is none. */
bool eviction_for_process(struct session *s);

#endif
