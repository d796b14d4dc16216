/*
 * Tools that the code of sessions defines (cl-mcp:define-tool): listing them, checking their arguments,
 * calling them. Clients know the tool NAME as user-NAME. If several sessions define a tool of the same name,
 * a call uses the one of the session it names, otherwise the default session's, otherwise that of the oldest
 * session that has one; that one is listed.
 */
#ifndef CALLS_USER_TOOLS_H
#define CALLS_USER_TOOLS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/errors.h"
#include "base/strbuf.h"
#include "calls/tool.h"

struct toolbox;

/* Limits on what a session reports; tools beyond them are not offered. The agent enforces the same limits. */
#define USER_TOOLS_MAX 64           /* of one session */
#define USER_TOOLS_MAX_LISTED 256   /* of all sessions together */
#define USER_TOOLS_MAX_ARGUMENTS 10 /* beside session */
#define USER_TOOLS_MAX_CHOICES 32
#define USER_TOOLS_LONGEST_NAME 40
#define USER_TOOLS_LONGEST_TEXT 4000 /* bytes of a description */

/* user_tools_list(toolbox, default_session, listing): append them to ${listing} in the form of
 * listing_of(). */
void user_tools_list(const struct toolbox *toolbox, const char *default_session, json_t *listing);

/* user_tools_are_to_come(toolbox, default_session): true if the default session does not exist yet and may
 * define tools once it does: from code that is loaded into every session, or from its save. */
bool user_tools_are_to_come(const struct toolbox *toolbox, const char *default_session);

/*
 * user_tools_prepare(toolbox, default_session, name, given, is_known, err):
 * Find the tool that a call means, and check its arguments.
 *
 * name        as the client wrote it: case does not matter, nor whether user-x is written user.x or user_x
 * given       borrowed; an object, or NULL for none
 * is_known    out: some session has a tool of that name
 * Returns     given: the arguments for tool_user; NULL if it is not known, or with ${err} set to one sentence
 */
json_t *user_tools_prepare(const struct toolbox *toolbox, const char *default_session, const char *name,
                           const json_t *given, bool *is_known, struct err *err);

/* user_tools_nearest(toolbox, name, out): append the most similar of their names; false if none is near. */
bool user_tools_nearest(const struct toolbox *toolbox, const char *name, struct strbuf *out);

/* tool_user: the struct that runs them; it is in no list. */
extern const struct tool tool_user;

#endif
