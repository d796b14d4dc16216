/*
 * Responsible for reading and writing the description of a saved session: its limits, its history, and what
 * its process needs to start again.
 */
#include "session/store/saved_description.h"

#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "session/records/journal.h"

#define FORMAT "cl-mcp-server session 1"
#define LATEST_S 253402300799 /* the end of the year 9999 */
#define MOST_DEPTH 1000       /* nested PROGNs */

static json_t *pieces_content(const struct journal_entry *e)
{
    json_t *array = json_array();
    for (size_t i = 0; i < e->piece_count; i++) {
        const struct journal_piece *p = &e->pieces[i];
        json_array_append_new(array, json_pack("[I, I, I, s, s?, i]", (json_int_t)p->evaluation,
                                               (json_int_t)p->start,
                                               p->end > INT32_MAX ? (json_int_t)-1 : (json_int_t)p->end,
                                               p->package, p->calls, p->depth));
    }
    return array;
}

static json_t *journal_content(const struct journal *journal)
{
    json_t *array = json_array();
    const struct journal_entry *e;
    for (size_t i = 0; journal != NULL && (e = journal_at(journal, i)) != NULL; i++) {
        json_t *entry =
            json_pack("{s:I, s:I, s:o, s:s, s:i, s:b, s:b, s:I}", "evaluation", (json_int_t)e->evaluation,
                      "parent", (json_int_t)e->parent, "code", json_stringn_nocheck(e->code, e->code_len),
                      "package", e->package, "outcome", (int)e->outcome, "undone", (int)e->is_undone, "held",
                      (int)e->is_in_state, "when", (json_int_t)e->when.tv_sec);
        if (e->is_in_pieces)
            json_object_set_new(entry, "pieces", pieces_content(e));
        if (e->has_origin)
            json_object_set_new(entry, "origin", json_integer((json_int_t)e->origin));
        if (e->additions != NULL)
            json_object_set_new(entry, "additions", json_string_nocheck(e->additions));
        json_array_append_new(array, entry);
    }
    return array;
}

static json_t *limits_content(const struct saved *s)
{
    json_t *limits = json_object();
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        if (s->has_limit[i])
            json_object_set_new(limits, limit_definition((enum limit)i)->name, json_real(s->limits.value[i]));
    return limits;
}

json_t *saved_description_write(const struct saved *s, const struct journal *journal)
{
    struct tm utc;
    time_t now = time(NULL);
    char when[32];
    gmtime_r(&now, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s*, s:s*, s:i, s:o, s:I, s:s, s:o}", "format",
                     FORMAT, "name", s->name, "image", strrchr(s->image, '/') + 1, "lisp", s->lisp, "package",
                     s->package, "sandbox", s->sandbox, "network", s->network, "directory", s->directory,
                     "checkpoints", s->checkpoints, "heap", s->heap_mib, "limits", limits_content(s),
                     "evaluations", (json_int_t)s->evaluations, "when", when, "journal",
                     journal_content(journal));
}

static void read_pieces(const json_t *array, struct journal_entry *entry)
{
    journal_forget_pieces(entry);
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_int_t evaluation, start, end;
        const char *package;
        json_t *calls;
        int depth;
        if (json_unpack(json_array_get(array, i), "[I, I, I, s, o, i]", &evaluation, &start, &end, &package,
                        &calls, &depth) == 0 &&
            start >= 0 && depth >= 0 && depth <= MOST_DEPTH)
            journal_add_piece(entry, (uint64_t)evaluation, (size_t)start, end < 0 ? SIZE_MAX : (size_t)end,
                              package, json_string_value(calls))
                ->depth = depth;
    }
}

