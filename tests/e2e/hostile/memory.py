"""Memory and stacks used up, and memory destroyed."""

from hostile.table import DAMAGE, EXITED, STORAGE, c, case, died, either, error, fails, returns, value

SMALL = ("--max-heap", "128")


def storage(name, *code, **named):
    named.setdefault("timeout", 10)
    return case(name, *code, outcome=named.pop("outcome", STORAGE), options=SMALL, **named)


OVERRUN = ("(let ((a (make-array 1 :element-type '(unsigned-byte 64)))) (declare (optimize (safety 0) (speed 3)))"
           " (loop for i fixnum below %d do (setf (aref a i) 12345678901)) :written)")
# Exhausted in a thread that is joined.
IN_A_THREAD = fails("JOIN-THREAD-ERROR|EXHAUSTED|^STORAGE-CONDITION$")

CASES = [
    storage("a huge array", "(length (make-array (ash 1 40)))"),
    storage("an array of most of the heap", "(length (make-array (floor (* 0.9 (sb-ext:dynamic-space-size)) 8)))"),
    storage("a huge string", "(length (make-string (ash 1 32)))"),
    storage("a growing list", "(let ((l nil)) (loop (push (list 1 2 3) l)))"),
    storage("a growing list of large arrays", "(let ((l nil)) (loop (push (make-array 100000) l)))"),
    storage("a growing list that is kept", "(progn (defvar *hoard* nil) (loop (push (make-array 10000) *hoard*)))"),
    storage("a string that doubles", "(let ((s \"x\")) (loop (setf s (concatenate 'string s s))))"),
    storage("a hash table that grows", "(let ((h (make-hash-table))) (loop for i from 0 do (setf (gethash i h) i)))"),
    storage("symbols without end", "(loop for i from 0 do (intern (format nil \"S~d\" i)))", timeout=30, wait=40),
    storage("closures compiled without end", "(let ((l nil)) (loop (push (make-array 1000000) l) (push (lambda () l) l)))"),
    storage("a heap exhausted in a cleanup form", "(unwind-protect (error \"first\") (let ((l nil)) (loop (push (make-array 100000) l))))", outcome=error("^SIMPLE-ERROR$")),
    storage("a heap exhausted in a handler", "(handler-bind ((error (lambda (c) (let ((l nil)) (loop (push (make-array 100000) l)))))) (error \"x\"))"),
    storage("a heap exhausted in a print-object", "(progn (defclass d () ()) (defmethod print-object ((d d) s) (let ((l nil)) (loop (push (make-array 100000) l)))) (make-instance 'd))", outcome=either(returns("HEAP-EXHAUSTED|printing it takes too long"), STORAGE)),
    storage("a heap exhausted in a thread", "(sb-thread:join-thread (sb-thread:make-thread (lambda () (let ((l nil)) (loop (push (make-array 100000) l))))))", outcome=IN_A_THREAD),
    storage("a heap exhausted without interrupts", "(sb-sys:without-interrupts (let ((l nil)) (loop (push (make-array 100000) l))))"),
    storage("a heap exhausted without collections", "(sb-sys:without-gcing (let ((l nil)) (loop (push (make-array 100000) l))))"),
    storage("exhaustion handled over and over", "(progn (defvar *hoard* nil) (dotimes (i 40) (handler-case (push (make-array 1000000) *hoard*) (storage-condition () nil))) :done)", outcome=either(value(":DONE"), STORAGE)),
    storage("little heap left", "(progn (defvar *hoard* (make-array (floor (* 0.8 (- (sb-ext:dynamic-space-size) (sb-kernel:dynamic-usage))) 8))) :full)", "(let ((l nil)) (loop (push (list 1 2 3) l)))"),
    storage("little heap left, then one array", "(progn (defvar *hoard* (make-array (floor (* 0.8 (- (sb-ext:dynamic-space-size) (sb-kernel:dynamic-usage))) 8))) :full)", "(make-array 20000000)"),
    storage("little heap left, then errors", "(progn (defvar *hoard* (loop repeat 60 collect (make-array (floor (* 0.01 (sb-ext:dynamic-space-size)) 8)))) :full)", "(error \"x\")", "(error (make-string 100000 :initial-element #\\x))", outcome=fails("^SIMPLE-ERROR$|EXHAUSTED|^STORAGE-CONDITION$")),
    storage("little heap left, then a long value", "(progn (defvar *hoard* (loop repeat 60 collect (make-array (floor (* 0.01 (sb-ext:dynamic-space-size)) 8)))) :full)", "(make-list 100000 :initial-element :element)", outcome=either(returns(r"^\(:ELEMENT "), STORAGE)),
    case("memory of C without end", "(loop repeat 100000 do %s finally (return :done))" % c("malloc", "unsigned-long", "unsigned-long", "100000000"), timeout=5, outcome=either(value(":DONE"), died(EXITED))),
    case("recursion", "(labels ((f (n) (+ 1 (f (1+ n))))) (f 0))", outcome=STORAGE, timeout=5),
    case("recursion twice", "(labels ((f (n) (+ 1 (f (1+ n))))) (f 0))", "(labels ((f (n) (+ 1 (f (1+ n))))) (f 0))", outcome=STORAGE, timeout=5),
    case("recursion that handles its end", "(labels ((f (n) (handler-case (+ 1 (f (1+ n))) (storage-condition () (f n))))) (f 0))", outcome=fails("^TIMEOUT$|EXHAUSTED|^STORAGE-CONDITION$"), timeout=0.5),
    case("recursion in a handler", "(labels ((f (n) (+ 1 (f (1+ n))))) (handler-bind ((error (lambda (c) (f 0)))) (error \"x\")))", outcome=STORAGE, timeout=5),
    case("recursion in the handler of its end", "(labels ((f (n) (+ 1 (f (1+ n))))) (handler-bind ((storage-condition (lambda (c) (f 0)))) (f 0)))", outcome=STORAGE, timeout=5),
    case("recursion in a cleanup form", "(labels ((f (n) (+ 1 (f (1+ n))))) (unwind-protect (error \"x\") (f 0)))", outcome=error("^SIMPLE-ERROR$"), timeout=5),
    case("recursion in the report of a condition", "(progn (define-condition dc (error) () (:report (lambda (c s) (labels ((f (n) (+ 1 (f (1+ n))))) (f 0))))) (error 'dc))", outcome=error("DC$"), timeout=5),
    case("recursion in the printer", "(let ((l nil)) (dotimes (i 1000000) (setf l (list l))) l)", outcome=returns(r"^\(\(\(\("), timeout=5),
    case("recursion in a print-object", "(progn (defclass d () ()) (defmethod print-object ((d d) s) (print d s)) (make-instance 'd))", outcome=value("#<D: error printing it: SB-KERNEL::CONTROL-STACK-EXHAUSTED>"), timeout=5),
    case("recursion in a method on a condition", "(progn (define-condition dc (error) ()) (defmethod print-object ((d dc) s) (princ d s)) (error 'dc))", outcome=error("DC$"), timeout=5),
    case("recursion in the reader", "(read-from-string (make-string 1000000 :initial-element #\\())", outcome=STORAGE, timeout=5),
    case("recursion in the compiler", "(let ((form 1)) (dotimes (i 100000) (setf form (list '1+ form))) (eval form))", outcome=STORAGE, timeout=5),
    case("recursion in a thread", "(sb-thread:join-thread (sb-thread:make-thread (lambda () (labels ((f (n) (+ 1 (f (1+ n))))) (f 0)))))", outcome=IN_A_THREAD, timeout=5),
    case("recursion with special bindings", "(progn (defvar *special* 0) (labels ((f () (let ((*special* (1+ *special*))) (+ 1 (f))))) (f)))", outcome=STORAGE, timeout=5),
    case("recursion without safety", "(labels ((f (n) (declare (optimize (speed 3) (safety 0)) (fixnum n)) (the fixnum (+ 1 (the fixnum (f (the fixnum (1+ n)))))))) (f 0))", outcome=STORAGE, timeout=5),
    case("a binding stack of a million", "(progv (loop for i below 1000000 collect (gensym)) nil 1)", outcome=either(STORAGE, died(EXITED)), timeout=10),
    case("more arguments than there is stack", "(apply #'list (make-list 10000000))", outcome=STORAGE, timeout=5),
    case("a large object on the stack", "(let ((a (make-array 100000000 :element-type '(unsigned-byte 8)))) (declare (dynamic-extent a)) (setf (aref a 0) 1) (aref a 99999999))", outcome=either(value("0"), STORAGE, error("^SB-KERNEL::STACK-ALLOCATED-OBJECT-OVERFLOWS-STACK$")), timeout=5),
    case("the alien stack used up", "(labels ((f () (sb-alien:with-alien ((a (array sb-alien:char 100000))) (setf (sb-alien:deref a 0) 1) (+ (sb-alien:deref a 0) (f))))) (f))", outcome=STORAGE, timeout=5),
    case("a write past the end of an array", OVERRUN % 4000000, "(+ 1 2)", "(sb-ext:gc :full t)", "(+ 1 2)", outcome=DAMAGE, timeout=5),
    case("a small write past the end of an array", OVERRUN % 64, "(+ 1 2)", "(sb-ext:gc :full t)", "(+ 1 2)", outcome=DAMAGE, timeout=5),
    case("a middling write past the end of an array", OVERRUN % 40000, "(list 1 2)", "(sb-ext:gc :full t)", "(+ 1 2)", outcome=DAMAGE, timeout=5),
    case("a car of what is none", "(locally (declare (optimize (safety 0) (speed 3))) (car (the cons (sb-kernel:%make-lisp-obj 12345671))))", outcome=error("MEMORY-FAULT"), timeout=2),
    case("a value that is no object", "(progn (defvar *wrong* (sb-kernel:%make-lisp-obj #xdeadbeef7)) :made)", "*wrong*", "(sb-ext:gc :full t)", "(+ 1 2)", outcome=DAMAGE, timeout=5),
    case("the header of an object destroyed", "(let ((v (vector 1 2 3))) (sb-sys:with-pinned-objects (v) (setf (sb-sys:sap-ref-64 (sb-sys:vector-sap v) -16) #xffffffffffffffff)) (defvar *wrong* v) :destroyed)", "(sb-ext:gc :full t)", "(+ 1 2)", outcome=DAMAGE, timeout=5),
    case("the code of a function destroyed", "(let ((f (sb-kernel:fun-code-header #'sb-impl::%intern))) (sb-sys:with-pinned-objects (f) (loop for i from 64 below 400 do (setf (sb-sys:sap-ref-8 (sb-kernel:code-instructions f) i) #xcc))) :destroyed)", "(intern \"NEW-NAME\")", "(+ 1 2)", outcome=DAMAGE, timeout=3, cure=True),
    case("the heap protected against writing", "(progn %s :protected)" % c("mprotect", "int", "unsigned-long", "sb-vm:dynamic-space-start", "unsigned-long", "(sb-ext:dynamic-space-size)", "int", "1"), outcome=died(), timeout=3),
    case("the heap protected against everything", "(progn %s :protected)" % c("mprotect", "int", "unsigned-long", "sb-vm:dynamic-space-start", "unsigned-long", "(sb-ext:dynamic-space-size)", "int", "0"), outcome=died(), timeout=3),
    case("the heap unmapped", "(progn %s :unmapped)" % c("munmap", "int", "unsigned-long", "sb-vm:dynamic-space-start", "unsigned-long", "(sb-ext:dynamic-space-size)"), outcome=died(), timeout=3),
    case("the heap filled with ones", c("memset", "unsigned-long", "unsigned-long", "sb-vm:dynamic-space-start", "int", "255", "unsigned-long", "20000000"), outcome=died(), timeout=3),
    case("the control stack filled with ones", c("memset", "unsigned-long", "unsigned-long", "(sb-sys:sap-int (sb-vm::current-sp))", "int", "255", "unsigned-long", "20000"),
         outcome=either(fails("^PROCESS-|MEMORY-FAULT"), STORAGE), timeout=3),  # the handler of the fault may fault, until the stack is used up
    case("the guard pages taken away", "(progn %s (labels ((f (n) (+ 1 (f (1+ n))))) (f 0)))" % c("mprotect", "int", "unsigned-long", "(logandc2 (sb-sys:sap-int (sb-vm::current-thread-offset-sap sb-vm::thread-control-stack-start-slot)) 4095)", "unsigned-long", "131072", "int", "3"), outcome=fails("^PROCESS-|MEMORY-FAULT|EXHAUSTED|^STORAGE-CONDITION$"), timeout=3),
    case("the value of T", "(setf (symbol-value 't) 1)", outcome=error("ERROR$")),
    case("the value of NIL behind its back", "(locally (declare (optimize (safety 0))) (setf (sb-sys:sap-ref-64 (sb-sys:int-sap (sb-kernel:get-lisp-obj-address nil)) 1) 0) :set)", "(+ 1 2)", outcome=DAMAGE, timeout=3, cure=True),
    case("a structure with wrong slots", "(progn (defstruct s (a 0 :type fixnum)) (let ((s (make-s))) (setf (sb-kernel:%instance-ref s 1) \"no\") (defvar *s* s) s))", "*s*", outcome=value("#S(S :A 0)")),
    case("the layout of an object destroyed", "(progn (defstruct s a) (let ((s (make-s))) (setf (sb-kernel:%instance-layout s) (sb-kernel:%make-lisp-obj 0)) (defvar *s* s) 1))", "*s*", outcome=DAMAGE, timeout=3),
]
