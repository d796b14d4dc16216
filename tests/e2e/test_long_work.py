"""Evaluations that take longer than their calls wait: they go on, are looked at, cancelled, and fetched."""

import os
import re
import shutil
import tempfile

import mcp

CONTINUES = "It continues without this call."


class LongWork(mcp.SessionTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def call(self, tool, **arguments):
        """With an argument called wait, which the client has a meaning of its own for."""
        return self.s.start_call(tool, arguments).reply()

    def gate(self):
        """Lisp that waits, and the function that ends the waiting."""
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), "gate")  # one each: a reader would meet the last writer's end
        os.mkfifo(path)

        def opened():
            try:
                return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return None  # nobody reads yet

        def release():
            descriptor = mcp.wait_until(opened, 20, "an evaluation at the gate")
            os.write(descriptor, b"x")
            os.close(descriptor)

        return '(with-open-file (gate "%s") (read-char gate))' % path, release

    def test_a_call_returns_when_it_has_waited_and_its_evaluation_continues(self):
        gate, release = self.gate()
        text, is_error = self.call("evaluate-lisp", code='(progn (format t "begun~%%") (finish-output) %s :done)' % gate, wait=0)
        self.assertFalse(is_error)
        self.assertIn(CONTINUES, text)
        text = self.call("evaluation-status", wait=60).text
        self.assertIn("Evaluation 1 is running", text)
        self.assertIn("[stdout]\nbegun", text)
        self.assertNotIn("[stdout]", self.call("evaluation-status").text, "it was shown already")
        release()
        text = self.call("evaluation-status", evaluation=1, wait=60).text
        self.assertRegex(text, r"^Evaluation 1 has ended after [\d.]+ s\.\n\n\[stdout\]\nbegun\n\n=> :DONE$")
        self.assertEqual(text, self.call("evaluation-status").text, "it can be fetched again")

    def test_a_call_that_is_over_in_time_is_answered_as_always(self):
        self.assertEqual("=> 3", self.call("evaluate-lisp", code="(+ 1 2)", wait=60).text)
        self.assertIn("no result", self.call("evaluation-status").text)

    def test_the_next_reply_of_the_session_says_that_it_has_ended(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code=gate, wait=0)
        after = self.s.start_call("evaluate-lisp", {"code": ":after"})
        release()
        self.assertIn("Evaluation 1 has ended", after.reply().text)
        self.assertNotIn("has ended", self.s.evaluate(":later").text)

    def test_a_result_that_was_fetched_is_not_announced(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code=gate, wait=0)
        release()
        self.call("evaluation-status", wait=60)
        self.assertEqual("=> :LATER", self.s.evaluate(":later").text)

    def test_where_it_is_when_the_call_returns_and_later(self):
        path = os.path.join(self.folder, "go")
        self.s.evaluate('(defun inner (x) (list x (loop until (probe-file "%s") do (sleep 0.01)))) (defun outer (y) (list (inner y)))' % path)
        frames = r"\n\[Backtrace\]\n(\d+: .*\n)*\d+: \(INNER %d\)\n\d+: \(OUTER %d\)\n"
        for number in (5, 6):
            reply = self.call("evaluate-lisp", code="(outer %d)" % number, wait=0.4)
            self.assertRegex(reply.text, frames % (number, number))
            self.assertIn(CONTINUES, reply.text)
            self.assertRegex(self.call("evaluation-status").text, frames % (number, number))
            self.assertRegex(self.call("evaluation-status", wait=0.5).text, frames % (number, number))
            open(path, "w").close()
            self.assertNotIn("[Backtrace]", self.call("evaluation-status", wait=60).text)
            os.remove(path)
            # Once more in a session with threads, where a thread answers.
            self.s.evaluate("(defvar *beside* (sb-thread:make-thread (lambda () (sleep 600))))")

    def test_code_that_does_not_react_does_not_delay_the_reply(self):
        code = "(sb-sys:without-interrupts (let ((end (+ (get-internal-real-time) (* 4 internal-time-units-per-second)))) (loop until (> (get-internal-real-time) end)) :done))"
        self.s.evaluate("nil")  # or the wait includes the start of the process, and frames are asked for after a second of work
        reply = self.call("evaluate-lisp", code=code, wait=1.5)
        self.assertIn("[Backtrace]\n(not known: the process did not react at once)", reply.text)
        self.assertIn("=> :DONE", self.call("evaluation-status", wait=60).text)
        self.assertEqual("=> 3", self.s.evaluate("(+ 1 2)").text)

    def test_status_waits_for_output(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code="(defun two () %s (print :first) (finish-output) %s)" % (gate, gate))
        self.call("evaluate-lisp", code="(two)", wait=0)
        status = self.s.start_call("evaluation-status", {"wait": 3000})
        release()
        self.assertIn(":FIRST", status.reply().text)
        release()
        self.assertIn("has ended", self.call("evaluation-status", wait=60).text)

    def read_until(self, part):
        """What evaluation-status tells until the output has this part."""
        texts = []

        def has_come():
            texts.append(self.call("evaluation-status").text)
            return part in "".join(texts).partition("[stdout]")[2]

        mcp.wait_until(has_come, 30, part)
        return "\n".join(texts)

    def test_the_end_of_output_whose_middle_is_not_kept_is_shown(self):
        self.s.call("configure-limits", max_output=3000000)
        gate, release = self.gate()
        code = "(progn (dotimes (i 80) (write-string (make-string 100000 :initial-element #\\x))) (format t \"~%%the end\") (finish-output) %s)" % gate
        call = self.s.start_call("evaluate-lisp", {"code": code})
        mcp.wait_until(lambda: "is running" in self.call("evaluation-status").text, 20, "its begin")
        self.assertRegex(self.read_until("\nthe end"), r"\[stdout\]\n\[… 6,\d{3},\d{3} bytes before this …\]\nx{1000}")
        release()
        self.assertIn("\nthe end", call.reply().text)

    def test_output_is_shown_in_whole_characters(self):
        self.s.call("configure-limits", max_output=1001)
        gates, releases = zip(*(self.gate() for _ in range(3)))
        self.s.evaluate("(defvar *raw* (sb-sys:make-fd-stream 1 :output t :element-type '(unsigned-byte 8) :buffering :full))"
                        "(defun put (&rest octets) (write-sequence octets *raw*) (finish-output *raw*))")  # all in one write
        code = ("(progn (put 99 97 102 #xC3) %s (put #xA9 33) %s"
                " (write-string (make-string 2000 :initial-element #\\é)) (write-string \"the end.\") (finish-output) %s)") % gates
        self.call("evaluate-lisp", code=code, wait=0)
        end = r"\[… 3,00[068] bytes before this …\]\né{496,501}(the end\.|\n)"  # it may come in two pieces
        for release, part, shown in zip(releases, ("caf", "é!", "the end."), (r"\[stdout\]\ncaf(\n|$)", r"\[stdout\]\né!(\n|$)", end)):
            text = self.read_until(part)
            self.assertRegex(text, shown)
            self.assertNotIn("\ufffd", text)
            release()

    def test_below_the_frames_of_a_library_the_programs_own_is_shown(self):
        path = os.path.join(self.folder, "own.lisp")
        mcp.write(path, '(defun own-search () (loop (cl-ppcre:create-scanner "((((((((a|b)c|d)e|f)g|h)i|j)k|l)m|n)o|p)*")))')
        self.s.evaluate('(progn (asdf:load-system "cl-ppcre") (load "%s"))' % path)
        self.call("evaluate-lisp", code="(list (own-search))", wait=0)
        frame = r"\n\.\.\.\n\d+: \(OWN-SEARCH\) at \S*own\.lisp:1(\n|$)"
        # The sources are read first, and a busy machine does not do that at once.
        mcp.wait_until(lambda: re.search(frame, self.call("evaluation-status").text), 20, "the program's own frame")

    def test_an_evaluation_keeps_its_time_limit(self):
        self.call("evaluate-lisp", code="(loop)", wait=0, timeout=0.5)
        text, is_error = self.call("evaluation-status", wait=60)
        self.assertTrue(is_error)
        self.assertIn("[ERROR] TIMEOUT", text)

    def test_it_can_have_no_time_limit(self):
        self.s.call("configure-limits", timeout=0.2)
        self.assertIn("(no time limit)", self.call("evaluate-lisp", code="(loop)", wait=1, timeout=0).text)
        self.assertIn("evaluation-status reports", self.call("cancel-evaluation", evaluation=1).text)
        self.assertIn("[ERROR] CANCELLED", self.call("evaluation-status", wait=60).text)

    def test_a_waiting_one_reports_behind_what_and_can_be_cancelled(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code=gate, wait=0)
        text = self.call("evaluate-lisp", code="(list :second)", wait=0).text
        self.assertIn("Evaluation 2 is waiting for its turn", text)
        self.assertIn("behind evaluation 1: (with-open-file", text)
        self.assertNotIn("other call", text)
        text = self.call("evaluate-lisp", code="(list :third)", wait=0).text
        self.assertRegex(text, r"behind evaluation 1: \(with-open-file .* and 1 other call;")
        self.assertIn("(list :second)", self.call("list-evaluations").text)
        self.assertIn("Stopping: (list :second)", self.call("cancel-evaluation", evaluation=2).text)
        self.assertIn("cancelled before it began", self.call("evaluation-status", evaluation=2).text)
        release()
        self.assertIn("has ended", self.call("evaluation-status", evaluation=1, wait=60).text)

    def test_what_waits_behind_one_without_a_limit_is_answered_at_the_session_s(self):
        self.s.evaluate("(defvar *done* nil)")
        self.s.call("configure-limits", timeout=1)
        gate, release = self.gate()
        running = self.s.start_call("evaluate-lisp", {"code": gate, "timeout": 0})
        waiting = [self.s.start_call(tool, {"code": code}) for tool, code in (
            ("evaluate-lisp", "(progn (setf *done* :first) 42)"), ("measure-code", "(setf *done* :second)"), ("inspect-object", "(identity *done*)"))]
        for number, call in enumerate(waiting, 3):
            text = call.reply(wait=5).text
            self.assertRegex(text, r"\AEvaluation %d is waiting for its turn.*\nWaiting: behind evaluation 2: \(with-open-file" % number)
            self.assertIn(CONTINUES, text)
        unlimited = self.s.start_call("evaluate-lisp", {"code": ":last", "timeout": 0})
        release()
        self.assertFalse(running.reply().is_error)
        self.assertIn("=> 42", self.call("evaluation-status", evaluation=3, wait=60).text)
        self.assertValue(unlimited.reply(), ":LAST")
        self.assertIn(":SECOND\nKind: symbol", self.call("evaluation-status", evaluation=5, wait=60).text)

    def test_what_waits_behind_one_with_a_limit_is_not_answered_early(self):
        self.s.evaluate("1")
        self.s.call("configure-limits", timeout=0.5)
        running = self.s.start_call("evaluate-lisp", {"code": "(loop)", "timeout": 2})
        self.assertValue(self.s.start_call("evaluate-lisp", {"code": "42"}).reply(), "42")
        self.assertErrorReport(running.reply(), "TIMEOUT")

    def test_the_output_of_the_running_one_is_not_given_to_one_that_is_cancelled(self):
        gate, release = self.gate()
        running = self.s.start_call("evaluate-lisp", {"code": '(progn (princ "mine") (finish-output) %s :first)' % gate})
        mcp.wait_until(lambda: "mine" in self.call("evaluation-status").text or "running" in self.s.call("session-info").text, 10, "it")
        waiting = self.s.start_call("evaluate-lisp", {"code": "(+ 1 2)"})
        mcp.wait_until(lambda: "Stopping" in self.call("cancel-evaluation", evaluation=2).text, 10, "the other")
        self.assertNotIn("mine", waiting.reply().text)
        release()
        self.assertIn("mine", running.reply().text)

    def test_the_number_of_one_that_was_cancelled_is_not_given_again(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code=gate, wait=0)
        self.assertIn("Evaluation 2", self.call("evaluate-lisp", code="(list :second)", wait=0).text)
        self.call("cancel-evaluation", evaluation=2)
        release()
        self.call("evaluation-status", evaluation=1, wait=60)
        self.assertRegex(self.call("evaluate-lisp", code="(list :third)", wait=0).text, "^Evaluation 3 ")
        self.call("evaluation-status", evaluation=3, wait=60)
        self.assertIn("cancelled before it began", self.call("evaluation-status", evaluation=2).text)
        self.assertIn("Evaluations: 2\n", self.s.call("session-info").text, "it does not count")
        self.assertRegex(self.s.call("session-history").text, r"^Session default: 2 evaluations\n")
        self.s.call("reset-session")
        self.assertIn("no result", self.call("evaluation-status").text, "1 and 3 are those of a state that is gone")
        self.assertRegex(self.call("evaluate-lisp", code="(list :first)", wait=0).text, "^Evaluation 1 ")

    def test_what_waits_behind_early_answers_is_bounded(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code=gate, wait=0, timeout=0)
        large = "#|%s|# 1" % ("x" * 8000000)
        for _ in range(8):
            self.assertIn(CONTINUES, self.call("evaluate-lisp", code=large, wait=0).text)
        text, is_error = self.call("evaluate-lisp", code=large, wait=0)
        self.assertTrue(is_error)
        self.assertIn("Too many evaluations wait: what was sent for them takes 128 MiB", text)
        self.assertIn("Evaluation 10 ", self.call("evaluate-lisp", code=":small", wait=0).text)
        self.assertEqual(10, len(self.s.call("list-evaluations").text.strip().splitlines()))
        release()
        self.assertIn("=> :SMALL", self.call("evaluation-status", evaluation=10, wait=60).text)
        self.assertIn(CONTINUES, self.call("evaluate-lisp", code=large + gate, wait=0).text)
        release()
        self.assertIn("=> #\\x", self.call("evaluation-status", evaluation=11, wait=60).text)

    def test_a_waiting_one_is_answered_at_its_own_limit_and_never_runs(self):
        first = self.s.start_call("evaluate-lisp", code="(defvar *ran* nil) (loop)", timeout=0)
        second = self.s.start_call("evaluate-lisp", code="(setf *ran* t)", timeout=0.5)
        third = self.s.start_call("evaluate-lisp", code="*ran*")
        report = self.assertErrorReport(second.reply(), "TIMEOUT")
        self.assertRegex(report.message, r"^The evaluation did not begin within its time limit of 0.5 s and was taken out of the queue; "
                                         r"nothing of it ran. It waited behind evaluation 1: \(defvar \*ran\* nil\) \(loop\) \(running for \d+ s\); "
                                         r"cancel-evaluation stops that, and other sessions are free\.$")
        self.s.call("cancel-evaluation")
        self.assertErrorReport(first.reply(), "CANCELLED")
        self.assertValue(third.reply(), "NIL")
        self.assertIn("cannot be entered: It never ran.", self.s.call("list-errors").text)

    def test_a_waiting_one_reports_behind_what_as_progress(self):
        gate, release = self.gate()
        self.call("evaluate-lisp", code=gate, wait=0)
        second = self.s.start_call("evaluate-lisp", {"code": ":second"}, {"progressToken": "p"})
        note = self.s.wait_for_notification(lambda m: m["method"] == "notifications/progress", 20)
        message = note["params"]["message"]
        self.assertIn("waiting; behind evaluation 1: (with-open-file", message)
        release()
        self.assertRegex(second.reply().text, r"This evaluation waited \d+ s for its turn, behind evaluation 1")

    def test_a_client_that_gives_up_soon_can_finish_long_work(self):
        """As Codex does after 60 s, with shorter times: the client asks again until the work is done, and gives up no call."""
        gate, release = self.gate()
        path = os.path.join(self.folder, "long.lisp")
        mcp.write(path, "(progn %s (print :loaded))" % gate)
        for tool, arguments, end in (
            ("evaluate-lisp", {"code": "(progn %s :done)" % gate}, "=> :DONE"),
            ("load-file", {"path": path}, ":LOADED"),
            ("time-execution", {"code": "(progn %s :timed)" % gate, "runs": 1}, ":TIMED"),
        ):
            with self.subTest(tool=tool):
                text = self.s.start_call(tool, dict(arguments, wait=0.2, timeout=0)).reply(20).text
                number = int(re.search(r"evaluation: (\d+)\)", text).group(1))
                for _ in range(5):
                    text = self.s.start_call("evaluation-status", {"evaluation": number, "wait": 0.2}).reply(20).text
                    self.assertIn("Evaluation %d is " % number, text)
                release()
                while "has ended" not in text:
                    text = self.s.start_call("evaluation-status", {"evaluation": number, "wait": 0.2}).reply(20).text
                self.assertIn(end, text)

    def test_the_death_of_the_process_is_its_result(self):
        self.call("evaluate-lisp", code="(defvar *kept* 5)")
        self.call("evaluate-lisp", code="(progn (sleep 0.1) (sb-ext:exit :code 3 :abort t))", wait=0)
        self.assertIn("exited with code 3", self.call("evaluation-status", wait=60).text)
        self.assertEqual("=> 5", self.s.evaluate("*kept*").text)

    def test_a_closed_session_ends_it(self):
        self.call("evaluate-lisp", code="(loop)", wait=0, timeout=0)
        status = self.s.start_call("evaluation-status", {"wait": 3000})
        self.call("close-session", session="default")
        self.assertIn("The session was closed.", status.reply().text)

    def test_results_are_kept_until_newer_ones_drop_them(self):
        for i in range(33):
            self.call("evaluate-lisp", code="(sleep 0.01)", wait=0)
        self.call("evaluation-status", evaluation=33, wait=60)
        self.assertIn("no result of it is kept", self.call("evaluation-status", evaluation=1).text)
        self.assertIn("has ended", self.call("evaluation-status", evaluation=2).text)

    def test_other_tools_take_it(self):
        for tool, arguments in (("time-execution", {"code": "(loop)"}), ("profile-code", {"code": "(loop)"})):
            self.assertIn(CONTINUES, self.call(tool, wait=0.2, **arguments).text)
            self.call("cancel-evaluation")
            self.assertIn("CANCELLED", self.call("evaluation-status", wait=60).text)
        path = os.path.join(self.folder, "slow.lisp")
        mcp.write(path, "(sleep 1)")
        self.assertIn(CONTINUES, self.call("load-file", path=path, wait=0.2).text)
        self.assertIn("has ended", self.call("evaluation-status", wait=60).text)

    def test_a_restart_takes_it_where_the_error_stands_and_in_a_copy(self):
        gate, release = self.gate()
        for is_copy in (False, True):
            with self.subTest(is_copy=is_copy):
                self.s.evaluate('(progn (cerror "go" "stop") (print :begun) (finish-output) %s :after)' % gate)
                if is_copy:
                    self.s.evaluate(":between")
                text = self.call("invoke-restart", restart="CONTINUE", wait=0.2, timeout=0).text
                self.assertIn(CONTINUES, text)
                number = int(re.search(r"evaluation: (\d+)\)", text).group(1))
                self.assertIn("Evaluation %d is " % number, self.call("evaluation-status").text)
                release()
                mcp.wait_until(lambda: "=> :AFTER" in self.call("evaluation-status", evaluation=number, wait=1).text, 60, "the end")
                self.assertEqual("=> 3", self.s.evaluate("(+ 1 2)").text)


