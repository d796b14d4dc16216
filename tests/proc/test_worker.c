/*
 * One Lisp process seen from C, with a fake behind it that misbehaves on request.
 */
#include "proc/spawn.h"
#define OWN_MAIN
#include "proc_test.h"

#include "lisp/worker.h"

struct fixture {
    uv_loop_t loop;
    struct children *children;
    struct worker *worker;
    struct worker_ends ends;
    int readies, replies, progresses, gones;
    bool is_ready, has_reply, has_progress, is_gone;
    char value[200], progress[200];
    bool was_error;
    struct strbuf output[2];
    int64_t pid;                 /* of the copy that the last reply is about */
    enum worker_state states[2]; /* at the first replies */
    size_t output_at_reply;
    size_t total[2];
    struct child_end end;
    bool frees_when_ready, frees_at_reply, frees_when_gone;
    size_t descriptors;
};

static void free_worker(struct fixture *f)
{
    worker_free(f->worker);
    f->worker = NULL;
}

static void on_ready(void *arg, const struct sexp *hello)
{
    struct fixture *f = arg;
    f->readies++;
    f->is_ready = true;
    assert_string_equal(sexp_string(sexp_get(hello, 2, "implementation"), NULL), "FAKE");
    if (f->frees_when_ready)
        free_worker(f);
}

static void on_reply(void *arg, struct sexp_document *reply)
{
    struct fixture *f = arg;
    const struct sexp *root = sexp_root(reply);
    if (f->replies < 2) {
        f->states[f->replies] = worker_state(f->worker);
    }
    f->replies++;
    f->has_reply = true;
    f->was_error = sexp_is_symbol(sexp_nth(root, 1), "error");
    f->pid = sexp_integer(sexp_get(root, 2, "pid"), 0);
    const char *value = sexp_string(sexp_nth(sexp_get(root, 2, "values"), 0), NULL);
    snprintf(f->value, sizeof f->value, "%s", value == NULL ? "" : value);
    f->output_at_reply = f->total[0];
    sexp_document_free(reply);
    if (f->frees_at_reply)
        free_worker(f);
}

static void on_progress(void *arg, const struct sexp *event)
{
    struct fixture *f = arg;
    f->progresses++;
    f->has_progress = true;
    snprintf(f->progress, sizeof f->progress, "%s", sexp_string(sexp_get(event, 2, "message"), NULL));
}

static void on_output(void *arg, enum worker_stream stream, const char *bytes, size_t len)
{
    struct fixture *f = arg;
    f->total[stream] += len;
    if (f->output[stream].len < 100000)
        strbuf_add(&f->output[stream], bytes, len);
}

static void on_gone(void *arg, const struct child_end *end)
{
    struct fixture *f = arg;
    f->gones++;
    f->is_gone = true;
    f->end = *end;
    if (f->frees_when_gone)
        free_worker(f);
}

static struct worker_events events_of(struct fixture *f)
{
    return (struct worker_events){.on_ready = on_ready,
                                  .on_reply = on_reply,
                                  .on_progress = on_progress,
                                  .on_output = on_output,
                                  .on_gone = on_gone,
                                  .arg = f};
}

static void close_ends(struct fixture *f)
{
    close(f->ends.channel);
    close(f->ends.output);
    close(f->ends.error);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err err;
    assert_no_process_left();
    f->descriptors = count_descriptors();
    uv_loop_init(&f->loop);
    strbuf_init(&f->output[0], 0);
    strbuf_init(&f->output[1], 0);
    f->children = children_new(&f->loop, &err);
    struct worker_events events = events_of(f);
    f->worker = worker_new(&f->loop, f->children, NULL, &events, &f->ends, &err);
    assert_non_null(f->worker);
    assert_int_equal(worker_state(f->worker), WORKER_STARTING);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    worker_free(f->worker);
    children_free(f->children);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_no_process_left();
    assert_int_equal(count_descriptors(), f->descriptors);
    assert_true(f->readies <= 1);
    assert_true(f->gones <= 1);
    strbuf_fini(&f->output[0]);
    strbuf_fini(&f->output[1]);
    free(f);
    return 0;
}

