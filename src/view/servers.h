/*
 * The servers of this user that run, found by the files in the runtime directories. One that has ended stays
 * listed.
 */
#ifndef VIEW_SERVERS_H
#define VIEW_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct servers;
struct strbuf;

/* servers_new(loop, on_change, arg): look for them, and call ${on_change} from the loop when the list has
 * changed. servers_free(all). */
struct servers *servers_new(uv_loop_t *loop, void (*on_change)(void *arg), void *arg);
void servers_free(struct servers *all);

/* servers_count(all): those that have not ended. servers_write(all, out): append the list as a JSON array. */
size_t servers_count(const struct servers *all);
void servers_write(const struct servers *all, struct strbuf *out);

/* servers_connect(all, id, len): a descriptor, given, that is connected to the server with that id and does
 * not block; -1 if there is none, or it has ended. */
int servers_connect(const struct servers *all, const char *id, size_t len);

#endif
