"""What replies say is so: counts, what failed, which tools there are, and which requests failed."""

import json
import os
import re
import signal

import mcp

FIVEAM = {
    "app.asd": '(defsystem "app" :depends-on ("fiveam") :components ((:file "app"))\n'
               '  :perform (test-op (o c) (uiop:symbol-call :fiveam :run! :app)))\n',
    "app.lisp": "(defpackage :app (:use :cl :fiveam)) (in-package :app)\n(def-suite :app) (in-suite :app)\n"
                "(defun half (x) (/ x 2))\n(test a (is (= 1 (half 2))) (is (= 2 (half 4))))\n"
                "(test b (is (= 3 (half 6))))\n(test c (is (= 5 (half 8)) \"a marker\"))\n",
}


class Tests(mcp.SessionTest):
    def test_tests_and_checks_are_counted_apart_and_each_failure_is_reported_once(self):
        client = self.start_server("--directory", mcp.write_files(self.folder(), FIVEAM))
        client.call("load-system", system="app")
        report = client.call("run-tests", system="app")
        self.assertIn("app: FAILED. 3 tests, 4 checks: 3 passed, 1 failed, 0 with an unexpected error (FiveAM).", report.text)
        self.assertEqual(1, report.text.count("a marker"), report.text)
        self.assertRegex(report.text, r"\nStandard output: \d+ bytes; get-output with ref \d+ shows them\.$")
        self.assertLess(len(report.text), 700, report.text)

    def test_a_run_that_a_restart_ends_is_reported_as_any_run(self):
        files = dict(FIVEAM)
        files["app.lisp"] = files["app.lisp"].replace('(is (= 5 (half 8)) "a marker")', "(is (= 5 (half (car 7))))")
        client = self.start_server("--directory", mcp.write_files(self.folder(), files))
        report = client.call("run-tests", system="app")
        self.assertIn("1 with an unexpected error", report.text)
        after = client.call("invoke-restart", restart="GO-ON")
        self.assertNotIn(":PASSED", after.text)
        self.assertIn("app: FAILED. 3 tests, 4 checks: 3 passed, 0 failed, 1 with an unexpected error (FiveAM).", after.text)

    def test_a_hint_is_given_once_to_the_errors_that_share_it(self):
        files = dict(FIVEAM)
        files["app.lisp"] = files["app.lisp"].replace('(is (= 5 (half 8)) "a marker")', "(is (exptt 2 3))") + "(test d (is (exptt 2 4)))\n"
        client = self.start_server("--directory", mcp.write_files(self.folder(), files))
        report = client.call("run-tests", system="app")
        self.assertIn("2 with an unexpected error", report.text)
        self.assertEqual(1, report.text.count("\n  hint: Did you mean EXPT (function)"), report.text)

    def test_a_passing_run_of_a_large_suite_is_short(self):
        report = self.s.call("run-tests", system="alexandria", wait=300)
        self.assertIn("alexandria: passed.", report.text)
        self.assertLess(len(report.text), 1000, report.text[:3000])


class Warnings(mcp.SessionTest):
    def test_all_are_counted_and_can_be_fetched(self):
        same = self.s.evaluate('(dotimes (i 2000) (warn "same"))').parts["warnings"]
        self.assertEqual("WARNING: same (2,000 times)", same)
        different = self.s.evaluate('(dotimes (i 2000) (warn "number ~d" i))').text
        self.assertRegex(different, r"get-output ref \d+ returns all warnings that were kept …\]\n\[1,500 more warnings were not kept\.\]\n")
        report = self.s.evaluate('(dotimes (i 300) (warn "number ~d" i))', max_output=500)
        self.assertLess(len(report.text), 700)
        ref = int(report.text.partition("get-output ref ")[2].partition(" ")[0])
        self.assertIn("WARNING: number 299\n", self.s.call("get-output", ref=ref).text)

    def test_undefined_names_beyond_the_first_are_counted(self):
        definitions = " ".join("(defun f%d () (nowhere%d))" % (n, n) for n in range(700))
        for code in (definitions, "(progn %s)" % definitions, "(progn %s (car 1))" % definitions):
            text = self.s.evaluate(code).text
            self.assertIn("undefined function: NOWHERE0\n", text)
            self.assertIn("[200 more warnings were not kept.]\n", text)

    def test_an_undefined_function_is_reported_where_it_is_called_first(self):
        report = self.s.evaluate("(defun a () (nowhere))\n(defun b () (nowhere))\n(defun c () (nowhere))")
        self.assertIn("line 1, column 13: STYLE-WARNING: undefined function: NOWHERE\n", report.text)

    def test_a_restart_does_not_report_old_warnings_again(self):
        self.s.evaluate('(progn (warn "old") (restart-case (error "stop") (go-on () (warn "new") 1)))')
        report = self.s.call("invoke-restart", restart="GO-ON")
        self.assertEqual([("WARNING", "new")], report.warnings)
        self.assertValue(report, "1")

    def test_output_that_the_program_captures_is_left_to_it(self):
        report = self.s.evaluate('(with-output-to-string (*error-output*) (warn "x"))')
        self.assertIn("WARNING: x", report.value)
        self.assertEqual([], report.warnings)

    def test_compiler_notes_are_called_notes(self):
        report = self.s.evaluate("(compile nil '(lambda (x y) (declare (optimize speed)) (+ x y)))")
        self.assertTrue(report.warnings)
        for kind, message in report.warnings:
            self.assertEqual(("COMPILER-WARNING", "note: "), (kind, message[:6]))


