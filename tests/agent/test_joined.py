"""The agent inside an image that a person runs: agent/joined/, through Swank, without the server. What a client of the server
sees of it as well is in tests/e2e/test_join.py."""

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import joining
import mcp
import swank_client
from agent_driver import Reply, parse, quote as wire
from swank_client import Aborted, Editor, quote

AGENT = os.path.join(HERE, "..", "..", "agent")
WRAPPER = ('(cl:let ((cl:*readtable* (cl:copy-readtable cl:nil)) (cl:*package* (cl:or (cl:find-package "CL-MCP-LOADER")'
           ' (cl:make-package "CL-MCP-LOADER" :use (cl:list "COMMON-LISP")))))'
           ' (cl:funcall %s %s))')


def text_of(name):
    with open(os.path.join(AGENT, name), encoding="utf-8") as file:
        return file.read()


def source():
    return "".join(text_of(name) for name in text_of("joined/files.txt").split() if not name.startswith("ports/swank/"))


def function_of(name):
    return "(cl:eval (cl:read-from-string %s))" % quote(text_of("joined/" + name))


def load_agent(editor):
    """Load the agent as the server does: compiled once for all tests."""
    text = source()
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    cache = os.path.join(os.path.dirname(mcp.SERVER), "joined-test-" + key)
    os.makedirs(cache, exist_ok=True)
    for name, contents in (("agent.lisp", text), ("token", "a word")):
        with open(os.path.join(cache, name), "w", encoding="utf-8") as file:
            file.write(contents)
    strings = [key, *(os.path.join(cache, name) for name in ("agent.fasl", "agent.lisp", "token")), "a word"]
    return editor.request(WRAPPER % (function_of("load.lisp"), " ".join([function_of("install.lisp"), *map(quote, strings)])))


class Session:
    """The server's side of a joined session."""

    def __init__(self, image, client="tester", **options):
        self.editor = Editor(image.port)
        self.loaded = load_agent(self.editor)
        words = " ".join(f":{key} {wire(value)}" for key, value in options.items())
        self.number, self.hello, self.left = self.editor.request(f"(cl-mcp-agent::joined-open {quote(client)} {words})")
        self.identifier = 0
        self.evaluations = 0
        self.replies = {}
        self.output = ""
        self.told = []
        self.changed = threading.Condition()
        self.ended = False
        self.collector = threading.Thread(target=self.collect, daemon=True)
        self.collector.start()

    def collect(self):
        try:
            while True:
                payloads = self.editor.request(f"(cl-mcp-agent::joined-collect {self.number})")
                if payloads == "gone":
                    break
                with self.changed:
                    for payload in payloads or []:
                        message = parse(payload)
                        if message[0]:
                            self.replies[message[0]] = Reply(message)
                        elif message[1] == "output":
                            self.output += message[5]
                        elif message[1] == "person":
                            self.told.append(message[3])
                    self.changed.notify_all()
        except (AssertionError, Aborted, OSError):
            pass
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def begin(self, operation, **arguments):
        self.identifier += 1
        arguments.setdefault("token", self.identifier)
        words = " ".join(f":{key.replace('_', '-')} {wire(value)}" for key, value in arguments.items())
        self.deliver(f"({self.identifier} :{operation} {words})")
        return self.identifier

    def deliver(self, payload):
        answer = self.editor.request(f"(cl-mcp-agent::joined-deliver {self.number} {quote(payload)})")
        assert answer == "ok", answer

    def end(self, identifier):
        with self.changed:
            if not self.changed.wait_for(lambda: identifier in self.replies or self.ended, swank_client.LIMIT):
                raise AssertionError("no reply to %d" % identifier)
            return self.replies.pop(identifier)

    def request(self, operation, **arguments):
        return self.end(self.begin(operation, **arguments))

    def evaluate(self, code, **arguments):
        self.evaluations += 1
        return self.request("evaluate", code=code, evaluation=self.evaluations, **arguments)

    def control(self, name, *arguments):
        return self.editor.request("(cl-mcp-agent::joined-%s %d%s)" % (name, self.number,
                                                                       "".join(" %d" % word for word in arguments)))

    def printed(self, text):
        with self.changed:
            if not self.changed.wait_for(lambda: text in self.output, swank_client.LIMIT):
                raise AssertionError("not printed: %r in %r" % (text, self.output[-200:]))

    def is_told(self, text):
        with self.changed:
            if not self.changed.wait_for(lambda: any(text in line for line in self.told), swank_client.LIMIT):
                raise AssertionError("not told: %r in %r" % (text, self.told))

    def close(self):
        try:
            return self.control("close")
        finally:
            self.cut()

    def cut(self):
        self.editor.cut()
        self.collector.join(swank_client.LIMIT)


