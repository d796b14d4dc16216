/*
 * The errors of a session, newest first: which records are kept, which one is the last error, and which keep
 * their snapshots. They have a budget in number and in bytes: a program can signal an error with megabytes of
 * text.
 */
#ifndef SESSION_RECORDS_ERROR_HISTORY_H
#define SESSION_RECORDS_ERROR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#define ERROR_HISTORY_KEPT 32
#define ERROR_HISTORY_BYTES (4u << 20)
#define ERROR_HISTORY_ENTERABLE 5 /* errors that keep their snapshots in any case */

struct error_record;
struct sexp_document;

/* error_history.c changes it; others read how many were made and are kept, and whether there is a last one.
 */
struct error_history {
    struct error_record *records[ERROR_HISTORY_KEPT]; /* the newest at (made - 1) % ERROR_HISTORY_KEPT */
    size_t made, kept;
    bool has_last; /* no evaluation has succeeded since the newest */
};

/* Records that others have borrowed from the history; each may be NULL. */
struct errors_in_use {
    const struct error_record *standing, *unwound;
};

/* error_history_add(h, r, in_use): ${r} is taken and gets its number. It becomes the last error, unless it
 * comes from one of the program's threads. Snapshots of older ones than the five newest may go. Over the
 * budget, the details of older errors are freed, then the oldest unused errors; the new one stays.
 */
void error_history_add(struct error_history *h, struct error_record *r, const struct errors_in_use *in_use);

/* error_history_add_details(h, r, document): the examination of ${r}, one of these, is kept with it;
 * ${document} is taken. Over the budget, the details of other errors are freed. */
void error_history_add_details(struct error_history *h, struct error_record *r,
                               struct sexp_document *document);

/* error_history_at(h, n): number ${n} counted back from the newest, which is 0; borrowed; NULL if it is not
 * kept. error_history_last(h): NULL after a success. error_history_find(h, sequence). */
struct error_record *error_history_at(const struct error_history *h, size_t n);
struct error_record *error_history_last(const struct error_history *h);
struct error_record *error_history_find(const struct error_history *h, int sequence);

/* error_history_clear(h): as in a new session. */
void error_history_clear(struct error_history *h);

#endif
