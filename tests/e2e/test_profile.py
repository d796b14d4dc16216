"""What is measured and watched: time-execution, profile-code, profile-functions, trace-functions, memory-report.
That the session is none the worse for it: errors can be entered, copies are made, time limits interrupt, nothing continues afterwards."""

import re

import mcp

FIB = "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"


class Measuring(mcp.SessionTest):
    def assertAtRest(self):
        """No timer rings, nothing is sampled, no thread is left, and the session can be copied."""
        self.assertEvaluates("(list sb-sprof::*profiling* (length (sb-thread:list-all-threads)))", "(NIL 1)")
        self.assertEvaluates('(values (with-open-file (s "/proc/self/timers" :if-does-not-exist nil) (if s (read-line s nil :none) :none)))', ":NONE")
        self.assertFalse(self.s.call("checkpoint-session", name="rest").is_error)


class Timing(Measuring):
    def test_samples_in_foreign_code_whose_callers_are_not_seen_are_named(self):
        if self.s.evaluate('(sb-alien:load-shared-object "libz.so.1")').is_error:
            self.skipTest("there is no zlib")
        self.s.evaluate("""(defun crunch (n)
          (let ((b (make-array 1000000 :element-type '(unsigned-byte 8) :initial-element 7)))
            (sb-sys:with-pinned-objects (b)
              (dotimes (i n) (sb-alien:alien-funcall (sb-alien:extern-alien "crc32" (function sb-alien:unsigned-long sb-alien:unsigned-long sb-sys:system-area-pointer sb-alien:unsigned-int))
                                                     0 (sb-sys:vector-sap b) 1000000)))))""")
        text = self.s.call("profile-code", code="(loop with end = (+ (get-internal-run-time) (floor internal-time-units-per-second 2)) while (< (get-internal-run-time) end) do (crunch 50))").text
        self.assertRegex(text, r"About \d+ samples were due\. In foreign code, whose callers could not be seen: foreign function \S*crc32")
        self.assertIn("trace-functions with profile: true counts and times the functions that you name.", text)
        self.assertNotIn("too little CPU time", text)

    def test_every_run_evaluates_every_form(self):
        reply = self.s.call("time-execution", code="(defvar *n* 0) (incf *n*) (list *n*)", runs=7)
        self.assertRegex(reply.text, r"(?s)^Timing: 7 runs\n.*Result:\n=> \(7\)$")
        self.assertEvaluates("*n*", "7")

    def test_times_are_those_of_the_code(self):
        text = self.s.call("time-execution", code="(sleep 0.05)").text
        self.assertGreaterEqual(float(re.search(r"real time +([\d.]+) ms", text).group(1)), 50)
        self.assertLess(float(re.search(r"run time +([\d.]+) ms", text).group(1)), 50)
        text = self.s.call("time-execution", code="(defvar *a*) (setf *a* (make-array 1000000)) nil").text
        self.assertGreaterEqual(int(re.search(r"consed +([\d,]+) bytes", text).group(1).replace(",", "")), 8000000)
        text = self.s.call("time-execution", code="(progn (sleep 0.02) (values))", runs=3).text
        median, lower, upper, least, most = (float(n) for n in re.findall(r"([\d.]+) ms", re.search("real time.*", text).group(0)))
        self.assertTrue(20 <= least <= lower <= median <= upper <= most, text)

    def test_runs_0_calls_short_code_until_the_clock_can_tell(self):
        self.s.evaluate("(defvar *n* 0) (defun tick () (incf *n*) (make-array 100))")
        text = self.s.call("time-execution", {"code": "(length (tick))", "runs": 0}).text
        runs, calls = (int(n.replace(",", "")) for n in re.match(r"Timing: (\d+) runs of ([\d,]+) calls; the figures are per call\n", text).groups())
        self.assertGreaterEqual(int(self.s.evaluate("*n*").value), runs * calls)
        minimum = float(re.findall(r"([\d.,]+) us", re.search("real time.*", text).group(0))[3].replace(",", ""))
        self.assertLess(0, minimum)
        self.assertLess(minimum, 1000, text)
        # An array of 100 elements and its header; a collection meanwhile moves the figure by a little.
        consed = int(re.search(r"consed +(\d+) bytes", text).group(1))
        self.assertTrue(808 <= consed <= 824, text)
        self.assertTrue(text.endswith("Result:\n=> 100"), text)

    def test_runs_0_calls_long_code_a_few_times(self):
        text = self.s.call("time-execution", {"code": "(defvar *n* 0) (incf *n*) (sleep 0.3) *n*", "runs": 0}).text
        self.assertRegex(text, r"^Timing: 5 runs\n")
        self.assertTrue(text.endswith("=> 6"), text)

    def test_the_limits_of_one_short_run_and_of_noisy_runs_are_reported(self):
        # On a busy machine one may be long.
        self.assertTrue(any("A single run this short is not reliable." in self.s.call("time-execution", code="(list 1)").text for _ in range(5)))
        self.assertNotIn("is not reliable", self.s.call("time-execution", code="(sleep 0.01)").text)
        self.s.evaluate("(defvar *k* 0)")
        text = self.s.call("time-execution", {"code": "(sleep (if (evenp (incf *k*)) 0.01 0.1))", "runs": 20}).text
        percent = int(re.search(r"Noise: the middle half of the runs differs by (\d+) % of the median\.", text).group(1))
        self.assertGreater(percent, 50, text)

    def test_an_error_in_a_later_run_reports_no_forms_before_it(self):
        self.s.evaluate("(defvar *n* 0)")
        report = self.s.call("time-execution", {"code": "(incf *n*) (when (> *n* 50) (error \"late\"))", "runs": 0})
        self.assertErrorReport(report, "SIMPLE-ERROR")
        self.assertNotIn("evaluated", report.text.partition("[Session]")[2])

    def test_an_error_can_be_entered_and_gone_on_from(self):
        self.s.evaluate("(defun weigh (x) (if (eql x 3) (error \"cannot weigh ~a\" x) x))")
        self.assertErrorReport(self.s.call("time-execution", code="(list (weigh 3) :done)", runs=3), "SIMPLE-ERROR")
        self.assertIn("cannot weigh 3", self.s.call("describe-last-error").text)
        self.assertValue(self.s.call("invoke-restart", restart="RETRY", code="(defun weigh (x) (* 10 x))"), "(30 :DONE)")

    def test_a_time_limit_stops_the_runs_and_they_can_go_on(self):
        self.assertErrorReport(self.s.call("time-execution", code="(defvar *i* 0) (incf *i*) (sleep 0.05) *i*", runs=1000, timeout=0.4), "TIMEOUT")
        self.assertEvaluates("(< 0 *i* 1000)", "T")

    def test_the_time_of_an_evaluation_that_went_on_is_a_time(self):
        self.s.evaluate("(list (car 1))", **{"capture-time": True})
        text = self.s.call("invoke-restart", restart="RETRY", code="(defun f ())").text
        for number in re.findall(r"([\d,]+) ms real", text):
            self.assertLess(int(number.replace(",", "")), 100000)


