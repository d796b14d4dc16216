/*
 * Responsible for what the library does not do: a deadline that a byte now and then does not put off, and noticing the end of
 * a client whose connection is suspended.
 */
#include "http/link.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/memory.h"

struct link *link_new(uv_loop_t *loop, int descriptor)
{
    struct link *l = xcalloc(1, sizeof *l);
    l->descriptor = descriptor;
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    l->open_handles = 1;
    return l;
}

static void on_closed(uv_handle_t *handle)
{
    struct link *l = handle->data;
    if (--l->open_handles == 0)
        free(l);
}

void link_free(struct link *l)
{
    if (l == NULL)
        return;
    link_unwatch(l);
    if (l->has_watch)
        uv_close((uv_handle_t *)&l->watch, on_closed);
    uv_close((uv_handle_t *)&l->timer, on_closed);
}

static void on_deadline(uv_timer_t *timer)
{
    struct link *l = timer->data;
    log_info("http: a client took too long with its request");
    shutdown(l->descriptor, SHUT_RDWR);
}

void link_expect(struct link *l, uint64_t ms)
{
    if (ms == 0)
        uv_timer_stop(&l->timer);
    else
        uv_timer_start(&l->timer, on_deadline, ms, 0);
}

static void on_watch(uv_poll_t *watch, int status, int events)
{
    (void)status;
    (void)events;
    struct link *l = watch->data;
    void (*on_gone)(void *arg) = l->on_gone;
    link_unwatch(l);
    if (on_gone != NULL)
        on_gone(l->arg);
}

void link_watch(struct link *l, void (*on_gone)(void *arg), void *arg)
{
    if (!l->has_watch) {
        /* The library has taken its own registration of the descriptor back before we are called. */
        if (uv_poll_init(l->timer.loop, &l->watch, l->descriptor) != 0)
            return;
        l->watch.data = l;
        l->has_watch = true;
        l->open_handles++;
    }
    l->on_gone = on_gone;
    l->arg = arg;
    uv_poll_start(&l->watch, UV_DISCONNECT, on_watch);
}

void link_unwatch(struct link *l)
{
    l->on_gone = NULL;
    if (l->has_watch)
        uv_poll_stop(&l->watch);
}
