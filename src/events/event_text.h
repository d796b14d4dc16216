/*
 * What happens in a session, as JSON: the members of one event each. docs/view.md lists them. Everything is
 * bounded, and what was cut says so.
 */
#ifndef EVENTS_EVENT_TEXT_H
#define EVENTS_EVENT_TEXT_H

#include <jansson.h>
#include <stdint.h>

#include "session/core/news.h"

struct author;
struct capture;
struct sexp;

/* event_text_string(event, name, bytes, len): a member; at most 64 KiB of it, then with NAME-bytes, its
 * length. event_text_author(event, author): the member author. */
void event_text_string(json_t *event, const char *name, const char *bytes, size_t len);
void event_text_author(json_t *event, const struct author *author);

/* event_text_began(event, op): its code. event_text_values(event, reply): the values of an evaluation.
 * event_text_warning(event, warning): one element of :warnings. event_text_error(event, r).
 * event_text_deed(event, deed): what somebody did in an image that is joined. */
void event_text_began(json_t *event, const struct operation *op);
void event_text_values(json_t *event, const struct sexp *reply);
void event_text_warning(json_t *event, const struct sexp *warning);
void event_text_error(json_t *event, const struct error_record *r);
void event_text_deed(json_t *event, const struct sexp *deed);

/*
 * event_text_output(event, c, told):
 * What was printed after the first ${told} bytes, the last 16 KiB of it.
 *
 * Returns     how much of ${c} is told now: its whole characters
 */
uint64_t event_text_output(json_t *event, const struct capture *c, uint64_t told);

#endif