class Sampling(Measuring):
    def profile(self, code, **named):
        return self.s.call("profile-code", code=code, **named)

    def share(self, text, function):
        """self and total of a function."""
        numbers = re.search(r"(?m)^ *(\d+) +[\d.]+ %% +(\d+) +[\d.]+ %%  %s$" % re.escape(function), text)
        self.assertIsNotNone(numbers, text)
        return int(numbers.group(1)), int(numbers.group(2))

    def samples(self, text):
        return int(re.match(r"Profile: (\d+) sample", text).group(1))

    def test_the_function_that_works_is_found_and_the_agent_is_not(self):
        self.s.evaluate(FIB + "(defun work () (values (fib 34)))")
        for mode in ("cpu", "time"):
            with self.subTest(mode):
                text = self.profile("(work)", mode=mode, sample_interval=0.002).text
                self.assertGreater(self.samples(text), 1)
                own, total = self.share(text, "FIB")
                self.assertEqual(self.samples(text), total)
                self.assertGreater(own, 0)
                for name in ("CL-MCP-AGENT", "SERVE", "EVALUATE-FORM", "SIMPLE-EVAL", "call_into_lisp"):
                    self.assertNotIn(name, text)
        self.assertAtRest()

    def test_deep_stacks_are_seen_from_both_ends(self):
        self.s.evaluate(FIB + "(defun deep (n) (if (zerop n) (fib 34) (1+ (deep (1- n)))))")
        text = self.profile("(deep 100)", sample_interval=0.002).text
        self.assertGreater(self.samples(text), 0)
        self.assertGreater(self.share(text, "DEEP")[1], 0)
        text = self.profile("(deep 5000)", sample_interval=0.002).text
        self.assertGreater(self.samples(text), 0)

    def test_waiting_is_seen_in_real_time_only(self):
        self.assertGreater(self.samples(self.profile("(sleep 0.1)", mode="time", sample_interval=0.005).text), 5)
        self.assertLess(self.samples(self.profile("(sleep 0.1)", mode="cpu", sample_interval=0.005).text), 3)

    def test_allocation_is_where_it_happens(self):
        self.s.evaluate("(defun conses (n) (let ((l nil)) (dotimes (i n l) (push i l)))) (defun both () (list (length (conses 500000))))")
        reply = self.s.call("profile-code", code="(both)", mode="alloc")
        self.assertEqual(self.share(reply.text, "CONSES")[1], self.samples(reply.text))
        self.assertGreater(self.samples(reply.text), 100)
        self.assertIn("\n=> (500000)", reply.text)
        self.assertAtRest()

    def test_an_error_while_sampling_can_be_entered_and_leaves_nothing_behind(self):
        for mode in ("cpu", "time", "alloc"):
            with self.subTest(mode):
                self.s.evaluate(FIB + "(defun half (x) (let ((h (/ x 2))) (fib 25) (list (car h))))")
                report = self.assertErrorReport(self.profile("(list (half 8))", mode=mode), "TYPE-ERROR")
                self.assertIn("(HALF 8)", report.text)
                self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(list x (length (sb-thread:list-all-threads)) sb-sprof::*profiling*)"), "(8 1 NIL)")
                self.assertAtRest()
                self.assertFails("(list (half 8))", "TYPE-ERROR")
                self.assertErrorReport(self.profile("(list (half 8))", mode=mode), "TYPE-ERROR")
                self.assertValue(self.s.call("invoke-restart", restart="RETRY", code="(defun half (x) (/ x 2))"), "(4)")
                self.assertAtRest()

    def test_time_limits_interrupt_and_the_work_goes_on(self):
        self.s.evaluate(FIB)
        for mode in ("cpu", "time", "alloc"):
            with self.subTest(mode):
                self.assertErrorReport(self.profile("(progn (print 1) (loop repeat 40 do (sleep 0.02)) :done)", mode=mode, timeout=0.3), "TIMEOUT")
                self.assertAtRest()
                self.assertValue(self.s.call("invoke-restart", restart="CONTINUE"), ":DONE")
                self.assertAtRest()

    def test_the_samples_until_a_stop_are_shown(self):
        report = self.profile("(loop)", mode="time", timeout=0.5)
        self.assertErrorReport(report, "TIMEOUT")
        self.assertRegex(report.text, r"^Profile until it was stopped: \d+ samples?\.\n +self +total +function\n(?s:.*)\(the form itself\)\n\n\[ERROR\]")

    def test_a_death_while_sampling_costs_that_evaluation_only(self):
        self.s.evaluate("(defvar *x* 1)")
        report = self.profile("(list (sb-ext:exit :code 3 :abort t))", mode="time")
        self.assertErrorReport(report, "PROCESS-EXITED")
        self.assertEvaluates("*x*", "1")
        self.assertAtRest()

    def test_a_profiler_of_the_programs_own_is_left_alone(self):
        self.s.evaluate("(sb-sprof:start-profiling :mode :cpu)")
        self.assertIsError(self.profile("(+ 1 2)"), "own profiler")
        self.assertEvaluates("(list sb-sprof::*profiling*)", "(:CPU)")
        self.s.evaluate("(sb-sprof:stop-profiling)")
        self.assertFalse(self.profile("(+ 1 2)").is_error)

    def test_other_threads_are_sampled_too(self):
        self.s.evaluate(FIB)
        text = self.profile("(sb-thread:join-thread (sb-thread:make-thread (lambda () (fib 34))))", sample_interval=0.002).text
        self.assertGreater(self.share(text, "FIB")[1], 0)
        self.assertAtRest()


