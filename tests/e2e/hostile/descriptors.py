"""Descriptors, the channel, limits of the kernel, and where the process stands."""

import re

from hostile.table import KILLED, STOPPED, STORAGE, c, case, died, either, error, returns, value

GARBAGE = '"00000010(99 :ok :garbage)garbage \\" ("'


def write(fd, text, length):
    return c("write", "long", "int", str(fd), "c-string", text, "unsigned-long", str(length))


def limit(resource, soft, hard):
    return (
        "(let ((v (make-array 2 :element-type '(unsigned-byte 64) :initial-contents '(%d %d)))) (sb-sys:with-pinned-objects (v) %s))"
        % (soft, hard, c("setrlimit", "int", "int", str(resource), "sb-sys:system-area-pointer", "(sb-sys:vector-sap v)"))
    )


FULL_MASK = "(let ((v (make-array 16 :element-type '(unsigned-byte 64) :initial-element #xffffffffffffffff))) (sb-sys:with-pinned-objects (v) %s))"
BLOCK_ALL = FULL_MASK % c("syscall", "long", "long", "14", "int", "0", "sb-sys:system-area-pointer", "(sb-sys:vector-sap v)", "unsigned-long", "0", "unsigned-long", "8")

# What comes at once after another has a request behind it in the channel.
AT_ONCE = ["1"] * 20
READ = "(let ((octets (make-array 4096 :element-type '(unsigned-byte 8)))) (sb-sys:with-pinned-objects (octets) %s))" % c("recv", "long", "int", "3", "sb-sys:system-area-pointer", "(sb-sys:vector-sap octets)", "unsigned-long", "4096", "int", "64")

# The kernel refuses strict seccomp to a process that has a filter, as in a container.
with open("/proc/self/status") as status:
    IS_FILTERED = re.search(r"^Seccomp:\s+2$", status.read(), re.M) is not None

