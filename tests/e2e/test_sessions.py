"""Sessions: made, listed, described, closed, reset, kept apart, and at work at the same time."""

import os
import re
import time

import mcp


class Creating(mcp.TestCase):
    def test_a_name_that_is_taken_is_refused_and_leaves_the_session_alone(self):
        self.s.call("create-session", name="one")
        self.s.evaluate("(defvar *kept* 1)", session="one")
        reply = self.s.call("create-session", name="one")
        self.assertIn("one", reply.text)
        self.assertValue(self.s.evaluate("*kept*", session="one"), "1")

    def test_the_package_may_be_given_in_any_case_and_with_a_colon(self):
        for number, package in enumerate(("cl-user", ":cl-user", "#:Cl-User")):
            self.assertIn("package CL-USER", self.s.call("create-session", name="user-%d" % number, package=package).text)
        reply = self.s.call("create-session", name="library", systems=["alexandria"], package="alexandria", wait=120)
        self.assertIn("package ALEXANDRIA", reply.text)

    def test_the_package_is_tried_as_it_is_written_and_then_in_capitals(self):
        code = self.file('(defpackage "mixedCase" (:use :cl)) (defpackage "MIXED" (:use :cl)) (defpackage "mixed" (:use :cl))')
        client = self.start_server("--load", code)
        for package, found in (("mixedCase", "mixedCase"), ("mixed", "mixed"), ("MIXED", "MIXED"), ("Mixed", "MIXED")):
            reply = client.call("create-session", package=package)
            self.assertRegex(reply.text, r"package %s\b" % found)
            self.assertValue(client.evaluate("(package-name *package*)", package=package), '"%s"' % found)

    def test_a_new_session_takes_milliseconds(self):
        self.s.evaluate("1")
        started = time.monotonic()
        for n in range(20):
            self.assertFalse(self.s.call("create-session", name="s%d" % n).is_error)
            self.assertValue(self.s.evaluate("%d" % n, session="s%d" % n), str(n))
        self.assertLess(time.monotonic() - started, 10 * mcp.STRETCH)


