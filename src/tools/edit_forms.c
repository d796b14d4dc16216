/*
 * edit-form: change one top-level form of a file, found by kind and name, for clients without
 * an editor. Nothing is read or run: the text is scanned, and everything outside the form stays byte for
 * byte. With from-session the image says which text belongs where.
 */
#include <string.h>
#include <strings.h>

#include "base/regular_file.h"
#include "base/utf8.h"
#include "calls/arguments.h"
#include "calls/call.h"
#include "calls/look_up.h"
#include "calls/syntax.h"
#include "calls/tool_call.h"
#include "lisp/confinement.h"
#include "report/reply.h"
#include "scan/scan_repair.h"
#include "scan/scan_toplevel.h"
#include "session/session.h"
#include "session/work/history.h"
#include "tools/line_diff.h"

#define MOST_DIFF_BYTES 6000
#define MOST_CANDIDATES 20

/* A file, and the requested form in it. */
struct edit {
    struct tool_call *call;
    struct regular_file file;
    const char *text;
    size_t len;
    struct scan_toplevel form;
    const char *line_end; /* "\n", or "\r\n" if the file uses that */
};

/* scan_find_swallowed() leaves the depth 0. */
static bool is_swallowed(const struct scan_result *result)
{
    return result->fault == SCAN_UNCLOSED_LIST && result->depth == 0;
}

static bool refuse_fault(struct tool_call *call, const char *what, const char *text, size_t len,
                         struct scan_result *result)
{
    struct strbuf explanation = {0};
    scan_explain(result, text, len, &explanation);
    call_answer(call, true, "%s Nothing was changed.\n%s", what, strbuf_string(&explanation));
    strbuf_fini(&explanation);
    return false;
}

/* A session that may not write files does not have them written by the server either. */
static bool is_read_only(const struct tool_call *call, const struct session *s)
{
    return confinement_is_read_only(s != NULL ? session_confinement(s)
                                              : confinements_own(call->toolbox->confinements));
}

static bool open_file(struct edit *edit, const char *path, size_t path_len)
{
    struct tool_call *call = edit->call;
    struct err err;
    struct session *s;
    if (!call_find_session(call, arguments_session_name(call), &s))
        return false;
    if (is_read_only(call, s)) {
        call_answer(call, true, "The session has the sandbox read-only: no file is edited for it.");
        return false;
    }
    if (!syntax_read(call_directory(call), path, path_len, &edit->file, &err)) {
        call_answer(call, true, "%s. Only files in the working directory are edited.", err.message);
        return false;
    }
    edit->text = strbuf_string(&edit->file.text);
    edit->len = edit->file.text.len;
    const char *newline = memchr(edit->text, '\n', edit->len);
    edit->line_end = newline != NULL && newline > edit->text && newline[-1] == '\r' ? "\r\n" : "\n";
    struct scan_result result;
    if (scan_has_fault(edit->text, edit->len, &result))
        return refuse_fault(call,
                            is_swallowed(&result)
                                ? "A definition in the file seems to contain the next one."
                                : "The parentheses of the file are unbalanced, so its forms are not known.",
                            edit->text, edit->len, &result);
    return true;
}

static bool open_argument(struct edit *edit)
{
    size_t len;
    const char *path = arguments_string(edit->call, "path", &len);
    return open_file(edit, path, len);
}

