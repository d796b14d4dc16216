"""Which functions a backtrace shows, by name and with their arguments."""

import os

import mcp


class TailPosition(mcp.SessionTest):
    def frames_of(self, *codes):
        for code in codes[:-1]:
            self.assertFalse(self.s.evaluate(code).is_error, code)
        report = self.s.evaluate(codes[-1])
        self.assertErrorReport(report)
        return report.frames

    def test_a_function_that_fails_in_tail_position_is_the_first_frame(self):
        for definition, call, frame in (
            ("(defun f (x y) (/ x y))", "(list (f 1 0))", "(F 1 0)"),
            ("(defun f (x y) (/ x y))", "(f 1 0)", "(F 1 0)"),
            ("(defun a () (/ 1 0)) (defun b () (a))", "(b)", "(A)"),
            ("(defun f (x) (error \"no ~a\" x))", "(f 1)", "(F 1)"),
            ("(defun f (x) (car x))", "(f 1)", "(F 1)"),
            ("(defun f (x) (elt x 9))", "(f '(1))", "(F (1))"),
            ("(defun f (x) (symbol-value x))", "(f 'nothing)", "(F NOTHING)"),
            ("(defun f (x) (parse-integer x))", '(f "z")', '(F "z")'),
            ("(defun f (x) (undefined-here x))", "(f 1)", "(UNDEFINED-HERE 1)"),
            ("(defgeneric g (x)) (defmethod g ((x integer)) (/ x 0))", "(g 4)", "((METHOD G (INTEGER)) 4)"),
        ):
            with self.subTest(call):
                frames = self.frames_of(definition, call)
                self.assertTrue(any(frame in line for line in frames[:2]), frames)

    def test_an_undefined_function_is_reported_the_same_way_each_time(self):
        texts = {self.s.evaluate("(undefined-here 1)").text.rsplit("\n\n(error ", 1)[0] for _ in range(3)}
        self.assertEqual(1, len(texts), texts)
        self.assertIn("0: (UNDEFINED-HERE 1)\n", texts.pop())
        self.assertEqual("=> 3", self.s.evaluate("(defun undefined-here (x) (+ x 2)) (undefined-here 1)").text.splitlines()[-1])

    def test_the_variables_of_a_method_are_those_that_its_author_named(self):
        self.frames_of("(defgeneric g (x) (:method (x) (error \"no ~a\" x)) (:method :around ((x integer)) (list (call-next-method))))", "(list (g 1))")
        text = self.s.call("get-backtrace", locals=True).text
        self.assertIn("X = 1\n", text)
        self.assertNotRegex(text, r"SB-(C|PCL)::\S+ = ")

    def test_loops_made_of_tail_calls_run_in_constant_space(self):
        self.s.evaluate("(defun down (n) (if (zerop n) :done (down (1- n))))")
        self.s.evaluate("(defun tick (n) (if (zerop n) :done (tock (1- n)))) (defun tock (n) (funcall 'tick (1- n)))")
        self.assertEvaluates("(down 10000000)", ":DONE")
        self.assertEvaluates("(tick 10000000)", ":DONE")

    def test_all_callers_are_there_when_the_user_asks_for_it(self):
        frames = self.frames_of("(declaim (optimize (debug 3)))", "(defun a () (/ 1 0)) (defun b () (a)) (defun c () (b))", "(c)")
        # Newer releases of SBCL have a frame for the division too.
        self.assertEqual(["(A)", "(B)", "(C)"], [frame for frame in frames if frame != "(/ 1 0)"][:3])


