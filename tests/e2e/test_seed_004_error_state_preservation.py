"""Seed 004, error state preservation, against the real server. Where each section of the seed is tested:

Formal Expression 1 to 3; Informal Explanation; Counterexample Shape (cleared by success, consistency); Property Tests 3, 4, 5
                                     FormalExpression
Formal Expression (the context, NoError)
                                     test_the_context_has_..., test_no_error_...
Informal Explanation (unchanged, complete); Counterexample Shape (degrades, restarts lost); Property Test 6
                                     test_it_persists_across_multiple_tool_calls_unchanged_and_complete
Counterexample Shape (lost, changed); Verification Approach; Property Test 1
                                     VerificationApproach
Property Tests 2, 7; Edge Cases; Implementation Requirements
                                     the tests of these names
"""

import os
import re
import signal
import time

import mcp

NO_ERROR = "No error available.\n(No error has occurred since the last successful evaluation.)"


class Assertions(mcp.SessionTest):
    def describe(self, **arguments):
        return self.assertSucceeds(self.s.call("describe-last-error", arguments)).text

    def backtrace(self, **arguments):
        reply = self.s.call("get-backtrace", {name.replace("_", "-"): value for name, value in arguments.items()})
        self.assertFalse(reply.is_error, reply.text)
        return reply.text

    def provoke(self, code):
        """(evaluate-lisp error-code), which must fail; its report"""
        return self.assertFails(code)

    @staticmethod
    def extract_type(description):
        match = re.match(r"\AError: (\S+)", description)
        return match.group(1) if match else None

    @staticmethod
    def restarts(description):
        return re.findall(r"^\s*(\d+)\. (\S+) - (.+)$", description, re.MULTILINE)

    def assertErrorAvailable(self, description):
        self.assertIsNotNone(self.extract_type(description), description)

    def assertNoError(self):
        self.assertEqual(NO_ERROR, self.describe())
        self.assertEqual(NO_ERROR, self.backtrace())


class FormalExpression(Assertions):
    def test_1_between_error_and_next_evaluation_both_tools_show_that_error(self):
        report = self.provoke('(defun origin () (error "text ~a" 1)) (origin)')
        for _ in range(3):
            description = self.describe()
            self.assertEqual(report.error_type, self.extract_type(description))
            self.assertIn("text 1", description)
            self.assertEqual(report.frames, mcp.frames_in(self.backtrace(max_frames=20)))
            self.s.request("ping")

    def test_2_the_next_error_takes_its_place_for_good(self):
        self.provoke("(/ 1 0)")
        self.assertEqual("DIVISION-BY-ZERO", self.extract_type(self.describe()))
        self.provoke("(car 42)")
        for _ in range(3):
            self.assertEqual("TYPE-ERROR", self.extract_type(self.describe()))
            self.assertIn("42", self.backtrace() + self.describe())

    def test_3_a_success_leaves_no_error_for_good(self):
        self.provoke("(/ 1 0)")
        self.assertErrorAvailable(self.describe())
        self.assertOperational()
        for _ in range(3):
            self.assertNoError()

    def test_the_context_has_type_message_restarts_and_a_preview_of_the_backtrace(self):
        self.provoke('(defun origin () (cerror "Go on." "line one~%line two")) (origin)')
        description = self.describe()
        self.assertRegex(description, r"\AError: SIMPLE-ERROR\n")
        self.assertRegex(description, r"(?m)^\s+line one\n\s+line two$")
        self.assertIn("Available Restarts:", description)
        self.assertIn(("1", "CONTINUE", "Go on."), self.restarts(description), description)
        self.assertRegex(description, r"Backtrace \(top \d+ frames?\):")
        self.assertIn("(ORIGIN)", description)
        self.assertIn("get-backtrace", description)

    def test_no_error_indicates_that_none_is_available(self):
        self.assertNoError()