class Tracing(Measuring):
    def trace(self, action, *functions, **named):
        return self.s.call("trace-functions", action=action, **(dict(named, functions=list(functions)) if functions else named)).text

    def lines(self, **named):
        return self.trace("report", **named).split("\n")[1:]

    def test_output_and_trace_do_not_mix(self):
        self.s.evaluate("(defun say (x) (format t \"~a~%\" x) (values x 2))")
        self.trace("start", "say")
        report = self.s.evaluate("(say :hello)")
        self.assertEqual("HELLO", report.stdout)
        self.assertEqual(["0: (SAY :HELLO)", "0: SAY => :HELLO, 2"], self.lines())

    def test_every_way_out_is_shown(self):
        self.s.evaluate("""(defun thrower () (throw 'out 1)) (defun failer () (error "no")) (defun nothing () (values))
            (defun handled () (handler-case (failer) (error () :caught))) (defun returner () (block nil (mapc (lambda (x) (return x)) '(1))))""")
        self.trace("start", "thrower", "failer", "nothing", "handled")
        self.s.evaluate("(catch 'out (thrower)) (nothing) (handled)")
        self.assertFails("(failer)", "SIMPLE-ERROR")
        self.assertEvaluates("1", "1")  # the error stood until now: only this leaves the function
        self.assertEqual(["0: (THROWER)", "0: THROWER exited without returning", "0: (NOTHING)", "0: NOTHING => no values", "0: (HANDLED)", "  1: (FAILER)",
                          "  1: FAILER exited without returning; signalled: SIMPLE-ERROR", "0: HANDLED => :CAUGHT", "0: (FAILER)",
                          "0: FAILER exited without returning; signalled: SIMPLE-ERROR"], self.lines())

    def test_an_error_in_a_traced_function_has_its_frames_and_can_be_resumed(self):
        self.s.evaluate("(defun inner (x) (list (car x))) (defun outer (x) (list (inner x)))")
        plain = self.assertFails("(outer 5)", "TYPE-ERROR").frames
        self.trace("start", "inner", "outer")
        self.assertEqual(plain, self.assertFails("(outer 5)", "TYPE-ERROR").frames)
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="x"), "5")
        self.assertValue(self.s.call("invoke-restart", restart="RETRY", code="(defun inner (x) x)"), "(5)")

    def test_arguments_are_recorded_as_they_were(self):
        self.s.evaluate("(defun spoil (l) (setf (car l) :spoilt) l)")
        self.trace("start", "spoil")
        self.s.evaluate("(spoil (list 1 2))")
        self.assertEqual(["0: (SPOIL (1 2))", "0: SPOIL => (:SPOILT 2)"], self.lines())

    def test_texts_that_fail_or_never_end_do_not_reach_the_program(self):
        self.s.evaluate("""(defclass bad () ()) (defmethod print-object ((o bad) s) (error "no text"))
            (defun take (x) (declare (ignore x)) :taken) (defvar *seen* nil)""")
        self.trace("start", "take")
        self.assertEvaluates("(handler-bind ((error (lambda (c) (push c *seen*)))) (handler-case (take (make-instance 'bad)) (error () :wrong)))", ":TAKEN")
        self.assertEvaluates("*seen*", "NIL")
        self.assertEqual(["0: (TAKE #<BAD: error printing it: SIMPLE-ERROR>)", "0: TAKE => :TAKEN"], self.lines())
        self.assertLess(max(len(line) for line in (self.s.evaluate("(take (make-list 100000 :initial-element (make-string 1000)))"), self.lines())[1]), 400)

    def test_a_redefinition_keeps_the_trace(self):
        self.s.evaluate("(defun f (x) x) (defgeneric g (x)) (defmethod g ((x integer)) x)")
        self.trace("start", "f", "g", "(setf f)")
        self.s.evaluate("(defun f (x) (* 2 x)) (defmethod g ((x integer)) (* 3 x))")
        self.assertEvaluates("(list (f 1) (g 1))", "(2 3)")
        self.assertEqual(["0: (F 1)", "0: F => 2", "0: (G 1)", "0: G => 3"], self.lines())
        self.trace("stop")
        self.assertEvaluates("(list (f 1) (g 1))", "(2 3)")
        self.assertEqual(4, len(self.lines()))

    def test_a_function_that_no_longer_exists_is_no_longer_traced(self):
        self.s.evaluate("(defun f (x) x)")
        self.trace("start", "f")
        self.s.evaluate("(fmakunbound 'f)")
        self.assertIn("Functions traced: 0", self.trace("list"))
        self.assertNotIn("ERROR", self.trace("stop"))

    def test_the_agent_is_never_traced(self):
        names = ["car", "cdr", "format", "read", "prin1", "write", "print-object", "eval", "gethash", "funcall", "apply", "make-instance", "length", "values-list",
                 "find-symbol", "symbol-name", "error", "signal", "compute-restarts", "write-string", "make-hash-table"]
        text = self.trace("start", *names)
        self.assertIn("Calls of standard functions", text)
        self.assertEvaluates("(+ 1 2)", "3")
        self.assertFails("(no-such-function 1)", "UNDEFINED-FUNCTION")
        for tool in ("list-definitions", "get-backtrace", "describe-last-error", "session-info"):
            self.assertFalse(self.s.call(tool).is_error)
        self.s.call("inspect-object", code="(list 1 2)")
        self.assertEqual([], [line for line in self.lines() if not re.search(r"\((ERROR|SIGNAL|COMPUTE-RESTARTS)\b|(ERROR|SIGNAL|RESTARTS) (=>|exited)", line)])
        self.s.evaluate("(defun f (l) (declare (notinline car)) (car l))")
        self.trace("clear")
        self.assertEvaluates("(f '(1))", "1")
        self.assertEqual(["0: (CAR (1))", "0: CAR => 1"], self.lines())
        self.assertIn("No longer traced", self.trace("stop"))

    def test_functions_that_the_tracer_is_made_of_do_not_recurse(self):
        names = ["sb-thread:main-thread", "sb-thread:main-thread-p", "sb-kernel:dynamic-usage", "sb-unix::clock-gettime", "sb-thread::call-with-recursive-lock",
                 "sb-thread:thread-name", "sb-mop:class-precedence-list", "sb-ext:get-bytes-consed", "sb-kernel:%make-lisp-obj", "sb-impl::output-ugly-object"]
        self.assertIn("Now traced", self.trace("start", *names))
        self.assertIn("Now profiled", self.s.call("profile-functions", action="start", functions=names).text)
        self.assertEvaluates("(sb-thread:join-thread (sb-thread:make-thread (lambda () (list 1 (funcall 'sb-thread:main-thread-p)))))", "(1 NIL)")
        self.assertEvaluates("(prin1-to-string '(1 2))", '"(1 2)"')
        self.assertIn("MAIN-THREAD-P", self.trace("report"))
        self.assertIn("MAIN-THREAD-P", self.s.call("profile-functions", action="report").text)
        self.assertOperational()

    def test_only_the_last_records_are_kept(self):
        self.s.evaluate("(defun f (x) x)")
        self.trace("start", "f")
        self.s.evaluate("(dotimes (i 3000) (f i))")
        text = self.trace("report", limit=2)
        self.assertEqual("Trace: the last 2 of 6,000 records, of which 2,000 are kept\n0: (F 2999)\n0: F => 2999", text)
        text = self.trace("report", limit=2000)
        self.assertIn("\n0: (F 2000)\n", text)
        self.assertNotIn("(F 1999)", text)

    def test_deep_recursion_is_traced_to_its_end(self):
        self.s.evaluate("(defun down (n) (if (zerop n) 0 (1+ (down (1- n)))))")
        self.trace("start", "down")
        self.assertEvaluates("(down 60)", "60")
        text = self.trace("report", limit=2000)
        self.assertIn(" 60: (DOWN 0)\n", text)
        report = self.assertFails("(down -1)")
        self.assertIn("STACK", report.error_type)
        self.assertOperational()

    def test_calls_in_threads_say_which(self):
        self.s.evaluate("(defun f (x) x)")
        self.trace("start", "f")
        self.s.evaluate("(sb-thread:join-thread (sb-thread:make-thread (lambda () (f 1)) :name \"worker\"))")
        self.assertEqual(["0: [worker] (F 1)", "0: [worker] F => 1"], self.lines())

    def test_a_roll_back_takes_trace_and_records_with_it(self):
        self.s.evaluate("(defun f (x) x)")
        self.s.call("checkpoint-session", name="before")
        self.trace("start", "f")
        self.s.evaluate("(f 1)")
        self.s.call("rollback-session", to="before")
        self.assertIn("Functions traced: 0", self.trace("list"))
        self.assertEqual("No calls were recorded.", self.trace("report"))

    def test_a_death_does_not_take_the_trace(self):
        self.s.evaluate("(defun f (x) x)")
        self.trace("start", "f")
        self.s.evaluate("(f 1)")
        self.s.evaluate("(sb-ext:exit :abort t)")
        self.s.evaluate("(f 2)")
        self.assertEqual(["0: (F 1)", "0: F => 1", "0: (F 2)", "0: F => 2"], self.lines())

    def test_looking_at_the_trace_changes_no_record_of_the_session(self):
        self.s.evaluate("(defun f (x) x)")
        self.trace("start", "f")
        self.assertFails("(car 5)", "TYPE-ERROR")
        before = [self.s.call(tool).text for tool in ("describe-last-error", "session-history")]
        self.trace("report")
        self.trace("list")
        self.s.call("profile-functions", action="report")
        self.s.call("profile-functions", action="status")
        self.s.call("memory-report", **{"gc-first": True})
        self.assertEqual(before, [self.s.call(tool).text for tool in ("describe-last-error", "session-history")])