# What leaving must leave as it was. Swank's own workers come and go.
INVENTORY = """
(list (sort (remove-if (lambda (name)
                         (some (lambda (part) (search part name))
                               '("worker" "control-thread" "reader-thread" "swank-indentation" "auto-flush")))
                       (mapcar #'sb-thread:thread-name (sb-thread:list-all-threads))) #'string<)
      (loop for variable in '(swank::*event-hook* swank::*connection-closed-hook* swank::*new-connection-hook*
                              sb-ext:*after-gc-hooks* sb-ext:*exit-hooks* sb-ext:*init-hooks*
                              sb-ext:*invoke-debugger-hook* *debugger-hook* sb-ext:*stepper-hook*
                              sb-ext:*evaluator-mode* sb-c::*policy* *features* *package* *readtable*
                              *standard-output* *error-output* *macroexpand-hook*)
            ;; Swank makes the function for its debugger anew for each connection.
            collect (remove-if #'alphanumericp (princ-to-string (sb-ext:symbol-global-value variable))
                               :start (or (position #\\{ (princ-to-string (sb-ext:symbol-global-value variable))) 0)
                               :end (or (position #\\} (princ-to-string (sb-ext:symbol-global-value variable))) 0)))
      (loop for (name package) in '(("TAIL-ANNOTATE" "SB-C") ("MAYBE-TRACE-METHOD" "SB-PCL")
                                    ("%INVOKE-DEBUGGER" "SB-DEBUG") ("PRINT-SYMBOL-WITH-PREFIX" "SB-EXT") ("EXIT" "SB-EXT"))
            collect (princ-to-string (sb-kernel:%fun-name (fdefinition (find-symbol name package))))
            collect (if (sb-int:encapsulated-p (find-symbol name package) 'cl-mcp-agent::cl-mcp-agent) 1 0))
      (mapcar (lambda (f) (length (sb-mop:generic-function-methods f)))
              (list #'asdf:perform #'asdf:operation-done-p #'asdf/plan:perform-plan))
      (sort (loop for package in (list-all-packages)
                  unless (search "CL-MCP" (package-name package))
                    collect (package-name package)) #'string<)
      (loop for symbol being the present-symbols of "COMMON-LISP-USER" count t)
      (length swank::*connections*))
"""


