/*
 * The kernel has no event for "a process has grown". So while copies exist, a timer fires once a second and
 * has the sessions measured that were used since. Measuring makes the kernel walk the page tables of each
 * process, which takes milliseconds for a large one. So a thread of libuv's pool does it, one session at a
 * time, and rests four times as long as the measurement took.
 */
#include "session/work/memory_watch.h"

#include <stdlib.h>
#include <uv.h>

#include "base/check.h"
#include "base/memory.h"
#include "proc/loop_handle.h"
#include "proc/memory.h"
#include "proc/process.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/work/look_ups.h"

#define LOOK_MS 1000
#define REST_SHARE 4    /* the rest between measurements, in multiples of the last one's duration */
#define DEFAULT_SHARE 4 /* the divisor of the machine's memory without --max-memory */

struct memory_watch {
    struct session_host *host;
    uv_timer_t *timer; /* NULL: it is being freed */
    uv_work_t work;
    bool is_measuring;
    uint64_t round;
    uint64_t most_bytes; /* for one session */

    struct session *session; /* being measured; NULL if it was closed meanwhile */
    pid_t pids[PROCESSES_MOST];
    size_t count;
    uint64_t bytes, took_ms; /* written by the thread while it measures */
};

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

static bool has_copies(const struct session *s)
{
    return !list_is_empty(&s->snapshots.all);
}

static bool is_to_be_measured(const struct memory_watch *w, const struct session *s)
{
    const struct session_footprint *f = &s->footprint;
    return has_copies(s) && f->round != w->round &&
           (!f->is_known || f->uses != s->clock.uses || s->current != NULL);
}

/* Returns the next session to measure in this round, and in ${are_copies} whether any copies exist. */
static struct session *next_session(const struct memory_watch *w, bool *are_copies)
{
    *are_copies = false;
    list_each(struct sessions, all, &w->host->owners, node) {
        list_each(struct session, s, &all->all, id.node) {
            *are_copies = *are_copies || has_copies(s);
            if (is_to_be_measured(w, s))
                return s;
        }
    }
    return NULL;
}

static void measure(uv_work_t *work)
{
    struct memory_watch *w = work->data;
    uint64_t began_ns = uv_hrtime(), bytes;
    w->bytes = 0;
    /* A process that ends meanwhile is not counted; the kernel does not reuse its pid so soon. */
    for (size_t i = 0; i < w->count; i++)
        if (process_memory(w->pids[i], &bytes))
            w->bytes += bytes;
    w->took_ms = (uv_hrtime() - began_ns) / 1000000;
}

/* Drop old states first, then the snapshots of all errors but the last. Named checkpoints stay. */
static void drop_copies(struct session *s, uint64_t bytes, uint64_t most)
{
    size_t dropped = snapshots_keep_newest(&s->snapshots), errors = 0;
    if (dropped == 0 && s->current == NULL) /* an operation may be waiting for a copy */
        errors =
            snapshots_drop_older_errors(&s->snapshots, error_history_at(&s->errors, 0), FACT_TOO_MUCH_MEMORY);
    s->footprint.is_known = false;
    if (dropped + errors == 0)
        return;
    session_notify(
        s, FACT(dropped > 0 ? FACT_MEMORY_STATES : FACT_MEMORY_ERRORS, .numbers = {bytes >> 20, most >> 20}));
}

static void look_again(struct memory_watch *w, uint64_t after_ms);

static void on_measured(uv_work_t *work, int status)
{
    struct memory_watch *w = work->data;
    struct session *s = w->session;
    w->is_measuring = false;
    w->session = NULL;
    if (s != NULL && status == 0) {
        s->footprint = (struct session_footprint){
            .bytes = w->bytes, .uses = s->clock.uses, .round = w->round, .is_known = true};
        if (w->bytes > w->most_bytes)
            drop_copies(s, w->bytes, w->most_bytes);
    }
    if (w->timer != NULL)
        look_again(w, REST_SHARE * w->took_ms);
    else
        free(w);
}

static void on_time(uv_timer_t *timer)
{
    struct memory_watch *w = timer->data;
    bool are_copies;
    struct session *s = next_session(w, &are_copies);
    if (s == NULL) {
        w->round++;
        eviction_for_memory(w->host);
        if (are_copies)
            look_again(w, LOOK_MS);
        return;
    }
    w->count = processes_list(s, w->pids, PROCESSES_MOST);
    w->session = s;
    w->is_measuring = true;
    CHECK(uv_queue_work(w->host->options.loop, &w->work, measure, on_measured) == 0);
}

static void look_again(struct memory_watch *w, uint64_t after_ms)
{
    CHECK(uv_timer_start(w->timer, on_time, after_ms, 0) == 0);
}

struct memory_watch *memory_watch_new(struct session_host *host, size_t most_mib)
{
    struct memory_watch *w = xcalloc(1, sizeof *w);
    struct memory_left left;
    w->most_bytes = (uint64_t)most_mib << 20;
    if (most_mib == 0)
        w->most_bytes = memory_read("", &left) ? left.total / DEFAULT_SHARE : UINT64_MAX;
    w->host = host;
    w->round = 1;
    w->work.data = w;
    w->timer = loop_handle_timer(host->options.loop, w);
    return w;
}

void memory_watch_free(struct memory_watch *w)
{
    w->session = NULL;
    loop_handle_free(w->timer);
    w->timer = NULL;
    if (!w->is_measuring)
        free(w);
}

uint64_t memory_watch_most(const struct memory_watch *w)
{
    return w->most_bytes;
}

void memory_watch_wake(struct memory_watch *w)
{
    if (!w->is_measuring && !uv_is_active((uv_handle_t *)w->timer))
        look_again(w, LOOK_MS);
}

void memory_watch_forget(struct memory_watch *w, const struct session *s)
{
    if (w->session == s)
        w->session = NULL;
}

bool memory_watch_bytes(const struct session *s, uint64_t *bytes)
{
    bool is_current = s->footprint.is_known && s->footprint.uses == s->clock.uses && s->current == NULL;
    if (is_current)
        *bytes = s->footprint.bytes;
    return is_current;
}