class Breakpoints(Measuring):
    def setUp(self):
        super().setUp()
        self.s.evaluate("""(defun fact (n) (if (zerop n) 1 (* n (fact (1- n)))))
            (defun half (x &key (by 2) log) (list log) (float (/ x by))) (defun outer (x) (half x))
            (defgeneric area (x)) (defmethod area ((x integer)) (* x x)) (defmethod area ((x string)) (length x))
            (defmethod area :around ((x integer)) (list (call-next-method)))""")

    def trace(self, *functions, **named):
        reply = self.s.call("trace-functions", dict(named, action="start", functions=list(functions)))
        self.assertFalse(reply.is_error, reply.text)
        return reply.text

    def stops(self, code, message, frame=None):
        report = self.assertFails(code, "CL-MCP:BREAKPOINT")
        self.assertEqual("Breakpoint: " + message, report.message)
        if frame is not None:
            self.assertEqual(frame, report.frames[0])
        return report

    def go_on(self, **named):
        return self.s.call("invoke-restart", dict(dict(restart="CONTINUE"), **named))

    def frame(self, code, **named):
        return self.s.call("evaluate-in-frame", dict(named, frame=0, code=code))

    def records(self):
        return self.s.call("trace-functions", action="report").text.split("\n")[1:]

    def test_it_stops_where_the_condition_is_true_and_the_frame_is_that_of_the_call(self):
        self.trace("fact", condition="(= n 3)", **{"break": "call"})
        report = self.stops("(fact 5)", "(FACT 3) is called.", "(FACT 3)")
        self.assertEqual(["(FACT 3)", "(FACT 4)", "(FACT 5)", "(EVAL (FACT 5))"], report.frames)
        self.assertValue(self.frame("(list n (fact n))"), "(3 6)")  # what is asked there does not stop
        self.assertValue(self.go_on(), "120")

    def test_a_parameter_that_is_set_is_what_the_function_gets(self):
        self.trace("fact", condition="(= n 1)", **{"break": "call"})
        self.stops("(fact 3)", "(FACT 1) is called.")
        self.frame("(setf n 0)")
        self.assertValue(self.go_on(), "6")
        self.stops("(fact 3)", "(FACT 1) is called.")
        self.assertValue(self.s.call("return-from-frame", frame=0, value="(* 100 n)"), "600")
        self.stops("(fact 3)", "(FACT 1) is called.")
        self.assertValue(self.s.call("restart-frame", {"frame": 0, "arguments": "0"}), "6")

    def test_at_the_return_there_are_the_values_and_they_can_be_set(self):
        self.trace("half", condition="(< (first values) 1)", **{"break": "return"})
        self.stops("(list (half 4) (half 1 :log 9))", "(HALF 1 :LOG 9) returned 0.5.", "(HALF 1 :LOG 9)")
        text = self.s.call("get-backtrace", locals=True).text
        for line in ("VALUES = (0.5)", "X = 1", "LOG = 9", "BY = unavailable"):
            self.assertIn(line, text.replace("#<unavailable>", "unavailable"))
        self.assertNotIn("CL-MCP-AGENT", text)
        self.frame("(setf values '(42))")
        self.assertValue(self.go_on(), "(2.0 42)")
        self.assertEqual(["0: (HALF 1 :LOG 9) => 0.5"], self.records())

    def test_it_stops_there_no_more_after_a_restart(self):
        self.trace("fact", **{"break": "call"})
        self.stops("(fact 3)", "(FACT 3) is called.")
        self.assertValue(self.go_on(restart="GO-ON-FOR-GOOD"), "6")
        self.assertEvaluates("(fact 3)", "6")
        self.trace("fact", **{"break": "return"})
        self.stops("(fact 3)", "(FACT 0) returned 1.")
        self.assertValue(self.go_on(restart="GO-ON-FOR-GOOD"), "6")

    def test_only_while_another_function_runs(self):
        self.trace("half", **{"break": "call", "where-in": ["outer"]})
        self.assertEvaluates("(half 4)", "2.0")
        self.stops("(outer 4)", "(HALF 4) is called.")
        self.assertValue(self.go_on(), "2.0")
        self.s.call("trace-functions", action="stop")
        self.assertEvaluates("(outer 4)", "2.0")
        self.assertEvaluates("(sb-int:encapsulated-p 'outer 'cl-mcp-agent::running)", "NIL")

    def test_methods_of_a_generic_function(self):
        self.trace("area", methods=True, condition="(eql x 3)")
        self.assertEvaluates('(list (area 2) (area 3) (area "abc"))', "((4) (9) 3)")
        self.assertEqual(["0: ((METHOD AREA :AROUND (INTEGER)) 3)", "  1: ((METHOD AREA (INTEGER)) 3)",
                          "  1: (METHOD AREA (INTEGER)) => 9", "0: (METHOD AREA :AROUND (INTEGER)) => (9)"], self.records())
        self.trace("area", methods=True, **{"break": "call"})
        self.s.evaluate("(defmethod area ((x symbol)) x)")
        self.stops("(area 'a)", "((METHOD AREA (SYMBOL)) A) is called.", "((METHOD AREA (SYMBOL)) A)")
        self.assertValue(self.go_on(), "A")
        self.s.call("trace-functions", action="stop")
        self.assertEvaluates("(area 2)", "(4)")

    def test_the_condition_is_read_where_the_function_is(self):
        self.s.evaluate("(defpackage app (:use cl)) (in-package app) (defun f (total) (list total)) (in-package cl-user)")
        self.trace("app::f", condition="(> total 3)", **{"break": "call"})
        self.assertEvaluates("(app::f 3)", "(3)")
        self.stops("(app::f 4)", "(APP::F 4) is called.")

    def test_a_condition_that_fails_stops_and_is_reported(self):
        self.trace("fact", condition="(car n)", **{"break": "call"})
        report = self.assertFails("(handler-case (fact 3) (error () :handled))", "CL-MCP:BREAKPOINT")
        self.assertIn("Its condition failed: The value", report.message)
        self.assertIsError(self.s.call("trace-functions", action="start", functions=["half"], condition="(car x"), "is not complete")
        self.assertEvaluates("(handler-case (half 3) (error () :handled))", "1.5")

    def test_a_call_with_too_few_arguments_fails_as_without(self):
        self.trace("half", condition="(= x 1)", **{"break": "call"})
        self.assertFails("(funcall 'half)", "PROGRAM-ERROR")

    def test_a_function_that_is_defined_anew_with_other_parameters(self):
        self.trace("fact", condition="(eql n 3)", **{"break": "call"})
        self.s.evaluate("(defun fact (m n) (list m n))")
        self.stops("(fact 1 3)", "(FACT 1 3) is called.")
        self.assertValue(self.frame("(list m n)"), "(1 3)")

    def test_a_thread_of_the_program_stands_where_it_stops(self):
        self.trace("fact", **{"break": "call"})
        self.s.evaluate("(defvar *result* nil) (defvar *thread* (sb-thread:make-thread (lambda () (setf *result* (fact 0))) :name \"worker\"))")
        mcp.wait_until(lambda: "in thread worker: CL-MCP:BREAKPOINT: Breakpoint: (FACT 0) is called. (can be entered)" in self.s.call("list-errors").text,
                       10, "the stop in the thread")
        # Which reply tells of it depends on when the thread came there.
        self.assertEvaluates("1", "1")
        self.assertFalse(self.s.call("invoke-restart", index=1, restart="CONTINUE").is_error)
        self.assertEvaluates("(sb-thread:join-thread *thread*)", "1")


