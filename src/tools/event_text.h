/*
 * What happens in a session, as JSON: the members of one event each. docs/view.md lists them. Everything is
 * bounded, and what was cut says so.
 */
#ifndef TOOLS_EVENT_TEXT_H
#define TOOLS_EVENT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "session/core/news.h"

struct author;
struct capture;
struct sexp;

/* An event that is being written. Its text begins with the members of the log. */
struct event_text {
    struct strbuf *out;
    bool redacts; /* its strings contain nothing that looks like a credential */
};

/* event_text_string(t, name, bytes, len): a member; at most 64 KiB of it, then with NAME-bytes, its length.
 * event_text_number(t, name, n). event_text_author(t, author): the member author. */
void event_text_string(struct event_text *t, const char *name, const char *bytes, size_t len);
void event_text_number(struct event_text *t, const char *name, int64_t n);
void event_text_author(struct event_text *t, const struct author *author);

/* event_text_began(t, op): its code. event_text_values(t, reply): the values of an evaluation.
 * event_text_warning(t, warning): one element of :warnings. event_text_error(t, r). */
void event_text_began(struct event_text *t, const struct operation *op);
void event_text_values(struct event_text *t, const struct sexp *reply);
void event_text_warning(struct event_text *t, const struct sexp *warning);
void event_text_error(struct event_text *t, const struct error_record *r);

/*
 * event_text_output(t, c, told):
 * What was printed after the first ${told} bytes, the last 16 KiB of it.
 *
 * Returns     how much of ${c} is told now: its whole characters
 */
uint64_t event_text_output(struct event_text *t, const struct capture *c, uint64_t told);

#endif
