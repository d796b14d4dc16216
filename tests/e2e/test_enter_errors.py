"""Errors that are stepped into after the call has returned: frames and locals, evaluation there, restarts, time limits that are extended."""

import re

import mcp

LONG = """
(defvar *steps* 0)
(defun weigh (item) (if (eql item 3) (error "cannot weigh ~a" item) (* 10 item)))
(defun long-work (items) (loop for item in items do (incf *steps*) collect (weigh item)))
"""


class Names(mcp.SessionTest):
    def test_names_are_read_in_the_package_of_the_frames_function(self):
        self.s.evaluate("(defpackage app (:use :cl)) (defpackage other (:use :cl))")
        self.s.evaluate("(defun sum (count total) (+ 1 (error \"~a ~a\" count total)))", package="app")
        self.assertErrorReport(self.s.evaluate("(app::sum 1 2)"))
        self.assertEqual("=> (1 2)", self.enter("(list count total)").text)
        self.assertEqual('=> "APP"', self.enter("(package-name (symbol-package 'total))").text)
        for package in ("other", ":other", "#:other"):
            reply = self.enter("total", package=package)
            self.assertIn("TOTAL is unbound", reply.text)


class Reports(mcp.SessionTest):
    def frames(self, code, **named):
        return mcp.frames_in(self.assertErrorReport(self.s.call("evaluate-in-frame", code=code, **named)).text)

    def test_an_error_there_shows_what_was_evaluated_once(self):
        self.s.evaluate("(defun f (n) (list (car n)))")
        self.assertErrorReport(self.s.evaluate("(f 5)"))
        for frame in (0, 1):
            self.assertEqual(['(EVAL (ERROR "a"))'], self.frames('(error "a")', frame=frame))
            self.assertEqual(['(EVAL (PROGN 1 (ERROR "a")))'], self.frames('1 (error "a")', frame=frame))

    def test_without_an_index_after_a_success_the_reply_says_which_error_was_entered(self):
        self.s.evaluate("(defun f (n) (list (error \"no ~a\" n)))")
        self.assertErrorReport(self.s.evaluate("(f 5)"))
        self.assertEqual("=> 5", self.enter("n").text)
        self.s.evaluate("(list 1)")
        said = "The last evaluation had no error; this is error 1: SIMPLE-ERROR."
        self.assertIn(said, self.enter("n").text)
        self.assertNotIn(said, self.enter("n", index=1).text)

    def test_a_variable_that_the_frame_does_not_keep_is_explained(self):
        self.s.evaluate('(defun f (n) (let ((k (* n 2))) (error "deep ~a" k)))')
        self.assertErrorReport(self.s.evaluate("(f 5)"))
        reply = self.enter("(list n nothing)")
        self.assertIn("The variables of this frame known here are N", reply.text)
        self.assertIn("Code compiled with (debug 3) keeps all.", reply.text)


class Entering(mcp.SessionTest):
    def enterable(self):
        text = self.s.call("list-errors", limit=32).text
        return [int(n) for n, rest in re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE) if "can be entered" in rest]


