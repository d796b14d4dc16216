/*
 * Responsible for the arguments of a call: checking them against the tool's declaration, and reading them.
 */
#include "calls/arguments.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/similar.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "calls/registry.h"
#include "calls/tool_call.h"
#include "report/section.h"
#include "session/sessions.h"

#define MOST_QUOTED 60 /* bytes of a client's text that a sentence quotes */

static const struct tool_argument *find_argument(const struct tool *tool, const char *name)
{
    static const struct {
        const char *other;
        const char *name;
    } synonyms[] = {
        {"form", "code"},
        {"expression", "code"},
        {"input", "code"},
        {"code", "form"},
        {"expression", "form"},
        {"symbol", "name"},
        {"function", "name"},
        {"file", "path"},
        {"query", "pattern"},
        {"name", "system"},
        {"system-name", "system"},
        {"name", "restart"},
        {"name", "thread"},
        {"name", "to"},
        {"error", "index"},
        {"file-path", "path"},
        {"name", "session"},
        {"old-string", "old-text"},
        {"new-string", "new-text"},
        {"prefix", "pattern"},
        {"class", "name"},
        {"generic-function", "name"},
        {"include-inherited", "inherited"},
        {"value", "values"},
        {"mode", "profile"},
    };
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        if (similar_is_spelling(name, strlen(name), a->name))
            return a;
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (!similar_is_spelling(name, strlen(name), synonyms[i].other))
            continue;
        for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
            if (strcmp(a->name, synonyms[i].name) == 0 &&
                (a == tool->arguments || strcmp(a->name, "session") != 0)) /* which nearly all tools take */
                return a;
        }
    }
    return NULL;
}

bool arguments_is_bounded(const struct tool_argument *a)
{
    return a->minimum < a->maximum;
}

const struct argument_words argument_words[] = {
    [ARGUMENT_STRING] = {"string", "string", "a string"},
    [ARGUMENT_INTEGER] = {"integer", "integer", "an integer"},
    [ARGUMENT_NUMBER] = {"number", "number", "a number"},
    [ARGUMENT_BOOLEAN] = {"boolean", "boolean", "true or false"},
    [ARGUMENT_STRING_LIST] = {"array", "strings", "an array of strings"},
};

/* "a number between 1 and 600", "one of all, functions". */
static void add_expectation(struct strbuf *out, const struct tool_argument *a)
{
    strbuf_adds(out, a->choices != NULL ? "one of " : argument_words[a->type].expected);
    for (size_t i = 0; a->choices != NULL && a->choices[i] != NULL; i++)
        strbuf_addf(out, "%s%s", i > 0 ? ", " : "", a->choices[i]);
    if ((a->type == ARGUMENT_INTEGER || a->type == ARGUMENT_NUMBER) && arguments_is_bounded(a))
        strbuf_addf(out, " between %.16g and %.16g", a->minimum, a->maximum);
}

