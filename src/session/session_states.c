/*
 * The table of a session's life; docs/states.md is printed from it and compared by a test.
 */
#include "session/session_states.h"

/* The rows are laid out by hand, one a line, so that a column can be read downwards. */
/* clang-format off */
#define ROW(submitted, ready, unavailable, ok, failed, deadline, cancel, copied, gone, unused, stored)         \
    {                                                                                                          \
        [EVENT_SUBMITTED] = ACTION_##submitted, [EVENT_READY] = ACTION_##ready,                                \
        [EVENT_UNAVAILABLE] = ACTION_##unavailable, [EVENT_OK] = ACTION_##ok, [EVENT_FAILED] = ACTION_##failed, \
        [EVENT_DEADLINE] = ACTION_##deadline, [EVENT_CANCEL] = ACTION_##cancel, [EVENT_COPIED] = ACTION_##copied, \
        [EVENT_GONE] = ACTION_##gone, [EVENT_UNUSED] = ACTION_##unused, [EVENT_STORED] = ACTION_##stored       \
    }

const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT] = {
    /*                          submitted ready   unavailable ok        failed    deadline    cancel     copied    gone         unused  stored */
    [SESSION_ABSENT] =        ROW(start,  ignore, ignore,     discard,  discard,  ignore,     ignore,    discard,  ignore,      ignore, stay_awake),
    [SESSION_ASLEEP] =        ROW(wake,   ignore, stay_asleep, discard, discard,  ignore,     ignore,    discard,  ignore,      ignore, stay_awake),
    [SESSION_STARTING] =      ROW(ignore, begin,  give_up,    discard,  discard,  cut_short,  ignore,    discard,  start_again, ignore, stay_awake),
    [SESSION_IDLE] =          ROW(begin,  ignore, ignore,     discard,  discard,  checkpoint, ignore,    discard,  handle_exit,       suspend,   fall_asleep),
    [SESSION_COPYING] =      ROW(ignore, enter,  ignore,     discard,  discard,  kill,       ignore,    answered, handle_exit,       ignore, stay_awake),
    [SESSION_RUNNING] =       ROW(ignore, ignore, ignore,     finish,   freeze,   interrupt,  interrupt, keep,     handle_exit,       ignore, stay_awake),
    [SESSION_INTERRUPTING] =  ROW(ignore, ignore, ignore,     finish,   freeze,   insist,     ignore,    keep,     handle_exit,       ignore, stay_awake),
    [SESSION_INSISTING] =     ROW(ignore, ignore, ignore,     finish,   freeze,   kill,       ignore,    keep,     handle_exit,       ignore, stay_awake),
    [SESSION_FREEZING] =      ROW(ignore, ignore, ignore,     discard,  discard,  do_without, put_off,   frozen,   handle_exit,       ignore, stay_awake),
    [SESSION_EXAMINING] =     ROW(ignore, ignore, ignore,     abort,    abort,    hurry,      ignore,    discard,  handle_exit,       ignore, stay_awake),
    [SESSION_HURRYING] =      ROW(ignore, ignore, ignore,     abort,    abort,    kill,       ignore,    discard,  handle_exit,       ignore, stay_awake),
    [SESSION_ABORTING] =      ROW(ignore, ignore, ignore,     settle,   settle,   force,      ignore,    discard,  handle_exit,       ignore, stay_awake),
    [SESSION_FORCING] =       ROW(ignore, ignore, ignore,     settle,   settle,   kill,       ignore,    discard,  handle_exit,       ignore, stay_awake),
    [SESSION_KILLING] =       ROW(ignore, ignore, ignore,     discard,  discard,  ignore,     ignore,    discard,  handle_exit,       ignore, stay_awake),
    [SESSION_CHECKPOINTING] = ROW(begin,  ignore, ignore,     discard,  discard,  do_without, ignore,    kept,     handle_exit,       ignore, stay_awake),
    [SESSION_CHECKING] =       ROW(ignore, check,  ignore,     healthy,   kill,     kill,       ignore,    discard,  handle_exit,       ignore, stay_awake),
    [SESSION_REPLAYING] =     ROW(ignore, ignore, ignore,     replayed, replayed, kill,       ignore,    discard,  handle_exit,       ignore, stay_awake),
};
/* clang-format on */

const char *session_state_text(enum session_state state)
{
    static const char *const texts[] = {
#define X(name, text) [SESSION_##name] = text,
        SESSION_STATES(X)
#undef X
    };
    return texts[state];
}

const char *session_event_text(enum session_event event)
{
    static const char *const texts[] = {
#define X(name, text) [EVENT_##name] = text,
        SESSION_EVENTS(X)
#undef X
    };
    return texts[event];
}

const char *session_action_text(enum session_action action)
{
    static const char *const texts[] = {
#define X(name) [ACTION_##name] = #name,
        SESSION_ACTIONS(X)
#undef X
    };
    return texts[action];
}
