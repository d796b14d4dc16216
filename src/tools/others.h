/*
 * What other clients of the same owner evaluated in a session since a client's last call there. A client is
 * known by its connection; those that send each request by itself are not told apart and hear nothing.
 */
#ifndef TOOLS_OTHERS_H
#define TOOLS_OTHERS_H

#include <stddef.h>
#include <stdint.h>

struct others;
struct strbuf;

/* So many evaluations are remembered, and so many clients in so many sessions; the oldest are forgotten. */
#define OTHERS_EVALUATIONS 50
#define OTHERS_CLIENTS 50

struct others *others_new(void);
void others_free(struct others *others);

/* others_evaluated(others, client, session, code, len): ${client}, a number, has evaluated this; copied. */
void others_evaluated(struct others *others, uint64_t client, const char *session, const char *code,
                      size_t len);

/* others_tell(others, client, session, out): append what others evaluated in ${session} since this was last
 * called for ${client} there; nothing if they did not, and the first time. */
void others_tell(struct others *others, uint64_t client, const char *session, struct strbuf *out);

#endif