class Bounds(mcp.SessionTest):
    MOST = 10000  # characters of the reply that tells of an error

    def test_an_error_reply_is_bounded_whatever_is_in_it(self):
        for code in (
            "(error (make-string 70000 :initial-element #\\x))",
            "(progn (dotimes (i 3000) (print i)) (dotimes (i 3000) (print i *error-output*)) (error \"x\"))",
            "(progn (dotimes (i 300) (warn \"a warning with the number ~d\" i)) (error \"x\"))",
            "(labels ((f (n) (if (zerop n) (error \"~{~a~}\" (loop for i below 3000 collect i)) (1+ (f (1- n)))))) (f 60))",
            "(loop for i below 1000 collect i) " * 30 + "(error (make-string 70000 :initial-element #\\x))",
            "(restart-bind (#1=(a (lambda ()) :report-function (lambda (s) (dotimes (i 100) (princ i s))))) (error \"x\"))".replace("#1=", ""),
        ):
            with self.subTest(code):
                report = self.s.evaluate(code)
                self.assertTrue(report.is_error, report.text[:500])
                self.assertLess(len(report.text), self.MOST)
                self.assertIn("[ABORT]", report.text)
        self.assertGreater(len(self.s.call("describe-last-error").text), 0)

    def test_a_system_that_fails_to_load_is_reported_in_a_kilobyte(self):
        files = {"bad.asd": '(defsystem "bad" :components ((:file "bad")))', "bad.lisp": "(defun f (x)\n  (car x))\n(f 7)\n",
                 "worse.asd": '(defsystem "worse" :components ((:file "worse")))', "worse.lisp": "(defun f (x)\n  (let ((y 1 2)) x))\n"}
        client = self.start_server("--directory", mcp.write_files(self.folder(), files))
        for system, words in (("bad", "0: (F 7) at "), ("worse", "The LET binding spec (Y 1 2) is malformed.")):
            report = self.assertIsError(client.call("load-system", system=system, wait=120), words)
            self.assertRegex(report.text, r"\n\d+-\d+: \(\d+ frames of loading\)\n")
            self.assertLess(len(report.text.replace(mcp.ROOT, "")), 1024, report.text)

    def test_frames_whose_code_cannot_be_shown_have_no_line_for_it(self):
        self.s.evaluate("(defun endless (n) (1+ (endless (1+ n))))")
        self.assertIn("CONTROL-STACK-EXHAUSTED", self.s.evaluate("(endless 0)").text)
        text = self.s.call("get-backtrace", locals=True, max_frames=3).text
        self.assertRegex(text, r"\n2: \(ENDLESS \d+\)\n +N = \d+\n")
        self.assertNotIn("in #<", text)

    def test_the_error_in_a_system_s_definition_is_told_with_its_line(self):
        files = {"odd.asd": '(defsystem "odd" :components ())\n(defun helper (x) (list (car x)))\n(helper 5)\n'}
        client = self.start_server("--directory", mcp.write_files(self.folder(), files))
        report = client.call("load-system", system="odd", wait=120)
        self.assertRegex(report.text, r"\n\d: \(ASDF/USER::HELPER 5\) at .*/odd.asd:2\n\d+-\d+: \(\d+ frames of loading\)\n")
        self.assertLess(len(report.text), 1700, report.text)

    def test_the_frames_of_a_recursion_are_folded(self):
        report = self.s.evaluate('(progn (defun deep (n) (if (zerop n) (error "bottom") (1+ (deep (1- n))))) (defun top () (list (deep 50))) (list (top)))')
        self.assertIn("2: (DEEP 2)\n3-50: (48 frames of the same function)\n51: (TOP)\n", report.text)
        report = self.s.evaluate('(defun walk-all (n) (labels ((walk (n) (if (zerop n) (error "bottom") (1+ (walk (1- n)))))) (1+ (walk n)))) (list (walk-all 50))')
        self.assertRegex(report.text, r"2: \(\(LABELS WALK :IN WALK-ALL\) 2\)\n3-50: \(48 frames of the same function\)\n")

    def test_the_frames_of_a_test_framework_are_folded_by_its_name(self):
        self.assertFalse(self.s.call("load-system", system="fiveam", wait=200).is_error)
        report = self.s.evaluate("(defun inner (x) (car x)) (fiveam:test a (fiveam:is (= 1 (inner 5)))) (let ((fiveam:*on-error* :debug)) (fiveam:run! 'a))")
        self.assertRegex(report.text, r"\n\d+-\d+: \(\d+ frames of FiveAM\)\n")


