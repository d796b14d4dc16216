/*
 * The sandbox, by Landlock (files, TCP, signals, abstract sockets), seccomp (system calls, kinds of
 * sockets) and, for a private loopback, a network namespace.
 *
 * Everything that needs memory or can fail for a reason worth a message is done before the fork: a
 * descriptor holds the Landlock rules, and the seccomp filter is a program in memory. The child only
 * activates them.
 */
#include "proc/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/redact.h"
#include "proc/guarantees.h"

/*
 * Debian 12's <linux/landlock.h> describes only the first version; these are the kernel's numbers for
 * later ones. Source: include/uapi/linux/landlock.h of Linux 6.12.
 */
#define ACCESS_FS_REFER (1ULL << 13)     /* since version 2 */
#define ACCESS_FS_TRUNCATE (1ULL << 14)  /* 3 */
#define ACCESS_NET_ALL 3ULL              /* 4: bind and connect TCP */
#define ACCESS_FS_IOCTL_DEV (1ULL << 15) /* 5 */
#define SCOPE_ALL 3ULL                   /* 6: abstract Unix sockets, signals */

struct ruleset_attributes {
    uint64_t handled_access_fs, handled_access_net, scoped;
};

#define ACCESS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_ALL (((1ULL << 13) - 1) | ACCESS_FS_REFER | ACCESS_FS_TRUNCATE | ACCESS_FS_IOCTL_DEV)
/* What a rule for a file, rather than a directory, may contain. */
#define ACCESS_OF_FILES                                                                                      \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |             \
     ACCESS_FS_TRUNCATE | ACCESS_FS_IOCTL_DEV)

struct sandbox {
    struct sandbox_policy policy;
    struct guarantees guarantees;
    int ruleset; /* -1: not made */
    struct sock_fprog filter;
    char user_map[64], group_map[64]; /* for the user namespace that owns the network */
};

/* The system's own files, readable by everybody. Homes, /run (sockets of services), /tmp and /var (data and
 * caches of services, this server's among them) are not among them. */
static const char *const system_paths[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/etc", "/opt", "/nix",  "/gnu", "/proc",  "/sys",   NULL,
};

/* Not the terminals, where the user types, nor disks, input devices and the shared memory of other programs
 * in /dev/shm. Of the directory itself the names can be read. */
static const char *const device_paths[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", NULL,
};

/* System calls that no program of a Lisp needs and that have been, or lead to, escapes. They fail with
 * EPERM. */
/* clang-format off */
static const int denied_calls[] = {
    /* other processes */
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd),
    /* what the kernel runs or does for a process */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
    /* mounts and namespaces */
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(move_mount),
    SCMP_SYS(open_tree), 467 /* open_tree_attr: newer than Debian 12's <sys/syscall.h> */,
    SCMP_SYS(fsopen), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(unshare), SCMP_SYS(setns),
    /* keys, the kernel and its modules */
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    /* files by number */
    SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at),
    /* the machine: swap, logs, quotas, clocks, names, ports */
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(reboot), SCMP_SYS(syslog), SCMP_SYS(acct),
    SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
    SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(vhangup), SCMP_SYS(lookup_dcookie), SCMP_SYS(modify_ldt),
    /* files: watching all of them, and the flags of FS_IOC_FSSETXATTR below */
    SCMP_SYS(fanotify_init), 469 /* file_setattr: newer than Debian 12's <sys/syscall.h> */,
    /* Landlock knows nothing of memory and queues that all processes of the user share by number or name. */
    SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl), SCMP_SYS(semget), SCMP_SYS(semop),
    SCMP_SYS(semtimedop), SCMP_SYS(semctl), SCMP_SYS(msgget), SCMP_SYS(msgsnd), SCMP_SYS(msgrcv),
    SCMP_SYS(msgctl), SCMP_SYS(mq_open), SCMP_SYS(mq_unlink),
};
/* clang-format on */

/*
 * System calls that change another process of the same user, which Landlock does not restrict: a limit on
 * processor time would end the server. They fail with EPERM unless this argument has this value, which means
 * the calling process or thread.
 */
static const struct {
    int call;
    unsigned argument;
    uint32_t own;
} own_only_calls[] = {
    {SCMP_SYS(prlimit64), 0, 0},         {SCMP_SYS(setpriority), 0, PRIO_PROCESS},
    {SCMP_SYS(setpriority), 1, 0},       {SCMP_SYS(ioprio_set), 0, 1 /* IOPRIO_WHO_PROCESS */},
    {SCMP_SYS(ioprio_set), 1, 0},        {SCMP_SYS(sched_setscheduler), 0, 0},
    {SCMP_SYS(sched_setparam), 0, 0},    {SCMP_SYS(sched_setattr), 0, 0},
    {SCMP_SYS(sched_setaffinity), 0, 0},
};

