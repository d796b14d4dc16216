"""Resources, prompts, completion, the log, and being told of changes, over standard input and output in both eras and over HTTP."""

import os
import signal

import mcp
import mcp_http

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
NOT_FOUND, INVALID_PARAMS = -32002, -32602


class Surface(mcp.TestCase):
    def read(self, uri, client=None):
        (content,) = (client or self.s).request("resources/read", {"uri": uri})["contents"]
        self.assertEqual(uri, content["uri"])
        return content["text"]

    def told(self, client, method, **params):
        """How often it was told so far."""
        wanted = "notifications/" + method
        return sum(m["method"] == wanted and all(m["params"].get(k) == v for k, v in params.items()) for m in client.notifications)

    def wait_for(self, client, method, **params):
        return client.wait_for_notification(
            lambda m: m["method"] == "notifications/" + method and all(m["params"].get(k) == v for k, v in params.items()))


class Notices(Surface):
    def test_what_a_session_has_to_report_goes_to_the_next_tool_and_into_no_document(self):
        self.s.evaluate("(defvar *x* (list 1 2))")
        self.s.evaluate("(push 3 *x*)")
        pid = self.s.evaluate("(sb-posix:getpid)").value
        os.kill(int(pid), signal.SIGKILL)
        mcp.wait_until(lambda: "idle, process %s" % pid not in self.s.call("list-sessions").text, 20, "the death is not noticed")
        for part in ("transcript", "source"):
            self.assertNotIn("[Session]", self.read("lisp://session/default/" + part))
        self.assertNotIn("[Session]", self.s.call("session-history", format="lisp").text)
        self.assertRegex(self.s.call("describe-symbol", name="car").text, r"\n\n\[Session\]\nBetween two calls: The Lisp process was killed")
        self.assertEqual("", self.s.evaluate("*x*").session)


class Reading(Surface):
    def test_every_listed_resource_can_be_read(self):
        self.assertEqual(["lisp://guide"], [r["uri"] for r in self.s.request("resources/list")["resources"]])
        self.s.evaluate("(defun square (x) (* x x))")
        self.s.call("create-session", name="other")
        listed = self.s.request("resources/list")["resources"]
        self.assertEqual(len(listed), len({r["uri"] for r in listed}))
        for session in ("default", "other"):
            for part in ("transcript", "source", "last-error", "definitions"):
                self.assertIn("lisp://session/%s/%s" % (session, part), [r["uri"] for r in listed])
        for resource in listed:
            for member in ("name", "title", "description", "mimeType"):
                self.assertTrue(resource[member], resource)
            self.read(resource["uri"])
        self.assertIn("(defun square", self.read("lisp://session/default/transcript"))
        self.assertIn("- SQUARE (X)", self.read("lisp://session/default/definitions"))
        self.assertIn("No error available.", self.read("lisp://session/default/last-error"))
        self.s.call("close-session", session="other")
        self.assertEqual(NOT_FOUND, self.s.error("resources/read", {"uri": "lisp://session/other/transcript"})["code"])

    def test_a_symbol_of_a_package_that_does_not_exist_is_not_found(self):
        self.s.evaluate("1")
        for symbol in ("NOPE/x", "cl/nope"):
            self.assertEqual(NOT_FOUND, self.s.error("resources/read", {"uri": "lisp://symbol/" + symbol})["code"])

    def test_the_source_is_whole(self):
        for number in range(40):
            self.s.evaluate("(defun f%d () \"%s\")" % (number, "x" * 600))
        source = self.read("lisp://session/default/source")
        self.assertNotIn("left out", source)
        self.assertEqual(40, source.count("(defun f"))

    def test_reading_is_looking(self):
        self.assertFails("(car 7)", "TYPE-ERROR")
        before = self.s.call("session-history").text, self.s.call("list-errors").text
        for resource in self.s.request("resources/list")["resources"]:
            self.read(resource["uri"])
        self.read("lisp://symbol/cl/car")
        self.assertEqual(NOT_FOUND, self.s.error("resources/read", {"uri": "lisp://symbol/cl/carrr"})["code"])
        self.assertEqual(before, (self.s.call("session-history").text, self.s.call("list-errors").text))
        self.assertIn("TYPE-ERROR", self.read("lisp://session/default/last-error"))

    def test_symbols_of_any_name(self):
        self.s.evaluate('(defpackage "p/q" (:export "a b" "%")) (setf (symbol-value (find-symbol "a b" "p/q")) 1) (setf (symbol-value (find-symbol "%" "p/q")) 2)')
        self.assertIn("|a b|", self.read("lisp://symbol/p%2Fq/%7Ca%20b%7C"))
        self.assertIn("%", self.read("lisp://symbol/p%2Fq/%25"))
        self.assertIn("/ is a symbol", self.read("lisp://symbol/cl//"))
        self.assertIn("* is a symbol", self.read("lisp://session/default/symbol/cl/*"))

    def test_a_reading_can_be_cancelled(self):
        self.s.evaluate("(defclass slow () ()) (defvar *slow* (make-instance 'slow)) (defmethod print-object ((x slow) s) (sleep 600))")
        running = self.s.start_call("evaluate-lisp", code="(sleep 600)")
        pending = self.s.start("resources/read", {"uri": "lisp://session/default/definitions"}, request_id="cancel-me")
        self.assertIn("square", self.read("lisp://guide") + "square")
        self.s.notify("notifications/cancelled", {"requestId": "cancel-me"})
        self.s.call("cancel-evaluation")
        running.response()
        self.assertOperational()
        self.assertFalse(pending.is_answered)


