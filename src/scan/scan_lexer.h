/*
 * Cuts Common Lisp text into the tokens that determine where forms begin and end. Knows the standard reader's
 * syntax but not nesting, which is scan.c's. Internal to src/scan and its tests.
 */
#ifndef SCAN_SCAN_LEXER_H
#define SCAN_SCAN_LEXER_H

#include <stddef.h>

enum scan_token_kind {
    SCAN_TOKEN_END,
    SCAN_TOKEN_OPEN,        /* ( or #( or #3(; the parenthesis is the last byte */
    SCAN_TOKEN_CLOSE,       /* ) */
    SCAN_TOKEN_ATOM,        /* symbol, number, string, #\x, #:x, #*101, #1# */
    SCAN_TOKEN_DOT,         /* a single . */
    SCAN_TOKEN_DOTS,        /* two dots or more and nothing else */
    SCAN_TOKEN_PREFIX,      /* ' #' #. #S #P #2A #x #1= ...: one datum must follow */
    SCAN_TOKEN_BACKQUOTE,   /* ` */
    SCAN_TOKEN_COMMA,       /* , ,@ ,. */
    SCAN_TOKEN_FEATURE,     /* #+ #-: two data must follow */
    SCAN_TOKEN_CUSTOM,      /* # and a character that the standard reserves for the user */
    SCAN_TOKEN_UNREADABLE,  /* #< */
    SCAN_TOKEN_STRAY_SHARP, /* # before white space, a closing parenthesis or the end of the text */
    SCAN_TOKEN_OPEN_STRING, /* these four start at what was left open and extend to the end of the text */
    SCAN_TOKEN_OPEN_COMMENT,
    SCAN_TOKEN_OPEN_BAR,
    SCAN_TOKEN_OPEN_ESCAPE,
};

struct scan_token {
    enum scan_token_kind kind;
    size_t start;
    size_t end; /* one past the last byte */
};

struct scan_lexer {
    const unsigned char *text;
    size_t len;
    size_t at;
};

/*
 * scan_lexer_at(text, len, offset):
 * A lexer that starts at the byte at ${offset}, which must be the start of a token or white space: tokens
 * do not depend on what precedes them. A byte order mark and a `#!` line at the very beginning are skipped.
 *
 * text        borrowed as long as the lexer is used; any bytes; may be NULL when ${len} is 0
 */
struct scan_lexer scan_lexer_at(const char *text, size_t len, size_t offset);

/*
 * scan_lexer_next(lexer):
 * Skip white space and comments, then return one token.
 *
 * Returns     the token; SCAN_TOKEN_END at the end of the text, and at every call after that
 */
struct scan_token scan_lexer_next(struct scan_lexer *lexer);

#endif
