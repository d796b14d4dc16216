"""What evaluated code reads from *standard-input* and *query-io* is asked of the person at the client, by elicitation."""

import json
import os

import mcp
import mcp_http

ASKING = {"elicitation": {}}


class Asked(mcp.Client):
    """A client that can be asked; it answers nothing by itself."""

    def __init__(self, *options, capabilities=None, version=mcp.LEGACY, **named):
        self.capabilities = ASKING if capabilities is None else capabilities
        self.version = version
        super().__init__(*options, **named)

    def handshake(self, version=None):
        result = self.request("initialize", {
            "protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": {"name": "e2e", "version": "0"}})
        self.notify("notifications/initialized")
        return result

    def question(self):
        message = self.receive()
        assert message["method"] == "elicitation/create", message
        return message

    def answer(self, question, line=None, **result):
        if line is not None:
            result = {"action": "accept", "content": {"line": line}}
        self.send_json({"jsonrpc": "2.0", "id": question["id"], "result": result})


class Input(mcp.TestCase):
    server = None

    def client(self, *options, **named):
        client = Asked(*options, **named)
        self.addCleanup(client.close)
        return client

    def started(self, client, code, **named):
        return client.start_call("evaluate-lisp", dict({"code": code}, **named))

    def test_a_line_is_asked_for_and_read(self):
        c = self.client()
        call = self.started(c, '(progn (format t "one~%Your name? ") (list (read-line) (y-or-n-p "Sure?")))')
        question = c.question()
        self.assertEqual("The Lisp code that runs waits for a line of input: Your name?", question["params"]["message"])
        self.assertEqual({"line": {"type": "string", "title": "Input"}}, question["params"]["requestedSchema"]["properties"])
        self.assertEqual(["line"], question["params"]["requestedSchema"]["required"])
        c.answer(question, "Ada \u03bb")
        question = c.question()
        self.assertIn("Sure? (y or n)", question["params"]["message"])
        c.answer(question, "y")
        self.assertIn('=> ("Ada \u03bb" T)', call.reply().text)
        self.assertIn("=> 3", c.evaluate("(+ 1 2)").text)
        c.assert_silent()

    def test_declining_ends_the_input_and_dismissing_stops_the_code(self):
        c = self.client()
        call = self.started(c, "(list (read-line nil nil :end) (read-line nil nil :end))")
        c.answer(c.question(), action="decline")
        self.assertIn("=> (:END :END)", call.reply().text)
        call = self.started(c, "(read-line)")
        c.answer(c.question(), action="decline")
        self.assertIn("END-OF-FILE", call.reply().text)
        call = self.started(c, "(list (read-line nil nil) 2)")
        c.answer(c.question(), action="cancel")
        reply = call.reply()
        self.assertIn("CANCELLED", reply.text)
        self.assertIn("=> (NIL 2)", c.call("invoke-restart", restart="CONTINUE").text)

    def test_what_is_typed_is_in_the_audit_log(self):
        path = os.path.join(self.folder(), "audit")
        c = self.client("--audit", path, "--redact")
        call = self.started(c, "(list (read-line) (read-line) (read-line nil nil :end))")
        typed = "(delete-file \"x\")", "sk-0123456789abcdef0123"
        for line in typed:
            c.answer(c.question(), line)
        c.answer(c.question(), action="decline")
        self.assertIn(":END)", call.reply().text)
        with open(path) as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([{"input": typed[0]}, {"input": "[redacted]"}], [line["arguments"] for line in lines[:-1]])
        self.assertEqual(["input", "input", "ok"], [line["outcome"] for line in lines])
        self.assertEqual([lines[-1].keys()] * 2, [line.keys() for line in lines[:-1]])
        self.assertEqual({"evaluate-lisp"}, {line["tool"] for line in lines})

    def test_answers_of_wrong_shape_end_the_input(self):
        c = self.client()
        for message in ({"result": {"action": "accept", "content": {"line": 5}}}, {"result": {"action": "accept", "content": {"line": ["x"]}}},
                        {"result": {"action": 7}}, {"result": {}}, {"result": None}, {"result": []}, {"result": {"action": "accept", "content": {"line": None}}},
                        {"error": {"code": -32601, "message": "Method not found"}}):
            with self.subTest(message=message):
                call = self.started(c, "(read-line nil nil :end)")
                c.send_json({"jsonrpc": "2.0", "id": c.question()["id"], **message})
                self.assertIn("=> :END", call.reply().text)
        call = self.started(c, "(values (read-line))")
        c.answer(c.question(), action="accept")
        self.assertIn('=> ""', call.reply().text, "an empty field may be left out")

    def test_long_answers_and_answers_to_nothing(self):
        c = self.client()
        call = self.started(c, "(length (read-line))")
        question = c.question()
        for other in ("cl-mcp-999", 1, None, "cl-mcp-", question["id"] + " "):
            c.send_json({"jsonrpc": "2.0", "id": other, "result": {"action": "accept", "content": {"line": "x"}}})
        c.answer(question, "\u00fc\"" * 500000)
        self.assertIn("=> 1000000", call.reply().text)
        c.answer(question, "again")
        call = self.started(c, "(read-line nil nil :end)")
        c.answer(c.question(), "x" * 5000000)
        self.assertIn("=> :END", call.reply().text, "more than the server takes")
        call = self.started(c, "(list (values (read-line)) (values (read-line)) (values (read-line)))")
        c.answer(c.question(), "a\u0000\nb\n")
        self.assertIn('"b" "")', call.reply().text)
        self.assertIn("=> 3", c.evaluate("(+ 1 2)").text)

    def test_the_time_of_the_person_does_not_count(self):
        c = self.client()
        call = self.started(c, '(progn (values (read-line)) (sleep 0.1) :in-time)', timeout=2)
        question = c.question()
        # The limit would be over, were it counted: a session of another name takes longer than that.
        self.assertIn("=> 1", c.evaluate("(progn (sleep 2.5) 1)", session=self.other(c)).text)
        c.answer(question, "now")
        self.assertIn("=> :IN-TIME", call.reply().text)
        call = self.started(c, "(progn (values (read-line)) (loop))", timeout=0.5)
        c.answer(c.question(), "go")
        self.assertIn("TIMEOUT", call.reply().text)

    def other(self, client):
        client.call("create-session", name="other")
        return "other"

    def test_a_call_that_is_cancelled_takes_its_question_back(self):
        c = self.client()
        call = self.started(c, "(read-line)")
        question = c.question()
        c.notify("notifications/cancelled", {"requestId": call.id})
        c.wait_for_notification(lambda m: m["method"] == "notifications/cancelled" and m["params"]["requestId"] == question["id"])
        c.answer(question, "late")
        self.assertIn("=> 3", c.evaluate("(+ 1 2)").text)
        call = self.started(c, "(read-line)")
        c.question()
        c.call("cancel-evaluation")
        self.assertIn("CANCELLED", call.reply().text)
        self.assertIn("=> 3", c.evaluate("(+ 1 2)").text)

    def test_the_death_of_the_session_while_it_asks_is_a_result(self):
        c = self.client()
        call = self.started(c, "(progn (require :sb-posix) (sb-ext:schedule-timer (sb-ext:make-timer (lambda () (sb-ext:exit :code 3 :abort t))) 0.3) (read-line))")
        question = c.question()
        self.assertIn("PROCESS-EXITED", call.reply().text)
        c.answer(question, "late")
        self.assertIn("=> 3", c.evaluate("(+ 1 2)").text)

    def test_end_of_stdin_answers_open_questions(self):
        c = self.client()
        call = self.started(c, "(list (read-line nil nil :end) (read-line *query-io* nil :end))")
        c.question()
        c.process.stdin.close()
        self.assertIn("=> (:END :END)", call.reply().text)
        self.assertEqual(0, c.wait())
        c.process.stdin = None

    def test_a_client_that_takes_no_questions_gets_none(self):
        for named in (dict(capabilities={}), dict(capabilities={"elicitation": {"url": {}}}), dict(capabilities={"elicitation": True}),
                      dict(version="2025-03-26"), dict(version="2024-11-05")):
            with self.subTest(**named):
                c = self.client(**named)
                self.assertIn("There is no terminal.", c.evaluate("(read-line)").text)
                c.assert_silent()
        c = self.client(capabilities={"elicitation": {"url": {}, "form": {}}})
        call = self.started(c, "(values (read-line))")
        c.answer(c.question(), "yes")
        self.assertIn('=> "yes"', call.reply().text)
        self.assertIn('=> "given"', c.evaluate("(values (read-line))", stdin="given\n").text)
        self.assertIn("stdin is used up", c.evaluate("(list (read-line) (read-line))", stdin="given\n").text)
        self.assertIn("There is no terminal.", c.call("time-execution", code="(read-line)").text)
        c.assert_silent()

    def test_a_call_with_a_wait_is_answered_once_the_question_is(self):
        folder = self.folder()
        c = self.client("--directory", folder)
        # The second question comes when the call has its reply: it would be asked before.
        call = self.started(c, '(list (read-line) (progn (loop until (probe-file "answered") do (sleep 0.02)) (read-line nil nil :end)))', wait=0.3)
        question = c.question()
        c.answer(question, "x")
        self.assertIn("continues without this call", call.reply().text)
        open(os.path.join(folder, "answered"), "w").close()
        status = c.start_call("evaluation-status", {"wait": 20}).reply().text
        self.assertIn(':END', status)
        c.assert_silent()

    def test_look_ups_are_answered_while_a_question_stands(self):
        c = self.client("--tools", "full")
        for threads in ("1", "(defvar *t* (sb-thread:make-thread (lambda () (sleep 1000))))"):
            c.evaluate(threads)
            call = self.started(c, "(values (read-line))")
            question = c.question()
            self.assertRegex(c.call("session-info").text, r"State: waiting for a line of input, after 0 s: \(values")
            self.assertRegex(c.call("list-evaluations").text, r"Evaluation \d is waiting for a line of input, after 0\.\d s of 30 s: \(values")
            self.assertIn("READ-LINE", c.call("get-backtrace").text)
            self.assertIn("CAR", c.call("describe-symbol", name="car").text)
            c.answer(question, "mine")
            self.assertIn('=> "mine"', call.reply().text)

    def asked(self, c, lines, tool, **arguments):
        """The reply of a call that is asked for these lines."""
        call = c.start_call(tool, arguments)
        for line in lines:
            c.answer(c.question(), line)
        return call.reply().text

    # An error is entered where it stands, then in a copy.
    def in_each_place(self, c, failing):
        for is_copy in (False, True):
            self.assertIn("[Restarts]", c.evaluate(failing).text)
            if is_copy:
                c.evaluate(":between")
            with self.subTest(is_copy=is_copy):
                yield
                self.assertIn("=> 3", c.evaluate("(+ 1 2)").text)
                c.assert_silent()

    def test_code_inside_an_error_asks(self):
        c = self.client("--tools", "full")
        for _ in self.in_each_place(c, '(error "stand")'):
            self.assertIn('=> "Ada"', self.asked(c, ["Ada"], "evaluate-in-frame", frame=0, code="(values (read-line))"))
            self.assertIn("=> 5", self.asked(c, ["(+ 2 3)"], "return-from-frame", frame=0, value="(eval (read))"))

    def test_a_restart_without_its_value_asks_for_it(self):
        c = self.client()
        failing = '(restart-case (list (symbol-value (intern "UNBOUND"))) (own (x) :interactive (lambda () (princ "Own? ") (list (read))) (list :own x)) (silent (x) x))'
        for _ in self.in_each_place(c, failing):
            call = c.start_call("invoke-restart", {"restart": "OWN"})
            question = c.question()
            self.assertIn("Own?", question["params"]["message"])
            c.answer(question, action="decline")
            self.assertRegex(call.reply().text, r"(?s)END-OF-FILE.*Error \d, which was entered, is as it was: UNBOUND-VARIABLE")
            self.assertIn("SILENT needs a value", c.call("invoke-restart", restart="SILENT").text)
            self.assertIn("=> (7)", self.asked(c, ["(+ 3 4)"], "invoke-restart", restart="USE-VALUE"))
        c.evaluate(failing)
        self.assertIn("=> (:OWN |Mine|)", self.asked(c, ["|Mine|"], "invoke-restart", restart="OWN"))
        self.assertNotIn("Mine", c.call("session-history", format="lisp").text)

    def test_code_that_continues_from_an_error_asks(self):
        c = self.client()
        for _ in self.in_each_place(c, '(progn (cerror "Go on." "stop") (list (read-line) (read-line)))'):
            self.assertIn('=> ("one" "two")', self.asked(c, ["one", "two"], "invoke-restart", restart="CONTINUE"))


