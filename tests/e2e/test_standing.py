"""An error stands in the session's own process until the next evaluation: what that means for files, pipes, assignments
and for the tools that enter it. One thread; with several: test_threads.py."""

import os
import re

import entries
import mcp


class InFolder(mcp.TestCase):
    """The server works in a directory of the test's own: the code here writes files."""

    def start_server(self, *options, **named):
        self.place = named.setdefault("cwd", self.folder())
        return super().start_server(*options, **named)


class Standing(entries.Entries, InFolder):
    def state(self):
        self.s.call("describe-symbol", name="car")  # its turn comes when the session is at rest
        return self.s.call("list-sessions").text

    def test_a_restart_continues_with_the_open_file(self):
        self.s.evaluate('(defvar *file* "standing.txt")')
        self.assertFails(
            '(with-open-file (o *file* :direction :output :if-exists :supersede :if-does-not-exist :create)'
            ' (write-line "a" o) (cerror "go" "stop") (write-line "b" o) :done)'
        )
        self.assertIn("standing", self.state())
        self.assertValue(self.restart("CONTINUE"), ":DONE")
        self.assertEvaluates("(uiop:read-file-lines *file*)", '("a" "b")')

    def test_a_restart_continues_with_a_file_opened_in_any_way(self):
        before = "one\ntwo\n"
        cases = (
            (":output", ":supersede", "a\nb\n", None),
            (":output", ":append", before + "a\nb\n", None),
            (":output", ":overwrite", "a\nb\ntwo\n", None),
            (":output", ":rename", "a\nb\n", before),
            (":output", ":rename-and-delete", "a\nb\n", before),
            (":io", ":supersede", "a\nb\n", None),
            (":io", ":overwrite", "a\nb\ntwo\n", None),
            (":input", ":error", before, before),
        )
        for direction, if_exists, after, unwound in cases:
            write = '(list (read-line s) (progn (cerror "Go on." "stop") (read-line s)))'
            if direction != ":input":
                write = '(progn (write-line "a" s) (cerror "Go on." "stop") (write-line "b" s) :done)'
            code = '(with-open-file (s "any.txt" :direction %s :if-exists %s :if-does-not-exist :create) %s)' % (direction, if_exists, write)
            with self.subTest(direction=direction, if_exists=if_exists):
                self.assertOperational()
                for is_left in (False, True):
                    mcp.write(os.path.join(self.place, "any.txt"), before)
                    self.assertErrorReport(self.s.evaluate(code), "SIMPLE-ERROR")
                    if is_left:
                        self.s.evaluate("(+ 1 2)")
                    else:
                        self.assertValue(self.restart("CONTINUE"), '("one" "two")' if direction == ":input" else ":DONE")
                    wanted = after if not is_left else unwound
                    if wanted is not None:
                        with open(os.path.join(self.place, "any.txt"), encoding="utf-8") as f:
                            self.assertEqual(wanted, f.read(), "left" if is_left else "gone on")

    def test_a_restart_continues_with_the_streams_that_were_bound(self):
        cases = (
            ('(with-output-to-string (*standard-output*) (princ 1) (cerror "go" "x") (princ 2))', {}, '"12"'),
            ('(with-output-to-string (*error-output*) (princ 1 *error-output*) (cerror "go" "x") (princ 2 *error-output*))', {}, '"12"'),
            ('(with-input-from-string (*standard-input* "1 2") (list (read) (progn (cerror "go" "x") (read))))', {}, "(1 2)"),
            ('(list (read) (progn (cerror "go" "x") (read *query-io*)))', {"stdin": "1 2"}, "(1 2)"),
        )
        for code, arguments, value in cases:
            for is_copy in (False, True):
                with self.subTest(code=code, is_copy=is_copy):
                    self.assertFails(code, **arguments)
                    self.assertIn("entered", self.enter('(progn (princ "entered") 1)').text)
                    if is_copy:
                        self.s.evaluate(":between")
                    self.assertValue(self.restart("CONTINUE"), value)
        self.assertEqual("printed", self.s.evaluate('(princ "printed")').stdout)

    def test_a_restart_continues_with_a_program_a_lock_and_a_timer(self):
        if os.path.exists("/usr/bin/sort"):
            self.assertFails("""(let ((p (sb-ext:run-program "/usr/bin/sort" '() :input :stream :output :stream :wait nil)))
              (format (sb-ext:process-input p) "b~%") (cerror "Go on." "stop") (format (sb-ext:process-input p) "a~%")
              (close (sb-ext:process-input p)) (list (read-line (sb-ext:process-output p)) (read-line (sb-ext:process-output p))))""")
            self.assertValue(self.restart("CONTINUE"), '("a" "b")')
        self.s.evaluate("(defvar *lock* (sb-thread:make-mutex)) (defvar *fired* 0)")
        held = '(sb-thread:with-mutex (*lock*) (cerror "Go on." "stop") (sb-thread:holding-mutex-p *lock*))'
        self.assertFails(held)
        self.assertValue(self.enter("(sb-thread:holding-mutex-p *lock*)"), "T")
        self.assertValue(self.restart("CONTINUE"), "T")
        self.assertFails(held)
        self.assertEvaluates("(sb-thread:with-mutex (*lock*) :free)", ":FREE")
        self.assertFails("(progn (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (incf *fired*))) 0.05) (cerror \"Go on.\" \"stop\") *fired*)")
        mcp.wait_until(lambda: self.enter("*fired*").values == ["1"], 20, "the timer at the error")
        self.assertValue(self.restart("CONTINUE"), "1")

    def test_an_error_of_a_timer_between_two_calls_is_listed(self):
        listed = lambda: re.findall(r"(?m)^\d+\. \S+ (.*)$", self.s.call("list-errors").text)
        self.s.evaluate("""(defun ring () (error "the timer ~a" 1))
            (sb-ext:schedule-timer (sb-ext:make-timer #'ring) 0.1)""")
        mcp.wait_until(lambda: listed() or self.s.evaluate("nil") is None, 10, "its error")
        self.assertEqual(1, len(listed()))
        self.assertRegex(listed()[0], r"^(between two calls|in a timer or an interruption): SIMPLE-ERROR: the timer 1 "
                         r"\(cannot be entered: It has been unwound\.\)$")
        self.assertTrue(self.s.call("evaluate-in-frame", index=1, frame=0, code="1").is_error)
        self.assertIn("the timer 1", self.s.call("describe-last-error", index=1).text)
        self.assertIn("0: (RING)", self.s.call("get-backtrace", index=1).text)

    def test_an_error_of_a_timer_in_the_middle_of_a_reply_is_not_the_replys(self):
        for how in ('(sb-ext:schedule-timer (sb-ext:make-timer #\'fail) 0.01)',
                    '(let ((here sb-thread:*current-thread*))'
                    ' (sb-thread:join-thread (sb-thread:make-thread (lambda () (sb-thread:interrupt-thread here #\'fail)))))'):
            with self.subTest(how):
                self.s.evaluate(f"""(defvar *failed*) (setf *failed* nil) (defclass slow () ())
                    (defun fail () (setf *failed* t) (error "aside"))
                    (defmethod print-object ((o slow) s) {how} (loop until *failed*) (princ "whole" s))""")
                reply = self.s.evaluate("(make-instance 'slow)")
                self.assertValue(reply, "whole")
                self.assertIn("0: (FAIL)", reply.text)
                self.assertIn("in a timer or an interruption: SIMPLE-ERROR: aside", self.s.call("list-errors").text)
                self.s.call("reset-session")

    def test_errors_of_a_timer_do_not_take_the_place_of_the_error(self):
        self.s.evaluate("""(defvar *timer* (sb-ext:make-timer (lambda () (error "tick"))))""")
        self.assertFails('(let ((value :here)) (error "boom ~a" value))')
        self.enter("(sb-ext:schedule-timer *timer* 0.002 :repeat-interval 0.002)")
        mcp.wait_until(lambda: self.enter("1") and re.match("32 errors", self.s.call("list-errors").text), 60, "32 errors")
        self.assertIn("standing", self.state())
        self.assertRegex(self.s.call("list-errors", limit=32).text, r"SIMPLE-ERROR: boom HERE \(can be entered\)")
        for _ in range(10):  # Ticks come while a long request is read, too.
            self.assertIn("standing", self.state())
            self.enter("(length %s)" % ('"' + 1000000 * "x" + '"'))
        mcp.wait_until(lambda: not self.enter("(sb-ext:unschedule-timer *timer*)").is_error, 10, "an entry without a tick")
        self.assertValue(self.enter(":entered"), ":ENTERED")

    def test_an_error_of_a_timer_while_the_process_is_copied_is_its_own(self):
        self.s.evaluate("""(progn (defvar *timer* (sb-ext:make-timer (lambda () (error "tick")))) (sb-ext:schedule-timer *timer* 0.002 :repeat-interval 0.002))""")
        for number in range(30):
            self.s.evaluate("(list :ok %d)" % number)
        mcp.wait_until(lambda: not self.s.evaluate("(sb-ext:unschedule-timer *timer*)").is_error, 10, "an evaluation without a tick")
        self.s.evaluate("1")
        report = self.assertFails('(let ((a 1)) (error "mine ~a" a))')
        self.assertIn("[Restarts]", report.text)
        self.assertValue(self.enter("(list 2)"), "(2)")

    def test_the_death_of_a_look_up_does_not_bring_back_the_state_before_an_entry(self):
        self.s.evaluate("""(progn (defvar *x* 1) (defstruct bad) (defvar *bad* (make-bad))
            (defmethod print-object ((b bad) s) (sb-ext:exit :code 3 :abort t)) 0)""")
        self.assertFails('(let ((z 5)) (error "boom ~a" z))')
        self.assertValue(self.enter("(setf *x* 2)"), "2")
        self.assertIn("PROCESS-EXITED", self.s.call("describe-symbol", {"name": "*bad*"}).text)
        self.assertValue(self.enter("*x*"), "2")

    def test_the_death_of_a_look_up_says_what_was_lost(self):
        self.s.evaluate("""(progn (defvar *x* 1) (defstruct bad) (defvar *bad* (make-bad))
            (defmethod print-object ((b bad) s) (sb-ext:exit :code 3 :abort t)) 0)""")
        self.s.evaluate("(progn (sb-thread:make-thread (lambda () (sleep 60))) (setf *x* 2))")
        self.assertIsError(self.s.call("describe-symbol", {"name": "*bad*"}), "[Session]", "(setf *x* 2)")

    def test_a_timer_does_not_leave_the_error(self):
        """Also not by a handler that is established around it, whether it comes while the error is reported or later."""
        def last_told():
            return max([0] + [int(n) for n in re.findall(r"(?m)^(\d+)\. .*Timeout occurred", self.s.call("list-errors").text)])

        times = 0
        for attempt in range(400):
            if times == 40:
                return
            before = last_told()
            early_us = attempt % 60 * 250
            reply = self.s.evaluate("""(let ((end (+ (get-internal-real-time) (- 50000 %d))))
              (handler-case (sb-ext:with-timeout 0.05 (loop until (>= (get-internal-real-time) end)) (cerror "go" "stop") :done)
                (sb-ext:timeout () :before-the-error)))""" % early_us)
            # In the middle of SBCL's SIGNAL, which hides the handlers that it has passed, the timer's error is the one reported.
            if reply.values == [":BEFORE-THE-ERROR"] or reply.error_type == "TIMEOUT":
                continue
            times += 1
            self.assertErrorReport(reply, "SIMPLE-ERROR")
            # Whichever reply comes next tells of its error, perhaps that of the entry which it interrupts.
            mcp.wait_until(lambda: "Timeout occurred" in self.enter("1").text or last_told() > before, 10, "the timer")
            self.assertIn("standing", self.state())
            self.assertValue(self.restart("CONTINUE"), ":DONE")
        self.fail("the timer came only %d times after the error" % times)

    def test_in_a_copy_the_files_that_were_open_are_named(self):
        code = ('(with-open-file (o "gone.txt" :direction :output) (write-line "a" o) (cerror "go" "stop") (write-line "b" o) :done)')
        self.assertFails(code)
        self.assertNotIn("gone.txt", self.enter("1").session)
        self.s.evaluate("(+ 1 2)")
        named = "Files open for writing at the error: %s" % os.path.join(os.path.realpath(self.place), "gone.txt")
        self.assertIn(named, self.enter("1", index=1).session)
        reply = self.restart("CONTINUE", index=1)
        self.assertValue(reply, ":DONE")
        self.assertIn(named, reply.session)
        self.assertNotIn("gone.txt", os.listdir(self.place))

    def test_a_compilation_that_was_stopped_continues(self):
        self.s.evaluate(
            '(with-open-file (o "slow.lisp" :direction :output :if-exists :supersede)'
            ' (format o "(eval-when (:compile-toplevel) (sleep 1.5))~%(defun from-slow () :compiled)"))'
        )
        self.assertErrorReport(self.s.evaluate('(load (compile-file "slow.lisp"))', timeout=0.5), "TIMEOUT")
        self.assertFalse(self.restart("CONTINUE", timeout=20).is_error)
        self.assertEvaluates("(from-slow)", ":COMPILED")

    def test_a_compilation_continues_from_wherever_it_stopped(self):
        """It stops in the reader, a macro, a compiler macro, a form for the compiler, a constant's load form, and in the load. At
        each place it continues in the process; given up there, it leaves no file and can be made again."""
        self.s.evaluate("""(defvar *stops* t) (defun stop (place) (when *stops* (break "at ~a" place)) place)
            (defmacro stopping (place) (stop place)) (defun early (x) x) (define-compiler-macro early (x) (stop x))
            (defclass thing () ()) (defmethod make-load-form ((thing thing) &optional environment) (declare (ignore environment)) (stop 6) '(quote :thing))""")
        mcp.write(os.path.join(self.place, "many.lisp"), """(defvar *read* #.(stop 1))
                (eval-when (:compile-toplevel) (stop 2))
                (defun in-a-function () (let ((x (stopping 3))) (list x (early 4))))
                (macrolet ((local () (stop 5))) (defun with-macro () (local)))
                (defun with-constant () '#.(make-instance 'thing))
                (defparameter *loaded* (stop 7))""")
        build = '(progn (load (compile-file "many.lisp")) (list *read* (in-a-function) (with-macro) (with-constant) *loaded*))'
        wanted = "(1 (3 4) 5 :THING 7)"
        report, places = self.s.evaluate(build), []
        while report.is_error:
            self.assertRegex(report.message, r"at \d")
            places.append(report.message)
            self.assertLessEqual(len(places), 30)
            report = self.restart("CONTINUE")
        self.assertValue(report, wanted)
        self.assertEqual({"at %d" % n for n in range(1, 8)}, set(places))
        files = sorted(os.listdir(self.place))
        for left_at in range(len(places)):
            with self.subTest(left_at=places[left_at]):
                self.assertErrorReport(self.s.evaluate(build))
                for _ in range(left_at):
                    self.assertErrorReport(self.restart("CONTINUE"))
                self.assertEvaluates("(progn (setf *stops* nil) :left)", ":LEFT")
                self.assertEqual(files, sorted(set(os.listdir(self.place)) | {"many.fasl"}))
                self.assertValue(self.s.evaluate(build), wanted)
                self.assertEvaluates("(setf *stops* t)", "T")

    def wait_for_file(self):
        return '(loop until (probe-file "go") do (sleep 0.01))'

    def test_an_entry_means_the_error_that_was_the_newest_when_it_was_sent(self):
        self.s.evaluate('(defun stop (x) (declare (optimize debug)) (cerror "Go on." "~a" x) x)')
        self.assertFails("(stop :first)")
        second = self.s.start_call("evaluate-lisp", code="(progn %s (stop :second))" % self.wait_for_file())
        entry = self.s.start_call("evaluate-in-frame", frame=0, code="x")
        restart = self.s.start_call("invoke-restart", restart="CONTINUE")
        self.assertIn("FIRST", self.s.call("describe-last-error").text)  # they have been read, and wait
        mcp.write(os.path.join(self.place, "go"))
        self.assertErrorReport(second.reply(), "SIMPLE-ERROR")
        self.assertValue(entry.reply(), ":FIRST")
        self.assertValue(restart.reply(), ":FIRST")

    def test_an_entry_behind_a_restart_that_fails_again_means_the_error_before(self):
        self.s.evaluate('(defun stop (x) (declare (optimize debug)) (cerror "Go on." "~a" x) x)')
        self.assertFails("(progn (stop :first) %s (stop :second))" % self.wait_for_file())
        restart = self.s.start_call("invoke-restart", restart="CONTINUE")
        entry = self.s.start_call("evaluate-in-frame", frame=0, code="x")
        self.assertIn("FIRST", self.s.call("describe-last-error").text)
        mcp.write(os.path.join(self.place, "go"))
        self.assertIn("SECOND", restart.reply().text)
        self.assertValue(entry.reply(), ":FIRST")
        self.assertValue(self.enter("x"), ":SECOND")
        self.assertValue(self.restart("CONTINUE"), ":SECOND")

    def test_look_ups_are_answered_and_leave_the_error_alone(self):
        self.s.evaluate("(defun f (x) (error \"f ~a\" x))")
        self.assertFails("(f 1)")
        self.assertIn("F", self.s.call("describe-symbol", name="f").text)
        self.assertIn("F", self.s.call("list-definitions").text)
        self.assertIn("standing", self.state())
        self.assertValue(self.enter("x"), "1")

    def test_the_error_meant_is_the_newest_even_if_it_cannot_be_entered(self):
        self.s.evaluate("(defvar *runs* 0)")
        self.assertFails('(progn (incf *runs*) (error "old"))')
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"), "PROCESS-EXITED")
        for reply in (self.restart("RETRY"), self.enter("*runs*")):
            self.assertTrue(reply.is_error, reply.text)
            self.assertIn("Error 2 cannot be entered: The process has ended.", reply.text)
            self.assertIn("Errors that can be entered: 1.", reply.text)
        self.assertEvaluates("*runs*", "1")

    def test_an_entry_that_kills_the_process_costs_that_entry_only(self):
        self.s.evaluate("(defvar *x* 1) (defun f (y) (error \"~a\" y))")
        self.assertFails("(progn (setf *x* 2) (f 5))")
        self.assertValue(self.enter("(setf *x* 3)"), "3")
        self.assertErrorReport(self.enter("(progn (setf *x* 4) (sb-ext:exit :abort t))"), "PROCESS-EXITED")
        self.assertIn("standing", self.state())
        self.assertValue(self.enter("(list *x* y)"), "(3 5)")
        self.assertEvaluates("*x*", "3")

    @mcp.own_lisp("a person's image is not killed")
    def test_an_error_whose_process_was_killed_cannot_be_entered_because_that_has_ended(self):
        self.assertFails('(error "x")')
        mcp.kill(int(re.search(r"Process: (\d+)", self.s.call("session-info").text).group(1)))
        mcp.wait_until(lambda: "The process has ended." in self.s.call("list-errors").text, 5, "the end of the process")

    def test_any_other_request_ends_it(self):
        for tool, arguments in (("checkpoint-session", {"name": "here"}), ("rollback-session", {"to": "here"}),
                                ("time-execution", {"code": "(+ 1 2)"})):
            with self.subTest(tool):
                self.assertFails('(unwind-protect (error "x") (setf cl-user::*cleaned* t))')
                self.assertIn("standing", self.state())
                self.assertFalse(self.s.call(tool, **arguments).is_error)
                self.assertNotIn("standing", self.state())

    def test_assignments_that_are_not_carried_are_named(self):
        self.s.evaluate("(defvar *cfg* :broken) (defun f () (if (eq *cfg* :broken) (cerror \"go\" \"broken\") :fine))")
        self.assertFails("(progn (f) (f))")
        self.s.evaluate("(setf *cfg* :fixed)")
        reply = self.restart("CONTINUE")
        self.assertErrorReport(reply)
        self.assertIn("broken", reply.message)
        self.assertIn("(setf *cfg* :fixed)", reply.session)
        self.assertNotIn("defvar", reply.session)
        self.s.evaluate("(progn (defvar *count* 0) (restart-case (error \"x\") (use-value (v) v)))")
        self.s.evaluate("(defun g () 1) (incf *count*)")
        reply = self.restart("USE-VALUE", value="5")
        self.assertValue(reply, "5")
        self.assertIn("(incf *count*)", reply.session)
        self.assertNotIn("defun", reply.session)

    def test_an_exhausted_stack_is_not_announced_as_enterable(self):
        self.assertFails("(labels ((r (n) (+ 1 (r n)))) (r 1))")
        self.assertNotIn("can be entered", self.s.call("list-errors").text.replace("cannot be entered", ""))
        self.assertIn("cannot be entered", self.restart("ABORT").text)
        self.assertOperational()