CASES = [
    case("descriptor 0 closed", "(progn (sb-posix:close 0) :closed)", outcome=value(":CLOSED")),
    case("descriptor 1 closed", "(progn (sb-posix:close 1) :closed)", '(progn (format t "heard") 1)', outcome=error("STREAM-ERROR")),
    case("descriptor 2 closed", "(progn (sb-posix:close 2) :closed)", outcome=value(":CLOSED")),
    case("descriptor 1 is the garbage heap", "(progn (sb-posix:dup2 (sb-posix:open \"/dev/full\" sb-posix:o-wronly) 1) (format t \"lost\") (finish-output) :written)", outcome=error("STREAM-ERROR")),
    case("the channel closed", "(progn (sb-posix:close 3) :closed)", outcome=died()),
    case("the channel shut down", "(progn %s :shut)" % c("shutdown", "int", "int", "3", "int", "2"), outcome=died()),
    case("the channel shut for writing", "(progn %s :shut)" % c("shutdown", "int", "int", "3", "int", "1"), outcome=died()),
    case("the channel shut for reading", "(progn %s :shut)" % c("shutdown", "int", "int", "3", "int", "0"), outcome=value(":SHUT")),
    case("the channel replaced", "(progn (sb-posix:dup2 (sb-posix:open \"/dev/null\" sb-posix:o-rdwr) 3) :replaced)", outcome=died()),
    case("the channel replaced by a pipe", "(multiple-value-bind (r w) (sb-posix:pipe) (sb-posix:dup2 r 3) w)", outcome=died()),
    case("the channel replaced by an output", "(progn (sb-posix:dup2 1 3) :replaced)", outcome=died()),
    case("garbage into the channel", "(progn %s :written)" % write(3, GARBAGE, 30), outcome=died()),
    case("what waits in the channel read", *AT_ONCE, "(progn %s :read)" % READ, outcome=value(":READ")),
    case("what waits in the channel read before an error", *AT_ONCE, '(progn %s (error "after that"))' % READ, outcome=error("SIMPLE-ERROR")),
    case("half a frame into the channel", "(progn %s :written)" % write(3, '"0000ffff(7 :ok"', 14), outcome=STOPPED, timeout=0.5),
    case("an endless frame into the channel", "(progn %s :written)" % write(3, '"ffffffff("', 9), outcome=died()),
    case("a frame that nobody waits for", "(progn %s :written)" % write(3, '"0000001c(9999 :ok :values (\\"lie\\"))x"', 36), outcome=died(KILLED)),
    case("a forged end of the process", "(progn %s :written)" % write(3, '"00000015(0 :hello :pid 1 :x 1)"', 29), outcome=died(KILLED)),
    case("a hundred forged answers", "(loop for id from 1 to 100 do (let ((text (format nil \"(~d :ok :values (\\\"lie\\\") :package \\\"CL-USER\\\")\" id)))"
         " (let ((frame (format nil \"~(~8,'0x~)~a\" (length text) text))) %s)) finally (return :written))" % write(3, "frame", "(length frame)"), outcome=value(":WRITTEN")),
    case("garbage into every descriptor", "(loop for fd from 0 to 255 do %s finally (return :written))" % write("fd", GARBAGE, 30), outcome=died()),
    case("every descriptor closed", "(loop for fd from 0 to 255 do %s finally (return :closed))" % c("close", "int", "int", "fd"), outcome=died()),
    case("every descriptor but the channel closed", "(loop for fd from 0 to 255 unless (= fd 3) do %s finally (return :closed))" % c("close", "int", "int", "fd"), outcome=value(":CLOSED")),
    case("requests read by the user's code", "(let ((v (make-array 100 :element-type '(unsigned-byte 8)))) (sb-sys:with-pinned-objects (v) %s))" % c(
        "read", "long", "int", "3", "sb-sys:system-area-pointer", "(sb-sys:vector-sap v)", "unsigned-long", "100"), outcome=either(STOPPED, returns(r"^[1-9]\d*$"))),  # the second if a request for a copy comes in time
    case("the channel made non-blocking", "(progn (sb-posix:fcntl 3 sb-posix:f-setfl sb-posix:o-nonblock) (make-string 1000000 :initial-element #\\x))", outcome=returns('^"xxx')),
    case("the outputs made non-blocking and flooded", '(progn (sb-posix:fcntl 1 sb-posix:f-setfl sb-posix:o-nonblock) (loop repeat 200 do (write-string (make-string 10000 :initial-element #\\x))) :flooded)', timeout=5, outcome=value(":FLOODED")),
    case("the channel passed to a child that keeps it", '(progn (sb-posix:fcntl 3 sb-posix:f-setfd 0) (sb-ext:run-program "/bin/sleep" \'("100") :wait nil) (sb-ext:exit :abort t))', outcome=died()),
    case("a child that keeps the outputs", '(progn (sb-ext:run-program "/bin/sleep" \'("100") :wait nil :output nil) (sb-ext:exit :abort t))', outcome=died()),
    case("standard output closed", "(progn (close *standard-output*) :closed)", '(progn (print :heard) 1)', outcome=error("STREAM-ERROR")),
    case("the terminal closed", "(progn (close *terminal-io*) (close *query-io*) (close *debug-io*) :closed)", outcome=value(":CLOSED")),
    case("every stream closed that it has", "(progn (dolist (s (list *standard-output* *error-output* *trace-output* *standard-input* sb-sys:*stdout* sb-sys:*stderr* sb-sys:*stdin* sb-sys:*tty*)) (ignore-errors (close s :abort t))) :closed)", outcome=value(":CLOSED")),
    case("standard output bound to a stream that fails", "(progn (setf *standard-output* (make-broadcast-stream)) (setf *standard-output* (let ((s (make-string-output-stream))) (close s) s)) (print 1))", outcome=error("CLOSED-STREAM-ERROR")),
    case("standard output is no stream", "(progn (sb-ext:unlock-package :cl) (setf (symbol-value '*standard-output*) 42) :set)", outcome=error("SIMPLE-TYPE-ERROR")),
    case("the runtime's own streams are no streams", "(setf sb-sys:*stdout* 1 sb-sys:*stderr* 2 sb-sys:*stdin* 3 sb-sys:*tty* 4)", outcome=value("4")),
    case("no more descriptors", '(progn (defvar *open* (loop for s = (ignore-errors (open "/dev/null")) while s collect s)) (plusp (length *open*)))', outcome=value("T"), timeout=10),
    case("a limit of no descriptors", "(progn %s :limited)" % limit(7, 0, 0), "(+ 1 2)", outcome=value("3")),
    case("a limit of 4 descriptors", "(progn %s :limited)" % limit(7, 4, 4), "(+ 1 2)", outcome=value("3")),
    case("a limit of the address space", "(progn %s (make-array 30000000))" % limit(9, 1 << 20, 1 << 20), outcome=either(STOPPED, STORAGE, died(), returns(r"^#\(0 0 0 "))),
    case("a limit of the processor time", "(progn %s (loop))" % limit(0, 0, 0), outcome=died(KILLED), timeout=3),
    case("a limit of the stack", "(progn %s (labels ((f (n) (if (zerop n) 0 (1+ (f (1- n)))))) (f 1000)))" % limit(3, 8192, 8192), outcome=value("1000")),
    case("a limit of the file size", '(progn %s (with-open-file (s "@FOLDER@/none" :direction :output :if-exists :supersede) (write-string "too much" s)))' % limit(1, 0, 0), outcome=died(KILLED)),
    case("a limit of the data", "(progn %s (make-array 3000000))" % limit(2, 0, 0), outcome=either(STOPPED, STORAGE, returns(r"^#\(0 0 0"))),
    case("all signals blocked, then a loop", "(progn %s (loop))" % BLOCK_ALL, outcome=STOPPED),
    case("all signals blocked, then the next call", "(progn %s :blocked)" % BLOCK_ALL, "(loop)", outcome=STOPPED),
    case("its directory deleted", '(progn (sb-posix:mkdir "@FOLDER@/deleted" #o777) (sb-posix:chdir "@FOLDER@/deleted") (setf *default-pathname-defaults* #p"@FOLDER@/deleted/") (sb-posix:rmdir "@FOLDER@/deleted") :deleted)', outcome=value(":DELETED")),
    case("a session of its own", c("setsid", "int"), outcome=returns(r"^\d+$")),
    case("a process group of its own", "(progn (sb-posix:setpgid 0 0) :alone)", outcome=value(":ALONE")),
    case("no death with the parent", "(progn %s :immortal)" % c("prctl", "int", "int", "1", "unsigned-long", "0"), outcome=value(":IMMORTAL")),
    case("another signal with the parent's death", "(progn %s :immortal)" % c("prctl", "int", "int", "1", "unsigned-long", "17"), outcome=value(":IMMORTAL")),
    case("nobody may trace it", "(progn %s :hidden)" % c("prctl", "int", "int", "4", "unsigned-long", "0"), outcome=value(":HIDDEN")),
    case("only read, write and exit are allowed", "(progn %s :jailed)" % c("prctl", "int", "int", "22", "unsigned-long", "1"), outcome=value(":JAILED") if IS_FILTERED else died()),
    case("an environment of nothing", "(progn %s :cleared)" % c("clearenv", "int"), outcome=value(":CLEARED")),
    case("the lowest priority", "(progn %s :nice)" % c("nice", "int", "int", "19"), outcome=value(":NICE")),
    case("it is its own tracer", "(progn %s :traced)" % c("ptrace", "long", "int", "0", "int", "0", "int", "0", "int", "0"), outcome=value(":TRACED")),
    case("memory locked", "(progn %s :locked)" % c("mlockall", "int", "int", "1"), timeout=60, options=("--max-heap", "128"), outcome=value(":LOCKED")),
    case("another personality", "(progn %s :other)" % c("personality", "int", "unsigned-long", "#x0040000"), outcome=value(":OTHER")),
    case("SIGCHLD ignored", "(progn %s :ignored)" % c("signal", "unsigned-long", "int", "17", "unsigned-long", "1"), outcome=value(":IGNORED")),
]