class ModernInput(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.c = mcp.Client(era=mcp.MODERN)
        self.addCleanup(self.c.close)

    def assertEndsWithTheInput(self):
        """A question that is open does not keep the server."""
        self.c.process.stdin.close()
        self.assertEqual(0, self.c.wait())
        self.c.process.stdin = None


class InputRequired(ModernInput):
    """2026-07-28: the answer of the call is the question."""

    def start(self, code, capabilities=ASKING, more=None, **named):
        params = {"name": "evaluate-lisp", "arguments": dict({"code": code}, **named), "_meta": {mcp.CAPABILITIES_KEY: capabilities}}
        return self.c.start("tools/call", dict(params, **(more or {})))

    def asked(self, code, more=None, **named):
        """The state and the question."""
        result = self.start(code, more=more, **named).result()
        self.assertEqual("input_required", result["resultType"], result)
        self.assertEqual("elicitation/create", result["inputRequests"]["input"]["method"])
        return result["requestState"], result["inputRequests"]["input"]["params"]

    def answer(self, state, line=None, **result):
        if line is not None:
            result = {"action": "accept", "content": {"line": line}}
        return {"requestState": state, "inputResponses": {"input": result}}

    def text(self, code, more, **named):
        result = self.start(code, more=more, **named).result()
        self.assertEqual("complete", result["resultType"], result)
        return mcp.Report(result).text

    def test_a_call_is_repeated_with_each_line(self):
        code = '(progn (defvar *times* 0) (incf *times*) (format t "Name? ") (list (read-line) (read-line)))'
        state, params = self.asked(code)
        self.assertIn("Name?", params["message"])
        self.assertEqual(["line"], params["requestedSchema"]["required"])
        second, _ = self.asked(code, more=self.answer(state, "Ada"))
        self.assertNotEqual(state, second)
        self.assertEqual(-32602, self.start(code, more=self.answer(state, "again")).response()["error"]["code"])
        third, _ = self.asked(code, more={"requestState": second})
        self.assertIn('=> ("Ada" "Bob")', self.text(code, self.answer(third, "Bob")))
        self.assertIn("=> 1", self.text("*times*", None))

    def test_refusals(self):
        code = "(list (read-line nil nil :end) (read-line nil nil :end))"
        self.assertIn("=> (:END :END)", self.text(code, self.answer(self.asked(code)[0], action="decline")))
        self.assertIn("=> (:END :END)", self.text(code, {"requestState": self.asked(code)[0], "inputResponses": {"input": 5}}))
        self.assertIn("CANCELLED", self.text(code, self.answer(self.asked(code)[0], action="cancel")))
        for capabilities in ({}, {"elicitation": {"url": {}}}):
            self.assertIn("=> (:END :END)", mcp.Report(self.start(code, capabilities).result()).text)

    def test_a_state_belongs_to_its_call(self):
        code = "(values (read-line))"
        state, _ = self.asked(code)
        for other in ("(values (read-line) 2)", code):
            more = self.answer(state, "x")
            if other == code:
                more["requestState"] = state[:-1] + ("0" if state[-1] != "0" else "1")
            self.assertEqual(-32602, self.start(other, more=more).response()["error"]["code"])
        for odd in (5, None, "", ["x"], "x" * 100000):
            self.assertEqual(-32602, self.start(code, more={"requestState": odd}).response()["error"]["code"])
        self.assertIn('=> "x"', self.text(code, self.answer(state, "x")))

    def test_a_question_that_is_never_answered_can_be_cancelled_and_does_not_keep_the_server(self):
        state, _ = self.asked("(read-line)")
        self.c.call("cancel-evaluation")
        self.assertIn("=> 3", self.text("(+ 1 2)", None))
        self.assertEqual(-32602, self.start("(read-line)", more=self.answer(state, "late")).response()["error"]["code"])
        self.asked("(read-line)")
        self.assertEndsWithTheInput()

    def test_calls_that_wait_are_bounded(self):
        for n in range(64):
            self.c.call("create-session", name="s%d" % n)
        pending = [self.start("(read-line nil nil :end)", session="s%d" % n) for n in range(64)]
        for call in pending:
            self.assertEqual("input_required", call.result(60)["resultType"])
        self.assertIn("=> :END", self.text("(read-line nil nil :end)", None))


class TaskInput(ModernInput):
    """A client that accepts tasks: the task asks, and tasks/update answers."""

    CAPABILITIES = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}

    def ask(self, method, capabilities=CAPABILITIES, **params):
        return self.c.request(method, dict(params, _meta={mcp.VERSION_KEY: mcp.MODERN, mcp.CAPABILITIES_KEY: capabilities}))

    def evaluate(self, code, **named):
        return self.ask("tools/call", name="evaluate-lisp", arguments={"code": code}, **named)

    def asked(self, task):
        """The question, once the task has one."""
        found = mcp.wait_until(lambda: (lambda now: now["status"] != "working" and now)(self.ask("tasks/get", taskId=task["taskId"])), 30, "the question")
        self.assertEqual("input_required", found["status"], found)
        self.assertEqual("elicitation/create", found["inputRequests"]["input"]["method"])
        return found["inputRequests"]["input"]["params"]["message"]

    def answer(self, task, **result):
        self.ask("tasks/update", taskId=task["taskId"], inputResponses={"input": result})

    def line(self, task, line):
        self.answer(task, action="accept", content={"line": line})

    def text_of(self, task):
        end = mcp.wait_until(lambda: (lambda now: now["status"] == "completed" and now)(self.ask("tasks/get", taskId=task["taskId"])), 30, "the end")
        return end["result"]["content"][0]["text"]

    def test_each_line_is_asked_for(self):
        task = self.evaluate('(progn (format t "Name? ") (list (read-line) (progn (format t "Age? ") (read-line))))')
        self.assertEqual("task", task["resultType"], task)
        self.assertIn("Name?", self.asked(task))
        self.line(task, "Ada")
        self.assertIn("Age?", self.asked(task))
        self.line(task, "36")
        self.assertIn('=> ("Ada" "36")', self.text_of(task))

    def test_a_file_that_is_loaded_asks_too(self):
        path = self.file('(defvar *reply* (y-or-n-p "Overwrite?"))', "asks.lisp")
        task = self.ask("tools/call", name="load-file", arguments={"path": path})
        self.assertIn("Overwrite?", self.asked(task))
        self.line(task, "y")
        self.assertIn("=> T", self.text_of(task))
        self.assertIn("=> T", self.evaluate("*reply*")["content"][0]["text"])

    def test_refusals(self):
        code = "(list (read-line nil nil :end))"
        task = self.evaluate(code)
        self.asked(task)
        self.answer(task, action="decline")
        self.assertIn("=> (:END)", self.text_of(task))
        task = self.evaluate(code)
        self.asked(task)
        self.answer(task, action="cancel")
        self.assertIn("CANCELLED", self.text_of(task))
        result = self.evaluate(code, capabilities={"extensions": self.CAPABILITIES["extensions"]})
        self.assertIn("=> (:END)", result["content"][0]["text"])

    def test_a_task_that_asks_can_be_cancelled_and_does_not_keep_the_server(self):
        task = self.evaluate("(read-line)")
        self.asked(task)
        self.ask("tasks/cancel", taskId=task["taskId"])
        self.assertEqual("cancelled", self.ask("tasks/get", taskId=task["taskId"])["status"])
        self.assertIn("=> 3", self.evaluate("(+ 1 2)")["content"][0]["text"])
        self.asked(self.evaluate("(read-line)"))
        self.assertEndsWithTheInput()


