"""What ordinary but unusual programs do to the tools that look at them: second names of classes, accessors, parameters called VALUES,
functions that were made unbound while they were watched, the program's own traces, instances that are functions."""

import re

import mcp


class Unusual(mcp.SessionTest):
    def test_warnings_of_a_file_whose_loading_fails_have_their_places_and_leave_no_symbol(self):
        path = self.file("(in-package :cl-user)\n(defun bar (x) (list (no-1 x)\n  (no-2 x)))\n(bar 1)\n", "fails.lisp")
        text = self.s.call("load-file", path=path, compile=True).text
        self.assertIn("line 3, column 3: STYLE-WARNING: undefined function: NO-2", text)
        self.assertIn("line 1, column 14: STYLE-WARNING", self.s.evaluate("(defun after (x) 1)").text)
        self.assertEvaluates('(list (loop for s being the present-symbols of "CL-MCP-READ" collect s) (find-symbol "NO-2" "CL-MCP-READ"))', "((QUOTE) NIL)")

    def test_watching_a_package_is_stopped_for_all_of_it(self):
        self.s.evaluate("(defpackage :several (:use :cl)) (defun several::one () 1) (defun several::two () 2)")
        for tool in ("trace-functions", "profile-functions"):
            with self.subTest(tool):
                self.s.call(tool, action="start", functions=["SEVERAL"])
                self.assertRegex(self.s.call(tool, action="stop", functions=["SEVERAL"]).text, r"SEVERAL::ONE, SEVERAL::TWO")

    def test_classes_are_listed_under_the_names_that_the_session_gave(self):
        self.s.evaluate("(setf (find-class 'alias) (find-class 'string)) (defclass derived (not-yet) ())"
                        " (setf (find-class 'nameless) (make-instance 'standard-class))")
        text = self.s.call("list-definitions").text
        self.assertEqual(["ALIAS (another name of STRING)", "DERIVED ()", "NAMELESS ()"], re.findall(r"(?m)^- (.*)$", text))

    def test_methods_of_a_function_that_was_made_unbound_are_traced_no_more(self):
        generic = "(defgeneric made-anew (x) (:method ((x integer)) 1))"
        self.s.evaluate(generic)
        self.s.call("trace-functions", action="start", functions=["made-anew"], methods=True)
        self.s.evaluate("(fmakunbound 'made-anew) %s (made-anew 1)" % generic)
        self.assertIn("No calls were recorded", self.s.call("trace-functions").text)

    def test_the_programs_own_trace_is_beside_it(self):
        self.s.evaluate("(defun seen (x) x) (trace seen)")
        self.assertIn("Now traced: SEEN", self.s.call("trace-functions", action="start", functions=["seen"]).text)
        self.s.evaluate("(seen 1)")
        self.assertIn("(SEEN 1)", self.s.call("trace-functions").text)
        self.s.call("trace-functions", action="stop")
        self.assertIn("(SEEN 2)", self.s.evaluate("(seen 2)").stdout)

    def test_a_condition_that_cannot_be_used_leaves_a_trace_as_it_is(self):
        self.s.evaluate("(defun safe (x) x)")
        self.s.call("trace-functions", {"action": "start", "functions": ["safe"], "break": "call"})
        text = self.s.call("trace-functions", action="start", functions=["safe"], condition="(> zz 1)").text
        self.assertIn("undefined variable: ZZ", text)
        self.assertIn("It is traced as before.", text)
        self.assertNotIn("Already", text)
        self.assertIn("SAFE", self.s.call("trace-functions", action="list").text)
        self.assertTrue(self.s.evaluate("(safe 3)").is_error)

    def test_accessors_count_as_methods(self):
        self.s.evaluate("(defclass box () ((content :accessor content)))")
        self.assertIn("Methods: 1, of which 1 reads or writes a slot", self.s.call("describe-symbol", {"name": "content"}).text)

    def test_a_parameter_may_be_called_values(self):
        self.s.evaluate("(defun mean (values) (/ (reduce '+ values) (length values)))")
        for options in ({}, {"break": "return"}):
            with self.subTest(options):
                started = self.s.call("trace-functions", dict(options, action="start", functions=["mean"], condition="(> (length values) 2)"))
                self.assertFalse(started.is_error, started.text)
                reply = self.s.evaluate("(list (mean '(1 2)) (mean '(1 2 3)))")
                self.assertEqual("break" in options, reply.is_error, reply.text)
                self.assertIn("(MEAN (1 2 3))", reply.text if options else self.s.call("trace-functions").text)

    def test_a_call_without_a_primary_method_is_said_to_fail(self):
        self.s.evaluate("(defgeneric around-nothing (x) (:method :around ((x integer)) (call-next-method)))")
        self.assertIn("There is no primary method among them", self.s.call("explain-dispatch", form="(around-nothing 1)").text)

    def test_other_specializers_are_listed(self):
        self.s.evaluate("(defgeneric exactly (x)) (defmethod exactly ((x (sb-pcl::class-eq string))) 1)")
        self.assertRegex(self.s.call("list-definitions", type="methods").text, r"EXACTLY \(\(X #<")

    def test_an_instance_that_is_a_function_has_slots(self):
        self.s.evaluate("(defclass counter () ((n :initform 7)) (:metaclass sb-mop:funcallable-standard-class))"
                        " (defvar *counter* (make-instance 'counter))")
        self.assertIn("N = 7", self.s.call("inspect-object", expression="*counter*").text)
        self.assertIn("7", self.s.call("inspect-object", expression="*counter*", path="n").text)
