/*
 * The top-level forms of valid text, and which of them has a given kind and name. Forms inside PROGN,
 * EVAL-WHEN and the like count, too, up to 32 levels deep.
 */
#ifndef SCAN_SCAN_TOPLEVEL_H
#define SCAN_SCAN_TOPLEVEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "scan/scan_lexer.h"

/* One form; offsets into the text. */
struct scan_toplevel {
    size_t start, end;     /* of the list, parentheses included */
    size_t lead;           /* where its #+ or #- starts, or ${start} */
    size_t kind, kind_end; /* its operator; empty if it is not a symbol */
    size_t rest;           /* after the operator */
};

struct scan_toplevels {
    const char *text;
    size_t len;
    struct scan_lexer lexer;
    size_t depth, open; /* open lists; how many of them contain top-level forms */
    size_t lead;        /* of the current datum, if ${has_lead} */
    bool has_lead;
};

/*
 * scan_toplevels_init(forms, text, len), scan_toplevels_next(forms, form):
 * Visit the forms in the order in which they start: a PROGN comes before the forms in it.
 *
 * text        borrowed as long as ${forms} is used; must be valid according to scan_text()
 * Returns     false if there are no more
 */
void scan_toplevels_init(struct scan_toplevels *forms, const char *text, size_t len);
bool scan_toplevels_next(struct scan_toplevels *forms, struct scan_toplevel *form);

/*
 * scan_wanted_new(kind, kind_len, name, name_len): a kind (DEFUN) and a name that forms are compared with. A
 * file may have a million of them, so both are read once. scan_wanted_free(wanted).
 * scan_toplevel_is(text, form, wanted): whether a form is of that kind and has that name.
 *
 * kind        an operator; NULL: any. Packages and letter case are ignored, here and in names,
 *             except the case of #\a and |a|
 * name        a symbol or (setf symbol); a string or keyword of the same name is equal. For a
 *             method, qualifiers and specializers may follow as in its definition, `area :around ((s
 *             circle))`: they must then be those of the form; without them, any method of that name
 *             matches. One of more than 1000 bytes matches none
 */
struct scan_wanted *scan_wanted_new(const char *kind, size_t kind_len, const char *name, size_t name_len);
void scan_wanted_free(struct scan_wanted *wanted);
bool scan_toplevel_is(const char *text, const struct scan_toplevel *form, const struct scan_wanted *wanted);

/* scan_toplevel_signature(text, form, out): append `(defmethod area :around ((s circle)))`, as
 * scan_toplevel_is() compares it, on one line. */
void scan_toplevel_signature(const char *text, const struct scan_toplevel *form, struct strbuf *out);

#endif
