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

/* What tools know of and sessions do not. All is borrowed. */
struct events_note {
    const char *kind;
    uint64_t evaluation;         /* 0: none */
    const struct author *author; /* NULL: nobody acted */
    const char *number_name;     /* a further member, a number; NULL: none */
    int64_t number;
    const char *name, *text; /* a further member, a text */
};

/* events_add(all, s, note): add it to the log of ${s}; ${all} may be NULL. */
void events_add(struct events *all, struct session *s, const struct events_note *note);

#endif