class InputOverHttp(mcp_http.TestCase):
    def asking(self):
        """A session whose client can be asked."""
        body = mcp_http.legacy("initialize", {"protocolVersion": mcp.LEGACY, "capabilities": ASKING, "clientInfo": {"name": "e2e", "version": "0"}})
        initialize, mcp_http.initialize = mcp_http.initialize, lambda version: body
        self.addCleanup(setattr, mcp_http, "initialize", initialize)
        return mcp_http.Session(self.h)

    def next_message(self, wire):
        """The first event has none."""
        return wire.event().message or wire.event().message

    def evaluation(self, code, **named):
        return mcp_http.legacy("tools/call", {"name": "evaluate-lisp", "arguments": dict({"code": code}, **named)})

    def test_a_line_is_asked_for_on_the_stream_of_the_call(self):
        session = self.asking()
        with self.h.wire() as wire:
            response = wire.request(headers=session.headers(), body=self.evaluation('(list (read-line) (read-line nil nil :end))'))
            self.assertTrue(response.is_stream)
            question = self.next_message(wire)
            self.assertEqual("elicitation/create", question["method"])
            for line, status in (("over HTTP", 202), ("again", 202)):
                self.assertEqual(status, session.post({
                    "jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"line": line}}}).status)
            question = wire.event().message
            self.assertEqual(202, session.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}).status)
            self.assertIn('=> ("over HTTP" :END)', mcp_http.text_of(wire.event().message["result"]))

    def test_a_client_that_takes_no_stream_is_not_asked(self):
        session = self.asking()
        response = session.post(self.evaluation("(read-line)"), Accept="application/json")
        self.assertFalse(response.is_stream)
        self.assertIn("There is no terminal.", mcp_http.text_of(response.json["result"]))

    def test_since_2026_07_28_the_answer_is_the_question(self):
        call = {"name": "evaluate-lisp", "arguments": {"code": "(values (read-line))"}}
        meta = {mcp.CAPABILITIES_KEY: ASKING}
        result = self.h.ask("tools/call", call, meta=meta).json["result"]
        self.assertEqual("input_required", result["resultType"])
        answer = {"requestState": result["requestState"], "inputResponses": {"input": {"action": "accept", "content": {"line": "later"}}}}
        result = self.h.ask("tools/call", dict(call, **answer), meta=meta).json["result"]
        self.assertIn('=> "later"', mcp_http.text_of(result))

    def test_another_session_cannot_answer(self):
        session, other = self.asking(), self.asking()
        with self.h.wire() as wire:
            wire.request(headers=session.headers(), body=self.evaluation("(read-line nil nil :end)"))
            question = self.next_message(wire)
            other.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"line": "stolen"}}})
            session.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"line": "own"}}})
            self.assertIn('=> "own"', mcp_http.text_of(wire.event().message["result"]))
