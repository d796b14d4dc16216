/*
 * The part of a text that a repair works on: from the start of the faulty top-level form to the start of the
 * next one, cut into pieces. Internal to src/scan.
 */
#ifndef SCAN_SCAN_REGION_H
#define SCAN_SCAN_REGION_H

#include <stdbool.h>
#include <stddef.h>

#include "scan/scan_lexer.h"
#include "scan/scan_result.h"

enum { SCAN_REGION_MOST_PIECES = 1 << 20 };

struct scan_arity;

/* A token, or a #+ or #- with its feature. */
struct scan_piece {
    enum scan_token_kind kind;
    bool starts_line;
    bool is_conditional; /* a #+ or #- together with its feature */
    size_t start, end;
    size_t column;                  /* as an editor shows it, from 0; for a list, of its parenthesis */
    size_t line;                    /* counted from the region's start */
    const struct scan_arity *arity; /* of an atom that names a known operator */
};

struct scan_region {
    const char *text;
    size_t len;
    size_t start, end;
    struct scan_piece *pieces;
    size_t count;
    long net;         /* number of `(` minus number of `)` */
    bool is_wrapper;  /* a form that contains others in column 1 */
    bool is_doubtful; /* the most likely repair in it is not certain */
};

/*
 * scan_region_find(text, len, result, region):
 * Find the region that contains the fault, and cut it into pieces.
 *
 * text        borrowed, outlives ${region}
 * result      borrowed; the fault that scan_text() found in ${text}
 * region      filled in; needs scan_region_fini() if this returns true; without pieces if there would be
 *             more than SCAN_REGION_MOST_PIECES
 * Returns     false if the region cannot be determined
 */
bool scan_region_find(const char *text, size_t len, const struct scan_result *result,
                      struct scan_region *region);

/*
 * scan_region_change(region, at, count):
 * Add or remove ${count} `)` at piece ${at}, in the pieces only: remove them if ${region} has too many.
 *
 * Returns     the piece that is now last there
 */
size_t scan_region_change(struct scan_region *region, size_t at, size_t count);

/* scan_region_fini(region): free the pieces. */
void scan_region_fini(struct scan_region *region);

#endif
