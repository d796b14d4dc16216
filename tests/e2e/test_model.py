"""A long random life of a session against a model of what its state must be: evaluations, errors, deaths, roll-backs, resets, look-ups, restarts,
threads, programs and files. Now and then the history as Lisp is loaded in another session, which must then be in the same state."""

import copy
import os
import re

import mcp

# The same course each time, so that a change is judged by what it changes; CL_MCP_TEST_SEED chooses another.
os.environ.setdefault("CL_MCP_TEST_SEED", "1570908571")

VARIABLES = ["*v%d*" % n for n in range(5)]
FUNCTIONS = ["f%d" % n for n in range(4)]
CHECK = "(list %s)" % " ".join(
    ["(and (boundp '%s) (symbol-value '%s))" % (name, name) for name in VARIABLES]
    + ["(and (fboundp '%s) (funcall '%s 1))" % (name, name) for name in FUNCTIONS]
)
DEATHS = (
    ("(sb-ext:exit :abort t)", "PROCESS-EXITED"),
    ("(sb-ext:exit :code 7)", "PROCESS-EXITED"),
    ("(sb-posix:kill (sb-posix:getpid) 9)", "PROCESS-KILLED"),
    ("(sb-posix:kill (sb-posix:getpid) 19)", "PROCESS-|TIMEOUT"),
    ('(sb-alien:alien-funcall (sb-alien:extern-alien "_exit" (function sb-alien:void sb-alien:int)) 3)', "PROCESS-EXITED"),
    ('(sb-alien:alien-funcall (sb-alien:extern-alien "abort" (function sb-alien:void)))', "PROCESS-"),
    ("(sb-posix:close 3)", "PROCESS-"),
    ("(sb-sys:without-interrupts (loop))", "TIMEOUT"),
)
LOOKUPS = ("session-info", "list-definitions", "list-errors", "list-checkpoints", "session-history", "list-sessions", "describe-symbol")


class Variables(dict):
    """The state: variables and functions, by name; a function adds its number to its argument."""

    def printed(self):
        values = [self.get(name) for name in VARIABLES] + [self[name] + 1 if name in self else None for name in FUNCTIONS]
        return "(%s)" % " ".join("NIL" if value is None else str(value) for value in values)


class Entered:
    """An error that can be entered: the state at its point, what its restart does, and the definitions made since."""

    def __init__(self, state, number, target, index):
        self.state, self.number, self.target, self.index = copy.copy(state), number, target, index