class Counting(Measuring):
    def counts(self):
        """{function: (self ms, total ms, calls, bytes)}"""
        text = self.s.call("profile-functions", action="report").text
        return {name: (float(own.replace(",", "")), float(total.replace(",", "")), int(calls.replace(",", "")), int(size.replace(",", "")))
                for own, total, calls, size, name in re.findall(r"(?m)^ *([\d,.]+) +([\d,.]+) +([\d,]+) +([\d,]+)  (.+)$", text)}

    def test_calls_time_and_bytes(self):
        self.s.evaluate(FIB + "(defun wait () (sleep 0.02)) (defun make () (make-array 100000)) (defun all () (wait) (make) (fib 10) nil)")
        self.s.call("profile-functions", action="start", functions=["fib", "wait", "make", "all"])
        self.s.evaluate("(dotimes (i 3) (all))")
        counts = self.counts()
        self.assertEqual({"FIB": 531, "WAIT": 3, "MAKE": 3, "ALL": 3}, {name: entry[2] for name, entry in counts.items()})
        self.assertGreaterEqual(counts["WAIT"][0], 60)
        # All the others run inside of ALL.
        self.assertAlmostEqual(counts["ALL"][1], sum(entry[0] for entry in counts.values()), delta=0.01)
        self.assertGreaterEqual(counts["MAKE"][3], 2400000)
        self.assertLess(counts["ALL"][3], 1000000)

    def test_a_call_left_by_an_error_is_counted_once(self):
        self.s.evaluate("(defun fails () (error \"no\")) (defun outer () (fails))")
        self.s.call("profile-functions", action="start", functions=["fails", "outer"])
        self.assertFails("(outer)", "SIMPLE-ERROR")
        self.s.evaluate("(ignore-errors (outer))")
        self.assertEqual({"FAILS": 2, "OUTER": 2}, {name: entry[2] for name, entry in self.counts().items()})

    def test_standard_functions_can_be_counted_and_traced_at_once(self):
        self.s.call("profile-functions", action="start", functions=["sort", "list-length"])
        self.s.call("trace-functions", action="start", functions=["list-length"])
        self.s.evaluate("(defun f (l) (list-length l))")
        self.assertEvaluates("(f '(1 2))", "2")
        self.assertEqual(1, self.counts()["LIST-LENGTH"][2])
        self.s.call("trace-functions", action="stop")
        self.assertEvaluates("(f '(1 2))", "2")
        self.assertEqual(2, self.counts()["LIST-LENGTH"][2])
        self.s.call("profile-functions", action="stop")
        self.assertEvaluates("(f '(1 2))", "2")
        self.assertEqual(2, self.counts()["LIST-LENGTH"][2])


