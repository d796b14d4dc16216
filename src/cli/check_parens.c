/*
 * check-parens: reports the first fault in the parentheses of each file, like a compiler, with the form and
 * the likely repair. Needs no Lisp.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/regular_file.h"
#include "cli/commands.h"
#include "scan/scan.h"

enum { MOST_FILE_BYTES = 16 << 20 };

/* Where an editor should go: what the reader finds is often far behind what the author did. */
static const struct scan_place *place_to_show(const struct scan_result *result)
{
    if (result->suspect.line > 0)
        return &result->suspect;
    return result->fault == SCAN_UNCLOSED_LIST ? &result->innermost : &result->at;
}

static bool check_file(const char *path)
{
    struct regular_file file;
    struct err err;
    if (!regular_file_read(&file, path, MOST_FILE_BYTES, &err)) {
        fprintf(stderr, "cl-mcp-server: %s\n", err.message);
        regular_file_fini(&file);
        return false;
    }
    const char *text = strbuf_string(&file.text);
    struct scan_result result = scan_text(text, file.text.len);
    if (result.fault != SCAN_VALID) {
        char explanation[SCAN_EXPLAIN_SIZE];
        scan_explain(&result, text, file.text.len, explanation, sizeof explanation);
        const struct scan_place *place = place_to_show(&result);
        printf("%s:%zu:%zu: %s\n", path, place->line, place->column, explanation);
    }
    regular_file_fini(&file);
    return result.fault == SCAN_VALID;
}

int check_parens(int argc, char **argv)
{
    int status = 0;
    if (argc < 2 || strcmp(argv[1], "--help") == 0)
        return command_usage(argv[0]);
    for (int i = 1; i < argc; i++)
        if (!check_file(argv[i]))
            status = 1;
    return status;
}