class Copies(mcp.TestCase):
    """create-session with from."""

    def copy(self, name, source="default", **arguments):
        return self.s.call("create-session", {"name": name, "from": source, **arguments})

    def assertNotCopied(self, reply, why, name="copy"):
        self.assertTrue(reply.is_error, reply)
        self.assertIn(why, reply.text)
        self.assertIn("No session named " + name, self.s.evaluate("1", session=name).text)

    @mcp.own_lisp("no copies are made there")
    def test_it_has_the_definitions_data_package_and_limits_and_is_independent(self):
        self.s.evaluate("(defpackage :shop (:use :cl))")
        self.s.evaluate("(in-package :shop)")
        self.s.evaluate("(defun price (n) (* 2 n))")
        self.s.evaluate("(defvar *data* (list 1 2))")
        self.s.call("configure-limits", timeout=77)
        self.assertErrorReport(self.s.evaluate('(error "of the first")'), "SIMPLE-ERROR")
        self.assertFalse(self.copy("copy").is_error)
        self.assertValue(self.s.evaluate("(list (price 4) *data* *package*)", session="copy"), '(8 (1 2) #<PACKAGE "SHOP">)')
        self.assertIn("timeout 77 s", self.s.call("session-info", session="copy").text)
        self.assertIn("No errors", self.s.call("list-errors", session="copy").text)
        self.assertIn("(defun price (n) (* 2 n))", self.s.call("find-definition", name="price", session="copy").text)
        self.s.evaluate("(defun price (n) (* 3 n))", session="copy")
        self.s.evaluate("(push 0 *data*)")
        self.assertValue(self.s.evaluate("(list (price 4) *data*)", session="copy"), "(12 (1 2))")
        self.assertValue(self.s.evaluate("(list (price 4) *data*)"), "(8 (0 1 2))")

    @mcp.own_lisp("no copies are made there")
    def test_it_outlasts_the_other_and_survives_its_own_death(self):
        self.s.call("create-session", name="first")
        self.s.evaluate("(defvar *kept* 1)", session="first")
        self.assertFalse(self.copy("copy", "first").is_error)
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)", session="copy"), "PROCESS-EXITED")
        self.assertValue(self.s.evaluate("*kept*", session="copy"), "1")
        self.s.call("reset-session", session="first", close=True)
        self.assertValue(self.s.evaluate("(incf *kept*)", session="copy"), "2")
        self.s.call("rollback-session", to="-1", session="copy")
        self.assertValue(self.s.evaluate("*kept*", session="copy"), "1")

    @mcp.own_lisp("no copies are made there")
    def test_its_output_and_its_programs_are_its_own(self):
        self.s.evaluate("1")
        self.assertFalse(self.copy("copy").is_error)
        self.assertEqual("one\n", self.s.evaluate('(format t "one~%")', session="copy").parts["stdout"] + "\n")
        self.s.evaluate("(sb-ext:run-program \"/bin/sleep\" '(\"60\") :wait nil)", session="copy")
        self.assertIn("Programs: sleep", self.s.call("session-info", session="copy").text)
        self.assertNotIn("Programs:", self.s.call("session-info").text)

    @mcp.own_lisp("no copies are made there")
    def test_its_pipes_and_sockets_are_closed_and_hooks_open_them_again(self):
        self.s.evaluate("(require :sb-bsd-sockets)")
        self.s.evaluate("""(defvar *socket* (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp))
(sb-bsd-sockets:socket-bind *socket* #(127 0 0 1) 0) (sb-bsd-sockets:socket-listen *socket* 1)
(defvar *opened* 0) (cl-mcp:on-return socket (incf *opened*))""")
        self.assertFalse(self.copy("copy").is_error)
        reply = self.s.evaluate("*opened*", session="copy")
        self.assertValue(reply, "1")
        self.assertIn("closed here: socket", reply.text)
        self.assertErrorReport(self.s.evaluate("(sb-bsd-sockets:socket-name *socket*)", session="copy"))
        self.assertFalse(self.s.evaluate("(sb-bsd-sockets:socket-name *socket*)").is_error)
        self.assertValue(self.s.evaluate("*opened*"), "0")

    @mcp.own_lisp("no copies are made there")
    def test_text_that_waits_for_its_file_is_written_once(self):
        # A temporary file, which a sandbox allows too.
        self.s.evaluate('(defvar *name* (format nil "~a/waits-~d" (or (sb-ext:posix-getenv "TMPDIR") "/tmp") (sb-posix:getpid)))')
        self.s.evaluate("(defvar *file* (open *name* :direction :output))")
        self.s.evaluate('(write-string "once" *file*)')
        self.assertFalse(self.copy("copy").is_error)
        for session in ("copy", "default"):
            self.s.evaluate("(close *file*)", session=session)
        self.assertEvaluates("(with-open-file (s *name*) (prog1 (read-line s) (delete-file s)))", '"once"')

    @mcp.own_lisp("no copies are made there")
    def test_beside_64_mib_of_data_it_takes_less_than_a_tenth_of_a_second(self):
        self.s.evaluate("(defvar *data* (make-array (ash 64 20) :element-type '(unsigned-byte 8) :initial-element 1))")
        self.s.evaluate("1")
        times = []
        for n in range(5):
            started = time.monotonic()
            self.assertFalse(self.copy("copy-%d" % n).is_error)
            times.append(time.monotonic() - started)
        self.assertLess(min(times), 0.1)
        self.assertValue(self.s.evaluate("(reduce #'+ *data* :end 10)", session="copy-4"), "10")

    @mcp.own_lisp("no copies are made there")
    def test_a_suspended_session_and_one_in_an_error_can_be_copied(self):
        client = self.start_server("--state-dir", self.folder(), "--idle-timeout", "1")
        client.evaluate("(defvar *kept* 1)")
        mcp.wait_until(lambda: "suspended" in client.call("session-info", all=True).text, 30, "the suspension")
        self.assertFalse(client.call("create-session", {"name": "copy", "from": "default"}).is_error)
        self.assertErrorReport(client.evaluate("(progn (incf *kept*) (/ *kept* 0))", session="copy"), "DIVISION-BY-ZERO")
        self.assertFalse(client.call("create-session", {"name": "second", "from": "copy"}).is_error)
        self.assertValue(client.evaluate("*kept*", session="second"), "2")
        self.assertIn("(/ *kept* 0)", client.call("get-backtrace", session="copy", index=1, locals=True).text.lower())

    @mcp.own_lisp("no copies are made there")
    def test_what_cannot_be_copied_is_refused_with_the_reason(self):
        self.assertNotCopied(self.copy("copy"), "Nothing was evaluated in session default yet")
        self.assertNotCopied(self.copy("copy", "nobody"), "No session named nobody")
        running = self.s.start_call("evaluate-lisp", code="(sleep 60)")
        mcp.wait_until(lambda: "running" in self.s.call("session-info").text, 10, "the evaluation")
        self.assertNotCopied(self.copy("copy"), "cannot be copied while code runs in it")
        self.s.call("cancel-evaluation")
        running.result()
        self.s.evaluate('(defvar *thread* (sb-thread:make-thread (lambda () (sleep 60)) :name "worker"))')
        self.assertNotCopied(self.copy("copy"), "Other threads run in this session, so it cannot be copied: worker")
        self.s.evaluate("(sb-thread:terminate-thread *thread*) (sb-thread:join-thread *thread* :default nil)")
        self.assertFalse(self.copy("copy").is_error)

    @mcp.own_lisp("no copies are made there")
    def test_either_may_be_closed_while_the_copy_is_made(self):
        for closed in ("first", "copy"):
            self.s.call("create-session", name="first")
            self.s.evaluate("1", session="first")
            made = self.s.start_call("create-session", {"name": "copy", "from": "first"})
            self.s.call("reset-session", session=closed, close=True)
            made.result()
            for name in ("first", "copy"):
                self.s.call("reset-session", session=name, close=True)
        self.assertValue(self.s.evaluate("(+ 1 2)"), "3")


