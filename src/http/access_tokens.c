/*
 * Responsible for judging claims, for the file of keys, and for the texts that lead clients to the issuer.
 */
#include "http/access_tokens.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/regular_file.h"
#include "http/jose.h"

#define WELL_KNOWN "/.well-known/oauth-protected-resource"
#define LARGEST_FILE (1u << 20)
#define SKEW_S 60
#define RETRY_S 10 /* how long a file that cannot be read is left alone, unless it changes */

struct access_tokens {
    struct access_tokens_options options;
    struct jose_keys *keys;
    struct stat status; /* of the file, before it was last read */
    time_t failed_at;   /* when reading it failed; 0: it was read */
    const char *path;   /* of the audience's URL; "" for the root */
    char *metadata;
    struct strbuf challenges[2]; /* by whether the token is wrong */
};

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static bool names(const json_t *audience, const char *own)
{
    size_t i;
    const json_t *one;
    bool is_named = is_text(audience, own);
    json_array_foreach(audience, i, one)
        is_named = is_named || is_text(one, own);
    return is_named;
}

static bool is_over(const json_t *expiry, time_t at)
{
    return !json_is_number(expiry) || json_number_value(expiry) + SKEW_S <= (double)at;
}

static bool is_future(const json_t *begin, time_t at)
{
    return begin != NULL && (!json_is_number(begin) || json_number_value(begin) - SKEW_S > (double)at);
}

bool access_tokens_claim(const struct access_tokens_options *o, const char *payload, size_t len, time_t at,
                         char **user, const char **why)
{
    json_t *claims = json_loadb(payload, len, JSON_REJECT_DUPLICATES, NULL);
    const char *name = json_string_value(json_object_get(claims, o->user));
    *why = !is_text(json_object_get(claims, "iss"), o->issuer)   ? "this access token is of another issuer"
           : !names(json_object_get(claims, "aud"), o->audience) ? "this access token is for another server"
           : is_over(json_object_get(claims, "exp"), at)         ? "this access token has expired"
           : is_future(json_object_get(claims, "nbf"), at)       ? "this access token is not valid yet"
           : is_future(json_object_get(claims, "iat"), at)       ? "this access token is of the future"
           : name == NULL                                        ? "this access token does not name the user"
                                                                 : NULL;
    *user = *why == NULL ? xstrdup(name) : NULL;
    json_decref(claims);
    return *why == NULL;
}

/* The path of a URL that can stand between quotes and has no query or fragment; NULL: it is none. */
static const char *path_of(const char *url)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/[]@!$&'()*+,;=%";
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    size_t authority = strcspn(url + scheme, "/");
    bool is_url = scheme > 0 && authority > 0 && url[strspn(url, allowed)] == '\0';
    return is_url ? url + scheme + authority : NULL;
}

static bool read_keys(struct access_tokens *a, struct err *err)
{
    struct regular_file file;
    struct err why = {0};
    if (stat(a->options.keys_file, &a->status) != 0)
        a->status = (struct stat){0};
    bool is_read = regular_file_read(&file, a->options.keys_file, LARGEST_FILE, &why);
    a->failed_at = is_read ? 0 : time(NULL);
    if (is_read)
        is_read = (file.status.st_mode & S_IWOTH) == 0
                      ? jose_keys_set(a->keys, strbuf_string(&file.text), file.text.len, &why)
                      : err_set(&why, ERR_INVALID, "every user can change it; run chmod o-w on it");
    regular_file_fini(&file);
    return is_read || err_set(err, ERR_INVALID, "%s: %s", a->options.keys_file, why.message);
}

void access_tokens_reload(struct access_tokens *a)
{
    struct err err;
    if (read_keys(a, &err))
        log_info("the keys of access tokens were reloaded");
    else
        log_error("the keys of access tokens were not reloaded: %s", err.message);
}

/* The reason for which a file could not be read may have gone although the file is the same. */
static bool must_be_read(const struct access_tokens *a)
{
    struct stat now;
    if (a->failed_at != 0 && time(NULL) - a->failed_at >= RETRY_S)
        return true;
    return stat(a->options.keys_file, &now) == 0 &&
           (now.st_ino != a->status.st_ino || now.st_size != a->status.st_size ||
            now.st_ctim.tv_sec != a->status.st_ctim.tv_sec ||
            now.st_ctim.tv_nsec != a->status.st_ctim.tv_nsec);
}

static bool write_texts(struct access_tokens *a, struct err *err)
{
    const struct access_tokens_options *o = &a->options;
    if (o->issuer == NULL || o->audience == NULL || o->keys_file == NULL)
        return err_set(err, ERR_INVALID, "--oauth-issuer, --oauth-audience and --oauth-keys go together");
    const char *path = path_of(o->audience);
    if (path == NULL || path_of(o->issuer) == NULL)
        return err_set(
            err, ERR_INVALID,
            "--oauth-issuer and --oauth-audience are http or https URLs without query and fragment, "
            "unlike '%.200s'",
            path == NULL ? o->audience : o->issuer);
    a->path = strcmp(path, "/") == 0 ? "" : path;
    json_t *metadata =
        json_pack("{s:s, s:[s], s:[s], s:s}", "resource", o->audience, "authorization_servers", o->issuer,
                  "bearer_methods_supported", "header", "resource_name", "cl-mcp-server");
    a->metadata = json_dumps(metadata, 0);
    json_decref(metadata);
    for (int is_wrong = 0; is_wrong < 2; is_wrong++)
        strbuf_addf(&a->challenges[is_wrong], "Bearer %sresource_metadata=\"%.*s" WELL_KNOWN "%s\"",
                    is_wrong ? "error=\"invalid_token\", " : "", (int)(path - o->audience), o->audience,
                    a->path);
    return true;
}

struct access_tokens *access_tokens_new(const struct access_tokens_options *options, struct err *err)
{
    struct access_tokens *a = xcalloc(1, sizeof *a);
    a->options = *options;
    if (write_texts(a, err) && (a->keys = jose_keys_new(err)) != NULL && read_keys(a, err))
        return a;
    access_tokens_free(a);
    return NULL;
}

void access_tokens_free(struct access_tokens *a)
{
    if (a == NULL)
        return;
    jose_keys_free(a->keys);
    strbuf_fini(&a->challenges[0]);
    strbuf_fini(&a->challenges[1]);
    free(a->metadata);
    free(a);
}

bool access_tokens_check(struct access_tokens *a, const char *token, time_t at, char **user, const char **why)
{
    struct strbuf payload = {0};
    if (must_be_read(a))
        access_tokens_reload(a);
    *why = "this bearer token is not known, and no access token that a key of the issuer has signed";
    bool is_good = jose_verify(a->keys, token, &payload) &&
                   access_tokens_claim(&a->options, strbuf_string(&payload), payload.len, at, user, why);
    strbuf_fini(&payload);
    return is_good;
}

const char *access_tokens_challenge(const struct access_tokens *a, bool is_wrong)
{
    return strbuf_string(&a->challenges[is_wrong]);
}

/* A proxy may keep the path of the audience, or send it on as that of the endpoint. */
const char *access_tokens_metadata(const struct access_tokens *a, const char *path)
{
    size_t len = strlen(WELL_KNOWN);
    if (strncmp(path, WELL_KNOWN, len) != 0)
        return NULL;
    path += len;
    return *path == '\0' || strcmp(path, "/mcp") == 0 || strcmp(path, a->path) == 0 ? a->metadata : NULL;
}
