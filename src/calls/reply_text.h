/*
 * The text with which a finished call is answered, and the record of it in the audit log.
 */
#ifndef CALLS_REPLY_TEXT_H
#define CALLS_REPLY_TEXT_H

#include <jansson.h>

struct strbuf;
struct tool_call;

/* reply_text_complete(call): to the text that the tool has written add what its session and other clients
 * have to tell; then, with --redact, take out credentials, and cut it to the limits of the session. */
void reply_text_complete(struct tool_call *call);

/* reply_text_record(call, arguments, outcome): with --audit, record it; ${outcome} as in struct audit_call.
 */
void reply_text_record(const struct tool_call *call, const json_t *arguments, const char *outcome);

/* reply_text_redact(call, text): mark the lines that only look like a section (report/section.h) and, with
 * --redact, leave out what looks like a credential. All text of a call goes through it. */
void reply_text_redact(const struct tool_call *call, struct strbuf *text);

#endif
