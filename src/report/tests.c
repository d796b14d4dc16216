/*
 * Responsible for the text of run-tests: the counts first, then each failure.
 */
#include "report/report.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "report/reply.h"
#include "report/section.h"

#define FRAMES_SHOWN 3

static uint64_t count_of(const struct sexp *reply, const char *key)
{
    int64_t n = reply_integer(reply, key);
    return n < 0 ? 0 : (uint64_t)n;
}

static bool has_text(const struct sexp *value)
{
    size_t len;
    return sexp_string(value, &len) != NULL && len > 0;
}

/* "  label: text", with further lines indented to the text. */
static void add_field(struct strbuf *out, const char *label, const struct sexp *value)
{
    if (!has_text(value))
        return;
    size_t len;
    const char *text = sexp_string(value, &len);
    char indent[32];
    snprintf(indent, sizeof indent, "%*s", (int)strlen(label) + 4, "");
    strbuf_addf(out, "\n  %s: ", label);
    size_t first = (const char *)memchr(text, '\n', len) == NULL
                       ? len
                       : (size_t)((const char *)memchr(text, '\n', len) - text);
    strbuf_add(out, text, first);
    if (first < len) {
        strbuf_addc(out, '\n');
        text_add_indented(out, text + first + 1, len - first - 1, indent);
    }
}

/* Error ${stop} of the newest run of tests; NULL: it is not kept. Errors of threads and cancelled evaluations
 * may stand between those of the run. */
static const struct error_record *met(const struct session *session, int64_t stop)
{
    const struct error_record *r = NULL;
    for (size_t i = 0; stop > 0 && (r = session_error(session, i)) != NULL && r->met != stop; i++)
        ;
    return r;
}

static bool is_same_text(const struct sexp *a, const struct sexp *b)
{
    const char *text = sexp_string(a, NULL), *other = sexp_string(b, NULL);
    return text != NULL && other != NULL && strcmp(text, other) == 0;
}

/* Returns whether it names an error. ${before} is the failure before it, or NULL. */
static bool add_failure(struct strbuf *out, const struct session *session, const struct sexp *failure,
                        const struct sexp *before, size_t number)
{
    const struct sexp *kind = sexp_get(failure, 0, "kind");
    const char *word = sexp_is_symbol(kind, "error")   ? "ERROR"
                       : sexp_is_symbol(kind, "known") ? "FAILED, as expected"
                                                       : "FAILED";
    strbuf_addf(out, "\n\n%zu. %s: ", number, word);
    reply_add_string(out, sexp_get(failure, 0, "test"));
    add_field(out, "in", sexp_get(failure, 0, "place"));
    add_field(out, "form", sexp_get(failure, 0, "form"));
    add_field(out, "expected", sexp_get(failure, 0, "expected"));
    add_field(out, "actual", sexp_get(failure, 0, "actual"));
    add_field(out, "reason", sexp_get(failure, 0, "reason"));
    const struct sexp *type = sexp_get(failure, 0, "type");
    if (has_text(type)) {
        strbuf_adds(out, "\n  condition: ");
        reply_add_string(out, type);
        struct strbuf indented = {0};
        size_t len;
        const char *message = sexp_string(sexp_get(failure, 0, "message"), &len);
        if (message != NULL)
            text_add_indented(&indented, message, len, "    ");
        strbuf_addf(out, "\n%s", strbuf_string(&indented));
        strbuf_fini(&indented);
    }
    const struct sexp *frames = sexp_get(failure, 0, "frames");
    for (size_t i = 0; i < sexp_count(frames) && i < FRAMES_SHOWN; i++) {
        if (i > 0 && report_frame_is_machinery(sexp_nth(frames, i)))
            break;
        strbuf_adds(out, "\n    ");
        section_add_frame(out, i, sexp_nth(frames, i));
    }
    if (!is_same_text(sexp_get(failure, 0, "hint"), sexp_get(before, 0, "hint")))
        add_field(out, "hint", sexp_get(failure, 0, "hint"));
    const struct error_record *r = met(session, sexp_integer(sexp_get(failure, 0, "stop"), 0));
    if (r != NULL)
        strbuf_addf(out, "\n  error %d%s", r->sequence,
                    error_record_is_enterable(r) ? "" : ", which cannot be entered");
    return r != NULL;
}

static void add_part(struct strbuf *out, const char *before, uint64_t n, const char *word)
{
    strbuf_addf(out, "%s%s %s", before, text_grouped(n).text, word);
}

static void add_counts(struct strbuf *out, const struct sexp *reply, bool is_failed)
{
    reply_add(out, reply, "system");
    strbuf_adds(out, is_failed ? ": FAILED. " : ": passed. ");
    uint64_t tests = count_of(reply, "tests");
    if (tests > 0) {
        uint64_t checks = count_of(reply, "passed") + count_of(reply, "failed") + count_of(reply, "errors") +
                          count_of(reply, "known") + count_of(reply, "skipped");
        strbuf_adds(out, text_count(tests, "test").text);
        if (checks != tests)
            strbuf_addf(out, ", %s", text_count(checks, "check").text);
        strbuf_adds(out, ": ");
    }
    add_part(out, "", count_of(reply, "passed"), "passed");
    add_part(out, ", ", count_of(reply, "failed"), "failed");
    add_part(out, ", ", count_of(reply, "errors"), "with an unexpected error");
    if (count_of(reply, "known") > 0)
        add_part(out, ", ", count_of(reply, "known"), "failed as expected");
    if (count_of(reply, "skipped") > 0)
        add_part(out, ", ", count_of(reply, "skipped"), "skipped");
    if (has_text(reply_get(reply, "framework"))) {
        reply_fill(out, reply, " ({framework}).");
    } else {
        strbuf_addc(out, '.');
    }
}

bool report_tests_counted(const struct sexp *reply)
{
    return count_of(reply, "tests") + count_of(reply, "passed") + count_of(reply, "failed") +
               count_of(reply, "errors") + count_of(reply, "known") + count_of(reply, "skipped") >
           0;
}

bool report_tests(struct strbuf *out, const struct session *session, const struct sexp *reply)
{
    const struct sexp *failures = reply_get(reply, "failures");
    const struct sexp *verdict = reply_get(reply, "verdict");
    uint64_t failed = count_of(reply, "failed") + count_of(reply, "errors");
    bool is_failed = failed > 0 || has_text(verdict);
    if (!report_tests_counted(reply)) {
        reply_fill(out, reply,
                   "{system}: its test operation ended without an error.\nNo test of a supported framework "
                   "ran, so nothing was counted.");
        return false;
    }
    add_counts(out, reply, is_failed);
    if (reply_flag(reply, "fallback"))
        strbuf_adds(out, "\nThe system's test operation runs no tests, so the tests in its files were run.");
    if (has_text(verdict)) {
        strbuf_adds(out, "\nThe system's test operation then signalled: ");
        reply_add_string(out, verdict);
    }
    reply_add_list(out,
                   "\nNo longer in its file, but still defined in the session: ", reply_get(reply, "deleted"),
                   ", ", "");
    bool is_one_named = false;
    for (size_t i = 0; i < sexp_count(failures); i++)
        is_one_named = add_failure(out, session, sexp_nth(failures, i),
                                   i == 0 ? NULL : sexp_nth(failures, i - 1), i + 1) ||
                       is_one_named;
    if (is_one_named)
        strbuf_adds(
            out, "\n\nget-backtrace takes the number of an error as index, and so do evaluate-in-frame and "
                 "invoke-restart if it can be entered.");
    return is_failed;
}
