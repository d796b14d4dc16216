/*
 * Counts the bytes that are allocated, which may be fewer than were printed.
 */
#include "session/output/output_budget.h"

#include "base/check.h"

void output_budget_init(struct output_budget *b, struct output_budget *parent, size_t most)
{
    *b = (struct output_budget){.parent = parent, .most = most};
    list_init(&b->kept);
}

void kept_output_init(struct kept_output *kept)
{
    *kept = (struct kept_output){0};
    list_init(&kept->node);
    capture_init(&kept->capture);
}

static void count(struct output_budget *b, size_t more, size_t less)
{
    for (; b != NULL; b = b->parent) {
        CHECK(b->used + more >= less);
        b->used += more - less;
    }
}

void kept_output_drop(struct kept_output *kept)
{
    if (kept->reference == 0)
        return;
    count(kept->budget, 0, capture_bytes(&kept->capture));
    list_remove(&kept->node);
    capture_fini(&kept->capture);
    kept->reference = 0;
}

static bool is_full(const struct output_budget *b)
{
    for (; b != NULL; b = b->parent)
        if (b->used > b->most)
            return true;
    return false;
}

void output_budget_keep(struct output_budget *b, struct kept_output *kept, struct capture *capture,
                        int reference)
{
    CHECK(kept->reference == 0);
    capture_move(&kept->capture, capture);
    kept->budget = b;
    kept->reference = reference;
    list_append(&b->kept, &kept->node);
    count(b, capture_bytes(&kept->capture), 0);
    while (is_full(b) && b->kept.next != &kept->node)
        kept_output_drop(list_entry(b->kept.next, struct kept_output, node));
}