static bool has_two_replies(void *arg)
{
    return ((const struct fixture *)arg)->replies >= 2;
}

static void on_gone_of_copy(void *arg, const struct child_end *end)
{
    (void)arg;
    (void)end;
    fail_msg("the copy has gone");
}

static void on_expected_end(void *arg, const struct child_end *end)
{
    (void)arg;
    (void)end;
}

static void spawn(struct fixture *f, const char *how)
{
    char setting[100];
    struct err err;
    snprintf(setting, sizeof setting, "FAKE_START=%s", how);
    const char *argv[] = {helper_path("fake_agent"), NULL};
    const char *environment[] = {setting, NULL};
    struct spawn_spec spec = {.argv = argv, .environment = environment};
    if (!worker_spawn(f->worker, &spec, &f->ends, &err))
        fail_msg("%s", err.message);
}

static void start(struct fixture *f)
{
    spawn(f, "");
    assert_true(run_until(&f->loop, is_set, &f->is_ready, LIMIT_MS));
    if (f->worker != NULL)
        assert_int_equal(worker_state(f->worker), WORKER_IDLE);
}

/* Start it and kill it. The loop has not run since, so the worker does not know it. */
static void start_and_kill(struct fixture *f)
{
    start(f);
    pid_t pid = worker_pid(f->worker);
    kill(pid, SIGKILL);
    assert_true(has_gone(pid, LIMIT_MS));
}

static int send_code(struct fixture *f, const char *code)
{
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "evaluate");
    sexp_write_symbol(&request, "code");
    sexp_write_string(&request, code, strlen(code));
    int id = worker_call(f->worker, &request, NULL, 0);
    strbuf_fini(&request);
    f->has_reply = false;
    assert_int_equal(worker_state(f->worker), WORKER_BUSY);
    return id;
}

static void wait_for_reply(struct fixture *f)
{
    assert_true(run_until(&f->loop, is_set, &f->has_reply, LIMIT_MS));
}

static void call(struct fixture *f, const char *code)
{
    send_code(f, code);
    wait_for_reply(f);
}

static void wait_for_gone(struct fixture *f)
{
    assert_true(run_until(&f->loop, is_set, &f->is_gone, LIMIT_MS));
    assert_int_equal(f->gones, 1);
    if (f->worker != NULL) {
        assert_int_equal(worker_state(f->worker), WORKER_GONE);
        assert_false(worker_is_alive(f->worker));
    }
}

#define CASE(test) TEST_WITH(struct fixture, f, test, set_up, tear_down)

CASE(a_worker_is_ready_when_its_hello_has_come)
{
    start(f);
    assert_true(worker_is_alive(f->worker));
    assert_true(worker_pid(f->worker) > 1);
    assert_int_equal(f->readies, 1);
}

CASE(a_worker_answers_one_call_after_the_other)
{
    start(f);
    for (int i = 1; i <= 50; i++) {
        char code[40];
        snprintf(code, sizeof code, "value %d", i);
        assert_true(send_code(f, code) > 0);
        wait_for_reply(f);
        assert_int_equal(atoi(f->value), i);
        assert_int_equal(worker_state(f->worker), WORKER_IDLE);
    }
    assert_int_equal(f->replies, 50);
}

/* Start the process and prepare a copy of it; worker_fork() with ${channel} makes it. */
static struct worker *start_with_copy(struct fixture *f, void (*on_its_end)(void *, const struct child_end *),
                                      int *channel)
{
    struct err err;
    struct worker_events events = {
        .on_reply = on_reply, .on_progress = on_progress, .on_gone = on_its_end, .arg = f};
    start(f);
    struct worker *copy = worker_new_copy(f->worker, &events, channel, &err);
    assert_non_null(copy);
    return copy;
}

