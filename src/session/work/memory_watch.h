/*
 * Watches the memory of sessions while copies of them exist. A copy takes more memory as its original writes,
 * so measuring when it is made is not enough. When the machine or the server's control group is short of
 * memory, or a session exceeds max-memory, old copies are dropped.
 */
#ifndef SESSION_WORK_MEMORY_WATCH_H
#define SESSION_WORK_MEMORY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_watch;
struct session;
struct session_host;

/* memory_watch_new(host, most_mib): ${most_mib} is the limit for a session and its copies; 0 for a quarter
 * of the memory of the machine or the control group. memory_watch_free(w): it is freed once the loop has
 * run again. */
struct memory_watch *memory_watch_new(struct session_host *host, size_t most_mib);
void memory_watch_free(struct memory_watch *w);

/* memory_watch_most(w): the bytes that a session and its copies may hold; UINT64_MAX: unknown. */
uint64_t memory_watch_most(const struct memory_watch *w);

/* memory_watch_wake(w): a copy exists now: measure once a second until none is left. */
void memory_watch_wake(struct memory_watch *w);

/* memory_watch_forget(w, s): ${s} is about to be freed. */
void memory_watch_forget(struct memory_watch *w, const struct session *s);

/* memory_watch_bytes(s, bytes): the memory that ${s} held when it was last measured; false if it was used
 * since, or never measured. */
bool memory_watch_bytes(const struct session *s, uint64_t *bytes);

/* Of one session. Only named checkpoints can exceed this; the excess is not counted. */
#define PROCESSES_MOST 256

/* processes_list(s, out, capacity): the session's own process, its scratch copy, its snapshots and the copies
 * that answer look-ups, except those whose pid is not known yet. Returns how many were written. */
size_t processes_list(const struct session *s, pid_t *out, size_t capacity);

#endif
