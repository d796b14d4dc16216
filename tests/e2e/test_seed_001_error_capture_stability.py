"""Seed 001, error capture stability, against the real server. Where each section of the seed is tested:

Statement, Formal Expression, Assertion Protocol, Property Test 1, Counterexample Shape (a crash, lost state)
                                     test_each_error_generator_is_captured_reported_and_survived
Informal Explanation                 InformalExplanation
Counterexample Shape                 CounterexampleShape; unresponsiveness: test_1000_random_errors_...
Property Test 2 to 4                 PropertyTest
Concurrency Test, Edge Cases         the classes of these names
"""

import re

import mcp

HUGE = "(ash 1 999999999)"

# *error-generators*, with what each must be reported as. The last entry of the seed is one form on two lines.
ERROR_GENERATORS = [
    # Standard errors
    ('(error "boom")', "SIMPLE-ERROR"),
    ('(cerror "continue" "deliberate error")', "SIMPLE-ERROR"),
    # Type errors
    ('(+ 1 "string")', "TYPE-ERROR"),
    ("(car 'not-a-list)", "TYPE-ERROR"),
    # Undefined symbols
    ("(nonexistent-function)", "UNDEFINED-FUNCTION"),
    ("(print undefined-variable)", "UNBOUND-VARIABLE"),
    # Arithmetic errors
    ("(/ 1 0)", "DIVISION-BY-ZERO"),
    (HUGE, None),  # may signal storage condition; where it does not, its value takes longer to print than any time limit
    # Array bounds
    ("(aref #(1 2 3) 100)", "INVALID-ARRAY-INDEX-ERROR"),
    # Reader errors
    ('(read-from-string "(+ 1 2")', "END-OF-FILE"),
    # Package errors
    ('(find-symbol "X" "NONEXISTENT-PACKAGE")', "PACKAGE"),
    # File errors
    ('(open "/nonexistent/path.lisp")', "FILE-"),
    # Serious conditions
    ("(sb-ext:run-program \"/nonexistent\" '())", "ERROR"),
    # Recursive errors
    ('(handler-bind ((error (lambda (c) (error "nested"))))\n  (error "outer"))', "SIMPLE-ERROR"),
]


QUICK_GENERATORS = [generator for generator in ERROR_GENERATORS if generator[0] is not HUGE]


class Assertions(mcp.SessionTest):
    def provoke(self, code, expected=None):
        return self.assertFails(code, expected, **({"timeout": 2} if code is HUGE else {}))

    def assertWellFormed(self, report):
        """is_valid_error_response: structured as the condition-report contract says."""
        self.assertErrorReport(report)
        self.assertRegex(report.text, re.compile(r"^\[ERROR\] [^\s]+$", re.MULTILINE))
        self.assertSectionsInOrder(report)


class AssertionProtocol(Assertions):
    """verify-error-capture-stability, phase by phase, for each generator."""

    def verify(self, code, expected):
        # Phase 1: the error is captured
        self.assertWellFormed(self.provoke(code, expected))
        # Phase 2: the server still works
        self.assertEqual("2", self.s.evaluate("(+ 1 1)").value)
        # Phase 3: session state is preserved
        self.s.evaluate("(defvar *test-var* 42) (defun kept () :kept) (defpackage :kept-package (:use :cl))")
        self.provoke(code)
        self.assertEvaluates('(list *test-var* (kept) (package-name (find-package :kept-package)))', '(42 :KEPT "KEPT-PACKAGE")')

    def test_each_error_generator_is_captured_reported_and_survived(self):
        for code, expected in ERROR_GENERATORS:
            with self.subTest(code):
                self.verify(code, expected)

    def test_the_two_lines_of_the_last_generator_are_errors_by_themselves(self):
        report = self.assertFails('(handler-bind ((error (lambda (c) (error "nested"))))', "END-OF-FILE")
        self.assertWellFormed(report)
        self.assertWellFormed(self.assertFails('  (error "outer"))'))
        self.assertOperational()

    def test_the_nested_error_is_the_one_reported(self):
        self.assertIn("nested", self.assertFails(ERROR_GENERATORS[-1][0]).message)


class InformalExplanation(Assertions):
    def test_it_is_captured_without_unwinding(self):
        """The frames of the program are still there when the report is made."""
        report = self.assertFails('(defun inner (x) (error "from ~a" x)) (defun outer (y) (list (inner y))) (outer :here)')
        self.assertIn("(INNER :HERE)", report.frames)
        self.assertIn("(OUTER :HERE)", report.frames)
        self.assertLess(report.frames.index("(INNER :HERE)"), report.frames.index("(OUTER :HERE)"))

    def test_it_applies_to_standard_implementation_user_defined_serious_and_nested_conditions(self):
        for code in (
            "(error 'program-error)",
            "(sb-int:simple-program-error \"implementation's own\")",
            "(sb-sys:sap-ref-8 (sb-sys:int-sap 0) 0)",
            "(progn (define-condition mine (error) ((a :initarg :a))) (error 'mine :a 1))",
            "(error 'serious-condition)",
            "(error 'storage-condition)",
            "(handler-bind ((error (lambda (c) (error 'type-error :datum c :expected-type 'list)))) (error \"first\"))",
            "(handler-case (error \"a\") (error () (error \"b\")))",
            "(unwind-protect (error \"a\") (error \"in the cleanup form\"))",
        ):
            with self.subTest(code):
                self.assertWellFormed(self.s.evaluate(code))
                self.assertOperational()


