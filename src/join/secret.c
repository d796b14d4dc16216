/*
 * Responsible for the secrets of Swank and Slynk.
 */
#include "join/secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/regular_file.h"

#define LONGEST_SECRET_FILE 4096

static bool read_secret(const char *name, struct strbuf *secret, struct strbuf *path)
{
    const char *home = getenv("HOME");
    struct regular_file file;
    struct err err;
    if (home == NULL || home[0] != '/')
        return false;
    char *at = strbuf_format("%s/%s", home, name);
    bool is_there = regular_file_read(&file, at, LONGEST_SECRET_FILE, &err);
    if (is_there) {
        strbuf_add(secret, strbuf_string(&file.text), strcspn(strbuf_string(&file.text), "\r\n"));
        strbuf_adds(path, at);
    }
    regular_file_fini(&file);
    free(at);
    return is_there;
}

bool join_secret(size_t n, struct strbuf *secret, struct strbuf *path)
{
    static const char *const names[] = {".slime-secret", ".sly-secret"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!read_secret(names[i], secret, path))
            continue;
        if (n-- == 0)
            return true;
        strbuf_clear(secret);
        strbuf_clear(path);
    }
    return false;
}
