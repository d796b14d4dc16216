/*
 * Responsible for finding definitions in code, and their former text in the history.
 */
#include "tools/event_definitions.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "scan/scan_toplevel.h"
#include "session/records/journal.h"
#include "tools/syntax.h"

#define MOST_DEFINITIONS 50
#define MOST_EXAMINED ((size_t)4 << 20) /* bytes of the history, for the definitions of one evaluation */

struct search {
    const struct journal *journal;
    uint64_t evaluation;
    size_t examined;
};

static bool may_define(const char *code, size_t len)
{
    for (size_t i = 0; i + 4 <= len; i++)
        if (code[i] == '(' && strncasecmp(code + i + 1, "def", 3) == 0)
            return true;
    return false;
}

static bool is_definition(const char *code, const struct scan_toplevel *form)
{
    return form->kind_end - form->kind > 3 && strncasecmp(code + form->kind, "def", 3) == 0;
}

/* The last form in the code of ${e} that is wanted. */
static bool find_in(const struct journal_entry *e, const struct scan_wanted *wanted,
                    struct event_definition *d)
{
    struct scan_result result;
    struct scan_toplevels forms;
    struct scan_toplevel form;
    if (!may_define(e->code, e->code_len) || syntax_has_fault(e->code, e->code_len, &result))
        return false;
    scan_toplevels_init(&forms, e->code, e->code_len);
    while (scan_toplevels_next(&forms, &form)) {
        if (!scan_toplevel_is(e->code, &form, wanted))
            continue;
        d->replaced = e->code + form.start;
        d->replaced_len = form.end - form.start;
        d->replaced_evaluation = e->evaluation;
    }
    return d->replaced != NULL;
}

/* What the code must contain in any case: the symbol, without its package; "" if that is not plain. */
static void find_symbol(const struct event_definition *d, char *symbol, size_t size)
{
    const char *start = d->name, *end = d->name + d->name_len, *colon;
    if (*start == '(')
        start =
            memchr(start, ' ', d->name_len) != NULL ? (const char *)memchr(start, ' ', d->name_len) + 1 : end;
    size_t len = 0;
    while (start + len < end && strchr(" ()", start[len]) == NULL)
        len++;
    while ((colon = memchr(start, ':', len)) != NULL) {
        len -= (size_t)(colon + 1 - start);
        start = colon + 1;
    }
    bool is_plain = memchr(start, '|', len) == NULL && memchr(start, '\\', len) == NULL && len < size;
    snprintf(symbol, size, "%.*s", is_plain ? (int)len : 0, start);
}

static void find_replaced(struct search *search, struct event_definition *d)
{
    char symbol[200];
    find_symbol(d, symbol, sizeof symbol);
    struct scan_wanted *wanted = scan_wanted_new(d->operator, d->operator_len, d->name, d->name_len);
    for (size_t i = search->journal->count; i > 0 && search->examined < MOST_EXAMINED; i--) {
        const struct journal_entry *e = journal_at(search->journal, i - 1);
        if (e->evaluation >= search->evaluation || !e->is_in_state)
            continue;
        search->examined += e->code_len;
        if (strcasestr(e->code, symbol) != NULL && find_in(e, wanted, d))
            break;
    }
    scan_wanted_free(wanted);
}

void event_definitions_each(const struct journal *j, const char *code, size_t len, uint64_t evaluation,
                            void (*each)(void *arg, const struct event_definition *d), void *arg)
{
    struct search search = {.journal = j, .evaluation = evaluation};
    struct scan_result result;
    struct scan_toplevels forms;
    struct scan_toplevel form;
    if (len < 5 || !may_define(code, len) || syntax_has_fault(code, len, &result))
        return;
    scan_toplevels_init(&forms, code, len);
    for (size_t told = 0; told < MOST_DEFINITIONS && scan_toplevels_next(&forms, &form);) {
        if (!is_definition(code, &form))
            continue;
        size_t kind_len = form.kind_end - form.kind;
        struct strbuf signature = {0};
        scan_toplevel_signature(code, &form, &signature); /* "(defun name)" */
        if (signature.len > kind_len + 3) {
            struct event_definition d = {
                .operator= code + form.kind,
                .operator_len = kind_len,
                .name = signature.bytes + kind_len + 2,
                .name_len = signature.len - kind_len - 3,
                .text = code + form.start,
                .len = form.end - form.start,
            };
            find_replaced(&search, &d);
            each(arg, &d);
            told++;
        }
        strbuf_fini(&signature);
    }
}
