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
#include "http/listener.h"
#include "http/principals.h"

struct daemon;
struct servers;

#define VISITORS_LISTENERS 2

/* The caller sets the members up to ${arg}; visitors_init() sets the rest. */
struct visitors {
    uv_loop_t *loop;
    struct servers *servers;
    bool is_read_only;              /* only messages that change nothing are passed on */
    void (*on_tabs)(void *arg);     /* the first tab has come, or the last one has gone */
    void (*on_admitted)(void *arg); /* the key has been used */
    void *arg;
    size_t tabs;
    char host[RANDOM_SECRET_DIGITS + 20]; /* RANDOM.localhost:PORT, the only Host that is served */
    char key[RANDOM_SECRET_DIGITS + 1];   /* of the link; exchanged for the secret, once */
    bool is_key_used;
    char secret[RANDOM_SECRET_DIGITS + 1]; /* what the page sends with each request */
    struct mhd mhd;
    struct daemon *daemons[VISITORS_LISTENERS];
    struct principals nobody; /* the checks look for its options */
    struct principal person;
    char no_name[1]; /* the person's */
    struct check_rules rules;
    struct exchange_events events;
};

/* visitors_init(all, listeners, err): serve at each of these, of one port; they are taken; the descriptor is
 * -1 if one is not there. False with ${err} set. visitors_fini(all): close all connections. */
bool visitors_init(struct visitors *all, struct listener listeners[VISITORS_LISTENERS], struct err *err);
void visitors_fini(struct visitors *all);

/* visitors_tell(all): send the list of servers to each tab. visitors_keep_alive(all): send each a comment. */
void visitors_tell(struct visitors *all);
void visitors_keep_alive(struct visitors *all);

#endif
