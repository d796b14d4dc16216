/*
 * session-history: the evaluations of a session or, as a Lisp file, the part of them that the current state
 * contains.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "session/records/journal.h"
#include "session/records/notices.h"
#include "session/session.h"
#include "tools/checkpoints.h"

/* The number of bytes of an evaluation's code that are shown as text. */
#define MOST_CODE 4000

static const char *ending(const struct journal_entry *entry)
{
    static const char *const texts[] = {[JOURNAL_OK] = "",
                                        [JOURNAL_ERROR] = "error",
                                        [JOURNAL_STOPPED] = "stopped",
                                        [JOURNAL_DIED] = "the process died"};
    return texts[entry->outcome];
}

struct history {
    const struct journal *journal;
    /* By position in the journal: an evaluation in the current state repeats parts of it. */
    bool *is_repeated;
    struct strbuf *out;
    const char *package; /* the current one after the Lisp written so far; NULL: not known */
    /* The position that was looked for last, so that pieces in their order take linear time. */
    const struct journal_entry *entry;
    size_t character, byte;
    size_t examined; /* bytes of code */
};

/* What a Lisp reports as pieces of its evaluations may be any ranges of any of them, again and again. */
#define MOST_WORK (8 * JOURNAL_BYTES)

static bool is_too_much(const struct history *h)
{
    return h->examined + h->out->len > MOST_WORK;
}

static size_t byte_of(struct history *h, const struct journal_entry *e, size_t character)
{
    if (h->entry != e || character < h->character)
        h->entry = e, h->character = h->byte = 0;
    size_t bytes = utf8_byte_of(e->code + h->byte, e->code_len - h->byte, character - h->character);
    h->examined += bytes;
    h->byte += bytes;
    h->character = character;
    return h->byte;
}

static bool *find_repeated(const struct journal *j)
{
    bool *is_repeated = xcalloc(j->count + 1, sizeof *is_repeated);
    for (size_t i = 0; i < j->count; i++) {
        const struct journal_entry *e = journal_at(j, i), *found;
        for (size_t k = 0; e->is_in_state && k < e->piece_count; k++)
            if ((found = journal_find(j, e->pieces[k].evaluation)) != NULL && found != e)
                is_repeated[found - journal_at(j, 0)] = true;
    }
    return is_repeated;
}

/* The part of it that the current state contains, if its ending does not tell. */
static const char *share(const struct history *h, const struct journal_entry *entry)
{
    bool is_whole = entry->outcome == JOURNAL_OK && !entry->is_in_pieces;
    if (entry->outcome == JOURNAL_DIED)
        return NULL;
    if (!entry->is_in_state && h->is_repeated[entry - journal_at(h->journal, 0)])
        return "only its definitions are in the current state";
    if (!entry->is_in_state)
        return entry->is_undone ? "undone" : "not in the current state";
    if (is_whole || entry->pieces == NULL || entry->outcome == JOURNAL_OK)
        return NULL;
    return "the forms before the error took effect";
}

static void add_as_text(struct history *h, const struct journal_entry *entry)
{
    struct strbuf *out = h->out;
    strbuf_addf(out, "\n%llu. %s ", (unsigned long long)entry->evaluation,
                text_time(entry->when.tv_sec).text);
    text_add_hanging(out, entry->package, strlen(entry->package), "   ");
    if (entry->outcome != JOURNAL_OK)
        strbuf_addf(out, ", %s", ending(entry));
    const char *why = share(h, entry);
    if (why != NULL)
        strbuf_addf(out, ", %s", why);
    strbuf_addc(out, '\n');
    size_t shown = utf8_floor(entry->code, entry->code_len, MOST_CODE);
    text_add_indented(out, entry->code, shown, "   ");
    if (shown < entry->code_len)
        strbuf_addf(out, "\n   [… %zu of %zu bytes not shown; use format: lisp]", entry->code_len - shown,
                    entry->code_len);
    if (entry->additions != NULL) {
        strbuf_addc(out, '\n');
        text_add_indented(out, entry->additions, strlen(entry->additions), "   ");
    }
}

/* What the person who runs the image did after that evaluation and before the next one. */
static void add_persons(struct history *h, const struct session *s, uint64_t after, uint64_t before)
{
    const struct notices *person = session_person(s);
    for (size_t i = 0; i < person->count; i++) {
        const struct fact *f = &person->facts[i];
        if (f->numbers[1] >= after && f->numbers[1] < before)
            strbuf_addf(h->out, "\n- %s %s", text_time((time_t)f->numbers[2]).text, f->texts[0]);
    }
}

/* Text any part of which may change the current package, so what follows must name its own. */
static bool names_packages(const char *text, size_t len)
{
    for (size_t i = 0; i + 7 <= len; i++)
        if (strncasecmp(text + i, "package", 7) == 0)
            return true;
    return false;
}

static void enter_package(struct history *h, const char *package)
{
    if (h->package == NULL || strcmp(h->package, package) != 0) {
        strbuf_adds(h->out, "(in-package");
        sexp_write_string(h->out, package, strlen(package));
        strbuf_adds(h->out, ")\n");
    }
    h->package = package;
}

static void add_code(struct history *h, const char *package, int depth, const char *code, size_t len)
{
    enter_package(h, package);
    for (int i = 0; i < depth; i++)
        strbuf_adds(h->out, "(progn ");
    strbuf_add(h->out, code, len);
    strbuf_addc(h->out, '\n');
    if (names_packages(code, len))
        h->package = NULL;
}