class Frames(Entering):
    def setUp(self):
        super().setUp()
        self.s.evaluate("(declaim (optimize (debug 3))) (defvar *global* 1)"
                        "(defun inner (x y) (let ((z (+ x y))) (cerror \"go\" \"stop ~a\" z) (list x y z))) (defun outer (a) (let ((b (* 2 a))) (list (inner a b) b)))")
        self.assertFails("(outer 5)", "SIMPLE-ERROR")

    def test_locals_are_there_after_the_call_has_returned(self):
        text = self.s.call("get-backtrace", locals=True).text
        for part in ("X = 5", "Y = 10", "Z = 15", "A = 5", "B = 10"):
            self.assertIn(part, text)

    def test_code_sees_the_variables_of_a_frame(self):
        self.assertValue(self.enter("(list x y z)"), "(5 10 15)")
        self.assertValue(self.enter("(list a b)", frame=1), "(5 10)")
        self.assertValue(self.enter("(values x (+ y z)) (values (* x 2) y)"), "10", "10")

    def test_code_there_has_effect_until_the_next_evaluation(self):
        self.assertValue(self.enter("(setf *global* 99 x 98) (list *global* x)"), "(99 98)")
        self.assertValue(self.enter("(list x *global*)"), "(98 99)")
        self.assertEvaluates("*global*", "99")
        report = self.enter("(setf *global* 100 x 97) (defun inner (x y) :changed) (list *global* x)")
        self.assertValue(report, "(100 97)")
        self.assertIn("the session is unchanged", report.session)
        self.assertValue(self.enter("(list x *global*)"), "(98 99)")
        self.assertEvaluates("*global*", "99")
        self.assertFails("(inner 1 2)", "SIMPLE-ERROR")

    def test_output_is_in_the_reply(self):
        report = self.enter('(format t "z is ~a" z) z')
        self.assertEqual("z is 15", report.stdout)
        self.assertValue(report, "15")

    def test_an_error_there_is_reported_and_is_not_the_last_error(self):
        before = self.s.call("describe-last-error").text
        report = self.assertErrorReport(self.enter("(car x)"), "TYPE-ERROR")
        self.assertIn("5", report.message)
        self.assertEqual(before, self.s.call("describe-last-error").text)
        self.assertValue(self.enter("z"), "15")

    def test_unreadable_code_there_is_a_reader_error(self):
        self.assertErrorReport(self.enter("(list x"))
        self.assertErrorReport(self.enter("(no-package:x)"))
        self.assertValue(self.enter("x"), "5")

    def test_a_death_there_leaves_session_and_error_as_they_were(self):
        for code in ("(sb-ext:exit)", "(sb-posix:kill (sb-posix:getpid) 9)", "(sb-posix:close 3)"):
            with self.subTest(code):
                self.assertFails("(outer 5)", "SIMPLE-ERROR")
                report = self.assertErrorReport(self.enter(code), "PROCESS-")
                self.assertIn("as they were", report.session)
                self.assertValue(self.enter("z"), "15")
                self.assertEvaluates("*global*", "1")

    def test_a_loop_there_meets_its_time_limit(self):
        report = self.assertErrorReport(self.enter("(loop)", timeout=0.3), "TIMEOUT")
        self.assertNotIn("invoke-restart CONTINUE", report.text)
        self.assertErrorReport(self.enter("(sb-sys:without-interrupts (loop))", timeout=0.3), "TIMEOUT")
        self.assertValue(self.enter("z"), "15")
        self.assertOperational()

    def test_it_can_be_entered_when_the_session_has_died_since(self):
        self.s.evaluate("(sb-ext:exit :abort t)")
        self.assertValue(self.enter("z", index=1), "15")

    def test_it_can_be_entered_when_the_session_has_gone_on(self):
        self.s.evaluate("(setf *global* 2)")
        self.assertValue(self.enter("(list z *global*)"), "(15 1)")
        self.assertValue(self.enter("(list z *global*)", index=1), "(15 1)")

    def test_it_cannot_be_entered_after_a_reset(self):
        self.s.call("reset-session")
        self.assertTrue(self.enter("z", index=1).is_error)
        self.assertTrue(self.enter("z").is_error)


