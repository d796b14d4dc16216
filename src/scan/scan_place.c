/*
 * Lines, columns and characters of text that may not be UTF-8. A line ends with a line feed; a byte
 * that is not part of a well-formed UTF-8 sequence counts as a character.
 */
#include "scan/scan_place.h"

#include <string.h>

size_t scan_place_char_len(const char *text, size_t len, size_t offset)
{
    const unsigned char *bytes = (const unsigned char *)text + offset;
    size_t count = bytes[0] < 0xc2 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : bytes[0] < 0xf5 ? 4 : 1;
    if (count > len - offset)
        return 1;
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 1;
    }
    /* Overlong forms, surrogates, and values above U+10FFFF. */
    if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
        (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
        return 1;
    return count;
}

struct scan_place scan_place_of(const char *text, size_t len, size_t offset)
{
    struct scan_place place = {.offset = offset, .line = 1, .column = 1};
    size_t at = 0;
    while (at < offset) {
        const char *newline = memchr(text + at, '\n', offset - at);
        if (newline == NULL)
            break;
        place.line++;
        at = (size_t)(newline - text) + 1;
    }
    while (at < offset) {
        at += scan_place_char_len(text, len, at);
        place.column++;
    }
    return place;
}

size_t scan_place_copy_char(const char *text, size_t len, size_t offset, char *out)
{
    size_t count = scan_place_char_len(text, len, offset);
    unsigned char byte = (unsigned char)text[offset];
    /* U+0080 to U+009F are control characters too. */
    bool is_control = byte < 0x20 || byte == 0x7f || (count == 1 && byte >= 0x80) ||
                      (byte == 0xc2 && (unsigned char)text[offset + 1] < 0xa0);

    if (!is_control) {
        memcpy(out, text + offset, count);
        return count;
    }
    out[0] = byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f' ? ' ' : '?';
    return 1;
}

bool scan_place_is_column_one(const char *text, size_t offset)
{
    return offset == 0 || text[offset - 1] == '\n' || (offset == 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\f';
}

bool scan_place_starts_its_line(const char *text, size_t offset)
{
    while (offset > 0 && is_blank(text[offset - 1]))
        offset--;
    return scan_place_is_column_one(text, offset);
}

size_t scan_place_ruler_move(struct scan_place_ruler *ruler, const char *text, size_t len, size_t offset)
{
    while (ruler->at < offset) {
        if (text[ruler->at] == '\n')
            ruler->column = 0;
        else if (text[ruler->at] == '\t')
            ruler->column = (ruler->column / 8 + 1) * 8;
        else
            ruler->column++;
        ruler->at += scan_place_char_len(text, len, ruler->at);
    }
    return ruler->column;
}

size_t scan_place_indentation(const char *text, size_t len, size_t offset)
{
    struct scan_place_ruler ruler = {.at = offset, .column = 0};
    while (ruler.at > 0 && is_blank(text[ruler.at - 1]))
        ruler.at--;
    return scan_place_ruler_move(&ruler, text, len, offset);
}
