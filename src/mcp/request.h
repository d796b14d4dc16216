/*
 * A request in progress, as its method sees it. It is answered once, by request_finish(), request_accept(),
 * request_fail() or request_fail_with(); each of them frees it.
 */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "mcp/jsonrpc.h"
#include "mcp/requests.h"

/* The member of _meta that names the subscriptions/listen for which a message is sent. */
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* request_client(r): its sender. request_revision(r): the revision whose rules it follows. Both borrowed. */
struct client *request_client(const struct request *r);
const struct revision *request_revision(const struct request *r);

/* request_arrival(r): the message that it came as; borrowed. */
const struct arrival *request_arrival(const struct request *r);

/* request_may_send(r): what request_send() sends before the answer reaches its client. Only while the message
 * is being handled with which ${r} came. */
bool request_may_send(const struct request *r);

/* request_can_extension(r, name): its client has declared this extension of MCP; 2026-07-28 only. */
bool request_can_extension(const struct request *r, const char *name);

/*
 * request_result(r):
 * Begin the result. The caller appends its members ("name":value, separated by commas), then calls
 * request_finish().
 *
 * Returns     borrowed until request_finish()
 */
struct strbuf *request_result(struct request *r);

/* request_result_of(r, type): the same for a result whose resultType is not "complete", in revisions
 * that have a resultType. */
struct strbuf *request_result_of(struct request *r, const char *type);

/* request_finish(r): end the result in the shape of the request's revision, and send it; ${r} is freed.
 * False: an error was sent in its place. request_accept(r): the same for a result that has no members of the
 * method's.
 */
bool request_finish(struct request *r);
bool request_accept(struct request *r);

/*
 * request_fail(r, code, format, ...), request_fail_with(r, code, message, data):
 * Answer with an error; ${r} is freed. Always false, so that `return request_fail(...)` reads well.
 *
 * data        JSON text, or NULL for no data member
 */
bool request_fail(struct request *r, enum jsonrpc_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool request_fail_with(struct request *r, enum jsonrpc_code code, const char *message, const char *data);

/* request_check_cursor(r, params): every list has one page, so a cursor in ${params} is invalid. False:
 * ${r} was answered. */
bool request_check_cursor(struct request *r, const json_t *params);

/*
 * request_await(r, pending, cancel):
 * Set what ${r} waits for.
 *
 * cancel      called once with ${pending} if ${r} is cancelled before it is answered; must not answer it
 */
void request_await(struct request *r, void *pending, void (*cancel)(void *pending));

/* request_stays_open(r): its client or the end of the server ends it; the server does not wait for it. */
void request_stays_open(struct request *r);

/*
 * request_progress(r, elapsed_s, message):
 * Report progress, if the client asked for it. The value sent grows each time, whatever ${elapsed_s} is.
 *
 * elapsed_s   seconds since the request began
 * message     borrowed; NULL: none
 */
void request_progress(struct request *r, double elapsed_s, const char *message);

/* request_send(r, text): send a message about ${r} before its answer: a notification, or a request of the
 * server's. ${text} is JSON, borrowed. */
void request_send(struct request *r, const struct strbuf *text);

#endif
