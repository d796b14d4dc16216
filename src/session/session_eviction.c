/*
 * Making room: when memory is short or there are as many processes as there may be, old states are worth less
 * than what runs.
 */
#include "base/log.h"
#include "proc/memory.h"
#include "session/session_internal.h"

#define MEMORY_LOOK_MS 1000

/* Of each session only the newest stays. */
void session_evict_for_memory(struct session_host *host)
{
    uint64_t now = uv_now(host->loop);
    if (now - host->memory_looked_at < MEMORY_LOOK_MS)
        return;
    host->memory_looked_at = now;
    if (!memory_is_short())
        return;
    log_warning("memory is short: old checkpoints are dropped");
    for (struct sessions *all = session_host_first(host); all != NULL; all = session_host_next(all))
        for (struct session *s = sessions_first(all); s != NULL; s = sessions_next(s))
            if (s->source == NULL && s->making == NULL)
                checkpoints_thin(&s->checkpoints, 1, 1);
}

bool session_drop_oldest_checkpoint(struct session *s)
{
    for (struct list *node = s->checkpoints.all.next; node != &s->checkpoints.all; node = node->next) {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->name != NULL || cp == s->source || cp->worker == NULL)
            continue;
        if (cp == s->making)
            s->making = NULL; /* its original answers all the same */
        checkpoint_drop(cp);
        return true;
    }
    return false;
}

static bool drop_one_of(struct sessions *all)
{
    for (struct session *s = sessions_first(all); s != NULL; s = sessions_next(s))
        if (session_drop_oldest_checkpoint(s))
            return true;
    return false;
}

bool session_evict_for_process(struct session *s)
{
    const struct quota *own = &s->all->processes;
    if (drop_one_of(s->all))
        return true;
    if (own->most > 0 && own->used >= own->most)
        return false; /* what others give up would not help */
    for (struct sessions *all = session_host_first(s->host); all != NULL; all = session_host_next(all))
        if (drop_one_of(all))
            return true;
    return false;
}
