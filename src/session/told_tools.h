/*
 * The tools that a process has reported that its code defines (docs/agent-protocol.md section 6).
 */
#ifndef SESSION_TOLD_TOOLS_H
#define SESSION_TOLD_TOOLS_H

#include <stdbool.h>

#include "base/strbuf.h"

struct sexp;

/* One s-expression, or empty: there are none. */
struct told_tools {
    struct strbuf text;
};

void told_tools_init(struct told_tools *t);
void told_tools_fini(struct told_tools *t);

/* told_tools_set(t, tools): ${tools} is borrowed; NULL: none. Returns whether that is news. */
bool told_tools_set(struct told_tools *t, const struct sexp *tools);

/* told_tools_take(t, from): ${from} is moved out. Returns whether that is news. */
bool told_tools_take(struct told_tools *t, struct told_tools *from);

#endif
