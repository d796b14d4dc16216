/*
 * Responsible for reading a file of Lisp text that a call names, and for what a reply says of its
 * parentheses.
 */
#include "calls/syntax.h"

#include <string.h>

#include "base/utf8.h"
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

bool syntax_add_encoding(struct strbuf *out, const char *text, size_t len)
{
    size_t valid = utf8_valid_prefix(text, len);
    struct scan_place place = scan_place_of(text, len, valid);
    if (valid < len)
        strbuf_addf(out,
                    "✗ Not UTF-8: the byte 0x%02X at line %zu, column %zu. Convert the file, or load it with "
                    "its :external-format, such as :latin-1.",
                    (unsigned)(unsigned char)text[valid], place.line, place.column);
    return valid < len;
}

void syntax_add_fault(struct strbuf *out, const char *directory, const char *path)
{
    struct regular_file file;
    struct scan_result result;
    struct err err;
    if (syntax_read(directory, path, strlen(path), &file, &err) &&
        scan_has_fault(strbuf_string(&file.text), file.text.len, &result)) {
        section_begin(out, HEADING_SYNTAX);
        strbuf_addf(out, "%s:\n", path);
        scan_explain(&result, file.text.bytes, file.text.len, out);
    }
    regular_file_fini(&file);
}
