/*
 * Responsible for finding top-level forms and for comparing their names. It compares normal forms of the
 * text: lower case, except where case matters, one space between data, no packages.
 */
#include "scan/scan_toplevel.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "scan/scan.h"
#include "scan/scan_form.h"
#include "scan/scan_place.h"

/* Each form is looked through once for each form around it, and the name once for each form. */
enum { MOST_SIGNATURE = 1000, MOST_OPEN = 32 };

static bool holds_forms(const char *kind, size_t len)
{
    const struct scan_wrapper *wrapper = scan_wrapper_find(kind, len);
    return wrapper != NULL && wrapper->is_standard;
}

void scan_toplevels_init(struct scan_toplevels *forms, const char *text, size_t len)
{
    *forms = (struct scan_toplevels){.text = text, .len = len};
    forms->lexer = scan_lexer_at(text, len, 0);
}

static struct scan_toplevel describe(const struct scan_toplevels *forms, const struct scan_token *open)
{
    struct scan_toplevel form = {.start = open->start, .lead = forms->has_lead ? forms->lead : open->start};
    struct scan_lexer lexer = scan_lexer_at(forms->text, forms->len, open->start);
    form.end = scan_form_skip(&lexer).end;
    lexer = scan_lexer_at(forms->text, forms->len, open->end);
    struct scan_token first = scan_lexer_next(&lexer);
    form.kind = form.kind_end = form.rest = open->end;
    if (first.kind == SCAN_TOKEN_ATOM) {
        form.kind = first.start;
        form.kind_end = form.rest = first.end;
    }
    return form;
}

bool scan_toplevels_next(struct scan_toplevels *forms, struct scan_toplevel *form)
{
    for (;;) {
        struct scan_token token = scan_lexer_next(&forms->lexer);
        bool is_here = forms->depth == forms->open;
        if (token.kind == SCAN_TOKEN_END)
            return false;
        if (token.kind == SCAN_TOKEN_FEATURE && is_here) {
            if (!forms->has_lead)
                forms->lead = token.start;
            forms->has_lead = true;
            scan_form_skip(&forms->lexer);
        } else if (token.kind == SCAN_TOKEN_OPEN) {
            forms->depth++;
            if (!is_here)
                continue;
            *form = describe(forms, &token);
            forms->has_lead = false;
            if (forms->open < MOST_OPEN && holds_forms(forms->text + form->kind, form->kind_end - form->kind))
                forms->open++;
            return true;
        } else if (token.kind == SCAN_TOKEN_CLOSE) {
            forms->depth -= forms->depth > 0;
            if (forms->depth < forms->open)
                forms->open = forms->depth;
            forms->has_lead = false;
        } else if (is_here) {
            forms->has_lead = false;
        }
    }
}

/* A symbol without its package, a string without its quotes. */
static void add_atom(struct strbuf *out, const char *text, size_t start, size_t end)
{
    if (text[start] == '"' && end - start >= 2) {
        start++;
        end--;
    } else if (text[start] != '|' && (text[start] != '#' || (end - start >= 2 && text[start + 1] == ':'))) {
        for (size_t i = start; i < end && text[i] != '|'; i++)
            if (text[i] == ':')
                start = i + 1;
    }
    /* The letter case of #\a and |a| matters, that of #\Space does not. */
    if ((end - start == 3 && text[start] == '#' && text[start + 1] == '\\') ||
        (end > start && text[start] == '|')) {
        strbuf_add(out, text + start, end - start);
        return;
    }
    for (size_t i = start; i < end; i++) {
        char c = text[i];
        strbuf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
}

/* The next datum in its normal form; false, with nothing added, if there is none. */
static bool add_datum(struct strbuf *out, struct scan_lexer *lexer)
{
    const char *text = (const char *)lexer->text;
    size_t depth = 0;
    bool is_apart = false;
    for (;;) {
        struct scan_lexer before = *lexer;
        struct scan_token token = scan_lexer_next(lexer);
        if (token.kind == SCAN_TOKEN_END || (token.kind == SCAN_TOKEN_CLOSE && depth == 0)) {
            *lexer = before;
            return false;
        }
        if (is_apart && token.kind != SCAN_TOKEN_CLOSE)
            strbuf_addc(out, ' ');
        if (token.kind == SCAN_TOKEN_ATOM)
            add_atom(out, text, token.start, token.end);
        else
            strbuf_add(out, text + token.start, token.end - token.start);
        depth += token.kind == SCAN_TOKEN_OPEN;
        depth -= token.kind == SCAN_TOKEN_CLOSE;
        is_apart = token.kind == SCAN_TOKEN_ATOM || token.kind == SCAN_TOKEN_CLOSE;
        if (is_apart && depth == 0)
            return true;
    }
}

/* A name and what distinguishes methods, in normal form. */
struct signature {
    struct strbuf name, qualifiers, specializers;
    bool has_parameters;
};

static void signature_init(struct signature *s)
{
    strbuf_init(&s->name, MOST_SIGNATURE);
    strbuf_init(&s->qualifiers, MOST_SIGNATURE);
    strbuf_init(&s->specializers, MOST_SIGNATURE);
    s->has_parameters = false;
}

static void signature_fini(struct signature *s)
{
    strbuf_fini(&s->name);
    strbuf_fini(&s->qualifiers);
    strbuf_fini(&s->specializers);
}

/* The class of each required parameter, T if none is named; the lexer is after the list's parenthesis. */
static void read_specializers(struct signature *s, struct scan_lexer *lexer)
{
    const char *text = (const char *)lexer->text;
    for (;;) {
        struct scan_token token = scan_lexer_next(lexer);
        if (token.kind != SCAN_TOKEN_ATOM && token.kind != SCAN_TOKEN_OPEN)
            return;
        if (token.kind == SCAN_TOKEN_ATOM && text[token.start] == '&')
            return;
        strbuf_addc(&s->specializers, ' ');
        if (token.kind == SCAN_TOKEN_ATOM) {
            strbuf_addc(&s->specializers, 't');
            continue;
        }
        scan_form_skip(lexer);
        if (!add_datum(&s->specializers, lexer))
            strbuf_addc(&s->specializers, 't');
        while (scan_lexer_next(lexer).kind == SCAN_TOKEN_ATOM)
            ;
    }
}

static void signature_read(struct signature *s, const char *text, size_t len, size_t from, bool is_method)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, from);
    if (!add_datum(&s->name, &lexer) || !is_method)
        return;
    for (;;) {
        struct scan_lexer ahead = lexer;
        struct scan_token token = scan_lexer_next(&ahead);
        if (token.kind == SCAN_TOKEN_OPEN) {
            s->has_parameters = true;
            read_specializers(s, &ahead);
            return;
        }
        if (token.kind != SCAN_TOKEN_ATOM)
            return;
        strbuf_addc(&s->qualifiers, ' ');
        add_datum(&s->qualifiers, &lexer);
    }
}