static size_t line_of(const char *text, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

/* Does it contain the line that the call names, if it names one? */
static bool is_at_line(const struct edit *edit, const struct scan_toplevel *form)
{
    int64_t line = arguments_integer(edit->call, "line", 0);
    return line == 0 || ((size_t)line >= line_of(edit->text, form->lead) &&
                         (size_t)line <= line_of(edit->text, form->end));
}

/* The form that is requested, and those that are offered when it is missing. */
enum which { REQUESTED, SAME_NAME, SAME_KIND };

static bool is_one(const struct edit *edit, const struct scan_toplevel *form, enum which which,
                   const struct scan_wanted *wanted)
{
    size_t len;
    const char *kind = arguments_string(edit->call, "kind", &len);
    if (which == SAME_KIND)
        return len == form->kind_end - form->kind && strncasecmp(kind, edit->text + form->kind, len) == 0;
    return scan_toplevel_is(edit->text, form, wanted) && (which == SAME_NAME || is_at_line(edit, form));
}

/* List those forms, and set the requested one to the first of them. Returns how many there are. */
static size_t find_forms(struct edit *edit, enum which which, const struct scan_wanted *wanted,
                         struct strbuf *list)
{
    struct scan_toplevels forms;
    struct scan_toplevel form;
    size_t count = 0;
    scan_toplevels_init(&forms, edit->text, edit->len);
    while (scan_toplevels_next(&forms, &form)) {
        if (!is_one(edit, &form, which, wanted))
            continue;
        if (count++ == 0)
            edit->form = form;
        if (count > MOST_CANDIDATES)
            continue;
        strbuf_addf(list, "\nline %zu: ", line_of(edit->text, form.start));
        scan_toplevel_signature(edit->text, &form, list);
    }
    if (count > MOST_CANDIDATES)
        strbuf_addf(list, "\n… and %zu more", count - MOST_CANDIDATES);
    return count;
}

static void answer_absent(struct edit *edit, const char *name, size_t name_len)
{
    /* The name without qualifiers and specializers: its first datum. */
    size_t first = name_len > 0 && name[0] == '(' ? name_len : strcspn(name, " \t\n");
    struct scan_wanted *of_name = scan_wanted_new(NULL, 0, name, first < name_len ? first : name_len);
    struct strbuf list = {0};
    bool is_named = find_forms(edit, SAME_NAME, of_name, &list) > 0;
    bool is_any = is_named || find_forms(edit, SAME_KIND, NULL, &list) > 0;
    edit->call->is_absent = true;
    call_answer(edit->call, true, "%s has no form (%s %s …).%s%s", edit->file.path,
                arguments_string(edit->call, "kind", NULL), name,
                is_named ? "\nForms of that name:"
                : is_any ? "\nForms of that kind:"
                         : "",
                strbuf_string(&list));
    scan_wanted_free(of_name);
    strbuf_fini(&list);
}

static bool find_form(struct edit *edit)
{
    size_t kind_len, name_len;
    const char *kind = arguments_string(edit->call, "kind", &kind_len);
    const char *name = arguments_string(edit->call, "name", &name_len);
    struct strbuf list = {0};
    struct scan_wanted *wanted = scan_wanted_new(kind, kind_len, name, name_len);
    size_t count = find_forms(edit, REQUESTED, wanted, &list);
    if (count == 0)
        answer_absent(edit, name, name_len);
    else if (count > 1)
        call_answer(
            edit->call, true,
            "%s has several such forms. Nothing was changed.%s\nPass the line of one of them, or name a "
            "method as listed here.",
            edit->file.path, strbuf_string(&list));
    scan_wanted_free(wanted);
    strbuf_fini(&list);
    return count == 1;
}

/* ${text} with the file's line ends. */
static void add_with_line_ends(struct strbuf *out, const struct edit *edit, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
            strbuf_adds(out, edit->line_end);
        else
            strbuf_addc(out, text[i]);
    }
}

static size_t count_tokens(const char *text, size_t len)
{
    struct scan_lexer lexer = scan_lexer_at(text, len, 0);
    size_t count = 0;
    while (scan_lexer_next(&lexer).kind != SCAN_TOKEN_END)
        count++;
    return count;
}

/* Does it have as many tokens as it should? A comment or a string that takes in its surroundings has fewer.
 */
static bool is_apart(const struct edit *edit, const struct strbuf *changed, size_t at, size_t rest,
                     const struct strbuf *content)
{
    return count_tokens(changed->bytes, changed->len) ==
           count_tokens(edit->text, edit->len) - count_tokens(edit->text + at, rest - at) +
               count_tokens(strbuf_string(content), content->len);
}

static void answer_done(struct edit *edit, const struct strbuf *changed, const char *what)
{
    struct strbuf *out = &edit->call->text;
    bool wants_only_diff = arguments_boolean(edit->call, "dry-run");
    strbuf_addf(out, "%s%s ", wants_only_diff ? "Not written (dry-run): " : "", what);
    scan_toplevel_signature(edit->text, &edit->form, out);
    strbuf_addf(out, " in %s\n", edit->file.path);
    line_diff_add(out, edit->text, edit->len, changed->bytes, changed->len, MOST_DIFF_BYTES);
    strbuf_adds(out, wants_only_diff ? "Without dry-run, the change is written."
                                     : "The running Lisp is unchanged: load the file, or evaluate the form.");
    call_finish(edit->call);
}

