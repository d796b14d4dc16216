/*
 * The public interface of a session. Its life is in the table of core/states.c, the collections of
 * sessions in sessions.c.
 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "session/core/core.h"
#include "session/life/branch.h"
#include "session/life/queue.h"
#include "session/life/rollback.h"
#include "session/life/saving.h"
#include "session/snapshots/checkpointing.h"
#include "session/snapshots/copies.h"
#include "session/work/look_ups.h"
#include "session/work/run.h"

/* These may be answered as soon as their turn comes, but never inside the caller's call. */
static struct operation *later(struct session *s, struct operation *op)
{
    queue_add(s, op);
    session_later(s);
    return op;
}

/* In the thread that stands in the error, if one does, and not in a copy. */
static struct operation *enter(struct session *s, struct operation *op)
{
    const struct error_record *r = op->sequence == 0 ? NULL : error_history_find(&s->errors, op->sequence);
    if (r != NULL && error_record_stands(r)) {
        op->kind = OPERATION_RUN;
        strbuf_addf(&op->request, " :standing %lld :error %d", (long long)r->standing, op->sequence);
    }
    return later(s, op);
}

struct operation *session_run(struct session *s, const struct operation_options *options)
{
    struct operation *op = operation_new_run(s, options);
    if (options->kind != OPERATION_RUN)
        return enter(s, op);
    queue_add(s, op);
    session_look_at_queue(s);
    return op;
}

bool session_has_room(const struct session *s, const struct operation_options *options)
{
    return operation_has_room(s->all->operation_bytes, options);
}

struct operation *session_request(struct session *s, enum operation_kind kind, const char *name,
                                  operation_done *done, void *arg)
{
    struct operation *op = operation_new(s, kind, done, arg);
    op->name = xstrdup(name);
    if (kind == OPERATION_RESTORE && done == NULL)
        rollback_restore_settings(s, name);
    return later(s, op);
}

void session_cancel(struct operation *op)
{
    struct session *s = op->session;
    op->asked.done = NULL;
    op->asked.on_progress = NULL;
    op->asked.on_question = NULL;
    if (op->saving != NULL) {
        saving_cancel(op->saving);
        operation_free(op);
        return;
    }
    if (op->look != NULL)
        look_cancel(op->look);
    if (op != s->current)
        operation_free(op);
    else
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
}

bool session_stop(struct session *s, uint64_t number, struct strbuf *what)
{
    struct operation *op = number == 0 ? s->current : queue_find(s, number);
    if (op == NULL)
        return number == 0 && queue_cancel_first(s, what);
    strbuf_add(what, op->what.bytes, op->what.len);
    if (op == s->current)
        session_dispatch(s, &(struct event){.kind = EVENT_CANCEL});
    else
        queue_cancel(s, op);
    return true;
}

const char *session_unstoppable(const struct session *s)
{
    static const char *const doings[] = {
        [OPERATION_CHECKPOINT] = "making a checkpoint",
        [OPERATION_ROLLBACK] = "being rolled back",
        [OPERATION_RESTORE] = "being restored",
        [OPERATION_BRANCH] = "being copied", /* the last kind */
    };
    return s->current == NULL ? NULL : doings[s->current->kind];
}

bool session_is_asking(const struct operation *op)
{
    return op == op->session->current && op->session->state == SESSION_ASKING;
}

static bool waits_for(const struct operation *op, int64_t question)
{
    return session_is_asking(op) && op->session->current->question == question;
}

struct operation *session_asking(const struct session *s, int64_t question)
{
    return s->current != NULL && waits_for(s->current, question) ? s->current : NULL;
}

void session_answer(struct operation *op, int64_t question, const char *text, size_t len)
{
    if (waits_for(op, question))
        session_dispatch(op->session, &(struct event){.kind = EVENT_INPUT, .text = text, .text_len = len});
}

void session_dismiss(struct operation *op, int64_t question)
{
    if (waits_for(op, question))
        session_dispatch(op->session, &(struct event){.kind = EVENT_CANCEL});
}

void session_let_go(struct operation *op)
{
    op->is_let_go = true;
    session_later(op->session); /* look-ups may wait */
}

double session_running(const struct session *s, struct strbuf *what, size_t *waiting)
{
    const struct operation *op = s->current;
    *waiting = 0;
    list_each(struct operation, queued, &s->queue, node) {
        /* While the process is being copied, the next operation counts as running. */
        if (op == NULL)
            op = queued;
        *waiting += queued != op;
    }
    if (op == NULL || !op->has_code)
        return -1;
    strbuf_add(what, op->what.bytes, op->what.len);
    return op == s->current ? run_elapsed_s(s) : 0;
}

uint64_t session_number(const struct operation *op)
{
    return op->number;
}

static void describe(const struct session *s, const struct operation *op, struct session_evaluation *e)
{
    bool is_running = op == s->current;
    *e = (struct session_evaluation){
        .number = op->number,
        .what = strbuf_string(&op->what),
        .is_running = is_running,
        .is_next = op == session_first_operation(s),
        .is_asking = session_is_asking(op),
        .elapsed_s = is_running ? run_elapsed_s(s)
                                : (double)(uv_now(s->host->options.loop) - op->submitted_ms) / 1000.0,
        .limit_s = is_running ? run_limit_s(s) : 0,
        .output_bytes = is_running ? session_output_printed(&s->output) : 0,
    };
}

