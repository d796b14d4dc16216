"""`cl-mcp-server view`: who is admitted, what is passed on, when it ends; and the socket of every server for its owner."""

import functools
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import unittest

import joining
import mcp
import mcp_http
import test_join

PERSON = "cl-mcp-server view"


def message(method, params, client=PERSON):
    params = dict(params, _meta={mcp.VERSION_KEY: mcp.MODERN, mcp.CAPABILITIES_KEY: {}, mcp.CLIENT_KEY: {"name": client, "version": "1"}})
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def headers_of(method, params):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": mcp.MODERN, "Mcp-Method": method}
    name = params.get("name") or params.get("uri")
    if name:
        headers["Mcp-Name"] = name
    if "session" in params.get("arguments", {}):
        headers["Mcp-Param-Session"] = params["arguments"]["session"]
    return headers


class View:
    """A running `cl-mcp-server view`."""

    def __init__(self, *options, environment=None):
        self.process = subprocess.Popen([mcp.SERVER, "view", "--no-open", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=dict(environment or mcp.clean_environment(), **{mcp.MARK: mcp.file_mark() + "-view."}))
        self.link = self.process.stdout.readline().decode().strip()
        self.host, self.key = re.fullmatch(r"http://([0-9a-f]{32}\.localhost:\d+)/#key=([0-9a-f]{32})", self.link).groups()
        self.port = int(self.host.rpartition(":")[2])
        self.secret = None

    def ask(self, path, method="GET", body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * mcp.STRETCH)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        headers.setdefault("Host", self.host)
        if body is not None and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body.encode() if body is not None else None)
        return connection.getresponse()

    def enter(self, **headers):
        """Exchange the link's key for the secret, as the page does."""
        return self.ask("/secret", **{"View_Key": self.key, **headers})

    def sign_in(self):
        response = self.enter()
        assert response.status == 200, response.status
        self.secret = response.read().decode()
        return response

    def watch(self):
        self.stream = self.ask("/watch", View_Secret=self.secret)
        return self.stream

    def servers(self):
        """The next list on the open stream."""
        while True:
            line = self.stream.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                return json.loads(line[6:])

    def id_of(self, client):
        self.watch()
        while True:
            for server in self.servers()["servers"]:
                if server["pid"] == client.pid:
                    return server["id"]

    def post(self, server, method, params, client=PERSON, **headers):
        sent = {**headers_of(method, params), "View-Secret": self.secret, **headers}
        return self.ask("/servers/%s/mcp" % server, "POST", message(method, params, client), **sent)

    def call(self, server, tool, **arguments):
        response = self.post(server, "tools/call", {"name": tool, "arguments": arguments})
        assert response.status == 200, (response.status, response.read())
        text = response.read().decode()
        if response.getheader("Content-Type") == "text/event-stream":
            text = [line[6:] for line in text.splitlines() if line.startswith("data: ") and '"id":1' in line][-1]
        return mcp.Report(json.loads(text)["result"])

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(20 * mcp.STRETCH)
        self.process.stdout.close()
        return status


class ViewTest(mcp.TestCase):
    def view(self, *options, **named):
        view = View(*options, **named)
        self.addCleanup(lambda: self.assertEqual(0, view.close()))
        return view

    def signed_in(self, *options):
        view = self.view(*options)
        view.sign_in()
        return view

    def assertRefused(self, response, status=403):
        body = response.read()
        self.assertEqual(status, response.status, body)
        self.assertNotIn(b"<html", body)
        self.assertIsNone(response.getheader("Set-Cookie"))