class Degenerate(mcp.SessionTest):
    """What programs rarely contain must not take the report with it."""

    def test_a_restart_whose_test_fails_is_shown_with_the_others(self):
        report = self.s.evaluate('(restart-case (error "stop") (odd () :test (lambda (c) (car c)) 1) (go-on () 2))')
        self.assertErrorReport(report)
        self.assertIn("\nstop\n", report.text)
        self.assertIn("1. [ODD] ODD\n2. [GO-ON] GO-ON\n", report.text)
        self.assertValue(self.s.call("invoke-restart", restart="GO-ON"), "2")

    def test_a_default_value_may_be_circular(self):
        self.s.evaluate("(defun circular (&optional (x '#1=(1 . #1#))) x)")
        self.s.evaluate("(defun endless (&optional (x '#1=(#1#))) x)")
        report = self.s.evaluate("(circular 1 2 3)")
        self.assertIn("[Hint]\nThe arguments of CIRCULAR are (&OPTIONAL (X (QUOTE (1 1 1 ", report.text)
        self.assertSucceeds(self.s.call("list-definitions"), "- CIRCULAR (&OPTIONAL (X (QUOTE (1 1 1 ", "- ENDLESS (&OPTIONAL (X (QUOTE ((#)))))")

    def test_the_report_of_a_condition_is_called_once(self):
        self.s.evaluate("(defvar *calls* 0) (define-condition odd (error) () (:report (lambda (c s) c (incf *calls*) (write-string \"odd\" s))))")
        self.assertIn("\nodd\n", self.s.evaluate("(error 'odd)").text)
        self.assertEvaluates("*calls*", "1")

    def test_a_lambda_list_that_was_not_kept_is_not_shown_as_empty(self):
        self.s.evaluate("(locally (declare (optimize (debug 0))) (defun lean (x y) (list x y)) (defmacro lean-macro (x) x))")
        self.assertIn("\n  Arguments: (...)\n", self.s.call("describe-symbol", name="lean").text)
        self.assertIn("- LEAN (...)\n\n[Macros]\n- LEAN-MACRO (...)", self.s.call("list-definitions").text)
        report = self.s.evaluate("(lean 1)")
        self.assertErrorReport(report)
        self.assertNotIn("[Hint]", report.text)

    def test_a_frame_without_debug_information_has_no_place(self):
        self.s.evaluate("(defun lean (x) (declare (optimize (debug 0))) (+ 1 (car x)))")
        self.s.evaluate("(lean 5)")
        backtrace = self.s.call("get-backtrace", locals=True).text
        self.assertRegex(backtrace, r"\n0: \(.*\)\n")
        self.assertNotIn("#<?>", backtrace)

    def test_a_restart_is_invoked_when_its_name_cannot_be_printed(self):
        self.s.evaluate("(defun fails () (restart-case (error \"stop\") (go-on (x) :interactive (lambda () (list 1)) (list x))))")
        self.s.evaluate("(progn (set-pprint-dispatch 'symbol (lambda (s o) s o (error \"symbol\"))) (setf *print-pretty* t) 1)")
        self.assertErrorReport(self.s.evaluate("(fails)"))
        self.assertValue(self.s.call("invoke-restart", restart="GO-ON", value="11"), "(11)")

    def test_a_name_of_a_megabyte_is_cut(self):
        self.s.evaluate("(progn (defvar *name* (intern (make-string 1000000 :initial-element #\\Q))) nil)")
        self.s.evaluate("(progn (eval `(defun ,*name* (x) (if (plusp x) (1+ (,*name* (1- x))) (car x)))) nil)")
        report = self.s.evaluate("(funcall *name* 20)")
        self.assertErrorReport(report)
        self.assertRegex(report.text, r"\n0: \(Q{100,200}\.\.\. ")
        self.assertLess(len(report.text), 10000)

    def test_a_docstring_of_megabytes_is_cut(self):
        self.s.evaluate("(progn (defun f () 1) (setf (documentation 'f 'function) (make-string 10000000 :initial-element #\\newline)) nil)")
        self.assertSucceeds(self.s.call("describe-symbol", name="f"), "F names a compiled function")

    def test_a_long_ratio_is_not_printed_for_its_beginning(self):
        self.s.evaluate("(progn (defvar *r* (/ (ash 1 200000) 3)) nil)")
        self.assertIn("Value: #<a ratio of 200,003 bits>", self.s.call("describe-symbol", name="*r*").text)


