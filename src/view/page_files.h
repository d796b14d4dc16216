/*
 * The files of the page, embedded in the program by embed_page.py.
 */
#ifndef VIEW_PAGE_FILES_H
#define VIEW_PAGE_FILES_H

#include "http/http_file.h"

extern const struct http_file page_files[];
extern const size_t page_file_count;

#endif
