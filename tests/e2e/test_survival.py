"""Whatever ends the Lisp process: the request gets its report with what was printed, and the session works again at once."""

import os
import re
import signal
import unittest

import mcp


class Signals(mcp.TestCase):
    """What code does to its own process, and what becomes of it, is a table: hostile/. What the report says is in test_session.c."""

    def test_kill_9_of_the_zygote(self):
        self.s.evaluate("(defparameter *kept* 42)")
        session = int(self.s.evaluate("(sb-posix:getpid)").value)
        others = [pid for pid in self.s.processes() if pid not in (session, self.s.pid) and ".core" in mcp.describe_process(pid)]
        self.assertNotEqual([], others)
        for pid in others:
            os.kill(pid, signal.SIGKILL)
            mcp.wait_until(lambda: not mcp.is_alive(pid), 10, "the end of the zygote")
        self.assertEvaluates("*kept*", "42")
        self.assertFalse(self.s.call("create-session", name="after").is_error)
        self.assertValue(self.s.evaluate("(+ 1 2)", session="after"), "3")
        self.assertFalse(self.s.call("reset-session").is_error)
        self.assertOperational()


class Exhaustion(mcp.TestCase):
    options = ("--max-heap", "512")  # which is filled in a quarter of the time

    @unittest.skipIf(mcp.SANITIZED, "what it tests is in the Lisp; the plain build does")
    def test_what_filled_the_heap_is_free_with_the_next_evaluation(self):
        in_use = "(< (sb-kernel:dynamic-usage) (floor (sb-ext:dynamic-space-size) 4))"
        for objects in ("(make-array 1000000)", "(list 1 2 3)"):
            with self.subTest(objects):
                self.assertTrue(self.s.evaluate("(let ((l nil)) (loop (push %s l)))" % objects, timeout=60).is_error)
                self.assertEvaluates(in_use, "T")
        # What is reachable stays, however long the collection takes.
        self.s.evaluate("(defvar *kept* '())")
        self.assertTrue(self.s.evaluate("(loop (push (list 1 2 3 4) *kept*))", timeout=60).is_error)
        report = self.s.evaluate("(> (length *kept*) 1000000)")
        self.assertEqual(("T", ""), (report.value, report.session))
        self.s.evaluate("(progn (setf *kept* nil) (sb-ext:gc :full t))")
        self.s.evaluate("(defvar *other* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.assertTrue(self.s.evaluate("(let ((l nil)) (loop (push (make-array 1000000) l)))", timeout=60).is_error)
        self.assertEvaluates(in_use, "T")

    def test_stack_exhaustion_shows_no_argument_that_could_not_be_read(self):
        report = self.s.evaluate("(defun deep (n text) (1+ (deep (1+ n) text))) (deep 0 :text)")
        self.assertRegex(report.text, r"(?m)^0: \(DEEP .*\)\n1: \(DEEP \d+ :TEXT\)$")
        self.assertNotIn("INVALID", report.text)

    def test_deep_nesting_of_the_text_itself(self):
        for text in ("(" * 100000, "'" * 100000 + "a", "(" * 20000 + ")" * 20000, "#(" * 50000, "`" * 5000 + "a", "#1=(" + "#1# " * 1000 + ")"):
            with self.subTest(text[:10]):
                report = self.s.evaluate(text, timeout=10)
                self.assertNotEqual("", report.text)
                self.assertOperational()


class OverAndOver(mcp.TestCase):
    def test_the_death_of_one_session_does_not_touch_another(self):
        self.s.call("create-session", name="stays")
        self.s.evaluate("(defparameter *mine* 1)", session="stays")
        pending = self.s.start_call("evaluate-lisp", code="(progn (sleep 0.5) *mine*)", session="stays")
        self.s.evaluate("(sb-ext:exit :abort t)")
        self.assertValue(pending.reply(), "1")
        self.assertValue(self.s.evaluate("*mine*", session="stays"), "1")

    def test_the_record_of_a_death_is_kept_like_any_error(self):
        self.s.evaluate("(sb-ext:exit :code 3)")
        text = self.s.call("describe-last-error").text
        self.assertIn("PROCESS-EXITED", text)
        self.assertEqual(text, self.s.call("describe-last-error").text)
        self.assertFalse(self.s.call("get-backtrace").is_error)
        self.assertIn("PROCESS-EXITED", self.s.call("list-errors").text)

    def test_session_info_says_that_it_began_anew(self):
        before = self.s.call("session-info").text
        self.s.evaluate("(sb-ext:exit)")
        after = self.s.call("session-info").text
        self.assertNotEqual(re.search(r"Process: (\d+)", before).group(1), re.search(r"Process: (\d+)", after).group(1))