class FailedRequests(mcp.SessionTest):
    def test_one_that_looks_in_a_package_or_watches_a_function_that_is_not_there_is_an_error(self):
        client = self.start_server("--tools", "full")
        for tool, arguments in (
            ("describe-symbol", {"name": "none:x"}), ("describe-symbol", {"name": "x", "package": "none"}), ("find-definition", {"name": "none:x"}),
            ("apropos-search", {"pattern": "x", "package": "none"}), ("who-calls", {"name": "none:x"}), ("complete-symbol", {"prefix": "none:x"}),
            ("macroexpand-form", {"form": "(x)", "package": "none"}), ("trace-functions", {"functions": ["none"]}),
            ("profile-functions", {"functions": ["none"]}), ("compile-form", {"code": "1", "package": "none"}),
        ):
            with self.subTest(tool):
                reply = client.call(tool, arguments)
                self.assertTrue(reply.is_error)
                self.assertRegex(reply.text, r"(?i)^There is no (package|function) none\.")
        reply = client.call("describe-symbol", name="no-such-symbol")
        self.assertEqual((False, "There is no symbol NO-SUCH-SYMBOL in the package CL-USER."), (reply.is_error, reply.text))


class MissingInPackage(mcp.SessionTest):
    def test_a_function_that_went_into_another_package_is_found(self):
        folder = mcp.write_files(self.folder(), {"p.lisp": "(defpackage :lost (:use :cl) (:export #:found))", "q.lisp": "(defun found () 1)"})
        for name in ("p.lisp", "q.lisp"):
            self.s.call("load-file", path=os.path.join(folder, name))
        self.assertEqual("CL-USER has a function FOUND: the file that defines it may lack (in-package :lost).", self.s.evaluate("(lost:found)").hint)


class Bytes(mcp.TestCase):
    """Replies are paid for by the byte."""

    def test_what_compilers_print_while_a_system_loads_is_kept_and_announced(self):
        folder = mcp.write_files(self.folder(), {"loud.asd": '(defsystem "loud" :components ((:file "loud")))', "loud.lisp": '(eval-when (:load-toplevel) (loop repeat 20 do (format t "; cc -o ~60a~%" 1)))',
                                         "quiet.asd": '(defsystem "quiet" :components ((:file "quiet")))', "quiet.lisp": '(princ "a word")'})
        client = self.start_server("--directory", folder)
        report = client.call("load-system", system="loud", wait=60)
        self.assertRegex(report.text, r"\nStandard output: 1,\d\d\d bytes; get-output with ref \d+ shows them\.\n\n=> T$")
        self.assertIn("; cc -o", client.call("get-output", ref=int(re.search(r"ref (\d+)", report.text)[1])).text)
        self.assertIn("a word", client.call("load-system", system="quiet", wait=60).stdout)

    def test_short_output_of_tests_is_shown(self):
        folder = mcp.write_files(self.folder(), {"app.asd": '(defsystem "app" :depends-on ("rt") :perform (test-op (o c) (eval (read-from-string "(progn (rt:deftest one (progn (princ \\"a word\\") 1) 1) (let ((*standard-output* (make-broadcast-stream))) (rt:do-tests)) (princ \\"a word\\"))"))))'})
        report = self.start_server("--directory", folder).call("run-tests", system="app", wait=60)
        self.assertRegex(report.text, r"^app: passed\. .*\n\nStandard output: a word$")

    def test_warnings_of_asdf_about_itself_are_left_out(self):
        folder = mcp.write_files(self.folder(), {"app.asd": '(defsystem "app" :perform (test-op (o c) (asdf:load-system "app")))'})
        report = self.start_server("--directory", folder).evaluate('(asdf:test-system "app")')
        self.assertNotIn("warnings", report.sections)

    def test_the_directory_of_the_machines_libraries_is_shortened(self):
        client = self.start_server("--tools=full")
        client.call("load-system", system="alexandria", wait=60)
        self.assertRegex(client.evaluate("(alexandria:iota 3 :step (list 1))").text, r"at …/alexandria/\S+\.lisp:\d+\n")
        self.assertIn("\n- alexandria (loaded): …/alexandria/alexandria.asd", client.call("list-systems", pattern="alexandria").text)


