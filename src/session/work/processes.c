/*
 * Walks over the processes that belong to a session.
 */
#include "session/work/processes.h"

#include "session/core/core.h"
#include "session/work/look_ups.h"

static size_t add(const struct worker *w, pid_t *out, size_t n, size_t capacity)
{
    if (w != NULL && worker_pid(w) > 0 && n < capacity)
        out[n++] = worker_pid(w);
    return n;
}

size_t processes_list(const struct session *s, pid_t *out, size_t capacity)
{
    size_t n = add(s->worker, out, 0, capacity);
    n = add(s->scratch, out, n, capacity);
    list_each(struct snapshot, sn, &s->snapshots.all, node)
        n = add(sn->worker, out, n, capacity);
    list_each(struct look, look, &s->looks, node)
        n = add(look->worker, out, n, capacity);
    return n;
}
