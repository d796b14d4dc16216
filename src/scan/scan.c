/*
 * Decides whether the tokens make complete forms, and which top-level form the first fault is in. Keeps one
 * record per open list up to SCAN_TRACKED_DEPTH and only a count beyond.
 */
#include "scan/scan.h"

#include "scan/scan_form.h"
#include "scan/scan_hint.h"
#include "scan/scan_lexer.h"
#include "scan/scan_place.h"

#include <stdbool.h>
#include <string.h>

enum list_state {
    LIST_EMPTY,
    LIST_STARTED,
    LIST_DOTTED,     /* after a dot */
    LIST_TERMINATED, /* after the datum that follows the dot */
    LIST_LENIENT     /* contains data that may read as nothing, so dots cannot be judged */
};

/* What may follow within one open list; level 0 is the text itself. */
struct level {
    enum list_state state;
    bool is_conditional;     /* the current datum follows #+ or #- */
    bool is_suppressed;      /* the whole list does */
    size_t pending;          /* data that the current prefixes still require */
    size_t prefix;           /* offset of the last such prefix */
    size_t quote_depth;      /* backquotes minus commas around the next datum */
    size_t base_quote_depth; /* and around this list */
};

struct span {
    bool is_set;
    bool is_closed;
    size_t start;
    size_t end; /* one past the last byte, if closed */
};

struct scanner {
    const char *text;
    size_t len;
    struct scan_lexer lexer;
    size_t forms;
    size_t depth;
    struct span form;     /* the current top-level datum, or the last one */
    struct span previous; /* the last one that closed */
    struct span anchor;   /* the last one that does not look like a piece of an earlier form */
    struct span wrapper;  /* the last closed one that contains lists in column 1, or that lost them */
    bool form_is_wrapper;
    size_t form_operator; /* where the operator of the current list should be */
    size_t form_elements; /* number of data in that list */
    enum scan_fault fault;
    size_t fault_at;
    struct level levels[SCAN_TRACKED_DEPTH + 1];
};

/*
 * A form that closes too early leaves its remaining data at top level. These are indented or continue a
 * line; a separate form starts a line, and is indented no deeper than the form before it.
 */
static bool looks_like_a_new_form(const struct scanner *scanner, size_t start)
{
    if (!scanner->anchor.is_set)
        return true;
    if (scanner->text[start] == '"') /* a docstring in column 1 */
        return false;
    if (scan_place_is_column_one(scanner->text, start))
        return true;
    if (!scan_place_starts_its_line(scanner->text, start))
        return false;
    return scan_place_indentation(scanner->text, scanner->len, start) <=
           scan_place_indentation(scanner->text, scanner->len, scanner->anchor.start);
}

/* A wrapper without a body makes no sense; more likely it closes before its body. */
static bool is_wrapper_without_body(const struct scanner *scanner)
{
    struct scan_lexer lexer = scan_lexer_at(scanner->text, scanner->len, scanner->form_operator);
    struct scan_token token = scan_lexer_next(&lexer);
    const struct scan_wrapper *wrapper =
        scan_wrapper_find(scanner->text + token.start, token.end - token.start);
    return wrapper != NULL && scanner->form_elements == wrapper->elements;
}

static struct level *scanner_level(struct scanner *scanner)
{
    return scanner->depth <= SCAN_TRACKED_DEPTH ? &scanner->levels[scanner->depth] : NULL;
}

static void scanner_fail(struct scanner *scanner, enum scan_fault fault, size_t at)
{
    if (scanner->fault == SCAN_VALID) {
        scanner->fault = fault;
        scanner->fault_at = at;
    }
}

/* A datum or one of its prefixes starts. */
static void begin_datum(struct scanner *scanner, size_t start)
{
    struct level *level = scanner_level(scanner);
    if (level == NULL || level->pending > 0)
        return;
    if (scanner->depth == 0) {
        scanner->form = (struct span){.is_set = true, .start = start};
        scanner->form_is_wrapper = false;
        scanner->form_operator = 0;
        if (looks_like_a_new_form(scanner, start))
            scanner->anchor = scanner->form;
    }
    if (level->state == LIST_TERMINATED)
        scanner_fail(scanner, SCAN_STRAY_DOT, start);
}

static void end_datum(struct scanner *scanner, size_t end)
{
    struct level *level = scanner_level(scanner);
    if (level == NULL)
        return;
    if (level->pending > 0 && --level->pending > 0)
        return;
    level->is_conditional = false;
    level->quote_depth = level->base_quote_depth;
    if (level->state == LIST_EMPTY)
        level->state = LIST_STARTED;
    else if (level->state == LIST_DOTTED)
        level->state = LIST_TERMINATED;
    if (scanner->depth == 1)
        scanner->form_elements++;
    if (scanner->depth > 0)
        return;
    level->state = LIST_EMPTY;
    scanner->forms++;
    scanner->form.is_closed = true;
    scanner->form.end = end;
    scanner->previous = scanner->form;
    if (scanner->anchor.start == scanner->form.start)
        scanner->anchor = scanner->form;
    if (scanner->form_is_wrapper || (scanner->form_operator > 0 && is_wrapper_without_body(scanner)))
        scanner->wrapper = scanner->form;
}

