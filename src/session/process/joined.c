/*
 * Responsible for joining the image of a session, and for what cannot be done there.
 */
#include "session/process/joined.h"

#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "join/image.h"
#include "session/core/core.h"
#include "session/work/answer.h"

#define MOST_TOLD 20
#define MOST_KEPT 100
#define LONGEST_TOLD ((size_t)200)

static void on_worker(void *arg, struct worker *worker, const char *description)
{
    struct session *s = arg;
    s->place.joined.image = NULL;
    xstrset(&s->place.joined.description, description);
    s->worker = worker;
    session_set_deadline(s, s->host->waits.hello_ms);
}

static void on_failed(void *arg, const struct err *err)
{
    struct session *s = arg;
    s->place.joined.image = NULL;
    xstrset(&s->why, err->message);
    session_later(s);
}

static void on_progress(void *arg, const char *text)
{
    struct session *s = arg;
    xstrset(&s->place.joined.doing, text);
}

void joined_begin(struct session *s, const struct worker_events *events)
{
    on_progress(s, "joining the image");
    s->place.joined.image = image_join(&(struct image_options){
        .loop = s->host->options.loop,
        .address = s->place.joined.address,
        .directory = s->place.joined.directory,
        .session = s->id.name,
        .is_announced = s->host->options.announces,
        .sends_secret = s->host->options.sends_secret,
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
    uint64_t number = ++s->place.joined.person_events;
    if (number > MOST_TOLD)
        notices_remove(&s->told.notices, FACT_PERSON, number - MOST_TOLD);
    const struct fact *fact = FACT(FACT_PERSON, .texts = {strbuf_string(&line)},
                                   .numbers = {number, s->numbers.evaluations, (uint64_t)time(NULL)});
    session_notify(s, fact);
    if (number > MOST_KEPT)
        notices_remove(&s->place.joined.person, FACT_PERSON, number - MOST_KEPT);
    notices_add(&s->place.joined.person, fact);
    session_tell_event(s,
                       &(struct sessions_event){.kind = SESSIONS_EVENT_PERSON, .text = strbuf_string(&line)});
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
