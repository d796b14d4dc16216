/*
 * Responsible for the table of a session's states.
 */
#include "session/core/states.h"

/* One row a line, laid out by hand, so that a column can be read downwards. */
/* clang-format off */
#define ROW(submitted, ready, unavailable, ok, failed, deadline, cancel, gone, input)                         \
    {                                                                                                         \
        [EVENT_SUBMITTED] = ACTION_##submitted, [EVENT_READY] = ACTION_##ready,                               \
        [EVENT_UNAVAILABLE] = ACTION_##unavailable, [EVENT_OK] = ACTION_##ok,                                 \
        [EVENT_FAILED] = ACTION_##failed, [EVENT_DEADLINE] = ACTION_##deadline,                               \
        [EVENT_CANCEL] = ACTION_##cancel, [EVENT_GONE] = ACTION_##gone, [EVENT_INPUT] = ACTION_##input        \
    }

const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT] = {
    /*                        submitted  ready      unavailable  ok        failed    deadline      cancel    gone            input */
    [SESSION_ABSENT] =       ROW(start,     ignore,    ignore,      ignore,   ignore,   ignore,       ignore,   ignore,         ignore),
    [SESSION_SUSPENDED] =    ROW(resume,    ignore,    refuse_all,  ignore,   ignore,   ignore,       ignore,   ignore,         ignore),
    [SESSION_STARTING] =     ROW(ignore,    check,     give_up,     ignore,   ignore,   lose,         ignore,   lose,           ignore),
    [SESSION_CHECKING] =     ROW(ignore,    ignore,    ignore,      healthy,  lose,     lose,         ignore,   lose,           ignore),
    [SESSION_REPLAYING] =    ROW(ignore,    ignore,    ignore,      replayed, replayed, stop_replay,  ignore,   stop_replay,    ignore),
    [SESSION_IDLE] =         ROW(begin,     ignore,    ignore,      ignore,   ignore,   rest,         ignore,   die,            ignore),
    [SESSION_RUNNING] =      ROW(look,      ignore,    ignore,      finish,   fail,     press,        press,    die,            ask),
    [SESSION_ASKING] =       ROW(look,      ignore,    ignore,      finish,   fail,     decline,      press,    die,            give_answer),
    [SESSION_STANDING] =     ROW(serve,     ignore,    ignore,      ignore,   ignore,   end_standing, ignore,   die,            ignore),
    [SESSION_COPYING] =      ROW(ignore,    ignore,    ignore,      copied,   copied,   forgo,        put_off,  die,            ignore),
    [SESSION_SCRATCH] =      ROW(ignore,    enter,     ignore,      ignore,   ignore,   refuse_scratch, put_off,  refuse_scratch, ignore),
    [SESSION_EXAMINING] =    ROW(ignore,    ignore,    ignore,      unwind,   unwind,   press,        ignore,   die,            ignore),
    [SESSION_UNWINDING] =    ROW(ignore,    ignore,    ignore,      settle,   settle,   press,        ignore,   die,            ignore),
    [SESSION_KILLING] =      ROW(ignore,    ignore,    ignore,      ignore,   ignore,   ignore,       ignore,   die,            ignore),
};
/* clang-format on */

const char *const session_state_texts[SESSION_STATE_COUNT] = {
#define X(name, text, meaning) [SESSION_##name] = text,
    SESSION_STATES(X)
#undef X
};

const char *const session_event_texts[SESSION_EVENT_COUNT] = {
#define X(name, text, meaning) [EVENT_##name] = text,
    SESSION_EVENTS(X)
#undef X
};

const char *const session_action_texts[SESSION_ACTION_COUNT] = {
#define X(name, file, effect) [ACTION_##name] = #name,
    SESSION_ACTIONS(X)
#undef X
};
