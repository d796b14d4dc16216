/*
 * Sessions on disk: an image of the Lisp and a description beside it.
 *
 * A save is valid through its description, NAME.json, which contains the name of the image file, its size, a
 * hash of both its ends, and the SBCL that wrote it. The image is synced first; then the description is
 * written under a temporary name, synced and renamed. So the disk always has a complete save, the new one or
 * the one before it. A mismatch is reported and never yields a wrong session.
 */
#ifndef SESSION_STORE_SAVED_H
#define SESSION_STORE_SAVED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <uv.h>

#include "base/errors.h"
#include "session/store/saved_description.h"

struct journal;
struct saved_store;
struct strbuf;

/* saved_store_new(directory, given_len, loop): no link is followed after the first ${given_len} characters,
 * which the user has named. The directory is created by the first save. saved_store_free(store).
 * saved_store_directory(store): borrowed. */
struct saved_store *saved_store_new(const char *directory, size_t given_len, uv_loop_t *loop);
void saved_store_free(struct saved_store *store);
const char *saved_store_directory(const struct saved_store *store);

/* saved_unique_suffix(out): the end of a file's name that no other file of any server has:
 * "-TIME-PID-RANDOM.core". */
#define SAVED_SUFFIX 72
void saved_unique_suffix(char out[SAVED_SUFFIX]);

/* saved_prepare(store, name, err): a path under which the image of ${name} may be written now; given. */
char *saved_prepare(struct saved_store *store, const char *name, struct err *err);

/*
 * saved_commit(store, name, image, description, holder, done, arg):
 * Make the image at that path the saved state of ${name}: sync it, write the description, drop the old image.
 * Runs in a thread of libuv's pool, since syncing takes time.
 *
 * description taken: as from saved_description_write()
 * holder      borrowed, copied: the lease of ${name} must still be theirs, as lease_is_held(); NULL: there is
 *             no lease
 * done        called once from the loop; ${size} in bytes, ${err} NULL on success. Not called after
 *             saved_store_free()
 */
typedef void saved_done(void *arg, uint64_t size, const struct err *err);
void saved_commit(struct saved_store *store, const char *name, const char *image, json_t *description,
                  const char *holder, saved_done *done, void *arg);

/*
 * saved_find(store, name, lisp, s, journal, err):
 * Read and check the description of ${name}.
 *
 * lisp        the Lisp that would run it, as zygotes_lisp(); "" if not known yet: it is not checked then
 * s           out: call saved_fini() if true was returned
 * journal     out: the saved history is added to it; may be NULL
 * Errors      ERR_NOT_FOUND: there is no such save; ERR_INVALID: it is incomplete, foreign, or another Lisp's
 */
bool saved_find(struct saved_store *store, const char *name, const char *lisp, struct saved *s,
                struct journal *journal, struct err *err);
void saved_fini(struct saved *s);

/*
 * saved_announce(store, name): tell other servers with the same directory that this one will write a save of
 * that name. The next commit of that name, or its failure, ends the announcement; so does
 * saved_withdraw(store, name). saved_is_announced(store, name): another server has announced it, recently
 * enough that it may still be alive.
 */
void saved_announce(struct saved_store *store, const char *name);
void saved_withdraw(struct saved_store *store, const char *name);
bool saved_is_announced(const struct saved_store *store, const char *name);

/*
 * saved_note_loss(store, name, text): keep ${text} for the next user of a session of that name: the session
 * ended without being saved. saved_take_loss(store, name, text): add that text, if there is one, and remove
 * it; false if there is none.
 */
void saved_note_loss(struct saved_store *store, const char *name, const char *text);
bool saved_take_loss(const struct saved_store *store, const char *name, struct strbuf *text);

/* saved_remove(store, name): the save and its image, if there are any. */
void saved_remove(struct saved_store *store, const char *name);

/*
 * saved_list(store, is_meant): the saves whose names ${is_meant} accepts, the newest first; free() ${items}.
 * It blocks while it reads the directory.
 */
struct saved_name {
    char name[NAME_MAX + 1];
    struct timespec when; /* it was saved */
};

struct saved_names {
    struct saved_name *items;
    size_t count;
};

struct saved_names saved_list(const struct saved_store *store, bool (*is_meant)(const char *name));

/*
 * saved_trim(store, is_meant, most, most_age_s):
 * Of the saves whose names ${is_meant} accepts, remove those older than ${most_age_s} seconds, and the oldest
 * if there are more than ${most}; log how many. It blocks while it reads the directory, so call it only when
 * the server exits.
 */
void saved_trim(struct saved_store *store, bool (*is_meant)(const char *name), size_t most,
                int64_t most_age_s);

/* saved_exists(store, name): is there a description of that name? */
bool saved_exists(const struct saved_store *store, const char *name);

#endif