/*
 * Requests of ioctl() that fail with EPERM. The kernel looks at 32 bits of the request; the filter must, too,
 * or a bit above them would hide the request.
 */
static const uint32_t denied_requests[] = {
    /* They put characters into a terminal as if somebody had typed them. */
    TIOCSTI,
    TIOCLINUX,
    /* They need no right to write to the file; after the last it can never be written again. */
    FS_IOC_SETFLAGS,
    FS_IOC_FSSETXATTR,
    FS_IOC_ENABLE_VERITY,
};

#define TMPFILE ((uint64_t)(O_TMPFILE & ~O_DIRECTORY)) /* the bit that says that a file is created */

/*
 * System calls that give a file its mode, which Landlock does not restrict. A program with the set-user-ID or
 * set-group-ID bit gives the rights of its owner to everybody who runs it; root's rights are the whole
 * machine. So a call fails with EPERM if ${mode}, an argument, has such a bit and the argument before it has
 * ${flag}, if that is not 0.
 */
static const struct {
    int call;
    unsigned mode;
    uint64_t flag;
} mode_calls[] = {
    {SCMP_SYS(chmod), 1, 0},        {SCMP_SYS(fchmod), 1, 0},
    {SCMP_SYS(fchmodat), 2, 0},     {452 /* fchmodat2: newer than Debian 12's <sys/syscall.h> */, 2, 0},
    {SCMP_SYS(creat), 1, 0},        {SCMP_SYS(open), 2, O_CREAT},
    {SCMP_SYS(open), 2, TMPFILE},   {SCMP_SYS(openat), 3, O_CREAT},
    {SCMP_SYS(openat), 3, TMPFILE},
};

/* Flags of clone() that create a namespace. */
#define CLONE_NAMESPACES                                                                                     \
    (CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |               \
     CLONE_NEWCGROUP)

int sandbox_landlock_version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* The part of ${access} that this version of Landlock knows. */
static uint64_t known_access(uint64_t access, int version)
{
    if (version < 5)
        access &= ~ACCESS_FS_IOCTL_DEV;
    if (version < 3)
        access &= ~ACCESS_FS_TRUNCATE;
    if (version < 2)
        access &= ~ACCESS_FS_REFER;
    return access;
}

static bool allow(int ruleset, const char *path, uint64_t access, struct err *err)
{
    struct stat s;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR ||
               err_set_errno(err, ERR_SYSTEM, errno, "the sandbox cannot open %s", path);
    if (fstat(fd, &s) == 0 && !S_ISDIR(s.st_mode))
        access &= ACCESS_OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    bool ok = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ||
              err_set_errno(err, ERR_SYSTEM, errno, "the sandbox cannot allow %s", path);
    close(fd);
    return ok;
}

static bool allow_all(int ruleset, const char *const *paths, uint64_t access, struct err *err)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++)
        if (!allow(ruleset, paths[i], access, err))
            return false;
    return true;
}

static bool make_ruleset(struct sandbox *s, const struct sandbox_policy *policy, int version, struct err *err)
{
    uint64_t all = known_access(ACCESS_ALL, version);
    struct ruleset_attributes attributes = {
        .handled_access_fs = all,
        .handled_access_net = policy->network == SANDBOX_NETWORK_OFF ? ACCESS_NET_ALL : 0,
        .scoped = SCOPE_ALL,
    };
    size_t size = version >= 6   ? sizeof attributes
                  : version >= 4 ? offsetof(struct ruleset_attributes, scoped)
                                 : offsetof(struct ruleset_attributes, handled_access_net);
    s->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (s->ruleset < 0)
        return err_set_errno(err, ERR_SYSTEM, errno, "the sandbox cannot make its rules");
    fcntl(s->ruleset, F_SETFD, FD_CLOEXEC);
    uint64_t device = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                      LANDLOCK_ACCESS_FS_READ_DIR |
                      known_access(ACCESS_FS_TRUNCATE | ACCESS_FS_IOCTL_DEV, version);
    return allow_all(s->ruleset, system_paths, ACCESS_READ, err) &&
           allow(s->ruleset, "/dev", LANDLOCK_ACCESS_FS_READ_DIR, err) &&
           allow_all(s->ruleset, device_paths, device, err) &&
           allow_all(s->ruleset, policy->readable, ACCESS_READ, err) &&
           allow_all(s->ruleset, policy->writable, all & ~ACCESS_FS_IOCTL_DEV, err);
}

