/*
 * Responsible for the files of saved sessions. saved_description.c reads and writes what a description
 * contains.
 */
#include "session/store/saved.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/own_path.h"
#include "base/random.h"
#include "base/regular_file.h"
#include "base/remove_tree.h"
#include "base/strbuf.h"
#include "base/user_directory.h"
#include "base/utf8.h"
#include "session/store/leases.h"

#define OLD_ANNOUNCEMENT_S 600
#define OLD_ATTEMPT_S 3600                     /* no save takes that long */
#define LARGEST_DESCRIPTION ((size_t)64 << 20) /* the history contains up to 8 MiB of code */
#define LONGEST_NOTE 2000                      /* bytes: that a session will be saved, or was not */
#define HASHED ((size_t)64 << 10)              /* bytes that are hashed at each end of the image */

struct saved_store {
    char *directory;
    size_t given_len; /* of the part of it that the user has named */
    char self[128];   /* identifies our announcements: this machine, this process, this store */
    uv_loop_t *loop;
    struct list commits;
};

/*
 * A commit under way; its job runs in another thread and accesses only this struct. Commits of one name run
 * one after the other: two at once would each take the same image for the old one, and leave the other's
 * behind.
 */
struct commit {
    uv_work_t work;
    struct list node;
    bool is_begun;             /* no earlier commit of this name is unfinished */
    struct saved_store *store; /* NULL after saved_store_free() */
    char *directory, *name;
    size_t given_len;
    char *image;  /* path */
    char *holder; /* what the lease must contain; NULL: there is no lease */
    json_t *content;
    uint64_t size;
    struct err err;
    bool ok;
    saved_done *done;
    void *arg;
};

static void commit_free(struct commit *c)
{
    list_remove(&c->node);
    json_decref(c->content);
    free(c->directory);
    free(c->name);
    free(c->image);
    free(c->holder);
    free(c);
}

struct saved_store *saved_store_new(const char *directory, size_t given_len, uv_loop_t *loop)
{
    struct saved_store *store = xcalloc(1, sizeof *store);
    store->directory = xstrdup(directory);
    store->given_len = given_len;
    store->loop = loop;
    list_init(&store->commits);
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    snprintf(store->self, sizeof store->self, "%s %d %lld\n", host, (int)getpid(), (long long)time(NULL));
    return store;
}

void saved_store_free(struct saved_store *store)
{
    if (store == NULL)
        return;
    while (!list_is_empty(&store->commits)) {
        struct commit *c = list_entry(store->commits.next, struct commit, node);
        list_remove(&c->node);
        c->store = NULL;
        if (!c->is_begun) { /* its session was closed, so no operation waits for it */
            unlink(c->image);
            commit_free(c);
        }
    }
    free(store->directory);
    free(store);
}

const char *saved_store_directory(const struct saved_store *store)
{
    return store->directory;
}

static char *path_in(const char *directory, const char *name, const char *suffix)
{
    return strbuf_format("%s/%s%s", directory, name, suffix);
}

static char *path_of(const struct saved_store *store, const char *name, const char *suffix)
{
    return path_in(store->directory, name, suffix);
}

static void remove_file(const char *directory, size_t given_len, const char *name, const char *suffix)
{
    char *path = path_in(directory, name, suffix);
    own_path_remove(path, given_len);
    free(path);
}

/* Nothing is written through a link that somebody has put in the place of the directory. */
static bool make_directory(const struct saved_store *store, struct err *err)
{
    if (!user_directory_make(store->directory, err))
        return false;
    int fd = own_path_open(store->directory, store->given_len, O_RDONLY | O_DIRECTORY);
    int error = errno;
    if (fd >= 0)
        close(fd);
    return fd >= 0 || err_set_errno(err, ERR_SYSTEM, error, "cannot make the directory %s", store->directory);
}

void saved_unique_suffix(char out[SAVED_SUFFIX])
{
    snprintf(out, SAVED_SUFFIX, "-%lld-%d-%llu.core", (long long)time(NULL), (int)getpid(),
             (unsigned long long)random_number());
}

char *saved_prepare(struct saved_store *store, const char *name, struct err *err)
{
    if (!make_directory(store, err))
        return NULL;
    char suffix[SAVED_SUFFIX];
    saved_unique_suffix(suffix);
    return path_of(store, name, suffix);
}

