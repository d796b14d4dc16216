"""Time limits and cancel: the ladder ends everything within the limit and 3 s, and the session goes on."""

import time

import mcp

LADDER = 3.0  # what the ladder may take beyond the limit
SLACK = 1.5  # for a busy machine, beyond what is promised


@mcp.unittest.skipIf(mcp.SANITIZED, "it waits for time limits; the plain build does")
class Ladder(mcp.TestCase):
    def assertStopped(self, code, survives=True, wait=30):
        self.assertEvaluates("(defparameter *kept* 42)", "*KEPT*")
        started = time.monotonic()
        report = self.s.evaluate(code, timeout=1, wait=wait)
        took = time.monotonic() - started
        self.assertTrue(report.is_error, report.text)
        self.assertEqual("TIMEOUT", report.error_type, report.text)
        self.assertRegex(report.message, r"\b1 s")
        self.assertIn("configure-limits", report.text)
        self.assertGreaterEqual(took, 0.95)
        self.assertLess(took, (1 + LADDER + SLACK) * mcp.STRETCH, report.text)
        self.assertOperational()
        kept = self.s.evaluate("*kept*")
        if survives:
            self.assertEqual("42", kept.value, report.text)
        else:  # either it is still there or the report said that it is not
            self.assertTrue(kept.value == "42" or report.session, report.text)
        return report

    def test_a_busy_loop_is_interrupted(self):
        report = self.assertStopped("(loop)")
        self.assertIn("[Backtrace]", report.text)

    def test_a_loop_in_a_function_shows_where_it_was(self):
        self.s.evaluate("(defun spin (n) (loop (setf n (logxor n 1))))")
        # About one interrupt in eight finds no frame of it: presumably one in the first instructions of a function that it calls,
        # before these have saved by what SBCL finds the caller.
        for _ in range(8):
            report = self.assertStopped("(list (spin 0))")
            if any(frame.startswith("(SPIN") for frame in report.frames):
                return
        self.fail(report.text)

    def test_a_sleep_is_interrupted(self):
        self.assertStopped("(sleep 100)")

    def test_a_loop_that_conses_is_interrupted(self):
        self.assertStopped("(loop (make-list 1000))")

    def test_a_loop_that_prints_is_interrupted_and_its_output_is_there(self):
        report = self.assertStopped('(loop (write-line "again") (sleep 0.01))')
        self.assertIn("again\nagain", report.stdout)

    def test_a_flood_of_output_is_interrupted(self):
        self.assertStopped('(loop (write-line "a flood of output"))')

    def test_a_loop_that_handles_every_error_is_interrupted(self):
        self.assertStopped("(loop (handler-case (loop) (error () nil)))")
        self.assertStopped("(loop (ignore-errors (sleep 10)))")

    def test_a_loop_that_handles_every_serious_condition_is_stopped(self):
        self.assertStopped("(loop (handler-case (loop) (serious-condition () nil)))", survives=False)

    def test_a_loop_in_a_cleanup_form_is_stopped(self):
        self.assertStopped("(unwind-protect (loop) (loop))", survives=False)

    def test_cleanup_forms_that_never_end_are_stopped(self):
        self.assertStopped("(labels ((nest (n) (unwind-protect (loop) (nest (1+ n))))) (nest 0))", survives=False)

    def test_a_loop_in_without_interrupts_is_stopped(self):
        report = self.assertStopped("(sb-sys:without-interrupts (loop))", survives=False)
        self.assertNotEqual("", report.session, report.text)

    def test_a_loop_in_foreign_code_is_stopped(self):
        self.assertStopped('(alien-funcall (extern-alien "sleep" (function unsigned-int unsigned-int)) 100)', survives=False)
        self.assertStopped('(sb-sys:without-interrupts (alien-funcall (extern-alien "pause" (function int))))', survives=False)

    def test_a_process_that_stopped_itself_is_killed(self):
        self.assertStopped('(alien-funcall (extern-alien "raise" (function int int)) 19)', survives=False)

    def test_waiting_for_a_child_is_stopped(self):
        self.assertStopped('(sb-ext:run-program "/bin/sleep" (list "100"))')

    def test_a_lock_that_is_never_free_is_stopped(self):
        self.assertStopped("(let ((m (sb-thread:make-mutex))) (sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-thread:grab-mutex m)))) (sb-thread:grab-mutex m))", survives=False)

    def test_reading_and_compiling_are_under_the_limit(self):
        self.assertStopped("#.(loop)")
        self.assertStopped("(macrolet ((forever () (loop))) (forever))")

    def test_a_signal_handler_of_the_users_does_not_matter(self):
        self.s.evaluate("(handler-bind ((condition (lambda (c) (declare (ignore c)) nil))) (sb-sys:enable-interrupt sb-unix:sigint :ignore))")
        self.assertStopped("(loop)")

    def test_a_loop_without_collections_is_stopped(self):
        self.assertStopped("(sb-sys:without-gcing (loop))", survives=False)


