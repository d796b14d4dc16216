/*
 * Responsible for the text of an error, in a report and in the tools that show it later.
 */
#include "report/report.h"

#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "report/section.h"

#define INLINE_FRAMES 20 /* seeds/003, "Backtrace Rules" */
#define PREVIEW_FRAMES 5
#define MOST_FRAMES_BYTES 3000
#define MOST_MESSAGE_BYTES 1500

/* "(5 more frames)" under a list that shows ${shown} of them. */
static void add_left_out(struct strbuf *out, const struct error_record *r, size_t shown, const char *pointer)
{
    int total = error_record_total_frames(r);
    bool is_more = total < 0;
    size_t all = (size_t)(is_more ? -total : total);
    if (all <= shown)
        return;
    strbuf_addf(out, "%s%s%s", is_more ? "\n... more than " : "\n... ",
                text_count(all - shown, "more frame").text, pointer);
}

static const char loading[] = "of loading", fiveam[] = "of FiveAM";

/* Frames of the machinery that loads or tests say nothing about the failure. The words for such a frame in
 * the line that it is folded into, ${loading} or ${fiveam}; NULL for any other. ${loads}: something is being
 * loaded. */
static const char *machinery(const struct sexp *frame, bool loads)
{
    static const struct {
        const char *text, *words; /* no words: the frame is the user's; the first row that fits decides */
        bool is_home;   /* of a local function: it may stand anywhere; other frames begin with the text */
        bool is_shared; /* programs call it, too: it is of loading only if something is being loaded */
    } rows[] = {
        {"(ASDF/USER::", NULL, false}, /* code of a system's definition */
        {"((METHOD ASDF/USER::", NULL, false},
        {"(EVAL (ASDF/USER::", NULL, false},
        {":IN ASDF/USER::", NULL, true},
        {"(ASDF/", loading, false},
        {"((METHOD ASDF/", loading, false},
        {"(EVAL (ASDF/", loading, false},
        {"(UIOP/", loading, false, true},
        {"(LOAD ", loading, false},
        {"(COMPILE-FILE ", loading, false},
        {"(SB-C::", loading, false},
        {"(SB-FASL::", loading, false},
        {":IN ASDF/", loading, true},
        {":IN UIOP/", loading, true, true},
        {":IN SB-C::", loading, true},
        {":IN SB-FASL::", loading, true},
        {"(IT.BESE.FIVEAM:", fiveam, false},
        {"((METHOD IT.BESE.FIVEAM:", fiveam, false},
        {":IN IT.BESE.FIVEAM:", fiveam, true},
    };
    const char *call = sexp_string(sexp_nth(frame, 0), NULL);
    if (call == NULL)
        return NULL;
    bool is_local = strncmp(call, "((", 2) == 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = strstr(call, rows[i].text);
        if (found != NULL && (rows[i].is_home ? is_local : found == call))
            return loads || !rows[i].is_shared ? rows[i].words : NULL;
    }
    return NULL;
}

/* Is there a frame of ASDF, LOAD or the compiler? */
static bool any_loads(const struct sexp *frames)
{
    for (size_t i = 0; i < sexp_count(frames); i++)
        if (machinery(sexp_nth(frames, i), false) == loading)
            return true;
    return false;
}

bool report_frame_is_machinery(const struct sexp *frame)
{
    return machinery(frame, false) != NULL;
}

/* The length of the text that names a frame's function, from the frame's first parenthesis on. The name of a
 * local function or a method is a list itself. 0 if the frame names no function. */
static size_t name_len(const struct sexp *frame)
{
    const char *call = sexp_string(sexp_nth(frame, 0), NULL);
    if (call == NULL || call[0] != '(')
        return 0;
    size_t depth = 0, i = 1;
    for (; call[i] != '\0' && (depth > 0 || (call[i] != ' ' && call[i] != ')')); i++) {
        depth += call[i] == '(';
        depth -= call[i] == ')';
    }
    return i;
}

static bool is_same_function(const struct sexp *a, const struct sexp *b)
{
    size_t len = name_len(a);
    return len > 0 && len == name_len(b) &&
           memcmp(sexp_string(sexp_nth(a, 0), NULL), sexp_string(sexp_nth(b, 0), NULL), len) == 0;
}