static bool is_gone(void *arg)
{
    return worker_state(arg) == WORKER_GONE;
}

static void ask_for_copy(struct fixture *f, int channel)
{
    struct err err;
    assert_true(worker_fork(f->worker, &channel, 1, WORKER_SILENT, &err));
}

CASE(requests_for_copies_wait_behind_one_another)
{
    int channels[2];
    struct worker *copies[2];
    copies[0] = start_with_copy(f, on_gone_of_copy, &channels[0]);
    struct err err;
    struct worker_events events = {
        .on_reply = on_reply, .on_progress = on_progress, .on_gone = on_gone_of_copy, .arg = f};
    copies[1] = worker_new_copy(f->worker, &events, &channels[1], &err);
    ask_for_copy(f, channels[0]);
    ask_for_copy(f, channels[1]);
    worker_interrupt(f->worker); /* a call, and there is none */
    assert_true(run_until(&f->loop, has_two_replies, f, LIMIT_MS));
    assert_int_equal(f->states[0], WORKER_BUSY); /* the other is still awaited */
    assert_int_equal(f->states[1], WORKER_IDLE);
    assert_int_equal(worker_state(copies[1]), WORKER_STARTING);
    worker_begin(copies[1], f->pid);
    assert_int_equal(worker_state(copies[1]), WORKER_IDLE);
    call(f, "value next");
    assert_string_equal(f->value, "next");
    worker_free(copies[0]);
    worker_free(copies[1]);
}

/* One that does not answer does not make the server hold descriptors without end. */
CASE(requests_for_copies_are_bounded)
{
    struct err err;
    start(f);
    assert_int_equal(kill(worker_pid(f->worker), SIGSTOP), 0);
    int sent = 0;
    while (sent < 100 && worker_fork(f->worker, NULL, 0, WORKER_SILENT, &err))
        sent++;
    assert_int_equal(sent, 8);
    assert_int_equal(err.code, ERR_BUSY);
    worker_forget_forks(f->worker);
    assert_int_equal(worker_state(f->worker), WORKER_IDLE);
}

/* We could neither stop the copy nor learn of its end. */
CASE(a_copy_that_claims_the_process_of_another_is_given_up)
{
    int channel;
    struct worker *copy = start_with_copy(f, on_expected_end, &channel);
    ask_for_copy(f, channel);
    wait_for_reply(f);
    worker_begin(copy, worker_pid(f->worker));
    assert_true(run_until(&f->loop, is_gone, copy, LIMIT_MS));
    assert_int_equal(worker_state(f->worker), WORKER_IDLE);
    worker_free(copy);
}

CASE(output_before_a_reply_is_delivered_before_it)
{
    start(f);
    for (size_t i = 1; i <= 20; i++) {
        send_code(f, "print 0123456789;complain !;value x");
        wait_for_reply(f);
        assert_int_equal(f->output_at_reply, 10 * i);
        assert_int_equal(f->total[1], i);
    }
}

CASE(a_flood_of_output_comes_whole)
{
    start(f);
    send_code(f, "flood 20000000;value x");
    wait_for_reply(f);
    assert_int_equal(f->output_at_reply, 20000000);
}

CASE(progress_comes_while_a_call_runs)
{
    start(f);
    send_code(f, "progress half way;wait 1");
    assert_true(run_until(&f->loop, is_set, &f->has_progress, LIMIT_MS));
    assert_string_equal(f->progress, "half way");
    assert_int_equal(worker_state(f->worker), WORKER_BUSY);
    worker_interrupt(f->worker);
    wait_for_reply(f);
    assert_true(f->was_error);
}

CASE(messages_that_answer_nothing_are_dropped)
{
    start(f);
    send_code(f, "stray;value mine");
    wait_for_reply(f);
    assert_string_equal(f->value, "mine");
    call(f, "twice");
    assert_string_equal(f->value, "first");
    call(f, "value third");
    assert_string_equal(f->value, "third");
    assert_int_equal(f->replies, 3);
}

