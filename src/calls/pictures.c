/*
 * Responsible for the pictures in replies, and for which clients get none.
 */
#include "calls/pictures.h"

#include <string.h>

#include "base/memory.h"
#include "base/picture.h"
#include "base/text.h"
#include "calls/call.h"
#include "calls/tool_call.h"
#include "report/reply.h"
#include "session/session.h"

/* Clients that pass only text on to their model. Source: mcp--parse-tool-call-result in mcp.el. */
static const char *const text_only[] = {"mcp-emacs"};

void pictures_ask(struct tool_call *call)
{
    const struct author *author = &call->options.author;
    bool shows = author->kind == AUTHOR_AGENT;
    for (size_t i = 0; i < sizeof text_only / sizeof *text_only; i++)
        shows = shows && strcmp(author->name, text_only[i]) != 0;
    if (shows)
        call_write_flag(call, "pictures", true);
}

/* The bytes that the Lisp has sent as characters up to U+00FF, each of one or two bytes of UTF-8. ${bytes}
 * has room for ${len}. Returns their number; 0 if there are others. */
static size_t decode(const char *text, size_t len, unsigned char *bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned c = (unsigned char)text[i];
        if (c > 0xc3 || (c >= 0x80 && i + 1 == len))
            return 0;
        bytes[count++] = (unsigned char)(c < 0x80 ? c : (c & 3) << 6 | ((unsigned char)text[++i] & 0x3f));
    }
    return count;
}

void pictures_take(struct tool_call *call, const struct outcome *o)
{
    struct picture picture;
    size_t len = 0;
    const char *text = o->kind == OUTCOME_OK ? sexp_string(reply_get(o->reply, "picture"), &len) : NULL;
    if (text == NULL || len > 2 * PICTURE_MOST_BYTES)
        return;
    unsigned char *bytes = xcalloc(len + 1, 1);
    size_t count = decode(text, len, bytes);
    if (picture_read(bytes, count, &picture)) {
        text_write_base64(&call->picture, bytes, count);
        call->picture_type = picture.type;
        strbuf_addf(&call->text, "A picture, %s, %u by %u pixels, is beside this text.", picture.type,
                    (unsigned)picture.width, (unsigned)picture.height);
    }
    free(bytes);
}
