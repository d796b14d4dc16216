/*
 * The audit log: a line of JSON for each call of a tool, in a file that is only appended to.
 */
#ifndef EVENTS_AUDIT_H
#define EVENTS_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errors.h"

struct audit;

struct audit_call {
    const char *principal; /* "" without tokens, and on standard input and output */
    const char *session, *tool;
    const json_t *arguments; /* long strings are cut and marked as cut */
    const char *outcome;     /* "ok", "error", "cancelled"; "input": a line was typed for it */
    uint64_t took_ms;
    size_t bytes; /* of the answer's text */
};

/*
 * audit_open(path, redacts, err): append to the regular file ${path}, which is created if missing (mode
 * 0600). With ${redacts} what looks like a credential is left out of the arguments (base/redact.h).
 * audit_free(a): NULL does nothing.
 *
 * Returns     given; NULL with ${err} set
 */
struct audit *audit_open(const char *path, bool redacts, struct err *err);
void audit_free(struct audit *a);

/* audit_reopen(a): log rotation has renamed the file: create a new one. If that fails, the old one stays
 * open and the failure is logged. */
void audit_reopen(struct audit *a);

/* audit_shown(value, redacts): a copy for a client; given. Lines of its strings that look like a section of a
 * reply are marked (report/section.h), except in a member "code", which a reader may evaluate again; with
 * ${redacts}, nothing that looks like a credential is left. ${value} is the server's own, so its depth is
 * bounded. */
json_t *audit_shown(const json_t *value, bool redacts);

/* audit_record(a, call): write a line; ${call} is borrowed. */
void audit_record(struct audit *a, const struct audit_call *call);

#endif
