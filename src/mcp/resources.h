/*
 * Resources: addresses of what can be read. Each is the reply of a tool that only looks, so that there is one
 * source for both.
 */
#ifndef MCP_RESOURCES_H
#define MCP_RESOURCES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "session/sessions.h"

struct request;
struct strbuf;

/* An address or, with {variables} in it, a template of such. The variables are arguments of the tool. */
struct resource {
    const char *uri;
    const char *name, *title, *description;
    const char *mime_type;
    const char *tool;
    const char *argument, *value; /* one more argument of the tool; NULL: none */
    unsigned changed_by;          /* 1u << enum sessions_news of its session; 0: it does not change */
};

/* resources_count(), resources_at(n): the table. */
size_t resources_count(void);
const struct resource *resources_at(size_t n);

/*
 * resource_match(uri, len, variables):
 * The row whose address ${uri} is.
 *
 * variables   out: given object of the variables' values, percent-decoded; untouched if there is no such row
 * Returns     NULL if there is none
 */
const struct resource *resource_match(const char *uri, size_t len, json_t **variables);

/* resource_find_template(uri): the row that is written so, or that the address belongs to; NULL if there is
 * none. */
const struct resource *resource_find_template(const char *uri, size_t len);

/* resource_can_change(uri, len): it is the address of something that may change, be it there or not. */
bool resource_can_change(const char *uri, size_t len);

/* resource_is_changed_by(uri, session, news): it may read otherwise now. */
bool resource_is_changed_by(const char *uri, struct session *session, enum sessions_news news);

/* resources_check_uri(r, params): the uri of a resource there is, borrowed from ${params}; NULL: it was
 * answered. */
const char *resources_check_uri(struct request *r, const json_t *params);

#endif