class Samples(mcp.TestCase):
    """Where code is found, it is in the function that runs, even where that has called a routine of SBCL's without a frame.
    MOD calls TRUNCATE or, in newer releases, FLOOR, which have frames."""

    def begin(self):
        self.s.evaluate("(progn (defun spin (n) (let ((x 0)) (loop (setf x (mod (+ x n) 1000003))))) (defun outer (n) (list (spin n))))")

    def test_at_a_time_limit(self):
        self.begin()
        for _ in range(20):
            frames = self.s.evaluate("(outer 7)", timeout=0.05).frames
            self.assertEqual(["(SPIN 7)", "(OUTER 7)", "(EVAL (OUTER 7))"], [frame for frame in frames if not re.search("TRUNCATE|FLOOR", frame)])

    def test_in_another_thread_however_often_it_is_asked(self):
        self.begin()
        self.s.evaluate('(defvar *spinner* (sb-thread:make-thread (lambda () (outer 7)) :name "spinner"))')
        mcp.wait_until(lambda: "(SPIN 7)" in self.s.call("get-backtrace", thread="spinner").text, 10, "the thread to begin")
        for _ in range(600):
            text = self.s.call("get-backtrace", thread="spinner").text
            frames = [frame for frame in mcp.frames_in(text) if not re.search("TRUNCATE|FLOOR", frame)]
            self.assertEqual(["(SPIN 7)", "(OUTER 7)"], frames, text)