class Hints(mcp.SessionTest):
    def test_octets_of_another_encoding(self):
        place = self.folder() + "/latin"
        mcp.write(place, b"caf\xe9 au lait\n")
        expected = "The octets are in another encoding. Pass :external-format, such as :latin-1 or '(:utf-8 :replacement #\\?)."
        self.assertEqual(expected, self.s.evaluate('(with-open-file (in "%s") (read-line in))' % place).hint)
        self.assertEqual(expected, self.s.evaluate("(sb-ext:octets-to-string (coerce #(99 233 100 100) '(vector (unsigned-byte 8))) :external-format :utf-8)").hint)

    def test_a_source_in_another_encoding(self):
        text = "(defun gruss (x)\n  \"Grüße\"\n  (list x))\n".encode("latin-1")
        folder = mcp.write_files(self.folder(), {"s.lisp": text, "torn.lisp": text + b"(list\n", "s.asd": '(defsystem "s" :components ((:file "s")))',
                                                 "d.asd": '(defsystem "d" :description "ü")'.encode("latin-1")})
        client = self.start_server("--directory", folder)
        hint = 'The file is not in UTF-8. Convert it, or load it with (load "%s" :external-format :latin-1).'
        path = os.path.join(folder, "s.lisp")
        for report in (client.evaluate('(load "s.lisp")'), client.call("load-system", path=path), client.call("load-system", path=path, compile=True),
                       client.call("load-system", system="s"), client.call("run-tests", system="s")):
            self.assertEqual(hint % path, report.hint, report.text)
        self.assertEqual(hint % os.path.join(folder, "d.asd"), client.call("load-system", system="d").hint)
        place = "✗ Not UTF-8: the byte 0xFC at line 2, column 6. Convert the file, or load it with its :external-format, such as :latin-1."
        self.assertEqual(place, client.call("validate-syntax", path="s.lisp").text)
        self.assertTrue(client.call("validate-syntax", path="torn.lisp").text.startswith(place + "\n✗ Syntax invalid: a list is never closed"))
        client.evaluate('(load "s.lisp" :external-format :latin-1)')
        self.assertIn('"Grüße"\n  (list x))', client.call("find-definition", name="gruss").text)

    def test_a_structure_that_was_redefined(self):
        self.s.evaluate("(defstruct spot a) (defvar *spot* (make-spot)) (defun spot-of (s) (spot-a s))")
        self.s.evaluate("(handler-bind ((warning #'muffle-warning) (error #'continue)) (eval '(defstruct spot b a)))")
        for code in ("(spot-a *spot*)", "(spot-of (make-spot))"):
            self.assertIn("The structure SPOT was redefined: the object or the code that uses it is older.", self.s.evaluate(code).hint)

    def test_no_class_is_named_that_helps_nobody(self):
        self.assertEqual("", self.s.evaluate("(ecase 1 (2 3))").hint)

    def test_slots_that_repeat_the_message_are_left_out(self):
        for code in ("(car (length '(1)))", "(/ 1 (identity 0))", '(error \'file-error :pathname #p"/x/y")', "(macroexpand '(dolist))", '(intern "X" :nopkg)', "(defvar list)"):
            self.assertNotIn("Slots", self.s.evaluate(code).sections, code)
        self.s.evaluate("(define-condition broken (error) ((part :initarg :part) (why :initarg :why)) (:report (lambda (c s) (format s \"~a broke\" (slot-value c 'part)))))")
        for part in ('"cup"', "(CUP 1)", '#P"/a"', ":CUP"):
            self.assertEqual({"WHY": "NIL"}, self.s.evaluate("(error 'broken :part '%s :why nil)" % part).slots)
        # A part of a name or of a number says nothing.
        self.assertEqual({"WHY": "12"}, self.s.evaluate("(error 'broken :part 'cup-12-a12 :why 12)").slots)

    def test_a_form_that_cannot_be_compiled_is_shown_where_it_is_reached(self):
        path = mcp.write(self.folder() + "/f.lisp", "(defun f1 () (if))\n(defun f2 () (let ((a\n 1 2)) a))\n(defun f3 () (dolist))\n(defun f4 () (flet ((list () 1)) (list)))\n")
        for load in ("(load %s)", "(load (compile-file %s))"):
            self.s.evaluate(load % json.dumps(path))
            for call, form in (("(f1)", "got 0: (IF)"), ("(f2)", "is malformed: (LET ((A 1 2)) A)"), ("(f3)", "got 0: (DOLIST)"), ("(f4)", ": (FLET ((LIST () 1)) (LIST))")):
                self.assertIn(form.replace("()", "NIL"), self.s.evaluate(call).message.replace("()", "NIL"), load)
        self.assertIn("got 0: (IF)", self.s.evaluate("(funcall (compile nil '(lambda (x) (list (if) x))) 1)").message)

    def test_a_locked_package(self):
        own = "LIST belongs to COMMON-LISP. Use another name, or (:shadow #:list) in the DEFPACKAGE of your package."
        for code in ("(defun list (x) x)", "(defvar list 3)", "(defstruct list)", "(defmacro list ())", "(deftype list ())", "(progn (defun f () (flet ((list ())) (list))) (f))"):
            self.assertEqual(own, self.s.evaluate(code).hint, code)
        self.assertIn("ABS belongs to COMMON-LISP. Use another name", self.s.evaluate('(sb-alien:define-alien-routine "abs" sb-alien:int (x sb-alien:int))').hint)
        self.assertEqual("SB-ALIEN belongs to the Lisp. Use a symbol of your own package.", self.s.evaluate("(defun sb-alien::mine ())").hint)
        self.s.evaluate("(defpackage :peg (:use :cl) (:export :f)) (sb-ext:lock-package :peg)")
        for code in ("(defun peg:f ())", "(defun peg::g ())"):
            report = self.s.evaluate(code)
            self.assertEqual('PEG is locked against the code of other packages. Evaluate this with package: "PEG"; in a file, after (in-package "PEG").', report.hint)
            self.assertSucceeds(self.s.evaluate(code, package="PEG"))

    def test_the_cheapest_frame_to_call_again_after_a_long_evaluation(self):
        self.s.evaluate("(defvar *fetched* 0) (defun fetch () (incf *fetched*) (sleep 1) '(1 x))"
                        "(defun total (parts) (reduce #'+ parts)) (defun post (parts) (let ((sum (total parts))) (list sum))) (defun work () (list (post (fetch))))")
        report = self.s.evaluate("(work)")
        frame = [call.split()[0] for call in report.frames].index("(TOTAL")
        self.assertEqual("restart-frame with frame: %d calls TOTAL again, with nothing before it repeated." % frame, report.hint)
        self.s.evaluate("(defun total (parts) (count-if #'numberp parts))")
        self.assertValue(self.s.call("restart-frame", frame=frame, index=self.s.newest_error()), "((1))")
        self.assertValue(self.s.evaluate("*fetched*"), "1")
        # Nothing is offered where nothing is saved, or no frame can be called again.
        self.assertEqual("", self.s.evaluate("(post '(1 x))").hint)
        self.assertEqual("", self.s.evaluate("(progn (sleep 1) (funcall (lambda (x) (list (car x))) (length '(1))))").hint)


