/*
 * What a view that is opened with --read-only passes on.
 */
#ifndef VIEW_READ_ONLY_H
#define VIEW_READ_ONLY_H

#include <stdbool.h>
#include <stddef.h>

/* read_only_allows(bytes, len): it is one message that changes nothing: not a call of a tool, or a call of
 * one that only reads; and it is of the page, and does not offer an answer. What cannot be parsed is not
 * allowed. */
bool read_only_allows(const char *bytes, size_t len);

#endif
