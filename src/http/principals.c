/*
 * Responsible for the principals, and for finding the principal of a request.
 */
#include "http/principals.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "http/header_values.h"

static struct principal *by_name(struct principals *p, const char *name)
{
    struct list *node, *following;
    list_for_each(node, following, &p->all)
    {
        struct principal *one = list_entry(node, struct principal, node);
        if (strcmp(one->name, name) == 0)
            return one;
    }
    struct principal *made = xcalloc(1, sizeof *made);
    made->name = xstrdup(name);
    list_init(&made->sessions);
    list_init(&made->node);
    list_append(&p->all, &made->node);
    return made;
}

bool principals_init(struct principals *p, const char *token_file, struct err *err)
{
    *p = (struct principals){.token_file = token_file};
    list_init(&p->all);
    return token_file == NULL || tokens_read(&p->tokens, token_file, err);
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
}

bool principals_reload(struct principals *p, struct err *err)
{
    if (p->token_file == NULL)
        return true;
    struct tokens tokens;
    if (!tokens_read(&tokens, p->token_file, err))
        return false;
    tokens_fini(&p->tokens);
    p->tokens = tokens;
    return true;
}

struct principal *principals_find(struct principals *p, const char *authorization)
{
    if (p->token_file == NULL)
        return by_name(p, "");
    const char *given = authorization == NULL ? NULL : bearer_token(authorization);
    const struct token *token = given == NULL ? NULL : tokens_find(&p->tokens, given);
    return token == NULL ? NULL : by_name(p, token->name);
}
