"""Seed 000, condition handling: every example, assertion, list of cases and property, against the real server."""

import mcp

# "Condition Types Handled": one way at least to signal each
HANDLED_ERRORS = [
    ("error", '(error "plain")', "SIMPLE-ERROR"),
    ("type-error", "(car 42)", "TYPE-ERROR"),
    ("unbound-variable", "some-unbound-variable", "UNBOUND-VARIABLE"),
    ("undefined-function", "(some-undefined-function 1)", "UNDEFINED-FUNCTION"),
    ("serious-condition", "(progn (define-condition grave (serious-condition) ()) (error 'grave))", "GRAVE"),
    ("storage-condition", "(progn (define-condition full (storage-condition) ()) (error 'full))", "FULL"),
]

# "condition_type ∈ { ... }" of the formal expression
TYPES = [
    ("(error 'error)", "ERROR"),
    ("(+ 1 :a)", "TYPE-ERROR"),
    ("no-such-variable", "UNBOUND-VARIABLE"),
    ("(no-such-function)", "UNDEFINED-FUNCTION"),
    ("(/ 7 0)", "DIVISION-BY-ZERO"),
    ("(open \"/nonexistent/folder/file\")", "FILE-"),
    ("(error 'file-error :pathname \"x\")", "FILE-ERROR"),
    ("(parse-integer \"x\")", "PARSE-ERROR"),
    ("(error 'parse-error)", "PARSE-ERROR"),
    ("(error 'program-error)", "PROGRAM-ERROR"),
    ("(error 'control-error)", "CONTROL-ERROR"),
    ("(error 'stream-error :stream *standard-output*)", "STREAM-ERROR"),
    ("(error 'package-error :package \"X\")", "PACKAGE-ERROR"),
    ("(error 'cell-error :name 'x)", "CELL-ERROR"),
    ("(error 'simple-type-error :format-control \"x\" :datum 1 :expected-type 'list)", "SIMPLE-TYPE-ERROR"),
    ("(sqrt (expt 10d0 400))", "FLOATING-POINT-OVERFLOW"),
    ("(slot-value (make-condition 'error) 'no-such-slot)", "MISSING-SLOT"),
]


class Statement(mcp.TestCase):
    def test_1_the_server_does_not_terminate(self):
        pid = self.s.pid
        self.assertFails('(error "boom")')
        self.assertTrue(mcp.is_alive(pid))
        self.assertOperational()

    def test_2_errors_are_structured_error_responses(self):
        message = self.s.start_call("evaluate-lisp", code='(error "boom")').response()
        self.assertNotIn("error", message)
        self.assertIs(True, message["result"]["isError"])
        self.assertEqual("text", message["result"]["content"][0]["type"])

    def test_3_warnings_are_included_and_evaluation_continues(self):
        report = self.assertEvaluates('(warn "one") (+ 40 2)', "42")
        self.assertEqual([("WARNING", "one")], report.warnings)

    def test_4_the_condition_type_is_preserved_and_reported(self):
        self.s.evaluate("(define-condition my-own-condition (error) ((code :initarg :code)))")
        report = self.assertFails("(error 'my-own-condition :code 12)")
        self.assertEqual("MY-OWN-CONDITION", report.error_type)

    def test_5_the_server_remains_operational(self):
        for _, code, _ in HANDLED_ERRORS:
            self.assertFails(code)
            self.assertOperational()


class FormalExpression(mcp.TestCase):
    def test_an_error_has_its_type_and_a_backtrace_and_leaves_the_server_operational(self):
        for code, error_type in TYPES:
            with self.subTest(code):
                report = self.assertFails(code, error_type)
                self.assertIn("[Backtrace]", report.text)
                self.assertOperational()

    def test_a_warning_leaves_no_error_and_a_value(self):
        for code in ('(warn "w") 1', "(warn 'warning) 1", "(warn 'style-warning) 1", '(progn (warn "deep") 1)'):
            with self.subTest(code):
                report = self.assertEvaluates(code, "1")
                self.assertNotEqual([], report.warnings, report.text)
                self.assertFalse(report.result.get("isError", False))