/* The form was continued by restarts, and the file repeats them. */
static void add_restarted(struct history *h, const struct journal_piece *piece, const char *code, size_t len)
{
    enter_package(h, piece->package);
    strbuf_addf(h->out,
                "(let ((%%calls (list\n%s)))\n(handler-bind ((serious-condition (lambda (condition) (when "
                "%%calls (funcall (pop %%calls) condition)))))\n",
                piece->calls);
    for (int i = 0; i < piece->depth; i++)
        strbuf_adds(h->out, "(progn ");
    strbuf_add(h->out, code, len);
    strbuf_adds(h->out, "))\n");
    h->package = NULL;
}

static void add_piece(struct history *h, const struct journal_piece *piece)
{
    const struct journal_entry *e = journal_find(h->journal, piece->evaluation);
    if (e == NULL) {
        strbuf_addf(h->out, ";; part of %llu, whose text is no longer kept\n",
                    (unsigned long long)piece->evaluation);
        return;
    }
    size_t start = byte_of(h, e, piece->start);
    size_t end = piece->end > piece->start ? byte_of(h, e, piece->end) : start;
    while (start < end && isspace((unsigned char)e->code[start]))
        start++;
    if (start == end)
        return;
    const char *code = e->code + start;
    size_t len = end - start;
    if (piece->calls != NULL)
        add_restarted(h, piece, code, len);
    else
        add_code(h, piece->package, piece->depth, code, len);
}

/* Code whose effects are not in the current state is written as a comment. */
static void add_as_lisp(struct history *h, const struct journal_entry *entry)
{
    bool is_whole = entry->is_in_state && !entry->is_in_pieces;
    bool is_own = false; /* its text is one of its pieces, from beginning to end */
    for (size_t i = 0; i < entry->piece_count; i++)
        is_own = is_own || (entry->pieces[i].evaluation == entry->evaluation && entry->pieces[i].start == 0 &&
                            entry->pieces[i].end >= entry->code_len);
    const char *why = share(h, entry);
    strbuf_addf(h->out, "\n;; %llu%s%s%s%s\n", (unsigned long long)entry->evaluation,
                entry->outcome == JOURNAL_OK ? "" : ": ", ending(entry), why == NULL ? "" : ": ",
                why == NULL ? "" : why);
    if (is_whole) {
        add_code(h, entry->package, 0, entry->code, entry->code_len);
    } else if (!entry->is_in_state || !is_own) {
        text_add_indented(h->out, entry->code, entry->code_len, ";; ");
        strbuf_addc(h->out, '\n');
    }
    for (size_t i = 0; entry->is_in_state && i < entry->piece_count && !is_too_much(h); i++)
        add_piece(h, &entry->pieces[i]);
    if (entry->is_in_state && entry->additions != NULL) {
        strbuf_addf(h->out, "%s\n", entry->additions);
        h->package = NULL;
    }
}

static void session_history(struct tool_call *call, struct session *s)
{
    if (arguments_boolean(call, "checkpoints")) {
        checkpoints_list(call, s);
        return;
    }
    const struct journal *j = session_journal(s);
    bool is_lisp = arguments_is(call, "format", "lisp");
    call->is_document = call->is_document || is_lisp;
    size_t limit = (size_t)arguments_integer(call, "limit", is_lisp ? JOURNAL_ENTRIES : 20);
    double from = arguments_number(call, "from", 0);
    size_t first = j->count > limit ? j->count - limit : 0;
    if (from > 0)
        for (first = 0; journal_at(j, first) != NULL && (double)journal_at(j, first)->evaluation < from;)
            first++;
    strbuf_addf(&call->text, "%s%s: %s", is_lisp ? ";;;; Session " : "Session ", session_name(s),
                text_count(session_evaluations(s), "evaluation").text);
    if (first > 0 || j->dropped > 0)
        strbuf_adds(&call->text, is_lisp ? "; earlier ones are not shown"
                                         : "; earlier ones are not shown (see from and limit)");
    struct history h = {.journal = j, .is_repeated = find_repeated(j), .out = &call->text};
    strbuf_adds(&call->text, is_lisp ? "\n" : "");
    const struct journal_entry *next = journal_at(j, first);
    uint64_t shown = first == 0 || next == NULL ? 0 : next->evaluation - 1;
    for (size_t i = first; i < j->count && i < first + limit && !is_too_much(&h); i++) {
        const struct journal_entry *e = journal_at(j, i);
        if (is_lisp) {
            add_as_lisp(&h, e);
        } else {
            add_persons(&h, s, shown, e->evaluation);
            add_as_text(&h, e);
        }
        shown = e->evaluation;
    }
    next = journal_at(j, first + limit);
    if (!is_lisp && next == NULL)
        add_persons(&h, s, shown, UINT64_MAX);
    free(h.is_repeated);
    if (is_too_much(&h))
        strbuf_adds(&call->text, "\n;; The rest of the code is left out: it is too long.\n");
    else if (next != NULL)
        strbuf_addf(&call->text, "\n%sLater ones are not shown; the next is from: %llu.\n",
                    is_lisp ? ";; " : "", (unsigned long long)next->evaluation);
    call_finish(call);
}

static const char *const formats[] = {"text", "lisp", NULL};

const struct tool tool_session_history = {
    .name = "session-history",
    .title = "Show the past",
    .description = "Show earlier evaluations and how each ended, also as a Lisp file that loads; or list "
                   "the checkpoints.",
    .is_read_only = true,
    .arguments = {ARGUMENT("limit", INTEGER, "", .minimum = 1, .maximum = JOURNAL_ENTRIES),
                  ARGUMENT("from", INTEGER, "", .minimum = 1, .maximum = 9007199254740991),
                  ARGUMENT("format", STRING, "", .choices = formats, .excludes = "checkpoints"),
                  ARGUMENT("checkpoints", BOOLEAN, ""),
                  ARGUMENT("max-output", INTEGER, "", .minimum = 200, .maximum = 4000000), SESSION_ARGUMENT},
    .run_in = session_history,
};
