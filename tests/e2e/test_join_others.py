"""Joining Lisps other than SBCL: what works in each, compared with the table in docs/implementations.md."""

import os
import re
import unittest

import joining
import mcp
import swank_client

TABLE = os.path.join(mcp.ROOT, "docs", "implementations.md")


def table_of(column):
    """What the page says of each row for the Lisp whose name begins the column's heading."""
    with open(TABLE, encoding="utf-8") as f:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in f if line.startswith("|")]
    place = next(i for i, heading in enumerate(rows[0]) if heading.lower().startswith(column))
    return {row[0]: row[place] for row in rows[2:]}


class Joined:
    """One image for all tests of a class, and one server."""

    shares_server = True
    lisp = None

    @classmethod
    def setUpClass(cls):
        folder = mcp.tempfile.mkdtemp(prefix="cl-mcp-test-")
        cls.addClassCleanup(mcp.shutil.rmtree, folder, True)
        cls.image = joining.Image(folder, lisp=cls.lisp)
        cls.addClassCleanup(cls.image.end)
        cls.options = ("--attach", cls.image.address, "--tools", "full")
        super().setUpClass()

    def person(self):
        person = self.image.person()
        self.addCleanup(person.close)
        return person

    def works(self, tool, expected, **arguments):
        """True if the tool replies with this."""
        reply = self.s.call(tool, {name.replace("_", "-").strip("-"): value for name, value in arguments.items()})
        return re.search(expected, reply.text) is not None and "cannot" not in reply.text

    def evaluates(self, code, *values, **named):
        report = self.s.evaluate(code, **named)
        return not report.is_error and report.values == list(values)

    def stands(self):
        return "can be entered" in self.s.call("list-errors").text

    def interrupts(self, code):
        text = self.s.evaluate(code, timeout=1).text
        self.assertRegex(text, "TIMEOUT")
        return "interrupted where it was" in text

    def is_found_in_its_file(self):
        path = self.file("(cl:in-package :cl-user)\n\n(defun in-a-file (x)\n  (* 2 x))\n")
        self.s.call("load-file", path=path)
        return self.works("find-definition", re.escape(path), name="in-a-file")

    def number_of(self, text):
        """The number of the error with this text, which the agent has looked at after it opened; None if there is none for long."""
        seen = []
        try:
            mcp.wait_until(lambda: seen.append(re.search(r"(?m)^(\d+)\. .*%s \(can be" % text, self.s.call("list-errors").text)) or seen[-1], 5, text)
        except mcp.TimedOut:
            return None
        return int(seen[-1].group(1))

    def await_told(self, text):
        """The agent has seen it soon after it opened, and the next reply tells of it."""
        mcp.wait_until(lambda: text in self.s.evaluate("(+ 1 2)").text, 5, text)

    def held_error_has_a_number(self):
        person = self.person()
        failing = person.begin('(swank:interactive-eval "(error \\"of the person\\")")')
        thread = person.debugger("of the person")
        self.await_told("of the person")
        has_number = self.number_of("of the person") is not None
        person.leave_debugger(thread)
        with self.assertRaises(swank_client.Aborted):
            person.end(failing)
        return has_number

    def made_thread_reports(self, code, text):
        """The next replies tell of the error of a thread that an evaluation makes, and nothing opens for a person."""
        making = {"ecl": '(mp:process-run-function "made" (lambda () %s))', "abcl": '(threads:make-thread (lambda () %s) :name "made")'}[self.lisp]
        self.s.evaluate("(progn %s nil)" % making % code)
        try:
            mcp.wait_until(lambda: self.s.evaluate("1") and text in self.s.call("list-errors").text, 10, text)
        except mcp.TimedOut:
            return False
        return self.image.is_alive()

    def try_with_a_person(self):
        person = self.person()
        person.evaluate("(defun of-both () :the-persons)")
        finds = self.works("find-definition", ":the-persons", name="of-both")
        lock = {"ecl": '(mp:with-lock ((mp:make-lock :name "db")) (error "locked"))', "abcl": '(threads:synchronized-on (list 1) (error "locked"))'}[self.lisp]
        return {
            "`find-definition` of what the person has evaluated": finds,
            "what replaces a definition of the other's is told": "OF-BOTH: replaces the person's of" in self.s.evaluate("(defun of-both () 2)").text,
            "a thread that an evaluation makes is the agent's: its errors": self.made_thread_reports('(error "of a made thread")', "of a made thread"),
            "a thread that an evaluation makes does not end the Lisp": self.made_thread_reports("(ext:quit)", "would end the image"),
            "the locks that an error holds are told, and freed when the program waits": " holds " in self.s.evaluate(lock).text,
            "`max-memory` stops what fills the heap": not self.evaluates("(member 'cl-mcp-agent::watch-heap cl-mcp-agent::*implemented-operations*)", "NIL"),
        }

    def try_each(self):
        """What works here: a dictionary of the rows of the table."""
        self.s.evaluate("(defclass shape () ((size :initarg :size :initform 1)))")
        self.s.evaluate("(defgeneric area (shape))")
        self.s.evaluate("(defmethod area ((shape shape)) (* 2 (slot-value shape 'size)))")
        self.s.evaluate("(defmacro unless-zero (x) `(if (zerop ,x) nil ,x))")
        self.s.evaluate('(defun share (number divisor) "Divide." (let ((whole (list number))) (list (/ number divisor) whole)))')
        works, evaluates = self.works, self.evaluates
        can = {
            "evaluate: values, output, warnings, `stdin`": evaluates('(values 1 (read-line))', "1", '"a line"', stdin="a line"),
            "an exhausted stack is an error like others": "STORAGE-CONDITION" in self.s.evaluate(
                "(labels ((deeper (n) (1+ (deeper (1+ n))))) (deeper 1))").text,
            "a time limit interrupts code that waits or sleeps": self.interrupts("(sleep 100)"),
            # When ABCL looks for interrupts depends on what Java makes of the code.
            "a time limit interrupts code that computes": None if self.lisp == "abcl" else self.interrupts("(loop)"),
            "`describe-symbol`, `apropos-search`": works("describe-symbol", "Divide", name="share")
            and works("apropos-search", "SHARE", pattern="share") and works("apropos-search", "share", pattern="shar", complete=True)
            and works("describe-symbol", "SIZE", name="shape", show="class")
            and works("describe-symbol", "AREA", name="area", show="methods"),
            "`explain-form`: expansion, dispatch": works("explain-form", "AREA .*primary", form="(area (make-instance 'shape))", show="dispatch")
            and works("explain-form", r"\(if \(zerop 3\)", form="(unless-zero 3)"),
            "`inspect-object`": works("inspect-object", "SIZE = 7", code="(make-instance 'shape :size 7)"),
            "`list-definitions`": works("list-definitions", "(?s)SHARE.*UNLESS-ZERO.*SHAPE.*AREA"),
            "`trace-functions`": works("trace-functions", "Now traced", functions=["share"])
            and evaluates("(first (share 4 2))", "2") and works("trace-functions", "SHARE 4 2")
            and works("trace-functions", "", action="stop"),
            "`find-definition`, with `machine-code` too": works("find-definition", ".", name="share", machine_code=True),
            "`load-system` with `path`": works("load-system", "", path=self.file("(defvar cl-user::*loaded* 1)")) and evaluates("*loaded*", "1"),
            "`find-definition` of what a file defines": self.is_found_in_its_file(),
            "`find-references`: callers, if they are compiled": self.callers_are_found(),
            "`find-references`: callees": works("find-references", "", name="share", relation="callees"),
            "`explain-form`: compilation": works("explain-form", "", form="(defun third-of (x) (/ x 3))", show="compilation"),
            "`measure-code` with `profile`": works("measure-code", "", code="(share 1 2)", profile="cpu"),
            "`memory-report`": works("memory-report", ""),
            "errors that stand in the person's debugger have a number in `list-errors`": self.held_error_has_a_number(),
        }
        report = self.s.evaluate('(list (restart-case (share 10 0) (use-value (value) :report "Use a value." value)))')
        self.assertErrorReport(report, "DIVISION-BY-ZERO")
        frame = next((i for i, line in enumerate(report.frames) if "(SHARE" in line), 0)
        can["the arguments in a backtrace"] = "(SHARE 10 0)" in report.text
        can["`evaluate-in-frame` with the arguments"] = works("evaluate-in-frame", r"=> \(0 10\)", frame=frame,
                                                              code="(list divisor number)")
        can["the variables of a frame that are no arguments"] = works("evaluate-in-frame", r"=> \(10\)", frame=frame,
                                                                      code="whole")
        number = int(re.search(r"(?m)^(\d+)\..*DIVISION", self.s.call("list-errors").text).group(1))
        self.s.call("evaluate-in-frame", frame=frame, index=number, code="(setf divisor 5)")
        can["setting a variable of a frame"] = works("evaluate-in-frame", "=> 5", frame=frame, index=number, code="divisor")
        can["`restart-frame`"] = works("restart-frame", "=>", frame=frame, index=number, values="1")
        can["an error stands in its thread, and a restart goes on from it"] = self.stands() and works(
            "invoke-restart", r"=> \(22\)", index=number, restart="USE-VALUE", value="(+ 20 2)")
        can.update(self.try_with_a_person())
        return can

    def test_the_page_says_what_works(self):
        can = self.try_each()
        self.assertEqual(table_of(self.lisp), {row: {None: "not always", True: "yes", False: "no"}[works] for row, works in can.items()})

    def test_values_output_warnings_and_input_come_as_from_an_own_lisp(self):
        self.assertEvaluates("(values 1 2 :three)", "1", "2", ":THREE")
        report = self.s.evaluate('(progn (format t "to out") (format *error-output* "to err") (warn "mind") 7)')
        self.assertValue(report, "7")
        for part in ("to out", "to err", "mind"):
            self.assertIn(part, report.text)
        self.assertEvaluates("(read-line)", '"a line"', "T", stdin="a line")
        number = len(re.findall(r"(?m)^\d+\. ", self.s.call("session-history").text))
        self.s.evaluate("(list :older 1)")
        self.s.evaluate("2")
        self.assertIn(":OLDER", self.s.call("inspect-object", handle="v%d" % (number + 1)).text)
        self.s.evaluate("(defpackage :of-the-agent (:use :cl))")
        self.s.evaluate("(in-package :of-the-agent)")
        self.assertEvaluates("(package-name *package*)", '"OF-THE-AGENT"')
        self.s.evaluate("(in-package :cl-user)")
        self.assertIn("COMMON-LISP-USER", self.person().evaluate("(package-name *package*)"))

    def test_every_error_is_reported_with_its_type_and_none_ends_anything(self):
        for code, error_type in (
            ("(/ 1 0)", "DIVISION-BY-ZERO"),
            ("(+ 1 (quote a))", "TYPE-ERROR"),
            ("an-unbound-variable", "UNBOUND-VARIABLE"),
            ("(an-undefined-function 1)", "UNDEFINED-FUNCTION"),
            ('(error "my own ~a" :message)', "SIMPLE-ERROR"),
            ("(progn (define-condition of-mine (error) ((part :initarg :part))) (error 'of-mine :part 3))", "OF-MINE"),
            ('(open "/no/such/file")', "FILE-ERROR"),
            ("(no-such-package:symbol)", ""),
            ("(list 1 2", "END-OF-FILE"),
            ("(throw 'nowhere 1)", "CONTROL-ERROR"),
            ("(labels ((deeper (n) (1+ (deeper (1+ n))))) (deeper 1))", "STORAGE-CONDITION"),
            ("(signal 'error)", None),
            ("(handler-case (error \"taken\") (error () :taken))", None),
            ("(progn (defclass unprintable () ()) (defmethod print-object ((x unprintable) stream) (error \"no\"))"
             " (make-instance 'unprintable))", None),
            ("(error (make-instance 'unprintable))", "TYPE-ERROR"),
            ("(let ((x (list 1))) (setf (cdr x) x))", None),
            ("(make-list 20000)", None),
        ):
            with self.subTest(code=code):
                report = self.s.evaluate(code)
                if error_type is None:
                    self.assertSucceeds(report)
                else:
                    self.assertErrorReport(report, error_type)
                self.assertEvaluates("(+ 1 2)", "3")
        self.assertTrue(self.image.is_alive())

    def test_an_error_stands_is_entered_and_goes_on_by_a_restart(self):
        self.s.evaluate("(defun part-of (number divisor) (list :part (/ number divisor)))")
        report = self.s.evaluate('(list 1 (restart-case (part-of 10 0) (use-value (value) :report "Use a value." value)))')
        self.assertErrorReport(report, "DIVISION-BY-ZERO")
        self.assertIn("(PART-OF 10 0)", report.text)
        number = self.s.newest_error()
        self.assertEvaluates("(+ 1 2)", "3")
        self.assertErrorReport(self.s.evaluate("(car 7)"), "TYPE-ERROR")
        frame = next(i for i, line in enumerate(report.frames) if "(PART-OF" in line)
        self.assertRegex(self.s.call("get-backtrace", index=number, locals=True).text, r"NUMBER = 10\s+DIVISOR = 0")
        self.assertValue(self.s.call("evaluate-in-frame", frame=frame, index=number, code="(list divisor number)"), "(0 10)")
        self.assertValue(self.s.call("invoke-restart", index=number, restart="USE-VALUE", value="(+ 20 2)"), "(1 22)")
        self.assertIn("cannot be entered", self.s.call("list-errors").text)

    def test_the_agent_does_not_end_the_image_by_an_oversight(self):
        for code in ("(ext:quit)", "(ext:exit)", "(uiop:quit)"):
            report = self.s.evaluate(code)
            self.assertErrorReport(report, "SIMPLE-ERROR")
            self.assertIn("a person runs", report.text)
        self.s.call("invoke-restart", restart="ABORT")
        self.assertTrue(self.image.is_alive())

    def callers_are_found(self):
        path = self.file("(cl:in-package :cl-user)\n(defun callee (x) (list x))\n(defun caller (x) (callee x))\n")
        self.s.evaluate('(load (compile-file "%s"))' % path)
        return self.works("who-calls", "CALLER", name="callee")

    def test_leaving_an_error_runs_its_cleanup(self):
        self.s.evaluate("(defvar *cleaned* nil)")
        self.s.evaluate('(unwind-protect (error "stands") (setf *cleaned* t))')
        self.assertEvaluates("*cleaned*", "NIL")
        self.s.call("invoke-restart", restart="ABORT")
        self.assertEvaluates("*cleaned*", "T")

    def test_what_waits_is_interrupted_at_its_time_limit_and_can_go_on(self):
        self.s.evaluate("(defvar *is-enough* nil)")
        report = self.s.evaluate("(loop until *is-enough* do (sleep 0.05) finally (return :done))", timeout=1)
        self.assertErrorReport(report, "TIMEOUT")
        self.assertIn("interrupt", report.text)
        self.s.evaluate("(setf *is-enough* t)")
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE"), ":DONE")

    def test_each_is_told_what_the_other_does(self):
        person = self.person()
        self.assertEvaluates("(+ 1 2)", "3")
        person.event("background-message", lambda event: "(+ 1 2)" in event[1])
        person.evaluate("(defun of-the-person () :persons)")
        report = self.s.evaluate("(of-the-person)")
        self.assertValue(report, ":PERSONS")
        self.assertIn("of-the-person", report.text)

    def test_errors_of_the_person_open_with_the_person(self):
        self.assertEvaluates("(+ 1 2)", "3")
        person = self.person()
        code = '(list (restart-case (error "of the person") (be-it (value) value)))'
        failing = person.begin("(swank:interactive-eval %s)" % swank_client.quote(code))
        person.debugger("of the person")
        self.await_told("of the person")
        number = self.number_of("of the person")
        self.assertIn("Backtrace of error %d" % number, self.s.call("get-backtrace", index=number).text)
        self.assertIn("Pass force", self.s.call("invoke-restart", index=number, restart="BE-IT", value="(* 6 7)").text)
        self.s.call("invoke-restart", index=number, restart="BE-IT", value="(* 6 7)", force=True)
        self.assertIn("(42)", person.end(failing))
        self.assertRegex(self.s.call("list-errors").text, r"%d\. .*of the person \(cannot be entered" % number)

    def test_leaving_ends_what_was_ours_and_nothing_else(self):
        person = self.person()

        def ours():
            return person.evaluate("(mapcar (function swank/backend:thread-name) (swank/backend:all-threads))").count("agent ")

        self.assertEvaluates("(+ 1 2)", "3")
        before = ours()
        client = self.start_server("--attach", self.image.address)
        self.assertErrorReport(client.evaluate('(error "stands")'), "SIMPLE-ERROR")
        self.assertGreater(ours(), before)
        client.close()
        mcp.wait_until(lambda: ours() <= before, 30, "the end of the other server's threads")
        self.assertTrue(self.image.is_alive())
        self.assertEvaluates("(+ 1 2)", "3")


@unittest.skipIf(joining.why_not("ecl"), joining.why_not("ecl"))
class Ecl(Joined, mcp.SessionTest):
    lisp = "ecl"


@unittest.skipIf(joining.why_not("abcl"), joining.why_not("abcl"))
class Abcl(Joined, mcp.SessionTest):
    lisp = "abcl"
