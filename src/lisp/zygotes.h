/*
 * The zygotes, one for each kind of Lisp that sessions request: a copy has the heap size and the sandbox of
 * its original. The one of the server's own kind stays; others end when there are many, or when they have
 * been idle for a while.
 */
#ifndef LISP_ZYGOTES_H
#define LISP_ZYGOTES_H

#include "lisp/zygote.h"

struct zygotes;

/* zygotes_new(loop, children, options): as zygote_new(); ${options->kind} is the server's own.
 * zygotes_free(zs): end them all. */
struct zygotes *zygotes_new(uv_loop_t *loop, struct children *children, const struct zygote_options *options);
void zygotes_free(struct zygotes *zs);

/* zygotes_warm(zs): start the one of the server's own kind now. zygotes_are_absent(zs): no zygote runs. */
void zygotes_warm(struct zygotes *zs);
bool zygotes_are_absent(const struct zygotes *zs);

/* zygotes_fork(zs, request), zygote_fork_cancel(request): as zygote_fork(), with a zygote of the request's
 * kind. */
void zygotes_fork(struct zygotes *zs, struct zygote_request *request);

/* zygotes_start_image(zs, kind, quota, image, directory, events, err): as zygote_start_image().
 * zygotes_configure_request(zs, says_directory, directory, out): as for a single zygote. */
struct worker *zygotes_start_image(struct zygotes *zs, const struct zygote_kind *kind, struct quota *quota,
                                   const char *image, const char *directory,
                                   const struct worker_events *events, struct err *err);

/* zygotes_children(zs): the children among which all Lisps are; borrowed. */
struct children *zygotes_children(const struct zygotes *zs);
void zygotes_configure_request(const struct zygotes *zs, bool says_directory, const char *directory,
                               struct strbuf *out);

/* zygotes_notices(zs, kind), zygotes_why(zs, kind): of the zygote of that kind; borrowed, "" if there is
 * none. zygotes_lisp(zs): "SBCL 2.2.9.debian" once known, else "". */
const char *zygotes_notices(const struct zygotes *zs, const struct zygote_kind *kind);
const char *zygotes_why(const struct zygotes *zs, const struct zygote_kind *kind);
const char *zygotes_lisp(const struct zygotes *zs);

/* zygotes_count(zs): the number of zygotes. */
size_t zygotes_count(const struct zygotes *zs);

#endif