CASE(an_interrupt_reaches_only_the_call_under_way)
{
    start(f);
    worker_interrupt(f->worker); /* nothing runs: ignored */
    send_code(f, "finish 2");
    worker_interrupt(f->worker);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    /* The kernel may merge the second with the first while that is pending; so repeat until it works. */
    uint64_t limit = uv_hrtime() + (uint64_t)LIMIT_MS * 1000000;
    while (!f->has_reply && uv_hrtime() < limit) {
        worker_interrupt(f->worker);
        uv_run(&f->loop, UV_RUN_NOWAIT);
    }
    assert_true(f->has_reply);
    assert_string_equal(f->value, "done");
}

CASE(a_process_without_a_hello_can_be_killed)
{
    spawn(f, "no-hello");
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(worker_state(f->worker), WORKER_STARTING);
    worker_kill(f->worker);
    wait_for_gone(f);
    assert_int_equal(f->end.signal, SIGKILL);
    assert_int_equal(f->readies, 0);
}

/* While it starts, or while it is busy; what it printed is kept. */
TEST(a_process_that_breaks_off_is_gone_without_a_reply)
{
    static const struct {
        const char *start, *code;
        int signal, exit_code;
        const char *printed;
    } rows[] = {
        {"exit", NULL, 0, 3, "The fake does not start.\n"},
        {"garbage", NULL, SIGKILL, 0, ""},
        {"close", NULL, SIGKILL, 0, ""},
        {"", "print last words;exit 42", 0, 42, "last words"},
        {"", "print last words;die 15", 15, 0, "last words"},
        {"", "print last words;close", SIGKILL, 0, "last words"},
        {"", "print last words;garbage", SIGKILL, 0, "last words"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture *f;
        set_up((void **)&f);
        if (rows[i].code == NULL) {
            spawn(f, rows[i].start);
        } else {
            start(f);
            send_code(f, rows[i].code);
        }
        wait_for_gone(f);
        assert_true(f->end.is_known);
        assert_int_equal(f->readies, rows[i].code != NULL);
        assert_int_equal(f->replies, 0);
        assert_int_equal(f->end.signal, rows[i].signal);
        assert_int_equal(f->end.exit_code, rows[i].exit_code);
        enum worker_stream stream = rows[i].code == NULL ? WORKER_STDERR : WORKER_STDOUT;
        assert_string_equal(strbuf_string(&f->output[stream]), rows[i].printed);
        tear_down((void **)&f);
    }
    (void)state;
}

CASE(a_last_reply_before_the_death_is_delivered)
{
    start(f);
    send_code(f, "print all of it;value last;exit 3");
    wait_for_gone(f);
    assert_int_equal(f->replies, 1);
    assert_string_equal(f->value, "last");
    assert_int_equal(f->end.exit_code, 3);
}

/* More than one read takes: the rest is read once the death is known. */
CASE(a_long_last_reply_before_the_death_is_delivered)
{
    char code[150100] = "value ";
    memset(code + 6, 'x', 150000);
    memcpy(code + 150006, ";exit 3", 8);
    start(f);
    pid_t pid = worker_pid(f->worker);
    send_code(f, code);
    /* The loop has sent a part; it continues only when the process is dead, or waits for more of the code. */
    while (!has_gone(pid, 100))
        uv_run(&f->loop, UV_RUN_NOWAIT);
    wait_for_gone(f);
    assert_int_equal(f->replies, 1);
    assert_int_equal(f->end.exit_code, 3);
}

CASE(a_killed_process_takes_its_descendants_with_it)
{
    start(f);
    call(f, "child");
    pid_t grandchild = (pid_t)atoi(f->value);
    assert_true(is_running(grandchild));
    worker_kill(f->worker);
    wait_for_gone(f);
    assert_true(has_gone(grandchild, LIMIT_MS));
}

/* A grandchild that holds the output pipes open must not delay the report of the end. */
CASE(a_death_is_reported_while_others_hold_its_pipes)
{
    start(f);
    call(f, "child");
    /* By then it may have been ended: if the channel's end is noticed before the process is reaped, its
     * descendants are still known as such. */
    assert_true(is_running((pid_t)atoi(f->value)));
    send_code(f, "exit 4");
    wait_for_gone(f);
    assert_int_equal(f->end.exit_code, 4);
}

CASE(a_call_to_a_process_that_is_dying_is_answered_by_its_end)
{
    start_and_kill(f);
    int ends[2];
    struct strbuf request;
    strbuf_init(&request, 0);
    sexp_write_symbol(&request, "evaluate");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    worker_call(f->worker, &request, ends, 2);
    strbuf_fini(&request);
    wait_for_gone(f);
    assert_int_equal(f->replies, 0);
    assert_int_equal(fcntl(ends[0], F_GETFD), -1);
}

CASE(a_call_that_cannot_reach_its_process_is_known_to_be_missed)
{
    start_and_kill(f);
    send_code(f, "value 1");
    wait_for_gone(f);
    assert_int_equal(f->replies, 0);
    assert_true(worker_has_missed(f->worker));
}

CASE(an_abandoned_worker_is_gone_without_an_exit_status)
{
    close_ends(f);
    wait_for_gone(f);
    assert_false(f->end.is_known);
}

CASE(a_program_that_cannot_be_run_is_an_error)
{
    struct err err = {0};
    const char *argv[] = {"/nowhere/lisp", NULL};
    struct spawn_spec spec = {.argv = argv};
    assert_false(worker_spawn(f->worker, &spec, &f->ends, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

TEST(a_worker_may_be_freed_in_each_of_its_events)
{
    for (int i = 0; i < 3; i++) {
        struct fixture *f;
        set_up((void **)&f);
        f->frees_when_ready = i == 0;
        f->frees_at_reply = i == 1;
        f->frees_when_gone = i == 2;
        start(f);
        if (i == 1) {
            send_code(f, "value 1;value 2;value 3");
            wait_for_reply(f);
        } else if (i == 2) {
            send_code(f, "exit 1");
            wait_for_gone(f);
        }
        assert_null(f->worker);
        uv_run(&f->loop, UV_RUN_NOWAIT);
        tear_down((void **)&f);
    }
    (void)state;
}

/* The reply is read in the drain that its death causes. */
CASE(a_worker_may_be_freed_at_a_reply_that_its_death_delivers)
{
    start(f);
    f->frees_at_reply = true;
    pid_t pid = worker_pid(f->worker);
    send_code(f, "value last;exit 3");
    assert_true(has_gone(pid, LIMIT_MS));
    wait_for_reply(f);
    assert_null(f->worker);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->gones, 0);
}

CASE(a_worker_without_a_process_may_be_freed)
{
    close_ends(f);
    free_worker(f);
    worker_free(NULL);
}

/* What a carrier was told. */
struct carried {
    char sent[200], pressed[200];
    int departures;
};

static void carry_send(void *arg, const char *message, size_t len)
{
    struct carried *c = arg;
    snprintf(c->sent, sizeof c->sent, "%.*s", (int)len, message);
}

static void carry_interrupt(void *arg, int token, int times)
{
    struct carried *c = arg;
    size_t at = strlen(c->pressed);
    snprintf(c->pressed + at, sizeof c->pressed - at, "%s%d", at > 0 ? " " : "", times);
}

static void carry_leave(void *arg)
{
    ((struct carried *)arg)->departures++;
}

__attribute__((format(printf, 2, 3))) static void receive(struct fixture *f, const char *format, ...)
{
    char text[200];
    struct err err;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    worker_receive(f->worker, sexp_parse(text, strlen(text), &err));
}

/* In place of the worker that every case has. */
static void carry(struct fixture *f, struct carried *c)
{
    struct worker_events events = events_of(f);
    struct worker_carrier carrier = {
        .send = carry_send, .interrupt = carry_interrupt, .leave = carry_leave, .arg = c};
    close_ends(f);
    free_worker(f);
    f->worker = worker_new_carried(&f->loop, &events, &carrier);
    receive(f, "(0 :hello :pid %d :implementation \"FAKE\")", 1);
    assert_int_equal(f->readies, 1);
    assert_int_equal(worker_state(f->worker), WORKER_IDLE);
    assert_int_equal(worker_pid(f->worker), 0); /* never one that could be signalled */
}

static int call_carried(struct fixture *f, struct carried *c)
{
    struct strbuf request;
    strbuf_init(&request, 0);
    strbuf_adds(&request, ":evaluate :code \"1\"");
    int id = worker_call(f->worker, &request, NULL, 0);
    strbuf_fini(&request);
    assert_non_null(strstr(c->sent, ":evaluate :code \"1\" :token "));
    return id;
}

TEST_BETWEEN(a_carrier_takes_the_messages_there_and_back, set_up, tear_down)
{
    struct fixture *f = *state;
    struct carried c = {.departures = 0};
    carry(f, &c);
    int id = call_carried(f, &c);
    for (int i = 0; i < 3; i++)
        worker_interrupt(f->worker);
    assert_string_equal(c.pressed, "1 2 3");
    receive(f, "(0 :output :stream %d :text \"printed\")", 1);
    receive(f, "(0 :output :stream %d :text \"complained\")", 2);
    receive(f, "(%d :ok :values (\"3\"))", id);
    assert_string_equal(f->value, "3");
    assert_string_equal(strbuf_string(&f->output[0]), "printed");
    assert_string_equal(strbuf_string(&f->output[1]), "complained");
    worker_interrupt(f->worker); /* nothing runs */
    assert_string_equal(c.pressed, "1 2 3");
    call_carried(f, &c);
    worker_interrupt(f->worker);
    assert_string_equal(c.pressed, "1 2 3 1");
    free_worker(f);
    assert_int_equal(c.departures, 1);
}

static void ignore_ready(void *arg, const struct sexp *hello)
{
}

static void count_reply(void *arg, struct sexp_document *reply)
{
    ++*(int *)arg;
    sexp_document_free(reply);
}

static void count_end(void *arg, const struct child_end *end)
{
    *(int *)arg += 100;
}

TEST_BETWEEN(a_carrier_that_is_lost_takes_its_look_ups_along, set_up, tear_down)
{
    struct fixture *f = *state;
    struct carried c = {.departures = 0};
    struct err err;
    int answered = 0, lost = 0;
    struct worker_events events = {
        .on_ready = ignore_ready, .on_reply = count_reply, .on_gone = count_end, .arg = &answered};
    struct strbuf request;
    carry(f, &c);
    call_carried(f, &c);
    strbuf_init(&request, 0);
    strbuf_adds(&request, ":threads");
    struct worker *first = worker_look(f->worker, &request, &events, &err);
    assert_non_null(strstr(c.sent, ":look :request (:threads)"));
    receive(f, "(%d :ok :total 1)", atoi(c.sent + 1));
    assert_int_equal(answered, 101); /* a reply, then its end */
    events.arg = &lost;
    struct worker *second = worker_look(f->worker, &request, &events, &err);
    strbuf_fini(&request);
    err_set(&err, ERR_GONE, "the line is cut");
    worker_lose(f->worker, &err);
    assert_int_equal(lost, 100);
    assert_int_equal(f->gones, 1);
    assert_string_equal(f->end.why, "the line is cut");
    assert_false(worker_is_alive(f->worker));
    worker_free(first);
    worker_free(second);
    free_worker(f);
    assert_int_equal(c.departures, 1);
}

int main(void)
{
    keep_only_standard_descriptors();
    return run_cases(NULL, NULL);
}
