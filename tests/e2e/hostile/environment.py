"""The Lisp around the agent changed under it: functions, packages, variables, classes, the printer and the reader."""

from hostile.table import STOPPED, STORAGE, case, died, either, error, redefine, returns, value

# Functions of the standard that whoever reads, evaluates and prints is bound to use.
FUNCTIONS = """
    read read-from-string eval print prin1 princ write format find-package package-name symbol-name symbol-package find-symbol intern gethash
    make-string-output-stream get-output-stream-string make-hash-table write-string write-char finish-output force-output error signal warn
    find-restart compute-restarts invoke-restart make-condition make-instance class-of class-name type-of typep subtypep coerce
    concatenate subseq search position length nth nthcdr reverse nreverse append list mapcar find member assoc getf apply funcall values
    string-downcase string-upcase char-code code-char make-string make-array aref elt replace map reduce some every equal
    documentation fboundp boundp symbol-function fdefinition open-stream-p make-broadcast-stream make-concatenated-stream
    get-internal-real-time get-internal-run-time macroexpand-1 compile princ-to-string prin1-to-string parse-integer sort remove
""".split()

# The check without the function that is broken; what it broke is the user's own business.
PLAIN = "*count*"

# What SBCL's own EVAL calls.
INDISPENSABLE = ("macroexpand-1", "symbol-function")

