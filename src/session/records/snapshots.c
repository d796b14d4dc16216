/*
 * Snapshots, oldest first. Copies are made with CLONE_PARENT, so they are direct children of the server,
 * which reaps them and learns of their end like that of any worker.
 */
#include "session/records/snapshots.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "lisp/worker.h"
#include "session/records/error_record.h"

static struct snapshot *snapshot_at(const struct list *node)
{
    return list_entry(node, struct snapshot, node);
}

void snapshot_drop(struct snapshot *sn, enum fact_kind why)
{
    if (sn->record != NULL) {
        sn->record->snapshot = NULL;
        if (why != FACT_NONE)
            error_record_cannot_be_entered(sn->record, why, NULL);
    }
    list_remove(&sn->node);
    if (sn->owner->making == sn)
        sn->owner->making = NULL;
    if (sn->owner->source == sn)
        sn->owner->source = NULL;
    worker_free(sn->worker);
    free(sn->name);
    free(sn->package);
    free(sn->severed);
    free(sn->files);
    free(sn);
}

void snapshots_clear(struct snapshots *c, enum fact_kind why)
{
    while (!list_is_empty(&c->all))
        snapshot_drop(snapshot_at(c->all.next), why);
}

struct snapshot *snapshots_add(struct snapshots *c, struct worker *worker, uint64_t evaluation,
                               const char *package)
{
    struct snapshot *sn = xcalloc(1, sizeof *sn);
    sn->owner = c;
    sn->worker = worker;
    sn->evaluation = evaluation;
    sn->package = xstrdup(package);
    clock_gettime(CLOCK_REALTIME, &sn->when);
    list_init(&sn->node);
    /* Insert it behind the last one that is not later: later states may still exist after a rollback. */
    struct list *before = c->all.previous;
    while (before != &c->all && snapshot_at(before)->evaluation > evaluation)
        before = before->previous;
    list_append(before->next, &sn->node);
    return sn;
}

void snapshot_stands_in(struct snapshot *sn, struct error_record *r)
{
    sn->is_in_error = sn->is_error_recent = true;
    sn->record = r;
    r->snapshot = sn;
}

void snapshot_let_age(struct snapshot *sn, enum fact_kind why)
{
    sn->is_error_recent = false;
    if (sn->is_aside && sn->owner->making != sn)
        snapshot_drop(sn, why);
}

void snapshot_set_aside(struct snapshot *sn)
{
    if (sn->owner->source == sn)
        sn->owner->source = NULL;
    sn->is_aside = true;
    if (!sn->is_error_recent)
        snapshot_drop(sn, FACT_SUPERSEDED);
}

void snapshot_forget_error(struct snapshot *sn)
{
    sn->record->snapshot = NULL;
    sn->record = NULL;
    snapshot_let_age(sn, FACT_NONE);
}

void snapshot_confirm(struct snapshot *sn, int64_t pid)
{
    worker_begin(sn->worker, pid);
    if (sn->is_aside && !sn->is_error_recent)
        snapshot_drop(sn, FACT_NONE); /* its error has become too old meanwhile */
}

struct snapshot *snapshots_next(const struct snapshots *c, const struct snapshot *after)
{
    const struct list *node = after == NULL ? c->all.previous : after->node.previous;
    while (node != &c->all && snapshot_at(node)->is_aside)
        node = node->previous;
    return node == &c->all ? NULL : snapshot_at(node);
}

size_t snapshots_count(const struct snapshots *c)
{
    size_t n = 0;
    for (const struct snapshot *sn = NULL; (sn = snapshots_next(c, sn)) != NULL;)
        n++;
    return n;
}

/* Kept only because of the limit on checkpoints: its name, its error or a return to it does not hold it. */
static bool is_loose(const struct snapshot *sn)
{
    return sn->name == NULL && sn->owner->source != sn && !sn->is_error_recent && sn->worker != NULL;
}

static size_t count_loose(const struct snapshots *c)
{
    size_t n = 0;
    for (const struct snapshot *sn = NULL; (sn = snapshots_next(c, sn)) != NULL;)
        n += is_loose(sn);
    return n;
}

bool snapshots_are_too_many(const struct snapshots *c, size_t most)
{
    return count_loose(c) > most + (c->making != NULL);
}

bool snapshots_have_named(const struct snapshots *c)
{
    for (const struct snapshot *sn = NULL; (sn = snapshots_next(c, sn)) != NULL;)
        if (sn->name != NULL)
            return true;
    return false;
}