class Descriptors(InFolder):
    def test_the_copy_of_an_error_holds_no_pipe_and_what_it_lacks_is_named(self):
        if not os.path.exists("/usr/bin/sort"):
            self.skipTest("there is no /usr/bin/sort")
        self.s.evaluate('(defvar *p* (sb-ext:run-program "/usr/bin/sort" \'() :input :stream :output :stream :wait nil))')
        self.s.evaluate('(format (sb-ext:process-input *p*) "b~%a~%")')
        self.assertFails('(restart-case (error "x") (use-value (v) v))')
        self.s.evaluate("(close (sb-ext:process-input *p*))")
        reply = self.s.evaluate("(list (read-line (sb-ext:process-output *p*)) (read-line (sb-ext:process-output *p*)))", timeout=10)
        self.assertValue(reply, '("a" "b")')
        pattern = r"Open at the error and closed in the copy: pipe \(descriptor \d+\), pipe \(descriptor \d+\)\."
        self.assertRegex(self.s.call("evaluate-in-frame", frame=0, code="1").text, pattern)
        self.assertRegex(self.s.call("invoke-restart", restart="USE-VALUE", value="1").text, pattern)
        reply = self.s.call("rollback-session", to="1")
        self.assertRegex(reply.text, r"Open in that state and closed now: pipe \(descriptor \d+\), pipe")

    def test_a_port_can_be_listened_on_again(self):
        self.s.evaluate("(require :sb-bsd-sockets)")
        self.s.evaluate(
            "(defun listen-on (port) (let ((s (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)))"
            " (sb-bsd-sockets:socket-bind s #(127 0 0 1) port) (sb-bsd-sockets:socket-listen s 5) s))"
        )
        self.s.evaluate("(defvar *s* (listen-on 0))")
        port = self.s.evaluate("(nth-value 1 (sb-bsd-sockets:socket-name *s*))").value
        self.s.evaluate("(+ 1 2)")
        self.s.evaluate("(sb-bsd-sockets:socket-close *s*)")
        self.assertFalse(self.s.evaluate("(progn (setf *s* (listen-on %s)) :again)" % port).is_error)

    def test_files_stay_open_in_a_checkpoint_and_streams_of_pipes_are_dead(self):
        self.s.evaluate('(defvar *f* (open "kept.txt" :direction :output :if-exists :supersede))')
        self.s.evaluate('(defvar *p* (sb-ext:run-program "/bin/cat" \'() :input :stream :output nil :wait nil))')
        self.s.call("checkpoint-session", name="here")
        self.s.evaluate("(setf *x* 1)")
        self.assertFalse(self.s.call("rollback-session", to="here").is_error)
        self.assertEvaluates('(progn (write-line "after" *f*) (finish-output *f*) :written)', ":WRITTEN")
        self.assertEvaluates('(with-open-file (i "kept.txt") (values (read-line i)))', '"after"')