class Arguments(mcp.SessionTest):
    """A call shows what was passed, as far as that is certain."""

    LOST = "#<changed or no longer kept>"
    CASES = (
        ("(defun f (a b) (setf a (list b)) (fail) (list a b))", "(f 300 2)", "(F %s 2)"),
        ("(defun f (a) (loop while a do (when (eql 3 (pop a)) (fail) (print a))))", "(f (list 1 2 3 4))", "(F %s)"),
        ("(defun f (a &optional (b 5)) (setf b nil) (fail) (list a b))", "(f 1 300)", "(F 1 %s)"),
        ("(defun f (a &rest r) (pop r) (fail) (list a r))", "(f 1 300 4)", "(F 1 %s)"),
        ("(defun f (a &optional b &key c) (setf b nil) (fail) (list a b c))", "(f 1 300 :c 6)", "(F 1 %s :C 6)"),
        ("(defun f (a &rest r &key c) (setf r nil) (fail) (list a r c))", "(f 1 :c 300)", "(F 1 :C %s)"),
        ("(defun f (a) (let ((g (lambda () (setf a nil)))) (funcall g) (fail) (list a g)))", "(f 300)", "(F %s)"),
        ("(defun f (x) (flet ((g (y) (setf y 3) (fail) (list y x))) (declare (notinline g)) (list (g 300))))", "(f 1)", "((FLET G :IN F) %s)"),
        ("(defun f (a b) (fail) (list (car a)))", "(f '(1) 2)", "(F (1) %s)"),
        ("(defun f (a &optional (b 5) &rest r &key c) (fail) (list a b c r))", "(f 1 300 :c 6)", "(F 1 300 :C 6)"),
    )

    def test_one_that_the_function_has_changed_is_not_shown_as_passed(self):
        self.s.evaluate("(declaim (notinline fail)) (defun fail () (error \"stop\"))")
        path = os.path.join(self.folder(), "f.lisp")
        for definition, call, frame in self.CASES:
            for place in ("text", "file"):
                with self.subTest(definition, place=place):
                    if place == "file":
                        mcp.write(path, definition)
                        self.assertSucceeds(self.s.call("load-file", path=path))
                    else:
                        self.s.evaluate(definition)
                    self.assertEqual(frame.replace("%s", self.LOST), self.s.evaluate(call).frames[1].partition(" at ")[0])

    def test_its_value_is_among_the_variables_and_the_frame_is_not_restarted_with_it(self):
        self.s.evaluate("(defun f (a) (setf a (list a)) (error \"stop ~a\" (print a)) a)")
        self.assertErrorReport(self.s.evaluate("(list (f 300))"))
        self.assertIn("0: (F %s)\n" % self.LOST, self.s.call("get-backtrace").text + "\n")
        self.assertIn("no longer known", self.s.call("restart-frame", frame=0).text)


class Deep(mcp.SessionTest):
    """Of a deep stack the report has the first frames; the Lisp has the others while the error can be entered."""

    def test_all_frames_of_a_deep_stack_can_be_read(self):
        self.s.evaluate('(defun deep (n) (if (= n 0) (error "deep") (+ 1 (deep (1- n)))))')
        self.s.evaluate("(deep 300)")
        self.assertIn("100: (DEEP 100)\n... more frames; max-frames and from show them", self.s.call("get-backtrace", {"from": 99, "max-frames": 2}).text)
        self.assertRegex(self.s.call("get-backtrace", {"from": 250, "locals": True}).text, r"\n250: \(DEEP 250\)\n.*\n +N = 250\n")
        self.assertIn("\n301: (EVAL (DEEP 300))", self.s.call("get-backtrace", {"from": 299}).text)
        self.s.evaluate("(deep 3000)")
        self.assertIn(":\n998: (DEEP 998)\n999: (DEEP 999)\n(only the first 1000 can be read)", self.s.call("get-backtrace", {"from": 998, "max-frames": 9}).text)

    def test_frames_that_take_too_long_to_print_are_shown_without_the_objects(self):
        self.s.evaluate("(defclass slow () ()) (defmethod print-object ((x slow) stream) (sleep 0.05) (call-next-method))"
                        ' (defun deep (n x) (if (= n 0) (error "deep") (+ 1 (deep (1- n) x))))')
        self.s.evaluate("(deep 900 (make-instance 'slow))")
        text = self.s.call("get-backtrace", {"from": 400, "max-frames": 300}).text
        self.assertRegex(text, r"\n400: \(DEEP 400 #<SLOW \{\w+\}>\)\n(?s:.*)\n690: \(DEEP 690 #<\.\.\.>\)\n")
        self.assertIn("\n401: (DEEP 401 ", self.s.call("get-backtrace", {"from": 400, "max-frames": 3}).text)


class ManyRestarts(mcp.SessionTest):
    def test_of_thousands_of_restarts_the_innermost_have_numbers(self):
        self.s.evaluate(
            '(defun nest (n) (if (= n 0) (error "nested") (restart-case (nest (1- n))'
            ' (out () :report (lambda (s) (format s "~d ~a" n (make-string 200 :initial-element #\\x))) n) (far () :test (lambda (c) c (= n 2900)) n))))'
        )
        report = self.s.evaluate("(nest 3000)").text
        self.assertIn("\n201. [ABORT] Return to top level.\n(2802 more have no number; invoke one by name unless an inner restart shares it)", report)
        described = self.s.call("describe-last-error").text
        self.assertIn("\n  199. OUT - 199 x", described)
        self.assertIn("\n  200. RETRY - Evaluate the form again.\n", described)
        self.assertIn("\n(2802 more have no number; invoke one by name unless an inner restart shares it)\n", described)
        self.assertEqual("=> 199", self.s.call("invoke-restart", restart="199").text)
        for restart, result in (("200", "nested"), ("201", "ABORT"), ("far", "=> 2900"), ("abort", "ABORT")):
            self.s.evaluate("(nest 3000)")
            self.assertIn(result, self.s.call("invoke-restart", restart=restart).text)
        self.s.evaluate("(nest 3000)")
        self.assertIn("has no restart 202", self.s.call("invoke-restart", restart="202").text)
