/*
 * Look-ups: the parts that their tools share.
 */
#include "calls/look_up.h"

#include <inttypes.h>

#include "base/text.h"
#include "report/section.h"

static void on_shown(struct tool_call *call, const struct outcome *outcome)
{
    if (outcome->kind == OUTCOME_ERROR) {
        report_condition(&call->text, outcome->error);
        report_session_note(&call->text, outcome->error);
        call->is_error = true;
    } else {
        call->show(call, outcome);
        if (call->options.wants_data && call->structured == NULL)
            call->structured = report_data(outcome->reply, 2);
    }
    call_finish(call);
}

call_outcome *look_up_showing(struct tool_call *call, call_outcome *show)
{
    call->show = show;
    return on_shown;
}

void look_up_request(struct tool_call *call, struct session *session, enum operation_kind kind,
                     const char *name, call_outcome *show)
{
    call->on_outcome = look_up_showing(call, show);
    call->operation = session_request(session, kind, name, call_done, call);
}

void look_up(struct tool_call *call, struct session *session, call_outcome *show)
{
    look_up_whatever(call, session, look_up_showing(call, show));
}

void look_up_whatever(struct tool_call *call, struct session *session, call_outcome *on_outcome)
{
    call_run(
        call, session,
        &(struct operation_options){.what = call->tool->name, .timeout_ms = LOOK_UP_MS, .is_look_up = true},
        on_outcome);
}

void look_up_in_copy(struct tool_call *call, struct session *session, const char *what, int timeout_ms,
                     const char *effects, call_outcome *show)
{
    call->effects = effects;
    call_run(call, session,
             &(struct operation_options){.kind = OPERATION_VISIT, .what = what, .timeout_ms = timeout_ms},
             look_up_showing(call, show));
}

void look_up_run(struct tool_call *call, struct session *s)
{
    look_up(call, s, call->tool->show);
}

void look_up_frames(struct tool_call *call, const char *operation, int64_t from, int64_t count)
{
    call_begin_request(call, operation);
    call_write_string(call, "thread");
    call_write_integer(call, "from", from);
    call_write_integer(call, "count", count);
    call_write_flag(call, "locals", arguments_boolean(call, "locals"));
}

void look_up_add_rest(struct tool_call *call, size_t shown, size_t total)
{
    size_t from = (size_t)arguments_integer(call, "from", 0);
    if (from + shown >= total && from == 0)
        return;
    if (shown == 0)
        strbuf_addf(&call->text, "\n(none from %zu on)", from);
    else if (from + shown < total)
        strbuf_addf(&call->text, "\n… %zu more; from: %zu shows them", total - from - shown, from + shown);
}

void look_up_add_frames(struct tool_call *call, const struct sexp *frames, int64_t total)
{
    size_t from = (size_t)arguments_integer(call, "from", 0), shown = sexp_count(frames);
    bool is_more = total < 0;
    strbuf_addf(&call->text, "%s%s):", is_more ? "Backtrace (more than " : "Backtrace (",
                text_count((uint64_t)(is_more ? -total : total), "frame").text);
    section_add_stack(&call->text, frames, 0, shown, from, arguments_boolean(call, "locals"));
    if (call->options.wants_data)
        call->structured = report_data_frames(frames, 0, shown, from);
    if (total == 0)
        strbuf_adds(&call->text, "\n(no frames of the program)");
    else if (is_more && from + shown >= (size_t)-total)
        strbuf_addf(&call->text, "\n(only the first %" PRId64 " can be read)", -total);
    else if (shown == 0)
        strbuf_addf(&call->text, "\n(no frames from %zu on)", from);
    else if (is_more || from + shown < (size_t)total)
        strbuf_adds(&call->text, "\n... more frames; max-frames and from show them");
}

void look_up_add_text(struct tool_call *call, struct session *session, const char *text, size_t len)
{
    report_cut(&call->text, session, text, len,
               (size_t)limits_int(session_limits(session), LIMIT_MAX_OUTPUT));
}