static void add_given(struct strbuf *out, const json_t *given)
{
    char *text = json_dumps(given, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    size_t len = text == NULL ? 0 : strlen(text);
    section_add_first_line(out, text, len, MOST_QUOTED);
    free(text);
}

static json_t *reject(const struct tool_argument *a, const json_t *given, struct err *err)
{
    struct strbuf expected = {0}, got = {0};
    add_expectation(&expected, a);
    add_given(&got, given);
    err_set(err, ERR_INVALID, "Argument %s must be %s, got %s", a->name, strbuf_string(&expected),
            strbuf_string(&got));
    strbuf_fini(&expected);
    strbuf_fini(&got);
    return NULL;
}

/* A number, or a string that is a number. */
static bool read_number(const json_t *given, double *value)
{
    if (json_is_number(given)) {
        *value = json_number_value(given);
        return true;
    }
    const char *string = json_string_value(given);
    /* strtod accepts words and hexadecimal numbers too. */
    if (string == NULL || *string == '\0' || strspn(string, "0123456789+-.eE") != json_string_length(given))
        return false;
    char *end;
    *value = strtod(string, &end);
    return *end == '\0' && isfinite(*value);
}

static json_t *check_number(const struct tool_argument *a, const json_t *given, struct err *err)
{
    double value;
    if (!read_number(given, &value) ||
        (arguments_is_bounded(a) && (value < a->minimum || value > a->maximum)))
        return reject(a, given, err);
    if (json_is_integer(given))
        return json_integer(json_integer_value(given));
    /* Whole numbers of that size are exact in a double. */
    if (floor(value) >= value && fabs(value) <= 9007199254740992.0)
        return json_integer((json_int_t)value);
    if (a->type == ARGUMENT_INTEGER)
        return reject(a, given, err);
    return json_real(value);
}

/* Names and paths become C strings. */
static bool is_without_nul(const struct tool_argument *a, const json_t *string, struct err *err)
{
    return strlen(json_string_value(string)) == json_string_length(string) ||
           err_set(err, ERR_INVALID, "Argument %s must not contain a NUL character", a->name);
}

/* Text for the Lisp may contain NULs. */
static bool may_hold_nul(const struct tool_argument *a)
{
    return strcmp(a->name, "code") == 0 || strcmp(a->name, "value") == 0 || strcmp(a->name, "pattern") == 0;
}

/* The choice that is spelled, or that has this former name; NULL if there is none. */
static const char *find_choice(const struct tool_argument *a, const char *given, size_t len)
{
    static const struct {
        const char *former, *name;
    } renamed[] = {{"reset", "clear"}, {"status", "list"}};
    for (size_t i = 0; a->choices[i] != NULL; i++) {
        if (similar_is_spelling(given, len, a->choices[i]))
            return a->choices[i];
        for (size_t k = 0; k < sizeof renamed / sizeof *renamed; k++)
            if (strcmp(a->choices[i], renamed[k].name) == 0 &&
                similar_is_spelling(given, len, renamed[k].former))
                return a->choices[i];
    }
    return NULL;
}

static json_t *check_string(const struct tool_argument *a, const json_t *given, struct err *err)
{
    /* Accept the number -1 for the text "-1": models send restarts and checkpoints that way. Code is never
     * a number. */
    if (json_is_integer(given) && a->choices == NULL && strcmp(a->name, "code") != 0)
        return json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(given));
    if (!json_is_string(given))
        return reject(a, given, err);
    if (a->choices == NULL && !may_hold_nul(a) && !is_without_nul(a, given, err))
        return NULL;
    if (a->choices == NULL)
        return json_stringn(json_string_value(given), json_string_length(given));
    const char *choice = find_choice(a, json_string_value(given), json_string_length(given));
    return choice != NULL ? json_string(choice) : reject(a, given, err);
}

static json_t *check_list(const struct tool_argument *a, const json_t *given, struct err *err)
{
    if (json_is_string(given))
        return json_pack("[o]", json_stringn(json_string_value(given), json_string_length(given)));
    if (!json_is_array(given))
        return reject(a, given, err);
    json_t *list = json_array(), *element;
    size_t i;
    json_array_foreach(given, i, element) {
        if (!json_is_string(element) || !is_without_nul(a, element, err)) {
            json_decref(list);
            return json_is_string(element) ? NULL : reject(a, given, err);
        }
        json_array_append_new(list, json_stringn(json_string_value(element), json_string_length(element)));
    }
    return list;
}

static json_t *check_boolean(const struct tool_argument *a, const json_t *given, struct err *err)
{
    const char *word = json_string_value(given);
    if (json_is_boolean(given))
        return json_boolean(json_is_true(given));
    if (word != NULL && (strcmp(word, "true") == 0 || strcmp(word, "false") == 0))
        return json_boolean(word[0] == 't');
    return reject(a, given, err);
}

bool arguments_is_nothing(const json_t *value)
{
    const char *text = json_string_value(value);
    return json_is_null(value) || (text != NULL && json_string_length(value) == strlen(text) &&
                                   (*text == '\0' || strcmp(text, "null") == 0));
}

/* Some clients send "null" or "" for an argument that is absent. Only a text can mean that. */
static bool is_absent(const struct tool_argument *a, const json_t *given)
{
    bool is_text = a->type == ARGUMENT_STRING && a->choices == NULL && !a->names_session &&
                   strcmp(a->name, "package") != 0;
    return (!a->is_required || a->excludes != NULL) && !is_text && arguments_is_nothing(given);
}

