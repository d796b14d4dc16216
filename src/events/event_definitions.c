/*
 * Responsible for finding definitions in code, and their former text in the history.
 */
#include "events/event_definitions.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "events/event_text.h"
#include "scan/scan_repair.h"
#include "scan/scan_toplevel.h"
#include "session/records/journal.h"

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

/* Set the last form in the code of ${e} that is wanted. */
static bool find_in(const struct journal_entry *e, const struct scan_wanted *wanted, json_t *definition)
{
    struct scan_result result;
    struct scan_toplevels forms;
    struct scan_toplevel form;
    bool is_found = false;
    if (!may_define(e->code, e->code_len) || scan_has_fault(e->code, e->code_len, &result))
        return false;
    scan_toplevels_init(&forms, e->code, e->code_len);
    while (scan_toplevels_next(&forms, &form)) {
        if (!scan_toplevel_is(e->code, &form, wanted))
            continue;
        is_found = true;
        event_text_string(definition, "replaced", e->code + form.start, form.end - form.start);
        json_object_set_new(definition, "replaced-evaluation", json_integer((json_int_t)e->evaluation));
    }
    return is_found;
}

/* What the code must contain in any case: the symbol, without its package; "" if that is not plain. */
static void find_symbol(const char *name, char *symbol, size_t size)
{
    const char *start = name[0] == '(' ? name + strcspn(name, " ") : name;
    start += strspn(start, " ");
    size_t len = strcspn(start, " ()");
    const char *colon = memrchr(start, ':', len);
    if (colon != NULL) {
        len -= (size_t)(colon + 1 - start);
        start = colon + 1;
    }
    bool is_plain = strcspn(start, "|\\") >= len && len < size;
    snprintf(symbol, size, "%.*s", is_plain ? (int)len : 0, start);
}

/* ${signature}: "(defun name)". */
static void find_replaced(struct search *search, const struct strbuf *signature, size_t kind_len,
                          json_t *definition)
{
    const char *name = signature->bytes + kind_len + 2;
    size_t name_len = signature->len - kind_len - 3;
    char symbol[200];
    find_symbol(name, symbol, sizeof symbol);
    event_text_string(definition, "name", name, name_len);
    struct scan_wanted *wanted = scan_wanted_new(signature->bytes + 1, kind_len, name, name_len);
    for (size_t i = search->journal->count; i > 0 && search->examined < MOST_EXAMINED; i--) {
        const struct journal_entry *e = journal_at(search->journal, i - 1);
        if (e->evaluation >= search->evaluation || !e->is_in_state)
            continue;
        search->examined += e->code_len;
        if (strcasestr(e->code, symbol) != NULL && find_in(e, wanted, definition))
            break;
    }
    scan_wanted_free(wanted);
}

json_t *event_definitions(const struct journal *j, const char *code, size_t len, uint64_t evaluation)
{
    struct search search = {.journal = j, .evaluation = evaluation};
    struct scan_result result;
    struct scan_toplevels forms;
    struct scan_toplevel form;
    json_t *definitions = json_array();
    if (len < 5 || !may_define(code, len) || scan_has_fault(code, len, &result))
        return definitions;
    scan_toplevels_init(&forms, code, len);
    while (json_array_size(definitions) < MOST_DEFINITIONS && scan_toplevels_next(&forms, &form)) {
        if (!is_definition(code, &form))
            continue;
        size_t kind_len = form.kind_end - form.kind;
        struct strbuf signature = {0};
        scan_toplevel_signature(code, &form, &signature);
        if (signature.len > kind_len + 3) {
            json_t *definition = json_object();
            event_text_string(definition, "operator", code + form.kind, kind_len);
            event_text_string(definition, "text", code + form.start, form.end - form.start);
            json_object_set_new(definition, "replaced", json_null());
            json_object_set_new(definition, "replaced-evaluation", json_null());
            find_replaced(&search, &signature, kind_len, definition);
            json_array_append_new(definitions, definition);
        }
        strbuf_fini(&signature);
    }
    return definitions;
}
