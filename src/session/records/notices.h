/*
 * What the next reply of a session must report.
 */
#ifndef SESSION_RECORDS_NOTICES_H
#define SESSION_RECORDS_NOTICES_H

#include <stdbool.h>
#include <stddef.h>

#include "session/records/facts.h"

struct notices {
    struct fact *facts; /* the oldest first, with texts of their own */
    size_t count, bytes;
    bool is_held; /* the reader is not the one they are for: the first ${held} stay */
    size_t held;
    bool is_full; /* one did not fit: none is added until they are cleared */
};

/* notices_add(n, fact): a copy of it, up to 64 KiB in all. notices_addf(n, format, ...): a FACT_TEXT. */
void notices_add(struct notices *n, const struct fact *fact);
void notices_addf(struct notices *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* notices_have(n, kind): is there one of that kind? notices_remove(n, kind, number): those of that kind with
 * that number. notices_clear(n): all of them, except those that are held. */
bool notices_have(const struct notices *n, enum fact_kind kind);
void notices_remove(struct notices *n, enum fact_kind kind, uint64_t number);
void notices_clear(struct notices *n);

/* notices_hold(n, is_held): from now on, notices_clear() leaves those that are there; until it is called
 * again with false. */
void notices_hold(struct notices *n, bool is_held);

#endif
