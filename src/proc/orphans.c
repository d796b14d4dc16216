/*
 * Finding and killing orphans by a mark in their environment. There may be thousands, so the time of one turn
 * of the loop is bounded.
 */
#include "proc/orphans.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "proc/child.h"
#include "proc/loop_handle.h"
#include "proc/process.h"
#include "proc/tree.h"

#define LONGEST_TURN_NS 20000000

/* Those of a session that are still to be killed. */
struct ending {
    struct list node;
    struct children *children;
    char *variable;
    pid_t *candidates; /* all our children */
    size_t count, next;
};

struct orphans {
    struct list endings; /* if there were too many for one turn */
    uv_timer_t *timer;   /* while there are any */
};

struct orphans *orphans_new(uv_loop_t *loop)
{
    struct orphans *o = xcalloc(1, sizeof *o);
    list_init(&o->endings);
    o->timer = loop_handle_timer(loop, o);
    uv_unref((uv_handle_t *)o->timer); /* it must not keep the loop alive */
    return o;
}

static void ending_free(struct ending *e)
{
    list_remove(&e->node);
    free(e->variable);
    free(e->candidates);
    free(e);
}

void orphans_free(struct orphans *o)
{
    if (o == NULL)
        return;
    while (!list_is_empty(&o->endings))
        ending_free(list_entry(o->endings.next, struct ending, node));
    loop_handle_free(o->timer);
    free(o);
}

static bool is_orphan(struct children *children, pid_t pid, const char *variable)
{
    return !children_have(children, pid) && process_has_variable(pid, variable);
}

size_t orphans_list(struct children *children, const char *variable, pid_t *out, size_t capacity)
{
    size_t n, found = 0;
    pid_t *all = tree_all_children(getpid(), &n);
    for (size_t i = 0; i < n && found < capacity; i++)
        if (is_orphan(children, all[i], variable))
            out[found++] = all[i];
    free(all);
    return found;
}

/* Kill as many as the time allows. In later turns of the loop a candidate may be another process, so it is
 * looked at right before. Returns how many there were. */
static size_t end_some(struct ending *e, uint64_t until_ns)
{
    size_t killed = 0;
    for (; e->next < e->count && uv_hrtime() < until_ns; e->next++) {
        pid_t pid = e->candidates[e->next];
        if (!is_orphan(e->children, pid, e->variable))
            continue;
        tree_kill(pid);
        killed++;
    }
    return killed;
}

static void on_timer(uv_timer_t *timer)
{
    struct orphans *o = timer->data;
    uint64_t until_ns = uv_hrtime() + LONGEST_TURN_NS;
    list_each(struct ending, e, &o->endings, node) {
        end_some(e, until_ns);
        if (e->next == e->count)
            ending_free(e);
    }
    if (!list_is_empty(&o->endings))
        uv_timer_start(timer, on_timer, 1, 0);
}

/* The list is made again at once only: an earlier state of the session, which continues after this, has the
 * same mark, and what its programs leave behind later must stay. */
void orphans_end(struct orphans *o, struct children *children, const char *variable)
{
    uint64_t until_ns = uv_hrtime() + LONGEST_TURN_NS;
    struct ending *e = xcalloc(1, sizeof *e);
    e->children = children;
    e->variable = xstrdup(variable);
    list_init(&e->node);
    do {
        free(e->candidates);
        e->next = 0;
        e->candidates = tree_all_children(getpid(), &e->count);
    } while (end_some(e, until_ns) > 0 && e->next == e->count);
    if (e->next == e->count) {
        ending_free(e);
        return;
    }
    list_append(&o->endings, &e->node);
    uv_timer_start(o->timer, on_timer, 1, 0);
}