WHERE = "(list (mine:where) (sb-posix:getcwd) (namestring *default-pathname-defaults*))"


class Directories(mcp.TestCase):
    """Sessions in two directories, each with a system of the same name."""

    def setUp(self):
        super().setUp()
        self.top = os.path.realpath(self.folder())
        for name in ("a", "b"):
            self.write(name + "/mine.asd", '(asdf:defsystem "mine" :components ((:file "code")))')
            self.write(name + "/code.lisp", '(defpackage :mine (:use :cl) (:export #:where))\n(in-package :mine)\n(defun where () "%s")\n' % name)
        self.client = self.start_server("--directory", self.top, "--tools", "full")

    def write(self, path, text):
        mcp.write(os.path.join(self.top, path), text)

    def create(self, name, directory):
        return self.assertSucceeds(self.client.call("create-session", name=name, directory=directory)).text

    def assertIsIn(self, name):
        """The session finds the system of its directory, and is there."""
        self.assertFalse(self.client.call("load-system", system="mine", session=name).is_error)
        path = os.path.join(self.top, name)
        self.assertValue(self.client.evaluate(WHERE, session=name), '("%s" "%s" "%s/")' % (name, path, path))

    def test_each_session_is_in_its_directory_and_finds_the_systems_there(self):
        self.assertIn(", directory %s/a" % self.top, self.create("a", "a"))
        self.create("b", os.path.join(self.top, "a/../b"))
        for name in ("a", "b", "a"):
            self.assertIsIn(name)
        self.client.evaluate("1")
        listed = self.client.call("list-sessions").text
        self.assertRegex(listed, r"(?m)^- a: idle, package CL-USER, directory %s/a, process" % self.top)
        self.assertRegex(listed, r"(?m)^- default: idle, package CL-USER, process")
        self.assertIn("\nDirectory: %s/b\n" % self.top, self.client.call("session-info", session="b").text)
        self.assertValue(self.client.evaluate("(list (sb-posix:getcwd) (namestring *default-pathname-defaults*))"), '("%s" "%s/")' % (self.top, self.top))

    def test_the_directory_outlasts_a_reset_and_a_death(self):
        self.create("b", "b")
        self.client.call("reset-session", session="b")
        self.assertIsIn("b")
        self.assertErrorReport(self.client.evaluate("(sb-ext:exit :abort t)", session="b"), "PROCESS-EXITED")
        self.assertIsIn("b")
        # Without any checkpoint, a fresh process is told its directory.
        self.client.call("configure-limits", {"session": "b", "checkpoint-limit": 0})
        self.client.call("reset-session", session="b")
        self.assertErrorReport(self.client.evaluate("(sb-ext:exit :abort t)", session="b"), "PROCESS-EXITED")
        self.assertIsIn("b")

    def test_files_are_those_of_the_directory(self):
        self.create("b", "b")
        self.write("b/open.lisp", "(defun f () (g)\n")
        self.assertFalse(self.client.call("load-file", path="code.lisp", session="b").is_error)
        self.assertIn("[Syntax]\n%s/b/open.lisp:" % self.top, self.client.call("load-file", path="open.lisp", session="b").text)
        self.assertIn("a list is never closed", self.client.call("validate-syntax", path="open.lisp", session="b").text)
        self.assertTrue(self.client.call("validate-syntax", path="open.lisp").is_error)
        edit = {"path": "code.lisp", "kind": "defun", "name": "where", "content": "(defun where () 1)", "session": "b"}
        self.assertFalse(self.client.call("edit-form", edit).is_error)
        self.assertIn("(defun where () 1)", mcp.read(os.path.join(self.top, "b/code.lisp")))
        edit["path"] = os.path.join(self.top, "a/code.lisp")
        self.assertIn("is not in %s/b" % self.top, self.client.call("edit-form", edit).text)

    def test_what_is_no_directory_is_refused(self):
        for directory in ("a/mine.asd", "c", "/no/such", "", "~"):
            reply = self.client.call("create-session", name="c", directory=directory)
            if directory:
                self.assertTrue(reply.is_error, reply.text)
                self.assertRegex(reply.text, r"^/\S+ is not a directory\.$")
        # The server's own is not shown, since all sessions have it.
        self.assertNotIn("directory", self.client.call("create-session", name="d", directory="a/..").text)

    def test_a_directory_that_is_gone_is_reported_until_it_is_there_again(self):
        self.create("b", "b")
        self.client.evaluate("1", session="b")
        os.rename(os.path.join(self.top, "b"), os.path.join(self.top, "gone"))
        self.client.call("reset-session", session="b")
        for _ in range(2):
            self.assertIsError(self.client.evaluate("1", session="b"), "The session's directory %s/b does not exist any more." % self.top)
        os.rename(os.path.join(self.top, "gone"), os.path.join(self.top, "b"))
        self.assertIsIn("b")


