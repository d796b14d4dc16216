/*
 * What must hold in the table of a session's life whatever its cells say.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../cases.h"
#include "../assert_between.h"
#include "session/core/states.h"

static const char *state_name(size_t i)
{
    return session_state_texts[i];
}

static const char *event_name(size_t i)
{
    return session_event_texts[i];
}

static bool is_an_action(enum session_action action)
{
    return action != ACTION_wait && action != ACTION_drop && action != ACTION_never;
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
            fail_msg("no cell leads to %s", session_action_texts[a]);
}

TEST(something_follows_the_end_of_a_process_where_there_is_one)
{
    for (size_t s = SESSION_STARTING; s < SESSION_STATE_COUNT; s++)
        assert_true(is_an_action(session_table[s][EVENT_GONE]));
}

TEST(a_reply_is_dropped_only_where_none_is_awaited)
{
    for (size_t s = 0; s < SESSION_STATE_COUNT; s++)
        assert_int_equal(is_an_action(session_table[s][EVENT_OK]),
                         is_an_action(session_table[s][EVENT_FAILED]));
}

/* press, forgo, lose, stop_replay and refuse_scratch end the process, or send SIGKILL, at the latest when
 * they run for the third time; decline leads back to RUNNING. */
TEST(no_state_waits_for_the_users_code_for_ever)
{
    static const bool ends[SESSION_ACTION_COUNT] = {
        [ACTION_press] = true,       [ACTION_forgo] = true,          [ACTION_lose] = true,
        [ACTION_stop_replay] = true, [ACTION_refuse_scratch] = true, [ACTION_decline] = true,
    };
    for (size_t s = SESSION_STARTING; s < SESSION_KILLING; s++)
        if (s != SESSION_IDLE && s != SESSION_STANDING && !ends[session_table[s][EVENT_DEADLINE]])
            fail_msg("the deadline of %s does not end it", session_state_texts[s]);
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
