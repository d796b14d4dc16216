/*
 * A ring of error records.
 */
#include "session/records/error_history.h"

#include "session/records/error_record.h"
#include "session/records/snapshots.h"
#include "wire/sexp.h"

/* Where record ${n} is, counted back from the newest. */
static struct error_record **slot(struct error_history *h, size_t n)
{
    return &h->records[(h->made - 1 - n) % ERROR_HISTORY_KEPT];
}

static bool is_in_use(const struct error_record *r, const struct errors_in_use *in_use)
{
    return r == in_use->standing || r == in_use->unwound;
}

static void release(struct error_record *r)
{
    if (r != NULL && r->snapshot != NULL)
        snapshot_forget_error(r->snapshot);
    error_record_free(r);
}

/* Those that are older than number ${n} stay so: each moves up by one. */
static void drop(struct error_history *h, size_t n)
{
    release(*slot(h, n));
    for (h->kept--; n < h->kept; n++)
        *slot(h, n) = *slot(h, n + 1);
    *slot(h, n) = NULL;
}

/* The oldest that nobody uses; 0 if there is none but the newest. */
static size_t oldest(const struct error_history *h, const struct errors_in_use *in_use)
{
    size_t n = h->kept - 1;
    while (n > 0 && is_in_use(error_history_at(h, n), in_use))
        n--;
    return n;
}

static size_t bytes_of(const struct error_history *h)
{
    size_t bytes = 0;
    for (size_t n = 0; n < h->kept; n++)
        bytes += error_record_bytes(error_history_at(h, n));
    return bytes;
}

/* Drops the details of other errors than ${examined}, the oldest first, until the budget is kept. */
static void drop_details(struct error_history *h, const struct error_record *examined)
{
    for (size_t n = h->kept; n-- > 0 && bytes_of(h) > ERROR_HISTORY_BYTES;) {
        struct error_record *r = error_history_at(h, n);
        if (r == examined)
            continue;
        sexp_document_free(r->details);
        r->details = NULL;
    }
}

void error_history_add(struct error_history *h, struct error_record *r, const struct errors_in_use *in_use)
{
    if (h->kept == ERROR_HISTORY_KEPT)
        drop(h, oldest(h, in_use));
    h->made++;
    h->kept++;
    *slot(h, 0) = r;
    r->sequence = (int)h->made;
    h->has_last = h->has_last || r->thread == NULL;
    drop_details(h, r);
    for (size_t n; bytes_of(h) > ERROR_HISTORY_BYTES && (n = oldest(h, in_use)) > 0;)
        drop(h, n);
    const struct error_record *aged = error_history_at(h, ERROR_HISTORY_ENTERABLE);
    if (aged != NULL && aged->snapshot != NULL)
        snapshot_let_age(aged->snapshot, FACT_TOO_OLD);
}

void error_history_add_details(struct error_history *h, struct error_record *r,
                               struct sexp_document *document)
{
    sexp_document_free(r->details);
    r->details = document;
    drop_details(h, r);
}

struct error_record *error_history_at(const struct error_history *h, size_t n)
{
    return n < h->kept ? h->records[(h->made - 1 - n) % ERROR_HISTORY_KEPT] : NULL;
}

struct error_record *error_history_last(const struct error_history *h)
{
    struct error_record *r = NULL;
    for (size_t i = 0; h->has_last && (r = error_history_at(h, i)) != NULL && r->thread != NULL; i++)
        ;
    return r;
}

struct error_record *error_history_find(const struct error_history *h, int sequence)
{
    for (size_t i = 0; i < h->kept; i++)
        if (error_history_at(h, i)->sequence == sequence)
            return error_history_at(h, i);
    return NULL;
}

void error_history_clear(struct error_history *h)
{
    for (size_t i = 0; i < ERROR_HISTORY_KEPT; i++)
        release(h->records[i]);
    *h = (struct error_history){0};
}
