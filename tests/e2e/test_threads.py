"""Sessions with threads: they are seen, asked for their stacks, stopped and ended; their errors are errors like any other."""

import concurrent.futures
import ctypes.util
import http.client
import os
import re
import signal
import sqlite3
import urllib.error
import urllib.request

import entries
import mcp

STOPPED = """(defvar *gate* (sb-thread:make-semaphore :name "gate"))
(defvar *here* (sb-thread:make-semaphore :name "here"))
(defun await (text) (declare (optimize debug)) (let ((doubled (concatenate 'string text text))) (sb-thread:signal-semaphore *here*)
                      (sb-thread:wait-on-semaphore *gate*) doubled))"""


class ThreadTest(mcp.SessionTest):
    def start(self, name, form, ready=True):
        """Start a thread that signals *HERE* when it has come to where the test wants it."""
        code = '(progn (sb-thread:make-thread (lambda () %s) :name (format nil "%s")) %s)'
        self.assertEvaluates(code % (form, name, "(sb-thread:wait-on-semaphore *here*) t" if ready else "t"), "T")

    def threads(self):
        """The lines of list-threads, by name."""
        lines = self.s.call("list-threads").text.splitlines()[1:]
        return {m.group(2): m.group(3) for m in (re.match(r"(\d+)  (.*?): (.*)", line) for line in lines) if m}

    def names(self):
        return [line.split("  ", 1)[1].rsplit(": ", 1)[0] for line in self.s.call("list-threads").text.splitlines()[1:]]

    def await_thread(self, name, pattern):
        mcp.wait_until(lambda: re.search(pattern, self.threads().get(name, "")), 10, "%s to be %s" % (name, pattern))


class Looking(ThreadTest):
    def setUp(self):
        super().setUp()
        self.s.evaluate(STOPPED)

    def test_a_thread_that_waits_for_a_mutex_is_shown_with_its_holder(self):
        self.s.evaluate('(defvar *lock* (sb-thread:make-mutex :name "the lock"))')
        self.start("holder", '(sb-thread:with-mutex (*lock*) (await "x"))')
        self.start("waiter", "(sb-thread:with-mutex (*lock*) :got)", ready=False)
        self.await_thread("waiter", 'waiting for mutex "the lock", held by holder')
        self.assertEqual("serves this session", self.threads()["main thread"])

    def test_how_long_a_thread_has_waited_grows(self):
        self.start("waiter", '(await "x")')
        self.await_thread("waiter", r", for 0\.[3-9] s|, for [1-9]")

    def test_the_stack_of_a_running_thread_is_shown_with_its_variables(self):
        self.start("waiter", '(await "ab")')
        text = self.s.call("get-backtrace", thread="waiter", locals=True).text
        self.assertIn('(AWAIT "ab")', text)
        self.assertIn('DOUBLED = "abab"', text)
        self.assertNotIn("DOUBLED", self.s.call("get-backtrace", thread="waiter").text)
        # It continues as if nothing had happened.
        self.assertEvaluates("(sb-thread:signal-semaphore *gate*)", "NIL")
        mcp.wait_until(lambda: "waiter" not in self.threads(), 10, "the thread to end")

    def test_a_thread_without_interrupts_does_not_hang_the_tool(self):
        self.start("deaf", '(sb-sys:without-interrupts (await "x"))', ready=False)
        self.await_thread("deaf", "waiting")
        reply = self.s.call("get-backtrace", thread="deaf")
        self.assertIn("did not react", reply.text)
        self.assertOperational()
        self.assertIsError(self.s.call("kill-thread", thread="deaf"), "still runs")
        self.assertEvaluates("(sb-thread:signal-semaphore *gate*)", "NIL")
        mcp.wait_until(lambda: "deaf" not in self.threads(), 10, "it to end once interrupts are allowed")

    def test_a_variable_that_prints_without_end_does_not_hang_the_tool(self):
        self.s.evaluate("(defstruct endless) (defmethod print-object ((object endless) stream) (loop))")
        self.start("printer", "(let ((object (make-endless))) (await \"x\") object)")
        self.assertSucceeds(self.s.call("get-backtrace", thread="printer", locals=True, wait=60), '(AWAIT "x")')
        self.assertOperational()

    def test_an_unknown_name_and_one_of_several_threads_are_refused(self):
        self.assertIn("No thread nobody", self.s.call("get-backtrace", thread="nobody").text)
        self.start("twin", '(await "x")')
        self.start("twin", '(await "x")')
        text = self.s.call("kill-thread", thread="twin").text
        self.assertRegex(text, r"2 threads are named twin; give the number of one: \d+, \d+")
        number = re.search(r"(\d+)\.", text).group(1)
        self.assertIn("has ended", self.s.call("kill-thread", thread=number).text)
        self.assertIn("has ended", self.s.call("kill-thread", thread="twin").text)

    def test_an_odd_name_is_one_short_line(self):
        self.start("worker~%12  forged: running", '(await "x")')
        self.start("w" * 3000, '(await "x")')
        self.assertEqual({"main thread", "worker 12  forged: running", "w" * 60 + "..."}, set(self.names()))
        self.assertIn("has ended", self.s.call("kill-thread", thread="worker\n12  forged: running").text)
        self.assertIn("has ended", self.s.call("kill-thread", thread="w" * 60 + "...").text)
        self.start("lone~%line", "(progn (sb-thread:signal-semaphore *here*) (error \"in it\"))")
        mcp.wait_until(lambda: "in thread lone line: SIMPLE-ERROR" in self.s.call("list-errors").text, 10, "its error")

    def test_the_error_of_the_last_thread_is_listed_after_its_end(self):
        for number in range(12):
            self.start("lone", '(progn (sb-thread:signal-semaphore *here*) (error "failed %d"))' % number)
            mcp.wait_until(lambda: "in thread lone: SIMPLE-ERROR: failed %d" % number in self.s.call("list-errors").text, 10, "its error")

    def test_killing_runs_the_cleanup_forms(self):
        self.s.evaluate("(defvar *cleaned* nil)")
        self.start("victim", '(unwind-protect (await "x") (setf *cleaned* :yes))')
        self.assertIn("has ended", self.s.call("kill-thread", thread="victim").text)
        self.assertEvaluates("*cleaned*", ":YES")

    def test_a_deadlock_is_reported_with_its_cycle(self):
        """With a time limit on one of the locks SBCL does not look for one by itself."""
        self.s.evaluate('''(defvar *one* (sb-thread:make-mutex :name "one")) (defvar *two* (sb-thread:make-mutex :name "two"))
        (defun both (mine other)
          (sb-thread:with-mutex (mine)
            (sb-thread:signal-semaphore *here*) (sb-thread:wait-on-semaphore *gate*)
            (sb-thread:with-mutex (other :timeout 1000))))''')
        self.start("left", "(both *one* *two*)")
        self.start("right", "(both *two* *one*)")
        self.assertNotIn("Deadlock", self.s.call("list-threads").text)
        self.s.evaluate("(sb-thread:signal-semaphore *gate* 2)")
        self.await_thread("left", "held by right")
        self.await_thread("right", "held by left")
        self.assertRegex(self.s.call("list-threads").text,
                         r'Deadlock: left \(\d+\) waits for mutex "two", held by right \(\d+\), which waits for mutex "one", held by left')
        self.s.call("kill-thread", thread="left")
        self.assertNotIn("Deadlock", self.s.call("list-threads").text)


