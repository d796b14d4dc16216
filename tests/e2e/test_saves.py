"""Sessions on disk: what a save holds, and what a session that comes back from there can do."""

import os
import re
import unittest

import mcp
import saves

tearDownModule = saves.remove_saved


class SavingAndRestoring(saves.Saves):
    @unittest.skipIf(mcp.SANITIZED, "what it tests is in the Lisp; the plain build does")
    def test_a_session_comes_back_in_the_same_server_and_in_a_new_one(self):
        self.state = os.path.join(self.state, "a", "b c", "ü")  # the server makes the folders on the way
        system = self.folder()
        mcp.write(os.path.join(system, "savestest.asd"), '(asdf:defsystem "savestest" :components ((:file "code")))')
        mcp.write(os.path.join(system, "code.lisp"), '(defpackage :savestest (:use :cl) (:export #:greet))\n(in-package :savestest)\n(defun greet () "hello")\n')
        self.s.evaluate('(push #p"%s/" asdf:*central-registry*)' % system)
        self.assertSucceeds(self.s.call("load-system", system="savestest"))
        for code in ("(defpackage :mine (:use :cl))", "(in-package :mine)", '(defvar *table* (let ((h (make-hash-table :test (quote equal)))) (setf (gethash "ключ" h) 1) h))',
                     "(defvar *n* 1)", "(defun next () (incf *n*))", "(defmacro twice (x) `(progn ,x ,x))", "(defclass point () ((x :initarg :x :reader x)))",
                     "(defvar *point* (make-instance 'point :x 7))", "(defvar *counter* (let ((k 0)) (lambda () (incf k))))", "(funcall *counter*)"):
            self.assertSucceeds(self.s.evaluate(code))
        self.s.evaluate('(error "this stays an entry of the history")')
        self.s.evaluate("(list :last 1)")
        reply = self.save()
        self.assertRegex(reply.text, r"^Saved session default, the state after evaluation 14\.\nFile: %s/\S+\.core\nSize: [\d,]+ bytes\nTime: [\d.]+ s$" % re.escape(self.state))
        image = os.path.join(self.state, self.images()[0])
        self.assertIn("File: %s\n" % image, reply.text)
        self.assertIn("Size: {:,} bytes".format(os.path.getsize(image)), reply.text)
        self.assertEqual(0o700, os.stat(self.state).st_mode & 0o777)
        self.assertEqual({0o600}, {os.stat(os.path.join(self.state, name)).st_mode & 0o777 for name in self.files()})

        code = ("(list * *n* (gethash \"ключ\" *table*) (macroexpand-1 '(twice 1)) (x *point*) (savestest:greet)"
                " (package-name *package*) (not (null (asdf:component-loaded-p \"savestest\"))))")
        value = '((:LAST 1) 1 1 (PROGN 1 1) 7 "hello" "MINE" T)'

        def check(client):
            history = client.call("session-history").text
            self.assertRegex(history, r"(?m)^14\. ")
            self.assertRegex(history, r"(?m)^13\. .*error$")
            self.assertIn("(defun next () (incf *n*))", history)
            self.assertIn("Package: MINE", client.call("session-info").text)
            self.assertIn("savestest", client.call("session-info").text)
            self.assertValue(client.evaluate(code), value)
            self.assertValue(client.evaluate("(list (funcall *counter*) (next) (next))"), "(2 2 3)")
            definitions = client.call("list-definitions").text
            for name in ("NEXT", "TWICE", "POINT", "*TABLE*"):
                self.assertIn(name, definitions)

        self.s.evaluate("(setf *n* 100 *table* nil)")
        self.s.evaluate("(defun next () :wrong)")
        self.assertIn("Restored session default, the state after evaluation 14.", self.restore().text)
        check(self.s)
        self.s.close()
        other = self.server()
        self.assertValue(other.evaluate("(boundp '*n*)"), "NIL")
        self.restore(other)
        check(other)
        # Once more: what the restored session did is not in the image.
        self.restore(other)
        check(other)

    def test_the_directory_of_a_session_is_saved_with_it_and_hooks_that_print_or_fail_do_not_keep_it_from_starting(self):
        folder = os.path.realpath(self.folder())
        mcp.write(os.path.join(folder, "theirs.asd"), '(asdf:defsystem "theirs")')
        self.s.call("create-session", name="elsewhere", directory=folder)
        self.s.evaluate("(progn (push (lambda () (print :collected)) sb-ext:*after-gc-hooks*) (push (lambda () (error \"hook\")) sb-ext:*after-gc-hooks*)"
                        " (push (lambda () (print :begun)) sb-ext:*init-hooks*) (defvar *kept* 41))", session="elsewhere")
        self.save(session="elsewhere")
        self.s.close()
        other = self.server()
        where = "(list (sb-posix:getcwd) (namestring *default-pathname-defaults*) (asdf:component-name (asdf:find-system \"theirs\")))"
        there = '("%s" "%s/" "theirs")' % (folder, folder)
        self.assertIn("Restored session elsewhere", self.restore(other, name="elsewhere").text)
        self.assertValue(other.evaluate("*kept*", session="elsewhere"), "41")
        self.assertIn("directory %s" % folder, other.call("list-sessions").text)
        self.assertValue(other.evaluate(where, session="elsewhere"), there)
        other.call("reset-session", session="elsewhere")
        self.assertValue(other.evaluate(where, session="elsewhere"), there)
        os.rename(folder, folder + "-gone")
        self.addCleanup(os.rename, folder + "-gone", folder)
        self.assertIsError(other.call("restore-session", name="elsewhere"), "The saved session elsewhere cannot be started: its directory %s does not exist." % folder)

    @unittest.skipIf(mcp.SANITIZED, "writes images of 13 MB; the plain build does")
    def test_saving_again_keeps_one_image_and_the_newer_state(self):
        for code in ("(defvar *n* 1)", "(defun undone () 1)", "(error \"no definition\")"):
            self.s.evaluate(code)
        self.s.call("rollback-session", to="1")
        self.s.evaluate("(defun kept () 1)")
        self.s.evaluate("(defvar *chosen* (restart-case (error \"x\") (use-value (v) v)))")
        self.assertValue(self.restart("USE-VALUE", value="7"), "*CHOSEN*")
        self.s.evaluate("(progn (defvar *starts* 0) (cl-mcp:on-start counted (incf *starts*)))")
        handle = re.search(r"(?m)^Handle: (h\d+)$", self.s.call("inspect-object", code="(list 1 2)").text).group(1)
        self.save()
        first, files = self.images(), self.files()
        # With threads it is refused, with the reason.
        self.s.evaluate('(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000)) :name "the watch"))')
        self.assertRefuses(self.s.call("save-session"), r"not saved: .*threads run.*: the watch\.")
        more = """(defvar *more* (loop for i below 12 collect (sb-thread:make-thread (lambda () (sleep 1000))
                                                       :name (if (< i 4) "worker" (format nil "~d~%~a" i (make-string 99 :initial-element #\\x))))))"""
        self.s.evaluate(more)
        for tool, named in (("save-session", {}), ("checkpoint-session", {"name": "here"})):
            reply = self.s.call(tool, **named)
            self.assertTrue(reply.is_error)
            self.assertRegex(reply.text, r": the watch, worker \(4 times\), (\d+ x{57,58}\.\.\., ){2}\d+ x{57,58}\.\.\. and 5 more\.")
        self.s.evaluate("(dolist (th *more*) (sb-thread:terminate-thread th) (sb-thread:join-thread th :default nil))")
        self.assertEqual(files, self.files())
        self.assertEvaluates("(sb-thread:thread-alive-p *thread*)", "T")
        self.s.evaluate("(progn (sb-thread:terminate-thread *thread*) (sb-thread:join-thread *thread* :default nil) (setf *n* 2))")
        history, code = self.s.call("session-history").text, self.s.call("session-history", format="lisp").text
        self.assertIn("\n;; (defun undone () 1)\n", code)
        self.save()
        self.assertOneSave()
        self.assertNotEqual(first, self.images())
        self.restore()
        self.assertEqual(history, self.s.call("session-history").text)
        self.assertEqual(code, self.s.call("session-history", format="lisp").text)
        self.assertEvaluates("(list *n* *chosen* *starts*)", "(2 7 1)")
        self.assertIn("No object has the handle", self.s.call("inspect-object", handle=handle).text)
        self.assertRegex(self.s.call("find-definition", name="kept").text, r"evaluation 4\n\(defun kept \(\) 1\)")


