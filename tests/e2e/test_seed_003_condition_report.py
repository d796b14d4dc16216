"""Seed 003, the condition report contract, against the real server. A class for each section of the seed; besides

Condition Response Structure         seed 001, test_the_error_is_in_the_tool_result_not_a_protocol_error
Required Fields, Backtrace           CommonConditionTypes
"""

import re

import mcp


class OptionalFields(mcp.SessionTest):
    def test_the_slots_of_typed_conditions_are_included(self):
        report = self.assertFails("(aref (vector 1 2) (identity 7))", "SB-INT:INVALID-ARRAY-INDEX-ERROR")
        self.assertEqual("#(1 2)", report.slots["ARRAY"])
        # Those of a type error are in its message.
        report = self.assertFails('(+ 1 (identity "hello"))', "TYPE-ERROR")
        self.assertEqual('The value "hello" is not of type NUMBER', report.message)

    def test_the_slots_of_the_users_conditions_are_included(self):
        report = self.assertFails("(define-condition out-of-stock (error) ((item :initarg :item) (left :initarg :left))) (error 'out-of-stock :item \"tea\" :left 0)")
        self.assertEqual({"ITEM": '"tea"', "LEFT": "0"}, report.slots)


class CommonConditionTypes(mcp.SessionTest):
    """The example messages are the standard's and other implementations'; what they name must be named."""

    def assertReported(self, code, error_type, *named, **arguments):
        report = self.assertFails(code, error_type, **arguments)
        for pattern in named:
            self.assertRegex(report.message, re.compile(pattern, re.IGNORECASE), report.text)
        self.assertIn("[Backtrace]", report.text)
        return report

    def test_evaluation_reader_and_system_conditions(self):
        for code, error_type, *named in (
            ("(foo 1)", "UNDEFINED-FUNCTION", r"^The function FOO is undefined\.$"),
            ("x", "UNBOUND-VARIABLE", r"^The variable X is unbound\.$"),
            ('(+ 1 (identity "hello"))', "TYPE-ERROR", r'^The value "hello" is not of type NUMBER'),
            ("(/ 10 (identity 0))", "DIVISION-BY-ZERO", r"arithmetic error.*division.by.zero"),
            ('(intern "X" "NONEXISTENT")', "PACKAGE", r'"NONEXISTENT"'),
            ("(error 'package-error :package \"NONEXISTENT\")", "PACKAGE-ERROR"),
            ("(list 1 2))", "READER-ERROR", "unmatched close parenthesis"),
            ("(list 1 2", "END-OF-FILE", "end of file"),
            ("(error 'serious-condition)", "SERIOUS-CONDITION"),
        ):
            with self.subTest(code):
                report = self.assertReported(code, error_type, *named)
                self.assertNotEqual([], report.frames)
                if named and error_type not in ("PACKAGE", "READER-ERROR", "END-OF-FILE"):
                    self.assertEqual(error_type, report.error_type)

    @mcp.own_lisp("its heap is the person's")
    def test_storage_condition(self):
        report = self.assertFails("(let ((l nil)) (loop (push (make-array 500000) l)))")
        self.assertRegex(report.error_type, "STORAGE-CONDITION|HEAP-EXHAUSTED")
        self.assertRegex(report.message, re.compile("heap", re.IGNORECASE))


class BacktraceFormat(mcp.SessionTest):
    def test_the_example_is_reported_as_the_contract_shows_it(self):
        self.s.evaluate("(declaim (optimize (debug 2)))")
        self.s.evaluate(
            '(defun foo (a b c) (error "in foo: ~a" (list a b c))) (defun bar (x) (list (foo 1 2 3) x)) (defun user-function () (list (bar :x)))'
        )
        report = self.assertFails("(user-function)")
        self.assertEqual(["(FOO 1 2 3)", "(BAR :X)", "(USER-FUNCTION)", "(EVAL (USER-FUNCTION))"], report.frames, report.text)
        self.assertRegex(report.parts["Backtrace"], r"\A0: \(FOO 1 2 3\).*\n1: \(BAR :X\).*\n2: \(USER-FUNCTION\).*\n3: \(EVAL \(USER-FUNCTION\)\)")