class WaitedFor(ThreadTest):
    """The report of an evaluation that was stopped while it waited for threads tells what these wait for."""

    PROGRAM = """
(in-package :cl-user)
(defvar *jobs* (sb-thread:make-mutex :name "jobs")) (defvar *results* (sb-thread:make-mutex :name "results"))
(defvar *more* (sb-thread:make-waitqueue)) (defvar *here* (sb-thread:make-semaphore)) (defvar *threads* '())
(defun take () (sb-thread:with-mutex (*jobs*) (sb-thread:signal-semaphore *here*) (loop (sb-thread:condition-wait *more* *jobs*))))
(defun take-holding () (sb-thread:with-mutex (*results*) (take) :taken))
(defun put-result () (sb-thread:signal-semaphore *here*) (sb-thread:with-mutex (*results*) :put))
(defun start (name function) (push (sb-thread:make-thread function :name name) *threads*) (sb-thread:wait-on-semaphore *here*))
(defun finish () (mapc #'sb-thread:join-thread *threads*))
"""
    START = '(progn (start "holder" #\'take-holding) (start "one" #\'take) (start "two" #\'take) (start "late" #\'put-result))'

    def assertTold(self, report, place=""):
        self.assertErrorReport(report, "TIMEOUT")
        lines = report.hint.splitlines()
        self.assertIn("Threads that wait:", lines)
        # Newer releases call CONDITION-WAIT without a frame of its own.
        waits = r"(SB-THREAD:CONDITION-WAIT|\(FLET SB-THREAD::WITH-MUTEX-THUNK :IN TAKE\))"
        self.assertTrue(any(re.search(r"^(?=.*one)(?=.*two)(?=.*holder).*: in %s; TAKE%s$" % (waits, place), line) for line in lines), report.hint)
        self.assertTrue(any(re.search(r'^late: for mutex "results", held by holder \(\d+\); PUT-RESULT%s$' % place, line) for line in lines), report.hint)

    def test_of_an_evaluation(self):
        self.s.evaluate(self.PROGRAM)
        self.s.evaluate(self.START)
        self.await_thread("late", "held by holder")
        self.assertTold(self.s.evaluate("(finish)", timeout=1))
        self.assertOperational()

    def test_of_a_run_of_tests_of_a_system(self):
        folder = self.folder()
        mcp.write(os.path.join(folder, "pool.lisp"), self.PROGRAM)
        mcp.write(os.path.join(folder, "pool.asd"), '(defsystem "pool" :components ((:file "pool")) :perform (test-op (o c) (uiop:symbol-call :cl-user :finish)))')
        self.assertSucceeds(self.s.call("load-system", system=os.path.join(folder, "pool.asd")))
        self.s.evaluate(self.START)
        self.await_thread("late", "held by holder")
        self.assertTold(mcp.Report(self.s.call("run-tests", system="pool", timeout=1).result), r" at \S+/pool\.lisp:\d")

    def test_more_places_than_lines_are_counted(self):
        self.s.evaluate(STOPPED)
        for number in range(10):
            self.s.evaluate("(defun await%d () (sb-thread:signal-semaphore *here*) (sb-thread:wait-on-semaphore *gate*) %d)" % (number, number))
            self.s.evaluate("(progn (sb-thread:make-thread #'await%d) (sb-thread:wait-on-semaphore *here*) t)" % number)
        hint = self.assertErrorReport(self.s.evaluate("(loop (sleep 1))", timeout=1), "TIMEOUT").hint
        self.assertRegex(hint, r"^Threads that wait:(\n.*: in .*){8}\n\.\.\. and 2 more$")


class StandingTest(ThreadTest):
    """A session whose program has a thread."""

    def setUp(self):
        super().setUp()
        self.s.evaluate(STOPPED)
        self.s.evaluate("(defun fail (x) (declare (optimize debug)) (let ((double (* 2 x))) (cerror \"Go on.\" \"failed ~a\" x) (list :went-on double)))")
        self.start("program", '(await "x")')

    def errors(self):
        """The lines of list-errors, newest first."""
        return re.findall(r"(?m)^\d+\. \S+ (.*)$", self.s.call("list-errors").text)

    def end_program(self):
        self.s.evaluate("(sb-thread:signal-semaphore *gate*)")
        mcp.wait_until(lambda: "program" not in self.threads(), 10, "the program's thread to end")


