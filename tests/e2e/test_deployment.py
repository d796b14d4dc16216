"""Servers as they are run for a team: sockets that a service manager passes on, and HAProxy in front of two machines.

HAProxy runs deploy/haproxy.cfg itself; the two servers share a directory for saved sessions, as two machines would.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import mcp
import mcp_http
from mcp_http import Session

HAPROXY = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin")
CONFIGURATION = os.path.join(mcp.ROOT, "deploy", "haproxy.cfg")


class PassedOn(mcp_http.TestCase):
    """--http systemd: LISTEN_FDS and LISTEN_PID, descriptors from 3 on."""

    def start(self, sockets, *options, pid="$$", count=None):
        stderr = tempfile.TemporaryFile()
        self.addCleanup(stderr.close)
        script = 'exec %s LISTEN_PID=%s LISTEN_FDS=%d "$@"' % (
            "env", pid, len(sockets) if count is None else count)
        redirections = "".join(" %d<&%d" % (3 + n, fd) for n, fd in enumerate(sockets))
        process = subprocess.Popen(
            ["bash", "-c", script + redirections, "bash", mcp.SERVER, "--log-level", "info", *options],
            pass_fds=sockets, stdin=subprocess.DEVNULL, stderr=stderr, start_new_session=True,
            env=dict(mcp.clean_environment(), **{mcp.MARK: mcp.file_mark() + "-passed-on."}))
        self.addCleanup(self.stop, process)
        return process, lambda: os.pread(stderr.fileno(), 1 << 20, 0).decode()

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(20 * mcp.STRETCH)
        mcp.assert_none_left(mcp.file_mark() + "-passed-on.")

    def listening(self, family=socket.AF_INET, address=("127.0.0.1", 0)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        self.addCleanup(listener.close)
        listener.bind(address)
        listener.listen()
        # High, so that the shell may put it where it belongs.
        return listener, os.dup2(listener.fileno(), 50 + listener.fileno(), inheritable=True)

    def test_requests_on_sockets_passed_on_are_served_even_those_that_came_before(self):
        path = os.path.join(self.folder(), "socket")
        internet, first = self.listening()
        local, second = self.listening(socket.AF_UNIX, path)
        early = mcp_http.Wire(internet.getsockname())
        self.addCleanup(early.close)
        headers, message = mcp_http.modern("tools/list")
        early.send(mcp_http.request_bytes(headers=headers, body=message))
        process, _ = self.start([first, second], "--http", "systemd:1", "--http", "systemd:2")
        self.assertEqual(200, early.receive().status)
        with mcp_http.Wire(path) as wire:
            headers, message = mcp_http.modern("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(+ 1 2)"}})
            self.assertEqual("=> 3", mcp_http.text_of(wire.request(headers=headers, body=message).json["result"]))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(20 * mcp.STRETCH))
        self.assertTrue(os.path.exists(path), "the file belongs to whoever made the socket")

    def test_what_was_not_passed_on_is_an_error(self):
        _, fd = self.listening()
        connected, other = socket.socketpair()
        self.addCleanup(connected.close)
        self.addCleanup(other.close)
        no_listener = os.dup2(connected.fileno(), 90, inheritable=True)
        for sockets, named, where in (([], {}, "systemd"), ([fd], {"pid": "1"}, "systemd"), ([fd], {"count": 0}, "systemd"), ([fd], {}, "systemd:2"),
                                      ([fd], {}, "systemd:0"), ([fd], {}, "systemd:x"), ([no_listener], {}, "systemd"), ([], {"count": 1}, "systemd")):
            with self.subTest(where=where, **named):
                process, stderr = self.start(sockets, "--http", where, **named)
                self.assertEqual(1, process.wait(20 * mcp.STRETCH))
                self.assertIn("--http systemd", stderr())


class Node(mcp_http.TestCase):
    def test_ids_of_sessions_begin_with_the_node(self):
        server = self.start_http("--node", "west7")
        ids = [Session(server).id for _ in range(2)]
        for one in ids:
            self.assertRegex(one, r"^west7-[0-9a-f]{32}$")
        self.assertNotEqual(*ids)

    def test_a_name_that_a_header_cannot_carry_is_refused(self):
        for name in ("", "a-b", "a b", "ü", "x" * 33):
            with self.subTest(name):
                done = subprocess.run([mcp.SERVER, "--node", name], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * mcp.STRETCH)
                self.assertEqual(2, done.returncode)
                self.assertIn("--node wants", done.stderr)


if __name__ == "__main__":
    mcp.main()