class Looking(mcp.TestCase):
    def test_list_sessions_shows_all_and_what_they_do(self):
        self.s.evaluate("1")
        self.s.call("create-session", name="busy")
        self.s.evaluate("1", session="busy")
        pending = self.s.start_call("evaluate-lisp", code="(progn (sleep 1) :done)", session="busy")
        self.s.request("ping")
        text = self.s.call("list-sessions").text
        self.assertRegex(text, r"(?m)^- default: idle")
        self.assertRegex(text, r"(?m)^- busy: (evaluating|running)")
        pending.reply()

    def test_session_info_says_what_the_session_is(self):
        self.s.evaluate("(defpackage :mine (:use :cl)) (in-package :mine)")
        text = self.s.call("session-info").text
        self.assertIn("MINE", text)
        self.assertIn("SBCL", text)
        pid = int(re.search(r"(?i)(?:pid|process)\D+(\d+)", text).group(1))
        self.assertIn(pid, self.s.processes())
        for what in ("(?i)heap|memory", "(?i)thread", "(?i)error"):
            self.assertRegex(text, what)

    def test_session_info_names_threads(self):
        self.s.evaluate('(defvar *t* (sb-thread:make-thread (lambda () (sleep 20)) :name "a-named-thread"))')
        self.assertIn("a-named-thread", self.s.call("session-info").text)
        self.s.evaluate("(sb-thread:terminate-thread *t*)")

    def test_an_unknown_session_is_reported_with_the_nearest_name(self):
        self.s.call("create-session", name="project")
        for tool, arguments in (("evaluate-lisp", {"code": "1"}), ("session-info", {}), ("describe-last-error", {}), ("list-definitions", {}), ("reset-session", {}), ("close-session", {})):
            with self.subTest(tool):
                reply = self.s.call(tool, dict(arguments, session="projct"))
                self.assertIn("projct", reply.text)
                self.assertIn("project", reply.text)
        self.assertValue(self.s.evaluate("1", session="project"), "1")

    def test_session_info_answers_while_something_runs_and_says_what(self):
        self.s.evaluate("1")
        running = self.s.start_call("evaluate-lisp", code="(progn\n  (loop))", timeout=60)
        waiting = self.s.start_call("evaluate-lisp", code="2")
        text = self.s.call("session-info").text
        self.assertRegex(text, r"(?m)^State: running for \d+ s: \(progn \.\.\.; 1 call waiting$")
        self.assertFalse(running.is_answered)
        self.s.call("cancel-evaluation")
        self.assertTrue(running.reply().is_error)
        self.assertFalse(waiting.reply().is_error)
        self.assertRegex(self.s.call("session-info").text, r"(?m)^State: idle$")

    def test_looking_makes_no_session(self):
        before = self.s.call("list-sessions").text
        self.s.call("describe-last-error", session="never-made")
        self.assertEqual(before, self.s.call("list-sessions").text)
        client = self.start_server()
        before = client.call("session-info", all=True).text
        self.assertIn("No sessions yet", before)
        self.assertIn("No evaluation is running", client.call("evaluation-status", all=True).text)
        self.assertEqual(before, client.call("session-info", all=True).text)


