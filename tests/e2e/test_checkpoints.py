"""What a session returns to: after a death, on request, forwards again; what it says of that, and what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

import mcp

KILL_SELF = "(sb-posix:kill (sb-posix:getpid) 9)"


class Checkpoints(mcp.TestCase):
    def pid(self, **named):
        return int(self.s.evaluate("(sb-posix:getpid)", **named).value)

    def rollback(self, to, **named):
        return self.assertSucceeds(self.s.call("rollback-session", to=str(to), **named)).text

    def states(self, **named):
        """The evaluations after which there is a checkpoint, newest first."""
        text = self.s.call("list-checkpoints", **named).text
        return [int(n) for n in re.findall(r"^- after evaluation (\d+)", text, re.MULTILINE)]

    def wait_for_states(self, count):
        """The last checkpoint is made while the client has its reply already, and the ring is thinned after that."""
        mcp.wait_until(lambda: len(self.states()) == count, 5, "%d checkpoints" % count)
        return self.states()

    def lisps(self):
        """Every Lisp of this server: the zygote, sessions, checkpoints, frozen errors."""
        return [pid for pid in self.s.processes() if pid != self.s.pid and "sbcl" in mcp.describe_process(pid)]

    def assertDied(self, report, error_type="PROCESS-"):
        self.assertErrorReport(report, error_type)
        self.assertNotEqual("", report.session, report.text)
        return report


class Deleted(Checkpoints):
    def test_a_named_checkpoint_ends_when_it_is_deleted(self):
        self.s.evaluate("(defvar *n* 1)")
        self.assertFalse(self.s.call("checkpoint-session", name="one").is_error)
        self.s.evaluate("(setf *n* 2)")
        # The zygote, the session and three checkpoints.
        mcp.wait_until(lambda: len(self.lisps()) == 5, 5, "its process")
        reply = self.s.call("delete-checkpoint", name="one")
        self.assertEqual("Deleted the checkpoint one. The session itself is unchanged.", reply.text)
        self.assertNotIn("named", self.s.call("list-checkpoints").text)
        mcp.wait_until(lambda: len(self.lisps()) == 4, 5, "the end of its process")
        self.assertTrue(self.s.call("rollback-session", to="one").is_error)
        self.assertEvaluates("*n*", "2")
        self.rollback("1")
        self.assertEvaluates("*n*", "1")


class AfterADeath(Checkpoints):
    def test_code_that_ends_its_process_again_and_again_costs_no_more_than_itself(self):
        self.s.evaluate("(defvar *n* 1)")
        self.s.evaluate("(defun end-it (signal) (sb-unix:unix-kill (sb-unix:unix-getpid) signal) (list signal))")
        for n, signal in enumerate((6, 9, 6, 9)):
            report = self.s.evaluate("(list (end-it %d) %d)" % (signal, n))
            self.assertTrue(report.is_error, report.text)
            self.assertIn("continues from the state before this evaluation", report.session, report.text)
        self.assertEvaluates("(list *n* (and (fboundp 'end-it) t))", "(1 T)")

    def test_the_frames_that_a_dying_runtime_prints_are_the_backtrace_and_no_output(self):
        self.s.evaluate('(defun inner (x) (sb-unix:unix-kill (sb-unix:unix-getpid) 6) (list x)) (defun outer (x) (list (inner x)))')
        report = self.s.evaluate('(progn (format t "before~%") (outer 3))')
        self.assertDied(report, "PROCESS-EXITED")
        self.assertEqual("before", report.stdout.strip(), report.text)
        self.assertRegex(report.text, r"(?s)\[Backtrace\]\n0: Foreign function kill\n1: \(CL-USER::OUTER \.\.\.\)\n.*\(EVAL \.\.\.\)\n\n")

    def test_an_evaluation_that_comes_before_the_death_was_seen_is_done_after_it(self):
        self.s.evaluate("(defvar *n* 0)")
        for n in range(1, 11):
            pid = self.pid()
            until = time.monotonic() + 0.02  # later it is not asked for together with its copy
            while time.monotonic() < until:
                self.s.call("list-checkpoints")
            os.kill(pid, 9)
            report = self.s.evaluate("(incf *n*)")
            self.assertValue(report, str(n))
            self.assertIn("Between two calls", report.session)

    def test_the_package_comes_back_with_the_state(self):
        self.s.evaluate("(defpackage :mine (:use :cl))")
        self.s.evaluate("(in-package :mine)")
        self.s.evaluate("(defvar *here* 1)")
        self.assertDied(self.s.evaluate("(in-package :cl-user) (sb-ext:exit :abort t)"))
        self.assertEvaluates("(list (package-name *package*) *here*)", '("MINE" 1)')
        self.assertIn("Package: MINE", self.s.call("session-info").text)

    def test_the_histories_of_values_come_back_with_the_state(self):
        self.s.evaluate("(list 1 2)")
        self.s.evaluate("(sb-ext:exit :abort t)")
        self.assertEvaluates("(list * +)", "((1 2) (LIST 1 2))")

    def test_damage_that_shows_late_leads_further_back_and_the_reply_lists_what_that_undid(self):
        self.s.evaluate("(defvar *a* 1)")
        self.s.evaluate("(setf *a* 2)")
        # Errors reach Lisp by a trap of the machine: without a handler for it the first one kills, here and in every copy. SIGSEGV keeps
        # its handler: after a collection, writing to an old object is such a fault too.
        default = '(sb-alien:alien-funcall (sb-alien:extern-alien "signal" (function sb-alien:unsigned-long sb-alien:int sb-alien:unsigned-long)) %d 0)'
        self.s.evaluate("(progn (defvar *b* 1) %s %s)" % (default % 4, default % 5))
        self.assertEvaluates("(setf *a* 3)", "3")
        report = self.assertDied(self.s.evaluate("(car (first (list 42)))"), "PROCESS-KILLED")
        self.assertIn("continues from the state before this evaluation", report.session)
        for n in range(4):
            report = self.s.evaluate("(car (first (list %d)))" % n)
            if "TYPE-ERROR" in report.text:
                break
            self.assertDied(report, "PROCESS-KILLED")
            undone = report.session
        self.assertErrorReport(report, "TYPE-ERROR")
        self.assertRegex(undone, r"(?s)state after evaluation 2.*Undone:\s+3: \(progn \(defvar \*b\* 1\)")
        self.assertEvaluates("(list *a* (boundp '*b*))", "(2 NIL)")
        self.assertIn("undone", self.s.call("session-history").text)

    def test_a_state_that_cannot_be_proven_leads_further_back(self):
        self.s.evaluate("(defvar *a* 1)")
        self.s.evaluate("(setf *a* 2)")
        # To prove a state a collection is run; this hook ends the process in it.
        self.s.evaluate("(push (lambda () (sb-ext:exit :code 9 :abort t)) sb-ext:*after-gc-hooks*)")
        report = self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertRegex(report.session, r"(?s)state after evaluation 2.*Undone:\s+3: \(push")
        self.assertEvaluates("*a*", "2")

    def test_without_checkpoints_the_reply_says_what_there_is(self):
        self.s.call("configure-limits", checkpoint_limit=0)
        self.s.evaluate("(defvar *a* 7)")
        report = self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertRegex(report.session, "(?i)fresh Lisp|journal")


class Journal(Checkpoints):
    def with_thread(self):
        self.s.evaluate("(defvar *before* 1)")
        self.s.evaluate("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))")
        mcp.wait_until(lambda: "threads" in self.s.call("list-checkpoints").text, 5, "the reason why there is no checkpoint")

    def test_definitions_made_beside_a_thread_come_back_and_the_rest_is_reported_lost(self):
        self.with_thread()
        self.s.evaluate('(defun made (x) (format t "side effect") (* 2 x))')
        self.s.evaluate("(defparameter *table* (list 1))")
        self.s.evaluate("(push 2 *table*)")
        self.s.evaluate("(defmacro m (x) `(list ,x))")
        report = self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertIn("definitions were evaluated again", report.session)
        self.assertIn("lost", report.session)
        self.assertIn("(push 2 *table*)", report.session)
        self.assertEvaluates("(list (made 21) *table* (m 1) *before*)", "(42 (1) (1) 1)")

    def test_replay_prints_nothing(self):
        self.with_thread()
        self.s.evaluate('(defvar *loud* (progn (format t "loud") (format *error-output* "louder") 1))')
        report = self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertNotIn("loud\n", report.text.replace("louder", ""))
        report = self.s.evaluate("*loud*")
        self.assertEqual(["values"], report.sections, report.text)

    def test_a_definition_that_fails_again_is_counted_and_a_replay_that_kills_or_loops_is_given_up(self):
        for now, word, fine in (('(error "not again")', "failed", "2"), ("(sb-ext:exit :abort t)", "", "NIL"), ("(loop (sleep 1))", "", "NIL")):
            with self.subTest(now):
                self.s.call("reset-session")
                flag = self.file("", "flag")
                self.with_thread()
                self.s.evaluate('(defvar *once* (if (probe-file "%s") 1 %s))' % (flag, now))
                self.s.evaluate("(defvar *fine* 2)")
                os.unlink(flag)
                self.assertIn(word, self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)", wait=40)).session)
                self.assertEvaluates("(list *before* (and (boundp '*fine*) (symbol-value '*fine*)))", "(1 %s)" % fine)

    def test_what_was_evaluated_again_after_a_death_is_not_reported_for_a_requested_return(self):
        self.with_thread()
        self.s.evaluate("(defvar *again* 1)")
        self.assertIn("evaluated again", self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)")).session)
        self.s.call("reset-session")
        self.s.call("checkpoint-session", name="good")
        self.s.evaluate("(defvar *undone* 1)")
        text = self.s.call("rollback-session", to="good").text
        self.assertIn("\nUndone:\n  1: (defvar *undone* 1)\n", text)
        self.assertNotIn("evaluated again", text)
        self.assertIn(";; 1: undone\n;; (defvar *undone* 1)", self.s.call("session-history", format="lisp").text)

    def test_when_the_threads_are_gone_checkpoints_are_made_again(self):
        self.with_thread()
        self.s.evaluate("(sb-thread:terminate-thread *thread*) (sb-thread:join-thread *thread* :default nil) (defvar *after* 3)")
        self.s.evaluate("(setf *after* 4)")
        report = self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertIn("continues from the state before", report.session)
        self.assertEvaluates("*after*", "4")

    def test_history_shows_what_was_evaluated_and_how_it_ended(self):
        self.s.evaluate("(defvar *a* 1)")
        self.s.evaluate('(error "no")')
        self.s.evaluate("(loop)", timeout=0.2)
        self.s.evaluate("(sb-ext:exit :abort t)")
        text = self.s.call("session-history").text
        self.assertRegex(text, r"(?m)^1\. .*CL-USER$")
        self.assertRegex(text, r"(?m)^2\. .*error$")
        self.assertRegex(text, r"(?m)^3\. .*stopped$")
        self.assertRegex(text, r"(?m)^4\. .*died")
        self.assertIn('   (error "no")', text)
        text = self.s.call("session-history", {"from": 2, "limit": 1}).text
        self.assertIn('(error "no")', text)
        self.assertNotIn("*a*", text)
        self.assertNotIn("(loop)", text)
        self.assertIn("earlier ones are not shown", text)
        self.assertIn("Later ones are not shown; the next is from: 3.", text)

    def test_the_lisp_of_a_history_loads_in_a_bare_lisp_and_defines_the_same(self):
        for code in ("(defpackage :shop (:use :cl))", "(in-package :shop)", '(defvar *stock* (list :a 1 :b "x;y"))', "(defun price (x)\n  ;; a comment\n  (* 2 x))",
                     '(error "not this one\n(")', "(defmacro twice (x)\n  `(progn ,x ,x))", "(sb-ext:exit :abort t) ; nor this", "(loop", "(push :c *stock*)", "(defun undone () 1)"):
            self.s.evaluate(code, timeout=5)
        self.rollback(-1)
        text = self.s.call("session-history", format="lisp").text
        with tempfile.NamedTemporaryFile("w", suffix=".lisp", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            result = subprocess.run(
                ["sbcl", "--noinform", "--no-sysinit", "--no-userinit", "--disable-debugger", "--load", f.name,
                 "--eval", "(progn (prin1 (list (shop::price 21) shop::*stock* (macroexpand-1 '(shop::twice 1)) (fboundp 'shop::undone))) (terpri) (sb-ext:exit))"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr + text)
        self.assertIn('(42 (:C :A 1 :B "x;y") (PROGN 1 1) NIL)', result.stdout)
        self.assertEvaluates('(list (price 21) *stock*)', '(42 (:C :A 1 :B "x;y"))')


class History(Checkpoints):
    """The history as Lisp, loaded in a session of its own, gives what is in the state of now."""

    def assertGives(self, expression, value):
        text = self.s.call("session-history", format="lisp").text
        path = self.file(text, "history.lisp")
        self.assertEvaluates(expression, value)
        self.s.call("create-session", name="reader")
        self.assertValue(self.s.evaluate("(load \"%s\")" % path, session="reader"), "T")
        report = self.s.evaluate(expression, session="reader")
        self.assertEqual([value], report.values, text)
        self.s.call("close-session", session="reader")

    def test_the_effects_of_a_failed_evaluation(self):
        expression = "(mapcar (lambda (name) (and (fboundp name) t)) '(a b c d e))"
        for code, value in (
            ('(defun a ()) (defun b ()) (error "x") (defun c ())', "(T T NIL NIL NIL)"),
            ('(progn (defun a ()) #| ( |# (progn (defun b ()) ; (\n (error "x") (defun c ())) (defun d ())) (defun e ())', "(T T NIL NIL NIL)"),
            ('(progn (defun a ()) (loop)) (defun b ())', "(T NIL NIL NIL NIL)"),
            ("(defun a ()) (defun b ()", "(T NIL NIL NIL NIL)"),
            ("(defun a ()) (sb-ext:exit :abort t)", "(NIL NIL NIL NIL NIL)"),
            ("(defun é ()) (defun a ()) (foo:bar)", "(T NIL NIL NIL NIL)"),
        ):
            with self.subTest(code=code):
                self.s.call("reset-session")
                self.assertTrue(self.s.evaluate(code, timeout=1).is_error)
                self.assertGives(expression, value)

    def test_the_value_with_which_a_restart_continued(self):
        again = "(restart-case (error \"x\") (use-value (v) v))"
        for code, steps, expression, value in (
            ("(defvar *a* %s) (defvar *b* 2)", [("USE-VALUE", "(* 6 7)")], "(list *a* *b*)", "(42 2)"),
            ("(defvar *a* (list %s %s)) (defvar *b* 2)", [("USE-VALUE", "1"), ("USE-VALUE", "2")], "(list *a* *b*)", "((1 2) 2)"),
            ("(progn (defvar *n* 0) (incf *n*) (defvar *a* %s) (incf *n*) (defvar *b* %s) (incf *n*))", [("USE-VALUE", "1"), ("USE-VALUE", "2")], "(list *n* *a* *b*)", "(3 1 2)"),
            ("(progn (defvar *n* 0) (progn (incf *n*) (cerror \"go\" \"y\") (incf *n*)) (incf *n*) (defvar *a* %s))", [("CONTINUE", None), ("USE-VALUE", "2")], "(list *n* *a*)", "(3 2)"),
            ("(defvar *n* 0) (progn (incf *n*) %s (incf *n*))", [("ABORT", None)], "*n*", "1"),
            ("(defvar *n* 0) (progn (incf *n*) (unless (fboundp 'fix) (error \"y\")) (incf *n*))", [("RETRY", None, "(defun fix ())")], "*n*", "3"),
        ):
            for in_copy in (False, True) if steps[0][0] != "ABORT" else (False,):  # a copy has nothing to abort
                with self.subTest(code=code, in_copy=in_copy):
                    self.s.call("reset-session")
                    self.assertTrue(self.s.evaluate(code.replace("%s", again)).is_error)
                    if in_copy:
                        self.s.evaluate("(defun since () :here)")
                        self.s.evaluate("(defvar *lost* 1) (setf *lost* 2)")
                    for name, given, *fix in steps:
                        self.restart(name, **{key: text for key, text in (("value", given), ("code", fix[0] if fix else None)) if text})
                    self.assertGives(expression, value)
                    if in_copy:
                        self.assertGives("(list (since) *lost*)", "(:HERE 1)")

    def test_code_evaluated_in_a_frame(self):
        self.s.evaluate("(defun price (item) (declare (optimize debug)) (cost item))")
        self.assertFails("(defvar *p* (price 3))")
        self.s.call("evaluate-in-frame", frame=1, code="(defun cost (x) (* 2 x))")
        self.s.call("evaluate-in-frame", frame=1, code="(setf item 5)")
        self.assertValue(self.restart("RETRY"), "*P*")
        self.assertGives("*p*", "6")

    def test_packages_that_change_on_the_way(self):
        self.s.evaluate("(defpackage :shop (:use :cl)) (in-package :shop) (defvar *a* 1) (error \"x\")")
        self.s.evaluate("(defvar *b* 2)")
        self.s.evaluate("(defvar *c* 3)", package="cl-user")
        self.s.evaluate("(defvar *d* 4)")
        self.s.call("save-session")
        self.assertGives("(list shop::*a* shop::*b* cl-user::*c* shop::*d*)", "(1 2 3 4)")

    def test_a_package_whose_name_must_be_escaped(self):
        self.s.evaluate(r'(defpackage "A\"B\\C" (:use :cl))')
        self.s.evaluate(r'(in-package "A\"B\\C")')
        self.s.evaluate("(defvar *x* 42)")
        self.assertGives(r'(symbol-value (find-symbol "*X*" "A\"B\\C"))', "42")

    def test_after_a_death_without_a_checkpoint(self):
        self.s.evaluate("(defvar *before* 1)")
        self.s.evaluate("(defparameter *t* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.s.evaluate("(defvar *n* 0) (incf *n*)")
        self.s.evaluate("(defun a () 1) (error \"x\") (defun b () 2)")
        self.assertDied(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertGives("(list *before* *n* (a) (fboundp 'b))", "(1 0 1 NIL)")


class TimeTravel(Checkpoints):
    def count_to(self, n):
        self.s.evaluate("(defvar *n* 1)")
        for i in range(2, n + 1):
            self.s.evaluate("(setf *n* %d)" % i)

    def test_a_number_a_name_and_steps_back_are_returned_to(self):
        self.count_to(3)
        self.assertSucceeds(self.s.call("checkpoint-session", name="three"), "three")
        self.s.evaluate("(setf *n* 4)")
        self.s.evaluate("(setf *n* 5)")
        text = self.rollback(-1)
        self.assertIn("state after evaluation 4", text)
        self.assertIn("5: (setf *n* 5)", text)
        self.assertIn("Current package: CL-USER", text)
        self.assertEvaluates("*n*", "4")
        self.assertIn("state after evaluation 3", self.rollback("three"))
        self.assertEvaluates("*n*", "3")
        self.assertIn("state after evaluation 2", self.rollback(2))
        self.assertEvaluates("*n*", "2")

    def test_one_goes_forward_again_until_the_next_evaluation(self):
        self.count_to(5)
        self.rollback(2)
        self.assertIn("state after evaluation 4", self.rollback(4))
        self.rollback(5)
        self.rollback(3)
        self.assertEvaluates("*n*", "3")
        reply = self.s.call("rollback-session", to="5")
        self.assertTrue(reply.is_error, reply.text)
        self.assertEvaluates("*n*", "3")

    def test_a_look_up_does_not_take_the_way_forward(self):
        self.count_to(4)
        self.rollback(2)
        self.s.call("list-definitions")
        self.s.call("session-info")
        self.s.call("describe-symbol", name="car")
        self.rollback(4)
        self.assertEvaluates("*n*", "4")

    def test_a_roll_back_undoes_definitions_classes_and_packages(self):
        self.s.evaluate("(defvar *a* 1)")
        self.s.evaluate("(defpackage :later (:use :cl)) (defun f () 1) (defclass c () ()) (setf *a* (list *a*)) (in-package :later)")
        text = self.rollback(-1)
        self.assertIn("Current package: CL-USER", text)
        self.assertEvaluates("(list *a* (fboundp 'f) (find-class 'c nil) (find-package :later) (package-name *package*))", '(1 NIL NIL NIL "COMMON-LISP-USER")')

    def test_something_absent_is_reported_and_nothing_happens(self):
        self.count_to(2)
        for to in ("nowhere", "77", "-77", "", "0", "2.5", "two three"):
            with self.subTest(to):
                reply = self.s.start_call("rollback-session", to=to).response()
                if to == "-77":
                    continue
                self.assertTrue("error" in reply or reply["result"].get("isError"), reply)
                self.assertEvaluates("*n*", "2")

    def test_one_that_is_cancelled_before_its_turn_has_failed(self):
        for tool, arguments in (("checkpoint-session", {"name": "good"}), ("save-session", {}), ("rollback-session", {"to": "1"})):
            with self.subTest(tool):
                client = self.start_server()
                calls = ((tool, arguments), ("cancel-evaluation", {}))
                # In one piece: the server takes both before its Lisp has started.
                client.send_raw("".join(json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": given}}) + "\n"
                                        for name, given in calls))
                replies = {message["id"]: mcp.Reply(message["result"]) for message in (client.receive(), client.receive())}
                self.assertIn("Stopping: ", replies["cancel-evaluation"].text)
                self.assertTrue(replies[tool].is_error, replies[tool].text)
                self.assertIn("cancelled before it began", replies[tool].text)

    def test_one_during_which_the_process_ends_has_failed_and_what_is_left_is_reported(self):
        s = self.start_server("--checkpoints", "off")
        s.evaluate("(defvar *n* 1)")
        pid = int(re.search(r"Process: (\d+)", s.call("session-info").text).group(1))
        os.kill(pid, signal.SIGSTOP)
        call = s.start_call("checkpoint-session", name="good")
        mcp.wait_until(lambda: "named good" in s.call("list-checkpoints").text, 10, "the request for a copy")
        self.assertEqual("Session default is making a checkpoint, which cannot be stopped.", s.call("cancel-evaluation").text)
        os.kill(pid, signal.SIGKILL)
        report = self.assertDied(call.reply(), "PROCESS-KILLED")
        self.assertIn("continues in a fresh Lisp", report.session)
        self.assertIn("No checkpoints", s.call("list-checkpoints").text)

    def test_of_many_undone_evaluations_the_earlier_ones_are_counted(self):
        self.count_to(1)
        self.s.call("checkpoint-session", name="first")
        for n, counted in ((11, "1 earlier one, and"), (12, "2 earlier ones, and")):
            for i in range(n):
                self.s.evaluate("(setf *n* %d)" % i)
            self.assertIn("\nUndone:\n  %s\n" % counted, self.rollback("first"))

    def test_wrong_names_are_refused(self):
        self.count_to(1)
        for name in ("", "12", "-3", "x" * 65, "a\0b"):
            with self.subTest(name):
                reply = self.s.start_call("checkpoint-session", name=name).response()
                self.assertTrue("error" in reply or reply["result"].get("isError"), reply)

    def test_checkpoints_are_dense_near_the_present(self):
        self.count_to(40)
        states = self.wait_for_states(8)
        self.assertEqual([40, 39, 38, 37], states[:4])
        self.assertLess(states[-1], 30)

    def test_the_limit_of_checkpoints_counts(self):
        self.s.call("configure-limits", checkpoint_limit=3)
        self.count_to(10)
        self.wait_for_states(3)
        self.s.call("configure-limits", checkpoint_limit=0)
        self.s.evaluate("1")
        report = self.s.evaluate("(sb-ext:exit :abort t)")
        self.assertTrue(report.is_error)
        self.assertOperational()

    def test_the_original_keeps_its_locks_and_timers_and_children(self):
        path = os.path.join(self.folder(), "lock")
        self.s.evaluate('(defvar *file* (open "%s" :direction :output))' % path)
        self.assertEvaluates('(sb-posix:lockf *file* sb-posix:f-tlock 0)', "0")
        self.s.evaluate("(defvar *rung* 0) (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (incf *rung*))) 0.1)")
        self.s.evaluate('(defvar *child* (sb-ext:run-program "/bin/cat" nil :input :stream :output :stream :wait nil))')
        self.assertEvaluates("(progn (sleep 0.3) *rung*)", "1")
        self.assertEvaluates('(progn (write-line "hello" (sb-ext:process-input *child*)) (finish-output (sb-ext:process-input *child*)) (read-line (sb-ext:process-output *child*)))', '"hello"', "NIL")
        locked = subprocess.run(["python3", "-c", "import fcntl,sys; f=open(sys.argv[1],'w')\ntry: fcntl.lockf(f, fcntl.LOCK_EX|fcntl.LOCK_NB)\nexcept OSError: sys.exit(7)", path])
        self.assertEqual(7, locked.returncode)

    def test_output_of_the_past_is_not_printed_again(self):
        self.s.evaluate('(format t "once")')
        self.s.evaluate("1")
        self.rollback(-1)
        report = self.s.evaluate("2")
        self.assertEqual(["values"], report.sections, report.text)


class AfterAFailure(Checkpoints):
    """The state after a failed evaluation is returned to by leaving its error once more, in a copy."""

    def fail_at_a_file(self, path):
        self.s.evaluate("(defvar *n* 0) (defpackage :other (:use :cl))")
        self.assertErrorReport(self.s.evaluate(
            '(unwind-protect (with-open-file (o "%s" :direction :output :if-exists :supersede) (write-string "lost" o)'
            ' (let ((*package* (find-package :other))) (setf *n* 1) (error "x")))'
            ' (princ "cleaned up") (incf *n*))' % path), "SIMPLE-ERROR")
        self.s.evaluate('(with-open-file (o "%s" :direction :output :if-exists :supersede) (write-string "kept" o)) (setf *n* 3)' % path)

    def test_memory_comes_back_and_files_stay_as_later_code_has_left_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f")
            self.fail_at_a_file(path)
            text = self.rollback(2)
            self.assertEqual("kept", mcp.read(path))
            self.assertEqual(["f"], os.listdir(folder))
            self.assertIn("Current package: CL-USER", text)
            self.assertNotIn("cleaned up", text)
            self.assertEvaluates("(progn (princ :heard) *n*)", "2")
            self.assertIn("HEARD", self.s.evaluate("(princ :heard)").stdout)

    def test_what_was_written_is_not_written_again(self):
        path = os.path.join(self.folder(), "f")
        self.assertErrorReport(self.s.evaluate(
            '(let ((o (open "%s" :direction :output))) (unwind-protect (progn (write-line "one" o) (error "x")) (close o)))' % path), "SIMPLE-ERROR")
        self.s.evaluate("1")
        self.rollback(1)
        self.s.evaluate(KILL_SELF)
        self.assertEqual("one\n", mcp.read(path))

    def test_a_death_after_it_leads_there_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f")
            self.fail_at_a_file(path)
            self.rollback(2)
            report = self.assertDied(self.s.evaluate(KILL_SELF))
            self.assertNotIn("cleaned up", report.text)
            self.assertEvaluates("*n*", "2")
            self.assertEqual("kept", mcp.read(path))

    def test_cleanup_forms_that_do_not_end_lead_further_back(self):
        self.s.evaluate("(defvar *n* 0) (defvar *stay* nil)")
        self.s.evaluate('(unwind-protect (error "x") (when *stay* (sb-sys:without-interrupts (loop (sleep 1)))))')
        self.s.evaluate("(setf *n* 1)")
        self.assertEqual([3, 2, 1], self.states())
        self.s.call("evaluate-in-frame", frame=0, code="(setf *stay* t)", index=1)
        self.assertIn("Returned to the state after evaluation 2.", self.rollback(2))  # the visit was in a copy
        self.assertErrorReport(self.s.evaluate('(unwind-protect (error "x") (when *stay* (sb-sys:without-interrupts (loop (sleep 1)))))'), "SIMPLE-ERROR")
        self.s.call("evaluate-in-frame", frame=0, code="(setf *stay* t)")
        report = self.s.evaluate("*n*")
        self.assertIn("state after evaluation 2", report.text)

    def test_cleanup_forms_that_end_the_process_run_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f")
            append = '(with-open-file (s "%s" :direction :output :if-exists :append :if-does-not-exist :create) (princ "x" s))' % path
            self.s.evaluate("(defvar *n* 1)")
            self.s.evaluate('(unwind-protect (error "x") %s (sb-ext:exit :abort t))' % append)
            self.assertIn("state after evaluation 1", self.s.evaluate("*n*").text)
            self.assertEqual("x", mcp.read(path))
            self.assertIn("(can be entered)", self.s.call("list-errors").text)

    def test_the_package_of_the_code_that_failed_is_not_the_sessions(self):
        """While the error stands, and after a death beside threads."""
        self.s.evaluate("(defpackage :app (:use :cl))")
        self.s.evaluate("(sb-thread:make-thread (lambda () (sleep 1000)))")
        self.s.evaluate('(let ((*package* (find-package :app))) (error "x"))')
        self.assertIn("Package: CL-USER", self.s.call("session-info").text)
        self.s.evaluate("(defun important () 42)")
        self.assertNotIn('(in-package "APP")', self.s.call("session-history", format="lisp").text)
        self.s.evaluate("(sb-ext:exit :abort t)")
        self.assertEvaluates("(important)", "42")

    def test_look_ups_at_an_error_name_symbols_as_the_next_evaluation_will(self):
        self.s.evaluate("(defpackage :app (:use :cl)) (defun thing () 1) (defun app::thing () 2)")
        self.s.evaluate('(let ((*package* (find-package :app))) (error "x"))')
        self.assertIn("THING is a symbol of the package COMMON-LISP-USER", self.s.call("describe-symbol", name="thing").text)
        self.assertIn("Package: CL-USER", self.s.call("session-info").text)


class Processes(Checkpoints):
    def test_code_cannot_reach_the_descriptors_of_the_next_copy(self):
        # The request for it, with a descriptor, waits in the channel while the code runs; not yet when the first does.
        descriptors = "(length (directory \"/proc/self/fd/*\" :resolve-symlinks nil))"
        alone = self.s.evaluate(descriptors).values
        for _ in range(50):
            self.assertEqual(alone, self.s.evaluate(descriptors).values)

    def test_frozen_processes_are_bounded(self):
        for i in range(60):
            self.s.evaluate("(defvar *x%d* %d)" % (i, i))
            if i % 3 == 0:
                self.s.evaluate('(error "x")')
            if i % 10 == 0:
                self.s.evaluate("(sb-ext:exit :abort t)")
        # zygote, current, 8 checkpoints, 5 errors; a few that are on their way out
        mcp.wait_until(lambda: len(self.lisps()) <= 15, 5, "the end of what was dropped")

    def test_close_leaves_none(self):
        self.s.evaluate("1")
        mcp.wait_until(lambda: len(self.lisps()) == 3, 5, "zygote, session and its first checkpoint")
        before = set(self.lisps())
        self.s.call("create-session", name="short")
        for i in range(10):
            self.s.evaluate("(defvar *x%d* 1)" % i, session="short")
            self.s.evaluate('(error "x")', session="short")
        self.assertGreater(len(self.lisps()), len(before) + 5)
        self.s.call("close-session", session="short")
        mcp.wait_until(lambda: set(self.lisps()) <= before, 5, "the end of the session's processes")

    def test_reset_leaves_none(self):
        for i in range(10):
            self.s.evaluate("(defvar *x%d* 1)" % i)
            self.s.evaluate('(error "x")')
        self.s.call("checkpoint-session", name="named")
        before = set(self.lisps())
        self.s.call("reset-session")
        mcp.wait_until(lambda: len(self.lisps()) <= 2, 5, "the end of what was before the reset")
        self.assertEqual([], self.states())
        self.assertTrue(self.s.call("rollback-session", to="named").is_error)
        self.assertLessEqual(len(set(self.lisps()) & before), 1)

    def test_a_server_that_is_killed_leaves_none(self):
        for i in range(10):
            self.s.evaluate("(defvar *x%d* 1)" % i)
            self.s.evaluate('(error "x")')
        mark = self.s.mark
        self.s.destroy()
        mcp.assert_none_left(mark)
