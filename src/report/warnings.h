/*
 * The section with the warnings. Private to this folder.
 */
#ifndef REPORT_WARNINGS_H
#define REPORT_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

struct session;
struct sexp;
struct strbuf;

/*
 * warnings_add(out, session, reply, most):
 * Append the warnings: those without a position first. Those in files are grouped by file and kind; of
 * each kind the first few are shown, and if any are omitted, all are kept for get-output.
 *
 * reply    its :warnings are (("TYPE" "message" "file:line:column" "form") ...), the last two may be missing;
 *          :warnings-lost is how many more the agent did not keep
 * most     bytes shown at most
 */
void warnings_add(struct strbuf *out, struct session *session, const struct sexp *reply, size_t most);

/* warnings_add_place(out, place): append "line 2, column 3: " for ":2:3"; nothing if ${place} is not a
 * string.
 */
void warnings_add_place(struct strbuf *out, const struct sexp *place);

/* warnings_own_frame(frames): the number of the first frame whose code is in a file that the user maintains;
 * their count if none is. */
size_t warnings_own_frame(const struct sexp *frames);

#endif
