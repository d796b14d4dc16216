/*
 * Responsible for the grammar of JSON, byte for byte, and for finding ids and tokens in it; jansson builds
 * the values. It is a pushdown automaton with one bit per level, so no depth can exhaust the stack.
 */
#include "mcp/json_text.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

/* 128 million levels: more than a message can contain. */
#define MAX_NESTING_BYTES (16u << 20)

/* Memory that one huge message needed is not kept for the small ones after it. */
#define KEPT_CAPACITY (1u << 20)

enum expected { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END, NOTHING };

static const char *const expected_text[] = {
    [VALUE] = "a value",
    [VALUE_OR_END] = "a value or ]",
    [KEY] = "a member's name in quotes",
    [KEY_OR_END] = "a member's name in quotes or }",
    [COLON] = "a colon",
    [COMMA_OR_END] = "a comma or the closing bracket",
    [NOTHING] = "nothing more",
};

/* The member whose value comes next. */
enum slot { SLOT_NONE, SLOT_ID, SLOT_PARAMS, SLOT_REQUEST_ID, SLOT_META, SLOT_PROGRESS_TOKEN };

struct scanner {
    struct json_text *text;
    char *bytes;
    size_t len, at;
    enum expected expected;
    size_t depth; /* containers that are open */
    size_t base;  /* depth inside a message's object */
    struct json_text_message
        *message; /* the one being scanned; NULL: none, or beyond the last recorded one */
    enum slot slot;
    bool is_in_params, is_in_meta; /* whether those are the containers open at base + 1 and base + 2 */
    struct err *err;
};

void json_text_init(struct json_text *t)
{
    t->root = JSON_TEXT_SCALAR;
    t->count = t->value_count = 0;
    strbuf_init(&t->kept, 0);
    strbuf_init(&t->nesting, MAX_NESTING_BYTES);
}

void json_text_fini(struct json_text *t)
{
    strbuf_fini(&t->kept);
    strbuf_fini(&t->nesting);
}

const char *json_text_token(const struct json_text *t, const struct json_token *token)
{
    return strbuf_string(&t->kept) + token->at;
}

