/*
 * The logs of events: what happens in each session of one owner, step by step, for those who look on. A log
 * has the newest events, up to the limits of the history; it ends with its session, not with a reset.
 */
#ifndef EVENTS_EVENTS_H
#define EVENTS_EVENTS_H

#include <jansson.h>
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

/* events_read(all, s, after, before, limit, out): append the JSON object of the resource (docs/view.md) with
 * at most
 * ${limit} events: if ${after} >= 0, the oldest with a higher number; otherwise the newest with a number
 * below
 * ${before}, which is 0 for all. */
void events_read(struct events *all, struct session *s, int64_t after, int64_t before, size_t limit,
                 struct strbuf *out);

/* events_add(all, s, kind, author, members): add an event that a tool knows of and the session does not, to
 * the log of ${s}. ${all} may be NULL; so may ${author}, borrowed: nobody acted. ${members} are taken. */
void events_add(struct events *all, struct session *s, const char *kind, const struct author *author,
                json_t *members);

/* events_ask(all, s, evaluation, question, prompt): tell the readers of the log what the evaluation asks.
 * events_end_questions(all): the last reader has gone: answer each of these questions with end of file. */
void events_ask(struct events *all, struct session *s, uint64_t evaluation, int64_t question,
                const char *prompt);
void events_end_questions(struct events *all);

/* events_add_text(all, s, kind, author, name, text): the same with one member, a text. */
void events_add_text(struct events *all, struct session *s, const char *kind, const struct author *author,
                     const char *name, const char *text);

#endif