@mcp.unittest.skipIf(mcp.SANITIZED, "it waits for time limits; the plain build does")
class Limits(mcp.TestCase):
    def test_the_limit_of_a_call_is_its_own(self):
        self.assertEqual("TIMEOUT", self.s.evaluate("(sleep 20)", timeout=0.5).error_type)
        self.assertEvaluates("(progn (sleep 0.8) :fine)", ":FINE")

    def test_configure_limits_holds_for_later_calls(self):
        reply = self.s.call("configure-limits", timeout=1)
        self.assertIn("Current limits:", reply.text)
        self.assertRegex(reply.text, r"timeout: 1 s")
        started = time.monotonic()
        self.assertEqual("TIMEOUT", self.s.evaluate("(loop)").error_type)
        self.assertLess(time.monotonic() - started, (1 + LADDER + SLACK) * mcp.STRETCH)
        self.assertEvaluates("(progn (sleep 1.3) :longer)", ":LONGER", timeout=5)

    def test_the_option_sets_the_first_limit(self):
        client = self.start_server("--timeout", "1")
        self.assertEqual("TIMEOUT", client.evaluate("(loop)", wait=15).error_type)
        self.assertOperational(client)

    def test_configure_limits_without_arguments_shows_them(self):
        reply = self.s.call("configure-limits")
        self.assertFalse(reply.is_error)
        self.assertRegex(reply.text, r"timeout: 30 s")
        self.assertIn("max-output", reply.text)
        self.assertIn("max-heap", reply.text)

    def test_a_limit_out_of_bounds_changes_nothing(self):
        before = self.s.call("configure-limits").text
        for arguments in ({"timeout": 0}, {"timeout": -5}, {"timeout": 1e12}, {"max-output": -1}, {"max-heap": 0}):
            with self.subTest(repr(arguments)):
                self.assertTrue(self.s.call("configure-limits", arguments).is_error)
                self.assertEqual(before, self.s.call("configure-limits").text)

    def test_max_output_is_for_the_session_and_for_a_call(self):
        code = "(dotimes (i 2000) (format t \"line ~d~%\" i))"
        self.s.call("configure-limits", max_output=1000)
        short = self.s.evaluate(code)
        self.assertLess(len(short.text), 2500)
        self.assertIn("left out", short.text)
        self.assertGreater(len(self.s.evaluate(code, max_output=10000).text), 5000)

    def test_max_heap_bounds_the_session(self):
        client = self.start_server("--max-heap", "256")
        report = client.evaluate("(length (make-array 100000000))")
        self.assertTrue(report.is_error, report.text)
        self.assertOperational(client)

    def test_the_limits_of_one_session_are_not_anothers(self):
        self.s.call("create-session", name="other")
        self.s.call("configure-limits", timeout=1, session="other")
        self.assertRegex(self.s.call("configure-limits").text, r"timeout: 30 s")
        self.assertRegex(self.s.call("configure-limits", session="other").text, r"timeout: 1 s")

    def test_the_time_in_the_queue_does_not_count(self):
        first = self.s.start_call("evaluate-lisp", code="(progn (sleep 1.5) :first)")
        second = self.s.start_call("evaluate-lisp", code="(progn (sleep 0.1) :second)", timeout=1)
        self.assertValue(first.reply(), ":FIRST")
        self.assertValue(second.reply(), ":SECOND")


