/*
 * Responsible for what the library lacks: deadlines that an occasional byte does not extend, and
 * noticing at any time that a client has gone. The library ignores a suspended connection. When it
 * reads, it reads once: if the end of the stream arrives with the last bytes, the library takes the bytes and
 * then waits for an event that has already happened. The link repeats that event.
 */
#include "http/link.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/memory.h"
#include "http/slots.h"
#include "proc/loop_handle.h"

/* How often the end is repeated, and the delay before each time: the library reads one buffer of the
 * preceding bytes each time. */
#define REMINDERS 100
#define REMINDER_MS 5

struct link {
    int descriptor;
    bool is_expecting;
    struct slot slot;
    bool has_ended; /* the client has closed its side */
    unsigned reminders;
    uv_timer_t *timer;
    uv_poll_t *watch; /* NULL: the kernel allows no more */
    void (*on_gone)(void *arg);
    void *arg;
    void (*on_end)(void *arg);
    void *end_arg;
};

static void on_watch(uv_poll_t *watch, int status, int events);

struct link *link_new(uv_loop_t *loop, int descriptor, struct slots *slots, const struct sockaddr *address)
{
    struct link *l = xcalloc(1, sizeof *l);
    l->descriptor = descriptor;
    slot_take(&l->slot, slots, descriptor, address);
    l->timer = loop_handle_timer(loop, l);
    /* The library watches the descriptor with its own epoll instance, which this does not disturb. */
    l->watch = loop_handle_try_poll(loop, descriptor, l);
    if (l->watch != NULL)
        uv_poll_start(l->watch, UV_DISCONNECT, on_watch);
    return l;
}

struct slot *link_slot(struct link *l)
{
    return &l->slot;
}

void link_free(struct link *l)
{
    if (l == NULL)
        return;
    if (l->on_end != NULL)
        l->on_end(l->end_arg);
    slot_leave(&l->slot);
    loop_handle_free(l->watch);
    loop_handle_free(l->timer);
    free(l);
}

static void say_gone(struct link *l)
{
    void (*on_gone)(void *arg) = l->on_gone;
    l->on_gone = NULL;
    on_gone(l->arg);
}

static void on_timer(uv_timer_t *timer)
{
    struct link *l = timer->data;
    if (l->on_gone != NULL && l->has_ended) {
        say_gone(l);
    } else if (l->is_expecting && l->has_ended && l->reminders < REMINDERS) {
        l->reminders++;
        shutdown(l->descriptor, SHUT_RD);
        uv_timer_start(l->timer, on_timer, REMINDER_MS, 0);
    } else if (l->is_expecting) {
        log_info("http: a client took too long with its request");
        shutdown(l->descriptor, SHUT_RDWR);
    }
}

/* A stream that has ended stays ended, so one report is enough. */
static void on_watch(uv_poll_t *watch, int status, int events)
{
    struct link *l = watch->data;
    l->has_ended = true;
    uv_poll_stop(l->watch);
    if (l->on_gone != NULL)
        say_gone(l);
    else if (l->is_expecting)
        uv_timer_start(l->timer, on_timer, 0, 0);
}

void link_expect(struct link *l, uint64_t ms)
{
    l->is_expecting = ms > 0;
    if (ms == 0)
        uv_timer_stop(l->timer);
    else
        uv_timer_start(l->timer, on_timer, l->has_ended ? 0 : ms, 0);
}

void link_watch(struct link *l, void (*on_gone)(void *arg), void *arg)
{
    l->on_gone = on_gone;
    l->arg = arg;
    if (l->has_ended)
        uv_timer_start(l->timer, on_timer, 0, 0);
}

void link_unwatch(struct link *l)
{
    l->on_gone = NULL;
}

void link_at_end(struct link *l, void (*on_end)(void *arg), void *arg)
{
    l->on_end = on_end;
    l->end_arg = arg;
}
