/*
 * The sandbox of a Lisp: which files it may read and write, and what it may use of the network and the
 * kernel. The kernel enforces it (Landlock, seccomp) for the Lisp, all its copies and all programs that
 * they start; none of them can leave it. Knows nothing about Lisp.
 */
#ifndef PROC_SANDBOX_H
#define PROC_SANDBOX_H

#include <stdbool.h>

#include "base/errors.h"

struct sandbox;

/* sandbox_landlock_version(): the kernel's; -1 with errno set if it has no Landlock. The sandbox needs 1, of
 * Linux 5.13; later versions restrict more. */
int sandbox_landlock_version(void);

/* sandbox_has_namespaces(): whether a process of this user can have a network of its own; false with errno
 * set. */
bool sandbox_has_namespaces(void);

enum sandbox_network {
    SANDBOX_NETWORK_ON,       /* internet sockets of any kind */
    SANDBOX_NETWORK_LOOPBACK, /* a private loopback interface, shared by all Lisps of one start; none without
                                 user namespaces */
    SANDBOX_NETWORK_OFF,      /* no sockets except pairs */
    SANDBOX_NETWORKS,         /* how many there are */
};

struct sandbox_policy {
    const char *const *writable; /* files and directories to read and write; NULL-terminated */
    const char *const *readable; /* to read and execute, in addition to the system's own; NULL-terminated */
    enum sandbox_network network;
    bool is_strict; /* fail if this kernel cannot enforce all of it, rather than leave that out */
};

/*
 * sandbox_new(policy, err):
 * Prepare a sandbox. Nothing is restricted yet.
 *
 * policy      borrowed for the call, its lists until sandbox_free(); paths that do not exist are left out
 * Returns     given: sandbox_free() it; NULL with ${err} set
 * Errors      ERR_SYSTEM: the kernel has no Landlock, or lacks something under is_strict; the message says
 *             what is missing
 * Source      landlock(7), seccomp(2), user_namespaces(7)
 */
struct sandbox *sandbox_new(const struct sandbox_policy *policy, struct err *err);
void sandbox_free(struct sandbox *s);

/* sandbox_new_with(s, readable, err): as ${s}, which outlives it, but with one more path to read; given. NULL
 * with ${err} set. */
struct sandbox *sandbox_new_with(const struct sandbox *s, const char *readable, struct err *err);

/* sandbox_reaches(s, path): whether a process in it could read this file or directory, or, if it does not
 * exist yet, the directory it will be in. A child tries. */
bool sandbox_reaches(const struct sandbox *s, const char *path);

/*
 * sandbox_enter(s):
 * Put the calling process into the sandbox, irrevocably. For a child between fork and exec: makes only system
 * calls.
 *
 * Returns     false with errno set; the process must then exit
 */
bool sandbox_enter(const struct sandbox *s);

/*
 * sandbox_keeps_variable(assignment):
 * Whether a sandboxed Lisp may have this environment variable.
 *
 * assignment  borrowed: NAME=VALUE
 * Returns     false for names that look like those of secrets, for values that redact() would change, and for
 *             the addresses of agents that act for the user (SSH, D-Bus, GPG)
 */
bool sandbox_keeps_variable(const char *assignment);

/* sandbox_guarantees(s): sentences about what this kernel restricts in it and what not; borrowed.
 * sandbox_is_complete(s): whether it restricts all that the policy asks for. */
const char *sandbox_guarantees(const struct sandbox *s);
bool sandbox_is_complete(const struct sandbox *s);

#endif