#define FOLDED_RECURSION 8 /* fold at least this many consecutive frames of one function */
#define SHOWN_OF_RECURSION 3

/* How many frames from ${at} on are folded into one line; 0 to show that frame. The last frame is what was
 * called. */
static size_t folded(const struct sexp *frames, bool loads, size_t at, size_t run_start, const char **what)
{
    size_t end = at + 1;
    *what = machinery(sexp_nth(frames, at), loads);
    while (*what != NULL && end < sexp_count(frames) && machinery(sexp_nth(frames, end), loads) == *what)
        end++;
    if (end - at >= 2)
        return end - at;
    for (end = at;
         end < sexp_count(frames) && is_same_function(sexp_nth(frames, run_start), sexp_nth(frames, end));)
        end++;
    *what = "of the same function";
    return at - run_start >= SHOWN_OF_RECURSION && end - run_start >= FOLDED_RECURSION ? end - at : 0;
}

size_t report_frames(struct strbuf *out, const struct sexp *frames, size_t most_lines, size_t most_bytes)
{
    size_t i = 0, run_start = 0, start = out->len;
    bool loads = any_loads(frames);
    for (size_t line = 0; i < sexp_count(frames) && line < most_lines; line++) {
        const char *what;
        if (out->len - start > most_bytes)
            break;
        if (!is_same_function(sexp_nth(frames, run_start), sexp_nth(frames, i)))
            run_start = i;
        size_t n = folded(frames, loads, i, run_start, &what);
        if (line > 0)
            strbuf_addc(out, '\n');
        if (n == 0) {
            section_add_frame(out, i, sexp_nth(frames, i));
            i++;
        } else {
            strbuf_addf(out, "%zu-%zu: (%s %s)", i, i + n - 1, text_count(n, "frame").text, what);
            i += n;
        }
    }
    return i;
}

#define MOST_RESTARTS_BYTES 1000
#define MOST_SLOTS_BYTES 600

/* A restart with the same text as an earlier one does the same further out: its number still works. */
static bool is_repeated(const struct sexp *restarts, size_t n)
{
    const struct sexp *restart = sexp_nth(restarts, n);
    for (size_t i = 0; i < n; i++)
        if (reply_is_same(sexp_nth(sexp_nth(restarts, i), 0), sexp_nth(restart, 0)) &&
            reply_is_same(sexp_nth(sexp_nth(restarts, i), 1), sexp_nth(restart, 1)))
            return true;
    return false;
}

#define MORE_RESTARTS                                                                                        \
    "{more-restarts?({more-restarts} more have no number; invoke one by name unless an inner restart "       \
    "shares it)\n}"

static void add_restarts(struct strbuf *out, const struct error_record *r, const struct sexp *restarts)
{
    section_begin(out, HEADING_RESTARTS);
    size_t start = out->len;
    for (size_t i = 0; i < sexp_count(restarts); i++) {
        const struct sexp *restart = sexp_nth(restarts, i);
        bool is_full = out->len - start > MOST_RESTARTS_BYTES, is_last = i + 1 == sexp_count(restarts);
        if (is_full ? !is_last : is_repeated(restarts, i))
            continue;
        strbuf_addf(out, "%zu. ", i + 1);
        reply_fill(out, restart, "[{0/   }] {1/   }{2? (takes a value)}\n");
    }
    reply_fill(out, r->condition, MORE_RESTARTS);
    section_end(out);
}

/* May a name or number that stands beside this byte end there? */
static bool ends_word(char byte)
{
    return (unsigned char)byte < 0x80 && !isalnum((unsigned char)byte) && byte != '-';
}

/* Does the shown part of the message contain the slot's value? A message may write a value differently from
 * the printer: "(/ 1 0)" contains (1 0), "file a" contains #P"a", "A" contains :A. In conditions of the Lisp
 * itself, a slot that is NIL was not given. */