/* FNV-1a over both ends: detects a torn or exchanged file; no protection against malice. */
static bool hash_ends(const char *path, uint64_t *size, char out[20], struct err *err)
{
    /* Anyone who can write to the directory can put a pipe there, and opening it would block. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat s;
    if (fd < 0 || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        int e = fd < 0 ? errno : EINVAL;
        if (fd >= 0)
            close(fd);
        return err_set_errno(err, ERR_INVALID, e, "cannot read %s", path);
    }
    unsigned char *bytes = xmalloc(HASHED);
    uint64_t h = 14695981039346656037u;
    off_t places[] = {0, s.st_size > (off_t)HASHED ? s.st_size - (off_t)HASHED : 0};
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        ssize_t n = pread(fd, bytes, HASHED, places[i]);
        ok = ok && n >= 0;
        for (ssize_t k = 0; k < n; k++)
            h = (h ^ bytes[k]) * 1099511628211u;
    }
    free(bytes);
    close(fd);
    *size = (uint64_t)s.st_size;
    snprintf(out, 20, "%016llx", (unsigned long long)h);
    return ok || err_set_errno(err, ERR_INVALID, errno, "cannot read %s", path);
}

/* Only the owner may read the state of a session. */
static bool settle(FILE *file, const char *path, struct err *err)
{
    bool ok = file != NULL && ferror(file) == 0 && fflush(file) == 0 && fchmod(fileno(file), 0600) == 0 &&
              fsync(fileno(file)) == 0;
    int error = errno;
    if (file != NULL)
        fclose(file);
    return ok || err_set_errno(err, ERR_SYSTEM, error, "cannot write %s", path);
}

/* Whoever can write to the directory can put a link or a pipe there. NULL with errno set. */
static FILE *open_own(const struct commit *c, const char *path, int flags)
{
    int fd = own_path_open(path, c->given_len, flags);
    return fd < 0 ? NULL : fdopen(fd, (flags & O_CREAT) != 0 ? "w" : "r");
}

/* Parses the JSON in a regular file; given. NULL with ${err} set. */
static json_t *load_description(const char *path, struct err *err)
{
    struct regular_file file;
    json_error_t why;
    json_t *description = NULL;
    if (regular_file_read(&file, path, LARGEST_DESCRIPTION, err)) {
        description = json_loadb(strbuf_string(&file.text), file.text.len, JSON_ALLOW_NUL, &why);
        if (description == NULL)
            err_set(err, ERR_INVALID, "%s", why.text);
    }
    regular_file_fini(&file);
    return description;
}

#define UNFINISHED ".new"

/* The length of NAME in "NAME-" and three numbers, as saved_prepare() makes them, ".core" or the ending of a
 * description that was not finished; 0 if it is another file. "x-1-2-3.core.json" can be the description of a
 * session. */
static size_t name_of_attempt(const char *file)
{
    static const char *const ends[] = {".core", ".core" UNFINISHED};
    size_t len = 0, all = strlen(file);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (all > strlen(ends[i]) && strcmp(file + all - strlen(ends[i]), ends[i]) == 0)
            len = all - strlen(ends[i]);
    for (int i = 0; i < 3; i++) {
        size_t end = len;
        while (len > 0 && isdigit((unsigned char)file[len - 1]))
            len--;
        if (len == end || len == 0 || file[len - 1] != '-')
            return 0;
        len--;
    }
    return len;
}

/* Is it a file that saved_prepare() makes for the session ${name}? */
static bool is_attempt_of(const char *file, const char *name)
{
    size_t len = name_of_attempt(file);
    return len > 0 && len == strlen(name) && strncmp(file, name, len) == 0;
}

/* The image that the description of ${session} names, if its name is one that saved_prepare() makes for the
 * same session: another session's image is never removed. */
static char *old_image(const char *directory, const char *session)
{
    struct err err;
    char *description = path_in(directory, session, ".json");
    json_t *old = load_description(description, &err);
    const char *image = json_string_value(json_object_get(old, "image"));
    char *path = NULL;
    if (image != NULL && is_attempt_of(image, session))
        path = path_in(directory, image, "");
    json_decref(old);
    free(description);
    return path;
}

static bool write_description(struct commit *c, struct err *err)
{
    /* A name that no other server uses, even one with the same pid that is still exiting. */
    char *temporary = path_in(c->directory, strrchr(c->image, '/') + 1, UNFINISHED);
    char *description = path_in(c->directory, c->name, ".json");
    FILE *file = open_own(c, temporary, O_WRONLY | O_CREAT | O_EXCL);
    /* Text that is no UTF-8 ends the writing, too, and is no error of the file. */
    bool is_whole = file != NULL && json_dumpf(c->content, file, JSON_INDENT(1)) == 0;
    bool ok =
        settle(file, temporary, err) && (is_whole || err_set(err, ERR_INVALID, "cannot write %s", temporary));
    if (ok && rename(temporary, description) != 0)
        ok = err_set_errno(err, ERR_SYSTEM, errno, "cannot rename %s", temporary);
    if (!ok)
        unlink(temporary);
    free(description);
    free(temporary);
    return ok;
}

/* An image that no description names: the description of the session is missing, or has just been written
 * and names another. */
static bool is_nameless(const struct commit *c, int directory, const char *file)
{
    char description[NAME_MAX + sizeof ".json"];
    size_t len = name_of_attempt(file);
    if (len == 0 || strcmp(file, strrchr(c->image, '/') + 1) == 0)
        return false;
    snprintf(description, sizeof description, "%.*s.json", (int)len, file);
    return is_attempt_of(file, c->name) ||
           (faccessat(directory, description, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT);
}

/* What servers that were killed while saving have left behind. Another server may be saving now, so only old
 * files are removed. */
static bool is_dropped(void *arg, int directory, const char *file)
{
    struct stat st;
    return is_nameless(arg, directory, file) && fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - st.st_mtime > OLD_ATTEMPT_S;
}

/* This server may have been stopped for so long that another has restored the earlier save. */
static bool is_ours(const struct commit *c, struct err *err)
{
    char *lease = path_in(c->directory, c->name, ".lease");
    bool is_ours = c->holder == NULL || lease_is_held(lease, c->holder) ||
                   err_set(err, ERR_BUSY, "It was not saved: another server has the session now.");
    free(lease);
    return is_ours;
}

static void commit_work(uv_work_t *work)
{
    struct commit *c = work->data;
    char hash[20];
    c->ok = settle(open_own(c, c->image, O_RDONLY), c->image, &c->err) &&
            hash_ends(c->image, &c->size, hash, &c->err);
    if (c->ok) {
        char *old = old_image(c->directory, c->name);
        json_object_set_new(c->content, "size", json_integer((json_int_t)c->size));
        json_object_set_new(c->content, "hash", json_string(hash));
        c->ok = is_ours(c, &c->err) && write_description(c, &c->err);
        if (c->ok && old != NULL && strcmp(old, c->image) != 0)
            own_path_remove(old, c->given_len);
        free(old);
    }
    if (c->ok) {
        remove_files(c->directory, c->given_len, ULONG_MAX, is_dropped, c);
        /* The rename itself. Not every file system can sync a directory. */
        int directory = own_path_open(c->directory, c->given_len, O_RDONLY | O_DIRECTORY);
        if (directory >= 0) {
            fsync(directory);
            close(directory);
        }
        remove_file(c->directory, c->given_len, c->name, ".lost");
    } else {
        unlink(c->image);
    }
    remove_file(c->directory, c->given_len, c->name, ".coming");
}

static void begin_next_commit(struct saved_store *store, const char *name);

static void commit_done(uv_work_t *work, int status)
{
    struct commit *c = work->data;
    struct saved_store *store = c->store;
    if (store != NULL) {
        list_remove(&c->node);
        begin_next_commit(store, c->name);
        c->done(c->arg, c->size, c->ok ? NULL : &c->err);
    }
    commit_free(c);
}

static void begin_next_commit(struct saved_store *store, const char *name)
{
    list_each(struct commit, c, &store->commits, node) {
        if (strcmp(c->name, name) != 0)
            continue;
        if (!c->is_begun) {
            c->is_begun = true;
            uv_queue_work(store->loop, &c->work, commit_work, commit_done);
        }
        return;
    }
}

void saved_commit(struct saved_store *store, const char *name, const char *image, json_t *description,
                  const char *holder, saved_done *done, void *arg)
{
    struct commit *c = xcalloc(1, sizeof *c);
    c->work.data = c;
    c->store = store;
    c->directory = xstrdup(store->directory);
    c->given_len = store->given_len;
    c->name = xstrdup(name);
    c->image = xstrdup(image);
    c->holder = xstrdup(holder);
    c->content = description;
    c->done = done;
    c->arg = arg;
    list_init(&c->node);
    list_append(&store->commits, &c->node);
    begin_next_commit(store, c->name);
}

/* A file beside the saves, in place of an earlier one. */
static void write_note(const struct saved_store *store, const char *name, const char *suffix,
                       const char *text)
{
    struct err err;
    char *path = path_of(store, name, suffix);
    own_path_remove(path, store->given_len);
    if (!make_directory(store, &err) || !regular_file_create(path, 0600, text, strlen(text), &err))
        log_warning("%s", err.message);
    free(path);
}

static bool read_note(const struct saved_store *store, const char *name, const char *suffix,
                      struct regular_file *note)
{
    struct err err;
    char *path = path_of(store, name, suffix);
    bool is_there = regular_file_read(note, path, LONGEST_NOTE, &err);
    free(path);
    return is_there;
}

void saved_announce(struct saved_store *store, const char *name)
{
    write_note(store, name, ".coming", store->self);
}

void saved_withdraw(struct saved_store *store, const char *name)
{
    remove_file(store->directory, store->given_len, name, ".coming");
}

bool saved_is_announced(const struct saved_store *store, const char *name)
{
    struct regular_file note;
    bool is_announced = read_note(store, name, ".coming", &note) && note.text.len > 0 &&
                        strcmp(strbuf_string(&note.text), store->self) != 0 &&
                        time(NULL) - note.status.st_mtime < OLD_ANNOUNCEMENT_S;
    regular_file_fini(&note);
    return is_announced;
}

void saved_note_loss(struct saved_store *store, const char *name, const char *text)
{
    write_note(store, name, ".lost", text);
}

bool saved_take_loss(const struct saved_store *store, const char *name, struct strbuf *text)
{
    struct regular_file note;
    bool is_there = read_note(store, name, ".lost", &note);
    if (is_there) {
        strbuf_add(text, note.text.bytes, utf8_floor(note.text.bytes, note.text.len, note.text.len));
        remove_file(store->directory, store->given_len, name, ".lost");
    }
    regular_file_fini(&note);
    return is_there;
}

void saved_remove(struct saved_store *store, const char *name)
{
    char *image = old_image(store->directory, name);
    remove_file(store->directory, store->given_len, name, ".json");
    if (image != NULL)
        own_path_remove(image, store->given_len);
    free(image);
}

bool saved_exists(const struct saved_store *store, const char *name)
{
    char *path = path_of(store, name, ".json");
    bool exists = access(path, R_OK) == 0;
    free(path);
    return exists;
}

/* Whether the image is the one that was saved. */
static bool check_image(const struct saved_store *store, struct saved *s, struct err *err)
{
    char hash[20];
    struct err why;
    uint64_t found;
    json_int_t size = json_integer_value(json_object_get(s->description, "size"));
    s->image = path_of(store, json_string_value(json_object_get(s->description, "image")), "");
    return (hash_ends(s->image, &found, hash, &why) && found == (uint64_t)size &&
            strcmp(json_string_value(json_object_get(s->description, "hash")), hash) == 0) ||
           err_set(
               err, ERR_INVALID,
               "The saved session %s cannot be used: its image is missing, incomplete or a different one.",
               s->name);
}

bool saved_find(struct saved_store *store, const char *name, const char *lisp, struct saved *s,
                struct journal *journal, struct err *err)
{
    char *path = path_of(store, name, ".json");
    struct err why;
    *s = (struct saved){.description = load_description(path, &why)};
    bool is_there = access(path, R_OK) == 0;
    free(path);
    bool ok;
    if (!is_there)
        ok = err_set(err, ERR_NOT_FOUND, "There is no saved session named %s in %s.", name, store->directory);
    else if (s->description == NULL)
        ok = err_set(err, ERR_INVALID,
                     "The saved session %s cannot be used: its description cannot be read (%s).", name,
                     why.message);
    else
        ok = saved_description_read(s, name, lisp, err) && check_image(store, s, err);
    if (ok && journal != NULL)
        saved_description_read_journal(s->description, journal);
    if (!ok)
        saved_fini(s);
    return ok;
}

void saved_fini(struct saved *s)
{
    json_decref(s->description);
    free(s->image);
}
