/*
 * The whole life of sessions over a fake Lisp: the escalation, cancels, deaths in each state, resets, failing
 * starts. In all cases, each operation is answered exactly once.
 */
#define OWN_MAIN
#include "proc_test.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>

#include "base/log.h"
#include "lisp/zygotes.h"
#include "report/report.h"
#include "session/core/collections.h"
#include "session/records/snapshots.h"
#include "session/session.h"
#include "session/session_host.h"
#include "session/sessions.h"

struct fixture {
    uv_loop_t loop;
    struct children *children;
    struct zygotes *zygotes;
    struct zygote_options options;
    struct session_waits waits;
    struct session_host *host;
    struct sessions *all;
    struct session *s;
    char cache[64];
    int checkpoints; /* how many checkpoints a session keeps; 0 unless the test is about them */
    uint64_t idle_timeout_ms;
    size_t most_processes;
    size_t descriptors;
};

/* An operation and its result. */
struct call {
    struct fixture *fixture;
    struct operation *op; /* NULL once answered or cancelled */
    bool is_over;
    int answers;
    enum outcome_kind kind;
    char type[60], message[600], value[200], why[600], note[300];
    size_t frames, locals;
    uint64_t output[2];
    char printed[100];
    double progress_s;
    char progress[100];
    bool saw_progress;
    struct call *next; /* submitted inside done */
};

static void on_done(void *arg, const struct outcome *o);

static void take(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

static void on_progress(void *arg, double elapsed_s, uint64_t output_bytes, const char *message)
{
    struct call *c = arg;
    (void)output_bytes;
    c->progress_s = elapsed_s;
    take(c->progress, sizeof c->progress, message);
    c->saw_progress = true;
}

/* What an operation that may ask has asked. */
struct asked {
    int64_t question;
    int count, expired_count;
};

static struct asked asked;
static bool is_asked;

static void on_question(void *arg, int64_t question, const char *prompt)
{
    (void)arg;
    if (prompt == NULL) {
        asked.expired_count++;
        return;
    }
    asked.question = question;
    asked.count++;
    is_asked = true;
}

/* ${options}: what the test chooses. ${sequence}: of the error that it enters, or NOWHERE. */
#define NOWHERE (-1)

static void run(struct fixture *f, struct call *c, const char *code, struct operation_options options,
                int sequence)
{
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "evaluate");
    sexp_write_symbol(&request, "code");
    sexp_write_string(&request, code, strlen(code));
    c->fixture = f;
    options.request = &request;
    options.what = code;
    options.done = on_done;
    options.on_progress = on_progress;
    options.arg = c;
    int before = c->answers;
    c->is_over = false;
    if (sequence != NOWHERE) {
        options.kind = options.keeps_record ? OPERATION_CONTINUE : OPERATION_VISIT;
        options.sequence = sequence;
    }
    c->op = session_run(f->s, &options);
    assert_int_equal(c->answers, before); /* never during the call */
}

static void submit(struct fixture *f, struct call *c, const char *code, int timeout_ms, bool keeps_record)
{
    run(f, c, code, (struct operation_options){.timeout_ms = timeout_ms, .keeps_record = keeps_record},
        NOWHERE);
}

static bool is_tearing_down;

static void on_done(void *arg, const struct outcome *o)
{
    struct call *c = arg;
    if (is_tearing_down)
        return; /* the calls of a failed test are gone */
    c->answers++;
    c->is_over = true;
    c->op = NULL;
    c->kind = o->kind;
    c->value[0] = c->type[0] = c->message[0] = c->note[0] = c->why[0] = '\0';
    if (o->kind == OUTCOME_OK || o->kind == OUTCOME_REFUSED)
        take(c->value, sizeof c->value, sexp_string(sexp_nth(sexp_get(o->reply, 2, "values"), 0), NULL));
    if (o->kind == OUTCOME_ERROR) {
        take(c->type, sizeof c->type, o->error->type);
        take(c->message, sizeof c->message, o->error->message);
        take(c->note, sizeof c->note, o->error->session_note);
        c->frames = sexp_count(error_record_frames(o->error));
    }
    take(c->why, sizeof c->why, o->why);
    for (int i = 0; i < 2; i++)
        c->output[i] = o->output[i]->total;
    size_t n = capture_read(o->output[0], 0, c->printed, sizeof c->printed - 1);
    c->printed[n] = '\0';
    if (c->next != NULL)
        submit(c->fixture, c->next, "value next", 0, true);
}

static void wait_for(struct fixture *f, struct call *c)
{
    if (!run_until(&f->loop, is_set, &c->is_over, LIMIT_MS))
        fail_msg("no answer; the session is %s", session_state_name(f->s));
    assert_int_equal(c->answers, 1);
}

/* Run it and wait for the answer. */
static struct call evaluated(struct fixture *f, const char *code, int timeout_ms)
{
    struct call c = {0};
    submit(f, &c, code, timeout_ms, true);
    wait_for(f, &c);
    return c;
}

/* Request it and wait for the answer. */
static struct call requested(struct fixture *f, enum operation_kind kind, const char *argument)
{
    struct call c = {.fixture = f};
    c.op = session_request(f->s, kind, argument, on_done, &c);
    wait_for(f, &c);
    return c;
}

static void assert_value(struct fixture *f, const char *code, const char *value)
{
    struct call c = evaluated(f, code, 0);
    if (c.kind != OUTCOME_OK)
        fail_msg("%s: %s %s %s", code, c.type, c.message, c.why);
    assert_string_equal(c.value, value);
}

struct wanted_state {
    struct session *session;
    const char *name;
};

static bool is_in_state(void *arg)
{
    const struct wanted_state *w = arg;
    return strcmp(session_state_name(w->session), w->name) == 0;
}

/* ${name}: a state, or one and, after ", then ", the one that follows it. */
static void wait_for_state(struct fixture *f, const char *name)
{
    static const char and_then[] = ", then ";
    char first[40];
    const char *second = strstr(name, and_then);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, ","), name);
    struct wanted_state w = {f->s, first};
    if (second != NULL && run_until(&f->loop, is_in_state, &w, LIMIT_MS))
        w.name = second + sizeof and_then - 1;
    if (!run_until(&f->loop, is_in_state, &w, LIMIT_MS))
        fail_msg("the session is %s, not %s", session_state_name(f->s), name);
}

/* Their words; valid until the next call. */
static const char *notices_of(struct fixture *f)
{
    static char words[4000];
    struct strbuf text;
    strbuf_init(&text, sizeof words - 1);
    for (size_t i = 0; i < session_notices(f->s)->count; i++)
        report_fact(&session_notices(f->s)->facts[i], &text);
    snprintf(words, sizeof words, "%s", strbuf_string(&text));
    strbuf_fini(&text);
    return words;
}

static bool has_notice(void *arg)
{
    return session_notices(arg)->count > 0;
}

/* Stop what runs; its words, NULL if nothing runs. Valid until the next call. */
static const char *stopped(struct fixture *f)
{
    static char words[400];
    struct strbuf what;
    strbuf_init(&what, 0);
    bool is_stopped = session_stop(f->s, 0, &what);
    snprintf(words, sizeof words, "%s", strbuf_string(&what));
    strbuf_fini(&what);
    return is_stopped ? words : NULL;
}

static const char *const settings[] = {"FAKE_BUILD",  "FAKE_START", "FAKE_USER_INIT", "FAKE_FORK",
                                       "FAKE_FREEZE", "FAKE_TOOK",  "FAKE_COPY"};

#define MOST_SESSIONS 4

static void close_sessions(struct fixture *f)
{
    sessions_free(f->all);
    session_host_free(f->host);
}

static void open_all(struct fixture *f)
{
    struct limits limits;
    struct err err;
    limits_init(&limits);
    limits.value[LIMIT_CHECKPOINTS] = f->checkpoints;
    f->zygotes = zygotes_new(&f->loop, f->children, &f->options);
    f->host = session_host_new(&(struct session_host_options){.loop = &f->loop,
                                                              .zygotes = f->zygotes,
                                                              .limits = &limits,
                                                              .most_sessions = MOST_SESSIONS,
                                                              .most_processes = f->most_processes,
                                                              .wording = &report_wording,
                                                              .waits = &f->waits,
                                                              .idle_timeout_ms = f->idle_timeout_ms});
    f->all = sessions_new(f->host, &(struct sessions_options){.owner = "me"});
    f->s = sessions_create(f->all, "default", &err);
    assert_non_null(f->s);
}

