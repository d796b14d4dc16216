/*
 * Resources: addresses that can be read. Reading one calls a tool that changes nothing, so both return the
 * same text.
 */
#ifndef MCP_RESOURCES_H
#define MCP_RESOURCES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "session/sessions.h"

struct request;
struct strbuf;

/* An address, or a template of addresses if it contains {variables}. The variables are arguments of the tool.
 */
struct resource {
    const char *uri;
    const char *name, *title, *description;
    const char *mime_type;
    const char *tool;
    const char *argument, *value; /* an additional argument of the tool; NULL: none */
    int longest;                  /* bytes of its text; 0: the session's limit */
    bool is_of_default_session;   /* it names no session, and means that one */
    unsigned changed_by;          /* 1u << enum sessions_news of its session; 0: it does not change */
};

/* resources_count(), resources_at(n): the table. */
size_t resources_count(void);
const struct resource *resources_at(size_t n);

/* resource_find_template(uri, len): the row with exactly this template, or the row that the address matches;
 * NULL: none. */
const struct resource *resource_find_template(const char *uri, size_t len);

/* resource_changed_by(uri, len, session): the news, 1u << enum sessions_news, after which the text at this
 * address may have changed, even if it does not exist now; 0: it does not change. ${session} receives the
 * name of the session whose news they are; given; NULL if it does not change. */
unsigned resource_changed_by(const char *uri, size_t len, char **session);

/* resources_changed_by(): the news after which any text may have changed. */
unsigned resources_changed_by(void);

/* resources_check_uri(r, params): the uri in ${params} if it names an existing resource, borrowed; NULL: the
 * request was answered. */
const char *resources_check_uri(struct request *r, const json_t *params);

#endif