class Standing(entries.Entries, StandingTest):
    """What fails stays where it stands."""

    def test_an_error_is_entered_in_place_and_what_is_done_there_stays(self):
        self.assertFails("(fail 21)", "SIMPLE-ERROR")
        self.assertValue(self.enter("(progn (defvar *seen* (list x double)) *seen*)"), "(21 42)")
        self.assertEvaluates("*seen*", "(21 42)")
        self.assertIn("DOUBLE = 42", self.s.call("get-backtrace", locals=True, index=1).text)
        self.assertValue(self.restart("CONTINUE"), "(:WENT-ON 42)")

    def test_errors_stay_enterable_after_further_evaluations_and_each_goes_on_by_itself(self):
        for x in (1, 2, 3):
            self.assertFails("(fail %d)" % x)
        self.assertEvaluates("(+ 1 2)", "3")
        self.assertEqual(3, sum("can be entered" in line for line in self.errors()))
        self.assertValue(self.enter("x", index=1), "1")
        self.assertValue(self.restart("CONTINUE", index=1), "(:WENT-ON 2)")
        self.assertValue(self.enter("x", index=3), "3")
        self.assertValue(self.restart("CONTINUE", index=3), "(:WENT-ON 6)")
        self.assertEqual(1, sum("can be entered" in line for line in self.errors()))
        self.assertTrue(self.restart("CONTINUE", index=3).is_error)

    def test_the_number_of_an_error_means_it_in_every_reply_whatever_follows(self):
        self.assertEqual([1, 2], [self.assertFails("(fail %d)" % x).error_number for x in (1, 2)])
        self.assertIn("Backtrace of error 1 (", self.s.call("get-backtrace", index=1).text)
        self.assertIn("failed 1", self.s.call("describe-last-error", index=1).text)
        self.assertEqual(["2", "1"], re.findall(r"(?m)^(\d+)\. \S+ SIMPLE-ERROR: failed \1 ", self.s.call("list-errors").text))
        self.assertIn("Errors: 2 (the last evaluation failed: error 2)", self.s.call("session-info").text)
        self.assertEqual(["stopped at error 1", "stopped at error 2"], sorted(state for state in self.threads().values() if "error" in state))

    def test_the_oldest_of_six_is_unwound_and_runs_its_cleanup_forms(self):
        self.s.evaluate("(defvar *cleaned* '())")
        for x in range(6):
            self.assertFails("(unwind-protect (fail %d) (push %d *cleaned*))" % (x, x))
        mcp.wait_until(lambda: self.s.evaluate("*cleaned*").value == "(0)", 10, "the oldest to be unwound")
        self.assertEqual(["can be entered" in line for line in self.errors()], [True] * 5 + [False])
        self.assertIn("no longer stopped there", self.enter("x", index=1).text)

    def test_a_mistyped_value_leaves_the_error_as_it_was(self):
        self.assertFails("(list unbound-thing)", "UNBOUND-VARIABLE")
        for value, condition in (("(list 1", "END-OF-FILE"), ("(car 5)", "TYPE-ERROR")):
            reply = self.restart("USE-VALUE", value=value)
            self.assertErrorReport(reply, condition)
            self.assertIn("Error 1, which was entered, is as it was: UNBOUND-VARIABLE.", reply.text)
        self.assertIn("Error: UNBOUND-VARIABLE", self.s.call("describe-last-error").text)
        self.assertEqual(1, len(self.errors()))
        self.assertNotIn("invoke-restart", self.s.call("session-history").text)
        self.assertValue(self.restart("USE-VALUE", value="42"), "(42)")

    def test_an_error_that_a_thread_had_to_leave_reports_that(self):
        reply = self.s.evaluate("(defun deep (n) (1+ (deep n))) (deep 1)")
        self.assertErrorReport(reply, "SB-KERNEL::CONTROL-STACK-EXHAUSTED")
        self.assertNotIn("[Restarts]", reply.text)
        self.assertNotIn("enter it", self.s.call("describe-last-error").text)
        self.assertIn("(cannot be entered: The Lisp had to leave it at once", self.errors()[0])
        self.assertIn("Error 1 cannot be entered: The Lisp had to leave it at once", self.enter("n").text)

    def test_a_failing_look_into_a_frame_leaves_the_error_as_it_was(self):
        self.assertFails("(fail 1)")
        for _ in range(3):
            self.assertErrorReport(self.enter("(error \"in the look\")"))
        self.assertValue(self.enter("x"), "1")
        self.assertEqual(1, len(self.errors()))
        self.assertValue(self.restart("CONTINUE"), "(:WENT-ON 2)")

    def test_a_look_that_does_not_end_is_stopped_and_the_error_still_stands(self):
        self.assertFails("(fail 1)")
        self.assertErrorReport(self.enter("(loop)", timeout=0.3), "TIMEOUT")
        self.assertValue(self.enter("x"), "1")
        self.assertOperational()

    def test_an_evaluation_stopped_at_its_limit_continues(self):
        self.s.evaluate("(defvar *go* nil)")
        self.assertFails("(loop until *go* finally (return :done))", "TIMEOUT", timeout=0.3)
        self.assertEvaluates("(setf *go* t)", "T")
        self.assertValue(self.restart("CONTINUE"), ":DONE")

    def test_one_that_takes_no_interrupt_at_first_is_unwound_by_the_second(self):
        report = self.assertFails("(handler-bind ((error #'identity)) (loop (ignore-errors (sleep 100))))", timeout=0.3)
        self.assertEqual("TIMEOUT", report.error_type)
        self.assertOperational()

    def test_a_cancel_reaches_the_evaluation(self):
        pending = self.s.start_call("evaluate-lisp", {"code": "(loop)"})
        mcp.wait_until(lambda: "Stopping" in self.s.call("cancel-evaluation").text, 20, "it to run")
        self.assertEqual("CANCELLED", pending.reply().error_type)
        self.assertOperational()

    def test_after_a_success_the_index_says_whether_a_threads_error_is_meant(self):
        self.s.call("configure-limits", thread_errors=1)
        self.s.evaluate('(error "of an evaluation")')
        self.s.evaluate('(defvar *thread* (sb-thread:make-thread (lambda () (error "of a thread")) :name "worker"))')
        mcp.wait_until(lambda: "2 errors" in self.s.call("list-errors").text, 20, "the error of the thread")
        self.assertEvaluates("(+ 1 2)", "3")
        for tool, arguments in (("invoke-restart", {"restart": "retry"}), ("evaluate-in-frame", {"frame": 0, "code": "1"})):
            reply = self.s.call(tool, arguments)
            self.assertTrue(reply.is_error)
            self.assertRegex(reply.text, r"^Pass index: error 2 is that of the thread .*worker.* \(SIMPLE-ERROR\), error 1 that of the newest evaluation that failed")
        self.assertEqual("=> 1", self.s.call("evaluate-in-frame", index=1, frame=0, code="1").text.splitlines()[0])

    def test_an_ended_threads_error_is_not_taken_for_that_of_an_evaluation(self):
        thread = '(sb-thread:join-thread (sb-thread:make-thread (lambda () (error "of a thread"))) :default nil)'
        self.end_program()
        self.s.evaluate(thread)
        self.assertIn("cannot be entered: Its thread has ended", self.s.call("evaluate-in-frame", frame=0, code="1").text)
        self.s.evaluate('(error "of an evaluation")')
        self.s.evaluate(thread)
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="1"), "1")

    def test_a_timer_does_not_leave_the_error(self):
        """Also not by a handler that is established around it."""
        self.assertFails("(handler-case (sb-ext:with-timeout 0.1 (fail 1)) (sb-ext:timeout () :left))")
        mcp.wait_until(lambda: "TIMEOUT" in self.s.evaluate("1").text, 10, "the timer")
        self.assertValue(self.restart("CONTINUE"), "(:WENT-ON 2)")

    def test_variables_of_the_session_are_the_same_in_each_evaluation(self):
        self.s.evaluate("(+ 40 2)")
        self.assertEvaluates("(list * (first +))", "(42 +)")
        self.assertEvaluates("(defpackage :elsewhere (:use :cl)) (in-package :elsewhere)", '#<PACKAGE "ELSEWHERE">')
        self.assertEvaluates("(package-name *package*)", '"ELSEWHERE"')
        report = self.s.evaluate('(format t "out") (format *error-output* "err") (warn "careful") 1')
        self.assertValue(report, "1")
        self.assertIn("[stdout]\nout", report.text)
        self.assertIn("[stderr]\nerr", report.text)
        self.assertIn("careful", report.text)

    def test_a_lock_held_at_the_error_is_held_until_it_is_left(self):
        self.s.evaluate('(defvar *lock* (sb-thread:make-mutex :name "held"))')
        self.assertFails("(sb-thread:with-mutex (*lock*) (fail 1))")
        self.assertEvaluates("(sb-thread:with-mutex (*lock* :wait-p nil) :got)", "NIL")
        self.assertValue(self.restart("CONTINUE"), "(:WENT-ON 2)")
        self.assertEvaluates("(sb-thread:with-mutex (*lock* :wait-p nil) :got)", ":GOT")

    def test_an_evaluation_that_waits_for_a_lock_says_which_error_holds_it(self):
        self.s.evaluate('(defvar *lock* (sb-thread:make-mutex :name "held"))')
        self.assertFails("(sb-thread:with-mutex (*lock*) (fail 1))")
        report = self.assertFails("(sb-thread:with-mutex (*lock*) :got)", "TIMEOUT", timeout=0.5)
        self.assertRegex(report.hint, r'It was waiting for mutex "held", held by evaluation \d+ \(\d+\), which is stopped at an error')
        self.restart("ABORT", index=1)
        self.assertValue(self.restart("CONTINUE", index=2), ":GOT")

    def test_an_error_of_the_evaluation_that_started_the_threads_stands_too(self):
        self.end_program()
        self.assertFails('(let ((here 5)) (declare (optimize debug)) (sb-thread:make-thread (lambda () (await "y")) :name "second") (cerror "Go on." "x") here)')
        self.assertEvaluates("(+ 1 2)", "3")
        self.assertFails("(fail 2)")
        self.assertValue(self.restart("CONTINUE", index=1), "5")
        self.assertValue(self.restart("CONTINUE", index=2), "(:WENT-ON 4)")

    def test_when_the_threads_are_gone_evaluations_run_in_the_main_thread_again(self):
        self.assertEvaluates("(eq sb-thread:*current-thread* (sb-thread:main-thread))", "NIL")
        self.s.evaluate("(defvar *cleaned* '())")
        self.assertFails("(unwind-protect (fail 1) (push 1 *cleaned*))")
        self.end_program()
        self.assertEvaluates("(eq sb-thread:*current-thread* (sb-thread:main-thread))", "T")
        self.assertEvaluates("*cleaned*", "(1)")
        self.assertEqual([line for line in self.errors() if "can be entered" in line], [])
        self.assertFails("(fail 7)")
        self.assertValue(self.enter("x"), "7")
        mcp.wait_until(lambda: re.search("^[1-9]", self.s.call("list-checkpoints").text), 10, "a checkpoint")

    def test_a_checkpoint_that_failed_evaluations_prevent_says_what_ends_them(self):
        self.assertFails("(fail 1)")
        self.end_program()
        for tool, arguments in (("list-checkpoints", {}), ("save-session", {}), ("checkpoint-session", {"name": "here"})):
            self.assertIn("The threads of failed evaluations stand in their errors, so the session cannot be copied. The next evaluation ends them.",
                          self.s.call(tool, arguments).text)
        self.assertOperational()
        self.assertFalse(self.s.call("checkpoint-session", name="here").is_error)

    def test_ending_the_thread_of_the_evaluation_ends_the_evaluation_only(self):
        report = self.s.evaluate("(sb-thread:abort-thread)")
        self.assertIn("thread of the evaluation was ended", report.text)
        self.assertOperational()

    def test_code_that_ends_the_process_is_answered_with_its_end(self):
        for code, printed in (("(sb-ext:exit :code 5)", ""), ("(unwind-protect (sb-ext:exit :code 5) (princ :cleanup))", "CLEANUP"), ("(sb-ext:exit :code 5 :abort t)", "")):
            with self.subTest(code=code):
                report = self.s.evaluate(code)
                self.assertErrorReport(report, "PROCESS-EXITED")
                self.assertIn("exited with code 5", report.message)
                self.assertEqual(printed, report.stdout.strip())
                self.assertNotIn("Between two calls", self.s.evaluate("1").text)

    def test_after_the_process_died_its_errors_no_longer_stand(self):
        self.assertFails("(fail 1)")
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertNotIn("can be entered", self.s.call("list-errors").text)
        self.assertIn("no longer stopped there", self.enter("x", index=1).text)
        self.assertOperational()


