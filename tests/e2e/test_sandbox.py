"""--sandbox: the ways out of it, each tried from evaluated code, and that ordinary work continues inside."""

import ctypes
import os
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import mcp

# System calls by number (x86-64), with strings and octets as arguments; a failure is minus errno.
PRELUDE = """
(require :sb-posix)
(defun call (number &rest arguments)
  (let* ((made '())
         (words (loop for argument in (append arguments (list 0 0 0 0 0 0))
                      repeat 6
                      collect (etypecase argument
                                (integer (ldb (byte 64 0) argument))
                                (string (let ((alien (sb-alien:make-alien-string argument)))
                                          (push alien made)
                                          (sb-sys:sap-int (sb-alien:alien-sap alien))))
                                (vector (let ((alien (sb-alien:make-alien (sb-alien:unsigned 8) (length argument))))
                                          (dotimes (i (length argument))
                                            (setf (sb-alien:deref alien i) (aref argument i)))
                                          (push alien made)
                                          (sb-sys:sap-int (sb-alien:alien-sap alien)))))))
         (result (sb-alien:alien-funcall
                  (sb-alien:extern-alien "syscall" (function sb-alien:long sb-alien:long sb-alien:unsigned-long
                                                             sb-alien:unsigned-long sb-alien:unsigned-long
                                                             sb-alien:unsigned-long sb-alien:unsigned-long
                                                             sb-alien:unsigned-long))
                  number (first words) (second words) (third words) (fourth words) (fifth words) (sixth words))))
    (if (minusp result) (- (sb-alien:get-errno)) result)))
(defun zeros (n) (make-array n :element-type '(unsigned-byte 8) :initial-element 0))
(defun beside (name)
  (sb-ext:native-namestring (merge-pathnames name (make-pathname :type nil :defaults sb-ext:*core-pathname*))))
(defun on-that-file-system (name) ; the cache of the sandbox lies beside the server's own
  (concatenate 'string (uiop:getenv "XDG_CACHE_HOME") "/" name))
(defun pair-of-sockets (&optional (kind 1))
  (let ((pair (sb-alien:make-alien (sb-alien:signed 32) 2)))
    (call 53 1 kind 0 (sb-sys:sap-int (sb-alien:alien-sap pair)))
    (sb-alien:deref pair 0)))
(defun shell (format &rest arguments)
  (nth-value 2 (uiop:run-program (apply #'format nil format arguments) :ignore-error-status t)))
(defun reads (path)
  (handler-case (with-open-file (in path :element-type '(unsigned-byte 8)) (read-byte in nil) :read)
    (error () :denied)))
"""

EPERM, EACCES, ENOSYS, EXDEV = -1, -13, -38, -18
# The kernel says EXDEV where a file could lose a restriction by its move, EACCES where the directories forbid it.
CREATE = 0o102  # O_RDWR | O_CREAT

# The kernel sends the signal, and the write is allowed: whether the signal arrived is seen afterwards.
SIGNAL_WHEN_READY = "(let ((fd (pair-of-sockets))) (call 72 fd 8 %s) (call 72 fd 10 %d) (call 72 fd 4 #x2000) (call 1 (1+ fd) \"x\" 1))"

