/*
 * The memory budget for outputs that get-output can show: per owner, and for all owners together. An owner
 * who exceeds it loses its own oldest outputs, never those of another owner.
 */
#ifndef SESSION_OUTPUT_OUTPUT_BUDGET_H
#define SESSION_OUTPUT_OUTPUT_BUDGET_H

#include <stddef.h>

#include "base/list.h"
#include "session/output/capture.h"

struct output_budget {
    struct output_budget *parent; /* borrowed; NULL for the budget of all owners */
    size_t used, most;            /* bytes */
    struct list kept;             /* of struct kept_output, the oldest first */
};

struct kept_output {
    struct list node; /* in ${budget->kept} */
    struct output_budget *budget;
    struct capture capture;
    int reference; /* 0: nothing is kept */
};

/* output_budget_init(b, parent, most): ${most} bytes. */
void output_budget_init(struct output_budget *b, struct output_budget *parent, size_t most);

/* output_budget_keep(b, kept, capture, reference): ${capture} is moved into ${kept}, which must be empty.
 * The oldest outputs of ${b} are dropped until it and its parent have room, but never this one. */
void output_budget_keep(struct output_budget *b, struct kept_output *kept, struct capture *capture,
                        int reference);

/* kept_output_init(kept): empty. kept_output_drop(kept): empty it. */
void kept_output_init(struct kept_output *kept);
void kept_output_drop(struct kept_output *kept);

#endif
