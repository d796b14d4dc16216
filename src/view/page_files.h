/*
 * The files of the page, embedded in the program by embed_page.py.
 */
#ifndef VIEW_PAGE_FILES_H
#define VIEW_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const char *name, *type; /* "index.html", "text/html; charset=utf-8" */
    const char *bytes;
    size_t len;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

#endif