class ErrorHandling(mcp.TestCase):
    def test_division_by_zero_has_type_message_and_backtrace(self):
        report = self.assertFails("(/ 1 0)")
        self.assertEqual("DIVISION-BY-ZERO", report.error_type)
        self.assertIn("arithmetic error DIVISION-BY-ZERO signalled", report.message)
        self.assertNotEqual([], report.frames, report.text)

    def test_output_produced_before_the_error_is_included(self):
        report = self.assertFails('(progn (format t "so far") (/ 1 0))')
        self.assertEqual("so far", report.stdout)

    def test_the_server_continues_running(self):
        self.assertFails("(/ 1 0)")
        self.assertOperational()


class WarningHandling(mcp.TestCase):
    def test_a_warning_is_not_an_error_and_the_value_is_returned(self):
        report = self.s.evaluate('(warn "This is a warning") :ok')
        self.assertFalse(report.is_error)
        self.assertIn("[warnings]\nWARNING: This is a warning\n", report.text)
        self.assertValue(report, ":OK")

    def test_evaluation_continues_after_a_warning(self):
        report = self.assertEvaluates('(defvar *after* 0) (warn "w") (incf *after*) *after*', "1")
        self.assertEqual(1, len(report.warnings))


class ConditionTypesHandled(mcp.TestCase):
    def test_errors_and_serious_conditions_are_returned_as_errors(self):
        for name, code, expected in HANDLED_ERRORS:
            with self.subTest(name):
                self.assertFails(code, expected)

    def test_an_unbound_variable_is_named(self):
        report = self.assertFails("strange-variable-name", "UNBOUND-VARIABLE")
        self.assertIn("STRANGE-VARIABLE-NAME", report.message)

    def test_an_undefined_function_is_named(self):
        report = self.assertFails("(strange-function-name 1 2)", "UNDEFINED-FUNCTION")
        self.assertIn("STRANGE-FUNCTION-NAME", report.message)

    def test_a_warning_is_recorded_and_muffled(self):
        report = self.assertEvaluates("(handler-case (progn (warn \"muffled\") :went-on) (error () :no))", ":WENT-ON")
        self.assertEqual([("WARNING", "muffled")], report.warnings)
        self.assertEqual("", report.stderr, report.text)

    def test_a_style_warning_is_recorded_and_muffled(self):
        report = self.assertEvaluates("(progn (warn 'sb-int:simple-style-warning :format-control \"style\") :went-on)", ":WENT-ON")
        self.assertEqual([("STYLE-WARNING", "style")], report.warnings)

    def test_a_storage_condition_of_the_real_kind_is_an_error(self):
        report = self.assertFails("(let (l) (loop (push (make-array 1000000) l)))")
        self.assertRegex(report.error_type, "STORAGE-CONDITION|HEAP-EXHAUSTED")
        self.assertOperational()


class NoConditionLeaks(mcp.TestCase):
    def test_no_condition_reaches_the_protocol(self):
        codes = [code for _, code, _ in HANDLED_ERRORS] + [code for code, _ in TYPES]
        codes += ["(break)", "(invoke-debugger (make-condition 'warning))", "(throw 'nowhere 1)", "(signal 'error) :signalled"]
        for code in codes:
            with self.subTest(code):
                message = self.s.start_call("evaluate-lisp", code=code).response()
                self.assertIn("result", message)
        self.assertEqual([], self.s.stray)
        self.assertOperational()


class CounterexampleShape(mcp.TestCase):
    def test_the_server_does_not_crash_on_error_boom(self):
        self.assertFails('(error "boom")')
        self.assertTrue(mcp.is_alive(self.s.pid))

    def test_the_condition_type_is_not_missing(self):
        self.assertRegex(self.s.evaluate('(error "just a message")').text, r"^\[ERROR\] SIMPLE-ERROR\njust a message\n")

    def test_a_warning_does_not_stop_evaluation(self):
        self.assertEvaluates('(progn (warn "stop?") (list 1 2))', "(1 2)")

    def test_requests_after_an_error_do_not_fail(self):
        for _ in range(20):
            self.assertFails("(car 1)")
            self.assertOperational()

    def test_the_backtrace_is_not_missing(self):
        self.assertIn("\n\n[Backtrace]\n0: ", self.s.evaluate("(car 1)").text)

    def test_the_type_is_specific(self):
        self.assertEqual("TYPE-ERROR", self.assertFails('(length 5)').error_type)

    def test_no_condition_hangs_the_server(self):
        for code in ("(invoke-debugger (make-condition 'simple-condition))", "(break \"stop here\")", "(sb-debug:backtrace) (error 'error)",
                     "(read)", "(read-line *terminal-io*)", "(read-char *query-io*)", "(y-or-n-p \"really?\")",
                     "(let ((*debugger-hook* (lambda (c h) (declare (ignore c h)) nil))) (error \"hooked\"))"):
            with self.subTest(code):
                self.assertFails(code, wait=20)
        self.assertOperational()