bool session_evaluation(const struct session *s, uint64_t number, struct session_evaluation *e)
{
    const struct operation *op = queue_find(s, number);
    if (op != NULL)
        describe(s, op, e);
    return op != NULL;
}

bool session_evaluation_at(const struct session *s, size_t n, struct session_evaluation *e)
{
    list_each(struct operation, op, &s->queue, node) {
        if (op->number > 0 && n-- == 0) {
            describe(s, op, e);
            return true;
        }
    }
    return false;
}

void session_evaluation_where(const struct session *s, uint64_t number, struct strbuf *out)
{
    const struct operation *op = queue_find(s, number);
    if (op != NULL && op == s->current)
        run_progress(s, out);
    else if (op != NULL)
        queue_add_behind(s, op, FACT_BEHIND, out);
}

void session_redact(const struct session *s, struct capture *capture)
{
    if (s->host->options.redacts)
        capture_redact(capture);
}

const struct capture *session_output(struct session *s, int stream)
{
    return &s->output.streams[stream];
}

const struct error_record *session_error(const struct session *s, size_t n)
{
    return error_history_at(&s->errors, n);
}

const struct error_record *session_find_error(const struct session *s, int number)
{
    return error_history_find(&s->errors, number);
}

const struct error_record *session_last_error(const struct session *s)
{
    return error_history_last(&s->errors);
}

size_t session_error_count(const struct session *s)
{
    return s->errors.kept;
}

int session_next_ref(const struct session *s)
{
    return s->output.last_reference + 1;
}

int session_keep_output(struct session *s, struct capture *capture)
{
    return session_output_keep(&s->output, capture);
}

const struct capture *session_kept(const struct session *s, int ref)
{
    return session_output_kept(&s->output, ref);
}

const struct snapshots *session_snapshots(struct session *s)
{
    checkpointing_thin(s);
    return &s->snapshots;
}

const struct notices *session_person(const struct session *s)
{
    return &s->place.joined.person;
}

const struct journal *session_journal(const struct session *s)
{
    return &s->journal;
}

void session_branch(struct session *s, struct session *source)
{
    s->process.branch = later(source, branch_begin(s, source));
}

bool session_delete_checkpoint(struct session *s, const char *name)
{
    return snapshots_delete(&s->snapshots, name);
}

const char *session_why_no_checkpoint(const struct session *s)
{
    return s->copies.why_not;
}

uint64_t session_at(const struct session *s)
{
    return s->at;
}

void session_place(struct session *s, const char *directory, const struct confinement *confinement)
{
    xstrset(&s->place.directory, directory);
    s->place.confinement = confinement;
}

const char *session_directory(const struct session *s)
{
    return s->place.directory;
}

const struct confinement *session_confinement(const struct session *s)
{
    return s->place.confinement;
}

void session_attach(struct session *s, const char *address, const char *directory)
{
    s->place.joined.address = xstrdup(address);
    s->place.joined.directory = xstrdup(directory);
    s->limits.value[LIMIT_CHECKPOINTS] = 0;
}

const char *session_attached(const struct session *s)
{
    return s->place.joined.address;
}

const char *session_image(const struct session *s)
{
    return s->place.joined.description;
}

bool session_may_have_news(const struct session *s)
{
    return s->flags.has_threads && s->state == SESSION_IDLE && list_is_empty(&s->queue);
}

bool session_is_unrestored(const struct session *s)
{
    return s->flags.is_unrestored;
}

bool session_wants_save(const struct session *s)
{
    return (s->state == SESSION_IDLE || s->state == SESSION_SUSPENDED) && list_is_empty(&s->queue) &&
           list_is_empty(&s->savings) && s->at != s->numbers.saved;
}

double session_checkpoint_cost_ms(const struct session *s)
{
    return s->copies.ms;
}

bool session_checkpoints_when_idle(const struct session *s)
{
    return copies_are_expensive(s);
}

struct capture *session_between(struct session *s)
{
    return &s->output.between;
}

struct notices *session_notices(struct session *s)
{
    return &s->told.notices;
}

void session_note_announced(struct session *s, size_t n)
{
    error_history_at(&s->errors, n)->is_announced = true;
}

bool session_has_limit(const struct session *s, enum limit limit)
{
    return s->place.joined.address == NULL ? limit != LIMIT_MAX_MEMORY
                                           : limit != LIMIT_MAX_HEAP && limit != LIMIT_CHECKPOINTS;
}

struct limits *session_limits(struct session *s)
{
    return &s->limits;
}

const char *session_name(const struct session *s)
{
    return s->id.name;
}

const struct strbuf *session_tools(const struct session *s)
{
    return &s->told.tools;
}

const char *session_package(const struct session *s)
{
    return session_core_package(s);
}

pid_t session_pid(const struct session *s)
{
    return session_core_pid(s);
}

const char *session_state_name(const struct session *s)
{
    bool is_between = s->state == SESSION_IDLE || s->state == SESSION_COPYING;
    return run_is_pressed(s)                         ? "stopping"
           : is_between && !list_is_empty(&s->queue) ? session_state_texts[SESSION_RUNNING]
                                                     : session_state_texts[s->state];
}

double session_age_s(const struct session *s)
{
    return (double)(uv_now(s->host->options.loop) - s->id.created_at) / 1000.0;
}

uint64_t session_evaluations(const struct session *s)
{
    return s->numbers.evaluations - s->numbers.skipped;
}

const struct timespec *session_suspended_since(const struct session *s)
{
    return s->state == SESSION_SUSPENDED ? &s->suspension.image.since : NULL;
}
