/*
 * The table of a session's life; docs/states.md is printed from it and compared by a test.
 */
#include "session/session_states.h"

#define ROW(submitted, ready, unavailable, ok, failed, deadline, cancel, gone)                                 \
    {                                                                                                          \
        [EVENT_SUBMITTED] = ACTION_##submitted, [EVENT_READY] = ACTION_##ready,                                \
        [EVENT_UNAVAILABLE] = ACTION_##unavailable, [EVENT_OK] = ACTION_##ok, [EVENT_FAILED] = ACTION_##failed, \
        [EVENT_DEADLINE] = ACTION_##deadline, [EVENT_CANCEL] = ACTION_##cancel, [EVENT_GONE] = ACTION_##gone    \
    }

const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT] = {
    /*                          submitted ready   unavailable ok        failed    deadline    cancel     gone */
    [SESSION_ABSENT] =        ROW(start,  ignore, ignore,     discard,  discard,  ignore,     ignore,    ignore),
    [SESSION_STARTING] =      ROW(ignore, begin,  give_up,    discard,  discard,  cut_short,  ignore,    start_again),
    [SESSION_IDLE] =          ROW(begin,  ignore, ignore,     discard,  discard,  checkpoint, ignore,    mourn),
    [SESSION_VISITING] =      ROW(ignore, enter,  ignore,     answered, discard,  kill,       ignore,    mourn),
    [SESSION_RUNNING] =       ROW(ignore, ignore, ignore,     finish,   freeze,   interrupt,  interrupt, mourn),
    [SESSION_INTERRUPTING] =  ROW(ignore, ignore, ignore,     finish,   freeze,   insist,     ignore,    mourn),
    [SESSION_INSISTING] =     ROW(ignore, ignore, ignore,     finish,   freeze,   kill,       ignore,    mourn),
    [SESSION_FREEZING] =      ROW(ignore, ignore, ignore,     frozen,   frozen,   kill,       put_off,   mourn),
    [SESSION_EXAMINING] =     ROW(ignore, ignore, ignore,     abort,    abort,    hurry,      ignore,    mourn),
    [SESSION_HURRYING] =      ROW(ignore, ignore, ignore,     abort,    abort,    kill,       ignore,    mourn),
    [SESSION_ABORTING] =      ROW(ignore, ignore, ignore,     settle,   settle,   force,      ignore,    mourn),
    [SESSION_FORCING] =       ROW(ignore, ignore, ignore,     settle,   settle,   kill,       ignore,    mourn),
    [SESSION_KILLING] =       ROW(ignore, ignore, ignore,     discard,  discard,  ignore,     ignore,    mourn),
    [SESSION_CHECKPOINTING] = ROW(ignore, ignore, ignore,     kept,     kept,     kill,       ignore,    mourn),
    [SESSION_PROVING] =       ROW(ignore, prove,  ignore,     proven,   kill,     kill,       ignore,    mourn),
    [SESSION_REPLAYING] =     ROW(ignore, ignore, ignore,     replayed, replayed, kill,       ignore,    mourn),
};

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