void saved_description_read_journal(const json_t *d, struct journal *journal)
{
    const json_t *array = json_object_get(d, "journal");
    json_int_t last = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_int_t evaluation, parent = 0, origin = -1, when = 0;
        const char *code, *package, *additions = NULL;
        json_t *pieces = NULL;
        size_t len;
        int outcome, is_undone = false, is_held = false;
        if (json_unpack(json_array_get(array, i), "{s:I, s?I, s:s%, s:s, s:i, s?b, s?b, s?I, s?I, s?s, s?o}",
                        "evaluation", &evaluation, "parent", &parent, "code", &code, &len, "package",
                        &package, "outcome", &outcome, "undone", &is_undone, "held", &is_held, "when", &when,
                        "origin", &origin, "additions", &additions, "pieces", &pieces) != 0 ||
            outcome < JOURNAL_OK || outcome > JOURNAL_DIED || evaluation <= last)
            continue;
        last = evaluation;
        struct journal_entry *entry = journal_add(journal, (uint64_t)evaluation, (uint64_t)parent, code, len,
                                                  package, (enum journal_outcome)outcome);
        entry->is_undone = is_undone;
        entry->is_in_state = is_held;
        entry->has_origin = origin >= 0;
        entry->origin = origin >= 0 ? (uint64_t)origin : 0;
        entry->additions = xstrdup(additions);
        if (json_is_array(pieces))
            read_pieces(pieces, entry);
        if (when > 0 && when <= LATEST_S)
            entry->when = (struct timespec){.tv_sec = (time_t)when};
        journal_weigh(journal, entry);
    }
}

/* NULL if the member is absent. A value that is not a string becomes "", which names nothing, so that it is
 * refused rather than taken for an absent one. */
static const char *text_of(const json_t *d, const char *key)
{
    const json_t *value = json_object_get(d, key);
    return value == NULL || json_is_string(value) ? json_string_value(value) : "";
}

/* Skip unknown limits and out-of-range values. */
static void read_limits(const json_t *d, struct saved *s)
{
    struct err err;
    limits_init(&s->limits);
    bool has_heap =
        limits_set(&s->limits, LIMIT_MAX_HEAP, json_number_value(json_object_get(d, "heap")), &err);
    s->heap_mib =
        has_heap ? limits_int(&s->limits, LIMIT_MAX_HEAP) : (int)limit_definition(LIMIT_MAX_HEAP)->minimum;
    for (size_t i = 0; i < LIMIT_COUNT; i++) {
        const json_t *value =
            json_object_get(json_object_get(d, "limits"), limit_definition((enum limit)i)->name);
        s->has_limit[i] =
            json_is_number(value) && limits_set(&s->limits, (enum limit)i, json_number_value(value), &err);
    }
}

/* False with ${err} set if it is not a description, or is that of another session or another Lisp. */
static bool check(const json_t *d, const char *name, const char *lisp, struct err *err)
{
    static const char *const needed[] = {"image", "lisp", "package", "hash", "when"};
    const char *format = json_string_value(json_object_get(d, "format"));
    const char *image = json_string_value(json_object_get(d, "image"));
    const char *saved_name = json_string_value(json_object_get(d, "name"));
    bool is_whole = format != NULL && strcmp(format, FORMAT) == 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        is_whole = is_whole && json_is_string(json_object_get(d, needed[i]));
    if (!is_whole || strchr(image, '/') != NULL)
        return err_set(err, ERR_INVALID,
                       "The saved session %s cannot be used: its description is in an unknown format.", name);
    if (saved_name == NULL || strcmp(saved_name, name) != 0)
        return err_set(err, ERR_INVALID,
                       "The saved session %s cannot be used: its description belongs to another session.",
                       name);
    const char *wrote = json_string_value(json_object_get(d, "lisp"));
    if (lisp[0] != '\0' && strcmp(lisp, wrote) != 0)
        return err_set(err, ERR_INVALID,
                       "The saved session %s cannot be used: it was saved by %s, and this is %s.", name,
                       wrote, lisp);
    return true;
}

bool saved_description_read(struct saved *s, const char *name, const char *lisp, struct err *err)
{
    const json_t *d = s->description;
    if (!check(d, name, lisp, err))
        return false;
    s->name = text_of(d, "name");
    s->lisp = text_of(d, "lisp");
    s->package = text_of(d, "package");
    s->sandbox = text_of(d, "sandbox");
    s->network = text_of(d, "network");
    s->directory = text_of(d, "directory");
    s->checkpoints = json_string_value(json_object_get(d, "checkpoints"));
    s->evaluations = (uint64_t)json_integer_value(json_object_get(d, "evaluations"));
    read_limits(d, s);
    return true;
}
