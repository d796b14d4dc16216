/*
 * A file that is part of the program and can be served.
 */
#ifndef HTTP_HTTP_FILE_H
#define HTTP_HTTP_FILE_H

#include <stddef.h>

struct http_file {
    const char *name, *type; /* "index.html", "text/html; charset=utf-8" */
    const char *bytes;
    size_t len;
};

/* http_file_find(files, count, path): the one at "/NAME"; "/" is that of index.html. NULL: none. */
const struct http_file *http_file_find(const struct http_file *files, size_t count, const char *path);

/* What a page of these files may load: nothing from elsewhere, nothing inline. */
#define HTTP_FILE_POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "      \
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#endif
