/*
 * Responsible for saving a session. When the copy has written its file and ended, saved.c commits the file.
 */
#include "session/life/saving.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "lisp/confinement.h"
#include "lisp/zygotes.h"
#include "proc/loop_handle.h"
#include "session/core/core.h"
#include "session/core/eviction.h"
#include "session/snapshots/copies.h"
#include "session/store/leases.h"
#include "session/store/saved.h"
#include "session/work/answer.h"

#define SAVE_MS 300000

struct saving {
    struct list node;
    struct session *session; /* NULL after it was closed: only the end of the commit is awaited */
    struct operation *op;    /* NULL when it was cancelled */
    struct worker *worker;   /* the copy; NULL once it has ended */
    uv_timer_t *timer;
    enum fact_kind late;  /* what the timer's end means */
    char *name, *image;   /* of the save, which may be another session's; the image's path */
    json_t *description;  /* the session as it was when the copy was made; NULL: this is not a save */
    uint64_t evaluations; /* in that state */
    char *draft;          /* path under which the copy writes the image; NULL: under its final name */
    uint64_t started_at;
    char *refusal;
    bool is_written; /* the image is complete */
    bool is_committing;
    struct session_host *host;
    saving_stored *stored; /* for a suspension: gets the image; NULL: this is a save */
};

static void on_committed(void *arg, uint64_t size, const struct err *err);

/* Saves of a session are committed in the order in which they began: a small copy that is written faster
 * must not make an older state the last. */
static void commit_first(struct session *s)
{
    list_each(struct saving, v, &s->savings, node) {
        if (v->stored != NULL)
            continue;
        if (v->is_written && !v->is_committing) {
            v->is_committing = true;
            bool is_own = s->id.lease != NULL && strcmp(v->name, s->id.name) == 0;
            saved_commit(s->all->store, v->name, v->image, v->description,
                         is_own ? lease_holder(s->id.lease) : NULL, on_committed, v);
            v->description = NULL;
        }
        return;
    }
}

static void drop_draft(struct saving *v)
{
    if (v->draft != NULL)
        remove(v->draft);
    xstrset(&v->draft, NULL);
}

static bool is_plain_file(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink == 1 && s.st_uid == geteuid();
}

/* Whether any process has the file open, and could read and change it at any time: then
 * the kernel gives no lease on all of it. Not every file system has leases. The copy that wrote the file has
 * ended, and so has closed it. Source: fcntl(2), F_SETLEASE. */
