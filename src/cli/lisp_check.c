/*
 * Responsible for the words of a verdict: the scanner's explanation, with the location of the fault, and
 * with the repair's guess, which considers the whole form, instead of the scanner's.
 */
#include "cli/lisp_check.h"

#include <string.h>
#include <strings.h>

static void add_edit(struct strbuf *out, const struct scan_edit *edit)
{
    strbuf_addf(out, "line %zu: %s %zu `)` %s column %zu, in the form %s of line %zu", edit->at.line,
                edit->is_removal ? "remove" : "add", edit->count, edit->is_removal ? "at" : "before",
                edit->at.column, edit->form.head, edit->form.start.line);
}

/* Where an editor should go: the reader notices a fault long after the place where it was made. */
static struct scan_place place_to_show(const struct scan_result *result, const struct scan_repair *repair)
{
    if (repair->edit_count > 0)
        return repair->edits[0].at;
    if (result->suspect.line > 0)
        return result->suspect;
    return result->fault == SCAN_UNCLOSED_LIST ? result->innermost : result->at;
}

void lisp_check_init(struct lisp_check *check, const char *text, size_t len)
{
    *check = (struct lisp_check){.is_in_order = true};
    struct scan_result result;
    if (!scan_has_fault(text, len, &result))
        return;
    check->is_in_order = false;
    scan_find_repair(text, len, &check->repair, &check->repaired);
    check->place = place_to_show(&result, &check->repair);
    if (check->repair.edit_count > 0)
        result.suspect = (struct scan_place){.line = 0};
    scan_explain(&result, text, len, &check->explanation);
    for (size_t i = 0; i < check->repair.edit_count; i++) {
        strbuf_adds(&check->explanation, check->repair.is_certain ? "\nRepair by the indentation: "
                                                                  : "\nLikely repair by the indentation: ");
        add_edit(&check->explanation, &check->repair.edits[i]);
    }
}

void lisp_check_fini(struct lisp_check *check)
{
    strbuf_fini(&check->explanation);
    strbuf_fini(&check->repaired);
}

bool lisp_check_is_lisp(const char *path)
{
    static const char *const suffixes[] = {".lisp", ".lsp", ".cl", ".asd", ".ros"};
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix_len = strlen(suffixes[i]);
        if (len > suffix_len && strcasecmp(path + len - suffix_len, suffixes[i]) == 0)
            return true;
    }
    return false;
}

bool lisp_check_looks_like_lisp(const char *path, const char *text, size_t len)
{
    size_t path_len = strlen(path), at = 0;
    if (path_len < 3 || strcasecmp(path + path_len - 3, ".cl") != 0)
        return true;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < len && memchr(" \t\r\n\f", text[at], 5) != NULL)
        at++;
    if (at == len || text[at] == '(' || text[at] == ';')
        return true;
    return text[at] == '#' && at + 1 < len && memchr("|+-.!", text[at + 1], 5) != NULL;
}
