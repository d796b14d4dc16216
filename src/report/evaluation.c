/*
 * Responsible for the report of an evaluation. Its sections have a fixed order.
 */
#include "report/report.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "lisp/worker.h"
#include "report/output.h"
#include "report/reply.h"
#include "report/section.h"
#include "report/warnings.h"

static void add_capture(struct strbuf *out, enum heading heading, struct session *s, struct capture *c,
                        size_t most)
{
    if (c->total == 0)
        return;
    section_begin(out, heading);
    bool is_whole = c->total <= most && c->tail == NULL;
    if (!is_whole)
        session_redact(s, c);
    if (output_show(c, out, most, session_next_ref(s))) {
        if (is_whole)
            session_redact(s, c);
        session_keep_output(s, c);
    }
    section_end(out);
    section_add_line(out, "");
}

void report_cut(struct strbuf *out, struct session *s, const char *text, size_t len, size_t most)
{
    struct capture c;
    if (len <= most) {
        strbuf_add(out, text, len);
        return;
    }
    capture_init(&c);
    capture_add(&c, text, len);
    session_redact(s, &c);
    output_show(&c, out, most, session_next_ref(s));
    session_keep_output(s, &c);
    capture_fini(&c);
}

void report_cut_whole(struct strbuf *text, struct session *session, size_t most)
{
    struct strbuf cut = {0};
    if (text->len <= most)
        return;
    report_cut(&cut, session, text->bytes, text->len, most);
    strbuf_fini(text);
    *text = cut;
}

#define SHORTER_THAN_ITS_NOTE 100 /* bytes, about */

void report_put_aside(struct strbuf *out, const struct outcome *outcome, size_t most)
{
    static const char *const names[] = {
        [WORKER_STDOUT] = "Standard output", [WORKER_STDERR] = "Standard error"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct capture *c = outcome->output[i];
        if (c->total <= most)
            continue;
        strbuf_addf(out, "\n%s: ", names[i]);
        struct strbuf text = {0};
        session_redact(outcome->session, c);
        if (c->total < SHORTER_THAN_ITS_NOTE && !output_show(c, &text, SHORTER_THAN_ITS_NOTE, 0)) {
            strbuf_add(out, strbuf_string(&text), text.len);
            section_end(out);
            capture_fini(c);
        } else {
            strbuf_addf(out, "%s bytes; get-output with ref %d shows them.", text_grouped(c->total).text,
                        session_next_ref(outcome->session));
            session_keep_output(outcome->session, c);
        }
        strbuf_fini(&text);
    }
}

static void add_value(struct strbuf *out, struct session *s, const struct sexp *value, const struct sexp *cut,
                      size_t most, bool is_plain)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    if (!is_plain)
        section_add_line(out, "=> ");
    if (text == NULL)
        return;
    report_cut(out, s, text, len, most);
    if (!sexp_is_nil(cut))
        strbuf_adds(out, " [… printing stopped here …]");
}

void report_values(struct strbuf *out, const struct outcome *o, size_t most)
{
    const struct sexp *values = reply_get(o->reply, "values");
    const struct sexp *cut = reply_get(o->reply, "cut");
    if (reply_flag(o->reply, "plain")) {
        add_value(out, o->session, sexp_nth(values, 0), sexp_nth(cut, 0), most, true);
        return;
    }
    if (reply_flag(o->reply, "aborted") || sexp_count(values) == 0)
        section_add_line(out, "; No values");
    if (reply_flag(o->reply, "aborted"))
        strbuf_addf(
            out, ": the restart ABORT ended the evaluation%s",
            reply_flag(o->reply, "hooked")
                ? "\n; *DEBUGGER-HOOK* is set and is called at each error. While it is NIL, errors are "
                  "reported and can be entered."
                : "");
    size_t start = out->len;
    for (size_t i = 0; i < sexp_count(values); i++) {
        if (i > 0)
            strbuf_addc(out, '\n');
        /* Each value may use the whole budget; a large number of values may not. */
        if (i > 0 && out->len - start > 4 * most) {
            strbuf_addf(out, "[… %s left out …]", text_count(sexp_count(values) - i, "more value").text);
            break;
        }
        add_value(out, o->session, sexp_nth(values, i), sexp_nth(cut, i), most, false);
    }
}

