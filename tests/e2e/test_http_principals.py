"""Who may come in over HTTP: tokens, principals that know nothing of each other, Host and Origin, CORS, TLS."""

import glob
import json
import os
import select
import shutil
import signal
import socket
import ssl
import tempfile
import time
import warnings

import mcp
import mcp_http
from mcp_http import Session, bearer, initialize, legacy, modern, notification, request_bytes, text_of

ADA, BOB, ANY = "ada-0123456789abcdef", "bob-0123456789abcdef", "any-0123456789abcdef"
PRINCIPAL_CONNECTIONS = 512
FILE = "# who may come in\n\nada:%s\nbob:%s\n%s\n" % (ADA, BOB, ANY)


def lan_address():
    """An address of this machine that is no loopback; None if it has none."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect(("192.0.2.1", 9))
        address = probe.getsockname()[0]
        return None if address.startswith(("127.", "0.")) else address
    except OSError:
        return None
    finally:
        probe.close()


class WithTokens(mcp_http.TestCase):
    def token_file(self, text=FILE, mode=0o600):
        return self.file(text, "tokens", mode)

    def start_with_tokens(self, *options, **named):
        path = self.token_file()
        return self.start_http("--token-file", path, *options, **named), path

    def eval_as(self, server, token, code, **arguments):
        return text_of(self.assertStatus(200, server.evaluate(code, headers=bearer(token), **arguments)).json["result"])

    def caller(self, server):
        """A function that calls a tool as the one with this token; its text."""
        return lambda token, tool, **arguments: text_of(self.assertStatus(
            200, server.ask("tools/call", {"name": tool, "arguments": arguments}, bearer(token))).json["result"])


class Answers(WithTokens):
    @mcp.unittest.skipIf(mcp.SANITIZED, "the plain build holds 128 MiB of answers")
    def test_unread_answers_of_one_take_no_more_than_its_share(self):
        server, _ = self.start_with_tokens()
        for token in (ADA, BOB):
            server.evaluate('(progn "%s" 1)' % ("\x01" * 2000000), headers=bearer(token))
        own, message = modern("resources/read", {"uri": "lisp://session/default/source"})

        def ask(token, accept):
            """A connection on which the answer has begun."""
            wire = server.wire()
            self.addCleanup(wire.close)
            wire.send(request_bytes(headers={**own, **bearer(token), "Accept": accept}, body=message))
            select.select([wire.socket], [], [], 30 * mcp.STRETCH)
            return wire

        def is_read_by(token):
            return server.request(headers={**own, **bearer(token)}, body=message).status == 200

        def stop(wires):
            self.assertTrue(is_read_by(BOB))
            self.assertEqual(200, server.ask("tools/list", headers=bearer(ADA)).status)
            for wire in wires:
                wire.close()
            mcp.wait_until(lambda: is_read_by(ADA), 20, "the closed connections are noticed")

        for accept in ("application/json", "text/event-stream"):
            with self.subTest(accept):
                wires = [ask(ADA, accept) for _ in range(14)]
                for wire in wires[11:]:
                    refusal = wire.receive()
                    if accept == "text/event-stream" and refusal.status == 200:
                        self.assertEqual(b"", refusal.body)  # the stream had begun, and was closed
                        continue
                    self.assertStatus(500, refusal, -32603)
                    self.assertIn("was carried out", refusal.json["error"]["message"])
                    self.assertNotIn("retry-after", refusal.headers)
                stop(wires)


class Bodies(WithTokens):
    @mcp.unittest.skipIf(mcp.SANITIZED, "the plain build reads 300 MiB of bodies")
    def test_unfinished_bodies_of_one_shut_nobody_else_out(self):
        server, _ = self.start_with_tokens()
        headers, _ = modern("tools/list")
        size = 16 << 20
        piece = b" " * (64 << 10)
        for _ in range(16):
            wire = server.wire()
            self.addCleanup(wire.close)
            wire.send(mcp_http.request_bytes(headers={**headers, **bearer(ADA), "Content-Length": str(size)}))
            try:
                for _ in range(size // len(piece) - 1):
                    wire.send(piece)
            except OSError:
                pass  # refused with 503, and closed
        self.assertStatus(200, server.evaluate("1", headers=bearer(BOB)))
        self.assertStatus(200, server.evaluate('(length "%s")' % ("x" * 600000), headers=bearer(BOB)))


class Connections(WithTokens):
    @mcp.unittest.skipIf(mcp.SANITIZED, "a thousand connections take too long with sanitizers")
    def test_connections_of_one_and_of_nobody_shut_nobody_else_out(self):
        server, _ = self.start_with_tokens()
        headers, message = modern("tools/list")
        wires = []
        self.addCleanup(lambda: [wire.close() for wire in wires])
        for n in range(PRINCIPAL_CONNECTIONS + 1):
            wires.append(server.wire())
            status = wires[-1].request(headers={**headers, **bearer(ADA)}, body=message).status
            self.assertEqual(200 if n < PRINCIPAL_CONNECTIONS else 503, status, n)
        # Without a token there is no place to keep, whatever the client sends.
        for _ in range(2 * PRINCIPAL_CONNECTIONS):
            wires.append(server.wire())
            wires[-1].send(mcp_http.request_bytes(headers=headers, body=message))
        with server.wire() as bob:
            self.assertStatus(200, bob.request(headers={**headers, **bearer(BOB)}, body=message))
            # The place goes with the token of the latest request.
            wires[0].send(mcp_http.request_bytes(headers={**headers, **bearer(BOB)}, body=message))
            self.assertEqual(200, wires[0].receive().status)
        with server.wire() as ada:
            self.assertStatus(200, ada.request(headers={**headers, **bearer(ADA)}, body=message))


class Tokens(WithTokens):
    def test_requests_without_a_listed_token_are_refused(self):
        server, _ = self.start_with_tokens("--cors-origin", "https://page.example.org")
        # Browsers ask without it what they may ask with it.
        self.assertStatus(204, server.request("OPTIONS", headers={"Origin": "https://page.example.org", "Access-Control-Request-Method": "POST"}))
        headers, message = modern("tools/list")
        response = self.assertStatus(401, server.request(headers=headers, body=message))
        self.assertEqual("Bearer", response.headers["www-authenticate"])
        for value in ("Bearer", "Bearer ", "Bearer x", "Bearer " + ADA[:-1], "Bearer " + ADA + "x", "Bearer " + ADA.upper(), "Basic " + ADA, ADA, "",
                      "Bearer " + "x" * 5000, "Bearer %s %s" % (ADA, ADA), "Bearer \x80\xff", ["Bearer " + ADA, "Bearer " + BOB]):
            with self.subTest(repr(value)[:60]):
                response = server.request(headers={**headers, "Authorization": value}, body=message)
                self.assertIn(response.status, (400, 401))
                self.assertNotIn(b"tools", response.body)
        for value in ("Bearer " + ADA, "bearer  " + ADA, "BEARER " + ADA + "  ", "Bearer " + ANY):
            with self.subTest(value):
                self.assertStatus(200, server.request(headers={**headers, "Authorization": value}, body=message))
        response = server.request(headers={**headers, "Authorization": "Bearer " + ADA + "x"}, body=message)
        self.assertEqual('Bearer error="invalid_token"', response.headers["www-authenticate"])
        for method in ("GET", "DELETE"):
            self.assertStatus(401, server.request(method))
        self.assertStatus(401, server.request(body=initialize()))
        # The token is in no log.
        self.assertNotIn(ADA, server.stderr())

    def test_a_token_in_the_query_does_not_count(self):
        server, _ = self.start_with_tokens()
        headers, message = modern("tools/list")
        self.assertStatus(401, server.request(path="/mcp?access_token=" + ADA, headers=headers, body=message))

    def test_invalid_token_files_are_refused(self):
        folder = self.folder()
        for path, part in ((os.path.join(folder, "none"), "No such file"), (folder, "is not a regular file"), (self.token_file(mode=0o644), "chmod 600"),
                           (self.token_file("ada:short\n"), "line 1"), (self.token_file(mode=0o640), "chmod 600"),
                           (self.token_file("ada:%s\nbob:%s\n" % (ADA, ADA)), "line 2: this token already belongs to another name"),
                           (self.token_file("..:%s\n" % ADA), "line 1: a name has"), (self.token_file("ada:" + "x" * 2000 + "\n"), "line 1: a token has"),
                           (self.token_file("# only this\n"), "no token")):
            with self.subTest(path):
                self.assertRefuses(part, "--token-file", path)

    def test_the_file_is_read_again_on_sighup(self):
        server, path = self.start_with_tokens()
        self.eval_as(server, ADA, "(defparameter *x* 5)")
        new = "ada-new-0123456789abcdef"
        mcp.write(path, "ada:%s\n" % new)
        server.process.send_signal(signal.SIGHUP)
        mcp.wait_until(lambda: "token file was reloaded" in server.stderr(), 10, "the file is read")
        self.assertEqual("=> 5", self.eval_as(server, new, "*x*"))
        self.assertStatus(401, server.evaluate("1", headers=bearer(ADA)))
        self.assertStatus(401, server.evaluate("1", headers=bearer(BOB)))
        # Who has no token any more reads no further.
        session = Session(server, headers=bearer(new))
        with server.wire() as stream:
            self.assertTrue(session.listen(stream).is_stream)
            mcp.write(path, "ada:%s\nbob:%s\n" % (new, BOB))
            server.process.send_signal(signal.SIGHUP)
            mcp.wait_until(lambda: server.evaluate("1", headers=bearer(BOB)).status == 200, 10, "the file is read")
            self.assertEqual("=> 5", self.eval_as(server, new, "*x*"))
            mcp.write(path, "bob:%s\n" % BOB)
            server.process.send_signal(signal.SIGHUP)
            with self.assertRaises(mcp.Gone):
                stream.events()
        self.assertStatus(404, server.request(headers={**session.headers(), **bearer(BOB)}, body=legacy("ping")))
        mcp.write(path, "ada:%s\n" % new)
        server.process.send_signal(signal.SIGHUP)
        mcp.wait_until(lambda: server.evaluate("1", headers=bearer(new)).status == 200, 10, "the file is read")
        # What is wrong with it changes nothing.
        mcp.write(path, "nonsense\n")
        server.process.send_signal(signal.SIGHUP)
        mcp.wait_until(lambda: "was not reloaded" in server.stderr(), 10, "the file is refused")
        self.assertEqual("=> 5", self.eval_as(server, new, "*x*"))

    def test_a_stream_ends_with_its_token_although_its_principal_has_another(self):
        old, new = "ada-old-0123456789abcdef", "ada-new-0123456789abcdef"
        path = self.token_file("ada:%s\nada:%s\n" % (old, new))
        server = self.start_http("--token-file", path)
        with server.wire() as kept, server.wire() as withdrawn, server.wire() as running:
            session = Session(server, headers=bearer(new))
            self.assertTrue(session.listen(kept).is_stream)
            self.assertTrue(Session(server, headers=bearer(old)).listen(withdrawn).is_stream)
            headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(loop)", "timeout": 600}})
            running.send(mcp_http.request_bytes(headers={**headers, **bearer(old)}, body=message))
            mcp.write(path, "ada:%s\n" % new)
            server.process.send_signal(signal.SIGHUP)
            with self.assertRaises(mcp.Gone):
                withdrawn.events()
            with self.assertRaises(mcp.Gone):
                running.receive()
            self.eval_as(server, new, "(+ 1 2)", session="default")
            kept.socket.settimeout(1)
            with self.assertRaises(TimeoutError):
                kept.events()

    def test_a_credential_of_systemd_is_read(self):
        path = self.token_file(mode=0o440)
        environment = {**mcp.clean_environment(), "CREDENTIALS_DIRECTORY": os.path.dirname(path)}
        server = self.start_http("--token-file", path, environment=environment)
        self.assertEqual("=> 2", self.eval_as(server, ADA, "(+ 1 1)"))
        folder = os.path.join(os.path.dirname(path), "none")
        os.mkdir(folder)
        outside = "%s/../%s" % (folder, os.path.basename(path))
        link = os.path.join(folder, "link")
        os.symlink(path, link)
        for refused, directory, mode in ((outside, folder, 0o440), (link, folder, 0o440), (path, os.path.dirname(path), 0o444)):
            os.chmod(path, mode)
            self.assertDoesNotStart("chmod 600", "--http", "127.0.0.1:0", "--token-file", refused,
                                    env=dict(environment, CREDENTIALS_DIRECTORY=directory))

    def test_a_secret_of_kubernetes_is_read(self):
        """Root's file, which a group of the pod's may read, through the links of a kubelet."""
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("only root can make root's file of another group, for a server that setpriv starts as another user")
        folder = tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        os.mkdir(os.path.join(folder, "..1"))
        secret = os.path.join(folder, "..1", "tokens")
        shutil.copy(self.token_file(), secret)
        os.chown(secret, 0, 23456)
        os.symlink("..1", os.path.join(folder, "..data"))
        path = os.path.join(folder, "tokens")
        os.symlink("..data/tokens", path)
        for mode, group, message in ((0o440, 23456, ""), (0o640, 23456, ""), (0o440, 34567, "Permission denied"), (0o460, 23456, "chmod 600"),
                                     (0o444, 23456, "chmod 600"), (0o450, 23456, "chmod 600")):
            with self.subTest(mode=oct(mode), group=group):
                os.chmod(secret, mode)
                # It reads the tokens, then ends because of the address.
                said = self.assertDoesNotStart(
                    message or "/no/such/folder/socket", "--http", "127.0.0.1:0", "--http", "unix:/no/such/folder/socket", "--token-file", path,
                    under=("setpriv", "--reuid=12345", "--regid=12345", "--groups=%d" % group), cwd="/", env=mcp.clean_environment(HOME="/nonexistent"))
                if not message:
                    self.assertNotIn("tokens", said)

    def test_a_server_that_every_user_of_the_machine_can_use_logs_a_warning(self):
        for options, is_open in (((), True), (("--token-file", self.token_file()), False)):
            self.assertEqual(is_open, "every user of this machine" in self.start_http(*options).stderr())
        path = "unix:" + os.path.join(self.folder(), "socket")
        self.assertNotIn("every user", self.start_http(http=(path,)).stderr())

    def test_listening_beyond_this_machine_needs_tokens(self):
        for where in ("0.0.0.0:0", "[::]:0", *([lan_address() + ":0"] if lan_address() else [])):
            with self.subTest(where):
                self.assertDoesNotStart("error: ", "--http", where)
        server, _ = self.start_with_tokens(http=("0.0.0.0:0",))
        server.addresses = [("127.0.0.1", server.addresses[0][1])]
        self.assertEqual("=> 1", self.eval_as(server, ADA, "1"))
        headers, message = modern("tools/list")
        headers.update(bearer(ADA))
        # A page of this machine is one of the reader's own, whose machine is another.
        self.assertStatus(403, server.request(headers={**headers, "Origin": "http://localhost"}, body=message))
        for host, status in (("192.0.2.7:80", 200), ("lisp.example.org", 403), ("localhost", 200)):
            self.assertStatus(status, server.request(headers={**headers, "Host": host}, body=message))


class Principals(WithTokens):
    def test_each_has_its_own_sessions(self):
        server, _ = self.start_with_tokens("--state-dir", os.path.join(self.folder(), "state"))
        self.eval_as(server, ADA, "(defparameter *x* :adas)")
        self.assertIn("UNBOUND-VARIABLE", self.eval_as(server, BOB, "*x*"))
        call = self.caller(server)
        call(ADA, "create-session", name="secret")
        self.assertIn("secret", call(ADA, "list-sessions"))
        self.assertNotIn("secret", call(BOB, "list-sessions"))
        for tool, arguments in (("evaluate-lisp", {"code": "1"}), ("session-info", {}), ("close-session", {}), ("describe-last-error", {}), ("reset-session", {}),
                                ("session-history", {}), ("list-errors", {}), ("save-session", {})):
            with self.subTest(tool):
                answer = call(BOB, tool, session="secret", **arguments)
                self.assertIn("No session named secret", answer)
        self.assertIn("secret", call(ADA, "list-sessions"))
        # The same name is another session, and another save.
        call(BOB, "create-session", name="secret")
        self.eval_as(server, ADA, "(defparameter *y* :ada)", session="secret")
        self.eval_as(server, BOB, "(defparameter *y* :bob)", session="secret")
        self.assertEqual("=> :ADA", self.eval_as(server, ADA, "*y*", session="secret"))
        call(ADA, "save-session", session="secret")
        self.assertNotIn("secret", call(ANY, "restore-session", name="secret").split("\n")[0].replace("named secret", ""))
        self.assertIn("UNBOUND-VARIABLE", self.eval_as(server, ANY, "*y*"))

    def test_limits_count_for_each_principal_alone(self):
        for option, number, what in (("--principal-sessions", 2, "sessions"), ("--principal-processes", 1, "processes")):
            server, _ = self.start_with_tokens(option, str(number))
            call = self.caller(server)
            for token in (ADA, BOB):
                call(token, "configure-limits", **{"checkpoint-limit": 0})
                self.assertEqual("=> 1", self.eval_as(server, token, "1"))
                for n in range(1, number):
                    self.assertNotIn("at most", call(token, "create-session", name="s%d" % n))
                self.assertIn("You may have at most %d %s" % (number, what), call(token, "create-session", name="last"))
                call(token, "close-session", session="default")
                self.assertNotIn("at most", call(token, "create-session", name="last"))

    def test_errors_and_output_are_seen_by_their_principal_only(self):
        server, _ = self.start_with_tokens()
        self.eval_as(server, ADA, '(error "hush")')
        call = self.caller(server)
        for tool in ("describe-last-error", "get-backtrace", "list-errors", "session-history", "list-checkpoints"):
            with self.subTest(tool):
                self.assertNotIn("hush", call(BOB, tool))
        self.assertIn("hush", call(ADA, "describe-last-error"))

    def test_another_principal_cannot_use_the_id_of_a_session(self):
        server, _ = self.start_with_tokens()
        session = Session(server, headers=bearer(ADA))
        stolen = session.headers()
        stolen.update(bearer(BOB))
        self.assertStatus(404, server.request(headers=stolen, body=legacy("ping")))
        self.assertStatus(404, server.request("DELETE", headers=stolen))
        self.assertStatus(404, server.request("GET", headers={**stolen, "Accept": "text/event-stream"}))
        self.assertStatus(202, server.request(headers=session.headers(), body=notification("notifications/x")))
        del stolen["Authorization"]
        self.assertStatus(401, server.request(headers=stolen, body=legacy("ping")))

    def test_no_principal_is_notified_of_anothers_sessions(self):
        server, _ = self.start_with_tokens()
        self.eval_as(server, ADA, "1")
        session = Session(server, headers=bearer(ADA))
        uri = "lisp://session/default/transcript"
        session.request("resources/subscribe", {"uri": uri})
        headers, message = modern("subscriptions/listen", {"notifications": {"resourcesListChanged": True, "resourceSubscriptions": [uri]}})
        with server.wire() as old, server.wire() as new:
            self.assertTrue(session.listen(old).is_stream)
            self.assertTrue(new.request(headers={**headers, **bearer(ADA)}, body=message).is_stream)
            self.assertEqual("notifications/subscriptions/acknowledged", new.event().message["method"])
            # Bob does everything that Ada would be told of, and then she does one thing herself.
            server.ask("tools/call", {"name": "create-session", "arguments": {"name": "bobs"}}, bearer(BOB))
            self.eval_as(server, BOB, "(+ 1 1)")
            server.ask("tools/call", {"name": "close-session", "arguments": {"session": "bobs"}}, bearer(BOB))
            self.eval_as(server, ADA, "(+ 1 2)")
            for wire in (old, new):
                first = wire.event().message
                self.assertEqual(("notifications/resources/updated", uri), (first["method"], first["params"].get("uri")))
        response = server.ask("resources/read", {"uri": uri}, bearer(BOB))
        self.assertNotIn(b"(+ 1 2)", response.body)
        # Nor does one see the tools that another's code defines.
        self.eval_as(server, ADA, "(cl-mcp:define-tool secret () 1)")
        for token, is_listed in ((ADA, True), (BOB, False)):
            self.assertEqual(is_listed, b"user-secret" in server.ask("tools/list", headers=bearer(token)).body)
        self.assertEqual(["lisp://guide"], [resource["uri"] for resource in server.ask("resources/list", headers=bearer(ANY)).json["result"]["resources"]])
        self.assertNotIn("logging", server.ask("server/discover", headers=bearer(ANY)).json["result"]["capabilities"])
        self.assertStatus(200, server.ask("resources/read", {"uri": "lisp://session/bobs/transcript"}, bearer(ADA)), -32602)

    def test_a_task_outlives_its_connection_and_is_its_principals(self):
        server, _ = self.start_with_tokens()
        tasks = {mcp.CAPABILITIES_KEY: {"extensions": {"io.modelcontextprotocol/tasks": {}}}}

        def ask(token, method, params):
            """On a connection of its own."""
            name = {"Mcp-Name": params["taskId"]} if "taskId" in params else {}
            return server.ask(method, params, dict(bearer(token), **name), tasks).json

        gate = os.path.join(self.folder(), "gate")
        code = '(progn (loop until (probe-file "%s") do (sleep 0.01)) :done)' % gate
        task = ask(ADA, "tools/call", {"name": "evaluate-lisp", "arguments": {"code": code, "timeout": 0}})["result"]
        self.assertEqual(("task", "working"), (task["resultType"], task["status"]))
        named = {"taskId": task["taskId"]}
        self.assertEqual("working", ask(ADA, "tasks/get", named)["result"]["status"])
        unknown = ask(BOB, "tasks/get", {"taskId": "0" * 32})["error"]
        for method in ("tasks/get", "tasks/cancel"):
            self.assertEqual(unknown, ask(BOB, method, named)["error"], "to others it does not exist")
        open(gate, "w").close()
        end = mcp.wait_until(lambda: (lambda now: now["status"] != "working" and now)(ask(ADA, "tasks/get", named)["result"]), 20, "the end")
        self.assertEqual(("completed", "=> :DONE"), (end["status"], end["result"]["content"][0]["text"]))

    def test_no_link_leads_the_saves_of_a_principal_to_files_of_others(self):
        state, project = self.folder(), self.folder()
        server = self.start_http("--token-file", self.token_file(), "--state-dir", state)
        call = self.caller(server)
        for planted, inner in (("principals/ada", "."), ("principals", "ada")):
            with self.subTest(planted):
                at = os.path.join(state, planted)
                os.makedirs(os.path.dirname(at), exist_ok=True)
                os.symlink(project, at)
                mcp.write(os.path.join(project, inner, "package.json"), "{}")
                call(ADA, "create-session", name="package")
                call(ADA, "evaluate-lisp", code="1", session="package")
                self.assertRegex(call(ADA, "save-session", session="package"), "cannot make the directory .*principals/ada")
                call(ADA, "delete-save", name="package")
                call(ADA, "close-session", session="package")
                self.assertEqual("{}", mcp.read(os.path.join(project, inner, "package.json")))
                os.unlink(at)
                os.rmdir(os.path.dirname(at) if "/" in planted else self.folder())

    def test_saves_at_the_end_are_each_principals_own(self):
        state = os.path.join(self.folder(), "state")
        path = self.token_file()
        options = ("--token-file", path, "--state-dir", state, "--persist")
        server = self.start_http(*options)
        ada = Session(server, headers=bearer(ADA))
        ada.call("evaluate-lisp", code="(defparameter *x* :ada)")
        self.eval_as(server, BOB, "(defparameter *x* :bob)")
        server.end(wait=60)
        name = "http-" + ada.id[:8]
        self.assertTrue(os.path.exists(os.path.join(state, "principals", "ada", name + ".json")))
        server = self.start_http(*options)
        for token, value, session in ((ADA, ":ADA", name), (BOB, ":BOB", "default")):
            self.assertEqual("=> %s\n\n[Session]\nRestored session %s, the state after evaluation 1. A save holds neither checkpoints nor errors." % (value, session),
                             self.caller(server)(token, "evaluate-lisp", code="*x*", session=session))
        self.assertIn("UNBOUND-VARIABLE", self.eval_as(server, ANY, "*x*"))
        # What is saved at its end is of no use here.
        server.process.kill()
        server.end(status=-signal.SIGKILL)

    def test_saves_of_ended_http_sessions_do_not_pile_up(self):
        state = os.path.join(self.folder(), "state")
        os.mkdir(state)

        def save(name, days):
            for file in (name + ".json", name + "-1-2-3.core"):
                path = os.path.join(state, file)
                mcp.write(path, json.dumps({"name": name, "image": name + "-1-2-3.core"}))
                os.utime(path, (time.time() - days * 86400,) * 2)
        for n in range(40):
            save("http-%08x" % n, n / 2)
        for name, days in (("http-00000100", 31), ("http-mine", 400), ("http-000000001", 400), ("mine", 400)):
            save(name, days)
        server = self.start_http("--state-dir", state, "--persist")
        Session(server).call("list-sessions")
        server.end()
        left = {os.path.basename(path)[:-5] for path in glob.glob(os.path.join(state, "*.json"))}
        self.assertEqual({"http-mine", "http-000000001", "mine", *("http-%08x" % n for n in range(32))}, left)
        self.assertEqual(len(left), len(glob.glob(os.path.join(state, "*.core"))))


class Pages(mcp_http.TestCase):
    options = ("--allow-host", "lisp.example.org", "--allow-host", "other.example.org:8443", "--allow-origin", "https://app.example.org",
               "--cors-origin", "https://page.example.org")

    def status(self, **headers):
        own, message = modern("tools/list")
        own.update((name.replace("_", "-"), value) for name, value in headers.items())
        return self.h.request(headers=own, body=message).status

    def test_hosts(self):
        port = self.h.addresses[0][1]
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:%d" % port, "[::1]:80", "lisp.example.org", "Lisp.Example.Org:80", "other.example.org:8443"):
            with self.subTest(host):
                self.assertEqual(200, self.status(Host=host))
        for host in ("evil.example.com", "evil.example.com:%d" % port, "localhost.evil.example.com", "192.0.2.1", "other.example.org", "other.example.org:1", "",
                     "localhost:80:80", "localhost@evil", "[::1", "lisp.example.org.", "127.0.0.1.evil.example.com"):
            with self.subTest(host):
                self.assertEqual(403, self.status(Host=host))
        self.assertEqual(400, self.status(Host=None))
        self.assertEqual(400, self.status(Host=["localhost", "evil.example.com"]))

    def test_origins(self):
        for origin in ("http://localhost", "http://127.0.0.1:3000", "https://[::1]", "https://app.example.org", "https://page.example.org", "HTTPS://APP.example.org"):
            with self.subTest(origin):
                self.assertEqual(200, self.status(Origin=origin))
        for origin in ("null", "", "http://evil.example.com", "http://app.example.org", "https://app.example.org:444", "https://app.example.org.evil.example",
                       "localhost", "file://", "http://localhost.evil.example.com", "chrome-extension://abc"):
            with self.subTest(origin):
                self.assertEqual(403, self.status(Origin=origin))
        # Whatever the method, and before anything else is told.
        for method in ("GET", "DELETE", "OPTIONS", "PUT", "POST"):
            self.assertStatus(403, self.h.request(method, headers={"Origin": "http://evil.example.com"}))
            self.assertStatus(403, self.h.request(method, path="/x", headers={"Host": "evil.example.com"}))

    def test_no_cors_unless_asked_for(self):
        for origin in ("https://app.example.org", "http://localhost:3000"):
            response = self.h.ask("tools/list", headers={"Origin": origin})
            self.assertFalse([name for name in response.headers if name.startswith("access-control")])
            self.assertStatus(405, self.h.request("OPTIONS", headers={"Origin": origin, "Access-Control-Request-Method": "POST"}))

    def test_cors_for_a_page(self):
        origin = "https://page.example.org"
        response = self.assertStatus(204, self.h.request("OPTIONS", headers={"Origin": origin, "Access-Control-Request-Method": "POST"}))
        self.assertEqual(origin, response.headers["access-control-allow-origin"])
        self.assertIn("POST", response.headers["access-control-allow-methods"])
        for name in ("authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"):
            self.assertIn(name, response.headers["access-control-allow-headers"].lower())
        response = self.h.request(headers={"Origin": origin}, body=initialize())
        self.assertEqual(origin, response.headers["access-control-allow-origin"])
        self.assertIn("Mcp-Session-Id", response.headers["access-control-expose-headers"])
        self.assertEqual("Origin", response.headers["vary"])
        self.assertStatus(404, self.h.request("OPTIONS", path="/x", headers={"Origin": origin}))


class Tls(WithTokens):
    def certificate(self):
        return mcp_http.certificate(self.folder())

    def test_the_whole_over_tls(self):
        certificate, key = self.certificate()
        server, _ = self.start_with_tokens("--tls-cert", certificate, "--tls-key", key)
        self.assertIn("https://", server.stderr())
        server.tls = mcp_http.tls_context(certificate)
        session = Session(server, headers=bearer(ADA))
        self.assertEqual("=> 3", session.call("evaluate-lisp", code="(+ 1 2)"))
        response = session.post(legacy("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(sleep 1.5)"}, "_meta": {"progressToken": 1}}))
        self.assertTrue(response.is_stream)
        self.assertIn("result", response.events[-1].message)
        response = server.evaluate("(make-string 300000 :initial-element #\\x)", headers=bearer(ADA))
        self.assertStatus(200, response)
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(loop)", "timeout": 600}})
        with server.wire() as wire:
            wire.send(mcp_http.request_bytes(headers={**headers, **bearer(BOB)}, body=message))
            mcp.wait_until(lambda: "running" in text_of(server.ask("tools/call", {"name": "list-sessions"}, bearer(BOB)).json["result"]), 10, "it runs")
        self.assertEqual("=> 1", text_of(server.evaluate("1", headers=bearer(BOB)).json["result"]))
        # Who speaks no TLS gets nothing, and takes nothing away.
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + bytes(500), os.urandom(300)):
            with mcp_http.Wire(server.addresses[0]) as wire:
                wire.send(data)
                try: # the server may have closed the connection already
                    wire.socket.shutdown(socket.SHUT_WR)
                    while wire._more():
                        pass
                except OSError:
                    pass
                self.assertNotIn(b"HTTP/1.1 200", wire.buffer)
        self.assertEqual("=> 3", session.call("evaluate-lisp", code="(+ 1 2)"))

    def test_old_versions_and_weak_ciphers_are_refused(self):
        certificate, key = self.certificate()
        server, _ = self.start_with_tokens("--tls-cert", certificate, "--tls-key", key)

        def context(least, most, ciphers):
            made = mcp_http.tls_context(certificate)
            made.set_ciphers(ciphers)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                made.minimum_version, made.maximum_version = least, most
            return made

        version = ssl.TLSVersion
        for least, most, ciphers in ((version.TLSv1, version.TLSv1_1, "ALL:@SECLEVEL=0"), (version.TLSv1_2, version.TLSv1_2, "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")):
            with self.subTest((most, ciphers)), self.assertRaises((ssl.SSLError, ConnectionError)):
                mcp_http.Wire(server.addresses[0], context(least, most, ciphers)).close()
        for most in (version.TLSv1_2, version.TLSv1_3):
            server.tls = context(version.TLSv1_2, most, "DEFAULT")
            self.assertStatus(200, server.evaluate("1", headers=bearer(ADA)))

    def test_a_key_that_everybody_can_read_is_refused(self):
        certificate, key = self.certificate()
        os.chmod(key, 0o604)
        self.assertRefuses("chmod 600", "--tls-cert", certificate, "--tls-key", key)

    def test_a_key_that_is_not_a_file_does_not_delay_the_start(self):
        certificate, key = self.certificate()
        fifo = os.path.join(os.path.dirname(key), "fifo")
        os.mkfifo(fifo, 0o600)
        for tls in ((certificate, fifo), (fifo, key), (certificate, "/dev/zero")):
            self.assertRefuses("is not a regular file", "--tls-cert", tls[0], "--tls-key", tls[1])

    def test_invalid_certificates(self):
        certificate, key = self.certificate()
        empty = self.token_file("")
        for options in (("--tls-cert", certificate), ("--tls-key", key), ("--tls-cert", key, "--tls-key", key), ("--tls-cert", certificate, "--tls-key", "/nonexistent"),
                        ("--tls-cert", empty, "--tls-key", key), ("--tls-cert", self.token_file(), "--tls-key", key)):
            with self.subTest(options):
                self.assertRefuses("error: ", *options)