class EndOfInput(mcp.TestCase):
    """The client closes its end while something runs that was to have no time limit."""

    def begin(self, *options):
        server = self.start_server(*options)
        first = server.start_call("evaluate-lisp", {"code": "(progn (print :begun) (finish-output) (loop))", "timeout": 0})
        mcp.wait_until(lambda: ":BEGUN" in server.call("evaluation-status").text, 20, "the evaluation to begin")
        return server, first

    def test_the_limit_of_the_session_counts_then_and_all_calls_are_answered(self):
        server, first = self.begin("--timeout", "1")
        second = server.start_call("evaluate-lisp", {"code": "(loop)", "timeout": 0})
        reset = server.start_call("reset-session", {})
        server.close()
        self.assertIn("[ERROR] TIMEOUT", first.reply().text)
        self.assertIn("[ERROR] TIMEOUT", second.reply().text)
        self.assertFalse(reset.reply().is_error)

    def test_one_that_continues_without_its_call_is_dropped(self):
        server = self.start_server()
        self.assertIn(CONTINUES, server.start_call("evaluate-lisp", {"code": "(loop)", "timeout": 0, "wait": 0}).reply().text)
        server.close()


class Input(mcp.TestCase):
    def test_the_argument_stdin_is_read_in_place_of_a_person(self):
        for code, text, value in (
            ("(list (read-line) (read))", "first line\n(second 2)", '("first line" (SECOND 2))'),
            ('(y-or-n-p "Go on?")', "y\n", "T"),
            ('(list (yes-or-no-p "Sure?") (read-line *query-io*))', "no\nwhy\n", '(NIL "why")'),
            ("(let ((x 1)) (handler-bind ((error (lambda (c) (declare (ignore c)) (invoke-restart-interactively 'store-value)))) (check-type x string)) x)",
             '"stored"\n', '"stored"'),
        ):
            with self.subTest(code):
                self.assertIn("=> " + value, self.s.call("evaluate-lisp", code=code, stdin=text).text)

    def test_it_is_for_one_evaluation(self):
        self.s.call("evaluate-lisp", code="(read-line)", stdin="a\nb\n")
        for code in ("(read-line)", "(read)", '(y-or-n-p "?")', "(read-char *query-io*)", "(read *debug-io*)", "(read *terminal-io*)"):
            with self.subTest(code):
                self.assertEqual("END-OF-FILE", self.s.evaluate(code).error_type)
        self.assertIn("Pass the text to be read as the argument stdin", self.s.evaluate("(read-line)").text)


