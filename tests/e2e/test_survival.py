"""Whatever ends the Lisp process: the request gets its report with what was printed, and the session works again at once."""

import os
import re
import signal
import time

import mcp


class Survival(mcp.TestCase):
    def assertProcessDied(self, code, *types, message=None, wait=60, **named):
        """The report of a death, and a session that works at once and says honestly that it began anew."""
        self.assertFalse(self.s.evaluate("(defparameter *kept* 42)").is_error)
        report = self.s.evaluate('(progn (format t "printed before~%%") (finish-output)) %s' % code, wait=wait, **named)
        self.assertTrue(report.is_error, report.text)
        self.assertIn(report.error_type, types, report.text)
        self.assertEqual("printed before", report.stdout.split("\n")[0], report.text)
        if message:
            self.assertRegex(report.message, message)
        self.assertNotEqual("", report.session, report.text)
        started = time.monotonic()
        self.assertOperational()
        self.assertLess(time.monotonic() - started, 5 * mcp.STRETCH)
        self.assertHonest(report)
        return report

    def assertHonest(self, report):
        """What the report says of the session is what is the case."""
        kept = self.s.evaluate("(boundp '*kept*)").value == "T"
        if kept:
            self.assertNotRegex(report.session, r"(?i)\bgone\b|\blost\b")
        else:
            self.assertRegex(report.session, r"(?i)gone|lost|fresh|restart|anew|new")


class Exits(Survival):
    def test_exit_in_all_forms(self):
        for code in ("(sb-ext:exit)", "(exit)", "(quit)", "(sb-ext:exit :code 3)", "(sb-ext:exit :abort t)", "(sb-ext:exit :code 4 :abort t)", "(sb-ext:quit)",
                     "(sb-ext:exit :timeout 1)", "(sb-posix:exit 5)" , "(uiop:quit 6)", "(unwind-protect (sb-ext:exit :code 7) (print 1))"):
            with self.subTest(code):
                report = self.assertProcessDied(code, "PROCESS-EXITED", message=r"(?i)exit")
                code_given = re.search(r"\d", code)
                if code_given and "timeout" not in code:
                    self.assertIn(code_given.group(0), report.message)

    def test_exit_from_another_thread(self):
        self.assertProcessDied("(progn (sb-thread:make-thread (lambda () (sb-ext:exit :code 9 :abort t))) (sleep 20))", "PROCESS-EXITED")

    def test_underscore_exit(self):
        report = self.assertProcessDied('(alien-funcall (extern-alien "_exit" (function void int)) 11)', "PROCESS-EXITED")
        self.assertIn("11", report.message)

    def test_abort(self):
        """SBCL takes the signal itself: it says so and exits."""
        report = self.assertProcessDied('(alien-funcall (extern-alien "abort" (function void)))', "PROCESS-KILLED", "PROCESS-EXITED")
        self.assertRegex(report.text, r"SIGABRT|signal 6")

    def test_the_debuggers_abort_and_top_level_throws_are_no_death(self):
        for code in ("(abort)", "(invoke-restart 'abort)", "(sb-ext:unlock-package :cl) (throw 'sb-impl::toplevel-catcher nil)", "(throw 'sb-impl::%end-of-the-world t)", "(sb-impl::%unwind-protect-no-such)"):
            with self.subTest(code):
                self.s.evaluate(code)
                self.assertOperational()


