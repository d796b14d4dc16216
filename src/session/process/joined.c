/*
 * Responsible for joining the image of a session, and for what cannot be done there.
 */
#include "session/process/joined.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/utf8.h"
#include "join/image.h"
#include "session/core/core.h"
#include "session/process/thread_errors.h"
#include "session/records/error_record.h"
#include "session/work/answer.h"

#define MOST_TOLD 20
#define MOST_KEPT 100
#define LONGEST_TOLD ((size_t)200)

/* The history keeps ${text}, borrowed, between the evaluations. Returns what it keeps; its first number
 * counts what was kept. */
static struct fact keep_in_history(struct session *s, const char *text)
{
    struct notices *kept = &s->place.joined.person;
    struct fact fact = {
        .kind = FACT_PERSON,
        .texts = {text},
        .numbers = {++s->place.joined.person_events, s->numbers.evaluations, (uint64_t)time(NULL)}};
    if (fact.numbers[0] > MOST_KEPT)
        notices_remove(kept, FACT_PERSON, fact.numbers[0] - MOST_KEPT);
    notices_add(kept, &fact);
    return fact;
}

/* The history keeps ${fact}, and the next reply tells it. */
static void note_in_history(struct session *s, const struct fact *fact)
{
    char *text = session_words(s, fact);
    keep_in_history(s, text);
    free(text);
    session_notify(s, fact);
}

/* An image was joined before. */
static void tell_which_it_is(struct session *s, const struct image_facts *facts)
{
    struct session_joined *j = &s->place.joined;
    const struct image_process *now = facts->process, *before = &j->process;
    if (!image_process_is(now, before)) {
        char *started = now->started_at == 0 ? xstrdup("")
                                             : strbuf_format(", started %s", text_time(now->started_at).text);
        note_in_history(s, FACT(image_process_has_ended(before) ? FACT_IMAGE_CHANGED : FACT_IMAGE_IS_ANOTHER,
                                .texts = {started}, .numbers = {(uint64_t)before->pid, (uint64_t)now->pid}));
        free(started);
    } else if (j->lost != NULL) {
        note_in_history(s, FACT(FACT_IMAGE_LOST, .texts = {j->address, j->lost, facts->left},
                                .numbers = {(uint64_t)now->pid}));
    }
}

static void on_worker(void *arg, struct worker *worker, const struct image_facts *facts)
{
    struct session *s = arg;
    struct session_joined *j = &s->place.joined;
    j->image = NULL;
    xstrset(&j->description, facts->description);
    if (j->process.pid != 0)
        tell_which_it_is(s, facts);
    else
        session_notify(s, FACT(FACT_IMAGE_JOINED,
                               .texts = {facts->description,
                                         facts->directory[0] != '\0' ? facts->directory : "not known"}));
    j->process = *facts->process;
    xstrset(&j->lost, NULL);
    s->worker = worker;
    session_set_deadline(s, s->host->waits.hello_ms);
}

static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    s->place.joined.image = NULL;
    const struct image_process *process = &s->place.joined.process;
    free(s->why);
    if (image_process_has_ended(process))
        s->why =
            strbuf_format("Process %" PRId64 ", which was joined, has ended. %s", process->pid, err->message);
    else if (process->is_here)
        s->why = strbuf_format("Process %" PRId64
                               ", which was joined, still runs, but could not be joined again%s. %s",
                               process->pid, image_process_why_silent(process), err->message);
    else
        s->why = xstrdup(err->message);
    session_later(s);
}

static void on_progress(void *arg, const char *text)
{
    struct session *s = arg;
    xstrset(&s->place.joined.doing, text);
}

/* The client on whose behalf it is joined, as far as that is known. */
static const char *client_of(const struct session *s)
{
    const struct operation *op = session_first_operation(s);
    return op != NULL && op->asked.author.name[0] != '\0' ? op->asked.author.name : "cl-mcp-server";
}