class Closing(mcp.TestCase):
    def test_a_closed_session_is_gone_with_its_process(self):
        self.s.call("create-session", name="short")
        pid = int(self.s.evaluate("(sb-posix:getpid)", session="short").value)
        self.assertSucceeds(self.s.call("close-session", session="short"))
        mcp.wait_until(lambda: not mcp.is_alive(pid), 5, "the end of the session's process")
        self.assertNotIn("short", self.s.call("list-sessions").text)

    def test_the_default_session_is_there_again_when_it_is_used(self):
        self.s.evaluate("(defvar *gone* 1)")
        self.s.call("close-session", session="default")
        self.assertOperational()
        self.assertEvaluates("(boundp '*gone*)", "NIL")


class Resetting(mcp.TestCase):
    def test_nothing_at_all_is_left(self):
        self.s.evaluate('(defpackage :mine (:use :cl)) (defvar *v* 1) (defun f () 1) (defclass c () ()) (setf (logical-pathname-translations "x") nil)'
                        " (setf *print-base* 2) (setf (get 'a 'b) 1) (in-package :mine)")
        reply = self.s.call("reset-session")
        self.assertEqual("Session reset. All definitions cleared.\nCurrent package: CL-USER", reply.text.strip())
        self.assertEvaluates("(list (find-package :mine) (boundp '*v*) (fboundp 'f) (find-class 'c nil) *print-base* (get 'a 'b) (package-name *package*))",
                             '(NIL NIL NIL NIL 10 NIL "COMMON-LISP-USER")')

    def test_the_systems_that_are_no_longer_loaded_are_named(self):
        folder = self.folder()
        for name in ("one", "two"):
            mcp.write(os.path.join(folder, name + ".asd"), '(defsystem "%s")' % name)
        s = self.start_server(cwd=folder)
        self.assertSucceeds(s.call("create-session", name="work", systems=["one"]))
        self.assertSucceeds(s.call("load-system", session="work", system=os.path.join(folder, "two.asd")))
        self.assertSucceeds(s.call("load-system", session="work", system="two", force=True))
        s.call("load-system", session="work", system="three")
        s.evaluate('(asdf:load-system "one") (format t "done")', session="work")
        text = s.call("reset-session", session="work").text
        self.assertEqual("Session reset. All definitions cleared.\nCurrent package: CL-USER\nNo longer loaded: one, two", text.strip())
        self.assertNotIn("No longer", s.call("reset-session", session="work").text)

    def test_only_the_session_named_is_reset(self):
        self.s.call("create-session", name="other")
        self.s.evaluate("(defvar *v* 1)", session="other")
        self.s.evaluate("(defvar *v* 2)")
        self.s.call("reset-session", session="other")
        self.assertEvaluates("*v*", "2")
        self.assertTrue(self.s.evaluate("*v*", session="other").is_error)

    def test_a_reset_of_a_session_that_never_ran_works(self):
        self.assertFalse(self.s.call("reset-session").is_error)
        self.assertOperational()

    def test_hundred_resets_leave_no_process(self):
        for _ in range(100):
            self.s.call("reset-session")
        self.assertOperational()
        mcp.wait_until(lambda: len(self.s.processes()) <= 6, 5, "the end of the sessions that were reset")