/* With the test's settings. */
static void open_again(struct fixture *f)
{
    close_sessions(f);
    zygotes_free(f->zygotes);
    open_all(f);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    static char lisp[4200];
    struct err err;
    assert_no_process_left();
    f->descriptors = count_descriptors();
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        unsetenv(settings[i]);
    snprintf(f->cache, sizeof f->cache, "/tmp/test-session-XXXXXX");
    assert_non_null(mkdtemp(f->cache));
    setenv("XDG_CACHE_HOME", f->cache, 1);
    uv_loop_init(&f->loop);
    f->children = children_new(&f->loop, &err);
    snprintf(lisp, sizeof lisp, "%s", helper_path("fake_agent"));
    f->options = (struct zygote_options){.lisp = lisp, .kind = {.heap_mib = 2048}};
    /* A fifth of the product's or less, except for the hello: only some tests wait for that. */
    f->waits = (struct session_waits){
        .step_ms = stretched(200),
        .progress_ms = stretched(50),
        .idle_ms = stretched(100),
        .hello_ms = stretched(10000),
        .examine_ms = stretched(100),
        .abort_ms = stretched(100),
        .asking_ms = stretched(400),
        .patience_ms = stretched(100),
    };
    open_all(f);
    *state = f;
    return 0;
}

static void remove_cores(const struct fixture *f)
{
    char folder[400], path[800];
    snprintf(folder, sizeof folder, "%s/cl-mcp-server", f->cache);
    DIR *d = opendir(folder);
    const struct dirent *entry;
    while (d != NULL && (entry = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(folder);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    is_tearing_down = true;
    close_sessions(f);
    zygotes_free(f->zygotes);
    children_free(f->children);
    is_tearing_down = false;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_no_process_left();
    assert_int_equal(count_descriptors(), f->descriptors);
    remove_cores(f);
    assert_int_equal(rmdir(f->cache), 0);
    free(f);
    return 0;
}

#define CASE(test) TEST_WITH(struct fixture, f, test, set_up, tear_down)

CASE(the_first_operation_starts_a_process)
{
    struct call c = {0};
    assert_string_equal(session_state_name(f->s), "absent");
    assert_int_equal(session_pid(f->s), 0);
    assert_string_equal(session_package(f->s), "CL-USER");
    submit(f, &c, "value 3", 0, true);
    assert_string_equal(session_state_name(f->s), "starting");
    wait_for(f, &c);
    assert_int_equal(c.kind, OUTCOME_OK);
    assert_string_equal(c.value, "3");
    assert_string_equal(session_state_name(f->s), "idle");
    assert_true(session_pid(f->s) > 1);
    assert_string_equal(session_package(f->s), "FAKE-USER");
    assert_int_equal(session_evaluations(f->s), 1);
    assert_string_equal(zygotes_lisp(f->zygotes), "FAKE 1.0");
}

CASE(a_refusal_is_not_an_error)
{
    struct call c = evaluated(f, "refuse", 0);
    assert_int_equal(c.kind, OUTCOME_REFUSED);
    assert_int_equal(session_error_count(f->s), 0);
    assert_string_equal(session_state_name(f->s), "idle");
}

CASE(progress_is_reported_at_its_interval)
{
    struct call c = {0};
    submit(f, &c, "progress compiling;wait 0", 0, true);
    assert_true(run_until(&f->loop, is_set, &c.saw_progress, LIMIT_MS));
    double first_s = c.progress_s;
    c.saw_progress = false;
    assert_true(run_until(&f->loop, is_set, &c.saw_progress, LIMIT_MS));
    assert_true(c.progress_s - first_s >= f->waits.progress_ms * 0.9 / 1000);
    assert_string_equal(c.progress, "compiling");
    session_cancel(c.op);
    sessions_close(f->s);
    f->s = NULL;
    assert_int_equal(c.answers, 0);
}

CASE(an_operation_may_be_submitted_inside_done)
{
    static const char *const codes[] = {"value 1", "error E", "exit 3", "refuse"};
    for (size_t i = 0; i < 4; i++) {
        struct call second = {0}, first = {.next = &second};
        submit(f, &first, codes[i], 0, true);
        assert_true(run_until(&f->loop, is_set, &second.is_over, LIMIT_MS));
        assert_int_equal(first.answers, 1);
        assert_int_equal(second.answers, 1);
        assert_string_equal(second.value, "next");
    }
}

CASE(an_error_is_recorded_with_its_locals_and_cleared_by_success)
{
    setenv("FAKE_FREEZE", "refuse", 1);
    struct call c = evaluated(f, "print so far;error MY-ERROR", 0);
    assert_int_equal(c.kind, OUTCOME_ERROR);
    assert_string_equal(c.type, "MY-ERROR");
    assert_string_equal(c.message, "The fake signals.");
    assert_string_equal(c.printed, "so far");
    assert_int_equal(c.frames, 2);
    wait_for_state(f, "standing");
    const struct error_record *r = session_last_error(f->s);
    assert_non_null(r);
    assert_int_equal(r->sequence, 1);
    assert_value(f, "value 1", "1");
    assert_int_equal(sexp_count(sexp_nth(error_record_frames(r), 0)), 3); /* read when the error was left */
    assert_null(session_last_error(f->s));
    assert_int_equal(session_error_count(f->s), 1);
    assert_ptr_equal(session_error(f->s, 0), r);
}

CASE(an_error_of_an_operation_that_keeps_no_record_leaves_the_last_one)
{
    struct call c = {0}, look = {0};
    evaluated(f, "error KEPT", 0);
    submit(f, &c, "error PASSING", 0, false);
    wait_for(f, &c);
    assert_string_equal(c.type, "PASSING");
    wait_for_state(f, "idle");
    submit(f, &look, "value 1", 0, false);
    wait_for(f, &look);
    assert_string_equal(session_last_error(f->s)->type, "KEPT");
    assert_int_equal(session_error_count(f->s), 1);
    assert_int_equal(session_evaluations(f->s), 1);
}

/* After a failure: how the request for the frames and the unwinding can go wrong. */
CASE(a_failure_after_the_failure_does_not_change_the_reply)
{
    setenv("FAKE_FREEZE", "refuse", 1); /* otherwise the frames are not requested */
    static const struct {
        const char *frames, *abort;
        bool survives;
    } rows[] = {
        {"ok", "ok", true},   {"error", "ok", true}, {"wait", "ok", true},
        {"die", "ok", false}, {"deaf", "ok", false}, {"ok", "error", true},
        {"ok", "wait", true}, {"ok", "die", false},  {"ok", "deaf", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char code[200];
        struct call c = {0}, after = {0};
        pid_t pid = 0;
        assert_value(f, "value 1", "1");
        pid = session_pid(f->s);
        snprintf(code, sizeof code, "frames %s;abort %s;error E", rows[i].frames, rows[i].abort);
        submit(f, &c, code, 0, true);
        submit(f, &after, "value after", 0, true);
        wait_for(f, &c);
        assert_string_equal(c.type, "E");
        assert_string_equal(c.note, "");
        wait_for(f, &after);
        assert_string_equal(after.value, "after");
        if ((session_pid(f->s) == pid) != rows[i].survives)
            fail_msg("frames %s, abort %s: the process %s", rows[i].frames, rows[i].abort,
                     rows[i].survives ? "is another" : "is the same");
        /* The one behind may have waited long enough for a notice. */
        const char *said = strstr(notices_of(f), "While the last failed call was being unwound: ");
        assert_int_equal(said != NULL, !rows[i].survives);
        notices_clear(session_notices(f->s));
        /* The record is the same whether its frames could be examined or not. */
        assert_string_equal(session_error(f->s, 0)->type, "E");
    }
}

CASE(one_that_obeys_the_second_interrupt_is_stopped_and_the_session_intact)
{
    assert_value(f, "value 1", "1");
    pid_t pid = session_pid(f->s);
    uint64_t before = uv_hrtime();
    struct call c = evaluated(f, "wait 2", 20);
    /* One step before the second interrupt, and no kill a step later. */
    assert_true((int)((uv_hrtime() - before) / 1000000) >= f->waits.step_ms);
    assert_string_equal(c.type, "TIMEOUT");
    assert_non_null(strstr(c.message, "The second interrupt stopped it; the session is intact."));
    assert_int_equal(session_pid(f->s), pid);
    assert_value(f, "count", "3");
}

CASE(one_that_never_obeys_is_killed_and_the_session_starts_afresh)
{
    struct call queued = {0}, c = {0};
    assert_value(f, "value 1", "1");
    pid_t pid = session_pid(f->s);
    uint64_t before = uv_hrtime();
    submit(f, &c, "print before;wait 0", 20, true);
    submit(f, &queued, "count", 0, false);
    wait_for(f, &c);
    assert_true((int)((uv_hrtime() - before) / 1000000) >= 2 * f->waits.step_ms);
    assert_string_equal(c.type, "TIMEOUT");
    assert_non_null(strstr(c.message, "It did not respond to two interrupts, so its process was killed."));
    assert_non_null(strstr(c.note, "fresh Lisp"));
    assert_string_equal(c.printed, "before");
    wait_for(f, &queued);
    assert_string_equal(queued.value, "1");
    assert_int_not_equal(session_pid(f->s), pid);
    assert_true(has_gone(pid, LIMIT_MS));
    assert_string_equal(session_last_error(f->s)->type, "TIMEOUT");
}

CASE(one_that_finishes_when_interrupted_is_a_success)
{
    struct call first = evaluated(f, "finish 1", 20), second = evaluated(f, "finish 2", 20);
    assert_int_equal(first.kind, OUTCOME_OK);
    assert_string_equal(first.value, "done");
    assert_int_equal(second.kind, OUTCOME_OK);
    assert_null(session_last_error(f->s));
}

CASE(a_stopped_one_stands_and_costs_its_process_if_it_cannot_be_unwound)
{
    setenv("FAKE_FREEZE", "refuse", 1);
    static const char killed[] = "While the last failed call was being unwound: ";
    static const struct {
        const char *code, *notice;
    } rows[] = {{"frames deaf;wait 1", killed},
                {"abort deaf;wait 1", killed},
                {"abort wait;wait 1", "a cleanup form of its evaluation did not finish: SECOND-ERROR"}};
    for (size_t i = 0; i < 3; i++) {
        struct call c = evaluated(f, rows[i].code, 20);
        assert_string_equal(c.type, "TIMEOUT");
        assert_non_null(strstr(c.message, "It was interrupted where it was; the session is intact."));
        assert_string_equal(session_state_name(f->s), "standing");
        assert_string_equal(c.note, "");
        assert_int_equal(c.frames, 2);
        assert_value(f, "value 1", "1");
        assert_non_null(strstr(notices_of(f), rows[i].notice));
        notices_clear(session_notices(f->s));
    }
}

CASE(the_only_operation_may_be_cancelled_while_the_process_starts)
{
    struct call c = {0};
    submit(f, &c, "count", 0, true);
    session_cancel(c.op);
    wait_for_state(f, "idle");
    assert_int_equal(c.answers, 0);
    assert_value(f, "count", "1");
}

CASE(a_running_operation_that_is_cancelled_is_stopped_and_not_answered)
{
    static const char *const codes[] = {"wait 1", "wait 2", "wait 0", "finish 1", "exit 4"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct call c = {0};
        submit(f, &c, codes[i], 0, true);
        wait_for_state(f, "running");
        session_cancel(c.op);
        assert_value(f, "value after", "after");
        assert_int_equal(c.answers, 0);
    }
}

CASE(a_stopped_operation_says_that_it_was_cancelled)
{
    struct call c = {0};
    assert_null(stopped(f));
    submit(f, &c, "wait 1", 0, true);
    wait_for_state(f, "running");
    assert_string_equal(stopped(f), "wait 1");
    assert_string_equal(session_state_name(f->s), "stopping");
    wait_for(f, &c);
    assert_string_equal(c.type, "CANCELLED");
    assert_non_null(strstr(c.message, "The evaluation was cancelled after "));
    assert_null(strstr(c.message, "configure-limits"));
    assert_string_equal(session_last_error(f->s)->type, "CANCELLED");
}

CASE(an_operation_may_be_stopped_again_and_again)
{
    struct call c = {0};
    submit(f, &c, "wait 0", 0, true);
    wait_for_state(f, "running");
    for (int i = 0; i < 10; i++)
        assert_non_null(stopped(f));
    wait_for_state(f, "stopping");
    stopped(f);
    wait_for(f, &c);
    assert_string_equal(c.type, "CANCELLED");
    assert_non_null(strstr(c.message, "killed"));
}

CASE(running_code_is_reported_in_whole_characters)
{
    struct call c = {0};
    char code[400] = "wait 0;";
    while (strlen(code) < 300)
        strcat(code, "é");
    submit(f, &c, code, 0, true);
    wait_for_state(f, "running");
    const char *what = stopped(f);
    assert_non_null(what);
    session_cancel(c.op);
    assert_true(strlen(what) > 100);
    assert_int_equal((unsigned char)what[strlen(what) - 1] & 0xC0, 0x80);
}

CASE(a_death_while_running_is_reported_with_how_and_what_was_printed)
{
    static const struct {
        const char *code, *type, *words;
    } rows[] = {
        {"print x;exit 3", "PROCESS-EXITED", "The Lisp process exited with code 3."},
        {"print x;exit 0", "PROCESS-EXITED", "The Lisp process exited with code 0."},
        {"print x;die 15", "PROCESS-KILLED", "The Lisp process was killed by signal 15 ("},
        {"print x;close", "PROCESS-KILLED", "The Lisp process was killed by signal 9 ("},
        {"print x;garbage", "PROCESS-KILLED",
         "The server ended the Lisp process, because it sent something other than a message of"},
        {"print x;complain Heap exhausted, game over.;exit 1", "STORAGE-CONDITION",
         "Heap exhausted. The Lisp process exited with code 1."},
        {"print x;complain INFO: Control stack guard page unprotected. Control stack exhausted.;die 6",
         "STORAGE-CONDITION", "Control stack exhausted. The Lisp process was killed by signal 6 ("},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call c = {0}, queued = {0};
        assert_value(f, "value 1", "1");
        submit(f, &c, rows[i].code, 0, true);
        submit(f, &queued, "count", 0, false);
        wait_for(f, &c);
        assert_int_equal(c.kind, OUTCOME_ERROR);
        assert_string_equal(c.type, rows[i].type);
        if (strstr(c.message, rows[i].words) == NULL)
            fail_msg("%s: %s", rows[i].code, c.message);
        assert_string_equal(c.printed, "x");
        assert_non_null(strstr(c.note, "fresh Lisp"));
        wait_for(f, &queued);
        assert_string_equal(queued.value, "1");
        assert_string_equal(session_last_error(f->s)->type, rows[i].type);
    }
}

CASE(a_death_in_each_state_of_the_escalation_is_answered_once)
{
    setenv("FAKE_FREEZE", "refuse", 1);
    static const struct {
        const char *code, *state;
    } rows[] = {
        {"progress waiting;wait 0", "running"}, {"wait 0", "stopping"},
        {"frames deaf;wait 1", "examining"},    {"frames deaf;wait 1", "examining, then stopping"},
        {"abort deaf;wait 1", "unwinding"},     {"abort deaf;wait 1", "unwinding, then stopping"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call c = {0}, after = {0};
        submit(f, &c, rows[i].code, strcmp(rows[i].state, "running") == 0 ? 20000 : 100, true);
        submit(f, &after, "count", 0, true);
        wait_for_state(f, rows[i].state);
        /* The server must have read the process's last words, or the code would run again after the
         * return. */
        if (i == 0)
            assert_true(run_until(&f->loop, is_set, &c.saw_progress, LIMIT_MS));
        kill(session_pid(f->s), SIGTERM);
        wait_for(f, &c);
        assert_int_equal(c.kind, OUTCOME_ERROR);
        /* One that gave way was answered before. */
        if (strcmp(c.type, i < 2 ? "PROCESS-KILLED" : "TIMEOUT") != 0)
            fail_msg("killed while %s: %s", rows[i].state, c.type);
        wait_for(f, &after);
        assert_string_equal(after.value, "1");
    }
}

CASE(a_death_between_two_calls_is_reported_in_the_next_reply)
{
    evaluated(f, "error E", 0);
    wait_for_state(f, "standing");
    kill(session_pid(f->s), SIGTERM);
    assert_true(run_until(&f->loop, has_notice, f->s, LIMIT_MS));
    const char *notice = notices_of(f);
    assert_non_null(strstr(notice, "Between two calls: The Lisp process was killed by signal 15"));
    assert_string_equal(session_last_error(f->s)->type, "E");
    assert_value(f, "count", "1");
}

/* Already dead when the operation is submitted, but unnoticed. */
CASE(an_operation_sent_to_a_dead_process_is_answered_once)
{
    for (int i = 0; i < 20; i++) {
        struct call c = {0};
        assert_value(f, "value 1", "1");
        pid_t pid = session_pid(f->s);
        kill(pid, SIGKILL);
        assert_true(has_gone(pid, LIMIT_MS));
        submit(f, &c, "value 2", 0, true);
        wait_for(f, &c);
        assert_true(c.kind == OUTCOME_OK ||
                    (c.kind == OUTCOME_ERROR && strcmp(c.type, "PROCESS-KILLED") == 0));
    }
}

CASE(a_last_reply_before_the_death_counts)
{
    struct call c = evaluated(f, "value last;exit 3", 0);
    assert_int_equal(c.kind, OUTCOME_OK);
    assert_string_equal(c.value, "last");
    assert_true(run_until(&f->loop, has_notice, f->s, LIMIT_MS));
    assert_value(f, "count", "1");
    assert_non_null(strstr(notices_of(f), "Between two calls: The Lisp process exited with code 3."));
}

static void with_checkpoints(struct fixture *f, int count)
{
    f->checkpoints = count;
    open_again(f);
}

CASE(a_state_that_never_lasts_is_given_up)
{
    setenv("FAKE_FREEZE", "doomed:2", 1);
    with_checkpoints(f, 8);
    assert_value(f, "count", "1");
    assert_value(f, "count", "2");
    wait_for_state(f, "idle");
    kill(session_pid(f->s), SIGKILL);
    assert_value(f, "count", "2");
    assert_non_null(strstr(notices_of(f), "state after evaluation 1"));
}

CASE(a_rollback_by_any_number_is_answered)
{
    static const char *const numbers[] = {"9223372036854775807", "-9223372036854775808",
                                          "-99999999999999999999", "7"};
    with_checkpoints(f, 8);
    assert_value(f, "count", "1");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct call c = requested(f, OPERATION_ROLLBACK, numbers[i]);
        assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
    }
    assert_value(f, "count", "2");
}

CASE(a_lisp_that_cannot_be_copied_starts_afresh)
{
    setenv("FAKE_FREEZE", "refuse", 1);
    with_checkpoints(f, 8);
    assert_value(f, "count", "1");
    struct call c = evaluated(f, "exit 3", 0);
    assert_non_null(strstr(c.note,
                           "The session continues in a fresh Lisp, because no checkpoint could be made "
                           "(The fake makes no copies)"));
    assert_value(f, "count", "1");
}

struct wanted_processes {
    struct session_host *host;
    size_t count;
};

static bool are_so_many(void *arg)
{
    const struct wanted_processes *w = arg;
    return w->host->processes.used == w->count;
}

static void wait_for_processes(struct fixture *f, size_t count)
{
    struct wanted_processes w = {f->host, count};
    if (!run_until(&f->loop, are_so_many, &w, LIMIT_MS))
        fail_msg("there are %zu processes, not %zu", f->host->processes.used, count);
}

CASE(states_beyond_the_limit_go_several_at_a_time_or_when_somebody_looks)
{
    with_checkpoints(f, 8);
    size_t kept = 0;
    for (int i = 1; i <= 40; i++) {
        assert_int_equal(evaluated(f, "count", 0).kind, OUTCOME_OK);
        wait_for_state(f, "idle");
        size_t before = kept;
        kept = f->host->processes.used - 1;
        /* The thirteenth is one too many: five are dropped at once, while the next evaluation runs; or, if
         * this test was delayed between two, immediately. */
        if (before == 13)
            assert_between(kept, 8, 9);
        else if (before < 12 || kept != 8)
            assert_int_equal(kept, before + 1);
    }
    /* Nothing is evaluated: in a second they are gone. */
    wait_for_processes(f, 1 + 8);
    assert_value(f, "count", "41");
    wait_for_state(f, "idle");
    assert_int_equal(f->host->processes.used, 1 + 9);
    assert_int_equal(snapshots_count(session_snapshots(f->s)), 8);
    assert_int_equal(f->host->processes.used, 1 + 8);
}

CASE(a_copy_that_was_put_off_is_made_although_somebody_looked)
{
    setenv("FAKE_TOOK", "30000", 1);
    with_checkpoints(f, 8);
    /* The duration of the last two counts. */
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(evaluated(f, "count", 0).kind, OUTCOME_OK);
        wait_for_state(f, "idle");
        assert_int_equal(f->host->processes.used, 1 + i);
    }
    assert_value(f, "count", "3");
    wait_for_state(f, "idle");
    assert_int_equal(f->host->processes.used, 1 + 2);
    struct call look = {0};
    submit(f, &look, "count", 0, false);
    wait_for(f, &look);
    assert_int_equal(f->host->processes.used, 1 + 2);
    wait_for_processes(f, 1 + 3);
    assert_int_equal(snapshots_newest(session_snapshots(f->s), 9)->evaluation, 3);
}

/* Submit an entry: 0 is one to a copy of the process. */
static void enter(struct fixture *f, struct call *c, const char *code, int sequence, bool resumes)
{
    run(f, c, code, (struct operation_options){.timeout_ms = stretched(500), .keeps_record = resumes},
        sequence);
}

static struct call entered(struct fixture *f, const char *code, int sequence)
{
    struct call c = {0};
    enter(f, &c, code, sequence, false);
    wait_for(f, &c);
    return c;
}

/* The process stands in an error and tells of a copy when that has done its work. */
CASE(a_process_that_is_late_to_tell_of_a_copy_is_waited_for)
{
    setenv("FAKE_FREEZE", "late:2", 1);
    with_checkpoints(f, 8);
    assert_value(f, "count", "1");
    assert_string_equal(evaluated(f, "error E", 0).type, "E");
    struct call in_copies[2] = {0}, look = {0};
    for (int i = 0; i < 2; i++)
        enter(f, &in_copies[i], "count", 0, false);
    for (int i = 0; i < 2; i++) {
        wait_for(f, &in_copies[i]);
        assert_string_equal(in_copies[i].value, "3");
    }
    submit(f, &look, "pid", 0, false);
    wait_for(f, &look);
    assert_int_equal(atoi(look.value), session_pid(f->s));
    assert_string_equal(session_state_name(f->s), "standing");
    enter(f, &in_copies[0], "count", 0, false);
    assert_value(f, "count", "4");
    assert_true(error_record_is_enterable(session_error(f->s, 0)));
}

CASE(a_copy_that_outlasts_the_idle_timeout_is_made)
{
    setenv("FAKE_FREEZE", "slow:1", 1);
    f->idle_timeout_ms = (uint64_t)stretched(200);
    open_again(f);
    assert_value(f, "count", "1");
    pid_t pid = session_pid(f->s);
    assert_int_equal(requested(f, OPERATION_CHECKPOINT, "good").kind, OUTCOME_OK);
    assert_int_equal(session_pid(f->s), pid);
}

CASE(an_evaluation_behind_a_copy_that_kills_is_taken_up_again)
{
    static const char *const values[] = {"1", "2", "3", "3", "3", "3"};
    enum { COUNT = sizeof values / sizeof values[0] };
    struct call calls[COUNT] = {0};
    setenv("FAKE_FREEZE", "die:3", 1);
    with_checkpoints(f, 8);
    for (int i = 0; i < COUNT; i++)
        submit(f, &calls[i], "count", 0, true);
    for (int i = 0; i < COUNT; i++) {
        wait_for(f, &calls[i]);
        assert_int_equal(calls[i].kind, OUTCOME_OK);
        assert_string_equal(calls[i].value, values[i]);
    }
    assert_int_equal(session_error_count(f->s), 0);
    assert_int_equal(session_evaluations(f->s), COUNT);
    assert_non_null(strstr(notices_of(f), "Between two calls: The Lisp process exited with code 9."));
}

CASE(the_time_of_an_evaluation_behind_a_copy_begins_with_it)
{
    struct call calls[4] = {0};
    setenv("FAKE_FREEZE", "slow:3", 1);
    with_checkpoints(f, 8);
    for (int i = 0; i < 4; i++)
        submit(f, &calls[i], i == 3 ? "wait 1" : "count", stretched(150), true);
    for (int i = 0; i < 4; i++)
        wait_for(f, &calls[i]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(atoi(calls[i].value), i + 1);
    assert_null(strstr(notices_of(f), "process"));
    assert_string_equal(calls[3].type, "TIMEOUT");
    assert_non_null(strstr(calls[3].message, "It was interrupted where it was; the session is intact."));
    assert_value(f, "count", "5");
}

CASE(a_copy_is_made_whatever_becomes_of_the_evaluation)
{
    with_checkpoints(f, 4);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(evaluated(f, "count", 0).kind, OUTCOME_OK);
        struct call c = evaluated(f, "error E", 0);
        assert_string_equal(c.type, "E");
        assert_int_equal(evaluated(f, "refuse", 0).kind, OUTCOME_REFUSED);
        assert_true(error_record_is_enterable(session_last_error(f->s)));
        assert_string_equal(evaluated(f, "exit 3", 0).type, "PROCESS-EXITED");
        assert_string_equal(evaluated(f, "finish 1", 20).value, "done");
    }
    wait_for_state(f, "idle");
    /* The refused operation was not an evaluation, so the death restored the state before it. */
    assert_value(f, "count", "61");
}

/* Submit it, and wait for its question. */
static void ask(struct fixture *f, struct call *c, const char *code, int timeout_ms)
{
    asked = (struct asked){0};
    is_asked = false;
    run(f, c, code,
        (struct operation_options){
            .timeout_ms = timeout_ms, .keeps_record = true, .on_question = on_question},
        NOWHERE);
    if (!run_until(&f->loop, is_set, &is_asked, LIMIT_MS))
        fail_msg("no question; the session is %s", session_state_name(f->s));
}

CASE(a_question_is_answered_once_and_only_by_its_own_answer)
{
    struct call c = {0};
    assert_value(f, "value ready", "ready");
    ask(f, &c, "ask 7;ask 8", 0);
    assert_string_equal(session_state_name(f->s), "asking");
    assert_int_equal(asked.question, 7);
    session_answer(c.op, 8, "other", 5);
    assert_true(session_is_asking(c.op));
    session_answer(c.op, 7, "a line", 6);
    assert_false(session_is_asking(c.op));
    session_answer(c.op, 7, "again", 5);
    wait_for(f, &c);
    assert_int_equal(c.kind, OUTCOME_OK);
    assert_string_equal(c.value, "a line");
}

/* The time limit is shorter than the time for the answer. */
CASE(a_question_that_nobody_answers_ends_the_input)
{
    struct call c = {0};
    assert_value(f, "value ready", "ready");
    ask(f, &c, "ask 7", stretched(100));
    wait_for(f, &c);
    assert_string_equal(c.type, "");
    assert_string_equal(c.value, "end");
    assert_int_equal(asked.expired_count, 1);
    assert_non_null(strstr(notices_of(f), "was not answered in time"));
}

/* The code has read end of file and goes on: a person who now dismisses the question does not stop it. */
CASE(a_question_whose_time_is_over_stops_nothing)
{
    struct call c = {0};
    assert_value(f, "value ready", "ready");
    ask(f, &c, "ask 7;finish 1", 0);
    session_dismiss(c.op, 8);
    assert_true(session_is_asking(c.op));
    wait_for_state(f, "running");
    assert_int_equal(asked.expired_count, 1);
    session_dismiss(c.op, 7);
    assert_string_equal(session_state_name(f->s), "running");
    assert_non_null(stopped(f));
    wait_for(f, &c);
    assert_string_equal(c.value, "done");
    c = (struct call){0};
    ask(f, &c, "ask 9;wait 1", 0);
    session_dismiss(c.op, 9);
    wait_for(f, &c);
    assert_string_equal(c.type, "CANCELLED");
}

CASE(an_operation_that_asks_can_die_and_be_stopped)
{
    struct call c = {0};
    assert_value(f, "value ready", "ready");
    ask(f, &c, "ask 7;wait 1", 0);
    assert_non_null(stopped(f));
    session_answer(c.op, 7, "late", 4);
    wait_for(f, &c);
    assert_string_equal(c.type, "CANCELLED");
    c = (struct call){0};
    ask(f, &c, "ask 7;exit 3", 0);
    wait_for(f, &c);
    assert_string_equal(c.type, "PROCESS-EXITED");
    assert_value(f, "ask 9;value on", "on"); /* one that may not ask is not answered */
}

static struct call gone_on(struct fixture *f, const char *code, int timeout_ms)
{
    struct call c = {0};
    run(f, &c, code,
        (struct operation_options){.timeout_ms = timeout_ms, .keeps_record = true, .goes_on = true}, NOWHERE);
    wait_for(f, &c);
    return c;
}

CASE(an_operation_that_continues_keeps_its_error_and_is_answered_once)
{
    with_checkpoints(f, 8);
    struct call c = gone_on(f, "print before;goes-on E", 0);
    assert_int_equal(c.kind, OUTCOME_OK);
    assert_string_equal(c.value, "went on");
    assert_string_equal(c.printed, "before");
    assert_int_equal(session_error_count(f->s), 1);
    assert_string_equal(session_last_error(f->s)->type, "E");
    assert_true(error_record_is_enterable(session_last_error(f->s)));
    assert_int_equal(session_evaluations(f->s), 1);
    assert_value(f, "value 1", "1");
    assert_null(session_last_error(f->s));
}

CASE(an_operation_that_does_not_announce_it_does_not_continue)
{
    with_checkpoints(f, 8);
    assert_string_equal(evaluated(f, "goes-on E", 0).type, "E"); /* the option is not given */
    assert_string_equal(gone_on(f, "error E", 0).type, "E");     /* the Lisp does not report it */
    assert_value(f, "value 1", "1");
}

CASE(an_operation_continues_although_no_copy_can_be_made)
{
    assert_string_equal(gone_on(f, "goes-on E", 0).value, "went on");
    assert_non_null(strstr(report_why_not(session_last_error(f->s)), "checkpoint-limit is 0"));
    setenv("FAKE_FREEZE", "refuse", 1);
    with_checkpoints(f, 8);
    assert_string_equal(gone_on(f, "goes-on E", 0).value, "went on");
    assert_string_equal(report_why_not(session_last_error(f->s)), "The fake makes no copies.");
    assert_false(error_record_is_enterable(session_last_error(f->s)));
}

CASE(an_operation_that_continues_can_fail_die_and_run_out_of_time)
{
    static const struct {
        const char *code, *type;
        int timeout_ms;
    } rows[] = {
        {"resume error;goes-on E", "SECOND-ERROR", 0},
        {"resume die;goes-on E", "PROCESS-EXITED", 0},
        {"resume deaf;goes-on E", "TIMEOUT", 100},
    };
    with_checkpoints(f, 8);
    assert_value(f, "value 1", "1");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call c = gone_on(f, rows[i].code, rows[i].timeout_ms);
        assert_int_equal(c.kind, OUTCOME_ERROR);
        assert_string_equal(c.type, rows[i].type);
        assert_string_equal(session_error(f->s, 1)->type, "E");
        assert_value(f, "value 1", "1");
    }
}

/* The process ends between its error and the request to continue. */
CASE(an_operation_that_met_an_error_is_not_begun_again)
{
    struct call c = gone_on(f, "print once;goes-on E;exit 3", 0);
    assert_string_equal(c.type, "PROCESS-EXITED");
    assert_string_equal(c.printed, "once");
    assert_int_equal(session_error_count(f->s), 2);
    assert_value(f, "count", "1");
}

CASE(a_reset_waits_for_its_turn)
{
    struct call first = {0}, reset = {.fixture = f}, last = {0};
    assert_value(f, "count", "1");
    submit(f, &first, "count", 0, true);
    reset.op = session_request(f->s, OPERATION_RESET, NULL, on_done, &reset);
    submit(f, &last, "count", 0, true);
    wait_for(f, &last);
    assert_string_equal(first.value, "2");
    assert_int_equal(reset.answers, 1);
    assert_int_equal(reset.kind, OUTCOME_OK);
    assert_string_equal(last.value, "1");
}

CASE(a_reset_keeps_the_limits_and_starts_at_once)
{
    struct err err;
    limits_set(session_limits(f->s), LIMIT_TIMEOUT, 7, &err);
    requested(f, OPERATION_RESET, NULL);
    assert_int_equal(limits_timeout_ms(session_limits(f->s)), 7000);
    wait_for_state(f, "idle");
}

CASE(a_reset_may_be_taken_back)
{
    struct call first = {0}, reset = {.fixture = f};
    assert_value(f, "count", "1");
    submit(f, &first, "count", 0, true);
    reset.op = session_request(f->s, OPERATION_RESET, NULL, on_done, &reset);
    session_cancel(reset.op);
    wait_for(f, &first);
    assert_value(f, "count", "3");
    assert_int_equal(reset.answers, 0);
    reset.op = session_request(f->s, OPERATION_RESET, NULL, on_done, &reset);
    session_cancel(reset.op);
    assert_value(f, "count", "4");
    assert_int_equal(reset.answers, 0);
}

CASE(closing_answers_all_that_waits_and_kills_the_process)
{
    struct call c = evaluated(f, "child", 0), calls[5] = {{0}}, reset = {.fixture = f};
    pid_t grandchild = (pid_t)atoi(c.value), pid = session_pid(f->s);
    for (int i = 0; i < 5; i++)
        submit(f, &calls[i], "wait 0", 0, true);
    reset.op = session_request(f->s, OPERATION_RESET, NULL, on_done, &reset);
    wait_for_state(f, "running");
    sessions_close(f->s);
    f->s = NULL;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(calls[i].answers, 1);
        assert_int_equal(calls[i].kind, OUTCOME_UNAVAILABLE);
        assert_string_equal(calls[i].why, "The session was closed.");
    }
    assert_int_equal(reset.answers, 1);
    assert_int_equal(sessions_count(f->all), 0);
    assert_true(has_gone(grandchild, LIMIT_MS));
    assert_true(has_gone(pid, LIMIT_MS));
}

