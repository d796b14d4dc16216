/*
 * Walks over the processes that belong to a session.
 */
#include "session/work/processes.h"

#include "session/core/core.h"
#include "session/work/look_ups.h"

static void visit_worker(const struct worker *w, void (*visit)(void *arg, pid_t pid), void *arg)
{
    if (w != NULL && worker_pid(w) > 0)
        visit(arg, worker_pid(w));
}

void processes_visit(const struct session *s, void (*visit)(void *arg, pid_t pid), void *arg)
{
    visit_worker(s->worker, visit, arg);
    visit_worker(s->scratch, visit, arg);
    list_each(struct snapshot, sn, &s->snapshots.all, node)
        visit_worker(sn->worker, visit, arg);
    looks_for_each_process(s, visit, arg);
}