static void take_open(struct scanner *scanner, const struct scan_token *token)
{
    struct level *outer = scanner_level(scanner);
    begin_datum(scanner, token->start);
    if (scanner->depth > 0 && scan_place_is_column_one(scanner->text, token->start))
        scanner->form_is_wrapper = true;
    if (scanner->depth == 0) {
        scanner->form_operator = token->end;
        scanner->form_elements = 0;
    }
    scanner->depth++;
    struct level *level = scanner_level(scanner);
    if (level == NULL)
        return;
    *level = (struct level){
        .is_suppressed = outer->is_suppressed || outer->is_conditional,
        .quote_depth = outer->quote_depth,
        .base_quote_depth = outer->quote_depth,
    };
}

static void take_close(struct scanner *scanner, const struct scan_token *token)
{
    struct level *level = scanner_level(scanner);
    if (level != NULL && level->pending > 0) {
        scanner_fail(scanner, SCAN_DANGLING_PREFIX, level->prefix);
        return;
    }
    if (scanner->depth == 0) {
        scanner_fail(scanner, SCAN_UNMATCHED_CLOSE, token->start);
        return;
    }
    if (level != NULL && level->state == LIST_DOTTED) {
        scanner_fail(scanner, SCAN_STRAY_DOT, level->prefix);
        return;
    }
    scanner->depth--;
    end_datum(scanner, token->end);
}

static void take_prefix(struct scanner *scanner, const struct scan_token *token)
{
    struct level *level = scanner_level(scanner);
    if (token->kind == SCAN_TOKEN_FEATURE && level != NULL && level->state == LIST_TERMINATED)
        level->state = LIST_LENIENT; /* the datum behind a dot and its own may not count */
    begin_datum(scanner, token->start);
    if (level == NULL)
        return;
    level->prefix = token->start;
    if (level->pending == 0)
        level->pending = 1;
    if (token->kind == SCAN_TOKEN_FEATURE) {
        /* The feature and the datum; only the reader knows whether the datum counts. */
        level->pending++;
        level->is_conditional = true;
        level->state = LIST_LENIENT;
    } else if (token->kind == SCAN_TOKEN_BACKQUOTE) {
        level->quote_depth++;
    } else if (token->kind == SCAN_TOKEN_COMMA) {
        if (level->quote_depth > 0)
            level->quote_depth--;
        else if (!level->is_suppressed && !level->is_conditional)
            scanner_fail(scanner, SCAN_STRAY_COMMA, token->start);
    }
}

static void take_dot(struct scanner *scanner, const struct scan_token *token)
{
    struct level *level = scanner_level(scanner);
    if (level == NULL || level->state == LIST_LENIENT || level->is_suppressed || level->is_conditional)
        return;
    if (scanner->depth == 0)
        begin_datum(scanner, token->start);
    if (scanner->depth == 0 || level->pending > 0 || level->state != LIST_STARTED) {
        scanner_fail(scanner, SCAN_STRAY_DOT, token->start);
        return;
    }
    level->state = LIST_DOTTED;
    level->prefix = token->start;
}

static void take_dots(struct scanner *scanner, const struct scan_token *token)
{
    struct level *level = scanner_level(scanner);
    begin_datum(scanner, token->start);
    if (level != NULL && !level->is_suppressed && !level->is_conditional)
        scanner_fail(scanner, SCAN_TOO_MANY_DOTS, token->start);
    end_datum(scanner, token->end);
}

/* What a user-defined dispatch macro reads is unknown: it requires nothing and forbids nothing. */
static void take_custom(struct scanner *scanner, const struct scan_token *token)
{
    struct level *level = scanner_level(scanner);
    if (level == NULL)
        return;
    level->state = LIST_LENIENT;
    if (scanner->depth == 0 && level->pending == 0 && looks_like_a_new_form(scanner, token->start))
        scanner->anchor = (struct span){.is_set = true, .start = token->start};
}

static void take_end(struct scanner *scanner)
{
    struct level *level = scanner_level(scanner);
    if (scanner->depth > 0)
        scanner_fail(scanner, SCAN_UNCLOSED_LIST, scanner->len);
    else if (level->pending > 0)
        scanner_fail(scanner, SCAN_DANGLING_PREFIX, level->prefix);
}

static void take_broken(struct scanner *scanner, enum scan_fault fault, const struct scan_token *token)
{
    if (fault != SCAN_UNCLOSED_COMMENT)
        begin_datum(scanner, token->start);
    scanner_fail(scanner, fault, token->start);
}

