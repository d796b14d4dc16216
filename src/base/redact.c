/*
 * One pass over the text. At each position, each recognizer in a table returns the length of the credential
 * that begins there.
 */
#include "base/redact.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define SHORTEST_KEY 16         /* after its well-known prefix */
#define SHORTEST_VALUE 6        /* unquoted */
#define LONGEST_GAP 8           /* between a name and its value */
#define LONGEST_LINE 100        /* the first line of a private key */
#define LONGEST_SCHEME_PART 256 /* user and password in a URL */

/* The text that remains, whether a word begins at this position, and how far lines of base64 were followed.
 */
struct view {
    const char *text, *at, *end;
    bool is_cut; /* the text begins after a cut */
    bool is_word_start;
    const char *followed;
};

/* How many bytes precede the credential, and its length; 0 if there is none. */
struct credential {
    size_t before, len;
};

static bool is_key_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == '+' || c == '=';
}

static size_t key_length(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && is_key_character(*p))
        p++;
    return (size_t)(p - at);
}

static bool begins_with(const struct view *v, const char *word)
{
    /* Nearly every position of a text fails at the first character, so that is looked at before the rest. */
    if (v->at == v->end || (*v->at | 0x20) != (*word | 0x20))
        return false;
    size_t len = strlen(word);
    return (size_t)(v->end - v->at) >= len && strncasecmp(v->at, word, len) == 0;
}

/* The prefixes that the services document. */
static struct credential well_known_key(struct view *v)
{
    static const char *const beginnings[] = {"sk-",    "ghp_",  "gho_",  "ghs_", "github_pat_",
                                             "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA",
                                             "AIza",   "eyJ",   "hf_",   "npm_", "pypi-"};
    for (size_t i = 0; v->is_word_start && i < sizeof beginnings / sizeof beginnings[0]; i++) {
        size_t len = strlen(beginnings[i]);
        if ((size_t)(v->end - v->at) < len || memcmp(v->at, beginnings[i], len) != 0)
            continue;
        size_t rest = key_length(v->at + len, v->end);
        if (rest >= SHORTEST_KEY)
            return (struct credential){.len = len + rest};
    }
    return (struct credential){0};
}

static struct credential private_key(struct view *v)
{
    if (!begins_with(v, "-----BEGIN "))
        return (struct credential){0};
    size_t first = v->end - v->at > LONGEST_LINE ? LONGEST_LINE : (size_t)(v->end - v->at);
    const char *line = memchr(v->at, '\n', first);
    if (line != NULL)
        first = (size_t)(line - v->at);
    const char *words = memmem(v->at, first, "PRIVATE KEY", 11);
    if (words == NULL)
        return (struct credential){0};
    const char *rest = line != NULL ? line : words + 11;
    const char *end = memmem(rest, (size_t)(v->end - rest), "-----END ", 9);
    return (struct credential){.before = (size_t)(rest - v->at),
                               .len = (size_t)((end == NULL ? v->end : end) - rest)};
}

static bool is_base64(char c)
{
    return is_key_character(c) && c != '_' && c != '-' && c != '.';
}

/* Whether these are lines as in the middle of a key: all of 64, 70 or 76 characters, as PEM, OpenSSH and MIME
 * have them, but for the first, which may be cut, and the last; in both cases of letters. */
static bool is_inside_key(const char *text, const char *end)
{
    size_t longest = 0, shortest_inside = SIZE_MAX;
    bool has_upper = false, has_lower = false;
    for (const char *line = text, *next_line; line < end; line = next_line) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        next_line = newline == NULL ? end : newline + 1;
        size_t len = (size_t)((newline == NULL ? end : newline) - line);
        len -= len > 0 && line[len - 1] == '\r';
        longest = len > longest ? len : longest;
        if (line > text && next_line < end && len < shortest_inside)
            shortest_inside = len;
    }
    for (const char *p = text; p < end && !(has_upper && has_lower); p++) {
        has_upper = has_upper || (*p >= 'A' && *p <= 'Z');
        has_lower = has_lower || (*p >= 'a' && *p <= 'z');
    }
    return (longest == 64 || longest == 70 || longest == 76) && shortest_inside >= longest && has_upper &&
           has_lower;
}

/* The lines of base64 before the last line of a private key whose first line is not in the text. After a cut,
 * which may be just before the end of a line, the last may be missing, too. */
static struct credential rest_of_private_key(struct view *v)
{
    if (v->at < v->followed || (v->at > v->text && v->at[-1] != '\n'))
        return (struct credential){0};
    const char *p = v->at;
    while (p < v->end && is_base64(*p)) {
        while (p < v->end && (is_base64(*p) || *p == '\r'))
            p++;
        p += p < v->end && *p == '\n';
    }
    v->followed = p;
    size_t len = (size_t)(p - v->at);
    struct view rest = {.at = p, .end = v->end};
    size_t left = (size_t)(v->end - p), line = left > LONGEST_LINE ? LONGEST_LINE : left;
    bool is_key = begins_with(&rest, "-----END ") && memmem(p, line, "PRIVATE KEY-----", 16) != NULL;
    if (is_key || (v->is_cut && v->at - v->text <= 2 && p == v->end && is_inside_key(v->at, p)))
        return (struct credential){.len = len};
    return (struct credential){0};
}

