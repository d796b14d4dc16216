/*
 * Frames: hexadecimal digits of length, then the payload; of the agent protocol, and of Swank and Slynk.
 * Pure.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

struct frame_format {
    size_t digits;
    bool has_capitals; /* A to F are digits, too */
    size_t most;       /* the longest payload, in bytes */
};

#define FRAME_MOST_DIGITS 8

extern const struct frame_format frame_agent, frame_swank;

enum frame_status { FRAME_COMPLETE, FRAME_PARTIAL, FRAME_MALFORMED };

struct frame_result {
    enum frame_status status;
    const char *payload; /* FRAME_COMPLETE: points into the input */
    size_t payload_len;
    size_t consumed; /* FRAME_COMPLETE: header and payload */
};

/* frame_scan(format, bytes, len): whether ${bytes} starts with a whole frame. A payload over ${format->most}
 * is malformed. */
struct frame_result frame_scan(const struct frame_format *format, const char *bytes, size_t len);

/*
 * frame_begin(format, out): append an empty header and return its offset. frame_end(format, out, at): fill in
 * the length of everything added since. If the frame exceeds the cap of ${out} or ${format->most}, frame_end
 * removes it and leaves is_overflown set.
 */
size_t frame_begin(const struct frame_format *format, struct strbuf *out);
void frame_end(const struct frame_format *format, struct strbuf *out, size_t at);

#endif
