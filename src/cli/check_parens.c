/*
 * check-parens: reports the first parenthesis fault of each file, like a compiler, with the form and
 * the likely repair. With --fix, it makes the repairs that are certain. Needs no Lisp.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/regular_file.h"
#include "cli/commands.h"
#include "cli/lisp_check.h"

static void print_changes(const char *path, const struct scan_repair *repair)
{
    for (size_t i = 0; i < repair->edit_count; i++) {
        const struct scan_edit *edit = &repair->edits[i];
        printf("%s:%zu:%zu: %s %zu `)`, in the form %s of line %zu\n", path, edit->at.line, edit->at.column,
               edit->is_removal ? "removed" : "added", edit->count, edit->form.head, edit->form.start.line);
    }
}

/* False with ${err} set if the repaired text could not be written. */
static bool fix(const struct regular_file *file, const struct lisp_check *check, struct err *err)
{
    if (!check->repair.is_certain)
        return err_set(err, ERR_INVALID, "%s was not changed: it is not certain which `)` is wrong",
                       file->path);
    if (!regular_file_replace(file, check->repaired.bytes, check->repaired.len, err))
        return false;
    print_changes(file->path, &check->repair);
    return true;
}

/* True if the file is correct, or has been repaired. */
static bool check_file(const char *path, bool wants_fix)
{
    struct regular_file file;
    struct lisp_check check;
    struct err err = {0};
    bool is_in_order = false;
    if (regular_file_read(&file, path, LISP_CHECK_MOST_BYTES, &err)) {
        lisp_check_init(&check, strbuf_string(&file.text), file.text.len);
        is_in_order = check.is_in_order || (wants_fix && fix(&file, &check, &err));
        if (!is_in_order)
            printf("%s:%zu:%zu: %s\n", path, check.place.line, check.place.column,
                   strbuf_string(&check.explanation));
        lisp_check_fini(&check);
    }
    if (err.code != ERR_NONE)
        fprintf(stderr, "cl-mcp-server: %s\n", err.message);
    regular_file_fini(&file);
    return is_in_order;
}

int check_parens(int argc, char **argv)
{
    int first = 1, status = 0;
    bool wants_fix = argc > first && strcmp(argv[first], "--fix") == 0;
    first += wants_fix;
    bool is_file = argc > first && strcmp(argv[first], "--") == 0;
    first += is_file;
    if (argc == first || (!is_file && argv[first][0] == '-'))
        return command_usage(argv[0]);
    for (int i = first; i < argc; i++)
        if (!check_file(argv[i], wants_fix))
            status = 1;
    return status;
}