/* Set the error for the byte at ${at}; always false. */
static bool fail(struct scanner *s, size_t at, const char *wanted)
{
    size_t line = 1, line_start = 0;
    unsigned char found = at < s->len ? (unsigned char)s->bytes[at] : 0;
    char name[32] = "the end";
    for (size_t i = 0; i < at; i++) {
        if (s->bytes[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    size_t column = utf8_count(s->bytes + line_start, at - line_start) + 1;
    if (at < s->len && found > 0x20 && found < 0x7f)
        snprintf(name, sizeof name, "'%c'", found);
    else if (at < s->len)
        snprintf(name, sizeof name, "the byte 0x%02x", found);
    err_set(s->err, ERR_SYNTAX, "line %zu, column %zu (byte %zu): expected %s, found %s", line, column,
            at + 1, wanted, name);
    if (s->err != NULL)
        s->err->position = at;
    return false;
}

static bool is_object(const struct scanner *s)
{
    size_t level = s->depth - 1;
    return (s->text->nesting.bytes[level / 8] >> (level % 8)) & 1;
}

static bool push(struct scanner *s, bool object)
{
    struct strbuf *nesting = &s->text->nesting;
    size_t level = s->depth;
    unsigned bit = 1u << (level % 8);
    if (level / 8 >= nesting->len && !strbuf_addc(nesting, 0))
        return fail(s, s->at, "less nesting");
    unsigned bits = (unsigned char)nesting->bytes[level / 8];
    nesting->bytes[level / 8] = (char)(unsigned char)(object ? bits | bit : bits & ~bit);
    s->depth++;
    return true;
}

/* The value of the four digits of an escape; -1 if they are not hexadecimal digits. */
static int hex4(const char *digits)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = text_hex_digit(digits[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high_surrogate(int unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/*
 * The escapes of a well-formed string: returns the length of the escape at ${at}, its surrogate pair
 * included; *is_lone: it is a surrogate without its partner.
 */
static size_t escape_len(const char *bytes, size_t at, bool *is_lone)
{
    *is_lone = false;
    if (bytes[at + 1] != 'u')
        return 2;
    int unit = hex4(bytes + at + 2);
    if (is_high_surrogate(unit) && bytes[at + 6] == '\\' && bytes[at + 7] == 'u' &&
        is_low_surrogate(hex4(bytes + at + 8)))
        return 12;
    *is_lone = is_high_surrogate(unit) || is_low_surrogate(unit);
    return 6;
}

/* Skip the string whose opening quote is at s->at. *has_surrogates: it contains the escape of at least
 * one. */
static bool skip_string(struct scanner *s, bool *has_surrogates)
{
    const char *bytes = s->bytes;
    size_t at = s->at + 1;
    *has_surrogates = false;
    unsigned char c;
    for (;;) {
        while (at < s->len && (c = (unsigned char)bytes[at]) != '"' && c != '\\' && c >= 0x20)
            at++;
        if (at == s->len)
            return fail(s, at, "the closing quote of a string");
        if (bytes[at] == '"') {
            s->at = at + 1;
            return true;
        }
        if (bytes[at] != '\\')
            return fail(s, at, "no control character inside a string");
        if (++at == s->len)
            return fail(s, at, "the rest of an escape");
        if (bytes[at] == 'u') {
            for (size_t i = 1; i <= 4; i++) {
                if (at + i >= s->len || text_hex_digit(bytes[at + i]) < 0)
                    return fail(s, at + i < s->len ? at + i : s->len, "four hexadecimal digits");
            }
            if ((bytes[at + 1] | 0x20) == 'd' && text_hex_digit(bytes[at + 2]) >= 8)
                *has_surrogates = true;
            at += 5;
        } else if (bytes[at] && strchr("\"\\/bfnrt", bytes[at]) != NULL) {
            at++;
        } else {
            return fail(s, at, "one of \"\\/bfnrtu after a backslash");
        }
    }
}

static void replace_lone_surrogates(char *bytes, size_t start, size_t end)
{
    size_t at = start;
    while (at < end) {
        if (bytes[at] != '\\') {
            at++;
            continue;
        }
        bool is_lone;
        size_t len = escape_len(bytes, at, &is_lone);
        if (is_lone)
            memcpy(bytes + at + 2, "fffd", 4);
        at += len;
    }
}

/* Whether the string (quotes included) spells ${name}, which is ASCII. */
static bool string_is(const char *string, size_t len, const char *name)
{
    size_t at = 1, end = len - 1, name_len = strlen(name);
    if (memchr(string, '\\', len) == NULL)
        return len == name_len + 2 && memcmp(string + 1, name, name_len) == 0;
    size_t i;
    int unit;
    for (i = 0; at < end; i++) {
        if (i == name_len)
            return false;
        if (string[at] != '\\') {
            unit = (unsigned char)string[at++];
        } else if (string[at + 1] == 'u') {
            unit = hex4(string + at + 2);
            at += 6;
        } else {
            /* The short escapes stand for characters that no name here contains. */
            return false;
        }
        if (unit != (unsigned char)name[i])
            return false;
    }
    return i == name_len;
}

static void take_key(struct scanner *s, const char *key, size_t len)
{
    struct json_text_message *m = s->message;
    s->slot = SLOT_NONE;
    if (m == NULL || s->depth < s->base || s->depth > s->base + 2)
        return;
    if (s->depth == s->base) {
        if (string_is(key, len, "id"))
            s->slot = SLOT_ID;
        else if (string_is(key, len, "params"))
            s->slot = SLOT_PARAMS;
    } else if (s->depth == s->base + 1 && s->is_in_params) {
        if (string_is(key, len, "requestId"))
            s->slot = SLOT_REQUEST_ID;
        else if (string_is(key, len, "_meta"))
            s->slot = SLOT_META;
    } else if (s->depth == s->base + 2 && s->is_in_meta) {
        if (string_is(key, len, "progressToken"))
            s->slot = SLOT_PROGRESS_TOKEN;
    }
    /* A duplicate replaces the first one's value. */
    if (s->slot == SLOT_PARAMS)
        m->request_id.kind = m->progress_token.kind = JSON_TOKEN_ABSENT;
    else if (s->slot == SLOT_META)
        m->progress_token.kind = JSON_TOKEN_ABSENT;
}

/* The token that the value after the last key fills; NULL if none. */
static struct json_token *slot_token(struct scanner *s)
{
    switch (s->slot) {
    case SLOT_ID:
        return &s->message->id;
    case SLOT_REQUEST_ID:
        return &s->message->request_id;
    case SLOT_PROGRESS_TOKEN:
        return &s->message->progress_token;
    case SLOT_NONE:
    case SLOT_PARAMS:
    case SLOT_META:
        break;
    }
    return NULL;
}

/* A value begins at s->at. */
static void begin_value(struct scanner *s)
{
    struct json_text *t = s->text;
    char c = s->bytes[s->at];
    t->value_count++;
    if (s->depth == 0) {
        t->root = c == '{' ? JSON_TEXT_OBJECT : c == '[' ? JSON_TEXT_ARRAY : JSON_TEXT_SCALAR;
        s->base = c == '[' ? 2 : 1;
    }
    if ((s->depth == 0 && c == '{') || (s->depth == 1 && t->root == JSON_TEXT_ARRAY)) {
        s->message = t->count < JSON_TEXT_MAX_MESSAGES ? &t->messages[t->count] : NULL;
        t->count++;
        if (s->message != NULL)
            *s->message = (struct json_text_message){.at = s->at, .is_object = c == '{'};
    }
}

/* A value has ended before s->at. */
static void end_value(struct scanner *s)
{
    s->slot = SLOT_NONE;
    if (s->message != NULL && s->depth + 1 == s->base) {
        s->message->len = s->at - s->message->at;
        s->message = NULL;
    }
    s->expected = s->depth ? COMMA_OR_END : NOTHING;
}

static bool open_container(struct scanner *s, bool object)
{
    struct json_token *token = slot_token(s);
    if (!push(s, object))
        return false;
    if (token != NULL)
        token->kind = JSON_TOKEN_OTHER;
    if (object && s->slot == SLOT_PARAMS)
        s->is_in_params = true;
    else if (object && s->slot == SLOT_META)
        s->is_in_meta = true;
    s->slot = SLOT_NONE;
    s->at++;
    s->expected = object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

static bool close_container(struct scanner *s)
{
    char c = s->bytes[s->at];
    if (c != (is_object(s) ? '}' : ']'))
        return fail(s, s->at, is_object(s) ? "a comma or }" : "a comma or ]");
    s->at++;
    s->depth--;
    if (s->depth == s->base)
        s->is_in_params = false;
    else if (s->depth == s->base + 1)
        s->is_in_meta = false;
    end_value(s);
    return true;
}

static void keep(struct scanner *s, struct json_token *token, enum json_token_kind kind, size_t start)
{
    token->kind = kind;
    token->at = s->text->kept.len;
    token->len = s->at - start;
    if (kind == JSON_TOKEN_STRING || kind == JSON_TOKEN_INTEGER)
        strbuf_add(&s->text->kept, s->bytes + start, token->len);
}

static bool scan_string(struct scanner *s, bool is_key)
{
    size_t start = s->at;
    struct json_token *token = is_key ? NULL : slot_token(s);
    bool has_surrogates;
    if (!skip_string(s, &has_surrogates))
        return false;
    if (is_key)
        take_key(s, s->bytes + start, s->at - start);
    if (token != NULL)
        keep(s, token, JSON_TOKEN_STRING, start);
    if (has_surrogates)
        replace_lone_surrogates(s->bytes, start, s->at);
    if (is_key)
        s->expected = COLON;
    else
        end_value(s);
    return true;
}

static bool is_digit_at(const struct scanner *s, size_t at)
{
    return at < s->len && s->bytes[at] >= '0' && s->bytes[at] <= '9';
}

static bool skip_digits(struct scanner *s, size_t *at)
{
    if (!is_digit_at(s, *at))
        return fail(s, *at, "a digit");
    while (is_digit_at(s, *at))
        (*at)++;
    return true;
}

static bool scan_number(struct scanner *s)
{
    size_t start = s->at, at = start;
    struct json_token *token = slot_token(s);
    enum json_token_kind kind = JSON_TOKEN_INTEGER;
    if (s->bytes[at] == '-')
        at++;
    if (at < s->len && s->bytes[at] == '0')
        at++;
    else if (!skip_digits(s, &at))
        return false;
    if (at < s->len && s->bytes[at] == '.') {
        kind = JSON_TOKEN_OTHER;
        at++;
        if (!skip_digits(s, &at))
            return false;
    }
    if (at < s->len && (s->bytes[at] | 0x20) == 'e') {
        kind = JSON_TOKEN_OTHER;
        at++;
        if (at < s->len && (s->bytes[at] == '+' || s->bytes[at] == '-'))
            at++;
        if (!skip_digits(s, &at))
            return false;
    }
    s->at = at;
    if (token != NULL) {
        keep(s, token, kind, start);
        memset(s->bytes + start, ' ', at - start);
        s->bytes[start] = '0';
    }
    end_value(s);
    return true;
}

static bool scan_word(struct scanner *s, const char *word)
{
    size_t len = strlen(word);
    struct json_token *token = slot_token(s);
    for (size_t i = 0; i < len; i++) {
        if (s->at + i >= s->len || s->bytes[s->at + i] != word[i])
            return fail(s, s->at + i, word);
    }
    s->at += len;
    if (token != NULL)
        token->kind = word[0] == 'n' ? JSON_TOKEN_NULL : JSON_TOKEN_OTHER;
    end_value(s);
    return true;
}

static bool scan_value(struct scanner *s)
{
    begin_value(s);
    switch (s->bytes[s->at]) {
    case '{':
        return open_container(s, true);
    case '[':
        return open_container(s, false);
    case '"':
        return scan_string(s, false);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return scan_number(s);
    case 't':
        return scan_word(s, "true");
    case 'f':
        return scan_word(s, "false");
    case 'n':
        return scan_word(s, "null");
    default:
        return fail(s, s->at, expected_text[s->expected]);
    }
}

static bool step(struct scanner *s)
{
    char c = s->bytes[s->at];
    switch (s->expected) {
    case VALUE_OR_END:
        if (c == ']')
            return close_container(s);
        return scan_value(s);
    case VALUE:
        return scan_value(s);
    case KEY_OR_END:
        if (c == '}')
            return close_container(s);
        /* fallthrough */
    case KEY:
        if (c != '"')
            break;
        return scan_string(s, true);
    case COLON:
        if (c != ':')
            break;
        s->at++;
        s->expected = VALUE;
        return true;
    case COMMA_OR_END:
        if (c != ',')
            return close_container(s);
        s->at++;
        s->expected = is_object(s) ? KEY : VALUE;
        return true;
    case NOTHING:
        break;
    }
    return fail(s, s->at, expected_text[s->expected]);
}

static void forget(struct strbuf *b)
{
    if (b->capacity > KEPT_CAPACITY)
        strbuf_fini(b);
    else
        strbuf_clear(b);
}

bool json_text_scan(struct json_text *t, char *bytes, size_t len, struct err *err)
{
    struct scanner s = {.text = t, .bytes = bytes, .len = len, .expected = VALUE, .base = 1, .err = err};
    size_t valid = utf8_valid_prefix(bytes, len);
    t->root = JSON_TEXT_SCALAR;
    t->count = t->value_count = 0;
    forget(&t->kept);
    forget(&t->nesting);
    if (valid < len)
        return fail(&s, valid, "UTF-8");
    for (;;) {
        while (s.at < len &&
               (bytes[s.at] == ' ' || bytes[s.at] == '\t' || bytes[s.at] == '\n' || bytes[s.at] == '\r'))
            s.at++;
        if (s.at == len)
            break;
        if (!step(&s))
            return false;
    }
    return s.expected == NOTHING || fail(&s, len, expected_text[s.expected]);
}
