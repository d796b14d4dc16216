/*
 * Responsible for the section with the warnings: those of evaluated code as they are, those of files grouped
 * by file and kind, the first few of each. The style warnings and notes of libraries are only counted.
 */
#include "report/warnings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/reply.h"
#include "report/section.h"
#include "session/session.h"

/* The kinds, worst first. */
enum kind { KIND_ERROR, KIND_WARNING, KIND_STYLE, KIND_NOTE, KIND_COUNT };

static const char *const kind_words[KIND_COUNT] = {"error", "warning", "style warning", "note"};

/* The position of a warning: "file:line:column", "file:line", "file", or nothing. In evaluated text the file
 * is empty. */
struct place {
    const char *file;
    size_t file_len;
    const char *line;   /* NULL if it is not known */
    const char *column; /* the same */
};

/* Take ":number" from the end of the file's name and return where the digits begin; NULL if there is none. */
static const char *take_number(struct place *p)
{
    size_t digits = p->file_len;
    while (digits > 0 && isdigit((unsigned char)p->file[digits - 1]))
        digits--;
    if (digits == 0 || digits == p->file_len || p->file[digits - 1] != ':')
        return NULL;
    p->file_len = digits - 1;
    return p->file + digits;
}

static struct place place_in(const struct sexp *text)
{
    struct place p = {0};
    p.file = sexp_string(text, &p.file_len);
    if (p.file == NULL)
        return p;
    const char *last = take_number(&p);
    p.line = last == NULL ? NULL : take_number(&p);
    if (p.line != NULL)
        p.column = last;
    else
        p.line = last;
    return p;
}

static bool is_in_file(const struct place *p)
{
    return p->file != NULL && p->file_len > 0;
}

static void add_line(struct strbuf *out, const struct place *p)
{
    if (p->line == NULL)
        return;
    strbuf_addf(out, "line %d", atoi(p->line));
    if (p->column != NULL)
        strbuf_addf(out, ", column %d", atoi(p->column));
    strbuf_adds(out, ": ");
}

void warnings_add_place(struct strbuf *out, const struct sexp *text)
{
    struct place p = place_in(text);
    add_line(out, &p);
}

#define FORM "{3?\n    in {3}}" /* of a warning */

/* Are both in the same file, or neither in one? */
static bool is_same_file(const struct place *a, const struct place *b)
{
    if (!is_in_file(a) || !is_in_file(b))
        return !is_in_file(a) && !is_in_file(b);
    return a->file_len == b->file_len && memcmp(a->file, b->file, a->file_len) == 0;
}

static enum kind kind_of(const struct sexp *warning)
{
    const char *type = sexp_string(sexp_nth(warning, 0), NULL);
    if (type == NULL || strstr(type, "STYLE-WARNING") != NULL)
        return KIND_STYLE;
    if (strstr(type, "COMPILER-WARNING") != NULL)
        return KIND_NOTE;
    return strstr(type, "WARNING") != NULL ? KIND_WARNING : KIND_ERROR;
}

/* A warning, and what is known of it when all have been read. */
struct warning {
    const struct sexp *value;
    struct place place;
    enum kind kind;
    size_t of_file; /* the number of the first warning in its file, or of the first in none */
    size_t alike;   /* that of the first that says the same of the same file */
};

/* The agent sends a thousand at most. Each is compared with the others, so more would hold up the server. */
#define MOST_WARNINGS 2000

struct warnings {
    struct warning *items;
    size_t count;
};

static struct warnings read_warnings(const struct sexp *list)
{
    struct warnings all = {.count = sexp_count(list) < MOST_WARNINGS ? sexp_count(list) : MOST_WARNINGS};
    all.items = xcalloc(all.count + 1, sizeof *all.items);
    for (size_t i = 0; i < all.count; i++) {
        struct warning *w = &all.items[i];
        const struct sexp *value = sexp_nth(list, i);
        *w = (struct warning){value, place_in(sexp_nth(value, 2)), kind_of(value), i, i};
        for (size_t k = i; k-- > 0;) {
            const struct warning *other = &all.items[k];
            if (!is_same_file(&w->place, &other->place))
                continue;
            w->of_file = k;
            if (reply_is_same(sexp_nth(value, 0), sexp_nth(other->value, 0)) &&
                reply_is_same(sexp_nth(value, 1), sexp_nth(other->value, 1)))
                w->alike = k;
        }
    }
    return all;
}

