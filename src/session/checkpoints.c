/*
 * Checkpoints, oldest first. Copies are made with CLONE_PARENT, so they are direct children of the server,
 * which reaps them and learns of their end like that of any worker.
 */
#include "session/checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "lisp/worker.h"

void checkpoints_init(struct checkpoints *c)
{
    *c = (struct checkpoints){0};
    list_init(&c->all);
}

/* Gives the worker; frees the rest. */
static struct worker *take(struct checkpoint *cp)
{
    struct worker *worker = cp->worker;
    list_remove(&cp->node);
    cp->owner->count--;
    if (cp->owner->making == cp)
        cp->owner->making = NULL;
    free(cp->name);
    free(cp->package);
    free(cp->severed);
    free(cp);
    return worker;
}

void checkpoint_drop(struct checkpoint *cp)
{
    worker_free(take(cp));
}

void checkpoints_clear(struct checkpoints *c)
{
    while (!list_is_empty(&c->all))
        checkpoint_drop(list_entry(c->all.next, struct checkpoint, node));
}

struct checkpoint *checkpoints_add(struct checkpoints *c, struct worker *worker, uint64_t evaluation,
                                   const char *package)
{
    struct checkpoint *cp = xcalloc(1, sizeof *cp);
    cp->owner = c;
    cp->worker = worker;
    cp->evaluation = evaluation;
    cp->package = xstrdup(package);
    clock_gettime(CLOCK_REALTIME, &cp->when);
    list_init(&cp->node);
    /* Insert it behind the last one that is not later: later states may still exist after a rollback. */
    struct list *before = c->all.previous;
    while (before != &c->all && list_entry(before, struct checkpoint, node)->evaluation > evaluation)
        before = before->previous;
    list_append(before->next, &cp->node);
    c->count++;
    return cp;
}

static size_t count_unnamed(const struct checkpoints *c)
{
    size_t n = 0;
    for (struct list *node = c->all.next; node != &c->all; node = node->next)
        n += list_entry(node, struct checkpoint, node)->name == NULL;
    return n;
}

bool checkpoints_are_too_many(const struct checkpoints *c, size_t most)
{
    return count_unnamed(c) > most;
}

bool checkpoints_are_due(const struct checkpoints *c, size_t most)
{
    return c->is_one_owed || checkpoints_are_too_many(c, most + (c->making != NULL));
}

bool checkpoints_have_named(const struct checkpoints *c)
{
    return count_unnamed(c) < c->count;
}

/* A checkpoint without a worker is just being requested. */
static bool may_go(const struct checkpoint *cp)
{
    return cp->name == NULL && !cp->is_source && cp->worker != NULL;
}

bool checkpoints_evict_oldest(struct checkpoints *c)
{
    for (struct list *node = c->all.next; node != &c->all; node = node->next) {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (!may_go(cp))
            continue;
        checkpoint_drop(cp); /* if it is being made, the process answers all the same */
        return true;
    }
    return false;
}

bool checkpoints_evict_spare(struct checkpoints *c)
{
    size_t unnamed = 0;
    for (struct list *node = c->all.next; node != &c->all; node = node->next)
        unnamed += may_go(list_entry(node, struct checkpoint, node)) &&
                   list_entry(node, struct checkpoint, node) != c->making; /* it may fail */
    return unnamed > 1 && checkpoints_evict_oldest(c);
}

bool checkpoints_delete(struct checkpoints *c, const char *name)
{
    struct checkpoint *cp = checkpoints_named(c, name);
    if (cp == NULL)
        return false;
    free(cp->name);
    cp->name = NULL;
    if (may_go(cp) && cp != c->making)
        checkpoint_drop(cp);
    return true;
}

void checkpoints_keep_newest(struct checkpoints *c)
{
    for (struct list *node = c->all.next; node != &c->all; node = node->next)
        if (list_entry(node, struct checkpoint, node)->is_source)
            return;
    if (c->making == NULL)
        checkpoints_thin(c, 1, 1);
}

void checkpoints_drop_namesakes(struct checkpoints *c, const struct checkpoint *keep)
{
    struct list *node, *next;
    list_for_each(node, next, &c->all)
    {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp != keep && cp->name != NULL && keep->name != NULL && strcmp(cp->name, keep->name) == 0)
            checkpoint_drop(cp);
    }
}

void checkpoints_thin(struct checkpoints *c, size_t most, size_t newest)
{
    for (size_t unnamed = count_unnamed(c); unnamed > most; unnamed--) {
        struct checkpoint *victim = NULL;
        uint64_t least = UINT64_MAX;
        size_t dense = most / 2 > newest ? most / 2 : newest;
        size_t older = unnamed > dense ? unnamed - dense : 0, seen = 0;
        for (struct list *node = c->all.next; node != &c->all && seen < older; node = node->next) {
            struct checkpoint *cp = list_entry(node, struct checkpoint, node);
            if (cp->name != NULL)
                continue;
            seen++;
            /* The cost of dropping it: the distance from its older to its newer neighbour. For the oldest,
             * the distance to the beginning. */
            uint64_t from = node->previous == &c->all
                                ? 0
                                : list_entry(node->previous, struct checkpoint, node)->evaluation;
            uint64_t to = node->next == &c->all ? cp->evaluation
                                                : list_entry(node->next, struct checkpoint, node)->evaluation;
            if (to - from < least) {
                least = to - from;
                victim = cp;
            }
        }
        if (victim == NULL)
            return;
        checkpoint_drop(victim);
    }
}

void checkpoints_drop_after(struct checkpoints *c, uint64_t evaluation)
{
    struct list *node, *next;
    list_for_each(node, next, &c->all)
    {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->evaluation > evaluation && cp->name == NULL)
            checkpoint_drop(cp);
    }
}

void checkpoints_drop_state(struct checkpoints *c, uint64_t evaluation)
{
    struct list *node, *next;
    list_for_each(node, next, &c->all)
    {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->evaluation == evaluation && may_go(cp))
            checkpoint_drop(cp);
    }
}

struct checkpoint *checkpoints_find(const struct checkpoints *c, uint64_t evaluation)
{
    struct checkpoint *cp = checkpoints_newest(c, evaluation);
    return cp != NULL && cp->evaluation == evaluation ? cp : NULL;
}

struct checkpoint *checkpoints_oldest(const struct checkpoints *c, uint64_t least)
{
    for (struct list *node = c->all.next; node != &c->all; node = node->next) {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->evaluation > least)
            return cp;
    }
    return NULL;
}

struct checkpoint *checkpoints_newest(const struct checkpoints *c, uint64_t most)
{
    for (struct list *node = c->all.previous; node != &c->all; node = node->previous) {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->evaluation <= most)
            return cp;
    }
    return NULL;
}

struct checkpoint *checkpoints_named(const struct checkpoints *c, const char *name)
{
    for (struct list *node = c->all.previous; node != &c->all; node = node->previous) {
        struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->name != NULL && strcmp(cp->name, name) == 0)
            return cp;
    }
    return NULL;
}

char *checkpoints_names(const struct checkpoints *c)
{
    struct strbuf b;
    strbuf_init(&b, 0);
    for (const struct list *node = c->all.next; node != &c->all; node = node->next) {
        const struct checkpoint *cp = list_entry(node, struct checkpoint, node);
        if (cp->name != NULL)
            strbuf_addf(&b, "%s%s (evaluation %llu)", b.len == 0 ? "" : ", ", cp->name,
                        (unsigned long long)cp->evaluation);
    }
    return b.len == 0 ? NULL : strbuf_steal(&b, NULL);
}
