/*
 * Responsible for logging/setLevel. server_log.c sends the lines.
 */
#include "mcp/client.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server_log.h"

bool methods_logging_set_level(struct request *r, const json_t *params)
{
    int level = server_log_level(json_object_get(params, "level"));
    if (!request_client(r)->options.shows_log)
        return request_fail(r, JSONRPC_METHOD_NOT_FOUND,
                            "Method not found: logging/setLevel: this server does not send its log");
    if (level == SERVER_LOG_UNKNOWN)
        return request_fail(
            r, JSONRPC_INVALID_PARAMS,
            "Invalid params: level must be one of debug, info, notice, warning, error, critical, alert and "
            "emergency");
    server_log_set_level(request_client(r), level);
    return request_accept(r);
}