static int line_of(const struct place *p)
{
    return p->line == NULL ? 0 : atoi(p->line);
}

/* How often the program gave it, one after the other. */
static uint64_t times_of(const struct sexp *warning)
{
    int64_t times = sexp_integer(sexp_nth(warning, 4), 1);
    return times > 0 ? (uint64_t)times : 1;
}

/* How often the warning occurs, and in which other lines, at most ${most}. Returns how many more those are.
 */
static size_t add_times(struct strbuf *out, const struct warnings *all, size_t i, size_t most)
{
    uint64_t times = 0;
    size_t lines = 0;
    int last = line_of(&all->items[i].place);
    struct strbuf others = {0};
    for (size_t k = i; k < all->count; k++) {
        if (all->items[k].alike != i)
            continue;
        times += times_of(all->items[k].value);
        int line = line_of(&all->items[k].place);
        if (line == 0 || line == last)
            continue;
        last = line;
        if (lines++ < most)
            strbuf_addf(&others, "%s%d", lines == 1 ? "" : ", ", line);
    }
    if (times > 1)
        strbuf_addf(out, " (%s times", text_grouped(times).text);
    if (lines > 0)
        strbuf_addf(out, "; also line%s %s%s", lines == 1 ? "" : "s", strbuf_string(&others),
                    lines > most ? ", ..." : "");
    strbuf_adds(out, times > 1 ? ")" : "");
    strbuf_fini(&others);
    return lines > most ? lines - most : 0;
}

/* Its message, whose further lines are indented, need not name the file, under whose name it stands. */
static void add_message(struct strbuf *out, const struct sexp *warning, const struct place *file)
{
    struct strbuf text = {0}, name = {0};
    reply_fill(&text, warning, "{0}: {1/    }");
    strbuf_addf(&name, " #P\"%.*s\"", (int)file->file_len, file->file);
    const char *rest = strbuf_string(&text), *named = strstr(rest, strbuf_string(&name));
    if (named != NULL) {
        strbuf_add(out, rest, (size_t)(named - rest));
        rest = named + name.len;
    }
    strbuf_adds(out, rest);
    strbuf_fini(&text);
    strbuf_fini(&name);
}

/* How much is shown of what repeats. */
struct extent {
    size_t of_a_kind;   /* warnings of a kind in a file */
    size_t other_lines; /* further lines of the same warning */
};

static const struct extent inline_extent = {3, 5}, whole_extent = {SIZE_MAX, SIZE_MAX};

/* Is the file one of Debian's, the Lisp's own or Quicklisp's, which its user does not maintain? */
static bool is_in_library(const struct place *p)
{
    static const char system[] = "/usr/", dists[] = "/dists/";
    return p->file_len >= sizeof system - 1 &&
           (memcmp(p->file, system, sizeof system - 1) == 0 ||
            memmem(p->file, p->file_len, dists, sizeof dists - 1) != NULL);
}

static bool is_own_file(const struct sexp *place)
{
    struct place p = place_in(place);
    return is_in_file(&p) && !is_in_library(&p);
}

size_t warnings_own_frame(const struct sexp *frames)
{
    size_t own = 0;
    while (own < sexp_count(frames) && !is_own_file(sexp_nth(sexp_nth(frames, own), 1)))
        own++;
    return own;
}

/* The warnings of one kind in the file of the first. Returns how many were omitted, and lines of those that
 * occur again. */
static size_t add_kind(struct strbuf *out, const struct warnings *all, size_t of_file, enum kind kind,
                       const struct extent *extent)
{
    size_t shown = 0, left_out = 0;
    for (size_t i = of_file; i < all->count; i++) {
        const struct warning *w = &all->items[i];
        if (w->of_file != of_file || w->kind != kind || w->alike != i)
            continue;
        if (shown == extent->of_a_kind) {
            left_out++;
            continue;
        }
        shown++;
        strbuf_adds(out, "\n  ");
        add_line(out, &w->place);
        add_message(out, w->value, &w->place);
        left_out += add_times(out, all, i, extent->other_lines);
        reply_fill(out, w->value, FORM);
    }
    return left_out;
}