static json_t *check_value(const struct tool_argument *a, const json_t *given, struct err *err)
{
    switch (a->type) {
    case ARGUMENT_STRING:
        return check_string(a, given, err);
    case ARGUMENT_INTEGER:
    case ARGUMENT_NUMBER:
        return check_number(a, given, err);
    case ARGUMENT_BOOLEAN:
        return check_boolean(a, given, err);
    case ARGUMENT_STRING_LIST:
        return check_list(a, given, err);
    }
    return reject(a, given, err);
}

static void reject_unknown(const struct tool *tool, const char *name, struct err *err)
{
    struct similar search;
    struct strbuf known = {0};
    size_t len = strlen(name);
    similar_init(&search, name);
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        similar_offer(&search, a->name);
        strbuf_addf(&known, "%s%s", a == tool->arguments ? "" : ", ", a->name);
    }
    err_set(err, ERR_INVALID, "Unknown argument %.*s.%s%s%s %s takes %s",
            (int)utf8_floor(name, len, MOST_QUOTED), name, search.best != NULL ? " Did you mean " : "",
            search.best != NULL ? search.best : "", search.best != NULL ? "?" : "", tool->name,
            known.len > 0 ? known.bytes : "no arguments");
    strbuf_fini(&known);
}

static bool check_required(const struct tool *tool, const json_t *checked, struct err *err)
{
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        if (!a->is_required || a->excludes != NULL || json_object_get(checked, a->name) != NULL)
            continue;
        struct strbuf expected = {0};
        add_expectation(&expected, a);
        err_set(err, ERR_INVALID, "Missing argument %s of %s: %s.%s%s", a->name, tool->name,
                strbuf_string(&expected), a->description[0] != '\0' ? " " : "", a->description);
        strbuf_fini(&expected);
        return false;
    }
    return true;
}

static bool is_empty(const json_t *checked, const char *name)
{
    const json_t *value = json_object_get(checked, name);
    return json_is_string(value) && json_string_length(value) == 0;
}

/* An empty text is absent where another argument says that it has no use. */
static void drop_empty(json_t *checked, const struct tool_argument *a)
{
    if (a->excludes != NULL && json_object_get(checked, a->name) != NULL && is_empty(checked, a->excludes))
        json_object_del(checked, a->excludes);
    bool is_useless = a->excludes != NULL ? json_object_get(checked, a->excludes) != NULL
                                          : a->needs != NULL && json_object_get(checked, a->needs) == NULL;
    if (is_useless && is_empty(checked, a->name))
        json_object_del(checked, a->name);
}

/* Of two arguments that exclude each other, one is enough. */
static bool check_combinations(const struct tool *tool, json_t *checked, struct err *err)
{
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
        drop_empty(checked, a);
        bool is_given = json_object_get(checked, a->name) != NULL;
        if (a->excludes != NULL) {
            bool is_other = json_object_get(checked, a->excludes) != NULL;
            if (is_given ? is_other : a->is_required && !is_other)
                return err_set(err, ERR_INVALID, "Pass either %s or %s.", a->name, a->excludes);
        }
        if (is_given && a->also_excludes != NULL && json_object_get(checked, a->also_excludes) != NULL)
            return err_set(err, ERR_INVALID, "Pass either %s or %s.", a->name, a->also_excludes);
        if (is_given && a->needs != NULL && json_object_get(checked, a->needs) == NULL)
            return err_set(err, ERR_INVALID, "Argument %s goes with %s, which is missing.", a->name,
                           a->needs);
    }
    return true;
}

/* What the former name stands for. */
static void add_former(const struct tool_former *former, json_t *checked)
{
    if (former == NULL || former->argument == NULL)
        return;
    const struct tool_argument *a = find_argument(former->tool, former->argument);
    if (json_object_get(checked, a->name) != NULL ||
        (a->excludes != NULL && json_object_get(checked, a->excludes) != NULL))
        return;
    struct err err;
    json_t *value = json_string(former->value), *good = check_value(a, value, &err);
    CHECK(good != NULL);
    json_object_set_new(checked, a->name, good);
    json_decref(value);
}