class CounterexampleShape(Assertions):
    def test_the_error_is_in_the_tool_result_not_a_protocol_error(self):
        message = self.s.start_call("evaluate-lisp", code='(error "boom")').response()
        self.assertNotIn("error", message)
        self.assertEqual("2.0", message["jsonrpc"])
        result = message["result"]
        self.assertIs(True, result["isError"])
        self.assertEqual(1, len(result["content"]))
        self.assertEqual("text", result["content"][0]["type"])
        self.assertTrue(result["content"][0]["text"].startswith("[ERROR] SIMPLE-ERROR\nboom\n\n[Backtrace]\n"), result)

    def test_it_enters_no_invalid_state(self):
        for code in ("(setf *package* 42)", "(setf *readtable* nil)", "(setf *standard-output* 42) (error \"x\")", "(setf *print-base* 1000)",
                     "(setf *read-base* 7.5)", "(makunbound '*package*)", "(setf sb-ext:*invoke-debugger-hook* nil) (error \"x\")",
                     "(setf *debugger-hook* 42) (error \"x\")", "(setf *print-pprint-dispatch* 42) (error \"x\")"):
            with self.subTest(code):
                self.s.evaluate(code)
                self.assertOperational()

    def test_it_crashes_on_no_condition_type(self):
        """Every condition class that is exported, as far as it can be made and printed without arguments. The standard's keep
        their names; the implementation's may go by the name of the standard's that they refine (SB-INT:SIMPLE-FILE-ERROR)."""
        report = self.s.evaluate(
            "(let (names) (dolist (p '(:common-lisp :sb-ext :sb-int :sb-sys :sb-thread :sb-gray :sb-bsd-sockets :sb-alien) names)"
            " (when (find-package p) (do-external-symbols (s p)"
            " (when (and (find-class s nil) (subtypep s 'condition) (ignore-errors (princ-to-string (make-condition s))))"
            "  (pushnew (list* s (eq (symbol-package s) (find-package :cl)) (mapcar #'class-name (rest (sb-mop:class-precedence-list (find-class s))))) names :key #'car))))))", max_output=400000)
        self.assertFalse(report.is_error, report.text)
        classes = [re.findall(r"[^\s()]+", line) for line in re.findall(r"\(([^()]+)\)", report.value)]
        self.assertGreater(len(classes), 40)
        for name, is_standard, *parents in classes:
            if name.endswith("COMPILED-PROGRAM-ERROR"):  # the compiler's wrapping, which is undone
                continue
            with self.subTest(name):
                report = self.s.evaluate("(error '%s)" % name)
                self.assertTrue(report.is_error, report.text)
                allowed = [name] if is_standard == "T" else [name] + [parent for parent in parents if ":" not in parent]
                self.assertIn(report.error_type, allowed, report.text)
        self.assertOperational()


