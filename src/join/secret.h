/*
 * The secret that a Swank or Slynk server may demand: the first line of a file in the home directory, as
 * SLIME and SLY read it.
 */
#ifndef JOIN_SECRET_H
#define JOIN_SECRET_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

/* join_secret(n, secret, path): the n-th that may be tried, from 0, and the path of its file, into buffers
 * that are empty. False if there are not so many: they stay empty. */
bool join_secret(size_t n, struct strbuf *secret, struct strbuf *path);

#endif