void joined_begin(struct session *s, const struct worker_events *events)
{
    on_progress(s, "joining the image");
    s->place.joined.image = image_join(&(struct image_options){
        .loop = s->host->options.loop,
        .address = s->place.joined.address,
        .directory = s->place.joined.directory,
        .client = client_of(s),
        .session = s->id.name,
        .sends_secret = s->host->options.sends_secret,
        .announces = s->host->options.announces,
        .before = s->place.joined.process,
        .only_looks = s->host->options.only_looks,
        .lock_grace_s = s->host->options.lock_grace_s,
        .events = *events,
        .on_worker = on_worker,
        .on_failed = on_failed,
        .on_progress = on_progress,
        .arg = s,
    });
}

void joined_cancel(struct session *s)
{
    if (s->place.joined.image != NULL)
        image_cancel(s->place.joined.image);
    s->place.joined.image = NULL;
    xstrset(&s->place.joined.description, NULL);
}

void joined_came(struct session *s)
{
    s->flags.has_threads = s->flags.was_told_of_threads = true;
    session_enter_state(s, SESSION_IDLE, 0);
}

struct fact joined_lose(struct session *s, const char *why)
{
    struct session_joined *j = &s->place.joined;
    xstrset(&j->lost, why);
    xstrset(&s->package, NULL); /* of a session that has ended */
    return (struct fact){.kind = image_process_has_ended(&j->process) ? FACT_IMAGE_ENDED_IN_CALL
                                 : j->process.is_here                 ? FACT_IMAGE_LEFT_IN_CALL
                                                                      : FACT_IMAGE_LOST_IN_CALL,
                         .texts = {j->address, j->lost},
                         .numbers = {(uint64_t)j->process.pid}};
}

void joined_note_person(void *session, const struct sexp *event)
{
    struct session *s = session;
    size_t len;
    const char *text = sexp_string(sexp_get(event, 2, "text"), &len);
    if (text == NULL)
        return;
    struct strbuf line = {0};
    size_t shown = len > LONGEST_TOLD ? utf8_floor(text, len, LONGEST_TOLD) : len;
    for (size_t i = 0; i < shown; i++)
        strbuf_addc(&line, text[i] == '\n' || text[i] == '\0' ? ' ' : text[i]);
    strbuf_adds(&line, shown < len ? " ..." : "");
    const struct error_record *r = thread_errors_standing(s, sexp_integer(sexp_get(event, 2, "standing"), 0));
    if (r != NULL)
        strbuf_addf(&line, " ABORT of error %d frees it.", r->sequence);
    struct fact fact = keep_in_history(s, strbuf_string(&line));
    if (fact.numbers[0] > MOST_TOLD)
        notices_remove(&s->told.notices, FACT_PERSON, fact.numbers[0] - MOST_TOLD);
    session_notify(s, &fact);
    session_tell_event(s, &(struct sessions_event){
                              .kind = SESSIONS_EVENT_PERSON, .text = strbuf_string(&line), .deed = event});
    strbuf_fini(&line);
}

bool joined_refuse(struct session *s, struct operation *op)
{
    static const enum fact_kind whys[] = {
        [OPERATION_CHECKPOINT] = FACT_IMAGE_HAS_NO_CHECKPOINTS,
        [OPERATION_ROLLBACK] = FACT_IMAGE_HAS_NO_CHECKPOINTS,
        [OPERATION_SAVE] = FACT_IMAGE_IS_NOT_SAVED,
        [OPERATION_RESTORE] = FACT_IMAGE_IS_NOT_SAVED,
        [OPERATION_BRANCH] = FACT_IMAGE_IS_NOT_COPIED, /* the last kind */
    };
    if (s->place.joined.address == NULL || whys[op->kind] == FACT_NONE)
        return false;
    answer_unavailable(s, op, session_sentence(s, whys[op->kind]));
    return true;
}
