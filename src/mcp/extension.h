/*
 * A place for more than the server's own tools, resources and prompts: what an extension can answer in their
 * stead. The server that ships has none.
 */
#ifndef MCP_EXTENSION_H
#define MCP_EXTENSION_H

#include <jansson.h>
#include <stdbool.h>

struct request;
struct strbuf;

struct extension {
    /*
     * take(extension, r, params):
     * Answer ${r} in the place of its method, now or later.
     *
     * params      borrowed; NULL: none
     * Returns     false: it is left to its method, and nothing was done
     */
    bool (*take)(const struct extension *extension, struct request *r, const json_t *params);

    /* add_items(extension, out, list): append items of the array of "tools", "resources", "resourceTemplates"
     * or "prompts", a comma before each. */
    void (*add_items)(const struct extension *extension, struct strbuf *out, const char *list);

    /* on_response(extension, response): a client has sent a response, an object. Borrowed. */
    void (*on_response)(const struct extension *extension, const json_t *response);
};

/* extension_add_items(extension, out, list): as add_items, and nothing for NULL; before the "]" that ends the
 * array. */
void extension_add_items(const struct extension *extension, struct strbuf *out, const char *list);

#endif
