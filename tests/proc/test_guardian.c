/*
 * The guardian: what a killed server leaves behind is ended, what an orderly one leaves is not touched.
 */
#define OWN_MAIN
#include "proc_test.h"

#include "proc/guardian.h"
#include "proc/spawn.h"

/* A server in a process of its own, its five descendants, and the test's ends of its pipes. */
struct fixture {
    uv_loop_t loop;
    struct children *children;
    struct child *server;
    bool has_ended;
    int input, output;
    pid_t pids[5]; /* all that it started but its guardian */
    size_t descriptors;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err err;
    f->input = f->output = -1;
    assert_no_process_left();
    f->descriptors = count_descriptors();
    uv_loop_init(&f->loop);
    f->children = children_new(&f->loop, &err);
    *state = f;
    return 0;
}

static void close_pipes(struct fixture *f)
{
    if (f->input >= 0)
        close(f->input);
    if (f->output >= 0)
        close(f->output);
    f->input = f->output = -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    child_free(f->server);
    children_free(f->children);
    close_pipes(f);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    for (int i = 0; i < 5; i++)
        if (f->pids[i] > 0)
            assert_true(has_gone(f->pids[i], LIMIT_MS));
    assert_no_process_left();
    assert_int_equal(count_descriptors(), f->descriptors);
    free(f);
    return 0;
}

static void on_server_exit(void *arg, const struct child_end *end)
{
    (void)end;
    *(bool *)arg = true;
}

static void start_server(struct fixture *f, const char *how)
{
    char helper[4200];
    struct err err;
    int input[2], output[2];
    snprintf(helper, sizeof helper, "%s", helper_path("helper"));
    const char *argv[] = {helper_path("fake_server"), helper, how, NULL};
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    struct spawn_spec spec = {.argv = argv, .descriptors = {input[0], output[1], 2, -1}};
    f->server = child_spawn(f->children, &spec, on_server_exit, &f->has_ended, &err);
    close(input[0]);
    close(output[1]);
    f->input = input[1];
    f->output = output[0];
    assert_non_null(f->server);
    for (int i = 0; i < 5; i++)
        f->pids[i] = read_pid(f->output);
}

#define CASE(test) TEST_WITH(struct fixture, f, test, set_up, tear_down)

CASE(a_killed_server_leaves_nothing_behind)
{
    start_server(f, "guardian");
    for (int i = 0; i < 5; i++)
        assert_true(is_running(f->pids[i]));
    /* Not child_kill_tree(): only the guardian may do the work. */
    child_signal(f->server, SIGKILL);
    for (int i = 0; i < 5; i++)
        assert_true(has_gone(f->pids[i], LIMIT_MS));
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
}

CASE(without_a_guardian_the_grandchildren_would_stay)
{
    start_server(f, "alone");
    child_signal(f->server, SIGKILL);
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    size_t running = 0;
    for (int i = 0; i < 5; i++)
        running += is_running(f->pids[i]);
    assert_between(running, 4, 5);
}

CASE(a_server_that_ends_in_order_leaves_nothing_behind)
{
    start_server(f, "guardian");
    close(f->input);
    f->input = -1;
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    for (int i = 0; i < 5; i++)
        assert_true(has_gone(f->pids[i], LIMIT_MS));
}

CASE(a_dismissed_guardian_kills_nothing)
{
    char line[100];
    start_server(f, "dismiss");
    assert_int_equal(write(f->input, "x", 1), 1);
    assert_true(read_line(f->output, line, sizeof line));
    assert_string_equal(line, "dismissed");
    for (int i = 0; i < 5; i++)
        assert_true(is_running(f->pids[i]));
}

/* In this process: only processes with the mark may be touched. */
CASE(a_guardian_has_its_own_mark_and_ends_when_freed)
{
    struct err err;
    struct guardian *one = guardian_new(&f->loop, &err), *other = guardian_new(&f->loop, &err);
    assert_non_null(one);
    assert_non_null(other);
    assert_memory_equal(guardian_mark(one), "CL_MCP_SERVER_MARK=", 19);
    assert_string_not_equal(guardian_mark(one), guardian_mark(other));
    pid_t found[8];
    assert_int_equal(tree_children(getpid(), found, 8), 2);
    guardian_free(one);
    guardian_free(other);
    guardian_free(NULL);
    assert_no_process_left();
    (void)f;
}

CASE(a_guardian_touches_nothing_that_has_another_mark)
{
    struct err err;
    int ends[2];
    bool has_ended = false;
    const char *argv[] = {helper_path("helper"), "hang", NULL};
    const char *environment[] = {"CL_MCP_SERVER_MARK=1-0000000000000000", NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct spawn_spec spec = {.argv = argv, .environment = environment, .descriptors = {-1, ends[1], 2, -1}};
    struct child *bystander = child_spawn(f->children, &spec, on_server_exit, &has_ended, &err);
    close(ends[1]);
    read_pid(ends[0]);
    start_server(f, "guardian");
    child_signal(f->server, SIGKILL);
    for (int i = 0; i < 5; i++)
        assert_true(has_gone(f->pids[i], LIMIT_MS));
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    assert_true(is_running(child_pid(bystander)));
    child_free(bystander);
    close(ends[0]);
}

/* It holds none of the descriptors that others wait for. */
CASE(a_guardian_keeps_no_descriptor_but_its_own)
{
    struct err err;
    int ends[2];
    char c;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct guardian *g = guardian_new(&f->loop, &err);
    assert_non_null(g);
    close(ends[1]);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&p, 1, LIMIT_MS), 1);
    assert_int_equal(read(ends[0], &c, 1), 0);
    close(ends[0]);
    guardian_free(g);
    (void)f;
}

static bool is_another(void *arg)
{
    pid_t found[2];
    return tree_children(getpid(), found, 2) == 1 && found[0] != *(pid_t *)arg;
}

CASE(a_guardian_that_is_killed_is_started_again_with_its_mark)
{
    struct err err;
    struct guardian *g = guardian_new(&f->loop, &err);
    assert_non_null(g);
    char *mark = strdup(guardian_mark(g));
    for (int i = 0; i < 3; i++) {
        pid_t pid;
        assert_int_equal(tree_children(getpid(), &pid, 1), 1);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_true(run_until(&f->loop, is_another, &pid, LIMIT_MS));
    }
    assert_string_equal(guardian_mark(g), mark);
    free(mark);
    guardian_free(g);
    assert_no_process_left();
}

int main(void)
{
    keep_only_standard_descriptors();
    return run_cases(NULL, NULL);
}
