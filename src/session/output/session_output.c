/*
 * A session's output: two captures for the operation that runs, one for output between operations, and a ring
 * of kept outputs.
 */
#include "session/output/session_output.h"

#define LONGEST_LINE 200
/* No client may ever ask for output between operations, and any number of sessions can have some. */
#define PART_BETWEEN ((size_t)64 << 10)

void session_output_init(struct session_output *o, struct output_budget *budget)
{
    *o = (struct session_output){.budget = budget};
    capture_init(&o->streams[0]);
    capture_init(&o->streams[1]);
    capture_init_small(&o->between, PART_BETWEEN);
    o->streams[0].is_printed = o->streams[1].is_printed = o->between.is_printed = true;
    for (size_t i = 0; i < SESSION_OUTPUT_KEPT; i++)
        kept_output_init(&o->kept[i]);
}

void session_output_fini(struct session_output *o)
{
    session_output_clear(o);
    capture_fini(&o->between);
    for (size_t i = 0; i < SESSION_OUTPUT_KEPT; i++)
        kept_output_drop(&o->kept[i]);
}

void session_output_add(struct session_output *o, bool is_running, enum worker_stream stream,
                        const char *bytes, size_t len)
{
    capture_add(is_running ? &o->streams[stream] : &o->between, bytes, len);
    o->last = stream;
}

void session_output_clear(struct session_output *o)
{
    capture_fini(&o->streams[0]);
    capture_fini(&o->streams[1]);
}

uint64_t session_output_progress(const struct session_output *o, struct strbuf *line, bool redacts)
{
    capture_last_line(&o->streams[o->last], line, LONGEST_LINE, redacts);
    return session_output_printed(o);
}

uint64_t session_output_printed(const struct session_output *o)
{
    return o->streams[0].total + o->streams[1].total;
}

int session_output_keep(struct session_output *o, struct capture *capture)
{
    int reference = ++o->last_reference;
    struct kept_output *slot = &o->kept[reference % SESSION_OUTPUT_KEPT];
    kept_output_drop(slot);
    output_budget_keep(o->budget, slot, capture, reference);
    return reference;
}

const struct capture *session_output_kept(const struct session_output *o, int reference)
{
    if (reference <= 0 || o->kept[reference % SESSION_OUTPUT_KEPT].reference != reference)
        return NULL;
    return &o->kept[reference % SESSION_OUTPUT_KEPT].capture;
}
