/*
 * A batch: the answers to several messages that arrived as one array. They are sent together once the last is
 * complete.
 */
#ifndef MCP_BATCH_H
#define MCP_BATCH_H

#include <stdbool.h>

struct batch;
struct client;
struct strbuf;
struct transport_origin;

/*
 * batch_new(client, origin):
 * A batch without answers. The handling of its messages holds it once.
 *
 * client      borrowed, outlives the batch
 * origin      borrowed, likewise; NULL: the transport has none
 */
struct batch *batch_new(struct client *client, struct transport_origin *origin);

/* batch_hold(b): one more answer is pending. batch_release(b): one less; after the last, send the answers,
 * if there are any, and free ${b}. */
void batch_hold(struct batch *b);
void batch_release(struct batch *b);

/* Why a batch gets no more answers. */
#define BATCH_IS_FULL "the answers to this batch exceed 16 MiB: send fewer requests in a batch"

/* batch_is_full(b): they have. What has not begun is refused. */
bool batch_is_full(const struct batch *b);

/* batch_add(b, answer): add a whole answer, borrowed. */
void batch_add(struct batch *b, const struct strbuf *answer);

#endif
