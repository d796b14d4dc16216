/*
 * What a Swank or Slynk server sends: packets are found in it, and those that can be read are answered with
 * messages that can be read, too, about the thread and the tag that they name.
 */
#include "fuzz.h"
#include "base/strbuf.h"
#include "join/swank.h"
#include "wire/frame.h"
#include "wire/sexp.h"

static void check_answer(const struct sexp *message)
{
    struct strbuf answer;
    struct err err;
    strbuf_init(&answer, 0);
    if (swank_answer(message, &answer)) {
        struct sexp_document *read = sexp_parse(answer.bytes, answer.len, &err);
        CHECK(read != NULL);
        CHECK(sexp_count(sexp_root(read)) >= 3);
        sexp_document_free(read);
    } else {
        CHECK(answer.len == 0);
    }
    strbuf_fini(&answer);
}

FUZZ(bytes, size)
{
    size_t at = 0;
    struct err err;
    while (at < size) {
        struct frame_result r = frame_scan(&frame_swank, bytes + at, size - at);
        if (r.status != FRAME_COMPLETE)
            break;
        CHECK(r.consumed == frame_swank.digits + r.payload_len && r.consumed <= size - at);
        struct sexp_document *message = sexp_parse(r.payload, r.payload_len, &err);
        if (message != NULL)
            check_answer(sexp_root(message));
        sexp_document_free(message);
        at += r.consumed;
    }
}
