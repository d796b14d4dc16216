"""Replies are bounded, whatever is asked, and the rest can be fetched: every tool is asked for a huge answer (HUGE)."""

import os
import re

import mcp

LIMIT = 4096  # max-output
WHOLE = 4 * LIMIT
ERROR = 10000
MARK = 200  # bytes of the line that says how much was left out

WORDS = '"%s"' % ("long " * 20000)
PROGRAM = """
(defpackage :huge (:use :cl))
(in-package :huge)
(defun documented () %(words)s 1)
(defvar *text* (make-string 200000 :initial-element #\\x))
(define-condition talkative (error) ((what :initarg :what)) (:report (lambda (c s) (declare (ignore c)) (write-string *text* s))))
(defun fail (x) (declare (ignorable x)) (error 'talkative :what *text*))
(defclass wide () (%(slots)s))
(defgeneric many (x))
(defmethod many ((x wide)) x)
(defmacro expands () '(list %(words)s %(words)s))
(defun calls () (list %(calls)s))
(declaim (notinline called))
(defun called (x) x)
%(callers)s
(defun deep (n text) (if (zerop n) (fail text) (1+ (deep (1- n) text))))
(in-package :cl-user)
""" % {
    "words": WORDS,
    "slots": " ".join("(slot-of-a-rather-long-name-%d :initarg :s%d :documentation \"%s\")" % (n, n, "about it " * 10) for n in range(300)),
    "calls": " ".join("(called %d)" % n for n in range(3000)),
    "callers": "\n".join("(defun caller-with-a-rather-long-name-number-%d () (called %d))" % (n, n) for n in range(400)),
}

# The arguments with which each tool that can say much says it. None: what it says does not grow, and why.
HUGE = {
    "evaluate-lisp": {"code": "(dotimes (i 20000) (print i)) (dotimes (i 20000) (print i *error-output*)) (values-list (loop repeat 300 collect huge::*text*))"},
    "get-output": {"ref": 1, "pattern": "1"},
    "evaluation-status": {"all": True},
    "cancel-evaluation": {},
    "configure-limits": {},
    "list-errors": {"index": 0},
    "get-backtrace": {"max-frames": 1000, "locals": True},
    "evaluate-in-frame": {"frame": 0, "code": "huge::*text*"},
    "invoke-restart": {"restart": "RETRY"},
    "restart-frame": {"frame": 0, "values": "huge::*text*"},
    "list-definitions": {"limit": 10000},
    "describe-symbol": {"name": "print-object", "show": "methods", "limit": 10000},
    "apropos-search": {"pattern": "e", "limit": 10000},
    "find-definition": {"name": "huge::calls", "machine-code": True},
    "find-references": {"name": "*standard-output*", "limit": 10000},
    "explain-form": {"form": "(huge::expands)"},
    "validate-syntax": {"code": "(" * 200000},
    "inspect-object": {"code": "(loop repeat 500 collect huge::*text*)", "limit": 500},
    "measure-code": {"code": "(values-list (loop repeat 300 collect huge::*text*))"},
    "memory-report": {},
    "trace-functions": {"action": "start", "functions": ["huge::caller-%d" % n for n in range(900)]},
    "list-threads": {},
    "interrupt-thread": {"thread": "x" * 100000},
    "load-system": {"path": "loud.lisp"},
    "edit-form": {"path": "big.lisp", "kind": "defun", "name": "f", "operation": "replace", "content": "(defun f () %s)" % WORDS},
    "compare-with-files": {},
    "forget-definition": {"name": "x" * 100000},
    "list-systems": {"limit": 5000},
    "run-tests": {"system": "described"},
    "create-session": {"name": "x" * 100000},
    "session-info": {"all": True},
    "reset-session": None,  # it would take away what the others are asked about
    "session-history": {"format": "lisp"},
    "checkpoint-session": {"name": "x" * 100000},
    "rollback-session": {"to": "x" * 100000},
    "get-usage-guide": {},
}

