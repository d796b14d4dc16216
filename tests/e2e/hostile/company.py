"""Other processes and other threads."""

from hostile.table import EXITED, KILLED, NOTHING, STOPPED, STORAGE, c, case, died, either, error, fails, returns, value

FORK = c("fork", "int")

CASES = [
    case("a fork whose child returns", "(sb-posix:fork)", "(+ 1 2)", outcome=value("3")),
    case("a plain fork whose child returns", "(progn %s 1)" % FORK, "(+ 1 2)", outcome=value("3")),
    case("a fork whose child exits", "(let ((pid (sb-posix:fork))) (if (zerop pid) (sb-ext:exit :abort t) (progn (sb-posix:waitpid pid 0) :parent)))", outcome=value(":PARENT"), timeout=2),
    case("a fork whose child exits in order", "(let ((pid (sb-posix:fork))) (if (zerop pid) (sb-ext:exit :code 3) (progn (sb-posix:waitpid pid 0) :parent)))", outcome=value(":PARENT"), timeout=3),
    case("a fork whose child loops", "(let ((pid (sb-posix:fork))) (if (zerop pid) (loop) :parent))", outcome=value(":PARENT")),
    case("a fork whose child loops, and its parent too", "(progn (sb-posix:fork) (loop))", outcome=STOPPED, timeout=0.3),
    case("a fork whose child fails", "(let ((pid (sb-posix:fork))) (if (zerop pid) (error \"child\") :parent))", outcome=value(":PARENT")),
    case("a fork whose child prints for ever", "(let ((pid (sb-posix:fork))) (if (zerop pid) (loop (print :child)) :parent))", "(+ 1 2)", outcome=value("3")),
    case("a fork whose child writes garbage into the channel", "(let ((pid (sb-posix:fork))) (when (zerop pid) %s (sb-ext:exit :abort t)) (sb-posix:waitpid pid 0) :parent)" % c("write", "long", "int", "3", "c-string", '"garbage garbage"', "unsigned-long", "15"), outcome=died(), timeout=2),
    case("a fork whose child outlives the parent", "(let ((pid (sb-posix:fork))) (if (zerop pid) (loop (sleep 1)) (sb-ext:exit :abort t)))", outcome=died()),
    case("a fork whose child kills its parent", "(let ((parent (sb-posix:getpid))) (if (zerop (sb-posix:fork)) (progn (sb-posix:kill parent 9) (sb-ext:exit :abort t)) (sleep 10)))", outcome=died(), timeout=3),
    case("a fork whose child kills the server's other children", "(let ((parent (sb-posix:getpid))) (if (zerop (sb-posix:fork)) (progn (sb-posix:setpgid 0 0) (sb-posix:kill 0 9)) (sleep 0.2)))", outcome=value("NIL"), timeout=3),
    case("a hundred forks", "(loop repeat 100 do (when (zerop (sb-posix:fork)) (sleep 100) (sb-ext:exit :abort t)) finally (return :parent))", outcome=value(":PARENT"), timeout=5),
    case("a daemon", "(when (zerop (sb-posix:fork)) (sb-posix:setsid) (when (zerop (sb-posix:fork)) (dotimes (fd 256) (ignore-errors (sb-posix:close fd))) (loop (sleep 1))) (sb-ext:exit :abort t))", outcome=value("NIL")),
    case("vfork", "(let ((pid %s)) (if (zerop pid) %s pid))" % (c("fork", "int"), c("_exit", "void", "int", "0")), outcome=returns(r"^\d+$")),
    case("children that are never waited for", '(loop repeat 50 do (sb-ext:run-program "/bin/true" nil :wait nil) finally (return :done))', outcome=value(":DONE"), timeout=5),
    case("every child is waited for", "(loop while (ignore-errors (sb-posix:wait)) finally (return :done))", outcome=value(":DONE")),
    case("a thread that fails", "(progn (sb-thread:make-thread (lambda () (error \"in a thread\"))) (sleep 0.1) :made)", outcome=value(":MADE")),
    case("a thread that fails later", "(progn (sb-thread:make-thread (lambda () (sleep 0.05) (error \"in a thread\"))) :made)", "(sleep 0.2)", outcome=value("NIL")),
    case("a thread that prints", "(progn (sb-thread:make-thread (lambda () (dotimes (i 1000) (print i)))) (sleep 0.1) :made)", outcome=value(":MADE")),
    case("a thread that prints for ever", "(progn (sb-thread:make-thread (lambda () (loop (print :noise)))) :made)", "(progn (sleep 0.1) (+ 1 2))", outcome=value("3"), timeout=3),
    case("a thread that spins", "(progn (sb-thread:make-thread (lambda () (loop))) :made)", "(+ 1 2)", outcome=value("3")),
    case("a thread that spins without interrupts", "(progn (sb-thread:make-thread (lambda () (sb-sys:without-interrupts (loop)))) :made)", "(+ 1 2)", outcome=value("3")),
    case("a thread that spins without collections, then a collection", "(let ((spins (sb-thread:make-semaphore))) (sb-thread:make-thread (lambda () (sb-sys:without-gcing (sb-thread:signal-semaphore spins) (loop)))) (sb-thread:wait-on-semaphore spins) :made)", "(sb-ext:gc :full t)", outcome=STOPPED, timeout=0.5),
    case("a thread that outlives the call, then a death", "(progn (sb-thread:make-thread (lambda () (sleep 1000))) :made)", "(sb-ext:exit :abort t)", outcome=died()),
    case("a thread that outlives the call, then an orderly exit", "(progn (sb-thread:make-thread (lambda () (loop (sleep 1)))) :made)", "(sb-ext:exit :timeout 1)", outcome=either(died(EXITED), NOTHING), timeout=3),
    case("threads without number", "(progn (loop repeat 200 do (ignore-errors (sb-thread:make-thread (lambda () (sleep 1000))))) :made)", "(+ 1 2)", outcome=value("3"), timeout=10),
    case("a thread that interrupts the main thread for ever", "(let ((main sb-thread:*current-thread*)) (sb-thread:make-thread (lambda () (loop (ignore-errors (sb-thread:interrupt-thread main (lambda () (error \"interrupted\")))) (sleep 0.01)))) (sleep 5))", "(+ 1 2)", outcome=either(value("3"), error("SIMPLE-ERROR"), STORAGE), timeout=1, cure=True),
    case("a thread that throws in the main thread between calls", "(let ((main sb-thread:*current-thread*)) (sb-thread:make-thread (lambda () (sleep 0.05) (sb-thread:interrupt-thread main (lambda () (throw (find-symbol \"TOP-LEVEL\" \"CL-MCP-AGENT\") nil))))) :made)", "(sleep 0.2)", outcome=either(error("ERROR"), value("NIL")), timeout=2),
    case("a thread that exits the process later", "(progn (sb-thread:make-thread (lambda () (sleep 0.05) (sb-ext:exit :code 3 :abort t))) :made)", "(sleep 1)", outcome=either(died(EXITED), value("NIL")), timeout=3),
    case("a thread that closes the channel later", "(progn (sb-thread:make-thread (lambda () (sleep 0.05) (sb-posix:close 3))) :made)", "(sleep 0.2)", outcome=either(died(KILLED), value("NIL")), timeout=1),
    case("a thread that holds the lock of all packages", "(progn (sb-thread:make-thread (lambda () (sb-impl::with-package-graph () (loop (sleep 1))))) (sleep 0.05) :made)", "(progn (make-package (string (gensym))) 1)", outcome=either(STOPPED, value("1")), timeout=0.5),
    case("a thread that holds the world's lock", "(progn (sb-thread:make-thread (lambda () (sb-c::with-world-lock () (loop (sleep 1))))) (sleep 0.05) :made)", "(compile nil '(lambda (x) x))", outcome=returns("^#<FUNCTION "), timeout=0.5),
    case("a thread that holds the lock of all threads", "(progn (sb-thread:make-thread (lambda () (sb-thread::with-all-threads-lock (loop)))) (sleep 0.05) :made)", "(+ 1 2)", outcome=value("3"), timeout=0.5),
    case("the finalizer thread started", "(progn (ignore-errors (sb-impl::finalizer-thread-start)) :started)", "(sb-ext:gc :full t)", outcome=value("NIL"), timeout=2),
    case("a server that listens", "(require :sb-bsd-sockets)", "(progn (let ((s (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp))) (sb-bsd-sockets:socket-bind s #(127 0 0 1) 0) (sb-bsd-sockets:socket-listen s 5) (sb-bsd-sockets:socket-accept s)))", outcome=STOPPED, timeout=3),
]
