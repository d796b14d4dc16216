/*
 * The tools that the code in a process defines, as reported by the process (docs/agent-protocol.md section
 * 6).
 */
#ifndef SESSION_RECORDS_TOLD_TOOLS_H
#define SESSION_RECORDS_TOLD_TOOLS_H

#include <stdbool.h>

#include "base/strbuf.h"

struct sexp;

/* One s-expression, or empty for none. */
struct told_tools {
    struct strbuf text;
};

/* told_tools_init(t), told_tools_fini(t): on the caller's memory. */
void told_tools_init(struct told_tools *t);
void told_tools_fini(struct told_tools *t);

/* told_tools_set(t, tools, session): ${tools} is borrowed; NULL: none. A list that is too long is left out,
 * and logged with the name ${session}. Returns whether they have changed. */
bool told_tools_set(struct told_tools *t, const struct sexp *tools, const char *session);

/* told_tools_take(t, from): ${from} is moved out. Returns whether they have changed. */
bool told_tools_take(struct told_tools *t, struct told_tools *from);

#endif
