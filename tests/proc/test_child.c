/*
 * Child processes: starting, ends, trees, orphans, descriptors, and that nothing is left.
 */
#include "proc/process.h"
#include "proc/spawn.h"
#define OWN_MAIN
#include "proc_test.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>

struct fixture {
    uv_loop_t loop;
    struct children *children;
    struct child *child;
    struct child_end end;
    bool has_ended;
    int ends;
    int output; /* what the helper writes to descriptor 1 */
    size_t descriptors;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct err err;
    f->output = -1;
    assert_no_process_left();
    f->descriptors = count_descriptors();
    uv_loop_init(&f->loop);
    f->children = children_new(&f->loop, &err);
    assert_non_null(f->children);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    child_free(f->child);
    children_free(f->children);
    children_free(NULL);
    if (f->output >= 0)
        close(f->output);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_no_process_left();
    assert_int_equal(count_descriptors(), f->descriptors);
    free(f);
    return 0;
}

static void on_exit_of_child(void *arg, const struct child_end *end)
{
    struct fixture *f = arg;
    f->end = *end;
    f->has_ended = true;
    f->ends++;
}

/* Start a program; its output comes through f->output. ${input}: -1 for none. */
static void start_program(struct fixture *f, int input, struct spawn_spec spec)
{
    int ends[2];
    struct err err;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    memcpy(spec.descriptors, (int[4]){input, ends[1], 2, -1}, sizeof spec.descriptors);
    f->child = child_spawn(f->children, &spec, on_exit_of_child, f, &err);
    close(ends[1]);
    f->output = ends[0];
    if (f->child == NULL)
        fail_msg("%s", err.message);
}

static void start(struct fixture *f, const char *what, const char *number)
{
    const char *argv[] = {helper_path("helper"), what, number, NULL};
    start_program(f, -1, (struct spawn_spec){.argv = argv});
}

static void wait_for_end(struct fixture *f)
{
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    assert_int_equal(f->ends, 1);
}

#define CASE(test) TEST_WITH(struct fixture, f, test, set_up, tear_down)

CASE(a_missing_or_unsuitable_program_or_directory_is_an_error_and_not_an_exit_code)
{
    const struct {
        const char *program, *directory;
        enum error_code code;
        int number;
    } rows[] = {
        {"/nowhere/at/all", NULL, ERR_NOT_FOUND, ENOENT},
        {"no-such-program-in-path", NULL, ERR_NOT_FOUND, ENOENT},
        {"", NULL, ERR_NOT_FOUND, ENOENT},
        {"/etc/passwd", NULL, ERR_START, EACCES},
        {helper_path("helper"), "/nowhere", ERR_NONE, ENOENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *argv[] = {rows[i].program, NULL};
        struct spawn_spec spec = {
            .argv = argv, .directory = rows[i].directory, .descriptors = {-1, -1, -1, -1}};
        struct err err = {0};
        assert_null(child_spawn(f->children, &spec, on_exit_of_child, f, &err));
        if (rows[i].code != ERR_NONE) {
            assert_int_equal(err.code, rows[i].code);
            assert_non_null(strstr(err.message, rows[i].program));
        }
        assert_non_null(strstr(err.message, strerror(rows[i].number)));
        assert_no_process_left();
    }
}

CASE(a_program_is_looked_up_in_path)
{
    const char *argv[] = {"true", NULL};
    start_program(f, -1, (struct spawn_spec){.argv = argv});
    wait_for_end(f);
    assert_int_equal(f->end.exit_code, 0);
}

CASE(a_child_works_in_the_directory_it_is_given)
{
    char line[300];
    const char *argv[] = {helper_path("helper"), "directory", NULL};
    start_program(f, -1, (struct spawn_spec){.argv = argv, .directory = "/usr"});
    assert_true(read_line(f->output, line, sizeof line));
    assert_string_equal(line, "/usr");
    wait_for_end(f);
}

CASE(a_childs_environment_is_the_servers_with_additions)
{
    char line[300];
    setenv("PROC_TEST_KEPT", "kept", 1);
    setenv("PROC_TEST_REPLACED", "old", 1);
    const char *argv[] = {
        helper_path("helper"), "environment", "PROC_TEST_KEPT", "PROC_TEST_REPLACED", "PROC_TEST_ADDED",
        "PROC_TEST_REPLACE",   NULL};
    const char *environment[] = {"PROC_TEST_REPLACED=new", "PROC_TEST_ADDED=added", NULL};
    start_program(f, -1, (struct spawn_spec){.argv = argv, .environment = environment});
    static const char *const expected[] = {"PROC_TEST_KEPT=kept", "PROC_TEST_REPLACED=new",
                                           "PROC_TEST_ADDED=added", "PROC_TEST_REPLACE=(unset)"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(read_line(f->output, line, sizeof line));
        assert_string_equal(line, expected[i]);
    }
    wait_for_end(f);
    assert_string_equal(getenv("PROC_TEST_REPLACED"), "old");
    unsetenv("PROC_TEST_KEPT");
    unsetenv("PROC_TEST_REPLACED");
}

CASE(a_child_starts_with_no_signal_ignored_or_blocked)
{
    char line[300];
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    start(f, "signals", NULL); /* SIGPIPE is ignored here as well, as in the server */
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < 2; i++) {
        assert_true(read_line(f->output, line, sizeof line));
        if (strtoull(line + 7, NULL, 16) != 0)
            fail_msg("%s", line);
    }
    wait_for_end(f);
}

