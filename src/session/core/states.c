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
    /*                           submitted  ready      unavailable  ok        failed    deadline      cancel    gone            input */
    [SESSION_ABSENT] =       ROW(start,     never,     drop,        never,    never,    never,        drop,     never,          never),
    [SESSION_SUSPENDED] =    ROW(resume,    never,     refuse_all,  never,    never,    never,        drop,     never,          never),
    [SESSION_STARTING] =     ROW(wait,      check,     give_up,     drop,     drop,     lose,         drop,     lose,           never),
    [SESSION_CHECKING] =     ROW(wait,      never,     drop,        healthy,  lose,     lose,         drop,     lose,           never),
    [SESSION_REPLAYING] =    ROW(wait,      never,     drop,        replayed, replayed, stop_replay,  drop,     stop_replay,    never),
    [SESSION_IDLE] =         ROW(begin,     never,     drop,        drop,     drop,     rest,         drop,     die,            never),
    [SESSION_RUNNING] =      ROW(look,      never,     drop,        finish,   fail,     press,        press,    die,            ask),
    [SESSION_ASKING] =       ROW(look,      never,     drop,        finish,   fail,     decline,      press,    die,            give_answer),
    [SESSION_STANDING] =     ROW(serve,     never,     drop,        drop,     drop,     end_standing, drop,     die,            never),
    [SESSION_COPYING] =      ROW(wait,      never,     drop,        copied,   copied,   forgo,        put_off,  die,            never),
    [SESSION_SCRATCH] =      ROW(wait,      enter,     drop,        drop,     drop,     refuse_scratch,put_off,  refuse_scratch, never),
    [SESSION_EXAMINING] =    ROW(wait,      never,     drop,        unwind,   unwind,   press,        drop,     die,            never),
    [SESSION_UNWINDING] =    ROW(wait,      never,     drop,        settle,   settle,   press,        drop,     die,            never),
    [SESSION_KILLING] =      ROW(wait,      never,     drop,        drop,     drop,     never,        drop,     die,            never),
};
/* clang-format on */

const unsigned session_nexts[SESSION_STATE_COUNT] = {
#define N(name) SESSION_NEXT(SESSION_##name)
    [SESSION_ABSENT] = N(ABSENT) | N(SUSPENDED) | N(STARTING),
    [SESSION_SUSPENDED] = N(ABSENT) | N(STARTING),
    [SESSION_STARTING] = N(ABSENT) | N(STARTING) | N(CHECKING) | N(IDLE),
    [SESSION_CHECKING] =
        N(ABSENT) | N(STARTING) | N(REPLAYING) | N(IDLE) | N(STANDING) | N(COPYING) | N(UNWINDING),
    [SESSION_REPLAYING] = N(ABSENT) | N(STARTING) | N(REPLAYING) | N(IDLE),
    [SESSION_IDLE] =
        N(ABSENT) | N(STARTING) | N(CHECKING) | N(REPLAYING) | N(IDLE) | N(RUNNING) | N(COPYING) | N(SCRATCH),
    [SESSION_RUNNING] = N(ABSENT) | N(STARTING) | N(IDLE) | N(RUNNING) | N(ASKING) | N(STANDING) |
                        N(COPYING) | N(EXAMINING) | N(UNWINDING) | N(KILLING),
    [SESSION_ASKING] = N(ABSENT) | N(STARTING) | N(IDLE) | N(RUNNING) | N(STANDING) | N(COPYING) |
                       N(EXAMINING) | N(UNWINDING),
    [SESSION_STANDING] = N(ABSENT) | N(STARTING) | N(RUNNING) | N(STANDING) | N(COPYING) | N(SCRATCH) |
                         N(EXAMINING) | N(UNWINDING),
    [SESSION_COPYING] = N(ABSENT) | N(STARTING) | N(IDLE) | N(RUNNING) | N(STANDING) | N(EXAMINING) |
                        N(UNWINDING) | N(KILLING),
    [SESSION_SCRATCH] = N(ABSENT) | N(IDLE) | N(RUNNING) | N(STANDING) | N(COPYING),
    [SESSION_EXAMINING] = N(ABSENT) | N(STARTING) | N(EXAMINING) | N(UNWINDING) | N(KILLING),
    [SESSION_UNWINDING] =
        N(ABSENT) | N(STARTING) | N(REPLAYING) | N(IDLE) | N(COPYING) | N(UNWINDING) | N(KILLING),
    [SESSION_KILLING] = N(ABSENT) | N(STARTING) | N(IDLE) | N(STANDING) | N(COPYING),
#undef N
};

const char *const session_state_texts[] = {
#define X(name, text, meaning) [SESSION_##name] = text,
    SESSION_STATES(X)
#undef X
};

const char *const session_event_texts[] = {
#define X(name, text, meaning) [EVENT_##name] = text,
    SESSION_EVENTS(X)
#undef X
};

const char *const session_action_texts[] = {
#define X(name, file, effect) [ACTION_##name] = #name,
    SESSION_ACTIONS(X)
#undef X
};
