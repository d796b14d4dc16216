/*
 * list-threads, interrupt-thread, and get-backtrace of a running thread: the threads of a
 * session, examined and ended from outside.
 */
#include "tools/threads.h"

#include "base/text.h"
#include "calls/look_up.h"
#include "report/report.h"

#define THREAD_MS 15000    /* the agent waits for the thread a few seconds at most */
#define LONGEST_CYCLE 1000 /* threads that are followed to find a deadlock */

static int64_t number_of(const struct sexp *thread)
{
    return sexp_integer(sexp_get(thread, 0, "number"), 0);
}

static int64_t owner_of(const struct sexp *thread)
{
    bool waits = sexp_is_symbol(sexp_get(thread, 0, "activity"), "lock");
    return waits ? sexp_integer(sexp_get(thread, 0, "owner"), 0) : 0;
}

#define LOCK "{lock?mutex \"{lock}\"}{lock!an unnamed mutex}"

static void add_activity(struct strbuf *out, const struct sexp *thread)
{
    reply_fill(out, thread,
               "{activity=running?running}{activity=starting?starting}{activity=sleep?sleeping}"
               "{activity=event?waiting}"
               "{activity=connection?waiting for a connection}{activity=input?waiting for input}"
               "{activity=output?writing}{activity=descriptors?waiting for descriptors}"
               "{activity=child?waiting for a process}{activity=signal?stopped for a moment}"
               "{activity=call?in a system call}{activity=unknown?in an unknown state}"
               "{activity=lock?waiting for " LOCK "{owner?, held by {owner-name} ({owner})}}");
    const struct sexp *descriptor = sexp_get(thread, 0, "descriptor"), *idle = sexp_get(thread, 0, "idle-ms");
    if (descriptor != NULL)
        strbuf_addf(out, " on descriptor %lld", (long long)sexp_integer(descriptor, 0));
    if (idle != NULL)
        strbuf_addf(out, ", for %.1f s", (double)sexp_integer(idle, 0) / 1000);
}

/* The error that stands in a thread, by the number that the agent has for it; NULL: none, or not known yet.
 */
static const struct error_record *standing(const struct session *s, const struct sexp *number)
{
    const struct error_record *r;
    for (size_t i = 0; (r = session_error(s, i)) != NULL; i++)
        if (error_record_stands(r) && r->standing == sexp_integer(number, 0))
            return r;
    return NULL;
}

static void add_thread(struct strbuf *out, const struct session *s, const struct sexp *thread)
{
    reply_fill(out, thread, "{number}{alike*|, {}}  {name}: ");
    bool serves = !sexp_is_nil(sexp_get(thread, 0, "serves"));
    const struct sexp *number = sexp_get(thread, 0, "standing");
    const struct error_record *r = standing(s, number);
    strbuf_adds(out, serves ? "serves this session" : "");
    if (r != NULL)
        strbuf_addf(out, "%sstopped at error %d", serves ? "; " : "", r->sequence);
    else if (!sexp_is_nil(number))
        strbuf_adds(out, serves ? "; stopped at an error" : "stopped at an error");
    else if (!serves)
        add_activity(out, thread);
}

/* For the page: its error has the number that the agent has for it. */
static json_t *thread_data(const struct session *s, const struct sexp *thread)
{
    struct strbuf doing = {0};
    const struct error_record *r = standing(s, sexp_get(thread, 0, "standing"));
    json_t *data = report_data(thread, 0);
    if (r == NULL)
        add_activity(&doing, thread);
    else
        json_object_set_new(data, "error", json_integer(r->sequence));
    json_object_set_new(data, "doing", json_stringn_nocheck(strbuf_string(&doing), doing.len));
    strbuf_fini(&doing);
    return data;
}

static json_t *threads_data(const struct session *s, const struct sexp *threads)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sexp_count(threads); i++)
        json_array_append_new(list, thread_data(s, sexp_nth(threads, i)));
    return json_pack("{s:o}", "threads", list);
}

static const struct sexp *find_thread(const struct sexp *threads, int64_t number)
{
    for (size_t i = 0; i < sexp_count(threads) && number != 0; i++)
        if (number_of(sexp_nth(threads, i)) == number)
            return sexp_nth(threads, i);
    return NULL;
}

/* True if the mutexes that a thread waits for and their holders form a cycle, and the thread has the
 * lowest number in it, so that each cycle is reported once. */
static bool begins_cycle(const struct sexp *threads, const struct sexp *first)
{
    const struct sexp *thread = first;
    for (int i = 0; i < LONGEST_CYCLE; i++) {
        thread = find_thread(threads, owner_of(thread));
        if (thread == NULL || number_of(thread) < number_of(first))
            return false;
        if (thread == first)
            return true;
    }
    return false;
}

static void add_cycle(struct strbuf *out, const struct sexp *threads, const struct sexp *first)
{
    strbuf_adds(out, "\nDeadlock: ");
    const struct sexp *thread = first;
    for (int i = 0; i < LONGEST_CYCLE; i++) {
        reply_fill(out, thread, "{name} ({number})");
        if (i > 0 && thread == first)
            break;
        reply_fill(out, thread,
                   i > 0 ? ", which waits for " LOCK ", held by " : " waits for " LOCK ", held by ");
        thread = find_thread(threads, owner_of(thread));
    }
    strbuf_adds(out, ". interrupt-thread with kill: true ends one of them.");
}

