/*
 * What other clients of the same owner evaluated in a session since a client's last call there. A client is
 * identified by its connection; clients that send each request on its own are not told apart, and get no such
 * reports.
 */
#ifndef CALLS_OTHER_CLIENTS_H
#define CALLS_OTHER_CLIENTS_H

#include <stddef.h>
#include <stdint.h>

struct other_clients;
struct strbuf;

/* The number of evaluations remembered, and of clients in sessions; the oldest are forgotten. */
#define OTHER_CLIENTS_EVALUATIONS 50
#define OTHER_CLIENTS_MOST 50

/* other_clients_new(): nothing was evaluated yet; given. other_clients_free(others). */
struct other_clients *other_clients_new(void);
void other_clients_free(struct other_clients *others);

/* other_clients_evaluated(others, client, session, code, len): client number ${client} has evaluated ${code},
 * which is copied. */
void other_clients_evaluated(struct other_clients *others, uint64_t client, const char *session,
                             const char *code, size_t len);

/* other_clients_tell(others, client, session, out): append what others evaluated in ${session} since the last
 * call of this function for ${client} there; nothing on the first call. */
void other_clients_tell(struct other_clients *others, uint64_t client, const char *session,
                        struct strbuf *out);

#endif
