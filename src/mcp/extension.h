/*
 * The place of tools, resources and prompts that are not the server's own: an extension can answer
 * requests before their methods. The server that ships has none.
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
     * Answer ${r} in place of its method, immediately or later.
     *
     * params      borrowed; NULL: none
     * Returns     false: the method is to answer, and nothing was done
     */
    bool (*take)(const struct extension *extension, struct request *r, const json_t *params);

    /* add_items(extension, out, list): append items of the array of "tools", "resources", "resourceTemplates"
     * or "prompts", a comma before each. */
    void (*add_items)(const struct extension *extension, struct strbuf *out, const char *list);

    /* on_response(extension, response): a client has sent a response, an object. Borrowed. */
    void (*on_response)(const struct extension *extension, const json_t *response);
};

/* extension_add_items(extension, out, list): as add_items, and nothing if ${extension} is NULL; before the
 * "]" that ends the array. */
void extension_add_items(const struct extension *extension, struct strbuf *out, const char *list);

#endif