class Tasks(mcp.TestCase):
    """The extension io.modelcontextprotocol/tasks, with the tools of the product."""

    DECLARED = {mcp.VERSION_KEY: mcp.MODERN, mcp.CAPABILITIES_KEY: {"extensions": {"io.modelcontextprotocol/tasks": {}}}}

    def setUp(self):
        super().setUp()
        self.modern = self.start_server(era=mcp.MODERN)

    def ask(self, method, **params):
        return self.modern.request(method, dict(params, _meta=self.DECLARED))

    def evaluate(self, code, **arguments):
        return self.ask("tools/call", name="evaluate-lisp", arguments=dict(arguments, code=code))

    def get(self, task):
        return self.ask("tasks/get", taskId=task["taskId"])

    def end_of(self, task):
        return mcp.wait_until(lambda: (lambda now: now["status"] != "working" and now)(self.get(task)), 60, "the end of the task")

    def test_a_short_call_is_not_a_task(self):
        result = self.evaluate("(+ 1 2)")
        self.assertEqual(("complete", "=> 3"), (result["resultType"], result["content"][0]["text"]))

    def test_a_long_call_is_answered_with_a_task(self):
        task = self.evaluate("(progn (sleep 5) :done)")
        self.assertEqual(("task", "working"), (task["resultType"], task["status"]))
        mcp.wait_until(lambda: "statusMessage" in self.get(task), 20, "what it does")
        end = self.end_of(task)
        self.assertEqual(("completed", False), (end["status"], end["result"]["isError"]))
        self.assertEqual("=> :DONE", end["result"]["content"][0]["text"])
        self.assertEqual(end["result"], self.get(task)["result"], "it can be fetched again")

    def test_an_error_of_the_program_is_a_result(self):
        end = self.end_of(self.evaluate("(sleep 600)", timeout=4))
        self.assertEqual(("completed", True), (end["status"], end["result"]["isError"]))
        self.assertIn("[ERROR] TIMEOUT", end["result"]["content"][0]["text"])

    def test_a_cancelled_task_stops_its_evaluation(self):
        task = self.evaluate("(sleep 600)", timeout=0)
        self.assertEqual("complete", self.ask("tasks/cancel", taskId=task["taskId"])["resultType"])
        self.assertEqual("cancelled", self.get(task)["status"])
        self.assertEqual("=> 5", self.evaluate("(+ 2 3)")["content"][0]["text"].split("\n")[0])

    def test_a_closed_session_ends_its_tasks(self):
        task = self.evaluate("(sleep 600)", timeout=0)
        self.ask("tools/call", name="close-session", arguments={"session": "default"})
        self.assertIn("The session was closed.", self.get(task)["result"]["content"][0]["text"])

    def test_after_a_restart_a_task_is_unknown(self):
        options = ("--persist", "--state-dir", self.folder())
        self.modern = self.start_server(*options, era=mcp.MODERN)
        task = self.evaluate("(sleep 600)", timeout=60)
        self.modern.close()
        self.modern = self.start_server(*options, era=mcp.MODERN)
        with self.assertRaises(mcp.RpcError) as unknown:
            self.get(task)
        self.assertIn("A task and its evaluation end with the server's process", str(unknown.exception))

    def test_a_client_that_did_not_declare_it_gets_none(self):
        self.modern.call("create-session", name="other")
        undeclared = self.modern.start("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(sleep 4)", "session": "other"}})
        task = self.evaluate("(sleep 600)", timeout=0)
        self.assertEqual("complete", undeclared.result()["resultType"])
        with self.assertRaises(mcp.RpcError) as refused:
            self.modern.request("tasks/get", {"taskId": task["taskId"]})
        self.assertEqual(-32021, refused.exception.code)
        self.ask("tasks/cancel", taskId=task["taskId"])