@mcp.unittest.skipIf(mcp.SANITIZED, "it waits for time limits; the plain build does")
class AfterATimeLimit(mcp.TestCase):
    def test_the_error_record_is_the_time_limit(self):
        self.s.evaluate("(loop)", timeout=1)
        text = self.s.call("describe-last-error").text
        self.assertTrue(text.startswith("Error: TIMEOUT"), text)
        self.assertIn("Backtrace", text)

    def test_cleanup_forms_have_run(self):
        self.s.evaluate("(defvar *cleaned* nil)")
        self.s.evaluate("(unwind-protect (loop) (setf *cleaned* t))", timeout=1)
        self.assertEvaluates("*cleaned*", "T")

    def test_many_time_limits_in_a_row_are_survived(self):
        self.s.evaluate("(defvar *count* 0)")
        for n in range(5):
            self.assertEqual("TIMEOUT", self.s.evaluate("(progn (incf *count*) (loop))", timeout=0.2).error_type)
        self.assertEvaluates("*count*", "5")

    def test_a_limit_that_comes_just_at_the_end_does_no_harm(self):
        for n in range(20):
            report = self.s.evaluate("(progn (sleep %f) :done)" % (0.19 + n * 0.001), timeout=0.2)
            self.assertTrue(report.value == ":DONE" or report.error_type == "TIMEOUT", report.text)
            self.assertOperational()


@mcp.unittest.skipIf(mcp.SANITIZED, "it waits for time limits; the plain build does")
class Cancel(mcp.TestCase):
    def test_cancel_walks_the_same_ladder(self):
        for code in ("(loop)", "(unwind-protect (loop) (loop))", "(sb-sys:without-interrupts (loop))"):
            with self.subTest(code):
                self.s.evaluate("1")
                pending = self.s.start_call("evaluate-lisp", code=code, timeout=60)
                self.s.request("ping")
                started = time.monotonic()
                self.s.notify("notifications/cancelled", {"requestId": pending.id})
                self.assertOperational()
                self.assertLess(time.monotonic() - started, (LADDER + SLACK) * mcp.STRETCH)
                self.assertFalse(pending.is_answered)

    def test_cancel_evaluation_says_what_was_running_and_which_step_stopped_it(self):
        self.s.evaluate("1")
        pending = self.s.start_call("evaluate-lisp", code="(progn (loop) :the-endless-one)", timeout=60)
        self.s.request("ping")
        reply = self.s.call("cancel-evaluation", wait=20)
        self.assertFalse(reply.is_error, reply.text)
        self.assertIn("the-endless-one", reply.text.lower())
        self.assertTrue(pending.reply().is_error)
        self.assertOperational()

    def test_cancel_evaluation_with_nothing_running_says_so(self):
        reply = self.s.call("cancel-evaluation")
        self.assertRegex(reply.text, r"(?i)nothing|no evaluation")

    def test_cancel_evaluation_of_one_session_leaves_the_other_running(self):
        self.s.call("create-session", name="other")
        self.s.evaluate("1", session="other")
        stays = self.s.start_call("evaluate-lisp", code="(progn (sleep 1.5) :stayed)")
        goes = self.s.start_call("evaluate-lisp", code="(loop)", session="other", timeout=60)
        self.s.request("ping")
        self.assertFalse(self.s.call("cancel-evaluation", session="other").is_error)
        self.assertTrue(goes.reply().is_error)
        self.assertValue(stays.reply(), ":STAYED")


if __name__ == "__main__":
    mcp.main()