/* Write the file with ${content} for the text from ${at} to ${rest}, unless that affects other text. */
static void replace(struct edit *edit, const char *what, size_t at, size_t rest, const struct strbuf *content)
{
    struct tool_call *call = edit->call;
    struct strbuf changed = {0};
    struct scan_result result;
    struct err err;
    strbuf_add(&changed, edit->text, at);
    strbuf_add(&changed, strbuf_string(content), content->len);
    strbuf_add(&changed, edit->text + rest, edit->len - rest);
    if (scan_has_fault(strbuf_string(&changed), changed.len, &result))
        refuse_fault(call,
                     is_swallowed(&result)
                         ? "With this change, a definition would seem to contain the next one."
                         : "With this change, the parentheses of the file would be unbalanced.",
                     strbuf_string(&changed), changed.len, &result);
    else if (!is_apart(edit, &changed, at, rest, content))
        call_answer(call, true,
                    "With this change, a comment or a string would swallow the text beside it. Nothing was "
                    "changed.");
    else if (changed.len == edit->len && memcmp(changed.bytes, edit->text, edit->len) == 0)
        call_answer(call, false, "%s already has this text. Nothing was changed.", edit->file.path);
    else if (!arguments_boolean(call, "dry-run") &&
             !regular_file_replace(&edit->file, changed.bytes, changed.len, &err))
        call_answer(call, true, "%s. Nothing was changed.", err.message);
    else
        answer_done(edit, &changed, what);
    strbuf_fini(&changed);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* The place to insert text before the form: before its #+ and the comment lines above it. */
static size_t place_before(const struct edit *edit)
{
    size_t at = edit->form.lead, start = line_start(edit->text, at);
    for (size_t i = start; i < at; i++)
        if (!is_blank(edit->text[i]))
            return at;
    while (start > 0) {
        size_t above = line_start(edit->text, start - 1), first = above;
        while (first < start - 1 && (edit->text[first] == ' ' || edit->text[first] == '\t'))
            first++;
        if (edit->text[first] != ';')
            break;
        start = above;
    }
    return start;
}

/* The place to insert text after the form: after the comment on its last line. */
static size_t place_after(const struct edit *edit)
{
    size_t at = edit->form.end, end = at;
    while (end < edit->len && (edit->text[end] == ' ' || edit->text[end] == '\t'))
        end++;
    if (end < edit->len && edit->text[end] == ';')
        while (end < edit->len && edit->text[end] != '\n')
            end++;
    if (end > at && edit->text[end - 1] == '\r')
        end--;
    return end == edit->len || edit->text[end] == '\n' || edit->text[end] == '\r' ? end : at;
}

/* What a #+ or #- is before covers one form only: a second would be read in any Lisp. */
static bool stays_conditional(struct edit *edit, size_t forms)
{
    if (forms == 1 || edit->form.lead == edit->form.start)
        return true;
    call_answer(edit->call, true,
                "The form stands behind #+ or #-, which would apply to the first of the %zu new forms only. "
                "Nothing was changed. Give one form, such as (progn …).",
                forms);
    return false;
}

/* Arguments are UTF-8. */
static bool suits_encoding(struct edit *edit, const char *text, size_t len)
{
    bool is_ascii = true;
    for (size_t i = 0; i < len; i++)
        is_ascii = is_ascii && (unsigned char)text[i] < 0x80;
    if (is_ascii || utf8_is_valid(edit->text, edit->len))
        return true;
    call_answer(edit->call, true,
                "%s is not UTF-8, so only ASCII characters can be put into it. Nothing was changed.",
                edit->file.path);
    return false;
}

enum edit_kind { REPLACE, INSERT_BEFORE, INSERT_AFTER, DELETE };

static const char *const operations[] = {"replace", "insert-before", "insert-after", "delete", NULL};
static const char *const done_words[] = {"Replaced", "Inserted before", "Inserted after", "Deleted"};

/* The end of the line at ${at}, with its line end, if only blanks are left in it; else ${at}. */
static size_t past_blank_line(const struct edit *edit, size_t at)
{
    size_t end = at + strspn(edit->text + at, " \t\r");
    return end < edit->len && edit->text[end] == '\n' ? end + 1 : end == edit->len ? end : at;
}

/* Delete it with the comments that are above it and on its last line, and one of two blank lines around it.
 */
static void delete_form(struct edit *edit)
{
    size_t at = place_before(edit), rest = place_after(edit);
    if (at == line_start(edit->text, at)) {
        size_t above = at == 0 ? 0 : line_start(edit->text, at - 1);
        rest = past_blank_line(edit, rest);
        if (past_blank_line(edit, above) == at)
            rest = past_blank_line(edit, rest);
    }
    replace(edit, done_words[DELETE], at, rest, &(struct strbuf){0});
}

static void put_content(struct edit *edit, enum edit_kind operation, const char *content, size_t len)
{
    size_t at = operation == REPLACE         ? edit->form.start
                : operation == INSERT_BEFORE ? place_before(edit)
                                             : place_after(edit);
    struct strbuf text = {0};
    if (operation == INSERT_AFTER)
        strbuf_addf(&text, "%s%s", edit->line_end, edit->line_end);
    add_with_line_ends(&text, edit, content, len);
    if (operation == INSERT_BEFORE)
        strbuf_addf(&text, "%s%s", edit->line_end, edit->line_end);
    replace(edit, done_words[operation], at, operation == REPLACE ? edit->form.end : at, &text);
    strbuf_fini(&text);
}

static void edit_whole(struct tool_call *call)
{
    struct edit edit = {.call = call, .file = {.directory = -1}};
    size_t len = 0;
    const char *content = arguments_string(call, "content", &len),
               *word = arguments_string(call, "operation", NULL);
    enum edit_kind operation = REPLACE;
    while (word != NULL && strcmp(word, operations[operation]) != 0)
        operation++;
    while (len > 0 && is_blank(content[len - 1]))
        len--;
    while (len > 0 && is_blank(content[0])) {
        content++;
        len--;
    }
    struct scan_result result = scan_text(content, len);
    if (operation == DELETE) {
        if (open_argument(&edit) && find_form(&edit))
            delete_form(&edit);
    } else if (result.fault != SCAN_VALID) {
        refuse_fault(call, "The parentheses of the content are unbalanced.", content, len, &result);
    } else if (result.forms == 0) {
        call_answer(call, true, "The content has no form. Nothing was changed.");
    } else if (open_argument(&edit) && find_form(&edit) &&
               (operation != REPLACE || stays_conditional(&edit, result.forms)) &&
               suits_encoding(&edit, content, len)) {
        put_content(&edit, operation, content, len);
    }
    regular_file_fini(&edit.file);
}

/* The place of ${old} in the form if it occurs exactly once. */
static const char *find_once(struct edit *edit, const struct strbuf *old)
{
    const char *form = edit->text + edit->form.start;
    size_t len = edit->form.end - edit->form.start;
    const char *found = old->len == 0 ? NULL : memmem(form, len, old->bytes, old->len);
    if (found != NULL && memmem(found + 1, (size_t)(form + len - found - 1), old->bytes, old->len) == NULL)
        return found;
    call_answer(edit->call, true, "%s Nothing was changed.",
                old->len == 0 ? "The old text is empty."
                : found == NULL
                    ? "The form does not contain exactly the old text."
                    : "The form contains the old text more than once. Include more of the text around it.");
    return NULL;
}

/* Replace a part of the form. */
static void patch(struct tool_call *call)
{
    struct edit edit = {.call = call, .file = {.directory = -1}};
    struct strbuf old = {0}, new = {0}, form = {0};
    size_t old_len, new_len;
    const char *old_text = arguments_string(call, "old-text", &old_len);
    const char *new_text = arguments_string(call, "new-text", &new_len);
    const char *found = NULL;
    if (open_argument(&edit) && find_form(&edit)) {
        add_with_line_ends(&old, &edit, old_text, old_len);
        add_with_line_ends(&new, &edit, new_text, new_len);
        found = find_once(&edit, &old);
    }
    if (found != NULL && suits_encoding(&edit, new_text, new_len)) {
        size_t at = (size_t)(found - edit.text), rest = at + old.len;
        strbuf_add(&form, edit.text + edit.form.start, at - edit.form.start);
        strbuf_add(&form, strbuf_string(&new), new.len);
        strbuf_add(&form, edit.text + rest, edit.form.end - rest);
        struct scan_result result = scan_text(strbuf_string(&form), form.len);
        if (result.fault != SCAN_VALID) {
            refuse_fault(call, "With this change, the parentheses of the form would be unbalanced.",
                         strbuf_string(&form), form.len, &result);
        } else if (result.forms != 1) {
            call_answer(call, true, "With this change, it would be %zu forms, not one. Nothing was changed.",
                        result.forms);
        } else {
            replace(&edit, "Changed", edit.form.start, edit.form.end, &form);
        }
    }
    strbuf_fini(&old);
    strbuf_fini(&new);
    strbuf_fini(&form);
    regular_file_fini(&edit.file);
}

/* Put the definition of ${entry}, as the agent found it, into ${changed}, the text of the file so far. Up to
 * ${end}, where the entry before has changed it, it is as in the file; the entries come from the end of the
 * file on. ${tokens}: how many the text must have in the end. */
static bool store_entry(struct edit *edit, const struct sexp *entry, struct strbuf *changed, size_t *end,
                        size_t *tokens)
{
    size_t old_len, new_len;
    const char *old = sexp_string(sexp_get(entry, 0, "old"), &old_len);
    const char *new = sexp_string(sexp_get(entry, 0, "new"), &new_len);
    int64_t place = sexp_integer(sexp_get(entry, 0, "at"), -1);
    bool inserts = !sexp_is_nil(sexp_get(entry, 0, "inserts"));
    size_t at = place < 0                              ? edit->len + 1
                : utf8_is_valid(edit->text, edit->len) ? utf8_byte_of(edit->text, edit->len, (size_t)place)
                                                       : (size_t)place;
    bool is_there =
        old != NULL &&
        new != NULL &&at <= *end &&old_len <= *end - at &&memcmp(edit->text + at, old, old_len) == 0;
    if (is_there && inserts) {
        edit->form.end = at;
        at = place_after(edit);
        is_there = old_len == 0 && at <= *end;
    }
    if (!is_there) {
        call_answer(edit->call, true, "%s was changed just now. Nothing was written into it.",
                    edit->file.path);
        return false;
    }
    if (!suits_encoding(edit, new, new_len))
        return false;
    *end = at;
    struct strbuf content = {0}, rest = {0};
    if (inserts)
        strbuf_addf(&content, "%s%s", edit->line_end, edit->line_end);
    add_with_line_ends(&content, edit, new, new_len);
    *tokens += count_tokens(strbuf_string(&content), content.len) - count_tokens(old, old_len);
    strbuf_add(&rest, changed->bytes + at + old_len, changed->len - at - old_len);
    changed->len = at;
    strbuf_add(changed, strbuf_string(&content), content.len);
    strbuf_add(changed, strbuf_string(&rest), rest.len);
    strbuf_fini(&content);
    strbuf_fini(&rest);
    return true;
}

/* Write those of ${entries} from ${first} on that are of the same file, or only check whether that can be.
 * Returns how many these are; 0: the call has been answered. */
static size_t store_file(struct tool_call *call, const struct sexp *entries, size_t first, bool only_checks)
{
    struct edit edit = {.call = call, .file = {.directory = -1}};
    struct strbuf changed = {0};
    struct scan_result result;
    struct err err;
    size_t count = 0, path_len = 0;
    const struct sexp *file = sexp_get(sexp_nth(entries, first), 0, "file");
    const char *path = sexp_string(file, &path_len);
    bool is_well = path != NULL && open_file(&edit, path, path_len);
    size_t tokens = is_well ? count_tokens(edit.text, edit.len) : 0, end = edit.len;
    if (is_well)
        strbuf_add(&changed, edit.text, edit.len);
    for (size_t i = first; is_well && i < sexp_count(entries); i++, count++) {
        const struct sexp *entry = sexp_nth(entries, i);
        if (!reply_is_same(sexp_get(entry, 0, "file"), file))
            break;
        is_well = store_entry(&edit, entry, &changed, &end, &tokens);
    }
    if (is_well && scan_has_fault(strbuf_string(&changed), changed.len, &result)) {
        is_well = refuse_fault(call, "With this change, the parentheses of the file would be unbalanced.",
                               strbuf_string(&changed), changed.len, &result);
    } else if (is_well && count_tokens(strbuf_string(&changed), changed.len) != tokens) {
        call_answer(call, true,
                    "With this change, a comment or a string would swallow the text beside it. Nothing was "
                    "written into %s.",
                    edit.file.path);
        is_well = false;
    } else if (is_well && !only_checks && !arguments_boolean(call, "dry-run") &&
               !regular_file_replace(&edit.file, strbuf_string(&changed), changed.len, &err)) {
        call_answer(call, true, "%s. Nothing was written into it.", err.message);
        is_well = false;
    }
    for (size_t i = first + count; is_well && !only_checks && i > first; i--)
        reply_fill(&call->text, sexp_nth(entries, i - 1),
                   "{inserts?Added}{inserts!Replaced} {name} (evaluation {evaluation})\n");
    if (is_well && !only_checks) {
        reply_fill(&call->text, sexp_nth(entries, first), "in {shown}");
        strbuf_adds(&call->text, arguments_boolean(call, "dry-run") ? " (dry-run: not written)\n" : "\n");
        line_diff_add(&call->text, edit.text, edit.len, strbuf_string(&changed), changed.len,
                      MOST_DIFF_BYTES);
    }
    strbuf_fini(&changed);
    regular_file_fini(&edit.file);
    return is_well ? count : 0;
}

static void on_noted(struct tool_call *call, const struct outcome *o)
{
    strbuf_adds(&call->text, "These definitions count as loaded from there.");
}

/* What goes where is known: write it, and have the image note it. */
static void on_definitions(struct tool_call *call, const struct outcome *o)
{
    if (o->kind == OUTCOME_ERROR) {
        look_up_showing(call, NULL)(call, o);
        return;
    }
    const struct sexp *entries = reply_get(o->reply, "entries");
    call_begin_request(call, "note-stored");
    sexp_write_symbol(&call->request, "entries");
    sexp_write_open(&call->request);
    for (size_t i = 0; i < sexp_count(entries); i++) {
        const struct sexp *entry = sexp_nth(entries, i);
        sexp_write_open(&call->request);
        sexp_write_value(&call->request, sexp_get(entry, 0, "evaluation"));
        sexp_write_value(&call->request, sexp_get(entry, 0, "start"));
        sexp_write_value(&call->request, sexp_get(entry, 0, "end"));
        sexp_write_value(&call->request, sexp_get(entry, 0, "file"));
        sexp_write_close(&call->request);
    }
    sexp_write_close(&call->request);
    /* All are checked first, so that none is written if one is refused. */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0, count; i < sexp_count(entries); i += count)
            if ((count = store_file(call, entries, i, pass == 0)) == 0)
                return;
    if (arguments_boolean(call, "dry-run"))
        call_finish(call);
    else
        look_up(call, o->session, on_noted);
}

