/*
 * The list of tools, and the guide that speaks of them: nothing is missing, nothing is invented.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../assert_between.h"
#include "base/utf8.h"
#include "calls/call.h"
#include "calls/listing.h"
#include "calls/toolbox.h"
#include "strbuf_test.h"
#include "tools/table.h"

static size_t count_sentences(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += (*text == '.' || *text == '!' || *text == '?') && (text[1] == ' ' || text[1] == '\0');
    return n;
}

TEST(every_tool_has_a_name_a_title_and_a_description)
{
    assert_true(registry_count(&tool_table) > 10);
    for (size_t i = 0; i < registry_count(&tool_table); i++) {
        const struct tool *tool = registry_at(&tool_table, i);
        size_t len = strlen(tool->name);
        assert_between(len, 3, 64);
        assert_int_equal(strspn(tool->name, "abcdefghijklmnopqrstuvwxyz-"), len);
        if (tool->title == NULL || strlen(tool->title) < 4)
            fail_msg("%s has no title", tool->name);
        if (tool->description == NULL || strlen(tool->description) < 20 ||
            !utf8_is_valid(tool->description, strlen(tool->description)))
            fail_msg("%s has no description", tool->name);
        size_t sentences = count_sentences(tool->description);
        if (sentences < 1 || sentences > 2)
            fail_msg("the description of %s has %zu sentences", tool->name, sentences);
        assert_true((tool->run == NULL) != (tool->run_in == NULL));
        assert_ptr_equal(registry_find(&tool_table, tool->name), tool);
    }
}

static bool is_argument(const char *name, const struct tool *tool)
{
    for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return true;
    return false;
}

/* A description may be left out where the name says enough; it is never two sentences. */
TEST(every_argument_has_a_name_and_at_most_a_line_of_description)
{
    for (size_t i = 0; i < registry_count(&tool_table); i++) {
        const struct tool *tool = registry_at(&tool_table, i);
        for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
            assert_true(a < tool->arguments + TOOL_MAX_ARGUMENTS);
            assert_int_equal(strspn(a->name, "abcdefghijklmnopqrstuvwxyz-"), strlen(a->name));
            size_t len = a->description == NULL ? 0 : strlen(a->description);
            if (a->description == NULL || len > 70 || (len > 0 && a->description[len - 1] != '.'))
                fail_msg("%s of %s is not described by a line", a->name, tool->name);
            if ((a->excludes != NULL && !is_argument(a->excludes, tool)) ||
                (a->also_excludes != NULL && !is_argument(a->also_excludes, tool)) ||
                (a->needs != NULL && !is_argument(a->needs, tool)))
                fail_msg("%s of %s goes with an argument that does not exist", a->name, tool->name);
            for (const struct tool_argument *other = tool->arguments; other < a; other++)
                assert_string_not_equal(a->name, other->name);
        }
    }
}

/* A description's "default: all" and a bound must not contradict each other, and a choice is of a string. */
TEST(every_schema_makes_sense)
{
    for (size_t i = 0; i < registry_count(&tool_table); i++) {
        const struct tool *tool = registry_at(&tool_table, i);
        for (const struct tool_argument *a = tool->arguments; a->name != NULL; a++) {
            assert_true(a->minimum <= a->maximum);
            if (a->choices != NULL)
                assert_int_equal(a->type, ARGUMENT_STRING);
            if (a->type != ARGUMENT_INTEGER && a->type != ARGUMENT_NUMBER)
                assert_true(a->minimum <= 0 && a->maximum <= 0);
        }
    }
}

TEST(read_only_tools_are_not_destructive)
{
    for (size_t i = 0; i < registry_count(&tool_table); i++)
        if (registry_at(&tool_table, i)->is_read_only && registry_at(&tool_table, i)->is_destructive)
            fail_msg("%s is both", registry_at(&tool_table, i)->name);
}

struct guide {
    struct strbuf text;
    int answers;
};

static void on_guide(void *arg, const struct tool_result *result)
{
    struct guide *g = arg;
    g->answers++;
    assert_false(result->is_error);
    strbuf_add(&g->text, result->text->bytes, result->text->len);
}

static void read_guide(struct guide *g, const char *topic)
{
    struct toolbox toolbox = {0};
    struct tool_call_options options = {.default_session = "default", .done = on_guide, .arg = g};
    *g = (struct guide){0};
    strbuf_init(&g->text, 0);
    json_t *arguments = topic == NULL ? json_object() : json_pack("{s:s}", "topic", topic);
    assert_null(call_start(&toolbox, registry_find(&tool_table, "get-usage-guide"), arguments, &options));
    assert_int_equal(g->answers, 1);
}

TEST(guide_is_one_page)
{
    struct guide g;
    read_guide(&g, NULL);
    assert_between(g.text.len, 1000, 4000);
    assert_non_null(strstr(strbuf_string(&g.text), "cl-mcp:define-tool"));
    assert_true(utf8_is_valid(g.text.bytes, g.text.len));
    strbuf_fini(&g.text);
}

STRBUF_TEST(joined, guide_has_every_topic_and_no_other_text)
{
    struct guide all, part;
    const struct tool_argument *topic = &registry_find(&tool_table, "get-usage-guide")->arguments[0];
    for (size_t i = 0; topic->choices[i] != NULL; i++) {
        read_guide(&part, topic->choices[i]);
        assert_true(part.text.len > 100);
        if (strcmp(topic->choices[i], "threads") != 0) /* its own page */
            strbuf_addf(joined, "%s%s", i == 0 ? "" : "\n\n", strbuf_string(&part.text));
        strbuf_fini(&part.text);
    }
    read_guide(&all, NULL);
    assert_string_equal(strbuf_string(joined), strbuf_string(&all.text));
    strbuf_fini(&all.text);
}

