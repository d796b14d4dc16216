"""A pool of threads (lparallel): its workers fail, are entered and repaired, and the session survives what befalls it beside them."""

import re

import mcp

# Each worker is at work before any of them fails.
POOL = """(defvar *gate* (sb-thread:make-semaphore))
(defvar *begun* (sb-thread:make-semaphore))
(setf lparallel:*kernel* (lparallel:make-kernel 3 :name "pool"))
(defvar *channel* (lparallel:make-channel))
(defun work (x) (restart-case (error "bad ~a" x) (use-value (v) v)))
(defun submit (function &rest arguments)
  (lparallel:submit-task *channel* (lambda () (sb-thread:signal-semaphore *begun*) (sb-thread:wait-on-semaphore *gate*)
                                     (apply function arguments))))
(defun results (count) (sort (loop repeat count collect (lparallel:receive-result *channel*)) #'<))"""


class Pools(mcp.TestCase):
    options = ("--max-heap", "512", "--thread-errors", "5")

    def setUp(self):
        super().setUp()
        self.assertSucceeds(self.s.call("load-system", system="lparallel"))
        self.s.evaluate("(defvar *data* (list 1 2 3))")
        self.assertFalse(self.s.evaluate(POOL).is_error)

    def submit(self, *forms):
        """Tasks that run until they fail, which no evaluation waits for."""
        for form in forms:
            self.s.evaluate("(submit %s)" % form)
        self.assertEvaluates("(loop repeat %d do (sb-thread:wait-on-semaphore *begun*))" % len(forms), "NIL")
        self.assertEvaluates("(progn (sb-thread:signal-semaphore *gate* %d) t)" % len(forms), "T")

    def errors(self, pattern, count):
        """The numbers of the errors that match, when there are as many, asked of list-errors alone."""
        def found():
            lines = re.findall(r"(?m)^(\d+)\. \S+ in thread pool: .*(?:%s).*$" % pattern, self.s.call("list-errors").text)
            return [int(index) for index in lines] if len(lines) == count else None
        return mcp.wait_until(found, 20, "%d errors: %s" % (count, pattern))

    def end(self):
        self.assertEvaluates("(progn (lparallel:end-kernel :wait t) t)", "T")
        # lparallel does not wait for the worker that replaced one that failed.
        mcp.wait_until(lambda: " pool:" not in self.s.call("list-threads").text, 10, "the end of the pool's threads")

    def test_equal_errors_are_announced_once_with_a_number_and_what_to_set(self):
        self.s.call("configure-limits", thread_errors=0)
        report = self.s.evaluate("(let ((c (lparallel:make-channel))) (dotimes (i 3) (lparallel:submit-task c (lambda () (error \"same\")))) (lparallel:receive-result c))")
        self.assertErrorReport(report, "LPARALLEL.KERNEL:TASK-KILLED-ERROR")
        self.assertIn("With (setf lparallel:*debug-tasks-p* nil) it is signalled here.", report.hint)
        self.s.evaluate("(defun alike (n) (sb-thread:wait-on-semaphore *gate*) (error \"alike\") n)")
        self.s.evaluate("(defvar *three* (loop for i below 3 collect (let ((i i)) (sb-thread:make-thread (lambda () (alike i)) :name \"three\"))))")
        text = self.s.evaluate("(progn (sb-thread:signal-semaphore *gate* 3) (loop while (some #'sb-thread:thread-alive-p *three*) do (sleep 0.01)))").text
        self.assertRegex(text, r"(?m)^In thread three and 2 more \(error \d+\): SIMPLE-ERROR: alike\n  0: \(ALIKE .*\)$")
        index = re.search(r"\(error (\d+)\): SIMPLE-ERROR: alike", text)[1]
        self.assertIn("alike", self.s.call("list-errors").text.split("\n%s. " % index)[1].split("\n")[0])
        self.end()

    def test_errors_of_workers_are_entered_and_repaired_and_the_tasks_end_with_that(self):
        self.submit("'work 1", "'work 2", "'work 3")
        for index in self.errors("bad .*can be entered", 3):
            frame = self.s.call("get-backtrace", index=index, locals=True).text
            x = int(re.search(r"X = (\d)", frame).group(1))
            self.assertValue(self.s.call("evaluate-in-frame", index=index, frame=0, code="(* 10 x)"), str(10 * x))
            reply = self.s.call("invoke-restart", index=index, restart="USE-VALUE", value=str(100 * x))
            self.assertFalse(reply.is_error, reply.text)
        self.assertEvaluates("(results 3)", "(100 200 300)")
        # The pool is as good as new: what is defined again counts.
        self.s.evaluate("(defun work (x) (* x x))")
        self.assertEvaluates("(lparallel:pmap 'list #'work *data*)", "(1 4 9)")
        self.end()
        self.assertFalse(self.s.call("checkpoint-session", name="without").is_error)

    def test_an_error_that_is_transferred_comes_out_of_the_evaluation_that_waits(self):
        self.s.call("configure-limits", **{"thread-errors": 0})
        code = "(lparallel:task-handler-bind ((error (lambda (c) (invoke-restart 'lparallel:transfer-error c)))) (lparallel:pmap 'list #'work *data*))"
        self.assertErrorReport(self.s.evaluate(code), "SIMPLE-ERROR")
        self.s.call("invoke-restart", restart="ABORT")
        # One that nobody handles ends its worker, which the pool replaces.
        self.assertErrorReport(self.s.evaluate("(lparallel:pmap 'list #'work *data*)"), "TASK-KILLED-ERROR")
        self.s.call("invoke-restart", restart="ABORT")
        self.assertEvaluates("(lparallel:pmap 'list #'1+ *data*)", "(2 3 4)")
        self.end()

    def test_a_full_heap_in_a_worker_and_beside_the_pool_costs_neither(self):
        fill = "(lambda () (let ((all '())) (loop (push (make-array 1000000) all))))"
        self.submit(fill)
        index = self.errors("HEAP-EXHAUSTED", 1)[0]
        self.assertIn("HEAP-EXHAUSTED", self.s.call("describe-last-error", index=index).text)
        self.assertSucceeds(self.s.call("invoke-restart", index=index, restart="TRANSFER-ERROR"))
        self.assertErrorReport(self.s.evaluate("(results 1)"), "HEAP-EXHAUSTED")
        self.s.call("invoke-restart", restart="ABORT")
        self.assertErrorReport(self.s.evaluate("(funcall %s)" % fill), "HEAP-EXHAUSTED")
        self.s.call("invoke-restart", restart="ABORT")
        self.assertEvaluates("(lparallel:pmap 'list #'1+ *data*)", "(2 3 4)")
        self.end()

    def test_after_the_process_is_killed_beside_a_pool_the_reply_names_it_and_a_new_one_works(self):
        pid = int(self.s.evaluate("(sb-posix:getpid)").value)
        self.s.evaluate("(submit (lambda () (sleep 1000)))")
        pending = self.s.start_call("evaluate-lisp", code="(progn (sb-thread:wait-on-semaphore *begun*) (sb-posix:kill (sb-posix:getpid) 9) (results 1))")
        report = self.assertErrorReport(pending.reply(), "PROCESS-KILLED")
        self.assertIn("so it cannot be copied: pool (3 times)", report.session)
        self.assertNotEqual(pid, int(self.s.evaluate("(sb-posix:getpid)").value))
        self.assertEvaluates("*data*", "(1 2 3)")
        # lparallel does not wait for the worker that replaced one that failed.
        mcp.wait_until(lambda: " pool:" not in self.s.call("list-threads").text, 10, "the end of the pool's threads")
        self.s.evaluate('(setf lparallel:*kernel* (lparallel:make-kernel 3 :name "pool"))')
        self.assertEvaluates("(lparallel:pmap 'list #'1+ *data*)", "(2 3 4)")
        self.end()
