/*
 * Responsible for the text of an error, in a report and in the tools that show it later.
 */
#include "report/report.h"

#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "report/section.h"

#define INLINE_FRAMES 20 /* seeds/003, "Backtrace Rules" */
#define PREVIEW_FRAMES 5

/* "(5 more frames)" under a list that shows ${shown} of them. */
static void add_left_out(struct strbuf *out, const struct error_record *r, size_t shown, const char *pointer)
{
    int total = error_record_total_frames(r);
    bool is_more = total < 0;
    size_t all = (size_t)(is_more ? -total : total);
    if (all <= shown)
        return;
    strbuf_adds(out, is_more ? "\n... more than " : "\n... ");
    text_add_count(out, all - shown, "more frame");
    strbuf_adds(out, pointer);
}

static void add_frames(struct strbuf *out, const struct error_record *r, size_t most)
{
    const struct sexp *frames = error_record_frames(r);
    size_t n = sexp_count(frames) < most ? sexp_count(frames) : most;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            strbuf_addc(out, '\n');
        section_add_frame(out, i, sexp_nth(frames, i));
    }
}

static void add_restarts(struct strbuf *out, const struct sexp *restarts)
{
    section_begin(out, "[Restarts]");
    for (size_t i = 0; i < sexp_count(restarts); i++) {
        const struct sexp *restart = sexp_nth(restarts, i);
        strbuf_addf(out, "%zu. [", i + 1);
        reply_add_string(out, sexp_nth(restart, 0));
        strbuf_adds(out, "] ");
        reply_add_string(out, sexp_nth(restart, 1));
        strbuf_adds(out, sexp_is_nil(sexp_nth(restart, 2)) ? "\n" : " (takes a value)\n");
    }
    section_end(out);
}

static void add_slots(struct strbuf *out, const struct sexp *slots)
{
    section_begin(out, "[Slots]");
    for (size_t i = 0; i < sexp_count(slots); i++) {
        reply_add_string(out, sexp_nth(sexp_nth(slots, i), 0));
        strbuf_adds(out, ": ");
        reply_add_string(out, sexp_nth(sexp_nth(slots, i), 1));
        strbuf_addc(out, '\n');
    }
    section_end(out);
}

/* A class of the implementation's own says little: which standard condition is it? NULL when the type is a
 * standard one or the user's. */
static const char *standard_class(const struct error_record *r)
{
    if (strncmp(r->type, "SB-", 3) != 0)
        return NULL;
    const char *name = sexp_string(sexp_nth(reply_get(r->condition, "classes"), 0), NULL);
    bool says_little = name == NULL || strcmp(name, "ERROR") == 0 || strcmp(name, "SERIOUS-CONDITION") == 0;
    return says_little ? NULL : name;
}

static void add_hint(struct strbuf *out, const struct error_record *r)
{
    const struct sexp *hint = reply_get(r->condition, "hint");
    const char *class = standard_class(r);
    if (sexp_string(hint, NULL) == NULL && class == NULL)
        return;
    section_begin(out, "[Hint]");
    if (class != NULL)
        strbuf_addf(out, "%s is a %s.\n", r->type, class);
    reply_add_string(out, hint);
    section_end(out);
}

void report_condition(struct strbuf *out, const struct error_record *r)
{
    section_begin(out, NULL);
    strbuf_addf(out, "[ERROR] %s\n%s", r->type, r->message);
    section_end(out);
    section_begin(out, "[Backtrace]");
    if (sexp_count(error_record_frames(r)) == 0)
        strbuf_adds(out, "(no frames)");
    add_frames(out, r, INLINE_FRAMES);
    /* An error of a look into the image, or of a copy that is gone, is kept nowhere: nothing could go on from
     * it. */
    bool is_kept = r->sequence > 0;
    add_left_out(out, r, INLINE_FRAMES, is_kept ? "; see get-backtrace" : "");
    const struct sexp *restarts = reply_get(r->condition, "restarts");
    const struct sexp *slots = reply_get(r->condition, "slots");
    if (is_kept && sexp_count(restarts) > 0)
        add_restarts(out, restarts);
    if (sexp_count(slots) > 0)
        add_slots(out, slots);
    add_hint(out, r);
}

static const char no_error[] =
    "No error available.\n(No error has occurred since the last successful evaluation.)";

