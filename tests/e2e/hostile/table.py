"""What a row of the table of hostile evaluations is made of.

A case is a name, the code, and what is to become of it. The code may be several evaluations; what all but the last one come
to does not matter unless they say so. `check` is evaluated at the end and must give `state`: unless a case says otherwise the
session has what driver.py defined in it before. A case with `cure` leaves a Lisp alive that does not work as a Lisp any
more, by no fault of the agent's: the way out of it is rollback-session. @FOLDER@ in the code is a folder of the case's own.
"""

import collections

PREPARATION = """
(defvar *count* 41)
(defparameter *names* (let ((h (make-hash-table :test 'equal))) (setf (gethash "key" h) :value) h))
(defun twice (x) (* 2 x))
(defmacro thrice (x) `(* 3 ,x))
(defclass place () ((x :initarg :x :accessor x)))
(defvar *place* (make-instance 'place :x 7))
(defgeneric area (thing))
(defmethod area ((p place)) (expt (x p) 2))
(defvar *adder* (let ((n 10)) (lambda (x) (incf n x))))
:prepared"""
CHECK = '(list *count* (gethash "key" *names*) (twice 21) (thrice 5) (x *place*) (area *place*) (functionp *adder*))'
STATE = "(41 :VALUE 42 15 7 49 T)"

Outcome = collections.namedtuple("Outcome", "kind argument")
Case = collections.namedtuple("Case", "name code outcome timeout options check state wait cure")


def value(text):
    """It returns this."""
    return Outcome("value", text)


def error(pattern):
    """It is reported as an error of a type that matches; the process lives."""
    return Outcome("error", pattern)


def died(pattern="^PROCESS-(EXITED|KILLED)$"):
    """The process ends; the report says so, and what was returned to."""
    return Outcome("died", pattern)


def fails(pattern):
    """An error of a type that matches, whether or not the process lives."""
    return Outcome("fails", pattern)


def returns(pattern):
    """It returns what matches."""
    return Outcome("returns", pattern)


def either(*outcomes):
    """One of these; which one hangs on the moment, the machine, the release of SBCL or the place of things in memory."""
    return Outcome("either", outcomes)


EXITED = "^PROCESS-EXITED$"
KILLED = "^PROCESS-KILLED$"
LOOKALIKE = Outcome("lookalike", "SIMPLE-ERROR")  # an error whose own text has what could be sections of the report
NOTHING = Outcome("nothing", None)  # it returns no values
STOPPED = Outcome("fails", "^TIMEOUT$")
STORAGE = Outcome("fails", "^STORAGE-CONDITION$|EXHAUSTED")
# What was destroyed may be met now, later or never.
DAMAGE = either(value("3"), error("."), died("."))


def case(name, *code, outcome, timeout=None, options=(), check=CHECK, state=STATE, wait=20, cure=False):
    return Case(name, code, outcome, timeout, options, check, state, wait, cure)


def c(name, result="int", *arguments):
    """A call of the C library: types and values in turn."""
    return '(sb-alien:alien-funcall (sb-alien:extern-alien "%s" (function %s %s)) %s)' % (
        name,
        result,
        " ".join(arguments[::2]),
        " ".join(arguments[1::2]),
    )


def redefine(name, body='(error "broken by the user")', package="CL"):
    """Unlock a function of the Lisp's and put something else in its place."""
    return (
        '(progn (sb-ext:unlock-package "%s") (handler-bind ((warning (function muffle-warning)))'
        " (setf (fdefinition '%s) (lambda (&rest r) (declare (ignorable r)) %s))) :broken)" % (package, name, body)
    )