class Restored(saves.Saves):
    """A session from the disk is a session like any other."""

    def setUp(self):
        super().setUp()
        self.copy_saved("default")
        self.restore()

    def test_a_death_leads_back_to_the_state_before(self):
        self.assertEvaluates("(next)", "3")
        for code in ("(progn (setf *n* 1000) (sb-ext:exit :abort t))", "(progn (defun next () :lost) (sb-posix:kill (sb-posix:getpid) 9))"):
            report = self.s.evaluate(code)
            self.assertErrorReport(report, "PROCESS-")
            self.assertIn("continues from the state before this evaluation", report.session)
            self.assertEvaluates("*n*", "3")
        self.assertEvaluates("(next)", "4")

    def test_a_death_in_the_first_evaluation_leads_back_to_the_save(self):
        report = self.s.evaluate("(progn (setf *n* 1000) (sb-ext:exit :abort t))")
        self.assertErrorReport(report, "PROCESS-EXITED")
        self.assertIn("continues", report.session)
        self.assertEvaluates("(list *n* (next))", "(2 3)")

    def test_checkpoints_can_be_named_and_returned_to(self):
        self.assertEvaluates("(next)", "3")
        self.assertFalse(self.s.call("checkpoint-session", name="three").is_error)
        self.assertEvaluates("(next)", "4")
        self.assertEvaluates("(next)", "5")
        self.assertSucceeds(self.s.call("rollback-session", to="-1"))
        self.assertEvaluates("*n*", "4")
        self.assertSucceeds(self.s.call("rollback-session", to="three"))
        self.assertEvaluates("*n*", "3")
        # The state that was restored is a state of the session as well.
        self.assertSucceeds(self.s.call("rollback-session", to="3"))
        self.assertEvaluates("*n*", "2")

    def test_an_error_can_be_entered_and_the_fix_goes_on(self):
        report = self.s.evaluate("(let ((here 20)) (declare (optimize debug)) (+ here (absent *n*)))")
        self.assertErrorReport(report, "UNDEFINED-FUNCTION")
        self.assertRegex(self.s.call("get-backtrace", locals=True).text, "(?m)^0: ")
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(1+ *n*)"), "3")
        self.assertEvaluates("(defun absent (x) (* 10 x))", "ABSENT")
        self.assertValue(self.s.call("invoke-restart", restart="RETRY", index=1), "40")
        self.assertEvaluates("(list *n* (absent 1))", "(2 10)")

    def test_a_time_limit_can_be_continued(self):
        report = self.s.evaluate("(progn (sleep 0.6) (next))", timeout=0.2)
        self.assertErrorReport(report, "TIMEOUT")
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE", timeout=20), "3")
        self.assertEvaluates("*n*", "3")

    def test_a_restore_names_the_foreign_libraries_whose_memory_is_gone(self):
        self.assertFalse(self.s.evaluate('(sb-alien:load-shared-object "libm.so.6")').is_error)
        self.s.call("save-session", name="foreign", wait=60)
        text = self.s.call("restore-session", name="foreign", wait=60).text
        self.assertRegex(text, r"\n\n\[Session\]\nForeign libraries were loaded again, without what they had in memory: libm\.so\.6\. Pointers ")
        self.assertValue(self.s.evaluate("1", session="foreign"), "1")
        self.assertNotIn("[Session]", self.s.evaluate("2", session="foreign").text)

    def test_a_restore_reports_what_it_discards(self):
        self.assertEvaluates("(next)", "3")
        self.s.call("checkpoint-session", name="three")
        self.s.evaluate("(car 1)")
        text = self.restore().text
        self.assertIn("Discarded: the state after evaluation 5, 1 error, the named checkpoints three (evaluation 4).", text)
        self.s.call("reset-session")
        self.assertNotIn("Discarded", self.restore().text)

    def test_it_can_be_reset_and_restored(self):
        self.s.call("reset-session")
        self.assertEvaluates("(boundp '*n*)", "NIL")
        self.restore()
        self.assertEvaluates("*n*", "2")

    def test_output_and_errors_are_captured(self):
        report = self.s.evaluate('(progn (format t "out~%") (format *error-output* "err~%") (warn "careful") 1)')
        self.assertValue(report, "1")
        self.assertEqual(("out", "err"), (report.stdout.strip(), report.stderr.strip()), report.text)
        self.assertIn("careful", str(report.warnings))

    def test_its_processes_end_with_the_server(self):
        self.s.evaluate("(next)")
        self.s.evaluate('(error "frozen")')
        mark = self.s.mark
        self.s.destroy()
        mcp.assert_none_left(mark)
