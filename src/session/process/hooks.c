/*
 * Responsible for a session's hooks: after a return, the forms that its code has registered are evaluated
 * before anything else.
 */
#include "session/process/hooks.h"

#include "session/core/core.h"
#include "session/records/error_record.h"
#include "session/records/operation.h"

/* The next reply reports the failures. */
static void on_called(void *arg, const struct outcome *o)
{
    const char *macro = arg;
    if (o->kind == OUTCOME_ERROR)
        session_notify(o->session,
                       FACT(FACT_HOOKS_UNFINISHED, .texts = {macro, o->error->type, o->error->message}));
    if (o->kind != OUTCOME_OK)
        return;
    const struct sexp *failures = sexp_get(o->reply, 2, "failures");
    for (size_t i = 0; i < sexp_count(failures); i++)
        session_notify(
            o->session,
            FACT(FACT_HOOK_FAILED, .texts = {macro, sexp_string(sexp_nth(sexp_nth(failures, i), 0), NULL),
                                             sexp_string(sexp_nth(sexp_nth(failures, i), 1), NULL)}));
}

void hooks_note(struct session *s, const struct sexp *reply)
{
    if (!sexp_is_nil(sexp_get(reply, 2, "hooks")))
        s->flags.has_hooks = true;
    const struct sexp *libraries = sexp_get(reply, 2, "libraries");
    struct strbuf names = {0};
    for (size_t i = 0; i < sexp_count(libraries); i++) {
        const char *name = sexp_string(sexp_nth(libraries, i), NULL);
        strbuf_addf(&names, "%s%s", i > 0 ? ", " : "", name == NULL ? "" : name);
    }
    if (names.len > 0)
        session_notify(s, FACT(FACT_LIBRARIES, .texts = {strbuf_string(&names)}));
    strbuf_fini(&names);
}

void hooks_call(struct session *s, bool is_start)
{
    if (!s->flags.has_hooks)
        return;
    s->flags.has_hooks = false;
    struct strbuf request = {0};
    strbuf_addf(&request, ":call-hooks :reason \"%s\"", is_start ? "start" : "return");
    struct operation_options options = {
        .request = &request,
        .what = is_start ? "code registered with cl-mcp:on-start" : "code registered with cl-mcp:on-return",
        .done = on_called,
        .arg = (void *)(uintptr_t)(is_start ? "on-start" : "on-return"),
    };
    session_put_first(s, operation_new_run(s, &options));
}

void hooks_leave_out(struct session *s)
{
    if (s->flags.has_hooks)
        session_notify(s, FACT(FACT_HOOKS_LEFT_OUT));
    s->flags.has_hooks = false;
}