class Isolation(mcp.TestCase):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            self.assertFalse(self.s.call("create-session", name=name).is_error)

    def test_definitions_packages_settings_and_errors_are_apart(self):
        self.s.evaluate('(defun who () :a) (defpackage :pa) (setf *print-base* 16) (setf *random-state* nil)', session="a")
        self.s.evaluate('(defun who () :b)', session="b")
        self.assertValue(self.s.evaluate("(who)", session="a"), ":A")
        self.assertValue(self.s.evaluate("(list (who) (find-package :pa) *print-base*)", session="b"), "(:B NIL 10)")
        self.assertTrue(self.s.evaluate('(error "only in a")', session="a").is_error)
        self.assertIn("No error available.", self.s.call("describe-last-error", session="b").text)
        self.assertNotIn("WHO", self.s.call("list-definitions").text)

    def test_output_is_apart(self):
        first = self.s.start_call("evaluate-lisp", code='(dotimes (i 50) (write-line "from a") (finish-output) (sleep 0.005))', session="a")
        second = self.s.start_call("evaluate-lisp", code='(dotimes (i 50) (write-line "from b") (finish-output) (sleep 0.005))', session="b")
        first, second = first.reply(), second.reply()
        self.assertTrue(first.stdout.startswith("from a [… 50 times …]\n[…"), first.stdout)
        self.assertTrue(second.stdout.startswith("from b [… 50 times …]\n[…"), second.stdout)

    def test_a_stuck_session_does_not_hold_up_another(self):
        stuck = self.s.start_call("evaluate-lisp", code="(sb-sys:without-interrupts (loop))", session="a", timeout=2)
        for n in range(20):
            self.assertValue(self.s.evaluate("(+ %d 1)" % n, session="b", wait=5), str(n + 1))
        self.assertTrue(stuck.reply().is_error)