class Admission(ViewTest):
    def test_the_link_admits_one_browser(self):
        view = self.view()
        first = view.sign_in()
        self.assertRegex(view.secret, "^[0-9a-f]{32}$")
        self.assertEqual("no-store", first.getheader("Cache-Control"))
        self.assertNotEqual(view.key, view.secret)
        self.assertRefused(view.enter())
        self.assertRefused(view.enter(View_Secret=view.secret))

    def test_a_wrong_key_is_refused_and_uses_nothing_up(self):
        view = self.view()
        for key in ("", "0" * 32, view.key[:-1], view.key + "0", "%00", view.key.upper() + "x", None):
            self.assertRefused(view.enter(View_Key=key))
        self.assertRefused(view.ask("/secret", "POST", "{}", View_Key=view.key, Content_Type="application/json"))
        self.assertRefused(view.ask("/secret?key=" + view.key))
        view.sign_in()

    def test_without_the_secret_only_the_files_of_the_page_are_served(self):
        view = self.signed_in()
        other = self.signed_in()
        for secret in (None, "", "0" * 32, view.key, other.secret, view.secret[:-1], view.secret + "0"):
            for path in ("/watch", "/nothing", "/servers/1/mcp", "/../main.js"):
                self.assertRefused(view.ask(path, View_Secret=secret))
            self.assertRefused(view.ask("/servers/1/mcp", "POST", "{}", View_Secret=secret, Content_Type="application/json"))
        page = view.ask("/")
        self.assertEqual(200, page.status)
        self.assertNotIn(view.key, page.read().decode())

    def test_a_cookie_admits_nobody_and_none_is_set(self):
        view = self.signed_in()
        for path in ("/", "/secret", "/watch"):
            response = view.ask(path, View_Key=view.key)
            response.read()
            self.assertIsNone(response.getheader("Set-Cookie"), path)
        for name in ("View-Secret", "secret", "cl-mcp-server-view-%d" % view.port):
            self.assertRefused(view.ask("/watch", Cookie="%s=%s" % (name, view.secret)))
        for path in ("/watch", "/servers/1/mcp"):
            self.assertRefused(view.ask("%s?secret=%s&View-Secret=%s" % (path, view.secret, view.secret)))

    def test_cookies_of_another_port_leave_the_page_usable(self):
        view = self.signed_in()
        for cookie in ("a=" + "x" * 33000, "; ".join("c%03d=%s" % (i, "y" * 4000) for i in range(25))):
            self.assertEqual(200, view.ask("/main.js", Cookie=cookie).status)
            self.assertEqual(404, view.ask("/nothing", Cookie=cookie, View_Secret=view.secret).status)

    def test_a_foreign_host_or_origin_is_refused(self):
        view = self.signed_in()
        for host in ("evil.example", "evil.example:%d" % view.port, "127.0.0.1", "127.0.0.1:%d" % view.port, "localhost:%d" % view.port, "[::1]:%d" % view.port,
                     "0" * 32 + ".localhost:%d" % view.port, view.host.partition(":")[0], view.host + "0", "a." + view.host, ""):
            self.assertRefused(view.ask("/", Host=host))
            self.assertRefused(view.ask("/watch", View_Secret=view.secret, Host=host))
            self.assertRefused(self.view().enter(Host=host))
        for origin in ("http://evil.example", "null", "https://" + view.host, "http://127.0.0.1:1", "http://localhost:%d" % view.port, view.host, ""):
            self.assertRefused(view.ask("/", Origin=origin))
            self.assertRefused(view.ask("/servers/1/mcp", "POST", "{}", View_Secret=view.secret, Origin=origin, Content_Type="application/json"))
        self.assertEqual(200, view.ask("/", Origin="http://" + view.host).status)

    def test_a_page_of_another_origin_may_not_send_the_headers(self):
        """A browser asks with OPTIONS before it sends a header of this kind to another origin."""
        view = self.signed_in()
        for path in ("/secret", "/watch", "/servers/1/mcp"):
            for origin in ("http://localhost:1", "http://" + view.host):
                response = view.ask(path, "OPTIONS", Origin=origin, Access_Control_Request_Method="GET", Access_Control_Request_Headers="view-secret")
                self.assertRefused(response)
                self.assertEqual([], [name for name, _ in response.getheaders() if name.lower().startswith("access-control")])

    def test_nobody_else_can_listen_where_the_browser_looks_for_the_name(self):
        view = self.view()
        for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            try:
                with socket.socket(family) as probe:
                    probe.bind((address, 0))
            except OSError:
                continue  # this machine has only one of them
            with socket.socket(family) as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with self.assertRaises(OSError, msg=address):
                    other.bind((address, view.port))
                    other.listen()
            with socket.create_connection((address, view.port)) as wire:
                wire.sendall(("GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % view.host).encode())
                self.assertEqual(b"HTTP/1.1 200", wire.recv(12, socket.MSG_WAITALL), address)

    def test_a_port_that_somebody_has_at_one_address_is_not_taken(self):
        with socket.socket(socket.AF_INET6) as other:
            try:
                other.bind(("::1", 0))
            except OSError:
                self.skipTest("this machine has no ::1")
            other.listen()
            done = subprocess.run([mcp.SERVER, "view", "--no-open", "--listen", "127.0.0.1:%d" % other.getsockname()[1]], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=mcp.clean_environment(), timeout=20 * mcp.STRETCH)
        self.assertEqual((1, b""), (done.returncode, done.stdout))
        self.assertIn(b"cannot listen on ::1", done.stderr)

    def test_what_is_no_plain_request_is_refused(self):
        """test_http_hostile has more: the same library and checks serve both."""
        view = self.signed_in()
        head = "Host: %s\r\nView-Secret: %s\r\n" % (view.host, view.secret)
        post = "POST /servers/1/mcp HTTP/1.1\r\n" + head + "Content-Type: application/json\r\n"
        for text, statuses in (("PUT / HTTP/1.1\r\n" + head, (404,)), ("GET http://x/ HTTP/1.1\r\n" + head, (400, 404)),
                               ("GET / HTTP/1.1\r\nView-Secret: %s\r\n" % view.secret, (400, 403)), ("GET / HTTP/1.1\r\n" + head + "Host: x\r\n", (400,)),
                               ("GET / HTTP/1.1\r\n" + head + " folded: 1\r\n", (400, 403)), (post, (411,)), (post + "Transfer-Encoding: gzip\r\n", (501,)),
                               (post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", (400,)), (post + "Content-Length: -1\r\n", (400,)),
                               (post + "Content-Length: 2, 2\r\n", (400,)), (post + "Content-Length: 9999999999\r\n", (413,)),
                               ("GET / HTTP/1.1\r\n" + head + "x: %s\r\n" % ("y" * 300000), (431,))):
            with self.subTest(text=text[:150]):
                with socket.create_connection(("127.0.0.1", view.port), 60 * mcp.STRETCH) as wire:
                    wire.sendall((text + "\r\n").encode())
                    answer = wire.recv(13, socket.MSG_WAITALL).decode()
                    # The library may close the connection without an answer.
                    self.assertIn(answer, ["HTTP/1.1 %d " % status for status in statuses] + [""])
        self.assertRefused(view.ask("/servers/1/mcp", "POST", "{}", View_Secret=view.secret, Content_Type="text/plain"), 415)
        self.assertRefused(view.ask("/servers/1/mcp", "POST", "{}", View_Secret=view.secret, Content_Type="application/json", Content_Length=str((16 << 20) + 1)), 413)
        self.assertRefused(view.ask("/servers/1/x", "POST", "{}", View_Secret=view.secret, Content_Type="application/json"), 404)
        self.assertRefused(view.ask("/../index.html", View_Secret=view.secret), 404)

    def test_the_page_may_load_only_from_here(self):
        view = self.signed_in()
        response = view.ask("/", View_Secret=view.secret)
        policy = response.getheader("Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe-", policy)
        self.assertNotRegex(policy, r"\*|https?:")
        self.assertEqual("nosniff", response.getheader("X-Content-Type-Options"))
        page = response.read().decode()
        for path in re.findall(r'(?:src|href)="(/[^"]+)"', page):
            self.assertEqual(200, view.ask(path, View_Secret=view.secret).status, path)

    def test_it_listens_on_this_machine_only(self):
        for address in ("0.0.0.0:0", "127.0.0.2:0", "[::]:0", "unix:/tmp/x-%d" % os.getpid(), "nonsense"):
            done = subprocess.run([mcp.SERVER, "view", "--no-open", "--listen", address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=mcp.clean_environment(), timeout=20 * mcp.STRETCH)
            self.assertEqual((1, b""), (done.returncode, done.stdout), address)
        for options in (["--listen"], ["--what"], ["x"], ["--linger"], ["--linger", "-1"], ["--linger="]):
            done = subprocess.run([mcp.SERVER, "view", *options], stderr=subprocess.PIPE, env=mcp.clean_environment(), timeout=20 * mcp.STRETCH)
            self.assertEqual(2, done.returncode)
            self.assertIn(b"usage: cl-mcp-server view", done.stderr)


class PassingOn(ViewTest):
    def test_it_sees_the_sessions_of_the_client_on_standard_input(self):
        client = self.start_server()
        client.evaluate("(defvar *x* 41)")
        view = self.signed_in()
        server = view.id_of(client)
        self.assertEqual("42", view.call(server, "evaluate-lisp", code="(incf *x*)").value)
        self.assertEqual("42", client.evaluate("*x*").value)

    def test_servers_come_describe_themselves_and_go(self):
        view = self.signed_in()
        view.watch()
        before = {server["pid"] for server in view.servers()["servers"]}
        folder = os.path.realpath(self.folder())
        client = self.start_server(cwd=folder)
        self.assertNotIn(client.pid, before)

        def wait_for(condition):
            while True:
                for server in view.servers()["servers"]:
                    if server["pid"] == client.pid and condition(server):
                        return server

        described = wait_for(lambda server: server["client"] == "e2e")
        self.assertEqual((folder, False), (described["directory"], described["is-ended"]))
        client.destroy()
        client.process.stdin.close() if client.process.stdin else None
        self.clients.remove(client)
        wait_for(lambda server: server["is-ended"])
        for server in (described["id"], "1-0"):
            response = view.post(server, "tools/list", {})
            self.assertEqual(200, response.status)
            self.assertEqual((None, "This server has ended, or another process has taken its socket."), (lambda m: (m["id"], m["error"]["message"]))(json.loads(response.read())))

    def test_events_are_streamed_as_they_come(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        uri = "lisp://session/default/events"
        stream = view.post(server, "subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        self.assertEqual("text/event-stream", stream.getheader("Content-Type"))
        client.evaluate("2")
        while b"resources/updated" not in stream.readline():
            pass
        stream.close()

    def test_who_closes_the_connection_cancels_the_call(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        params = {"name": "evaluate-lisp", "arguments": {"code": "(sleep 600)"}}
        text = message("tools/call", params)
        lines = {**headers_of("tools/call", params), "Host": view.host, "View-Secret": view.secret, "Content-Length": str(len(text))}
        with socket.create_connection(("127.0.0.1", view.port)) as wire:
            wire.sendall(("POST /servers/%s/mcp HTTP/1.1\r\n%s\r\n" % (server, "".join("%s: %s\r\n" % line for line in lines.items())) + text).encode())
            mcp.wait_until(lambda: "(sleep 600)" in client.call("list-evaluations").text, 30, "the evaluation")
        mcp.wait_until(lambda: "(sleep 600)" not in client.call("list-evaluations").text, 30, "its end")

    def test_a_call_whose_server_is_killed_is_answered(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        params = {"name": "list-sessions", "arguments": {}}
        os.kill(client.pid, signal.SIGSTOP)
        text = message("tools/call", params)
        lines = {**headers_of("tools/call", params), "Host": view.host, "View-Secret": view.secret, "Content-Length": str(len(text))}
        with socket.create_connection(("127.0.0.1", view.port)) as wire:
            wire.sendall(("POST /servers/%s/mcp HTTP/1.1\r\n%s\r\n" % (server, "".join("%s: %s\r\n" % line for line in lines.items())) + text).encode())
            view.ask("/", View_Secret=view.secret).read()  # so the view has taken the call
            client.destroy()
            self.clients.remove(client)
            wire.settimeout(60 * mcp.STRETCH)
            answer = b""
            while b"This server has ended" not in answer:
                piece = wire.recv(65536)
                self.assertTrue(piece, answer)
                answer += piece

    def test_a_large_message_and_a_large_answer(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        report = view.call(server, "evaluate-lisp", code='(make-string 3000000 :initial-element #\\a) ; %s' % ("x" * 3000000), **{"max-output": 4000000})
        self.assertGreater(len(report.text), 1000000)

    def test_a_reader_that_does_not_read_delays_nobody(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        params = {"name": "evaluate-lisp", "arguments": {"code": "(make-string 3900000 :initial-element #\\b)", "max-output": 4000000}}
        text = message("tools/call", params)
        lines = {**headers_of("tools/call", params), "Host": view.host, "View-Secret": view.secret, "Content-Length": str(len(text))}
        with socket.create_connection(("127.0.0.1", view.port)) as wire:
            wire.sendall(("POST /servers/%s/mcp HTTP/1.1\r\n%s\r\n" % (server, "".join("%s: %s\r\n" % line for line in lines.items())) + text).encode())
            mcp.wait_until(lambda: '"bbbb' in str(client.request("resources/read", {"uri": "lisp://session/default/events"})), 60, "the value")
            self.assertEqual("3", view.call(server, "evaluate-lisp", code="(+ 1 2)").value)

    def test_messages_that_a_server_does_not_read_are_bounded(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        is_cut = threading.Event()

        def post():
            try:
                view.post(server, "ping", {"text": "x" * (15 << 20)}).read()
            except (OSError, http.client.HTTPException):
                is_cut.set()

        os.kill(client.pid, signal.SIGSTOP)
        posts = []
        try:
            while len(posts) < 20 and not is_cut.wait(0.2):
                posts.append(threading.Thread(target=post))
                posts[-1].start()
            self.assertTrue(is_cut.wait(10 * mcp.STRETCH), "all are kept")
        finally:
            os.kill(client.pid, signal.SIGCONT)
            for one in posts:
                one.join()

    def test_a_read_only_view_changes_nothing(self):
        client = self.start_server()
        client.evaluate("(defvar *x* 1)")
        view = self.signed_in("--read-only")
        server = view.id_of(client)
        view.watch()
        self.assertTrue(view.servers()["read-only"])
        for tool, arguments in (("evaluate-lisp", {"code": "(setf *x* 2)"}), ("EVALUATE_LISP", {"code": "1"}), ("ns/evaluate-lisp", {"code": "1"}),
                                ("close-session", {"session": "default"}), ("stage-remark", {"text": "x"}), ("nothing", {})):
            self.assertRefused(view.post(server, "tools/call", {"name": tool, "arguments": arguments}))
        for body in ("[]", "x", '{"method":"tools/call"}', "[%s]" % message("ping", {}), '{"method":"ping","method":"tools/call","params":{"name":"evaluate-lisp"}}'):
            self.assertRefused(view.ask("/servers/%s/mcp" % server, "POST", body, View_Secret=view.secret, Content_Type="application/json"))
        self.assertIn("default", view.call(server, "list-sessions").text)
        self.assertEqual(200, view.post(server, "resources/read", {"uri": "lisp://session/default/events"}).status)
        self.assertEqual("1", client.evaluate("*x*").value)

    def test_code_does_not_wait_for_a_person_who_may_only_look_on(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in("--read-only")
        server = view.id_of(client)
        listening = {"notifications": {"resourceSubscriptions": ["lisp://session/default/events"]}}
        for offer in (True, False, "x"):
            self.assertRefused(view.post(server, "subscriptions/listen", {**listening, "answersQuestions": offer}))
        # Of another client: it would be told what is for the agent.
        self.assertRefused(view.post(server, "subscriptions/listen", listening, client="e2e"))
        self.assertRefused(view.post(server, "tools/call", {"name": "list-sessions", "arguments": {}}, client="e2e"))
        stream = view.post(server, "subscriptions/listen", listening)
        while b"acknowledged" not in stream.readline():
            pass
        self.assertIn("END-OF-FILE", client.evaluate("(read-line)").text)
        stream.close()


class Person(ViewTest):
    def test_the_agent_is_told_what_the_person_did(self):
        client = self.start_server()
        client.evaluate("(defvar *x* 1)")
        view = self.signed_in()
        server = view.id_of(client)
        view.call(server, "checkpoint-session", name="mine")
        view.call(server, "evaluate-lisp", code="(setf *x* 2)\n(list *x*)")
        view.call(server, "evaluate-lisp", code="(car 7)")
        view.call(server, "rollback-session", to="mine")
        view.call(server, "cancel-evaluation")
        view.call(server, "list-sessions")
        told = client.evaluate("*x*")
        self.assertEqual("1", told.value)
        self.assertEqual(["The person made the checkpoint mine.", "The person evaluated (setf *x* 2) ... (evaluation 2).",
                          "The person evaluated (car 7) (evaluation 3), which failed.", "The person rolled the session back to mine."],
                         [line for line in told.session.splitlines() if line.startswith("The person")])
        self.assertEqual("", client.evaluate("*x*").session)

    def test_a_remark_comes_once_and_under_its_own_heading(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        self.assertFalse(view.call(server, "stage-remark", text="look at this:\n(defun f () 2)", session="default").is_error)
        self.assertEqual("2", view.call(server, "evaluate-lisp", code="2").value)
        told = client.call("describe-symbol", name="car").text
        self.assertIn("\n\n[From the person]\nlook at this:\n(defun f () 2)", told)
        self.assertNotIn("[From the person]", client.evaluate("1").text)
        self.assertTrue(view.call(server, "stage-remark", text="x" * 16385).is_error)
        results = [view.call(server, "stage-remark", text="y" * 16384).is_error for _ in range(5)]
        self.assertEqual((False, True), (results[0], results[-1]))

    def test_the_persons_replies_take_nothing_from_the_agent(self):
        client = self.start_server()
        pid = int(client.evaluate("(sb-posix:getpid)").value)
        view = self.signed_in()
        server = view.id_of(client)
        os.kill(pid, signal.SIGKILL)
        mcp.wait_until(lambda: "process %d" % pid not in view.call(server, "session-info", all=True).text, 20, "the death")
        for tool, arguments in (("describe-symbol", {"name": "car"}), ("evaluate-lisp", {"code": "3"})):
            self.assertNotIn("killed", view.call(server, tool, **arguments).text)
        self.assertIn("killed", client.evaluate("4").session)

    def test_events_name_the_author(self):
        client = self.start_server()
        client.evaluate("(car 1)")
        view = self.signed_in()
        server = view.id_of(client)
        view.call(server, "invoke-restart", restart="ABORT")
        view.call(server, "stage-remark", text="hello")
        answer = client.request("resources/read", {"uri": "lisp://session/default/events"})
        events = json.loads(answer["contents"][0]["text"])["events"]
        authors = [(e["kind"], e["author"]["kind"]) for e in events if "author" in e]
        self.assertEqual([("started", "agent"), ("restart", "person"), ("started", "person"), ("person", "person")], authors)
        self.assertEqual("hello", events[-1]["text"])

    def test_a_person_answers_what_code_reads(self):
        client = self.start_server()
        self.assertIn("END-OF-FILE", client.evaluate("(read-line)").text)
        view = self.signed_in()
        server = view.id_of(client)
        uri = "lisp://session/default/events"
        stream = view.post(server, "subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}, "answersQuestions": True})
        pending = client.start_call("evaluate-lisp", code='(progn (princ "Name? ") (finish-output) (read-line *query-io*))')

        def question():
            events = json.loads(client.request("resources/read", {"uri": uri})["contents"][0]["text"])["events"]
            return [event for event in events if event["kind"] == "question"]

        asked = mcp.wait_until(question, 30, "the question")[0]
        self.assertEqual("Name?", asked["prompt"].strip())
        self.assertTrue(view.call(server, "answer-question", question=asked["question"] + 1, text="x").is_error)
        self.assertFalse(view.call(server, "answer-question", question=asked["question"], text="Ada").is_error)
        told = pending.reply()
        self.assertEqual('"Ada"', told.value)
        self.assertIn("The person answered Ada.", told.text + client.evaluate("1").text)
        self.assertTrue(view.call(server, "answer-question", question=asked["question"], text="again").is_error)
        stream.close()
        mcp.wait_until(lambda: "END-OF-FILE" in client.evaluate("(read-line)").text, 30, "the end of the listening")

    def test_while_code_waits_its_output_is_told_once_and_who_leaves_ends_the_waiting(self):
        client = self.start_server()
        client.evaluate("1")
        view = self.signed_in()
        server = view.id_of(client)
        uri = "lisp://session/default/events"
        listening = {"notifications": {"resourceSubscriptions": [uri]}, "answersQuestions": True}
        streams = [view.post(server, "subscriptions/listen", listening) for _ in range(2)]
        pending = client.start_call("evaluate-lisp", code='(progn (princ "Which nut?") (finish-output) (read-line))', timeout=600)

        def events(*kinds):
            answer = view.post(server, "resources/read", {"uri": uri})
            found = json.loads(json.loads(answer.read())["result"]["contents"][0]["text"])["events"]
            return [event for event in found if event["kind"] in kinds]

        mcp.wait_until(lambda: events("question"), 30, "the question")
        for tool, arguments in (("list-threads", {}), ("session-history", {"checkpoints": True}), ("describe-symbol", {"name": "car"}), ("get-backtrace", {})) * 2:
            view.call(server, tool, session="default", **arguments)
        waits = client.start_call("evaluate-lisp", code="(list :next)")
        mcp.wait_until(lambda: "(list :next)" in client.call("list-evaluations").text, 30, "the one that waits")
        client.call("cancel-evaluation", evaluation=3)
        waits.reply()
        self.assertEqual([("Which nut?", 2)], [(event["text"], event["evaluation"]) for event in events("output")])
        self.assertEqual(1, len(events("value", "error")), "an evaluation that waits and is cancelled is not the one that runs")
        streams[0].close()
        view.call(server, "list-threads", session="default")
        self.assertFalse(pending.is_answered, "another tab still follows")
        streams[1].close()
        self.assertErrorReport(pending.reply(), "END-OF-FILE")
        self.assertEqual(["Which nut?"], [event["text"] for event in events("output")])

    def test_a_person_sees_every_session(self):
        client = self.start_server()
        for number in range(210):
            client.call("create-session", name="session-%d" % number)
        view = self.signed_in()
        text = view.call(view.id_of(client), "list-sessions").text
        self.assertEqual(210, text.count("\n- "), text[-300:])
        self.assertLess(client.call("list-sessions").text.count("\n- "), 201)

    def test_no_list_shows_the_persons_tools(self):
        client = self.start_server("--tools", "full")
        names = {tool["name"] for tool in client.request("tools/list")["tools"]}
        self.assertFalse(names & {"stage-remark", "session-events", "answer-question"})
        self.assertNotIn("stage-remark", client.call("get-usage-guide").text)


class Data(ViewTest):
    """What the page reads: the replies of look-ups as data, on request only."""

    def look(self, tool, asks=True, **arguments):
        params = {"name": tool, "arguments": dict(arguments, session="default")}
        body = json.loads(message("tools/call", params))
        if asks:
            body["params"]["_meta"]["cl-mcp-server/data"] = True
        response = self.window.ask("/servers/%s/mcp" % self.server, "POST", json.dumps(body), **{**headers_of("tools/call", params), "View-Secret": self.window.secret})
        text = response.read().decode()
        if response.getheader("Content-Type") == "text/event-stream":
            text = [line[6:] for line in text.splitlines() if line.startswith("data: ") and '"id":1' in line][-1]
        return json.loads(text)["result"].get("structuredContent")

    def setUp(self):
        super().setUp()
        self.client = self.start_server()
        self.client.evaluate("(defun mean-of (items) (declare (optimize debug)) (let ((total (reduce #'+ items))) (/ total (length items))))")
        self.client.call("checkpoint-session", name="here, named, which failed")
        self.client.evaluate("(list 1 \" = <h1.2>\" (list :inner))")
        self.client.evaluate("(mean-of '())")
        self.window = self.signed_in()
        self.server = self.window.id_of(self.client)

    def test_sessions_evaluations_and_checkpoints(self):
        (session,), caller = (lambda data: (data["sessions"], data["client"]))(self.look("session-info", all=True))
        self.assertEqual(("default", "standing", "CL-USER", 3, 1, "e2e"), (*(session[key] for key in ("name", "state", "package", "evaluations", "errors")), caller))
        self.assertGreater(session["memory"], 1 << 20)
        kept = self.look("session-history", checkpoints=True)["checkpoints"]
        self.assertIn(("here, named, which failed", 1, False), [(one.get("name"), one["evaluation"], one["has-failed"]) for one in kept])
        code = "(progn (defvar *one: \n2* 1) (sleep 600))".replace("*one: \n2*", "|one: 2|")
        running, waits = (self.client.start_call("evaluate-lisp", code=text) for text in (code, "(list 2)"))
        found = mcp.wait_until(lambda: (lambda all: len(all) == 2 and all[0]["state"] == "running" and all)(self.look("evaluation-status", all=True)["evaluations"]), 30, "both")
        self.assertEqual([("default", 4, code), ("default", 5, "(list 2)", "waiting")], [(one["session"], one["number"], one["code"], *([one["state"]] if one["state"] != "running" else [])) for one in found])
        for number in (5, 4):
            self.client.call("cancel-evaluation", evaluation=number)
        running.reply(), waits.reply()

    def test_threads_frames_and_objects(self):
        (thread,) = self.look("list-threads")["threads"]
        self.assertEqual((True, "main thread"), (thread["serves"], thread["name"]))
        frames = self.look("get-backtrace", index=1, locals=True, **{"max-frames": 3})["frames"]
        frame = next(one for one in frames if one["call"].startswith("(MEAN-OF"))
        self.assertEqual("(/ TOTAL (LENGTH ITEMS))", frame["source"][1])
        self.assertEqual({"ITEMS": "NIL", "TOTAL": "0"}, {one["name"]: one["value"] for one in frame["locals"]})
        (last,) = self.look("get-backtrace", index=1, **{"from": 1, "max-frames": 1})["frames"]
        self.assertEqual(1, last["number"])
        parts = self.look("inspect-object", handle="v2", limit=2)
        self.assertEqual((3, [["[0]", "1", None, None], ["[1]", '" = <h1.2>"', None, None]], "list"), (parts["total"], parts["parts"], parts["kind"]))
        self.assertFalse(parts["is-fleeting"])
        self.assertEqual({"absent": "value"}, self.look("inspect-object", handle="v99"))

    def test_nobody_else_gets_it(self):
        for tool, arguments in (("session-info", {"all": True}), ("list-threads", {}), ("evaluate-lisp", {"code": "1"}), ("inspect-object", {"handle": "v2"})):
            self.assertIsNone(self.look(tool, asks=False, **arguments), tool)
        self.assertEqual(["1"], self.look("evaluate-lisp", code="1")["values"])


@unittest.skipIf(joining.why_not(), joining.why_not())
class PersonInAnImage(ViewTest, test_join.ImageTest):
    def setUp(self):
        super().setUp()
        self.s.evaluate("1")
        self.window = self.signed_in()
        self.server = self.window.id_of(self.s)

    def events(self):
        (content,) = self.s.request("resources/read", {"uri": "lisp://session/default/events"})["contents"]
        return json.loads(content["text"])["events"]

    def test_the_person_needs_no_force_and_the_agent_is_told(self):
        editor = self.person()
        editor.evaluate("(defun inverse (x) (declare (optimize debug)) (/ 1 x))")
        editor.begin('(swank:interactive-eval "(inverse 0)")')
        editor.debugger("DIVISION-BY-ZERO")
        mcp.wait_until(lambda: "(can be entered)" in self.s.call("list-errors").text, 10, "the error")
        self.assertIn("Pass force", self.s.call("evaluate-in-frame", index=1, frame=0, code="x").text)
        call = functools.partial(self.window.call, self.server)
        self.assertValue(call("evaluate-in-frame", index=1, frame=0, code="x"), "0")
        restarts = next(event for event in self.events() if event["kind"] == "thread-error")["restarts"]
        number = next(restart["index"] for restart in restarts if restart["name"] == "ABORT")
        self.assertFalse(call("invoke-restart", index=1, restart=str(number)).is_error)
        editor.evaluate('(sb-thread:make-thread (lambda () (loop (sleep 0.1))) :name "program")')
        refused = self.s.call("interrupt-thread", thread="program")
        self.assertIn("Pass force", refused.text)
        self.assertFalse(call("interrupt-thread", thread="program").is_error)
        self.assertFalse(call("interrupt-thread", thread="program", kill=True).is_error)
        told = refused.text + self.s.evaluate("2").text
        for part in ("evaluated in a frame of an error x", "invoked the restart ABORT of error 1", "interrupted the thread program", "ended the thread program"):
            self.assertRegex(told, r"The person %s( \(evaluation \d+\))?\.(\n|$)" % part)

    def test_output_is_told_once_while_somebody_looks(self):
        running = self.s.start_call("evaluate-lisp", code='(progn (princ "once") (finish-output) (sleep 600))')
        outputs = lambda: [event["text"] for event in self.events() if event["kind"] == "output"]
        mcp.wait_until(outputs, 30, "the output")
        for _ in range(3):
            self.window.call(self.server, "list-threads", session="default")
        self.assertEqual(["once"], outputs())
        self.window.call(self.server, "cancel-evaluation", session="default")
        running.reply()
        self.assertEqual(["once"], outputs())


class Ending(ViewTest):
    def test_it_ends_a_while_after_the_last_tab(self):
        view = self.signed_in("--linger=0")
        for _ in range(2):
            view.watch().readline()
        self.assertIsNone(view.process.poll())
        view.stream.close()
        view.stream = None
        self.assertEqual(0, view.process.wait(30 * mcp.STRETCH))

    def opened(self, environment):
        """A view with a browser that only notes its arguments and environment: the process, its link, what the browser got."""
        folder = self.folder()
        noted, opener = os.path.join(folder, "noted"), os.path.join(folder, "xdg-open")
        with open(opener, "w") as f:
            f.write('#!/bin/sh\n{ echo "$@"; cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/$$/cmdline /proc/$$/environ; } > %s.new; mv %s.new %s\n' % (noted, noted, noted))
        os.chmod(opener, 0o755)
        environment = dict(environment, PATH=folder + ":" + os.environ["PATH"])
        process = subprocess.Popen([mcp.SERVER, "view"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        link = process.stdout.readline().decode().strip()
        mcp.wait_until(lambda: os.path.exists(noted), 20, "the browser")
        with open(noted, "rb") as f:
            return process, link, f.read().decode()

    def test_the_browser_gets_a_file_that_leads_to_the_link_and_no_secret(self):
        home = self.folder()
        process, link, noted = self.opened(mcp.clean_environment(XDG_RUNTIME_DIR=home))
        path = noted.splitlines()[0]
        self.assertEqual(os.path.join(home, "cl-mcp-server"), os.path.dirname(path))
        host, key = re.fullmatch("http://(.*)/#key=(.*)", link).groups()
        for secret in (host, key):
            self.assertNotIn(secret, noted)
        self.assertEqual((0o600, 0o700), (stat.S_IMODE(os.stat(path).st_mode), stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)))
        with open(path) as f:
            self.assertIn('content="0;url=%s"' % link, f.read())
        connection = http.client.HTTPConnection("127.0.0.1", int(host.rpartition(":")[2]), timeout=60 * mcp.STRETCH)
        connection.request("GET", "/secret", headers={"Host": host, "View-Key": key})
        self.assertEqual(200, connection.getresponse().status)
        self.assertFalse(os.path.exists(path), "the file outlives its use")
        connection.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(20 * mcp.STRETCH))
        self.assertEqual(b"", process.stdout.read())

    def test_a_link_that_nobody_used_is_not_left_in_a_file(self):
        home = self.folder()
        process, _, noted = self.opened(mcp.clean_environment(XDG_RUNTIME_DIR=home))
        self.assertTrue(os.path.exists(noted.splitlines()[0]))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(20 * mcp.STRETCH))
        self.assertEqual([], os.listdir(os.path.join(home, "cl-mcp-server")))


class OverHttp(mcp_http.TestCase):
    """--http ADDRESS --view: the page behind the same tokens."""

    def ask(self, port, path, method="GET", body=None, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60 * mcp.STRETCH)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.text = response.read()
        return response

    def test_the_page_is_there_and_everything_else_needs_the_token(self):
        tokens = os.path.join(self.folder(), "tokens")
        with open(tokens, "w") as f:
            f.write("ada:0123456789abcdef0123\n")
        os.chmod(tokens, 0o600)
        server = self.start_http("--view", "--token-file", tokens)
        port = server.addresses[0][1]
        view = View()
        self.addCleanup(view.close)
        view.sign_in()
        view.watch()
        while (server.pid, True) not in [(one["pid"], one["needs-token"]) for one in view.servers()["servers"]]:
            pass  # until the list with it comes
        page = self.ask(port, "/")
        self.assertEqual((200, "text/html; charset=utf-8"), (page.status, page.getheader("Content-Type")))
        self.assertNotIn("unsafe-", page.getheader("Content-Security-Policy"))
        for path in re.findall(r'(?:src|href)="(/[^"]+)"', page.text.decode()):
            self.assertEqual(200, self.ask(port, path).status, path)
        for cookie in ("a=" + "x" * 33000, "; ".join("c%03d=%s" % (i, "y" * 4000) for i in range(25))):
            self.assertEqual(200, self.ask(port, "/", headers={"Cookie": cookie}).status)
        self.assertEqual(404, self.ask(port, "/watch").status)
        self.assertEqual(404, self.ask(port, "/secret").status)
        self.assertEqual(404, self.ask(port, "/../x").status)
        self.assertIn(self.ask(port, "/", "POST", "{}", {"Content-Type": "application/json"}).status, (401, 404))
        self.assertEqual(403, self.ask(port, "/", headers={"Host": "evil.example"}).status)
        self.assertEqual(403, self.ask(port, "/", headers={"Origin": "http://evil.example"}).status)
        params = {"name": "list-sessions", "arguments": {}}
        text, headers = message("tools/call", params), headers_of("tools/call", params)
        for more in ({}, {"Cookie": "Authorization=Bearer 0123456789abcdef0123"}):
            self.assertEqual(401, self.ask(port, "/mcp", "POST", text, {**headers, **more}).status)
        answer = self.ask(port, "/mcp", "POST", text, {**headers, "Authorization": "Bearer 0123456789abcdef0123"})
        self.assertEqual(200, answer.status, answer.text)

    def test_without_the_option_there_is_no_page(self):
        for options in ((), ("--view", "on"), ("--view=off",)):
            self.assertEqual(404, self.ask(self.start_http(*options).addresses[0][1], "/").status)
        done = subprocess.run([mcp.SERVER, "--view"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=mcp.clean_environment(), timeout=20 * mcp.STRETCH)
        self.assertEqual(2, done.returncode)
        self.assertIn(b"add --http", done.stderr)


class OwnerSocket(ViewTest):
    def files(self, home):
        folder = os.path.join(home, "cl-mcp-server")
        return folder, {name.rpartition(".")[2]: os.path.join(folder, name) for name in os.listdir(folder)}

    def test_only_its_owner_can_open_it_and_it_goes_with_the_server(self):
        home = self.folder()
        client = self.start_server(environment=mcp.clean_environment(XDG_RUNTIME_DIR=home))
        folder, files = self.files(home)
        self.assertEqual(0o700, stat.S_IMODE(os.stat(folder).st_mode))
        self.assertEqual({"sock", "json"}, set(files))
        for path in files.values():
            self.assertEqual(0o600, stat.S_IMODE(os.stat(path).st_mode))
            self.assertTrue(os.path.basename(path).startswith("%d-" % client.pid))
        client.close()
        self.assertEqual([], os.listdir(folder))

    def test_a_view_in_another_place_sees_only_what_is_there(self):
        seen = {}
        home = self.folder()
        client = self.start_server(environment=mcp.clean_environment(XDG_RUNTIME_DIR=home))
        elsewhere = mcp.clean_environment()
        del elsewhere["XDG_RUNTIME_DIR"]
        other = self.start_server(environment=elsewhere)
        for name, environment in (("home", mcp.clean_environment(XDG_RUNTIME_DIR=home)), ("elsewhere", elsewhere)):
            view = self.view(environment=environment)
            view.sign_in()
            view.watch()
            seen[name] = {server["pid"]: server["needs-token"] for server in view.servers()["servers"]}
        self.assertEqual({client.pid: False}, seen["home"])
        self.assertIn(other.pid, seen["elsewhere"])
        self.assertNotIn(client.pid, seen["elsewhere"])

    def test_another_user_is_turned_away(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        home = self.folder()
        client = self.start_server(environment=mcp.clean_environment(XDG_RUNTIME_DIR=home))
        folder, files = self.files(home)
        for path, mode in ((home, 0o755), (folder, 0o755), (files["sock"], 0o666)):
            os.chmod(path, mode)
        ask = ("import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
               "s.settimeout(60)\ntry:\n s.sendall(b'GET /mcp HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(100))\nexcept (BrokenPipeError, ConnectionResetError): print(b'')")
        done = subprocess.run([sys.executable, "-c", ask, files["sock"]], stdout=subprocess.PIPE, text=True, timeout=90 * mcp.STRETCH)
        self.assertEqual("b''\n", done.stdout)
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(files["sock"])
            own.sendall(b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(own.recv(9).startswith(b"HTTP/1.1"))
        self.assertOperational(client)

    def test_a_socket_in_the_place_of_another_leads_nowhere(self):
        home = self.folder()
        environment = mcp.clean_environment(XDG_RUNTIME_DIR=home)
        folder = os.path.join(home, "cl-mcp-server")
        first, second = (self.start_server(environment=environment) for _ in range(2))
        for client in (first, second):
            client.evaluate("(defvar *here* %d)" % client.pid)
        view = self.view(environment=environment)
        view.sign_in()
        ids = [view.id_of(client) for client in (first, second)]
        for server, client in zip(ids, (first, second)):
            self.assertEqual(str(client.pid), view.call(server, "evaluate-lisp", code="*here*").value)

        def path(server, kind):
            return os.path.join(folder, "%s.%s" % (server, kind))

        def swap(kind):
            os.rename(path(ids[0], kind), path("0-0", kind))
            os.rename(path(ids[1], kind), path(ids[0], kind))
            os.rename(path("0-0", kind), path(ids[1], kind))

        swap("sock")
        for swapped in ("sockets", "sockets and descriptions"):
            for server in ids:
                response = view.post(server, "tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(setf *here* 0)"}})
                self.assertIn("another process has taken its socket", response.read().decode(), swapped)
            swap("json")
        later = self.view(environment=environment)
        later.sign_in()
        later.watch()
        self.assertEqual([], later.servers()["servers"])
        for client in (first, second):
            self.assertEqual(str(client.pid), client.evaluate("*here*").value)
        swap("sock")  # as they were, so that they are removed
        self.assertEqual(str(first.pid), view.call(ids[0], "evaluate-lisp", code="*here*").value)

    def test_a_directory_of_another_user_is_not_used_and_this_is_logged(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        user = 64000 + os.getpid() % 1000
        taken = "/tmp/cl-mcp-server-view-%d" % user
        os.mkdir(taken, 0o755)  # root's
        self.addCleanup(os.rmdir, taken)
        program = os.path.join(self.folder(), "server")
        shutil.copy(mcp.SERVER, program)
        os.chmod(os.path.dirname(program), 0o755)
        run = "import os, sys; os.setgid(65534); os.setuid(%d); os.execv(sys.argv[1], sys.argv[1:])" % user
        environment = mcp.clean_environment(XDG_RUNTIME_DIR=None, HOME="/nonexistent")
        for options in ((), ("view", "--no-open", "--linger", "0")):
            process = subprocess.Popen([sys.executable, "-c", run, program, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=environment, cwd="/")
            if options:
                process.stdout.readline()  # the link
                process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60 * mcp.STRETCH)
            self.assertIn("%s is not a directory that only this user can enter" % taken, said.decode())
        self.assertEqual([], os.listdir(taken))

    def test_none_with_view_off_or_where_others_can_enter(self):
        home = self.folder()
        self.start_server("--view", "off", environment=mcp.clean_environment(XDG_RUNTIME_DIR=home))
        self.assertEqual([], os.listdir(home))
        os.mkdir(os.path.join(home, "cl-mcp-server"))
        os.chmod(os.path.join(home, "cl-mcp-server"), 0o777)
        client = self.start_server(environment=mcp.clean_environment(XDG_RUNTIME_DIR=home))
        self.assertEqual([], os.listdir(os.path.join(home, "cl-mcp-server")))
        self.assertOperational(client)
