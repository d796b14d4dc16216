/*
 * Handles of the loop on the heap. libuv needs a closed handle until the loop has run once more, so a handle
 * cannot be a member of an object that is freed at once.
 */
#ifndef PROC_LOOP_HANDLE_H
#define PROC_LOOP_HANDLE_H

#include <uv.h>

/*
 * loop_handle_timer(loop, data), loop_handle_idle(loop, data), loop_handle_poll(loop, fd, data),
 * loop_handle_try_poll(loop, fd, data):
 * Make a timer, something to do in each turn, or a watch on ${fd}, that is not started. The last returns NULL
 * if the kernel allows no more watches.
 *
 * fd        borrowed; outlives the handle
 * data      borrowed; the handle's data
 * Returns   given; loop_handle_free() closes and frees it
 */
uv_timer_t *loop_handle_timer(uv_loop_t *loop, void *data);
uv_idle_t *loop_handle_idle(uv_loop_t *loop, void *data);
uv_poll_t *loop_handle_poll(uv_loop_t *loop, int fd, void *data);
uv_poll_t *loop_handle_try_poll(uv_loop_t *loop, int fd, void *data);

/* loop_handle_free(handle): close a handle of any kind, and free it when libuv no longer needs it. Its
 * callbacks do not run after this call. NULL does nothing. */
void loop_handle_free(void *handle);

#endif
