/*
 * One zygote per kind. All build and use one core.
 */
#include "lisp/zygotes.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "lisp/confinement.h"
#include "proc/child.h"
#include "proc/loop_handle.h"

#define MOST_ZYGOTES 4   /* if the others are idle */
#define UNUSED_MS 300000 /* a zygote of another than the server's own kind ends after this */

struct place {
    struct list node;
    struct zygote *zygote;
    struct zygote_kind kind;
    uint64_t used_at; /* loop time in ms */
};

struct zygotes {
    uv_loop_t *loop;
    struct children *children;
    struct zygote_options options;
    struct list all;   /* of struct place; the one used last is at the end */
    struct place *own; /* of the server's own kind */
    uv_timer_t *unused;
};

static struct place *find(const struct zygotes *zs, const struct zygote_kind *kind)
{
    list_each(struct place, place, &zs->all, node)
        if (place->kind.heap_mib == kind->heap_mib && place->kind.confinement == kind->confinement)
            return place;
    return NULL;
}

static void end(struct place *place)
{
    log_info("ending the zygote with a heap of %d MiB and sandbox %s", place->kind.heap_mib,
             confinement_mode(place->kind.confinement));
    list_remove(&place->node);
    zygote_free(place->zygote);
    free(place);
}

static struct place *begin(struct zygotes *zs, const struct zygote_kind *kind)
{
    struct zygote_options options = zs->options;
    struct place *place = xcalloc(1, sizeof *place);
    options.kind = place->kind = *kind;
    /* Its Lisps may be unable to read the server's, in which the preloaded systems would be found. */
    if (confinement_directory(kind->confinement) != NULL)
        options.directory = confinement_directory(kind->confinement);
    place->zygote = zygote_new(zs->loop, zs->children, &options);
    list_init(&place->node);
    list_append(&zs->all, &place->node);
    return place;
}

/* Make room for another kind, unless all are busy. */
static void end_oldest(struct zygotes *zs)
{
    list_each(struct place, place, &zs->all, node)
        if (list_count(&zs->all) >= MOST_ZYGOTES && place != zs->own && zygote_is_idle(place->zygote))
            end(place);
}

static void on_unused(uv_timer_t *timer)
{
    struct zygotes *zs = timer->data;
    list_each(struct place, place, &zs->all, node)
        if (place != zs->own && uv_now(zs->loop) - place->used_at >= UNUSED_MS &&
            zygote_is_idle(place->zygote))
            end(place);
    if (list_count(&zs->all) > 1)
        uv_timer_start(timer, on_unused, UNUSED_MS, 0);
}

void zygotes_fork(struct zygotes *zs, struct zygote_request *request)
{
    struct place *place = find(zs, &request->kind);
    if (place == NULL) {
        end_oldest(zs);
        place = begin(zs, &request->kind);
        if (!uv_is_active((uv_handle_t *)zs->unused))
            uv_timer_start(zs->unused, on_unused, UNUSED_MS, 0);
    }
    list_remove(&place->node);
    list_append(&zs->all, &place->node);
    place->used_at = uv_now(zs->loop);
    zygote_fork(place->zygote, request);
}

struct zygote *zygotes_own(const struct zygotes *zs)
{
    return zs->own->zygote;
}

const struct zygote *zygotes_find(const struct zygotes *zs, const struct zygote_kind *kind)
{
    const struct place *place = find(zs, kind);
    return place == NULL ? NULL : place->zygote;
}

struct children *zygotes_children(const struct zygotes *zs)
{
    return zs->children;
}

bool zygotes_are_absent(const struct zygotes *zs)
{
    list_each(struct place, place, &zs->all, node)
        if (!zygote_is_absent(place->zygote))
            return false;
    return true;
}

/* They all run the same program. */
const char *zygotes_lisp(const struct zygotes *zs)
{
    list_each(struct place, place, &zs->all, node)
        if (zygote_lisp(place->zygote)[0] != '\0')
            return zygote_lisp(place->zygote);
    return "";
}

size_t zygotes_count(const struct zygotes *zs)
{
    return list_count(&zs->all);
}

struct zygotes *zygotes_new(uv_loop_t *loop, struct children *children, const struct zygote_options *options)
{
    struct zygotes *zs = xcalloc(1, sizeof *zs);
    zs->loop = loop;
    zs->children = children;
    zs->options = *options;
    children_expect(children, options->environment_mark);
    list_init(&zs->all);
    zs->unused = loop_handle_timer(loop, zs);
    zs->own = begin(zs, &options->kind);
    return zs;
}

void zygotes_free(struct zygotes *zs)
{
    if (zs == NULL)
        return;
    list_each(struct place, place, &zs->all, node) {
        zygote_free(place->zygote);
        free(place);
    }
    loop_handle_free(zs->unused);
    free(zs);
}
