/*
 * The words for the places where systems are found, one row each.
 */
#include "tools/system_origins.h"

#include "wire/sexp.h"

static const struct {
    const char *place, *text;
} origins[] = {
    {"project", "in the session's directory"},
    {"qlot", "pinned for the project by qlot (.qlot)"},
    {"ocicl", "pinned for the project by ocicl"},
    {"home", "in the home directory (~/common-lisp or ~/.local/share/common-lisp)"},
    {"machine", "in this machine's libraries (/usr/share/common-lisp)"},
    {"quicklisp", "installed by Quicklisp"},
    {"lisp", "in the Lisp's installation"},
    {"image", "built into the Lisp"},
    {"registry", "through ASDF's configuration"},
};

const char *system_origin_text(const struct sexp *place)
{
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++)
        if (sexp_is_symbol(place, origins[i].place))
            return origins[i].text;
    return "in an unknown place";
}