static bool is_in_message(const struct error_record *r, const struct sexp *slot)
{
    size_t len = 0, message_len = strnlen(r->message, MOST_MESSAGE_BYTES);
    const char *text = sexp_string(sexp_nth(slot, 1), &len), *end = r->message + message_len;
    if (text == NULL || len == 0)
        return false;
    if (strcmp(text, "NIL") == 0 && strncmp(r->type, "SB-", 3) == 0)
        return true;
    const char *quote = memchr(text, '"', len), *last = memrchr(text, '"', len);
    if (quote != last && (quote == text || text[0] == '#')) {
        text = quote + 1;
        len = (size_t)(last - text);
    } else if (len > 2 && (text[0] == '(' || text[0] == ':')) {
        len -= text[len - 1] == ')' ? 2 : 1;
        text++;
    }
    for (const char *at = r->message; len > 0 && (at = memmem(at, (size_t)(end - at), text, len)) != NULL;
         at++)
        if ((at == r->message || ends_word(at[-1])) && ends_word(at[len]))
            return true;
    return false;
}

static void add_slots(struct strbuf *out, const struct error_record *r, const struct sexp *slots)
{
    size_t start = 0;
    for (size_t i = 0; i < sexp_count(slots); i++) {
        if (is_in_message(r, sexp_nth(slots, i)))
            continue;
        if (start == 0) {
            section_begin(out, HEADING_SLOTS);
            start = out->len;
        }
        if (out->len - start > MOST_SLOTS_BYTES) {
            strbuf_addf(out, "... %zu more\n", sexp_count(slots) - i);
            break;
        }
        reply_fill(out, sexp_nth(slots, i), "{0/  }: {1/  }\n");
    }
    section_end(out);
}

void report_condition(struct strbuf *out, const struct error_record *r)
{
    section_begin(out, HEADING_ERROR);
    size_t len = strlen(r->message);
    size_t shown_len = utf8_floor(r->message, len, MOST_MESSAGE_BYTES);
    strbuf_addf(out, "%s\n", r->type);
    strbuf_add(out, r->message, shown_len);
    if (shown_len < len)
        strbuf_addf(out, "\n[… %s%s", text_grouped(len - shown_len).text,
                    r->sequence > 0 ? " more bytes; list-errors with index shows them …]" : " more bytes …]");
    section_end(out);
    if (sexp_count(error_record_frames(r)) > 0 || error_record_total_frames(r) != 0)
        section_begin(out, HEADING_BACKTRACE);
    size_t shown = report_frames(out, error_record_frames(r), INLINE_FRAMES, MOST_FRAMES_BYTES);
    add_left_out(out, r, shown, r->sequence > 0 ? "; see get-backtrace" : "");
    const struct sexp *restarts = error_record_restarts(r);
    const struct sexp *slots = reply_get(r->condition, "slots");
    if (sexp_count(restarts) > 0)
        add_restarts(out, r, restarts);
    /* The hint describes what failed in a file; the slots of ASDF's own conditions say less. */
    bool is_of_asdf = strncmp(r->type, "UIOP/", 5) == 0 || strncmp(r->type, "ASDF/", 5) == 0;
    if (sexp_count(slots) > 0 && !is_of_asdf)
        add_slots(out, r, slots);
    size_t hint_len;
    const char *hint = sexp_string(reply_get(r->condition, "hint"), &hint_len);
    if (hint != NULL && hint_len > 0) {
        section_begin(out, HEADING_HINT);
        strbuf_add(out, hint, hint_len);
    }
    section_end(out);
    if (r->sequence > 0)
        strbuf_addf(out, "\n\n(error %d)", r->sequence);
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
    const struct sexp *restarts = error_record_restarts(r);
    strbuf_adds(out, "\n\nAvailable Restarts:\n");
    for (size_t i = 0; i < sexp_count(restarts); i++) {
        strbuf_addf(out, "  %zu. ", i + 1);
        reply_fill(out, sexp_nth(restarts, i), "{0/     } - {1/     }\n");
    }
    if (sexp_count(restarts) == 0)
        strbuf_adds(out, "  (none)\n");
    else
        reply_fill(out, r->condition, MORE_RESTARTS);
    struct strbuf frames = {0};
    report_frames(&frames, error_record_frames(r), PREVIEW_FRAMES, SIZE_MAX);
    strbuf_addf(out, "\nBacktrace (top %d frames):\n", PREVIEW_FRAMES);
    text_add_indented(out, frames.len == 0 ? "(no frames)" : frames.bytes, frames.len == 0 ? 11 : frames.len,
                      "  ");
    strbuf_fini(&frames);
    strbuf_addf(
        out,
        "\n\nError %d of this session, %s%s%sat %s. get-backtrace shows all frames, and their variables "
        "with locals: true.",
        r->sequence, r->thread == NULL || r->is_stray ? "" : "in thread ", r->thread == NULL ? "" : r->thread,
        r->thread == NULL ? "" : ", ", text_date(r->when.tv_sec).text);
    /* list-errors reports whether it still can be: this text never changes. */
    if (sexp_count(restarts) > 0)
        strbuf_adds(
            out,
            " evaluate-in-frame and invoke-restart enter it while list-errors says that it can be entered.");
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
    strbuf_addf(out, "Backtrace of error %d (%s%s):", r->sequence, total < 0 ? "more than " : "",
                text_count((uint64_t)(total < 0 ? -(int64_t)total : total), "frame").text);
    size_t end = from < kept && count < kept - from ? from + count : kept;
    section_add_stack(out, frames, from, end, from, locals);
    if (from >= end)
        strbuf_addf(out, "\n(no frame from %zu on is kept)", from);
    if (end < kept)
        strbuf_adds(out, "\n... more frames; max-frames and from show them");
    add_left_out(out, r, kept,
                 !error_record_is_enterable(r) ? ", not kept"
                 : end < kept                  ? ""
                                               : "; use max-frames and from");
}

