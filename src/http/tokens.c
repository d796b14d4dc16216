/*
 * Responsible for the token file.
 */
#include "http/tokens.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/regular_file.h"
#include "http/header_values.h"

#define MOST_GROUPS 256 /* that are asked for; with more, the file is refused */
#define LARGEST_FILE (1u << 20)

static const char name_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
static const char token_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

static size_t span(const char *at, size_t len, const char *characters)
{
    size_t n = 0;
    while (n < len && at[n] != '\0' && strchr(characters, at[n]) != NULL)
        n++;
    return n;
}

static bool parse_line(struct tokens *t, const char *line, size_t len, size_t number, struct err *err)
{
    const char *colon = memchr(line, ':', len), *secret = colon == NULL ? line : colon + 1, *name = "default";
    size_t name_len = strlen(name), secret_len = (size_t)(line + len - secret);
    if (colon != NULL) {
        name = line;
        name_len = (size_t)(colon - line);
    }
    if (name_len == 0 || name_len > 64 || span(name, name_len, name_characters) != name_len || name[0] == '.')
        return err_set(
            err, ERR_INVALID,
            "line %zu: a name has 1 to 64 characters from A-Z a-z 0-9 . _ and -, the first of them no dot",
            number);
    if (secret_len < TOKEN_LEAST_BYTES || secret_len >= TOKEN_MOST_BYTES ||
        span(secret, secret_len, token_characters) != secret_len)
        return err_set(err, ERR_INVALID,
                       "line %zu: a token has %d to %d characters from A-Z a-z 0-9 - . _ ~ + / =", number,
                       TOKEN_LEAST_BYTES, TOKEN_MOST_BYTES - 1);
    if (t->count == TOKENS_MOST)
        return err_set(err, ERR_INVALID, "line %zu: at most %d tokens", number, TOKENS_MOST);
    struct token token = {{0}, {0}};
    memcpy(token.name, name, name_len);
    memcpy(token.secret, secret, secret_len);
    const struct token *same = tokens_find(t, token.secret);
    if (same != NULL && strcmp(same->name, token.name) != 0)
        return err_set(err, ERR_INVALID, "line %zu: this token already belongs to another name", number);
    t->items = xrealloc(t->items, (t->count + 1) * sizeof token);
    t->items[t->count++] = token;
    return true;
}

bool tokens_parse(struct tokens *t, const char *text, size_t len, struct err *err)
{
    size_t number = 0;
    *t = (struct tokens){0};
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t whole = newline == NULL ? len : (size_t)(newline - text), own = whole;
        number++;
        while (own > 0 && strchr(" \t\r", text[own - 1]) != NULL)
            own--;
        if (own > 0 && text[0] != '#' && !parse_line(t, text, own, number, err)) {
            tokens_fini(t);
            return false;
        }
        whole += newline != NULL;
        text += whole;
        len -= whole;
    }
    if (t->count == 0)
        return err_set(err, ERR_INVALID, "it contains no token");
    return true;
}

/* systemd passes a file to the user of a unit (LoadCredential=) by an access control list, whose mask is in
 * the bits for the group. No other user may enter that directory, and it contains no directories. A link in
 * it may lead to a file elsewhere that others may read. */
static bool is_credential(const char *file)
{
    const char *given = getenv("CREDENTIALS_DIRECTORY");
    char *directory = given == NULL ? NULL : realpath(given, NULL), *path = realpath(file, NULL);
    size_t len = directory == NULL ? 0 : strlen(directory);
    bool is_inside = len > 0 && path != NULL && strncmp(path, directory, len) == 0 && path[len] == '/' &&
                     strchr(path + len + 1, '/') == NULL;
    free(directory);
    free(path);
    return is_inside;
}

/* A kubelet gives a secret to a pod through root's file, which a group of the pod's may read. */
static bool is_for_our_group(const struct stat *status)
{
    gid_t groups[MOST_GROUPS];
    int count = getgroups(MOST_GROUPS, groups);
    bool is_ours = status->st_gid == getegid();
    for (int i = 0; i < count && !is_ours; i++)
        is_ours = groups[i] == status->st_gid;
    return is_ours && status->st_uid == 0 && geteuid() != 0;
}

bool tokens_read(struct tokens *t, const char *path, struct err *err)
{
    struct regular_file file;
    struct err why = {0};
    *t = (struct tokens){0};
    if (!regular_file_read(&file, path, LARGEST_FILE, err)) {
        regular_file_fini(&file);
        return false;
    }
    bool is_read = false;
    mode_t others = is_credential(path)              ? S_IRWXO
                    : is_for_our_group(&file.status) ? S_IWGRP | S_IXGRP | S_IRWXO
                                                     : S_IRWXG | S_IRWXO;
    if ((file.status.st_mode & others) != 0)
        err_set(&why, ERR_INVALID, "other users may access it; run chmod 600 on it");
    else if (file.status.st_uid != geteuid() && file.status.st_uid != 0)
        err_set(&why, ERR_INVALID, "it belongs to another user");
    else
        is_read = tokens_parse(t, strbuf_string(&file.text), file.text.len, &why);
    if (file.text.bytes != NULL)
        explicit_bzero(file.text.bytes, file.text.capacity);
    regular_file_fini(&file);
    return is_read || err_set(err, ERR_INVALID, "%s: %s", path, why.message);
}

void tokens_fini(struct tokens *t)
{
    if (t->items != NULL)
        explicit_bzero(t->items, t->count * sizeof t->items[0]);
    free(t->items);
    *t = (struct tokens){0};
}

const struct token *tokens_find(const struct tokens *t, const char *given)
{
    const struct token *found = NULL;
    for (size_t i = 0; i < t->count; i++)
        found = secret_is(given, strlen(given), t->items[i].secret) ? &t->items[i] : found;
    return found;
}
