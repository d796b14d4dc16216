/*
 * The standard reader's lexical syntax (CLHS 2.1 to 2.4), as far as it determines where tokens end. Every
 * loop moves forward, so the time is linear in any text.
 */
#include "scan/scan_lexer.h"

#include <stdbool.h>
#include <string.h>

enum byte_class {
    BYTE_CONSTITUENT,
    BYTE_SPACE,
    BYTE_TERMINATING,
    BYTE_ESCAPE,
    BYTE_BAR,
};

static const unsigned char byte_classes[256] = {
    ['\t'] = BYTE_SPACE,      ['\n'] = BYTE_SPACE,      ['\f'] = BYTE_SPACE,      ['\r'] = BYTE_SPACE,
    [' '] = BYTE_SPACE,       [0x7f] = BYTE_SPACE,      ['"'] = BYTE_TERMINATING, ['\''] = BYTE_TERMINATING,
    ['('] = BYTE_TERMINATING, [')'] = BYTE_TERMINATING, [','] = BYTE_TERMINATING, [';'] = BYTE_TERMINATING,
    ['`'] = BYTE_TERMINATING, ['\\'] = BYTE_ESCAPE,     ['|'] = BYTE_BAR,
};

struct scan_lexer scan_lexer_at(const char *text, size_t len, size_t offset)
{
    struct scan_lexer lexer = {.text = (const unsigned char *)text, .len = len};
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        lexer.at = 3;
    if (len - lexer.at >= 2 && memcmp(text + lexer.at, "#!", 2) == 0) {
        const char *newline = memchr(text + lexer.at, '\n', len - lexer.at);
        lexer.at = newline != NULL ? (size_t)(newline - text) : len;
    }
    if (offset > lexer.at)
        lexer.at = offset;
    return lexer;
}

static bool is_digit(unsigned char byte)
{
    return byte >= '0' && byte <= '9';
}

static struct scan_token token_until(struct scan_lexer *lexer, enum scan_token_kind kind, size_t start,
                                     size_t end)
{
    lexer->at = end;
    return (struct scan_token){.kind = kind, .start = start, .end = end};
}

/* Find the ${delimiter} that closes what opened before ${at}: its offset, or at least the length if there
 * is none. */
static size_t find_delimiter(const struct scan_lexer *lexer, size_t at, unsigned char delimiter)
{
    while (at < lexer->len && lexer->text[at] != delimiter)
        at += lexer->text[at] == '\\' ? 2 : 1;
    return at;
}

/* Where the block comment whose `#|` is at ${at} ends; false if it never does. */
static bool skip_block_comment(const struct scan_lexer *lexer, size_t at, size_t *end)
{
    size_t depth = 0;
    while (at + 1 < lexer->len) {
        if (lexer->text[at] == '#' && lexer->text[at + 1] == '|') {
            depth++;
            at += 2;
        } else if (lexer->text[at] == '|' && lexer->text[at + 1] == '#') {
            at += 2;
            if (--depth == 0) {
                *end = at;
                return true;
            }
        } else {
            at++;
        }
    }
    return false;
}

/* The rest of a symbol or number from ${at}, which may be empty. */
static struct scan_token take_constituents(struct scan_lexer *lexer, size_t start, size_t at)
{
    while (at < lexer->len) {
        size_t close;
        switch (byte_classes[lexer->text[at]]) {
        case BYTE_CONSTITUENT:
            at++;
            break;
        case BYTE_ESCAPE:
            if (at + 1 >= lexer->len)
                return token_until(lexer, SCAN_TOKEN_OPEN_ESCAPE, at, lexer->len);
            at += 2;
            break;
        case BYTE_BAR:
            close = find_delimiter(lexer, at + 1, '|');
            if (close >= lexer->len)
                return token_until(lexer, SCAN_TOKEN_OPEN_BAR, at, lexer->len);
            at = close + 1;
            break;
        default:
            return token_until(lexer, SCAN_TOKEN_ATOM, start, at);
        }
    }
    return token_until(lexer, SCAN_TOKEN_ATOM, start, at);
}

static struct scan_token take_symbol_or_dot(struct scan_lexer *lexer, size_t start)
{
    struct scan_token token = take_constituents(lexer, start, start);
    size_t at = start;
    while (at < token.end && lexer->text[at] == '.')
        at++;
    if (token.kind == SCAN_TOKEN_ATOM && at == token.end)
        token.kind = at - start == 1 ? SCAN_TOKEN_DOT : SCAN_TOKEN_DOTS;
    return token;
}

