/*
 * The text is kept as it arrived, so that two reports can be compared byte by byte.
 */
#include "session/records/told_tools.h"

#include <string.h>

#include "base/log.h"
#include "wire/sexp.h"

#define LONGEST ((size_t)1 << 20) /* longer text is not a list of tools */

void told_tools_init(struct told_tools *t)
{
    strbuf_init(&t->text, LONGEST);
}

void told_tools_fini(struct told_tools *t)
{
    strbuf_fini(&t->text);
}

bool told_tools_take(struct told_tools *t, struct told_tools *from)
{
    struct strbuf had = t->text;
    bool is_news =
        had.len != from->text.len || (had.len > 0 && memcmp(had.bytes, from->text.bytes, had.len) != 0);
    t->text = from->text;
    told_tools_init(from);
    strbuf_fini(&had);
    return is_news;
}

bool told_tools_set(struct told_tools *t, const struct sexp *tools, const char *session)
{
    struct told_tools told;
    told_tools_init(&told);
    if (sexp_count(tools) > 0)
        sexp_write_value(&told.text, tools);
    if (told.text.is_overflown) {
        log_warning("the code of session %s defines tools of more than %zu bytes; they are left out", session,
                    LONGEST);
        strbuf_clear(&told.text);
    }
    return told_tools_take(t, &told);
}
