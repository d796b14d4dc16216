/*
 * Responsible for the text of run-tests: the counts first, then each failure.
 */
#include "report/report.h"

#include "base/strbuf.h"
#include "base/text.h"
#include "report/reply.h"
#include "report/section.h"

#define FRAMES_SHOWN 3

/* The sum of the counts of checks. */
static size_t checks_of(const struct sexp *reply)
{
    return reply_count(reply, "passed") + reply_count(reply, "failed") + reply_count(reply, "errors") +
           reply_count(reply, "known") + reply_count(reply, "skipped");
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

/* Returns whether it names an error. ${before} is the failure before it, or NULL. */
static bool add_failure(struct strbuf *out, const struct session *session, const struct sexp *failure,
                        const struct sexp *before, size_t number)
{
    bool is_error = sexp_is_symbol(sexp_get(failure, 0, "kind"), "error");
    strbuf_addf(out, "\n\n%zu. %s", number, is_error ? "ERROR" : "FAILED");
    reply_fill(out, failure,
               "{kind=known?, as expected}: {test/    }{place?\n  in: {place/      }}{form?\n  form: {form/  "
               "      }}"
               "{expected?\n  expected: {expected/            }}{actual?\n  actual: {actual/          }}"
               "{reason?\n  reason: {reason/          }}{type?\n  condition: {type}\n{message>    }}");
    const struct sexp *frames = sexp_get(failure, 0, "frames");
    for (size_t i = 0; i < sexp_count(frames) && i < FRAMES_SHOWN; i++) {
        if (i > 0 && report_frame_is_machinery(sexp_nth(frames, i)))
            break;
        strbuf_adds(out, "\n    ");
        section_add_frame(out, i, sexp_nth(frames, i));
    }
    if (!reply_is_same(sexp_get(failure, 0, "hint"), sexp_get(before, 0, "hint")))
        reply_fill(out, failure, "{hint?\n  hint: {hint/        }}");
    const struct error_record *r = met(session, sexp_integer(sexp_get(failure, 0, "stop"), 0));
    if (r != NULL)
        strbuf_addf(out, "\n  error %d%s", r->sequence,
                    error_record_is_enterable(r) ? "" : ", which cannot be entered");
    return r != NULL;
}

static void add_counts(struct strbuf *out, const struct sexp *reply, bool is_failed)
{
    size_t tests = reply_count(reply, "tests");
    reply_fill(out, reply,
               is_failed ? "{system}: FAILED. {tests?{#tests test}}"
                         : "{system}: passed. {tests?{#tests test}}");
    if (tests > 0 && checks_of(reply) != tests)
        strbuf_addf(out, ", %s", text_count(checks_of(reply), "check").text);
    reply_fill(
        out, reply,
        "{tests?: }{,passed} passed, {,failed} failed, {,errors} with an unexpected error"
        "{known?, {,known} failed as expected}{skipped?, {,skipped} skipped}{framework? ({framework})}.");
}

bool report_tests_counted(const struct sexp *reply)
{
    return reply_count(reply, "tests") + checks_of(reply) > 0;
}

bool report_tests(struct strbuf *out, const struct session *session, const struct sexp *reply)
{
    const struct sexp *failures = reply_get(reply, "failures");
    size_t verdict_len;
    sexp_string(reply_get(reply, "verdict"), &verdict_len);
    bool is_failed = reply_count(reply, "failed") + reply_count(reply, "errors") + verdict_len > 0;
    if (!report_tests_counted(reply)) {
        reply_fill(out, reply,
                   "{system}: its test operation ended without an error.\nNo test of a supported framework "
                   "ran, so nothing was counted.");
        return false;
    }
    add_counts(out, reply, is_failed);
    reply_fill(out, reply,
               "{fallback?\nThe system's test operation runs no tests, so the tests in its files were run.}"
               "{verdict?\nThe system's test operation then signalled: {verdict/  }}"
               "{owners?\nThese are tests of {owners*, |{/  }}.}"
               "{deleted?\nNo longer in its file, but still defined in the session: {deleted*, |{/  }}}");
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
