"""Every tool does what its file in tests/data/tools says (contract.py has the format), as docs/tools.md shows it.

For each tool: its example by itself, while an evaluation runs, after an error, in a second session; its cases; and,
from its schema, each argument of a wrong type or out of bounds, a required one that is missing, one that does
not exist, and a session that does not exist. A tool that only looks changes nothing: the image and the server's records
of the session are compared before and after.

With sanitizers only the examples are run.
"""

import re

import contract
import mcp

# Everything in the image that a tool which only looks must leave as it is. The first time the form is evaluated it
# remembers, the second time it says what is different; it is the same text both times, so that reading it interns
# nothing new.
SNAPSHOT = """
(let ((now (make-hash-table :test #'equal))
      (own '(* ** *** / // /// + ++ +++ - *gensym-counter* *package* *random-state*)))
  (flet ((note (key &rest state) (setf (gethash key now) state))
         (value-of (symbol)
           (let ((value (symbol-value symbol)))
             (typecase value
               (hash-table (list value (hash-table-count value)))
               (vector (list value (length value)))
               (cons (list value (ignore-errors (list-length value))))
               (t value)))))
    (note :features (copy-list *features*))
    (note :modules (copy-list *modules*))
    (note :package *package*)
    (note :readtable *readtable*)
    (note :directory *default-pathname-defaults*)
    (note :threads (length (sb-thread:list-all-threads)))
    (note :random (prin1-to-string *random-state*))
    (dolist (package (list-all-packages))
      (let ((inside 0) (outside 0)
            (is-system (eql 0 (search "SB-" (package-name package)))))
        (do-symbols (symbol package)
          (when (eq (symbol-package symbol) package)
            (if (eq :external (nth-value 1 (find-symbol (symbol-name symbol) package)))
                (incf outside)
                (incf inside))
            (when (fboundp symbol)
              (let ((function (fdefinition symbol)))
                (note (list :function symbol) function
                      (and (typep function 'generic-function)
                           (length (sb-mop:generic-function-methods function))))))
            (when (find-class symbol nil) (note (list :class symbol) (find-class symbol nil)))
            (unless is-system
              (when (and (symbol-plist symbol) (not (eq symbol :contract)))
                (note (list :plist symbol) (copy-list (symbol-plist symbol))))
              (when (and (boundp symbol) (not (member symbol own))
                         (not (search "CL-MCP" (package-name package))))
                (note (list :value symbol) (value-of symbol))))))
        (note (list :package package) inside outside (package-name package) (package-nicknames package)
              (package-use-list package) (package-shadowing-symbols package)))))
  (let ((before (get :contract :snapshot)) (changed '()))
    (cond ((null before) (setf (get :contract :snapshot) now) :taken)
          (t
           (remprop :contract :snapshot)
           (maphash (lambda (key state)
                      (unless (equal state (gethash key before))
                        (push (list key (gethash key before) state) changed)))
                    now)
           (maphash (lambda (key state)
                      (declare (ignore state))
                      (unless (nth-value 1 (gethash key now)) (push (list key :gone) changed)))
                    before)
           (let ((*print-length* 10) (*print-level* 4))
             (format nil "~{~s~^~%~}" (subseq changed 0 (min 10 (length changed)))))))))
"""

# What the server remembers of a session: nobody's look may show in it. The first waits until the copy after the last
# evaluation is made.
RECORDS = (
    "list-definitions",
    "session-history",
    "list-errors",
    "describe-last-error",
    "get-backtrace",
    "list-checkpoints",
    "configure-limits",
)


def wrong_values(schema):
    """Values that an argument does not take."""
    kind = schema["type"]
    if kind == "string":
        yield True
        yield {"text": "text"}
        if "enum" in schema:
            yield "no-such-choice"
    elif kind == "integer":
        yield "many"
        yield 1.5
    elif kind == "number":
        yield "soon"
    elif kind == "boolean":
        yield "perhaps"
    elif kind == "array":
        yield {"text": "text"}
        yield [5]
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] * 2


def without_moment(text):
    """Without the line that says in which moment of an evaluation a look-up was answered."""
    return re.sub(r"^\(Evaluation \d+ has been running for .*\)\n", "", text)


class ContractCase(mcp.TestCase):
    bench = None

    @classmethod
    def setUpClass(cls):
        cls.bench = contract.Bench()

    @classmethod
    def tearDownClass(cls):
        cls.bench.close()

    def compare(self, tool, got):
        text, is_error = got
        masks = tool.example.get("masks", ())
        self.assertEqual(contract.normal(tool.example["reply"], masks), contract.normal(text, masks))
        self.assertEqual(tool.example.get("error", False), is_error)

    def alone(self, tool):
        self.bench.prepare(tool)
        self.compare(tool, self.bench.call(tool.name, tool.example["arguments"]))

    def cases(self, tool):
        for case in tool.cases:
            with self.subTest(case["name"]):
                text, is_error = self.bench.call(tool.name, case["arguments"])
                if not re.fullmatch(case["reply"], text, re.DOTALL):
                    self.fail("does not match %s:\n%s" % (case["reply"], text[:4000]))
                self.assertEqual(case.get("error", False), is_error, text[:1000])