class VerificationApproach(mcp.TestCase):
    def test_error_doesnt_crash(self):
        r1 = self.s.evaluate('(error "boom")')
        self.assertTrue(r1.is_error)
        self.assertIn("ERROR", r1.text)
        r2 = self.s.evaluate("(+ 1 2)")
        self.assertFalse(r2.is_error)

    def test_condition_type_preservation(self):
        cases = [
            ("(car 42)", "TYPE-ERROR"),
            ("(/ 1 0)", "DIVISION-BY-ZERO"),
            ("undefined-var", "UNBOUND-VARIABLE"),
            ("(undefined-func)", "UNDEFINED-FUNCTION"),
            ('(error "custom")', "SIMPLE-ERROR"),
        ]
        for code, expected in cases:
            with self.subTest(code):
                self.assertEqual(expected, self.assertFails(code).error_type)

    def test_warning_capture(self):
        report = self.s.evaluate('(warn "caution") :ok')
        self.assertFalse(report.is_error)
        self.assertEqual(":OK", report.value)
        self.assertEqual(1, len(report.warnings), report.text)
        self.assertIn("caution", report.warnings[0][1])

    def test_multiple_warnings(self):
        report = self.s.evaluate('(warn "w1") (warn "w2") (warn "w3") :done')
        self.assertFalse(report.is_error)
        self.assertEqual(["w1", "w2", "w3"], [message for _, message in report.warnings], report.text)
        self.assertEqual(":DONE", report.value)

    def test_backtrace_included(self):
        report = self.s.evaluate('(defun f () (error "fail")) (f)')
        self.assertTrue(report.is_error)
        self.assertIn("[Backtrace]", report.text)
        self.assertIn("(F)", report.frames)

    def test_output_before_error(self):
        report = self.s.evaluate('(format t "hello") (error "boom")')
        self.assertTrue(report.is_error)
        self.assertEqual("hello", report.stdout)

    def test_random_errors(self):
        for form in ('(error "test")', "(/ 1 0)", "(car 'not-a-cons)", "(funcall 'not-a-function)", "undefined-symbol", '(1+ "string")'):
            with self.subTest(form):
                self.assertTrue(self.s.evaluate(form).is_error)
        self.assertFalse(self.s.evaluate("(+ 1 2)").is_error)


class Generator(mcp.TestCase):
    """Random code that signals conditions: each is handled as its kind demands, and the server is operational after every one."""

    def one(self, chance):
        name = "v%d" % chance.randrange(10**6)
        leaf = chance.choice(
            [
                ("(error \"e~a\" %d)" % chance.randrange(100), "SIMPLE-ERROR"),
                ("(car %d)" % chance.randrange(100), "TYPE-ERROR"),
                ("(/ %d 0)" % chance.randrange(100), "DIVISION-BY-ZERO"),
                ("(mod %d 0)" % chance.randrange(100), "DIVISION-BY-ZERO"),
                ("unbound-%s" % name, "UNBOUND-VARIABLE"),
                ("(undefined-%s)" % name, "UNDEFINED-FUNCTION"),
                ("(symbol-function 'undefined-%s)" % name, "UNDEFINED-FUNCTION"),
                ("(+ %d \"%s\")" % (chance.randrange(100), name), "TYPE-ERROR"),
                ("(aref (vector 1 2 3) %d)" % chance.randrange(3, 1000), "INDEX"),
                ("(parse-integer \"%s\")" % name, "PARSE-ERROR"),
                ("(coerce \"%s\" 'hash-table)" % name, "ERROR"),
                ("(open \"/nonexistent/%s\")" % name, "FILE-"),
                ("(ecase %d (a 1))" % chance.randrange(100), "CASE-FAILURE"),
                ("(assert (= 1 %d))" % chance.randrange(2, 100), "ERROR"),
                ("(warn \"%s\")" % name, None),
                ("(warn 'style-warning)", None),
                ("(signal 'error)", None),
            ]
        )
        code, expected = leaf
        for _ in range(chance.randrange(4)):
            code = chance.choice(
                ["(progn %s)", "(let ((x 1)) (declare (ignorable x)) %s)", "(funcall (lambda () %s))", "(unwind-protect %s (list 1))",
                 "(list %s)", "(handler-case %s (sb-sys:interactive-interrupt () 1))", "(mapcar (lambda (x) (declare (ignore x)) %s) '(1))",
                 "(handler-bind ((condition (lambda (c) (declare (ignore c)) nil))) %s)"]
            ) % code
        return code, expected

    def test_random_conditions_are_handled(self):
        chance = self.random()
        for _ in range(300):
            code, expected = self.one(chance)
            report = self.s.evaluate(code)
            if expected:
                self.assertErrorReport(report, expected)
                self.assertIn("[Backtrace]", report.text)
            else:
                self.assertFalse(report.is_error, code + "\n" + report.text)
                if "warn" in code:
                    self.assertEqual(1, len(report.warnings), code + "\n" + report.text)
            self.assertOperational()


