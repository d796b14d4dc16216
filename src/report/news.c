/*
 * Responsible for what the next reply of a session reports besides its own result: errors outside
 * evaluations, and notices.
 */
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "report/reply.h"
#include "report/report.h"
#include "report/section.h"
#include "report/warnings.h"

/* The innermost frame, and the first whose code is in a file of the program's own. */
static void add_item_frames(struct strbuf *out, const struct sexp *frames)
{
    size_t own = warnings_own_frame(frames);
    for (size_t i = 0; i < sexp_count(frames); i++) {
        if (i > 0 && i != own)
            continue;
        strbuf_adds(out, "\n  ");
        section_add_frame(out, i, sexp_nth(frames, i));
    }
}

/* Error ${n} if it occurred outside evaluations and no reply has announced it; NULL otherwise. */
static const struct error_record *unannounced(const struct session *s, size_t n)
{
    const struct error_record *r = session_error(s, n);
    return r->thread != NULL && !r->is_announced ? r : NULL;
}

static bool is_alike(const struct error_record *a, const struct error_record *b)
{
    return b != NULL && strcmp(a->type, b->type) == 0 && strcmp(a->message, b->message) == 0;
}

/* The oldest of those that are alike stands for all, except that the number is of one that can be entered. */
static void add_background_error(struct strbuf *out, const struct session *s, size_t n)
{
    const struct error_record *r = unannounced(s, n);
    size_t before = 0, more = 0, index = n;
    for (size_t i = 0; r != NULL && i < session_error_count(s); i++) {
        before += i > n && is_alike(r, unannounced(s, i));
        more += i < n && is_alike(r, unannounced(s, i));
        if (!error_record_is_enterable(session_error(s, index)) && is_alike(r, unannounced(s, i)) &&
            error_record_is_enterable(session_error(s, i)))
            index = i;
    }
    if (r == NULL || before > 0)
        return;
    strbuf_addf(out, "%s%s",
                r->is_stray                  ? "Outside any evaluation, "
                : error_record_is_persons(r) ? "In the person's debugger, in thread "
                                             : "In thread ",
                r->thread);
    if (more > 0)
        strbuf_addf(out, " and %zu more", more);
    strbuf_addf(out, " (error %d): %s: ", session_error(s, index)->sequence, r->type);
    text_add_hanging(out, r->message, strlen(r->message), "    ");
    add_item_frames(out, error_record_frames(r));
    reply_fill(out, r->condition, "{hint?\n  {hint/    }}\n");
}

/* The errors in threads that no thread joins, and outside any evaluation. */
static void add_background_errors(struct strbuf *out, struct session *s)
{
    size_t count = session_error_count(s), n = 0;
    while (n < count && unannounced(s, n) == NULL)
        n++;
    if (n == count)
        return;
    section_begin(out, HEADING_BACKGROUND_ERRORS);
    for (n = count; n-- > 0;)
        add_background_error(out, s, n);
    strbuf_adds(out, "get-backtrace with the number as index shows all frames and variables.");
    section_end(out);
    while (count-- > 0)
        session_note_announced(s, count);
}

/* The section of the notices that a person has staged, or of the others, which begin with ${note}. */
static void add_notices(struct strbuf *out, enum heading heading, const char *note,
                        const struct notices *notices, bool is_staged)
{
    if (note != NULL) {
        section_begin(out, heading);
        strbuf_addf(out, "%s\n", note);
    }
    bool has_begun = note != NULL;
    for (size_t i = notices->held; i < notices->count; i++) {
        if ((notices->facts[i].kind == FACT_STAGED) != is_staged)
            continue;
        if (!has_begun)
            section_begin(out, heading);
        has_begun = true;
        report_fact(&notices->facts[i], out);
        if (out->bytes[out->len - 1] != '\n')
            strbuf_addc(out, '\n');
    }
    if (has_begun)
        section_end(out);
}

void report_news(struct strbuf *out, struct session *s, const char *note)
{
    struct notices *notices = session_notices(s);
    if (!notices->is_held)
        add_background_errors(out, s);
    add_notices(out, HEADING_SESSION, note, notices, false);
    add_notices(out, HEADING_PERSON, NULL, notices, true);
    notices_clear(notices);
}
