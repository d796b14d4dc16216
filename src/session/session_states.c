/*
 * Responsible for the table of a session's states. A test compares it with docs/states.md.
 */
#include "session/session_states.h"

/* One row a line, laid out by hand, so that a column can be read downwards. */
/* clang-format off */
#define ROW(submitted, ready, unavailable, ok, failed, deadline, cancel, copied, copy_ended, gone,            \
            entry_ok, entry_failed, scratch_ok, scratch_failed, scratch_gone, source_free,                    \
            source_gone, unused, stored, asked, answered)                                                                      \
    {                                                                                                         \
        [EVENT_SUBMITTED] = ACTION_##submitted, [EVENT_READY] = ACTION_##ready, [EVENT_UNAVAILABLE]           \
        = ACTION_##unavailable, [EVENT_OK] = ACTION_##ok, [EVENT_FAILED] = ACTION_##failed,                   \
        [EVENT_DEADLINE] = ACTION_##deadline, [EVENT_CANCEL] = ACTION_##cancel, [EVENT_COPIED] =              \
        ACTION_##copied, [EVENT_COPY_ENDED] = ACTION_##copy_ended, [EVENT_GONE] = ACTION_##gone,              \
        [EVENT_ENTRY_OK] = ACTION_##entry_ok, [EVENT_ENTRY_FAILED] = ACTION_##entry_failed,                   \
        [EVENT_SCRATCH_OK] = ACTION_##scratch_ok, [EVENT_SCRATCH_FAILED] = ACTION_##scratch_failed,           \
        [EVENT_SCRATCH_GONE] = ACTION_##scratch_gone, [EVENT_SOURCE_FREE] = ACTION_##source_free,             \
        [EVENT_SOURCE_GONE] = ACTION_##source_gone, [EVENT_UNUSED] = ACTION_##unused, [EVENT_STORED]          \
        = ACTION_##stored, [EVENT_ASKED] = ACTION_##asked, [EVENT_ANSWERED] = ACTION_##answered               \
    }

const enum session_action session_table[SESSION_STATE_COUNT][SESSION_EVENT_COUNT] = {
    /*                            submitted  ready      unavailable  ok        failed        deadline      cancel     copied          copy_ended  gone          entry_ok      entry_failed  scratch_ok      scratch_failed  scratch_gone    source_free  source_gone    unused        stored         asked   answered */
    [SESSION_ABSENT] =        ROW(start,     ignore,    ignore,      discard,  discard,      ignore,       ignore,    discard,        ignore,     ignore,       discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_SUSPENDED] =     ROW(resume,    ignore,    refuse_all,  discard,  discard,      ignore,       ignore,    discard,        ignore,     ignore,       discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_STARTING] =      ROW(ignore,    started,   give_up,     discard,  discard,      cut_short,    ignore,    discard,        ignore,     start_again,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_RESTARTING] =    ROW(ignore,    restarted, abandon,     discard,  discard,      cut_short,    ignore,    discard,        ignore,     start_again,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_IDLE] =          ROW(begin,     ignore,    ignore,      discard,  discard,      checkpoint,   ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        suspend,      suspended,     ignore, ignore),
    [SESSION_STANDING] =      ROW(serve,     ignore,    ignore,      discard,  discard,      end_standing, ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        end_standing, discard_image, ignore, ignore),
    [SESSION_WAITING] =       ROW(ignore,    ignore,    ignore,      discard,  discard,      drop_error,   put_off,   discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ask_scratch, ask_scratch,   ignore,       discard_image, ignore, ignore),
    [SESSION_COPYING] =       ROW(ignore,    enter,     ignore,      discard,  discard,      kill,         put_off,   discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        refuse_scratch, ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_RUNNING] =       ROW(look,      ignore,    ignore,      finish,   fail,         interrupt,    interrupt, keep,           ignore,     handle_exit,  finish_entry, fail_entry,   finish_scratch, fail_scratch,   end_scratch,    ignore,      ignore,        ignore,       discard_image, ask,    ignore),
    [SESSION_ASKING] =        ROW(look,      ignore,    ignore,      finish,   fail,         decline,      interrupt, keep,           ignore,     handle_exit,  finish_entry, fail_entry,   finish_scratch, fail_scratch,   end_scratch,    ignore,      ignore,        ignore,       discard_image, ignore, give_answer),
    [SESSION_INTERRUPTING] =  ROW(ignore,    ignore,    ignore,      finish,   fail,         insist,       ignore,    keep,           ignore,     handle_exit,  finish_entry, fail_entry,   finish_scratch, fail_scratch,   end_scratch,    ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_INSISTING] =     ROW(ignore,    ignore,    ignore,      finish,   fail,         kill,         ignore,    keep,           ignore,     handle_exit,  finish_entry, fail_entry,   finish_scratch, fail_scratch,   end_scratch,    ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_RECORDING] =     ROW(ignore,    ignore,    ignore,      discard,  discard,      forgo,        put_off,   recorded,       hasten,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_FREEZING] =      ROW(ignore,    ignore,    ignore,      discard,  discard,      forgo,        ignore,    frozen,         hasten,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_INSURING] =      ROW(ignore,    ignore,    ignore,      discard,  discard,      forgo,        put_off,   enter_standing, hasten,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_LEAVING] =       ROW(ignore,    ignore,    ignore,      discard,  discard,      forgo,        ignore,    leave,          hasten,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_EXAMINING] =     ROW(ignore,    ignore,    ignore,      abort,    abort,        hurry,        ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_HURRYING] =      ROW(ignore,    ignore,    ignore,      abort,    abort,        kill,         ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_ABORTING] =      ROW(ignore,    ignore,    ignore,      settle,   settle,       force,        ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_FORCING] =       ROW(ignore,    ignore,    ignore,      settle,   settle,       kill,         ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_KILLING] =       ROW(ignore,    ignore,    ignore,      discard,  discard,      ignore,       ignore,    discard,        ignore,     handle_exit,  discard,      discard,      discard,        discard,        end_scratch,    ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_CHECKPOINTING] = ROW(follow,    ignore,    ignore,      discard,  discard,      do_without,   ignore,    kept,           hasten,     handle_exit,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_RESTORING] =     ROW(ignore,    configure, ignore,      healthy,  fail_restore, fail_restore, ignore,    discard,        ignore,     fail_restore, discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_RESUMING] =      ROW(ignore,    configure, ignore,      healthy,  fail_resume,  fail_resume,  ignore,    discard,        ignore,     fail_resume,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
    [SESSION_SOURCING] =      ROW(ignore,    ignore,    ignore,      discard,  discard,      drop_source,  ignore,    discard,        ignore,     ignore,       discard,      discard,      discard,        discard,        ignore,         ask_source,  lose_source,   ignore,       discard_image, ignore, ignore),
    [SESSION_CHECKING] =      ROW(ignore,    check,     ignore,      healthy,  reject,       reject,       ignore,    discard,        ignore,     reject,       discard,      discard,      discard,        discard,        ignore,         ignore,      forget_source, ignore,       discard_image, ignore, ignore),
    [SESSION_REPLAYING] =     ROW(ignore,    ignore,    ignore,      replayed, replayed,     stop_replay,  ignore,    discard,        ignore,     stop_replay,  discard,      discard,      discard,        discard,        ignore,         ignore,      ignore,        ignore,       discard_image, ignore, ignore),
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
