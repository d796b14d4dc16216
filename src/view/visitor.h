/*
 * The connections of browsers to the view: each brings one request. It is a file of the page, a tab that
 * stays to be told of servers, or a message that is passed on to a server.
 */
#ifndef VIEW_VISITOR_H
#define VIEW_VISITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/list.h"
#include "base/random.h"

struct servers;

/* What all connections share. The caller sets all but the counts and the list, which visitors_init() sets. */
struct visitors {
    uv_loop_t *loop;
    struct servers *servers;
    bool is_read_only;                  /* only messages that change nothing are passed on */
    char port[8];                       /* where it listens */
    char key[RANDOM_SECRET_DIGITS + 1]; /* of the link; admits one browser */
    bool is_key_used;
    char cookie_name[40], cookie[RANDOM_SECRET_DIGITS + 1]; /* what that browser gets */
    void (*on_tabs)(void *arg); /* the first tab has come, or the last one has gone */
    void *arg;
    struct list list;
    size_t count, tabs;
};

/* visitors_init(all): nobody is there. visitors_accept(all, listening): somebody has connected. */
void visitors_init(struct visitors *all);
void visitors_accept(struct visitors *all, uv_stream_t *listening);

/* visitors_tell(all): send the list of servers to each tab. visitors_keep_alive(all): send each a comment.
 * visitors_end(all): close all connections. */
void visitors_tell(struct visitors *all);
void visitors_keep_alive(struct visitors *all);
void visitors_end(struct visitors *all);

#endif