void report_last_error(struct strbuf *out, const struct error_record *r)
{
    if (r == NULL) {
        strbuf_adds(out, no_error);
        return;
    }
    strbuf_addf(out, "Error: %s\n", r->type);
    text_add_indented(out, r->message, strlen(r->message), "  ");
    section_end(out);
    const struct sexp *restarts = reply_get(r->condition, "restarts");
    strbuf_adds(out, "\n\nAvailable Restarts:\n");
    for (size_t i = 0; i < sexp_count(restarts); i++) {
        strbuf_addf(out, "  %zu. ", i + 1);
        reply_add_string(out, sexp_nth(sexp_nth(restarts, i), 0));
        strbuf_adds(out, " - ");
        reply_add_string(out, sexp_nth(sexp_nth(restarts, i), 1));
        strbuf_addc(out, '\n');
    }
    if (sexp_count(restarts) == 0)
        strbuf_adds(out, "  (none)\n");
    struct strbuf frames;
    strbuf_init(&frames, 0);
    add_frames(&frames, r, PREVIEW_FRAMES);
    strbuf_addf(out, "\nBacktrace (top %d frames):\n", PREVIEW_FRAMES);
    text_add_indented(out, frames.len == 0 ? "(no frames)" : frames.bytes, frames.len == 0 ? 11 : frames.len,
                      "  ");
    strbuf_fini(&frames);
    struct tm utc;
    char when[32];
    gmtime_r(&r->when.tv_sec, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    strbuf_addf(out,
                "\n\nError %d of this session, at %s. get-backtrace shows all frames, and their variables "
                "with locals: true.",
                r->sequence, when);
    /* Whether it still can be is said by list-errors: this text never changes. */
    if (sexp_count(restarts) > 0)
        strbuf_adds(out, " evaluate-in-frame and invoke-restart enter it.");
}

void report_backtrace(struct strbuf *out, const struct error_record *r, size_t from, size_t count,
                      bool locals)
{
    if (r == NULL) {
        strbuf_adds(out, no_error);
        return;
    }
    const struct sexp *frames = error_record_frames(r);
    size_t kept = sexp_count(frames);
    int total = error_record_total_frames(r);
    strbuf_adds(out, total < 0 ? "Backtrace (more than " : "Backtrace (");
    text_add_count(out, (uint64_t)(total < 0 ? -(int64_t)total : total), "frame");
    strbuf_adds(out, "):");
    size_t i = from;
    for (; i < kept && i - from < count; i++) {
        const struct sexp *frame = sexp_nth(frames, i);
        strbuf_addc(out, '\n');
        section_add_frame(out, i, frame);
        for (size_t k = 2; locals && k < sexp_count(frame); k++) {
            strbuf_adds(out, "\n     ");
            reply_add_string(out, sexp_nth(sexp_nth(frame, k), 0));
            strbuf_adds(out, " = ");
            reply_add_string(out, sexp_nth(sexp_nth(frame, k), 1));
        }
        if (locals && sexp_count(frame) <= 2)
            strbuf_adds(out, "\n     (no locals known)");
    }
    if (i == from)
        strbuf_addf(out, "\n(no frame from %zu on is kept)", from);
    if (i < kept)
        strbuf_addf(out, "\n... frames %zu to %zu not shown; use max-frames and from", i, kept - 1);
    else
        add_left_out(out, r, kept, " were not kept");
}

void report_error_list(struct strbuf *out, const struct session *session, size_t limit)
{
    size_t n = session_error_count(session);
    if (n == 0) {
        strbuf_adds(out, "No errors in this session.");
        return;
    }
    text_add_count(out, n, "error");
    strbuf_adds(out, session_last_error(session) == NULL
                         ? ", newest first; none since the last successful evaluation:"
                         : ", newest first:");
    for (size_t i = 0; i < n && i < limit; i++) {
        const struct error_record *r = session_error(session, i);
        struct tm utc;
        char when[32];
        gmtime_r(&r->when.tv_sec, &utc);
        strftime(when, sizeof when, "%H:%M:%SZ", &utc);
        size_t first_line = strcspn(r->message, "\n");
        strbuf_addf(out, "\n%zu. %s %s%s%s%s: %.*s%s", i + 1, when, r->thread != NULL ? "in thread " : "",
                    r->thread != NULL ? r->thread : "", r->thread != NULL ? ": " : "", r->type,
                    (int)utf8_floor(r->message, first_line, first_line > 300 ? 300 : first_line), r->message,
                    error_record_is_enterable(r) ? " (can be entered)" : "");
        if (r->why_not_frozen != NULL && !error_record_is_enterable(r))
            strbuf_addf(out, " (cannot be entered: %s)", r->why_not_frozen);
    }
    if (n > limit)
        strbuf_addf(out, "\n... %zu more", n - limit);
}