/* A terminal's ^C is for the server, not for the programs it runs. */
CASE(a_child_is_in_its_own_session)
{
    start(f, "hang", NULL);
    read_pid(f->output);
    assert_int_equal(getsid(child_pid(f->child)), child_pid(f->child));
}

/* The helper's report on its descriptors, by number; "" for none. */
static void read_descriptors(struct fixture *f, char found[16][300])
{
    char line[400];
    memset(found, 0, 16 * 300);
    while (read_line(f->output, line, sizeof line)) {
        int fd = atoi(line);
        if (fd < 0 || fd > 15)
            fail_msg("descriptor %s has leaked", line);
        snprintf(found[fd], 300, "%.290s", strchr(line, ' ') + 1);
    }
}

static void start_with_descriptors(struct fixture *f, const int descriptors[4])
{
    const char *argv[] = {helper_path("helper"), "descriptors", NULL};
    struct err err;
    struct spawn_spec spec = {.argv = argv};
    memcpy(spec.descriptors, descriptors, sizeof spec.descriptors);
    f->child = child_spawn(f->children, &spec, on_exit_of_child, f, &err);
    assert_non_null(f->child);
}

CASE(a_child_has_the_four_descriptors_it_is_given)
{
    char found[16][300];
    int ends[2], sockets[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    start_with_descriptors(f, (int[4]){file, ends[1], ends[1], sockets[1]});
    close(ends[1]);
    close(sockets[0]);
    close(sockets[1]);
    close(file);
    f->output = ends[0];
    read_descriptors(f, found);
    assert_string_equal(found[0], "/dev/zero");
    assert_memory_equal(found[1], "pipe:", 5);
    assert_string_equal(found[1], found[2]);
    assert_memory_equal(found[3], "socket:", 7);
    for (int fd = 4; fd < 16; fd++)
        assert_string_equal(found[fd], "");
    wait_for_end(f);
}

CASE(a_child_has_dev_null_where_it_is_given_nothing_and_no_fourth)
{
    char found[16][300];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start_with_descriptors(f, (int[4]){-1, ends[1], -1, -1});
    close(ends[1]);
    f->output = ends[0];
    read_descriptors(f, found);
    assert_string_equal(found[0], "/dev/null");
    assert_string_equal(found[2], "/dev/null");
    assert_string_equal(found[3], "");
    wait_for_end(f);
}

/* The descriptors for 0 to 3 may themselves be among 0 to 3, in any order. */
CASE(a_childs_descriptors_may_be_given_crosswise)
{
    char found[16][300];
    int ends[2], saved[4];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < 4; i++)
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 20);
    int write_end = fcntl(ends[1], F_DUPFD_CLOEXEC, 30), zero = open("/dev/zero", O_RDWR | O_CLOEXEC),
        full = open("/dev/full", O_RDWR | O_CLOEXEC);
    int zero_high = fcntl(zero, F_DUPFD_CLOEXEC, 30), full_high = fcntl(full, F_DUPFD_CLOEXEC, 30);
    close(zero);
    close(full);
    close(ends[1]);
    /* 0 holds /dev/full, 1 /dev/zero, 3 the pipe; wanted: 0 zero, 1 pipe, 3 full. */
    dup2(full_high, 0);
    dup2(zero_high, 1);
    int spare = fcntl(3, F_GETFD) >= 0 && ends[0] == 3 ? fcntl(3, F_DUPFD_CLOEXEC, 40) : -1;
    dup2(write_end, 3);
    start_with_descriptors(f, (int[4]){1, 3, -1, 0});
    for (int i = 0; i < 4; i++) {
        if (saved[i] >= 0) {
            dup2(saved[i], i);
            close(saved[i]);
        } else {
            close(i);
        }
    }
    if (spare >= 0)
        close(spare);
    close(write_end);
    close(zero_high);
    close(full_high);
    f->output = ends[0];
    read_descriptors(f, found);
    assert_string_equal(found[0], "/dev/zero");
    assert_memory_equal(found[1], "pipe:", 5);
    assert_string_equal(found[2], "/dev/null");
    assert_string_equal(found[3], "/dev/full");
    wait_for_end(f);
}