class Changes(Surface):
    URI = "lisp://session/default/%s"

    def test_changed_lists_are_notified(self):
        self.s.request("ping")
        self.assertEqual([], self.s.notifications)
        self.s.evaluate("(cl-mcp:define-tool one () 1)")
        self.assertEqual((1, 1), (self.told(self.s, "resources/list_changed"), self.told(self.s, "tools/list_changed")))
        self.s.evaluate("(+ 1 2)")
        self.s.evaluate("(cl-mcp:remove-tool 'nothing)")
        self.assertEqual((1, 1), (self.told(self.s, "resources/list_changed"), self.told(self.s, "tools/list_changed")))
        for code in ("(cl-mcp:define-tool one () 2)", "(cl-mcp:define-tool two (&key (x integer)) x)", "(cl-mcp:remove-tool 'one)",
                     "(cl-mcp:define-tool three () 3)"):
            before = self.told(self.s, "tools/list_changed")
            self.s.evaluate(code)
            # Another body under the same name, parameters and documentation is no change of the list.
            self.assertEqual(before + (0 if code.endswith("2)") else 1), self.told(self.s, "tools/list_changed"), code)
        for tool, arguments in (("rollback-session", {"to": "-1"}), ("reset-session", {})):
            before = self.told(self.s, "tools/list_changed")
            self.s.call(tool, arguments)
            self.assertGreater(self.told(self.s, "tools/list_changed"), before, tool)
        before = self.told(self.s, "resources/list_changed")
        self.s.call("create-session", name="other")
        self.s.call("close-session", session="other")
        self.assertEqual(before + 2, self.told(self.s, "resources/list_changed"))

    def test_a_change_of_a_subscribed_resource_is_notified(self):
        self.s.evaluate("1")
        for part in ("transcript", "last-error"):
            self.assertEqual({}, self.s.request("resources/subscribe", {"uri": self.URI % part}))
        self.s.evaluate("2")
        self.assertEqual(1, self.told(self.s, "resources/updated", uri=self.URI % "transcript"))
        self.assertEqual(0, self.told(self.s, "resources/updated", uri=self.URI % "last-error"))
        self.assertFails("(car 7)", "TYPE-ERROR")
        self.assertEqual(1, self.told(self.s, "resources/updated", uri=self.URI % "last-error"))
        self.s.evaluate("3")
        self.assertEqual(2, self.told(self.s, "resources/updated", uri=self.URI % "last-error"))
        self.s.call("describe-symbol", name="car")
        self.assertEqual(3, self.told(self.s, "resources/updated", uri=self.URI % "transcript"))
        self.s.request("resources/unsubscribe", {"uri": self.URI % "transcript"})
        self.s.call("rollback-session", to="1")
        self.s.call("reset-session")
        self.assertEqual(3, self.told(self.s, "resources/updated", uri=self.URI % "transcript"))


