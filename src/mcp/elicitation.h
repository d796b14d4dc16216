/*
 * Questions to the person at the client: elicitation/create, a request of the server's, in the revisions that
 * have it. A question belongs to a request of the client's and ends with it.
 */
#ifndef MCP_ELICITATION_H
#define MCP_ELICITATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct client;
struct elicitation;
struct request;

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

/* elicitation_add_params(out, prompt): append the members of the params of elicitation/create.
 * elicitation_read(result, on_answer, arg): call ${on_answer} for a result of it, borrowed; NULL: an error.
 */
struct strbuf;
void elicitation_add_params(struct strbuf *out, const char *prompt);
void elicitation_read(const json_t *result, elicitation_answered *on_answer, void *arg);

/* elicitation_withdraw(e): tell the client that no answer is needed any more; NULL does nothing. */
void elicitation_withdraw(struct elicitation *e);

/* elicitation_take(client, response): whether ${response}, an object, borrowed, answers an open question,
 * which then has been delivered. */
bool elicitation_take(struct client *client, const json_t *response);

/* elicitation_end(client): the client sends nothing any more: all questions count as declined. */
void elicitation_end(struct client *client);

#endif
