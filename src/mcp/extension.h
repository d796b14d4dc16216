/*
 * A place for more than the server's own tools, resources and prompts: what an extension can answer in their
 * stead, and how. The ordinary server has none.
 */
#ifndef MCP_EXTENSION_H
#define MCP_EXTENSION_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "mcp/jsonrpc.h"

struct request;

struct extension {
    /* take(extension, r, params): answer ${r} in the place of its method, now or later; false: it is not the
     * extension's affair, and nothing was done. params is borrowed; NULL for none. */
    bool (*take)(const struct extension *extension, struct request *r, const json_t *params);

    /* add_items(extension, out, list): append items of the array of "tools", "resources", "resourceTemplates"
     * or "prompts", a comma before each. */
    void (*add_items)(const struct extension *extension, struct strbuf *out, const char *list);
};

/* request_method(r): its name. request_is_modern(r): is it of 2026-07-28 or later? */
const char *request_method(const struct request *r);
bool request_is_modern(const struct request *r);

/* request_can(r, capability): has its client declared "sampling", "elicitation", "roots", ...? */
bool request_can(const struct request *r, const char *capability);

/*
 * request_result(r): begin the result; the caller appends its members ("name":value, separated by commas) to
 * what this returns. request_input_required(r): the same for a result that asks for input, in the revisions
 * that have such. request_finish(r): end either, as the request's revision wants it, and send it; ${r} is
 * freed.
 */
struct strbuf *request_result(struct request *r);
struct strbuf *request_input_required(struct request *r);
void request_finish(struct request *r);

/* request_fail(r, code, format, ...): answer with an error; ${r} is freed. request_fail_with(r, code,
 * message, data): data is JSON text or NULL. */
void request_fail(struct request *r, enum jsonrpc_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void request_fail_with(struct request *r, enum jsonrpc_code code, const char *message, const char *data);

/* request_progress_of(r, progress, total): tell its client, if it asked for it. */
void request_progress_of(struct request *r, int progress, int total);

/* request_log(r, text): tell its client, at level info, if it wants to know. */
void request_log(struct request *r, const char *text);

/* request_tools_changed(r): say to whoever wants to know that the list of tools has changed. */
void request_tools_changed(struct request *r);

/* request_may_ask(r): can its client be asked something before it is answered? Not since 2026-07-28, nor in a
 * batch. */
bool request_may_ask(const struct request *r);

/*
 * request_ask(r, method, params, on_answer):
 * Ask its client something, before ${r} is answered, if request_may_ask(r).
 *
 * params      borrowed; JSON text, an object
 * on_answer   called once from connection_message(), unless ${r} is given up; must answer ${r} or ask again.
 * ${result} is borrowed; NULL: the client refused
 */
void request_ask(struct request *r, const char *method, const char *params,
                 void (*on_answer)(struct request *r, const json_t *result));

/* extension_add_items(extension, out, list): as add_items, and nothing without an extension; before the "]"
 * that ends the array. */
void extension_add_items(const struct extension *extension, struct strbuf *out, const char *list);

#endif
