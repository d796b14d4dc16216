/*
 * Pieces of code are given by character positions; see docs/agent-protocol.md section 4.
 */
#include "session/work/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "session/core/core.h"
#include "session/records/error_record.h"

#define MOST_PIECES 5000
#define MOST_DEPTH 1000 /* nested PROGNs */
#define LONGEST_ADDITIONS ((size_t)1 << 20)

static size_t position(const struct sexp *value, size_t fallback)
{
    int64_t n = sexp_integer(value, -1);
    return n < 0 ? fallback : (size_t)n;
}

/* (START END PACKAGE DEPTH CALL...): a part of the code of ${evaluation}. */
static void add_piece(struct journal_entry *e, uint64_t evaluation, const struct sexp *piece)
{
    struct strbuf calls = {.limit = LONGEST_ADDITIONS};
    for (size_t i = 4; i < sexp_count(piece); i++) {
        size_t len;
        const char *call = sexp_string(sexp_nth(piece, i), &len);
        strbuf_adds(&calls, i > 4 ? "\n" : "");
        if (call != NULL)
            strbuf_add(&calls, call, len);
    }
    const char *package = sexp_string(sexp_nth(piece, 2), NULL);
    struct journal_piece *p = journal_add_piece(
        e, evaluation, position(sexp_nth(piece, 0), 0), position(sexp_nth(piece, 1), SIZE_MAX),
        package == NULL ? e->package : package, calls.len == 0 ? NULL : strbuf_string(&calls));
    size_t depth = position(sexp_nth(piece, 3), 0);
    p->depth = depth < MOST_DEPTH ? (int)depth : MOST_DEPTH;
    strbuf_fini(&calls);
}

static void add_pieces(struct journal_entry *e, uint64_t evaluation, const struct sexp *pieces, size_t from)
{
    for (size_t i = from; i < sexp_count(pieces) && e->piece_count < MOST_PIECES; i++)
        add_piece(e, evaluation, sexp_nth(pieces, i));
}

static uint64_t done_of(const struct sexp *reply)
{
    int64_t n = sexp_integer(sexp_get(reply, 2, "done-of"), 0);
    return n > 0 ? (uint64_t)n : 0;
}

/* Pieces that were evaluated again: (EVALUATION PIECE...). */
static void add_carried(struct journal_entry *e, const struct sexp *reply)
{
    const struct sexp *carried = sexp_get(reply, 2, "carried");
    for (size_t i = 0; i < sexp_count(carried); i++) {
        const struct sexp *pieces = sexp_nth(carried, i);
        add_pieces(e, position(sexp_nth(pieces, 0), 0), pieces, 1);
    }
}

/* The code up to the error was evaluated before the restart was invoked; what followed belongs to the
 * evaluation that the restart continued. */
static void note_restart(struct session *s, const struct operation *op, struct journal_entry *e,
                         const struct sexp *reply)
{
    add_carried(e, reply);
    journal_add_piece(e, e->evaluation, 0, SIZE_MAX, e->package, NULL);
    if (done_of(reply) != 0 && done_of(reply) != e->evaluation)
        add_pieces(e, done_of(reply), sexp_get(reply, 2, "done"), 0);
    const struct error_record *r = error_history_find(&s->errors, op->sequence);
    e->has_origin = op->is_in_copy && r != NULL;
    e->origin = e->has_origin ? r->evaluation : 0;
}

void history_note(struct session *s, const struct operation *op, struct journal_entry *e,
                  const struct sexp *reply)
{
    const char *package = sexp_string(sexp_get(reply, 2, "read-in"), NULL);
    if (package != NULL) {
        xstrset(&e->package, package);
    }
    if (op->sequence > 0)
        note_restart(s, op, e, reply);
    else if (done_of(reply) == e->evaluation) {
        journal_forget_pieces(e);
        add_pieces(e, e->evaluation, sexp_get(reply, 2, "done"), 0);
    } else if (e->outcome != JOURNAL_OK) {
        journal_forget_pieces(e);
    }
    if (e->has_origin)
        journal_settle(&s->journal, e->outcome == JOURNAL_OK ? e->evaluation : s->at);
    journal_weigh(&s->journal, e);
}

void history_note_replayed(struct journal *j, struct journal_entry *e, const struct sexp *reply)
{
    journal_forget_pieces(e);
    add_carried(e, reply);
    free(e->additions); /* they were not evaluated again */
    e->additions = NULL;
    journal_weigh(j, e);
}

static void write_piece(const struct journal_entry *e, const struct journal_piece *p, struct strbuf *request)
{
    const char *package = p != NULL ? p->package : e->package != NULL ? e->package : "CL-USER";
    sexp_write_open(request);
    sexp_write_string(request, e->code, e->code_len);
    sexp_write_string(request, package, strlen(package));
    sexp_write_integer(request, (int64_t)e->evaluation);
    if (p != NULL) {
        sexp_write_integer(request, (int64_t)p->start);
        if (p->end <= e->code_len)
            sexp_write_integer(request, (int64_t)p->end);
    }
    sexp_write_close(request);
}

void history_write_definitions(const struct journal *j, const struct journal_entry *entry, uint64_t since,
                               struct strbuf *request)
{
    const struct journal_entry *e;
    if (!entry->is_in_pieces)
        write_piece(entry, NULL, request);
    for (size_t i = 0; i < entry->piece_count && request->len < HISTORY_LONGEST_DEFINITIONS; i++)
        if (entry->pieces[i].evaluation > since && (e = journal_find(j, entry->pieces[i].evaluation)) != NULL)
            write_piece(e, &entry->pieces[i], request);
}

void history_write_since(const struct journal *journal, uint64_t since, struct strbuf *request)
{
    sexp_write_symbol(request, "definitions");
    sexp_write_open(request);
    const struct journal_entry *entry;
    for (size_t i = 0;
         (entry = journal_at(journal, i)) != NULL && request->len <= HISTORY_LONGEST_DEFINITIONS; i++)
        if (entry->evaluation > since && entry->is_in_state)
            history_write_definitions(journal, entry, since, request);
    sexp_write_close(request);
}

/* Code that uses the frame's variables has no meaning outside the error. */
static void add_entry(struct session *s, const struct operation *op, const struct sexp *reply,
                      const char *code, size_t len, const char *how)
{
    struct journal_entry *e = journal_find(&s->journal, s->at);
    const char *package = sexp_string(sexp_get(reply, 2, "free-in"), NULL);
    if (e == NULL || len == 0 || (e->additions != NULL && strlen(e->additions) > LONGEST_ADDITIONS))
        return;
    struct strbuf text = {0};
    if (e->additions != NULL)
        strbuf_addf(&text, "%s\n", e->additions);
    if (package != NULL)
        strbuf_addf(&text, "(in-package \"%s\")\n", package);
    strbuf_addf(&text, ";; %s error %d%s\n", how, op->sequence,
                package == NULL ? ", with its variables" : "");
    text_add_indented(&text, code, len, package == NULL ? ";; " : "");
    free(e->additions);
    e->additions = strbuf_steal(&text, NULL);
    journal_weigh(&s->journal, e);
}

void history_note_entry(struct session *s, const struct operation *op, const struct sexp *reply)
{
    if (op->code.len > 0)
        add_entry(s, op, reply, op->code.bytes, op->code.len, "evaluated in a frame of");
}

void history_note_failed_entry(struct session *s, const struct operation *op, const struct sexp *reply)
{
    size_t len;
    const char *took = sexp_string(sexp_get(reply, 2, "took-effect"), &len);
    if (took != NULL)
        add_entry(s, op, reply, took, len, "evaluated, before a form failed, in");
}