# name, code, the printed value. OUT is a directory outside the sandbox that anybody may write to; SERVER the server's pid.
WAYS_OUT = [
    # Files
    ("open for writing", '(call 2 "OUT/new" %d 420)' % CREATE, EACCES),
    ("open of what is there, for writing", '(call 2 "OUT/file" 1)', EACCES),
    ("open with truncation", '(call 2 "OUT/file" 512)', EACCES),
    ("emptying what may be read", '(call 76 "READABLE" 0)', EACCES),
    ("the same by open", '(call 2 "READABLE" 512)', EACCES),
    ("the same by openat", '(call 257 -100 "READABLE" 512)', EACCES),
    ("the same for writing", '(call 2 "READABLE" 513)', EACCES),
    ("the same for neither reading nor writing", '(call 2 "READABLE" 515)', EACCES),
    ("the same for neither by openat", '(call 257 -100 "READABLE" 515)', EACCES),
    ("the same with upper bits set", '(call 2 "READABLE" #x100000200)', EACCES),
    ("the same by creat", '(call 85 "READABLE" 420)', EACCES),
    ("the same by a descriptor", '(call 77 (call 2 "READABLE" 0) 0)', -22),
    ("openat", '(call 257 -100 "OUT/new" %d 420)' % CREATE, EACCES),
    ("openat2", '(call 437 -100 "OUT/new" (let ((how (zeros 24))) (setf (aref how 0) 66 (aref how 8) 128) how) 24)', ENOSYS),
    ("a file without a name", '(call 2 "OUT" #o20200002 384)', EACCES),
    ("creat", '(call 85 "OUT/new" 420)', EACCES),
    ("truncate", '(call 76 "OUT/file" 0)', EACCES),
    ("mkdir", '(call 83 "OUT/dir" 511)', EACCES),
    ("rmdir", '(call 84 "OUT/empty")', EACCES),
    ("unlink", '(call 87 "OUT/file")', EACCES),
    ("rename to the outside", '(progn (call 2 "mine" %d 420) (call 82 "mine" "OUT/new"))' % CREATE, EACCES),
    ("rename within the outside", '(call 82 "OUT/file" "OUT/other")', EACCES),
    ("rename to the inside", '(call 82 "OUT/file" "stolen")', EACCES),
    ("renameat2 that exchanges", '(progn (call 2 "mine" %d 420) (call 316 -100 "mine" -100 "OUT/file" 2))' % CREATE, EACCES),
    ("link of the outside", '(call 86 "OUT/file" "linked")', EXDEV),
    ("link to the outside", '(progn (call 2 "mine" %d 420) (call 86 "mine" "OUT/linked"))' % CREATE, EACCES),
    ("link of a file that can be read", '(call 86 "/etc/passwd" "linked")', (EXDEV, EPERM)),
    ("link of a descriptor", '(call 265 (call 2 "OUT/file" #o10000000) "" -100 "linked" #x1000)', (EXDEV, EPERM, -2)),
    ("link of a descriptor in /proc", '(call 265 -100 (format nil "/proc/self/fd/~a" (call 2 "OUT/file" #o10000000)) -100 "linked" #x400)', (EXDEV, EPERM)),
    ("the rights of the user by the mode of a file", '(call 90 "OUT/file" #o4777)', EPERM),
    ("the same by fchmod", '(call 91 (call 2 "mine" %d 420) #o4777)' % CREATE, EPERM),
    ("the same by fchmodat", '(call 268 -100 "OUT/file" #o4777)', EPERM),
    ("the same by fchmodat2", '(call 452 -100 "OUT/file" #o4777 0)', EPERM),
    ("the rights of a group", '(call 90 "OUT/file" #o2777)', EPERM),
    ("a new file with the rights of the user", '(call 2 "mine4" %d #o4777)' % CREATE, EPERM),
    ("the same by openat", '(call 257 -100 "mine4" %d #o4777)' % CREATE, EPERM),
    ("the same by creat", '(call 85 "mine4" #o4777)', EPERM),
    ("the same without a name", '(call 257 -100 "." #o20200002 #o4777)', EPERM),
    ("symlink in the outside", '(call 88 "/etc/passwd" "OUT/link")', EACCES),
    ("writing through a symlink", '(progn (call 88 "OUT/file" "door") (call 2 "door" 1))', EACCES),
    ("reading through a symlink", '(progn (call 88 "HOME/.ssh/id" "door2") (call 2 "door2" 0))', EACCES),
    ("a FIFO", '(call 133 "OUT/fifo" %d 0)' % 0o10644, EACCES),
    ("a FIFO by mknodat", '(call 259 -100 "OUT/fifo" %d 0)' % 0o10644, EACCES),
    ("mknod of a device", '(call 133 "disk" %d %d)' % (0o60644, 0x801), EPERM),
    ("the same by mknodat", '(call 259 -100 "disk" %d %d)' % (0o60644, 0x801), EPERM),
    ("a device whose mode has the bit of a FIFO as well", '(call 133 "disk" %d %d)' % (0o30644, 0x103), EPERM),
    ("a device whose mode has upper bits set", '(call 133 "disk" %d %d)' % (0o20644 | 1 << 32, 0x103), EPERM),
    ("mknod of a socket", '(call 133 "socket" %d 0)' % 0o140644, EPERM),
    ("a private key", '(reads "HOME/.ssh/id")', ":DENIED"),
    ("the cloud's credentials", '(reads "HOME/.aws/credentials")', ":DENIED"),
    ("an .env file outside the project", '(reads "HOME/other/.env")', ":DENIED"),
    ("the list of the home directory", '(call 2 "HOME" 65536)', EACCES),
    ("the saved sessions", '(call 2 "HOME/.local/state" 65536)', EACCES),
    ("the cache of other Lisps", '(call 2 "HOME/.cache/common-lisp/planted.fasl" %d 420)' % CREATE, EACCES),
    ("the server's own image", "(call 2 (native-namestring sb-ext:*core-pathname*) 1)".replace("native-namestring", "sb-ext:native-namestring"), EACCES),
    ("a new file beside the server's image", '(call 2 (beside "planted") %d 420)' % CREATE, EACCES),
    ("the server's image under another name", '(call 82 (sb-ext:native-namestring sb-ext:*core-pathname*) (beside "moved"))', EACCES),
    ("a file in the place of the server's image", '(let ((mine (on-that-file-system "mine"))) (call 2 mine %d 420) (prog1 (call 82 mine (sb-ext:native-namestring sb-ext:*core-pathname*)) (delete-file mine)))' % CREATE, (EACCES, EXDEV)),  # the second where an ordinary user's cache is on another file system
    ("the end of the server's image", '(call 76 (sb-ext:native-namestring sb-ext:*core-pathname*) 0)', EACCES),
    ("a program of the system", '(call 2 "/usr/bin/tsort" 1)', EACCES),  # not one that runs now: ETXTBSY would come first
    ("/etc", '(call 2 "/etc/passwd" 1)', EACCES),
    ("shared memory of another program", '(reads "SHARED")', ":DENIED"),
    ("new shared memory", '(call 2 "/dev/shm/planted" %d 420)' % CREATE, EACCES),
    ("a terminal where the user types", '(call 2 "TERMINAL" #o402)', EACCES),
    ("reading a terminal only", '(call 2 "TERMINAL" #o400)', EACCES),
    ("the terminal of the server", '(call 2 "/dev/tty" 2)', EACCES),
    ("a file system of its own", '(call 2 "/dev/fuse" 2)', (EACCES, -2)),
    ("a network interface of its own", '(call 2 "/dev/net/tun" 2)', (EACCES, -2)),
    ("a new terminal", '(call 2 "/dev/ptmx" 2)', EACCES),
    ("another device", '(call 2 "/dev/kmsg" #o4000)', (EACCES, -2)),  # the second where there is none
    ("chroot", '(call 161 "/tmp")', EPERM),
    ("leaving by a descriptor of /", '(call 257 (call 2 "/" #o10200000) "OUT/new" %d 420)' % CREATE, EACCES),
    ("leaving by /proc/self/root", '(call 2 "/proc/self/root/OUT/new" %d 420)' % CREATE, EACCES),
    ("leaving by /proc/self/cwd", '(call 2 "/proc/self/cwd/../out/new" %d 420)' % CREATE, EACCES),
    ("the server's root", '(call 2 "/proc/SERVER/root/etc" 65536)', EACCES),
    ("the server's working directory", '(call 2 "/proc/SERVER/cwd" 65536)', EACCES),
    # Other processes
    ("the server's memory", '(reads "/proc/SERVER/mem")', ":DENIED"),
    ("the memory of the server's thread", '(reads "/proc/SERVER/task/SERVER/mem")', ":DENIED"),
    ("the server's namespaces", '(call 2 "/proc/SERVER/ns/net" 0)', EACCES),
    ("the server's environment", '(reads "/proc/SERVER/environ")', ":DENIED"),
    ("the server's descriptors", '(call 2 "/proc/SERVER/fd/0" 0)', EACCES),
    ("its own memory, for writing", '(call 2 "/proc/self/mem" 1)', EACCES),
    ("ptrace of the server", "(call 101 16 SERVER)", EPERM),
    ("ptrace of oneself", "(call 101 0)", EPERM),
    ("process_vm_readv", "(call 310 SERVER 0 0 0 0 0)", EPERM),
    ("process_vm_writev", "(call 311 SERVER 0 0 0 0 0)", EPERM),
    ("process_madvise", "(call 440 3 0 0 0 0)", EPERM),
    ("pidfd_getfd", "(call 438 (call 434 SERVER 0) 0 0)", EPERM),
    ("kcmp", "(call 312 SERVER SERVER 0 0 0)", EPERM),
    ("a signal to the server", "(call 62 SERVER 15)", EPERM),
    ("a signal to the server's thread", "(call 200 SERVER 15)", EPERM),
    ("a signal with a value", "(call 129 SERVER 15 (zeros 128))", EPERM),
    ("a signal with a value to the server's thread", "(call 297 SERVER SERVER 15 (zeros 128))", EPERM),
    ("a signal to a thread of the server's group", "(call 234 SERVER SERVER 15)", EPERM),
    ("the question whether the server lives", "(call 62 SERVER 0)", EPERM),
    ("a signal by pidfd", "(call 424 (call 434 SERVER 0) 15 0 0)", EPERM),
    ("a signal to the other session", "(call 62 OTHER 9)", EPERM),
    ("the other session's memory", '(reads "/proc/OTHER/mem")', ":DENIED"),
    ("the other session's environment", '(reads "/proc/OTHER/environ")', ":DENIED"),
    ("the other session's channel", '(call 2 "/proc/OTHER/fd/3" 2)', EACCES),
    ("a signal from a child program", '(shell "kill -TERM SERVER")', "1"),
    ("a signal to the guardian", '(shell "kill -KILL GUARDIAN")', "1"),
    ("a signal to the server when a descriptor is ready", SIGNAL_WHEN_READY % ("SERVER", 15), 1),
    ("a signal to the other session when a descriptor is ready", SIGNAL_WHEN_READY % ("OTHER", 9), 1),
    ("the server's pages on another node", "(call 279 SERVER 0 0 0 0 0)", EPERM),
    ("the server's memory on another node", "(call 256 SERVER 0 0 0)", EPERM),
    ("the server's list of locks", "(call 274 SERVER (zeros 8) (zeros 8))", EPERM),
    ("the layout of the server's memory", '(reads "/proc/SERVER/maps")', ":DENIED"),
    ("being killed later than the server", '(call 2 "/proc/self/oom_score_adj" 1)', EACCES),
    ("a setting of the kernel", '(call 2 "/proc/sys/kernel/core_pattern" 1)', EACCES),
    ("a limit on the server's processor time", "(call 302 SERVER 0 (zeros 16) 0)", EPERM),
    ("a limit on the other session's files", "(call 302 OTHER 7 (zeros 16) 0)", EPERM),
    ("the same with upper bits set", "(call 302 (+ OTHER (ash 1 32)) 7 (zeros 16) 0)", EPERM),
    ("a lower priority for the other session", "(call 141 0 OTHER 5)", EPERM),
    ("a lower priority for all of the user", "(call 141 2 0 5)", EPERM),
    ("another scheduler for the other session", "(call 144 OTHER 5 (zeros 4))", EPERM),
    ("one processor for the other session", "(call 203 OTHER 8 (let ((mask (zeros 8))) (setf (aref mask 0) 1) mask))", EPERM),
    ("idle disk access for the other session", "(call 251 1 OTHER #x6000)", EPERM),
    ("shared memory of other programs", "(call 29 4711 4096 #o1600)", EPERM),
    ("shared memory by its number", "(call 30 0 0 0)", EPERM),
    ("semaphores of other programs", "(call 64 4711 1 #o1600)", EPERM),
    ("message queues of other programs", "(call 68 4711 #o1600)", EPERM),
    ("a message queue with a name", '(call 240 "x" %d #o600 0)' % CREATE, EPERM),
    ("removing a message queue with a name", '(call 241 "x")', EPERM),
    # Sockets
    ("a Unix socket", "(call 41 1 1 0)", EACCES),
    ("a Unix datagram socket", "(call 41 1 2 0)", EACCES),
    ("a pair of sockets that sends to any path", "(call 53 1 2 0 (zeros 8))", EACCES),
    ("the same with flags", "(call 53 1 #o2004002 0 (zeros 8))", EACCES),
    ("the same by its other name", "(call 53 1 3 0 (zeros 8))", EACCES),
    ("a pair of another kind", "(call 53 1 4 0 (zeros 8))", EACCES),
    ("a pair of another family", "(call 53 30 1 0 (zeros 8))", EACCES),
    ("a raw socket", "(call 41 2 3 1)", EPERM),
    ("a raw socket for any protocol", "(call 41 2 3 255)", EPERM),
    ("a raw socket of IPv6", "(call 41 10 3 58)", EPERM),
    ("netlink", "(call 41 16 3 0)", EACCES),
    ("packets", "(call 41 17 3 0)", EACCES),
    ("vsock", "(call 41 40 1 0)", EACCES),
    ("bluetooth", "(call 41 31 3 0)", EACCES),
    ("the kernel's crypto", "(call 41 38 5 0)", EACCES),
    ("a family that there is not", "(call 41 4000 1 0)", EACCES),
    ("a family with upper bits set", "(call 41 #x100000001 1 0)", EACCES),
    # Namespaces and privileges
    ("unshare of a user namespace", "(call 272 #x10000000)", EPERM),
    ("unshare of a mount namespace", "(call 272 #x00020000)", EPERM),
    ("clone with a user namespace", "(call 56 #x10000011 0 0 0 0)", EPERM),
    ("clone with a mount namespace", "(call 56 #x00020011 0 0 0 0)", EPERM),
    ("clone3", "(call 435 (zeros 64) 64)", ENOSYS),
    ("setns by a process", "(call 308 (call 434 SERVER 0) #x40000000)", EPERM),
    ("setns", '(call 308 (call 2 "/proc/self/ns/net" 0) 0)', EPERM),
    ("mount", '(call 165 "none" "/tmp" "tmpfs" 0 0)', EPERM),
    ("the new mount calls", '(call 428 -100 "/" 0)', EPERM),
    ("the newest of them", '(call 467 -100 "/" 0 0 0)', EPERM),
    ("fsopen", '(call 430 "tmpfs" 0)', EPERM),
    ("umount", '(call 166 "/tmp" 0)', EPERM),
    ("pivot_root", '(call 155 "/tmp" "/tmp")', EPERM),
    ("more privileges by a setuid program", "(call 157 39 0 0 0 0)", 1),
    ("keys of the kernel", "(call 250 0 -3 0)", EPERM),
    ("request_key", '(call 249 "user" "x" 0 0)', EPERM),
    ("bpf", "(call 321 0 0 0)", EPERM),
    ("perf", "(call 298 (zeros 128) 0 -1 -1 0)", EPERM),
    ("userfaultfd", "(call 323 0)", EPERM),
    ("io_uring", "(call 425 8 (zeros 120))", EPERM),
    ("io_uring that is there already", "(call 426 3 1 0 0 0 0)", EPERM),
    ("a change of an io_uring", "(call 427 3 0 0 0)", EPERM),
    ("a kernel module", '(call 313 0 "" 0)', EPERM),
    ("another kernel", "(call 246 0 0 0 0)", EPERM),
    ("a reboot", "(call 169 0 0 0 0)", EPERM),
    ("the log of the kernel", "(call 103 3 0 0)", EPERM),
    ("the clock", "(call 227 0 (zeros 16))", EPERM),
    ("a file handle", '(call 303 -100 "/etc/passwd" (zeros 136) (zeros 8) 0)', EPERM),
    ("a file by its handle", "(call 304 -100 (zeros 136) 0)", EPERM),
    ("watching all files", "(call 300 0 0)", EPERM),
    ("ports of the processor", "(call 172 3)", EPERM),
    ("swap", '(call 167 "OUT/file" 0)', EPERM),
    ("characters typed into a terminal", '(call 16 0 #x5412 "x")', EPERM),
    ("the same with upper bits set", '(call 16 0 #x100005412 "x")', EPERM),
    ("characters pasted into a console", '(call 16 0 #x541c "x")', EPERM),
    ("flags of a file that is only read", "(call 16 (call 2 \"/etc/passwd\" 0) #x40086602 (zeros 8))", EPERM),
    ("other flags of it", "(call 16 (call 2 \"/etc/passwd\" 0) #x401c5820 (zeros 28))", EPERM),
    ("the same without a descriptor", '(call 469 -100 "OUT/file" (zeros 24) 24 0)', EPERM),
    ("the same of a descriptor", '(call 469 (call 2 "/etc/passwd" 0) "" (zeros 24) 24 #x1000)', EPERM),
    ("quotas", '(call 179 #x80000700 "/dev/sda" 0 (zeros 32))', EPERM),
    ("quotas by a descriptor", '(call 443 (call 2 "/etc" 65536) #x80000700 0 (zeros 32))', EPERM),
    ("a file that is never written again", "(call 16 (call 2 \"/etc/passwd\" 0) #x40806685 (zeros 128))", EPERM),
    # Through others
    ("a shell writes outside", '(shell "echo x > OUT/new")', "2"),
    ("a shell reads a key", '(shell "cat HOME/.ssh/id")', "1"),
    ("a new session of the terminal", '(shell "setsid touch OUT/new")', "1"),
]