/* Returns how many are omitted. */
static size_t add_file(struct strbuf *out, const struct warnings *all, size_t of_file,
                       const struct extent *extent)
{
    const struct place *file = &all->items[of_file].place;
    size_t counts[KIND_COUNT] = {0}, left_out = 0;
    for (size_t i = of_file; i < all->count; i++)
        counts[all->items[i].kind] += all->items[i].of_file == of_file;
    strbuf_add(out, file->file, file->file_len);
    const char *separator = ": ";
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        if (counts[kind] == 0)
            continue;
        strbuf_addf(out, "%s%s", separator, text_count(counts[kind], kind_words[kind]).text);
        separator = ", ";
    }
    const struct extent counted = {0, 0};
    bool is_counted = extent != &whole_extent && is_in_library(file);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        left_out += add_kind(out, all, of_file, (enum kind)kind,
                             is_counted && kind >= KIND_STYLE ? &counted : extent);
    strbuf_addc(out, '\n');
    return left_out;
}

/* What ASDF tells of itself. */
static bool is_noise(const struct sexp *warning)
{
    const char *type = sexp_string(sexp_nth(warning, 0), NULL),
               *text = sexp_string(sexp_nth(warning, 1), NULL);
    return (type != NULL && strstr(type, "ASDF/OPERATE:RECURSIVE-OPERATE") != NULL) ||
           (text != NULL && strncmp(text, "Computing just-done stamp", 25) == 0);
}

/* Those of no file, each text once, then those of each file. Returns how many are omitted, or lines of them.
 */
static size_t add_all(struct strbuf *out, const struct warnings *all, const struct extent *extent)
{
    size_t left_out = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct warning *w = &all->items[i];
        if (is_in_file(&w->place) || w->alike != i || is_noise(w->value))
            continue;
        add_line(out, &w->place);
        reply_fill(out, w->value, "{0}: {1}");
        left_out += add_times(out, all, i, extent->other_lines);
        reply_fill(out, w->value, FORM "\n");
    }
    for (size_t i = 0; i < all->count; i++)
        if (is_in_file(&all->items[i].place) && all->items[i].of_file == i)
            left_out += add_file(out, all, i, extent);
    return left_out;
}

/* The length of the lines of ${text} that fit into ${most} bytes; at least the beginning of the first. */
static size_t whole_lines(const struct strbuf *text, size_t most)
{
    if (text->len <= most)
        return text->len;
    size_t shown = most;
    while (shown > 0 && text->bytes[shown - 1] != '\n')
        shown--;
    return shown > 0 ? shown : utf8_floor(text->bytes, text->len, most);
}

void warnings_add(struct strbuf *out, struct session *session, const struct sexp *reply, size_t most)
{
    const struct sexp *list = reply_get(reply, "warnings");
    if (sexp_count(list) == 0)
        return;
    struct warnings warnings = read_warnings(list);
    size_t lost = reply_count(reply, "warnings-lost") + (sexp_count(list) - warnings.count);
    struct strbuf some = {0}, all = {0};
    size_t left_out = add_all(&some, &warnings, &inline_extent);
    if (some.len > 0 || lost > 0)
        section_begin(out, HEADING_WARNINGS);
    if (left_out > 0 || some.len > most) {
        struct capture c;
        capture_init(&c);
        add_all(&all, &warnings, &whole_extent);
        capture_add(&c, all.bytes, all.len);
        session_redact(session, &c);
        size_t shown = whole_lines(&some, most);
        strbuf_add(out, some.bytes, shown);
        if (shown > 0 && some.bytes[shown - 1] != '\n')
            strbuf_addc(out, '\n');
        strbuf_addf(out, "[… get-output ref %d returns all warnings%s …]\n", session_next_ref(session),
                    lost > 0 ? " that were kept" : "");
        session_keep_output(session, &c);
        capture_fini(&c);
    } else {
        strbuf_add(out, strbuf_string(&some), some.len);
    }
    if (lost > 0)
        strbuf_addf(out, "[%s more warnings were not kept.]\n", text_grouped(lost).text);
    strbuf_fini(&some);
    strbuf_fini(&all);
    free(warnings.items);
    section_end(out);
}
