/*
 * Watches how much memory sessions hold while there are copies of them. Copies grow when their original
 * writes, so it is not enough to look when one is made. When the machine or the server's control group is
 * short of memory, and when a session holds more than max-memory, old copies are dropped.
 */
#ifndef SESSION_MEMORY_WATCH_H
#define SESSION_MEMORY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_watch;
struct session;
struct session_host;

/* memory_watch_new(host, most_mib): ${most_mib} is what a session and its copies may hold; 0 for a quarter of
 * what the machine or the control group has. memory_watch_free(w): it ends when the loop has run again. */
struct memory_watch *memory_watch_new(struct session_host *host, size_t most_mib);
void memory_watch_free(struct memory_watch *w);

/* memory_watch_wake(w): there is a copy now. It looks once a second until there is none. */
void memory_watch_wake(struct memory_watch *w);

/* memory_watch_forget(w, s): ${s} is about to go. */
void memory_watch_forget(struct memory_watch *w, const struct session *s);

/* memory_watch_bytes(s, bytes): what ${s} held when it was last measured; false if it was used since, or
 * never measured. */
bool memory_watch_bytes(const struct session *s, uint64_t *bytes);

#endif