class Restarts(Entering):
    def test_a_restart_by_name_with_a_value(self):
        self.assertFails("(list (+ 1 undefined-thing) :done)", "UNBOUND-VARIABLE")
        self.assertValue(self.restart("use-value", value="(* 6 7)"), "(43 :DONE)")
        self.assertFails("(list (+ 1 undefined-thing) :done)", "UNBOUND-VARIABLE")
        self.assertValue(self.restart("USE-VALUE", value="1"), "(2 :DONE)")

    def test_a_restart_by_its_number(self):
        report = self.assertFails("(restart-case (error \"x\") (first-way () 1) (second-way (&optional (v 2)) (list v)))")
        names = {name: number for number, name, _ in report.restarts}
        self.assertValue(self.restart(names["SECOND-WAY"], value=":v"), "(:V)")
        self.s.evaluate("(restart-case (error \"x\") (first-way () 1) (second-way (&optional (v 2)) (list v)))")
        self.assertValue(self.restart(names["FIRST-WAY"]), "1")

    def test_another_call_in_place_of_one_with_the_wrong_number_of_arguments(self):
        self.s.evaluate("(defun two (a b) (list a b))")
        for restart, value, result in (("CALL-FORM", "(two 1 2)", "((1 2))"), ("REPLACE-FUNCTION", "#'list", "((1))"),
                                       ("REPLACE-FUNCTION", "(lambda (a) (two a a))", "((1 1))"), ("REPLACE-FUNCTION", "'vector", "(#(1))")):
            self.assertFails("(list (two 1))", "PROGRAM-ERROR")
            self.assertValue(self.restart(restart, value=value), result)

    def test_values_that_a_restart_does_not_take_leave_the_error_as_it_was(self):
        self.assertFails('(list (restart-case (error "x") (none () 0) (one (a) a)))', "SIMPLE-ERROR")
        for restart, value, words in (("NONE", "1", "takes no value and got 1"), ("ONE", "(values 1 2)", "takes one value and got 2")):
            report = self.assertErrorReport(self.restart(restart, value=value), "SIMPLE-ERROR")
            self.assertEqual("The restart %s %s." % (restart, words), report.message)
        self.assertValue(self.restart("ONE", value="1"), "(1)")

    def test_a_restart_may_be_named_as_a_keyword_or_as_the_report_shows_it(self):
        for name in ("continue", ":continue", "[CONTINUE]", " Continue "):
            self.assertFails('(list (with-simple-restart (continue "Go on") (error "x")) 2)', "SIMPLE-ERROR")
            self.assertValue(self.restart(name), "(NIL 2)")

    def test_an_absent_restart_is_reported(self):
        self.assertFails('(error "x")')
        for name in ("nowhere", "77", "0", "-1"):
            reply = self.restart(name)
            self.assertTrue(reply.is_error, reply.text)
            self.assertEqual("Error 1 has no restart %s. It has 1. RETRY, 2. ABORT." % name, reply.text)
        self.assertValue(self.enter("1"), "1")

    def test_store_value_stays_in_the_session(self):
        self.assertFails("(list *now-it-is-there*)", "UNBOUND-VARIABLE")
        self.assertValue(self.restart("STORE-VALUE", value="'(1 2)"), "((1 2))")
        self.assertEvaluates("*now-it-is-there*", "(1 2)")

    def test_the_fix_in_code_goes_first(self):
        self.s.evaluate(LONG)
        self.assertFails("(long-work '(1 2 3 4))")
        self.assertFails("(car 42)")
        self.assertFails("(long-work '(1 2 3 4))")
        report = self.restart("RETRY", code="(setf *steps* 0) (defun weigh (item) (* 100 item))")
        self.assertValue(report, "(100 200 300 400)")
        self.assertEvaluates("(list *steps* (weigh 3))", "(4 300)")

    def test_a_function_is_fixed_in_an_ordinary_call_and_the_work_continues(self):
        self.s.evaluate(LONG + "(defun weigh-or-retry (item) (loop (restart-case (return (weigh item)) (try-again () :report \"Weigh it again.\"))))"
                        "(defun long-work (items) (loop for item in items do (incf *steps*) collect (weigh-or-retry item)))")
        self.assertFails("(long-work '(1 2 3 4))")
        self.assertEvaluates("(defun weigh (item) (* 100 item))", "WEIGH")
        self.assertEvaluates("*steps*", "3")
        report = self.restart("TRY-AGAIN", index=1)
        self.assertValue(report, "(10 20 300 400)")  # the first two were not weighed again
        self.assertEvaluates("*steps*", "4")

    def test_an_undefined_function_defined_and_retried(self):
        self.s.evaluate("(defvar *n* 0) (defun worker () (incf *n*) (list *n* (missing-thing 5)))")
        self.assertFails("(worker)", "UNDEFINED-FUNCTION")
        self.s.evaluate("(defun missing-thing (x) (* x x))")
        self.assertValue(self.restart("CONTINUE", index=1), "(1 25)")
        self.assertEvaluates("*n*", "1")

    def test_definitions_before_the_error_are_not_evaluated_again(self):
        self.s.evaluate("(defvar *log* nil) (defparameter *p* 1)")
        self.s.evaluate("(setf *p* 2)")
        self.assertFails("(restart-case (error \"x\") (go-on () (list *p* *log*)))")
        self.s.evaluate("(defvar *later* (push :later *log*))")
        self.assertValue(self.restart("GO-ON", index=1), "(2 (:LATER))")

    def test_definitions_before_an_error_of_a_restart_are_not_evaluated_again(self):
        self.s.evaluate("(defparameter *p* 1)")
        self.s.evaluate("(setf *p* 2)")
        self.assertFails("(restart-case (error \"first\") (again () (restart-case (error \"second\") (go-on () *p*))))")
        self.assertErrorReport(self.restart("AGAIN"))
        self.assertValue(self.restart("GO-ON"), "2")

    def test_a_resumed_evaluation_that_succeeds_is_the_session_and_can_be_undone(self):
        self.s.evaluate("(defvar *x* 1)")
        self.assertFails("(progn (setf *x* 2) (restart-case (error \"x\") (go-on () (setf *x* 3))))")
        self.s.evaluate("(defvar *meanwhile* :here)")
        self.assertEvaluates("*x*", "2")
        self.assertValue(self.restart("GO-ON", index=1), "3")
        self.assertEvaluates("(list *x* *meanwhile*)", "(3 :HERE)")
        self.assertEqual("No error available.", self.s.call("describe-last-error").text.split("\n")[0])
        self.assertSucceeds(self.s.call("rollback-session", to="-2"))
        self.assertEvaluates("*x*", "2")

    def test_one_that_fails_again_is_an_error_that_can_be_entered(self):
        self.assertFails("(restart-case (error \"first\") (again () (let ((seen 7)) (declare (optimize debug)) (restart-case (error \"second ~a\" seen) (and-now () :through)))))")
        report = self.assertErrorReport(self.restart("AGAIN"))
        self.assertIn("second", report.message)
        self.assertIn("second", self.s.call("describe-last-error").text)
        self.assertValue(self.restart("AND-NOW"), ":THROUGH")
        self.assertOperational()

    def test_an_error_in_the_value_or_the_code_leaves_the_error_as_it_was(self):
        self.assertFails("(list undefined-thing)", "UNBOUND-VARIABLE")
        self.assertErrorReport(self.restart("USE-VALUE", value="(car 1)"), "TYPE-ERROR")
        self.assertErrorReport(self.restart("USE-VALUE", value="1", code='(error "in the fix")'), "SIMPLE-ERROR")
        self.assertErrorReport(self.restart("USE-VALUE", value="(list 1"), "END-OF-FILE")
        self.assertIn("UNBOUND-VARIABLE", self.s.call("describe-last-error").text)
        self.assertValue(self.restart("USE-VALUE", value="1"), "(1)")

    def test_abort_ends_it_without_values(self):
        self.s.evaluate("(defvar *x* 1)")
        self.assertFails("(progn (setf *x* 2) (error \"x\"))")
        report = self.assertSucceeds(self.restart("ABORT"))
        self.assertEqual("; No values: the restart ABORT ended the evaluation", report.text)
        self.assertEvaluates("*x*", "2")

    def test_abort_of_an_error_that_was_left_already_takes_nothing_back(self):
        self.s.evaluate("(defvar *x* 1)")
        self.assertFails("(progn (setf *x* 2) (error \"x\"))")
        self.assertEvaluates("(setf *x* 3)", "3")
        for restart in ("ABORT", ":abort", "[ABORT]", "2"):
            reply = self.assertSucceeds(self.restart(restart))
            self.assertIn("The session has left error 1 already and is at the top level. Nothing was changed;", reply.text, restart)
            self.assertEvaluates("*x*", "3")
        self.assertSucceeds(self.s.call("rollback-session", to="2"))
        self.assertEvaluates("*x*", "2")

    def test_an_abort_of_the_programs_own_is_invoked_in_a_copy(self):
        self.assertFails("(progn (restart-case (error \"x\") (abort () (list :own))))")
        self.assertEvaluates("1", "1")
        self.assertValue(self.restart("ABORT"), "(:OWN)")

    def test_a_death_of_what_was_resumed_leaves_session_and_error_as_they_were(self):
        self.s.evaluate("(defvar *kept* :kept)")
        self.assertFails("(restart-case (error \"x\") (die () (sb-ext:exit :abort t)) (live () :lives))")
        report = self.assertErrorReport(self.restart("DIE"), "PROCESS-EXITED")
        self.assertIn("as they were", report.session)
        self.assertValue(self.restart("LIVE", index=1), ":LIVES")
        self.assertEvaluates("*kept*", ":KEPT")

    def test_output_of_the_continued_code_is_in_the_reply(self):
        self.assertFails('(progn (princ "before") (cerror "go" "stop") (princ "after") :end)')
        report = self.restart("CONTINUE")
        self.assertEqual("after", report.stdout)
        self.assertValue(report, ":END")