/* Whether the dispatch macro with this character reads one datum after it. */
static bool takes_a_datum(unsigned char byte)
{
    return memchr("=',.aAbBcCoOpPrRsSxX", byte, 20) != NULL;
}

static struct scan_token take_dispatch(struct scan_lexer *lexer, size_t start)
{
    size_t at = start + 1;
    while (at < lexer->len && is_digit(lexer->text[at]))
        at++;
    if (at >= lexer->len)
        return token_until(lexer, SCAN_TOKEN_STRAY_SHARP, start, at);
    switch (lexer->text[at]) {
    case '(':
        return token_until(lexer, SCAN_TOKEN_OPEN, start, at + 1);
    case '\\':
        /* Any character is taken as it is; the name then continues like a symbol: #\Space, #\(. */
        if (at + 1 >= lexer->len)
            return token_until(lexer, SCAN_TOKEN_OPEN_ESCAPE, start, lexer->len);
        return take_constituents(lexer, start, at + 2);
    case ':':
    case '*':
        return take_constituents(lexer, start, at + 1);
    case '+':
    case '-':
        return token_until(lexer, SCAN_TOKEN_FEATURE, start, at + 1);
    case '#':
        return token_until(lexer, SCAN_TOKEN_ATOM, start, at + 1);
    case '<':
        return token_until(lexer, SCAN_TOKEN_UNREADABLE, start, at + 1);
    case ')':
        return token_until(lexer, SCAN_TOKEN_STRAY_SHARP, start, at);
    case '"':
        /* A user-defined string syntax: what follows is delimited like a string. */
        return token_until(lexer, SCAN_TOKEN_CUSTOM, start, at);
    default:
        if (byte_classes[lexer->text[at]] == BYTE_SPACE)
            return token_until(lexer, SCAN_TOKEN_STRAY_SHARP, start, at);
        return token_until(lexer, takes_a_datum(lexer->text[at]) ? SCAN_TOKEN_PREFIX : SCAN_TOKEN_CUSTOM,
                           start, at + 1);
    }
}

static struct scan_token take_string(struct scan_lexer *lexer, size_t start)
{
    size_t close = find_delimiter(lexer, start + 1, '"');
    if (close >= lexer->len)
        return token_until(lexer, SCAN_TOKEN_OPEN_STRING, start, lexer->len);
    return token_until(lexer, SCAN_TOKEN_ATOM, start, close + 1);
}

static struct scan_token take_comma(struct scan_lexer *lexer, size_t start)
{
    size_t end = start + 1;
    if (end < lexer->len && (lexer->text[end] == '@' || lexer->text[end] == '.'))
        end++;
    return token_until(lexer, SCAN_TOKEN_COMMA, start, end);
}

struct scan_token scan_lexer_next(struct scan_lexer *lexer)
{
    while (lexer->at < lexer->len) {
        size_t start = lexer->at;
        const unsigned char *newline;
        switch (lexer->text[start]) {
        case '(':
            return token_until(lexer, SCAN_TOKEN_OPEN, start, start + 1);
        case ')':
            return token_until(lexer, SCAN_TOKEN_CLOSE, start, start + 1);
        case '\'':
            return token_until(lexer, SCAN_TOKEN_PREFIX, start, start + 1);
        case '`':
            return token_until(lexer, SCAN_TOKEN_BACKQUOTE, start, start + 1);
        case ',':
            return take_comma(lexer, start);
        case '"':
            return take_string(lexer, start);
        case ';':
            newline = memchr(lexer->text + start, '\n', lexer->len - start);
            lexer->at = newline != NULL ? (size_t)(newline - lexer->text) + 1 : lexer->len;
            break;
        case '#':
            if (lexer->len - start < 2 || lexer->text[start + 1] != '|')
                return take_dispatch(lexer, start);
            if (!skip_block_comment(lexer, start, &lexer->at))
                return token_until(lexer, SCAN_TOKEN_OPEN_COMMENT, start, lexer->len);
            break;
        default:
            if (byte_classes[lexer->text[start]] != BYTE_SPACE)
                return take_symbol_or_dot(lexer, start);
            lexer->at++;
            break;
        }
    }
    return token_until(lexer, SCAN_TOKEN_END, lexer->len, lexer->len);
}