class RollBack(InFolder):
    def test_it_goes_to_the_state_named_or_says_which_are_near(self):
        for i in range(40):
            self.s.evaluate("(defparameter *n* %d)" % i)
        missing = self.s.call("rollback-session", to="5")
        self.assertTrue(missing.is_error)
        self.assertRegex(missing.text, r"There is no checkpoint of the state after evaluation 5. The nearest (is of the state after evaluation \d+|are of the states after evaluations \d and \d+);")
        self.assertIn("after evaluation 60. The nearest is of the state after evaluation 40;", self.s.call("rollback-session", to="60").text)
        self.assertEvaluates("*n*", "39")
        self.assertFalse(self.s.call("rollback-session", to="-1").is_error)
        self.assertEvaluates("*n*", "39")

    def test_a_restart_that_brings_back_undone_evaluations_reports_it(self):
        self.s.evaluate("(defvar *x* 1)")
        self.assertFails('(progn (setf *x* 2) (cerror "Go on." "stop") *x*)')
        self.assertFalse(self.s.call("rollback-session", to="1").is_error)
        report = self.s.call("invoke-restart", restart="CONTINUE", index=1)
        self.assertValue(report, "2")
        self.assertIn("the error in evaluation 2, which had been undone or ran in a copy", report.session)
        self.assertFails('(progn (setf *x* 3) (cerror "Go on." "stop") *x*)')
        self.s.evaluate("(+ 1 1)")
        self.assertNotIn("undone", self.s.call("invoke-restart", restart="CONTINUE", index=2).session)

    def test_it_adds_no_second_line_for_a_state(self):
        for i in range(3):
            self.s.evaluate("(defparameter *n* %d)" % i)
        self.assertFalse(self.s.call("rollback-session", to="2").is_error)
        lines = [line.split(",")[0] for line in self.s.call("list-checkpoints").text.splitlines()[1:]]
        self.assertEqual(sorted(set(lines)), sorted(lines))


