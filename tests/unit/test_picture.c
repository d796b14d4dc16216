/*
 * What is a picture: real files, and files that only begin or end as one.
 */
#include <stdlib.h>
#include <string.h>

#include "../cases.h"
#include "base/memory.h"
#include "base/picture.h"

#define BYTES(text) (const unsigned char *)(text), sizeof(text) - 1

/* Each of 3 by 2 pixels. */
#define PNG_HEADER "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0\x12\x16\xf1\x4d"
#define PNG_DATA "\0\0\0\x0bIDATx\x9c\x63\x60\x40\x05\0\0\x0e\0\x01\x12\x34\x56\x78"
#define PNG_END "\0\0\0\0IEND\xae\x42\x60\x82"
#define JPEG_FRAME "\xff\xc0\0\x0b\x08\0\x02\0\x03\x01\x01\x11\0"
#define JPEG                                                                                                 \
    "\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xff" JPEG_FRAME                              \
    "\xff\xda\0\x08\x01\x01\0\0?\0?\xff\xd9"
#define GIF "GIF89a\x03\0\x02\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x03\0\x02\0\0\x02\x02\x84\x51\0;"
#define WEBP(size, chunk) "RIFF" size "\0\0\0WEBP" chunk
#define LOSSY WEBP("\x16", "VP8 \x0a\0\0\0\x30\x01\0\x9d\x01\x2a\x03\0\x02\0")
#define LOSSLESS WEBP("\x16", "VP8L\x0a\0\0\0\x2f\x02\x40\0\0\0\0\0\0\0")
#define EXTENDED WEBP("\x16", "VP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0")

static const struct {
    const unsigned char *bytes;
    size_t len;
    const char *type;
} pictures[] = {
    {BYTES(PNG_HEADER PNG_DATA PNG_END), "image/png"},
    {BYTES(JPEG), "image/jpeg"},
    {BYTES(GIF), "image/gif"},
    {BYTES(LOSSY), "image/webp"},
    {BYTES(LOSSLESS), "image/webp"},
    {BYTES(EXTENDED), "image/webp"},
};

#define COUNT (sizeof pictures / sizeof *pictures)

TEST(a_picture_has_its_type_and_its_size)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct picture p;
        if (!picture_read(pictures[i].bytes, pictures[i].len, &p))
            fail_msg("picture %zu is not recognized", i);
        assert_string_equal(p.type, pictures[i].type);
        assert_int_equal(p.width, 3);
        assert_int_equal(p.height, 2);
    }
}

/* In memory of that size, so that the sanitizers see a byte that is read beyond it. */
static bool reads(const unsigned char *bytes, size_t len)
{
    struct picture p;
    unsigned char *copy = xcalloc(len + 1, 1);
    unsigned char *end = copy + 1;
    memcpy(end, bytes, len);
    bool ok = picture_read(end, len, &p);
    free(copy);
    return ok;
}

TEST(no_beginning_of_a_picture_is_one)
{
    for (size_t i = 0; i < COUNT; i++)
        for (size_t len = 0; len < pictures[i].len; len++)
            if (reads(pictures[i].bytes, len))
                fail_msg("the first %zu bytes of picture %zu", len, i);
}

