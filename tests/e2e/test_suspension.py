"""Idle sessions are suspended: what is resumed, what is not, which sessions are never suspended, and that nothing is left on disk."""

import os
import re
import shutil
import signal
import unittest

import mcp


class Suspension(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.state = self.folder()

    def server(self, *options):
        return self.start_server("--state-dir", self.state, "--idle-timeout", "1", *options)

    def listed(self, s):
        return dict(re.findall(r"- (\S+): (\w+)", s.call("list-sessions").text))

    def wait_suspended(self, s, *names):
        mcp.wait_until(lambda: all(self.listed(s)[name] == "suspended" for name in names), 60, f"{names} are not suspended")

    def images(self):
        return [name for folder in os.listdir(self.state) if folder.startswith("cl-mcp-suspended-") for name in os.listdir(os.path.join(self.state, folder))]

    def test_a_suspended_session_is_resumed_whole(self):
        s = self.server()
        s.call("create-session", name="threaded")
        s.evaluate("(defparameter *t* (sb-thread:make-thread (lambda () (sleep 1000))))", session="threaded")
        s.call("create-session", name="named")
        s.evaluate("(defparameter *x* 1)", session="named")
        s.call("checkpoint-session", session="named", name="good")
        s.call("create-session", name="busy")
        s.evaluate("(defparameter *p* (sb-ext:run-program \"/bin/sleep\" '(\"1000\") :wait nil))", session="busy")
        folder = self.folder()
        s.evaluate("(progn (defpackage :mine (:use :cl)) (in-package :mine))")
        s.evaluate("(progn (defun square (x) (* x x)) (defvar *table* (make-hash-table)))")
        s.evaluate("(setf (gethash 'k *table*) (list 1 2 3))")
        s.evaluate(f"(sb-posix:chdir \"{folder}\")")
        s.evaluate("(+ 40 2)")
        s.call("configure-limits", timeout=77)
        self.assertTrue(s.evaluate("(car 42)").is_error)
        processes = len(s.processes())
        self.wait_suspended(s, "default")
        self.assertLess(len(s.processes()), processes)

        # What the server answers itself does not resume it.
        self.assertIn("TYPE-ERROR", s.call("describe-last-error").text)
        self.assertRegex(s.call("session-info").text, r"State: suspended since .*Z; it resumes")
        self.assertIn("(defun square", s.call("session-history").text)
        self.assertEqual("suspended", self.listed(s)["default"])
        self.assertEqual(1, len(self.images()))

        reply = s.evaluate("(list (square 7) (gethash 'k *table*) (package-name *package*) ***)")
        self.assertIn("=> (49 (1 2 3) \"MINE\" ", reply.text)
        self.assertRegex(reply.text, r"\[Session\]\nThe session had been suspended since \S+Z, after 1 s without use\.")
        self.assertEqual([], self.images())
        self.assertIn(f"\"{folder}", s.evaluate("(sb-posix:getcwd)").text)
        self.assertNotIn("[Session]", s.evaluate("1").text)
        self.assertIn("timeout: 77", s.call("configure-limits").text)
        self.assertIn("TYPE-ERROR", s.call("list-errors").text)
        reply = s.call("evaluate-in-frame", frame=0, code="1")
        self.assertIn("Error 1 cannot be entered: The session was suspended meanwhile.", reply.text)

        # It continues like any other: a death costs nothing.
        s.evaluate("(defvar *after* :kept)")
        self.assertIn("as they were", s.evaluate("(sb-ext:exit :abort t)").text)
        self.assertIn("(:KEPT 81)", s.evaluate("(list *after* (square 9))").text)

        states = self.listed(s)
        self.assertEqual(["idle"] * 3, [states[name] for name in ("threaded", "named", "busy")])

    @unittest.skipIf(mcp.SANITIZED, "the others take the same way through the server")
    def test_a_session_that_could_not_be_suspended_is_tried_again_and_others_keep_their_directories(self):
        folder, s = os.path.realpath(self.folder()), self.server()
        program = int(s.evaluate("(sb-ext:process-pid (sb-ext:run-program \"/bin/sleep\" '(\"1000\") :wait nil))").value)
        s.call("create-session", name="other", directory=folder)
        s.evaluate("1", session="other")
        self.wait_suspended(s, "other")  # so the time of the first has come, too
        self.assertEqual("idle", self.listed(s)["default"])
        os.kill(program, signal.SIGKILL)
        # The other one has kept its directory.
        self.assertIn("directory %s" % folder, s.call("list-sessions").text)
        where = "(list (sb-posix:getcwd) (namestring *default-pathname-defaults*))"
        self.assertValue(s.evaluate(where, session="other"), '("%s" "%s/")' % (folder, folder))
        s.call("reset-session", session="other")
        self.assertValue(s.evaluate(where, session="other"), '("%s" "%s/")' % (folder, folder))
        s.call("close-session", session="other")
        self.wait_suspended(s, "default")
        self.assertEqual(1, len(self.images()))
        s.call("close-session", session="default")
        self.assertEqual([], self.images())

    @unittest.skipIf(mcp.SANITIZED, "it takes a minute; the plain build has it")
    def test_requests_to_a_suspended_session(self):
        s = self.server()
        for name in ("default", "reset"):
            if name != "default":
                s.call("create-session", name=name)
            s.evaluate("(defun f () :here)", session=name)
        self.wait_suspended(s, "default", "reset")
        self.assertEqual(2, len(self.images()))
        self.assertIn("reset", s.call("reset-session", session="reset").text)
        self.assertTrue(s.evaluate("(f)", session="reset").is_error)
        self.assertEqual(1, len(self.images()))

        # Its save is its image; it stays suspended.
        self.assertIn("Saved session default", s.call("save-session").text)
        self.assertEqual("suspended", self.listed(s)["default"])
        with self.start_server("--state-dir", self.state) as other:
            self.assertFalse(other.call("restore-session", name="default").is_error)
            self.assertIn("=> :HERE", other.evaluate("(f)").text)

        # An image that is gone costs what only it held; definitions are evaluated again.
        folder, = (name for name in os.listdir(self.state) if name.startswith("cl-mcp-suspended-"))
        for name in self.images():
            os.unlink(os.path.join(self.state, folder, name))
        reply = s.evaluate("(f)")
        self.assertIn("=> :HERE", reply.text)
        self.assertIn("The session could not be resumed.", reply.text)
        self.assertIn("1 definition was evaluated again", reply.text)

    def writer(self, s):
        """The process that has the image open, if there is one."""
        for pid in s.processes():
            try:
                files = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
            except OSError:
                continue
            if any(file.startswith(self.state + "/cl-mcp-suspended-") and file.endswith(".core") for file in files):
                return pid

    def test_work_done_while_the_image_is_written_is_not_lost(self):
        s = self.server()
        folder = self.folder()
        s.evaluate(f"(progn (defvar *n* 1) (sb-posix:chdir \"{folder}\"))")
        writer = mcp.wait_until(lambda: self.writer(s), 60, "the process that writes")
        os.kill(writer, signal.SIGSTOP)
        reply = s.evaluate("(setf *n* 2)")
        os.kill(writer, signal.SIGCONT)
        self.assertValue(reply, "2")
        self.wait_suspended(s, "default")
        self.assertEqual(1, len(self.images()))
        shutil.rmtree(folder)
        self.assertValue(s.evaluate("*n*"), "2")

    @unittest.skipIf(mcp.SANITIZED, "the others take the same way through the server")
    def test_servers_that_share_a_directory_leave_each_others_sessions_alone(self):
        servers = [self.server("--max-processes", "2") for _ in range(2)]
        for number, s in enumerate(servers):
            s.call("create-session", name="other")
            s.evaluate(f"(defvar *n* {number})", session="other")
            self.wait_suspended(s, "other")
        self.assertEqual(2, len(self.images()))
        for number, s in enumerate(servers):
            # At the bound of processes the checkpoint of another session makes room.
            s.evaluate("(defvar *x* 1)")
            if number == 1:  # and so does one that is being made
                mcp.wait_until(lambda: "Checkpoints: 1" in s.call("session-info").text, 20, "there is no checkpoint")
            reply = s.evaluate("*n*", session="other")
            self.assertValue(reply, str(number))
            self.assertRegex(reply.session, "^The session had been suspended")
        self.assertEqual([], self.images())

    def test_nothing_is_left_on_disk(self):
        killed = self.server()
        killed.evaluate("(defun f () :here)")
        self.wait_suspended(killed, "default")
        killed.destroy()
        self.assertEqual(1, len(self.images()))
        s = self.server("--max-processes", "2")  # itself and a checkpoint, which makes room for the copy that writes the image
        s.evaluate("(defun f () :here)")
        self.wait_suspended(s, "default")
        folders = lambda: [name for name in os.listdir(self.state) if name.startswith("cl-mcp-suspended-")]
        mcp.wait_until(lambda: len(folders()) == 1, 20, "the removal of what the killed one has left")
        self.assertEqual(1, len(self.images()))
        s.close()
        self.assertEqual([], folders())
