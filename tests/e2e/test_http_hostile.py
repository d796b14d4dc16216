"""Over HTTP nothing that a client sends or leaves out brings the server down, blocks another client, or stays behind."""

import os
import socket
import struct
import threading
import time

import mcp
import mcp_http
from mcp_http import Session, legacy, modern, request_bytes

PING_HEADERS, PING = modern("tools/list")
CONNECTIONS = 1024


def head(*lines, method="POST"):
    return "\r\n".join(["%s /mcp HTTP/1.1" % method, "Host: localhost", *lines]).encode("latin-1") + b"\r\n\r\n"


JSON = "Content-Type: application/json"


class Bytes(mcp_http.TestCase):
    def answer(self, data, half=False):
        """The first response to these bytes; None if there is none."""
        with self.h.wire() as wire:
            try:
                wire.send(data)
                if half:
                    wire.socket.shutdown(socket.SHUT_WR)
                return wire.receive()
            except (mcp.Gone, BrokenPipeError, ConnectionResetError):
                return None

    def refused(self, data, *statuses):
        response = self.answer(data)
        if response is not None and response.status not in statuses:
            self.fail("%r\nanswered %r" % (data[:300], response))
        return response

    def test_two_meanings_of_where_a_body_ends(self):
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        length = "Content-Length: %d" % len(body)
        both = [
            head(JSON, length, "Transfer-Encoding: chunked") + chunked,
            head(JSON, "Transfer-Encoding: chunked", length) + chunked,
            head(JSON, length, length) + body,
            head(JSON, length, "Content-Length: 3") + body,
            head(JSON, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + chunked,
            head(JSON, "Transfer-Encoding: chunked", "Transfer-Encoding: identity") + chunked,
        ]
        for data in both:
            with self.subTest(data[:120]):
                self.refused(data, 400)
        for coding in ("identity", "gzip", "gzip, chunked", "chunked, chunked", "xchunked", "chunke", "", '"chunked"'):
            with self.subTest(coding):
                self.refused(head(JSON, "Transfer-Encoding: " + coding) + chunked, 400, 501)
        for length in ("+40", "-1", "0x28", "4 0", "40, 40", "", "99999999999999999999", "4e1", "40;"):
            with self.subTest(length):
                self.refused(head(JSON, "Content-Length: " + length) + body, 400, 413)
        for name in ("Content-Length ", "Content Length", " Content-Length", "Content-Length\x00"):
            with self.subTest(name):
                self.refused(head(JSON, name + ": 40") + body, 400)
        self.assertServes()

    def test_no_second_request_hides_in_a_body(self):
        hidden = request_bytes("DELETE", headers={"Mcp-Session-Id": "x"})
        with self.h.wire() as wire:
            wire.send(head(JSON, "Content-Length: 4", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + hidden)
            self.assertEqual(400, wire.receive().status)
            self.assertTrue(wire.is_closed_by_server(), wire.buffer)

    def test_no_second_request_hides_behind_a_malformed_header(self):
        """What a lenient proxy would take for this request's body must not be answered as the next request."""
        hidden = request_bytes("DELETE", headers={"Mcp-Session-Id": "x"})
        length = "Content-Length: %d" % len(hidden)
        for lines in (
            ["Content-Length : %d" % len(hidden)], ["Content-Length\t: %d" % len(hidden)], ["Content-Length:\r\n %d" % len(hidden)],
            ["Transfer-Encoding : chunked"], ["Transfer-Encoding:\r\n chunked"], [length, "Transfer-Encoding:\r\n chunked"],
            ["X-Name: a\r\n Transfer-Encoding: chunked"], [length, "X\x01Name: a"], [length, "X Name: a"], [length, "X-Name: a\x01b"],
            [length, "X-Name: a\rb"], [length, ": x"], [": x", length], [], ["Transfer-Encoding: chunked\0x"],
        ):
            with self.subTest(lines), self.h.wire() as wire:
                wire.send(head(JSON, *lines) + hidden)
                self.assertIn(wire.receive().status, (400, 411, 501))  # 501: an unknown coding, libmicrohttpd 1.0
                self.assertTrue(wire.is_closed_by_server(), wire.buffer)
        self.assertServes()

    def test_no_request_is_the_body_of_one_that_has_none(self):
        """A proxy that does not end lines at a bare LF sees no body here, and would send the next request."""
        for method in ("GET", "DELETE"):
            for line in ("X-Name: a\nContent-Length: 4", "Content-Length: 4"):
                with self.subTest(method, line=line), self.h.wire() as wire:
                    wire.send(request_bytes(method, headers={"Content-Length": None}).replace(b"\r\n\r\n", b"\r\n%s\r\n\r\nGET " % line.encode(), 1))
                    self.assertIn(wire.receive().status, (400, 406))
                    self.assertTrue(wire.is_closed_by_server(), wire.buffer)
        self.assertServes()

    def test_no_second_request_hides_behind_chunks(self):
        """The library reads chunks leniently before 1.0, so what follows them is not answered."""
        hidden = request_bytes("DELETE", headers={"Mcp-Session-Id": "x"})
        headers, message = modern("tools/list")
        body = mcp_http.json.dumps(message).encode()
        headers.update({"Content-Length": None})
        for coding, line, statuses in (("chunked", b"\r\n", [200]), ("chunked\0x", b"\r\n", [200, 400, 501]), ("chunked", b"\n", [200, 400])):
            with self.subTest(coding, line=line), self.h.wire() as wire:
                chunks = b"%x" % len(body) + line + body + line + b"0" + line + line
                wire.send(request_bytes(headers={**headers, "Transfer-Encoding": coding}, body=None) + chunks + hidden)
                self.assertIn(wire.receive().status, statuses)
                self.assertTrue(wire.is_closed_by_server(), wire.buffer)
        self.assertServes()

    def test_invalid_chunks(self):
        start = head(JSON, "Transfer-Encoding: chunked")
        for data in (b"x\r\n", b"-1\r\n", b"\r\n\r\n", b"5\r\nab\r\n0\r\n\r\n", b"1\r\nabc\r\n0\r\n\r\n", b"ffffffffffffffff\r\nx", b"fffffffffffffffff\r\nx",
                     b"7fffffffffffffff\r\n", b"1;" + b"x" * 40000 + b"\r\na\r\n0\r\n\r\n", b"0x1\r\na\r\n0\r\n\r\n", b"00000000000000000000001\r\na\r\n0\r\n\r\n"):
            with self.subTest(data[:40]):
                self.answer(start + data, half=True)
        self.assertServes()

    def test_a_body_in_chunks_of_any_size_is_taken(self):
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(+ 1 2)" + " " * 50000}})
        body = mcp_http.json.dumps(message).encode()
        headers.update({"Transfer-Encoding": "chunked", "Content-Length": None})
        for size in (1, 7, 4096, len(body)):
            pieces = [body[at:at + size] for at in range(0, len(body), size)][:3000]
            if b"".join(pieces) != body:
                pieces.append(body[3000 * size:])
            with self.subTest(size), self.h.wire() as wire:
                wire.send(request_bytes(headers=headers) + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\nTrailer: x\r\n\r\n")
                self.assertEqual("=> 3", mcp_http.text_of(wire.receive().json["result"]))

    def test_lines_that_are_not_a_request(self):
        for data in (b"\r\n", b"\n\n\n", b"GET\r\n\r\n", b"GET /mcp\r\n\r\n", b"GET /mcp HTTP/9.9\r\n\r\n", b"GET /mcp HTTP/1.1 x\r\nHost: localhost\r\n\r\n",
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 100, b"\xff" * 100,
                     b"POST /mcp HTTP/1.1\r\n\r\n", b"POST /mcp HTTP/1.1\nHost: localhost\n\n", b"post /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"POST http://localhost/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST //mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"POST /mcp/../mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /%6dcp HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /mcp%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
                     b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n",
                     b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: \x01\x7f\r\n\r\n"):
            with self.subTest(data[:60]):
                response = self.answer(data, half=True)
                self.assertFalse(response is not None and response.status < 400, response)
        self.assertServes()

    def test_headers_without_end(self):
        with self.h.wire() as wire:
            try:
                wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + b"X-Y: z\r\n" * 20000)
                self.assertIn(wire.receive().status, (413, 431))
            except (mcp.Gone, BrokenPipeError, ConnectionResetError):
                pass
        for data in (b"POST /" + b"m" * 100000 + b" HTTP/1.1\r\n\r\n", head("X: " + "y" * 100000), b"A" * 100000):
            self.refused(data, 400, 404, 413, 414, 431)
        self.assertServes()

    def test_a_path_of_its_own(self):
        for path in ("/", "/mcp/", "/MCP", "/mcpx", "/sse", "/%6dcp", "/mcp%00", "/mcp/../mcp", "//mcp", "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/mcp", "*"):
            with self.subTest(path):
                self.assertStatus(404, self.h.request(path=path, headers=PING_HEADERS, body=PING))
        self.assertStatus(200, self.h.request(path="/mcp?x=y", headers=PING_HEADERS, body=PING))

    def test_unsupported_methods(self):
        for method in ("PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "X"):
            with self.subTest(method):
                response = self.assertStatus(405, self.h.request(method))
                self.assertEqual("POST, GET, DELETE", response.headers["allow"])
        with self.h.wire() as wire:
            wire.send(request_bytes("HEAD"))
            self.assertEqual(405, int(wire._line().split()[1]))

    def test_unsupported_types(self):
        for kind in (None, "", "text/plain", "application/json-rpc", "application/x-www-form-urlencoded", "multipart/form-data; boundary=application/json",
                     ["application/json", "application/json"]):
            with self.subTest(repr(kind)):
                self.assertIn(self.h.request(headers={**PING_HEADERS, "Content-Type": kind}, body=PING).status, (400, 415))
        self.assertStatus(200, self.h.request(headers={**PING_HEADERS, "Content-Type": "application/JSON ; charset=utf-8"}, body=PING))
        for accept in ("text/html", "", "application/json;q=0, text/event-stream;q=0", "x"):
            with self.subTest(accept):
                reply = self.assertStatus(406, self.h.request(headers={**PING_HEADERS, "Accept": accept}, body=PING)).json
                self.assertEqual((None, "Accept must admit application/json or text/event-stream"), (reply["id"], reply["error"]["message"]))
        for accept in (None, "*/*", "application/*", "text/html, application/json"):
            self.assertStatus(200, self.h.request(headers={**PING_HEADERS, "Accept": accept}, body=PING))

    def test_invalid_bodies(self):
        for body in (b"", b"\0", b"\xff\xfe", b"[" * 100000, b'{"jsonrpc":"2.0","id":1,"method":"ping"', b"\xef\xbb\xbf{}", b"null", b'"x"', b"{}" * 1000):
            with self.subTest(body[:20]):
                self.assertStatus(400, self.h.request(headers=PING_HEADERS, body=body))
                self.assertStatus(400, self.h.request(body=body))

    def test_a_body_that_is_too_large(self):
        with self.h.wire() as wire:
            wire.send(head(JSON, "Content-Length: %d" % ((16 << 20) + 1)))
            self.assertEqual(413, wire.receive().status)
        with self.h.wire() as wire:
            wire.send(head(JSON, "Content-Length: %d" % (1 << 40), "Expect: 100-continue"))
            self.assertEqual(413, wire.receive().status)
        piece = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
        with self.h.wire() as wire:
            wire.send(head(JSON, "Transfer-Encoding: chunked"))
            with self.assertRaises((ConnectionError, mcp.Gone)):
                for _ in range(30):
                    wire.send(piece)
                wire.send(b"0\r\n\r\n")
                wire.receive()
        self.assertServes()

    def test_a_refusal_is_read_although_a_body_follows(self):
        body = b"x" * 200000
        for headers in ({"Origin": "http://evil.example"}, {"Content-Type": "text/plain"}, {"Host": "evil.example"}):
            with self.h.wire() as wire:
                self.assertIn(wire.request(headers=headers, body=body).status, (403, 415))
                self.assertStatus(200, wire.request(headers=PING_HEADERS, body=PING))

    def test_expect_continue(self):
        with self.h.wire() as wire:
            body = mcp_http.json.dumps(PING).encode()
            wire.send(request_bytes(headers={**PING_HEADERS, "Expect": "100-continue", "Content-Length": str(len(body))}))
            self.assertEqual(b"HTTP/1.1 100 Continue", wire._line())
            wire._line()
            wire.send(body)
            self.assertStatus(200, wire.receive())

    def test_requests_one_behind_the_other(self):
        data = request_bytes(headers=PING_HEADERS, body=PING)
        with self.h.wire() as wire:
            wire.send(data * 20)
            for _ in range(20):
                self.assertStatus(200, wire.receive())

    def test_http_1_0(self):
        with self.h.wire() as wire:
            self.assertStatus(200, wire.request(headers=PING_HEADERS, body=PING, version="1.0"))
            self.assertTrue(wire.is_closed_by_server())
        with self.h.wire() as wire:
            headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(sleep 1.5)"}}, meta={"progressToken": 1})
            response = wire.request(headers=headers, body=message, version="1.0")
            self.assertTrue(response.is_stream)
            self.assertIn("result", wire.events()[-1].message)

    def test_each_byte_by_itself(self):
        data = request_bytes(headers=PING_HEADERS, body=PING)
        with self.h.wire() as wire:
            for byte in data:
                wire.send(bytes([byte]))
            self.assertStatus(200, wire.receive())

    def test_every_beginning_of_a_request_may_be_all_there_is(self):
        data = request_bytes(headers=PING_HEADERS, body=PING)
        for end in range(0, len(data), 3):
            for reset in (False, True):
                with self.h.wire() as wire:
                    wire.send(data[:end])
                    if reset:
                        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertServes()

    def test_bytes_at_random(self):
        random = self.random()
        data = request_bytes(headers=PING_HEADERS, body=PING)
        for _ in range(300):
            changed = bytearray(data)
            for _ in range(random.randint(1, 4)):
                at = random.randrange(len(changed))
                kind = random.randrange(3)
                if kind == 0:
                    changed[at] = random.randrange(256)
                elif kind == 1:
                    del changed[at:at + random.randint(1, 30)]
                else:
                    changed[at:at] = random.choice([b"\r\n", b"\r", b"\n", b"\0", b": ", b"0" * 30, b"\r\n\r\n", bytes(random.randrange(256) for _ in range(5))])
                if not changed:
                    changed = bytearray(b"x")
            self.answer(bytes(changed), half=True)
        self.assertServes()


class Crowds(mcp_http.TestCase):
    options = ("--checkpoints", "off")  # their processes would be counted

    def test_nothing_stays_behind(self):
        self.h.evaluate("1")
        session = Session(self.h)
        session.call("evaluate-lisp", code="1")

        def settled():
            counts = set()
            for _ in range(3):
                counts.add(self.h.descriptors())
                time.sleep(0.05)
            return counts.pop() if len(counts) == 1 else 0

        before = mcp.wait_until(settled, 10, "the number of descriptors settles")
        for _ in range(3):
            wires = [self.h.wire() for _ in range(60)]
            for n, wire in enumerate(wires):
                kind = n % 6
                if kind == 0:
                    wire.send(request_bytes("GET", headers=session.headers(Accept="text/event-stream")))
                elif kind == 1:
                    wire.send(request_bytes(headers=PING_HEADERS, body=PING))
                elif kind == 2:
                    wire.send(request_bytes(headers=PING_HEADERS, body=PING)[:-3])
                elif kind == 3:
                    headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(loop)"}})
                    wire.send(request_bytes(headers=headers, body=message))
                elif kind == 4:
                    wire.send(request_bytes(headers=session.headers(), body=legacy("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(sleep 0.05)"}})))
            for wire in wires:
                wire.close()
        mcp.wait_until(lambda: settled() == before, 30, "the descriptors are as many as before")
        self.assertEqual("=> 1", session.call("evaluate-lisp", code="1"))
        self.assertServes()

    def test_requests_that_fill_the_buffer_and_never_end_block_nobody(self):
        with self.h.wire() as wire:
            wire.send(head(JSON, "Transfer-Encoding: chunked") + b"1;" + b"x" * 40000)
            with self.h.wire() as other:
                for n in range(20):
                    other.socket.settimeout(5 * mcp.STRETCH)
                    self.assertStatus(200, other.request(headers=PING_HEADERS, body=PING))
            before = self.processor_time()
            mcp.wait_until(lambda: self.h.evaluate("(sleep 1)"), 10, "a second")
            self.assertLess(self.processor_time() - before, 0.5)

    def processor_time(self):
        fields = mcp.read("/proc/%d/stat" % self.h.pid).rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_stalled_clients_block_nobody(self):
        wires = [self.h.wire() for _ in range(100)]
        for n, wire in enumerate(wires):
            wire.send([b"P", b"POST /mcp HTTP/1.1\r\nHost:", head(JSON, "Content-Length: 1000000"), head(JSON, "Transfer-Encoding: chunked") + b"5\r\nab"][n % 4])
        for _ in range(5):
            self.assertServes()
        for wire in wires:
            wire.close()

    def test_a_client_that_does_not_read_costs_others_nothing(self):
        self.h.ask("tools/call", {"name": "create-session", "arguments": {"name": "large"}})
        headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {
            "code": "(make-string 1000000 :initial-element #\\x)", "session": "large", "max-output": 1000000}})
        data = request_bytes(headers=headers, body=message)
        with self.h.wire() as wire:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.send(data * 20)
            for _ in range(5):
                self.assertServes()

    def test_connections_beyond_the_limit_get_a_reason(self):
        if mcp.SANITIZED:
            self.skipTest("a thousand connections take too long with sanitizers")
        server = self.start_http()
        wires = []
        for _ in range(CONNECTIONS):
            wires.append(server.wire())
            self.assertStatus(200, wires[-1].request(headers=PING_HEADERS, body=PING))
        with server.wire() as one_more:
            response = self.assertStatus(503, one_more.request(headers=PING_HEADERS, body=PING))
            self.assertIn("retry-after", response.headers)
            self.assertTrue(one_more.is_closed_by_server())
        # Who was there before is served as before.
        self.assertStatus(200, wires[0].request(headers=PING_HEADERS, body=PING))
        for wire in wires:
            wire.close()
        mcp.wait_until(lambda: server.ask("tools/list").status == 200, 10, "the others are gone")

    def test_silent_connections_make_room_for_others(self):
        if mcp.SANITIZED:
            self.skipTest("a thousand connections take too long with sanitizers")
        server = self.start_http()
        speaking = server.wire()
        self.assertStatus(200, speaking.request(headers=PING_HEADERS, body=PING))
        silent = [server.wire() for _ in range(CONNECTIONS + 100)]
        with server.wire() as newcomer:
            newcomer.socket.settimeout(7)  # before the deadline of the silent ones
            self.assertStatus(200, newcomer.request(headers=PING_HEADERS, body=PING))
        # The oldest ones of this address were closed, and nobody who had sent a request.
        self.assertTrue(silent[0].is_closed_by_server())
        self.assertStatus(200, silent[-1].request(headers=PING_HEADERS, body=PING))
        self.assertStatus(200, speaking.request(headers=PING_HEADERS, body=PING))
        for wire in [speaking, *silent]:
            wire.close()

    def test_crowds_leave_descriptors_for_the_lisps(self):
        server = self.start_http("--checkpoints", "off", files=400)
        wires = []
        for _ in range(200):
            wires.append(server.wire())
            self.assertIn(wires[-1].request(headers=PING_HEADERS, body=PING).status, (200, 503))
        for n in range(5):
            headers, message = modern("tools/call", {"name": "create-session", "arguments": {"name": "s%d" % n}})
            self.assertStatus(200, wires[n].request(headers=headers, body=message))
            headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "1", "session": "s%d" % n}})
            self.assertEqual("=> 1", mcp_http.text_of(wires[n].request(headers=headers, body=message).json["result"]))
        with server.wire() as one_more:
            self.assertStatus(503, one_more.request(headers=PING_HEADERS, body=PING))
        for wire in wires:
            wire.close()
        mcp.wait_until(lambda: server.ask("tools/list").status == 200, 10, "the others are gone")

    def test_many_at_once_are_all_answered(self):
        answers = []

        def work(n):
            with self.h.wire() as wire:
                for k in range(20):
                    headers, message = modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(+ %d %d)" % (n, k)}})
                    answers.append(mcp_http.text_of(wire.request(headers=headers, body=message).json["result"]) == "=> %d" % (n + k))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([True] * 160, answers)
