/*
 * The texts of replies. Pure functions: they turn outcomes and records into text of bounded length.
 * docs/tools.md describes the shapes of replies.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "session/core/wording.h"
#include "session/session.h"

struct sexp;
struct strbuf;

/*
 * report_evaluation(out, outcome, max_output):
 * Report an evaluation that ran (OK, ERROR): sections in fixed order, empty ones omitted. Outputs and
 * values over ${max_output} bytes are cut and moved to the session's kept outputs; the
 * session's own messages (output between calls, notices) are reported and cleared.
 *
 * report_begin(out, outcome, max_output), report_end(out, outcome):
 * The sections before and after the values, for a tool that has something else in their place. The first
 * reports an error, too, and returns false for one: nothing takes its place.
 *
 * report_values(out, outcome, max_output): only the values: "=> 3" and the like, no blank line.
 */
void report_evaluation(struct strbuf *out, const struct outcome *outcome, size_t max_output);
bool report_begin(struct strbuf *out, const struct outcome *outcome, size_t max_output);
void report_end(struct strbuf *out, const struct outcome *outcome);
void report_values(struct strbuf *out, const struct outcome *outcome, size_t max_output);

/* report_cut(out, session, text, len, most): append the text. If it has more than ${most} bytes, append its
 * head and tail, and keep it for get-output. */
void report_cut(struct strbuf *out, struct session *session, const char *text, size_t len, size_t most);

/* report_cut_whole(text, session, most): the same in place. */
void report_cut_whole(struct strbuf *text, struct session *session, size_t most);

/* report_put_aside(out, outcome, most): if a stream of the output has more than ${most} bytes, keep it for
 * get-output and append a line that says so, or the stream itself if that is as short; it is not in the
 * report then. */
void report_put_aside(struct strbuf *out, const struct outcome *outcome, size_t most);

/* report_structured(outcome, max_output): the same as data; given. Values, each output and the warnings have
 * at most ${max_output} bytes of text, the parts of an error a fixed number. Call it before
 * report_evaluation(), which clears some of it. */
json_t *report_structured(const struct outcome *outcome, size_t max_output);

/* report_data(list, from): the values of the property list that begins at item ${from}, 2 in a reply, for the
 * page of the window; given. A list that begins with a keyword becomes an object, nil is null.
 * report_data_frames(frames, from, end, number): those frames, as section_add_stack() shows them. */
json_t *report_data(const struct sexp *list, size_t from);
json_t *report_data_frames(const struct sexp *frames, size_t from, size_t end, size_t number);

/* report_condition(out, record): [ERROR] to [Hint]. A record outside the session's history has no
 * [Restarts], because they cannot be invoked. */
void report_condition(struct strbuf *out, const struct error_record *record);

/* report_session_note(out, r): what the error has done to its session, as a last section; nothing if that is
 * nothing. */
void report_session_note(struct strbuf *out, const struct error_record *r);

/* report_news(out, s, note): the last sections: errors that occurred outside evaluations and were not
 * announced yet; ${note}, which may be NULL, and the session's notices, which are cleared. */
void report_news(struct strbuf *out, struct session *s, const char *note);

/* report_why_not(r): why it cannot be entered, borrowed; NULL if it can be. report_sentence(fact): that of a
 * fact without members or a FACT_TEXT; NULL for FACT_NONE. report_fact(fact, out): append that of any fact.
 */
const char *report_why_not(const struct error_record *r);
const char *report_sentence(const struct fact *fact);
void report_fact(const struct fact *fact, struct strbuf *out);

/* report_last_error(out, record): the text of list-errors with an index; ${record} may be NULL: no error. */
void report_last_error(struct strbuf *out, const struct error_record *record);

/* report_backtrace(out, record, from, count, locals): the text of get-backtrace. */
void report_backtrace(struct strbuf *out, const struct error_record *record, size_t from, size_t count,
                      bool locals);

/* report_frames(out, frames, most_lines, most_bytes): a line a frame; those of loading, of a test framework
 * and of a recursion are folded. Returns how many of ${frames} the text covers. */
size_t report_frames(struct strbuf *out, const struct sexp *frames, size_t most_lines, size_t most_bytes);

/* report_frame_is_machinery(frame): is it one of loading or of a test framework? */
bool report_frame_is_machinery(const struct sexp *frame);

/* report_error_list(out, session, limit, counts_past): the text of list-errors, which need not be announced
 * again. With ${counts_past}, errors that can no longer be entered are counted, except the newest. */
void report_error_list(struct strbuf *out, struct session *session, size_t limit, bool counts_past);

/* report_wording: of all that a session has to report. */
extern const struct session_wording report_wording;

/* report_definitions(out, reply): the text of list-definitions from the agent's reply; false if there is
 * none. */
bool report_definitions(struct strbuf *out, const struct sexp *reply);

/* report_compilation(out, reply): the text of explain-form's compilation from the agent's reply. */
void report_compilation(struct strbuf *out, const struct sexp *reply);

/* report_tests_counted(reply): whether a known framework ran tests. report_tests(out, session, reply):
 * the text of run-tests from the agent's reply. Returns whether a test failed. */
bool report_tests_counted(const struct sexp *reply);
bool report_tests(struct strbuf *out, const struct session *session, const struct sexp *reply);

#endif
