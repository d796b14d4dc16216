/*
 * The table of a session's life, cell by cell against docs/states.md, and what must hold in it whatever the
 * cells say.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "../assert_between.h"
#include "session/session_states.h"

#define DOCUMENT "../docs/states.md" /* from tests/, where every test runs */

/* The whole page; given. */
static char *document(void)
{
    FILE *f = fopen(DOCUMENT, "re");
    if (f == NULL)
        fail_msg("cannot read %s", DOCUMENT);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    assert_true(n > 0 && n < (1 << 20) - 1);
    return text;
}

/* Where the first table under "## HEADING" begins. */
static char *table_under(char *text, const char *heading)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\n## %s\n", heading);
    char *at = strstr(text, wanted);
    if (at == NULL)
        fail_msg("no heading \"%s\" in %s", heading, DOCUMENT);
    at = strstr(at, "\n|");
    assert_non_null(at);
    return at + 1;
}

/* Cut the line at *at into cells, trimmed; *at moves to the next line. Returns how many; 0 when no row begins
 * there. */
static size_t next_row(char **at, char *cells[], size_t capacity)
{
    if (**at != '|')
        return 0;
    char *line = *at, *end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    *at = end + 1;
    size_t n = 0;
    for (char *p = line + 1, *bar; (bar = strchr(p, '|')) != NULL; p = bar + 1) {
        assert_true(n < capacity);
        *bar = '\0';
        while (*p == ' ')
            p++;
        for (char *last = bar; last > p && last[-1] == ' '; last--)
            last[-1] = '\0';
        cells[n++] = p;
    }
    return n;
}

TEST(states_document_has_the_table_cell_by_cell)
{
    char *text = document(), *at = table_under(text, "The table"), *cells[32];
    assert_int_equal(next_row(&at, cells, 32), SESSION_EVENT_COUNT + 1);
    for (size_t e = 0; e < SESSION_EVENT_COUNT; e++)
        assert_string_equal(cells[e + 1], session_event_text((enum session_event)e));
    next_row(&at, cells, 32);
    for (size_t s = 0; s < SESSION_STATE_COUNT; s++) {
        assert_int_equal(next_row(&at, cells, 32), SESSION_EVENT_COUNT + 1);
        assert_string_equal(cells[0], session_state_text((enum session_state)s));
        for (size_t e = 0; e < SESSION_EVENT_COUNT; e++) {
            const char *action = session_action_text(session_table[s][e]);
            if (strcmp(cells[e + 1], action) != 0)
                fail_msg("%s, %s: the page says %s, the table %s", cells[0],
                         session_event_text((enum session_event)e), cells[e + 1], action);
        }
    }
    assert_int_equal(next_row(&at, cells, 32), 0);
    free(text);
}

/* Each of the three lists: the same names in the same order, a sentence for each, and nothing else. */
static void assert_listed(const char *heading, size_t count, const char *(*name)(size_t), size_t columns)
{
    char *text = document(), *at = table_under(text, heading), *cells[32];
    assert_int_equal(next_row(&at, cells, 32), columns);
    next_row(&at, cells, 32);
    for (size_t i = 0; i < count; i++) {
        if (next_row(&at, cells, 32) != columns)
            fail_msg("%s: no row for %s", heading, name(i));
        assert_string_equal(cells[0], name(i));
        size_t len = strlen(cells[1]);
        if (len < 20 || cells[1][len - 1] != '.')
            fail_msg("%s: what is said of %s is no sentence", heading, name(i));
    }
    assert_int_equal(next_row(&at, cells, 32), 0);
    free(text);
}

static const char *state_name(size_t i)
{
    return session_state_text((enum session_state)i);
}

static const char *event_name(size_t i)
{
    return session_event_text((enum session_event)i);
}

static const char *action_name(size_t i)
{
    return session_action_text((enum session_action)i);
}

TEST(states_document_explains_every_state)
{
    assert_listed("States", SESSION_STATE_COUNT, state_name, 2);
}

TEST(states_document_explains_every_event)
{
    assert_listed("Events", SESSION_EVENT_COUNT, event_name, 2);
}

TEST(states_document_explains_every_action)
{
    assert_listed("Actions", SESSION_ACTION_COUNT, action_name, 4);
}

TEST(every_action_is_used_by_some_cell)
{
    bool is_used[SESSION_ACTION_COUNT] = {false};
    for (size_t s = 0; s < SESSION_STATE_COUNT; s++)
        for (size_t e = 0; e < SESSION_EVENT_COUNT; e++) {
            assert_between(session_table[s][e], 0, SESSION_ACTION_COUNT - 1);
            is_used[session_table[s][e]] = true;
        }
    for (size_t a = 0; a < SESSION_ACTION_COUNT; a++)
        if (!is_used[a])
            fail_msg("no cell leads to %s", session_action_text((enum session_action)a));
}

/* A reply that comes as an event is given to the action: one that ignores it would leak it. */
TEST(no_reply_is_ignored)
{
    for (size_t s = 0; s < SESSION_STATE_COUNT; s++) {
        assert_int_not_equal(session_table[s][EVENT_OK], ACTION_ignore);
        assert_int_not_equal(session_table[s][EVENT_FAILED], ACTION_ignore);
        assert_int_not_equal(session_table[s][EVENT_COPIED], ACTION_ignore);
        assert_int_not_equal(session_table[s][EVENT_SCRATCH_OK], ACTION_ignore);
        assert_int_not_equal(session_table[s][EVENT_SCRATCH_FAILED], ACTION_ignore);
    }
}

TEST(the_end_of_a_process_is_never_ignored_where_there_is_one)
{
    for (size_t s = SESSION_STARTING; s < SESSION_STATE_COUNT; s++)
        if (s != SESSION_SOURCING)
            assert_int_not_equal(session_table[s][EVENT_GONE], ACTION_ignore);
}

TEST(every_state_that_waits_for_the_users_code_ends_in_a_kill)
{
    static const struct {
        enum session_action action;
        enum session_state next;
    } steps[] = {
        {ACTION_decline, SESSION_RUNNING},  {ACTION_interrupt, SESSION_INTERRUPTING},
        {ACTION_insist, SESSION_INSISTING}, {ACTION_hurry, SESSION_HURRYING},
        {ACTION_force, SESSION_FORCING},    {ACTION_kill, SESSION_KILLING},
        {ACTION_forgo, SESSION_KILLING}, /* where the process is stuck; else on to what would have followed
                                            the answer */
    };
    for (enum session_state from = SESSION_RUNNING; from < SESSION_KILLING; from++) {
        enum session_state s = from;
        for (int step = 0; s != SESSION_KILLING; step++) {
            enum session_action action = session_table[s][EVENT_DEADLINE];
            size_t i = 0;
            while (i < sizeof steps / sizeof steps[0] && steps[i].action != action)
                i++;
            if (i == sizeof steps / sizeof steps[0] || step > 3)
                fail_msg("from %s the deadlines never lead to a kill", session_state_text(from));
            s = steps[i].next;
        }
    }
}

TEST(names_are_different)
{
    for (size_t i = 0; i < SESSION_STATE_COUNT; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(state_name(i), state_name(k));
    for (size_t i = 0; i < SESSION_EVENT_COUNT; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(event_name(i), event_name(k));
}