class FullHeap(StandingTest):
    options = ("--max-heap", "256")

    def test_it_is_free_again_with_the_next_evaluation(self):
        self.s.evaluate("(defun fill-heap () (declare (optimize debug)) (let ((all '())) (loop (push (make-array 100000) all))))")
        self.assertErrorReport(self.s.evaluate("(fill-heap)"), "SB-KERNEL::HEAP-EXHAUSTED-ERROR")
        self.assertValue(self.enter("(+ 1 1)"), "2")
        self.assertEvaluates("(progn (sb-ext:gc :full t) (< (sb-kernel:dynamic-usage) (floor (sb-ext:dynamic-space-size) 2)))", "T")
        self.assertIn("Its thread is no longer stopped there.", self.enter("(+ 1 1)", index=1).text)


class ThreadErrors(StandingTest):
    """Errors of the program's own threads."""

    def fail_in_thread(self, name="worker", form="(fail 4)"):
        self.s.evaluate('(defvar *worker*) (setf *worker* (sb-thread:make-thread (lambda () %s) :name "%s"))' % (form, name))
        mcp.wait_until(lambda: any(name in line for line in self.errors()) or self.s.evaluate("nil") is None, 10, "its error")

    def test_it_is_kept_with_its_variables_and_the_thread_ends(self):
        self.fail_in_thread()
        self.assertRegex(self.errors()[0], r"in thread worker: SIMPLE-ERROR: failed 4")
        self.assertIn("DOUBLE = 8", self.s.call("get-backtrace", index=1, locals=True).text)
        text = self.s.call("describe-last-error", index=1).text
        self.assertIn("failed 4", text)
        self.assertNotIn("enter it", text)
        self.assertNotIn("worker", self.threads())
        for named in ({"index": 1}, {}):
            self.assertEqual("Error 1 cannot be entered: Its thread has ended.", self.enter("x", **named).text)

    def test_it_is_not_the_last_error(self):
        self.assertFails("(error \"of the evaluation\")")
        self.fail_in_thread()
        self.assertFails("(error \"of the evaluation\")")
        self.assertIn("of the evaluation", self.s.call("describe-last-error").text)
        self.assertOperational()
        self.assertIn("No error available", self.s.call("describe-last-error").text)

    def test_the_next_reply_announces_it_once(self):
        report = self.s.evaluate("(progn (sb-thread:join-thread (sb-thread:make-thread (lambda () (fail 9)) :name \"announced\") :default :ended))")
        again = self.s.evaluate("1")
        self.assertEqual(1, (report.text + again.text).count("In thread announced"))

    def test_whatever_tool_replies_first_announces_it_once(self):
        for tool in ("list-threads", "session-info"):
            gate = os.path.join(self.folder(), "gate")
            self.s.evaluate('(sb-thread:make-thread (lambda () (loop until (probe-file "%s") do (sleep 0.01)) (fail 5)) :name "%s")' % (gate, tool))
            open(gate, "w").close()
            texts = []
            mcp.wait_until(lambda: texts.append(self.s.call(tool).text) or "In thread %s (error " % tool in texts[-1], 10, "the announcement")
            self.assertEqual(1, texts[-1].count("[Background errors]"))
            self.assertNotIn("[Background errors]", self.s.evaluate("1").text + self.s.call(tool).text)

    def test_one_in_a_copy_is_reported_with_the_reply_and_not_kept(self):
        self.end_program()
        self.assertFails('(error "of the evaluation")')
        self.assertEvaluates("1", "1")
        text = self.enter('(sb-thread:join-thread (sb-thread:make-thread (lambda () (fail 6)) :name "scratch") :default :ended)', index=1).text
        self.assertIn("In the copy, thread scratch failed: SIMPLE-ERROR: failed 6", text)
        self.assertEqual(1, len(self.errors()))

    def test_with_the_limit_it_stands_and_continues_in_that_thread(self):
        self.s.call("configure-limits", {"thread-errors": 2})
        self.fail_in_thread(form="(list (fail 4) (sb-thread:thread-name sb-thread:*current-thread*))")
        self.assertIn("can be entered", self.errors()[0])
        self.assertValue(self.enter("(list x (sb-thread:thread-name sb-thread:*current-thread*))", index=1), '(4 "worker")')
        self.assertEqual("stopped at error 1", self.threads()["worker"])
        self.assertEqual("Restart CONTINUE was invoked in the thread.", self.restart("CONTINUE", index=1).text)
        self.assertEvaluates("(sb-thread:join-thread *worker*)", '((:WENT-ON 8) "worker")')
        self.assertNotIn("can be entered", self.s.call("list-errors").text)

    def test_the_limit_counts_at_once(self):
        path = os.path.join(self.folder(), "go")
        self.s.evaluate('(sb-thread:make-thread (lambda () (loop until (probe-file "%s") do (sleep 0.01)) (error "~%%~%%after the limit")) :name "late")' % path)
        self.assertNotIn("next evaluation", self.s.call("configure-limits", {"thread-errors": 2}).text)
        open(path, "w").close()
        mcp.wait_until(lambda: "can be entered" in self.s.call("list-errors").text, 20, "the error of the thread")
        self.assertIn("in thread late: SIMPLE-ERROR: after the limit (can be entered)", self.s.call("list-errors").text)
        self.assertRegex(self.s.call("describe-last-error", index=1).text, r"\nError 1 of this session, in thread late, at ")

    def test_beyond_the_limit_the_oldest_ends(self):
        self.s.call("configure-limits", {"thread-errors": 2})
        for n in (1, 2, 3):
            self.fail_in_thread("worker-%d" % n)
        mcp.wait_until(lambda: "worker-1" not in self.threads(), 10, "the oldest to end")
        self.assertEqual(["can be entered" in line for line in self.errors()], [True, True, False])

    def test_one_that_was_interrupted_stands_and_continues(self):
        self.assertSucceeds(self.s.call("interrupt-thread", thread="program"), "(AWAIT \"x\")")
        self.assertEvaluates("(+ 1 2)", "3")
        self.assertValue(self.enter("doubled", frame=1, index=1), '"xx"')
        self.assertIn("already", self.s.call("interrupt-thread", thread="program").text)
        self.assertErrorReport(self.enter("(error \"in the look\")", index=1))
        self.assertEqual("Restart CONTINUE was invoked in the thread.", self.restart("CONTINUE").text)
        self.end_program()

    def test_killing_one_that_stands_ends_its_error(self):
        self.s.call("interrupt-thread", thread="program")
        self.assertIn("has ended", self.s.call("kill-thread", thread="program").text)
        self.assertOperational()
        self.assertNotIn("can be entered", self.s.call("list-errors").text)

    def test_killing_one_before_its_error_was_reported_ends_its_error(self):
        self.s.call("configure-limits", {"thread-errors": 2})
        # It fails between two evaluations: the next one would bring its report.
        go = os.path.join(self.folder(), "go")
        self.start("unheard", '(progn (loop until (probe-file "%s")) (fail 4))' % go, ready=False)
        with open(go, "w"):
            self.await_thread("unheard", "stopped at error 1")
        self.s.call("kill-thread", thread="unheard")
        self.assertOperational()
        self.assertRegex(self.errors()[0], "in thread unheard: SIMPLE-ERROR")
        self.assertNotIn("can be entered", self.s.call("list-errors").text)

    def test_a_report_that_fails_costs_its_text_only(self):
        self.s.evaluate("(define-condition mute (error) () (:report (lambda (c s) (error \"no report\"))))")
        self.fail_in_thread(form="(error 'mute)")
        self.assertIn("MUTE", self.errors()[0])
        self.assertOperational()

    def test_of_many_that_fail_at_once_those_that_stand_are_listed_and_the_others_are_counted(self):
        self.s.call("configure-limits", {"thread-errors": 2})
        # All have failed before the reply that could tell of them. LIST-ALL-THREADS may leave out one that is just starting.
        text = self.s.evaluate("""(let ((crowd (loop repeat 40 collect (sb-thread:make-thread (lambda () (fail 1)) :name "crowd"))))
            (loop until (= 2 (count-if #'sb-thread:thread-alive-p crowd)) do (sleep 0.01)))""").text
        index = re.search(r"In thread crowd and 19 more \(error (\d+)\): ", text)[1]
        self.assertRegex(self.s.call("list-errors", limit=30).text, r"(?m)^%s\. .*\(can be entered\)$" % index)
        self.assertIn("20 more errors occurred in threads or outside evaluations; nothing of them was kept.", text)
        self.assertEqual(2, sum("(can be entered)" in line for line in self.errors()))
        self.assertEqual(2, sum("crowd: stopped at error " in line for line in self.s.call("list-threads").text.splitlines()))

    def test_what_a_thread_prints_when_it_continues_is_shown_and_is_no_success(self):
        self.s.call("configure-limits", {"thread-errors": 5})
        self.s.evaluate('''(defvar *w* (sb-thread:make-thread (lambda () (restart-case (error "x") (go-on () nil)) (write-line "logline" *error-output*)) :name "w"))''')
        mcp.wait_until(lambda: "can be entered" in self.s.call("list-errors").text, 10, "the thread's error")
        self.assertErrorReport(self.s.evaluate('(error "fg")'), "SIMPLE-ERROR")
        self.assertIn("Restart GO-ON was invoked in the thread.", self.s.call("invoke-restart", restart="GO-ON", index=1).text)
        self.assertIn("fg", self.s.call("describe-last-error").text)
        self.assertIn("logline", self.s.evaluate("(sb-thread:join-thread *w* :default nil)").text)