# What the program claims with each version of Landlock.
HELD = "Restricted: files, other processes' memory"
SIGNALS = " Not restricted: signals to your other programs and to other sessions (needs Linux 6.12)."
TRUNCATE = " truncate(2) fails for every file (before Linux 6.2)."
MOVES = " No file can be moved or linked to another directory (before Linux 5.19)."
ALL = HELD + ", signals to other processes"
CLAIMS = {1: HELD + "." + SIGNALS + TRUNCATE + MOVES, 2: HELD + "." + SIGNALS + TRUNCATE, 3: HELD + "." + SIGNALS, 4: HELD + "." + SIGNALS,
          5: HELD + "." + SIGNALS, 6: ALL + "."}
LANDLOCK = min(6, ctypes.CDLL(None).syscall(444, None, 0, 1))
WITHOUT_SIGNALS = [way for way in WAYS_OUT if not way[0].startswith(("a signal", "the question whether the server lives"))]


def restricts_signals(test):
    return unittest.skipIf(LANDLOCK < 6, "before Linux 6.12 the sandbox does not restrict signals")(test)


def printed(expected):
    return expected if isinstance(expected, str) else "%d" % expected


READ = '(with-open-file (in "kept.txt") (values (read-line in)))'
WRITE = '(with-open-file (out "kept.txt" :direction :output :if-exists :supersede) (write-line "x" out) :written)'
WRITES_IMAGE = "(call 2 (sb-ext:native-namestring sb-ext:*core-pathname*) 1)"