class Locks(mcp.SessionTest):
    """What the session has closed is free, whatever copies of it wait."""

    # flock with LOCK_EX and LOCK_NB; fcntl with F_OFD_SETLK and a struct flock for writing.
    FLOCK = '(sb-alien:alien-funcall (sb-alien:extern-alien "flock" (function sb-alien:int sb-alien:int sb-alien:int)) (sb-sys:fd-stream-fd %s) 6)'
    OFD = ('(let ((lock (make-array 32 :element-type (quote (unsigned-byte 8)) :initial-element 0))) (setf (aref lock 0) 1)'
           ' (sb-sys:with-pinned-objects (lock) (sb-alien:alien-funcall (sb-alien:extern-alien "fcntl" (function sb-alien:int sb-alien:int'
           ' sb-alien:int sb-sys:system-area-pointer)) (sb-sys:fd-stream-fd %s) 37 (sb-sys:vector-sap lock))))')

    def path(self):
        """A temporary file, which a sandbox allows too."""
        made = '(format nil "~a/locked-~d-~d" (or (sb-ext:posix-getenv "TMPDIR") "/tmp") (sb-posix:getpid) (random 1000000000))'
        path = self.s.evaluate(made).values[0].strip('"')
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        return path

    def test_a_lock_ends_with_the_evaluation_that_failed_with_it(self):
        for lock in (self.FLOCK, self.OFD):
            with self.subTest(lock[:30]):
                path = self.path()
                opened = '(with-open-file (f "%s" :direction :output :if-exists :append :if-does-not-exist :create) %%s)' % path
                self.assertFails(opened % ('(write-string "one" f) (finish-output f) (let ((got %s)) (error "stop ~~d" got))' % (lock % "f")), "SIMPLE-ERROR")
                self.assertEvaluates(opened % (lock % "f"), "0")
                self.assertEvaluates("1", "1")
                number = self.s.newest_error()
                self.assertValue(self.s.call("evaluate-in-frame", frame=0, index=number, code="1"), "1")
                self.assertEvaluates(opened % (lock % "f"), "0")
                self.assertEqual("one", mcp.read(path))

    def test_a_file_that_was_locked_can_be_used_in_the_copy(self):
        path = self.path()
        self.s.evaluate("(defvar *f* nil)")
        self.assertFails('(with-open-file (f "%s" :direction :io :if-exists :supersede) (write-string "one two" (setf *f* f)) (file-position f 4) %s (error "stop"))'
                         % (path, self.FLOCK % "f"), "SIMPLE-ERROR")
        self.assertEvaluates("1", "1")
        self.assertIn("TWO", self.s.call("evaluate-in-frame", frame=0, index=1, code="(read *f*)").text)
