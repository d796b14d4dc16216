/*
 * Responsible for reading what was printed for a terminal. Time and memory are proportional to the text.
 */
#include "base/terminal_text.h"

#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"

#define SHOWN_REPEATED 3 /* times that a line is shown before it is counted instead */

/* Where the reading is in an escape sequence; the last two end one. */
enum place { TEXT, ESCAPE, MORE, CSI, STRING, STRING_ESCAPE, DONE, BROKEN, PLACES = DONE };

enum kind { OTHER, BELL, NEWLINE, ESC, SPACES, DIGITS, BRACKET, OPENING, BACKSLASH, LETTERS, KINDS };

/* clang-format off */
static const unsigned char next[PLACES][KINDS] = {
    /*                 other   bell    newline ESC            space/   0-?     [       ]PX^_   \       @-~ */
    [TEXT]          = {TEXT,   TEXT,   TEXT,   ESCAPE,        TEXT,    TEXT,   TEXT,   TEXT,   TEXT,   TEXT},
    [ESCAPE]        = {BROKEN, BROKEN, BROKEN, BROKEN,        MORE,    DONE,   CSI,    STRING, DONE,   DONE},
    [MORE]          = {BROKEN, BROKEN, BROKEN, BROKEN,        MORE,    DONE,   DONE,   DONE,   DONE,   DONE},
    [CSI]           = {BROKEN, BROKEN, BROKEN, BROKEN,        CSI,     CSI,    DONE,   DONE,   DONE,   DONE},
    [STRING]        = {STRING, DONE,   BROKEN, STRING_ESCAPE, STRING,  STRING, STRING, STRING, STRING, STRING},
    [STRING_ESCAPE] = {STRING, DONE,   BROKEN, STRING_ESCAPE, STRING,  STRING, STRING, STRING, DONE,   STRING},
};
/* clang-format on */

static enum kind kind_of(char c)
{
    if (c == '\x1b' || c == '\a' || c == '\n')
        return c == '\n' ? NEWLINE : c == '\a' ? BELL : ESC;
    if (c < ' ' || c > '~') /* beyond ASCII too, whether char is signed or not */
        return OTHER;
    if (c < '0')
        return SPACES;
    if (c < '@')
        return DIGITS;
    return c == '[' ? BRACKET : c == '\\' ? BACKSLASH : strchr("]PX^_", c) != NULL ? OPENING : LETTERS;
}

struct reader {
    struct strbuf *out;
    struct strbuf line; /* the current one; from ${held} on, the sequence that has begun */
    size_t held;
    enum place place;
    size_t back;      /* characters that the cursor is left of the end; SIZE_MAX: it is at the beginning */
    size_t run, once; /* of the lines that are alike: where the first begins and ends in ${out} */
    size_t count;     /* how many there are; 0: none yet */
    bool is_changed;
};

/* What is printed now overwrites what is right of the cursor, and that goes away with it. */
static void overwrite(struct reader *r)
{
    struct strbuf *line = &r->line;
    for (; r->back > 0 && line->len > 0; r->back--) {
        r->is_changed = true;
        do
            line->len--;
        while (line->len > 0 && utf8_continues(line->bytes[line->len]));
    }
    r->back = 0;
}

static void end_run(struct reader *r)
{
    if (r->count <= SHOWN_REPEATED)
        return;
    bool has_end = r->out->bytes[r->out->len - 1] == '\n';
    r->out->len -= has_end;
    strbuf_addf(r->out, has_end ? " [… %zu times …]\n" : " [… %zu times …]", r->count);
    r->is_changed = true;
}

/* The line without its end is that of the run. */
static bool is_repeated(const struct reader *r)
{
    size_t len = r->once - r->run;
    const char *first = r->count == 0 ? NULL : r->out->bytes + r->run;
    while (first != NULL && len > 0 && (first[len - 1] == '\n' || first[len - 1] == '\r'))
        len--;
    return first != NULL && len == r->line.len && (len == 0 || memcmp(first, r->line.bytes, len) == 0);
}

static void end_line(struct reader *r, const char *end)
{
    if (!is_repeated(r)) {
        end_run(r);
        r->run = r->out->len;
        r->count = 0;
    }
    r->count++;
    if (r->count > SHOWN_REPEATED) {
        r->out->len = r->once;
    } else {
        strbuf_add(r->out, strbuf_string(&r->line), r->line.len);
        strbuf_adds(r->out, end);
    }
    if (r->count == 1)
        r->once = r->out->len;
    r->line.len = r->held = r->back = 0;
}

/* A byte that moves the cursor, or begins a sequence. */
static void take_control(struct reader *r, char c)
{
    if (c == '\n') {
        end_line(r, r->back == SIZE_MAX ? "\r\n" : "\n");
    } else if (c == '\r') {
        r->back = SIZE_MAX;
    } else if (c == '\b') {
        r->back += r->back < SIZE_MAX;
    } else {
        r->held = r->line.len;
        r->place = ESCAPE;
        strbuf_addc(&r->line, c);
    }
}

/* A byte in a sequence. False: it interrupts the sequence, which is text then, and is to be taken as text
 * too. */
static bool take_in_sequence(struct reader *r, char c)
{
    enum place to = next[r->place][kind_of(c)];
    r->place = to < PLACES ? to : TEXT;
    if (to == DONE) {
        r->line.len = r->held;
        r->is_changed = true;
    } else if (to != BROKEN) {
        strbuf_addc(&r->line, c);
    }
    return to != BROKEN;
}

static bool is_control(char c)
{
    return c == '\x1b' || c == '\n' || c == '\r' || c == '\b';
}

static size_t plain_len(const char *bytes, size_t len)
{
    size_t n = 0;
    while (n < len && !is_control(bytes[n]))
        n++;
    return n;
}

bool terminal_text_add(struct strbuf *out, const char *bytes, size_t len)
{
    struct reader r = {.out = out};
    for (size_t i = 0; i < len;) {
        if (r.place != TEXT) {
            i += take_in_sequence(&r, bytes[i]);
        } else if (is_control(bytes[i])) {
            take_control(&r, bytes[i++]);
        } else {
            size_t n = plain_len(bytes + i, len - i);
            overwrite(&r);
            strbuf_add(&r.line, bytes + i, n);
            i += n;
        }
    }
    if (r.place != TEXT) {
        r.line.len = r.held;
        r.is_changed = true;
    }
    if (r.line.len > 0)
        end_line(&r, "");
    end_run(&r);
    strbuf_fini(&r.line);
    return r.is_changed;
}

size_t terminal_text_floor(const char *bytes, size_t len)
{
    enum place place = TEXT;
    size_t begin = len;
    for (size_t i = 0; i < len; i++) {
        enum place to = next[place][kind_of(bytes[i])];
        if (to == BROKEN)
            to = next[TEXT][kind_of(bytes[i])];
        if (to == ESCAPE)
            begin = i;
        place = to == DONE ? TEXT : to;
    }
    return place == TEXT ? len : begin;
}
