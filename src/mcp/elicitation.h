/*
 * Questions to the person at the client: elicitation/create, a request of the server's, in the revisions that
 * have it. A question belongs to a request of the client's and ends with it.
 */
#ifndef MCP_ELICITATION_H
#define MCP_ELICITATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct elicitation;
struct request;
struct strbuf;
struct tool_call;

/* elicitation_is_possible(r): the client of ${r} can be asked while ${r} is under way. Only while the message
 * is being handled with which ${r} came. */
bool elicitation_is_possible(const struct request *r);

enum elicitation_action { ELICITATION_ACCEPTED, ELICITATION_DECLINED, ELICITATION_CANCELLED };

/* ${line} is borrowed, NULL unless accepted. The question is freed before the call. */
typedef void elicitation_answered(void *arg, enum elicitation_action action, const char *line, size_t len);

/*
 * elicitation_ask(r, prompt, on_answer, arg):
 * Ask for a line of text.
 *
 * prompt      borrowed; empty: none
 * Returns     given to elicitation_withdraw(), until ${on_answer} is called; NULL: the client sends no more
 */
struct elicitation *elicitation_ask(struct request *r, const char *prompt, elicitation_answered *on_answer,
                                    void *arg);

/* elicitation_add_inputs(out, prompt): append an object of inputRequests with this question.
 * elicitation_input(responses): the answer to it in an object of inputResponses, borrowed; NULL: none. */
void elicitation_add_inputs(struct strbuf *out, const char *prompt);
const json_t *elicitation_input(const json_t *responses);

/* elicitation_pass_on(call, question, action, line, len): give the code of ${call} what the person answered.
 * Declining leaves the code at the end of its input; cancelling stops it. If it no longer waits for this
 * answer, nothing happens. */
void elicitation_pass_on(struct tool_call *call, int64_t question, enum elicitation_action action,
                         const char *line, size_t len);

/* elicitation_read(result, on_answer, arg): call ${on_answer} for a result of elicitation/create, borrowed;
 * NULL: an error. */
void elicitation_read(const json_t *result, elicitation_answered *on_answer, void *arg);

/* elicitation_withdraw(e): tell the client that the answer is no longer needed; NULL does nothing. */
void elicitation_withdraw(struct elicitation *e);

/* elicitation_take(client, response): whether ${response}, an object, borrowed, answers an open question,
 * which then has been delivered. */
bool elicitation_take(struct client *client, const json_t *response);

/* elicitation_end(client): the client sends nothing more: all questions count as declined. */
void elicitation_end(struct client *client);

#endif