/* True until the end of the text or a fault. */
static bool scanner_step(struct scanner *scanner)
{
    static const enum scan_fault faults[] = {
        [SCAN_TOKEN_UNREADABLE] = SCAN_UNREADABLE,       [SCAN_TOKEN_STRAY_SHARP] = SCAN_STRAY_SHARP,
        [SCAN_TOKEN_OPEN_STRING] = SCAN_UNCLOSED_STRING, [SCAN_TOKEN_OPEN_COMMENT] = SCAN_UNCLOSED_COMMENT,
        [SCAN_TOKEN_OPEN_BAR] = SCAN_UNCLOSED_BAR,       [SCAN_TOKEN_OPEN_ESCAPE] = SCAN_UNCLOSED_ESCAPE,
    };
    struct scan_token token = scan_lexer_next(&scanner->lexer);
    switch (token.kind) {
    case SCAN_TOKEN_END:
        take_end(scanner);
        return false;
    case SCAN_TOKEN_OPEN:
        take_open(scanner, &token);
        break;
    case SCAN_TOKEN_CLOSE:
        take_close(scanner, &token);
        break;
    case SCAN_TOKEN_ATOM:
        begin_datum(scanner, token.start);
        end_datum(scanner, token.end);
        break;
    case SCAN_TOKEN_DOT:
        take_dot(scanner, &token);
        break;
    case SCAN_TOKEN_DOTS:
        take_dots(scanner, &token);
        break;
    case SCAN_TOKEN_PREFIX:
    case SCAN_TOKEN_BACKQUOTE:
    case SCAN_TOKEN_COMMA:
    case SCAN_TOKEN_FEATURE:
        take_prefix(scanner, &token);
        break;
    case SCAN_TOKEN_CUSTOM:
        take_custom(scanner, &token);
        break;
    case SCAN_TOKEN_UNREADABLE:
    case SCAN_TOKEN_STRAY_SHARP:
    case SCAN_TOKEN_OPEN_STRING:
    case SCAN_TOKEN_OPEN_COMMENT:
    case SCAN_TOKEN_OPEN_BAR:
    case SCAN_TOKEN_OPEN_ESCAPE:
        take_broken(scanner, faults[token.kind], &token);
        break;
    }
    return scanner->fault == SCAN_VALID;
}

/* Whether the parenthesis at ${offset} is in column 1, with nothing but a comment after it. */
static bool is_alone_in_column_one(const struct scanner *scanner, size_t offset)
{
    size_t after = offset + 1;
    if (!scan_place_is_column_one(scanner->text, offset))
        return false;
    while (after < scanner->len && strchr(" \t\r\f", scanner->text[after]) && scanner->text[after] != '\0')
        after++;
    return after >= scanner->len || scanner->text[after] == '\n' || scanner->text[after] == ';' ||
           scanner->text[after] == '#';
}

/*
 * A wrapper with its body in column 1 that closes too early leaves its own closing parenthesis, alone in
 * column 1, after a complete form.
 */
static bool belongs_to_the_wrapper(const struct scanner *scanner)
{
    return scanner->wrapper.is_set && scanner->previous.start == scanner->anchor.start &&
           is_alone_in_column_one(scanner, scanner->fault_at) &&
           !is_alone_in_column_one(scanner, scanner->wrapper.end - 1);
}

static struct span faulty_form(const struct scanner *scanner)
{
    bool ends_with_the_text = scanner->fault >= SCAN_UNCLOSED_LIST && scanner->fault <= SCAN_UNCLOSED_ESCAPE;
    if (ends_with_the_text && (scanner->depth > 0 || scanner->levels[0].pending > 0))
        return scanner->form;
    if (scanner->fault == SCAN_UNCLOSED_COMMENT)
        return (struct span){.is_set = false};
    if (scanner->fault == SCAN_UNMATCHED_CLOSE && belongs_to_the_wrapper(scanner))
        return scanner->wrapper;
    return scanner->anchor;
}

static struct scan_form describe(const struct scanner *scanner, struct span span)
{
    if (!span.is_set)
        return (struct scan_form){.head = ""};
    return span.is_closed ? scan_form_closed(scanner->text, scanner->len, span.start, span.end)
                          : scan_form_open(scanner->text, scanner->len, span.start);
}

static void describe_fault(const struct scanner *scanner, struct scan_result *result)
{
    const char *text = scanner->text;
    size_t len = scanner->len;
    struct span form = faulty_form(scanner);
    result->depth = scanner->depth;
    result->at = scan_place_of(text, len, scanner->fault_at);
    result->form = describe(scanner, form);
    if (result->fault == SCAN_UNCLOSED_LIST)
        scan_hint_unclosed_list(result, text, len, form.start);
    if (result->fault == SCAN_UNMATCHED_CLOSE && form.is_set) {
        result->previous = describe(scanner, scanner->previous);
        scan_hint_unmatched_close(result, text, len, form.start);
    }
    scan_hint_runaway(result, text, len, form.is_set ? form.start : scanner->fault_at);
}

struct scan_result scan_text(const char *text, size_t len)
{
    struct scanner scanner;
    /* Everything but the levels, which are set as lists open. */
    memset(&scanner, 0, offsetof(struct scanner, levels));
    scanner.text = text;
    scanner.len = len;
    scanner.levels[0] = (struct level){.state = LIST_EMPTY};
    scanner.lexer = scan_lexer_at(text, len, 0);
    while (scanner_step(&scanner))
        ;
    struct scan_result result = (struct scan_result){.fault = scanner.fault, .forms = scanner.forms};
    if (scanner.fault != SCAN_VALID)
        describe_fault(&scanner, &result);
    return result;
}
