/*
 * One zygote per kind, and only a few at a time.
 */
#include "lisp/zygotes.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "lisp/confinement.h"
#include "proc/child.h"
#include "proc/loop_handle.h"

#define MOST_ZYGOTES 4
#define UNUSED_MS 300000 /* a zygote of another than the server's own kind ends after this */

struct place {
    struct zygote *zygote; /* NULL: the slot is free */
    struct zygote_kind kind;
    uint64_t used_at; /* loop time in ms */
};

struct zygotes {
    uv_loop_t *loop;
    struct children *children;
    struct zygote_options options;
    struct place all[MOST_ZYGOTES]; /* the first is of the server's own kind */
    struct list waiting;            /* of struct zygote_request that wait for a slot */
    uv_timer_t *rest;               /* a zygote is idle and a request waits for a slot */
    uv_timer_t *unused;
};

static bool is_same(const struct zygote_kind *a, const struct zygote_kind *b)
{
    return a->heap_mib == b->heap_mib && a->confinement == b->confinement;
}

static struct place *find(const struct zygotes *zs, const struct zygote_kind *kind)
{
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        if (zs->all[i].zygote != NULL && is_same(&zs->all[i].kind, kind))
            return (struct place *)(uintptr_t)&zs->all[i];
    return NULL;
}

static void end(struct place *place)
{
    log_info("ending the zygote with a heap of %d MiB and sandbox %s", place->kind.heap_mib,
             confinement_mode(place->kind.confinement));
    zygote_free(place->zygote);
    *place = (struct place){0};
}

/* Called from inside the zygote, which must not be freed there. */
static void on_rest(void *arg);

static void begin(struct zygotes *zs, struct place *place, const struct zygote_kind *kind)
{
    struct zygote_options options = zs->options;
    options.kind = *kind;
    /* Its Lisps may be unable to read the server's, in which the preloaded systems would be found. */
    if (confinement_directory(kind->confinement) != NULL)
        options.directory = confinement_directory(kind->confinement);
    options.on_rest = on_rest;
    options.arg = zs;
    *place = (struct place){.zygote = zygote_new(zs->loop, zs->children, &options), .kind = *kind};
}

/* All use one core: while one zygote builds it, the others wait. */
static bool is_building(const struct zygotes *zs)
{
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        if (zs->all[i].zygote != NULL && zygote_is_building(zs->all[i].zygote))
            return true;
    return false;
}

/* A slot for another kind: a free one, or that of the idle zygote that was used longest ago; NULL if
 * all are busy. */
static struct place *make_room(struct zygotes *zs)
{
    if (is_building(zs))
        return NULL;
    struct place *oldest = NULL;
    for (size_t i = 1; i < MOST_ZYGOTES; i++) {
        struct place *place = &zs->all[i];
        if (place->zygote == NULL)
            return place;
        if (zygote_is_idle(place->zygote) && (oldest == NULL || place->used_at < oldest->used_at))
            oldest = place;
    }
    if (oldest != NULL)
        end(oldest);
    return oldest;
}

static void on_unused(uv_timer_t *timer)
{
    struct zygotes *zs = timer->data;
    uint64_t now = uv_now(zs->loop);
    for (size_t i = 1; i < MOST_ZYGOTES; i++)
        if (zs->all[i].zygote != NULL && now - zs->all[i].used_at >= UNUSED_MS &&
            zygote_is_idle(zs->all[i].zygote))
            end(&zs->all[i]);
        else if (zs->all[i].zygote != NULL && !uv_is_active((uv_handle_t *)timer))
            uv_timer_start(timer, on_unused, UNUSED_MS, 0);
}

/* False if there is no slot for it now. */
static bool fork_now(struct zygotes *zs, struct zygote_request *request)
{
    struct place *place = find(zs, &request->kind);
    if (place == NULL) {
        place = make_room(zs);
        if (place == NULL)
            return false;
        begin(zs, place, &request->kind);
        uv_timer_start(zs->unused, on_unused, UNUSED_MS, 0);
    }
    place->used_at = uv_now(zs->loop);
    zygote_fork(place->zygote, request);
    return true;
}