# The same by former names, which show other parts.
HUGE_BY_FORMER_NAMES = [
    ("describe-last-error", {}),
    ("complete-symbol", {"prefix": "s", "limit": 10000}),
    ("who-calls", {"name": "huge::called", "limit": 10000}),
    ("who-binds", {"name": "*print-pretty*", "limit": 10000}),
    ("who-sets", {"name": "*package*", "limit": 10000}),
    ("who-macroexpands", {"name": "defun", "limit": 10000}),
    ("who-specializes", {"name": "t", "limit": 10000}),
    ("list-callees", {"name": "huge::calls", "limit": 10000}),
    ("class-info", {"class": "huge::wide"}),
    ("explain-dispatch", {"form": "(huge::many (make-instance 'huge::wide :s1 huge::*text*))"}),
    ("compile-form", {"code": "(lambda () %s)" % " ".join("(+ 1 'symbol-%d)" % n for n in range(300))}),
    ("profile-code", {"code": "huge::*text*"}),
    ("profile-functions", {"action": "start", "functions": ["huge::caller-%d" % n for n in range(900)]}),
    ("describe-system", {"system": "described"}),
    ("list-checkpoints", {}),
    ("patch-form", {"path": "big.lisp", "kind": "defun", "name": "f", "old-text": "short", "new-text": "%s" % ("word\n" * 20000)}),
    ("quickload", {"system": "x" * 100000}),
]

OF_ERRORS = ("describe-last-error", "get-backtrace", "list-errors", "evaluate-in-frame", "invoke-restart", "return-from-frame",
             "restart-frame")

FILES = {
    "big.lisp": "(defun f () :short)\n",
    "loud.lisp": "(dotimes (i 20000) (print i))\n(dotimes (i 2000) (warn \"number ~d ~a\" i (subseq huge::*text* 0 500)))\n",
    "described.asd": '(defsystem "described" :description "%s" :long-description "%s" :perform (test-op (o c) (dotimes (i 20000) (print i)) (error (find-symbol "TALKATIVE" :huge))))\n' % ("d " * 1000, "text " * 40000),
}


class Huge(mcp.TestCase):
    def assertBounded(self, reply, whole=WHOLE):
        size = len(reply.text.encode())
        self.assertLessEqual(size, whole + MARK)
        if reply.is_error:
            self.assertLess(len(reply.text), ERROR)
        return size

    def test_a_long_message_is_cut_like_any_text(self):
        self.s.evaluate('(error "~a" (make-string 16000 :initial-element #\\x))')
        reply = self.s.call("describe-last-error")
        self.assertLess(self.assertBounded(reply), 5000)
        self.assertRegex(reply.text, r"(?s)\AError: SIMPLE-ERROR\n  xxx.*get-output ref \d+ .*\n  1\. RETRY - ")

    def test_every_tool_and_resource_is_asked_for_a_huge_answer(self):
        folder = self.folder()
        for name, text in FILES.items():
            mcp.write(os.path.join(folder, name), text)
        client = self.start_server("--directory", folder, "--tools=full")
        names = [tool["name"] for tool in client.request("tools/list")["tools"]]
        self.assertEqual(set(names), set(HUGE))
        self.assertFalse(client.evaluate(PROGRAM, timeout=300).is_error)
        self.assertResourcesAreBounded(client)
        client.evaluate("(format t \"~{~a~%~}\" (loop for i below 20000 collect i))")
        grown = set()
        for name, arguments in [*((name, HUGE[name]) for name in names if HUGE[name] is not None), *HUGE_BY_FORMER_NAMES]:
            with self.subTest(name):
                if name in OF_ERRORS:
                    client.evaluate("(huge::deep 500 huge::*text*)")
                reply = client.call(name, arguments, wait=120)
                self.assertNotRegex(reply.text, "^(Unknown|Missing) argument")
                if self.assertBounded(reply) > LIMIT:
                    grown.add(name)
                    # What was left out is kept.
                    if "left out" in reply.text:
                        ref = re.findall(r"get-output ref (\d+)", reply.text)
                        self.assertTrue(ref)
                        self.assertFalse(client.call("get-output", ref=int(ref[-1])).is_error)
        self.assertLessEqual({"describe-symbol", "session-history", "apropos-search", "inspect-object", "list-definitions"}, grown)
        client.call("configure-limits", max_output=1000)
        for name, arguments in (*((name, HUGE[name]) for name in ("describe-symbol", "session-history", "apropos-search", "list-definitions", "find-definition")),
                                ("class-info", dict(HUGE_BY_FORMER_NAMES)["class-info"])):
            with self.subTest("a smaller max-output", tool=name):
                self.assertBounded(client.call(name, arguments), 4000)

    def assertResourcesAreBounded(self, client):
        """A whole history can be asked for."""
        self.assertIn(PROGRAM.strip(), client.call("session-history", format="lisp", max_output=4000000).text)
        read = lambda what: client.request("resources/read", {"uri": "lisp://session/default/" + what})["contents"][0]["text"]
        for what in ("transcript", "definitions"):
            self.assertLessEqual(len(read(what).encode()), WHOLE + MARK, what)
        self.assertIn(PROGRAM.strip(), read("source"), "a file that loads is whole")