class Signals(Survival):
    def test_kill_9_of_itself(self):
        report = self.assertProcessDied("(sb-posix:kill (sb-posix:getpid) 9)", "PROCESS-KILLED")
        self.assertRegex(report.message, r"SIGKILL|signal 9")

    def test_kill_9_from_outside_while_it_evaluates(self):
        pid = int(self.s.evaluate("(sb-posix:getpid)").value)
        pending = self.s.start_call("evaluate-lisp", code='(progn (format t "printed before") (finish-output) (sleep 30))', meta={"progressToken": 1})
        self.s.wait_for_notification(lambda m: m["method"] == "notifications/progress")
        os.kill(pid, signal.SIGKILL)
        report = pending.reply(wait=10)
        self.assertEqual("PROCESS-KILLED", report.error_type, report.text)
        self.assertIn("printed before", report.stdout)
        self.assertOperational()

    def test_kill_9_from_outside_while_it_is_idle(self):
        self.s.evaluate("(defparameter *kept* 42)")
        pid = int(self.s.evaluate("(sb-posix:getpid)").value)
        os.kill(pid, signal.SIGKILL)
        mcp.wait_until(lambda: not mcp.is_alive(pid), 10, "the end of the process")
        report = self.s.evaluate("(+ 1 2)")
        self.assertEqual("3", report.value, report.text)
        kept = self.s.evaluate("(boundp '*kept*)")
        if kept.value == "NIL":
            self.assertRegex(report.text + kept.text, r"(?i)fresh|restart|gone|lost|anew", "the loss was not said")

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

    def test_other_signals(self):
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP"), (signal.SIGQUIT, "SIGQUIT"), (signal.SIGPIPE, "SIGPIPE"), (signal.SIGALRM, "SIGALRM"), (signal.SIGUSR1, "SIGUSR1"),
                             (signal.SIGXCPU, "SIGXCPU"), (signal.SIGFPE, "SIGFPE"), (signal.SIGILL, "SIGILL"), (signal.SIGBUS, "SIGBUS")):
            with self.subTest(name):
                report = self.s.evaluate("(progn (sb-posix:kill (sb-posix:getpid) %d) (sleep 0.2) :alive)" % number, timeout=5)
                self.assertTrue(report.value == ":ALIVE" or report.is_error, report.text)
                self.assertOperational()

    def test_a_segfault_in_foreign_code(self):
        report = self.s.evaluate('(alien-funcall (extern-alien "strlen" (function unsigned-long unsigned-long)) 16)')
        self.assertTrue(report.is_error, report.text)
        self.assertRegex(report.error_type, "MEMORY-FAULT-ERROR|PROCESS-KILLED")
        self.assertOperational()

    def test_a_real_sigsegv_signal(self):
        self.assertProcessDied('(progn (alien-funcall (extern-alien "signal" (function unsigned-long int unsigned-long)) 11 0)'
                               ' (alien-funcall (extern-alien "raise" (function int int)) 11))', "PROCESS-KILLED", message="SIGSEGV|signal 11")


class Damage(Survival):
    def test_a_write_past_the_end_of_an_array_is_survived(self):
        report = self.s.evaluate("(let ((a (make-array 1 :element-type '(unsigned-byte 64)))) (declare (optimize (safety 0) (speed 3)))"
                                 " (loop for i fixnum below 4000000 do (setf (aref a i) 12345678901)))")
        self.assertNotEqual("", report.text)
        for _ in range(3):  # damage may show late
            report = self.s.evaluate("(progn (sb-ext:gc :full t) (+ 1 2))")
            if not report.is_error:
                break
        self.assertOperational()

    def test_the_destruction_of_its_own_descriptors_is_survived(self):
        for code in ("(loop for fd from 0 to 50 do (sb-posix:close fd))", "(loop for fd from 0 to 50 do (ignore-errors (sb-posix:close fd)))"):
            with self.subTest(code):
                report = self.s.evaluate(code, timeout=5)
                self.assertNotEqual("", report.text)
                self.assertOperational()

    def test_the_redefinition_of_standard_functions_is_survived(self):
        self.s.evaluate("(sb-ext:unlock-package :cl) (handler-bind ((warning #'muffle-warning)) (setf (symbol-function 'format) (lambda (&rest r) (declare (ignore r)) (error \"no format\"))))")
        self.s.evaluate("(+ 1 2)")
        self.s.call("reset-session")
        self.assertOperational()

    def test_the_deletion_of_the_agents_packages_is_survived(self):
        self.s.evaluate("(dolist (p (list-all-packages)) (when (search \"MCP\" (package-name p)) (ignore-errors (sb-ext:unlock-package p)) (ignore-errors (delete-package p))))")
        self.s.evaluate("(+ 1 2)")
        self.s.call("reset-session")
        self.assertOperational()

    def test_a_fork_in_user_code_is_survived(self):
        report = self.s.evaluate("(let ((pid (sb-posix:fork))) (if (zerop pid) (sb-ext:exit :abort t :code 0) (progn (sb-posix:waitpid pid 0) :parent)))", timeout=10)
        self.assertNotEqual("", report.text)
        self.assertOperational()

    def test_a_forked_child_that_returns_is_not_a_second_session(self):
        self.s.evaluate("(sb-posix:fork)", timeout=5, wait=20)
        for n in range(5):
            self.assertEvaluates("(+ %d 1)" % n, str(n + 1))
        self.s.call("reset-session")
        self.assertOperational()


