#include "tools/syntax.h"

#include <string.h>

#include "report/section.h"
#include "scan/scan_repair.h"

#define MOST_FILE_BYTES (16 << 20)

bool syntax_read(const char *directory, const char *path, size_t len, struct regular_file *file,
                 struct err *err)
{
    if (strlen(path) == len)
        return regular_file_read_beneath(file, directory, path, MOST_FILE_BYTES, err);
    *file = (struct regular_file){.directory = -1};
    err_set(err, ERR_INVALID, "The path contains a NUL character");
    return false;
}

bool syntax_has_fault(const char *text, size_t len, struct scan_result *result)
{
    *result = scan_text(text, len);
    return result->fault != SCAN_VALID || scan_find_swallowed(text, len, result);
}

void syntax_add_fault(struct strbuf *out, const char *directory, const char *path)
{
    struct regular_file file;
    struct scan_result result;
    struct err err;
    if (syntax_read(directory, path, strlen(path), &file, &err) &&
        syntax_has_fault(strbuf_string(&file.text), file.text.len, &result)) {
        section_begin(out, HEADING_SYNTAX);
        strbuf_addf(out, "%s:\n", path);
        scan_explain(&result, file.text.bytes, file.text.len, out);
    }
    regular_file_fini(&file);
}
