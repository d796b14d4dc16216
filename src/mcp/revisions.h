/*
 * The revisions of MCP that the server supports and how they differ: a row each, so that no other file
 * compares versions.
 */
#ifndef MCP_REVISIONS_H
#define MCP_REVISIONS_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

struct revision {
    const char *name;
    bool is_modern;            /* no handshake; each request has an envelope, each result a resultType */
    bool has_batches;          /* a message may be an array of messages */
    bool has_progress_message; /* notifications/progress may carry a message */
    bool has_elicitation;      /* the server may send the request elicitation/create */
    bool has_structured;       /* results may carry structuredContent */
    bool has_object_structured_only;  /* and it must be an object */
    bool has_priming_event;           /* over HTTP: a stream may begin with an event without data */
    bool argument_errors_are_results; /* a tool's arguments that violate its schema: isError, not -32602 */
    int missing_resource_code;        /* of the error for a resource that does not exist */
};

/* revisions_find(name, len): the revision of exactly that name; NULL: not supported. */
const struct revision *revisions_find(const char *name, size_t len);

/*
 * revisions_negotiate(name, len):
 * The revision to answer an `initialize` that asks for ${name} with: that one if it has a handshake,
 * otherwise the newest that has one.
 *
 * Source      MCP 2025-11-25, lifecycle, version negotiation
 */
const struct revision *revisions_negotiate(const char *name, size_t len);

/* revisions_add_names(out): append a JSON array of all names. */
void revisions_add_names(struct strbuf *out);

#endif
