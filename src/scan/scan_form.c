/*
 * Names a form for a reader: its position and its first tokens on one line.
 */
#include "scan/scan_form.h"

#include "scan/scan_lexer.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

const struct scan_wrapper *scan_wrapper_find(const char *name, size_t len)
{
    static const struct scan_wrapper wrappers[] = {
        {"progn", 1, true},           {"eval-when", 2, true}, {"locally", 1, true}, {"macrolet", 2, true},
        {"symbol-macrolet", 2, true}, {"flet", 2, false},     {"labels", 2, false}, {"let", 2, false},
        {"let*", 2, false},
    };
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
        if (len == strlen(wrappers[i].name) && strncasecmp(name, wrappers[i].name, len) == 0)
            return &wrappers[i];
    return NULL;
}

struct head {
    char *out;
    size_t used;
    bool is_cut;
};

static void head_add(struct head *head, const char *text, size_t len, size_t start, size_t end)
{
    /* Leave room for ` …)` and the NUL. */
    while (start < end && !head->is_cut) {
        if (head->used + 4 + 6 > SCAN_HEAD_SIZE) {
            head->is_cut = true;
            return;
        }
        head->used += scan_place_copy_char(text, len, start, head->out + head->used);
        start += scan_place_char_len(text, len, start);
    }
}

/*
 * The first tokens of the datum at ${start}: its prefixes, and of a list the operator and one more datum.
 * After a bare symbol, the next one is included: `defun foo` is what a form that lost its parenthesis
 * looks like.
 */
static void write_head(const char *text, size_t len, size_t start, char out[SCAN_HEAD_SIZE])
{
    struct scan_lexer lexer = scan_lexer_at(text, len, start);
    struct head head = {.out = out};
    size_t depth = 0;
    size_t elements = 0;
    size_t needed = 1;
    size_t last_end = start;
    bool is_bare = true;
    while (!head.is_cut && needed > 0) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_END || (token.kind == SCAN_TOKEN_CLOSE && depth == 0))
            break;
        if (depth == 1 && needed == 1 && elements == 2 && token.kind != SCAN_TOKEN_CLOSE) {
            head.is_cut = true;
            break;
        }
        if (token.start > last_end && token.kind != SCAN_TOKEN_CLOSE)
            head_add(&head, " ", 1, 0, 1);
        head_add(&head, text, len, token.start, token.end);
        last_end = token.end;
        if (token.kind == SCAN_TOKEN_FEATURE)
            needed++;
        if (token.kind == SCAN_TOKEN_OPEN) {
            if (depth == 0)
                elements = 0;
            depth++;
            is_bare = false;
        } else if (token.kind == SCAN_TOKEN_CLOSE) {
            depth--;
        } else if (token.kind != SCAN_TOKEN_ATOM) {
            is_bare = false;
            continue;
        }
        if (token.kind != SCAN_TOKEN_OPEN && depth == 1)
            elements++;
        if (token.kind != SCAN_TOKEN_OPEN && depth == 0)
            needed--;
    }
    if (is_bare && !head.is_cut) {
        struct scan_token token = scan_lexer_next(&lexer);
        if (token.kind == SCAN_TOKEN_ATOM && memchr(text + last_end, '\n', token.end - last_end) == NULL) {
            head_add(&head, " ", 1, 0, 1);
            head_add(&head, text, len, token.start, token.end);
        }
    }
    if (head.is_cut) {
        const char *rest = depth > 0 ? " …)" : " …";
        memcpy(out + head.used, rest, strlen(rest));
        head.used += strlen(rest);
    }
    out[head.used] = '\0';
}

struct scan_token scan_form_skip(struct scan_lexer *lexer)
{
    size_t depth = 0, needed = 1;
    for (;;) {
        struct scan_token token = scan_lexer_next(lexer);
        if (token.kind == SCAN_TOKEN_OPEN)
            depth++;
        else if (token.kind == SCAN_TOKEN_CLOSE && depth > 0)
            depth--;
        else if (token.kind == SCAN_TOKEN_FEATURE && depth == 0)
            needed++;
        else if (token.kind == SCAN_TOKEN_END || token.kind == SCAN_TOKEN_CLOSE)
            return token;
        bool is_whole = token.kind == SCAN_TOKEN_ATOM || token.kind == SCAN_TOKEN_CLOSE;
        if (depth == 0 && is_whole && --needed == 0)
            return token;
    }
}

struct scan_form scan_form_open(const char *text, size_t len, size_t start)
{
    struct scan_form form = {.start = scan_place_of(text, len, start)};
    write_head(text, len, start, form.head);
    return form;
}

struct scan_form scan_form_closed(const char *text, size_t len, size_t start, size_t end)
{
    struct scan_form form = scan_form_open(text, len, start);
    form.end = scan_place_of(text, len, end - 1);
    return form;
}
