/*
 * Recognizing pictures that clients can show to a model: PNG, JPEG, GIF and WebP.
 */
#ifndef BASE_PICTURE_H
#define BASE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of its file. Models are sent pictures in full. */
#define PICTURE_MOST_BYTES ((size_t)256 << 10)

struct picture {
    const char *type; /* "image/png"; constant */
    uint32_t width, height;
};

/*
 * picture_read(bytes, len, picture):
 * Read the header of a picture. Its pixels are not decoded, but the file must also end as its format demands:
 * a service that refuses a picture which was cut off refuses the whole conversation with it.
 *
 * Returns     false if ${bytes} are no complete picture of at most PICTURE_MOST_BYTES and 8,000 by 8,000
 * pixels
 */
bool picture_read(const unsigned char *bytes, size_t len, struct picture *picture);

#endif