class Structures(mcp.SessionTest):
    def test_the_functions_of_a_structure_are_listed_with_it(self):
        self.s.evaluate("(defstruct (spot (:conc-name at-) (:constructor spot (x y))) x y) (defun spot-sum (s) (+ (at-x s) (at-y s)))"
                        "(defstruct (dot (:copier nil)) size) (defun copy-dot (d) d)")
        self.assertEqual("[Functions]\n- COPY-DOT (D)\n- MAKE-DOT (&KEY ((:SIZE SIZE) NIL))\n- SPOT (X Y)\n- SPOT-SUM (S)\n\n"
                         "[Classes]\n- DOT (SIZE), accessors: DOT-SIZE\n- SPOT (X Y), accessors: AT-X, ...",
                         self.s.call("list-definitions").text)


class Packages(mcp.SessionTest):
    def test_code_in_a_frame_is_read_where_its_method_was_written(self):
        self.s.evaluate("(defpackage :lib (:use :cl) (:export :serve)) (defgeneric lib:serve (request)) (defvar *served* 7)")
        self.s.evaluate("(defmethod lib:serve (request) (declare (optimize debug)) (error \"no ~a\" request))")
        self.s.evaluate("(lib:serve 3)")
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(list request *served*)"), "(3 7)")

    def test_a_name_offered_in_a_frame_of_another_package_can_be_used_there(self):
        self.s.evaluate("(defpackage :lib (:use :cl)) (defvar *served* 7) (in-package :lib)"
                        "(defun serve (x) (declare (optimize debug)) (error \"no ~a\" x)) (in-package :cl-user)")
        self.s.evaluate("(lib::serve 3)")
        self.assertEqual("Did you mean COMMON-LISP-USER::*SERVED* (variable, not exported)?",
                         self.s.call("evaluate-in-frame", frame=0, code="(list x *served*)").hint)


class Unreadable(mcp.SessionTest):
    def test_a_spoilt_readtable_is_named_and_the_way_back_leads_back(self):
        for code in ("(set-macro-character #\\( (lambda (s c) (error \"paren\")))", "(set-syntax-from-char #\\( #\\a)"):
            self.s.evaluate(":before")
            self.s.evaluate(code)
            report = self.s.evaluate("(+ 1 2)")
            self.assertIn("The session's readtable does not read ( as the standard one does. rollback-session restores", report.hint)
            self.s.call("rollback-session", to=-2)
            self.assertEqual("=> 3", self.s.evaluate("(+ 1 2)").text)


class Excerpts(mcp.SessionTest):
    def test_the_surroundings_of_a_match_in_a_long_line_are_shown(self):
        report = self.s.evaluate("(loop for i below 9000 collect i)")
        ref = int(re.search(r"get-output ref (\d+)", report.text).group(1))
        text = self.s.call("get-output", ref=ref, pattern="7654").text
        self.assertRegex(text, r"^1: \.\.\.[^\n]* 7653 7654 7655 [^\n]*\.\.\.\n1 line matches\.$")
        self.assertLess(len(text), 1100)

    def test_the_form_of_a_warning_is_a_part_of_one_line(self):
        report = self.s.evaluate('(defun long-one ()\n  (no-such-function%s))' % (' "that is\nlong"' * 20))
        lines = report.parts["warnings"].splitlines()
        self.assertEqual(2, len(lines), report.text)
        self.assertLess(len(lines[1]), 120)
        self.assertTrue(lines[1].startswith('    in (NO-SUCH-FUNCTION "that is long" "that is long" '), lines[1])