class Sandbox(mcp.TestCase):
    def setUp(self):
        if LANDLOCK < 1:
            self.skipTest("this kernel has no Landlock")
        super().setUp()
        folder = os.path.realpath(self.folder())
        self.home = os.path.join(folder, "home")
        self.out = os.path.join(folder, "out")
        self.project = os.path.join(folder, "project")
        for path in (".local/state", ".cache/common-lisp"):
            os.makedirs(os.path.join(self.home, path))
        for path in (".ssh/id", ".aws/credentials", "other/.env"):
            self.write(os.path.join(self.home, path))
        os.makedirs(os.path.join(self.out, "empty"))
        os.chmod(self.out, 0o777)
        self.write(os.path.join(self.out, "file"))
        self.readable = os.path.join(folder, "readable")
        self.write(self.readable)
        os.chmod(self.readable, 0o666)
        os.mkdir(self.project)

    def write(self, path, text="secret"):
        mcp.write(path, text)

    def drafts(self):
        """Where a session of the mode workspace writes its image."""
        top = os.path.join(self.home, ".local/state/cl-mcp-server/drafts")
        names = [name for name in os.listdir(top) if name.startswith("workspace-network-on-")]
        self.assertEqual(1, len(names), names)
        return os.path.join(top, names[0])

    def start(self, *options, program=None, **variables):
        environment = mcp.clean_environment(HOME=self.home, **variables)
        return self.start_server("--sandbox", *options, environment=environment, cwd=self.project, program=program)

    def assertRefused(self, says, *options, program=None, under=(), **variables):
        env = mcp.clean_environment(HOME=self.home, **variables)
        return self.assertDoesNotStart(says, "--sandbox", *options, program=program, under=under, env=env, cwd=self.project)

    def assertEvaluatesIn(self, client, code, value):
        self.assertEqual("=> " + value, client.evaluate(code).text)

    def assertConfined(self, client):
        """A Lisp that was started from an image is in the sandbox and reads no image but its own."""
        client.evaluate(PRELUDE)
        self.write(os.path.join(self.home, ".local/state/other.core"))
        self.assertEvaluatesIn(client, '(call 2 "%s/file" 1)' % self.out, "-13")
        self.assertEvaluatesIn(client, '(reads "%s/.local/state/other.core")' % self.home, ":DENIED")
        self.assertEvaluatesIn(client, WRITES_IMAGE, str(EACCES))

    def create(self, client, name, **arguments):
        return self.assertSucceeds(client.call("create-session", name=name, **arguments)).text

    def assertReadOnly(self, client, session):
        """It reads the project, and writes neither there nor elsewhere."""
        self.write(os.path.join(self.project, "kept.txt"), "kept\n")
        self.assertEqual('=> "kept"', client.evaluate(READ, session=session).text)
        self.assertErrorReport(client.evaluate(WRITE, session=session), "FILE-ERROR")
        client.evaluate(PRELUDE, session=session)
        self.assertEqual("=> -13", client.evaluate('(call 2 "%s/file" 1)' % self.out, session=session).text)
        self.assertEqual("=> :DENIED", client.evaluate('(reads "%s/.ssh/id")' % self.home, session=session).text)

    def make_directories(self, *paths):
        for path in paths:
            os.mkdir(path)
            self.write(os.path.join(path, "kept.txt"), "kept\n")
        return paths

    def assertWritesOnlyIn(self, client, session, directory, *others):
        client.evaluate(PRELUDE, session=session)
        self.assertEqual("=> :WRITTEN", client.evaluate(WRITE, session=session).text)
        self.assertEqual("x\n", mcp.read(os.path.join(directory, "kept.txt")))
        for other in others:
            self.assertEqual("=> %d" % EACCES, client.evaluate('(call 2 "%s/kept.txt" 1)' % other, session=session).text)
            self.assertEqual("=> :DENIED", client.evaluate('(reads "%s/kept.txt")' % other, session=session).text)

    def assertEachIsClosed(self, client, ways=WAYS_OUT if LANDLOCK >= 6 else WITHOUT_SIGNALS):
        self.assertFalse(client.evaluate(PRELUDE).is_error)
        client.call("create-session", name="other")
        other = client.evaluate("(sb-posix:getpid)", session="other").values[0]
        server = client.process.pid
        guardian = next(pid for pid in mcp.pids() if mcp.parent_of(pid) == server and is_guardian(pid))
        before = snapshot(self.out)
        places = {"OUT": self.out, "HOME": self.home, "SERVER": server, "OTHER": other, "GUARDIAN": guardian,
                  "READABLE": self.readable, "SHARED": self.shared_memory(), "TERMINAL": self.terminal()}
        for name, code, expected in ways:
            with self.subTest(name):
                for placeholder, value in places.items():
                    code = code.replace(placeholder, str(value))
                allowed = expected if isinstance(expected, tuple) else (expected,)
                self.assertIn(client.evaluate(code).text, ["=> " + printed(one) for one in allowed])
        self.assertEqual(before, snapshot(self.out))
        self.assertEqual("secret", mcp.read(self.readable))
        self.assertEqual(other, client.evaluate("(sb-posix:getpid)", session="other").values[0])
        self.assertOperational(client)

    def shared_memory(self):
        shared = tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="cl-mcp-test-")
        self.addCleanup(shared.close)
        shared.write(b"secret")
        shared.flush()
        os.chmod(shared.name, 0o644)
        return shared.name

    def terminal(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        os.chmod(os.ttyname(slave), 0o666)
        return os.ttyname(slave)


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers of the system calls are those of x86-64")
class WaysOut(Sandbox):
    def test_each_is_closed(self):
        self.assertEachIsClosed(self.start("workspace", "--readable", self.readable))

    @unittest.skipUnless(os.geteuid() == 0, "the other test has run as an ordinary user")
    @unittest.skipIf(mcp.SANITIZED, "the other test takes the same way through the server")
    def test_each_is_closed_for_an_ordinary_user_too(self):
        """Root has capabilities that the sandbox takes away; who has none to begin with takes other ways through the kernel."""
        nobody = 65534
        program = os.path.join(self.project, "server")
        self.write(program, '#!/bin/sh\nexec setpriv --reuid=%d --regid=%d --clear-groups "%s" "$@"\n' % (nobody, nobody, mcp.SERVER))
        os.chmod(program, 0o755)
        for top, folders, files in os.walk(os.path.dirname(self.home)):
            for name in (".", *folders, *files):
                os.chown(os.path.join(top, name), nobody, nobody)
        if subprocess.run([program, "--version"], capture_output=True).returncode != 0:
            self.skipTest("an ordinary user cannot reach %s" % mcp.SERVER)
        client = self.start("workspace", "--readable", self.readable, program=program)
        self.assertEqual("=> %d" % nobody, client.evaluate("(progn (require :sb-posix) (sb-posix:getuid))").text)
        self.assertEachIsClosed(client)

    def test_without_a_network_there_is_no_socket_but_a_pair(self):
        client = self.start("workspace", "--network", "off")
        client.evaluate(PRELUDE)
        for family in (1, 2, 10, 16):
            for kind in (1, 2, 3):  # UDP too
                self.assertEqual("=> -13", client.evaluate("(call 41 %d %d 0)" % (family, kind)).text)
        self.assertEqual("=> 0", client.evaluate("(call 53 1 1 0 (zeros 8))").text)

    def test_a_pair_of_sockets_connects_to_nothing_else(self):
        client = self.start("workspace")
        client.evaluate(PRELUDE)
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            for name in (os.path.join(self.out, "listener-%d" % kind), "\0%s-%d" % (self.out, kind)):
                with socket.socket(socket.AF_UNIX, kind) as listener:
                    listener.bind(name)
                    listener.listen()
                    address = b"\x01\x00" + name.encode()
                    connect = "(call 42 (pair-of-sockets %d) #(%s) %d)" % (kind, " ".join(map(str, address)), len(address))
                    self.assertEqual("=> -106", client.evaluate(connect).text)  # EISCONN
            # Nor does anybody connect to it.
            address = b"\x01\x00mine-%d" % kind
            listen = "(let ((one (pair-of-sockets %d))) (list (call 49 one #(%s) %d) (call 50 one 1) (call 3 (1+ one)) (call 50 one 1)))" % (
                kind, " ".join(map(str, address)), len(address))
            self.assertEqual("=> (0 -22 0 -22)", client.evaluate(listen).text)

    @restricts_signals
    def test_a_signal_to_all_processes_reaches_its_own_session_only(self):
        client = self.start("workspace")
        client.call("create-session", name="other")
        other = client.evaluate("(require :sb-posix) (sb-posix:getpid)", session="other").values[-1]
        client.evaluate(PRELUDE)
        killed = client.evaluate("(progn (call 62 -1 9) (call 62 (sb-posix:getpid) 9))")
        self.assertErrorReport(killed, "PROCESS-KILLED")
        self.assertEqual([other], client.evaluate("(sb-posix:getpid)", session="other").values)
        self.assertOperational(client)

    @unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
    def test_programs_and_libraries_from_memory_run_in_it(self):
        for name, *options in (("escape", ), ("escape.so", "-shared", "-fPIC")):
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile", "escape.c")
            subprocess.run(["cc", *options, "-o", os.path.join(self.project, name), source], check=True)
        client = self.start("workspace")
        client.evaluate(PRELUDE)
        ways = ["./escape %s in-%s %s/new" % (way, way, self.out) for way in ("execveat", "fexecve", "proc")]
        ways.append("ESCAPE_INSIDE=in-preload ESCAPE_OUTSIDE=%s/new LD_PRELOAD=./escape.so /bin/true" % self.out)
        for way in ways:
            self.assertEqual("=> 0", client.evaluate('(shell "%s")' % way).text)
        # They did run, and wrote where they may.
        self.assertEqual({"in-execveat", "in-fexecve", "in-proc", "in-preload"}, {n for n in os.listdir(self.project) if n.startswith("in-")})
        self.assertNotIn("new", os.listdir(self.out))

    def test_the_loopback_is_the_lisps_own(self):
        if subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True).returncode != 0:
            self.skipTest("this system allows no user namespaces, and without them there is no loopback")
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        connect = (
            "(require :sb-bsd-sockets) (handler-case (progn (sb-bsd-sockets:socket-connect"
            " (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp) #(127 0 0 1) %d) :connected)"
            " (error () :refused))" % port
        )
        self.assertEqual([":REFUSED"], self.start("workspace", "--network", "loopback").evaluate(connect).values[-1:])
        self.assertEqual([":CONNECTED"], self.start("workspace", "--network", "on").evaluate(connect).values[-1:])
        listener.close()


