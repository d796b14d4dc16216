/*
 * Responsible for finding the target of a rollback, and for restoring a save.
 */
#include "session/life/rollback.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/user_directory.h"
#include "lisp/confinement.h"
#include "lisp/zygotes.h"
#include "session/core/core.h"
#include "session/life/becoming.h"
#include "session/process/process.h"
#include "session/snapshots/checkpointing.h"
#include "session/store/saved.h"
#include "session/work/answer.h"
#include "session/work/run.h"

/* The evaluations are counted anew, after those that wait: they keep the numbers that their clients were
 * told. */
static void count_again(struct session *s)
{
    s->numbers.last = 0;
    list_each(struct operation, op, &s->queue, node)
        if (op->number > s->numbers.last)
            s->numbers.last = op->number;
}

void rollback_clear(struct session *s)
{
    process_forget(s);
    process_end_programs(s);
    stored_image_drop(&s->suspension.image);
    snapshots_clear(&s->snapshots, FACT_NONE);
    s->at = s->numbers.evaluations = s->numbers.skipped = 0;
    s->flags.has_threads = s->flags.was_told_of_threads = false;
    count_again(s);
    answer_clear_error(s);
    error_history_clear(&s->errors);
    journal_fini(&s->journal);
    notices_clear(&s->place.joined.person);
    capture_fini(&s->output.between);
    xstrset(&s->package, NULL);
    xstrset(&s->copies.why_not, NULL);
    s->copies.ms = s->copies.last_ms = 0;
    process_note_tools(s, NULL);
    session_tell(s, SESSIONS_CLEARED);
    session_tell(s, SESSIONS_STATE);
}

/* The state ${n} evaluations ago; those that were undone do not count. */
static uint64_t evaluations_back(const struct session *s, uint64_t n)
{
    for (size_t i = s->journal.count; i > 0; i--) {
        const struct journal_entry *entry = journal_at(&s->journal, i - 1);
        if (entry->evaluation > s->at || entry->is_undone || entry->outcome == JOURNAL_DIED)
            continue;
        if (n == 0)
            return entry->evaluation;
        n--;
    }
    return 0;
}

/* Parses the target of a rollback: a name, the number of an evaluation, or -N: N evaluations back. */
static bool find_state(const struct session *s, const char *to, uint64_t *evaluation)
{
    char *end;
    long n = strtol(to, &end, 10);
    if (*end != '\0' || end == to)
        return false;
    *evaluation = n < 0 ? evaluations_back(s, 0 - (uint64_t)n) : (uint64_t)n;
    return true;
}

/* The snapshot was dropped, or could not be made: name those next to it, and do nothing. */
static void refuse_state(struct session *s, struct operation *op, uint64_t evaluation)
{
    const struct snapshot *before = becoming_newest(s, evaluation);
    const struct snapshot *after = snapshots_oldest(&s->snapshots, evaluation);
    const struct snapshot *near = before != NULL ? before : after;
    answer_fact(s, op,
                FACT(near == NULL                      ? FACT_NO_STATE
                     : before != NULL && after != NULL ? FACT_NO_STATE_BETWEEN
                                                       : FACT_NO_STATE_NEAR,
                     .numbers = {evaluation, near == NULL ? 0 : near->evaluation,
                                 after == NULL ? 0 : after->evaluation}));
}

void rollback_perform(struct session *s, struct operation *op)
{
    uint64_t evaluation;
    checkpointing_thin(s);
    struct snapshot *sn = snapshots_named(&s->snapshots, op->name);
    bool is_state = sn == NULL && find_state(s, op->name, &evaluation);
    if (is_state)
        sn = snapshots_find(&s->snapshots, evaluation);
    if (sn == NULL && is_state) {
        refuse_state(s, op, evaluation);
        return;
    }
    if (sn == NULL) {
        answer_unavailable(s, op, session_sentence(s, FACT_NO_CHECKPOINT));
        return;
    }
    run_take_up(s, op);
    becoming_snapshot(s, sn);
}

/* An earlier session of that name that was not saved when its server ended. */
static void note_loss(struct session *s, const struct operation *op)
{
    struct strbuf text = {0};
    if (s->all->store != NULL && saved_take_loss(s->all->store, op->name, &text))
        session_notify(s, FACT(FACT_TEXT, .texts = {strbuf_string(&text)}));
    strbuf_fini(&text);
}

/* The save is there, but the session does not continue from it. One that is empty must not replace it. If
 * no call waits for the restore, the next reply reports its failure. */