class Model(mcp.TestCase):
    def begin(self):
        self.generator = self.random()
        self.story = []
        self.place = self.folder()
        self.forget()

    def forget(self):
        """What a reset leaves."""
        self.state = Variables()
        self.number = 0  # of the last evaluation
        self.at = 0  # the evaluation whose state the session is in
        self.states = {}  # by evaluation
        self.parents = {}  # of evaluations: the one whose state they began with
        self.names = {}  # of checkpoints: (evaluation, state)
        self.errors = []  # newest first: Entered, or None for one that is text
        self.definitions = []  # (evaluation, name, value, is_default), in the order of the evaluations

    def tell(self, *what):
        self.story.append(" ".join(str(w) for w in what))

    # Evaluations

    def evaluated(self):
        """The state now is the one after the evaluation that was just made."""
        self.number += 1
        self.parents[self.number] = self.at
        self.at = self.number
        for number in [n for n in self.states if n > self.at]:
            del self.states[number]
        self.states[self.at] = copy.copy(self.state)

    def evaluate(self, code, **named):
        self.tell("evaluate", code)
        return self.s.evaluate(code, **named)

    def check(self):
        report = self.s.evaluate(CHECK)
        self.assertValue(report, self.state.printed())
        self.assertEqual("", report.session, report.text)
        self.evaluated()

    def number_of(self):
        return self.generator.randrange(1000)

    def bound(self):
        return [name for name in VARIABLES if name in self.state]

    def define(self, name, value, is_default=False):
        if not (is_default and name in self.state):
            self.state[name] = value
        self.definitions.append((self.number + 1, name, value, is_default))

    def do_defvar(self):
        name, value = self.generator.choice(VARIABLES), self.number_of()
        report = self.evaluate("(defvar %s %d)" % (name, value))
        self.assertValue(report, name.upper())
        self.define(name, value, True)
        self.evaluated()

    def do_defparameter(self):
        name, value = self.generator.choice(VARIABLES), self.number_of()
        self.assertValue(self.evaluate("(defparameter %s %d)" % (name, value)), name.upper())
        self.define(name, value)
        self.evaluated()

    def do_defun(self):
        name, value = self.generator.choice(FUNCTIONS), self.number_of()
        self.assertValue(self.evaluate("(defun %s (x) (+ x %d))" % (name, value)), name.upper())
        self.define(name, value)
        self.evaluated()

    def do_setf(self):
        if not self.bound():
            return self.do_defvar()
        name, value = self.generator.choice(self.bound()), self.number_of()
        self.assertValue(self.evaluate("(setf %s %d)" % (name, value)), str(value))
        self.state[name] = value
        self.evaluated()

    def do_incf(self):
        if not self.bound():
            return self.do_defvar()
        name, value = self.generator.choice(self.bound()), self.number_of()
        self.state[name] += value
        self.assertValue(self.evaluate("(incf %s %d)" % (name, value)), str(self.state[name]))
        self.evaluated()

    # Errors: what was done before them stays done.

    def do_error(self):
        if not self.bound():
            return self.do_defvar()
        name, target, value = self.generator.choice(self.bound()), self.generator.choice(VARIABLES), self.number_of()
        report = self.evaluate("(progn (setf %s %d) (setf (symbol-value '%s) (restart-case (error \"x\") (use-value (v) v))))" % (name, value, target))
        self.assertErrorReport(report, "SIMPLE-ERROR")
        self.state[name] = value
        self.evaluated()
        self.errors.insert(0, Entered(self.state, self.number, target, report.error_number))

    def do_entry(self):
        """What is done at an error that stands stays; an entry that kills the process costs itself only."""
        before = self.number
        self.do_error()
        if self.number == before or not self.errors or self.errors[0] is None or self.errors[0].number != self.number:
            return
        name, value = self.generator.choice(self.bound()), self.number_of()
        self.tell("at the error", name, value)
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(setf %s %d)" % (name, value)), str(value))
        if self.generator.random() < 0.3:
            self.tell("death at the error")
            code = "(progn (setf %s -1) (sb-ext:exit :abort t))" % name
            self.assertTrue(self.s.call("evaluate-in-frame", frame=0, code=code).is_error)
        self.state[name] = value
        self.states[self.at] = copy.copy(self.state)
        self.errors[0].state = copy.copy(self.state)

    def do_endless_loop(self):
        if not self.bound():
            return self.do_defvar()
        name, value = self.generator.choice(self.bound()), self.number_of()
        self.assertErrorReport(self.evaluate("(progn (setf %s %d) (loop))" % (name, value), timeout=0.5), "TIMEOUT")
        self.state[name] = value
        self.evaluated()
        self.errors.insert(0, None)

    def do_reader_error(self):
        if not self.bound():
            return self.do_defvar()
        name, value = self.generator.choice(self.bound()), self.number_of()
        report = self.evaluate("(setf %s %d) (list" % (name, value))
        self.assertTrue(report.is_error, report.text)
        # Forms are read one at a time; whether the first one ran is told by the state.
        self.state[name] = value
        self.evaluated()
        self.errors.insert(0, None)

    def do_restart(self):
        choices = [error for error in self.errors[:4] if error is not None]
        if not choices:
            return self.do_error()
        error, value = self.generator.choice(choices), self.number_of()
        self.tell("invoke-restart", error.index, value, "of the error in", error.number)
        report = self.s.call("invoke-restart", restart="USE-VALUE", index=error.index, value="(* 1 %d)" % value)
        self.assertValue(report, str(value))
        self.state = copy.copy(error.state)
        way = self.way()
        for number, name, number_value, is_default in self.definitions:
            if number in way and number > error.number and not (is_default and name in self.state):
                self.state[name] = number_value
        self.state[error.target] = value
        self.evaluated()

    # Threads, programs and files

    def step(self, code, *values):
        self.assertValue(self.evaluate(code), *values)
        self.evaluated()

    def do_threads(self):
        """While a thread runs there are no checkpoints; an error stands in a thread and continues there. It is not started by a
        definition, which a restart in a copy would evaluate again."""
        if not self.bound():
            return self.do_defvar()
        name, value = self.generator.choice(self.bound()), self.number_of()
        self.step("(progn (set '*gate* (sb-thread:make-semaphore)) (set '*th* (sb-thread:make-thread"
                  " (lambda () (sb-thread:wait-on-semaphore (symbol-value '*gate*))))) t)", "T")
        report = self.evaluate('(progn (incf %s) (cerror "go" "x") (incf %s %d))' % (name, name, value))
        self.assertErrorReport(report, "SIMPLE-ERROR")
        self.state[name] += 1
        self.evaluated()
        self.errors.insert(0, None)
        if self.generator.random() < 0.5:
            self.check()
            self.tell("CONTINUE")
            self.state[name] += value
            self.assertValue(self.s.call("invoke-restart", restart="CONTINUE", index=report.error_number), str(self.state[name]))
            self.evaluated()
        self.step("(progn (sb-thread:signal-semaphore (symbol-value '*gate*)) (sb-thread:join-thread (symbol-value '*th*)) t)", "T")
        mcp.wait_until(lambda: self.check() or self.at in self.listed(), 20, "a checkpoint without threads")

    def do_program(self):
        """The end of a program's input arrives although checkpoints were made meanwhile."""
        self.step("(progn (defparameter *cat* (sb-ext:run-program \"/bin/cat\" '() :input :stream :output :stream :wait nil)) t)", "T")
        self.check()
        self.step("(progn (write-line \"x\" (sb-ext:process-input *cat*)) (close (sb-ext:process-input *cat*))"
                  " (prog1 (list (read-line (sb-ext:process-output *cat*)) (read-line (sb-ext:process-output *cat*) nil)) (close (sb-ext:process-output *cat*))))",
                  '("x" NIL)')

    def do_file(self):
        """A file that is open at an error is written on after a restart."""
        path = os.path.join(self.place, "file")
        report = self.evaluate('(with-open-file (s "%s" :direction :output :if-exists :supersede) (write-line "a" s) (cerror "go" "x") (write-line "b" s) :done)' % path)
        self.assertErrorReport(report, "SIMPLE-ERROR")
        self.evaluated()
        self.errors.insert(0, None)
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE", index=report.error_number), ":DONE")
        self.evaluated()
        self.assertEqual("a\nb\n", mcp.read(path))

    # Deaths: the session continues from the state before.

    def do_death(self):
        *ordinary, endless = DEATHS
        code, error_type = endless if self.generator.random() < 0.05 else self.generator.choice(ordinary)
        code = "(progn (defparameter %s -1) (defun %s (x) (declare (ignore x)) :lost) %s)" % (self.generator.choice(VARIABLES), self.generator.choice(FUNCTIONS), code)
        report = self.evaluate(code, timeout=1)
        self.assertErrorReport(report)
        self.assertRegex(report.error_type, error_type, report.text)
        self.assertIn("continues from the state before this evaluation", report.session)
        self.number += 1
        self.errors.insert(0, None)

    def do_death_between_calls(self):
        pid = int(self.evaluate("(sb-posix:getpid)").value)
        self.evaluated()
        self.s.call("list-checkpoints")
        os.kill(pid, 9)
        mcp.wait_until(lambda: not mcp.is_alive(pid), 10, "the end of the process")
        report = self.s.evaluate(CHECK)
        self.assertValue(report, self.state.printed())
        self.assertIn("Between two calls", report.session)
        self.evaluated()

    # Time travel

    def way(self):
        """The evaluations that led to the state of now; roll-backs make branches."""
        way, number = set(), self.at
        while number:
            way.add(number)
            number = self.parents.get(number, 0)
        return way

    def return_to(self, number, state):
        self.state, self.at = copy.copy(state), number

    def rollback(self, to):
        self.tell("rollback to", to, "from", self.at)
        reply = self.s.call("rollback-session", to=str(to))
        match = re.match(r"Returned to the state after evaluation (\d+)\.", reply.text)
        self.assertEqual(reply.is_error, match is None, reply.text)
        return reply, match and int(match.group(1))

    def listed(self):
        text = self.s.call("list-checkpoints").text
        return [int(n) for n in re.findall(r"^- after evaluation (\d+)", text, re.MULTILINE)]

    def do_name(self):
        name = "n%d" % self.generator.randrange(3)
        self.tell("name", name, self.at)
        self.assertSucceeds(self.s.call("checkpoint-session", name=name))
        self.names[name] = (self.at, copy.copy(self.state))

    def do_rollback_to_a_name(self):
        name = "n%d" % self.generator.randrange(4)
        reply, number = self.rollback(name)
        self.assertEqual(name not in self.names, reply.is_error, reply.text)
        if number is not None:
            self.assertEqual(self.names[name][0], number, reply.text)
            self.return_to(number, self.names[name][1])

    def do_rollback_by_steps(self):
        steps = self.generator.randint(1, 12)
        way = self.way()  # a named state of a branch that was left is no step back
        target = self.at
        for _ in range(steps):
            target = self.parents.get(target, 0)  # what died is no step
        reply, number = self.rollback(-steps)
        if number is None:
            wanted = re.search(r"There is no checkpoint of the state after evaluation (\d+)", reply.text)
            self.assertIsNotNone(wanted, reply.text)
            # An evaluation whose process was killed right after it is no step either if it had not been copied yet.
            self.assertLessEqual(int(wanted.group(1)), target, reply.text)
            self.assertNotIn(int(wanted.group(1)), [at for at, _ in self.names.values()])
            return
        self.assertIn(number, way | {0}, reply.text)
        self.assertLessEqual(number, target, reply.text)
        self.assertIn(number, self.all_states(), reply.text)
        self.return_to(number, self.all_states()[number])

    def all_states(self):
        return {**{number: state for number, state in self.names.values()}, **self.states}

    def do_rollback_and_forward(self):
        before, state = self.at, copy.copy(self.state)
        self.do_rollback_by_steps()
        if self.at == before:
            return
        reply, number = self.rollback(before)
        self.assertEqual(before, number, reply.text)
        self.return_to(number, state)

    def do_rollback_to_nowhere(self):
        reply, number = self.rollback(self.generator.choice(("nowhere", self.number + 1, self.number + 1000)))
        self.assertIsNone(number, reply.text)

    def do_reset(self):
        self.tell("reset")
        self.assertFalse(self.s.call("reset-session").is_error)
        self.forget()

    def do_lookup(self):
        tool = self.generator.choice(LOOKUPS)
        self.tell("look up", tool)
        reply = self.s.call(tool, {"name": "f0"} if tool == "describe-symbol" else {})
        if tool == "list-definitions":
            for name in self.state:
                self.assertIn(name.upper(), reply.text)
            for name in FUNCTIONS:
                if name not in self.state:
                    self.assertNotRegex(reply.text, r"(?m)\b%s\b" % name.upper())
        elif tool == "session-history" and self.number:
            self.assertIn("\n%d. " % self.number, reply.text)
        elif tool == "list-checkpoints" and self.at:
            self.assertIn("in the state after evaluation %d:" % self.at, reply.text)
            for number in [int(n) for n in re.findall(r"^- after evaluation (\d+)", reply.text, re.MULTILINE)]:
                self.assertIn(number, self.all_states(), reply.text)

    def do_compile(self):
        self.tell("compile-form")
        self.assertFalse(self.s.call("compile-form", code="(defun f0 (x) (list x :compiled))").is_error)

    weights = {
        "defvar": 10, "defparameter": 6, "defun": 10, "setf": 10, "incf": 14, "error": 10, "entry": 6, "endless_loop": 1, "reader_error": 3, "restart": 8,
        "death": 8, "death_between_calls": 2, "name": 5, "rollback_to_a_name": 5, "rollback_by_steps": 8, "rollback_and_forward": 4,
        "rollback_to_nowhere": 2, "reset": 1, "lookup": 10, "compile": 2, "threads": 2, "program": 3, "file": 3,
    }

    def check_history(self):
        """The history as Lisp, loaded in a session of its own, gives the definitions and values of the state of now."""
        text = self.s.call("session-history", format="lisp", max_output=4000000).text
        path = self.file(text, "history.lisp")
        self.assertFalse(self.s.call("reset-session", session="reader").is_error)
        report = self.s.evaluate("(handler-bind ((warning #'muffle-warning)) (load \"%s\"))" % path, session="reader")
        self.assertValue(report, "T")
        report = self.s.evaluate(CHECK, session="reader")
        self.assertEqual(self.state.printed(), report.value, text)

    def live(self, steps):
        self.begin()
        self.s.call("create-session", name="reader")
        names, weights = list(self.weights), list(self.weights.values())
        for step in range(steps):
            action = self.generator.choices(names, weights)[0]
            try:
                getattr(self, "do_" + action)()
                self.check()
                if step % 10 == 9:
                    self.check_history()
            except AssertionError as error:
                raise AssertionError("step %d, %s: %s\nBefore that:\n%s" % (step, action, error, "\n".join(self.story[-25:]))) from error

    def test_undone_evaluations_stay_undone_after_a_return_to_a_later_state(self):
        self.s.evaluate("(defvar *a* 1)")
        self.s.evaluate("(restart-case (error \"x\") (use-value (v) v))")
        self.s.evaluate("(defun f () 1)")
        self.s.call("rollback-session", to="2")
        self.s.evaluate("(setf *a* 2)")
        self.s.evaluate("(setf *a* 3)")
        self.s.call("rollback-session", to="-1")
        self.assertEvaluates("(list *a* (fboundp 'f))", "(2 NIL)")
        self.assertIn(";; (defun f () 1)", self.s.call("session-history", format="lisp", max_output=4000000).text)
        self.assertValue(self.s.call("invoke-restart", restart="USE-VALUE", value="5", index=1), "5")
        self.assertEvaluates("(fboundp 'f)", "NIL")

    def test_three_hundred_steps_of_every_kind(self):
        self.live(300)

    def test_without_a_reset_for_long(self):
        self.weights = dict(self.weights, reset=0, death=3, endless_loop=0)
        self.live(400)

    def test_many_deaths_and_returns(self):
        self.weights = dict(self.weights, death=30, rollback_by_steps=20, rollback_to_a_name=20, endless_loop=0)
        self.live(150)