/* The server may inherit descriptors that are not close-on-exec. */
CASE(a_child_inherits_none_of_the_descriptors_that_we_inherited)
{
    char found[16][300];
    int leaky = open("/dev/zero", O_RDONLY);
    int high = fcntl(leaky, F_DUPFD, 15);
    start(f, "descriptors", NULL);
    close(leaky);
    close(high);
    read_descriptors(f, found);
    for (int fd = 3; fd < 16; fd++)
        if (found[fd][0] != '\0')
            fail_msg("descriptor %d is %s", fd, found[fd]);
    wait_for_end(f);
}

CASE(a_child_has_the_limit_of_files_that_we_were_started_with)
{
    struct rlimit before, now;
    struct err err;
    children_free(f->children);
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit low = {.rlim_cur = 200, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    f->children = children_new(&f->loop, &err);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, before.rlim_max);
    char line[100];
    const char *argv[] = {"sh", "-c", "ulimit -n", NULL};
    start_program(f, -1, (struct spawn_spec){.argv = argv});
    setrlimit(RLIMIT_NOFILE, &before);
    assert_true(read_line(f->output, line, sizeof line));
    assert_string_equal(line, "200");
    wait_for_end(f);
}

/* Wait for its end; another one can be started then. */
static void finish(struct fixture *f)
{
    wait_for_end(f);
    assert_true(f->end.is_known);
    child_free(f->child);
    close(f->output);
    f->child = NULL;
    f->output = -1;
    f->has_ended = false;
    f->ends = 0;
}

CASE(exit_codes_and_fatal_signals_are_reported)
{
    static const struct {
        const char *what, *number;
    } ends[] = {{"exit", "0"},    {"exit", "1"},   {"exit", "42"},   {"exit", "127"}, {"exit", "255"},
                {"signal", "15"}, {"signal", "6"}, {"signal", "11"}, {"signal", "9"}};
    struct rlimit before;
    getrlimit(RLIMIT_CORE, &before);
    setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max});
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        bool is_signal = strcmp(ends[i].what, "signal") == 0;
        start(f, ends[i].what, ends[i].number);
        finish(f);
        assert_int_equal(is_signal ? f->end.signal : f->end.exit_code, atoi(ends[i].number));
        assert_int_equal(f->end.signal != 0, is_signal);
    }
    setrlimit(RLIMIT_CORE, &before);
}

CASE(a_signal_to_a_child_that_has_ended_is_harmless)
{
    start(f, "exit", "0");
    wait_for_end(f);
    child_signal(f->child, SIGTERM);
    child_interrupt(f->child, 5);
    child_kill_tree(f->child);
    assert_int_equal(f->ends, 1);
}

CASE(an_interrupt_carries_its_token)
{
    start(f, "token", NULL);
    assert_int_equal(read_pid(f->output), child_pid(f->child));
    child_interrupt(f->child, 123456789);
    assert_int_equal(read_pid(f->output), 123456789);
    wait_for_end(f);
}