static void store(struct tool_call *call)
{
    struct session *s = call_session(call);
    if (s == NULL)
        return;
    call_begin_operation(call, "definitions-to-store");
    history_write_since(session_journal(s), 0, &call->request);
    look_up_whatever(call, s, on_definitions);
}

static void run(struct tool_call *call)
{
    if (arguments_boolean(call, "from-session")) {
        store(call);
        return;
    }
    if (!arguments_has(call, "path") || !arguments_has(call, "kind") || !arguments_has(call, "name")) {
        call_answer(call, true,
                    "Pass path, kind and name; path and kind are optional only with from-session: true. "
                    "Nothing was changed.");
        return;
    }
    bool is_delete = arguments_is(call, "operation", operations[DELETE]);
    if (arguments_has(call, "old-text"))
        patch(call);
    else if (is_delete || arguments_has(call, "content"))
        edit_whole(call);
    else
        call_answer(call, true, "Pass content, or old-text and new-text. Nothing was changed.");
}

const struct tool tool_edit_form = {
    .name = "edit-form",
    .title = "Edit a form",
    .description = "Replace, patch, insert or delete a top-level form of a Lisp file. Keeps parentheses "
                   "balanced and all other text; returns the diff.",
    .is_destructive = true,
    .arguments = {ARGUMENT("path", STRING, ""), ARGUMENT("kind", STRING, "Operator: defun, defmethod, ..."),
                  ARGUMENT("name", STRING, "Of a method: area :around ((s circle)).", .is_required = true,
                           .excludes = "names"),
                  ARGUMENT("from-session", BOOLEAN, "Write what was evaluated."),
                  ARGUMENT("names", STRING_LIST, "", .needs = "from-session"),
                  ARGUMENT("after", STRING, "", .needs = "from-session"),
                  ARGUMENT("line", INTEGER, "", .minimum = 1, .maximum = 100000000),
                  ARGUMENT("operation", STRING, "", .choices = operations, .excludes = "old-text"),
                  ARGUMENT("content", STRING, "Complete forms with comments.", .excludes = "old-text"),
                  ARGUMENT("old-text", STRING, "Patch: text that the form has once.", .needs = "new-text"),
                  ARGUMENT("new-text", STRING, "", .needs = "old-text"), ARGUMENT("dry-run", BOOLEAN, ""),
                  SESSION_ARGUMENT},
    .run = run,
};
