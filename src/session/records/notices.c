/*
 * Responsible for keeping the notices of a session in order and within their bound.
 */
#include "session/records/notices.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"

#define MOST_BYTES ((size_t)64 << 10)

static size_t bytes_of(const struct fact *f)
{
    size_t bytes = sizeof *f;
    for (size_t i = 0; i < 3; i++)
        bytes += f->texts[i] == NULL ? 0 : strlen(f->texts[i]);
    return bytes;
}

void notices_add(struct notices *n, const struct fact *fact)
{
    n->is_full = n->is_full || n->bytes + bytes_of(fact) > MOST_BYTES;
    if (n->is_full)
        return;
    n->bytes += bytes_of(fact);
    n->facts = xrealloc(n->facts, (n->count + 1) * sizeof *fact);
    n->facts[n->count] = *fact;
    for (size_t i = 0; i < 3; i++)
        n->facts[n->count].texts[i] = xstrdup(fact->texts[i]);
    n->count++;
}

void notices_addf(struct notices *n, const char *format, ...)
{
    va_list arguments;
    struct strbuf text = {0};
    va_start(arguments, format);
    strbuf_vaddf(&text, format, arguments);
    va_end(arguments);
    notices_add(n, FACT(FACT_TEXT, .texts = {strbuf_string(&text)}));
    strbuf_fini(&text);
}

bool notices_have(const struct notices *n, enum fact_kind kind)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->facts[i].kind == kind)
            return true;
    return false;
}

static void fini(struct fact *f)
{
    for (size_t i = 0; i < 3; i++)
        free((char *)(uintptr_t)f->texts[i]);
}

void notices_remove(struct notices *n, enum fact_kind kind, uint64_t number)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->count; i++) {
        struct fact f = n->facts[i];
        if (f.kind == kind && f.numbers[0] == number) {
            n->bytes -= bytes_of(&f);
            fini(&f);
        } else {
            n->facts[kept++] = f;
        }
    }
    n->count = kept;
}

void notices_clear(struct notices *n)
{
    for (size_t i = n->held; i < n->count; i++) {
        n->bytes -= bytes_of(&n->facts[i]);
        fini(&n->facts[i]);
    }
    n->count = n->held;
    if (n->count > 0)
        return;
    free(n->facts);
    *n = (struct notices){.is_held = n->is_held};
}

void notices_hold(struct notices *n, bool is_held)
{
    n->is_held = is_held;
    n->held = is_held ? n->count : 0;
}