class TimeLimits(Entering):
    def test_continue_after_a_time_limit_has_more_time(self):
        self.s.evaluate("(defvar *steps* 0) (defun slow () (loop repeat 40 do (sleep 0.02) (incf *steps*)) *steps*)")
        report = self.assertErrorReport(self.s.evaluate("(slow)", timeout=0.2), "TIMEOUT")
        self.assertIn("invoke-restart CONTINUE", report.text)
        self.assertLess(int(self.enter("*steps*").value), 40)
        self.assertValue(self.restart("CONTINUE", timeout=10), "40")
        self.assertEvaluates("*steps*", "40")

    def test_continue_again_and_again(self):
        self.s.evaluate("(defvar *steps* 0) (defun slow () (loop repeat 60 do (sleep 0.02) (incf *steps*)) *steps*)")
        report = self.assertErrorReport(self.s.evaluate("(slow)", timeout=0.2), "TIMEOUT")
        for _ in range(30):
            report = self.restart("CONTINUE", timeout=0.3)
            if not report.is_error:
                break
            self.assertErrorReport(report, "TIMEOUT")
            self.assertIn("invoke-restart CONTINUE", report.text)
        self.assertValue(report, "60")

    def test_a_cancelled_call_can_be_continued(self):
        self.s.evaluate("(defvar *go* nil)")
        pending = self.s.start_call("evaluate-lisp", code='(progn (princ "started") (finish-output) (loop until *go*) :went-on)', meta={"progressToken": 1})
        self.s.wait_for_notification(lambda m: m["method"] == "notifications/progress")
        self.s.call("cancel-evaluation")
        self.assertErrorReport(pending.reply(), "CANCELLED")
        self.assertValue(self.restart("CONTINUE", code="(setf *go* t)"), ":WENT-ON")

    def test_an_evaluation_that_had_to_be_killed_cannot_be_entered(self):
        report = self.assertErrorReport(self.s.evaluate("(sb-sys:without-interrupts (loop))", timeout=0.2), "TIMEOUT")
        self.assertNotIn("invoke-restart CONTINUE", report.text)
        reply = self.restart("CONTINUE")
        self.assertTrue(reply.is_error)
        self.assertOperational()

    def test_an_evaluation_stopped_by_the_second_interrupt_offers_no_continue(self):
        report = self.assertErrorReport(
            self.s.evaluate("(progn (defmethod print-object :around ((o t) s) (loop)) 1)", timeout=0.3), "TIMEOUT")
        if "CONTINUE" not in dict((name, number) for number, name, _ in report.restarts):
            self.assertNotIn("invoke-restart CONTINUE", report.text)


