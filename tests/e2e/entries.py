"""Tests of entries to an error that are the same with one thread and with several."""


class Entries:
    """For a TestCase that has enter() and restart(), as those of test_standing.py and test_threads.py."""

    def test_the_effects_of_a_failed_entry_are_in_the_history(self):
        self.assertFails('(cerror "Go on." "x")')
        self.assertErrorReport(self.enter('(defun in-frame () 1) (error "y") (defun never () 1)'))
        self.assertErrorReport(self.restart("CONTINUE", code='(defun in-code () 1) (error "z") (defun never () 1)'))
        text = self.s.call("session-history", format="lisp").text
        self.assertRegex(text, r"(?m)^\(defun in-frame \(\) 1\)")
        self.assertRegex(text, r"(?m)^\(defun in-code \(\) 1\)")
        self.assertNotIn("never", text)
        self.assertEvaluates("(mapcar #'fboundp '(never))", "(NIL)")
        self.assertEvaluates("(+ (in-frame) (in-code))", "2")
