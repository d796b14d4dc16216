/*
 * What browsers ask the view for: a file of the page, to be told of servers as long as a tab is open, or to
 * pass a message on to a server.
 */
#ifndef VIEW_VISITOR_H
#define VIEW_VISITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/errors.h"
#include "base/list.h"
#include "base/random.h"
#include "http/checks.h"
#include "http/exchange.h"
#include "http/principals.h"

struct daemon;
struct listener;
struct servers;

/* The caller sets the members up to ${arg}; visitors_init() sets the rest. */
struct visitors {
    uv_loop_t *loop;
    struct servers *servers;
    bool is_read_only;          /* only messages that change nothing are passed on */
    void (*on_tabs)(void *arg); /* the first tab has come, or the last one has gone */
    void *arg;
    size_t tabs;
    char port[8];                       /* where it listens */
    char key[RANDOM_SECRET_DIGITS + 1]; /* of the link; admits one browser */
    bool is_key_used;
    char cookie_name[40], cookie[RANDOM_SECRET_DIGITS + 1]; /* what that browser gets */
    char set_cookie[200];
    struct mhd mhd;
    struct daemon *daemon;
    struct principals nobody; /* the checks look for its options */
    struct principal person;
    char no_name[1]; /* the person's */
    struct check_rules rules;
    struct exchange_events events;
};

/* visitors_init(all, listener, err): serve at ${listener}, which is taken. False with ${err} set.
 * visitors_fini(all): close all connections. */
bool visitors_init(struct visitors *all, struct listener *listener, struct err *err);
void visitors_fini(struct visitors *all);

/* visitors_tell(all): send the list of servers to each tab. visitors_keep_alive(all): send each a comment. */
void visitors_tell(struct visitors *all);
void visitors_keep_alive(struct visitors *all);

#endif
