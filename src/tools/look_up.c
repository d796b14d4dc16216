/*
 * Look-ups: what their tools share.
 */
#include "tools/look_up.h"

#include <ctype.h>

#include "tools/cut.h"

void look_up(struct tool_call *call, struct session *session, const struct strbuf *request,
             call_outcome *on_outcome)
{
    call_run(
        call, session,
        &(struct operation_options){.request = request, .what = call->tool->name, .timeout_ms = LOOK_UP_MS},
        on_outcome);
}

void look_up_write_range(const struct tool_call *call, struct strbuf *request, int limit)
{
    sexp_write_symbol(request, "from");
    sexp_write_integer(request, (int64_t)call_number(call, "from", 0));
    sexp_write_symbol(request, "limit");
    sexp_write_integer(request, (int64_t)call_number(call, "limit", limit));
}

void look_up_write_flag(const struct tool_call *call, struct strbuf *request, const char *argument,
                        const char *key)
{
    sexp_write_symbol(request, key);
    sexp_write_boolean(request, call_boolean(call, argument));
}

void look_up_add_rest(struct tool_call *call, size_t shown, size_t total)
{
    size_t from = (size_t)call_number(call, "from", 0);
    if (from + shown >= total && from == 0)
        return;
    if (shown == 0)
        strbuf_addf(&call->text, "\n(none from %zu on)", from);
    else if (from + shown < total)
        strbuf_addf(&call->text, "\n… %zu more; from: %zu shows them", total - from - shown, from + shown);
}

void look_up_add(struct strbuf *out, const struct sexp *value)
{
    size_t len;
    const char *text = sexp_string(value, &len);
    if (text != NULL)
        strbuf_add(out, text, len);
}

void look_up_add_list(struct strbuf *out, const struct sexp *list, const char *separator)
{
    for (size_t i = 0; i < sexp_count(list); i++) {
        if (i > 0)
            strbuf_adds(out, separator);
        look_up_add(out, sexp_nth(list, i));
    }
}

void look_up_add_words(struct strbuf *out, const struct sexp *list)
{
    for (size_t i = 0; i < sexp_count(list); i++) {
        const struct sexp *word = sexp_nth(list, i);
        if (i > 0)
            strbuf_adds(out, ", ");
        for (size_t k = 0; word->type == SEXP_SYMBOL && k < word->text.len; k++)
            strbuf_addc(out, (char)toupper((unsigned char)word->text.bytes[k]));
    }
}

void look_up_add_place(struct strbuf *out, const struct sexp *entry, size_t from)
{
    int64_t evaluation = sexp_integer(sexp_get(entry, from, "evaluation"), 0);
    const struct sexp *file = sexp_get(entry, from, "file");
    int64_t line = sexp_integer(sexp_get(entry, from, "line"), 0);
    if (evaluation > 0) {
        strbuf_addf(out, " in this session, evaluation %lld", (long long)evaluation);
    } else if (sexp_string(file, NULL) != NULL) {
        strbuf_adds(out, " at ");
        look_up_add(out, file);
        if (line > 0)
            strbuf_addf(out, ":%lld", (long long)line);
    }
}

void look_up_add_text(struct tool_call *call, struct session *session, const char *text, size_t len)
{
    struct strbuf whole;
    strbuf_init(&whole, 0);
    strbuf_add(&whole, text, len);
    cut_add(&call->text, session, &whole, (size_t)limits_int(session_limits(session), LIMIT_MAX_OUTPUT));
    strbuf_fini(&whole);
}