class Exhaustion(Survival):
    def assertStorage(self, code, **named):
        report = self.s.evaluate('(format t "printed before") (finish-output) %s' % code, **named)
        self.assertTrue(report.is_error, report.text)
        self.assertRegex(report.error_type, "STORAGE-CONDITION|EXHAUSTED")
        self.assertIn("printed before", report.stdout)
        self.assertOperational()
        return report

    def test_heap_exhaustion_by_large_objects(self):
        self.assertStorage("(let ((l nil)) (loop (push (make-array 1000000) l)))")

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

    def test_heap_exhaustion_by_small_objects(self):
        self.assertStorage("(let ((l nil)) (loop (push (list 1 2 3) l)))", timeout=60)

    def test_heap_exhaustion_by_one_object(self):
        self.assertStorage("(length (make-array (ash 1 40)))")

    def test_heap_exhaustion_that_is_handled_over_and_over(self):
        report = self.s.evaluate("(defvar *hoard* nil) (dotimes (i 200) (handler-case (push (make-array 3000000) *hoard*) (storage-condition () nil))) :done", timeout=60)
        self.assertNotEqual("", report.text)
        for _ in range(2):
            report = self.s.evaluate("(length (list 1 2 3))")
            if not report.is_error:
                break
        self.assertEqual("3", report.value, report.text)

    def test_stack_exhaustion(self):
        for _ in range(3):
            self.assertStorage("(labels ((f (n) (+ 1 (f (1+ n))))) (f 0))")

    def test_stack_exhaustion_shows_no_argument_that_could_not_be_read(self):
        report = self.s.evaluate("(defun deep (n text) (1+ (deep (1+ n) text))) (deep 0 :text)")
        self.assertRegex(report.text, r"(?m)^0: \(DEEP .*\)\n1: \(DEEP \d+ :TEXT\)$")
        self.assertNotIn("INVALID", report.text)

    def test_stack_exhaustion_with_special_bindings(self):
        self.s.evaluate("(defvar *special* 0)")
        self.assertStorage("(labels ((f () (let ((*special* (1+ *special*))) (+ 1 (f))))) (f))")

    def test_stack_exhaustion_in_another_thread(self):
        report = self.s.evaluate("(sb-thread:join-thread (sb-thread:make-thread (lambda () (labels ((f (n) (+ 1 (f (1+ n))))) (f 0)))) :default :died)")
        self.assertNotEqual("", report.text)
        self.assertOperational()

    def test_descriptors_used_up(self):
        self.s.evaluate('(defvar *open* (loop for s = (ignore-errors (open "/dev/null")) while s collect s))', timeout=20)
        self.assertOperational()
        self.assertTrue(self.s.evaluate('(open "/dev/null")').is_error)
        self.assertOperational()

    def test_endlessly_many_threads(self):
        self.s.evaluate("(defvar *threads* (ignore-errors (loop repeat 300 collect (sb-thread:make-thread (lambda () (sleep 30))))))", timeout=20)
        self.assertOperational()
        self.s.call("reset-session")
        self.assertOperational()

    def test_deep_nesting_of_the_text_itself(self):
        for text in ("(" * 100000, "'" * 100000 + "a", "(" * 20000 + ")" * 20000, "#(" * 50000, "`" * 5000 + "a", "#1=(" + "#1# " * 1000 + ")"):
            with self.subTest(text[:10]):
                report = self.s.evaluate(text, timeout=10)
                self.assertNotEqual("", report.text)
                self.assertOperational()


class OverAndOver(Survival):
    def test_fifty_deaths_in_a_row_are_survived(self):
        for n in range(50):
            report = self.s.evaluate("(sb-ext:exit :code %d :abort t)" % (n % 100))
            self.assertEqual("PROCESS-EXITED", report.error_type, report.text)
        self.assertOperational()

    def test_requests_behind_a_death_are_all_answered(self):
        calls = []
        for n in range(20):
            calls.append(self.s.start_call("evaluate-lisp", code="(sb-ext:exit :abort t)" if n % 3 == 0 else "(+ %d 1)" % n))
        for n, call in enumerate(calls):
            report = call.reply()
            if n % 3 == 0:
                self.assertEqual("PROCESS-EXITED", report.error_type, report.text)
            else:
                self.assertEqual(str(n + 1), report.value, report.text)

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

    def test_a_death_while_reading_printing_or_reporting(self):
        for code in ("#.(sb-ext:exit :abort t)",
                     "(progn (defclass d () ()) (defmethod print-object ((d d) s) (sb-ext:exit :abort t)) (make-instance 'd))",
                     "(progn (define-condition dc (error) () (:report (lambda (c s) (sb-ext:exit :abort t)))) (error 'dc))"):
            with self.subTest(code):
                report = self.s.evaluate(code)
                self.assertEqual("PROCESS-EXITED", report.error_type, report.text)
                self.assertOperational()

    def test_fatal_text_of_the_runtime_is_in_the_report(self):
        report = self.s.evaluate('(progn (sb-sys:without-interrupts (alien-funcall (extern-alien "lose" (function void c-string)) "the integrity of the heap")))')
        self.assertTrue(report.is_error, report.text)
        self.assertOperational()


if __name__ == "__main__":
    mcp.main()
