/*
 * The logs of events: what happens in each session of one owner, step by step, for those who look on. A log
 * has the newest events, up to the limits of the history; it ends with its session, not with a reset.
 */
#ifndef TOOLS_EVENTS_H
#define TOOLS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define EVENTS_MOST_READ 1000 /* in one answer */

struct author;
struct events;
struct session;
struct sessions;
struct strbuf;

/* events_new(loop, sessions, redacts): ${sessions} is borrowed and is freed first; it is empty.
 * events_free(all). */
struct events *events_new(uv_loop_t *loop, struct sessions *sessions, bool redacts);
void events_free(struct events *all);

/* Which events are read. */
struct events_range {
    int64_t after, before; /* numbers; after >= 0: the oldest after it; otherwise the newest before ${before},
                              which is 0 for all */
    size_t limit;
};

/* events_read(all, s, range, out): append the JSON object of the resource (docs/view.md). */
void events_read(struct events *all, struct session *s, const struct events_range *range, struct strbuf *out);

/* events_add_question(all, s, question, prompt): running code waits for a line. */
void events_add_question(struct events *all, struct session *s, int64_t question, const char *prompt);

/* events_add_person(all, s, author, text): the person did ${text}, a sentence. events_add_restart(all, s,
 * author, error, restart): a restart of ${error} is being invoked. events_add_job(all, s, evaluation): its
 * caller was answered, and it continues. */
void events_add_person(struct events *all, struct session *s, const struct author *author, const char *text);
void events_add_restart(struct events *all, struct session *s, const struct author *author, int error,
                        const char *restart);
void events_add_job(struct events *all, struct session *s, uint64_t evaluation);

#endif
