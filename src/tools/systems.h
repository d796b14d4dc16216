/*
 * What the tools that load, test or describe systems share.
 */
#ifndef TOOLS_SYSTEMS_H
#define TOOLS_SYSTEMS_H

struct strbuf;

/* systems_add_form(out, function, system): append the form that calls a function of ASDF with a system, for
 * the journal. ${system} may be the path of a definition, which the form then loads first. */
void systems_add_form(struct strbuf *out, const char *function, const char *system);

/* The words for the places where systems are found, by the agent's names for them (docs/agent-protocol.md,
 * section 7): a template for reply_fill(). */
#define SYSTEM_FOUND                                                                                         \
    "\nFound: {place=project?in the session's directory}"                                                    \
    "{place=qlot?pinned for the project by qlot (.qlot)}"                                                    \
    "{place=ocicl?pinned for the project by ocicl}"                                                          \
    "{place=home?in the home directory (~/common-lisp or ~/.local/share/common-lisp)}"                       \
    "{place=machine?in this machine's libraries (/usr/share/common-lisp)}"                                   \
    "{place=quicklisp?installed by Quicklisp}"                                                               \
    "{place=lisp?in the Lisp's installation}"                                                                \
    "{place=image?built into the Lisp}"                                                                      \
    "{place=registry?through ASDF's configuration}"

#endif
