/*
 * Truncating tool texts that are longer than a reply should be.
 */
#ifndef TOOLS_CUT_H
#define TOOLS_CUT_H

#include <stddef.h>

struct outcome;
struct session;
struct strbuf;

/* cut_whole(text, session, most): report_cut() of ${text} in place. */
void cut_whole(struct strbuf *text, struct session *session, size_t most);

/* cut_put_aside(out, outcome, most): if a stream of the output has more than ${most} bytes, keep it for
 * get-output and append a line that says so, or the stream itself if that is as short; it is not in the
 * report then. */
void cut_put_aside(struct strbuf *out, const struct outcome *outcome, size_t most);

#endif