#define SOCKET_TYPE_MASK 0xf /* the other bits of the type are flags. Source: <linux/net.h> */

/*
 * Unix sockets with a path would reach services that act for the user (D-Bus, Docker, an SSH agent);
 * Landlock does not restrict connecting to them. A pair of connected streams has no such reach. A datagram
 * may be sent from a pair to any path, and SOCK_RAW is another name for such a pair.
 */
static int limit_pairs(scmp_filter_ctx filter)
{
    int wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socketpair), 1,
                                 SCMP_A0_32(SCMP_CMP_NE, AF_UNIX));
    for (unsigned type = 0; type <= SOCKET_TYPE_MASK && wrong == 0; type++)
        if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
            wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socketpair), 1,
                                     SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, type));
    return wrong;
}

/* Without a loopback of its own, a sandbox has no network rather than the machine's. */
static bool has_no_network(const struct sandbox *s)
{
    return s->guarantees.by[GUARANTEE_NETWORK] != MECHANISM_NONE &&
           s->guarantees.by[GUARANTEE_LOOPBACK] == MECHANISM_NONE;
}

/* A socket of a forbidden family fails with EACCES. */
static int limit_sockets(scmp_filter_ctx filter, bool has_none)
{
    int pairs = limit_pairs(filter);
    if (pairs != 0)
        return pairs;
    if (has_none)
        return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 0);
    int wrong = 0;
    for (unsigned family = 0; family < AF_MAX && wrong == 0; family++)
        if (family != AF_INET && family != AF_INET6)
            wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 1,
                                     SCMP_A0_32(SCMP_CMP_EQ, family));
    return wrong != 0 ? wrong
                      : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 1,
                                         SCMP_A0_32(SCMP_CMP_GE, AF_MAX));
}

static int limit_modes(scmp_filter_ctx filter)
{
    static const uint64_t bits[] = {S_ISUID, S_ISGID};
    int wrong = 0;
    for (size_t i = 0; i < sizeof mode_calls / sizeof mode_calls[0]; i++)
        for (size_t k = 0; k < sizeof bits / sizeof bits[0] && wrong == 0; k++) {
            unsigned mode = mode_calls[i].mode;
            uint64_t flag = mode_calls[i].flag;
            wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), mode_calls[i].call, flag == 0 ? 1 : 2,
                                     SCMP_CMP(mode, SCMP_CMP_MASKED_EQ, bits[k], bits[k]),
                                     SCMP_CMP(mode - 1, SCMP_CMP_MASKED_EQ, flag, flag));
            if (wrong == -EDOM)
                wrong = 0; /* not a system call of this architecture */
        }
    /* openat2() has the mode in memory, where a filter cannot see it. */
    return wrong != 0 ? wrong : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
}

/* Refuse a call whose third argument has the ${value} in the bits of ${mask}; in the older call of the same
 * effect the argument is the second, and not every architecture has that call. */
static int refuse_both(scmp_filter_ctx filter, int error, int call, int older_call, uint64_t mask,
                       uint64_t value)
{
    uint32_t action = SCMP_ACT_ERRNO((uint32_t)error);
    int wrong = seccomp_rule_add(filter, action, call, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, mask, value));
    if (wrong == 0)
        wrong = seccomp_rule_add(filter, action, older_call, 1, SCMP_A1(SCMP_CMP_MASKED_EQ, mask, value));
    return wrong == -EDOM ? 0 : wrong;
}

/* mknod() makes FIFOs only. In the places to write Landlock allows every kind of file, and by a device root
 * could use the disk. */
static int limit_devices(scmp_filter_ctx filter)
{
    int wrong = 0;
    for (uint64_t kind = 0; kind <= S_IFMT && wrong == 0; kind += S_IFIFO) /* the least bit of S_IFMT */
        if (kind != S_IFIFO)
            wrong = refuse_both(filter, EPERM, SCMP_SYS(mknodat), SCMP_SYS(mknod), S_IFMT, kind);
    return wrong;
}

/* Old versions of Landlock let a process empty each file that it may read, or that it opens for neither
 * reading nor writing (the access mode 3). */
