/*
 * The sessions of one owner, by name. The owner is whoever may see them: the client on standard input and
 * output, or one principal over HTTP. A session in one collection cannot be found through another.
 */
#ifndef SESSION_SESSIONS_H
#define SESSION_SESSIONS_H

#include <stddef.h>

#include "base/errors.h"
#include "session/core/news.h"

struct saved_store;
struct session;
struct session_host;
struct sessions;

struct sessions_options {
    const char *owner;         /* borrowed, copied: for logs and metrics; NULL: no name */
    struct saved_store *store; /* borrowed, outlives it: for saves; NULL: sessions cannot be saved */
    size_t most_sessions;      /* 0: as many as the host may have */
    size_t most_processes;     /* of its sessions, copies included; 0: as many as the host may have */
};

/* sessions_new(host, options): ${host} outlives it. sessions_free(all): closes them all. */
struct sessions *sessions_new(struct session_host *host, const struct sessions_options *options);
void sessions_free(struct sessions *all);

/* sessions_find(all, name): borrowed; NULL if there is none of that name. */
struct session *sessions_find(const struct sessions *all, const char *name);

/*
 * sessions_create(all, name, err):
 * Create a session; its process is started when it is first used.
 *
 * name        borrowed; NULL generates one ("s1", ...)
 * Returns     borrowed, until sessions_close(); NULL with ${err} set
 * Errors      ERR_INVALID: a name has 1 to 64 characters from A-Z a-z 0-9 . _ -; ERR_BUSY: it exists;
 *             ERR_LIMIT: there are too many, of this owner or in all; also those of lease_take()
 */
struct session *sessions_create(struct sessions *all, const char *name, struct err *err);

/* sessions_is_name(name): may a session, or a save, have that name? */
bool sessions_is_name(const char *name);

/* sessions_close(s): its operations end with OUTCOME_UNAVAILABLE, its process is killed with all that it
 * started. sessions_close_later(s): the same from the loop; for use while one of its outcomes is being
 * delivered. Until then it is no longer found or listed. */
void sessions_close(struct session *s);
void sessions_close_later(struct session *s);

/* sessions_are_elsewhere(all, name, err): whether another server has the session of that name, which this one
 * does not have; then ${err} says so. */
bool sessions_are_elsewhere(const struct sessions *all, const char *name, struct err *err);

/* sessions_confirm(s, err): whether ${s} is still this server's; if not, it is closed soon. Ask before it is
 * used. sessions_give_up(s): another server may have it from now on: this one has saved it, and ends. */
bool sessions_confirm(struct session *s, struct err *err);
void sessions_give_up(struct session *s);

/* sessions_first(all), sessions_next(s): in the order of their creation; NULL at the end.
 * sessions_count(all). */
struct session *sessions_first(const struct sessions *all);
struct session *sessions_next(const struct session *s);
size_t sessions_count(const struct sessions *all);

/* sessions_watch(all, w): notify ${w}, which is borrowed until sessions_unwatch(w) or sessions_free(all). */
void sessions_watch(struct sessions *all, struct sessions_watcher *w);
void sessions_unwatch(struct sessions_watcher *w);

/* sessions_tell_events(s): notify the watchers of SESSIONS_EVENTS. */
void sessions_tell_events(struct session *s);

#endif