class Undoing(ThreadTest):
    """What cannot be undone is announced before, and a state with threads is not left half alive."""

    def test_the_reply_that_follows_the_start_of_a_thread_says_what_ends_with_it(self):
        self.s.evaluate(STOPPED)
        report = self.s.evaluate('(sb-thread:make-thread (lambda () (await "x")) :name "lasting")')
        self.assertIn("Threads of the program run now: lasting. Until they end, no checkpoints", report.text)
        self.assertNotIn("run now", self.s.evaluate("1").text)
        self.s.evaluate("(sb-thread:signal-semaphore *gate*)")
        mcp.wait_until(lambda: "lasting" not in self.threads(), 10, "its end")
        self.assertNotIn("run now", self.s.evaluate("1").text)
        # What this means was told.
        self.assertTrue(self.s.evaluate('(sb-thread:make-thread (lambda () (await "y")) :name "later")').text.endswith("\n\n[Session]\nThreads of the program run now: later"))

    def test_beside_a_web_server_it_says_how_to_enter_the_errors_that_this_catches(self):
        self.s.evaluate("(defpackage :hunchentoot (:use)) (defvar hunchentoot::*catch-errors-p* t)")
        report = self.s.evaluate("(sb-thread:make-thread (lambda () (sleep 1000)))")
        self.assertIn("configure-limits with thread-errors: 5, and then (setf hunchentoot:*catch-errors-p* nil), let errors of Hunchentoot's handlers be entered.", report.session)

    def test_a_restart_in_a_copy_does_not_end_the_threads_that_run(self):
        """The process could not be copied, so what was done in it would be lost for good."""
        self.s.evaluate("(defvar *done* 0)")
        self.assertFails('(restart-case (error "x") (use-value (v) v))')
        self.s.evaluate('(sb-thread:make-thread (lambda () (sleep 1000)) :name "mine")')
        self.s.evaluate("(setf *done* 1)")
        for tool, arguments in (("invoke-restart", {"restart": "USE-VALUE", "value": "5"}), ("return-from-frame", {"frame": 0, "value": "5"}),
                                ("restart-frame", {"frame": 0})):
            self.assertIsError(self.s.call(tool, arguments), "would end them")
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="*done*", index=1), "0")
        self.assertEvaluates("*done*", "1")
        self.assertIn("mine: ", self.s.call("list-threads").text)
        self.assertFalse(self.s.call("rollback-session", to="2").is_error)
        self.assertNotIn("mine", self.s.call("list-checkpoints").text)
        self.assertValue(self.s.call("invoke-restart", restart="USE-VALUE", value="5", index=1), "5")

    def test_a_restart_in_a_copy_says_that_a_definition_has_started_its_thread_again(self):
        self.assertFails('(restart-case (error "x") (use-value (v) v))')
        self.s.evaluate('(defvar *mine* (sb-thread:make-thread (lambda () (sleep 1000)) :name "mine"))')
        self.s.call("kill-thread", thread="mine")
        report = self.s.call("invoke-restart", restart="USE-VALUE", value="5", index=1)
        self.assertValue(report, "5")
        self.assertIn("Threads of the program run now: mine", report.session)
        self.assertIn("started again", report.session)
        self.assertEqual(1, self.s.call("list-threads").text.count("mine: "))
        self.assertTrue(self.s.call("save-session").is_error)

    def test_after_a_rollback_nothing_of_the_state_with_threads_is_left(self):
        """A port that it listened on is free, and no state is listed that cannot be returned to."""
        self.s.evaluate("(require :sb-bsd-sockets)")
        self.s.evaluate("""(defun listen-on (port)
          (let ((socket (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)))
            (sb-bsd-sockets:socket-bind socket #(127 0 0 1) port) (sb-bsd-sockets:socket-listen socket 5)
            (values (nth-value 1 (sb-bsd-sockets:socket-name socket)) (sb-thread:make-thread (lambda () (sb-bsd-sockets:socket-accept socket)) :name "listener"))))""")
        mcp.wait_until(lambda: "after evaluation 2," in self.s.call("list-checkpoints").text, 10, "the checkpoint")
        pid = self.s.evaluate("(sb-posix:getpid)").value
        port = self.s.evaluate("(listen-on 0)").values[0]
        reply = self.assertSucceeds(self.s.call("rollback-session", to="3"))
        self.assertNotIn("later states", reply.text)
        self.assertNotIn("evaluation 4", self.s.call("list-checkpoints").text)
        self.assertNotIn(int(pid), self.s.processes())
        self.assertEqual(port, self.s.evaluate("(listen-on %s)" % port).values[0])


