/*
 * Responsible for making error records and reading them.
 */
#include "session/records/error_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "lisp/last_words.h"
#include "lisp/worker.h"

#define MOST_CRASH_FRAMES 20

static char *copy_string(const struct sexp *value, const char *fallback)
{
    size_t len;
    const char *s = sexp_string(value, &len);
    if (s == NULL)
        return xstrdup(fallback);
    /* Kept as a C string: a NUL is shown as a symbol, so that the text behind it is not lost. */
    struct strbuf b = {0};
    for (size_t i = 0; i < len; i++)
        s[i] == '\0' ? strbuf_adds(&b, "\u2400") : strbuf_addc(&b, s[i]);
    return b.bytes == NULL ? xstrdup("") : strbuf_steal(&b, NULL);
}

struct error_record *error_record_new(struct sexp_document *document)
{
    struct error_record *r = xcalloc(1, sizeof *r);
    r->document = document;
    r->condition = sexp_root(document);
    r->type = copy_string(sexp_get(r->condition, 2, "type"), "ERROR");
    /* The type is printed on the first line of the report, so it must be one line whatever name the
     * user's class has. */
    for (char *c = r->type; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    r->message = copy_string(sexp_get(r->condition, 2, "message"), "");
    clock_gettime(CLOCK_REALTIME, &r->when);
    return r;
}

size_t error_record_bytes(const struct error_record *r)
{
    return sexp_document_bytes(r->document) + sexp_document_bytes(r->details) + strlen(r->message);
}

void error_record_cannot_be_entered(struct error_record *r, enum fact_kind why, const char *text)
{
    if (r->why_not.kind == FACT_NONE)
        r->why_not = (struct fact){why, .texts = {xstrdup(text)}};
}

void error_record_continued(struct error_record *r)
{
    free((char *)(uintptr_t)r->why_not.texts[0]);
    r->why_not = (struct fact){FACT_CONTINUED};
}

const struct sexp *error_record_restarts(const struct error_record *r)
{
    return r->sequence > 0 && !r->was_left ? sexp_get(r->condition, 2, "restarts") : NULL;
}

const struct fact *error_record_why_not(const struct error_record *r)
{
    static const struct fact none, left = {.kind = FACT_THREAD_LEFT}, not_copied = {.kind = FACT_NOT_COPIED};
    return error_record_is_enterable(r)   ? &none
           : r->why_not.kind != FACT_NONE ? &r->why_not
           : r->standing > 0              ? &left
                                          : &not_copied;
}

bool error_record_is_enterable(const struct error_record *r)
{
    return r->stands_here || error_record_stands(r) || r->snapshot != NULL;
}

bool error_record_is_persons(const struct error_record *r)
{
    return r->condition != NULL && !sexp_is_nil(sexp_get(r->condition, 2, "held"));
}

bool error_record_stands(const struct error_record *r)
{
    return r->standing > 0 && r->standing_in > 0 && *r->process != NULL &&
           r->standing_in == worker_identity(*r->process);
}

void error_record_free(struct error_record *r)
{
    if (r == NULL)
        return;
    CHECK(r->snapshot == NULL); /* error_history.c has seen to it */
    sexp_document_free(r->document);
    sexp_document_free(r->details);
    free((char *)(uintptr_t)r->why_not.texts[0]);
    free(r->thread);
    free(r->type);
    free(r->message);
    free(r->session_note);
    free(r);
}

/* A frame of SBCL's crash backtrace, written as a call without its arguments. False for the evaluator's
 * own frames, which tell the reader nothing. */
static bool write_crash_frame(struct strbuf *out, const char *name, size_t len)
{
    static const char evaluator[] = "SB-INT::SIMPLE-EVAL-IN-LEXENV", foreign[] = "Foreign function ";
    if (len == sizeof evaluator - 1 && memcmp(name, evaluator, len) == 0)
        return false;
    struct strbuf call = {0};
    bool is_foreign = len >= sizeof foreign - 1 && memcmp(name, foreign, sizeof foreign - 1) == 0;
    strbuf_adds(&call, is_foreign ? "" : "(");
    strbuf_add(&call, name, len);
    strbuf_adds(&call, is_foreign ? "" : " ...)");
    sexp_write_open(out);
    sexp_write_string(out, call.bytes, call.len);
    sexp_write_symbol(out, "nil");
    sexp_write_close(out);
    strbuf_fini(&call);
    return true;
}

/* The frames below EVAL are the agent's, and so are functions inside its own, as of handlers of faults.
 * Returns how many frames were written. */
static size_t write_crash_frames(struct strbuf *out, const char *text)
{
    static const char agent[] = "CL-MCP-AGENT::";
    const char *name;
    size_t n = 0, len;
    while (text != NULL && n < MOST_CRASH_FRAMES &&
           (text = last_words_next_frame(text, &name, &len)) != NULL) {
        const char *agents = memmem(name, len, agent, sizeof agent - 1);
        if (agents == name)
            break;
        n += len > 0 && agents == NULL && write_crash_frame(out, name, len);
    }
    return n;
}

struct error_record *error_record_make(const char *type, const char *message, const char *crash_text)
{
    struct strbuf text = {0};
    strbuf_adds(&text, "(1 :error :type");
    sexp_write_string(&text, type, strlen(type));
    strbuf_adds(&text, " :message");
    sexp_write_string(&text, message, strlen(message));
    strbuf_adds(&text, " :frames (");
    size_t frames = write_crash_frames(&text, crash_text);
    strbuf_addf(&text, ") :total-frames %zu)", frames);
    struct err err;
    struct sexp_document *document = sexp_parse(text.bytes, text.len, &err);
    CHECK(document != NULL);
    strbuf_fini(&text);
    return error_record_new(document);
}

const struct sexp *error_record_frames(const struct error_record *r)
{
    const struct sexp *detailed = r->details == NULL ? NULL : sexp_get(sexp_root(r->details), 2, "frames");
    return detailed != NULL ? detailed : sexp_get(r->condition, 2, "frames");
}

int error_record_total_frames(const struct error_record *r)
{
    int64_t n =
        sexp_integer(sexp_get(r->condition, 2, "total-frames"), (int64_t)sexp_count(error_record_frames(r)));
    return n > INT32_MAX || n < -INT32_MAX ? INT32_MAX : (int)n;
}
