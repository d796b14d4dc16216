/*
 * Each record is one write to a file opened for appending, so the lines of several servers do not mix.
 */
#include "events/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/section.h"

#define LONGEST_STRING ((size_t)64 << 10)
#define MOST_ARGUMENTS ((size_t)1 << 20) /* bytes, as JSON */

struct audit {
    int file;
    char *path;
    bool redacts, has_failed;
    bool is_torn; /* the file ends with a part of a line */
};

/* What is done to the strings. */
struct showing {
    bool redacts;
    bool marks; /* section_mark() */
};

static int open_file(const char *path, struct err *err)
{
    struct stat s;
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
    if (file < 0) {
        err_set_errno(err, ERR_SYSTEM, errno, "cannot open the audit log %s", path);
    } else if (fstat(file, &s) != 0 || !S_ISREG(s.st_mode)) {
        err_set(err, ERR_INVALID, "the audit log %s is not a regular file", path);
        close(file);
        file = -1;
    }
    return file;
}

struct audit *audit_open(const char *path, bool redacts, struct err *err)
{
    int file = open_file(path, err);
    if (file < 0)
        return NULL;
    struct audit *a = xcalloc(1, sizeof *a);
    *a = (struct audit){.file = file, .path = xstrdup(path), .redacts = redacts};
    return a;
}

void audit_free(struct audit *a)
{
    if (a == NULL)
        return;
    close(a->file);
    free(a->path);
    free(a);
}

void audit_reopen(struct audit *a)
{
    struct err err;
    int file = open_file(a->path, &err);
    if (file < 0) {
        log_error("%s; the old file is kept", err.message);
        return;
    }
    close(a->file);
    a->file = file;
}

static json_t *string_content(struct showing how, const char *text, size_t len, size_t most)
{
    struct strbuf b = {0};
    size_t shown = utf8_floor(text, len, most);
    if (how.redacts)
        redact(&b, text, shown);
    else
        strbuf_add(&b, text, shown);
    if (shown < len)
        strbuf_addf(&b, "[... %zu bytes more]", len - shown);
    if (how.marks)
        section_mark(&b);
    json_t *content = json_stringn_nocheck(strbuf_string(&b), b.len);
    strbuf_fini(&b);
    return content;
}

/* A credential by the name of this member, or by the name beside it in {"name": ..., "value": ...}. */
static bool is_credential(const json_t *object, const char *name, const json_t *member)
{
    const char *called =
        strcmp(name, "value") == 0 ? json_string_value(json_object_get(object, "name")) : NULL;
    return json_is_string(member) && (redact_is_name(name) || (called != NULL && redact_is_name(called)));
}

/* ${most}: bytes of each string. */
static json_t *content_of(struct showing how, const json_t *value, size_t most)
{
    const char *name;
    json_t *member;
    if (json_is_string(value))
        return string_content(how, json_string_value(value), json_string_length(value), most);
    if (json_is_array(value)) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(list, content_of(how, json_array_get(value, i), most));
        return list;
    }
    if (!json_is_object(value))
        return json_incref((json_t *)(uintptr_t)value);
    json_t *object = json_object();
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        struct showing of_member = {how.redacts, how.marks && strcmp(name, "code") != 0};
        json_object_set_new_nocheck(object, name,
                                    how.redacts && is_credential(value, name, member)
                                        ? json_string(REDACTED)
                                        : content_of(of_member, member, most));
    }
    return object;
}

json_t *audit_shown(const json_t *value, bool redacts)
{
    return content_of((struct showing){redacts, .marks = true}, value, SIZE_MAX);
}

static json_t *arguments_content(const struct audit *a, const json_t *arguments)
{
    json_t *content = content_of((struct showing){.redacts = a->redacts}, arguments, LONGEST_STRING);
    size_t size = json_dumpb(content, NULL, 0, JSON_COMPACT);
    if (size <= MOST_ARGUMENTS)
        return content;
    json_decref(content);
    return json_pack("{s:I}", "bytes-left-out", (json_int_t)size);
}

static void write_line(struct audit *a, const char *line, size_t len)
{
    /* The line after one that the disk had no room for begins anew. */
    if (a->is_torn)
        a->is_torn = write(a->file, "\n", 1) != 1;
    ssize_t n = -1;
    while (!a->is_torn && (n = write(a->file, line, len)) < 0 && errno == EINTR)
        continue;
    bool ok = n == (ssize_t)len;
    a->is_torn = a->is_torn || (n > 0 && !ok);
    if (!ok && !a->has_failed)
        log_error("cannot write to the audit log %s: %s", a->path,
                  n < 0 ? strerror(errno) : "the disk is full");
    a->has_failed = !ok;
}

void audit_record(struct audit *a, const struct audit_call *call)
{
    struct timespec now;
    char when[48];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(when, sizeof when, "%.19s.%03ldZ", text_date(now.tv_sec).text, now.tv_nsec / 1000000);
    json_t *entry = json_pack(
        "{s:s, s:s, s:o, s:s, s:o, s:s, s:I, s:I}", "time", when, "principal", call->principal, "session",
        string_content((struct showing){.redacts = a->redacts}, call->session, strlen(call->session),
                       LONGEST_STRING),
        "tool", call->tool, "arguments", arguments_content(a, call->arguments), "outcome", call->outcome,
        "ms", (json_int_t)call->took_ms, "bytes", (json_int_t)call->bytes);
    char *text = json_dumps(entry, JSON_COMPACT);
    if (text != NULL) {
        size_t len = strlen(text);
        text[len] = '\n'; /* in the place of the NUL */
        write_line(a, text, len + 1);
    }
    free(text);
    json_decref(entry);
}