static bool is_open_elsewhere(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return true;             /* code can take away the right to read it, and keep it open */
    fcntl(fd, F_SETSIG, SIGURG); /* if somebody opens it now: a signal that is ignored, rather than SIGIO */
    bool is_open = fcntl(fd, F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
    /* One that had it open may have made another name for it instead. */
    struct stat status;
    is_open = is_open || fstat(fd, &status) != 0 || status.st_nlink != 1;
    close(fd); /* gives the lease back */
    return is_open;
}

/* Moves the image to its place, where no Lisp can open it. Evaluated code can replace or open a draft at any
 * time, so only the moved file is trusted. */
static bool take_image(struct saving *v)
{
    if (v->draft == NULL)
        return access(v->image, R_OK) == 0;
    if (!is_plain_file(v->draft) || rename(v->draft, v->image) != 0 || !is_plain_file(v->image))
        return false;
    if (is_open_elsewhere(v->image))
        v->refusal = xstrdup(session_sentence(v->session, FACT_SAVE_OPEN_ELSEWHERE));
    return v->refusal == NULL;
}

static void saving_free(struct saving *v)
{
    list_remove(&v->node);
    if (v->session != NULL)
        commit_first(v->session);
    worker_free(v->worker);
    loop_handle_free(v->timer);
    drop_draft(v);
    json_decref(v->description);
    free(v->name);
    free(v->image);
    free(v->refusal);
    if (v->stored != NULL) {
        v->host->suspending = NULL;
        session_watch_idle(v->host);
    }
    free(v);
}

/* The image of a session to be suspended is complete, or cannot be made. */
static void tell_stored(struct saving *v, bool ok)
{
    struct session *s = v->session;
    char *image = ok ? v->image : NULL;
    if (ok) {
        v->image = NULL;
    } else {
        unlink(v->image);
        log_info("session %s: %s", s->id.name,
                 v->refusal != NULL ? v->refusal : "the copy that was to write its image ended");
    }
    saving_stored *stored = v->stored;
    saving_free(v);
    stored(s, image);
}

/* The end of every save. */
static void answer(struct saving *v, enum outcome_kind kind, const char *text)
{
    struct operation *op = v->op;
    struct session *s = v->session;
    v->op = NULL;
    if (op != NULL && s != NULL) {
        op->saving = NULL;
        struct outcome outcome = {.kind = kind, .why = text, .text = text};
        answer_deliver(s, op, &outcome);
        session_later(s);
    }
    saving_free(v);
}

static void answer_with(struct saving *v, enum outcome_kind kind, const struct fact *fact)
{
    char *text = session_words(v->session, fact);
    answer(v, kind, text);
    free(text);
}

static void on_committed(void *arg, uint64_t size, const struct err *err)
{
    struct saving *v = arg;
    v->is_committing = false;
    if (v->session == NULL || err != NULL) {
        answer(v, OUTCOME_UNAVAILABLE, err == NULL ? "" : err->message);
        return;
    }
    if (strcmp(v->name, v->session->id.name) == 0) {
        v->session->flags.is_unrestored = false; /* its earlier save is replaced */
        v->session->numbers.saved = v->evaluations;
    }
    answer_with(v, OUTCOME_OK,
                FACT(FACT_SAVED, .texts = {v->name, v->image}, .numbers = {v->evaluations, size},
                     .seconds = (double)(uv_now(v->host->options.loop) - v->started_at) / 1000.0));
}

static void on_late(uv_timer_t *timer)
{
    struct saving *v = timer->data;
    v->refusal = xstrdup(session_sentence(v->session, v->late));
    worker_kill(v->worker);
}

static void await(struct saving *v, uint64_t limit_ms, enum fact_kind late)
{
    v->late = late;
    uv_timer_start(v->timer, on_late, limit_ms, 0);
}

static void on_ready(void *arg, const struct sexp *hello)
{
    struct saving *v = arg;
    struct strbuf request = {0};
    await(v, SAVE_MS, FACT_SAVE_LATE);
    strbuf_adds(&request, ":save :compressed t :path ");
    const char *path = v->draft != NULL ? v->draft : v->image;
    sexp_write_string(&request, path, strlen(path));
    worker_call(v->worker, &request, NULL, 0);
    strbuf_fini(&request);
}

/* The copy replies only if it cannot write the image; otherwise it ends. */
static void on_reply(void *arg, struct sexp_document *reply)
{
    struct saving *v = arg;
    const char *why = sexp_string(sexp_nth(sexp_root(reply), 2), NULL);
    const char *message = sexp_string(sexp_get(sexp_root(reply), 2, "message"), NULL);
    v->refusal = xstrdup(why != NULL       ? why
                         : message != NULL ? message
                                           : session_sentence(v->session, FACT_SAVE_REFUSED));
    sexp_document_free(reply);
    worker_kill(v->worker);
}

/* Its copy has not written the image. */
static void answer_failure(struct saving *v, const struct child_end *end)
{
    const char *why = v->refusal;
    if (why == NULL && !end->is_known && (why = v->session->copies.why_not) == NULL)
        why = session_sentence(v->session, FACT_SAVE_COPY_FAILED);
    if (why != NULL)
        answer_with(v, OUTCOME_UNAVAILABLE, FACT(FACT_NOT_SAVED, .texts = {why}));
    else
        answer_with(v, OUTCOME_UNAVAILABLE,
                    FACT(end->signal != 0 ? FACT_NOT_SAVED_SIGNAL : FACT_NOT_SAVED_EXIT,
                         .texts = {saved_store_directory(v->session->all->store)},
                         .numbers = {(uint64_t)(end->signal != 0 ? end->signal : end->exit_code)}));
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct saving *v = arg;
    worker_free(v->worker);
    v->worker = NULL;
    bool ok = v->refusal == NULL && end->is_known && end->signal == 0 && end->exit_code == 0 && take_image(v);
    if (v->stored != NULL) {
        tell_stored(v, ok);
        return;
    }
    if (ok) {
        v->is_written = true;
        uv_timer_stop(v->timer);
        commit_first(v->session);
        return;
    }
    unlink(v->image);
    answer_failure(v, end);
}

static char *new_draft(const struct session *s)
{
    const char *drafts = confinement_drafts(s->place.confinement);
    if (drafts == NULL)
        return NULL;
    char suffix[SAVED_SUFFIX];
    saved_unique_suffix(suffix);
    return strbuf_format("%s/draft%s", drafts, suffix);
}

/* What the save called ${name} is to hold besides the image; given. */
static json_t *describe(const struct session *s, const char *name, char *image)
{
    char *checkpoints = snapshots_names(&s->snapshots);
    struct saved saved = {.name = name,
                          .image = image,
                          .lisp = zygotes_lisp(s->host->options.zygotes),
                          .package = session_core_package(s),
                          .sandbox = confinement_mode(s->place.confinement),
                          .network = confinement_network(s->place.confinement),
                          .directory = s->place.directory,
                          .checkpoints = checkpoints,
                          .limits = s->limits,
                          .heap_mib = s->process.kind.heap_mib,
                          .evaluations = s->at};
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        saved.has_limit[i] = s->limits.value[i] != s->host->limits.value[i];
    json_t *description = saved_description_write(&saved, &s->journal);
    free(checkpoints);
    return description;
}

/* ${image} is taken. The current state is saved under ${name}. */
static struct saving *new_saving(struct session *s, const char *name, char *image)
{
    struct saving *v = xcalloc(1, sizeof *v);
    v->session = s;
    v->host = s->host;
    v->started_at = uv_now(s->host->options.loop);
    v->name = xstrdup(name);
    v->image = image;
    v->evaluations = s->at;
    v->draft = new_draft(s);
    v->timer = loop_handle_timer(s->host->options.loop, v);
    list_init(&v->node);
    list_append(&s->savings, &v->node);
    return v;
}

/* Request the copy that is to write the image. */
static bool ask_for_copy(struct saving *v, bool (*evict)(struct session *s), struct err *err)
{
    struct session *s = v->session;
    struct worker_events events = {.on_ready = on_ready, .on_reply = on_reply, .on_gone = on_gone, .arg = v};
    v->worker = copies_of(s, s->worker, &events, evict, err);
    if (v->worker == NULL)
        return false;
    await(v, COPY_MS, FACT_SAVE_COPY_FAILED);
    return true;
}

static const char *name_of(const struct operation *op)
{
    return op->name != NULL ? op->name : op->session->id.name;
}

static char *prepare(const struct session *s, const char *name, struct err *err)
{
    err_set(err, ERR_INVALID, "Sessions cannot be saved: there is no state directory (--state-dir).");
    return s->all->store == NULL ? NULL : saved_prepare(s->all->store, name, err);
}

/* The save that ${op} asks for; ${image} is taken. */
static struct saving *begin(struct session *s, struct operation *op, char *image)
{
    struct saving *v = new_saving(s, name_of(op), image);
    v->description = describe(s, v->name, v->image);
    list_remove(&op->node);
    op->saving = v;
    v->op = op;
    return v;
}

bool saving_start(struct session *s, struct operation *op)
{
    struct err err;
    char *path = prepare(s, name_of(op), &err);
    if (path == NULL) {
        answer_unavailable(s, op, err.message);
        return false;
    }
    struct saving *v = begin(s, op, path);
    if (!ask_for_copy(v, eviction_for_process, &err)) {
        answer(v, OUTCOME_UNAVAILABLE, err.message);
        return false;
    }
    return true;
}

bool saving_start_suspension(struct session *s, char *image, saving_stored *stored, struct err *err)
{
    struct saving *v = new_saving(s, s->id.name, image);
    /* Its own old snapshots end with its suspension anyway. */
    if (!ask_for_copy(v, eviction_of_own, err)) {
        saving_free(v);
        return false;
    }
    v->stored = stored;
    return true;
}

bool saving_start_suspended(struct session *s, struct operation *op)
{
    struct err err;
    char *path = prepare(s, name_of(op), &err);
    if (path == NULL || link(s->suspension.image.path, path) != 0) {
        free(path);
        return false;
    }
    /* The link has the image's time, and old files are taken for leftovers. */
    utimensat(AT_FDCWD, path, NULL, 0);
    struct saving *v = begin(s, op, path);
    v->is_written = true;
    commit_first(s);
    return true;
}

/* A commit runs to its end in its thread; no operation waits for it. */
size_t savings_count(const struct session *s)
{
    size_t n = 0;
    list_each(struct operation, op, &s->queue, node)
        n += op->kind == OPERATION_SAVE;
    list_each(struct saving, v, &s->savings, node)
        n += v->stored == NULL;
    return n;
}

void saving_cancel(struct saving *v)
{
    v->op = NULL;
    if (!v->is_committing) {
        unlink(v->image);
        saving_free(v);
    }
}

void savings_cancel(struct session *s)
{
    list_each(struct saving, v, &s->savings, node) {
        struct operation *op = v->op;
        if (op != NULL) {
            op->saving = NULL;
            answer_unavailable(s, op, session_sentence(s, FACT_CLOSED));
        }
        v->session = NULL;
        list_remove(&v->node);
        saving_cancel(v);
    }
}