# What any program of a user can do, on every processor: each fails in the sandbox and succeeds without it, so none of them fails for
# another reason. VICTIM is another program of the user, PORT a server of this machine.
ESSENTIALS = [
    ("a new file", '(sb-posix:open "OUT/new" (logior sb-posix:o-rdwr sb-posix:o-creat) #o644)'),
    ("a file is written by a program", '(shell "echo x >> OUT/file")'),
    ("a file is written through a link", '(shell "ln -sf OUT/file door && echo x >> door")'),
    ("a file is emptied", '(sb-posix:truncate "OUT/EMPTIED" 0)'),
    ("a file is removed", '(sb-posix:unlink "OUT/REMOVED")'),
    ("a file moves out", '(shell "touch mine && mv -T mine OUT/moved")'),
    ("a file comes in by a link", '(sb-posix:link "OUT/file" "linked")'),
    ("the rights of the user are given away", '(sb-posix:chmod "OUT/file" #o4755)'),
    ("a directory outside becomes the root of a path", '(sb-posix:open "/proc/self/root/OUT/new2" (logior sb-posix:o-rdwr sb-posix:o-creat) #o644)'),
    ("a private key is read", '(sb-posix:open "HOME/.ssh/id" sb-posix:o-rdonly)'),
    ("a private key is read by a program", '(shell "cat HOME/.ssh/id")'),
    ("the list of the home directory", '(sb-posix:opendir "HOME")'),
    ("shared memory of another program", '(sb-posix:open "SHARED" sb-posix:o-rdonly)'),
    ("the terminal of another program", '(sb-posix:open "TERMINAL" (logior sb-posix:o-wronly sb-posix:o-noctty))'),
    ("a terminal of its own", '(sb-ext:run-program "/bin/true" nil :pty t)'),
    ("another program's environment", '(sb-posix:open "/proc/VICTIM/environ" sb-posix:o-rdonly)'),
    # setpriority with PRIO_PROCESS; not every release has renice.
    ("another program's priority",
     '(unless (zerop (sb-alien:alien-funcall (sb-alien:extern-alien "setpriority" (function sb-alien:int sb-alien:int sb-alien:int sb-alien:int))'
     ' 0 VICTIM 5)) (error "denied"))'),
    ("another program's limits", '(shell "prlimit --pid VICTIM --core=0:0")'),
    ("another program is ended", "(sb-posix:kill VICTIM 15)"),
    ("a Unix socket", """(connect 'sb-bsd-sockets:local-socket "OUT/listener")"""),
    ("the network", "(connect 'sb-bsd-sockets:inet-socket #(127 0 0 1) PORT)"),
]
TRIES = """
(require :sb-posix)
(require :sb-bsd-sockets)
(defmacro try (form) `(handler-case (progn ,form :done) (error () :denied)))
(defun shell (command) (uiop:run-program command))
(defun connect (kind &rest address)
  (apply #'sb-bsd-sockets:socket-connect (make-instance kind :type :stream) address))
"""


class Essentials(Sandbox):
    def places(self):
        for name in ("EMPTIED", "REMOVED"):
            self.write(os.path.join(self.out, name))
        victim = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        local = socket.socket(socket.AF_UNIX)
        local.bind(os.path.join(self.out, "listener"))
        internet = socket.create_server(("127.0.0.1", 0))
        for listener in (local, internet):
            self.addCleanup(listener.close)
            listener.listen()
        return {"OUT": self.out, "HOME": self.home, "SHARED": self.shared_memory(), "TERMINAL": self.terminal(),
                "VICTIM": victim.pid, "PORT": internet.getsockname()[1]}

    def test_the_essential_ones_fail_inside_and_succeed_outside(self):
        places = self.places()
        before = snapshot(self.out)
        for option, expected in (("workspace", ":DENIED"), ("off", ":DONE")):
            client = self.start(option, "--network", "off")
            self.assertFalse(client.evaluate(TRIES).is_error)
            for name, code in ESSENTIALS:
                if LANDLOCK >= 6 or "kill" not in code:
                    for placeholder, value in places.items():
                        code = code.replace(placeholder, str(value))
                    with self.subTest(name, sandbox=option):
                        self.assertEvaluatesIn(client, "(try %s)" % code, expected)
            if option == "workspace":
                self.assertEqual(before, snapshot(self.out))
            client.close()


def is_guardian(pid):
    """The server's child that runs the server's own program."""
    try:
        return os.readlink("/proc/%d/exe" % pid) == os.path.realpath(mcp.SERVER)
    except OSError:
        return False


