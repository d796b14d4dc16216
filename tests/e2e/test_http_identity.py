"""Users that somebody else has authenticated: a proxy that names them in a header."""

import os
import signal

import mcp
import mcp_http
from mcp_http import Session, bearer, legacy, modern, text_of

TOKEN = "ada-0123456789abcdef"
TRUST = ("--trust-header", "X-Forwarded-User")


def named(user, **more):
    return dict({"X-Forwarded-User": user}, **more)


BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
# What a proxy that does not end a line there, or joins lines otherwise, passes on from a client as one header of another name or value.
FORGED = (
    b"X-Forwarded-Use: ops\r\n r\r\n", b"X-Forwarded-Use: ops\r\n\tr\r\n", b"X-Forwarded-: ops\r\n Use\r\n r\r\n", b"X-Forwarded-User: ops\r\n \r\n", b"X-Forwarded-User:\r\n ops\r\n",
    b"Authorizatio: Bearer %s\r\n n\r\n" % TOKEN.encode(), b"X-Forwarded-User: ops\r\nHos: x\r\n t\r\n", b" \r\nX-Forwarded-User: ops\r\n", b"X-Forwarded-User: ops\r\nX: y\r\n\t\r\n",
    b"X-Forwarded-User: ops\0x\r\n", b"X-Forwarded-User: ops\0\r\n", b"X-Forwarded-User: ops\0\0\r\n", b"X-Forwarded-User: \0ops\r\n", b"X-Forwarded-User\0: ops\r\n",
    b"X-Forwarded-User\0x: ops\r\n", b"X-Forwarded-User: ops\r\nX: y\0\r\n", b"X: y\0X-Forwarded-User: ops\r\n", b"X: y\0\0X-Forwarded-User\0ops\r\n",
    b"X: y\nX-Forwarded-User: ops\r\n", b"X-Forwarded-User: ops\n", b"X: y\rX-Forwarded-User: ops\r\n", b"X: y\0\nX-Forwarded-User: ops\r\n", b"X-Forwarded-User: ops\0\n",
)
ORDINARY = (b"X-Forwarded-User: ops\r\n", b"X-Forwarded-User:ops\r\nA:\r\nB: \r\nC: \t c \t\r\nCookie: a=b; c=d\r\n")


def raw(lines, first=b"POST /mcp HTTP/1.1\r\n", body=b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)):
    return first + b"Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" + lines + body


