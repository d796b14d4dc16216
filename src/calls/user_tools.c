/*
 * Tools that sessions define: listing them and checking their arguments. What a session reports about them is
 * data from user code: it becomes a struct tool only within the limits, and is then listed and checked like
 * any other. user_tool_call.c calls them.
 */
#include "calls/user_tools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/similar.h"
#include "base/utf8.h"
#include "calls/arguments.h"
#include "calls/listing.h"
#include "calls/toolbox.h"
#include "session/session.h"
#include "session/sessions.h"
#include "session/store/saved.h"
#include "wire/sexp.h"

#define PREFIX "user-"

/* One tool, as a session reported it; the document owns its texts. */
struct user_tool {
    struct tool tool;
    char name[sizeof PREFIX + USER_TOOLS_LONGEST_NAME];
    const char *choices[USER_TOOLS_MAX_ARGUMENTS][USER_TOOLS_MAX_CHOICES + 1];
};

/* A walk over the tools of a session. */
struct walk {
    struct sexp_document *document; /* NULL: the session has none */
    size_t next;
    struct user_tool current;
};

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

/* The value if it is a valid name; otherwise NULL. */
static const char *read_name(const struct sexp *value)
{
    size_t len;
    const char *name = sexp_string(value, &len);
    bool is_name = name != NULL && len > 0 && len <= USER_TOOLS_LONGEST_NAME && name[0] >= 'a' &&
                   name[0] <= 'z' && strspn(name, name_letters) == len;
    return is_name ? name : NULL;
}

/* The value if it is a text that clients can be shown; otherwise NULL. */
static const char *read_text(const struct sexp *value)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    bool is_text =
        text != NULL && len <= USER_TOOLS_LONGEST_TEXT && strlen(text) == len && utf8_is_valid(text, len);
    return is_text ? text : NULL;
}

static bool read_type(const struct sexp *value, enum argument_type *type)
{
    for (size_t i = 0; i <= ARGUMENT_STRING_LIST; i++) {
        if (sexp_is_symbol(value, argument_words[i].declared)) {
            *type = (enum argument_type)i;
            return true;
        }
    }
    return false;
}

/* A missing bound becomes the largest integer up to which doubles are exact. */
static bool read_bounds(const struct sexp *entry, struct tool_argument *a)
{
    const char *minimum = sexp_string(sexp_get(entry, 2, "minimum"), NULL),
               *maximum = sexp_string(sexp_get(entry, 2, "maximum"), NULL);
    if (minimum == NULL && maximum == NULL)
        return true;
    a->minimum = minimum == NULL ? -9007199254740992.0 : strtod(minimum, NULL);
    a->maximum = maximum == NULL ? 9007199254740992.0 : strtod(maximum, NULL);
    return isfinite(a->minimum) && isfinite(a->maximum) && a->minimum < a->maximum;
}

static bool read_choices(const struct sexp *entry, struct tool_argument *a, const char **choices)
{
    const struct sexp *list = sexp_get(entry, 2, "choices");
    if (sexp_count(list) == 0)
        return true;
    if (sexp_count(list) > USER_TOOLS_MAX_CHOICES || a->type != ARGUMENT_STRING)
        return false;
    for (size_t i = 0; i < sexp_count(list); i++) {
        choices[i] = read_text(sexp_nth(list, i));
        if (choices[i] == NULL || choices[i][0] == '\0')
            return false;
    }
    choices[sexp_count(list)] = NULL;
    a->choices = choices;
    return true;
}

static bool is_new_argument(const struct tool *tool, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tool->arguments[i].name, name) == 0)
            return false;
    return strcmp(name, "session") != 0;
}

static bool read_argument(const struct sexp *entry, struct user_tool *t, size_t n)
{
    struct tool_argument *a = &t->tool.arguments[n];
    *a = (struct tool_argument){
        .name = read_name(sexp_nth(entry, 0)),
        .is_required = !sexp_is_nil(sexp_get(entry, 2, "required")),
        .description = read_text(sexp_get(entry, 2, "description")),
    };
    if (a->description == NULL)
        a->description = "";
    return a->name != NULL && is_new_argument(&t->tool, n, a->name) &&
           read_type(sexp_nth(entry, 1), &a->type) && read_bounds(entry, a) &&
           read_choices(entry, a, t->choices[n]);
}

/* (NAME DOCUMENTATION ((PARAMETER TYPE ...) ...)) */
static bool read_tool(const struct sexp *entry, struct user_tool *t)
{
    const char *name = read_name(sexp_nth(entry, 0)), *text = read_text(sexp_nth(entry, 1));
    const struct sexp *parameters = sexp_nth(entry, 2);
    size_t count = sexp_count(parameters);
    if (name == NULL || text == NULL || count > USER_TOOLS_MAX_ARGUMENTS)
        return false;
    *t = (struct user_tool){
        .tool =
            {
                .title = name,
                .description = text[0] != '\0' ? text : "A tool defined in a session.",
                RUNS_CODE,
            },
    };
    snprintf(t->name, sizeof t->name, PREFIX "%s", name);
    t->tool.name = t->name;
    for (size_t i = 0; i < count; i++)
        if (!read_argument(sexp_nth(parameters, i), t, i))
            return false;
    t->tool.arguments[count] = (struct tool_argument)ARGUMENT(
        "session", STRING, "Session to call it in; default: the session that defines it.",
        .names_session = true);
    return true;
}

static void walk_begin(struct walk *w, const struct session *s)
{
    const struct strbuf *text = session_tools(s);
    w->document = text->len == 0 ? NULL : sexp_parse(text->bytes, text->len, NULL);
    w->next = 0;
}