class InformalExplanation(Assertions):
    def test_it_persists_across_multiple_tool_calls_unchanged_and_complete(self):
        report = self.provoke("(car (identity 42))")
        first = (self.describe(), self.backtrace(locals=True))
        self.assertNotEqual([], mcp.frames_in(first[1]))
        for tool, arguments in (("list-sessions", {}), ("session-info", {}), ("list-errors", {}), ("configure-limits", {}),
                                ("get-usage-guide", {}), ("list-definitions", {"type": "all"}), ("describe-symbol", {"name": "car"})):
            self.assertFalse(self.s.call(tool, arguments).is_error)
        self.assertEqual(first, (self.describe(), self.backtrace(locals=True)))
        self.assertEqual(len(report.restarts), len(self.restarts(first[0])), first[0])
        self.assertIn("ABORT", [name for _, name, _ in self.restarts(first[0])])


class VerificationApproach(Assertions):
    def verify_error_preservation(self, code, queries):
        self.provoke(code)
        initial_error, initial_backtrace = self.describe(), self.backtrace()
        self.assertErrorAvailable(initial_error)
        if code == "(list 1":
            self.assertIn("END-OF-FILE", self.extract_type(initial_error))
        self.assertGreater(len(mcp.frames_in(initial_backtrace)), 0, initial_backtrace)
        for _ in range(queries):
            self.assertEqual(initial_error, self.describe())
        for _ in range(queries):
            self.assertEqual(initial_backtrace, self.backtrace())

    def test_verify_error_preservation(self):
        for code in ("(/ 1 0)", '(error "test")', "(car 42)", "(undefined-fn)", "undefined-var", "(list 1", ")", '(defun f () (error "x")) (f)',
                     "(defmacro m () (error \"m\")) (m)", "(error 'storage-condition)", "(break)"):
            with self.subTest(code):
                self.verify_error_preservation(code, 100 if code == "(/ 1 0)" else 10)

    def test_generated_sequences_of_operations(self):
        """Errors, successes, look-ups and resets in any order, against a model of the state."""
        chance = self.random()
        expected = None
        frames = None
        for _ in range(200):
            operation = chance.choice(["error", "success", "look", "look", "backtrace", "other", "reset"] if chance.random() < 0.2 else ["error", "success", "look", "backtrace", "other"])
            if operation == "error":
                name = "e%d" % chance.randrange(10**6)
                report = self.provoke('(defun %s () (error "%s")) (%s)' % (name, name, name))
                expected, frames = name, report.frames
            elif operation == "success":
                self.assertEvaluates("(+ %d 1)" % 41, "42")
                expected = None
            elif operation == "reset":
                self.assertFalse(self.s.call("reset-session").is_error)
                expected = None
            elif operation == "other":
                self.s.call(*chance.choice([("list-definitions", {"type": "all"}), ("describe-symbol", {"name": "car"}), ("list-sessions", {}), ("validate-syntax", {"code": "("})]))
            elif operation == "look":
                description = self.describe()
                if expected is None:
                    self.assertEqual(NO_ERROR, description)
                else:
                    self.assertIn(expected, description)
            elif operation == "backtrace":
                text = self.backtrace()
                if expected is None:
                    self.assertEqual(NO_ERROR, text)
                else:
                    self.assertEqual(frames, mcp.frames_in(text))


class PropertyTestStrategy(Assertions):
    def test_2_preservation_across_time(self):
        self.provoke("(/ 1 0)")
        before = self.describe()
        time.sleep(1)  # the seed's own second
        self.assertErrorAvailable(self.describe())
        self.assertEqual(before, self.describe())

    def test_7_session_reset_clears_error(self):
        self.provoke("(/ 1 0)")
        self.assertErrorAvailable(self.describe())
        reply = self.s.call("reset-session")
        self.assertIn("what stood in the image was unwound" if mcp.JOINED else "All definitions cleared.", reply.text)
        self.assertNoError()