class BacktraceRules(mcp.SessionTest):
    def test_1_at_most_20_frames_are_shown(self):
        # Two functions in turn: the frames of one alone are folded.
        report = self.assertFails('(defun deep (n) (if (zerop n) (error "bottom") (1+ (deeper (1- n))))) (defun deeper (n) (1+ (deep n))) (deep 100)')
        self.assertEqual(20, len(report.frames), report.text)
        self.assertEqual("(DEEP 0)", report.frames[0])
        self.assertRegex(report.parts["Backtrace"].splitlines()[-1], r"\d+")

    def test_2_internal_frames_are_skipped(self):
        for code in ("(car (identity 42))", '(error "x")', "(funcall (lambda () (/ 1 (identity 0))))", "(no-such-function)", "no-such-variable", '(warn "w") (error "x")',
                     "(handler-bind ((error (lambda (c) (declare (ignore c)) nil))) (error \"x\"))"):
            with self.subTest(code):
                report = self.assertFails(code)
                for frame in report.frames:
                    self.assertNotRegex(
                        frame,
                        r"^\(\(?(?:LAMBDA .* :IN )?(?:SB-INT:SIMPLE-EVAL-IN-LEXENV|SB-IMPL::%SIMPLE-EVAL|SB-IMPL::SIMPLE-EVAL|SB-INT:EVAL-IN-LEXENV|SB-KERNEL::%SIGNAL|SIGNAL|"
                        r"INVOKE-DEBUGGER|SB-DEBUG::|SB-KERNEL:INTERNAL-ERROR|SB-KERNEL::INVOKE-HANDLER|ERROR |CERROR |CL-MCP)",
                        report.text,
                    )
                self.assertTrue(report.frames[-1].startswith("(EVAL "), report.text)

    def test_3_it_starts_from_the_point_of_error(self):
        report = self.assertFails('(defun culprit () (error "here")) (defun innocent () (list (culprit))) (innocent)')
        self.assertEqual("(CULPRIT)", report.frames[0], report.text)

    def test_4_long_argument_lists_are_truncated_with_dots(self):
        names = " ".join("p%d" % n for n in range(60))
        report = self.assertFails(
            "(defun many (%s) (declare (optimize (debug 3))) (error \"many: ~a\" (list %s))) (many %s)"
            % (names, names, " ".join(str(n) for n in range(60)))
        )
        frame = report.frames[0]
        self.assertTrue(frame.startswith("(MANY 0 1 2"), report.text)
        self.assertTrue(frame.rstrip(")").endswith("..."), report.text)
        self.assertLess(len(frame), 1000)

    def test_5_unprintable_objects_are_shown_as_such(self):
        report = self.assertFails(
            '(defclass opaque () ()) (defmethod print-object ((o opaque) stream) (error "no")) '
            '(defun takes (o) (declare (optimize (debug 2))) (error "with ~a" (class-name (class-of o)))) (takes (make-instance \'opaque))'
        )
        self.assertRegex(report.frames[0], r"^\(TAKES #<.*>\)$", report.text)
        report = self.assertFails('(takes (make-hash-table))')
        self.assertRegex(report.frames[0], r"^\(TAKES #<.*>\)$", report.text)


class WarningReportFormat(mcp.SessionTest):
    def test_the_example_is_reported_as_the_contract_shows_it(self):
        result = self.s.start_call(
            "evaluate-lisp",
            code="(warn 'sb-int:simple-style-warning :format-control \"Using deprecated function OLD-FN.\")"
            ' (warn "Undefined variable assumed special.") 42',
        ).result()
        self.assertEqual(
            "[warnings]\nSTYLE-WARNING: Using deprecated function OLD-FN.\nWARNING: Undefined variable assumed special.\n\n=> 42",
            result["content"][0]["text"],
        )
        self.assertFalse(result.get("isError", False))


class WarningTypes(mcp.SessionTest):
    def test_an_unused_variable_is_a_style_warning(self):
        report = self.assertEvaluates("(defun unused (x) 1)", "UNUSED")
        self.assertEqual(["STYLE-WARNING"], [kind for kind, _ in report.warnings], report.text)
        self.assertRegex(report.warnings[0][1], "X")

    def test_deprecated_usage_is_a_warning(self):
        report = self.assertEvaluates('(warn "deprecated usage") 1', "1")
        self.assertEqual([("WARNING", "deprecated usage")], report.warnings)
        report = self.s.evaluate("(defun old () 1) (declaim (sb-ext:deprecated :early (\"us\" \"1.0\") (function old))) (defun caller () (old)) :defined")
        self.assertFalse(report.is_error, report.text)
        self.assertRegex(report.parts.get("warnings", ""), "(?s)deprecat", report.text)

    def test_an_undefined_variable_is_a_warning(self):
        report = self.assertEvaluates("(defun uses-it () undefined-special)", "USES-IT")
        self.assertEqual(["WARNING"], [kind for kind, _ in report.warnings], report.text)
        self.assertIn("UNDEFINED-SPECIAL", report.warnings[0][1])

    def test_optimization_notes_are_compiler_warnings(self):
        # EVAL of a DEFUN makes no notes in SBCL; COMPILE does.
        report = self.assertEvaluates("(values (compile 'slow '(lambda (x y) (declare (optimize (speed 3))) (+ x y))))", "SLOW")
        self.assertIn("COMPILER-WARNING", {kind for kind, _ in report.warnings}, report.text)

    def test_the_users_own_warning_class_keeps_its_name(self):
        report = self.assertEvaluates(
            "(define-condition low-stock (warning) () (:report \"stock is low\")) (warn 'low-stock) 1", "1")
        self.assertEqual([("LOW-STOCK", "stock is low")], report.warnings)


class ErrorWithOutput(mcp.SessionTest):
    def test_output_comes_first_as_the_contract_shows_it(self):
        report = self.assertFails('(progn (format t "Processing item 1...~%Processing item 2...~%") (/ 1 (identity 0)))')
        self.assertTrue(
            report.text.startswith("[stdout]\nProcessing item 1...\nProcessing item 2...\n\n[ERROR] DIVISION-BY-ZERO\n"), report.text)
        self.assertRegex(report.message, re.compile("arithmetic error.*division.by.zero", re.IGNORECASE))
        self.assertIn("\n\n[Backtrace]\n", report.text)


class ImplementationNotes(mcp.SessionTest):
    def test_warnings_are_recorded_and_errors_end_the_evaluation(self):
        """What the sketch with handler-bind is for."""
        report = self.assertFails('(progn (warn "first") (error "then") (warn "never"))', "SIMPLE-ERROR")
        self.assertEqual([("WARNING", "first")], report.warnings)

    def test_the_users_handlers_come_before_ours(self):
        self.assertEvaluates('(handler-case (error "x") (error () :handled))', ":HANDLED")
        self.assertEvaluates('(handler-case (warn "x") (warning () :handled))', ":HANDLED")
        self.assertEqual("NIL", self.s.evaluate('(ignore-errors (error "x"))').value)
        self.assertEvaluates('(handler-bind ((error (lambda (c) (declare (ignore c)) (invoke-restart (quote continue))))) (cerror "go on" "x") :went-on)', ":WENT-ON")
