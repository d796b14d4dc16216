/*
 * STRBUF_TEST(out, test): a case with an empty buffer ${out}, which is freed behind it.
 */
#ifndef UNIT_STRBUF_TEST_H
#define UNIT_STRBUF_TEST_H

#include "../cases.h"
#include "base/strbuf.h"

static inline int strbuf_set_up(void **state)
{
    struct strbuf *out = calloc(1, sizeof *out);
    strbuf_init(out, 0);
    *state = out;
    return 0;
}

static inline int strbuf_tear_down(void **state)
{
    strbuf_fini(*state);
    free(*state);
    return 0;
}

#define STRBUF_TEST(out, test) TEST_WITH(struct strbuf, out, test, strbuf_set_up, strbuf_tear_down)

#endif
