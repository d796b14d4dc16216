/*
 * Responsible for errors in threads, as the agent reports them.
 */
#include "session/process/thread_errors.h"

#include <string.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/records/error_record.h"
#include "session/work/answer.h"

struct error_record *thread_errors_standing(struct session *s, int64_t number)
{
    struct error_record *r;
    for (size_t i = 0; (r = error_history_at(&s->errors, i)) != NULL; i++)
        if (r->standing == number && error_record_stands(r))
            return r;
    return NULL;
}

static void stand(struct session *s, struct error_record *r, int64_t number)
{
    r->standing = number;
    r->process = &s->worker;
    r->standing_in = worker_identity(s->worker);
}

void thread_errors_note_standing(struct session *s, struct error_record *r)
{
    int64_t number = sexp_integer(sexp_get(r->condition, 2, "standing"), 0);
    if (number > 0)
        stand(s, r, number);
}

/* The entry is the error report without its head. */
static struct error_record *record_of(struct session *s, const struct sexp *entry)
{
    struct strbuf text = {.limit = SEXP_MAX_PAYLOAD};
    strbuf_adds(&text, "(0 :error");
    for (size_t i = 0; i < sexp_count(entry); i++)
        sexp_write_value(&text, sexp_nth(entry, i));
    sexp_write_close(&text);
    struct err err;
    struct sexp_document *document = text.is_overflown ? NULL : sexp_parse(text.bytes, text.len, &err);
    strbuf_fini(&text);
    if (document == NULL)
        return NULL;
    struct error_record *r = error_record_new(document);
    r->session = s;
    r->thread = xstrdup(sexp_string(sexp_get(entry, 0, "where"), NULL));
    if (r->thread == NULL)
        r->thread = xstrdup("");
    r->evaluation = s->numbers.evaluations;
    int64_t number = sexp_integer(sexp_get(entry, 0, "number"), 0);
    if (number <= 0) {
        r->was_left = r->is_stray = true;
        error_record_cannot_be_entered(r, FACT_UNWOUND, NULL);
    } else if (sexp_is_nil(sexp_get(entry, 0, "standing"))) {
        r->was_left = true;
        error_record_cannot_be_entered(r, FACT_THREAD_ENDED, NULL);
    } else {
        stand(s, r, number);
    }
    return r;
}

/* Reported with the reply of the evaluation that started the threads, before anything irreversible is
 * done. */
static void note_began(struct session *s, const struct sexp *names, const struct sexp *hint)
{
    const char *text = sexp_string(names, NULL), *advice = sexp_string(hint, NULL);
    if (text == NULL)
        return;
    s->flags.has_threads = true;
    /* A process that took the place of another has its own, and tells of them too. */
    if (limits_int(&s->limits, LIMIT_CHECKPOINTS) == 0 ||
        notices_have(&s->told.notices, FACT_THREADS_BEGAN) ||
        notices_have(&s->told.notices, FACT_MORE_THREADS_BEGAN))
        return;
    struct strbuf more = {0};
    strbuf_addf(&more, advice == NULL ? "" : " %s", advice);
    session_notify(s, FACT(s->flags.was_told_of_threads ? FACT_MORE_THREADS_BEGAN : FACT_THREADS_BEGAN,
                           .texts = {text, strbuf_string(&more)}));
    strbuf_fini(&more);
    s->flags.was_told_of_threads = true;
}

void thread_errors_note_in_copy(struct session *s, const struct sexp *reply)
{
    const struct sexp *inbox = sexp_get(reply, 2, "inbox");
    for (size_t i = 0; i < sexp_count(inbox); i++) {
        const struct sexp *entry = sexp_nth(inbox, i);
        session_notify(s,
                       FACT(FACT_ERROR_IN_COPY, .texts = {sexp_string(sexp_get(entry, 0, "where"), NULL),
                                                          sexp_string(sexp_get(entry, 0, "type"), NULL),
                                                          sexp_string(sexp_get(entry, 0, "message"), NULL)}));
    }
}

void thread_errors_note(struct session *s, const struct sexp *reply)
{
    const struct sexp *ended = sexp_get(reply, 2, "ended-errors");
    const struct sexp *inbox = sexp_get(reply, 2, "inbox");
    for (size_t i = 0; i < sexp_count(inbox) && i < ERROR_HISTORY_KEPT; i++) {
        struct error_record *r = record_of(s, sexp_nth(inbox, i));
        if (r != NULL)
            answer_add_error(s, r);
    }
    int64_t lost = sexp_integer(sexp_get(reply, 2, "inbox-lost"), 0);
    if (sexp_count(inbox) > ERROR_HISTORY_KEPT)
        lost += (int64_t)sexp_count(inbox) - ERROR_HISTORY_KEPT;
    if (lost > 0)
        session_notify(s, FACT(lost == 1 ? FACT_ERROR_LOST : FACT_ERRORS_LOST, .numbers = {(uint64_t)lost}));
    note_began(s, sexp_get(reply, 2, "threads-began"), sexp_get(reply, 2, "threads-hint"));
    const struct sexp *threads_ended = sexp_get(reply, 2, "threads-ended");
    if (!sexp_is_nil(threads_ended)) {
        s->flags.has_threads = false;
        xstrset(&s->copies.why_not, sexp_string(threads_ended, NULL));
    }
    for (size_t i = 0; i < sexp_count(ended) && i < ERROR_HISTORY_KEPT; i++) {
        struct error_record *r = thread_errors_standing(s, sexp_integer(sexp_nth(ended, i), 0));
        if (r != NULL)
            r->standing_in = 0;
    }
}