class Memory(Measuring):
    def test_what_keeps_an_object_alive_is_found_by_code_and_by_handle(self):
        self.s.evaluate("""(defstruct node val next) (defvar *table* (make-hash-table :test 'equal)) (defvar *n* (make-node :next (make-node :val "deep")))
            (setf (gethash "k" *table*) (node-next *n*)) (defun closure (x) (lambda () x)) (defvar *c* (closure (node-next *n*))) (defvar *ran* 0)""")
        self.s.call("inspect-object", code="(node-next *n*)")
        for retained in ("(progn (incf *ran*) (node-next *n*))", "h1"):
            text = self.s.call("memory-report", retains=retained).text
            self.assertTrue(text.startswith("Kept by, the holder last:\n1. *"), text)
            for path in (r'\*N\* value -> #S\(NODE .*\) next', r"\*C\* value -> #<FUNCTION \(LAMBDA NIL :IN CLOSURE\) .*>", r'\*TABLE\* value -> #<HASH-TABLE .*> -> "k" \(key\)'):
                self.assertRegex(text, r"(?m)^\d\. %s$" % path)
        self.assertEqual("Nothing keeps it: it is garbage, or only the evaluated code refers to it.", self.s.call("memory-report", retains="(list 1 2)").text)
        self.assertIn("No object has the handle h77", self.s.call("memory-report", retains="h77").text)
        self.assertTrue(self.s.call("memory-report", retains="(car (length '(1)))").is_error)
        self.assertEvaluates("*ran*", "0")

    def test_a_thread_that_keeps_an_object_on_its_stack_is_named(self):
        self.s.evaluate("""(defstruct thing x) (defvar *kept* nil) (defvar *thread* (sb-thread:make-thread
            (lambda () (let ((thing (make-thing :x 5))) (setf *kept* (sb-ext:make-weak-pointer thing)) (loop (sleep 0.1) (print (thing-x thing) (make-broadcast-stream)))))
            :name "holder"))""")
        mcp.wait_until(lambda: "THING" in self.s.evaluate("*kept*").text, 20, "the thread")
        self.assertIn("the stack of the thread holder", self.s.call("memory-report", retains="(sb-ext:weak-pointer-value *kept*)").text)

    def test_objects_are_counted_by_type(self):
        self.s.evaluate("(defstruct thing a) (defvar *things* (loop repeat 12345 collect (make-thing)))")
        text = self.s.call("memory-report", **{"gc-first": True}).text
        self.assertRegex(text, r"(?m)^ +[\d,]+ +12,345  THING$")
        self.s.evaluate("(setf *things* nil * nil ** nil *** nil / nil // nil /// nil)")
        self.s.evaluate("1")
        text = self.s.call("memory-report", **{"gc-first": True}).text
        self.assertNotIn("12,345  THING", text)

    def test_a_full_heap_is_looked_at_without_harm(self):
        self.s.evaluate("(defvar *l* (make-list 5000000))", timeout=60)
        text = self.s.call("memory-report").text
        self.assertRegex(text, r"(?m)^ +[\d,]+ +5,0\d\d,\d\d\d  CONS$")
        self.assertOperational()