class Proxies(mcp_http.TestCase):
    def assertForged(self, wire):
        self.assertEqual(400, wire.receive().status)
        self.assertTrue(wire.is_closed_by_server(), wire.buffer)

    def test_no_header_is_made_of_folded_lines_nuls_and_odd_ends_of_lines(self):
        socket = os.path.join(self.folder(), "socket")
        server = self.start_http(*TRUST, "--trust-from", "127.0.0.1", "--token-file", self.token_file(), http=("127.0.0.1:0", "unix:" + socket))
        for lines in ORDINARY:
            for which in (0, 1):
                with server.wire(which) as wire:
                    for _ in range(3):
                        wire.send(raw(lines))
                        self.assertEqual(200, wire.receive().status)
                    wire.send(raw(lines) * 3)
                    self.assertEqual([200] * 3, [wire.receive().status for _ in range(3)])
                    wire.send(raw(lines, first=b"POST /mcp?a=b&c=d+e&f HTTP/1.1\r\n"))
                    self.assertEqual(200, wire.receive().status)
                    for byte in raw(lines):
                        wire.send(bytes([byte]))
                    self.assertEqual(200, wire.receive().status)
                    wire.send(raw(lines, body=b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY) + raw(FORGED[0])))
                    self.assertEqual(200, wire.receive().status)
                    self.assertTrue(wire.is_closed_by_server(), wire.buffer)
        for number, lines in enumerate(FORGED):
            with self.subTest(lines):
                with server.wire(number % 2) as wire:
                    wire.send(raw(lines))
                    self.assertForged(wire)
                with server.wire() as wire:  # behind a good one, in one piece
                    wire.send(raw(ORDINARY[0]) + raw(lines))
                    self.assertEqual(200, wire.receive().status)
                    self.assertForged(wire)
                with server.wire() as wire:  # byte by byte, on a connection that was used
                    wire.send(raw(ORDINARY[1]))
                    self.assertEqual(200, wire.receive().status)
                    for byte in raw(lines, body=b"Content-Length: 0\r\n\r\n"):
                        wire.send(bytes([byte]))
                    self.assertForged(wire)

    def test_nor_over_tls(self):
        certificate, key = mcp_http.certificate(self.folder())
        server = self.start_http(*TRUST, "--trust-from", "127.0.0.1", "--tls-cert", certificate, "--tls-key", key)
        server.tls = mcp_http.tls_context(certificate)
        for lines in ORDINARY:
            with server.wire() as wire:
                wire.send(raw(lines) * 3)
                self.assertEqual([200] * 3, [wire.receive().status for _ in range(3)])
        for lines in FORGED:
            with self.subTest(lines), server.wire() as wire:
                wire.send(raw(lines))
                self.assertForged(wire)

    def token_file(self):
        return self.file("ada:%s\n" % TOKEN, "tokens", 0o600)

    def eval_as(self, server, user, code, **arguments):
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": code}})
        return text_of(self.assertStatus(200, server.request(headers={**headers, **named(user)}, body=message, **arguments)).json["result"])

    def list_tools(self, server, headers, **connection):
        own, message = modern("tools/list")
        return server.request(headers={**own, **headers}, body=message, **connection)

    def test_the_user_is_the_one_that_a_trusted_proxy_names(self):
        server = self.start_http(*TRUST, "--trust-from", "127.0.0.2", "--trust-from", "127.0.1.0/24")
        for source in ("127.0.0.2", "127.0.1.77"):
            self.eval_as(server, "ada@example.org", "(defvar *x* 5)", source=source)
            self.assertEqual("=> 5", self.eval_as(server, "ada@example.org", "*x*", source=source))
        self.assertIn("UNBOUND-VARIABLE", self.eval_as(server, "bob@example.org", "*x*", source="127.0.0.2"))
        session = Session(server, headers=named("ada@example.org"), source="127.0.0.2")
        refused = server.request(headers={**session.headers(), **named("bob@example.org")}, body=legacy("ping"), source="127.0.0.2")
        self.assertStatus(404, refused)

    def test_the_header_from_elsewhere_is_an_error_whatever_stands_beside_it(self):
        server = self.start_http(*TRUST, "--trust-from", "127.0.0.2", "--token-file", self.token_file())
        self.assertStatus(200, self.list_tools(server, bearer(TOKEN)))
        for user in ("ada", "bob", ""):
            for headers in (named(user), named(user, **bearer(TOKEN)), {"x-forwarded-USER": user, **bearer(TOKEN)}):
                with self.subTest(headers):
                    response = self.assertStatus(401, self.list_tools(server, headers))
                    self.assertIn("not trusted", response.json["error"]["message"])
                    self.assertEqual("Bearer", response.headers["www-authenticate"])
        # A proxy's word is worth more than a token that it passes on, and a token still counts where the proxy names nobody.
        self.assertStatus(200, self.list_tools(server, named("bob", **bearer("unknown-0123456789")), source="127.0.0.2"))
        self.assertStatus(200, self.list_tools(server, bearer(TOKEN), source="127.0.0.2"))
        for headers in ({}, bearer("unknown-0123456789"), named("", **bearer(TOKEN)), named("a" * 201), named("/" * 67)):
            self.assertStatus(401, self.list_tools(server, headers, source="127.0.0.2"))
        for users in (["ada", "bob"], ["ada", "ada"]):
            self.assertStatus(400, self.list_tools(server, {"X-Forwarded-User": users}, source="127.0.0.2"))
        self.assertStatus(400, self.list_tools(server, named("a\x01b"), source="127.0.0.2"))

    def test_without_tokens_the_proxy_must_name_somebody(self):
        socket = os.path.join(self.folder(), "socket")
        server = self.start_http(*TRUST, "--trust-from", "127.0.0.2", http=("127.0.0.1:0", "unix:" + socket))
        self.assertEqual("=> 2", self.eval_as(server, "ada", "(+ 1 1)", which=1))
        self.assertEqual("=> 2", self.eval_as(server, "ada", "(+ 1 1)", source="127.0.0.2"))
        for connection in ({}, {"which": 1}, {"source": "127.0.0.2"}):
            response = self.assertStatus(401, self.list_tools(server, {}, **connection))
            self.assertIn("the proxy has not named the user", response.json["error"]["message"])
        self.assertStatus(401, self.list_tools(server, named("ada")))

    def test_names_that_no_folder_can_have(self):
        state = os.path.join(self.folder(), "state")
        server = self.start_http(*TRUST, "--state-dir", state, "--persist", http=("unix:" + os.path.join(self.folder(), "socket"),))
        users = ("..", "../../x", "auth0|7", "a b", "%2E%2E")
        for number, user in enumerate(users):
            self.eval_as(server, user, "(defvar *x* %d)" % number)
        for number, user in enumerate(users):
            self.assertEqual("=> %d" % number, self.eval_as(server, user, "*x*"))
        # A second signal ends it at once: each leaves a note of what was not saved where its save would be.
        server.process.send_signal(signal.SIGTERM)
        folder = os.path.join(state, "principals")
        mcp.wait_until(lambda: os.path.exists(folder), 20, "the first is saved")
        server.end()
        self.assertEqual(["%252E%252E", "%2E.", "%2E.%2F..%2Fx", "a%20b", "auth0%7C7"], sorted(os.listdir(folder)))

    def test_who_connects_from_this_machine_is_warned_of(self):
        says = "every user of this machine can evaluate code as you"
        self.assertIn(says, self.start_http(*TRUST, "--trust-from", "127.0.0.1").stderr())
        self.assertNotIn("every user", self.start_http(*TRUST, "--trust-from", "192.0.2.1").stderr())

    def test_other_machines_may_reach_it_and_sighup_keeps_who_is_trusted(self):
        server = self.start_http(*TRUST, "--trust-from", "127.0.0.2", "--token-file", self.token_file(), http=("0.0.0.0:0",))
        server.addresses = [("127.0.0.1", server.addresses[0][1])]
        session = Session(server, headers=named("bob"), source="127.0.0.2")
        with server.wire(source="127.0.0.2") as stream:
            self.assertTrue(session.listen(stream).is_stream)
            server.process.send_signal(signal.SIGHUP)
            mcp.wait_until(lambda: "token file was reloaded" in server.stderr(), 10, "the file is read")
            self.assertStatus(200, self.list_tools(server, named("bob"), source="127.0.0.2"))
            stream.socket.settimeout(1)
            with self.assertRaises(TimeoutError):
                stream.events()

    def test_wrong_options_are_refused(self):
        for options, says in (
            (("--trust-from", "127.0.0.1"), "--trust-from goes together with --trust-header"),
            (TRUST, "--trust-header needs --trust-from ADDRESS, the proxy's, or --http unix:PATH"),
            ((*TRUST, "--trust-from", "proxy.example.org"), "--trust-from: 'proxy.example.org' is not a network"),
            ((*TRUST, "--trust-from", "10.0.0.0/33"), "--trust-from: '10.0.0.0/33': the number of bits is from 0 to 32"),
            (("--trust-header", "Authorization", "--trust-from", "127.0.0.1"), "--trust-header: 'Authorization' is not a header that a proxy may set"),
            (("--trust-header", "X User", "--trust-from", "127.0.0.1"), "--trust-header: 'X User' is not a header"),
        ):
            with self.subTest(options):
                self.assertRefuses(says, *options)
