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

#include "base/hash_table.h"
#include "base/random.h"
#include "base/regular_file.h"
#include "base/user_directory.h"

#define LONGEST_WORD 64

extern const unsigned char joined_agent_sbcl[], joined_agent_swank[];
extern const unsigned long joined_agent_sbcl_len, joined_agent_swank_len;

/* Other Lisps load the source, which takes them a second or two, because their compiled files cannot be put
 * together to one. */
static bool is_compiled(const char *implementation)
{
    return strcmp(implementation, "SBCL") == 0;
}

const char *agent_cache_source(const char *implementation, size_t *len)
{
    bool is_sbcl = is_compiled(implementation);
    *len = is_sbcl ? joined_agent_sbcl_len : joined_agent_swank_len;
    return (const char *)(is_sbcl ? joined_agent_sbcl : joined_agent_swank);
}

void agent_cache_version(const char *implementation, char version[AGENT_VERSION_LEN + 1])
{
    size_t len;
    const char *source = agent_cache_source(implementation, &len);
    snprintf(version, AGENT_VERSION_LEN + 1, "%016llx", (unsigned long long)hash_bytes(source, len, 0));
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
    *cache = (struct agent_cache){.source = {0}};
    agent_cache_version(implementation, hash);
    snprintf(name, sizeof name, "cl-mcp-server/joined-%s", hash);
    if (!user_directory("XDG_CACHE_HOME", ".cache", name, directory, sizeof directory))
        return err_set(err, ERR_NOT_FOUND, "there is no home directory");
    if (!user_directory_make(directory, err))
        return false;
    char *trusted = user_directory_trusted(directory); /* the image runs what lies there */
    if (trusted == NULL)
        return err_set(err, ERR_SYSTEM, "%s is not a directory that only this user can change", directory);
    strbuf_addf(&cache->source, "%s/agent.lisp", trusted);
    strbuf_addf(&cache->word_file, "%s/word", trusted);
    if (is_compiled(implementation)) {
        strbuf_addf(&cache->compiled, "%s/", trusted);
        add_file_name(&cache->compiled, implementation);
        strbuf_addc(&cache->compiled, '-');
        add_file_name(&cache->compiled, version);
        strbuf_adds(&cache->compiled, ".fasl");
    }
    free(trusted);
    size_t source_len;
    const char *source = agent_cache_source(implementation, &source_len);
    int len = snprintf(word, sizeof word, "%016llx%016llx", (unsigned long long)random_number(),
                       (unsigned long long)random_number());
    return make_file(strbuf_string(&cache->source), source, source_len, err) &&
           make_file(strbuf_string(&cache->word_file), word, (size_t)len, err) && read_word(cache, err);
}

void agent_cache_fini(struct agent_cache *cache)
{
    strbuf_fini(&cache->source);
    strbuf_fini(&cache->word_file);
    strbuf_fini(&cache->word);
    strbuf_fini(&cache->compiled);
}
