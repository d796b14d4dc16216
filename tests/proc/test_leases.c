/*
 * Several servers contend for one session's lease, each in a process of its own, and are stopped, continued,
 * killed and replaced at random: no two have it at a time.
 */
#include "session/store/leases.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/remove_tree.h"
#include "proc_test.h"

#define SERVERS 5
#define EVENTS 300
#define MOST_PAUSE_US 3000
#define MOST_WAIT_US 1000

static char directory[64], in_use[96];
static volatile unsigned *taken; /* shared: how often it was */

static void pause_at_random(void)
{
    usleep((useconds_t)(random() % MOST_PAUSE_US));
}

/* Says that this server has the session; whether no other that lives says so. */
static bool begin_use(void)
{
    char text[32] = "";
    int fd = open(in_use, O_RDWR | O_CREAT | O_EXCL, 0600);
    bool is_free = fd >= 0;
    if (fd < 0 && (fd = open(in_use, O_RDWR)) >= 0) {
        ssize_t len = read(fd, text, sizeof text - 1);
        is_free = len >= 0 && (len == 0 || kill(atoi(text), 0) != 0);
    }
    int len = snprintf(text, sizeof text, "%-20d", (int)getpid());
    is_free = is_free && pwrite(fd, text, (size_t)len, 0) == len;
    close(fd);
    return is_free;
}

/* Ends only when it is killed, with status 1 when another has what it has. */
static void serve(int number)
{
    char node[16];
    struct err err;
    uv_loop_t loop;
    snprintf(node, sizeof node, "n%d", number);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srandom((unsigned)getpid());
    uv_loop_init(&loop);
    struct leases *l = leases_new(&loop, directory, node, &err);
    while (l != NULL) {
        struct lease *lease = lease_take(l, directory, "work", &err);
        if (lease == NULL) {
            usleep((useconds_t)(random() % MOST_WAIT_US)); /* as clients do: at once, nobody would get it */
            continue;
        }
        if (!begin_use())
            _exit(1);
        __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED);
        if (random() % 2 == 0)
            sched_yield();
        unlink(in_use);
        lease_release(lease);
    }
    _exit(2);
}

static pid_t start(int number)
{
    pid_t pid = fork();
    if (pid == 0)
        serve(number);
    assert_true(pid > 0);
    return pid;
}

TEST(no_two_have_it)
{
    pid_t servers[SERVERS];
    random_seed();
    taken = mmap(NULL, sizeof *taken, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(taken != MAP_FAILED);
    strcpy(directory, "/tmp/cl-mcp-leases-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(in_use, sizeof in_use, "%s/in-use", directory);
    for (int i = 0; i < SERVERS; i++)
        servers[i] = start(i);
    int status = 0;
    /* On a busy machine the lease is taken less often between two events. */
    for (int i = 0; i < EVENTS || *taken < EVENTS; i++) {
        int one = (int)(random() % SERVERS);
        bool is_stopped = random() % 2 == 0;
        kill(servers[one], is_stopped ? SIGSTOP : SIGKILL);
        pause_at_random();
        if (is_stopped) {
            kill(servers[one], SIGCONT);
            continue;
        }
        assert_int_equal(servers[one], waitpid(servers[one], &status, 0));
        assert_true(WIFSIGNALED(status)); /* not one that has seen another with its lease */
        servers[one] = start(one);
    }
    for (int i = 0; i < SERVERS; i++) {
        kill(servers[i], SIGKILL);
        waitpid(servers[i], &status, 0);
        assert_true(WIFSIGNALED(status));
    }
    remove_tree(directory);
}
