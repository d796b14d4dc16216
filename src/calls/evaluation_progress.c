/*
 * Describing an evaluation that has not ended.
 */
#include "calls/evaluation_progress.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "calls/evaluation_wait.h"
#include "report/report.h"
#include "report/section.h"
#include "report/warnings.h"
#include "session/session.h"

#define LINES_SHOWN 5 /* of frames */
#define MOST_BYTES 1000

void evaluation_progress_add_line(struct strbuf *out, const struct session_evaluation *e)
{
    strbuf_addf(out, "Evaluation %llu ", (unsigned long long)e->number);
    if (e->is_asking)
        strbuf_addf(out, "is waiting for a line of input, after %.1f s", e->elapsed_s);
    else if (e->is_running)
        strbuf_addf(out, "is running, %.1f s", e->elapsed_s);
    else
        strbuf_addf(out, "%s, %.1f s", e->is_next ? "is about to begin" : "is waiting for its turn",
                    e->elapsed_s);
    if (e->limit_s > 0)
        strbuf_addf(out, " of %.10g s", e->limit_s);
    else if (e->is_running)
        strbuf_adds(out, " (no time limit)");
    strbuf_adds(out, ": ");
    section_add_first_line(out, e->what, strlen(e->what), SIZE_MAX);
}

/* Output that is too long is shown from near its end; the result will contain all of it. A character that is
 * not complete yet is shown when it is. */
static void add_output(struct strbuf *out, enum heading heading, const struct capture *c, uint64_t *seen,
                       size_t most)
{
    if (c->total < *seen)
        *seen = 0; /* it counts another evaluation's output */
    uint64_t shown = capture_floor(c, *seen), end = capture_floor(c, c->total), gap_start, gap_end;
    uint64_t start = end - shown > most ? capture_floor(c, end - most) : shown;
    *seen = c->total;
    if (capture_gap(c, &gap_start, &gap_end) && start < gap_end)
        start = gap_end;
    if (start == end)
        return;
    struct strbuf text = {0};
    size_t from = 0;
    capture_add_text(c, start, end, &text);
    while (start > shown && from < text.len && from < 3 && utf8_continues(text.bytes[from]))
        from++; /* the rest of a character whose beginning is left out */
    section_begin(out, heading);
    if (start > shown)
        strbuf_addf(out, "[… %s bytes before this …]\n", text_grouped(start + from - shown).text);
    utf8_repair(out, strbuf_string(&text) + from, text.len - from);
    strbuf_fini(&text);
    section_end(out);
}

/* Where it is. */
static void add_frames(struct strbuf *out, const struct sexp *frames)
{
    section_begin(out, HEADING_BACKTRACE);
    if (frames == NULL) {
        strbuf_adds(out, "(not known: the process did not react at once)");
    } else {
        size_t shown = report_frames(out, frames, LINES_SHOWN, MOST_BYTES), own = warnings_own_frame(frames);
        if (own >= shown && own < sexp_count(frames)) {
            strbuf_adds(out, own > shown ? "\n...\n" : "\n");
            section_add_frame(out, own, sexp_nth(frames, own));
            shown = own + 1;
        }
        if (shown < sexp_count(frames))
            strbuf_adds(out, "\n... more frames; get-backtrace shows them");
    }
    section_end(out);
}

void evaluation_progress_add(struct strbuf *out, struct session *session, const struct session_evaluation *e,
                             uint64_t seen[2], const struct sexp *frames)
{
    static const enum heading headings[] = {HEADING_STDOUT, HEADING_STDERR};
    size_t most = (size_t)limits_int(session_limits(session), LIMIT_MAX_OUTPUT);
    struct strbuf where = {0};
    evaluation_progress_add_line(out, e);
    session_evaluation_where(session, e->number, &where);
    if (where.len > 0)
        strbuf_addf(out, "\n%s: %s", e->is_running ? "Progress" : "Waiting", strbuf_string(&where));
    strbuf_fini(&where);
    for (int i = 0; i < 2 && e->is_running; i++) {
        /* A copy is redacted: the next output may be the rest of a credential. */
        struct capture printed;
        capture_copy(&printed, session_output(session, i));
        session_redact(session, &printed);
        add_output(out, headings[i], &printed, &seen[i], most);
        capture_fini(&printed);
    }
    if (evaluation_wait_asks(e))
        add_frames(out, frames);
}
