/*
 * The agent as an image that is joined gets it: its source, and where the file compiled from that is kept.
 */
#ifndef JOIN_AGENT_CACHE_H
#define JOIN_AGENT_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/strbuf.h"

/* The paths of its files, and the word in the second: an image that can read it is on this machine and may
 * use the others. */
struct agent_cache {
    struct strbuf source, word_file, word, compiled;
};

/* agent_cache_version(implementation, version): the version of the agent for this Lisp, which is a hash of
 * its source. agent_cache_source(implementation, len): its source, embedded in the program. Constant. */
#define AGENT_VERSION_LEN 16
void agent_cache_version(const char *implementation, char version[AGENT_VERSION_LEN + 1]);
const char *agent_cache_source(const char *implementation, size_t *len);

/*
 * agent_cache_open(cache, implementation, version, err): make the directory and the files that are not there
 * yet, except the compiled one. That has no name where a Lisp gets the source in any case.
 *
 * cache            filled in; needs agent_cache_fini(), also after a failure
 * implementation   "SBCL", as the image says it, like ${version}: not trusted
 */
bool agent_cache_open(struct agent_cache *cache, const char *implementation, const char *version,
                      struct err *err);
void agent_cache_fini(struct agent_cache *cache);

#endif
