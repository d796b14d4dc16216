/*
 * A batch: the answers to several messages that came as one array. They go out together, when the last is
 * there.
 */
#ifndef MCP_BATCH_H
#define MCP_BATCH_H

struct batch;
struct outbox;
struct strbuf;
struct transport_origin;

/*
 * batch_new(outbox, origin):
 * A batch without answers, held once: by the handling of its messages.
 *
 * outbox      borrowed, outlives the batch
 * origin      borrowed, likewise; NULL: the transport has none
 */
struct batch *batch_new(struct outbox *outbox, struct transport_origin *origin);

/* batch_hold(b): one more answer is to come. batch_release(b): one less; with the last, the answers are sent,
 * if there are any, and ${b} is freed. */
void batch_hold(struct batch *b);
void batch_release(struct batch *b);

/* batch_begin_answer(b): where to write the next answer, behind the others. Borrowed. */
struct strbuf *batch_begin_answer(struct batch *b);

/* batch_answer(b): where the answer begun last is written. Borrowed. */
struct strbuf *batch_answer(struct batch *b);

#endif
