/*
 * The words for where systems are found: one row each.
 */
#include "tools/places.h"

#include "wire/sexp.h"

static const struct {
    const char *place, *text;
} places[] = {
    {"project", "in the session's directory"},
    {"qlot", "among what qlot has pinned for the project (.qlot)"},
    {"ocicl", "among what ocicl has pinned for the project"},
    {"home", "in the home directory (~/common-lisp or ~/.local/share/common-lisp)"},
    {"machine", "among the libraries of this machine (/usr/share/common-lisp)"},
    {"quicklisp", "installed by Quicklisp"},
    {"lisp", "part of the Lisp's installation"},
    {"image", "part of the Lisp itself"},
    {"registry", "by ASDF's configuration"},
};

const char *place_text(const struct sexp *place)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (sexp_is_symbol(place, places[i].place))
            return places[i].text;
    return "at a place that is not known";
}
