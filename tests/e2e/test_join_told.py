"""In an image that a person runs: what person and agent are told of each other, and of what happened to the image."""

import re
import unittest

import joining
import mcp
import test_join


@unittest.skipIf(joining.why_not(), joining.why_not())
class AnotherProcess(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.image = joining.Image(self.folder())
        self.addCleanup(lambda: self.image.end())
        self.options = ("--attach", self.image.address)

    def start_anew(self):
        self.image.process.kill()
        self.image.process.wait(20 * mcp.STRETCH)
        before = self.image
        self.image.end()
        self.image = joining.Image(self.folder(), port=before.port)
        return before.process.pid, self.image.process.pid

    def assertTold(self, pids, reply):
        self.assertRegex(reply.text, r"Process %d has ended; this is %d, started [0-9:]{8}Z\. Nothing that you defined is there; "
                                     r"the package is CL-USER\. session-history has your code\." % pids)

    def test_the_reply_that_finds_it_says_so_once(self):
        self.s.evaluate("(defpackage :gone (:use :cl))")
        self.s.evaluate("(in-package :gone)")
        pids = self.start_anew()
        reply = self.s.evaluate("(package-name *package*)")
        self.assertValue(reply, '"COMMON-LISP-USER"')
        self.assertTold(pids, reply)
        self.assertNotIn("has ended", self.s.evaluate("1").text)
        self.assertRegex(self.s.call("session-history").text, r"(?s)in-package :gone.*\n- \S+Z Process \d+ has ended.*package-name")

    def test_also_after_a_call_while_nothing_answered(self):
        self.assertOperational()
        running = self.s.start_call("evaluate-lisp", code="(progn (defvar *begun* 1) (sleep 100))")
        person = self.image.person()
        mcp.wait_until(lambda: person.evaluate("(boundp '*begun*)") == "T", 10, "the evaluation to run")
        person.close()
        self.image.process.kill()
        pid = self.image.process.pid
        report = self.assertErrorReport(running.reply(), "CONNECTION-LOST")
        self.assertIn("process %d is gone" % pid, report.text)
        self.image.process.wait(20 * mcp.STRETCH)
        report = self.s.evaluate("1")
        self.assertIn("Process %d, which was joined, has ended. Nothing answers at" % pid, report.text)
        pids = self.start_anew()
        self.assertTold(pids, self.s.evaluate("(+ 1 2)"))

    def test_what_ran_when_the_connection_was_cut_is_told_by_the_next_reply(self):
        tunnel = joining.Tunnel(self.image.port)
        self.addCleanup(tunnel.end)
        client = self.start_server("--attach", tunnel.address)
        person = self.image.person()
        self.addCleanup(person.close)
        for number, code, told in (
            (1, "(unwind-protect (progn (defvar *begun-1* 1) (sleep 100)) (defvar *cleaned* t))", "was unwound with its cleanup forms"),
            (3, "(progn (defvar *begun-3* 1) (sb-sys:without-interrupts (sleep 20)))", r"still runs in the thread agent \d+: evaluation 3 \(\d+\)"),
        ):
            running = client.start_call("evaluate-lisp", code=code)
            mcp.wait_until(lambda: person.evaluate("(boundp '*begun-%d*)" % number) == "T", 10, "the evaluation to begin")
            tunnel.cut()
            report = self.assertErrorReport(running.reply(), "CONNECTION-LOST")
            self.assertIn("Its process %d is still there" % self.image.process.pid, report.text)
            report = client.evaluate("*begun-%d*" % number)
            self.assertValue(report, "1")
            self.assertIn("it is still process %d" % self.image.process.pid, report.text)
            self.assertRegex(report.text, "Evaluation %d, which was running then, %s" % (number, told))
        self.assertValue(client.evaluate("*cleaned*"), "T")

    def test_an_evaluation_of_a_server_that_is_killed_is_unwound_with_its_cleanup_forms(self):
        client = self.start_server(*self.options)
        client.start_call("evaluate-lisp", code="(unwind-protect (progn (defvar *how-far* 1) (sleep 100)) (setf *how-far* 2))")
        person = self.image.person()
        self.addCleanup(person.close)
        mcp.wait_until(lambda: person.evaluate("(boundp '*how-far*)") == "T", 10, "the evaluation to begin")
        client.process.kill()
        client.process.wait()
        mcp.wait_until(lambda: person.evaluate("*how-far*") == "2", 20, "the cleanup form")
        client.destroy()
