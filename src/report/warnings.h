/*
 * The section with the warnings. Private to this folder.
 */
#ifndef REPORT_WARNINGS_H
#define REPORT_WARNINGS_H

#include <stddef.h>

struct session;
struct sexp;
struct strbuf;

/*
 * warnings_add(out, session, warnings, most):
 * Append the warnings: those without a position first. Those in files are grouped by file and kind; of
 * each kind the first few are shown, and if any are omitted, all are kept for get-output.
 *
 * warnings    as the agent sends them: (("TYPE" "message" "file:line:column" "form") ...), the last two may
 * be missing most        bytes, of the session's max-output limit; about four times as much is shown of each
 * half
 */
void warnings_add(struct strbuf *out, struct session *session, const struct sexp *warnings, size_t most);

/* warnings_add_place(out, place): append "line 2, column 3: " for ":2:3"; nothing if ${place} is no string.
 */
void warnings_add_place(struct strbuf *out, const struct sexp *place);

#endif