static void start_each(struct fixture *f, struct fixture each[], int count, const char *what,
                       const char *number)
{
    const char *argv[] = {helper_path("helper"), what, number, NULL};
    memset(each, 0, (size_t)count * sizeof *each);
    for (int i = 0; i < count; i++) {
        struct spawn_spec spec = {.argv = argv, .descriptors = {-1, -1, -1, -1}};
        struct err err;
        each[i].child = child_spawn(f->children, &spec, on_exit_of_child, &each[i], &err);
        assert_non_null(each[i].child);
    }
}

CASE(many_children_end_at_once_and_each_is_reported_once)
{
    enum { COUNT = 60 };
    static struct fixture each[COUNT];
    start_each(f, each, COUNT, "exit", "7");
    for (int i = 0; i < COUNT; i++) {
        assert_true(run_until(&f->loop, is_set, &each[i].has_ended, LIMIT_MS));
        assert_int_equal(each[i].end.exit_code, 7);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(each[i].ends, 1);
        child_free(each[i].child);
    }
}

static bool has_no_child(void *arg)
{
    pid_t any;
    (void)arg;
    return tree_children(getpid(), &any, 1) == 0;
}

/* More than are probed by pid; those that were freed are reaped like the others, without a callback. */
CASE(many_children_are_killed_at_once_and_all_are_reaped)
{
    enum { COUNT = 150 };
    static struct fixture each[COUNT];
    start_each(f, each, COUNT, "hang", NULL);
    for (int i = 0; i < COUNT; i++) {
        child_signal(each[i].child, SIGKILL);
        if (i % 2 == 0) {
            child_free(each[i].child);
            each[i].child = NULL;
        }
    }
    assert_true(run_until(&f->loop, has_no_child, NULL, LIMIT_MS));
    for (int i = 0; i < COUNT; i++) {
        if (i % 2 == 1)
            assert_true(run_until(&f->loop, is_set, &each[i].has_ended, LIMIT_MS));
        assert_int_equal(each[i].ends, i % 2);
        child_free(each[i].child);
    }
}

struct pair {
    struct child *children[2];
    int ends;
};

/* Frees both, its own child and one whose callback may be pending. */
static void on_exit_of_one(void *arg, const struct child_end *end)
{
    struct pair *p = arg;
    (void)end;
    p->ends++;
    for (int i = 0; i < 2; i++) {
        child_free(p->children[i]);
        p->children[i] = NULL;
    }
}

static bool has_one_ended(void *arg)
{
    return ((struct pair *)arg)->ends > 0;
}

CASE(a_callback_may_free_any_child_and_the_freed_one_is_not_notified)
{
    struct pair p = {0};
    const char *argv[] = {helper_path("helper"), "exit", "0", NULL};
    pid_t pids[2];
    for (int i = 0; i < 2; i++) {
        struct spawn_spec spec = {.argv = argv, .descriptors = {-1, -1, -1, -1}};
        struct err err;
        p.children[i] = child_spawn(f->children, &spec, on_exit_of_one, &p, &err);
        pids[i] = child_pid(p.children[i]);
    }
    /* Both are dead before the loop looks. */
    assert_true(has_gone(pids[0], LIMIT_MS) && has_gone(pids[1], LIMIT_MS));
    assert_true(run_until(&f->loop, has_one_ended, &p, LIMIT_MS));
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(p.ends, 1);
}

static pid_t start_sibling(struct fixture *f, int input, bool waits)
{
    const char *argv[] = {helper_path("helper"), "sibling", "5", waits ? "wait" : NULL, NULL};
    int ends[2];
    struct err err;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct spawn_spec spec = {.argv = argv, .descriptors = {input, ends[1], 2, -1}};
    static struct fixture ignored;
    f->child = child_spawn(f->children, &spec, on_exit_of_child, &ignored, &err);
    close(ends[1]);
    f->output = ends[0];
    assert_non_null(f->child);
    return read_pid(f->output);
}

CASE(a_copy_made_by_a_child_is_adopted_and_its_end_is_reported)
{
    int input[2];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    pid_t pid = start_sibling(f, input[0], true);
    struct child *copy = child_adopt(f->children, pid, on_exit_of_child, f);
    assert_int_equal(child_pid(copy), pid);
    close(input[0]);
    close(input[1]);
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    assert_int_equal(f->end.exit_code, 5);
    child_free(copy);
}

