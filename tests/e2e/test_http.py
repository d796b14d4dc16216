"""Streamable HTTP: both eras as the specification has them, statuses, streams, resumption, cancel, and the end."""

import os
import signal
import socket

import mcp
import mcp_http
from mcp_http import Session, initialize, legacy, modern, notification, text_of

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
SPIN = {"name": "evaluate-lisp", "arguments": {"code": "(loop)", "timeout": 600}}


def slow(seconds, token="p"):
    """A call that says something before its answer, when it takes longer than a second."""
    return {"name": "evaluate-lisp", "arguments": {"code": "(progn (sleep %s) :done)" % seconds}, "_meta": {"progressToken": token}}


class Modern(mcp_http.TestCase):
    def test_discover_list_and_call(self):
        result = self.assertStatus(200, self.h.ask("server/discover")).json["result"]
        self.assertIn(mcp.MODERN, result["supportedVersions"])
        response = self.h.evaluate("(+ 1 2)")
        self.assertEqual("application/json", response.headers["content-type"])
        self.assertNotIn("mcp-session-id", response.headers)
        self.assertEqual("=> 3", mcp_http.text_of(response.json["result"]))

    def test_requests_share_the_session_named_default(self):
        self.h.evaluate("(defparameter *shared* 77)")
        self.assertEqual("=> 77", mcp_http.text_of(self.h.evaluate("*shared*").json["result"]))
        self.assertEqual("=> 77", mcp_http.text_of(self.h.evaluate("*shared*", session="default").json["result"]))

    def test_headers_that_do_not_agree_with_the_body_are_refused(self):
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "1"}})
        wrong = [
            {"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"}, {"MCP-Protocol-Version": "1999-01-01"},
            {"MCP-Protocol-Version": ["2026-07-28", "2026-07-28"]},
            {"Mcp-Method": None}, {"Mcp-Method": "tools/list"}, {"Mcp-Method": "Tools/Call"}, {"Mcp-Method": ["tools/call", "tools/call"]},
            {"Mcp-Name": None}, {"Mcp-Name": "evaluate-Lisp"}, {"Mcp-Name": ""}, {"Mcp-Name": ["evaluate-lisp", "evaluate-lisp"]},
            {"Mcp-Name": "=?base64?ZXZhbHVhdGUtbGlzcA=?="}, {"Mcp-Name": "=?base64?ZXZhbHVhdGUtbGlzcB==?="},
            {"Mcp-Name": "=?base64?ZXZhbHVhdGUtbGlzcA==?"}, {"Mcp-Name": "=?base64?!!!!?="},
        ]
        for change in wrong:
            with self.subTest(repr(change)):
                response = self.assertStatus(400, self.h.request(headers={**headers, **change}, body=message), HEADER_MISMATCH)
                self.assertEqual(message["id"], response.json["id"])
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "1", "session": "default"}})
        self.assertStatus(200, self.h.request(headers=headers, body=message))
        for session in (None, "Default", ["default", "default"]):
            with self.subTest(session=session):
                self.assertStatus(400, self.h.request(headers={**headers, "Mcp-Param-Session": session}, body=message), HEADER_MISMATCH)
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "1"}})
        for name in ("=?base64?ZXZhbHVhdGUtbGlzcA==?=", " evaluate-lisp  ", "\tevaluate-lisp"):
            with self.subTest(name):
                self.assertStatus(200, self.h.request(headers={**headers, "Mcp-Name": name}, body=message))

    def test_statuses_of_errors(self):
        headers, message = modern("no/such")
        self.assertStatus(404, self.h.request(headers=headers, body=message), METHOD_NOT_FOUND)
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
            with self.subTest(method):
                self.assertStatus(404, self.h.ask(method), METHOD_NOT_FOUND)
        headers, message = modern("tools/list", version="2027-01-01")
        error = self.assertStatus(400, self.h.request(headers=headers, body=message), UNSUPPORTED_VERSION).json["error"]
        self.assertIn(mcp.MODERN, error["data"]["supported"])
        headers, message = modern("tools/list")
        message["params"]["_meta"][mcp.VERSION_KEY] = "v999.0.0"
        self.assertStatus(400, self.h.request(headers=headers, body=message), HEADER_MISMATCH)
        headers, message = modern("tools/list")
        del message["params"]["_meta"][mcp.CAPABILITIES_KEY]
        self.assertStatus(400, self.h.request(headers=headers, body=message), INVALID_PARAMS)
        for params in (None, {}, {"_meta": {}}):
            with self.subTest(repr(params)):
                self.assertStatus(400, self.h.request(headers=headers, body=legacy("tools/list", params)), INVALID_PARAMS)
        self.assertStatus(400, self.h.request(headers=headers, body=initialize()), HEADER_MISMATCH)
        self.assertStatus(400, self.h.request(headers=headers, body="nonsense"), PARSE_ERROR)
        self.assertStatus(400, self.h.request(headers=headers, body=[message]), INVALID_REQUEST)
        self.assertStatus(400, self.h.request(headers=headers, body="7"), INVALID_REQUEST)
        self.assertStatus(200, self.h.ask("tools/call", {"name": "no-such-tool"}), INVALID_PARAMS)

    def test_notifications_are_accepted_and_dropped(self):
        headers = {"MCP-Protocol-Version": mcp.MODERN}
        for method in ("notifications/cancelled", "notifications/initialized", "notifications/x"):
            response = self.assertStatus(202, self.h.request(headers=headers, body=notification(method, {"requestId": 1})))
            self.assertEqual(b"", response.body)

    def test_get_and_delete_are_not_served(self):
        for method in ("GET", "DELETE"):
            response = self.assertStatus(405, self.h.request(method, headers={"MCP-Protocol-Version": mcp.MODERN, "Accept": mcp_http.ACCEPT}))
            self.assertEqual("POST", response.headers["allow"])

    def test_a_stream_only_when_something_precedes_the_answer(self):
        headers, message = modern("tools/call", slow(2.2))
        message["params"]["_meta"]["progressToken"] = "p"
        response = self.assertStatus(200, self.h.request(headers=headers, body=message))
        self.assertTrue(response.is_stream, response)
        self.assertEqual("no", response.headers["x-accel-buffering"])
        self.assertTrue(all(event.id is None for event in response.events))
        self.assertEqual(["notifications/progress"] * (len(response.events) - 1), [e.message["method"] for e in response.events[:-1]])
        self.assertGreaterEqual(len(response.events), 2)
        self.assertIn("result", response.events[-1].message)

    def test_a_client_that_accepts_no_events_gets_only_the_answer(self):
        headers, message = modern("tools/call", slow(1.5))
        message["params"]["_meta"]["progressToken"] = "p"
        response = self.assertStatus(200, self.h.request(headers={**headers, "Accept": "application/json"}, body=message))
        self.assertFalse(response.is_stream)
        self.assertIn("result", response.json)

    def test_a_client_that_accepts_only_events_gets_a_stream(self):
        response = self.h.ask("tools/list", headers={"Accept": "text/event-stream"})
        self.assertTrue(response.is_stream, response)
        self.assertEqual(1, len(response.events))

    def test_the_same_id_from_many_clients_at_once(self):
        wires = [self.h.wire() for _ in range(5)]
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(sleep 0.2)"}}, request_id=1)
        for wire in wires:
            wire.send(mcp_http.request_bytes(headers=headers, body=message))
        for wire in wires:
            self.assertEqual(1, self.assertStatus(200, wire.receive()).json["id"])
            wire.close()

    def test_closing_the_connection_cancels_the_request(self):
        self.h.ask("tools/call", {"name": "create-session", "arguments": {"name": "cancelled"}})
        for when in ("before the stream", "in the stream"):
            with self.subTest(when):
                arguments = {"code": "(loop)", "timeout": 600, "session": "cancelled"}
                headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": arguments}, meta={"progressToken": 1})
                with self.h.wire() as wire:
                    wire.send(mcp_http.request_bytes(headers=headers, body=message))
                    if when == "in the stream":
                        self.assertTrue(wire.receive().is_stream)
                        wire.event()
                # Had it not been cancelled, this would wait for its turn.
                self.assertEqual("=> 1", mcp_http.text_of(self.h.evaluate("1", session="cancelled").json["result"]))