class Contract(ContractCase):
    def check(self, name):
        tool = contract.Tool(name)
        self.alone(tool)
        if mcp.SANITIZED:
            return
        self.cases(tool)
        with self.subTest("arguments"):
            self.arguments(tool)
        with self.subTest("running"):
            self.running(tool)
        with self.subTest("after-error"):
            self.after_error(tool)
        with self.subTest("second-session"):
            self.second_session(tool)

    def arguments(self, tool):
        """Answered without any Lisp, by the table."""
        schema = self.bench.schemas[tool.name]["inputSchema"]
        good = tool.example["arguments"]
        tries = [("no-such-argument", dict(good, **{"no-such-argument": 1}))]
        for name, argument in schema["properties"].items():
            tries.extend((name, dict(good, **{name: wrong})) for wrong in wrong_values(argument))
        for name in schema.get("required", ()):
            tries.append((name, {other: value for other, value in good.items() if other != name}))
        started = [(name, arguments, self.bench.start(tool.name, arguments)) for name, arguments in tries]
        for name, arguments, pending in started:
            text, is_error = self.bench.finish(pending)
            self.assertTrue(is_error, "%r: %s" % (arguments, text[:500]))
            self.assertIn(name, text)
            self.assertLess(len(text), 600)
        if "session" in schema["properties"]:
            text, is_error = self.bench.call(tool.name, dict(good, session="no-such"))
            self.assertTrue(is_error)
            self.assertRegex(text, r"\ANo session named no-such\.\n")

    def running(self, tool):
        """The call waits its turn or is answered meanwhile: the reply is the same, or begins with when, and neither hangs."""
        if "running" in tool.contexts:
            return
        self.bench.prepare(tool)
        release = self.bench.hold()
        pending = self.bench.start(tool.name, tool.example["arguments"])
        self.bench.client.request("ping")  # the server has the call
        release()
        text, is_error = self.bench.finish(pending)
        self.compare(tool, (without_moment(text), is_error))

    def records(self):
        # What the setup has left running ends first: the records change when it does.
        self.bench.call("cancel-evaluation", {})
        self.bench.call("evaluation-status", {"wait": 20})
        return {name: without_moment(self.bench.call(name, {})[0]) for name in RECORDS}

    def assertRecords(self, before):
        for name, text in self.records().items():
            self.assertEqual(before[name], text, name)

    def after_error(self, tool):
        if "after-error" in tool.contexts and tool.changes:
            return
        self.bench.prepare(tool)
        # Where the example is about an error of the setup, that one stays the last.
        if "after-error" not in tool.contexts:
            if not tool.changes:
                self.assertEqual("=> :TAKEN", self.bench.call("evaluate-lisp", {"code": SNAPSHOT})[0])
            self.assertTrue(self.bench.call("evaluate-lisp", {"code": '(error "Before the example")'})[1])
        before = self.records()
        got = self.bench.call(tool.name, tool.example["arguments"])
        if not tool.changes:
            self.assertRecords(before)
        if "after-error" in tool.contexts:
            return
        self.compare(tool, got)
        if not tool.changes:
            for case in tool.cases:
                self.bench.call(tool.name, case["arguments"])
            self.assertRecords(before)
            difference, _ = self.bench.call("evaluate-lisp", {"code": SNAPSHOT})
            self.assertEqual('=> ""', difference, "what is different in the image")

    def second_session(self, tool):
        if "second-session" in tool.contexts or not self.bench.takes_session(tool.name):
            return
        self.bench.prepare(tool, contract.SECOND)
        self.compare(tool, self.bench.call(tool.name, tool.example["arguments"], contract.SECOND))


class FormerNames(ContractCase):
    """A name of a former version does what it did, or nearly: its example and its cases."""

    def check(self, name):
        tool = contract.Tool(name)
        self.assertNotIn(name, self.bench.schemas)
        self.alone(tool)
        if not mcp.SANITIZED:
            self.cases(tool)


class Completeness(mcp.TestCase):
    def test_the_comparison_of_the_image_sees_changes(self):
        self.s.evaluate("(defvar *table* (make-hash-table)) (defun f () 1) (defgeneric g (x))")
        for change, seen in (
            ("(+ 1 2)", ""),
            ('(intern "NEW-SYMBOL")', ":PACKAGE"),
            ("(setf (gethash 1 *table*) 2)", ":VALUE *TABLE*"),
            ("(defun f () 2)", ":FUNCTION F"),
            ("(defmethod g ((x integer)) 1)", ":FUNCTION G"),
            ("(push :car *features*)", ":FEATURES"),
        ):
            self.assertEqual(":TAKEN", self.s.evaluate(SNAPSHOT).value)
            self.assertFalse(self.s.evaluate(change).is_error)
            difference = self.s.evaluate(SNAPSHOT).value
            self.assertIn(seen, difference) if seen else self.assertEqual('""', difference)

    def test_every_tool_has_a_file(self):
        tools = {tool["name"] for tool in self.start_server().request("tools/list")["tools"]}
        self.assertEqual(tools, set(contract.names()))

    def test_read_only_tools_change_nothing(self):
        tools = {tool["name"]: tool for tool in self.start_server().request("tools/list")["tools"]}
        for name in contract.names():
            if tools[name]["annotations"].get("readOnlyHint"):
                self.assertFalse(contract.Tool(name).changes, name)

    def test_reasons_are_sentences(self):
        for name in contract.names():
            for reason in contract.Tool(name).contexts.values():
                self.assertRegex(reason, r"^\S+ \S+ \S+", name)


def test_of(name):
    return lambda self: self.check(name)


for _name in contract.names():
    setattr(Contract, "test_" + _name.replace("-", "_"), test_of(_name))
for _name in contract.names(former=True):
    setattr(FormerNames, "test_" + _name.replace("-", "_"), test_of(_name))
