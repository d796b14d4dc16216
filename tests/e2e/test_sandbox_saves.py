"""--sandbox and images of sessions: what is restored, resumed or brought back is confined as before, and no session reaches
the image of another. What is in an image is the Lisp's; test_sandbox.py saves one with each SBCL."""

import os
import platform
import unittest

import mcp
from test_sandbox import EACCES, PRELUDE, WRITE, WRITES_IMAGE, Sandbox

RESTORED = "\n\n[Session]\nRestored session %s, the state after evaluation 1. A save holds neither checkpoints nor errors."


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers of the system calls are those of x86-64")
class Images(Sandbox):
    def wait_suspended(self, client, session):
        mcp.wait_until(lambda: session + ": suspended" in client.call("list-sessions").text, 60, "the session is suspended")

    def describe(self, session, text, other):
        """Have the description of its save say something else."""
        path = os.path.join(self.home, ".local/state/cl-mcp-server", session + ".json")
        said = mcp.read(path)
        self.assertIn(text, said)
        self.write(path, said.replace(text, other))

    def test_sessions_that_are_suspended_persist(self):
        options = ("read-only", "--persist", "--idle-timeout", "1")
        client = self.start(*options)
        client.evaluate("(defvar *x* (list 1 2))")
        self.wait_suspended(client, "default")
        client.close()  # it is saved from the image that it has
        client = self.start(*options)
        self.assertEvaluatesIn(client, "*x*", "(1 2)" + RESTORED % "default")
        self.assertConfined(client)
        client.destroy()  # what it would save at its end is of no use

    def test_a_file_put_in_place_of_a_draft_is_not_taken(self):
        client = self.start("workspace")
        client.evaluate(PRELUDE)
        drafts = self.drafts()
        key = os.path.join(self.home, ".ssh/id")
        client.evaluate('(sb-ext:run-program "/bin/sh" (list "-c" "while sleep 0.01; do for f in %s/*.core; do ln -sf %s $f; done; done") :wait nil)' % (drafts, key))
        saved = client.call("save-session")
        self.assertTrue(saved.is_error, saved.text)
        self.assertIn("was not saved", saved.text)
        for top, folders, files in os.walk(os.path.dirname(drafts)):
            for name in files if top != drafts else []:
                self.assertFalse(os.path.islink(os.path.join(top, name)), name)
        self.assertEqual("secret", mcp.read(key))

    def test_a_sandbox_of_a_session_outlasts_a_suspension(self):
        client = self.start("off", "--idle-timeout", "1")
        self.create(client, "strict", sandbox="read-only")
        client.evaluate("(defvar *x* 1)", session="strict")
        self.wait_suspended(client, "strict")
        resumed = client.evaluate("*x*", session="strict").text
        self.assertIn("=> 1", resumed)
        self.assertIn("suspended", resumed)
        self.assertReadOnly(client, "strict")
        self.assertEqual("=> -2", client.evaluate(WRITES_IMAGE, session="strict").text, "its image is gone")

    def test_a_sandbox_is_saved_with_the_session(self):
        client = self.start("off")
        self.create(client, "strict", sandbox="read-only")
        client.evaluate("(defvar *x* 1)", session="strict")
        self.assertSucceeds(client.call("save-session", session="strict"))
        client.call("close-session", session="strict")
        # A session of that name that is not confined is so from the restore on.
        self.create(client, "strict")
        self.assertEqual("=> :WRITTEN", client.evaluate(WRITE, session="strict").text)
        self.assertSucceeds(client.call("restore-session", name="strict"))
        self.assertEqual("=> 1", client.evaluate("*x*", session="strict").text)
        self.assertReadOnly(client, "strict")
        client.close()
        client = self.start("workspace")
        self.assertSucceeds(client.call("restore-session", name="strict"))
        self.assertReadOnly(client, "strict")
        # It is not started in a sandbox that this server does not know.
        self.describe("strict", '"sandbox": "read-only"', '"sandbox": "stricter"')
        self.assertIsError(client.call("restore-session", name="strict"), "cannot be started in its sandbox: there is no sandbox stricter")

    def test_a_sandbox_of_a_session_persists(self):
        client = self.start("off", "--persist")
        self.create(client, "strict", sandbox="read-only")
        client.evaluate("(defvar *x* 1)", session="strict")
        client.close()
        client = self.start("off", "--persist", "--tools", "full")
        # Before anything is evaluated there, too.
        self.write(os.path.join(self.project, "a.lisp"), "(defun a () 1)\n")
        refused = client.call("edit-form", path="a.lisp", kind="defun", name="a", content="(defun a () 2)", session="strict")
        self.assertEqual("The session has the sandbox read-only: no file is edited for it.", refused.text)
        self.assertEqual("=> 1" + RESTORED % "strict", client.evaluate("*x*", session="strict").text)
        self.assertReadOnly(client, "strict")
        client.destroy()  # what it would save at its end is of no use

    def test_a_link_in_the_place_of_its_directory_leads_nowhere(self):
        inside, = self.make_directories(os.path.join(self.project, "a"))
        outside, = self.make_directories(os.path.join(self.home, "worktree"))
        for directory in (inside, outside):
            self.write(os.path.join(directory, "a.lisp"), "(defun a () 1)\n")
        client = self.start("workspace", "--tools", "full")
        self.create(client, "a", directory="a")
        client.evaluate("(defvar *x* 1)", session="a")
        self.assertFalse(client.call("save-session", session="a").is_error)
        client.evaluate(PRELUDE)
        self.assertEqual("=> (0 0)", client.evaluate('(list (call 82 "a" "moved") (call 88 "%s" "a"))' % outside).text)
        moved = os.path.join(self.project, "moved")

        def assert_kept_out():
            client.evaluate(PRELUDE, session="a")
            for code, value in (('(reads "%s/kept.txt")', ":DENIED"), ('(call 2 "%s/kept.txt" 1)', EACCES)):
                self.assertEqual("=> %s" % value, client.evaluate(code % outside, session="a").text)

        edit = {"path": "a.lisp", "kind": "defun", "name": "a", "content": "(defun a () 2)", "session": "a"}
        client.call("edit-form", edit)
        self.assertEqual("(defun a () 1)\n", mcp.read(os.path.join(outside, "a.lisp")))
        self.assertEqual("(defun a () 2)\n", mcp.read(os.path.join(moved, "a.lisp")))
        assert_kept_out()
        client.call("reset-session", session="a")
        assert_kept_out()
        self.assertIsError(client.call("restore-session", name="a"), "%s is not a directory, or is reached through a symbolic link." % inside)

    def test_a_save_does_not_widen_a_sandbox(self):
        inside, = self.make_directories(os.path.join(self.project, "a"))
        outside, = self.make_directories(os.path.join(self.home, "worktree"))
        client = self.start("off")
        self.create(client, "a", directory=inside, sandbox="workspace")
        client.evaluate("(defvar *x* 1)", session="a")
        self.assertSucceeds(client.call("save-session", session="a"))
        client.close()
        client = self.start("workspace")
        self.assertSucceeds(client.call("restore-session", name="a"))
        self.assertEqual("=> 1", client.evaluate("*x*", session="a").text)
        self.assertWritesOnlyIn(client, "a", inside, outside)
        self.describe("a", '"directory": "%s"' % inside, '"directory": "%s"' % outside)
        self.assertIsError(client.call("restore-session", name="a"), "cannot be started in its sandbox: %s is not in %s" % (outside, self.project))