static bool has_been_reaped(void *arg)
{
    return kill(*(pid_t *)arg, 0) != 0 && errno == ESRCH;
}

CASE(a_copy_that_ended_before_it_was_adopted_is_reported_from_the_loop)
{
    pid_t pid = start_sibling(f, -1, false);
    assert_true(has_gone(pid, LIMIT_MS));
    assert_true(run_until(&f->loop, has_been_reaped, &pid, LIMIT_MS));
    struct child *copy = child_adopt(f->children, pid, on_exit_of_child, f);
    assert_int_equal(f->ends, 0);
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    assert_int_equal(f->end.exit_code, 5);
    assert_int_equal(f->ends, 1);
    child_free(copy);
}

/* Dead, but not yet reaped, when it is adopted. */
CASE(a_copy_that_is_a_zombie_when_adopted_is_reported_once)
{
    pid_t pid = start_sibling(f, -1, false);
    assert_true(has_gone(pid, LIMIT_MS));
    struct child *copy = child_adopt(f->children, pid, on_exit_of_child, f);
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    assert_int_equal(f->ends, 1);
    child_free(copy);
}

static pid_t start_sleep(char **environment)
{
    pid_t pid;
    char name[] = "sleep", seconds[] = "1000", *argv[] = {name, seconds, NULL};
    assert_int_equal(posix_spawn(&pid, "/bin/sleep", NULL, NULL, argv, environment), 0);
    /* It returns a moment before the kernel shows the new environment. */
    for (int ms = 0; environment != NULL && environment[0] != NULL && ms < LIMIT_MS; ms++) {
        if (process_has_variable(pid, environment[0]))
            break;
        poll(NULL, 0, 1);
    }
    return pid;
}

CASE(a_program_that_a_lisp_has_left_is_not_adopted)
{
    char mark[] = "TEST_MARK=1", session[] = "CL_MCP_SESSION=2";
    char *of_program[] = {mark, session, NULL}, *of_copy[] = {mark, NULL}, *cleared[] = {NULL};
    pid_t programs[] = {start_sleep(of_program), start_sleep(cleared)}, copy = start_sleep(of_copy);
    children_expect(f->children, mark);
    for (int i = 0; i < 2; i++) {
        assert_null(child_adopt(f->children, programs[i], on_exit_of_child, f));
        assert_int_equal(kill(programs[i], SIGKILL), 0);
        assert_true(run_until(&f->loop, has_been_reaped, &programs[i], LIMIT_MS));
    }
    struct child *adopted = child_adopt(f->children, copy, on_exit_of_child, f);
    assert_non_null(adopted);
    child_kill_tree(adopted);
    wait_for_end(f);
    child_free(adopted);
}

CASE(what_has_an_owner_or_is_the_servers_own_is_not_adopted)
{
    start(f, "tree", NULL);
    assert_null(child_adopt(f->children, child_pid(f->child), on_exit_of_child, f));
    pid_t own = fork();
    if (own == 0)
        for (;;)
            pause();
    assert_null(child_adopt(f->children, own, on_exit_of_child, f));
    assert_int_equal(kill(own, SIGKILL), 0);
    assert_true(run_until(&f->loop, has_been_reaped, &own, LIMIT_MS));
}

/* An orphan's end is remembered as well, since it is indistinguishable from a copy's. Its pid may be
 * reused. */
CASE(a_copy_with_the_number_of_a_dead_orphan_is_not_taken_for_it)
{
    pid_t copy_pid = 0;
    for (int attempt = 0; attempt < 200 && copy_pid == 0; attempt++) {
        pid_t orphan = fork();
        if (orphan == 0)
            _exit(9);
        assert_true(run_until(&f->loop, has_been_reaped, &orphan, LIMIT_MS));
        FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "we");
        if (last == NULL || fprintf(last, "%d", (int)orphan - 1) < 0 || fclose(last) != 0) {
            print_message("# SKIP: the next process number cannot be chosen here\n");
            skip();
        }
        pid_t pid = start_sleep(NULL);
        if (pid == orphan)
            copy_pid = pid;
        else
            kill(pid, SIGKILL);
    }
    assert_true(copy_pid > 0);
    struct child *copy = child_adopt(f->children, copy_pid, on_exit_of_child, f);
    child_signal(copy, SIGTERM);
    assert_true(run_until(&f->loop, is_set, &f->has_ended, LIMIT_MS));
    assert_int_equal(f->end.signal, SIGTERM);
    child_free(copy);
}

