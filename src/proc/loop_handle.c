/*
 * Responsible for making and freeing handles of the loop on the heap.
 */
#include "proc/loop_handle.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/memory.h"

uv_timer_t *loop_handle_timer(uv_loop_t *loop, void *data)
{
    uv_timer_t *timer = xcalloc(1, sizeof *timer);
    CHECK(uv_timer_init(loop, timer) == 0);
    timer->data = data;
    return timer;
}

uv_idle_t *loop_handle_idle(uv_loop_t *loop, void *data)
{
    uv_idle_t *idle = xcalloc(1, sizeof *idle);
    CHECK(uv_idle_init(loop, idle) == 0);
    idle->data = data;
    return idle;
}

uv_poll_t *loop_handle_try_poll(uv_loop_t *loop, int fd, void *data)
{
    uv_poll_t *poll = xcalloc(1, sizeof *poll);
    poll->data = data;
    if (uv_poll_init(loop, poll, fd) == 0)
        return poll;
    free(poll);
    return NULL;
}

uv_poll_t *loop_handle_poll(uv_loop_t *loop, int fd, void *data)
{
    uv_poll_t *poll = loop_handle_try_poll(loop, fd, data);
    CHECK(poll != NULL);
    return poll;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void loop_handle_free(void *handle)
{
    if (handle != NULL)
        uv_close(handle, on_closed);
}