@unittest.skipIf(joining.why_not(), joining.why_not())
class Joined(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="cl-mcp-test-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.image = joining.Image(folder, "(defvar *told* nil) (defpackage :shop (:use :cl) (:export :price))"
                                          " (eval (read-from-string \"(defun shop:price (n) (+ n 1))\"))"
                                          ' (format t "~&ready.~%") (finish-output)')
        cls.image.await_print("ready")
        cls.person = Editor(cls.image.port)

    @classmethod
    def tearDownClass(cls):
        cls.person.close()
        cls.image.end()

    def setUp(self):
        self.sessions = []
        self.person.events.clear()

    def tearDown(self):
        for session in self.sessions:
            if not session.ended:
                session.close()

    def join(self, **options):
        session = Session(self.image, **options)
        self.sessions.append(session)
        return session

    def leave(self, session):
        self.sessions.remove(session)
        return session.close()

    def test_each_line_arrives_while_the_code_runs(self):
        session = self.join()
        identifier = session.begin("evaluate", evaluation=1, code='(progn (dotimes (n 500) (format t "line ~d~%" n)) (loop))')
        session.printed("line 499\n")
        session.control("interrupt", identifier)
        session.end(identifier)
        self.assertEqual("".join(f"line {n}\n" for n in range(500)), session.output)

    def test_at_most_five_errors_stand(self):
        session = self.join()
        replies = [session.evaluate("(car 1)") for index in range(6)]
        self.assertEqual(replies[5].ended_errors, [replies[0].standing])
        self.assertEqual(self.leave(session), 5)

    def test_a_session_ends_if_nobody_collects_its_messages(self):
        self.leave(self.join())
        before = self.person.evaluate("(progn (setf cl-mcp-agent::*silence-seconds* 1) (length cl-mcp-agent::*sessions*))")
        other = Editor(self.image.port)
        self.addCleanup(other.close)
        other.request('(cl-mcp-agent::joined-open "nobody")')
        after = self.person.evaluate(f"(loop repeat 200 until (= {before} (length cl-mcp-agent::*sessions*)) do (sleep 0.05)"
                                     " finally (setf cl-mcp-agent::*silence-seconds* 30)"
                                     " (return (length cl-mcp-agent::*sessions*)))")
        self.assertEqual(after, before)

    def test_the_person_takes_an_error_over(self):
        session = self.join()
        number = session.evaluate("(car 1)").standing
        threads = self.person.request("(swank:list-threads)")
        place = next(index for index, row in enumerate(threads[1:]) if "evaluation" in row[1])
        self.person.request(f"(swank:debug-nth-thread {place})")
        thread = self.person.debugger("Interrupt")
        self.assertIn("taken this error over", session.request("frames", standing=number).sentence)
        session.evaluate("1")
        self.person.leave_debugger(thread, "(sldb-continue)")
        self.assertEqual(session.request("frames", standing=number).status, "ok")

    def test_the_agent_does_not_end_the_image_by_an_oversight(self):
        session = self.join()
        for form in ("(sb-ext:exit)", "(exit :abort t)", "(quit)", "(uiop:quit)"):
            reply = session.evaluate(form)
            self.assertEqual((form, reply.status, reply.type), (form, "error", "SIMPLE-ERROR"))
            self.assertIn("a person runs", reply.message)

    def stand(self, session, code="(let ((price 7)) (error \"sold out at ~a\" price))"):
        """Have a thread of the program fail; return the number of the thread for the person, and the agent's entry."""
        self.person.evaluate(f'(progn (sb-thread:make-thread (lambda () {code}) :name "counter") nil)')
        thread = self.person.debugger("sold out")
        return thread, self.reported(session, "sold out")

    def reported(self, session, text, after=0):
        """Wait until an error of this text, later than that with the number `after`, is reported; its entry."""
        for _ in range(200):
            for entry in session.request("threads").lists("inbox"):
                entry = dict(zip(entry[0::2], entry[1::2]))
                if text in entry["message"] and entry["number"] > after:
                    return entry
            self.person.evaluate("(sleep 0.02)")
        raise AssertionError("the error was not reported")

    def test_what_cannot_be_written_to_a_dead_socket_does_not_concern_the_person(self):
        session = self.join()
        for seconds in (0.5, 1):
            session.editor.begin(f"(cl:sleep {seconds})")
        # The thread that reads would see the end first, and there would be no writing.
        self.person.evaluate("(sb-thread:interrupt-thread (swank::mconn.reader-thread (cl-mcp-agent::session-connection"
                             " (first cl-mcp-agent::*sessions*))) (lambda () (sleep 100)))")
        self.leave_by_cut(session)
        self.assertFalse([event for event in self.person.events if event[0] == "debug"])

    def leave_by_cut(self, session):
        self.sessions.remove(session)
        session.cut()
        self.person.evaluate(f"(loop repeat 200 while (find {session.number} cl-mcp-agent::*sessions*"
                             " :key #'cl-mcp-agent::session-number) do (sleep 0.05))")

    def test_an_error_in_the_persons_debugger_is_looked_at_and_changed_only_by_force(self):
        session = self.join()
        thread, entry = self.stand(session, "(list (restart-case (error \"sold out\") (order (n) (setf *told* n))))")
        self.assertEqual((entry["message"], entry["standing"], entry["held"]), ("sold out", True, True))
        number = entry["number"]
        self.assertTrue(session.request("frames", standing=number, count=20, locals=True).frames)
        refused = session.request("invoke-restart", standing=number, restart="ORDER", value="5")
        self.assertIn("force", refused.sentence)
        self.assertIn("force", session.request("kill-thread", thread="counter").sentence)
        value = session.request("evaluate-in-frame", standing=number, frame=0, code="(* 6 7)", force=True)
        self.assertEqual(value.values, ["42"])
        reply = session.request("invoke-restart", standing=number, restart="ORDER", value="5", force=True)
        self.assertTrue(reply.goes_on)
        self.person.event("debug-return", lambda event: event[1] == thread)
        self.person.evaluate('(loop repeat 200 while (find "counter" (sb-thread:list-all-threads) :test (function equal)'
                             ' :key (function sb-thread:thread-name)) do (sleep 0.02))')
        self.assertEqual(self.person.evaluate("*told*"), "5")
        self.assertIn("no longer", session.request("frames", standing=number).sentence)

    def test_an_error_is_told_once_and_a_refused_request_is_not_announced(self):
        session = self.join(client="claude")
        thread, entry = self.stand(session)
        self.person.begin('(swank:eval-string-in-frame "(error \\"nested\\")" 0 "CL-USER")', thread=thread)
        self.person.debugger("nested", level=2)
        self.reported(session, "nested")
        self.person.begin("(swank:sldb-abort)", thread=thread)
        self.person.debugger("sold out")
        for number in (entry["number"], self.reported(session, "sold out", after=entry["number"])["number"]):
            self.assertEqual(session.request("evaluate-in-frame", standing=number, frame=0, code="(list 4717)").status, "refused")
            self.assertEqual(session.request("invoke-restart", standing=number, restart="4718").status, "refused")
        session.evaluate("(list 4719)")
        announced = self.person.event("background-message", lambda event: "471" in event[1])[1]
        self.assertIn("4719", announced)
        self.assertFalse([line for line in session.told if "sold out" in line and "An error stands" in line])
        self.person.leave_debugger(thread)

    def test_errors_that_stand_already_are_seen_and_those_that_end_are_told(self):
        session = self.join()
        thread, entry = self.stand(session)
        self.assertIn("sold out at 7", self.reported(self.join(), "sold out")["message"])
        self.person.leave_debugger(thread)
        replies = (session.evaluate("(sleep 0.05)") for _ in range(200))
        self.assertTrue(any(entry["number"] in getattr(reply, "ended_errors", []) for reply in replies))

    def test_leaving_leaves_the_image_as_it_was(self):
        self.leave(self.join())             # the agent itself and what it requires stay
        before = self.inventory()
        session, other = self.join(), self.join(announce=False)
        session.evaluate("(car 1)")
        session.evaluate("(car 2)")
        session.request("trace", action="start", functions=["shop:price"])
        session.request("tally", action="start", functions=["shop:price"])
        other.begin("evaluate", code='(princ "on") (finish-output) (loop)', evaluation=1)
        other.printed("on")
        self.assertEqual(self.leave(session), 2)
        self.leave(other)
        self.assertEqual(self.person.evaluate("(sb-kernel:%fun-name #'shop:price)"), "SHOP:PRICE")
        self.is_as(before)

    def inventory(self):
        """What the image has once Swank has closed the connections that have ended."""
        self.person.evaluate("(do () ((null cl-mcp-agent::*own-connections*)) (sleep 0.01))")
        return self.person.evaluate(INVENTORY)

    def is_as(self, before):
        """Compare, until it is so: the threads of an evaluation end some time after it."""
        for attempt in range(200):
            after = self.inventory()
            if after == before:
                break
            self.person.evaluate("(sleep 0.05)")
        self.assertEqual(after, before)

    def test_no_package_is_deleted_under_the_persons_threads(self):
        """Swank's thread for indentation walks all packages, and an error there opens in the person's debugger."""
        self.person.evaluate("(progn (setf *told* nil) (sb-int:encapsulate 'delete-package 'test (lambda (f p) (push p *told*) (funcall f p))))")
        self.addCleanup(self.person.evaluate, "(sb-int:unencapsulate 'delete-package 'test)")
        session = self.join()
        self.assertEqual(session.evaluate("(list 1\n  (car\n   (+ 1 2)))").status, "error")
        self.leave(session)
        self.person.evaluate("(setf cl-mcp-agent::*hash* nil)")
        self.assertEqual(self.join().evaluate("(+ 1 2)").values, ["3"])
        self.assertEqual(self.person.evaluate("*told*"), "NIL")

    def test_an_image_can_be_joined_after_a_client_died_that_read_nothing(self):
        self.leave(self.join())
        before = self.inventory()
        self.join()
        dead = Editor(self.image.port, reads=False)
        dead.begin("(cl-mcp-agent::joined-open %s)" % quote("dead"))
        self.person.evaluate("(do () ((= 2 (length cl-mcp-agent::*sessions*))) (sleep 0.01))")
        # As when the thread that writes is ended between writing and sending.
        self.person.evaluate("(write-sequence (make-array 9 :element-type '(unsigned-byte 8))"
                             " (swank::connection.socket-io (cl-mcp-agent::session-connection (first cl-mcp-agent::*sessions*))))")
        dead.cut()
        self.person.evaluate("(do () ((= 1 (length cl-mcp-agent::*sessions*))) (sleep 0.01))")
        self.assertEqual(self.join().evaluate("(+ 1 2)").values, ["3"])
        for session in self.sessions[:]:
            self.leave(session)
        self.is_as(before)
        self.assertEqual([event for event in self.person.events if event[0] == "debug"], [])

    def test_a_cut_connection_leaves_too(self):
        self.leave(self.join())
        before = self.inventory()
        session = self.join()
        session.evaluate("(car 1)")
        session.evaluate('(sb-thread:make-thread (lambda () (sleep 0.1)) :name "short")')
        session.cut()
        self.sessions.remove(session)
        self.is_as(before)