class EdgeCases(Assertions):
    def test_multiple_errors_in_quick_succession_latest_wins(self):
        calls = [self.s.start_call("evaluate-lisp", code='(error "number %d")' % n) for n in range(30)]
        for call in calls:
            self.assertTrue(call.reply().is_error)
        self.assertIn("number 29", self.describe())

    def test_errors_during_error_inspection_preserve_the_previous_error(self):
        self.provoke("(/ 1 0)")
        before = (self.describe(), self.backtrace())
        self.s.start_call("describe-last-error", index=1000).response()
        self.s.start_call("describe-last-error", index="none").response()
        self.s.start_call("get-backtrace", {"max-frames": -5}).response()
        self.s.start_call("get-backtrace", {"from": 100000}).response()
        self.s.start_call("describe-symbol", name="no-such-package::x").response()
        self.s.start_call("get-output", ref=999999).response()
        self.s.start_call("no-such-tool").response()
        self.assertEqual(before, (self.describe(), self.backtrace()))

    def test_an_object_that_cannot_be_described_preserves_the_previous_error(self):
        self.s.evaluate('(defclass trap () ()) (defmethod print-object ((o trap) s) (error "trapped")) (defvar *trap* (make-instance \'trap))')
        self.provoke("(/ 1 0)")
        before = (self.describe(), self.backtrace())
        self.s.call("list-definitions", type="variables")
        self.s.call("describe-symbol", name="*trap*")
        self.assertEqual(before, (self.describe(), self.backtrace()))

    def test_compilation_and_runtime_errors_are_both_preserved(self):
        self.provoke("(defmacro bad () (error \"at compile time\")) (defun user () (bad)) (user)")
        self.assertIn("at compile time", self.describe())
        self.provoke('(defun fine () (error "at run time")) (fine)')
        self.assertIn("at run time", self.describe())

    @mcp.own_lisp("its heap is the person's")
    def test_memory_pressure_does_not_take_the_error_state(self):
        self.provoke('(error "kept under pressure")')
        before = (self.describe(), self.backtrace())
        self.s.call("create-session", name="greedy")
        report = self.s.evaluate("(let ((l nil)) (loop (push (make-array 500000) l)))", session="greedy")
        self.assertTrue(report.is_error, report.text)
        self.assertEqual(before, (self.describe(), self.backtrace()))

    @mcp.own_lisp("nothing of the person's is killed")
    def test_the_death_of_the_process_does_not_take_the_error_state(self):
        self.provoke('(error "kept by the server")')
        before = (self.describe(), self.backtrace())
        info = self.s.call("session-info").text
        pid = int(re.search(r"(?:pid|process)\D+(\d+)", info, re.IGNORECASE).group(1))
        os.kill(pid, signal.SIGKILL)
        mcp.wait_until(lambda: not mcp.is_alive(pid), 10, "the end of the session's process")
        self.assertEqual(before, (self.describe(), self.backtrace()))

    def test_a_long_running_session_keeps_the_error(self):
        self.provoke('(error "kept for long")')
        before = (self.describe(), self.backtrace())
        for n in range(300):
            self.s.call("describe-symbol", name="list")
            self.s.request("ping")
        self.assertEqual(before, (self.describe(), self.backtrace()))


class ImplementationRequirements(Assertions):
    def test_the_error_state_is_per_session(self):
        self.s.call("create-session", name="other")
        self.provoke('(error "in the default session")')
        other = self.s.call("describe-last-error", session="other")
        self.assertEqual(NO_ERROR, other.text)
        self.s.evaluate('(error "in the other")', session="other")
        self.assertIn("in the default session", self.describe())
        self.assertIn("in the other", self.s.call("describe-last-error", session="other").text)
        self.s.evaluate("1", session="other")
        self.assertIn("in the default session", self.describe())

    def test_the_history_has_the_time_of_each_error_and_keeps_the_last_32(self):
        before = time.time()
        for n in range(40):
            self.provoke('(error "history %d")' % n)
        listing = self.s.call("list-errors", limit=32).text
        messages = re.findall(r"history (\d+)", listing)
        self.assertEqual(32, len(messages), listing)
        self.assertEqual({str(n) for n in range(8, 40)}, set(messages))
        self.assertRegex(listing, r"\d\d:\d\d:\d\d")
        self.assertIn("history 38", self.describe(index=39))
        self.assertIn("history 39", self.describe(index=40))
        self.assertEqual("Error 8 is no longer kept; list-errors shows those that are kept.", self.s.call("describe-last-error", index=8).text)
        self.assertLess(time.time() - before, 60 * mcp.STRETCH)

    def test_older_errors_stay_in_the_history_after_a_success(self):
        self.provoke('(error "first of two")')
        self.provoke("(car 42)")
        self.assertOperational()
        self.assertNoError()
        listing = self.s.call("list-errors").text
        self.assertIn("first of two", listing)
        self.assertIn("TYPE-ERROR", listing)