/* A former argument that was true or false, and the choice of another that it stands for; NULL: it is
 * neither. */
static const struct flag {
    const char *name, *argument, *choice;
} * find_flag(const struct tool *tool, const char *name)
{
    static const struct flag flags[] = {{"full", "show", "full-expansion"}, {"all", "show", "everywhere"}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (similar_is_spelling(name, strlen(name), flags[i].name) && find_argument(tool, name) == NULL &&
            find_argument(tool, flags[i].argument) != NULL)
            return &flags[i];
    return NULL;
}

/* Check one argument that was sent as ${name}, and add it. */
static bool check_argument(const struct tool *tool, const char *name, const json_t *value, json_t *checked,
                           struct err *err)
{
    const struct flag *flag = find_flag(tool, name);
    if (flag != NULL && (json_is_false(value) || arguments_is_nothing(value)))
        return true;
    json_t *choice = flag != NULL && json_is_true(value) ? json_string(flag->choice) : NULL;
    const struct tool_argument *a = find_argument(tool, choice != NULL ? flag->argument : name);
    json_t *good = NULL;
    if (a != NULL && is_absent(a, value))
        return true;
    if (a == NULL)
        reject_unknown(tool, name, err);
    else if (json_object_get(checked, a->name) != NULL)
        err_set(err, ERR_INVALID, "Argument %s is given twice, once as %s", a->name, name);
    else
        good = check_value(a, choice != NULL ? choice : value, err);
    if (good != NULL)
        json_object_set_new_nocheck(checked, a->name, good);
    json_decref(choice);
    return good != NULL;
}

json_t *arguments_check(const struct tool *tool, const struct tool_former *former, const json_t *given,
                        struct err *err)
{
    json_t *checked = json_object();
    bool is_good = true;
    /* jansson's iterator takes a pointer to non-const, and changes nothing. */
    for (void *at = json_object_iter((json_t *)(uintptr_t)given); at != NULL && is_good;
         at = json_object_iter_next((json_t *)(uintptr_t)given, at)) {
        const json_t *value = json_object_iter_value(at);
        if (!json_is_null(value))
            is_good = check_argument(tool, json_object_iter_key(at), value, checked, err);
    }
    if (is_good)
        add_former(former, checked);
    if (is_good && check_required(tool, checked, err) && check_combinations(tool, checked, err))
        return checked;
    json_decref(checked);
    return NULL;
}

bool arguments_may_have(const struct tool_call *call, const char *name)
{
    for (const struct tool_argument *a = call->tool->arguments; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return true;
    return false;
}

bool arguments_has(const struct tool_call *call, const char *name)
{
    return json_object_get(call->arguments, name) != NULL;
}

const char *arguments_string(const struct tool_call *call, const char *name, size_t *len)
{
    json_t *value = json_object_get(call->arguments, name);
    if (len != NULL)
        *len = json_string_length(value);
    return json_string_value(value);
}

bool arguments_is(const struct tool_call *call, const char *name, const char *value)
{
    const char *given = arguments_string(call, name, NULL);
    return given != NULL && strcmp(given, value) == 0;
}

double arguments_number(const struct tool_call *call, const char *name, double fallback)
{
    json_t *value = json_object_get(call->arguments, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

int64_t arguments_integer(const struct tool_call *call, const char *name, int64_t fallback)
{
    return (int64_t)arguments_number(call, name, (double)fallback);
}

bool arguments_boolean(const struct tool_call *call, const char *name)
{
    return json_is_true(json_object_get(call->arguments, name));
}

const char *arguments_session_name(const struct tool_call *call)
{
    const char *name = arguments_string(call, "session", NULL);
    return name != NULL ? name : call->default_session;
}

struct session *arguments_session(const struct tool_call *call)
{
    struct sessions *all = call->toolbox->sessions;
    return all == NULL ? NULL : sessions_find(all, arguments_session_name(call));
}

int arguments_timeout_ms(const struct tool_call *call)
{
    if (!arguments_has(call, "timeout"))
        return 0;
    double timeout_ms = arguments_number(call, "timeout", 0) * 1000;
    return timeout_ms == 0 ? -1 : timeout_ms < 1 ? 1 : (int)timeout_ms;
}
