/*
 * The serverInfo that clients receive.
 */
#ifndef MCP_SERVER_INFO_H
#define MCP_SERVER_INFO_H

/* A JSON object. */
#define SERVER_INFO                                                                                          \
    "{\"name\":\"cl-mcp-server\",\"title\":\"Common Lisp\",\"version\":\"" CL_MCP_VERSION "\"}"

#endif
