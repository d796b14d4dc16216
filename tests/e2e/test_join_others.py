"""Joining Lisps other than SBCL: what works in each, compared with the table in docs/implementations.md."""

import os
import re
import unittest

import joining
import mcp

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

    def say_table(self, row):
        self.assertIn(row, table_of(self.lisp))
        return table_of(self.lisp)[row]

    def test_values_output_warnings_and_input_come_as_from_an_own_lisp(self):
        self.assertEvaluates("(values 1 2 :three)", "1", "2", ":THREE")
        report = self.s.evaluate('(progn (format t "to out") (format *error-output* "to err") (warn "mind") 7)')
        self.assertValue(report, "7")
        for part in ("to out", "to err", "mind"):
            self.assertIn(part, report.text)
        self.assertEvaluates("(read-line)", '"a line"', "T", stdin="a line")
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
            ("(make-list 100000)", None),
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
        self.assertIn("(+ 1 2)", person.await_message(":background-message"))
        person.evaluate("(defun of-the-person () :persons)")
        report = self.s.evaluate("(of-the-person)")
        self.assertValue(report, ":PERSONS")
        self.assertIn("of-the-person", report.text)

    def test_errors_of_the_person_open_with_the_person(self):
        self.assertEvaluates("(+ 1 2)", "3")
        person = self.person()
        number = person.request('(swank:interactive-eval "(error \\"of the person\\")")')
        thread = re.search(r"\(:debug (\d+)", person.await_message(r"\(:debug \d+ 1 .*of the person")).group(1)
        self.assertIn("of the person", self.s.evaluate("(+ 1 2)").text)
        person.request("(swank:throw-to-toplevel)", thread)
        person.answer_to(number)

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


if __name__ == "__main__":
    mcp.main()
