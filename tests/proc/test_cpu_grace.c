/*
 * Whether a deadline counts, for processes that run, wait, are stopped and are gone.
 */
#include "../assert_between.h"
#include "proc_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc/cpu_grace.h"
#include "proc/process.h"

#define LIMIT 200

enum { RUNS, WAITS };

static pid_t start(int how)
{
    pid_t pid = fork();
    if (pid == 0)
        while (true)
            if (how == WAITS)
                pause();
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_no_process_left();
}

/* A clock of its own, so that the machine's load does not matter. */
static void wait_until_used(pid_t pid, int ms)
{
    clockid_t clock;
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_nanosleep(clock, TIMER_ABSTIME, &t, NULL), 0);
}

static void wait_for_state(pid_t pid, char state)
{
    while (process_state(pid) != state)
        sched_yield();
}

/* One extension for reading what has arrived, and no more. */
static void assert_last_look(struct cpu_grace *p, pid_t pid)
{
    assert_between(cpu_grace_more_ms(p, pid), 1, 1000);
    assert_int_equal(cpu_grace_more_ms(p, pid), 0);
}

/* How slow it is cannot be chosen: that it stays within its bounds is all that holds everywhere. */
TEST(a_limit_is_stretched_by_whole_times_and_not_without_end)
{
    int stretched = cpu_grace_stretched(LIMIT);
    assert_int_equal(stretched % LIMIT, 0);
    assert_between(stretched, LIMIT, 40 * LIMIT);
}

TEST(one_that_has_had_no_processor_is_given_more_time)
{
    struct cpu_grace p;
    pid_t pid = start(RUNS);
    wait_for_state(pid, 'R');
    cpu_grace_begin(&p, 1000 * LIMIT, pid);
    for (int i = 0; i < 100; i++)
        assert_int_equal(cpu_grace_more_ms(&p, pid), 1000 * LIMIT);
    /* The extensions are bounded. */
    assert_last_look(&p, pid);
    end(pid);
}

TEST(one_that_has_used_its_time_is_not)
{
    struct cpu_grace p;
    pid_t pid = start(RUNS);
    cpu_grace_begin(&p, LIMIT, pid);
    wait_until_used(pid, LIMIT);
    assert_last_look(&p, pid);
    end(pid);
}

TEST(earlier_use_does_not_count)
{
    struct cpu_grace p;
    pid_t pid = start(RUNS);
    wait_until_used(pid, LIMIT);
    cpu_grace_begin(&p, 1000 * LIMIT, pid);
    assert_int_equal(cpu_grace_more_ms(&p, pid), 1000 * LIMIT);
    assert_true(p.used_ms >= LIMIT);
    end(pid);
}

TEST(one_that_waits_gets_a_last_look)
{
    struct cpu_grace p;
    pid_t pid = start(WAITS);
    wait_for_state(pid, 'S');
    cpu_grace_begin(&p, LIMIT, pid);
    assert_last_look(&p, pid);
    end(pid);
}

TEST(one_that_is_stopped_gets_a_last_look)
{
    struct cpu_grace p;
    pid_t pid = start(RUNS);
    kill(pid, SIGSTOP);
    wait_for_state(pid, 'T');
    cpu_grace_begin(&p, LIMIT, pid);
    assert_last_look(&p, pid);
    end(pid);
}

TEST(a_copy_that_takes_over_begins_at_nothing)
{
    struct cpu_grace p;
    pid_t one = start(RUNS), other = start(RUNS);
    wait_until_used(one, LIMIT);
    cpu_grace_begin(&p, 1000 * LIMIT, one);
    wait_for_state(other, 'R');
    assert_int_equal(cpu_grace_more_ms(&p, other), 1000 * LIMIT);
    assert_int_equal(p.used_ms, 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    end(one);
}

TEST(no_process_is_known_and_none_exists)
{
    struct cpu_grace p;
    pid_t pid = start(WAITS);
    end(pid);
    for (int i = 0; i < 2; i++) {
        cpu_grace_begin(&p, LIMIT, i == 0 ? 0 : pid);
        assert_last_look(&p, i == 0 ? 0 : pid);
    }
}

TEST(without_a_limit_the_deadline_counts)
{
    struct cpu_grace p;
    pid_t pid = start(RUNS);
    wait_for_state(pid, 'R');
    cpu_grace_begin(&p, 0, pid);
    assert_int_equal(cpu_grace_more_ms(&p, pid), 0);
    end(pid);
}