bool snapshots_evict(struct snapshots *c, enum snapshots_worth worth)
{
    const struct snapshot *newest = worth == SNAPSHOTS_SPARE ? snapshots_next(c, NULL) : NULL;
    if (newest != NULL && newest == c->making) /* which may fail */
        newest = snapshots_next(c, newest);
    if (worth == SNAPSHOTS_SPARE && newest == NULL)
        return false;
    list_each(struct snapshot, sn, &c->all, node) {
        if (sn == newest)
            return false;
        bool may_go = is_loose(sn) || (worth == SNAPSHOTS_OF_ERRORS && sn->name == NULL && c->source != sn);
        if (!may_go || sn->worker == NULL)
            continue;
        /* If it is being made, the process answers all the same. */
        snapshot_drop(sn, FACT_EVICTED);
        return true;
    }
    return false;
}

bool snapshots_delete(struct snapshots *c, const char *name)
{
    struct snapshot *sn = snapshots_named(c, name);
    if (sn == NULL)
        return false;
    xstrset(&sn->name, NULL);
    if (is_loose(sn) && sn != c->making)
        snapshot_drop(sn, FACT_NONE);
    return true;
}

size_t snapshots_keep_newest(struct snapshots *c)
{
    if (c->source != NULL)
        return 0;
    size_t before = snapshots_count(c);
    if (c->making == NULL)
        snapshots_thin(c, 1);
    return before - snapshots_count(c);
}

size_t snapshots_drop_older_errors(struct snapshots *c, const struct error_record *keep, enum fact_kind why)
{
    size_t dropped = 0;
    list_each(struct snapshot, sn, &c->all, node) {
        if (!sn->is_error_recent || sn->record == keep || sn == c->making || sn == c->source ||
            sn->name != NULL)
            continue;
        snapshot_drop(sn, why);
        dropped++;
    }
    return dropped;
}

void snapshots_drop_namesakes(struct snapshots *c, const struct snapshot *keep)
{
    list_each(struct snapshot, sn, &c->all, node)
        if (sn != keep && sn->name != NULL && keep->name != NULL && strcmp(sn->name, keep->name) == 0)
            snapshot_drop(sn, FACT_NONE);
}

void snapshots_thin(struct snapshots *c, size_t most)
{
    size_t newest = 1;
    if (c->making != NULL) { /* it is not counted, and may fail: the one before it counts as the newest */
        most++;
        newest++;
    }
    for (size_t loose = count_loose(c); loose > most; loose--) {
        struct snapshot *victim = NULL;
        uint64_t least = UINT64_MAX;
        size_t dense = most / 2 > newest ? most / 2 : newest, seen = 0;
        const struct snapshot *newer = NULL;
        for (struct snapshot *sn = NULL; (sn = snapshots_next(c, sn)) != NULL; newer = sn) {
            if (!is_loose(sn) || ++seen <= dense)
                continue;
            /* The cost of dropping it: the distance from its older to its newer neighbour; for the oldest, to
             * the beginning. Of equal ones the oldest goes. */
            const struct snapshot *older = snapshots_next(c, sn);
            uint64_t gap = (newer == NULL ? sn->evaluation : newer->evaluation) -
                           (older == NULL ? 0 : older->evaluation);
            if (gap <= least) {
                least = gap;
                victim = sn;
            }
        }
        if (victim == NULL)
            return;
        snapshot_drop(victim, FACT_THINNED);
    }
}

void snapshots_leave_after(struct snapshots *c, uint64_t evaluation)
{
    list_each(struct snapshot, sn, &c->all, node)
        if (sn->evaluation > evaluation && sn->name == NULL)
            snapshot_set_aside(sn);
}

struct snapshot *snapshots_find(const struct snapshots *c, uint64_t evaluation)
{
    struct snapshot *sn = snapshots_newest(c, evaluation);
    return sn != NULL && sn->evaluation == evaluation ? sn : NULL;
}

struct snapshot *snapshots_oldest(const struct snapshots *c, uint64_t least)
{
    struct snapshot *oldest = NULL;
    for (struct snapshot *sn = NULL; (sn = snapshots_next(c, sn)) != NULL && sn->evaluation > least;)
        oldest = sn;
    return oldest;
}

struct snapshot *snapshots_newest(const struct snapshots *c, uint64_t most)
{
    struct snapshot *sn = NULL;
    while ((sn = snapshots_next(c, sn)) != NULL && sn->evaluation > most)
        ;
    return sn;
}

struct snapshot *snapshots_named(const struct snapshots *c, const char *name)
{
    for (struct snapshot *sn = NULL; (sn = snapshots_next(c, sn)) != NULL;)
        if (sn->name != NULL && strcmp(sn->name, name) == 0)
            return sn;
    return NULL;
}

char *snapshots_names(const struct snapshots *c)
{
    struct strbuf b = {0};
    list_each(struct snapshot, sn, &c->all, node) {
        if (sn->name != NULL)
            strbuf_addf(&b, "%s%s (evaluation %llu)", b.len == 0 ? "" : ", ", sn->name,
                        (unsigned long long)sn->evaluation);
    }
    return b.len == 0 ? NULL : strbuf_steal(&b, NULL);
}