class LookUps(mcp.SessionTest):
    """Look-ups do not wait for the evaluation that runs."""

    def setUp(self):
        super().setUp()
        self.go = os.path.join(self.folder(), "go")

    options = ("--tools", "full")
    MOMENT = r"^\(Evaluation %d has been running for [\d.]+ s; this is from that moment\.\)\n"

    def begin(self, code):
        """Start an evaluation that is not to end by itself; its pending reply, once it has printed."""
        call = self.s.start_call("evaluate-lisp", {"code": "(progn (write-line \"begun\") (finish-output) %s)" % code, "timeout": 0})
        mcp.wait_until(lambda: "begun" in self.s.call("evaluation-status").text, 20, "the evaluation to begin")
        return call

    def cancelled(self, call):
        self.s.call("cancel-evaluation")
        reply = call.reply()
        self.assertIn("[ERROR] CANCELLED", reply.text)
        return reply

    def seen(self, tool, evaluation, **arguments):
        reply = self.s.call(tool, arguments)
        self.assertRegex(reply.text, self.MOMENT % evaluation)
        self.assertFalse(reply.is_error, reply.text)
        return reply.text

    def test_they_are_answered_while_code_runs(self):
        self.s.evaluate("(defmacro twice (x) `(list ,x ,x))")
        self.s.call("inspect-object", code="(vector 1 (list 2 3))")
        call = self.begin("(progn (defun seen (a) a) (setf *print-base* 3) (loop))")
        self.assertIn("Arguments: (A)", self.seen("describe-symbol", 3, name="seen"))
        self.assertIn("SEEN", self.seen("apropos-search", 3, pattern="seen"))
        self.assertIn("(list a a)", self.seen("macroexpand-form", 3, form="(twice a)"))
        self.assertIn("evaluation 1", self.seen("find-definition", 3, name="twice"))
        self.assertIn("No calls of SEEN", self.seen("who-calls", 3, name="seen"))
        text = self.seen("inspect-object", 3, handle="h1", path="[1]")
        self.assertIn("3", text)
        self.assertIn("The handles in this reply are not kept; h1 with a path shows a part.", text)
        text = self.seen("inspect-object", 3, code="*PRINT-base*")
        self.assertIn("Kind: integer\n", text)
        self.assertIn("; *PRINT-base* with a path shows a part.", text)
        reply = self.s.call("inspect-object", code="none-such")
        self.assertIn("none-such has no value yet, or is not a variable: it can be evaluated when what runs has ended.", reply.text)
        self.assertNotIn("(Evaluation", self.s.call("list-checkpoints").text)
        self.cancelled(call)
        self.assertNotIn("(Evaluation", self.s.call("describe-symbol", name="seen").text)

    def test_the_backtrace_of_what_runs_has_its_variables(self):
        self.s.evaluate('(error "before")')
        self.s.evaluate("(defun spin (depth) (declare (optimize debug)) (write-line \"begun\") (finish-output) (loop (unless depth (return))))")
        call = self.begin("(spin 21)")
        text = self.seen("get-backtrace", 3, locals=True)
        self.assertRegex(text, r"0: \(SPIN 21\)\n     in \(BLOCK SPIN .*\n     DEPTH = 21\n1: ")
        self.assertNotIn("DEPTH =", self.seen("get-backtrace", 3))
        self.assertIn("ERROR", self.s.call("get-backtrace", index=1).text)
        self.cancelled(call)

    def test_a_look_up_leaves_nothing_in_the_evaluation(self):
        self.s.evaluate("(defclass loud () ()) (defvar *loud* (make-instance 'loud)) (defvar *printed* 0)"
                        "(defmethod print-object ((o loud) s) (incf *printed*) (format t \"noise\") (princ \"#loud\" s))")
        call = self.begin('(loop until (probe-file "%s") finally (return *printed*))' % self.go)
        self.assertIn("#loud", self.seen("describe-symbol", 2, name="*loud*"))
        open(self.go, "w").close()
        reply = call.reply()
        self.assertIn("=> 0", reply.text)
        self.assertNotIn("noise", reply.text)

    def test_a_look_up_that_never_ends_or_kills_is_answered(self):
        self.s.evaluate("(defclass odd () ()) (defvar *odd* (make-instance 'odd)) (defvar *how* :loop)"
                        "(defmethod print-object ((o odd) s) (case *how* (:loop (sb-sys:without-interrupts (loop))) (:error (error \"no\")) (:exit (sb-ext:exit :code 3 :abort t))))")
        call = self.begin("(progn (setf *how* :exit) (loop until (eq *how* :never) do (sleep 0.01)))")
        self.assertIn("The running code continues.", self.s.call("describe-symbol", name="*odd*").text)
        self.cancelled(call)
        call = self.begin("(progn (setf *how* :error) (handler-case (loop until (eq *how* :never) do (sleep 0.01)) (error () :caught)))")
        self.assertIn("#<ODD: error printing it: SIMPLE-ERROR: no, in (METHOD PRINT-OBJECT (ODD T))>", self.seen("describe-symbol", 3, name="*odd*"))
        self.cancelled(call)
        call = self.begin("(progn (setf *how* :loop) (loop until (eq *how* :never) do (sleep 0.01)))")
        self.assertIn("longer than its time limit", self.s.call("describe-symbol", name="*odd*").text)
        self.cancelled(call)

    def test_a_look_up_that_is_impossible_is_refused_with_the_reason(self):
        call = self.begin('(sb-sys:without-interrupts (loop until (probe-file "%s")))' % self.go)
        for _ in range(2):
            text, is_error = self.s.call("describe-symbol", name="car")
            self.assertTrue(is_error)
            self.assertIn("without-interrupts", text)
            self.assertIn("The running code continues.", text)
        open(self.go, "w").close()
        self.assertIn("=> NIL", call.reply().text)
        self.assertIn("CAR", self.s.call("describe-symbol", name="car").text)
        self.assertValue(self.s.evaluate("(+ 1 2)"), "3")

    def test_a_thread_answers_in_a_session_with_threads(self):
        self.s.evaluate("(defvar *other* (sb-thread:make-thread (lambda () (sleep 1000)) :name \"other\"))")
        call = self.begin("(progn (defun seen (a) a) (loop))")
        self.assertIn("Arguments: (A)", self.seen("describe-symbol", 2, name="seen"))
        self.assertIn("(EVAL", self.seen("get-backtrace", 2))
        # The evaluation can begin before that thread has come to its call of SLEEP.
        mcp.wait_until(lambda: "other: sleeping" in self.seen("list-threads", 2), 20, "the other thread to sleep")
        self.assertNotIn("look-up", self.seen("list-threads", 2))
        self.assertIn("(if a", self.seen("macroexpand-form", 2, form="(when a b)"))
        self.cancelled(call)
        self.assertValue(self.s.evaluate("(+ 1 2)"), "3")

    def test_after_the_early_answer_of_a_call_they_do_not_wait(self):
        def at_once():
            self.s.start_call("evaluate-lisp", {"code": "(loop)", "wait": 0, "timeout": 0}).reply()
            text = self.s.call("describe-symbol", name="car").text
            self.s.call("cancel-evaluation")
            return re.match(r"\(Evaluation \d+ has been running for 0\.0 s;", text)
        mcp.wait_until(at_once, 30, "a look-up in the first tenth of a second")

    def test_they_are_answered_wherever_the_code_is(self):
        self.s.evaluate("(defclass slow () ()) (defvar *slow* (make-instance 'slow)) (defmacro waiting (x) `(list ,x))"
                        '(defun wait-here () (loop until (probe-file "%s") do (sleep 0.01)))'
                        "(defmethod print-object ((o slow) s) (wait-here) (princ :printed s))" % self.go)
        places = {
            "foreign": '(loop until (probe-file "%s") do (sb-alien:alien-funcall (sb-alien:extern-alien "usleep" (function sb-alien:int sb-alien:int)) 500000))' % self.go,
            "print-object": "(prin1-to-string *slow*)",
            "compiler": "(funcall (compile nil '(lambda () (macrolet ((m () (wait-here) 1)) (m)))))",
            "handler": '(handler-bind ((warning (lambda (c) (wait-here) (muffle-warning c)))) (warn "now"))',
            "cleanup": "(unwind-protect 1 (wait-here))",
        }
        for threads in (False, True):
            if threads:
                self.s.evaluate("(defvar *beside* (sb-thread:make-thread (lambda () (sleep 600))))")
            for place, code in places.items():
                with self.subTest(place=place, threads=threads):
                    number = int(re.search(r"Evaluations: (\d+)", self.s.call("session-info").text).group(1)) + 1
                    call = self.begin(code)
                    self.assertIn("LIST", self.seen("describe-symbol", number, name="car"))
                    self.assertIn("WAIT-HERE", self.seen("apropos-search", number, pattern="wait-here"))
                    self.assertIn("(ITEM", self.seen("describe-symbol", number, name="find"))
                    if not threads:
                        self.assertIn("(list 1)", self.seen("macroexpand-form", number, form="(waiting 1)"))
                    text = self.seen("get-backtrace", number, locals=True)
                    if place == "print-object":
                        self.assertIn("((METHOD PRINT-OBJECT (SLOW T)) #<...>", text, "the method that waits is not called")
                    open(self.go, "w").close()
                    self.assertFalse(call.reply().is_error)
                    os.remove(self.go)

    def test_a_collection_delays_or_refuses_them(self):
        call = self.begin('(loop until (probe-file "%s") do (sb-ext:gc :full t))' % self.go)
        for _ in range(20):
            text = self.s.call("describe-symbol", name="car").text
            self.assertRegex(text, r"\(Evaluation 1 has been running for|The running code continues\.")
        open(self.go, "w").close()
        self.assertIn("=> NIL", call.reply().text)

    def test_they_survive_the_end_of_what_runs(self):
        for code in ("(sb-ext:exit :code 3 :abort t)", "(sb-sys:int-sap 0)", '(error "end")'):
            call = self.s.start_call("evaluate-lisp", {"code": "(progn (sleep 0.2) %s)" % code})
            looks = [self.s.start_call("describe-symbol", {"name": "car"}) for _ in range(6)]
            for look in looks:
                self.assertIn("CAR", look.reply().text)
            call.reply()

    def test_a_cancelled_or_abandoned_look_up_disturbs_nothing(self):
        call = self.begin("(loop)")
        for _ in range(10):
            look = self.s.start_call("describe-symbol", {"name": "car"})
            self.s.notify("notifications/cancelled", {"requestId": look.id})
        self.seen("describe-symbol", 1, name="car")
        self.s.start_call("describe-symbol", {"name": "car"})
        self.s.call("close-session", session="default")
        self.assertIn("The session was closed.", call.reply().text)
        self.assertIn("CAR", self.s.call("describe-symbol", name="car").text)