#define LISTED_BYTES 300

/* The first line of a message, and what it announces if it ends with a colon. */
static void add_in_one_line(struct strbuf *out, const char *message)
{
    message += strspn(message, " \t\n");
    size_t len = strcspn(message, "\n");
    if (len > 0 && message[len - 1] == ':')
        len = strlen(message);
    size_t end = utf8_floor(message, len, LISTED_BYTES);
    for (size_t i = 0; i < end; i++) {
        if (message[i] != '\n') {
            strbuf_addc(out, message[i]);
            continue;
        }
        while (i + 1 < end && isspace((unsigned char)message[i + 1]))
            i++;
        if (i + 1 < end)
            strbuf_addc(out, ' ');
    }
}

void report_error_list(struct strbuf *out, struct session *session, size_t limit, bool counts_past)
{
    size_t n = session_error_count(session);
    if (n == 0) {
        strbuf_adds(out, "No errors in this session.");
        return;
    }
    strbuf_addf(out, "%s%s", text_count(n, "error").text,
                session_last_error(session) == NULL
                    ? ", newest first; none since the last successful evaluation:"
                    : ", newest first:");
    size_t shown = 0, past = 0;
    for (size_t i = 0; i < n && shown < limit; i++) {
        const struct error_record *r = session_error(session, i);
        if (counts_past && i > 0 && !error_record_is_enterable(r)) {
            past++;
            continue;
        }
        shown++;
        strbuf_addf(out, "\n%d. %s ", r->sequence, text_time(r->when.tv_sec).text);
        if (r->thread != NULL)
            strbuf_addf(out, "%s%s%s: ", error_record_is_persons(r) ? "the person's, " : "",
                        r->is_stray ? "" : "in thread ", r->thread);
        strbuf_addf(out, "%s: ", r->type);
        add_in_one_line(out, r->message);
        const char *why_not = report_why_not(r);
        if (why_not == NULL)
            strbuf_adds(out, " (can be entered)");
        else
            strbuf_addf(out, " (cannot be entered: %s)", why_not);
    }
    if (past > 0)
        strbuf_addf(out, "\n%zu more can no longer be entered; limit: 32 shows them.", past);
    if (n > shown + past)
        strbuf_addf(out, "\n... %zu more", n - shown - past);
    while (n-- > 0)
        session_note_announced(session, n);
}