class UserTools(mcp.SessionTest):
    TOOL = '(cl-mcp:define-tool from-a-file () "hello")'

    def listed(self, client):
        return [tool["name"] for tool in client.request("tools/list")["tools"] if tool["name"].startswith("user-")]

    def test_tools_of_a_file_that_every_session_loads_are_in_the_first_listing(self):
        path = os.path.join(mcp.write_files(self.folder(), {"tools.lisp": self.TOOL}), "tools.lisp")
        self.assertEqual(["user-from-a-file"], self.listed(self.start_server("--load", path)))
        self.assertEqual([], self.listed(self.s))

    def test_tools_of_a_saved_session_are_in_the_first_listing(self):
        options = ("--persist", "--state-dir", self.folder())
        client = self.start_server(*options)
        client.evaluate(self.TOOL)
        client.close(wait=60)
        restarted = self.start_server(*options)
        self.assertEqual(["user-from-a-file"], self.listed(restarted))
        os.kill(restarted.pid, signal.SIGKILL)  # it would save the session once more
        restarted.destroy()


class Journal(mcp.SessionTest):
    def test_the_report_of_a_return_counts_all_definitions_and_names_those_that_failed(self):
        client = self.start_server("--checkpoints", "off")
        client.evaluate("(defvar *where* :here)")
        client.evaluate("(progn (setf *where* :there) nil)")
        for n in range(4):
            client.evaluate("(defun f%d () %d)" % (n, n))
        client.evaluate("(defun only-there () (if (eq *where* :there) 1 0)) (defparameter *made* (if (eq *where* :there) 1 (error \"not there\")))")
        report = client.evaluate("(sb-ext:exit :code 3 :abort t)")
        self.assertIn("7 definitions were evaluated again, 1 of them failed;", report.session)
        self.assertIn('failed: (DEFPARAMETER *MADE* (IF # 1 #)): not there', report.session)

    def test_the_forms_whose_effects_are_lost_are_marked(self):
        client = self.start_server("--checkpoints", "off")
        client.evaluate("(defparameter *x* 10)")
        client.evaluate("(incf *x*)")
        report = client.evaluate("(sb-ext:exit :code 3 :abort t)")
        self.assertIn("\nEvaluated since that state:\n  1: (defparameter *x* 10)\n  2, lost: (incf *x*)", report.session)


class NotInSilence(mcp.SessionTest):
    def test_a_cleanup_form_that_fails_is_told_by_the_next_reply(self):
        for failing, told in (('(error "in the cleanup")', "SIMPLE-ERROR: in the cleanup"), ("(loop)", "INTERRUPTED: ")):
            number = self.assertFails('(unwind-protect (error "first") %s)' % failing).error_number
            report = self.s.evaluate("(+ 1 1)")
            self.assertValue(report, "2")
            self.assertIn("When error %d was left, a cleanup form of its evaluation did not finish: %s" % (number, told), report.session)
            self.assertNotIn("cleanup", self.s.evaluate("(+ 1 1)").text)

    def test_a_cleanup_form_that_failed_does_not_run_again(self):
        """A later death returns the session to the state after the unwinding, not to the error."""
        path = self.folder() + "/runs"
        append = '(with-open-file (s "%s" :direction :output :if-exists :append :if-does-not-exist :create) (princ "x" s))' % path
        self.assertFails('(unwind-protect (error "first") %s (error "in the cleanup"))' % append)
        for _ in range(2):
            self.s.evaluate("(sb-ext:exit :abort t)")
        self.assertEqual("x", mcp.read(path))

    def test_what_ends_well_is_not_told(self):
        self.assertFails('(unwind-protect (error "first") (ignore-errors (error "handled")))')
        self.assertEqual("=> 2", self.s.evaluate("(+ 1 1)").text)

    @mcp.own_lisp("*DEBUGGER-HOOK* is the person's")
    def test_a_debugger_hook_that_aborts_is_named(self):
        self.s.evaluate("(setf *debugger-hook* (lambda (condition hook) (declare (ignore condition hook)) (abort)))")
        for code in ('(error "kept from you")', "(list 1 2))"):
            self.assertIn("\n; *DEBUGGER-HOOK* is set and is called at each error.", self.s.evaluate(code).text)
        self.s.evaluate("(setf *debugger-hook* nil)")
        self.assertEqual("; No values: the restart ABORT ended the evaluation", self.s.evaluate("(abort)").text)

    def test_a_missing_dependency_says_where_to_look(self):
        client = self.start_server("--directory", mcp.write_files(self.folder(), {
            "needy.asd": '(defsystem "needy" :depends-on ("xyzzy-12345"))'}))
        report = client.call("load-system", system="needy")
        self.assertIn("xyzzy-12345", report.message)
        self.assertIn("list-systems lists the systems that are found here", report.hint)

    def test_an_edit_that_changes_nothing_says_so(self):
        client = self.start_server("--directory", mcp.write_files(self.folder(), {"a.lisp": "(defun f (x) (list x))\n"}))
        reply = client.call("patch-form", path="a.lisp", kind="defun", name="f", old_text="list", new_text="list")
        self.assertEqual("a.lisp already has this text. Nothing was changed.", reply.text)

    def test_output_that_was_never_cut_is_not_numbered_from_0(self):
        self.s.evaluate("(+ 1 1)")
        self.assertEqual("No output of session default was truncated yet, so none is kept.", self.s.call("get-output", ref=1).text)


