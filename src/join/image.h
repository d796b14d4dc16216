/*
 * An image that a person runs, joined through its Swank or Slynk server: finding it, loading the agent into
 * it, and carrying a worker's messages there and back in one connection. It is never ended or copied.
 */
#ifndef JOIN_IMAGE_H
#define JOIN_IMAGE_H

#include <stdbool.h>
#include <uv.h>

#include "base/errors.h"
#include "join/image_process.h"
#include "lisp/worker.h"

struct image;

/* What is known of an image that was joined. Borrowed. */
struct image_facts {
    const char *description, *directory; /* "": not known */
    const struct image_process *process;
    const char *left; /* what became of what ran there when the connection was cut; NULL: nothing did */
};

/* Where the person is told what is done in the image: in the editor's echo area, nowhere, in a buffer. The
 * order is that of the choices of --announce. */
enum image_announces { IMAGE_ANNOUNCES, IMAGE_ANNOUNCES_NOTHING, IMAGE_ANNOUNCES_IN_BUFFER };

/* The strings are borrowed, copied. */
struct image_options {
    uv_loop_t *loop;
    const char *address;   /* as join_address_parse() takes it */
    const char *directory; /* where "auto" begins to look */
    const char *client;    /* the name of who joins it, for the person to read */
    const char *session;   /* the same of the session */
    bool sends_secret;     /* also to a listener that may be another's, at an address that was given */
    enum image_announces announces;
    struct image_process before; /* what was joined before */
    size_t lock_grace_s;         /* how long the person's program waits for a lock of an error */
    bool only_looks;             /* the agent runs nothing of the program, its print methods neither */
    struct worker_events events; /* of the worker */
    /* The agent is there: a worker in state WORKER_STARTING, whose on_ready comes next. Given. */
    void (*on_worker)(void *arg, struct worker *worker, const struct image_facts *facts);
    /* The image was not joined; the message says what to do. */
    void (*on_failed)(void *arg, const struct err *err);
    /* Joining has come to its next step, which may take a while. */
    void (*on_progress)(void *arg, const char *text);
    void *arg;
};

/*
 * image_join(options): begin to join. Exactly one of on_worker and on_failed is called, never inside this
 * call; from then on, or after image_cancel(image), ${image} must not be used. The image is left when the
 * worker is freed: the agent ends what it has begun there.
 */
struct image *image_join(const struct image_options *options);
void image_cancel(struct image *image);

#endif
