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

/* agent_cache_version(version): the version of the agent, which is a hash of its source. Constant.
 * agent_cache_source(len): its source, embedded in the program. */
#define AGENT_VERSION_LEN 16
void agent_cache_version(char version[AGENT_VERSION_LEN + 1]);
const char *agent_cache_source(size_t *len);

/*
 * agent_cache_open(cache, implementation, version, err): make the directory and the files that are not there
 * yet, except the compiled one.
 *
 * cache            filled in; needs agent_cache_fini(), also after a failure
 * implementation   "SBCL", as the image says it, like ${version}: not trusted
 */
bool agent_cache_open(struct agent_cache *cache, const char *implementation, const char *version,
                      struct err *err);
void agent_cache_fini(struct agent_cache *cache);

#endif