static void add_timing(struct strbuf *out, const struct sexp *timing)
{
    if (sexp_count(timing) < 4)
        return;
    static const char *const units[] = {" ms real, ", " ms run, ", " ms GC, ", " bytes consed"};
    strbuf_addc(out, '\n');
    section_add_line(out, "; Timing: ");
    for (size_t i = 0; i < 4; i++) {
        int64_t n = sexp_integer(sexp_nth(timing, i), 0);
        if (n < 0)
            n = 0;
        strbuf_addf(out, "%s%s", text_grouped((uint64_t)(i < 3 ? (n + 500) / 1000 : n)).text, units[i]);
    }
}

void report_session_note(struct strbuf *out, const struct error_record *r)
{
    if (r->session_note == NULL)
        return;
    section_begin(out, HEADING_SESSION);
    strbuf_addf(out, "%s\n", r->session_note);
    section_end(out);
}

#define MOST_EARLIER_VALUES 21 /* as many as the agent sends */
#define BYTES_IN_LINE 240
#define LEAST_SHARE 60

static size_t value_len(const struct sexp *values, size_t i)
{
    size_t len = 0;
    return sexp_string(sexp_nth(values, i), &len) == NULL ? 0 : len;
}

static size_t earlier_count(const struct sexp *reply)
{
    size_t count = sexp_count(reply_get(reply, "earlier"));
    return count < MOST_EARLIER_VALUES ? count : MOST_EARLIER_VALUES;
}

/* How many bytes each of the earlier values, and the last one, may use if they share ${most}. What short
 * values leave is for the longer ones. */
static size_t share_of(const struct sexp *reply, size_t most)
{
    const struct sexp *earlier = reply_get(reply, "earlier"), *last = reply_get(reply, "values");
    size_t count = earlier_count(reply), share = 0, used = 0, longer = count + 1;
    while (longer > 0 && (most - used) / longer > 0) {
        share += (most - used) / longer;
        used = longer = 0;
        for (size_t i = 0; i <= count; i++) {
            size_t len = i < count ? value_len(earlier, i) : value_len(last, 0);
            used += len < share ? len : share;
            longer += len > share;
        }
    }
    return longer == 0 ? most : share > LEAST_SHARE ? share : LEAST_SHARE;
}

/* A line for all of them if they are short, otherwise one for each. */
static void add_earlier(struct strbuf *out, struct session *s, const struct sexp *reply, size_t share)
{
    const struct sexp *earlier = reply_get(reply, "earlier");
    size_t count = earlier_count(reply), sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += value_len(earlier, i);
    for (size_t i = 0; i < count; i++) {
        const char *text = sexp_string(sexp_nth(earlier, i), NULL);
        strbuf_adds(out, sum > BYTES_IN_LINE ? "\n" : i > 0 ? ", " : " ");
        report_cut(out, s, text == NULL ? "" : text, value_len(earlier, i), share);
        section_end(out);
    }
    strbuf_addc(out, '\n');
}

static void add_values(struct strbuf *out, const struct outcome *o, size_t most)
{
    section_begin(out, HEADING_NONE);
    if (sexp_count(reply_get(o->reply, "earlier")) > 0) {
        section_add_line(out, "; Earlier values:");
        most = share_of(o->reply, most);
        add_earlier(out, o->session, o->reply, most);
    }
    report_values(out, o, most);
    const char *settings = sexp_string(reply_get(o->reply, "settings"), NULL);
    if (settings != NULL && settings[0] != '\0')
        strbuf_addf(out, "\n; Values are printed with the standard settings; here %s.", settings);
}

/* How far a text of several forms, and the printing of its value, got; and where what follows is read. */
static void note_forms_done(const struct outcome *o, const struct sexp *reply, size_t most)
{
    struct strbuf text = {0}, values = {0};
    bool has_failed = o->kind == OUTCOME_ERROR;
    size_t count = reply_count(reply, "forms-done");
    if (count > 0 && has_failed) {
        reply_fill(&text, reply,
                   count > 1 ? "The {#forms-done form} before the one that failed were evaluated"
                             : "The form before the one that failed was evaluated");
        if (sexp_count(reply_get(reply, "earlier")) > 0) {
            strbuf_adds(&text, "; values:");
            add_earlier(&values, o->session, reply, share_of(reply, most));
            text_add_hanging(&text, strbuf_string(&values), values.len, "  ");
            strbuf_fini(&values);
        } else {
            strbuf_adds(&text, ".\n");
        }
    }
    if (reply_flag(reply, "printing-stopped"))
        strbuf_adds(&text, "The form was evaluated; printing its value was stopped.\n");
    if (reply_flag(reply, "package-changed") && (has_failed || count > 1))
        reply_fill(&text, reply, "The current package is now {package/  }.");
    if (text.len > 0)
        notices_addf(session_notices(o->session), "%s", strbuf_string(&text));
    strbuf_fini(&text);
}