class Lost(ThreadTest):
    """A crash beside threads: what took effect of the evaluations that no checkpoint held is evaluated again, and the
    history is a file that gives the same."""

    CHECK = ("(list (boundp '*part*) (mapcar #'fboundp '(before inside stopped after continued never)))")

    def test_the_definitions_that_took_effect_come_back_and_the_history_lists_them(self):
        self.s.evaluate('(sb-thread:make-thread (lambda () (sleep 1000)) :name "program")')
        self.assertFails('(progn (defvar *part* 1) (defun inside () 1) (error "x") (defun never () 1))')
        self.assertFails("(defun stopped () 1) (loop)", "TIMEOUT", timeout=0.3)
        self.assertFails('(defun before () 1) (cerror "Go on." "x") (defun continued () 1)')
        self.assertFalse(self.s.call("invoke-restart", restart="CONTINUE").is_error)
        self.s.evaluate("(defun after () 1)")
        whole = "(T (#<FUNCTION BEFORE> #<FUNCTION INSIDE> #<FUNCTION STOPPED> #<FUNCTION AFTER> #<FUNCTION CONTINUED> NIL))"
        self.assertEvaluates(self.CHECK, whole)
        for death in ("(sb-ext:exit :abort t)", "(sb-posix:kill (sb-posix:getpid) 9)"):
            report = self.s.evaluate(death)
            self.assertErrorReport(report)
            self.assertNotIn("failed", report.session)
            self.assertEvaluates(self.CHECK, whole)
            path = self.file(self.s.call("session-history", format="lisp").text, "history.lisp")
            self.s.call("create-session", name="reader")
            self.assertValue(self.s.evaluate('(load "%s")' % path, session="reader"), "T")
            self.assertValue(self.s.evaluate(self.CHECK, session="reader"), whole)
            self.s.call("close-session", session="reader")

    def test_of_a_progn_only_the_forms_that_define_something_are_evaluated_again(self):
        path = os.path.join(self.folder(), "ran")
        self.s.evaluate('(sb-thread:make-thread (lambda () (sleep 1000)) :name "program")')
        self.assertEvaluates("""(progn ; a comment
            (defun inside () 1) (with-open-file (s "%s" :direction :output :if-does-not-exist :create) (write-line "x" s))
            (progn #| another |# (defvar *part* 2) (delete-file "%s")) )""" % (path, path), "T")
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"), "PROCESS-EXITED")
        self.assertEvaluates('(list (inside) *part* (probe-file "%s"))' % path, "(1 2 NIL)")
        self.assertNotIn("delete-file", re.sub("(?m)^;.*", "", self.s.call("session-history", format="lisp").text))


class Hooks(mcp.SessionTest):
    """What the session's code registers runs after a return, and when a save is restored."""

    def register(self, kind="return"):
        self.s.evaluate("(defvar *connection* :open) (defvar *count* 0) (defun reconnect () (setf *connection* :again) (incf *count*))")
        self.assertEvaluates("(cl-mcp:on-%s database (reconnect))" % kind, "DATABASE")
        mcp.wait_until(lambda: "after evaluation 2," in self.s.call("list-checkpoints").text, 10, "the checkpoint")

    def test_after_a_rollback(self):
        self.register()
        self.s.evaluate("(setf *connection* :used)")
        self.assertFalse(self.s.call("rollback-session", to="-1").is_error)
        self.assertEvaluates("(list *connection* *count*)", "(:AGAIN 1)")
        self.assertEvaluates("*count*", "1")

    def test_after_the_process_died(self):
        self.register()
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertEvaluates("(list *connection* *count*)", "(:AGAIN 1)")

    def test_after_a_death_without_a_checkpoint(self):
        self.s.call("configure-limits", {"checkpoint-limit": 0})
        self.s.evaluate("(defvar *connection* :open) (defvar *count* 0) (defun reconnect () (setf *connection* :again) (incf *count*))")
        self.s.evaluate("(cl-mcp:on-return database (reconnect))")
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"))
        self.assertEvaluates("(list *connection* *count*)", "(:AGAIN 1)")

    def test_only_its_own_kind_runs(self):
        self.register("start")
        self.s.evaluate("(setf *connection* :used)")
        self.s.call("rollback-session", to="-1")
        self.assertEvaluates("(list *connection* *count*)", "(:OPEN 0)")

    def test_one_that_fails_is_reported_and_costs_nothing_else(self):
        self.s.evaluate("(cl-mcp:on-return first (error \"no such host\"))")
        self.s.evaluate("(cl-mcp:on-return second (handler-case (error \"x\") (error () (defvar *second* :ran))))")
        self.register()
        self.s.evaluate("1")
        self.s.call("rollback-session", to="-1")
        report = self.s.evaluate("*second*")
        self.assertValue(report, ":RAN")
        self.assertIn("cl-mcp:on-return FIRST failed: SIMPLE-ERROR: no such host", report.text)
        self.assertIn("only returns a function, which is not called", self.s.evaluate("(cl-mcp:on-return third #'print)").text)
        report = self.s.evaluate("*count*")
        self.assertValue(report, "1")
        self.assertNotIn("failed", report.text)

    def test_one_that_does_not_end_is_stopped_at_the_time_limit(self):
        self.s.call("configure-limits", {"timeout": 0.5})
        self.s.evaluate("(cl-mcp:on-return endless (loop))")
        self.register()
        self.s.evaluate("1")
        self.s.call("rollback-session", to="-1")
        report = self.s.evaluate("(+ 1 2)")
        self.assertValue(report, "3")
        self.assertIn("on-return were not finished: TIMEOUT", report.text)

    def test_one_that_runs_is_named_and_can_be_cancelled(self):
        self.s.call("configure-limits", {"timeout": 600})
        self.s.evaluate("(cl-mcp:on-return endless (loop))")
        self.s.evaluate("1")
        self.s.call("rollback-session", to="-1")
        self.assertIn("(code registered with cl-mcp:on-return has been running for", self.s.call("describe-symbol", name="car").text)
        self.s.call("cancel-evaluation")
        self.assertIn("on-return were not finished: CANCELLED", self.s.evaluate("1").text)

    def test_one_that_ends_the_process_is_called_once(self):
        ends = {"at once": "(sb-ext:exit :abort t)", "a little later": "(sb-thread:make-thread (lambda () (sleep 0.2) (sb-ext:exit :abort t)))"}
        for when, form in ends.items():
            with self.subTest(when):
                self.s.call("reset-session")
                self.s.evaluate("(cl-mcp:on-return deadly %s)" % form)
                self.s.evaluate("(defvar *x* 1)")
                self.s.evaluate("(setf *x* 2)")
                process = self.s.evaluate("(sb-posix:getpid)").value
                self.assertFalse(self.s.call("rollback-session", to="2").is_error)
                seen, told = {process}, []

                # The copy dies, and the next one stays: asking it evaluates nothing.
                def stays():
                    told.append(self.s.call("session-info").text)
                    seen.update(re.findall("Process: (.*)", told[-1]))
                    return len(seen) >= (2 if when == "at once" else 3)

                mcp.wait_until(stays, 20, "the process that stays")
                report = self.s.evaluate("*x*")
                self.assertValue(report, "1")
                self.assertEqual(1, ("".join(told) + report.session).count("not evaluated again"))

    def test_one_is_replaced_and_removed(self):
        self.register()
        self.s.evaluate("(cl-mcp:on-return database (setf *connection* :other))")
        self.s.evaluate("1")
        self.s.call("rollback-session", to="-1")
        self.assertEvaluates("(list *connection* *count*)", "(:OTHER 0)")
        self.s.evaluate("(setf *connection* :open) (cl-mcp:on-return database)")
        self.s.evaluate("1")
        self.s.call("rollback-session", to="-1")
        self.assertEvaluates("*connection*", ":OPEN")

    def test_a_thread_that_is_gone_after_a_crash_is_started_again(self):
        self.s.evaluate("""(defvar *server* nil)
        (defun start-server () (setf *server* (sb-thread:make-thread (lambda () (sleep 1000)) :name "server")))
        (cl-mcp:on-return server (start-server))""")
        mcp.wait_until(lambda: "after evaluation 1," in self.s.call("list-checkpoints").text, 10, "the checkpoint")
        self.s.evaluate("(start-server)")
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"))
        mcp.wait_until(lambda: "server: sleeping" in self.s.call("list-threads").text, 10, "the thread sleeps")
        self.assertEvaluates("(sb-thread:thread-alive-p *server*)", "T")