/* scheme://user:password@host */
static struct credential url_password(struct view *v)
{
    if (!begins_with(v, "://"))
        return (struct credential){0};
    const char *p = v->at + 3, *password = NULL;
    const char *end = v->end - p > LONGEST_SCHEME_PART ? p + LONGEST_SCHEME_PART : v->end;
    for (; p < end && (unsigned char)*p > ' ' && *p != '/' && *p != '"' && *p != '@'; p++)
        if (*p == ':' && password == NULL)
            password = p + 1;
    if (p == end || *p != '@' || password == NULL || p == password)
        return (struct credential){0};
    return (struct credential){.before = (size_t)(password - v->at), .len = (size_t)(p - password)};
}

/* From after the opening quote to the closing one. */
static size_t string_length(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && *p != '"')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return (size_t)(p - at);
}

static size_t name_length(const struct view *v)
{
    static const char *const names[] = {"password",      "passwd",     "passphrase", "secret",
                                        "token",         "api-key",    "api_key",    "apikey",
                                        "authorization", "access-key", "access_key", "credential"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (begins_with(v, names[i]))
            return strlen(names[i]);
    return 0;
}

/* The value of a name: a string within a few characters, or a word after =, after a colon and a blank, or
 * after Bearer. */
static struct credential named_value(struct view *v)
{
    size_t len = name_length(v);
    if (len == 0)
        return (struct credential){0};
    const char *p = v->at + len;
    const char *last = v->end - p > LONGEST_GAP ? p + LONGEST_GAP : v->end;
    bool is_assigned = false;
    if (v->end - p > 1 && p[0] == '"' && p[1] != '\0' && strchr(": =>", p[1]) != NULL)
        p++; /* the name is a string, too: of JSON, or a key in a table */
    while (p < last && *p != '\0' && strchr(" \t*+=:>'|\\.", *p) != NULL) {
        is_assigned =
            is_assigned || *p == '=' || (*p == ':' && p == v->at + len && v->end - p > 1 && p[1] == ' ');
        p++;
    }
    struct view value = {.at = p, .end = v->end};
    size_t before = (size_t)(p - v->at);
    if (p < v->end && *p == '"')
        return (struct credential){.before = before + 1, .len = string_length(p + 1, v->end)};
    size_t scheme = begins_with(&value, "Bearer ") ? 7 : begins_with(&value, "Basic ") ? 6 : 0;
    if (scheme > 0)
        return (struct credential){.before = before + scheme, .len = key_length(p + scheme, v->end)};
    size_t rest = is_assigned ? key_length(p, v->end) : 0;
    return rest >= SHORTEST_VALUE ? (struct credential){.before = before, .len = rest}
                                  : (struct credential){0};
}

static struct credential find(struct view *v)
{
    static struct credential (*const recognizers[])(struct view * v) = {
        rest_of_private_key, well_known_key, private_key, url_password, named_value};
    struct credential f = {0};
    for (size_t i = 0; f.len == 0 && i < sizeof recognizers / sizeof recognizers[0]; i++)
        f = recognizers[i](v);
    return f;
}

static struct view view_of(const char *text, size_t len, bool is_cut)
{
    return (struct view){.text = text,
                         .at = text,
                         .end = text + len,
                         .is_cut = is_cut,
                         .is_word_start = true,
                         .followed = text};
}

/* Move behind the next credential. Returns its length, or 0 if none follows. */
static size_t next(struct view *v)
{
    struct credential f = {0};
    while (v->at < v->end && f.len == 0) {
        f = find(v);
        v->at += f.len > 0 ? f.before + f.len : 1;
        v->is_word_start = !is_key_character(v->at[-1]) || v->at[-1] == '=';
    }
    return f.len;
}

void redact(struct strbuf *out, const char *text, size_t len)
{
    struct view v = view_of(text, len, false);
    const char *kept = text;
    for (size_t found; (found = next(&v)) > 0; kept = v.at) {
        strbuf_add(out, kept, (size_t)(v.at - kept) - found);
        strbuf_adds(out, REDACTED);
    }
    strbuf_add(out, kept, (size_t)(v.end - kept));
}

void redact_in_place(char *text, size_t len, bool is_cut)
{
    struct view v = view_of(text, len, is_cut);
    for (size_t found; (found = next(&v)) > 0;) {
        const char *mark = REDACTED;
        for (char *p = text + (v.at - text) - found; p < v.at; p++)
            if (*p != '\n')
                *p = *mark != '\0' ? *mark++ : '*';
    }
}

bool redact_is_name(const char *name)
{
    for (struct view v = {.at = name, .end = name + strlen(name)}; v.at < v.end; v.at++)
        if (name_length(&v) > 0)
            return true;
    return false;
}
