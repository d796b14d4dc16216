/*
 * This program as a client sees it: started as a child, with MCP over its standard input and output.
 */
#ifndef CLI_OWN_SESSION_H
#define CLI_OWN_SESSION_H

#include <stdbool.h>

#include "base/errors.h"
#include "base/strbuf.h"

#define OWN_SESSION_MOST_CALLS 4

struct own_session {
    struct strbuf replies[OWN_SESSION_MOST_CALLS]; /* the text of each evaluation */
    bool is_error[OWN_SESSION_MOST_CALLS];
    struct strbuf log; /* what the server wrote on standard error */
};

/*
 * own_session_run(options, codes, out, err):
 * Start the server, evaluate each of ${codes} in one session, and end it.
 *
 * options     borrowed; of the server, NULL-terminated
 * codes       borrowed; Lisp, NULL-terminated, at most OWN_SESSION_MOST_CALLS
 * out         filled in; needs own_session_fini(), also after a failure
 * Returns     false with ${err} set if the server did not answer all of them
 */
bool own_session_run(const char *const *options, const char *const *codes, struct own_session *out,
                     struct err *err);
void own_session_fini(struct own_session *session);

#endif
