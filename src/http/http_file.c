/*
 * Responsible for finding a file by its path.
 */
#include "http/http_file.h"

#include <string.h>

const struct http_file *http_file_find(const struct http_file *files, size_t count, const char *path)
{
    const char *name = strcmp(path, "/") == 0 ? "index.html" : path + 1;
    for (size_t i = 0; i < count; i++)
        if (path[0] == '/' && strcmp(name, files[i].name) == 0)
            return &files[i];
    return NULL;
}
