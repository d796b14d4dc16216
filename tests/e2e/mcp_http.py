"""Servers over HTTP for tests, and a client made of raw sockets, so that every byte is the test's own.

HttpServer   one server process with --http, on a port of the system's choosing and, if wanted, other places; its ending is checked
Wire         one connection: bytes out; responses in, as they come: whole ones and streams of events
Session      a client of a revision with a handshake, by Mcp-Session-Id
"""

import collections
import itertools
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile

import mcp

ACCEPT = "application/json, text/event-stream"


class Response:
    def __init__(self, status, headers):
        self.status = status
        self.headers = headers  # names in lower case; of several the last
        self.body = b""

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def is_stream(self):
        return self.headers.get("content-type") == "text/event-stream"

    def __repr__(self):
        return "<%d %r %r>" % (self.status, self.headers, self.body[:300])


Event = collections.namedtuple("Event", "id data message")


class Wire:
    """One connection, from the address `source`. A response's body is read with it unless it is a stream."""

    def __init__(self, address, tls=None, seconds=30, source=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(seconds * mcp.STRETCH)
        if source is not None:
            self.socket.bind((source, 0))
        self.socket.connect(address)
        if family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.buffer = b""
        self.is_chunked = False
        self.events_text = b""
        self.is_over = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def is_closed_by_server(self):
        """True when the server ends the connection within the time limit, without another byte."""
        while self._more():
            pass
        return not self.buffer

    def _line(self):
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise mcp.Gone("the server closed the connection; there was %r" % self.buffer[:200])
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def _bytes(self, count):
        while len(self.buffer) < count:
            if not self._more():
                raise mcp.Gone("the server closed the connection in a body")
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def _chunk(self):
        size = int(self._line().split(b";")[0], 16)
        data = self._bytes(size)
        self._line()
        return data

    def receive(self):
        """The next response; 100 Continue is passed over."""
        while True:
            status = int(self._line().split(b" ")[1])
            headers = {}
            while True:
                line = self._line().decode("latin-1")
                if not line:
                    break
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            if status != 100:
                break
        response = Response(status, headers)
        self.is_chunked = headers.get("transfer-encoding") == "chunked"
        if response.is_stream:
            self.events_text, self.is_over = b"", False
            return response
        if self.is_chunked:
            while True:
                data = self._chunk()
                if not data:
                    break
                response.body += data
        elif "content-length" in headers:
            response.body = self._bytes(int(headers["content-length"]))
        return response

    def event(self):
        """The next event of the stream that was received; comments are passed over; None at its end."""
        while True:
            while b"\n\n" in self.events_text:
                text, self.events_text = self.events_text.split(b"\n\n", 1)
                fields = dict(
                    (line.partition(b":")[0].decode(), line.partition(b":")[2].strip().decode())
                    for line in text.split(b"\n") if not line.startswith(b":")
                )
                if fields:
                    data = fields.get("data", "")
                    return Event(fields.get("id"), data, json.loads(data) if data else None)
            if self.is_over:
                return None
            if self.is_chunked:
                data = self._chunk()
                self.is_over = not data
                self.events_text += data
            else:
                self.is_over = not self._more()
                self.events_text, self.buffer = self.events_text + self.buffer, b""

    def events(self):
        """All events up to the end of the stream."""
        return list(iter(self.event, None))

    def request(self, method="POST", path="/mcp", headers=None, body=None, version="1.1"):
        """Send a request and give the response. A header of None is left out; a list of values comes several times."""
        self.send(request_bytes(method, path, headers, body, version))
        return self.receive()


def request_bytes(method="POST", path="/mcp", headers=None, body=None, version="1.1"):
    if body is not None and not isinstance(body, bytes):
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
    fields = {"Host": "localhost"}
    if method == "POST":
        fields.update({"Content-Type": "application/json", "Accept": ACCEPT})
    if body is not None:
        fields["Content-Length"] = str(len(body))
    fields.update(headers or {})
    lines = ["%s %s HTTP/%s" % (method, path, version)]
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                lines.append("%s: %s" % (name, one))
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


_ids = itertools.count(1)


def legacy(method, params=None, request_id=None):
    message = {"jsonrpc": "2.0", "id": next(_ids) if request_id is None else request_id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification(method, params=None):
    message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message


def modern(method, params=None, request_id=None, meta=None, version=mcp.MODERN):
    """(headers, message) of a request of 2026-07-28"""
    params = dict(params or {})
    params["_meta"] = dict({mcp.VERSION_KEY: version, mcp.CAPABILITIES_KEY: {}}, **(meta or {}))
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    for member in ("name", "uri"):
        if isinstance(params.get(member), str) and method in ("tools/call", "prompts/get", "resources/read"):
            headers["Mcp-Name"] = params[member]
    arguments = params.get("arguments")
    session = arguments.get("name" if params.get("name") in ("create-session", "restore-session") else "session") if isinstance(arguments, dict) else None
    if method == "tools/call" and isinstance(session, str):
        headers["Mcp-Param-Session"] = session
    return headers, legacy(method, params, request_id)


def initialize(version=mcp.LEGACY):
    return legacy("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}})


def bearer(token):
    return {"Authorization": "Bearer " + token}


def text_of(result):
    return "\n".join(block.get("text", "") for block in result["content"])


class HttpServer:
    def __init__(self, *options, http=("127.0.0.1:0",), environment=None, cwd=None, files=None, program=None):
        self.mark = "%s-http-%d." % (mcp.file_mark(), next(_ids))
        environment = dict(environment if environment is not None else mcp.clean_environment())
        environment[mcp.MARK] = self.mark
        self.stderr_file = tempfile.TemporaryFile()
        limit = ["sh", "-c", 'ulimit -n %d; exec "$@"' % files, "sh"] if files else []
        arguments = [argument for where in http for argument in ("--http", where)]
        self.process = subprocess.Popen(
            [*limit, program or mcp.SERVER, *arguments, "--log-level", "info", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr_file, env=environment, cwd=cwd, start_new_session=True,
        )
        self.pid = self.process.pid
        self.addresses = []
        self.tls = None  # what to connect with
        self.has_failed = False
        mcp.wait_until(lambda: self._listens(len(http)), 20, "the server listens")

    def _listens(self, count):
        if self.process.poll() is not None:
            self.has_failed = True
            return True
        found = re.findall(r"listening on (?:https?://(\S+?):(\d+)/mcp|unix:(\S+))", self.stderr())
        self.addresses = [path or (host.strip("[]"), int(port)) for host, port, path in found]
        return len(found) == count

    def stderr(self):
        return os.pread(self.stderr_file.fileno(), 1 << 20, 0).decode(errors="replace")

    def wire(self, which=0, **named):
        return Wire(self.addresses[which], self.tls, **named)

    def request(self, method="POST", headers=None, body=None, path="/mcp", **named):
        """One request on a connection of its own. A stream is read up to its end: `events`."""
        with self.wire(**named) as wire:
            response = wire.request(method, path, headers, body)
            if response.is_stream:
                response.events = wire.events()
            return response

    def ask(self, method, params=None, headers=None, meta=None, **named):
        """A request of 2026-07-28; the response."""
        own, message = modern(method, params, meta=meta)
        own.update(headers or {})
        return self.request(headers=own, body=message, **named)

    def evaluate(self, code, headers=None, **arguments):
        return self.ask("tools/call", {"name": "evaluate-lisp", "arguments": dict(arguments, code=code)}, headers)

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def end(self, status=0, wait=20):
        """SIGTERM, as a service manager says it; checks how it ends and that nothing is left. Harmless a second time."""
        if self.process.stdout.closed:
            return
        try:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            ended = self.process.wait(wait * mcp.STRETCH)
            if ended == 1 and "Tracer caught signal" in self.stderr():
                # The leak check of gcc 12 crashes by itself now and then when a program with threads exits.
                print("# the leak check crashed at the exit of the server, whose leaks are unknown")
                ended = status
                errors = re.sub(r"(?m)^==\d+==(LeakSanitizer has encountered a fatal error|HINT: LeakSanitizer does not work).*$", "", self.stderr())
            else:
                errors = self.stderr()
            assert ended == status, "exit status %r instead of %r\n%s" % (ended, status, self.stderr()[-3000:])
            output = self.process.stdout.read()
            assert not output, "output on stdout: %r" % output[:300]
            assert "Sanitizer" not in errors and "runtime error:" not in errors, errors[-5000:]
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        mcp.assert_none_left(self.mark)


class Session:
    """A client of the revisions with a handshake."""

    def __init__(self, server, version=mcp.LEGACY, headers=None, **named):
        self.server, self.version, self.own, self.named = server, version, dict(headers or {}), named
        response = server.request(headers=self.own, body=initialize(version), **named)
        assert response.status == 200, response
        self.id = response.headers["mcp-session-id"]
        self.result = response.json["result"]
        response = self.post(notification("notifications/initialized"))
        assert response.status == 202, response

    def headers(self, **more):
        headers = {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.version, **self.own}
        headers.update((name.replace("_", "-"), value) for name, value in more.items())
        return headers

    def post(self, message, **more):
        return self.server.request(headers=self.headers(**more), body=message, **self.named)

    def request(self, method, params=None):
        response = self.post(legacy(method, params))
        assert response.status == 200, response
        return response.events[-1].message if response.is_stream else response.json

    def call(self, tool, **arguments):
        return text_of(self.request("tools/call", {"name": tool, "arguments": arguments})["result"])

    def listen(self, wire, last=None):
        """GET on this wire."""
        response = wire.request("GET", headers=self.headers(Accept="text/event-stream", Last_Event_ID=last))
        return response

    def delete(self):
        return self.server.request("DELETE", headers=self.headers(), **self.named)


class TestCase(mcp.TestCase):
    """`self.h` is a server over HTTP, started on first use for all tests of the class, ended and checked after them."""

    http = ("127.0.0.1:0",)
    options = ()
    _shared = None

    def start_http(self, *options, **named):
        server = HttpServer(*options, **named)
        self.addCleanup(server.end, 1 if server.has_failed else 0)
        return server

    @property
    def h(self):
        cls = type(self)
        if cls.__dict__.get("_shared") is None:
            cls._shared = HttpServer(*cls.options, http=cls.http)
            cls.addClassCleanup(cls._shared.end)
        return cls._shared

    def assertRefuses(self, says, *options):
        self.assertDoesNotStart(says, "--http", "127.0.0.1:0", *options)

    def assertStatus(self, status, response, code=None):
        self.assertEqual(status, response.status, response)
        if code is not None:
            self.assertEqual(code, response.json["error"]["code"], response)
        return response

    def assertServes(self, server=None):
        """It answers a request, and that quickly enough."""
        response = (server or self.h).ask("tools/list")
        self.assertStatus(200, response)
        self.assertTrue(response.json["result"]["tools"])


def certificate(folder):
    """The files of a new certificate for this machine and of its key."""
    paths = os.path.join(folder, "c.pem"), os.path.join(folder, "k.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", paths[1], "-out", paths[0]], capture_output=True, check=True)
    return paths


def tls_context(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificate)
    return context
