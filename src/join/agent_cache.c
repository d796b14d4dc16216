/*
 * Responsible for the files from which an image on this machine loads the agent: a directory in the user's
 * cache for each version of the agent, with its source and a compiled file for each Lisp that has been
 * joined.
 */
#include "join/agent_cache.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "base/regular_file.h"
#include "base/user_directory.h"

#define LONGEST_WORD 64

extern const unsigned char joined_agent_source[];
extern const unsigned long joined_agent_source_len;

void agent_cache_version(char version[AGENT_VERSION_LEN + 1])
{
    /* FNV-1a, 64 bits: distinguishes versions; not a protection. */
    uint64_t h = 14695981039346656037u;
    for (unsigned long i = 0; i < joined_agent_source_len; i++)
        h = (h ^ joined_agent_source[i]) * 1099511628211u;
    snprintf(version, AGENT_VERSION_LEN + 1, "%016llx", (unsigned long long)h);
}

const char *agent_cache_source(size_t *len)
{
    *len = joined_agent_source_len;
    return (const char *)joined_agent_source;
}

static void add_file_name(struct strbuf *out, const char *text)
{
    for (size_t i = 0; text[i] != '\0' && i < 80; i++)
        strbuf_addc(
            out, strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-", text[i]) != NULL
                     ? text[i]
                     : '-');
}

static bool make_file(const char *path, const char *bytes, size_t len, struct err *err)
{
    return access(path, R_OK) == 0 || regular_file_create(path, 0600, bytes, len, err) ||
           access(path, R_OK) == 0; /* another server has just made it */
}

static bool read_word(struct agent_cache *cache, struct err *err)
{
    struct regular_file file;
    bool ok = regular_file_read(&file, strbuf_string(&cache->word_file), LONGEST_WORD, err) &&
              file.status.st_uid == geteuid();
    if (ok)
        strbuf_add(&cache->word, strbuf_string(&file.text), file.text.len);
    regular_file_fini(&file);
    return ok;
}

bool agent_cache_open(struct agent_cache *cache, const char *implementation, const char *version,
                      struct err *err)
{
    char hash[AGENT_VERSION_LEN + 1], name[64], directory[PATH_MAX], word[LONGEST_WORD];
    strbuf_init(&cache->source, 0);
    strbuf_init(&cache->word_file, 0);
    strbuf_init(&cache->word, 0);
    strbuf_init(&cache->compiled, 0);
    agent_cache_version(hash);
    snprintf(name, sizeof name, "cl-mcp-server/joined-%s", hash);
    if (!user_directory("XDG_CACHE_HOME", ".cache", name, directory, sizeof directory))
        return err_set(err, ERR_NOT_FOUND, "there is no home directory");
    strbuf_addf(&cache->source, "%s/agent.lisp", directory);
    strbuf_addf(&cache->word_file, "%s/word", directory);
    strbuf_addf(&cache->compiled, "%s/", directory);
    add_file_name(&cache->compiled, implementation);
    strbuf_addc(&cache->compiled, '-');
    add_file_name(&cache->compiled, version);
    strbuf_adds(&cache->compiled, ".fasl");
    int len = snprintf(word, sizeof word, "%016llx%016llx", (unsigned long long)random_number(),
                       (unsigned long long)random_number());
    return user_directory_make(directory, err) &&
           make_file(strbuf_string(&cache->source), (const char *)joined_agent_source,
                     joined_agent_source_len, err) &&
           make_file(strbuf_string(&cache->word_file), word, (size_t)len, err) && read_word(cache, err);
}

void agent_cache_fini(struct agent_cache *cache)
{
    strbuf_fini(&cache->source);
    strbuf_fini(&cache->word_file);
    strbuf_fini(&cache->word);
    strbuf_fini(&cache->compiled);
}
