/*
 * Responsible for storing events and dropping old ones.
 */
#include "base/event_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct event {
    struct list node;
    uint64_t stream, sequence;
    size_t len;
    char bytes[];
};

void event_log_init(struct event_log *log, size_t most_count, size_t most_bytes)
{
    *log = (struct event_log){.most_count = most_count, .most_bytes = most_bytes};
    list_init(&log->events);
}

static void drop_oldest(struct event_log *log)
{
    struct event *e = list_entry(log->events.next, struct event, node);
    list_remove(&e->node);
    log->count--;
    log->bytes -= e->len;
    free(e);
}

void event_log_fini(struct event_log *log)
{
    while (log->count > 0)
        drop_oldest(log);
}

void event_log_add(struct event_log *log, uint64_t stream, uint64_t sequence, const char *bytes, size_t len)
{
    struct event *e = xmalloc(sizeof *e + len);
    *e = (struct event){.stream = stream, .sequence = sequence, .len = len};
    memcpy(e->bytes, bytes, len);
    list_init(&e->node);
    list_append(&log->events, &e->node);
    log->count++;
    log->bytes += len;
    while (log->count > 1 && (log->count > log->most_count || log->bytes > log->most_bytes))
        drop_oldest(log);
}

void event_log_replay(const struct event_log *log, uint64_t stream, uint64_t after, event_log_visitor *each,
                      void *arg)
{
    const struct list *at = log->events.previous;
    for (; at != &log->events; at = at->previous) {
        const struct event *e = list_entry(at, struct event, node);
        if (e->stream == stream && e->sequence <= after)
            break;
    }
    for (at = at->next; at != &log->events; at = at->next) {
        const struct event *e = list_entry(at, struct event, node);
        if (e->stream == stream && !each(arg, e->sequence, e->bytes, e->len))
            return;
    }
}