WEB = """(defvar *acceptor* nil)
(setf hunchentoot:*catch-errors-p* nil)
(defun start-web ()
  (setf *acceptor* (hunchentoot:start (make-instance 'hunchentoot:easy-acceptor :port 0 :address "127.0.0.1"
    :access-log-destination nil :message-log-destination nil))))
(defun url (path) (format nil "http://127.0.0.1:~a/~a" (hunchentoot:acceptor-port *acceptor*) path))
(defun fetch (path) (handler-case (values (drakma:http-request (url path))) (error (condition) (type-of condition))))
(defvar *gate* (sb-thread:make-semaphore)) (defvar *here* (sb-thread:make-semaphore))
(defun price (amount) (declare (optimize debug)) (let ((limit 10)) (when (> amount limit) (cerror "Take the limit." "~a is more than ~a" amount limit)) (* 2 (min amount limit))))
(hunchentoot:define-easy-handler (price-page :uri "/price") ((amount :parameter-type 'integer)) (princ-to-string (price amount)))
(hunchentoot:define-easy-handler (slow-page :uri "/slow") () (sb-thread:signal-semaphore *here*) (sb-thread:wait-on-semaphore *gate*) "slow done")
(start-web)"""


class WebServer(mcp.TestCase):
    """A web application on Hunchentoot, asked by Drakma from the session itself and from here."""

    @classmethod
    def setUpClass(cls):
        cls.client = mcp.Client()
        for system in ("hunchentoot", "drakma"):
            reply = cls.client.call("load-system", system=system, timeout=280, wait=290)
            assert not reply.is_error, reply.text
        assert not cls.client.evaluate(WEB).is_error

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    @property
    def s(self):
        return self.client

    def port(self):
        return int(self.s.evaluate("(hunchentoot:acceptor-port *acceptor*)").value)

    def get(self, path, port):
        with urllib.request.urlopen("http://127.0.0.1:%d/%s" % (port, path), timeout=60) as reply:
            return reply.read().decode()

    def errors(self):
        return re.findall(r"(?m)^\d+\. \S+ (.*)$", self.s.call("list-errors").text)

    def test_a_handler_that_fails_costs_its_request_only(self):
        self.s.call("configure-limits", {"thread-errors": 0})
        before = len(self.errors())
        port = self.port()
        self.assertEqual("6", self.get("price?amount=3", port))
        self.assertSucceeds(self.s.evaluate('(fetch "price?amount=30")'))
        mcp.wait_until(lambda: self.s.evaluate("nil") and len(self.errors()) > before, 10, "the error")
        self.assertRegex(self.errors()[0], "in thread hunchentoot-worker.*30 is more than 10")
        self.assertSucceeds(self.s.call("get-backtrace", index=self.s.newest_error(), locals=True), "(PRICE 30)", "LIMIT = 10", "acceptor.lisp:")
        self.assertEqual("8", self.get("price?amount=4", port))

    def test_a_handler_that_fails_is_debugged_in_place_and_its_client_gets_the_page(self):
        self.s.call("configure-limits", {"thread-errors": 2})
        port = self.port()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            page = pool.submit(self.get, "price?amount=50", port)
            mcp.wait_until(lambda: self.s.evaluate("nil") and "50 is more" in (self.errors() or [""])[0], 10, "the error")
            self.assertIn("can be entered", self.errors()[0])
            other = pool.submit(self.get, "price?amount=5", port)
            self.assertEqual("10", other.result(30))
            number = self.s.newest_error()
            self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(list amount limit)", index=number), "(50 10)")
            self.s.call("invoke-restart", restart="CONTINUE", index=number)
            self.assertEqual("20", page.result(30))

    def test_after_an_error_that_only_the_log_has_the_variable_is_named(self):
        hint = ("Hunchentoot has logged an error of a handler. After configure-limits with thread-errors: 5, and (setf hunchentoot:*catch-errors-p* nil), "
                "the next one can be entered.")
        try:
            self.s.evaluate("(setf hunchentoot:*catch-errors-p* t (hunchentoot:acceptor-message-log-destination *acceptor*) *error-output*)")
            self.assertIn(hint, self.s.evaluate('(fetch "price?amount=30")').session)
            with self.assertRaises(urllib.error.HTTPError):
                self.get("price?amount=30", self.port())
            self.assertIn(hint, mcp.wait_until(lambda: self.s.evaluate("1").session, 10, "the log"))
            self.assertNotIn(hint, self.s.evaluate('(fetch "price?amount=3")').text)
        finally:
            self.s.evaluate("(setf hunchentoot:*catch-errors-p* nil (hunchentoot:acceptor-message-log-destination *acceptor*) nil)")

    def test_a_function_is_redefined_while_a_request_runs(self):
        port = self.port()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            page = pool.submit(self.get, "slow", port)
            self.assertEvaluates("(progn (sb-thread:wait-on-semaphore *here*) t)", "T")
            self.assertIn("SLOW-PAGE", self.s.call("get-backtrace", thread=self.worker()).text)
            self.s.evaluate('(hunchentoot:define-easy-handler (slow-page :uri "/slow") () "quick")')
            self.assertEqual("quick", self.get("slow", port))
            self.s.evaluate("(sb-thread:signal-semaphore *gate*)")
            self.assertEqual("slow done", page.result(30))

    def worker(self):
        return re.search(r"(?m)^\d+  (hunchentoot-worker.*?): ", self.s.call("list-threads").text).group(1)

    def test_an_evaluation_that_fails_stays_beside_the_server(self):
        report = self.s.evaluate('(let ((page (fetch "price?amount=2"))) (declare (optimize debug)) (cerror "Go on." "saw ~a" page) (list :page page))')
        self.assertErrorReport(report)
        port = self.port()
        self.assertEqual("2", self.get("price?amount=1", port))
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE"), '(:PAGE "4")')


