/*
 * The result of a tool as the result of tools/call, in the form of each revision.
 */
#ifndef MCP_TOOL_ANSWER_H
#define MCP_TOOL_ANSWER_H

#include <stdbool.h>

struct request;
struct revision;
struct strbuf;
struct tool_result;

/* tool_answer_add(out, revision, result): append the members of a CallToolResult to ${out}. */
void tool_answer_add(struct strbuf *out, const struct revision *revision, const struct tool_result *result);

/* tool_answer(r, result): answer ${r} with ${result}. tool_answer_error(r, text): with a result that is an
 * error and has this text only. Both return what request_finish() returns. */
bool tool_answer(struct request *r, const struct tool_result *result);
bool tool_answer_error(struct request *r, const char *text);

#endif