class Legacy(mcp_http.TestCase):
    def test_a_session_from_the_handshake_to_the_end(self):
        for version in mcp.LEGACY_ERAS:
            with self.subTest(version):
                session = Session(self.h, version)
                self.assertRegex(session.id, r"^[\x21-\x7e]{16,}$")
                self.assertEqual(version, session.result["protocolVersion"])
                self.assertEqual("=> 3", session.call("evaluate-lisp", code="(+ 1 2)"))
                self.assertStatus(200, session.delete())
                self.assertStatus(404, session.post(legacy("ping")))
                self.assertStatus(404, session.delete())
                with self.h.wire() as wire:
                    self.assertStatus(404, session.listen(wire))

    def test_a_message_without_a_session_is_refused(self):
        for message in (legacy("tools/list"), legacy("no/such"), legacy("initialize", {})):
            self.assertStatus(400, self.h.request(body=message))
        self.assertStatus(400, self.h.request(body="[]"), INVALID_REQUEST)
        self.assertStatus(400, self.h.request(body="x"), PARSE_ERROR)
        self.assertStatus(400, self.h.request("GET", headers={"Accept": "text/event-stream"}))
        self.assertStatus(400, self.h.request("DELETE"))
        for wrong in ("x", "0" * 32, "\xff", " "):
            self.assertIn(self.h.request(headers={"Mcp-Session-Id": wrong}, body=legacy("ping")).status, (400, 404))

    def test_initialize_starts_a_session_whatever_id_comes_with_it(self):
        session = Session(self.h)
        session.delete()
        self.assertStatus(404, session.post(legacy("ping")))
        self.assertStatus(404, session.post(notification("notifications/initialized")))
        self.assertStatus(404, session.post(legacy("initialize", {})))
        response = self.assertStatus(200, session.post(initialize()))
        self.assertNotEqual(session.id, response.headers["mcp-session-id"])
        session.id = response.headers["mcp-session-id"]
        self.assertStatus(200, session.post(legacy("ping")))

    def test_a_body_of_2026_without_its_headers_is_refused(self):
        session = Session(self.h)
        _, message = modern("tools/list")
        self.assertStatus(400, self.h.request(body=message), HEADER_MISMATCH)
        self.assertStatus(400, session.post(message), HEADER_MISMATCH)
        self.assertStatus(200, session.post(legacy("tools/list")))

    def test_a_second_initialize_is_refused(self):
        session = Session(self.h)
        self.assertStatus(400, session.post(initialize()), INVALID_REQUEST)
        self.assertEqual({}, session.request("ping")["result"])

    def test_the_version_header_may_be_absent_or_any_we_speak(self):
        session = Session(self.h)
        for version in (None, *mcp.LEGACY_ERAS):
            self.assertStatus(200, session.post(legacy("ping"), MCP_Protocol_Version=version))
        for version in ("2024-10-07", "", "x", ["2025-11-25", "2025-11-25"]):
            with self.subTest(repr(version)):
                self.assertStatus(400, session.post(legacy("ping"), MCP_Protocol_Version=version))

    def test_errors_travel_with_200(self):
        session = Session(self.h)
        self.assertStatus(200, session.post(legacy("no/such")), METHOD_NOT_FOUND)
        self.assertStatus(200, session.post(legacy("tools/call", {"name": "nope"})), INVALID_PARAMS)
        self.assertStatus(400, session.post("{"), PARSE_ERROR)
        self.assertStatus(400, session.post("{}"), INVALID_REQUEST)

    def test_notifications_and_responses_are_accepted(self):
        session = Session(self.h)
        for message in (notification("notifications/x"), {"jsonrpc": "2.0", "id": 9, "result": {}}):
            self.assertEqual(b"", self.assertStatus(202, session.post(message)).body)

    def test_batches_exist_in_one_revision(self):
        batch = [legacy("ping", request_id=1), notification("notifications/x"), legacy("tools/list", request_id=2)]
        session = Session(self.h, "2025-03-26")
        self.assertEqual({1, 2}, {answer["id"] for answer in self.assertStatus(200, session.post(batch)).json})
        self.assertStatus(202, session.post([notification("notifications/x")]))
        self.assertStatus(400, session.post([]), INVALID_REQUEST)
        self.assertStatus(400, Session(self.h).post(batch), INVALID_REQUEST)

    def test_each_has_its_own_lisp_session(self):
        one, other = Session(self.h), Session(self.h)
        one.call("evaluate-lisp", code="(defparameter *mine* 1)")
        self.assertIn("UNBOUND-VARIABLE", other.call("evaluate-lisp", code="*mine*"))
        name = "http-" + one.id[:8]
        self.assertIn(name, other.call("list-sessions"))
        self.assertEqual("=> 1", other.call("evaluate-lisp", code="*mine*", session=name))
        one.delete()
        mcp.wait_until(lambda: name not in other.call("list-sessions"), 10, "its Lisp session ends with it")

    def test_a_session_copied_from_default_is_copied_from_the_callers_own(self):
        one, other = Session(self.h), Session(self.h)
        for session, value in ((one, 1), (other, 2)):
            session.call("evaluate-lisp", code="(defparameter *whose* %d)" % value)
        one.call("evaluate-lisp", code="(defparameter *whose* 0)", session="default")
        other.call("create-session", name="copied", **{"from": "default"})
        self.assertEqual("=> 2", one.call("evaluate-lisp", code="*whose*", session="copied"))

    def test_clients_of_one_session_hear_what_the_others_evaluated(self):
        one, other = Session(self.h), Session(self.h)
        one.call("create-session", name="shared")
        self.assertEqual("=> 1", other.call("evaluate-lisp", code="1", session="shared"))
        one.call("evaluate-lisp", code="(defun f (a)\n  (* a 2))", session="shared")
        heard = "[Other clients]\nSince your last call another client evaluated in this session:\n  "
        self.assertEqual("=> 2\n\n" + heard + "(defun f (a) ...", other.call("evaluate-lisp", code="2", session="shared"))
        self.assertEqual("=> 3", other.call("evaluate-lisp", code="3", session="shared"))
        self.assertIn(heard + "2\n  3", one.call("describe-symbol", name="f", session="shared"))
        for i in range(5):
            one.call("evaluate-lisp", code="(list %d)" % i, session="shared")
            one.call("evaluate-lisp", code=":elsewhere")
        self.assertTrue(other.call("evaluate-lisp", code="4", session="shared").endswith(
            heard + "(list 2)\n  (list 3)\n  (list 4)\nand before that 2 more evaluations; session-history shows them."))
        self.assertEqual("=> 5", Session(self.h).call("evaluate-lisp", code="5", session="shared"))

    def test_restarts_and_tools_of_the_session_are_evaluations_that_others_hear_of(self):
        one, other = Session(self.h), Session(self.h)
        one.call("create-session", name="restarted")
        other.call("evaluate-lisp", code="(cl-mcp:define-tool greet () \"Hello.\")", session="restarted")
        self.assertIn("Hello.", one.call("user-greet", session="restarted"))
        one.call("evaluate-lisp", code="(list (restart-case (error \"x\") (use-value (v) v)))", session="restarted")
        self.assertIn("=> (7)", one.call("invoke-restart", restart="USE-VALUE", value="7", session="restarted"))
        self.assertTrue(other.call("evaluate-lisp", code="1", session="restarted").endswith(
            "evaluated in this session:\n  user-greet\n  (list (restart-case (error \"x\") (use-value (v) v)))\n  invoke-restart"))

    def test_a_lost_connection_cancels_nothing_and_the_rest_can_be_fetched(self):
        session = Session(self.h)
        with self.h.wire() as wire:
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", slow(2.5), request_id=5)))
            self.assertTrue(wire.receive().is_stream)
            first = wire.event()
            self.assertEqual("", first.data)
            self.assertEqual("notifications/progress", wire.event().message["method"])
        with self.h.wire() as wire:
            self.assertTrue(session.listen(wire, last=first.id).is_stream)
            events = wire.events()
        self.assertEqual("notifications/progress", events[0].message["method"])
        self.assertEqual(5, events[-1].message["id"])
        self.assertEqual("=> :DONE", mcp_http.text_of(events[-1].message["result"]))
        with self.h.wire() as wire:
            session.listen(wire, last=events[-2].id)
            self.assertEqual([events[-1]], wire.events())
        with self.h.wire() as wire:
            session.listen(wire, last=events[-1].id)
            self.assertEqual([], wire.events())

    def test_a_cancelled_call_that_is_asked_for_again_leaves_the_other_stream_alone(self):
        session = Session(self.h)
        with self.h.wire() as listening, self.h.wire() as wire, self.h.wire() as again:
            self.assertTrue(session.listen(listening).is_stream)
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", SPIN, request_id=8)))
            session.post(notification("notifications/cancelled", {"requestId": 8}))
            self.assertTrue(wire.receive().is_stream)
            first = wire.event()
            self.assertEqual(("", None), (first.data, wire.event()))
            # It stays open, so that the client does not go on to ask for what is unasked a second time.
            self.assertTrue(session.listen(again, last=first.id).is_stream)
            session.call("create-session", name="news")
            self.assertEqual("notifications/resources/list_changed", listening.event().message["method"])
            again.socket.settimeout(0.5)
            with self.assertRaises(TimeoutError):
                again.event()
            again.socket.settimeout(30 * mcp.STRETCH)
            self.assertStatus(200, session.delete())
            self.assertEqual([], again.events())

    def test_older_revisions_get_no_event_without_data(self):
        session = Session(self.h, "2025-06-18")
        response = session.post(legacy("tools/call", slow(1.4)))
        self.assertTrue(response.is_stream)
        self.assertTrue(all(event.message for event in response.events))
        self.assertTrue(all(event.id for event in response.events))

    def test_ids_of_events_that_never_were(self):
        session = Session(self.h)
        for last in ("x", "1", "-", "1-", "99999999999999999999-1", "77-1", "1-1; x", "-1-1"):
            with self.subTest(last), self.h.wire() as wire:
                self.assertStatus(400, session.listen(wire, last=last))

    def test_the_stream_of_unsolicited_messages(self):
        session = Session(self.h)
        with self.h.wire() as first, self.h.wire() as second:
            self.assertTrue(session.listen(first).is_stream)
            # The newest one counts: the other may be of a connection that is lost without our knowing.
            self.assertTrue(session.listen(second).is_stream)
            with self.assertRaises(mcp.Gone):
                first.events()
            self.assertStatus(200, session.delete())
            self.assertEqual([], second.events())

    def test_get_needs_a_client_that_accepts_events(self):
        session = Session(self.h)
        for accept in (None, "application/json", "text/*;q=0"):
            self.assertStatus(406, self.h.request("GET", headers=session.headers(Accept=accept)))

    def test_the_sessions_of_a_principal_are_limited(self):
        server = self.start_http()
        ids = []
        with server.wire() as wire:
            for _ in range(256):
                ids.append(self.assertStatus(200, wire.request(body=initialize())).headers["mcp-session-id"])
            response = self.assertStatus(503, wire.request(body=initialize()))
            self.assertNotIn("mcp-session-id", response.headers)
            self.assertIn("retry-after", response.headers)
            self.assertEqual(256, len(set(ids)))
            self.assertStatus(200, wire.request("DELETE", headers={"Mcp-Session-Id": ids[0]}))
            self.assertStatus(200, wire.request(body=initialize()))
            self.assertStatus(200, wire.request(headers={"Mcp-Session-Id": ids[255]}, body=legacy("ping")))
            self.assertStatus(404, wire.request(headers={"Mcp-Session-Id": ids[0]}, body=legacy("ping")))

    def test_messages_without_a_handshake_leave_no_session(self):
        with self.h.wire() as wire:
            for message in (legacy("ping"), legacy("initialize", {"protocolVersion": 7}), notification("notifications/initialized"), {"x": 1}):
                response = wire.request(body=message)
                self.assertIn(response.status, (200, 202, 400))
                self.assertNotIn("mcp-session-id", response.headers)

    def test_cancelled_ends_the_post_of_the_request(self):
        session = Session(self.h)
        with self.h.wire() as wire:
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", SPIN, request_id="spin")))
            mcp.wait_until(lambda: "running" in session.call("list-sessions"), 10, "the call runs")
            self.assertStatus(202, session.post(notification("notifications/cancelled", {"requestId": "spin"})))
            self.assertTrue(wire.receive().is_stream)
            self.assertEqual([], [event for event in wire.events() if event.data])
        self.assertEqual("=> 1", session.call("evaluate-lisp", code="1"))

    def test_two_requests_with_one_id_are_both_answered(self):
        session = Session(self.h)
        session.call("create-session", name="other")
        with self.h.wire() as spinning, self.h.wire() as wire:
            spinning.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", SPIN, request_id=1)))
            mcp.wait_until(lambda: "running" in session.call("list-sessions"), 10, "the call runs")
            other = {"name": "evaluate-lisp", "arguments": {"code": "(loop)", "timeout": 600, "session": "other"}}
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", other, request_id=1)))
            mcp.wait_until(lambda: session.call("list-sessions").count("running") == 2, 10, "the other runs too")
            # Nobody knows which one this means.
            self.assertStatus(202, session.post(notification("notifications/cancelled", {"requestId": 1})))
            self.assertEqual(2, session.call("list-sessions").count("running"))
            for which, waiting in (({"session": "other"}, wire), ({}, spinning)):
                session.call("cancel-evaluation", **which)
                response = waiting.receive()
                answer = waiting.events()[-1].message if response.is_stream else response.json
                self.assertEqual(1, answer["id"])
                self.assertIn("cancelled", text_of(answer["result"]))

    def test_a_session_that_is_nothing_needs_no_header(self):
        for nothing in ("", "null"):
            for header in (None, nothing):
                headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "1", "session": nothing}})
                self.assertStatus(200, self.h.request(headers={**headers, "Mcp-Param-Session": header}, body=message))

    def test_deleting_a_session_ends_what_is_under_way(self):
        session = Session(self.h)
        with self.h.wire() as wire:
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", SPIN)))
            mcp.wait_until(lambda: "running" in session.call("list-sessions"), 10, "the call runs")
            session.delete()
            self.assertStatus(404, wire.receive())
        self.assertServes()

    def test_half_a_connection_is_enough_for_an_answer(self):
        session = Session(self.h)
        with self.h.wire() as wire:
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", {
                "name": "evaluate-lisp", "arguments": {"code": "(progn (sleep 0.5) 9)"}})))
            wire.socket.shutdown(socket.SHUT_WR)
            self.assertEqual("=> 9", mcp_http.text_of(wire.receive().json["result"]))