DATABASE = """(sb-alien:load-shared-object "libsqlite3.so.0")
(defvar *database* nil)
(defvar *database-lock* (sb-thread:make-mutex :name "database"))
(defun open-database ()
  (sb-alien:with-alien ((handle sb-sys:system-area-pointer))
    (unless (zerop (sb-alien:alien-funcall (sb-alien:extern-alien "sqlite3_open" (function sb-alien:int sb-alien:c-string (* sb-sys:system-area-pointer)))
                                           "FILE" (sb-alien:addr handle)))
      (error "no database"))
    (setf *database* handle)))
(defun execute (statement)
  (sb-thread:with-mutex (*database-lock*)
    (unless (zerop (sb-alien:alien-funcall (sb-alien:extern-alien "sqlite3_exec" (function sb-alien:int sb-sys:system-area-pointer sb-alien:c-string
                                             sb-sys:system-area-pointer sb-sys:system-area-pointer sb-sys:system-area-pointer))
                                           *database* statement (sb-sys:int-sap 0) (sb-sys:int-sap 0) (sb-sys:int-sap 0)))
      (error "the database refuses ~a" statement))))
(defparameter *factor* 1)
(defun total (amount) (* *factor* amount))
(hunchentoot:define-easy-handler (order-page :uri "/order") ((amount :parameter-type 'integer))
  (when (zerop amount) (error "nothing ordered"))
  (execute (format nil "insert into orders values (~d)" (total amount)))
  (princ-to-string (total amount)))
(cl-mcp:on-return database (setf *database-lock* (sb-thread:make-mutex :name "database")) (open-database))
(cl-mcp:on-return web (start-web))"""


class WebServerWithDatabase(mcp.TestCase):
    """A web application with a database, driven for five rounds with an accident in each. After each the
    definitions are those made last, the database holds what was answered, and the application runs."""

    def accident(self, pid):
        kind = self.generator.choice(("exit", "abort", "kill", "heap", "stack"))
        if kind == "kill":
            os.kill(pid, signal.SIGKILL)
            report = self.s.evaluate("*factor*")
            self.assertIn("Between two calls", report.text)
            return kind
        code = {"exit": "(sb-ext:exit)", "abort": "(sb-ext:exit :code 3 :abort t)", "stack": "(labels ((r (n) (+ 1 (r n)))) (r 1))",
                "heap": "(let ((all '())) (loop (push (make-array 1000000) all)))"}[kind]
        report = self.s.evaluate(code, timeout=60)
        self.assertTrue(report.is_error, report.text)
        if kind in ("exit", "abort"):
            self.assertErrorReport(report, "PROCESS-EXITED")
            self.assertIn("continues from", report.session)
        return kind

    def test_the_replies_match_the_state(self):
        if not ctypes.util.find_library("sqlite3"):
            self.skipTest("there is no libsqlite3")
        self.generator = self.random()
        path = os.path.join(self.folder(), "orders.db")
        database = sqlite3.connect(path, isolation_level=None)
        self.addCleanup(database.close)
        database.execute("create table orders (amount integer)")
        for system in ("hunchentoot", "drakma"):
            self.s.call("load-system", system=system, timeout=280, wait=290)
        self.s.evaluate(WEB.replace("(start-web)", ""))
        self.assertSucceeds(self.s.evaluate(DATABASE.replace("FILE", path)))
        mcp.wait_until(lambda: "after evaluation 4," in self.s.call("list-checkpoints").text, 20, "the checkpoint")
        self.assertFalse(self.s.evaluate("(progn (open-database) (start-web) t)").is_error)
        orders, factor, accidents = [], 1, []
        for round in range(5):
            port = int(self.s.evaluate("(hunchentoot:acceptor-port *acceptor*)").value)
            for _ in range(self.generator.randint(1, 4)):
                amount = self.generator.randint(0, 20)
                try:
                    with urllib.request.urlopen("http://127.0.0.1:%d/order?amount=%d" % (port, amount), timeout=60) as reply:
                        self.assertEqual(str(factor * amount), reply.read().decode())
                    orders.append(factor * amount)
                except (urllib.error.URLError, http.client.HTTPException, ConnectionError):
                    self.assertEqual(0, amount)
            if self.generator.random() < 0.7:
                factor = self.generator.randint(1, 9)
                self.assertValue(self.s.evaluate("(defparameter *factor* %d)" % factor), "*FACTOR*")
            accidents.append(self.accident(int(self.s.evaluate("(sb-posix:getpid)").value)))
            self.assertEvaluates("*factor*", str(factor))
            self.assertEqual(orders, [row[0] for row in database.execute("select amount from orders")], accidents)
        self.assertEvaluates('(fetch "order?amount=3")', '"%d"' % (3 * factor))


class BordeauxThreads(ThreadTest):
    def test_a_pool_whose_jobs_fail_continues(self):
        self.s.call("load-system", system="bordeaux-threads", timeout=280, wait=290)
        self.s.evaluate("""(defvar *jobs* '()) (defvar *done* 0) (defvar *jobs-lock* (bt:make-lock "jobs")) (defvar *more* (bt:make-condition-variable))
        (defun next-job () (bt:with-lock-held (*jobs-lock*) (loop until *jobs* do (bt:condition-wait *more* *jobs-lock*)) (pop *jobs*)))
        (defun add-job (job) (bt:with-lock-held (*jobs-lock*) (setf *jobs* (append *jobs* (list job))) (bt:condition-notify *more*)))
        (defun work () (loop (restart-case (progn (funcall (next-job)) (bt:with-lock-held (*jobs-lock*) (incf *done*))) (skip-job () :report "Go on with the next job." nil))))
        (defvar *pool* (loop for n below 3 collect (bt:make-thread #'work :name (format nil "pool ~a" n))))""")
        self.s.call("configure-limits", {"thread-errors": 3})
        self.s.evaluate("(dotimes (n 6) (let ((n n)) (add-job (lambda () (when (oddp n) (error \"job ~a\" n))))))")
        listed = lambda: re.findall(r"(?m)^(\d+)\. \S+ in thread pool .*job (\d).*can be entered", self.s.call("list-errors").text)
        mcp.wait_until(lambda: self.s.evaluate("nil") and len(listed()) == 3, 20, "three failed jobs")
        self.assertEqual({"1", "3", "5"}, {job for _, job in listed()})
        for index, _ in listed():
            self.assertIn("SKIP-JOB", self.s.call("invoke-restart", restart="SKIP-JOB", index=int(index)).text)
        self.s.evaluate("(dotimes (n 4) (add-job (lambda () t)))")
        mcp.wait_until(lambda: self.s.evaluate("*done*").value == "7", 20, "the pool to go on")
        self.assertEqual(3, len([name for name in self.threads() if name.startswith("pool")]))