static int limit_emptying(scmp_filter_ctx filter)
{
    static const uint64_t modes[] = {O_RDONLY, O_ACCMODE};
    int wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(truncate), 0);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0] && wrong == 0; i++)
        wrong = refuse_both(filter, EACCES, SCMP_SYS(openat), SCMP_SYS(open), O_ACCMODE | O_TRUNC,
                            modes[i] | O_TRUNC);
    return wrong;
}

static int fill_filter(scmp_filter_ctx filter, const struct sandbox *s)
{
    int wrong = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; i < sizeof denied_calls / sizeof denied_calls[0] && wrong == 0; i++) {
        wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), denied_calls[i], 0);
        if (wrong == -EDOM)
            wrong = 0; /* not a system call of this architecture */
    }
    for (size_t i = 0; i < sizeof own_only_calls / sizeof own_only_calls[0] && wrong == 0; i++)
        wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), own_only_calls[i].call, 1,
                                 SCMP_CMP32(own_only_calls[i].argument, SCMP_CMP_NE, own_only_calls[i].own));
    /* clone3() has its flags in memory, where a filter cannot see them. The C library then falls back to
     * clone(). */
    if (wrong == 0)
        wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    /* One rule per flag: the comparison is of all masked bits at once. */
    for (unsigned bit = 0; bit < 32 && wrong == 0; bit++)
        if ((CLONE_NAMESPACES & (1u << bit)) != 0)
            wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                     SCMP_A0(SCMP_CMP_MASKED_EQ, 1u << bit, 1u << bit));
    for (size_t i = 0; i < sizeof denied_requests / sizeof denied_requests[0] && wrong == 0; i++)
        wrong = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, denied_requests[i]));
    if (wrong == 0)
        wrong = limit_devices(filter);
    if (wrong == 0)
        wrong = limit_modes(filter);
    if (wrong == 0 && s->guarantees.by[GUARANTEE_EMPTYING] == MECHANISM_FILTER)
        wrong = limit_emptying(filter);
    return wrong != 0 ? wrong : limit_sockets(filter, has_no_network(s));
}

/* Get the filter as a program: libseccomp writes it to a descriptor. */
static bool take_program(struct sandbox *s, scmp_filter_ctx filter)
{
    int fd = memfd_create("sandbox-filter", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    struct stat stat;
    bool ok = seccomp_export_bpf(filter, fd) == 0 && fstat(fd, &stat) == 0 && stat.st_size > 0 &&
              (size_t)stat.st_size / sizeof(struct sock_filter) <= BPF_MAXINSNS;
    if (ok) {
        size_t size = (size_t)stat.st_size;
        s->filter.len = (unsigned short)(size / sizeof(struct sock_filter));
        s->filter.filter = xmalloc(size);
        ok = pread(fd, s->filter.filter, size, 0) == (ssize_t)size;
    }
    close(fd);
    return ok;
}

static bool make_filter(struct sandbox *s, struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool ok = filter != NULL && fill_filter(filter, s) == 0 && take_program(s, filter);
    seccomp_release(filter);
    return ok || err_set(err, ERR_SYSTEM, "the sandbox cannot create its system call filter");
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* A network with nothing but a loopback interface. It belongs to a user namespace with unchanged user and
 * group. */
static bool enter_own_network(const struct sandbox *s)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !write_text("/proc/self/setgroups", "deny") ||
        !write_text("/proc/self/uid_map", s->user_map) || !write_text("/proc/self/gid_map", s->group_map))
        return false;
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &loopback) == 0;
    if (fd >= 0)
        close(fd);
    /* Changing the user namespace has cleared it. */
    return ok && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static void write_maps(struct sandbox *s)
{
    snprintf(s->user_map, sizeof s->user_map, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(s->group_map, sizeof s->group_map, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
}

/* Some systems forbid or limit user namespaces. A child tries, since only a process with a single thread can.
 */
bool sandbox_has_namespaces(void)
{
    struct sandbox s;
    write_maps(&s);
    pid_t pid = fork();
    if (pid == 0)
        _exit(enter_own_network(&s) ? 0 : errno != 0 && errno < 256 ? errno : EPERM);
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0)
        errno = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
    return pid > 0 && errno == 0;
}

/* What this kernel can do is found out here, once for each sandbox. */
static bool find_guarantees(struct sandbox *s, int landlock_version, struct err *err)
{
    if (landlock_version < 1)
        return err_set_errno(
            err, ERR_SYSTEM, errno,
            "The sandbox is not available: it needs Landlock, which Linux has since 5.13 and "
            "which this kernel does not have or does not use");
    bool has_namespaces = s->policy.network == SANDBOX_NETWORK_LOOPBACK && sandbox_has_namespaces();
    guarantees_find(&s->guarantees, landlock_version, has_namespaces, s->policy.network);
    return s->guarantees.is_complete || !s->policy.is_strict ||
           err_set(err, ERR_SYSTEM, "--sandbox-strict does not start with less than all of the sandbox. %s",
                   s->guarantees.text);
}

struct sandbox *sandbox_new(const struct sandbox_policy *policy, struct err *err)
{
    struct sandbox *s = xcalloc(1, sizeof *s);
    s->policy = *policy;
    s->ruleset = -1;
    write_maps(s);
    int version = sandbox_landlock_version();
    if (find_guarantees(s, version, err) && make_ruleset(s, policy, version, err) && make_filter(s, err))
        return s;
    sandbox_free(s);
    return NULL;
}

struct sandbox *sandbox_new_with(const struct sandbox *s, const char *readable, struct err *err)
{
    struct sandbox *with = sandbox_new(&s->policy, err);
    if (with == NULL || allow(with->ruleset, readable, ACCESS_READ, err))
        return with;
    sandbox_free(with);
    return NULL;
}

void sandbox_free(struct sandbox *s)
{
    if (s == NULL)
        return;
    if (s->ruleset >= 0)
        close(s->ruleset);
    free(s->filter.filter);
    free(s);
}

const char *sandbox_guarantees(const struct sandbox *s)
{
    return s->guarantees.text;
}

bool sandbox_is_complete(const struct sandbox *s)
{
    return s->guarantees.is_complete;
}

/* Root keeps its rights to files, and loses every right over the system. */
static void drop_capabilities(void)
{
    const uint32_t kept = 1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER | 1u << CAP_FSETID;
    for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
        if (capability > 31 || (kept & 1u << capability) == 0)
            prctl(PR_CAPBSET_DROP, capability);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0)
        return;
    data[0].effective &= kept;
    data[0].permitted &= kept;
    data[0].inheritable = data[1].effective = data[1].permitted = data[1].inheritable = 0;
    syscall(SYS_capset, &header, data);
}

