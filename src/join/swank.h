/*
 * A connection to a Swank or Slynk server, in the part of their protocol that both have: it has forms
 * evaluated. What the forms mean, and how long an answer may take, is its owner's. The peer is not trusted.
 */
#ifndef JOIN_SWANK_H
#define JOIN_SWANK_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/errors.h"
#include "wire/sexp.h"

struct join_address;
struct swank;

struct swank_events {
    /* The server has accepted the connection, and was sent the secret; ${why}: it was not, NULL if it was or
     * there is none. */
    void (*on_connected)(void *arg, const struct err *why);
    /* There is no connection, or it has ended; ${why} is a sentence. Requests are no longer answered. Called
     * once. */
    void (*on_lost)(void *arg, const struct err *why);
    void *arg;
};

/*
 * A swank_done gets the answer to a request.
 *
 * value       borrowed; NULL if the evaluation was aborted
 * why         why it was aborted; NULL if it was not
 */
typedef void swank_done(void *arg, const struct sexp *value, const char *why);

/* What a server gets that may not be the user's own (listener_owner.h). */
enum swank_trust {
    SWANK_NOTHING,   /* on_lost with ERR_INVALID: the connection is closed before anything is sent */
    SWANK_NO_SECRET, /* the requests only */
    SWANK_SECRET,    /* the same as one of the user's own */
};

/*
 * swank_connect(loop, address, secret, trust, events): begin to connect. The connection may be freed in each
 * event and answer.
 *
 * secret      borrowed, copied: the first packet; NULL: none
 * Returns     given; swank_free() closes it, and no event or answer follows. The loop serves it until the
 * server has closed it, too, but not for long.
 */
struct swank *swank_connect(uv_loop_t *loop, const struct join_address *address, const char *secret,
                            enum swank_trust trust, const struct swank_events *events);
void swank_free(struct swank *c);

/*
 * swank_request(c, form, len, done, arg): have a new thread of the server evaluate that form.
 *
 * form        borrowed; Lisp text in which each symbol has its package
 * Returns     false if it is too long, or too many wait for answers: nothing was sent
 */
bool swank_request(struct swank *c, const char *form, size_t len, swank_done *done, void *arg);

/*
 * swank_answer(message, out): what has to be said to a message of the server, because a thread of it waits
 * for that: appended to ${out}, without a header.
 *
 * Returns     false if nothing has to be said
 */
bool swank_answer(const struct sexp *message, struct strbuf *out);

#endif
