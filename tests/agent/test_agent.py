"""Tests of the agent, spoken to as the server does.

    [CL_MCP_SBCL=sbcl] python3 tests/e2e/run_one.py tests/agent/test_agent.py

Each test is named as a statement. CL_MCP_TEST_STRETCH stretches every limit on a slow machine.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agent_driver as driver  # noqa: E402

CORE = os.environ.get("CL_MCP_AGENT_CORE")
SBCL = os.environ.get("CL_MCP_SBCL", "sbcl")


def start():
    return driver.start(CORE, SBCL)


def write(path, text=""):
    """Write the text, and the directories that the file is in. Returns its path."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def alive(pid):
    """True if the process exists and has not ended, reaped or not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class AgentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.zygote = start()
        assert cls.zygote.ask("warm").status == "ok"

    @classmethod
    def tearDownClass(cls):
        driver.close_everything()

    def setUp(self):
        self.session = self.zygote.fork()

    def tearDown(self):
        for process in list(driver.Process.everything):
            if process is not self.zygote:
                process.close()

    def ok(self, code, **arguments):
        reply = self.session.evaluate(code, **arguments)
        self.assertEqual(reply.status, "ok", reply)
        return reply

    def values(self, code, *expected, **arguments):
        self.assertEqual(self.ok(code, **arguments).lists("values"), list(expected))

    def fails(self, code, type=None, message=None, **arguments):
        reply = self.session.evaluate(code, **arguments)
        self.assertEqual(reply.status, "error", reply)
        if type:
            self.assertEqual(reply.type, type, reply)
        if message:
            self.assertIn(message, reply.message)
        self.assertEqual(self.session.ask("abort").status, "ok")
        return reply

    def frames(self, reply):
        return [frame[0] for frame in reply.lists("frames")]

    def folder(self):
        """A directory that is removed after the test."""
        path = tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, path)
        return path

    def file_with(self, text):
        return write(os.path.join(self.folder(), "code.lisp"), text)

    def interrupted(self, code, begun=False):
        """Evaluate and interrupt. BEGUN: CODE prints "begun" when it has been read and compiled."""
        identifier, token = self.session.start_evaluation(code)
        if begun:
            self.session.await_output(b"begun")
        self.session.await_work()
        self.session.interrupt(token)
        reply = self.session.answer(identifier)
        if reply.status == "error":
            self.assertEqual(self.session.ask("abort").status, "ok")
        self.values("(+ 1 2)", "3")
        return reply


class Processes(AgentTest):
    def test_hello_says_who_it_is(self):
        hello = self.session.hello
        self.assertEqual(hello.implementation, "SBCL")
        self.assertEqual(hello.pid, self.session.pid)
        self.assertIn("fork", hello.features)

    def test_a_copy_is_a_child_of_the_server(self):
        with open(f"/proc/{self.session.pid}/stat") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        self.assertEqual(parent, os.getpid())

    def test_a_copy_ends_when_its_channel_closes(self):
        self.assertEqual(self.session.close(), 0)

    def test_a_copy_has_one_thread(self):
        self.assertEqual(len(os.listdir(f"/proc/{self.session.pid}/task")), 1)

    def test_the_finalizer_thread_never_comes_back(self):
        self.ok("(sb-ext:gc :full t)")
        self.assertEqual(len(os.listdir(f"/proc/{self.session.pid}/task")), 1)

    def test_finalizers_run_all_the_same(self):
        self.ok("(defvar *ran* nil)"
                "(defun make () (sb-ext:finalize (make-array 10) (lambda () (setf *ran* t))) nil)"
                "(dotimes (i 20) (make))")
        self.ok("(sb-ext:gc :full t)")
        self.values("*ran*", "T")

    def test_a_copy_is_independent(self):
        self.ok("(defvar *x* 1)")
        copy = self.session.fork(with_pipes=False)
        self.ok("(setf *x* 2)")
        self.assertEqual(copy.evaluate("*x*").values, ["1"])
        self.values("*x*", "2")

    def test_a_copy_made_in_an_error_stays_in_it(self):
        self.assertEqual(self.session.evaluate("(car 42)").status, "error")
        copy = self.session.fork(with_pipes=False)
        self.assertEqual(self.session.ask("abort").status, "ok")
        frames = copy.ask("frames", locals=True)
        self.assertEqual(frames.frames[0][0], "(CAR 42)")
        self.assertEqual(copy.ask("abort").status, "ok")
        self.assertEqual(copy.evaluate("1").values, ["1"])

    def test_a_session_with_threads_refuses_to_be_copied(self):
        self.ok("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 60))))")
        reply = self.session.fork()
        self.assertEqual(reply.status, "refused")
        self.ok("(sb-thread:terminate-thread *thread*)"
                "(ignore-errors (sb-thread:join-thread *thread*))")
        self.assertIsInstance(self.session.fork(), driver.Process)

    def test_copies_can_make_threads_that_interrupt_the_main_one(self):
        self.values("(let ((main sb-thread:*current-thread*))"
                    "  (sb-thread:make-thread (lambda () (sleep 0.05)"
                    "    (sb-thread:interrupt-thread main (lambda () (throw 'out 42)))))"
                    "  (catch 'out (sleep 10)))", "42")

    # Look-ups while an operation runs

    LOOP = '(progn (defun seen () 1) (format t "on") (let ((n 0)) (loop (incf n) (when (fboundp (quote stop)) (return n)))))'

    def begin(self, code, printed=b"on"):
        """Start an evaluation that prints when it has come to where it is to be looked at."""
        identifier, token = self.session.start_evaluation(code)
        self.session.await_output(printed)
        self.session.stdout = b""
        return identifier, token

    def stop(self, identifier, token):
        self.session.interrupt(token)
        self.assertEqual("interrupt", self.session.answer(identifier).kind)
        self.assertEqual(self.session.ask("abort").status, "ok")
        self.values("(+ 1 2)", "3")

    def test_a_look_up_waits_until_interrupts_are_allowed(self):
        running = self.begin('(sb-sys:without-interrupts (format t "on") (loop repeat 300000000))')
        look = self.session.look(running[1], "describe-symbol", name="car")
        self.assertEqual(self.session.answer(running[0]).status, "ok")
        self.assertIn("CAR", look.reply().text, "it is answered afterwards")
        self.values("(+ 1 2)", "3")

    def test_a_look_up_at_no_running_operation_is_answered_as_well(self):
        self.assertIn("CAR", self.session.look(99, "describe-symbol", name="car").reply().text)
        self.assertEqual("idle", self.session.look(99, "running-frames").reply().outcome)

    def ask(self, code, *answers):
        """The reply to what reads these answers."""
        identifier, token = self.session.start_evaluation(code, asks=True)
        for answer in answers:
            self.session.give(token, self.session.question(token), answer)
        return self.session.answer(identifier)

    def test_missing_input_is_asked_for(self):
        self.assertEqual(['("one" "two" FOO)'], self.ask("(list (read-line) (read-line *query-io*) (read))", "one", "two", "foo").values)
        self.assertEqual(['("a" "b" "")'], self.ask("(list (read-line) (read-line) (read-line))", "a\nb\n").values)
        reply = self.ask('(yes-or-no-p "Really?")', "perhaps", "yes")
        self.assertEqual(["T"], reply.values)
        self.assertIn("Really? (yes or no)", reply.stdout)
        self.assertEqual(["(#\\x #\\x NIL #\\y)"], self.ask(
            "(list (peek-char) (read-char) (progn (clear-input) (listen)) (read-char))", "xz", "y").values)
        self.assertEqual(["1000000"], self.ask("(length (read-line))", "\u00fc" * 1000000).values)
        self.assertEqual(["NIL"], self.ask("(read-char-no-hang)").values)

    def test_a_refused_question_ends_the_input(self):
        self.assertEqual(['("a" :END :END)'], self.ask("(list (read-line) (read-line nil nil :end) (read-line nil nil :end))", "a", None).values)
        reply = self.ask("(read-line)", None)
        self.assertIn("END-OF-FILE", reply.type)
        self.assertIn("There is no terminal.", reply.hint)
        self.assertEqual(self.session.ask("abort").status, "ok")
        self.assertEqual(["100"], self.ask("(loop while (read-line nil nil) count t)", *["x"] * 100).values)

    def test_input_is_asked_for_only_if_the_request_allows_it(self):
        self.assertIn("END-OF-FILE", self.session.run("(read-line)").type)
        self.assertEqual(['"given"'], self.session.run("(values (read-line))", asks=True, stdin="given").values)
        self.assertEqual(["1"], self.ask("(progn (defvar *kept* *standard-input*) 1)").values)
        self.assertEqual(["NIL"], self.session.run("(values (read-line *kept* nil))").values)

    def test_a_copy_and_a_look_up_are_possible_while_a_question_waits(self):
        identifier, token = self.session.start_evaluation("(defvar *seen* (read-line))", asks=True)
        channel, theirs = driver.socket.socketpair()
        fork = self.session.send("fork", descriptors=[theirs.fileno()], silent=True)
        theirs.close()
        question = self.session.question(token)
        self.assertIn("CAR", self.session.look(token, "describe-symbol", name="car").reply().text)
        self.session.give(token, question + 1, "to no question")
        self.session.give(token, question, "yes")
        self.assertEqual(["*SEEN*"], self.session.answer(identifier).values)
        copy = self.session.answer(fork)
        self.assertEqual("ok", copy.status)
        channel.close()
        self.values("*seen*", '"yes"')

    def test_a_session_with_threads_asks_too(self):
        self.ok("(defvar *other* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.assertEqual(['"mine"'], self.ask("(values (read-line))", "mine").values)
        identifier, token = self.session.start_evaluation("(list (read-line nil nil) 2)", asks=True)
        self.session.question(token)
        self.session.interrupt(token)
        reply = self.session.answer(identifier)
        self.assertEqual("interrupt", reply.kind)
        reply = self.session.ask("invoke-restart", restart="CONTINUE", standing=reply.standing)
        self.assertEqual(["(NIL 2)"], reply.values)

    def test_a_request_for_a_copy_before_a_look_up_is_kept(self):
        running = self.begin(self.LOOP)
        channel, theirs = driver.socket.socketpair()
        fork = self.session.send("fork", descriptors=[theirs.fileno()])
        theirs.close()
        self.assertIn("SEEN", self.session.look(running[1], "describe-symbol", name="seen").reply().text)
        self.session.interrupt(running[1])
        self.assertEqual(self.session.answer(running[0]).kind, "interrupt")
        reply = self.session.answer(fork)
        self.assertEqual("ok", reply.status)
        channel.close()
        driver.reap(reply.pid, 5)

    def test_handlers_and_cleanup_of_the_running_code_do_not_run_in_the_copy(self):
        path = os.path.join(self.folder(), "mark")
        self.ok("(defclass odd () ()) (defvar *odd* (make-instance 'odd)) "
                "(defmethod print-object ((o odd) stream) (throw 'out 1))")
        running = self.begin(
            "(catch 'out (handler-bind ((error (lambda (c) c (throw 'out 2)))) (unwind-protect "
            "(let ((mine *odd*)) (format t \"on\") (loop (when (null mine) (return mine)))) "
            f'(with-open-file (s "{path}" :direction :output :if-exists :append :if-does-not-exist :create) (print 1 s)))))')
        for _ in range(3):
            try:
                self.session.look(running[1], "running-frames", locals=True).reply()
            except (AssertionError, ConnectionResetError):
                pass  # the copy ended instead
            self.session.look(running[1], "describe-symbol", name="*odd*")
        self.assertFalse(os.path.exists(path), "cleanup forms ran in a copy")
        self.stop(*running)

    def test_an_error_of_a_look_up_is_reported_to_it_in_cleanup_forms_too(self):
        self.assertEqual(self.session.evaluate("(unwind-protect (error \"first\") (unwind-protect (error \"second\")"
                                               " (format t \"on\") (finish-output) (loop)))").status, "error")
        aborting = self.session.send("abort", token=77)
        self.session.await_output(b"on")
        self.assertEqual("look", self.session.look(77, "macroexpand", code="#.(error \"look\")").reply().message)
        self.session.interrupt(77)
        self.assertEqual("second", self.session.answer(aborting).message)

    def test_frames_are_printed_past_errors_where_a_form_is_read(self):
        self.ok("(defvar *other* (sb-thread:make-thread (lambda () (sleep 1000))))"
                "(defclass bad () ()) (defmethod print-object ((o bad) s) (error \"bad\"))"
                "(defun read-slowly (bad) (format t \"on\") (loop until (fboundp 'stop)) (list bad))")
        identifier, token = self.begin("(length '#.(read-slowly (make-instance 'bad)))")
        frames = self.session.look(token, "running-frames", locals=True).reply().lists("frames")
        self.assertRegex(frames[0][0], r"\(READ-SLOWLY #<.*error printing.*>\)")
        self.session.interrupt(token)
        reply = self.session.answer(identifier)
        self.assertEqual((reply.kind, reply.inbox), ("interrupt", None))

    def test_a_thread_that_answers_without_end_is_ended(self):
        self.ok("(defvar *other* (sb-thread:make-thread (lambda () (sleep 1000))))"
                "(defclass slow () ()) (defvar *slow* (make-instance 'slow))"
                "(defmethod print-object ((o slow) stream) (format t \"printing\") (loop))")
        running = self.begin('(progn (format t "on") (loop))')
        look = self.session.look(running[1], "describe-symbol", name="*slow*")
        self.session.await_output(b"printing")
        self.session.interrupt(look.identifier)
        with self.assertRaises((AssertionError, IndexError)):
            look.reply()
        self.session.interrupt(running[1])
        self.assertEqual("interrupt", self.session.answer(running[0]).kind)

    def test_every_process_ends_with_the_server(self):
        # A busy one, too: it does not look at its channel.
        program = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                   "import agent_driver as driver, os, time\n"
                   f"zygote = driver.start({CORE!r}, {SBCL!r})\n"
                   "one, two = zygote.fork(), zygote.fork()\n"
                   "two.start_evaluation('(loop)'); two.await_work()\n"
                   "print(zygote.pid, one.pid, two.pid, flush=True)\n"
                   "os.kill(os.getpid(), 9)\n")
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        pids = [int(pid) for pid in result.stdout.split()]
        self.assertEqual(len(pids), 3, result.stderr)
        end = time.monotonic() + 5
        while time.monotonic() < end and any(alive(pid) for pid in pids):
            time.sleep(0.01)
        self.assertEqual([pid for pid in pids if alive(pid)], [])

    def test_an_unknown_operation_is_refused(self):
        self.assertEqual(self.session.ask("make-coffee").status, "refused")
        self.assertEqual(self.session.ask("evaluate", code="1", unheard_of=[1, "x"]).status, "ok")

    def test_messages_may_arrive_in_pieces_and_together(self):
        first = b'0000001a(7 :evaluate :code "(+ 1 2)")'
        first = b"%08x" % (len(first) - 8) + first[8:]
        self.session.channel.sendall(first[:5])
        self.session.await_taken()
        self.session.channel.sendall(first[5:20])
        self.session.await_taken()
        self.session.channel.sendall(first[20:] + first + first)
        for _ in range(3):
            self.assertEqual(self.session.receive().values, ["3"])

    def test_timers_run_between_requests(self):
        self.ok("(defvar *rang* nil)"
                # While the request lasts, it waits for the end: what is printed there belongs to the reply.
                "(sb-ext:schedule-timer (sb-ext:make-timer (lambda ()"
                "  (unless (or cl-mcp-agent::*id* *rang*) (setf *rang* t) (princ :rang) (finish-output)))) 0.02 :repeat-interval 0.02)")
        self.session.await_output(b"RANG")
        self.values("*rang*", "T")


class Evaluation(AgentTest):
    def test_forms_are_read_one_at_a_time(self):
        reply = self.ok("(defpackage :app (:use :cl)) (in-package :app) (defun f () 'here) (f)")
        self.assertEqual((reply.values, reply.package), (["HERE"], "APP"))
        self.values("(f)", "HERE")
        self.assertEqual(self.ok("(in-package :cl-user)").package, "CL-USER")

    def test_a_package_argument_holds_for_one_call(self):
        self.ok("(defpackage :app (:use :cl))")
        reply = self.ok("(defun g () 1) (package-name *package*)", package="APP")
        self.assertEqual((reply.values, reply.package), (['"APP"'], "CL-USER"))
        self.values("(app::g)", "1")
        reply = self.fails("1", "PACKAGE-ERROR", 'Package "APQ" not found.',
                           package="APQ")
        self.assertIn("PACKAGE-ERROR", reply.classes)
        self.assertIn("APP", reply.hint)

    def test_the_history_variables_work(self):
        self.ok("(+ 1 2)")
        self.ok("(values 10 20)")
        self.values("(list * ** / // +)", "(10 3 (10 20) (3) (VALUES 10 20))")
        self.values("-", "-")

    def test_forms_are_read_even_if_the_program_has_had_them_skipped(self):
        self.ok("(setf *read-suppress* t)")
        self.values("(+ 1 2)", "3")

    def test_settings_of_the_user_last_and_do_not_touch_results(self):
        self.ok("(setf *print-base* 16 *print-case* :downcase *print-length* 1)")
        reply = self.ok("(progn (princ 255) (list 255 'abc 1 2 3))")
        self.assertEqual((reply.stdout, reply.values), ("FF", ["(255 ABC 1 2 3)"]))
        self.ok("(setf *readtable* (copy-readtable)) (setf (readtable-case *readtable*) :preserve)")
        self.ok("(CL:SETF (CL:READTABLE-CASE CL:*READTABLE*) :UPCASE)")
        self.values("(list 'a)", "(A)")

    def test_long_values_are_cut(self):
        reply = self.ok("(make-string 5000 :initial-element #\\a)", max_chars=100)
        self.assertEqual(len(reply.values[0]), 100)
        self.assertGreaterEqual(reply.cut[0], 1600)
        reply = self.ok("(values 1 (make-string 150))", max_chars=100)
        self.assertEqual(reply.cut, [None, 152])
        self.assertEqual(self.ok("(loop for i below 10 collect i)", print_length=3).values,
                         ["(0 1 2 ...)"])
        self.assertEqual(self.ok("'(1 (2 (3)))", print_level=2).values, ["(1 (2 #))"])

    def test_messages_about_circular_objects_are_short(self):
        self.ok("(defstruct node parent children) (defvar *n* (make-node)) (push (make-node :parent *n*) (node-children *n*))"
                "(defvar *l* (list 1)) (setf (rest *l*) *l*) (define-condition lost (error) ((of :initarg :of))"
                " (:report (lambda (c s) (format s \"lost ~a\" (slot-value c 'of)))))")
        shown = "#1=#S(NODE :PARENT NIL :CHILDREN (#S(NODE :PARENT #1# :CHILDREN NIL)))"
        self.assertEqual("node " + shown, self.fails('(error "node ~a" *n*)').message)
        self.assertEqual("list #1=(1 . #1#)", self.fails('(error "list ~a" *l*)').message)
        self.assertEqual("lost " + shown, self.fails("(error 'lost :of *n*)").message)

    def test_a_huge_number_of_values_still_fits_a_reply(self):
        reply = self.ok("(apply #'values (loop repeat 200 collect (make-string 60000)))")
        self.assertEqual(len(reply.values), 200)

    def test_every_character_survives(self):
        self.values('(list "λ😀\\"\\\\" (code-char 0) (string #\\tab))',
                    '("λ😀\\"\\\\" #\\Nul "\t")')
        self.assertEqual(self.ok("(string (code-char #xd800))").values, ['"\ufffd"'])
        reply = self.ok("(format t \"λ~a😀\" (code-char #xd800))")
        self.assertEqual(reply.stdout, "λ\ufffd😀")

    def test_a_print_object_that_fails_costs_the_printed_form_only(self):
        self.ok("(defclass bad () ())"
                "(defmethod print-object ((b bad) s) (error \"no\"))")
        reply = self.ok("(values (make-instance 'bad) 2)")
        self.assertEqual(reply.values[1], "2")
        self.assertIn("BAD", reply.values[0])
        self.assertIn("SIMPLE-ERROR", reply.values[0])
        self.values("(type-of *)", "BAD")
        value = self.ok("(list 1 (make-instance 'bad) \"two\" (vector 3 (make-instance 'bad)))").values[0]
        self.assertRegex(value, r'^\(1 #<error printing a BAD: .*> "two" #\(3 #<error printing a BAD: .*>\)\)$')

    def test_time_is_measured_when_asked_for(self):
        reply = self.ok("(progn (sleep 0.05) (length (make-array 1000000)))", capture_time=True)
        real, run, collecting, octets = reply.timing
        self.assertGreaterEqual(real, 50000)
        self.assertLess(run, real)
        self.assertGreaterEqual(octets, 8000000)
        self.assertNotIn("timing", self.ok("1").fields)

    def test_an_evaluation_that_aborts_itself_is_over(self):
        reply = self.ok("(abort)")
        self.assertEqual(reply.lists("values"), [])
        self.assertEqual([], reply.lists("warnings"))
        self.assertIn("aborted", reply.fields)


class Warnings(AgentTest):
    def test_diagnostics_of_the_compiler_are_recorded_and_not_printed(self):
        reply = self.ok("(defun f (x) (undefined-thing 1) undefined-variable)")
        self.assertEqual(reply.stderr + reply.stdout, "")
        text = "\n".join(f"{type}: {message}" for type, message, *place in reply.warnings)
        self.assertIn("STYLE-WARNING: The variable X is defined but never used.", text)
        self.assertIn("STYLE-WARNING: undefined function: UNDEFINED-THING", text)
        self.assertIn("WARNING: undefined variable: UNDEFINED-VARIABLE", text)

    def test_functions_defined_later_or_again_in_the_request_are_no_warnings(self):
        for code in ("(defun f () (g)) (defun g () 1)", "(defun f () 1) (defun f () 2) (f)"):
            self.assertEqual(self.ok(code).lists("warnings"), [])

    def test_functions_compiled_with_an_earlier_macro_are_named(self):
        self.ok("(defmacro mm (x) `(1+ ,x)) (defun um (y) (mm y)) (defun other (y) (mm y)) (defmethod om ((x integer)) (mm x))"
                "(declaim (inline il)) (defun il (x) (1+ x)) (defun ui (y) (il y)) (defun nobody (x) x)")
        said = "compiled with the earlier definition of %s, and not since: %s"
        for code, expected in (
                ("(defmacro mm (x) `(+ 2 ,x))", said % ("MM", "OTHER, UM, method OM (INTEGER)")),
                ("(defmacro mm (x) `(+ 2 ,x)) (defun um (y) (mm y))", said % ("MM", "OTHER, method OM (INTEGER)")),
                ("(defun il (x) (+ 2 x))", said % ("IL", "UI"))):
            with self.subTest(code=code):
                self.assertEqual([["STYLE-WARNING", expected]], self.ok(code).warnings)
        for code in ("(defun il (x) (+ 2 x)) (defun ui (y) (il y))", "(defun nobody (x) (list x))", "(defmacro unused () 1) (defmacro unused () 2)"):
            with self.subTest(code=code):
                self.assertEqual([], self.ok(code).lists("warnings"))

    def test_functions_compiled_with_an_earlier_macro_of_a_file_are_named(self):
        path = self.file_with("(defmacro mf (x) `(1+ ,x))\n(defun inside (y) (mf y))\n")
        self.assertEqual([], self.session.ask("load-file", path=path).lists("warnings"))
        self.ok("(defun outside (y) (mf y))")
        for compiles in (False, True):
            reply = self.session.ask("load-file", path=path, compile=compiles)
            self.assertEqual([["STYLE-WARNING", "compiled with the earlier definition of MF, and not since: OUTSIDE"]], reply.warnings)

    def test_a_warning_that_repeats_is_counted(self):
        reply = self.ok('(dotimes (i 2000) (warn "same ~a" 1)) (warn "same ~a" 2) (warn "same ~a" 2) (warn "same ~a" 3)')
        self.assertEqual([["WARNING", "same 1", None, None, 2000], ["WARNING", "same 2", None, None, 2], ["WARNING", "same 3"]], reply.warnings)
        self.assertEqual(0, reply.warnings_lost)
        self.assertEqual(2, len(self.ok('(dotimes (i 2) (warn "c ~a" (let ((l (list i))) (setf (cdr l) l))))').warnings))

    def test_code_with_an_error_is_compiled_and_the_error_is_recorded(self):
        reply = self.ok("(defun f () (let ((x 1 2)) x))")
        self.assertEqual(reply.warnings[0][0], "PROGRAM-ERROR")
        self.assertEqual(reply.stderr, "")

    def test_compile_returns_whether_there_were_warnings(self):
        self.values("(nth-value 1 (compile nil '(lambda (x) 1)))", "T")
        self.values("(nth-value 2 (compile nil '(lambda () (car 1))))", "T")
        self.values("(nth-value 1 (compile nil '(lambda () 1)))", "NIL")


class Errors(AgentTest):
    def test_standard_superclasses_are_listed(self):
        self.assertEqual(self.fails("(car 1)").classes, ["TYPE-ERROR", "ERROR", "SERIOUS-CONDITION"])
        self.assertIn("STORAGE-CONDITION", self.fails("(make-array 10000000000)").classes)

    def test_slots_of_typed_conditions_are_shown(self):
        self.assertEqual(self.fails("(car 42)").slots, [["DATUM", "42"], ["EXPECTED-TYPE", "LIST"]])
        self.assertEqual(self.fails("xyzzy").slots, [["NAME", "XYZZY"]])
        self.assertEqual(self.fails('(error "x")').lists("slots"), [])
        self.ok("(define-condition out-of-stock (error) ((item :initarg :item)))")
        self.assertEqual(self.fails("(error 'out-of-stock :item \"tea\")").slots,
                         [["ITEM", '"tea"']])

    def test_restarts_are_listed_in_order_and_abort_is_last(self):
        reply = self.fails("(restart-case (error \"x\")"
                           "  (mend () :report \"Mend it.\" 1)"
                           "  (use-value (v) :report \"Use another.\" v))")
        self.assertEqual(reply.restarts, [["MEND", "Mend it.", None],
                                          ["USE-VALUE", "Use another.", True],
                                          ["RETRY", "Evaluate the form again.", None],
                                          ["ABORT", "Return to top level.", None]])

    def test_frames_start_at_the_error_and_end_with_the_form(self):
        self.assertEqual(self.frames(self.fails("(car 42)")), ["(CAR 42)", "(EVAL (CAR 42))"])
        self.assertEqual(self.frames(self.fails("(/ 1 0)")), ["(/ 1 0)", "(EVAL (/ 1 0))"])
        self.assertEqual(self.frames(self.fails("(nothing 1)")), ["(NOTHING 1)", "(EVAL (NOTHING 1))"])
        self.ok("(defun g (x) (1+ (nothing x))) (defun f (x) (1+ (g x)))")
        reply = self.fails("(f 7)")
        self.assertEqual(self.frames(reply), ["(NOTHING 7)", "(G 7)", "(F 7)", "(EVAL (F 7))"])
        self.assertEqual(reply.total_frames, 4)
        self.ok('(defun f () (error "fail"))')
        self.assertEqual(self.frames(self.fails("(f)")), ["(F)", "(EVAL (F))"])
        self.assertEqual(self.frames(self.fails("(mapcar (lambda (x) (1+ (car x))) '(3))"))[0],
                         "((LAMBDA (X)) 3)")

    def test_methods_and_missing_methods_have_frames(self):
        self.ok("(defgeneric area (s) (:method ((s integer)) (1+ (f s)))) (defun f (x) (error \"x\"))")
        frames = self.frames(self.fails("(area 3)"))
        self.assertEqual(frames[1:], ["((METHOD AREA (INTEGER)) 3)", "(EVAL (AREA 3))"])
        self.assertEqual(self.frames(self.fails('(area "x")')), ['(AREA "x")', '(EVAL (AREA "x"))'])

    def test_frames_are_bounded(self):
        self.ok("(defun f (a &rest more) (when more (error \"x\")) (list a (cerror \"\" \"x\") a more))")
        frame = self.frames(self.fails("(f 1 2 3 4 5 6 7 8 9 10 11 12)"))[0]
        self.assertTrue(frame.endswith(" ...)"), frame)
        frame = self.frames(self.fails("(f (make-string 1000))"))[0]
        self.assertLess(len(frame), 100)

    def test_variables_that_macros_made_are_not_listed_as_locals(self):
        self.session.evaluate('(defun f (l) (declare (optimize (debug 3))) (dolist (x l) (when (= x 1) (error "x")) (print x))) (f (list 1))')
        self.assertEqual(["L", "X"], [entry[0] for entry in self.session.ask("frames", locals=True).frames[0][2:] if entry[0]])

    def test_deep_recursion_is_counted_to_a_limit(self):
        self.ok("(defun deep (n) (if (zerop n) (error \"bottom\") (1+ (deep (1- n)))))")
        reply = self.fails("(deep 5000)")
        self.assertEqual(reply.total_frames, -1000)
        self.assertEqual(len(reply.frames), 100)

    def test_errors_of_macros_are_not_wrapped(self):
        self.ok("(defmacro broken (x) (car x)) (defun use () 1)")
        reply = self.fails("(broken 42)", "TYPE-ERROR", "The value 42 is not of type LIST")
        self.assertIn("BROKEN", self.frames(reply)[0])
        reply = self.fails("(list (broken 42))", "TYPE-ERROR", "The value 42 is not of type LIST")
        self.assertIn("(BROKEN 42)", self.frames(reply)[0])
        self.assertEqual(self.frames(reply)[-1], "(EVAL (LIST (BROKEN 42)))")

    def test_errors_the_compiler_found_are_not_wrapped(self):
        self.fails("(let ((x 1 2)) x)", "PROGRAM-ERROR", "The LET binding spec (X 1 2) is malformed: (LET ((X 1 2)) X)")
        self.fails("(list 1 (3 4))", "PROGRAM-ERROR", "illegal function call: (3 4)")
        self.ok("(defun f () (let ((x 1 2)) x))")
        self.fails("(f)", "PROGRAM-ERROR", "The LET binding spec (X 1 2) is malformed: (LET ((X 1 2)) X)")

    def test_break_is_reported_as_a_break(self):
        reply = self.fails('(break "here ~a" 1)', message="here 1")
        self.assertEqual(reply.kind, "break")
        self.assertEqual(reply.restarts[0][0], "CONTINUE")

    def test_a_report_function_that_fails_is_survived(self):
        self.ok("(define-condition bad (error) () (:report (lambda (c s) c s (error \"no\"))))")
        self.fails("(error 'bad)", "BAD", "#<error printing the message: SIMPLE-ERROR: no>")
        self.ok("(define-condition bad (error) () (:report (lambda (c s) (princ c s))))")
        self.fails("(error 'bad)", "BAD", "#<error printing the message:")
        self.ok("(define-condition bad (error) () (:report (lambda (c s) c (loop (princ 1 s)))))")
        self.assertEqual(len(self.fails("(error 'bad)", "BAD").message), 65536 + 3)

    def test_near_names_are_offered(self):
        self.assertIn("STRING-UPCASE (function)", self.fails('(strng-upcase "x")').hint)
        self.assertIn("*PRINT-BASE*", self.fails("*print-bas*").hint)
        self.ok("(defpackage :lib (:use :cl) (:export #:exported)) (defun lib:exported () 1)"
                "(defun lib::hidden () 2)")
        self.assertIn("LIB:EXPORTED (function)", self.fails("(exported)").hint)
        self.assertIn("LIB::HIDDEN (function, not exported)", self.fails("(hidden)").hint)
        self.assertIsNone(self.fails("(qqqqqqqqqqqq)").hint)

    def test_the_values_before_a_form_that_cannot_be_read_are_reported(self):
        for code in ("(list 1)\n(list 2))", "(list 1) (list 2) #.(error \"x\")"):
            with self.subTest(code=code):
                self.assertEqual(["(1)", "(2)"], self.fails(code).earlier)

    def test_a_slot_that_repeats_the_message_is_left_out(self):
        self.ok("(define-condition told (error) ((text :initarg :text) (line :initarg :line)) (:report (lambda (c s) (princ (slot-value c 'text) s))))")
        self.assertEqual([["LINE", "3"]], self.fails("(error 'told :text \"too long\" :line 3)").slots)

    def test_mistakes_have_a_hint(self):
        self.ok("(defun two (a b &key c) (list a b c))"
                "(defgeneric kind (x)) (defmethod kind ((x integer)) x)"
                "(defgeneric nothing (x))"
                "(defclass point () ()) (defclass pair () ((left :initarg :left) (right :initarg :right)))"
                "(defgeneric spread (x y)) (defmethod spread ((x point) y) y) (defmethod spread ((x pair) (y integer)) y)"
                "(defun maker () (flet ((made (a) a)) #'made))")
        system = write(os.path.join(self.folder(), "unloaded.asd"), "(defsystem :unloaded)")
        self.ok('(push #p"%s/" asdf:*central-registry*)' % os.path.dirname(system))
        for code, hint in (
                ("```lisp\n(+ 1 2)\n```", "The code stands between ``` lines of Markdown. Send it without them."),
                ("CL-USER> (+ 1 2)", "CL-USER> is the prompt of a REPL. Send only what comes after it."),
                ("(print \u201chello\u201d)",
                 "\u201c is a typographic quote. A string in Lisp stands between \"straight\" quotes."),
                ("(list \u2018a)", "\u2018 is a typographic quote. Quote a form with ', the straight one."),
                ("(print \u201cfoo:bar\u201d)",
                 "\u201c is a typographic quote. A string in Lisp stands between \"straight\" quotes."),
                ("(list\u00a01 2)", "The text has a no-break space (U+00A0), which Lisp takes for part of a name. "
                 "Use an ordinary space."),
                ("\ufeff(+ 1 2)", "There is a byte order mark (U+FEFF), which Lisp takes for part of a name. Leave it out."),
                ("(progn (defpackage :early) (early::f))",
                 "A form is read as a whole before any of it is evaluated, so its DEFPACKAGE of EARLY has not run yet. "
                 "Send that as a form of its own before this one."),
                ("(length :hello)", ":HELLO is a keyword, not a string. Write \"hello\", or (string :HELLO)."),
                ("(two 1)", "The arguments of TWO are (A B &KEY C)."),
                ("(two 1 2 :d 3)", "The arguments of TWO are (A B &KEY C)."),
                ("(two 1 2 :c)", "The arguments of TWO are (A B &KEY C)."),
                ("(car 1 2)", "The arguments of CAR are (LIST)."),
                ("(funcall (lambda (x y) (+ x y)) 1)", "The arguments of the LAMBDA are (X Y)."),
                ("(flet ((g (a &optional b) (list a b))) (g 1 2 3))", "The arguments of (FLET G) are (A &OPTIONAL B)."),
                ("(labels ((g (a) a)) (apply #'g (list 1 2)))", "The arguments of (LABELS G) are (A)."),
                ("(funcall (maker))", "The arguments of (FLET MADE :IN MAKER) are (A)."),
                ("(kind)", "The arguments of KIND are (X)."),
                ("(kind \"a\")", "KIND has the method KIND (INTEGER)."),
                ("(make-instance 'ponit)", "Did you mean POINT (class)?"),
                ("(unloaded:f)", "The system unloaded is not loaded; the tool load-system loads it."),
                ("(unlaoded:f)", "Did you mean the system unloaded?"),
                ("(ql:quickload \"x\")", "Quicklisp is not loaded. The tool load-system loads a system of this machine."),
                ("(nothing 1)", "NOTHING has no methods."),
                ("(progn (kind 1) (kind 2))\n(kind 1 2)", "The arguments of KIND are (X)."),
                # With methods on several classes the dispatching code has a frame of its own.
                ("(progn (spread (make-instance 'point) 1) (spread (make-instance 'pair) 1))\n(spread 1)", "The arguments of SPREAD are (X Y)."),
                ("(list (spread 1))", "A generic function that takes 2 arguments was called with 1."),
                ("(make-instance 'pair :lift 1)", "The slots of PAIR take :LEFT, :RIGHT."),
                ("(slot-value (make-instance 'pair) 'lift)", "The slots of PAIR are LEFT, RIGHT."),
                ("(make-instance 'point :x 1)", "No slot of POINT has an initarg."),
                ("(slot-value (make-condition 'error) 'x)", "ERROR has no slots."),
                ("(flet ((g () 1)) (g 1))", "(FLET G) takes no arguments."),
                ("(typep 1 (first (list 'simple-eror)))", "Did you mean SIMPLE-ERROR (condition)?"),
                ("(read-line)", "There is no terminal. Pass the text to be read as the argument stdin of evaluate-lisp."),
                ("(asdf:load-system \"none.lisp\")",
                 "This looks like the path of a file: load it with path in place of system."),
        ):
            with self.subTest(code=code):
                self.assertEqual(hint, self.fails(code).hint.splitlines()[-1])
        for code in ("(error 'type-error :datum :a :expected-type 'list)", "(error 'program-error)",
                     "(error \"invalid number of arguments\")", "(error 'unbound-variable :name 'less>)", "*u*"):
            with self.subTest(code=code):
                self.assertIsNone(self.fails(code).hint)

    def test_a_file_that_cannot_be_read_is_reported_with_the_place_and_without_the_stream(self):
        for text, line, message in (
                ("(defun f (x) x)\n\n(list (list 1)\n", 3, "The form that begins here is not finished"),
                ("(defun f (x) x)\n(list 1\n  nopkg::x)\n", 3, "Package NOPKG does not exist")):
            path = self.file_with(text)
            with self.subTest(text=text):
                reply = self.fails('(load "%s")' % path)
                self.assertEqual("%s (%s:%d)." % (message, path, line), reply.message)
                self.assertEqual([], reply.lists("slots"))
                warning = self.ok('(compile-file "%s")' % path).lists("warnings")[0]
                self.assertEqual((message, "%s:%d" % (path, line)), (warning[1], warning[2]))

    def test_an_error_while_a_file_is_compiled_has_the_place_of_the_form(self):
        path = self.file_with("(defun f (x) x)\n(eval-when (:compile-toplevel)\n  (undefined-here 1))\n")
        self.assertRegex(self.fails('(compile-file "%s")' % path).hint, r"^This happened while compiling %s:(2:1|3:3)\.$" % path)
        path = self.file_with("(defun f (x) x)\n(eval-when (:compile-toplevel)\n  (lenght 1))\n")
        self.assertRegex(self.fails('(compile-file "%s")' % path).hint,
                         r"^Did you mean LENGTH \(function\)\?\nThis happened while compiling %s:(2:1|3:3)\.$" % path)

    def test_a_form_that_begins_within_a_line_has_its_column(self):
        path = self.file_with("(defun a (x) x) (defun b () (list nowhere))\n; \u00e9\n#| \u00e9 |# (defun c (x) x) (defun d () (list nothing))\n")
        warnings = self.ok('(load "%s")' % path).lists("warnings")
        self.assertEqual([("undefined variable: NOTHING", "%s:3:37" % path), ("undefined variable: NOWHERE", "%s:1:29" % path)],
                         sorted((warning[1], warning[2]) for warning in warnings))

    def test_a_deadline_names_who_holds_what_was_waited_for(self):
        self.ok('(defvar *m* (sb-thread:make-mutex :name "lock"))'
                '(defvar *s* (sb-thread:make-semaphore)) (defvar *held* (sb-thread:make-semaphore))'
                '(defvar *t* (sb-thread:make-thread (lambda () (sb-thread:with-mutex (*m*) (sb-thread:signal-semaphore *held*)'
                ' (sb-thread:wait-on-semaphore *s*))) :name "holder"))'
                '(sb-thread:wait-on-semaphore *held*)')
        reply = self.fails("(sb-sys:with-deadline (:seconds 0.1) (sb-thread:with-mutex (*m*) 1))")
        self.assertRegex(reply.hint, r'^It was waiting for mutex "lock", held by holder \(\d+\)\.$')
        self.ok("(sb-thread:signal-semaphore *s*) (sb-thread:join-thread *t*)")

    def test_a_function_with_rest_has_one_frame(self):
        self.assertEqual(["(FORMAT NIL \"~d ~d\" 1)", "(EVAL (FORMAT NIL \"~d ~d\" 1))"], self.frames(self.fails('(format nil "~d ~d" 1)')))

    def test_a_hint_about_arguments_is_about_the_function_that_was_called(self):
        self.ok("(defgeneric area (shape)) (defmethod area ((shape integer)) shape) (defun two (a b) (list (area a b))) (defun three (a b c) (list (area a c)))")
        for code in ("(two 1 2)", "(three 1 2 3)"):
            with self.subTest(code=code):
                reply = self.fails(code)
                self.assertEqual("invalid number of arguments: 2", reply.message)
                self.assertIn(reply.hint, (None, "The arguments of AREA are (SHAPE)."))

    def test_a_restart_that_needs_a_value_reports_that(self):
        self.session.evaluate("(list nowhere)")
        reply = self.session.ask("invoke-restart", restart="use-value")
        self.assertEqual(("refused", "The restart use-value needs a value: pass a form as the argument value."), (reply.status, reply.sentence))
        self.assertEqual(["(3)"], self.session.ask("invoke-restart", restart="use-value", value="3").values)

    def test_a_readtable_that_was_spoilt_beside_threads_is_left_by_a_reset(self):
        self.ok("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.ok("(set-macro-character #\\( (lambda (s c) (declare (ignore s c)) :paren))")
        self.assertIn("reset-session starts over without it.", self.session.evaluate("(a)").hint)

    def test_errors_nest_and_abort_returns_to_the_top(self):
        self.assertEqual(self.session.evaluate("(car 1)").status, "error")
        self.assertEqual(self.session.evaluate("(+ 1 2)").values, ["3"])
        self.assertEqual(self.session.evaluate('(error "second")').message, "second")
        self.assertEqual(self.session.ask("abort").status, "ok")
        self.assertEqual(self.session.ask("frames").status, "refused")
        self.assertEqual(self.session.ask("abort").status, "ok")

    def test_cleanup_that_has_to_be_stopped_leaves_no_error_behind(self):
        identifier, token = self.session.start_evaluation("(unwind-protect (loop) (loop))")
        self.session.await_work()
        self.session.interrupt(token)
        reply = self.session.answer(identifier)
        self.assertEqual([r[0] for r in reply.restarts], ["CONTINUE", "RETRY", "ABORT"])
        identifier = self.session.send("abort", token=77)
        self.session.await_work()
        self.session.interrupt(77)
        reply = self.session.answer(identifier)
        self.assertEqual((reply.status, reply.kind), ("error", "interrupt"))
        self.assertEqual(self.session.ask("frames").status, "refused")
        copy = self.session.fork(with_pipes=False)
        copy.ask("replay", definitions=[["(defun f (x) x)", "CL-USER", 1]])
        self.assertEqual([r[0] for r in copy.evaluate("(car 1)").restarts], ["RETRY", "ABORT"])

    def test_the_first_of_two_errors_while_unwinding_is_reported(self):
        self.session.evaluate('(unwind-protect (unwind-protect (error "1") (error "2")) (error "3"))')
        reply = self.session.ask("abort")
        self.assertEqual((reply.status, reply.message), ("error", "2"))
        self.assertEqual(self.session.ask("frames").status, "refused")
        self.values("1", "1")

    def test_cleanup_that_transfers_control_continues_there(self):
        self.session.evaluate('(block b (unwind-protect (error "first") (return-from b 7)))')
        reply = self.session.ask("abort")
        self.assertEqual((reply.status, reply.lists("values")), ("ok", ["7"]))
        self.assertEqual(self.fails("(car 1)").restarts[0][0], "RETRY")

    def test_lines_of_large_files_are_found_and_found_fast(self):
        lines = []
        for number in range(12):
            call = f"f{number - 1} x" if number else "car x"
            lines += ['(list "\u00e9 ' + "x" * 90 + '")'] * 1000
            lines += ["#| a #| nested |# ; block", "|#  ; and a line", f"(defun f{number} (x) (list ({call})))"]
        path = self.file_with("\n".join([*lines, ""]))
        self.assertEqual(self.session.ask("load-file", path=path).status, "ok")
        reply = self.fails("(f11 1)")
        places = [frame[1] for frame in reply.frames if frame[1]]
        self.assertGreaterEqual(len(places), 12, places)
        for place in places:
            name, line = place.rsplit(":", 1)
            self.assertEqual(name, path)
            self.assertIn("(defun f", lines[int(line) - 1])
        start = time.monotonic()
        for _ in range(20):
            self.fails("(f11 1)")
        self.assertLess(time.monotonic() - start, 1)
        # Of what has changed since it was loaded, the definition is searched for by its name.
        line = int(reply.frames[1][1].rsplit(":", 1)[1])
        for age, text, place in ((10, "\n".join(["(list 1)", *lines]), f"{path}:{line + 1}"), (20, "(f0 1)\n", path)):
            write(path, text)
            os.utime(path, (time.time() + age, time.time() + age))
            self.assertEqual(self.fails("(f11 1)").frames[1][1], place + " (changed since it was loaded)")


class Entering(AgentTest):
    def test_definitions_that_cannot_be_made_do_not_prevent_a_restart(self):
        self.assertEqual(self.session.evaluate('(cerror "go" "no")', evaluation=1, token=1).status, "error")
        text = "(defun one () 1) (defun two () #.(car 1)) (defun three () 3)"
        reply = self.session.ask("invoke-restart", restart="CONTINUE",
                                 definitions=[[text, "CL-USER", 2], ["(defun one () 2)", "GONE", 3]])
        self.assertEqual(reply.status, "ok", reply)
        self.assertEqual(reply.carried, [[2, [0, 17, "CL-USER", 0]]])
        self.assertEqual(reply.left, [[2, [17, len(text), "CL-USER", 0]], [3, [0, 16, "GONE", 0]]])
        self.values("(one)", "1")


class Compiling(AgentTest):
    def compile(self, code, **arguments):
        copy = self.session.fork(with_pipes=False)
        reply = copy.ask("compile-form", code=code, **arguments)
        self.assertEqual(reply.status, "ok", reply)
        copy.close()
        return reply

    def test_what_the_compiler_finds_is_reported_with_its_place(self):
        unused = "The variable Y is defined but never used."
        for code, failed, notes in (
                ("(defun a (x) (b x)) (defun b (x) (print x)) (a 1) (setf *print-base* 2)", None, []),  # and does not run
                ("(defun f (x) (+ x y) (nowhere x))", True,
                 [["WARNING", "undefined variable: Y", "(+ X Y)", ":1:14"],
                  ["STYLE-WARNING", "undefined function: NOWHERE", "(NOWHERE X)", ":1:22"]]),
                ("(defun f (x y) x)", None, [["STYLE-WARNING", unused, "(DEFUN F (X Y) X)", ":1:1"]]),
                ('(eval-when (:compile-toplevel) (error "oh ~a" 1))', True, [["ERROR", "oh 1"]])):
            with self.subTest(code):
                reply = self.compile(code)
                self.assertEqual((reply.failed, reply.stdout), (failed, ""))
                self.assertEqual([note[:len(wanted)] for note, wanted in zip(reply.lists("notes"), notes)], notes)
                self.assertEqual(len(reply.lists("notes")), len(notes))

    def test_forms_with_notes_do_not_hide_what_comes_after(self):
        for code, kind, forms, functions in (
                ("(defmacro m (x) x) (defun f () (m 1 2)) (defun g () (if 1)) (defun h () 1)",
                 "ERROR", {"(M 1 2)", "(IF 1)"}, ["M", "F", "G", "H"]),
                ("(defun f (x) (declare (optimize speed)) (list (* x 2)))", "NOTE", {"(* X 2)"}, ["F"]),
                ("(defun f (x) (declare (fixnum x)) (car x))", "WARNING", {"(CAR X)"}, ["F"])):
            with self.subTest(code):
                reply = self.compile(code)
                self.assertEqual({note[2] for note in reply.notes if note[0] == kind}, forms)
                self.assertEqual((bool(reply.failed), reply.functions), (kind != "NOTE", functions))

    def test_effects_that_later_forms_need_are_there(self):
        reply = self.compile("""
            (defpackage :mine (:use :cl)) (in-package :mine)
            (defmacro twice (x) `(* 2 ,x))
            (eval-when (:compile-toplevel :load-toplevel) (defun helper (x) `(list ,x)))
            (macrolet ((define (name) `(defun ,name () ,(helper 1)))) (define made))
            (defstruct point x y)
            (defun use (p) (twice (point-x p)))
            (defmethod area ((p point)) 1)""")
        self.assertEqual((reply.failed, reply.lists("notes")), (None, []))
        self.assertEqual(reply.functions, ["MINE::TWICE", "MINE::HELPER", "MINE::MADE", "MINE::USE",
                                           "MINE::AREA"])

    def test_what_is_too_much_to_list_is_counted_and_leaves_room_for_errors(self):
        slow = " ".join(f"(defun f{i} (x) (declare (optimize speed)) (list (* x {i + 2})))" for i in range(300))
        unknown = " ".join(f"(nowhere-{i})" for i in range(250))
        reply = self.compile(f"{slow} (defun g () (if 1)) (defun h () {unknown})")
        counts = collections.Counter(note[0] for note in reply.notes)
        self.assertEqual((counts["ERROR"], counts["STYLE-WARNING"]), (1, 200))
        self.assertEqual(counts["NOTE"], 200)
        self.assertGreaterEqual(reply.notes_lost, 150)

    def test_a_note_that_repeats_one_that_is_kept_is_not_lost(self):
        others = " ".join(f"(defun f{i} (x y) x)" for i in range(199))
        reply = self.compile(f"{others} (defmacro m (x) 1) (defun g () (m 1) (m 1))")
        self.assertEqual((collections.Counter(note[0] for note in reply.notes), reply.notes_lost), ({"STYLE-WARNING": 200}, 0))

    def test_unreadable_text_is_reported_with_its_place(self):
        reply = self.compile("(defun f () 1)\n  (defun g (x")
        self.assertEqual(reply.notes, [["ERROR", "Unexpected end of file (line 2, column 13). The form "
                                        "that begins at line 2, column 3 is not finished.", None, None]])
        self.assertTrue(reply.failed)
        reply = self.compile('(list "\u00e9\u00e9"\n nowhere:x)')
        self.assertIn("NOWHERE", reply.notes[0][1])
        self.assertIn("(line 2, column 1", reply.notes[0][1])

    def test_symbols_that_cannot_be_printed_do_not_end_the_process(self):
        self.session.run('(defmethod print-object :around ((x symbol) stream) (error "not printed"))')
        reply = self.compile("(defun f (x) (undefined-thing x y))")
        self.assertTrue(reply.failed)
        self.assertIn("undefined variable: Y", [note[1] for note in reply.lists("notes")])

    def test_the_package_is_bound(self):
        reply = self.compile("(defun area () 1)", package="CL-USER")
        self.assertEqual(reply.functions, ["AREA"])
        copy = self.session.fork(with_pipes=False)
        self.assertEqual(copy.ask("compile-form", code="1", package="NOWHERE").status, "refused")

    def test_nothing_is_left_behind(self):
        before = sorted(os.listdir(f"/proc/{self.session.pid}/fd"))
        self.session.ask("compile-form", code="(in-package :sb-ext) (defun f () (((")
        self.assertEqual(sorted(os.listdir(f"/proc/{self.session.pid}/fd")), before)
        self.values("(package-name *package*)", '"COMMON-LISP-USER"')


class Past(AgentTest):
    def test_a_probe_walks_the_heap(self):
        self.assertEqual(self.session.ask("probe").status, "ok")

    def test_a_replay_evaluates_definitions_only(self):
        code = """
            (defvar *ran* 0)
            (incf *ran*)
            (defun twice (x) (* 2 x))
            (let ((base 10)) (defun add (x) (+ base x)))
            (setf (symbol-function 'same) #'identity)
            (format t "not again")
            (defpackage :mine (:use :cl))
            (in-package :mine)
            (defparameter *here* 1)
            (defun broken () . (1 2))"""
        reply = self.session.ask("replay", definitions=[[code, "CL-USER", 1]])
        self.assertEqual((reply.status, reply.evaluated, reply.failed, reply.stdout),
                         ("ok", 8, 0, ""), reply)
        self.assertEqual(reply.package, "MINE")
        self.values("(list cl-user::*ran* (cl-user::twice 4) (cl-user::add 1) (cl-user::same 3) *here*)",
                    "(0 8 11 3 1)")

    def test_definitions_that_fail_are_counted(self):
        reply = self.session.ask("replay", definitions=[['(defvar *a* (error "x")) (defvar *b* 2) (defun (', "CL-USER", 1]])
        self.assertEqual((reply.status, reply.evaluated, reply.failed), ("ok", 1, 2))
        self.assertRegex(reply.failures[1], r"^\(defun \(: ")
        self.values("*b*", "2")

    def test_text_that_cannot_be_read_now_counts_as_failed(self):
        for number, form in enumerate(("(defvar gone::*d* 4)", "(defun d () #.(car 1))", "(cl:defun d () #.(car 1))", "(defun d () #.(error 'gone))")):
            reply = self.session.ask("replay", definitions=[[f"(defvar *c{number}* 3) {form} (defvar *e* 5)", "CL-USER", 1],
                                                            ["(defvar *next* 6)", "CL-USER", 2]])
            self.assertEqual((reply.evaluated, reply.failed), (2, 1), reply)
            self.assertTrue(reply.failures[0].startswith(f"{form} (defvar *e* 5): "), reply.failures)
        self.values("(list *c0* *c3* (boundp '*e*))", "(3 3 NIL)")

    def test_text_that_cannot_be_read_and_defines_nothing_is_no_failure(self):
        reply = self.session.ask("replay", definitions=[["(defvar *c* 3) (print gone::*d*) (list", "CL-USER", 1]])
        self.assertEqual((reply.evaluated, reply.failed), (1, 0))

    def test_definitions_are_not_made_in_another_package(self):
        self.ok("(defun bar () :user)")
        for text, package, evaluated in (("(defun bar () :gone)", "GONE", 0), ("(defun foo () 1) (in-package :gone) (defun bar () :gone)", "CL-USER", 1),
                                         ("(progn (in-package :gone) 1) (defun bar () :gone)", "CL-USER", 0)):
            reply = self.session.ask("replay", definitions=[[text, package, 1], ["(defvar *next* 6)", "CL-USER", 2]])
            self.assertEqual(reply.evaluated, evaluated + 1)
            self.assertIn("(defun bar () :gone): ", reply.failures[-1])
            self.assertIn("GONE", "".join(reply.failures))
            self.assertEqual(reply.failed, len(reply.failures))
        self.values("(list (bar) *next*)", "(:USER 6)")


class Memory(unittest.TestCase):
    def setUp(self):
        # Pages of a core that was just written, and is not on the disk yet, would count as written by whoever maps them.
        with open(CORE, "rb") as core:
            os.fsync(core.fileno())

    def tearDown(self):
        driver.close_everything()

    def private(self, process):
        """KiB that only this process has."""
        with open(f"/proc/{process.pid}/smaps_rollup") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

    def test_sessions_and_their_copies_are_small(self):
        zygote = start()
        self.assertEqual(zygote.ask("warm", finish=True).status, "ok")
        session = zygote.fork()
        for code in ("(+ 1 2)", "(defun f (x) (car x))", "(f 1)", "(undefined-thing 1)"):
            if session.evaluate(code).status == "error":
                session.ask("abort")
        self.assertLess(self.private(session), 1500)
        copies = []
        for _ in range(8):
            copies.append(session.fork(with_pipes=False))
            session.evaluate("(+ 1 2)")
        self.assertLess(sum(self.private(copy) for copy in copies), 12000)


class Saving(AgentTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder(), "saved image")

    def save(self, process, **arguments):
        """Have a copy of the process save itself; return the size of the image."""
        copy = process.fork(with_pipes=False)
        copy.send("save", path=self.path, **arguments)
        with self.assertRaises(driver.Gone):
            copy.receive()
        self.assertEqual(driver.reap(copy.pid, driver.LIMIT), 0)
        copy.close()
        return os.path.getsize(self.path)

    def restore(self):
        return driver.start(self.path, SBCL)

    def prepare(self):
        self.ok("(defpackage :mine (:use :cl)) (in-package :mine)"
                "(defvar *table* (make-hash-table)) (setf (gethash *package* *table*) 7)"
                "(defclass point () ((x :initarg :x :reader x)))"
                "(defvar *point* (make-instance 'point :x 9)) (defvar *out* *standard-output*)"
                "(defun triple (x) (* 3 x)) (setf *print-base* 16) (defvar *file* (open \"/dev/null\"))")
        self.ok("(values (list 1 2) :second)")

    def check(self, process):
        reply = process.evaluate("(list (package-name *package*) (car *) (second /) +"
                                 " (gethash *package* *table*) (x *point*) (triple 4) *print-base*)")
        self.assertEqual(reply.lists("values"),
                         ['("MINE" 1 :SECOND (VALUES (LIST 1 2) :SECOND) 7 9 12 16)'], reply)
        reply = process.evaluate('(format *out* "one ") (format t "two") (read-line *file* nil)')
        self.assertEqual((reply.status, reply.stdout), ("error", "one two"))
        process.ask("abort")

    def test_a_compressed_one_is_smaller_and_continues(self):
        self.prepare()
        size = self.save(self.session, compressed=True)
        if ":SB-CORE-COMPRESSION" in self.ok("*features*").values[0]:
            self.assertLess(size, 25_000_000)
        restored = self.restore()
        self.session.close()
        self.check(restored)

    def test_a_session_that_cannot_be_saved_is_refused(self):
        reply = self.session.ask("save", path=self.path + "/no/such")
        self.assertEqual(reply.status, "refused")
        self.values("(+ 1 2)", "3")
        self.session.evaluate("(car 1)")
        self.assertEqual(self.session.ask("save", path=self.path).status, "refused")
        self.session.ask("abort")
        self.ok('(defvar *go* t) (sb-thread:make-thread (lambda () (loop while *go* do (sleep 0.01)))'
                ' :name "worker")')
        reply = self.session.ask("save", path=self.path)
        self.assertEqual(reply.status, "refused")
        self.assertIn("worker", reply.sentence)
        self.values("(setf *go* nil)", "NIL")


class ReaderErrors(AgentTest):
    def test_the_place_is_shown(self):
        reply = self.fails("(list 1\n   2))", "READER-ERROR", "Unmatched close parenthesis")
        self.assertEqual(reply.kind, "reader")
        self.assertEqual(reply.hint, "line 2, column 6:\n   2))\n     ^")
        self.assertTrue(reply.lists("frames"))

    def test_an_unfinished_form_is_an_end_of_file(self):
        reply = self.fails("(+ 1 2)\n(defun f (x)", "END-OF-FILE", "Unexpected end of file")
        self.assertIn("The form that begins at line 2, column 1 is not finished.", reply.hint)
        self.fails('"abc', "END-OF-FILE")
        self.fails("#|", "END-OF-FILE")

    def test_unknown_packages_and_symbols_are_explained(self):
        reply = self.fails("(cl-use:foo)", "READER-ERROR", "CL-USE")
        self.assertIn("PACKAGE-ERROR", reply.classes)
        self.assertIn("CL-USER", reply.hint)
        self.assertIn("CL:MAPCAR".split(":")[1], self.fails("(cl:mapcra)", "READER-ERROR").hint)

    def test_errors_in_read_time_evaluation_are_ordinary(self):
        self.assertEqual(self.fails("#.(car 1)", "TYPE-ERROR").kind, "error")


class Storage(AgentTest):
    def test_endless_recursion_is_an_error(self):
        self.ok("(defun f (x) (1+ (f x)))")
        for _ in range(3):
            reply = self.fails("(f 1)", "SB-KERNEL::CONTROL-STACK-EXHAUSTED")
            self.assertIn("STORAGE-CONDITION", reply.hint)
            self.assertIn("intact", reply.hint)
            # The innermost call may not have put its argument in its place yet.
            self.assertRegex(self.frames(reply)[0], r"^\(F \S+\)$")
            self.assertEqual(self.frames(reply)[1], "(F 1)")

    def test_objects_in_an_exhausted_stack_do_not_kill(self):
        self.ok("(defclass bad () ()) (defmethod print-object ((b bad) s) (print-object b s) 1)"
                "(defun f (x) (1+ (f x)))")
        self.fails("(f (make-instance 'bad))", "SB-KERNEL::CONTROL-STACK-EXHAUSTED")
        self.fails("(f (make-instance 'bad))", "SB-KERNEL::CONTROL-STACK-EXHAUSTED")

    def test_where_the_stack_is_used_up_nothing_more_is_evaluated(self):
        self.ok("(defun f (x) (1+ (f x)))")
        self.assertEqual(self.session.evaluate("(f 1)").status, "error")
        self.assertEqual(self.session.evaluate("(+ 1 2)").status, "refused")
        self.assertEqual(self.session.ask("frames", count=3).status, "ok")
        copy = self.session.fork(with_pipes=False)
        self.assertEqual(copy.ask("abort").status, "ok")
        self.assertEqual(self.session.ask("abort").status, "ok")
        self.values("(+ 1 2)", "3")

    def test_heap_that_is_freed_again_is_not_an_error(self):
        self.values("(loop repeat 100000 do (make-array 1000) finally (return 1))", "1", limit=60)


class Nesting(AgentTest):
    FAULTS = {"trap": "(symbol-value (gensym))", "arithmetic": "(/ n 0)", "plain": '(error "x ~a" n)',
              "undefined": "(funcall 'nowhere)",
              "memory": "(sb-sys:sap-ref-8 (sb-sys:int-sap 8) 0)"}

    def test_handlers_of_faults_may_fault_a_hundred_deep(self):
        for name, fault in self.FAULTS.items():
            with self.subTest(name):
                self.values("(defun f (n) (handler-bind ((error (lambda (c) (f (1- n)))))"
                            f" (if (plusp n) {fault} (throw 'done n)))) (list (catch 'done (f 100)))", "(0)")

    def test_nested_handlers_return_one_by_one(self):
        self.values("""
            (defun f (n)
              (handler-bind ((error (lambda (c)
                                      (when (plusp n) (f (1- n)))
                                      (sb-ext:gc)
                                      (invoke-restart (find-restart 'skip c)))))
                (restart-case (if (oddp n) (/ n 0) (list (symbol-value (gensym))))
                  (skip () (list :skipped n)))))
            (list (f 30) (f 3))""", "((:SKIPPED 30) (:SKIPPED 3))")

    def test_errors_in_errors_do_not_end(self):
        for fault in ("(car 1)", *self.FAULTS.values()):
            for _ in range(15):
                self.assertEqual(self.session.evaluate(fault).status, "error")
            self.assertEqual(self.session.ask("abort").status, "ok")
        self.values("1", "1")

    def test_interrupts_in_interrupts_end_nothing_and_continue(self):
        self.ok("(defvar *go* t)")
        for _ in range(12):
            identifier, token = self.session.start_evaluation("(loop while *go* finally (return 7))")
            self.session.await_work()
            self.session.interrupt(token)
            reply = self.session.answer(identifier)
            self.assertEqual(reply.kind, "interrupt")
        self.assertEqual(self.session.evaluate("(setf *go* nil)").status, "ok")
        self.assertEqual([r[0] for r in reply.restarts[-3:]], ["CONTINUE", "RETRY", "ABORT"])
        # The first stands; the others were unwound as soon as they had been reported.
        self.assertEqual(self.session.ask("invoke-restart", restart="CONTINUE").values, ["7"])


class Interrupts(AgentTest):
    def test_all_kinds_of_code_are_interrupted(self):
        for code in ("(loop)",
                     "(sleep 100)",
                     "(handler-case (loop) (serious-condition () 1) (condition () 2))",
                     "(ignore-errors (sleep 100))",
                     "(labels ((f (n) (if (zerop n) (sleep 100) (1+ (f (1- n)))))) (f 3000))",
                     "(let ((x (list 1))) (setf (cdr x) x) (loop (prin1-to-string x) (print 1)))",
                     "(sb-thread:join-thread (sb-thread:make-thread (lambda () (sleep 100))))",
                     "(sb-ext:run-program \"/bin/cat\" '() :input :stream)",
                     "(progn (sb-sys:without-interrupts (sleep 0.3)) (sleep 100))"):
            for beside in ("", "(defvar *beside* (sb-thread:make-thread (lambda () (sleep 100))))"):
                with self.subTest(code, beside=beside):
                    self.session = self.zygote.fork()
                    self.ok(beside)
                    reply = self.interrupted("(progn (write-line \"begun\") (finish-output) %s)" % code, begun=True)
                    self.assertEqual((reply.status, reply.kind), ("error", "interrupt"))
                    if reply.total_frames == len(reply.frames):  # the recursion may be interrupted anywhere
                        self.assertTrue(self.frames(reply)[-1].startswith("(EVAL"), reply)

    def test_interrupts_do_not_come_inside_malloc_while_code_is_compiled(self):
        reply = self.ok("(let* ((evaluation sb-thread:*current-thread*) (stop nil) (count 0)"
                        "       (interrupter (sb-thread:make-thread (lambda ()"
                        # Sent without waiting for the one before, they could come faster than they can be served.
                        "         (loop for before = count until stop"
                        "               do (sb-thread:interrupt-thread evaluation (lambda ()"
                        "                    (sb-alien:free-alien (sb-alien:make-alien char 20000)) (incf count)))"
                        "                  (loop until (or stop (> count before)) do (sleep 0.0001)))))))"
                        "  (loop repeat 2000 do (compile nil '(lambda (x) (loop for y in x collect (list (1+ y) (car x))))))"
                        "  (setf stop t) (sb-thread:join-thread interrupter) (plusp count))")
        self.assertEqual(reply.values, ["T"])

    def test_an_interrupt_while_the_thread_of_an_evaluation_starts_leaves_no_thread(self):
        go = os.path.join(self.folder(), "go")
        self.ok("(defvar *gate* (sb-thread:make-semaphore))"
                # The thread of an evaluation makes one before it takes interrupts.
                "(let ((make #'cl-mcp-agent::make-capture))"
                "  (sb-ext:without-package-locks"
                "    (setf (fdefinition 'cl-mcp-agent::make-capture)"
                "          (lambda ()"
                "            (when (search \"evaluation\" (sb-thread:thread-name sb-thread:*current-thread*))"
                "              (sb-thread:wait-on-semaphore *gate*))"
                "            (funcall make)))))"
                "(defvar *beside* (sb-thread:make-thread (lambda ()"
                "  (loop until (probe-file \"%s\") do (sleep 0.01))"
                "  (sb-thread:signal-semaphore *gate* 9))))" % go)
        identifier, token = self.session.start_evaluation("(loop)")
        driver.wait_until(lambda: len(os.listdir(f"/proc/{self.session.pid}/task")) == 3)
        self.session.interrupt(token)
        write(go)
        self.assertEqual(self.session.answer(identifier).kind, "interrupt")
        self.ok("(sb-thread:join-thread *beside*)")
        self.values("1", "1")
        self.assertEqual(self.session.ask("threads").total, 1)
        self.assertGreater(self.session.fork().pid, 0)

    def test_cleanup_forms_run(self):
        self.interrupted("(defvar *cleaned* nil) (unwind-protect (loop) (setf *cleaned* t))")
        self.values("*cleaned*", "T")

    def test_printing_a_value_is_given_up_at_an_interrupt(self):
        self.ok("(defclass bad () ()) (defmethod print-object ((b bad) s) (loop))")
        reply = self.interrupted("(values 1 (make-instance 'bad))")
        self.assertEqual((reply.status, reply.values), ("ok", ["1", "#<BAD: printing it takes too long>"]))

    def test_a_report_function_that_loops_is_given_up(self):
        self.ok("(define-condition slow (error) () (:report (lambda (c s) c s (loop))))")
        reply = self.interrupted("(error 'slow)")
        self.assertEqual((reply.status, reply.type, reply.kind), ("error", "SLOW", "error"))
        self.assertIn("interrupted", reply.message)

    def test_arguments_that_print_for_ever_are_given_up(self):
        self.ok("(defclass bad () ()) (defmethod print-object ((b bad) s) (loop))"
                "(defun f (a b) (when a (cerror \"\" \"x\")) (list a b))")
        reply = self.interrupted("(f (make-instance 'bad) (make-instance 'bad))")
        self.assertEqual(self.frames(reply)[0], "(F #<...> #<...>)")

    def test_an_interrupt_with_another_token_is_ignored(self):
        identifier, token = self.session.start_evaluation("(progn (sleep 0.3) :done)")
        self.session.await_work()
        self.session.interrupt(token + 1)
        self.assertEqual(self.session.answer(identifier).values, [":DONE"])
        self.session.interrupt(token)
        self.values("(+ 1 2)", "3")

    def test_an_interrupt_that_comes_before_its_request_counts(self):
        self.session.interrupt(self.session.next_token)
        identifier, _ = self.session.start_evaluation("(loop)")
        reply = self.session.answer(identifier)
        self.assertEqual(reply.kind, "interrupt")
        self.session.ask("abort")

    def test_handlers_of_signals_come_back(self):
        self.ok("(sb-sys:enable-interrupt sb-unix:sigurg :default)"
                "(sb-sys:enable-interrupt sb-unix:sigpipe :default)")
        self.assertEqual(self.interrupted("(loop)").kind, "interrupt")
        self.ok("(sb-sys:enable-interrupt sb-unix:sigurg (lambda (a b c) (list a b c)))")
        self.assertEqual(self.interrupted("(loop)").kind, "interrupt")

    def test_writing_to_a_closed_pipe_is_an_error(self):
        reply = self.fails("(let* ((process (sb-ext:run-program \"/bin/true\" '() :input :stream :wait t)))"
                           "  (sleep 0.1) (loop repeat 100000 do (print 1 (sb-ext:process-input process)))"
                           "  (finish-output (sb-ext:process-input process)))")
        self.assertIn("STREAM-ERROR", reply.classes)


class Streams(AgentTest):
    def test_output_goes_where_it_belongs(self):
        reply = self.ok("(princ 1) (princ 2 *error-output*) (princ 3 *trace-output*)"
                        "(princ 4 *terminal-io*) (princ 5 sb-sys:*stderr*)")
        self.assertEqual((reply.stdout, reply.stderr), ("134", "25"))
        self.ok("(defun f (x) x) (trace f)")
        self.assertIn("(F 1)", self.ok("(f 1)").stdout)

    def test_a_line_is_fresh_at_the_beginning(self):
        self.ok("(princ 1)")
        self.assertEqual(self.ok("(fresh-line) (princ 2)").stdout, "2")

    def test_streams_that_were_set_or_closed_come_back(self):
        self.ok("(setf *standard-output* (make-string-output-stream)) (print 1)")
        self.assertEqual(self.ok("(princ 2)").stdout, "2")
        self.fails("(close *standard-output*) (princ 3)")
        self.assertEqual(self.ok("(princ 4)").stdout, "4")
        self.fails("(close *error-output*) (princ 5 *error-output*)")
        self.assertEqual(self.ok("(princ 6 *error-output*)").stderr, "6")
        self.ok("(setf *error-output* (make-concatenated-stream))")
        self.assertEqual(self.ok("(princ 7 *error-output*)").stderr, "7")
        self.fails("(sb-posix:close 1) (princ 8)")
        self.assertEqual(self.ok("(princ 9)").stdout, "9")

    def test_output_of_threads_arrives(self):
        self.assertEqual(self.ok("(sb-thread:join-thread (sb-thread:make-thread"
                                 " (lambda () (princ :thread))))").stdout, "THREAD")


class Survival(AgentTest):
    def test_what_cannot_be_added_to_a_reply_is_left_out(self):
        self.values("(progn (setf cl-mcp-agent::*tools* '(5) cl-mcp-agent::*tools-told* nil) 42)", "42")
        self.values("(setf cl-mcp-agent::*tools* nil)", "NIL")

    def test_printing_of_symbols_may_be_broken(self):
        self.ok("(defmethod print-object :around ((x symbol) stream) (error \"no\"))")
        self.assertIn("error printing", self.ok("(list 'a)").values[0])
        reply = self.fails("(no-such-function)", "UNDEFINED-FUNCTION")
        self.assertEqual(self.frames(reply)[0], "(NO-SUCH-FUNCTION)")

    def broken(self, name, body='(error "broken")'):
        self.ok(f"(handler-bind ((warning #'muffle-warning)) (sb-ext:unlock-package :cl)"
                f" (defvar *old* #'{name})"
                f" (setf (fdefinition '{name}) (lambda (&rest r) (declare (ignorable r)) {body})))")

    def test_no_function_of_the_language_is_missed_by_the_agent_or_the_compiler(self):
        for name in ("read", "eval", "prin1", "first", "find-restart", "reverse", "length", "class-name",
                     "macroexpand-1", "symbol-function", "intern", "format", "find-package"):
            with self.subTest(name):
                self.session = self.zygote.fork()
                self.broken(name)
                self.values("(+ 1 2)", "3")
                self.values("(defun f (x) (when x (list x 2.5 \"a\"))) (f 'b)", '(B 2.5 "a")')
                self.fails("(car 1)", "TYPE-ERROR", "not of type")
                self.fails("(undefined-one 1)", "UNDEFINED-FUNCTION")
                self.session.close()

    def test_the_user_sees_the_functions_that_the_user_defined(self):
        self.ok("(defun early (x) (reverse x))")
        self.broken("reverse")
        self.fails("(early '(1 2))", "SIMPLE-ERROR", "broken")
        self.fails("(funcall 'reverse '(1 2))", "SIMPLE-ERROR", "broken")
        self.fails("(let ((f #'reverse)) (declare (notinline funcall)) (funcall f '(1 2)))",
                   "SIMPLE-ERROR", "broken")
        self.ok("(setf (fdefinition 'reverse) *old*)")
        self.values("(early '(1 2))", "(2 1)")
        self.values("(mapcar 'reverse '((1 2) (3)))", "((2 1) (3))")

    def test_an_encapsulation_and_a_trace_are_the_users_alone(self):
        self.ok("(sb-int:encapsulate 'eval 'user (lambda (f &rest r) (declare (ignore f r)) :mine))")
        self.values("(+ 1 2)", "3")
        self.values("(eval '(+ 1 2))", ":MINE")
        self.ok("(sb-int:unencapsulate 'eval 'user)")
        self.values("(eval '(+ 1 2))", "3")
        self.ok("(trace read-from-string prin1)")
        self.assertEqual(self.ok("(list 1)").stdout, "")
        self.assertIn("READ-FROM-STRING", self.ok("(read-from-string \"a\")").stdout)

    def test_printer_variables_may_be_anything(self):
        self.ok("(setf *print-readably* t *print-pretty* t *print-circle* t *print-right-margin* 5"
                " *print-escape* nil *print-level* 0)")
        self.values("(list 1 'a \"b\")", '(1 A "b")')
        reply = self.fails("(car (list 1 2 3) 4 5)")
        self.assertNotIn("#", reply.message[:30])

    def test_the_debugger_may_be_disabled(self):
        for where in ("(progn {})", "(sb-thread:join-thread (sb-thread:make-thread (lambda () {})) :default 1)"):
            self.session.run(where.format('(sb-ext:disable-debugger) (error "no")'))
            self.values("(+ 1 2)", "3")

    def test_errors_in_timers_between_requests_go_to_the_inbox(self):
        reply = self.ok("(defvar *rung* nil) (defvar *timer* (sb-ext:make-timer (lambda ()"
                # In a request, it would be an error of the request.
                "  (unless (or cl-mcp-agent::*id* *rung*) (setf *rung* t) (princ \"rung\") (finish-output) (error \"tick\")))))"
                "(sb-ext:schedule-timer *timer* 0.02 :repeat-interval 0.02)")
        if "rung" not in reply.stdout:
            self.session.await_output(b"rung")
        self.assertIn("tick", str(self.ok("1").lists("inbox")))

    def test_a_time_limit_of_the_program_ends_what_the_agent_does_for_it(self):
        reply = self.fails("(list #.(sb-ext:with-timeout 0.05 (loop)))", "TIMEOUT")
        self.assertEqual(self.frames(reply)[-1], "(READ)")
        self.fails("(progn (defmacro slow () (sb-ext:with-timeout 0.05 (loop))) (eval '(slow)))", "TIMEOUT")
        self.ok("(defclass slow () ()) (defmethod print-object ((o slow) s) (sb-ext:with-timeout 0.05 (loop)))")
        reply = self.ok("(make-instance 'slow)")
        self.assertRegex(reply.values[0], "^#<SLOW: error printing it: TIMEOUT: .*>$")
        self.assertIsNone(reply.inbox)

    def test_a_report_that_was_cut_short_has_no_effect_on_later_ones(self):
        self.ok("""(defvar *timer*) (defclass thing () ())
            (define-condition endless (error) () (:report (lambda (c s) c s (princ "reporting") (finish-output) (loop))))
            (defmethod print-object ((o thing) s)
              (let ((rung nil))
                (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (setf rung t) (sb-sys:with-interrupts (error 'endless)))) 0.01)
                (loop until rung))
              (princ "whole" s))""")
        identifier, token = self.session.start_evaluation("(make-instance 'thing)")
        self.session.await_output(b"reporting")
        self.session.interrupt(token)
        reply = self.session.answer(identifier)
        self.assertEqual((reply.status, reply.values), ("ok", ["whole"]))
        self.fails('(error "plain ~a" 5)', message="plain 5")

    def test_exit_does_not_wait_long_for_threads(self):
        before = time.monotonic()
        with self.assertRaises(driver.Gone):
            self.session.evaluate("(sb-thread:make-thread (lambda () (sb-sys:without-interrupts (sleep 30)))) (sleep 0.1) (sb-ext:exit :code 1)")
        self.assertLess(time.monotonic() - before, 10)


class Looking(AgentTest):
    def test_a_default_value_that_contains_itself_again_and_again_is_not_followed(self):
        self.ok(f"(defun f (&optional (x '#1=({'#1# ' * 40}))) x)")
        self.assertTrue(self.session.ask("list-definitions", type="functions").functions[0][1].startswith("(&OPTIONAL (X"))
        self.assertIn("F", self.session.ask("describe-symbol", name="f").text)
        self.fails("(f 1 2)", "PROGRAM-ERROR")

    def test_definitions_of_a_contribution_count_as_a_librarys(self):
        self.ok('(asdf:load-system "sb-rt")')
        reply = self.session.ask("list-definitions", type="all")
        self.assertEqual({"systems": ["sb-rt"]}, {name: value for name, value in reply.fields.items() if value})

    def test_definitions_of_a_session_in_the_package_of_a_library_are_its_own(self):
        self.ok('(asdf:load-system "sb-rt")')
        self.session.ask("evaluate", evaluation=7, code="(in-package :sb-rt)"
                "(defvar *mine* 3) (defun mine (x) x) (defun (setf mine) (v x) (list v x)) (defmacro my-macro (y) y) (defclass my-class () (a))"
                "(deftype my-type () 'integer) (defun rem-all-tests () nil) (in-package :cl-user)")
        reply = self.session.ask("list-definitions", type="all")
        self.assertEqual({"functions": [["SB-RT::MINE", "(X)"], ["(SETF SB-RT::MINE)", "(V X)"], ["SB-RT:REM-ALL-TESTS", "()"]],
                          "variables": [["SB-RT::*MINE*", "3"]], "macros": [["SB-RT::MY-MACRO", "(Y)"]],
                          "classes": [["SB-RT::MY-CLASS", "(SB-RT::A)"]], "types": [["SB-RT::MY-TYPE", "()"]], "systems": ["sb-rt"]},
                         {name: value for name, value in reply.fields.items() if value})

    def test_user_code_that_fails_in_a_look_is_reported(self):
        self.ok("(defun f () 1) (defmethod documentation ((x (eql 'f)) (d (eql 'function)))"
                " (error \"no documentation\"))")
        reply = self.session.ask("describe-symbol", name="f")
        self.assertEqual((reply.status, reply.message), ("error", "no documentation"))
        self.assertEqual(self.session.ask("abort").status, "ok")
        self.ok("(defmethod documentation ((x (eql 'f)) (d (eql 'function))) (loop))")
        token = self.session.next_token
        identifier = self.session.send("describe-symbol", name="f", token=token)
        self.session.await_work()
        self.session.interrupt(token)
        self.assertEqual(self.session.answer(identifier).kind, "interrupt")
        self.assertEqual(self.session.ask("abort").status, "ok")


class Definitions(AgentTest):
    """Where things are defined, who refers to them, what they are made of. The driver numbers the evaluation itself."""

    def define(self, code, evaluation=7):
        return self.ok(code, evaluation=evaluation)

    def entry(self, name, **arguments):
        reply = self.session.ask("find-definition", name=name, **arguments)
        self.assertEqual((reply.status, len(reply.definitions)), ("ok", 1), reply)
        return self.plist(reply.definitions[0])

    def plist(self, items):
        return {str(key): value for key, value in zip(items[::2], items[1::2])}

    def test_definitions_are_noted_with_their_evaluation_and_their_place_in_the_text(self):
        code = '(defvar *x* 1) ; one\n(defun f () 1)\n(defclass c () ()) (deftype small () t) (defpackage :pack) (defstruct s a)'
        self.define(code)
        for name, kind, text in (("*x*", "VARIABLE", "(defvar *x* 1)"), ("f", "FUNCTION", "; one\n(defun f () 1)"), ("c", "CLASS", "(defclass c () ())"),
                                 ("small", "TYPE", "(deftype small () t)"), ("pack", "PACKAGE", "(defpackage :pack)"), ("s", "STRUCTURE", "(defstruct s a)")):
            with self.subTest(name):
                entry = self.entry(name)
                self.assertEqual(entry["kind"], kind)
                self.assertEqual(entry["evaluation"], 7)
                self.assertEqual(code[entry["start"]:entry["end"]].strip(), text)

    def test_an_evaluation_without_a_number_is_not_noted(self):
        self.ok("(defun f () 1)")
        self.assertNotIn("evaluation", self.entry("f"))

    def test_code_compiled_into_a_file_is_not_noted_as_evaluated(self):
        path = self.file_with('#+no-such-feature (defun wrong () 0)\n'
                              '#-(and sbcl (not no-such-feature)) (defun f () :other)\n\n'
                              ';; näher\n(defun f ()\n  "\u00fc" #\\( :this)\n\n(defvar *v* 1)\n')
        self.define('(load (compile-file "%s"))' % path)
        entry = self.entry("f")
        self.assertNotIn("evaluation", entry)
        self.assertEqual((entry["file"], entry["line"], entry["text"]), (path, 5, '(defun f ()\n  "\u00fc" #\\( :this)'))
        entry = self.entry("*v*")
        self.assertEqual((entry["line"], entry["text"]), (8, "(defvar *v* 1)"))
        write(path, "\n" * 20 + "(defun f () :changed)\n")
        os.utime(path, (time.time() + 100,) * 2)
        entry = self.entry("f")
        self.assertEqual((entry["changed"], entry["line"], entry["text"]), (True, 21, "(defun f () :changed)"))
        os.unlink(path)
        self.assertIs(self.entry("f")["missing"], True)

    def test_a_file_of_parentheses_is_cut_and_not_followed(self):
        path = self.file_with("(defun f () 1)")
        self.define('(load "%s")' % path)
        write(path, "(defun f " + "(" * 1000000)
        os.utime(path, (0, 0))
        entry = self.entry("f")
        self.assertIs(entry["cut"], True)
        self.assertLess(len(entry["text"]), 40000)

    def test_looking_interns_nothing_and_leaves_classes_unfinalized(self):
        self.define("(defclass base () ((a :initform 1))) (defclass derived (base) ())")
        for operation, arguments in (("find-definition", {"name": "no-such-1"}), ("find-references", {"name": "no-such-2"}), ("class-info", {"name": "no-such-3"}),
                                     ("find-methods", {"name": "no-such-4"}), ("disassemble", {"name": "no-such-5"}),
                                     ("complete-symbol", {"pattern": "no-such-7"}), ("find-symbols", {"pattern": "no-such-8"})):
            reply = self.session.ask(operation, **arguments)
            self.assertIn(reply.status, ("ok", "refused"), operation)
        reply = self.session.ask("class-info", name="derived")
        self.assertEqual((reply.final, reply.lists("precedence")[:2]), (None, ["DERIVED", "BASE"]))
        self.values('(loop for n from 1 to 8 thereis (find-symbol (format nil "NO-SUCH-~d" n)))', "NIL")
        self.values("(list (sb-mop:class-finalized-p (find-class 'derived)) (sb-mop:class-finalized-p (find-class 'base)))", "(NIL NIL)")

    def test_near_names_say_where_they_live(self):
        self.define("(defpackage :shop (:use :cl) (:export :price)) (defun shop:price () 1) (defun shop::discount () 1)")
        for name, expected in (("pricee", "SHOP:PRICE (function)"), ("price", "SHOP:PRICE (function)"), ("discount", "SHOP::DISCOUNT (function, not exported)"), ("shop:prise", "SHOP:PRICE (function)")):
            with self.subTest(name):
                reply = self.session.ask("find-definition", name=name)
                self.assertEqual(reply.status, "refused")
                self.assertIn(expected, reply.sentence)
        self.assertIn("SHOP", self.session.ask("find-definition", name="shp:price").sentence)
        self.assertNotIn("CL-MCP-AGENT", self.session.ask("find-definition", name="declare-absen").sentence)

    def test_false_claims_of_code_about_its_place_do_no_harm(self):
        for plist in ("(:evaluation 3 :start 99999999999999999999999 :end 5)", "(:evaluation 4611686018427387903 :start -1 :end nil)", '(:evaluation "x")', "(:evaluation 5 :start)", "(a b)"):
            with self.subTest(plist):
                self.define("(with-compilation-unit (:source-plist '%s) (eval '(defun forged () 1)))" % plist)
                entry = self.entry("forged")
                self.assertEqual(entry["kind"], "FUNCTION")
                self.assertIs(type(entry.get("evaluation", 1)), int)
                self.assertEqual(self.session.ask("find-references", relation="callers", name="forged").status, "ok")

    def test_odd_names_are_found(self):
        self.define("(defun |a:b| () 1) (defun |lower| () (|a:b|)) (defclass odd () ()) (defvar *odd* (make-instance 'odd)) (defmethod print-object ((o odd) stream) (error \"no\")) (defmethod on ((x (eql *odd*)) y) 1)")
        self.assertEqual(self.entry("|a:b|")["name"], "|a:b|")
        self.assertEqual([entry[0] for entry in self.plist(self.session.ask("find-references", relation="callers", name="cl-user::|a:b|").groups[0])["references"]], ["|lower|"])
        self.assertEqual([entry[0] for entry in self.session.ask("find-methods", name="on").methods], ["ON ((EQL #<ODD: error printing it: SIMPLE-ERROR>) T)"])

    def test_a_user_who_replaces_standard_functions_does_not_break_the_look_ups(self):
        self.define("(defun f () 1) (defun g () (f))")
        self.ok('(sb-ext:unlock-package :cl) (defun find-symbol (&rest all) (error "no")) (defun position (&rest all) (error "no")) (defun fboundp (&rest all) (error "no"))')
        self.assertEqual(self.entry("f")["evaluation"], 7)
        self.assertEqual([entry[0] for entry in self.plist(self.session.ask("find-references", relation="callers", name="f").groups[0])["references"]], ["G"])


class Inspection(AgentTest):
    def inspect(self, **arguments):
        return self.session.ask("inspect", **arguments)

    def test_a_part_that_cannot_be_counted_has_no_total(self):
        self.ok("(setf *print-length* 3)")
        reply = self.inspect(code="(let ((list (make-list 100010))) (setf (cdr (last list)) list))", handle_number=1, count=2)
        self.assertEqual([reply.total, len(reply.parts)], [-1, 2])


class Measurement(AgentTest):
    def test_compiling_is_not_measured(self):
        reply = self.session.ask("time", code="(let ((x 0)) %s x)" % ("(incf x (random 10))" * 500))
        self.assertLess(reply.runs[0][1], 30000)

    def test_compiling_and_reading_the_clock_are_not_sampled(self):
        self.ok("(defun brief (n) (dotimes (i n) (sqrt 2)))")
        # Each form takes longer to be read, compiled and measured than to be evaluated.
        reply = self.session.ask("profile", code="(brief 10) " * 1000, mode="time", interval_us=100,
                                 max_samples=10000)
        names = [function[0] for function in reply.functions or []]
        self.assertEqual([], [name for name in names if re.search("SB-C:|SB-ASSEM:|clock|RUN-TIME|CONSED|READ", name)])

    def test_the_heap_is_counted_by_type(self):
        self.ok("(defstruct thing) (defvar *things* (loop repeat 1234 collect (make-thing)))")
        reply = self.session.ask("memory", types=True, collect=True)
        self.assertIn(1234, [type[2] for type in reply.types if type[0] == "THING"])
        self.assertGreater(reply.limit, reply.used)
        image = self.session.ask("memory", types=True, image=True)
        self.assertGreater(sum(type[1] for type in image.types), 4 * sum(type[1] for type in reply.types))


class Watching(AgentTest):
    def test_calls_while_the_agent_looks_are_not_recorded(self):
        self.ok("(defclass thing () ()) (defun text () \"thing\") (defvar *thing* (make-instance 'thing))"
                "(defmethod print-object ((o thing) s) (write-string (text) s))")
        self.session.ask("trace", action="start", functions=["text"])
        self.session.ask("tally", action="start", functions=["text"])
        self.values("*thing*", "thing")
        self.session.ask("list-definitions", type="variables")
        self.session.ask("inspect", code="*thing*", handle_number=1)
        self.assertEqual(self.session.ask("trace", action="report").made, 0)
        self.assertEqual(self.session.ask("tally", action="report").called, 0)
        self.values("(princ-to-string *thing*)", '"thing"')
        self.assertEqual(self.session.ask("trace", action="report").made, 2)
        self.assertEqual(self.session.ask("tally", action="report").tallies[0][:2], ["TEXT", 1])

    def test_a_stop_names_any_function(self):
        self.ok("(defun (setf part) (value x) (list value x))")
        self.session.ask("trace", action="start", functions=["(setf part)"], **{"break": "call"})
        reply = self.fails("(setf (part 1) 2)", "CL-MCP:BREAKPOINT")
        self.assertIn("Continue, and do not stop at (SETF PART) again.", [restart[1] for restart in reply.lists("restarts")])

    def test_a_package_means_its_functions(self):
        self.ok("(defpackage :my-app (:use :cl)) (in-package :my-app) (defun one () 1) (defun (setf one) (x) x)"
                "(defmacro two () 2) (in-package :cl-user)")
        reply = self.session.ask("trace", action="start", functions=["my-app"])
        self.assertEqual(sorted(reply.started), ["(SETF MY-APP::ONE)", "MY-APP::ONE"])
        self.assertEqual(sorted(self.session.ask("trace", action="stop").stopped), sorted(reply.started))


class Tools(AgentTest):
    """Tools that a session's own code defines."""

    def call(self, name, **arguments):
        return self.session.ask("call-tool", name=name,
                                arguments=[[key.replace("_", "-"), value] for key, value in arguments.items()])

    def test_the_set_is_sent_when_it_has_changed_and_in_each_hello(self):
        self.assertNotIn("tools", self.session.hello.fields)
        self.assertIn("tools", self.ok("(cl-mcp:define-tool one () 1)").fields)
        self.assertNotIn("tools", self.ok("(+ 1 2)").fields)
        copy = self.session.fork()
        self.assertEqual([tool[0] for tool in copy.hello.tools], ["one"])
        self.assertNotIn("tools", copy.evaluate("1").fields)
        self.assertIsNone(self.ok("(cl-mcp:remove-tool 'one)").tools)
        self.assertEqual([tool[0] for tool in copy.evaluate("(cl-mcp:define-tool two () 2)").tools], ["one", "two"])

    def test_a_tool_may_call_the_function_of_its_name(self):
        self.ok("(defun square (x) (* x x))")
        self.ok("(cl-mcp:define-tool square ((x integer)) (square x))")
        self.assertEqual(self.call("square", x="12").lists("values"), ["144"])
        self.values('(cl-mcp:call-tool "user-square" :x 3)', "9")

    def test_a_tool_that_does_not_exist_is_refused(self):
        self.assertEqual(self.call("nothing").status, "refused")

    def test_definitions_that_make_no_sense_are_errors(self):
        for code in ("(cl-mcp:define-tool 3 ())", "(cl-mcp:define-tool x (y))",
                     "(cl-mcp:define-tool x ((y string) . 3))", "(cl-mcp:define-tool x #1=((y string) . #1#))",
                     "(cl-mcp:define-tool x ((y string 7)))",
                     "(cl-mcp:define-tool x ((y (member))))", "(cl-mcp:define-tool x ((y (member . #1=(a . #1#)))))",
                     "(cl-mcp:define-tool x ((y string) (y string)))", "(cl-mcp:define-tool x ((nil string)))",
                     "(cl-mcp:define-tool x (&optional (y string)))",
                     '(cl-mcp:define-tool x ((y string "d" 1)) y)'):
            reply = self.fails(code, "ERROR")
            self.assertNotIn("tools", reply.fields, code)

    def test_bounds_are_those_that_the_server_takes(self):
        for type in ("(number 0 #.(/ (expt 10 400) 3))", "(integer 0 #.(expt 10 400))", "(number nil 1 2)",
                     "(number 0 #.sb-ext:double-float-positive-infinity)", "(integer #.(expt 2 53) #.(1+ (expt 2 53)))",
                     "(integer #.(expt 2 53))", "(number * -1d300)"):
            reply = self.fails(f"(cl-mcp:define-tool x ((y {type})) y)", "ERROR")
            self.assertNotIn("tools", reply.fields, type)
        reply = self.ok("(cl-mcp:define-tool x ((y (number 1/3 1d300)) (z (integer * 5))) (list y z))")
        self.assertEqual([float(entry[-3]) for entry in reply.tools[0][2]], [1e300, 5.0])

    def test_the_first_hundred_of_the_names_that_complete_one_are_sent_and_all_are_counted(self):
        complete = lambda type, prefix, **more: self.session.ask("complete-names", type=type, prefix=prefix, **more)
        self.assertIn("asdf", complete("systems", "asd").names)
        reply = complete("symbols", "", package="cl")
        self.assertEqual((len(reply.names), reply.total), (100, 978))
        complete("symbols", "nobody-has-interned-this")
        self.values('(find-symbol "NOBODY-HAS-INTERNED-THIS")', "NIL", "NIL")

    def test_definitions_are_evaluated_again_after_a_death(self):
        reply = self.session.ask("replay", definitions=[["(cl-mcp:define-tool one () 1) (cl-mcp:define-tool two () 2) (cl-mcp:remove-tool 'one) (print 1)",
                                                          "COMMON-LISP-USER", 1]])
        self.assertEqual((reply.evaluated, [tool[0] for tool in reply.tools]), (3, ["two"]))
