/*
 * Responsible for splitting a patch into files. A line that is not a header belongs to the file before it.
 */
#include "cli/patch_text.h"

#include <string.h>

static const char add_header[] = "*** Add File: ";
static const char update_header[] = "*** Update File: ";
static const char move_header[] = "*** Move to: ";

void patch_text_init(struct patch_text *patch, const char *text, size_t len)
{
    *patch = (struct patch_text){.at = text, .end = text + len};
}

/* The next line without its end; sets the start of the one after it. */
static const char *take_line(struct patch_text *patch, size_t *len)
{
    const char *line = patch->at;
    const char *newline = memchr(line, '\n', (size_t)(patch->end - line));
    const char *end = newline == NULL ? patch->end : newline;
    patch->at = newline == NULL ? patch->end : newline + 1;
    if (end > line && end[-1] == '\r')
        end--;
    *len = (size_t)(end - line);
    return line;
}

/* Whether the line begins with ${header}; if so, set ${file}'s path to what follows. */
static bool take_header(struct patch_file *file, const char *line, size_t len, const char *header)
{
    size_t header_len = strlen(header);
    if (len <= header_len || memcmp(line, header, header_len) != 0)
        return false;
    size_t path_len = len - header_len;
    while (path_len > 0 && line[header_len + path_len - 1] == ' ')
        path_len--;
    if (path_len == 0)
        return false;
    file->path = line + header_len;
    file->path_len = path_len;
    return true;
}

static bool is_at(const struct patch_text *patch, char first)
{
    return patch->at < patch->end && *patch->at == first;
}

bool patch_text_next(struct patch_text *patch, struct patch_file *file)
{
    while (patch->at < patch->end) {
        size_t len;
        const char *line = take_line(patch, &len);
        if (take_header(file, line, len, add_header)) {
            file->is_added = true;
            strbuf_clear(&file->content);
            while (is_at(patch, '+')) {
                line = take_line(patch, &len);
                strbuf_add(&file->content, line + 1, len > 0 ? len - 1 : 0);
                strbuf_addc(&file->content, '\n');
            }
            return true;
        }
        if (take_header(file, line, len, update_header)) {
            file->is_added = false;
            strbuf_clear(&file->content);
            struct patch_text ahead = *patch;
            if (is_at(patch, '*')) {
                line = take_line(&ahead, &len);
                if (take_header(file, line, len, move_header))
                    *patch = ahead;
            }
            return true;
        }
    }
    return false;
}
