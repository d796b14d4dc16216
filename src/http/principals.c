/*
 * Responsible for the principals, and for finding the principal of a request.
 */
#include "http/principals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/memory.h"
#include "http/header_values.h"

static struct principal *by_name(struct principals *p, const char *name)
{
    size_t count = 0;
    list_each(struct principal, one, &p->all, node) {
        if (strcmp(one->name, name) == 0)
            return one;
        count++;
    }
    if (count >= PRINCIPALS_MOST)
        return NULL;
    struct principal *made = xcalloc(1, sizeof *made);
    made->name = xstrdup(name);
    list_init(&made->sessions);
    list_init(&made->node);
    list_append(&p->all, &made->node);
    return made;
}

static bool read_trust(struct principals *p, struct err *err)
{
    const struct principals_options *o = &p->options;
    bool has_networks = o->trust_from != NULL && o->trust_from[0] != NULL;
    if (o->trust_header == NULL)
        return !has_networks || err_set(err, ERR_INVALID, "--trust-from goes together with --trust-header");
    if (!header_name_is_valid(o->trust_header) || strcasecmp(o->trust_header, "Authorization") == 0)
        return err_set(err, ERR_INVALID, "--trust-header: '%.100s' is not a header that a proxy may set",
                       o->trust_header);
    for (size_t i = 0; has_networks && o->trust_from[i] != NULL; i++) {
        struct err why;
        p->trusted = xrealloc(p->trusted, (i + 1) * sizeof *p->trusted);
        if (!network_parse(&p->trusted[i], o->trust_from[i], &why))
            return err_set(err, ERR_INVALID, "--trust-from: %s", why.message);
        p->trusted_count++;
    }
    return true;
}

bool principals_init(struct principals *p, const struct principals_options *options, struct err *err)
{
    const struct access_tokens_options *access = &options->access_tokens;
    *p = (struct principals){.options = *options};
    list_init(&p->all);
    if (!read_trust(p, err) ||
        (options->token_file != NULL && !tokens_read(&p->tokens, options->token_file, err)))
        return false;
    if (access->issuer == NULL && access->audience == NULL && access->keys_file == NULL)
        return true;
    p->access_tokens = access_tokens_new(access, err);
    return p->access_tokens != NULL;
}

void principals_fini(struct principals *p)
{
    list_each(struct principal, one, &p->all, node) {
        free(one->name);
        free(one);
    }
    list_init(&p->all);
    tokens_fini(&p->tokens);
    access_tokens_free(p->access_tokens);
    free(p->trusted);
}

void principals_reload(struct principals *p)
{
    struct tokens tokens;
    struct err err;
    if (p->options.token_file != NULL && tokens_read(&tokens, p->options.token_file, &err)) {
        tokens_fini(&p->tokens);
        p->tokens = tokens;
        log_info("the token file was reloaded");
    } else if (p->options.token_file != NULL) {
        log_error("the token file was not reloaded: %s", err.message);
    }
    if (p->access_tokens != NULL)
        access_tokens_reload(p->access_tokens);
}

bool principals_are_anybody(const struct principals *p)
{
    return p->options.token_file == NULL && p->options.trust_header == NULL && p->access_tokens == NULL;
}

bool principals_trust_this_machine(const struct principals *p)
{
    for (size_t i = 0; i < p->trusted_count; i++)
        if (network_has_this_machine(&p->trusted[i]))
            return true;
    return false;
}

static bool is_trusted(const struct principals *p, const struct sockaddr *from)
{
    for (size_t i = 0; from != NULL && i < p->trusted_count; i++)
        if (network_has(&p->trusted[i], from))
            return true;
    return from == NULL;
}

bool principal_name(const char *user, char name[PRINCIPAL_MOST_NAME + 1])
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-@+";
    size_t len = 0;
    for (const char *at = user; *at != '\0'; at++) {
        bool is_plain = strchr(plain, *at) != NULL && (at > user || *at != '.');
        if (len + (is_plain ? 1 : 3) > PRINCIPAL_MOST_NAME)
            return false;
        if (is_plain)
            name[len++] = *at;
        else
            len += (size_t)sprintf(name + len, "%%%02X", (unsigned char)*at);
    }
    name[len] = '\0';
    return len > 0;
}

static struct principal *named(struct principals *p, const char *name, struct refusal *refusal)
{
    struct principal *found = by_name(p, name);
    if (found == NULL)
        *refusal = (struct refusal){.status = 503, .message = "this server has too many users"};
    return found;
}

/* The user of a token of the file, or of an access token. */
static struct principal *of_token(struct principals *p, const char *given, time_t at, struct refusal *refusal)
{
    const struct token *token = tokens_find(&p->tokens, given);
    char name[PRINCIPAL_MOST_NAME + 1], *user;
    if (token != NULL)
        return named(p, token->name, refusal);
    if (p->access_tokens == NULL ||
        !access_tokens_check(p->access_tokens, given, at, &user, &refusal->message))
        return NULL;
    bool is_name = principal_name(user, name);
    free(user);
    refusal->message = "the name of the user of this access token is empty or too long";
    return is_name ? named(p, name, refusal) : NULL;
}

struct principal *principals_find(struct principals *p, const struct credentials *c, struct refusal *refusal)
{
    char name[PRINCIPAL_MOST_NAME + 1];
    const char *given = c->authorization == NULL ? NULL : bearer_token(c->authorization);
    bool is_wrong = c->authorization != NULL && c->user == NULL;
    *refusal = (struct refusal){.status = 401,
                                .message = is_wrong ? "this bearer token is not known"
                                           : p->options.token_file != NULL || p->access_tokens != NULL
                                               ? "a bearer token is needed"
                                               : "the proxy has not named the user",
                                .challenge = p->access_tokens != NULL
                                                 ? access_tokens_challenge(p->access_tokens, is_wrong)
                                             : is_wrong ? "Bearer error=\"invalid_token\""
                                                        : "Bearer"};
    if (principals_are_anybody(p))
        return named(p, "", refusal);
    if (c->user == NULL)
        return given == NULL ? NULL : of_token(p, given, c->at, refusal);
    /* A client that forges the header must not get in, and not be told that its token was good. */
    if (is_trusted(p, c->from) && principal_name(c->user, name))
        return named(p, name, refusal);
    refusal->message = is_trusted(p, c->from)
                           ? "the header that names the user is empty or too long"
                           : "the header that names the user came from an address that is not trusted";
    return NULL;
}