CASE(a_session_may_be_closed_in_every_state)
{
    setenv("FAKE_FREEZE", "refuse", 1);
    static const struct {
        const char *code, *state;
    } rows[] = {
        {"value 1", "starting"},
        {"value 1", "idle"},
        {"wait 0", "running"},
        {"wait 0", "stopping"},
        {"error E", "standing"},
        {"frames deaf;error E", "examining"},
        {"frames deaf;wait 1", "examining, then stopping"},
        {"abort deaf;error E", "unwinding"},
        {"abort deaf;wait 1", "unwinding, then stopping"},
    };
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct call c = {0}, waiting = {0};
        submit(f, &c, rows[i].code, 100, true);
        if (strcmp(rows[i].state, "idle") != 0 && strcmp(rows[i].state, "standing") != 0)
            submit(f, &waiting, "value 2", 0, true); /* which ends a standing error */
        wait_for_state(f, rows[i].state);
        sessions_close(f->s);
        assert_int_equal(c.answers, 1);
        assert_int_equal(waiting.answers, waiting.fixture != NULL);
        f->s = sessions_create(f->all, "default", &err);
        assert_non_null(f->s);
    }
}

CASE(names_are_checked_and_made_up)
{
    struct err err;
    char longest[66];
    memset(longest, 'a', sizeof longest);
    longest[65] = '\0';
    static const char *const wrong[] = {"", "a b", "é", "a/b", "\n"};
    for (size_t i = 0; i < 5; i++) {
        assert_null(sessions_create(f->all, wrong[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
    assert_null(sessions_create(f->all, longest, &err));
    longest[64] = '\0';
    assert_non_null(sessions_create(f->all, longest, &err));
    assert_null(sessions_create(f->all, "default", &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_non_null(sessions_create(f->all, "s1", &err));
    assert_string_equal(session_name(sessions_create(f->all, NULL, &err)), "s2");
    assert_int_equal(sessions_count(f->all), 4);
    assert_ptr_equal(sessions_first(f->all), f->s);
    size_t seen = 0;
    for (struct session *s = sessions_first(f->all); s != NULL; s = sessions_next(s))
        assert_true(++seen == 1 || s != f->s);
    assert_int_equal(seen, 4);
    sessions_close(f->s);
    assert_null(sessions_find(f->all, "default"));
    assert_string_equal(session_name(sessions_first(f->all)), longest);
    f->s = NULL;
}

CASE(owners_see_only_their_own_sessions)
{
    struct err err;
    struct sessions *other =
        sessions_new(f->host, &(struct sessions_options){.owner = "other", .most_sessions = 2});
    assert_int_equal(list_count(&f->host->owners), 2);
    assert_null(sessions_find(other, "default"));
    struct session *theirs = sessions_create(other, "default", &err);
    assert_non_null(theirs);
    assert_ptr_not_equal(theirs, f->s);
    assert_ptr_equal(sessions_find(f->all, "default"), f->s);
    assert_ptr_equal(sessions_find(other, "default"), theirs);
    assert_int_equal(sessions_count(other), 1);
    assert_int_equal(f->host->sessions.used, 2);
    assert_non_null(sessions_create(other, NULL, &err));
    assert_null(sessions_create(other, NULL, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(err.message,
                        "You may have at most 2 sessions; reset-session with close: true ends one.");
    /* The whole server is full before this owner is. */
    assert_non_null(sessions_create(f->all, NULL, &err));
    assert_null(sessions_create(f->all, NULL, &err));
    assert_string_equal(
        err.message,
        "The server may have at most 4 sessions (--max-sessions); reset-session with close: true ends one.");
    sessions_close(theirs);
    assert_non_null(sessions_create(f->all, NULL, &err));
    sessions_free(other);
    assert_int_equal(f->host->sessions.used, 3);
    assert_int_equal(list_count(&f->host->owners), 1);
}

CASE(kept_outputs_are_found_by_their_reference)
{
    for (int i = 1; i <= 36; i++) {
        struct capture c;
        capture_init(&c);
        capture_add(&c, "012345678901234567890123456789012345", (size_t)i);
        assert_int_equal(session_next_ref(f->s), i);
        assert_int_equal(session_keep_output(f->s, &c), i);
        assert_int_equal(c.total, 0);
    }
    for (int i = 1; i <= 36; i++) {
        const struct capture *c = session_kept(f->s, i);
        assert_int_equal(c != NULL, i > 4);
        if (c != NULL)
            assert_int_equal(c->total, i);
    }
    assert_null(session_kept(f->s, 0));
    assert_null(session_kept(f->s, -1));
    assert_null(session_kept(f->s, 37));
    assert_null(session_kept(f->s, INT32_MAX));
}

/* With two failures the third copy works; with three the operation cannot run, and the next one starts over.
 */
CASE(three_copies_that_die_early_make_the_operation_unavailable)
{
    static const char *const ways[] = {"die", "close", "garbage"};
    for (size_t i = 0; i < 3; i++) {
        char how[40];
        snprintf(how, sizeof how, "%s:2", ways[i]);
        setenv("FAKE_COPY", how, 1);
        open_again(f);
        assert_value(f, "count", "1");
        snprintf(how, sizeof how, "%s:3", ways[i]);
        setenv("FAKE_COPY", how, 1);
        open_again(f);
        struct call c = evaluated(f, "count", 0);
        assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
        assert_true(c.why[0] != '\0');
        assert_string_equal(session_state_name(f->s), "absent");
        assert_value(f, "count", "1");
    }
}

CASE(a_missing_lisp_makes_operations_unavailable_until_it_is_installed)
{
    char path[200];
    const char *real = f->options.lisp;
    snprintf(path, sizeof path, "%s/later-lisp", f->cache);
    f->options.lisp = path;
    open_again(f);
    struct call calls[3] = {{0}};
    for (int i = 0; i < 3; i++)
        submit(f, &calls[i], "value 1", 0, true);
    wait_for(f, &calls[2]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(calls[i].answers, 1);
        assert_int_equal(calls[i].kind, OUTCOME_UNAVAILABLE);
        assert_non_null(strstr(calls[i].why, "apt install sbcl"));
    }
    assert_int_equal(session_error_count(f->s), 0);
    requested(f, OPERATION_RESET, NULL);
    assert_int_equal(symlink(real, path), 0);
    assert_value(f, "value 2", "2");
    unlink(path);
}

CASE(a_lisp_that_never_builds_its_core_is_given_up)
{
    setenv("FAKE_BUILD", "hang", 1);
    f->options.build_limit_ms = 100;
    open_again(f);
    struct call c = evaluated(f, "value 1", 0);
    assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
    assert_non_null(strstr(c.why, "loaded nothing more of the agent for 0.1 s"));
}

CASE(a_lisp_that_gets_no_processor_may_take_longer_for_its_core)
{
    setenv("FAKE_BUILD", "starve", 1);
    f->options.build_limit_ms = 100;
    open_again(f);
    assert_value(f, "value 1", "1");
}

CASE(a_lisp_that_goes_on_may_take_longer_for_its_core)
{
    setenv("FAKE_BUILD", "go-on", 1);
    f->options.build_limit_ms = 200;
    open_again(f);
    assert_value(f, "value 1", "1");
}

/* The core is there, and no Lisp starts from it; then it cannot be built again. */
CASE(the_end_of_a_lisp_before_its_core_is_built_again_is_told)
{
    assert_value(f, "value 1", "1");
    setenv("FAKE_START", "exit", 1);
    setenv("FAKE_BUILD", "fail", 1);
    open_again(f);
    struct call c = evaluated(f, "value 1", 0);
    assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
    if (strstr(c.why, "exit code 3. The fake does not start.") == NULL)
        fail_msg("%s", c.why);
}

/* The next operation tries again. */
CASE(a_lisp_that_does_not_start_is_reported_in_its_words)
{
    static const struct {
        const char *variable, *how, *words[2];
    } rows[] = {
        {"FAKE_BUILD", "fail", {"it ended with exit code 1", "The fake cannot build."}},
        {"FAKE_BUILD", "die", {"it ended with signal 9 (Killed)", "The fake has an illegal instruction."}},
        {"FAKE_BUILD", "exit-without-core", {"it ended with exit code 0", "(nothing)"}},
        {"FAKE_START", "exit", {"could not be started", "exit code 3. The fake does not start."}},
        {"FAKE_START", "close", {"could not be started", ""}},
        {"FAKE_START", "garbage", {"could not be started", ""}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv(rows[i].variable, rows[i].how, 1);
        remove_cores(f);
        open_again(f);
        struct call c = evaluated(f, "value 1", 0);
        assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
        for (int k = 0; k < 2; k++)
            if (strstr(c.why, rows[i].words[k]) == NULL)
                fail_msg("%s %s: %s", rows[i].variable, rows[i].how, c.why);
        unsetenv(rows[i].variable);
        assert_value(f, "value 1", "1");
    }
}

CASE(a_zygote_that_refuses_or_dies_at_a_copy_makes_operations_unavailable)
{
    static const char *const ways[] = {"refuse", "die"};
    for (size_t i = 0; i < 2; i++) {
        setenv("FAKE_FORK", ways[i], 1);
        open_again(f);
        struct call c = evaluated(f, "value 1", 0);
        assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
        if (i == 0)
            assert_string_equal(c.why, "The fake makes no copies.");
        unsetenv("FAKE_FORK");
    }
}

CASE(an_old_reason_is_not_given_for_a_new_failure)
{
    setenv("FAKE_BUILD", "fail", 1);
    struct call c = evaluated(f, "value 1", 0);
    assert_non_null(strstr(c.why, "The fake cannot build."));
    unsetenv("FAKE_BUILD");
    setenv("FAKE_COPY", "die:3", 1);
    c = evaluated(f, "value 1", 0);
    assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
    if (strstr(c.why, "cannot build") != NULL)
        fail_msg("three copies died, but the reason given is: %s", c.why);
}

/* Its pid is not known yet, so only a limit helps. */
CASE(a_copy_that_never_says_hello_does_not_hang_the_session)
{
    setenv("FAKE_COPY", "no-hello:1", 1);
    f->waits.hello_ms = stretched(500);
    open_again(f);
    assert_value(f, "count", "1");
}

CASE(a_step_that_ends_the_zygote_is_left_out_and_reported)
{
    static const struct {
        const char *how, *words;
    } rows[] = {
        {"exit",
         "Loading the init file /home/nobody/.sbclrc ended the Lisp with exit code 5; it was left out."},
        {"threads", "Loading the init file /home/nobody/.sbclrc started threads, with which a Lisp cannot be "
                    "copied; it was left out."},
        {"hang", "Loading the init file /home/nobody/.sbclrc took too long; it was left out."},
        {"print", "Printed while loading the init file /home/nobody/.sbclrc:\n  Good morning."},
        {"notice", "Mind the gap."},
    };
    f->options.user_init = "/home/nobody/.sbclrc";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setenv("FAKE_USER_INIT", rows[i].how, 1);
        f->options.user_init_limit_ms = strcmp(rows[i].how, "hang") == 0 ? 100 : 0;
        open_again(f);
        assert_value(f, "value 1", "1");
        if (strstr(notices_of(f), rows[i].words) == NULL)
            fail_msg("%s: \"%s\"", rows[i].how, notices_of(f));
    }
}

static void reset_with_heap(struct fixture *f, double heap_mib)
{
    struct err err;
    limits_set(session_limits(f->s), LIMIT_MAX_HEAP, heap_mib, &err);
    requested(f, OPERATION_RESET, NULL);
}

CASE(sessions_of_different_heaps_leave_each_others_zygotes_alone)
{
    struct err err;
    pid_t found[16];
    assert_value(f, "value 1", "1");
    size_t n = tree_children(getpid(), found, 16);
    assert_int_equal(n, 2);
    pid_t zygote = found[0] == session_pid(f->s) ? found[1] : found[0];
    struct session *first = f->s, *second = sessions_create(f->all, "second", &err);
    for (int i = 0; i < 3; i++) {
        f->s = second;
        reset_with_heap(f, 512);
        assert_value(f, "count", "1");
        f->s = first;
        reset_with_heap(f, 2048);
        assert_value(f, "count", "1");
    }
    assert_int_equal(zygotes_count(f->zygotes), 2);
    assert_int_equal(kill(zygote, 0), 0);
}

CASE(zygotes_of_many_heaps_are_bounded)
{
    struct err err;
    struct session *all[4] = {f->s};
    struct call calls[4] = {{0}};
    for (int i = 1; i < 4; i++)
        all[i] = sessions_create(f->all, NULL, &err);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            f->s = all[i];
            limits_set(session_limits(f->s), LIMIT_MAX_HEAP, 256 + 64 * (i + 4 * round), &err);
            session_request(f->s, OPERATION_RESET, NULL, NULL, NULL);
            submit(f, &calls[i], "count", 0, true);
        }
        for (int i = 0; i < 4; i++) {
            wait_for(f, &calls[i]);
            if (calls[i].kind != OUTCOME_OK)
                fail_msg("%s", calls[i].why);
            assert_string_equal(calls[i].value, "1");
            calls[i] = (struct call){0};
        }
        assert_between(zygotes_count(f->zygotes), 2, 5);
    }
}

#define TOO_MANY                                                                                             \
    "The server may have at most 3 processes, copies of sessions included (--max-processes); reset-session " \
    "with close: true "                                                                                      \
    "ends some."

CASE(processes_are_bounded_and_old_states_give_way)
{
    struct err err;
    f->most_processes = 3;
    with_checkpoints(f, 8);
    for (int i = 1; i < 6; i++) {
        char expected[8];
        snprintf(expected, sizeof expected, "%d", i);
        assert_value(f, "count", expected);
        wait_for_state(f, "idle");
        assert_int_equal(f->host->processes.used, i < 3 ? i + 1 : 3);
    }
    /* The oldest states were dropped. */
    assert_int_equal(snapshots_count(session_snapshots(f->s)), 2);
    assert_non_null(snapshots_newest(session_snapshots(f->s), 5));
    assert_int_equal(snapshots_newest(session_snapshots(f->s), 5)->evaluation, 5);
    assert_int_equal(snapshots_newest(session_snapshots(f->s), 4)->evaluation, 4);
    assert_null(session_why_no_checkpoint(f->s));
    /* Others get a process, as long as there are states to drop. */
    struct session *first = f->s;
    for (int i = 0; i < 2; i++) {
        f->s = sessions_create(f->all, NULL, &err);
        assert_int_equal(evaluated(f, "count", 0).kind, OUTCOME_OK);
        wait_for_state(f, "idle");
        assert_between(f->host->processes.used, 1, 3);
    }
    assert_string_equal(session_why_no_checkpoint(f->s), TOO_MANY);
    struct session *third = f->s;
    f->s = sessions_create(f->all, NULL, &err);
    struct call c = evaluated(f, "count", 0);
    assert_int_equal(c.kind, OUTCOME_UNAVAILABLE);
    assert_string_equal(c.why, TOO_MANY);
    sessions_close(third);
    assert_value(f, "count", "1");
    f->s = first;
    assert_value(f, "count", "6");
}

/* A copy that is needed less takes no session its newest state, of which an older error is no substitute. */
CASE(the_newest_state_does_not_give_way_to_a_look_up)
{
    f->most_processes = 3;
    with_checkpoints(f, 8);
    assert_string_equal(evaluated(f, "error E", 0).type, "E");
    assert_value(f, "count", "2");
    wait_for_state(f, "idle");
    assert_int_equal(f->host->processes.used, 3);
    assert_string_equal(entered(f, "count", 0).why, TOO_MANY);
    assert_int_equal(snapshots_newest(session_snapshots(f->s), 9)->evaluation, 2);
}

CASE(thousands_are_refused_without_a_large_stack)
{
    enum { COUNT = 3000 };
    static struct call calls[COUNT];
    struct rlimit before;
    f->most_processes = 1;
    open_again(f);
    memset(calls, 0, sizeof calls);
    getrlimit(RLIMIT_STACK, &before);
    setrlimit(RLIMIT_STACK, &(struct rlimit){.rlim_cur = 512u << 10, .rlim_max = before.rlim_max});
    /* The session's time limit begins with the turn of each; one of their own would pass while they wait. */
    for (int i = 0; i < COUNT; i++)
        run(f, &calls[i], "count", (struct operation_options){.timeout_ms = 0}, 0);
    for (int i = 0; i < COUNT; i++)
        wait_for(f, &calls[i]);
    setrlimit(RLIMIT_STACK, &before);
    assert_int_equal(calls[COUNT - 1].kind, OUTCOME_UNAVAILABLE);
    assert_value(f, "count", "1");
}

CASE(an_error_that_cannot_be_left_can_still_be_entered)
{
    with_checkpoints(f, 8);
    assert_value(f, "count", "1");
    assert_string_equal(evaluated(f, "abort die;error E", 0).type, "E");
    assert_value(f, "count", "2");
    assert_null(strstr(notices_of(f), "damaged"));
    assert_string_equal(entered(f, "count", 1).value, "3");
}

/* The first of six errors, whose copy only the number of checkpoints holds. */
CASE(a_copy_does_not_give_way_to_an_entry_into_itself)
{
    f->most_processes = 8;
    with_checkpoints(f, 8);
    for (int i = 0; i < 6; i++)
        assert_string_equal(evaluated(f, "error E", 0).type, "E");
    assert_value(f, "count", "7");
    wait_for_state(f, "idle");
    assert_int_equal(f->host->processes.used, 8);
    assert_non_null(strstr(entered(f, "count", 1).why, "at most 8 processes"));
    assert_true(error_record_is_enterable(session_error(f->s, 5)));
    assert_value(f, "count", "8");
}

/* The copy from before an entry takes the room of the one from before the last, whose state is another. */
CASE(a_death_in_an_entry_takes_back_nothing_else_at_the_process_limit)
{
    f->most_processes = 2;
    with_checkpoints(f, 8);
    assert_string_equal(evaluated(f, "error E", 0).type, "E");
    assert_string_equal(entered(f, "count", 1).value, "2");
    assert_string_equal(entered(f, "exit 3", 1).type, "PROCESS-EXITED");
    assert_string_equal(entered(f, "count", 1).value, "3");
}

/* An operation of any kind. */
static void submit_any(struct fixture *f, struct call *c, const char *code)
{
    static const char *const places[] = {"-1", "0", "2", "good"};
    c->fixture = f;
    switch (random() % 16) {
    case 0:
        c->op = session_request(f->s, OPERATION_RESET, NULL, on_done, c);
        break;
    case 1:
        c->op = session_request(f->s, OPERATION_ROLLBACK, places[random() % 4], on_done, c);
        break;
    case 2:
        c->op = session_request(f->s, OPERATION_CHECKPOINT, "good", on_done, c);
        break;
    case 3:
        enter(f, c, code, 0, false);
        break;
    case 4:
    case 5:
    case 6: {
        const struct error_record *r = session_error(f->s, (size_t)(random() % 8));
        enter(f, c, code, r == NULL ? 1 : r->sequence, random() % 2);
        break;
    }
    default:
        submit(f, c, code, 50, random() % 2);
    }
}

CASE(whatever_happens_each_operation_is_answered_exactly_once)
{
    enum { COUNT = 250 };
    static const char *const codes[] = {"value 1",
                                        "print hello;count",
                                        "error E",
                                        "exit 3",
                                        "die 15",
                                        "close",
                                        "garbage",
                                        "twice",
                                        "stray;value 2",
                                        "refuse",
                                        "finish 1",
                                        "frames die;error E",
                                        "abort die;error E",
                                        "wait 1"};
    static struct call calls[COUNT];
    bool is_taken_back[COUNT] = {false};
    unsigned seed = random_seed();
    f->most_processes = seed % 4 == 0 ? 5 : 0;
    with_checkpoints(f, seed % 3 == 0 ? 0 : 4);
    memset(calls, 0, sizeof calls);
    for (int i = 0; i < COUNT; i++) {
        submit_any(f, &calls[i], codes[(size_t)random() % (sizeof codes / sizeof codes[0])]);
        if (random() % 8 == 0) {
            int victim = (int)(random() % (i + 1));
            if (calls[victim].op != NULL) {
                session_cancel(calls[victim].op);
                calls[victim].op = NULL;
                is_taken_back[victim] = true;
            }
        }
        if (random() % 10 == 0 && session_pid(f->s) > 1)
            kill(session_pid(f->s), SIGKILL);
        for (long n = random() % 5; n > 0; n--)
            uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < COUNT; i++)
        if (!is_taken_back[i]) {
            if (!run_until(&f->loop, is_set, &calls[i].is_over, 60000))
                fail_msg("operation %d has no answer; the session is %s", i, session_state_name(f->s));
            assert_int_equal(calls[i].answers, 1);
        }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(calls[i].answers, !is_taken_back[i]);
    assert_value(f, "value again", "again");
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR); /* the fake causes many warnings */
    keep_only_standard_descriptors();
    return run_cases(NULL, NULL);
}
