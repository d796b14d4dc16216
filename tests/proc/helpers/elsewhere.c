/*
 * elsewhere KERNEL PROGRAM [ARGUMENT...]: runs a program as if it were on another kernel, or in a container.
 *
 * KERNEL is a release in the table below, or docker: then the system calls that create namespaces or mounts
 * fail as the default rules of Docker have it. A version of Landlock is exactly the kernel's own if it is
 * asked for no right that the version does not know; so this program answers landlock_create_ruleset() in its
 * place if it asks for the version or for such rights, and lets all other calls pass.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_RULESET 444 /* newer than Debian 12's libseccomp knows on every architecture */
#define CLOSE_RANGE 436
#define VERSION_FLAG 1u

static const struct kernel {
    const char *release;
    int landlock;      /* the version; minus errno: there is none */
    uint64_t rights;   /* over files, that it knows */
    size_t attributes; /* the size of its structure */
} kernels[] =
    {
        {"5.10", -ENOSYS, 0, 0},       {"5.12", -ENOSYS, 0, 0},
        {"unused", -EOPNOTSUPP, 0, 0}, /* built in, but not among those that start */
        {"5.13", 1, 0x1fff, 8},        {"5.19", 2, 0x3fff, 8},
        {"6.1", 2, 0x3fff, 8},         {"6.2", 3, 0x7fff, 8},
        {"6.6", 3, 0x7fff, 8},         {"6.7", 4, 0x7fff, 16},
        {"6.8", 4, 0x7fff, 16},        {"6.10", 5, 0xffff, 16},
        {"6.12", 6, 0xffff, 24},       {"docker", 0, 0, 0}, /* the kernel's own */
};

static void check(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(125);
}

static void add(scmp_filter_ctx filter, int error, int call, unsigned count, struct scmp_arg_cmp compare)
{
    int wrong = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((unsigned)error), call, count, &compare);
    check(wrong == 0, "a rule");
}

/* Source: profiles/seccomp/default.json of moby, without CAP_SYS_ADMIN and CAP_SYS_PTRACE */
static void add_docker(scmp_filter_ctx filter)
{
    static const int denied[] = {
        SCMP_SYS(unshare), SCMP_SYS(setns),          SCMP_SYS(mount),          SCMP_SYS(umount2),
        SCMP_SYS(fsopen),  SCMP_SYS(fsmount),        SCMP_SYS(fspick),         SCMP_SYS(fsconfig),
        SCMP_SYS(bpf),     SCMP_SYS(open_tree),      SCMP_SYS(keyctl),         SCMP_SYS(add_key),
        SCMP_SYS(kcmp),    SCMP_SYS(request_key),    SCMP_SYS(syslog),         SCMP_SYS(perf_event_open),
        SCMP_SYS(acct),    SCMP_SYS(move_mount),     SCMP_SYS(quotactl),       SCMP_SYS(process_madvise),
        SCMP_SYS(swapon),  SCMP_SYS(pivot_root),     SCMP_SYS(reboot),         SCMP_SYS(open_by_handle_at),
        SCMP_SYS(swapoff), SCMP_SYS(userfaultfd),    SCMP_SYS(mbind),          SCMP_SYS(fanotify_init),
        SCMP_SYS(vhangup), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(set_mempolicy),
    };
    for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++)
        add(filter, EPERM, denied[i], 0, SCMP_A0(SCMP_CMP_EQ, 0));
    add(filter, ENOSYS, SCMP_SYS(clone3), 0, SCMP_A0(SCMP_CMP_EQ, 0));
    for (unsigned bit = 0; bit < 32; bit++)
        if ((0x7e020000u & 1u << bit) != 0)
            add(filter, EPERM, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 1u << bit, 1u << bit));
    /* personality() may set no flag that SBCL would want. */
    add(filter, EPERM, SCMP_SYS(personality), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0x40000, 0x40000));
}

static int64_t answer(const struct kernel *kernel, const struct seccomp_notif *call)
{
    uint64_t attributes[8] = {0}, size = call->data.args[1];
    if (kernel->landlock < 0 || (call->data.args[2] & VERSION_FLAG) != 0)
        return kernel->landlock;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)call->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len =
        fd < 0 || size > sizeof attributes ? -1 : pread(fd, attributes, size, (off_t)call->data.args[0]);
    close(fd);
    if (len != (ssize_t)size)
        return -EFAULT;
    for (size_t i = kernel->attributes / 8; i < 8; i++)
        if (attributes[i] != 0)
            return -E2BIG;
    return (attributes[0] & ~kernel->rights) != 0 ? -EINVAL : 0;
}

/* Ends with the program. The listener may end later: before Linux 6.11 a filter is there until its last
 * process is waited for. */
static void serve(const struct kernel *kernel, int program, int listener)
{
    struct seccomp_notif *call;
    struct seccomp_notif_resp *response;
    check(seccomp_notify_alloc(&call, &response) == 0, "memory");
    for (struct pollfd pollers[] = {{listener, POLLIN, 0}, {program, POLLIN, 0}};;) {
        if (poll(pollers, 2, -1) < 0 && errno == EINTR)
            continue;
        if (pollers[1].revents != 0 || (pollers[0].revents & POLLIN) == 0)
            return;
        memset(call, 0, sizeof *call);
        if (seccomp_notify_receive(listener, call) != 0)
            continue;
        int64_t value = answer(kernel, call);
        response->id = call->id;
        response->val = value > 0 ? value : 0;
        response->error = value < 0 ? (int)value : 0;
        response->flags = value == 0 ? 1 /* SECCOMP_USER_NOTIF_FLAG_CONTINUE */ : 0;
        seccomp_notify_respond(listener, response);
    }
}

static int receive(int channel)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    check(recvmsg(channel, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message) != NULL, "recvmsg");
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static void hand_over(int channel, int fd)
{
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header =
        (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    check(sendmsg(channel, &message, 0) == 1, "sendmsg");
}

/* The process that answers is nobody's child, and holds none of the program's descriptors. */
static int start_server(const struct kernel *kernel)
{
    int pair[2], program = (int)syscall(SYS_pidfd_open, getpid(), 0);
    check(program >= 0, "pidfd_open");
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (pid == 0) {
        if (fork() != 0)
            _exit(0);
        setsid();
        int null = open("/dev/null", O_RDWR);
        for (int i = 0; i < 3; i++)
            dup2(null, i);
        close(pair[0]);
        serve(kernel, program, receive(pair[1]));
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    close(pair[1]);
    close(program);
    return pair[0];
}

int main(int argc, char **argv)
{
    const struct kernel *kernel = NULL;
    for (size_t i = 0; argc > 2 && i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].release, argv[1]) == 0)
            kernel = &kernels[i];
    if (kernel == NULL) {
        fprintf(stderr, "usage: elsewhere KERNEL PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    check(filter != NULL, "seccomp_init");
    if (strcmp(kernel->release, "5.10") == 0)
        add(filter, EINVAL, CLOSE_RANGE, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, 4, 4));
    if (kernel->landlock == 0) {
        add_docker(filter);
        check(seccomp_load(filter) == 0, "seccomp_load");
    } else {
        int channel = start_server(kernel);
        check(seccomp_rule_add(filter, SCMP_ACT_NOTIFY, CREATE_RULESET, 0) == 0, "a rule");
        check(seccomp_load(filter) == 0, "seccomp_load");
        int listener = seccomp_notify_fd(filter);
        hand_over(channel, listener);
        close(listener);
        close(channel);
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