static void walk_end(struct walk *w)
{
    sexp_document_free(w->document);
}

/* Move to the next tool that can be offered; false if there is none. */
static bool walk_on(struct walk *w)
{
    const struct sexp *list = w->document == NULL ? NULL : sexp_root(w->document);
    while (w->next < sexp_count(list) && w->next < USER_TOOLS_MAX)
        if (read_tool(sexp_nth(list, w->next++), &w->current))
            return true;
    return false;
}

/* The default session comes first, then the others, oldest first. ${s}: the one before; NULL: none. */
static struct session *next_session(const struct toolbox *toolbox, const char *default_session,
                                    struct session *s)
{
    if (toolbox == NULL || toolbox->sessions == NULL)
        return NULL;
    struct session *first = sessions_find(toolbox->sessions, default_session);
    if (s == NULL && first != NULL)
        return first;
    struct session *next = s == first ? sessions_first(toolbox->sessions) : sessions_next(s);
    return next != NULL && next == first ? sessions_next(next) : next;
}

static bool is_listed(const json_t *listing, size_t from, const char *name)
{
    for (size_t i = from; i < json_array_size(listing); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(listing, i), "name")), name) == 0)
            return true;
    return false;
}

bool user_tools_are_to_come(const struct toolbox *toolbox, const char *default_session)
{
    if (toolbox == NULL) /* as in unit tests */
        return false;
    bool is_saved = toolbox->is_persistent && strchr(default_session, '/') == NULL &&
                    saved_exists(toolbox->store, default_session);
    return (toolbox->loads_code || is_saved) && sessions_find(toolbox->sessions, default_session) == NULL;
}

void user_tools_list(const struct toolbox *toolbox, const char *default_session, json_t *listing)
{
    size_t from = json_array_size(listing);
    for (struct session *s = next_session(toolbox, default_session, NULL); s != NULL;
         s = next_session(toolbox, default_session, s)) {
        struct walk w;
        walk_begin(&w, s);
        while (json_array_size(listing) < from + USER_TOOLS_MAX_LISTED && walk_on(&w))
            if (!is_listed(listing, from, w.current.name))
                json_array_append_new(listing, listing_of_tool(&w.current.tool));
        walk_end(&w);
    }
}

/* Some clients prepend their name for this server. Some APIs allow no point in a name, with which the names
 * began earlier. NULL if no tool of a user has that name. */
static const char *bare_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    name = slash == NULL ? name : slash + 1;
    if (strncasecmp(name, PREFIX, 4) != 0 || name[4] == '\0' || strchr("._-", name[4]) == NULL)
        return NULL;
    return name + 5;
}

/* Does the session define it? If so, the walk stops there. */
static bool walk_to(struct walk *w, const struct session *s, const char *bare)
{
    walk_begin(w, s);
    while (walk_on(w))
        if (similar_is_spelling(bare, strlen(bare), w->current.name + strlen(PREFIX)))
            return true;
    walk_end(w);
    return false;
}

static json_t *prepare_in(struct session *s, struct walk *w, const json_t *given, struct err *err)
{
    json_t *checked = arguments_check(&w->current.tool, NULL, given, err);
    if (checked == NULL)
        return NULL;
    json_object_del(checked, "session");
    return json_pack("{s:s,s:s,s:o}", "session", session_name(s), "tool", w->current.name + strlen(PREFIX),
                     "arguments", checked);
}

json_t *user_tools_prepare(const struct toolbox *toolbox, const char *default_session, const char *name,
                           const json_t *given, bool *is_known, struct err *err)
{
    const json_t *asked = json_object_get(given, "session");
    const char *bare = bare_name(name),
               *session = arguments_is_nothing(asked) ? NULL : json_string_value(asked);
    struct session *s = bare == NULL ? NULL : next_session(toolbox, default_session, NULL);
    struct walk w;
    while (s != NULL && !walk_to(&w, s, bare))
        s = next_session(toolbox, default_session, s);
    *is_known = s != NULL;
    if (s == NULL)
        return NULL;
    if (session != NULL && strcmp(session, session_name(s)) != 0) {
        walk_end(&w);
        struct session *other = sessions_find(toolbox->sessions, session);
        if (other == NULL || !walk_to(&w, other, bare)) {
            err_set(err, ERR_INVALID, "%s %.*s%s " PREFIX "%s; the session %s has it.",
                    other == NULL ? "There is no session" : "The session",
                    (int)utf8_floor(session, strlen(session), 64), session,
                    other == NULL ? ", so there is no" : " has no tool", bare, session_name(s));
            return NULL;
        }
        s = other;
    }
    json_t *prepared = prepare_in(s, &w, given, err);
    walk_end(&w);
    return prepared;
}

bool user_tools_nearest(const struct toolbox *toolbox, const char *name, struct strbuf *out)
{
    struct similar similar;
    if (bare_name(name) == NULL || toolbox == NULL || toolbox->sessions == NULL)
        return false;
    similar_init(&similar, bare_name(name));
    for (struct session *s = sessions_first(toolbox->sessions); s != NULL; s = sessions_next(s)) {
        struct walk w;
        walk_begin(&w, s);
        size_t score = similar.score;
        while (walk_on(&w))
            similar_offer(&similar, w.current.tool.title);
        if (similar.score != score) {
            strbuf_clear(out);
            strbuf_addf(out, PREFIX "%s", similar.best);
        }
        walk_end(&w);
    }
    return out->len > 0;
}
