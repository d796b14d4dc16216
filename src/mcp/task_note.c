/*
 * The file of the tasks that were made: a line for each, all of one length. A server appends, so several can
 * share the file.
 */
#include "mcp/task_note.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/regular_file.h"
#include "base/user_directory.h"

#define TIME_DIGITS 12
#define LINE_BYTES (TASK_ID_DIGITS + 1 + TASK_ID_DIGITS + 1 + TIME_DIGITS + 1) /* id, server, time */
#define KEPT 64
#define MOST_LINES (2 * KEPT) /* then the older half goes */
#define MOST_BYTES ((size_t)2 * MOST_LINES * LINE_BYTES)

struct task_note {
    char *directory, *path;
    char self[TASK_ID_DIGITS + 1]; /* this process */
};

struct task_note *task_note_new(const char *directory)
{
    char path[PATH_MAX];
    struct task_note *note = xcalloc(1, sizeof *note);
    if (!random_secret(note->self)) {
        free(note);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/tasks", directory);
    note->directory = xstrdup(directory);
    note->path = xstrdup(path);
    return note;
}

void task_note_free(struct task_note *note)
{
    if (note == NULL)
        return;
    free(note->directory);
    free(note->path);
    free(note);
}

/* If another server appends meanwhile, its line is lost. */
static bool drop_old_lines(const struct task_note *note, struct err *err)
{
    struct regular_file file;
    const size_t most = (size_t)MOST_LINES * LINE_BYTES, kept = (size_t)KEPT * LINE_BYTES;
    bool ok = regular_file_read(&file, note->path, MOST_BYTES, err);
    if (ok && file.text.len >= most)
        ok = regular_file_replace(&file, file.text.bytes + file.text.len - kept, kept, err);
    else if (!ok && err->code == ERR_TOO_LARGE)
        ok = unlink(note->path) == 0; /* no server has written that much */
    else if (!ok)
        ok = err->code == ERR_NOT_FOUND;
    regular_file_fini(&file);
    return ok;
}

static bool append(const struct task_note *note, const char *line, struct err *err)
{
    int fd = open(note->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, line, LINE_BYTES) == LINE_BYTES;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return ok || err_set_errno(err, ERR_SYSTEM, error, "cannot write %s", note->path);
}

void task_note_add(struct task_note *note, const char *id)
{
    struct err err;
    char line[LINE_BYTES + 1];
    snprintf(line, sizeof line, "%s %s %0*" PRId64 "\n", id, note->self, TIME_DIGITS, (int64_t)time(NULL));
    if (!user_directory_make(note->directory, &err) || !drop_old_lines(note, &err) ||
        !append(note, line, &err))
        log_warning("a task will be unknown after a restart: %s", err.message);
}

/* Ignore lines of the wrong length; no server wrote them. */
static bool is_lost_in(const struct task_note *note, const char *line, size_t len, const char *id)
{
    return len == LINE_BYTES && memcmp(line, id, TASK_ID_DIGITS) == 0 &&
           memcmp(line + TASK_ID_DIGITS + 1, note->self, TASK_ID_DIGITS) != 0;
}

bool task_note_is_lost(const struct task_note *note, const char *id, time_t *made)
{
    struct err err;
    struct regular_file file;
    bool is_lost = false;
    if (strlen(id) != TASK_ID_DIGITS)
        return false;
    const char *line = regular_file_read(&file, note->path, MOST_BYTES, &err) ? file.text.bytes : NULL, *end;
    size_t left = line == NULL ? 0 : file.text.len;
    while (!is_lost && left > 0 && (end = memchr(line, '\n', left)) != NULL) {
        size_t len = (size_t)(end - line) + 1;
        is_lost = is_lost_in(note, line, len, id);
        if (is_lost)
            *made = (time_t)strtoll(line + 2 * (TASK_ID_DIGITS + 1), NULL, 10);
        line += len;
        left -= len;
    }
    regular_file_fini(&file);
    return is_lost;
}