class Listening(Surface):
    era = mcp.MODERN

    def test_a_listen_is_served_until_it_is_cancelled(self):
        uri = "lisp://session/default/last-error"
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": [uri, "lisp://guide", "file:///etc/passwd"]}
        one = self.s.start("subscriptions/listen", {"notifications": wanted}, request_id="one")
        two = self.s.start("subscriptions/listen", {"notifications": {"resourcesListChanged": True}}, request_id=2000)
        ack = self.wait_for(self.s, "subscriptions/acknowledged", _meta={SUBSCRIPTION_KEY: "one"})
        self.assertEqual({"toolsListChanged": True, "resourceSubscriptions": [uri]}, ack["params"]["notifications"])
        self.wait_for(self.s, "subscriptions/acknowledged", _meta={SUBSCRIPTION_KEY: 2000})
        self.s.evaluate("(progn (cl-mcp:define-tool one () 1) (error \"x\"))")
        self.wait_for(self.s, "tools/list_changed", _meta={SUBSCRIPTION_KEY: "one"})
        self.wait_for(self.s, "resources/updated", uri=uri, _meta={SUBSCRIPTION_KEY: "one"})
        self.wait_for(self.s, "resources/list_changed", _meta={SUBSCRIPTION_KEY: 2000})
        self.assertEqual(6, len(self.s.notifications), self.s.notifications)
        self.s.notify("notifications/cancelled", {"requestId": "one"})
        self.s.evaluate("(cl-mcp:remove-tool 'one)")
        self.s.request("server/discover")
        self.assertEqual(6, len(self.s.notifications), self.s.notifications)
        self.assertFalse(one.is_answered or two.is_answered)

    def test_an_open_listen_does_not_keep_the_server(self):
        pending = self.s.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        self.wait_for(self.s, "subscriptions/acknowledged")
        self.s.process.stdin.close()
        self.s.process.stdin = None
        result = pending.result()
        self.assertEqual("complete", result["resultType"])
        self.assertEqual(pending.id, result["_meta"][SUBSCRIPTION_KEY])
        self.assertEqual(0, self.s.wait())


class Prompts(Surface):
    def test_a_prompt_can_be_followed(self):
        """What debug-last-error says to do, done."""
        self.s.evaluate("(defun average (numbers) (float (/ (reduce #'+ numbers) (length numbers))))")
        self.assertFails("(list :average (average '()))", "DIVISION-BY-ZERO")
        text = self.s.request("prompts/get", {"name": "debug-last-error"})["messages"][0]["content"]["text"]
        for tool in ("list-errors", "get-backtrace", "evaluate-in-frame", "find-definition", "evaluate-lisp", "invoke-restart"):
            self.assertIn("`%s`" % tool, text)
        self.assertIn("DIVISION-BY-ZERO", self.s.call("describe-last-error").text)
        self.assertIn("NUMBERS", self.s.call("get-backtrace", locals=True).text)
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(length numbers)"), "0")
        self.assertIn("(defun average", self.s.call("find-definition", name="average").text)
        self.s.evaluate("(defun average (numbers) (if numbers (/ (reduce #'+ numbers) (length numbers)) 0))")
        self.assertValue(self.s.call("invoke-restart", restart="RETRY", index=1), "(:AVERAGE 0)")