class EdgeCases(mcp.TestCase):
    def test_an_error_in_an_error_handler_is_reported_as_that_error(self):
        report = self.assertFails('(handler-bind ((error (lambda (c) (declare (ignore c)) (car (parse-integer "42"))))) (error "outer"))')
        self.assertEqual("TYPE-ERROR", report.error_type)
        self.assertOperational()

    def test_errors_in_handlers_100_deep_are_reported(self):
        report = self.assertFails(
            "(labels ((nest (n) (handler-bind ((error (lambda (c) (declare (ignore c)) (if (= n 0) (error \"the innermost\") (nest (1- n)))))) (error \"level ~d\" n)))) (nest 100))"
        )
        self.assertEqual("SIMPLE-ERROR", report.error_type)
        self.assertOperational()

    def test_a_handler_that_errors_on_every_error_ends(self):
        report = self.s.evaluate('(handler-bind ((error (lambda (c) (error "again: ~a" c)))) (error "first"))', wait=30)
        self.assertErrorReport(report)
        self.assertOperational()

    def test_a_very_long_error_message_is_bounded_and_keeps_its_type(self):
        report = self.assertFails("(error \"~a\" (make-string 5000000 :initial-element #\\m))", "SIMPLE-ERROR")
        self.assertLess(len(report.text), 1000000)
        self.assertIn("mmmmmmmm", report.message)
        self.assertIn("[Backtrace]", report.text)
        self.assertOperational()

    def test_an_error_in_an_initform_is_reported(self):
        report = self.assertFails("(defclass broken () ((x :initform (error \"no x\")))) (make-instance 'broken)", "SIMPLE-ERROR")
        self.assertEqual("no x", report.message)

    def test_an_error_in_initialize_instance_is_reported(self):
        self.s.evaluate("(defclass fragile () ())")
        self.s.evaluate("(defmethod initialize-instance :after ((f fragile) &key) (/ 1 0))")
        self.assertFails("(make-instance 'fragile)", "DIVISION-BY-ZERO")
        self.assertOperational()

    def test_an_error_in_class_definition_is_reported(self):
        self.assertFails("(defclass shared () ((x :allocation :class :initform (car 42)))) (make-instance 'shared)", "TYPE-ERROR")
        self.assertFails("(defclass impossible (integer) ())")
        self.assertFails("(progn (defclass orphan (no-such-parent) ()) (make-instance 'orphan))")
        self.assertOperational()

    def test_an_error_in_macro_expansion_is_reported_as_itself(self):
        self.assertFalse(self.s.evaluate("(defmacro explode () (error \"in the macro\"))").is_error)
        report = self.assertFails("(explode)", "SIMPLE-ERROR")
        self.assertIn("in the macro", report.message)
        report = self.assertFails("(defun uses-it () (explode)) (uses-it)", "SIMPLE-ERROR")
        self.assertIn("in the macro", report.message)
        self.assertOperational()

    def test_stack_overflow_from_infinite_recursion_is_an_error(self):
        report = self.assertFails("(labels ((f (n) (+ 1 (f (1+ n))))) (f 0))")
        self.assertRegex(report.error_type, "STORAGE-CONDITION|STACK-EXHAUSTED")
        self.assertIn("[Backtrace]", report.text)
        self.assertOperational()


if __name__ == "__main__":
    mcp.main()
