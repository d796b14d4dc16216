"""Every way for a process to end, and every signal."""

from hostile.table import EXITED, KILLED, NOTHING, STOPPED, c, case, died, either, error, fails, value



def raise_signal(number):
    return c("kill", "int", "int", "(sb-posix:getpid)", "int", str(number))


def with_default(number):
    return "(progn %s %s)" % (c("signal", "unsigned-long", "int", str(number), "unsigned-long", "0"), c("raise", "int", "int", str(number)))


CASES = [
    case("exit", "(sb-ext:exit)", outcome=died(EXITED)),
    case("exit with a code", "(sb-ext:exit :code 3)", outcome=died(EXITED)),
    case("exit without unwinding", "(sb-ext:exit :code 3 :abort t)", outcome=died(EXITED)),
    case("quit", "(quit)", outcome=died(EXITED)),
    case("uiop quit", "(uiop:quit 6)", outcome=died(EXITED)),
    case("the immediate exit of the C library", c("_exit", "void", "int", "11"), outcome=died(EXITED)),
    case("exit of the C library", c("exit", "void", "int", "12"), outcome=died(EXITED)),
    case("exit_group", c("syscall", "long", "long", "231", "int", "13"), outcome=died(EXITED)),
    case("exit of the main thread alone", c("syscall", "long", "long", "60", "int", "14"), outcome=died(EXITED)),
    case("exit from another thread", "(sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-ext:exit :code 9 :abort t))))", outcome=died(EXITED)),
    case("orderly exit from another thread", "(progn (sb-thread:make-thread (lambda () (sb-ext:exit :code 9))) (sleep 10))", outcome=died(EXITED), timeout=3),
    case("exit from a cleanup form", "(unwind-protect (error \"first\") (sb-ext:exit :code 7 :abort t))", outcome=error("SIMPLE-ERROR")),
    case("exit from a cleanup form, orderly", "(unwind-protect (error \"first\") (sb-ext:exit :code 7))", outcome=error("SIMPLE-ERROR")),
    case("exit while it is read", "#.(sb-ext:exit :abort t)", outcome=died(EXITED)),
    case("exit from a macro", "(macrolet ((m () (sb-ext:exit :abort t))) (m))", outcome=died(EXITED)),
    case("exit from a print-object", "(progn (defclass d () ()) (defmethod print-object ((d d) s) (sb-ext:exit :abort t)) (make-instance 'd))", outcome=died(EXITED)),
    case("exit from the report of a condition", "(progn (define-condition dc (error) () (:report (lambda (c s) (sb-ext:exit :abort t)))) (error 'dc))", outcome=died(EXITED)),
    case("exit from a handler", "(handler-bind ((error (lambda (c) (sb-ext:exit :code 5 :abort t)))) (error \"x\"))", outcome=died(EXITED)),
    case("exit from a signal handler", "(progn (sb-sys:enable-interrupt 10 (lambda (a b c) (declare (ignore a b c)) (sb-ext:exit :code 5 :abort t))) %s (sleep 5))" % raise_signal(10), outcome=died(EXITED)),
    case("exit from a finalizer", "(progn (sb-ext:finalize (list 1 2) (lambda () (sb-ext:exit :code 5 :abort t)) :dont-save t) (dotimes (i 5) (sb-ext:gc :full t)) :alive)", outcome=either(died(EXITED), value(":ALIVE"))),
    case("exit from a hook after a collection", "(progn (push (lambda () (sb-ext:exit :abort t :code 8)) sb-ext:*after-gc-hooks*) (sb-ext:gc :full t) (sleep 0.1) :alive)", "(+ 1 2)", outcome=value("3")),
    case("exit hooks that loop", "(progn (push (lambda () (loop)) sb-ext:*exit-hooks*) (sb-ext:exit))", outcome=fails("^TIMEOUT$|^PROCESS-")),
    case("exit hooks that fail", "(progn (push (lambda () (error \"hook\")) sb-ext:*exit-hooks*) (sb-ext:exit))", outcome=died(EXITED)),
    case("exit hooks that exit", "(progn (push (lambda () (sb-ext:exit :code 2 :abort t)) sb-ext:*exit-hooks*) (sb-ext:exit))", outcome=died(EXITED)),
    case("exit whose cleanup loops", "(unwind-protect (sb-ext:exit :code 7) (loop))", outcome=fails("^TIMEOUT$|^PROCESS-")),
    case("exit whose cleanup goes elsewhere", "(block nil (unwind-protect (sb-ext:exit :code 7) (return :stayed)))", outcome=value(":STAYED")),
    case("abort", c("abort", "void"), outcome=died()),
    case("a failed assertion in C", c("__assert_fail", "void", "c-string", '"no"', "c-string", '"f"', "int", "1", "c-string", '"g"'), outcome=died()),
    case("lose", c("lose", "void", "c-string", '"the integrity of the heap"'), outcome=died()),
    case("another program in its place", "(let ((argv (sb-alien:make-alien sb-alien:c-string 2))) (setf (sb-alien:deref argv 0) \"true\") "
         '(sb-alien:alien-funcall (sb-alien:extern-alien "execv" (function int sb-alien:c-string sb-alien:unsigned-long)) "/bin/true" 0))', outcome=died()),
    case("another program that stays", '(let ((argv (sb-alien:make-alien sb-alien:unsigned-long 3))) (setf (sb-alien:deref argv 0) (sb-sys:sap-int (sb-alien:alien-sap (sb-alien:make-alien-string "sleep")))'
         ' (sb-alien:deref argv 1) (sb-sys:sap-int (sb-alien:alien-sap (sb-alien:make-alien-string "1000"))) (sb-alien:deref argv 2) 0)'
         ' (sb-alien:alien-funcall (sb-alien:extern-alien "execv" (function int sb-alien:c-string sb-alien:system-area-pointer)) "/bin/sleep" (sb-alien:alien-sap argv)))', outcome=died()),
    case("an image saved", '(sb-ext:save-lisp-and-die "/nonexistent/folder/image.core")', outcome=error("SAVE-ERROR"), timeout=20),
    case("a throw to the top level", "(throw 'sb-impl::toplevel-catcher nil)", outcome=error("CONTROL-ERROR")),
    case("a throw to the end of the world", "(throw 'sb-impl::%end-of-the-world t)", outcome=died(EXITED)),
    case("a throw to the agent", "(throw (find-symbol \"TOP-LEVEL\" \"CL-MCP-AGENT\") '(1 :ok :values (\"lie\")))", outcome=STOPPED),
    case("a throw of nonsense to the agent", "(throw (find-symbol \"TOP-LEVEL\" \"CL-MCP-AGENT\") 42)", outcome=error("ERROR")),
    case("a throw to the agent's idle loop", "(throw (symbol-value (find-symbol \"*BETWEEN-REQUESTS*\" \"CL-MCP-AGENT\")) nil)", outcome=error("ERROR")),
    case("the end of the main thread", "(sb-thread:abort-thread)", outcome=error("ERROR")),
    case("a return from the main thread", "(sb-thread:return-from-thread 1 :allow-exit t)", outcome=died(EXITED)),
    case("the main thread terminated by another", "(let ((main sb-thread:*current-thread*)) (sb-thread:make-thread (lambda () (sb-thread:terminate-thread main))) (sleep 5))", timeout=1, outcome=died(EXITED)),
    case("the abort restart", "(abort)", outcome=NOTHING),
    case("the runtime taken down", "(sb-impl::deinit)", outcome=either(STOPPED, value("NIL"))),
    case("SIGKILL", raise_signal(9), outcome=died(KILLED)),
    case("SIGKILL to its process group", "(progn %s %s)" % (c("setsid"), c("kill", "int", "int", "0", "int", "9")), outcome=died(KILLED)),
    case("SIGTERM", "(progn %s (sleep 0.1) :alive)" % raise_signal(15), outcome=died(EXITED)),
    case("SIGTERM, its default", with_default(15), outcome=died(KILLED)),
    case("SIGINT", "(progn %s (sleep 0.1) :alive)" % raise_signal(2), outcome=error("INTERACTIVE-INTERRUPT")),
    case("SIGHUP", "(progn %s (sleep 0.1) :alive)" % raise_signal(1), outcome=died(KILLED)),
    case("SIGQUIT", "(progn %s (sleep 0.1) :alive)" % raise_signal(3), outcome=died(KILLED)),
    case("SIGPIPE", "(progn %s (sleep 0.1) :alive)" % raise_signal(13), outcome=value(":ALIVE")),
    case("SIGALRM", "(progn %s (sleep 0.1) :alive)" % raise_signal(14), outcome=value(":ALIVE")),
    case("SIGUSR1", "(progn %s (sleep 0.1) :alive)" % raise_signal(10), outcome=died(KILLED)),
    case("SIGUSR2", "(progn %s (sleep 0.1) :alive)" % raise_signal(12), outcome=STOPPED),
    case("SIGCHLD", "(progn %s (sleep 0.1) :alive)" % raise_signal(17), outcome=value(":ALIVE")),
    case("SIGTRAP", "(progn %s (sleep 0.1) :alive)" % raise_signal(5), outcome=either(error("."), died())),
    case("SIGILL", "(progn %s (sleep 0.1) :alive)" % raise_signal(4), outcome=died()),
    case("SIGFPE", "(progn %s (sleep 0.1) :alive)" % raise_signal(8), outcome=error("FLOATING-POINT-EXCEPTION")),
    case("SIGSEGV sent", "(progn %s (sleep 0.1) :alive)" % raise_signal(11), outcome=error("MEMORY-FAULT-ERROR")),
    case("SIGSEGV, its default", with_default(11), outcome=died(KILLED)),
    case("SIGBUS sent", "(progn %s (sleep 0.1) :alive)" % raise_signal(7), outcome=error("SIMPLE-ERROR|MEMORY-FAULT")),
    case("SIGBUS, its default", with_default(7), outcome=died(KILLED)),
    case("SIGSTOP", raise_signal(19), outcome=STOPPED),
    case("SIGTSTP, its default", with_default(20), outcome=value("0")),  # the kernel does not stop a process group that has no parent in its session
    case("SIGSTOP in another thread", "(progn (sb-thread:make-thread (lambda () %s)) (sleep 5))" % raise_signal(19), outcome=STOPPED),
    case("a stop that another program sends", "(progn (sb-ext:run-program \"/bin/sh\" (list \"-c\" (format nil \"sleep 0.1; kill -STOP ~d\" (sb-posix:getpid))) :wait nil) 1)", "(loop (sleep 1))", "(+ 1 2)", outcome=value("3"), timeout=0.5),
    case("SIGURG without end", "(loop repeat 10000 do %s finally (return :alive))" % raise_signal(23), timeout=5, outcome=value(":ALIVE")),
    case("SIGURG from sigqueue with any token", "(loop for token from 0 to 200 do %s finally (return :alive))" % c("sigqueue", "int", "int", "(sb-posix:getpid)", "int", "23", "unsigned-long", "token"), timeout=2, outcome=value(":ALIVE")),
    case("SIGURG ignored, then a loop", "(progn %s (loop))" % c("signal", "unsigned-long", "int", "23", "unsigned-long", "1"), outcome=STOPPED),
    case("SIGURG with a handler of the user's, then a loop", "(progn (sb-sys:enable-interrupt 23 (lambda (a b c) (declare (ignore a b c)))) (loop))", outcome=STOPPED),
    case("a real-time signal", raise_signal(40), outcome=died(KILLED)),
    case("a flood of SIGPROF", "(progn %s (loop))" % (
        "(let ((v (make-array 4 :element-type '(unsigned-byte 64) :initial-contents '(0 100 0 100)))) (sb-sys:with-pinned-objects (v) %s))" % c(
            "setitimer", "int", "int", "2", "sb-sys:system-area-pointer", "(sb-sys:vector-sap v)", "unsigned-long", "0")), "(+ 1 2)", outcome=value("3")),
    case("an alarm that rings between two calls", "(progn %s :set)" % (
        "(let ((v (make-array 4 :element-type '(unsigned-byte 64) :initial-contents '(0 0 0 50000)))) (sb-sys:with-pinned-objects (v) %s))" % c(
            "setitimer", "int", "int", "0", "sb-sys:system-area-pointer", "(sb-sys:vector-sap v)", "unsigned-long", "0")), "(sleep 0.2)", outcome=value("NIL")),
    case("a segfault in foreign code", c("strlen", "unsigned-long", "unsigned-long", "16"), outcome=fails("MEMORY-FAULT|PROCESS-KILLED")),
    case("a write to nowhere in foreign code", c("memset", "unsigned-long", "unsigned-long", "4096", "int", "1", "unsigned-long", "100"), outcome=fails("MEMORY-FAULT|PROCESS-KILLED")),
    case("a jump to nowhere", "(sb-alien:alien-funcall (sb-alien:sap-alien (sb-sys:int-sap 0) (function sb-alien:int)))", outcome=error("MEMORY-FAULT-ERROR")),
    # F4 is HLT, which a process may not execute. Whatever else lies in the heap may write anywhere before it ends in a fault.
    case("a jump into the heap", "(let ((code (make-array 64 :element-type '(unsigned-byte 8) :initial-element #xF4)))"
         " (sb-sys:with-pinned-objects (code) (sb-alien:alien-funcall (sb-alien:sap-alien (sb-sys:vector-sap code) (function sb-alien:int)))))",
         outcome=error("MEMORY-FAULT-ERROR")),
    case("a bus error on a truncated file", '(progn (with-open-file (s "@FOLDER@/bus" :direction :output :if-exists :supersede) (write-string "x" s))'
         ' (let* ((fd (sb-posix:open "@FOLDER@/bus" sb-posix:o-rdwr)) (sap (sb-posix:mmap nil 8192 (logior sb-posix:prot-read sb-posix:prot-write) sb-posix:map-shared fd 0)))'
         ' (sb-posix:unlink "@FOLDER@/bus") (sb-posix:ftruncate fd 0) (sb-sys:sap-ref-8 sap 5000)))', outcome=error("SIMPLE-ERROR|MEMORY-FAULT")),
    case("a broken pipe", "(multiple-value-bind (r w) (sb-posix:pipe) (sb-posix:close r) %s)" % c("write", "long", "int", "w", "c-string", '"x"', "unsigned-long", "1"), outcome=value("-1")),
    case("a broken pipe, its default", "(progn %s (multiple-value-bind (r w) (sb-posix:pipe) (sb-posix:close r) %s))" % (
        c("signal", "unsigned-long", "int", "13", "unsigned-long", "0"), c("write", "long", "int", "w", "c-string", '"x"', "unsigned-long", "1")), outcome=died(KILLED)),
    case("a division by zero in the machine", "(let ((x (vector 1 0))) (declare (optimize (safety 0) (speed 3))) (truncate (the fixnum (svref x 0)) (the fixnum (svref x 1))))", outcome=error("DIVISION-BY-ZERO")),
]
