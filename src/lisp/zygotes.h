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

/* zygotes_own(zs): the one of the server's own kind, which serves for everything but copies.
 * zygotes_find(zs, kind): the one of that kind; NULL if there is none. Both are borrowed.
 * zygotes_are_absent(zs): no zygote runs. */
struct zygote *zygotes_own(const struct zygotes *zs);
const struct zygote *zygotes_find(const struct zygotes *zs, const struct zygote_kind *kind);
bool zygotes_are_absent(const struct zygotes *zs);

/* zygotes_fork(zs, request), zygote_fork_cancel(request): as zygote_fork(), with a zygote of the request's
 * kind. */
void zygotes_fork(struct zygotes *zs, struct zygote_request *request);

/* zygotes_children(zs): the children among which all Lisps are; borrowed. */
struct children *zygotes_children(const struct zygotes *zs);

/* zygotes_lisp(zs): "SBCL 2.2.9.debian" once known, else "". */
const char *zygotes_lisp(const struct zygotes *zs);

/* zygotes_count(zs): the number of zygotes. */
size_t zygotes_count(const struct zygotes *zs);

#endif