/* Hunchentoot catches the errors of its handlers, so that only its log tells of them. */
static void note_logged_error(const struct outcome *o, const struct capture *c)
{
    static const char level[] = " [ERROR]] ";
    if (c->head.len > 0 && memmem(c->head.bytes, c->head.len, level, sizeof level - 1) != NULL)
        notices_addf(session_notices(o->session),
                     "Hunchentoot has logged an error of a handler. After configure-limits with "
                     "thread-errors: 5, and (setf hunchentoot:*catch-errors-p* nil), the next one can be "
                     "entered.");
}

/* What a load has done to the session. */
static void note_load_effects(struct session *s, const struct sexp *reply)
{
    struct strbuf text = {0};
    reply_fill(&text, reply,
               "{replaced?Replaced what was evaluated: {replaced*, |{0} (evaluation {1})}{more-replaced? and "
               "{more-replaced} more}. "
               "session-history still has it.}");
    reply_fill(&text, reply,
               "{gone?{replaced?\n}Still defined, no longer in its file: {gone*, |{name} ({file}{callers?; "
               "{callers}})}"
               "{more-gone? and {more-gone} more}.}");
    if (text.len > 0)
        notices_addf(session_notices(s), "%s", strbuf_string(&text));
    strbuf_fini(&text);
}

/* The report of a failure has fewer than 10,000 characters. Long output or many warnings before it are
 * cut more than usual; the rest is kept for get-output as always. */
#define LARGE_FAILURE 4000
#define MOST_OF_A_FAILURE 1000

static size_t bytes_of_texts(const struct sexp *reply)
{
    const struct sexp *warnings = reply_get(reply, "warnings"), *earlier = reply_get(reply, "earlier");
    size_t sum = 0;
    for (size_t i = 0; i < sexp_count(warnings); i++)
        sum += value_len(sexp_nth(warnings, i), 1) + 10;
    for (size_t i = 0; i < sexp_count(earlier); i++)
        sum += value_len(earlier, i);
    return sum;
}

static const struct sexp *reply_of(const struct outcome *o)
{
    return o->kind == OUTCOME_ERROR ? o->error->condition : o->reply;
}

bool report_begin(struct strbuf *out, const struct outcome *o, size_t max_output)
{
    const struct sexp *reply = reply_of(o);
    if (o->kind == OUTCOME_ERROR && max_output > MOST_OF_A_FAILURE &&
        o->output[WORKER_STDOUT]->total + o->output[WORKER_STDERR]->total +
                session_between(o->session)->total + bytes_of_texts(reply) >
            LARGE_FAILURE)
        max_output = MOST_OF_A_FAILURE;
    if (!session_notices(o->session)->is_held) {
        struct capture *between = session_between(o->session);
        note_logged_error(o, between); /* before it is kept for get-output, and moved away */
        if (!capture_is_blank(between))
            add_capture(out, HEADING_BETWEEN, o->session, between, max_output);
        capture_fini(between);
    }
    note_logged_error(o, o->output[WORKER_STDERR]);
    add_capture(out, HEADING_STDOUT, o->session, o->output[WORKER_STDOUT], max_output);
    add_capture(out, HEADING_STDERR, o->session, o->output[WORKER_STDERR], max_output);
    warnings_add(out, o->session, reply, max_output);
    note_forms_done(o, reply, max_output);
    note_load_effects(o->session, reply);
    if (o->kind == OUTCOME_ERROR)
        report_condition(out, o->error);
    return o->kind != OUTCOME_ERROR;
}

void report_end(struct strbuf *out, const struct outcome *o)
{
    add_timing(out, reply_get(reply_of(o), "timing"));
    report_news(out, o->session, o->error == NULL ? NULL : o->error->session_note);
}

void report_evaluation(struct strbuf *out, const struct outcome *o, size_t max_output)
{
    if (report_begin(out, o, max_output))
        add_values(out, o, max_output);
    report_end(out, o);
}
