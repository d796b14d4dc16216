/*
 * What other clients of the same owner evaluated in a session since a client's last call there. A client is
 * identified by its connection; clients that send each request on its own are not told apart, and get no such
 * reports.
 */
#ifndef CALLS_OTHERS_H
#define CALLS_OTHERS_H

#include <stddef.h>
#include <stdint.h>

struct others;
struct strbuf;

/* The number of evaluations remembered, and of clients in sessions; the oldest are forgotten. */
#define OTHERS_EVALUATIONS 50
#define OTHERS_CLIENTS 50

/* others_new(): nothing was evaluated yet; given. others_free(others). */
struct others *others_new(void);
void others_free(struct others *others);

/* others_evaluated(others, client, session, code, len): client number ${client} has evaluated ${code},
 * which is copied. */
void others_evaluated(struct others *others, uint64_t client, const char *session, const char *code,
                      size_t len);

/* others_tell(others, client, session, out): append what others evaluated in ${session} since the last
 * call of this function for ${client} there; nothing on the first call. */
void others_tell(struct others *others, uint64_t client, const char *session, struct strbuf *out);

#endif
