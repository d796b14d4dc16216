/*
 * The socket of a running server for its owner: MCP over HTTP at a path that `cl-mcp-server view` finds. It
 * costs a descriptor until somebody connects; only then the library for HTTP is loaded.
 */
#ifndef HTTP_OWNER_SOCKET_H
#define HTTP_OWNER_SOCKET_H

#include "base/errors.h"
#include "http/server.h"

struct owner_socket;

/* owner_socket_new(http, directory, err): given, and listening; NULL with ${err} set. The addresses in
 * ${http} do not count; it is copied, and what it points to is borrowed. ${directory}: of the Lisps, for the
 * description; not kept. */
struct owner_socket *owner_socket_new(const struct http_server_options *http, const char *directory,
                                      struct err *err);

/* owner_socket_describe(o, client, directory): write the description that lies beside the socket. ${client}:
 * the name of the client on standard input and output; "" if it is not known. NULL ${o}: do nothing. */
void owner_socket_describe(struct owner_socket *o, const char *client, const char *directory);

/* owner_socket_reload(o): as http_server_reload(). owner_socket_close(o, done, arg): as http_server_close();
 * the files are removed. NULL ${o} is allowed for both. */
void owner_socket_reload(struct owner_socket *o);
void owner_socket_close(struct owner_socket *o, void (*done)(void *arg), void *arg);

#endif
