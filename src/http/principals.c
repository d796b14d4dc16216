/*
 * Responsible for the principals, and for finding the principal of a request.
 */
#include "http/principals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "http/header_values.h"

static struct principal *by_name(struct principals *p, const char *name)
{
    size_t count = 0;
    struct list *node, *following;
    list_for_each(node, following, &p->all)
    {
        struct principal *one = list_entry(node, struct principal, node);
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

static bool is_reserved(const char *header)
{
    static const char *const reserved[] = {"Host",           "Origin",     "Authorization",
                                           "Content-Type",   "Accept",     "Mcp-Session-Id",
                                           "Content-Length", "Connection", "Transfer-Encoding"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcasecmp(header, reserved[i]) == 0)
            return true;
    return false;
}

static bool read_trust(struct principals *p, struct err *err)
{
    const struct principals_options *o = &p->options;
    bool has_networks = o->trust_from != NULL && o->trust_from[0] != NULL;
    if (o->trust_header == NULL)
        return !has_networks || err_set(err, ERR_INVALID, "--trust-from goes together with --trust-header");
    if (!header_name_is_valid(o->trust_header) || is_reserved(o->trust_header))
        return err_set(err, ERR_INVALID,
                       "--trust-header: '%.100s' is no name of a header that a proxy may set",
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
    *p = (struct principals){.options = *options};
    list_init(&p->all);
    return read_trust(p, err) &&
           (options->token_file == NULL || tokens_read(&p->tokens, options->token_file, err));
}

void principals_fini(struct principals *p)
{
    struct list *node, *following;
    list_for_each(node, following, &p->all)
    {
        struct principal *one = list_entry(node, struct principal, node);
        free(one->name);
        free(one);
    }
    list_init(&p->all);
    tokens_fini(&p->tokens);
    free(p->trusted);
}

bool principals_reload(struct principals *p, struct err *err)
{
    struct tokens tokens;
    if (p->options.token_file == NULL)
        return true;
    if (!tokens_read(&tokens, p->options.token_file, err))
        return false;
    tokens_fini(&p->tokens);
    p->tokens = tokens;
    return true;
}

bool principals_are_anybody(const struct principals *p)
{
    return p->options.token_file == NULL && p->options.trust_header == NULL;
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

static struct principal *refuse(struct refusal *refusal, unsigned status, const char *message,
                                const char *challenge)
{
    *refusal = (struct refusal){status, message, challenge};
    return NULL;
}

static struct principal *named(struct principals *p, const char *name, struct refusal *refusal)
{
    struct principal *found = by_name(p, name);
    return found != NULL ? found : refuse(refusal, 503, "this server has too many principals", NULL);
}

struct principal *principals_find(struct principals *p, const struct credentials *c, struct refusal *refusal)
{
    static const char none[] = "Bearer", invalid[] = "Bearer error=\"invalid_token\"";
    char name[PRINCIPAL_MOST_NAME + 1];
    /* A client that forges the header must not get in, and not be told that its token was good. */
    if (c->user != NULL && !is_trusted(p, c->from))
        return refuse(refusal, 401, "the header that names the user came from an address that is not trusted",
                      none);
    if (c->user != NULL)
        return principal_name(c->user, name)
                   ? named(p, name, refusal)
                   : refuse(refusal, 401, "the header that names the user is empty or too long", none);
    if (principals_are_anybody(p))
        return named(p, "", refusal);
    if (c->authorization == NULL)
        return refuse(refusal, 401,
                      p->options.token_file != NULL ? "a bearer token is needed"
                                                    : "the proxy has not named the user",
                      none);
    const char *given = bearer_token(c->authorization);
    const struct token *token = given == NULL ? NULL : tokens_find(&p->tokens, given);
    return token != NULL ? named(p, token->name, refusal)
                         : refuse(refusal, 401, "this bearer token is not known", invalid);
}