CASE(killing_a_tree_ends_all_of_it)
{
    static const struct {
        const char *what, *number;
        int count;
    } trees[] = {
        {"tree", NULL, 4}, /* grandchildren, and those in sessions of their own */
        {"deaf", NULL, 1}, /* which ignores every signal */
        {"deep", "30", 30},
        {"many", "300", 300},
    };
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        pid_t pids[300];
        start(f, trees[i].what, trees[i].number);
        for (int k = 0; k < trees[i].count; k++)
            pids[k] = read_pid(f->output);
        for (int k = 0; k < trees[i].count; k++)
            assert_true(is_running(pids[k]));
        child_kill_tree(f->child);
        finish(f);
        int running = 0;
        for (int k = 0; k < trees[i].count; k++)
            running += !has_gone(pids[k], running > 0 ? 0 : 1000);
        if (running > 0)
            fail_msg("%s: %d of %d run", trees[i].what, running, trees[i].count);
        assert_int_equal(f->end.signal, SIGKILL);
    }
}

CASE(freeing_a_child_that_runs_kills_it_with_its_descendants)
{
    pid_t pids[4], self;
    start(f, "tree", NULL);
    self = child_pid(f->child);
    for (int i = 0; i < 4; i++)
        pids[i] = read_pid(f->output);
    child_free(f->child);
    f->child = NULL;
    for (int i = 0; i < 4; i++)
        assert_true(has_gone(pids[i], LIMIT_MS));
    assert_true(has_gone(self, LIMIT_MS));
    assert_true(run_until(&f->loop, has_been_reaped, &self, LIMIT_MS));
    assert_int_equal(f->ends, 0);
}

CASE(orphans_become_children_and_are_reaped)
{
    int input[2];
    const char *argv[] = {helper_path("helper"), "brief-orphan", NULL};
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    start_program(f, input[0], (struct spawn_spec){.argv = argv});
    close(input[0]);
    pid_t orphan = read_pid(f->output);
    wait_for_end(f);
    assert_true(is_running(orphan));
    close(input[1]);
    assert_true(run_until(&f->loop, has_been_reaped, &orphan, LIMIT_MS));
}

CASE(children_free_leaves_nothing)
{
    struct fixture others[3] = {{{0}}};
    pid_t pids[4 + 1 + 1];
    size_t n = 0;
    static const char *const kinds[] = {"tree", "deaf", "orphan"};
    for (int i = 0; i < 3; i++) {
        others[i].children = f->children;
        start(&others[i], kinds[i], NULL);
        for (int k = 0; k < (i == 0 ? 4 : 1); k++)
            pids[n++] = read_pid(others[i].output);
    }
    children_free(f->children);
    assert_no_process_left();
    for (size_t i = 0; i < n; i++)
        assert_true(has_gone(pids[i], 0));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(others[i].ends, 0);
        child_free(others[i].child);
        close(others[i].output);
    }
    struct err err;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    f->children = children_new(&f->loop, &err);
}

CASE(a_child_dies_with_a_parent_that_is_killed)
{
    int input[2];
    char helper[4200];
    snprintf(helper, sizeof helper, "%s", helper_path("helper"));
    const char *argv[] = {helper_path("fake_server"), helper, "alone", NULL};
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    start_program(f, input[0], (struct spawn_spec){.argv = argv});
    close(input[0]);
    /* Its child has four descendants; all five print their pids, including the child itself. */
    pid_t pids[5], direct = 0, found[8];
    for (int i = 0; i < 5; i++)
        pids[i] = read_pid(f->output);
    assert_int_equal(tree_children(child_pid(f->child), found, 8), 1);
    direct = found[0];
    assert_true(pids[0] == direct || pids[1] == direct || pids[2] == direct || pids[3] == direct ||
                pids[4] == direct);
    child_signal(f->child, SIGKILL);
    assert_true(has_gone(direct, LIMIT_MS));
    wait_for_end(f);
    close(input[1]);
}

int main(void)
{
    keep_only_standard_descriptors();
    return run_cases(NULL, NULL);
}