def snapshot(folder):
    return sorted(
        (os.path.relpath(os.path.join(top, name), folder), os.lstat(os.path.join(top, name)).st_size)
        for top, folders, files in os.walk(folder)
        for name in folders + files
    )


# What an error names the sandbox for.
DENIED = (
    '(open "HOME/.ssh/id")',
    '(open "OUT/new" :direction :output)',
    '(delete-file "OUT/file")',
    '(rename-file "OUT/file" "OUT/other")',
    '(ensure-directories-exist "OUT/a/b/")',
    '(load "HOME/.ssh/id")',
    '(sb-posix:mkdir "OUT/a" #o777)',
    '(sb-posix:truncate "OUT/file" 0)',
    '(sb-posix:symlink "/etc" "OUT/link")',
    '(sb-posix:mkfifo "OUT/fifo" #o666)',
    *(["(sb-posix:kill SERVER 15)"] if LANDLOCK >= 6 else []),
    '(sb-alien:load-shared-object "HOME/.ssh/id")',
    '(sb-ext:run-program "OUT/file" nil)',
    '(sb-ext:run-program "/bin/true" nil :pty t)',
    "(make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)",
    "(make-instance 'sb-bsd-sockets:inet-socket :type :datagram :protocol :udp)",
    "(make-instance 'sb-bsd-sockets:local-socket :type :stream)",
)


class Work(Sandbox):
    def test_files_of_the_project_can_be_written_in_a_workspace_only(self):
        write = '(with-open-file (out "a.txt" :direction :output) (write-line "a" out) :written)'
        self.assertEvaluatesIn(self.start("workspace"), write, ":WRITTEN")
        self.assertTrue(os.path.exists(os.path.join(self.project, "a.txt")))
        report = self.start("read-only").evaluate(write.replace("a.txt", "b.txt"))
        self.assertErrorReport(report, "FILE-ERROR")
        self.assertIn("The session has the sandbox read-only", report.text)

    def test_each_denied_operation_names_it(self):
        client = self.start("workspace", "--network", "off")
        client.evaluate("(progn (require :sb-posix) (require :sb-bsd-sockets))")
        places = {"OUT": self.out, "HOME": self.home, "SERVER": client.pid}
        for code in DENIED:
            with self.subTest(code):
                for placeholder, value in places.items():
                    code = code.replace(placeholder, str(value))
                self.assertIsError(client.evaluate(code), "The session has the sandbox workspace")
        # Other errors do not.
        for code in ('(open "nothing")', "(car 1)", '(sb-posix:mkdir "." 0)'):
            self.assertNotIn("sandbox", client.evaluate(code).text)

    def test_paths_can_be_opened_by_options(self):
        client = self.start("read-only", "--writable", self.out, "--readable", os.path.join(self.home, "other"))
        client.evaluate(PRELUDE)
        self.assertEqual("=> 0", client.evaluate('(shell "echo x > %s/new")' % self.out).text)
        self.assertEqual("=> :READ", client.evaluate('(reads "%s/other/.env")' % self.home).text)
        self.assertEqual("=> :DENIED", client.evaluate('(reads "%s/.ssh/id")' % self.home).text)

    def test_variables_that_look_like_secrets_are_left_out(self):
        client = self.start("workspace", GITHUB_TOKEN="t", MY_API_KEY="k", DB_PASSWORD="p", SSH_AUTH_SOCK="/s", KEYBOARD="de", DATABASE_URL="postgres://me:s3cret@db/x", HOSTING="ghp_0123456789abcdef0123")
        names = '(mapcar (lambda (name) (and (uiop:getenv name) t)) \'("GITHUB_TOKEN" "MY_API_KEY" "DB_PASSWORD" "SSH_AUTH_SOCK" "DATABASE_URL" "HOSTING" "KEYBOARD"))'
        self.assertEvaluatesIn(client, names, "(NIL NIL NIL NIL NIL NIL T)")

    def test_errors_are_entered_and_states_returned_to_as_without(self):
        client = self.start("workspace")
        client.evaluate("(defun average (numbers) (float (/ (reduce #'+ numbers) (length numbers))))")
        client.evaluate("(average '())")
        self.assertEqual("=> 0", client.call("evaluate-in-frame", frame=0, code="(length numbers)").text)
        self.assertErrorReport(client.evaluate("(sb-ext:exit :abort t)"), "PROCESS-EXITED")
        self.assertEvaluatesIn(client, "(average '(1 3))", "2.0")

    def test_systems_are_compiled_into_a_cache_of_the_sandbox(self):
        mcp.write(os.path.join(self.project, "small.asd"), '(asdf:defsystem "small" :components ((:file "small")))')
        mcp.write(os.path.join(self.project, "small.lisp"), "(defpackage small (:use :cl) (:export #:one)) (in-package small) (defun one () 1)")
        client = self.start("workspace", XDG_CACHE_HOME=os.path.join(self.home, ".cache"))
        self.assertFalse(client.call("load-system", system="small").is_error)
        self.assertEvaluatesIn(client, "(small:one)", "1")
        self.assertEqual([], os.listdir(os.path.join(self.home, ".cache/common-lisp")))
        self.assertTrue(os.listdir(os.path.join(self.home, ".cache/cl-mcp-server-sandbox")))

    def test_code_of_one_project_leaves_nothing_that_another_loads(self):
        places = '(list (uiop:getenv "XDG_CACHE_HOME") (uiop:getenv "TMPDIR"))'
        first = self.start("workspace").evaluate(places).value
        theirs = [*re.findall('"(.*?)"', first), self.drafts()]
        self.project = os.path.join(os.path.dirname(self.home), "another")
        os.mkdir(self.project)
        client = self.start("workspace")
        client.evaluate(PRELUDE)
        self.assertEqual(3, len(theirs))
        for place in theirs:
            self.assertEqual("=> -13", client.evaluate('(call 2 "%s/planted" %d 420)' % (place, CREATE)).text)

    def test_code_leaves_nothing_that_a_server_with_more_paths_loads(self):
        place = '(uiop:getenv "XDG_CACHE_HOME")'
        places, drafts = set(), os.path.join(self.home, ".local/state/cl-mcp-server/drafts")
        for options in ([], ["--writable", self.out], ["--readable", self.out], ["--readable", self.out + "/empty"]):
            client = self.start("workspace", *options)
            places.add(client.evaluate(place).value)
            client.destroy()
            self.assertEqual(len(places), len(os.listdir(drafts)))
        self.assertEqual(4, len(places))
        # Another spelling of a path is the same path.
        client = self.start("workspace", "--readable", self.out + "/../out")
        self.assertIn(client.evaluate(place).value, places)
        client.destroy()

    def test_sessions_are_saved_unless_another_has_the_image_open_and_are_restored(self):
        client = self.start("workspace")
        client.call("create-session", name="other")
        client.evaluate("(defvar *x* (list 1 2))")
        hold = "while sleep 0.01; do for f in %s/*.core; do test -s $f && exec sleep 1000 %s$f; done; done"
        for way in ("<", ">>"):
            start = '(sb-ext:process-pid (sb-ext:run-program "/bin/sh" (list "-c" "%s") :wait nil))' % (hold % (self.drafts(), way))
            holder = int(client.evaluate(start, session="other").value)
            saved = client.call("save-session")
            self.assertEqual("The session was not saved: another process has its image open, and could read or change it later.", saved.text)
            self.assertTrue(saved.is_error)
            client.evaluate("(progn (require :sb-posix) (sb-posix:kill %d 9))" % holder, session="other")
            state = os.path.join(self.home, ".local/state/cl-mcp-server")
            self.assertEqual([], [name for name in os.listdir(state) + os.listdir(self.drafts()) if ".core" in name])
        self.assertSucceeds(client.call("save-session"))
        client.evaluate("(setf *x* nil)")
        self.assertSucceeds(client.call("restore-session", name="default"))
        self.assertEvaluatesIn(client, "*x*", "(1 2)")
        self.assertConfined(client)

    def test_the_temporary_directory_goes_with_the_server_or_with_the_next(self):
        kept = os.path.join(self.home, "other")
        fill = (
            '(let ((folder (uiop:subpathname (uiop:temporary-directory) "a/b/"))) (ensure-directories-exist folder)'
            ' (with-open-file (out (uiop:subpathname folder "t") :direction :output) (write-line "x" out))'
            ' (uiop:run-program (list "ln" "-s" "%s" (uiop:native-namestring (uiop:subpathname folder "link")))) (uiop:getenv "TMPDIR"))' % kept
        )
        start = lambda: self.start("workspace", TMPDIR=self.out)
        client = start()
        temporary = client.evaluate(fill).values[0].strip('"')
        self.assertTrue(os.path.exists(os.path.join(temporary, "a/b/t")))
        client.close()
        self.assertFalse(os.path.exists(temporary))
        killed, living = start(), start()
        left, used = (client.evaluate(fill).values[0].strip('"') for client in (killed, living))
        killed.destroy()
        self.assertTrue(os.path.exists(os.path.join(left, "a/b/t")))
        self.assertOperational(start())
        mcp.wait_until(lambda: not os.path.exists(left), 20, "the removal of what was left")
        self.assertTrue(os.path.exists(os.path.join(used, "a/b/t")))
        self.assertTrue(os.path.exists(os.path.join(kept, ".env")))

    def test_a_project_that_holds_the_home_directory_is_refused(self):
        for directory in (self.home, os.path.dirname(self.home), "/"):
            self.assertRefused("home directory", "workspace", "--directory", directory)