TEST(headers_that_contradict_themselves_are_refused)
{
    static const struct {
        const unsigned char *bytes;
        size_t len;
    } rows[] = {
        {BYTES(PNG_HEADER PNG_END)},                                         /* no data */
        {BYTES(PNG_HEADER PNG_DATA PNG_END "x")},                            /* something behind its end */
        {BYTES("\x89PNG\r\n\x1a\n" PNG_DATA PNG_END)},                       /* no header */
        {BYTES(PNG_HEADER "\xff\xff\xff\xffIDAT" PNG_END)},                  /* longer than the file */
        {BYTES(PNG_HEADER "\0\0\0\x0cIDAT" PNG_END)},                        /* over the end of the file */
        {BYTES("\xff\xd8\xff\xd9")},                                         /* ends at once */
        {BYTES("\xff\xd8" JPEG_FRAME "\xff\xda\0\x08")},                     /* no end */
        {BYTES("\xff\xd8\xff\xda\0\x02" JPEG_FRAME "\xff\xd9")},             /* pixels before the size */
        {BYTES("\xff\xd8\xff\xe0\0\x01" JPEG_FRAME "\xff\xd9")},             /* shorter than its length */
        {BYTES("\xff\xd8\xff\xe0\xff\xff" JPEG_FRAME "\xff\xd9")},           /* longer than the file */
        {BYTES("\xff\xd8\xff\xc0\0\x04\x08\0\xff\xd9\xff\xd9")},             /* a size that is cut */
        {BYTES("\xff\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")}, /* nothing but fill bytes */
        {BYTES("GIF89a\x03\0\x02\0\x87\0\0;")},                              /* colours that are not there */
        {BYTES("GIF80a\x03\0\x02\0\0\0\0,;")},                               /* no such version */
        {BYTES(WEBP("\x17", "VP8 \x0a\0\0\0\x30\x01\0\x9d\x01\x2a\x03\0\x02\0"))}, /* another length */
        {BYTES(
            WEBP("\x16", "VP8 \x0b\0\0\0\x30\x01\0\x9d\x01\x2a\x03\0\x02\0"))}, /* a chunk beyond the end */
        {BYTES(WEBP("\x16", "VP8 \x0a\0\0\0\x30\x01\0\x9d\x01\x2b\x03\0\x02\0"))}, /* no start code */
        {BYTES(WEBP("\x16", "VP8?\x0a\0\0\0\x2f\x02\x40\0\0\0\0\0\0\0"))},         /* no such chunk */
        {BYTES("RIFF\x16\0\0\0WAVEfmt \x0a\0\0\0\0\0\0\0\0\0\0\0\0\0")},           /* sound */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (reads(rows[i].bytes, rows[i].len))
            fail_msg("row %zu was taken for a picture", i);
}

TEST(sides_are_bounded_and_none_is_empty)
{
    static const struct {
        size_t picture, at, len;
    } sides[] = {{0, 16, 4}, {0, 20, 4}, {1, 27, 2}, {1, 29, 2},
                 {2, 6, 2},  {2, 8, 2},  {3, 26, 2}, {3, 28, 2}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        unsigned char bytes[200];
        size_t len = pictures[sides[i].picture].len;
        for (unsigned value = 0; value <= 0xff; value += 0xff) {
            memcpy(bytes, pictures[sides[i].picture].bytes, len);
            memset(bytes + sides[i].at, (int)value, sides[i].len);
            if (reads(bytes, len))
                fail_msg("side %zu of %u", i, value);
        }
    }
}

TEST(a_picture_has_at_most_256_kib)
{
    size_t start = sizeof PNG_HEADER - 1, end = sizeof PNG_END - 1;
    unsigned char *bytes = xcalloc(PICTURE_MOST_BYTES + 1, 1);
    for (size_t extra = 0; extra <= 1; extra++) {
        size_t len = PICTURE_MOST_BYTES + extra, size = len - start - end - 12;
        memcpy(bytes, PNG_HEADER, start);
        const unsigned char chunk[] = {
            0,  (unsigned char)(size >> 16), (unsigned char)(size >> 8), (unsigned char)size, 'I', 'D', 'A',
            'T'};
        memcpy(bytes + start, chunk, sizeof chunk);
        memcpy(bytes + len - end, PNG_END, end);
        assert_int_equal(reads(bytes, len), extra == 0);
    }
    free(bytes);
}

/* A wrong byte anywhere leads to a picture or to none, and to no byte beyond the file. */
TEST(any_byte_may_be_wrong)
{
    for (size_t i = 0; i < COUNT; i++)
        for (size_t at = 0; at < pictures[i].len; at++)
            for (unsigned value = 0; value <= 0xff; value++) {
                unsigned char bytes[200];
                memcpy(bytes, pictures[i].bytes, pictures[i].len);
                bytes[at] = (unsigned char)value;
                reads(bytes, pictures[i].len);
            }
}
