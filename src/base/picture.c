/*
 * Responsible for reading the headers of pictures. Each function gets all bytes of a file, which may be
 * hostile, and reads only what it has compared with their number.
 */
#include "base/picture.h"

#include <string.h>

#define LONGEST_SIDE 8000 /* pixels, which models accept */

static uint32_t big(const unsigned char *p, size_t count)
{
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++)
        n = n << 8 | p[i];
    return n;
}

static uint32_t little(const unsigned char *p, size_t count)
{
    uint32_t n = 0;
    for (size_t i = count; i > 0; i--)
        n = n << 8 | p[i - 1];
    return n;
}

static bool is_at(const unsigned char *p, const char *text)
{
    return memcmp(p, text, strlen(text)) == 0;
}

#define PNG_SIGNATURE 8
#define PNG_CHUNK 12 /* its length, type and checksum */

/* Chunks up to IEND, which ends the file. Source: PNG, third edition, sections 5.3 and 11.2.1. */
static bool read_png(const unsigned char *p, size_t len, struct picture *picture)
{
    if (len < PNG_SIGNATURE + PNG_CHUNK + 13 || big(p + 8, 4) != 13 || !is_at(p + 12, "IHDR"))
        return false;
    picture->width = big(p + 16, 4);
    picture->height = big(p + 20, 4);
    bool has_data = false;
    for (size_t at = PNG_SIGNATURE; len - at >= PNG_CHUNK;) {
        size_t size = big(p + at, 4), room = len - at - PNG_CHUNK;
        if (size > room)
            return false;
        has_data = has_data || is_at(p + at + 4, "IDAT");
        if (is_at(p + at + 4, "IEND"))
            return size == room && has_data;
        at += PNG_CHUNK + size;
    }
    return false;
}

/* Segments up to the one with the size, a frame header. Source: ITU-T T.81, annex B. */
static bool read_jpeg(const unsigned char *p, size_t len, struct picture *picture)
{
    for (size_t at = 2; len - at >= 4 && p[at] == 0xff;) {
        unsigned marker = p[at + 1];
        size_t size = big(p + at + 2, 2);
        if (marker == 0xff) { /* a fill byte */
            at++;
            continue;
        }
        bool is_frame =
            marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xda) || size < (is_frame ? 8 : 2) ||
            size > len - at - 2)
            return false;
        if (is_frame) {
            picture->height = big(p + at + 5, 2);
            picture->width = big(p + at + 7, 2);
            return p[len - 2] == 0xff && p[len - 1] == 0xd9;
        }
        at += 2 + size;
    }
    return false;
}

/* The screen and its colours. Source: GIF89a, sections 18 and 27. */
static bool read_gif(const unsigned char *p, size_t len, struct picture *picture)
{
    if (len < 14 || (!is_at(p, "GIF87a") && !is_at(p, "GIF89a")))
        return false;
    picture->width = little(p + 6, 2);
    picture->height = little(p + 8, 2);
    size_t colours = (p[10] & 0x80) != 0 ? (size_t)6 << (p[10] & 7) : 0;
    return len > 13 + colours && p[len - 1] == ';';
}

/* The first chunk of the container. Source: RFC 9649, sections 2.3 to 2.7. */
static bool read_webp(const unsigned char *p, size_t len, struct picture *picture)
{
    if (len < 30 || !is_at(p + 8, "WEBP") || little(p + 4, 4) != len - 8 || little(p + 16, 4) > len - 20)
        return false;
    if (is_at(p + 12, "VP8 ") && is_at(p + 23, "\x9d\x01\x2a")) {
        picture->width = little(p + 26, 2) & 0x3fff;
        picture->height = little(p + 28, 2) & 0x3fff;
    } else if (is_at(p + 12, "VP8L") && p[20] == 0x2f) {
        picture->width = (little(p + 21, 4) & 0x3fff) + 1;
        picture->height = (little(p + 21, 4) >> 14 & 0x3fff) + 1;
    } else if (is_at(p + 12, "VP8X")) {
        picture->width = little(p + 24, 3) + 1;
        picture->height = little(p + 27, 3) + 1;
    } else {
        return false;
    }
    return true;
}

bool picture_read(const unsigned char *bytes, size_t len, struct picture *picture)
{
    static const struct {
        const char *signature, *type;
        bool (*read)(const unsigned char *p, size_t len, struct picture *picture);
    } formats[] = {
        {"\x89PNG\r\n\x1a\n", "image/png", read_png},
        {"\xff\xd8\xff", "image/jpeg", read_jpeg},
        {"GIF8", "image/gif", read_gif},
        {"RIFF", "image/webp", read_webp},
    };
    if (len < PNG_SIGNATURE || len > PICTURE_MOST_BYTES)
        return false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!is_at(bytes, formats[i].signature))
            continue;
        picture->type = formats[i].type;
        return formats[i].read(bytes, len, picture) && picture->width > 0 && picture->height > 0 &&
               picture->width <= LONGEST_SIDE && picture->height <= LONGEST_SIDE;
    }
    return false;
}
