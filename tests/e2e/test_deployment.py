"""Servers as they are run for a team: sockets that a service manager passes on, ids that name their node, the units of deploy/systemd.
Several servers behind HAProxy: test_fleet.py."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import mcp
import mcp_http
from mcp_http import Session


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

    def test_a_socket_that_was_not_passed_on_is_an_error(self):
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
        server = self.start_http("--node", "lisp-west.7")
        ids = [Session(server).id for _ in range(2)]
        for one in ids:
            self.assertRegex(one, r"^lisp-west\.7-[0-9a-f]{32}$")
        self.assertNotEqual(*ids)

    def test_a_name_that_a_header_cannot_carry_is_refused(self):
        for name in ("", "-a", ".a", "a/b", "a_b", "a b", "ü", "x" * 64):
            with self.subTest(name):
                self.assertDoesNotStart("--node must be", "--node", name, status=2)


SERVICE = os.path.join(mcp.ROOT, "deploy", "systemd", "cl-mcp-server.service")


class Units(mcp.TestCase):
    """deploy/systemd"""

    def setting(self, name):
        return re.search(r"^%s=(.*)$" % name, mcp.read(SERVICE), re.MULTILINE).group(1)

    def filtered_server(self, folder, *arguments):
        """A program that starts the server with these arguments under the service's system call filter."""
        program = os.path.join(folder, "server")
        with open(program, "w") as file:
            file.write('#!/bin/sh\nexec python3 "%s" "%s" "%s" %s "$@"\n' % (
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "unit_filter.py"), SERVICE, mcp.SERVER, " ".join(arguments)))
        os.chmod(program, 0o755)
        return program

    def test_systemd_takes_the_units_as_they_are(self):
        analyze = shutil.which("systemd-analyze")
        if analyze is None:
            self.skipTest("systemd-analyze is not on this machine")
        folder = self.folder()
        paths = []
        for name in ("cl-mcp-server.socket", "cl-mcp-server.service"):
            text = mcp.read(os.path.join(os.path.dirname(SERVICE), name))
            if name.endswith("service"):
                self.assertIn("ExecStart=/usr/bin/cl-mcp-server ", text)
            paths.append(os.path.join(folder, name))
            mcp.write(paths[-1], text.replace("/usr/bin/cl-mcp-server", mcp.SERVER))
        done = subprocess.run([analyze, "--man=no", "verify", *paths], capture_output=True, text=True, timeout=60 * mcp.STRETCH)
        self.assertEqual((0, ""), (done.returncode, done.stderr), done)

    def test_sandboxes_work_under_the_units_system_call_filter(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not on this machine")
        project = self.folder()
        program = self.filtered_server(project)
        client = self.start_server(program=program, cwd=project)
        self.assertSucceeds(client.call("create-session", name="strict", sandbox="read-only"))
        self.assertIn("FILE-ERROR", client.evaluate('(open "x" :direction :output)', session="strict").text)
        self.assertErrorReport(client.evaluate("(car 42)"), "TYPE-ERROR")
        # What the filter does not know is an error in the Lisp, not its end and not the server's.
        ptrace = '(sb-alien:alien-funcall (sb-alien:extern-alien "ptrace" (function sb-alien:long sb-alien:int)) 0)'
        self.assertEqual("=> -1", client.evaluate(ptrace).text)
        self.assertOperational(client)

    def test_the_service_confines_its_sessions_to_its_project(self):
        """In directories that are made as systemd makes those of DynamicUser=yes, and with its system call filter."""
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not on this machine")
        folder = os.path.realpath(self.folder())
        for kind, names in (("lib", self.setting("StateDirectory")), ("cache", self.setting("CacheDirectory"))):
            os.makedirs(os.path.join(folder, "var", kind, "private"))
            for name in names.split():
                os.mkdir(os.path.join(folder, "var", kind, "private", name), 0o700)
            os.symlink("private/cl-mcp-server", os.path.join(folder, "var", kind, "cl-mcp-server"))
        here = lambda text: text.replace("/var/", folder + "/var/")
        environment = mcp.clean_environment(**dict(word.split("=") for word in here(self.setting("Environment")).split()))
        options = here(self.setting("ExecStart")).split()[1:]
        at = options.index("systemd")
        options[at:at + 1] = ["unix:%s/socket" % folder, "--stdio"]
        start = lambda: self.start_server(
            program=self.filtered_server(folder, *options), cwd=here(self.setting("WorkingDirectory")), environment=environment)
        state = os.path.join(folder, "var/lib/private/cl-mcp-server")
        mcp.write(os.path.join(state, "other.json"), "secret")
        client = start()
        self.assertNotIn("gap", client.stderr())
        self.assertIn("Sandbox: workspace, network on", client.call("session-info").text)
        self.assertFalse(client.evaluate('(progn (defvar *x* 1) (with-open-file (out "small.lisp" :direction :output) (print 1 out)))').is_error)
        self.assertEqual("=> T", client.evaluate('(and (compile-file "small.lisp" :output-file (uiop:subpathname (uiop:xdg-cache-home) "small.fasl")) t)').text)
        self.assertEqual(["small.lisp"], os.listdir(os.path.join(state, "project")))
        self.assertTrue([name for _, _, names in os.walk(os.path.join(folder, "var/cache/private")) for name in names if name == "small.fasl"])
        self.assertIn("The session has the sandbox workspace", client.evaluate('(open "../other.json")').text)
        client.close()
        client = start()
        self.assertIn("=> 1", client.evaluate("*x*").text)
        self.assertIn("The session has the sandbox workspace", client.evaluate('(open "../other.json")').text)
        client.destroy()

    def test_the_server_knows_the_options_of_the_unit(self):
        options = self.setting("ExecStart")
        known = mcp.run("--help", "all").stdout
        for option in re.findall(r"--[a-z-]+", options):
            self.assertIn(option + " ", known)