/* By now the first waiting request may be another one, or gone. */
static void on_room(uv_timer_t *timer)
{
    struct zygotes *zs = timer->data;
    while (!list_is_empty(&zs->waiting)) {
        struct zygote_request *request = list_entry(zs->waiting.next, struct zygote_request, node);
        list_remove(&request->node);
        if (fork_now(zs, request))
            continue;
        list_append(zs->waiting.next, &request->node); /* before the first: it keeps its turn */
        return;
    }
}

static void on_rest(void *arg)
{
    struct zygotes *zs = arg;
    if (!list_is_empty(&zs->waiting))
        uv_timer_start(zs->rest, on_room, 0, 0);
}

void zygotes_fork(struct zygotes *zs, struct zygote_request *request)
{
    list_init(&request->node);
    if (!fork_now(zs, request))
        list_append(&zs->waiting, &request->node);
}

struct worker *zygotes_start_image(struct zygotes *zs, const struct zygote_kind *kind, struct quota *quota,
                                   const char *image, const char *directory,
                                   const struct worker_events *events, struct err *err)
{
    return zygote_start_image(zs->all[0].zygote, kind, quota, image, directory, events, err);
}

struct children *zygotes_children(const struct zygotes *zs)
{
    return zs->children;
}

void zygotes_configure_request(const struct zygotes *zs, bool says_directory, const char *directory,
                               struct strbuf *out)
{
    zygote_configure_request(zs->all[0].zygote, says_directory, directory, out);
}

void zygotes_disown(struct zygotes *zs, const struct worker *worker)
{
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        if (zs->all[i].zygote != NULL)
            zygote_disown(zs->all[i].zygote, worker);
}

void zygotes_warm(struct zygotes *zs)
{
    zygote_warm(zs->all[0].zygote);
}

bool zygotes_are_absent(const struct zygotes *zs)
{
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        if (zs->all[i].zygote != NULL && !zygote_is_absent(zs->all[i].zygote))
            return false;
    return true;
}

const char *zygotes_notices(const struct zygotes *zs, const struct zygote_kind *kind)
{
    const struct place *place = find(zs, kind);
    return place == NULL ? "" : zygote_notices(place->zygote);
}

const char *zygotes_why(const struct zygotes *zs, const struct zygote_kind *kind)
{
    const struct place *place = find(zs, kind);
    return place == NULL ? "" : zygote_why(place->zygote);
}

/* They all run the same program. */
const char *zygotes_lisp(const struct zygotes *zs)
{
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        if (zs->all[i].zygote != NULL && zygote_lisp(zs->all[i].zygote)[0] != '\0')
            return zygote_lisp(zs->all[i].zygote);
    return "";
}

size_t zygotes_count(const struct zygotes *zs)
{
    size_t n = 0;
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        n += zs->all[i].zygote != NULL;
    return n;
}

struct zygotes *zygotes_new(uv_loop_t *loop, struct children *children, const struct zygote_options *options)
{
    struct zygotes *zs = xcalloc(1, sizeof *zs);
    zs->loop = loop;
    zs->children = children;
    zs->options = *options;
    children_expect(children, options->environment_mark);
    list_init(&zs->waiting);
    zs->rest = loop_handle_timer(loop, zs);
    zs->unused = loop_handle_timer(loop, zs);
    begin(zs, &zs->all[0], &options->kind);
    return zs;
}

void zygotes_free(struct zygotes *zs)
{
    if (zs == NULL)
        return;
    while (!list_is_empty(&zs->waiting))
        list_remove(zs->waiting.next);
    for (size_t i = 0; i < MOST_ZYGOTES; i++)
        zygote_free(zs->all[i].zygote);
    loop_handle_free(zs->rest);
    loop_handle_free(zs->unused);
    free(zs);
}