static bool is_same(const struct strbuf *a, const struct strbuf *b)
{
    return a->len == b->len && memcmp(strbuf_string(a), strbuf_string(b), a->len) == 0;
}

/* The name of a structure may have options: (point (:conc-name p-)). */
static bool is_first_of(const struct strbuf *name, const struct strbuf *list)
{
    const char *text = strbuf_string(list);
    return text[0] == '(' && list->len > name->len + 1 &&
           memcmp(text + 1, strbuf_string(name), name->len) == 0 &&
           (text[1 + name->len] == ' ' || text[1 + name->len] == ')') && strncmp(text, "(setf ", 6) != 0;
}

static bool is_method(const char *text, const struct scan_toplevel *form)
{
    static const char ending[] = "defmethod";
    size_t len = form->kind_end - form->kind;
    return len >= strlen(ending) &&
           strncasecmp(text + form->kind_end - strlen(ending), ending, strlen(ending)) == 0;
}

struct scan_wanted {
    bool is_of_any_kind;
    struct strbuf kind;
    struct signature signature;
};

struct scan_wanted *scan_wanted_new(const char *kind, size_t kind_len, const char *name, size_t name_len)
{
    struct scan_wanted *w = xmalloc(sizeof *w);
    w->is_of_any_kind = kind == NULL;
    strbuf_init(&w->kind, MOST_SIGNATURE);
    signature_init(&w->signature);
    if (kind_len > 0)
        add_atom(&w->kind, kind, 0, kind_len);
    if (name_len <= MOST_SIGNATURE && scan_text(name, name_len).fault == SCAN_VALID)
        signature_read(&w->signature, name, name_len, 0, true);
    return w;
}

void scan_wanted_free(struct scan_wanted *wanted)
{
    strbuf_fini(&wanted->kind);
    signature_fini(&wanted->signature);
    free(wanted);
}

static bool is_of_kind(const char *text, const struct scan_toplevel *form, const struct strbuf *wanted)
{
    struct strbuf kind = {.limit = MOST_SIGNATURE};
    add_atom(&kind, text, form->kind, form->kind_end);
    bool is_it = is_same(wanted, &kind);
    strbuf_fini(&kind);
    return is_it;
}

static bool is_of_signature(const struct signature *its, const struct signature *wanted)
{
    bool is_it = is_same(&wanted->name, &its->name) || is_first_of(&wanted->name, &its->name);
    if (wanted->has_parameters || wanted->qualifiers.len > 0)
        is_it = is_it && is_same(&wanted->qualifiers, &its->qualifiers);
    if (wanted->has_parameters)
        is_it = is_it && its->has_parameters && is_same(&wanted->specializers, &its->specializers);
    return is_it;
}

bool scan_toplevel_is(const char *text, const struct scan_toplevel *form, const struct scan_wanted *wanted)
{
    struct signature its;
    if (form->kind == form->kind_end || wanted->signature.name.len == 0 ||
        !(wanted->is_of_any_kind || is_of_kind(text, form, &wanted->kind)))
        return false;
    signature_init(&its);
    signature_read(&its, text, form->end, form->rest, is_method(text, form));
    bool is_it = is_of_signature(&its, &wanted->signature);
    signature_fini(&its);
    return is_it;
}

void scan_toplevel_signature(const char *text, const struct scan_toplevel *form, struct strbuf *out)
{
    struct scan_lexer lexer = scan_lexer_at(text, form->end, form->kind);
    struct strbuf whole = {.limit = MOST_SIGNATURE};
    strbuf_addc(&whole, '(');
    size_t more = is_method(text, form) ? SIZE_MAX : 2;
    for (size_t i = 0; i < more; i++) {
        struct scan_lexer ahead = lexer;
        bool is_list = scan_lexer_next(&ahead).kind == SCAN_TOKEN_OPEN;
        size_t len = whole.len;
        strbuf_adds(&whole, i > 0 ? " " : "");
        if (!add_datum(&whole, &lexer)) {
            whole.len = len;
            break;
        }
        if (is_list && i > 1)
            break;
    }
    for (size_t at = 0; at < whole.len;) {
        char shown[4];
        strbuf_add(out, shown, scan_place_copy_char(whole.bytes, whole.len, at, shown));
        at += scan_place_char_len(whole.bytes, whole.len, at);
    }
    strbuf_adds(out, whole.is_overflown ? " …)" : ")");
    strbuf_fini(&whole);
}
