/*
 * Frames of the agent protocol: eight hexadecimal digits of length, then the payload. Pure.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>

struct strbuf;

#define FRAME_HEADER_LEN 8

enum frame_status { FRAME_COMPLETE, FRAME_PARTIAL, FRAME_MALFORMED };

struct frame_result {
    enum frame_status status;
    const char *payload; /* FRAME_COMPLETE: points into the input */
    size_t payload_len;
    size_t consumed; /* FRAME_COMPLETE: header and payload */
};

/* frame_scan(bytes, len): whether ${bytes} starts with a whole frame. A payload over SEXP_MAX_PAYLOAD is
 * malformed. */
struct frame_result frame_scan(const char *bytes, size_t len);

/*
 * frame_begin(out): append an empty header and return its offset. frame_end(out, at): fill in the length of
 * everything added since. If the frame exceeds the cap of ${out} or SEXP_MAX_PAYLOAD, frame_end removes it
 * and leaves is_overflown set.
 */
size_t frame_begin(struct strbuf *out);
void frame_end(struct strbuf *out, size_t at);

#endif