TEST(a_shorter_list_loses_what_is_said_of_other_tools)
{
    static const char *const rows[][2] = {
        {"Call evaluate-lisp. Then list-threads. And more.", "Call evaluate-lisp. And more."},
        {"Call list-threads.", ""},
        {"It hangs; list-threads shows why; wait.", "It hangs."},
        {"list-threads shows why; wait.\nNext.", "Next."},
        {"One. list-threads is\n   two. Three", "One. Three"},
        {"One.\n1. list-threads.\n2. Two.\n", "One.\n2. Two.\n"},
        {"One. list-threads.\nTwo; list-threads.\nThree.", "One.\nTwo.\nThree."},
        {"Call (asdf:load-system x) or a-list-threads.", "Call (asdf:load-system x) or a-list-threads."},
        {"", ""},
        {"\n\n", "\n\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf out = {0}, all = {0};
        listing_add_text(&tool_table, "evaluate-lisp,get_output", rows[i][0], strlen(rows[i][0]), &out);
        assert_string_equal(strbuf_string(&out), rows[i][1]);
        listing_add_text(&tool_table, NULL, rows[i][0], strlen(rows[i][0]), &all);
        assert_string_equal(strbuf_string(&all), rows[i][0]);
        strbuf_fini(&out);
        strbuf_fini(&all);
    }
}

TEST(a_shorter_list_changes_nothing_of_a_reply_but_hints)
{
    static const char *const rows[][2] = {
        {"[ERROR] X\nlist-threads.\n\n[Hint]\nOne. list-threads.\n\n(error 1)",
         "[ERROR] X\nlist-threads.\n\n[Hint]\nOne.\n\n(error 1)"},
        {"[ERROR] X\n\n[Hint]\nlist-threads.\n\n(error 1)", "[ERROR] X\n\n(error 1)"},
        {"| [Hint]\nlist-threads.", "| [Hint]\nlist-threads."},
        {"[Hint]\nlist-threads.", ""},
        {"list-threads", "list-threads"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct strbuf text = {0};
        strbuf_adds(&text, rows[i][0]);
        listing_prune_hints(&tool_table, "evaluate-lisp", &text);
        assert_string_equal(strbuf_string(&text), rows[i][1]);
        strbuf_fini(&text);
    }
}

static bool is_argument_of_any(const char *name)
{
    for (size_t i = 0; i < registry_count(&tool_table); i++)
        if (is_argument(name, registry_at(&tool_table, i)))
            return true;
    return false;
}

static bool is_tool(const char *name)
{
    return registry_find(&tool_table, name) != NULL &&
           strcmp(registry_find(&tool_table, name)->name, name) == 0;
}

#define WORD "abcdefghijklmnopqrstuvwxyz-"

/* The word at *at, without dashes at its end; *at moves behind it. Empty at the end. */
static void next_word(const char **at, char *word, size_t size)
{
    const char *p = *at + strcspn(*at, WORD);
    size_t len = strspn(p, WORD);
    *at = p + len;
    while (len > 0 && p[len - 1] == '-')
        len--;
    snprintf(word, size, "%.*s", (int)len, p);
}

/* Every word with a dash is a tool, an argument, or one of the few words of English and of Lisp listed here.
 */
TEST(guide_names_only_tools_and_arguments_that_exist)
{
    static const char *const others[] = {"in-package", "common-lisp", "cl-mcp", "define-tool",
                                         "call-tool",  "user-greet",  ""};
    struct guide g;
    read_guide(&g, NULL);
    char word[64];
    size_t tools = 0;
    for (const char *p = strbuf_string(&g.text);
         next_word(&p, word, sizeof word), word[0] != '\0' || *p != '\0';) {
        if (strchr(word, '-') == NULL)
            continue;
        bool is_other = false;
        for (size_t i = 0; others[i][0] != '\0'; i++)
            is_other = is_other || strcmp(word, others[i]) == 0;
        tools += is_tool(word);
        if (!is_other && !is_tool(word) && !is_argument_of_any(word))
            fail_msg("the guide names %s, which is neither a tool nor an argument", word);
    }
    assert_true(tools > 15);
    strbuf_fini(&g.text);
}

/* "the argument NAME", "NAME: true", and "NAME of TOOL, TOOL and TOOL". */
TEST(guide_passes_tools_only_arguments_that_they_accept)
{
    struct guide g;
    read_guide(&g, NULL);
    char word[64], tool[64];
    size_t found = 0;
    for (const char *p = strstr(strbuf_string(&g.text), "argument"); p != NULL; p = strstr(p, "argument")) {
        p += strlen("argument");
        if (*p == 's')
            continue;
        next_word(&p, word, sizeof word);
        if (!is_argument_of_any(word))
            fail_msg("the guide names an argument %s, which no tool takes", word);
        found++;
        for (const char *q = strncmp(p, " of ", 4) == 0 ? p + 4 : ""; *q != '\0' && *q != '.';) {
            next_word(&q, tool, sizeof tool);
            if (!is_tool(tool) && strcmp(tool, "and") != 0)
                break;
            if (is_tool(tool) && !is_argument(word, registry_find(&tool_table, tool)))
                fail_msg("%s does not take %s", tool, word);
        }
    }
    for (const char *p = strstr(strbuf_string(&g.text), ": true"); p != NULL; p = strstr(p + 1, ": true")) {
        const char *start = p;
        while (start > g.text.bytes && strchr(WORD, start[-1]) != NULL)
            start--;
        snprintf(word, sizeof word, "%.*s", (int)(p - start), start);
        if (!is_argument_of_any(word))
            fail_msg("the guide names an argument %s, which no tool takes", word);
        found++;
    }
    assert_true(found >= 2);
    strbuf_fini(&g.text);
}
