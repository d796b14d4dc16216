/*
 * Responsible for creating and freeing operations.
 */
#include "session/records/operation.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

#define MOST_BYTES ((size_t)128 << 20)
#define OWN_WEIGHT (16u << 10) /* so that it bounds their number, too */
#define LONGEST_WHAT 200
#define LONGEST_NAME 100 /* in the description of an operation that another waits behind */

struct operation *operation_new(struct session *s, enum operation_kind kind, operation_done *done, void *arg)
{
    struct operation *op = xcalloc(1, sizeof *op);
    op->session = s;
    op->kind = kind;
    op->asked.done = done;
    op->asked.arg = arg;
    op->what.limit = LONGEST_WHAT;
    list_init(&op->node);
    return op;
}

bool operation_has_room(size_t total, const struct operation_options *options)
{
    return total == 0 || total + OWN_WEIGHT + options->request->len + options->code_len <= MOST_BYTES;
}

void operation_weigh(struct operation *op, size_t *total)
{
    op->weight = OWN_WEIGHT + op->request.len + op->code.len;
    op->total = total;
    *total += op->weight;
}

struct operation *operation_new_run(struct session *s, const struct operation_options *options)
{
    struct operation *op = operation_new(s, options->kind, options->done, options->arg);
    op->asked = *options;
    op->asked.request = NULL;
    op->asked.what = op->asked.code = op->asked.package = NULL;
    op->sequence = options->sequence;
    op->request = *options->request;
    *options->request = (struct strbuf){0};
    size_t len = options->what == NULL ? 0 : strlen(options->what);
    if (len > 0)
        strbuf_add(&op->what, options->what,
                   utf8_floor(options->what, len, len > LONGEST_WHAT ? LONGEST_WHAT : len));
    op->has_code = options->code != NULL && options->keeps_record;
    if (options->code != NULL)
        strbuf_add(&op->code, options->code, options->code_len);
    op->package = xstrdup(options->package);
    return op;
}

void operation_free(struct operation *op)
{
    list_remove(&op->node);
    if (op->total != NULL)
        *op->total -= op->weight;
    strbuf_fini(&op->request);
    strbuf_fini(&op->what);
    strbuf_fini(&op->code);
    strbuf_fini(&op->behind);
    free(op->package);
    free(op->name);
    free(op);
}

void operation_add_name(const struct operation *op, struct strbuf *out)
{
    const char *what = strbuf_string(&op->what);
    size_t line = strcspn(what, "\n");
    if (op->number > 0)
        strbuf_addf(out, "evaluation %llu: ", (unsigned long long)op->number);
    if (line > LONGEST_NAME)
        line = utf8_floor(what, line, LONGEST_NAME);
    strbuf_add(out, what, line);
    if (what[line] != '\0')
        strbuf_adds(out, " ...");
}
