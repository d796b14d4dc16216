/*
 * Looks up the values of an agent's reply by key.
 */
#include "report/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/strbuf.h"
#include "wire/sexp.h"

#define FIRST_KEY 2 /* after the id and :ok */

const struct sexp *reply_get(const struct sexp *reply, const char *key)
{
    return sexp_get(reply, FIRST_KEY, key);
}

int64_t reply_integer(const struct sexp *reply, const char *key)
{
    return sexp_integer(reply_get(reply, key), 0);
}

size_t reply_count(const struct sexp *reply, const char *key)
{
    int64_t n = reply_integer(reply, key);
    return n < 0 ? 0 : (size_t)n;
}

bool reply_flag(const struct sexp *reply, const char *key)
{
    return !sexp_is_nil(reply_get(reply, key));
}

void reply_add(struct strbuf *out, const struct sexp *reply, const char *key)
{
    reply_add_string(out, reply_get(reply, key));
}

void reply_add_string(struct strbuf *out, const struct sexp *value)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    if (text != NULL)
        strbuf_add(out, text, len);
}

static void add_item(struct strbuf *out, const struct sexp *item)
{
    if (item != NULL && item->type == SEXP_INTEGER)
        strbuf_addf(out, "%lld", (long long)item->integer);
    else if (item != NULL && item->type == SEXP_SYMBOL)
        strbuf_add(out, item->text.bytes, item->text.len);
    else
        reply_add_string(out, item);
}

void reply_fill(struct strbuf *out, const struct sexp *list, const char *template)
{
    while (*template != '\0') {
        char key[32];
        size_t text = strcspn(template, "{");
        strbuf_add(out, template, text);
        template += text;
        if (*template == '\0')
            return;
        size_t len = strcspn(template, "}");
        CHECK(template[len] == '}' && len <= sizeof key);
        snprintf(key, sizeof key, "%.*s", (int)len - 1, template + 1);
        bool is_number = key[0] >= '0' && key[0] <= '9';
        const struct sexp *value =
            is_number ? sexp_nth(list, strtoul(key, NULL, 10)) : sexp_get(list, 0, key);
        if (value != NULL && value->type != SEXP_SYMBOL)
            add_item(out, value);
        template += len + 1;
    }
}

void reply_fill_each(struct strbuf *out, const struct sexp *lists, const char *template)
{
    for (size_t i = 0; i < sexp_count(lists); i++)
        reply_fill(out, sexp_nth(lists, i), template);
}

void reply_add_list(struct strbuf *out, const char *before, const struct sexp *list, const char *separator,
                    const char *after)
{
    for (size_t i = 0; i < sexp_count(list); i++) {
        strbuf_adds(out, i == 0 ? before : separator);
        add_item(out, sexp_nth(list, i));
    }
    if (sexp_count(list) > 0)
        strbuf_adds(out, after);
}