class Completion(Surface):
    SYMBOL = {"type": "ref/resource", "uri": "lisp://symbol/{package}/{name}"}

    def values(self, ref, name, value, **chosen):
        result = self.s.request("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}, "context": {"arguments": chosen}})
        return result["completion"]["values"]

    def test_names_of_the_session_are_completed(self):
        self.s.evaluate("(defpackage :shop (:use :cl) (:export #:buy #:buy-all)) (defun shop::buy-secretly () 1) (defun shop:buy () 1)")
        self.assertEqual(["buy", "buy-all"], self.values(self.SYMBOL, "name", "BU", package="shop"))
        self.assertEqual(["buy-secretly"], self.values(self.SYMBOL, "name", "buy-s", package="shop"))
        self.assertEqual(["shop"], self.values(self.SYMBOL, "package", "sho"))
        self.assertEqual([], self.values(self.SYMBOL, "name", "x", package="no-such-package"))
        self.s.call("create-session", name="elsewhere")
        self.assertEqual([], self.values(self.SYMBOL, "package", "sho", session="elsewhere"))
        self.assertEqual([], self.values(self.SYMBOL, "package", "sho", session="nowhere"))
        self.assertEqual(["elsewhere"], self.values({"type": "ref/prompt", "name": "debug-last-error"}, "session", "else"))
        self.s.evaluate('(defparameter shop::|Mixed Case| 1)')
        self.assertEqual(["|Mixed Case|"], self.values(self.SYMBOL, "name", "mixed", package="shop"))
        self.assertIn("|Mixed Case|", self.read("lisp://symbol/shop/%7CMixed%20Case%7C"))


class OverHttp(mcp_http.TestCase):
    def test_a_listen_stream_notifies_and_ends_with_a_result(self):
        server = self.start_http()
        server.evaluate("1")
        with server.wire() as wire:
            headers, message = mcp_http.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            response = wire.request(headers=headers, body=message)
            self.assertTrue(response.is_stream)
            self.assertEqual("notifications/subscriptions/acknowledged", wire.event().message["method"])
            server.evaluate("(cl-mcp:define-tool one () 1)")
            told = wire.event().message
            self.assertEqual(("notifications/tools/list_changed", message["id"]), (told["method"], told["params"]["_meta"][SUBSCRIPTION_KEY]))
            server.process.send_signal(signal.SIGTERM)
            (last,) = [event.message for event in wire.events() if event.message.get("id") == message["id"]]
            self.assertEqual("complete", last["result"]["resultType"])
        server.end()

    def test_a_listen_that_takes_no_events_is_refused(self):
        with self.start_http().wire() as wire:
            headers, message = mcp_http.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            response = wire.request(headers=dict(headers, Accept="application/json"), body=message)
            self.assertIn("text/event-stream", response.json["error"]["message"])

    def test_the_stream_of_a_legacy_session_has_what_it_subscribed_to(self):
        server = self.start_http()
        session = mcp_http.Session(server)
        with server.wire() as stream:
            self.assertTrue(session.listen(stream).is_stream)
            session.call("evaluate-lisp", code="(cl-mcp:define-tool one () 1)")
            methods = [stream.event().message["method"], stream.event().message["method"]]
            self.assertEqual(["notifications/resources/list_changed", "notifications/tools/list_changed"], methods)
        session.delete()

    def test_resources_are_read_by_name(self):
        server = self.start_http()
        server.evaluate("(defvar *x* 1)")
        headers, message = mcp_http.modern("resources/read", {"uri": "lisp://session/default/transcript"})
        headers = {**headers, "Mcp-Name": "lisp://session/default/transcript"}
        self.assertIn("(defvar *x* 1)", self.assertStatus(200, server.request(headers=headers, body=message)).json["result"]["contents"][0]["text"])
        self.assertStatus(400, server.request(headers={**headers, "Mcp-Name": "lisp://guide"}, body=message))
