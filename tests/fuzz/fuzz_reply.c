/*
 * Any bytes as a reply of the Lisp: kept as an error's record and written in every report; and as what a
 * dying SBCL printed. Invariants: reports are JSON where they are data and valid UTF-8 where they are text,
 * and have the headings that they have without any bracket in the input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "lisp/last_words.h"
#include "report/report.h"
#include "report/section.h"
#include "../heading_lines.h"
#include "fuzz_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SHOWN 200 /* bytes of one output */

static struct strbuf headings; /* of all texts for one input */

static void check_text(struct strbuf *out)
{
    section_mark(out);
    heading_lines_add(&headings, strbuf_string(out), out->len);
    CHECK(utf8_is_valid(strbuf_string(out), out->len));
    strbuf_clear(out);
}

static void check_record(struct session *s, struct error_record *r)
{
    struct strbuf out;
    strbuf_init(&out, 0);
    r->session = s;
    CHECK(strchr(r->type, '\n') == NULL);
    error_history_add(&s->errors, r, &(struct errors_in_use){.standing = NULL});
    report_condition(&out, r);
    check_text(&out);
    report_last_error(&out, r);
    check_text(&out);
    report_backtrace(&out, r, 0, 20, true);
    check_text(&out);
    report_backtrace(&out, r, 3, SIZE_MAX, false);
    check_text(&out);
    report_error_list(&out, s, 5, false);
    check_text(&out);
    strbuf_fini(&out);
}

static void check_outcome(struct session *s, enum outcome_kind kind, const struct sexp *reply)
{
    struct capture printed[2];
    capture_init(&printed[0]);
    capture_init(&printed[1]);
    capture_add(&printed[0], "a line\n", 7);
    struct outcome outcome = {
        .kind = kind, .session = s, .reply = reply, .output = {&printed[0], &printed[1]}};
    if (kind == OUTCOME_ERROR)
        outcome.error = error_history_at(&s->errors, 0);
    json_t *data = report_structured(&outcome, SHOWN);
    char *text = json_dumps(data, 0);
    CHECK(text != NULL);
    free(text);
    json_decref(data);
    struct strbuf out;
    strbuf_init(&out, 0);
    report_evaluation(&out, &outcome, SHOWN);
    check_text(&out);
    strbuf_fini(&out);
    capture_fini(&printed[0]);
    capture_fini(&printed[1]);
}

static void check_others(const struct session *s, const struct sexp *reply)
{
    struct strbuf out;
    strbuf_init(&out, 0);
    report_definitions(&out, reply);
    check_text(&out);
    report_compilation(&out, reply);
    check_text(&out);
    report_tests_counted(reply);
    report_tests(&out, s, reply);
    check_text(&out);
    strbuf_fini(&out);
}

static void check_last_words(struct session *s, const char *text)
{
    struct strbuf valid;
    strbuf_init(&valid, 0);
    utf8_repair(&valid, text, strlen(text)); /* as exit_record.c hands it on */
    last_words_name_heap(strbuf_string(&valid));
    last_words_name_stack(strbuf_string(&valid));
    last_words_are_fatal(strbuf_string(&valid));
    last_words_show_damage(strbuf_string(&valid));
    check_record(s, error_record_make("PROCESS-EXITED", "ended", last_words_frames(strbuf_string(&valid))));
    strbuf_fini(&valid);
}

static void check_all(struct session *s, const char *data, size_t size)
{
    struct sexp_document *document = sexp_parse(data, size, NULL);
    if (document != NULL) {
        const struct sexp *reply = sexp_root(document);
        check_outcome(s, OUTCOME_OK, reply);
        check_outcome(s, OUTCOME_REFUSED, reply);
        check_others(s, reply);
        struct error_record *r = error_record_new(document); /* owns it from here on */
        check_record(s, r);
        check_outcome(s, OUTCOME_ERROR, r->condition);
    }
    check_last_words(s, data);
    error_history_clear(&s->errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session *s; /* one for all: making a session's host reads files of the system */
    if (s == NULL)
        s = fuzz_session();
    char *text = xmemdup0((const char *)data, size);
    check_all(s, text, size);
    struct strbuf with_brackets = headings;
    strbuf_init(&headings, 0);
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] == '[' ? '{' : text[i];
    check_all(s, text, size);
    CHECK(strcmp(strbuf_string(&with_brackets), strbuf_string(&headings)) == 0);
    strbuf_fini(&with_brackets);
    strbuf_fini(&headings);
    free(text);
    return 0;
}
