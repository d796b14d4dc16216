"""Saves and the session that goes on, several saves at a time, and their names. What is in one is tested in test_saves.py."""

import json
import os
import signal

import mcp
import saves


class Writing(saves.Saves):
    def test_the_session_continues_while_it_is_saved_and_nothing_of_that_is_in_the_save(self):
        self.s.evaluate("(defvar *n* 1)")
        # A save is of its place in the queue.
        first = self.s.start_call("evaluate-lisp", code="(progn (sleep 0.3) (setf *n* 2))")
        save = self.s.start_call("save-session")
        last = self.s.start_call("evaluate-lisp", code="(setf *n* 3)")
        self.assertValue(first.reply(), "2")
        self.assertValue(last.reply(), "3")
        pid = self.pid()
        self.wait_for_image()
        self.assertEvaluates("(incf *n*)", "4")
        self.assertEqual(pid, self.pid())
        self.assertEvaluates("(defvar *later* 3)", "*LATER*")
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"), "PROCESS-EXITED")
        self.assertEvaluates("*n*", "4")
        self.assertFalse(self.s.call("reset-session").is_error)
        self.assertEvaluates("(boundp '*n*)", "NIL")
        self.assertFalse(save.is_answered, "the session was saved before everything else was answered")
        self.assertSucceeds(save.reply(), "the state after evaluation 2.")
        self.restore()
        history = self.s.call("session-history").text
        for code in ("(defvar *n* 1)", "(progn (sleep 0.3) (setf *n* 2))"):
            self.assertIn(code, history)
        for code in ("*later*", "(setf *n* 3)", "exit"):
            self.assertNotIn(code, history)
        self.assertEvaluates("(list *n* (boundp '*later*))", "(2 NIL)")

    def test_the_later_begun_of_two_saves_counts_although_it_is_written_sooner(self):
        self.s.evaluate("(defvar *n* 1)")
        first = self.s.start_call("save-session")
        image = self.wait_for_image()
        held = self.writer(image)
        os.kill(held, signal.SIGSTOP)
        self.assertEvaluates("(setf *n* 2)", "2")
        second = self.s.start_call("save-session")
        later = self.writer(self.wait_for_image(beside=[image]))
        mcp.wait_until(lambda: not mcp.is_alive(later), 60, "the end of the one that was begun later")
        self.assertFalse(first.is_answered or second.is_answered)
        os.kill(held, signal.SIGCONT)
        self.assertIn("the state after evaluation 1.", first.reply(wait=90).text)
        self.assertIn("the state after evaluation 2.", second.reply(wait=90).text)
        self.assertOneSave()
        self.restore()
        self.assertEvaluates("*n*", "2")
        self.assertIn("(setf *n* 2)", self.s.call("session-history").text)

    def test_a_session_closed_while_it_is_saved_leaves_nothing(self):
        self.s.call("create-session", name="short")
        self.s.evaluate("(defvar *n* 1)", session="short")
        pending = self.s.start_call("save-session", session="short")
        self.wait_for_image()
        self.s.call("close-session", session="short")
        self.assertRefuses(pending.reply(), "closed")
        mcp.wait_until(lambda: not self.images(), 10, "the end of the image")
        self.assertOperational()


class Named(saves.Saves):
    """Saves have names; they can be listed and deleted."""

    def put_save(self, name):
        """What is listed and deleted as a save of this name: nobody looks at its image."""
        mcp.write(os.path.join(self.state, name + ".json"), json.dumps({"name": name, "image": name + "-1-2-3.core"}))
        mcp.write(os.path.join(self.state, name + "-1-2-3.core"))

    def test_a_save_of_another_name_is_a_session_of_that_name(self):
        self.s.evaluate("(defvar *n* 1)")
        self.assertIn("No sessions yet", self.server().call("list-sessions").text)
        self.s.call("checkpoint-session", name="one")
        text = self.save(name="before").text
        self.assertIn("Saved session before, the state after evaluation 1.", text)
        self.assertOneSave("before")
        self.assertRefuses(self.s.call("restore-session", name="default"), "no saved session named default")
        self.s.evaluate("(incf *n*)")
        self.put_save("default")
        self.assertRegex(self.s.call("list-sessions").text, r"\n2 saved sessions \(create-session with saved: true restores one\):\n- default, saved \S+Z\n- before, saved \S+Z$")
        text = self.restore(name="before").text
        self.assertIn("Restored session before, the state after evaluation 1.", text)
        self.assertIn("\nNamed checkpoints, which this save does not hold: one (evaluation 1).", text)
        self.assertRegex(text, r"\nPass its name as session to other tools\.$")
        self.assertNotIn("Discarded", text, "there was no session of that name")
        self.assertEvaluates("*n*", "2")
        self.assertValue(self.s.evaluate("*n*", session="before"), "1")

    def test_a_save_is_deleted(self):
        for name in ("default", "other"):
            self.put_save(name)
        self.s.evaluate("(defvar *n* 2)")
        reply = self.s.call("delete-save", name="default")
        self.assertIn("Deleted the saved session default. The running session of that name continues.", reply.text)
        self.assertOneSave("other")
        self.assertEvaluates("*n*", "2")
        self.assertRefuses(self.s.call("delete-save", name="default"), "There is no saved session named default")
        for name in ("../other", "other.json", "", "/other"):
            self.assertTrue(self.s.call("delete-save", name=name).is_error)
        self.assertOneSave("other")
        self.assertEqual("Deleted the saved session other.", self.s.call("delete-save", name="other").text)
        self.assertEqual([], self.files())

    def test_names_that_no_session_can_have_are_refused(self):
        self.s.evaluate("1")
        for name in ("a/b", "", "../x", "x" * 65, "a b"):
            self.assertRefuses(self.s.call("save-session", name=name), "1 to 64 characters")
        for name in ("a b.json", ".json", "x" * 100 + ".json"):
            open(os.path.join(self.state, name), "w").close()
        self.assertNotIn("saved session", self.s.call("list-sessions").text)