class Places(mcp_http.TestCase):
    def test_a_socket_in_the_file_system(self):
        path = os.path.join(self.folder(), "lisp.sock")
        server = self.start_http(http=("unix:" + path,))
        self.assertEqual(0o600, os.stat(path).st_mode & 0o777)
        self.assertEqual("=> 3", mcp_http.text_of(server.evaluate("(+ 1 2)").json["result"]))
        self.assertStatus(200, server.ask("tools/list", headers={"Host": "lisp.example.org"}))
        second = self.start_http(http=("unix:" + path,))
        self.assertTrue(second.has_failed)
        self.assertServes(server)
        server.end()
        self.assertFalse(os.path.exists(path))
        # One that nobody listens on any more is replaced.
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(path)
        stale.close()
        self.assertServes(self.start_http(http=("unix:" + path,)))

    def test_the_loopback_of_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest("no IPv6 here: %s" % error)
        server = self.start_http(http=("[::1]:0",))
        self.assertStatus(200, server.ask("tools/list", headers={"Host": "[::1]:%d" % server.addresses[0][1]}))

    def test_several_places_and_stdio_at_once(self):
        path = os.path.join(self.folder(), "s")
        client = self.start_server("--stdio", "--http", "127.0.0.1:0", "--http", "unix:" + path, "--log-level", "info")
        client.evaluate("(defparameter *x* 5)")
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "*x*"}})
        with mcp_http.Wire(path) as wire:
            # Without tokens whoever reaches it is the same person.
            self.assertEqual("=> 5", mcp_http.text_of(wire.request(headers=headers, body=message).json["result"]))

    def test_wrong_addresses_are_reported_and_end_it(self):
        for where in ("nonsense", "127.0.0.1:x", "127.0.0.1:99999", "::1:80", "unix:", "unix:" + "x" * 200, "unix:/no/such/folder/s", "0.0.0.0:0", ""):
            with self.subTest(where):
                self.assertDoesNotStart("error: ", "--http", where)

    def test_sigterm_ends_streams_and_answers_what_waits(self):
        server = self.start_http()
        session = Session(server)
        with server.wire() as stream, server.wire() as wire, server.wire() as other:
            self.assertTrue(session.listen(stream).is_stream)
            wire.send(mcp_http.request_bytes(headers=session.headers(), body=legacy("tools/call", SPIN)))
            headers, message = modern("tools/call", SPIN)
            other.send(mcp_http.request_bytes(headers=headers, body=message))
            mcp.wait_until(lambda: session.call("list-sessions").count("running") == 2, 10, "both calls run")
            server.process.send_signal(signal.SIGTERM)
            self.assertStatus(503, wire.receive())
            self.assertStatus(503, other.receive())
            self.assertEqual([], [event for event in stream.events() if "list_changed" not in event.data])
        server.process.wait(20 * mcp.STRETCH)  # a second signal would end it at once
        server.end()

    def test_however_many_signals_arrive_the_server_itself_exits(self):
        server = self.start_http()
        while server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, server.process.returncode)
