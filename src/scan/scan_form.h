/*
 * Names a form by its places and its first tokens. Internal to src/scan.
 */
#ifndef SCAN_SCAN_FORM_H
#define SCAN_SCAN_FORM_H

#include "scan/scan.h"

#include <stddef.h>

/*
 * scan_form_open(text, len, start), scan_form_closed(text, len, start, end):
 * The form whose first token is at ${start}; still open, or with its last byte just before ${end}.
 *
 * text        borrowed
 */
struct scan_form scan_form_open(const char *text, size_t len, size_t start);
struct scan_form scan_form_closed(const char *text, size_t len, size_t start, size_t end);

#endif
