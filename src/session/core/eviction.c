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
    list_each(struct sessions, all, &host->owners, node)
        list_each(struct session, s, &all->all, id.node)
            snapshots_keep_newest(&s->snapshots);
}

static bool drop_one_of(struct sessions *all, enum snapshots_worth worth)
{
    list_each(struct session, s, &all->all, id.node)
        if (snapshots_evict(&s->snapshots, worth))
            return true;
    return false;
}

static bool drop_one(struct session *s, enum snapshots_worth worth)
{
    const struct quota *own = &s->all->processes;
    if (drop_one_of(s->all, worth))
        return true;
    if (own->most > 0 && own->used >= own->most)
        return false; /* dropping other owners' snapshots would not help */
    list_each(struct sessions, all, &s->host->owners, node)
        if (drop_one_of(all, worth))
            return true;
    return false;
}

bool eviction_of_own(struct session *s)
{
    return snapshots_evict(&s->snapshots, SNAPSHOTS_OLD);
}

bool eviction_for_copy(struct session *s)
{
    return drop_one(s, SNAPSHOTS_SPARE);
}

bool eviction_for_process(struct session *s)
{
    return drop_one(s, SNAPSHOTS_SPARE) || drop_one(s, SNAPSHOTS_OLD) || drop_one(s, SNAPSHOTS_OF_ERRORS);
}