class PropertyTest(Assertions):
    def random_error(self, chance):
        n, word = chance.randrange(1000), "w%d" % chance.randrange(10**6)
        code = chance.choice([code for code, _ in QUICK_GENERATORS] + [
            '(error "%s ~a" %d)' % (word, n),
            "(car %d)" % n,
            "(%s)" % word,
            word,
            "(/ %d (- %d %d))" % (n, n, n),
            "(elt (list 1 2 3) %d)" % (n + 3),
            "(svref (vector) %d)" % n,
            "(read-from-string \"#<%s>\")" % word,
            "(intern \"X\" \"%s\")" % word.upper(),
            "(parse-integer \"%s\")" % word,
            "(make-instance '%s)" % word,
            "(throw '%s %d)" % (word, n),
            "(check-type *package* integer)",
            "(destructuring-bind (a b) '(%d) (list a b))" % n,
            "(funcall (lambda (x) x))",
            "(symbol-value (gensym))",
            "(char \"abc\" %d)" % (n + 3),
            "(signal-nothing-%s (error \"argument\"))" % word,
            "(format nil \"~%s ~\")" % word,
            ")",
            "(list %d" % n,
            "#\\NoSuchCharacter%d" % n,
            "nopackage%d:symbol" % n,
        ])
        if chance.random() < 0.3 and code.count("(") == code.count(")") and ":" not in code:
            code = "(progn (princ %d) %s)" % (n, code)
        return code

    def test_1000_random_errors_leave_server_and_session_as_they_were(self):
        chance = self.random()
        self.s.evaluate("(defvar *count* 0) (defvar *state* (list 42))")
        for n in range(1, 101 if mcp.JOINED else 1001):
            code = self.random_error(chance)
            report = self.s.evaluate(code)
            self.assertTrue(report.is_error, code + "\n" + report.text)
            self.assertWellFormed(report)
            self.assertEqual("2", self.s.evaluate("(+ 1 1)").value, code)
            if n % 50 == 0:
                self.assertEvaluates("(list (incf *count*) *state*)", "(%d (42))" % (n // 50))
        self.assertTrue(mcp.is_alive(self.s.pid))


class ConcurrencyTest(Assertions):
    def test_errors_in_rapid_succession_are_all_answered(self):
        calls = [(code, self.s.start_call("evaluate-lisp", code=code)) for code, _ in QUICK_GENERATORS * 5]
        for code, pending in calls:
            report = pending.reply()
            self.assertTrue(report.is_error, code)
            self.assertWellFormed(report)
        self.assertOperational()

    def test_errors_in_several_sessions_at_once_are_all_answered(self):
        names = ["worker-%d" % n for n in range(4)]
        for name in names:
            self.assertFalse(self.s.call("create-session", name=name).is_error)
        calls = [
            (name, n, self.s.start_call("evaluate-lisp", code='(error "~a ~a" "%s" %d)' % (name, n), session=name))
            for n in range(25)
            for name in names
        ]
        for name, n, pending in calls:
            self.assertEqual("%s %d" % (name, n), pending.reply().message)
        self.assertOperational()


class EdgeCases(Assertions):
    @mcp.own_lisp("--load is for a Lisp that starts")
    def test_errors_during_initialization_are_reported_and_survived(self):
        path = self.file("(defvar *before* 1)\n(error \"while loading\")\n", "broken.lisp")
        server = self.start_server("--load", path)
        first = server.evaluate("(+ 1 2)")
        self.assertValue(first, "3")
        self.assertIn("while loading", first.text)
        self.assertOperational(server)

    def test_an_error_sent_before_the_session_is_ready_is_reported(self):
        server = self.start_server(handshake=False)
        pending = server.start("initialize", {"protocolVersion": mcp.LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}})
        error = server.start_call("evaluate-lisp", code='(error "too early")')
        pending.result()
        self.assertWellFormed(error.reply())
        self.assertOperational(server)

    def test_an_error_in_condition_formatting_code_is_reported_with_the_type(self):
        report = self.assertFails(
            "(define-condition unprintable (error) () (:report (lambda (c s) (declare (ignore c s)) (error \"cannot say\")))) (error 'unprintable)"
        )
        self.assertEqual("UNPRINTABLE", report.error_type)
        self.assertWellFormed(report)
        self.assertOperational()

    def test_condition_formatting_code_that_fails_recursively_is_reported(self):
        report = self.assertFails(
            "(define-condition bottomless (error) () (:report (lambda (c s) (format s \"~a\" c) (error c)))) (error 'bottomless)", wait=40
        )
        self.assertIn("BOTTOMLESS", report.text)
        self.assertOperational()

    def test_condition_formatting_code_that_never_ends_is_stopped(self):
        report = self.s.evaluate(
            "(define-condition endless (error) () (:report (lambda (c s) (declare (ignore c s)) (loop)))) (error 'endless)", timeout=1, wait=15
        )
        self.assertTrue(report.is_error, report.text)
        self.assertOperational()

    def test_stack_overflow_is_captured(self):
        report = self.assertFails("(defun sink (n) (1+ (sink (1+ n)))) (sink 0)")
        self.assertRegex(report.error_type, "STORAGE-CONDITION|STACK-EXHAUSTED")
        self.assertWellFormed(report)
        for _ in range(8):
            self.assertTrue(self.s.evaluate("(sink 0)").is_error)
            self.assertOperational()

    @mcp.own_lisp("its heap is the person's")
    def test_memory_exhaustion_is_captured(self):
        report = self.assertFails("(make-array (ash 1 50) :element-type '(unsigned-byte 8))")
        self.assertOperational()
        report = self.assertFails("(loop with l = nil do (push (make-string 1000000) l))")
        self.assertRegex(report.error_type, "STORAGE-CONDITION|HEAP-EXHAUSTED")
        self.assertOperational()

    def test_an_interrupt_is_captured(self):
        report = self.s.evaluate("(loop)", timeout=1, wait=10)
        self.assertEqual("TIMEOUT", report.error_type, report.text)
        self.assertOperational()

    @mcp.own_lisp("its main thread, which gets the signal, is the person's")
    def test_a_signal_is_captured(self):
        report = self.assertFails("(sb-posix:kill (sb-posix:getpid) sb-posix:sigint) (sleep 5) :not-interrupted", "INTERACTIVE-INTERRUPT", timeout=10)
        self.assertWellFormed(report)
        self.assertOperational()