static void refuse(struct session *s, struct operation *op, const char *why)
{
    s->flags.is_unrestored = s->flags.is_unrestored || s->numbers.evaluations == 0;
    note_loss(s, op);
    if (op->asked.done == NULL)
        session_notify(s, FACT(FACT_TEXT, .texts = {why}));
    if (s->flags.is_unrestored && s->all->store != NULL && saved_exists(s->all->store, op->name))
        session_notify(s, FACT(FACT_NOT_SAVED_AT_END));
    answer_unavailable(s, op, why);
}

/* The old state was given up for the save, whose image did not start. */
static void refuse_empty(struct session *s, struct operation *op, const char *why)
{
    rollback_clear(s); /* an empty session has no history, and must not replace the save at the end */
    char *text = session_words(s, FACT(FACT_NOT_RESTORED, .texts = {op->name, why}));
    refuse(s, op, text);
    free(text);
}

void session_step_restore_lost(struct session *s)
{
    refuse_empty(s, s->current, session_sentence(s, FACT_OTHER_SBCL));
    session_look_at_queue(s);
}

static void take_limits(struct session *s, const struct saved *saved)
{
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (saved->has_limit[i])
            s->limits.value[i] = saved->limits.value[i];
}

/* What confined code has left in an image is started no less confined; its directory is kept. */
static bool take_place(struct session *s, const struct saved *saved, struct err *err)
{
    struct err why;
    if (saved->directory != NULL && (saved->directory[0] != '/' || !is_directory(saved->directory)))
        return err_set(err, ERR_INVALID,
                       "The saved session %s cannot be started: its directory %s does not exist.",
                       saved->name, saved->directory);
    const struct confinement *confinement = s->place.confinement;
    if (!confinements_tighten(s->host->options.confinements, &confinement, saved->sandbox, saved->network,
                              saved->directory, &why))
        return err_set(err, why.code, "The saved session %s cannot be started in its sandbox: %s",
                       saved->name, why.message);
    s->place.confinement = confinement;
    if (saved->directory != NULL) {
        xstrset(&s->place.directory, saved->directory);
    }
    return true;
}

void rollback_restore_settings(struct session *s, const char *name)
{
    struct err err;
    struct saved saved;
    if (s->all->store == NULL || !saved_find(s->all->store, name, "", &saved, NULL, &err))
        return;
    take_limits(s, &saved);
    take_place(s, &saved, &err); /* the restore reports it if that fails */
    saved_fini(&saved);
}

/* The save is valid: the session's old state is given up for it. Only starting the image shows whether it
 * works. */
static void begin_restore(struct session *s, struct operation *op, const struct saved *saved,
                          const struct journal *journal)
{
    struct err err;
    char *named = snapshots_names(&s->snapshots);
    struct replaced_facts replaced = {.at = s->at, .errors = s->errors.made};
    rollback_clear(s);
    notices_clear(&s->told.notices);
    note_loss(s, op);
    if (op->asked.done != NULL)
        take_limits(s, saved);
    s->journal = *journal;
    s->at = s->numbers.evaluations = saved->evaluations;
    s->numbers.saved = strcmp(op->name, s->id.name) == 0 ? s->at : 0;
    s->numbers.skipped = journal_skipped(journal);
    s->package = xstrdup(saved->package);
    if (!process_start_image(s, saved->image, NULL, saved->heap_mib, &err)) {
        free(named);
        refuse_empty(s, op, err.message);
        return;
    }
    run_take_up(s, op);
    becoming_image(s, START_RESTORE);
    s->becoming.facts.replaced = replaced;
    s->becoming.replaced = named;
    s->becoming.not_held = xstrdup(saved->checkpoints);
}

void rollback_restore(struct session *s, struct operation *op)
{
    struct err err;
    struct saved saved;
    struct journal journal = {0};
    err_set(&err, ERR_INVALID, "Sessions cannot be restored: there is no state directory (--state-dir).");
    if (s->all->store == NULL || !saved_find(s->all->store, op->name, zygotes_lisp(s->host->options.zygotes),
                                             &saved, &journal, &err)) {
        refuse(s, op, err.message);
        return;
    }
    if (!take_place(s, &saved, &err)) {
        journal_fini(&journal);
        refuse(s, op, err.message);
    } else {
        s->flags.is_unrestored = false;
        begin_restore(s, op, &saved, &journal);
    }
    saved_fini(&saved);
}
