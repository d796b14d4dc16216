"""Tests of entries to an error that are the same with one thread and with several."""


class Entries:
    """For a TestCase, as those of test_standing.py and test_threads.py."""

    def test_the_program_does_not_catch_the_errors_of_an_entry_but_those_after_it(self):
        self.s.evaluate("""(defun guarded () (declare (optimize (debug 3)))
          (handler-case (restart-bind ((fail (lambda () (car 3)))) (restart-case (break "here") (use-value (v) (car v)))) (error () :caught)))""")
        for use in ("USE-VALUE", "FAIL"):
            self.assertErrorReport(self.s.evaluate("(list (guarded))"), "SIMPLE-CONDITION")
            self.assertErrorReport(self.enter("(car 1)"), "TYPE-ERROR")
            self.assertErrorReport(self.restart("USE-VALUE", value="(car 1)"), "TYPE-ERROR")
            self.assertErrorReport(self.restart("USE-VALUE", value="'(1)", code="(car 1)"), "TYPE-ERROR")
            self.assertErrorReport(self.s.call("return-from-frame", frame=0, value="(car 1)"), "TYPE-ERROR")
            self.assertEqual(1, self.s.call("list-errors", limit=1).text.count("(can be entered)"))
            self.assertValue(self.restart(use, **({"value": "5"} if use == "USE-VALUE" else {})), "(:CAUGHT)")

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