CASES = [
    case("the function %s broken" % name.upper(), redefine(name), "(error \"for the report\")", check=PLAIN, state="41", outcome=STORAGE if name == "error" else error("SIMPLE-ERROR"), timeout=2, wait=12, cure=name in INDISPENSABLE)
    for name in FUNCTIONS
]
CASES += [
    case("every function of the printer broken at once", "(progn %s)" % " ".join(redefine(n) for n in ("prin1", "princ", "print", "write", "format", "write-string", "write-char", "prin1-to-string", "princ-to-string")), "(list 1 2)", "(error \"x\")", check=PLAIN, state="41", timeout=2, outcome=error("SIMPLE-ERROR")),
    case("functions that loop in place of the printer's", "(progn %s)" % " ".join(redefine(n, "(loop)") for n in ("prin1", "princ", "print", "write", "format")), "(list 1 2)", "(error \"x\")", check=PLAIN, state="41", timeout=0.5, outcome=error("SIMPLE-ERROR")),
    case("a value where the printer's functions loop", "(progn %s)" % " ".join(redefine(n, "(loop)") for n in ("prin1", "princ", "print", "write", "format")), "(list 1 2)", check=PLAIN, state="41", timeout=0.5, outcome=value("(1 2)")),
    case("a function of the agent broken", '(let ((s (find-symbol "SERVE" "CL-MCP-AGENT"))) (sb-ext:unlock-package "CL-MCP-AGENT") (fmakunbound s) 1)', "(error \"x\")", timeout=2, outcome=error("SIMPLE-ERROR")),
    case("every function of the agent broken", '(progn (do-symbols (s "CL-MCP-AGENT") (when (and (eq (symbol-package s) (find-package "CL-MCP-AGENT")) (fboundp s)) (fmakunbound s))) 1)', "(+ 1 2)", outcome=value("3"), timeout=2),
    case("every variable of the agent taken", '(progn (do-symbols (s "CL-MCP-AGENT") (when (and (eq (symbol-package s) (find-package "CL-MCP-AGENT")) (boundp s)) (ignore-errors (makunbound s)))) 1)', "(+ 1 2)", outcome=value("3"), timeout=2),
    case("every variable of the agent set to nonsense", '(progn (do-symbols (s "CL-MCP-AGENT") (when (and (eq (symbol-package s) (find-package "CL-MCP-AGENT")) (boundp s)) (ignore-errors (setf (symbol-value s) :nonsense)))) 1)', "(+ 1 2)", outcome=value("3"), timeout=2),
    case("the agent's package deleted", '(progn (sb-ext:unlock-package "CL-MCP-AGENT") (handler-bind ((error (function continue))) (delete-package "CL-MCP-AGENT")) 1)', "(error \"x\")", "(+ 1 2)", outcome=value("3")),
    case("the agent's package renamed", '(progn (sb-ext:unlock-package "CL-MCP-AGENT") (rename-package "CL-MCP-AGENT" "ELSE") 1)', "(error \"x\")", "(+ 1 2)", outcome=value("3")),
    case("CL-USER deleted", '(progn (setf *package* (find-package "KEYWORD")) (cl:handler-bind ((cl:error (cl:function cl:continue))) (cl:delete-package "CL-USER")))', "(cl:+ 1 2)", check="(cl:+ 1 2)", state="3", outcome=value("3")),
    case("CL-USER deleted while it is current", '(handler-bind ((error (function continue))) (delete-package "CL-USER"))', "(cl:+ 1 2)", check="(cl:+ 1 2)", state="3", outcome=value("3")),
    case("CL-USER renamed", '(rename-package "CL-USER" "SOMEONE")', outcome=value('#<PACKAGE "SOMEONE">')),
    case("CL-USER renamed and another in its place", '(progn (rename-package "CL-USER" "SOMEONE") (make-package "CL-USER" :use nil) 1)', outcome=value("1")),
    case("COMMON-LISP renamed", '(progn (sb-ext:unlock-package :cl) (rename-package "COMMON-LISP" "UNCOMMON") 1)', "(+ 1 2)", outcome=value("3")),
    case("KEYWORD renamed", '(progn (sb-ext:unlock-package :keyword) (rename-package "KEYWORD" "LOCKWORD") 1)', "(+ 1 2)", outcome=value("3")),
    case("COMMON-LISP not used any more", "(progn (unuse-package :cl) 1)", "(cl:+ 1 2)", check="(cl:list *count* (twice 21))", state="(41 42)", outcome=value("3")),
    case("symbols of COMMON-LISP uninterned", "(progn (sb-ext:unlock-package :cl) (dolist (s '(read eval print list)) (unintern s :cl)) 1)", "(+ 1 2)", check="*count*", state="41", outcome=value("3")),
    case("every package deleted that can be", "(progn (dolist (p (list-all-packages)) (ignore-errors (sb-ext:unlock-package p) (handler-bind ((error (function continue))) (delete-package p)))) 1)", check="(cl:+ 1 2)", state="3", outcome=either(STORAGE, died(), value("1"), error("PACKAGE-DOES-NOT-EXIST")), timeout=5),
    case("the current package is no package", "(setf *package* 42)", outcome=error("SIMPLE-TYPE-ERROR")),
    case("the current package is a deleted one", '(progn (setf *package* (make-package "SHORT" :use \'(:cl))) (delete-package *package*))', outcome=value("T"), check="(cl:+ 1 2)", state="3"),
    case("the current package uses nothing", '(setf *package* (make-package "EMPTY" :use nil))', check="(cl:list cl-user::*count*)", state="(41)", outcome=value('#<COMMON-LISP:PACKAGE "EMPTY">')),
    case("the reader's base", "(setf *read-base* 2)", "(progn 10)", outcome=value("2"), check="(setf *read-base* 10.)", state="10"),
    case("the printer's base", "(setf *print-base* 2 *print-radix* t)", "(+ 1 2)", outcome=value("3")),
    case("a readtable without parentheses", '(let ((r (copy-readtable nil))) (set-syntax-from-char #\\( #\\a r) (set-syntax-from-char #\\) #\\a r) (setf *readtable* r) 1)', check="*count*", state="41", outcome=value("1")),
    case("a readtable that loops", "(progn (set-macro-character #\\$ (lambda (s c) (loop))) 1)", "$", outcome=STOPPED, timeout=0.3),
    case("the readtable is none", "(setf *readtable* 42)", outcome=error("SIMPLE-TYPE-ERROR")),
    case("the standard readtable changed", "(progn (set-macro-character #\\; (lambda (s c) (error \"comment\")) nil sb-impl::*standard-readtable*) 1)", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("a readtable of another case", "(progn (setf (readtable-case *readtable*) :invert) 1)", "(+ 1 2)", outcome=value("3")),
    case("everything is printed readably", "(setf *print-readably* t)", "(list #'car (make-hash-table))", outcome=returns(r"^\(#<FUNCTION CAR> #<HASH-TABLE ")),
    case("pretty printing that fails", "(progn (setf *print-pretty* t) (set-pprint-dispatch 'cons (lambda (s o) (error \"pprint\")) 100) (list 1 2))", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("pretty printing that loops", "(progn (setf *print-pretty* t) (set-pprint-dispatch 'cons (lambda (s o) (loop)) 100) (list 1 2))", "(list 1 2)", outcome=value("(1 2)"), timeout=0.5),
    case("the printer's variables set to nonsense", "(dolist (v '(*print-base* *print-case* *print-length* *print-level* *print-circle* *print-escape* *print-lines* *print-miser-width* *print-right-margin* *print-pprint-dispatch* *print-array* *print-gensym*) 1) (ignore-errors (setf (symbol-value v) :nonsense)))", "(error \"x ~a\" 1)", outcome=error("SIMPLE-ERROR")),
    case("the printer's variables unbound", "(dolist (v '(*print-base* *print-case* *print-length* *print-level* *print-circle* *print-escape* *print-pretty* *print-readably* *read-base* *read-eval* *read-default-float-format*) 1) (ignore-errors (makunbound v)))", "(error \"x ~a\" 1)", outcome=error("SIMPLE-ERROR")),
    case("a macroexpand hook that fails", "(setf *macroexpand-hook* (lambda (&rest r) (declare (ignore r)) (error \"hook\")))", "(when t 1)", check="(progn *count*)", state="41", outcome=error("SIMPLE-ERROR")),
    case("the evaluator interprets", "(setf sb-ext:*evaluator-mode* :interpret)", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("no reading at read time", "(setf *read-eval* nil)", "(+ 1 2)", outcome=value("3")),
    case("features taken away", "(setf *features* nil)", "(+ 1 2)", outcome=value("3")),
    case("the history variables set", "(setf * 1 ** 2 *** 3 / 4 // 5 + 6 - 7)", "(+ 1 2)", outcome=value("3")),
    case("a standard method on print-object for everything", "(progn (defmethod print-object ((o t) s) (error \"never\")) 1)", "(list (make-hash-table))", "(error 'type-error :datum (make-hash-table) :expected-type 'list)", outcome=error("TYPE-ERROR"), timeout=2),
    case("a method on print-object for conditions", "(progn (sb-ext:unlock-package :cl) (defmethod print-object ((o condition) s) (error \"never\")) 1)", "(error \"x\")", outcome=error("SIMPLE-ERROR"), timeout=2),
    case("an around method on print-object that loops", "(progn (defmethod print-object :around ((o t) s) (loop)) 1)", "(make-hash-table)", outcome=either(STOPPED, returns("printing it takes too long")), timeout=0.5,
         check="(let ((m (find-method #'print-object '(:around) (list (find-class t) (find-class t)) nil))) (when m (remove-method #'print-object m)) *count*)", state="41"),
    case("an around method on make-instance", "(progn (defmethod make-instance :around (c &rest r) (error \"no instances\")) 1)", "(error \"x\")", "(make-instance 'place :x 1)", outcome=error("SIMPLE-ERROR"), timeout=2, check="*count*", state="41"),
    case("a standard class redefined", "(progn (sb-ext:unlock-package :cl) (defclass standard-object () ((x))) 1)", outcome=either(STORAGE, error("^SIMPLE-ERROR$")), check="*count*", state="41"),
    case("a standard type redefined", "(progn (sb-ext:unlock-package :cl) (deftype list () 'integer) 1)", outcome=error("SIMPLE-ERROR"), timeout=2, check="*count*", state="41"),
    case("a standard condition redefined", "(progn (sb-ext:unlock-package :cl) (define-condition error () ()) 1)", "(error \"x\")", outcome=STORAGE, timeout=2, check="*count*", state="41"),
    case("a standard macro redefined", "(progn (sb-ext:unlock-package :cl) (defmacro when (&rest r) (error \"no when\")) 1)", "(when t 1)", outcome=error("SIMPLE-ERROR"), timeout=2, check="*count*", state="41"),
    case("a slot redefined under its instances", "(progn (defclass place () ()) 1)", "*place*", outcome=returns("^#<PLACE "), check="(list *count* (twice 21))", state="(41 42)"),
    case("the optimization policy changed", "(progn (proclaim '(optimize (safety 0) (speed 3) (debug 0))) 1)", "(car 42)", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("the collection thresholds changed", "(progn (setf (sb-ext:bytes-consed-between-gcs) 1) 1)", "(make-list 10000)", outcome=either(returns(r"^\(NIL NIL NIL "), STOPPED), timeout=5),
    case("collections turned off for good", "(progn (setf sb-kernel::*gc-inhibit* t) 1)", "(+ 1 2)", outcome=value("3")),
    case("the error depth used up", "(progn (setf sb-kernel:*maximum-error-depth* 0) 1)", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("interrupts turned off for good", "(progn (setf sb-sys:*interrupts-enabled* nil) 1)", "(loop)", outcome=STOPPED, timeout=0.3),
    case("the handler clusters changed", "(progn (setf sb-kernel:*handler-clusters* nil) 1)", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("the handler clusters set to nonsense", "(progn (setf sb-kernel:*handler-clusters* '((a . b) 3)) 1)", "(error \"x\")", outcome=error("SIMPLE-ERROR"), timeout=2),
    case("the restart clusters changed", "(progn (setf sb-kernel:*restart-clusters* nil) (error \"x\"))", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("a trace of what the agent uses", "(trace read eval prin1 format)", "(+ 1 2)", "(error \"x\")", outcome=error("SIMPLE-ERROR")),
    case("an encapsulation of eval", "(sb-int:encapsulate 'eval 'user (lambda (f &rest r) (declare (ignore f r)) (error \"no eval\")))", check="(+ 1 2)", state="3", outcome=returns("^#<FUNCTION ")),
]