class OtherNames(mcp.SessionTest):
    def test_names_that_agents_give_to_arguments_are_accepted(self):
        for tool, arguments, part in (
            ("macroexpand-form", {"code": "(when 1 2)"}, "(if 1"),
            ("explain-dispatch", {"expression": "(print-object 1 *standard-output*)"}, "PRINT-OBJECT is a generic function"),
            ("describe-symbol", {"symbol": "car"}, "CAR is a symbol"),
            ("who-calls", {"function": "no-such-function"}, "NO-SUCH-FUNCTION"),
            ("apropos-search", {"query": "multiple-value-b"}, "MULTIPLE-VALUE-BIND"),
            ("describe-system", {"name": "asdf"}, "System asdf"),
            ("validate-syntax", {"file": "no-such.lisp"}, "no-such.lisp"),
            ("kill-thread", {"name": "nobody"}, "No thread nobody"),
            ("close-session", {"name": "no-session"}, "no-session"),
            ("rollback-session", {"name": "no-state"}, "There is no such checkpoint"),
            ("invoke-restart", {"name": "RETRY", "error": 77}, "77"),
            ("patch-form", {"file_path": "no.lisp", "kind": "defun", "name": "f", "old_string": "a", "new_string": "b"}, "no.lisp"),
        ):
            reply = self.s.call(tool, arguments)
            self.assertIn(part, reply.text, tool)
            self.assertNotIn("Unknown argument", reply.text)

    def test_a_name_that_the_tool_has_is_not_taken_for_another(self):
        self.assertIn("given twice", self.s.call("describe-symbol", {"symbol": "car", "name": "cdr"}).text)
        self.assertIn("Unknown argument", self.s.call("measure-code", {"name": "print-object"}).text)


PLACES = '(defun wide (x)\n  (let ((unused 1))\n    (+ x "a")))\n(defun deep (y)\n  (list (wide 1 2)\n        (nowhere y)))\n'
PLACES_TOLD = (("line 2, column 9", "STYLE-WARNING: The variable UNUSED is defined but never used.", "(UNUSED 1)"),
               ("line 3, column 5", "WARNING: Constant \"a\" conflicts with its asserted type NUMBER.", "(+ X \"a\")"),
               ("line 5, column 9", "The function WIDE is called with two arguments, but wants exactly one.", "(WIDE 1 2)"),
               ("line 6, column 9", "STYLE-WARNING: undefined function: NOWHERE", "(NOWHERE Y)"))


class Places(mcp.SessionTest):
    def assertPlaces(self, text):
        for place, message, form in PLACES_TOLD:
            message = re.escape(message.split("WARNING: ")[-1])
            self.assertRegex(text, r"%s: ([A-Z-]+: )?%s\n +in %s" % (place, message, re.escape(form)))

    def test_a_warning_about_evaluated_code_says_line_column_and_form(self):
        self.assertPlaces(self.s.evaluate(PLACES).text)

    def test_compile_form_says_line_column_and_form(self):
        self.assertPlaces(self.s.call("compile-form", code=PLACES).text)

    def test_a_file_that_the_code_itself_loads_or_compiles_does_too(self):
        path = self.file("; \u03bb\n" + PLACES, "places.lisp")
        # The comment is one line more.
        shifted = re.compile(r"line (\d+)")
        for code in ('(load "%s")', '(compile-file "%s")'):
            text = self.s.evaluate(code % path).text
            self.assertIn(path + ": ", text)
            self.assertPlaces(shifted.sub(lambda m: "line %d" % (int(m.group(1)) - 1), text))

    def test_a_warning_about_what_a_macro_made_has_the_place_of_what_it_was_given(self):
        text = self.s.evaluate("(progn\n (defun h (x)\n  (car 5)))").text
        self.assertIn("line 2, column 11: STYLE-WARNING: The variable X is defined but never used.\n", text)
        self.assertIn("line 3, column 3: WARNING: Constant 5 conflicts", text)

    def test_a_warning_that_the_program_signals_has_none(self):
        self.assertEqual("[warnings]\nWARNING: told\n\n=> NIL", self.s.evaluate('(warn "told")').text)