class ServersOwn(Sandbox):
    """What belongs to the server is out of reach of its sandboxed Lisps, or the server does not start."""

    def test_its_files_are_not_where_the_lisps_read(self):
        tokens = os.path.join(self.project, "tokens")
        self.write(tokens, "a" * 32)
        os.chmod(tokens, 0o600)
        for mode in ("workspace", "read-only"):
            self.assertRefused("could read tokens, which is the server's own", mode, "--http", "unix:%s/s" % self.home, "--token-file", "tokens")
            self.assertRefused("could read tokens, which is the server's own", mode, "--http", "unix:%s/s" % self.home, "--oauth-keys", "tokens")
            self.assertRefused("could read audit.jsonl,", mode, "--audit", "audit.jsonl")
            self.assertRefused("could read %s/new," % self.project, mode, "--state-dir", self.project + "/new")
        self.assertRefused("could read %s," % self.out, "workspace", "--readable", self.out, "--state-dir", self.out)
        # Who can write beside the sockets can put one in the place of another; who can read there has the view's link.
        self.assertRefused("could read %s/cl-mcp-server," % self.out, "workspace", "--writable", self.out, XDG_RUNTIME_DIR=self.out)
        self.assertRefused("could read %s/cl-mcp-server," % self.out, "read-only", "--readable", self.out, XDG_RUNTIME_DIR=self.out)
        self.assertRefused("could read %s/run/cl-mcp-server," % self.project, "workspace", XDG_RUNTIME_DIR=self.project + "/run")
        # A client of a socket that was exchanged for another evaluates in another server.
        self.assertRefused("could read s,", "workspace", "--http", "unix:s", "--stdio")
        self.socket_of_another_time(os.path.join(self.project, "old"))
        self.assertRefused("could read old,", "workspace", "--http", "unix:old", "--stdio")
        kept = os.path.join(self.home, "audit.jsonl")
        self.assertOperational(self.start("workspace", "--audit", kept, "--http", "unix:%s/s" % self.home, "--stdio"))
        # A session's own sandbox is not made either.
        client = self.start("off", "--audit", "audit.jsonl")
        self.assertIsError(client.call("create-session", name="strict", sandbox="read-only"), "could read audit.jsonl")

    @staticmethod
    def socket_of_another_time(path):
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)

    def test_what_images_that_are_joined_load_is_not_where_the_lisps_write(self):
        cache = os.path.join(self.project, "cache")
        self.assertRefused("could change %s/cl-mcp-server, which the server runs." % cache, "workspace", XDG_CACHE_HOME=cache)
        self.assertOperational(self.start("read-only", XDG_CACHE_HOME=cache))

    def test_the_lisp_and_its_image_are_not_where_the_lisps_write(self):
        lisp = os.path.join(self.project, "sbcl")
        shutil.copy("/bin/true", lisp)
        self.assertRefused("could change %s, which the server runs." % lisp, "workspace", "--lisp", lisp)
        self.assertRefused("could change %s, which the server runs." % lisp, "read-only", "--lisp", lisp, "--writable", self.project)
        modules = os.path.join(self.project, "modules")
        os.mkdir(modules)
        self.assertRefused("could change %s, which the server runs." % modules, "workspace", SBCL_HOME=modules)
        # An image that is still to be built counts, too.
        program = os.path.join(self.home, "server")
        shutil.copy(mcp.SERVER, program)  # away from the image beside it
        said = self.assertRefused("which the server runs", "workspace", program=program, XDG_CACHE_HOME=os.path.join(self.project, "cache"))
        self.assertRegex(said, r"could change %s/cache/cl-mcp-server/agent-\w+\.core, which the server runs" % self.project)

    def test_options_of_the_sandbox_are_refused_where_nobody_says_whether_there_is_one(self):
        for options in (["--network", "off"], ["--writable", self.out], ["--readable", self.out], ["--sandbox-strict"]):
            with self.subTest(options):
                self.assertDoesNotStart("without --sandbox, %s restricts nothing" % options[0], *options, status=2)
        client = self.start("off", "--network", "off")
        self.assertFalse(client.call("create-session", name="strict", sandbox="read-only").is_error)
        self.assertIn("network off", client.call("session-info", session="strict").text)

    def test_no_sandboxed_code_reaches_an_address_that_asks_for_no_token(self):
        says = "which asks programs of this machine for no token, and evaluate code in any session. Give --token-file"
        self.assertRefused(says, "workspace", "--http", "127.0.0.1:0")
        self.assertRefused(says, "workspace", "--http", "unix:%s/s" % self.home, "--http", "127.0.0.1:0")
        proxied = ("--http", "127.0.0.1:0", "--trust-header", "X-User", "--trust-from")
        self.assertRefused(says, "workspace", *proxied, "127.0.0.0/8")
        self.assertOperational(self.start("workspace", *proxied, "192.0.2.1", "--stdio"))
        client = self.start("off", "--http", "127.0.0.1:0", "--stdio")
        self.assertIsError(client.call("create-session", name="strict", sandbox="read-only"), says)
        self.assertFalse(client.call("create-session", name="strict", sandbox="read-only", network="off").is_error)
        tokens = os.path.join(self.home, "tokens")
        self.write(tokens, "a" * 32)
        os.chmod(tokens, 0o600)
        for options in (("--network", "off"), ("--network", "loopback"), ("--token-file", tokens)):
            self.assertOperational(self.start("workspace", "--http", "127.0.0.1:0", "--stdio", *options))


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers of the system calls are those of x86-64")
class OfASession(Sandbox):
    """A sandbox that create-session asks for."""

    def test_it_holds_where_the_server_has_none(self):
        client = self.start("off")
        said = self.create(client, "strict", sandbox="read-only", network="off")
        self.assertIn("package CL-USER, sandbox read-only, network off.", said)
        self.assertIn("\nSandbox: read-only, network off. %s\n" % CLAIMS[LANDLOCK].replace(".", ", network.", 1), client.call("session-info", session="strict").text)
        self.assertReadOnly(client, "strict")
        self.assertEqual("=> -13", client.evaluate("(call 41 2 1 0)", session="strict").text)
        self.assertEqual("=> :WRITTEN", client.evaluate(WRITE).text)
        self.assertNotIn("Sandbox", client.call("session-info").text)

    @restricts_signals
    def test_it_reaches_neither_one_that_is_not_confined_nor_the_server(self):
        client = self.start("off")
        self.create(client, "strict", sandbox="read-only")
        client.evaluate(PRELUDE, session="strict")
        other = client.evaluate("(require :sb-posix) (sb-posix:getpid)").values[-1]
        self.assertEqual("=> -1", client.evaluate("(call 62 %s 0)" % other, session="strict").text)
        self.assertEqual("=> -1", client.evaluate("(call 62 %d 0)" % client.process.pid, session="strict").text)

    def test_it_is_stricter_than_the_servers(self):
        client = self.start("workspace")
        self.create(client, "strict", sandbox="read-only")
        self.create(client, "quiet", network="off")
        self.assertReadOnly(client, "strict")
        self.assertEqual("=> :WRITTEN", client.evaluate(WRITE).text)
        self.assertEqual("=> :WRITTEN", client.evaluate(WRITE, session="quiet").text)
        for session, outcome in (("quiet", "T"), ("strict", "NIL"), ("default", "NIL")):
            client.evaluate(PRELUDE, session=session)
            self.assertEqual("=> " + outcome, client.evaluate("(= %d (call 41 2 1 0))" % EACCES, session=session).text)

    def test_it_is_never_looser_than_the_servers(self):
        client = self.start("read-only", "--network", "loopback")
        for arguments, why in (
            ({"sandbox": "workspace"}, "The server runs with --sandbox read-only, and workspace would be looser."),
            ({"network": "on"}, "The server runs with --network loopback, and on would be looser."),
            ({"sandbox": "read-only", "network": "on"}, "--network loopback"),
        ):
            self.assertIsError(client.call("create-session", name="loose", **arguments), why)
        self.assertNotIn("loose", client.call("list-sessions").text)
        self.assertIsError(self.start("off").call("create-session", network="off"), "pass sandbox too")

    def test_a_stricter_session_leaves_nothing_where_a_looser_one_loads_it(self):
        client = self.start("workspace")
        self.create(client, "strict", sandbox="read-only")
        for variable in ("XDG_CACHE_HOME", "TMPDIR"):
            theirs = client.evaluate('(uiop:getenv "%s")' % variable).values[0].strip('"')
            client.evaluate(PRELUDE, session="strict")
            self.assertEqual("=> -13", client.evaluate('(call 2 "%s/planted" %d 420)' % (theirs, CREATE), session="strict").text)
        drafts = self.drafts()
        self.assertEqual("=> -13", client.evaluate('(call 2 "%s/planted" %d 420)' % (drafts, CREATE), session="strict").text)

    def test_a_session_that_cannot_be_kept_from_the_others_does_not_start(self):
        """The kernel nests sixteen domains and no more: the Lisp that sessions are copied from uses them up."""
        load = os.path.join(self.project, "full.lisp")
        self.write(load, "(loop while (cl-mcp-agent::leave-other-sessions))")
        client = self.start("workspace", "--load", load)
        for _ in range(2):
            reply = client.evaluate("(+ 1 2)")
            self.assertTrue(reply.is_error, reply.text)
            self.assertEqual("The session's process ended before it was ready.", reply.text)
        client.destroy()

    def test_a_copy_of_a_session_has_its_sandbox_and_a_boundary_of_its_own(self):
        client = self.start("off")
        self.create(client, "strict", sandbox="read-only", network="off")
        pids = {"strict": client.evaluate(PRELUDE + "(require :sb-posix) (sb-posix:getpid)", session="strict").values[-1]}
        for name in ("one", "two"):
            said = self.create(client, name, **{"from": "strict"})
            self.assertIn("sandbox read-only, network off", said)
            self.assertIn("code of strict can still signal and trace the processes of " + name, said)
            self.assertReadOnly(client, name)
            pids[name] = client.evaluate("(sb-posix:getpid)", session=name).values[-1]
        # The kernel nests their boundaries: a copy reaches neither the session that it was copied from nor another copy.
        for session, other, outcome in (("one", "strict", "-1"), ("one", "two", "-1"), ("two", "one", "-1"), ("strict", "one", "0")):
            self.assertEqual("=> " + outcome, client.evaluate("(call 62 %s 0)" % pids[other], session=session).text)

    def test_it_outlasts_the_process(self):
        client = self.start("off")
        self.create(client, "strict", sandbox="read-only")
        self.assertErrorReport(client.evaluate("(sb-ext:exit :abort t)", session="strict"), "PROCESS-EXITED")
        self.assertReadOnly(client, "strict")
        client.call("reset-session", session="strict")
        self.assertReadOnly(client, "strict")

    def test_its_workspace_is_its_directory(self):
        inside, beside = self.make_directories(os.path.join(self.project, "a"), os.path.join(self.project, "b"))
        outside, = self.make_directories(os.path.join(self.home, "worktree"))
        client = self.start("workspace")
        self.assertIn("directory %s, sandbox workspace, network on." % inside, self.create(client, "a", directory="a"))
        self.assertWritesOnlyIn(client, "a", inside, beside, outside)
        client.call("reset-session", session="a")
        self.assertWritesOnlyIn(client, "a", inside, beside, outside)
        self.create(client, "strict", directory="b", sandbox="read-only")
        self.assertEqual('=> "kept"', client.evaluate(READ, session="strict").text)
        self.assertErrorReport(client.evaluate(WRITE, session="strict"), "FILE-ERROR")
        self.assertEqual("=> :WRITTEN", client.evaluate(WRITE).text)
        # A server without a sandbox limits no session's directory, but what is in it is all that this one has.
        client = self.start("off")
        self.create(client, "away", directory=outside, sandbox="workspace")
        self.assertWritesOnlyIn(client, "away", outside, inside, beside)

    def test_preloaded_systems_are_those_of_its_directory(self):
        inside, = self.make_directories(os.path.join(self.project, "a"))
        for directory in (inside, self.project):
            self.write(os.path.join(directory, "mine.asd"), '(asdf:defsystem "mine")')
        client = self.start("workspace", "--preload", "mine")
        self.create(client, "a", directory="a")
        where = '(list (namestring (asdf:system-source-directory "mine")) (asdf:component-loaded-p "mine"))'
        for session, directory in (("a", inside), ("default", self.project)):
            self.assertRegex(client.evaluate(where, session=session).text, r'^=> \("%s/" T\)' % directory)

    def test_its_directory_is_in_that_of_the_server(self):
        outside, = self.make_directories(os.path.join(self.home, "worktree"))
        client = self.start("workspace", "--tools", "full")
        client.evaluate(PRELUDE)
        os.symlink(outside, os.path.join(self.project, "link"))
        for directory in (outside, "link", "..", self.project + "-not"):
            os.makedirs(self.project + "-not", exist_ok=True)
            refused = client.call("create-session", name="wide", directory=directory)
            self.assertTrue(refused.is_error, refused.text)
            self.assertIn("is not in %s, the working directory of the sandbox workspace. A session in a sandbox may only have a directory in it." % self.project, refused.text)
        refused = self.start("off").call("create-session", name="wide", directory=self.home, sandbox="workspace")
        self.assertIn("holds your home directory", refused.text)
