/*
 * Walks over the processes that belong to a session.
 */
#include "session/processes.h"

#include "session/error_record.h"
#include "session/looks.h"
#include "session/session_core.h"

static void visit_worker(const struct worker *w, void (*visit)(void *arg, pid_t pid), void *arg)
{
    if (w != NULL && worker_pid(w) > 0)
        visit(arg, worker_pid(w));
}

void processes_visit(const struct session *s, void (*visit)(void *arg, pid_t pid), void *arg)
{
    visit_worker(s->worker, visit, arg);
    visit_worker(s->scratch, visit, arg);
    for (const struct list *node = s->checkpoints.all.next; node != &s->checkpoints.all; node = node->next)
        visit_worker(list_entry(node, struct checkpoint, node)->worker, visit, arg);
    for (size_t i = 0; i < error_history_kept(&s->errors); i++)
        visit_worker(error_history_at(&s->errors, i)->frozen, visit, arg);
    looks_for_each_process(s, visit, arg);
}
