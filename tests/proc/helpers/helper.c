/*
 * A child that behaves in one known way, chosen by its first argument. When it is ready, it prints a line on
 * descriptor 1.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static void say(long number)
{
    char line[32];
    int n = snprintf(line, sizeof line, "%ld\n", number);
    ssize_t ignored = write(1, line, (size_t)n);
    (void)ignored;
}

static _Noreturn void hang(void)
{
    for (;;)
        pause();
}

/* fork() a child that hangs; ${own_session}: outside this process's session and group. */
static void start_another(int own_session, int depth)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (own_session)
            setsid();
        say(getpid());
        if (depth > 1)
            start_another(own_session, depth - 1);
        hang();
    }
}

/* "FD TARGET" for each open descriptor but the one that lists them. */
static void list_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    const struct dirent *entry;
    while ((entry = readdir(all)) != NULL) {
        char path[300], target[300];
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || fd == dirfd(all))
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n < 0 ? 0 : n] = '\0';
        printf("%d %s\n", fd, target);
    }
    fflush(stdout);
}

/* Which signals are ignored or blocked. */
static void list_signals(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[300];
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0)
            fputs(line, stdout);
    fclose(f);
    fflush(stdout);
}

/* A copy by CLONE_PARENT: its parent is ours. It waits for a byte on descriptor 0 if ${waits}, else ends at
 * once. */
static void make_sibling(int exit_code, int waits)
{
    pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        char c;
        if (waits && read(0, &c, 1) < 0)
            _exit(1);
        _exit(exit_code);
    }
    say(pid);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "exit") == 0)
        return number;
    if (strcmp(what, "signal") == 0) {
        raise(number);
        hang();
    } else if (strcmp(what, "hang") == 0) {
        say(getpid());
        hang();
    } else if (strcmp(what, "deaf") == 0) {
        for (int i = 1; i < NSIG; i++)
            signal(i, SIG_IGN);
        say(getpid());
        hang();
    } else if (strcmp(what, "tree") == 0) {
        start_another(0, 2);
        start_another(1, 2);
        hang();
    } else if (strcmp(what, "many") == 0) {
        for (int i = 0; i < number; i++)
            start_another(0, 1);
        hang();
    } else if (strcmp(what, "deep") == 0) {
        start_another(0, number);
        hang();
    } else if (strcmp(what, "orphan") == 0) {
        /* The grandchild outlives this process. */
        start_another(1, 1);
        return 0;
    } else if (strcmp(what, "brief-orphan") == 0) {
        if (fork() == 0) {
            /* When this process ends, it is an orphan; then it ends. */
            char c;
            say(getpid());
            if (read(0, &c, 1) < 0)
                return 1;
            return 0;
        }
        return 0;
    } else if (strcmp(what, "descriptors") == 0) {
        list_descriptors();
    } else if (strcmp(what, "signals") == 0) {
        list_signals();
    } else if (strcmp(what, "directory") == 0) {
        char directory[4096];
        puts(getcwd(directory, sizeof directory) == NULL ? "?" : directory);
    } else if (strcmp(what, "environment") == 0) {
        for (int i = 2; i < argc; i++)
            printf("%s=%s\n", argv[i], getenv(argv[i]) == NULL ? "(unset)" : getenv(argv[i]));
    } else if (strcmp(what, "token") == 0) {
        /* The value that came with SIGURG. */
        sigset_t set;
        siginfo_t info;
        sigemptyset(&set);
        sigaddset(&set, SIGURG);
        sigprocmask(SIG_BLOCK, &set, NULL);
        say(getpid());
        sigwaitinfo(&set, &info);
        say(info.si_value.sival_int);
    } else if (strcmp(what, "sibling") == 0) {
        make_sibling(number, argc > 3);
        hang();
    }
    return 0;
}
