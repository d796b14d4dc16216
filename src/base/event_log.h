/*
 * The newest events of one or more streams, for who asks for the events after the last one that it received.
 * Bounded in number and bytes; the newest event is kept at any size.
 */
#ifndef BASE_EVENT_LOG_H
#define BASE_EVENT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct event_log {
    struct list events; /* the oldest first */
    size_t count, bytes;
    size_t most_count, most_bytes;
};

/* event_log_init(log, most_count, most_bytes), event_log_fini(log): on the caller's memory. */
void event_log_init(struct event_log *log, size_t most_count, size_t most_bytes);
void event_log_fini(struct event_log *log);

/* event_log_add(log, stream, sequence, bytes, len): keep a copy, drop the oldest. */
void event_log_add(struct event_log *log, uint64_t stream, uint64_t sequence, const char *bytes, size_t len);

/* event_log_replay(log, stream, after, each, arg): call ${each} for the events of ${stream} with a larger
 * sequence number than ${after}, in order, until it returns false. The time depends on the number of events
 * since then. */
typedef bool event_log_visitor(void *arg, uint64_t sequence, const char *bytes, size_t len);
void event_log_replay(const struct event_log *log, uint64_t stream, uint64_t after, event_log_visitor *each,
                      void *arg);

#endif