/* The directory of a file that does not exist yet stands for it. A socket that may be opened cannot be. */
static bool can_open(const char *path)
{
    char place[PATH_MAX];
    snprintf(place, sizeof place, "%s", path);
    for (;;) {
        int fd = open(place, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT)
            return fd >= 0 || errno == ENXIO;
        char *slash = strrchr(place, '/');
        if (slash == NULL && strcmp(place, ".") == 0)
            return false;
        if (slash == NULL)
            strcpy(place, ".");
        else
            slash[slash == place ? 1 : 0] = '\0';
    }
}

bool sandbox_reaches(const struct sandbox *s, const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        bool is_confined = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                           syscall(SYS_landlock_restrict_self, s->ruleset, 0) == 0;
        _exit(is_confined && !can_open(path) ? 0 : 1);
    }
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status != 0;
}

bool sandbox_enter(const struct sandbox *s)
{
    if (s->guarantees.by[GUARANTEE_LOOPBACK] == MECHANISM_NAMESPACES && !enter_own_network(s))
        return false;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    drop_capabilities();
    return syscall(SYS_landlock_restrict_self, s->ruleset, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &s->filter) == 0;
}

static bool holds_credential(const char *text)
{
    struct strbuf redacted = {0};
    redact(&redacted, text, strlen(text));
    bool holds = strcmp(strbuf_string(&redacted), text) != 0;
    strbuf_fini(&redacted);
    return holds;
}

bool sandbox_keeps_variable(const char *assignment)
{
    static const char *const secrets[] = {"TOKEN",   "SECRET", "PASSWORD", "PASSWD",    "PASSPHRASE",
                                          "API_KEY", "APIKEY", "PRIVATE",  "CREDENTIAL"};
    static const char *const names[] = {"SSH_AUTH_SOCK",  "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS",
                                        "GPG_AGENT_INFO", "XAUTHORITY",    "DOCKER_HOST"};
    size_t len = strcspn(assignment, "=");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && strncmp(assignment, names[i], len) == 0)
            return false;
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        for (size_t at = 0; at + strlen(secrets[i]) <= len; at++)
            if (strncasecmp(assignment + at, secrets[i], strlen(secrets[i])) == 0)
                return false;
    return (len < 4 || strncasecmp(assignment + len - 4, "_KEY", 4) != 0) && !holds_credential(assignment);
}
