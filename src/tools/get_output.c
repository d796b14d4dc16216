/*
 * get-output: the rest of an output or a value that a reply truncated.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "base/utf8.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "session/session.h"

#define LENGTH 16384 /* by default */
#define LONGEST_LINE 1000
#define BEFORE_MATCH 200 /* bytes of a longer line that are shown before the match */
#define MOST_MATCHES 200

/* Everything that is kept. */
static void add_whole(struct strbuf *out, const struct capture *c)
{
    uint64_t start, end;
    bool has_gap = capture_gap(c, &start, &end);
    capture_add_text(c, 0, has_gap ? start : c->total, out);
    if (has_gap)
        capture_add_text(c, end, c->total, out);
}

/* The line from ${start} to ${end}; of a long one, what surrounds ${match}. */
static void add_line_at(struct strbuf *out, const char *start, const char *end, const char *match)
{
    const char *from = start, *to = end;
    if (end - start > LONGEST_LINE) {
        from = match - start > BEFORE_MATCH ? match - BEFORE_MATCH : start;
        to = end - from > LONGEST_LINE ? from + LONGEST_LINE : end;
    }
    strbuf_adds(out, from > start ? "..." : "");
    utf8_repair(out, from, (size_t)(to - from));
    strbuf_adds(out, to < end ? "..." : "");
}

/* The lines that contain the pattern, as from grep -n -F. */
static void answer_matches(struct tool_call *call, const struct capture *c)
{
    size_t pattern_len, line = 1, matches = 0;
    const char *pattern = arguments_string(call, "pattern", &pattern_len);
    struct strbuf text = {0};
    add_whole(&text, c);
    for (const char *p = strbuf_string(&text), *end = p + text.len; p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline == NULL ? end : newline;
        const char *match = memmem(p, (size_t)(stop - p), pattern, pattern_len);
        if (match != NULL && ++matches <= MOST_MATCHES) {
            strbuf_addf(&call->text, "%zu: ", line);
            add_line_at(&call->text, p, stop, match);
            strbuf_addc(&call->text, '\n');
        }
        p = stop + 1;
    }
    strbuf_fini(&text);
    uint64_t gap_start, gap_end;
    strbuf_addf(&call->text, "%s%s", text_count(matches, "line").text, matches == 1 ? " matches" : " match");
    if (matches > MOST_MATCHES)
        strbuf_addf(&call->text, ", the first %d are shown", MOST_MATCHES);
    if (capture_gap(c, &gap_start, &gap_end))
        strbuf_adds(
            &call->text,
            "; the middle of this output was not kept, and line numbers after it count only the lines kept");
    call_answer(call, false, ".");
}

static void answer_part(struct tool_call *call, const struct capture *c)
{
    uint64_t offset = (uint64_t)arguments_number(call, "offset", 0), start, end;
    size_t length = (size_t)arguments_integer(call, "length", LENGTH);
    call->is_of_asked_length = true;
    enum { REST_OF_CHARACTER = 3 }; /* it tells whether the part ends inside a character */
    char *bytes = xmalloc(length + REST_OF_CHARACTER);
    size_t got = capture_read(c, offset, bytes, length + REST_OF_CHARACTER);
    size_t n = utf8_floor(bytes, got, length);
    if (n == 0 && got > 0)
        n = length; /* shorter than its first character */
    struct strbuf text = {0};
    if (c->is_printed && terminal_text_floor(bytes, n) > 0)
        n = terminal_text_floor(bytes, n);
    bool is_changed = capture_add_text(c, offset, offset + n, &text);
    strbuf_addf(&call->text, "[bytes %llu to %llu of %s%s]\n", (unsigned long long)offset,
                (unsigned long long)(offset + n), text_grouped(c->total).text,
                is_changed ? ", cleaned for reading; raw: true returns every byte" : "");
    utf8_repair(&call->text, strbuf_string(&text), text.len);
    strbuf_fini(&text);
    free(bytes);
    if (n < length && capture_gap(c, &start, &end) && offset + n >= start && offset + n < end)
        strbuf_addf(&call->text, "\n[bytes %llu to %llu were not kept; continue at offset %llu]",
                    (unsigned long long)(offset + n), (unsigned long long)end, (unsigned long long)end);
    call_finish(call);
}

static void run(struct tool_call *call, struct session *s)
{
    int ref = (int)arguments_integer(call, "ref", 0);
    const struct capture *c = session_kept(s, ref);
    if (c == NULL && session_next_ref(s) == 1)
        call_answer(call, true, "No output of session %s was truncated yet, so none is kept.",
                    session_name(s));
    else if (c == NULL)
        call_answer(call, true,
                    "No output with ref %d is kept in session %s. The newest is %d; the last 32 truncated "
                    "outputs are kept, and 64 MiB in all sessions together.",
                    ref, session_name(s), session_next_ref(s) - 1);
    if (c == NULL)
        return;
    struct capture shown = *c; /* which keeps owning the bytes */
    shown.is_printed = c->is_printed && !arguments_boolean(call, "raw");
    if (arguments_has(call, "pattern"))
        answer_matches(call, &shown);
    else
        answer_part(call, &shown);
}

const struct tool tool_get_output = {
    .name = "get-output",
    .title = "Read cut output",
    .description = "Read the rest of a cut reply: a part of an output or value, or its lines that contain "
                   "a text.",
    .is_read_only = true,
    .arguments = {ARGUMENT("ref", INTEGER, "Number in the cut reply.", .is_required = true, .minimum = 1,
                           .maximum = 2147483647),
                  ARGUMENT("offset", INTEGER, "", .minimum = 0, .maximum = 9007199254740991),
                  ARGUMENT("length", INTEGER, "", .minimum = 1, .maximum = 1048576),
                  ARGUMENT("pattern", STRING, ""), ARGUMENT("raw", BOOLEAN, "Every byte as printed."),
                  SESSION_ARGUMENT},
    .run_in = run,
};