class Several(Entering):
    def test_an_error_can_be_entered_while_its_checkpoint_is_kept_and_the_last_five_in_any_case(self):
        self.s.evaluate('(defun fail (i) (declare (optimize debug)) (cerror "go" "number ~a" i) i)')
        for i in range(8):
            self.assertFails("(fail %d)" % i)
        self.assertEqual([8, 7, 6, 5, 4, 3, 2, 1], self.enterable())
        for index in range(1, 9):
            self.assertValue(self.enter("i", index=index), str(index - 1))
        self.s.call("configure-limits", **{"checkpoint-limit": 1})
        self.s.call("list-checkpoints")
        enterable = self.enterable()
        self.assertEqual([8, 7, 6, 5, 4], enterable[:5])
        self.assertLessEqual(len(enterable), 6)
        gone = ({1, 2, 3} - set(enterable)).pop()
        self.assertIsError(self.enter("i", index=gone), "cannot be entered: Its checkpoint was dropped with other old ones.")
        self.assertIn("number %d" % (gone - 1), self.s.call("describe-last-error", index=gone).text)

    def test_frozen_errors_do_not_see_each_other(self):
        self.s.evaluate("(defvar *x* 0)")
        for i in (1, 2, 3):
            self.assertFails("(progn (setf *x* %d) (restart-case (error \"x\") (tell () *x*)))" % i)
        self.s.evaluate("(setf *x* 100)")
        for index, seen in ((3, "3"), (2, "2"), (1, "1")):
            self.assertValue(self.enter("(prog1 *x* (setf *x* :spoiled))", index=index), seen)
        self.assertEvaluates("*x*", "100")
        self.assertValue(self.restart("TELL", index=2), "2")
        self.assertEvaluates("*x*", "2")

    def test_a_frozen_process_that_was_killed_is_reported_and_nothing_else_changes(self):
        before = set(self.s.processes())
        self.assertFails('(restart-case (error "x") (go-on () 1))')
        pid = int(self.s.evaluate("(sb-posix:getpid)").value)
        visit = self.enter("1", index=1)
        self.assertValue(visit, "1")
        mcp.kill(*set(self.s.processes()) - before - {pid})
        mcp.wait_until(lambda: "can be entered" not in self.s.call("list-errors").text, 5, "the end of the frozen error")
        self.assertIsError(self.restart("GO-ON", index=1), "cannot be entered")
        self.assertEvaluates("(sb-posix:getpid)", str(pid))
