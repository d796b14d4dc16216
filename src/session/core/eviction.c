/*
 * Responsible for choosing the snapshots to drop.
 */
#include "session/core/eviction.h"

#include "base/log.h"
#include "proc/memory.h"
#include "session/core/core.h"

/* Each session keeps only its newest. */
void eviction_for_memory(struct session_host *host)
{
    if (!memory_is_short())
        return;
    log_warning("memory is low: dropping old checkpoints");
    struct list *owner, *node;
    for (owner = host->owners.next; owner != &host->owners; owner = owner->next) {
        struct sessions *all = list_entry(owner, struct sessions, node);
        for (node = all->all.next; node != &all->all; node = node->next)
            snapshots_keep_newest(&list_entry(node, struct session, id.node)->snapshots);
    }
}

static bool drop_one_of(struct sessions *all, snapshots_evict *evict)
{
    list_each(struct session, s, &all->all, id.node)
        if (evict(&s->snapshots))
            return true;
    return false;
}

static bool drop_one(struct session *s, snapshots_evict *evict)
{
    const struct quota *own = &s->all->processes;
    if (drop_one_of(s->all, evict))
        return true;
    if (own->most > 0 && own->used >= own->most)
        return false; /* dropping other owners' snapshots would not help */
    for (struct list *owner = s->host->owners.next; owner != &s->host->owners; owner = owner->next)
        if (drop_one_of(list_entry(owner, struct sessions, node), evict))
            return true;
    return false;
}

bool eviction_for_copy(struct session *s)
{
    return drop_one(s, snapshots_evict_spare);
}

bool eviction_for_process(struct session *s)
{
    return drop_one(s, snapshots_evict_spare) || drop_one(s, snapshots_evict_oldest) ||
           drop_one(s, snapshots_evict_error);
}