class Together(mcp.TestCase):
    """Ten evaluations go on in ten sessions while everything else comes in at random: nothing is lost, everything is answered."""

    options = ("--tools", "full")
    SESSIONS, STEPS = 10, 150

    def begin(self, name):
        """Start an evaluation of this session that continues until it is told to end."""
        run = self.runs[name] = self.runs.get(name, 0) + 1
        code = '(progn (defparameter *run* %d) (loop until (probe-file "%s") do (sleep 0.01)) (list :%s *run*))' % (run, self.go, name)
        text = self.s.start_call("evaluate-lisp", {"code": code, "session": name, "timeout": 0, "wait": 0}).reply().text
        self.numbers[name] = int(re.search(r"Evaluation (\d+) ", text).group(1))

    def end_of(self, name, number):
        return self.s.start_call("evaluation-status", {"evaluation": number, "session": name, "wait": 60}).reply(90).text

    def look(self, name):
        text = self.s.call("describe-symbol", name="*mine*", session=name).text
        self.assertRegex(text, r"^\(Evaluation %d has been running" % self.numbers[name])
        self.assertIn("Value: :%s" % name.upper(), text)

    def frames(self, name):
        def seen():
            text = self.s.call("get-backtrace", session=name).text
            self.assertRegex(text, r"^\(Evaluation %d " % self.numbers[name])
            return "(EVAL (PROGN" in text  # it may not have reached its code yet
        mcp.wait_until(seen, 20, "frames of the code")

    def status(self, name):
        self.assertRegex(self.s.call("evaluation-status", session=name).text, "^Evaluation %d is (running|about to begin)" % self.numbers[name])

    def listing(self, name):
        text = self.s.call("list-evaluations").text
        self.assertEqual(self.SESSIONS, len(re.findall(r"Evaluation \d+ is (?:running|about to begin).*\*run\*", text)), text)

    def cancel(self, name):
        number = self.numbers[name]
        self.s.call("cancel-evaluation", session=name)
        self.assertIn("CANCELLED", self.end_of(name, number))
        self.begin(name)

    def drop_look(self, name):
        look = self.s.start_call("describe-symbol", {"name": "*mine*", "session": name})
        self.s.notify("notifications/cancelled", {"requestId": look.id})

    def drop_waiting(self, name):
        call = self.s.start_call("evaluate-lisp", {"code": ":never", "session": name})
        self.s.notify("notifications/cancelled", {"requestId": call.id})

    def test_nothing_is_lost(self):
        chance = self.random()
        self.go = os.path.join(self.folder(), "go")
        self.runs, self.numbers = {}, {}
        names = ["s%d" % i for i in range(self.SESSIONS)]
        for name in names:
            self.s.call("create-session", name=name)
            self.s.call("evaluate-lisp", code="(defvar *mine* :%s)" % name, session=name)
            self.begin(name)
        steps = (self.look, self.look, self.frames, self.status, self.listing, self.cancel, self.drop_look, self.drop_waiting)
        for _ in range(self.STEPS):
            chance.choice(steps)(chance.choice(names))
        open(self.go, "w").close()
        for name in names:
            self.assertIn("=> (:%s %d)" % (name.upper(), self.runs[name]), self.end_of(name, self.numbers[name]))
            self.assertIn("=> %d" % self.runs[name], self.s.call("evaluate-lisp", code="*run*", session=name).text)