static void on_list(struct tool_call *call, const struct outcome *o)
{
    const struct sexp *threads = reply_get(o->reply, "threads");
    size_t shown = sexp_count(threads);
    int64_t total = sexp_integer(reply_get(o->reply, "total"), (int64_t)shown);
    strbuf_addf(&call->text, "%s:", text_count(total < 0 ? 0 : (uint64_t)total, "thread").text);
    for (size_t i = 0; i < shown; i++) {
        strbuf_addc(&call->text, '\n');
        add_thread(&call->text, o->session, sexp_nth(threads, i));
    }
    int64_t left_out = total - (int64_t)shown - sexp_integer(reply_get(o->reply, "folded"), 0);
    if (left_out > 0)
        strbuf_addf(&call->text, "\n... %lld more", (long long)left_out);
    reply_fill(&call->text, o->reply, "{servers?\n{servers}}");
    for (size_t i = 0; i < shown; i++)
        if (begins_cycle(threads, sexp_nth(threads, i)))
            add_cycle(&call->text, threads, sexp_nth(threads, i));
    if (call->options.wants_data)
        call->structured = threads_data(o->session, threads);
}

/* The page folds them itself. */
static void list_threads(struct tool_call *call, struct session *s)
{
    call_write_flag(call, "all", call->options.wants_data);
    look_up(call, s, on_list);
}

static void ask(struct tool_call *call, struct session *s, call_outcome *show)
{
    call_run(call, s,
             &(struct operation_options){
                 .what = call->tool->name, .timeout_ms = THREAD_MS, .is_look_up = call->tool->is_read_only},
             look_up_showing(call, show));
}

static void on_frames(struct tool_call *call, const struct outcome *o)
{
    strbuf_adds(&call->text, "Thread ");
    add_thread(&call->text, o->session, reply_get(o->reply, "thread"));
    reply_fill(&call->text, o->reply,
               "\n{outcome=gone?It has ended, so there is no backtrace.}"
               "{outcome=silent?There is no backtrace: the thread did not react to an interrupt within a "
               "second. It runs foreign code or has disabled interrupts.}"
               "{outcome=slow?There is no backtrace: printing it took more than three seconds. Try again "
               "without locals.}");
    if (sexp_is_symbol(reply_get(o->reply, "outcome"), "done"))
        look_up_add_frames(call, reply_get(o->reply, "frames"), reply_integer(o->reply, "total"));
}

void threads_show_backtrace(struct tool_call *call, struct session *s)
{
    look_up_frames(call, "thread-frames", arguments_integer(call, "from", 0),
                   arguments_integer(call, "max-frames", 20));
    ask(call, s, on_frames);
}

static void on_killed(struct tool_call *call, const struct outcome *o)
{
    bool has_ended = reply_flag(o->reply, "ended");
    reply_fill(&call->text, o->reply, "Thread {name}");
    strbuf_adds(&call->text,
                has_ended
                    ? " has ended; its cleanup forms have run."
                    : " was asked to end and still runs after two seconds. It ends when it next accepts "
                      "interrupts and its cleanup forms have run; list-threads shows whether it has.");
    call->is_error = !has_ended;
}

#define STOPS_LATER " stops, but its report is not finished; list-errors shows it when it is."

static void on_interrupted(struct tool_call *call, const struct outcome *o)
{
    bool is_done = sexp_is_symbol(reply_get(o->reply, "outcome"), "done");
    const struct error_record *r = standing(o->session, reply_get(o->reply, "number"));
    call->is_error = !is_done || r == NULL;
    reply_fill(
        &call->text, o->reply,
        "Thread {name}{outcome=gone? has ended.}{outcome=slow?" STOPS_LATER "}"
        "{outcome=silent? did not react to an interrupt within a second and continues. It runs foreign "
        "code or has disabled interrupts.}");
    if (is_done && r == NULL) {
        strbuf_adds(&call->text, STOPS_LATER);
    } else if (is_done) {
        session_note_announced(o->session, 0);
        strbuf_addf(&call->text,
                    " is stopped where it was: error %d can be entered; its restart CONTINUE lets the "
                    "thread continue.",
                    r->sequence);
        report_condition(&call->text, r);
    }
}

static void stop_thread(struct tool_call *call, struct session *s)
{
    bool is_end = arguments_boolean(call, "kill");
    call_begin_operation(call, is_end ? "kill-thread" : "interrupt-thread");
    ask(call, s, is_end ? on_killed : on_interrupted);
}

const struct tool tool_list_threads = {
    .name = "list-threads",
    .title = "List threads",
    .description = "List threads: what each does or waits for, who holds the lock, and deadlocks.",
    .is_read_only = true,
    .arguments = {SESSION_ARGUMENT},
    .operation = "threads",
    .run_in = list_threads,
};

const struct tool tool_interrupt_thread = {
    .name = "interrupt-thread",
    .title = "Stop a thread",
    .description = "Stop a thread where it is, as an error to examine, whose restart CONTINUE lets it run "
                   "on; or end it.",
    .is_destructive = true,
    .arguments = {ARGUMENT("thread", STRING, "", .is_required = true),
                  ARGUMENT("kill", BOOLEAN, "", .is_servers = true), FORCE_ARGUMENT, SESSION_ARGUMENT},
    .run_in = stop_thread,
};
