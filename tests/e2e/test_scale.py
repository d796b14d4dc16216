"""Many sessions over one stdio: mixed evaluations, errors, cancels and deaths; nothing lost, nothing mixed up, nothing left. And what the
server tells about itself."""

import http.client
import os
import re
import signal
import socket

import mcp

SESSIONS = 60 if mcp.SANITIZED else 120


class Scale(mcp.TestCase):
    def descriptors(self, s):
        return len(os.listdir(f"/proc/{s.process.pid}/fd"))

    def status(self, s, pattern):
        """Ask for the status; the last match of the pattern in it."""
        before = len(s.stderr())
        s.process.send_signal(signal.SIGUSR1)
        mcp.wait_until(lambda: re.search(pattern, s.stderr()[before:]), 20, f"no {pattern} in the status")
        return re.findall(pattern, s.stderr()[before:])[-1]

    def test_many_sessions_at_once(self):
        random = self.random()
        s = self.s
        s.evaluate("1")
        mcp.wait_until(lambda: "Checkpoints: 1" in s.call("session-info").text, 20, "there is no checkpoint")
        descriptors, processes = self.descriptors(s), len(s.processes())

        names = [f"n{i}" for i in range(SESSIONS)]
        for call in [s.start_call("create-session", name=name) for name in names]:
            self.assertIn("created", call.reply().text)
        calls = [s.start_call("evaluate-lisp", session=name, code=f"(progn (defvar *me* {i}) (defvar *count* 0) *me*)") for i, name in enumerate(names)]
        for i, call in enumerate(calls):
            self.assertIn(f"=> {i}", call.reply().text)

        counts = [0] * SESSIONS
        set_back = set()  # on a busy machine a checkpoint may be missing, and then the reply says that a death went back further

        def note(i, text):
            if "[Session]" in text and "from the state before th" not in text:
                set_back.add(i)

        for round in range(3):
            expected = []
            for i in random.sample(range(SESSIONS), SESSIONS):
                kind = random.choice(["count", "count", "count", "error", "output", "wait", "die"])
                code, pattern = {
                    "count": ("(list *me* (incf *count*))", rf"=> \({i} {counts[i] + 1}\)"),
                    "error": ("(error \"session ~a\" *me*)", rf"session {i}\n"),
                    "output": ("(progn (dotimes (k 200) (print (* 1000 *me*))) *me*)", rf"\n{1000 * i}  \[… 200 times …\]\n[\s\S]*=> {i}"),
                    "wait": ("(loop)", None),
                    "die": ("(progn (incf *count*) (sb-ext:exit :code 3 :abort t))", r"exited with code 3"),
                }[kind]
                counts[i] += kind == "count"
                expected.append((i, kind, pattern, s.start_call("evaluate-lisp", session=names[i], code=code)))
            for i, kind, pattern, call in expected:
                if kind == "wait":
                    s.notify("notifications/cancelled", {"requestId": call.id})
            for i, kind, pattern, call in expected:
                if kind == "wait":
                    continue
                text = call.reply(wait=120).text
                note(i, text)
                self.assertRegex(text, pattern if i not in set_back or kind != "count" else rf"=> \({i} \d+\)")
        calls = [s.start_call("evaluate-lisp", session=name, code="(list *me* *count*)") for name in names]
        for i, call in enumerate(calls):
            text = call.reply(wait=120).text
            note(i, text)
            self.assertRegex(text, rf"=> \({i} {counts[i] if i not in set_back else chr(92) + 'd+'}\)")
        self.assertLess(len(set_back), SESSIONS / 2)
        self.assertEqual(f"{SESSIONS + 1}", self.status(s, r"status: cl_mcp_sessions (\d+)\n"))

        for call in [s.start_call("close-session", session=name) for name in names]:
            self.assertIn("closed", call.reply().text)
        mcp.wait_until(lambda: len(s.processes()) == processes, 30, "processes are left")
        mcp.wait_until(lambda: self.descriptors(s) == descriptors, 30, "descriptors are left")
        self.assertIn("=> 1", s.evaluate("1").text)

    def test_the_bounds_are_reported(self):
        s = self.start_server("--max-sessions", "2", "--max-processes", "3")
        s.evaluate("(defvar *x* 1)")
        self.assertFalse(s.call("create-session", name="second").is_error)
        reply = s.call("create-session", name="third")
        self.assertTrue(reply.is_error)
        self.assertEqual("The server may have at most 2 sessions (--max-sessions); reset-session with close: true ends one.", reply.text)
        self.assertFalse(s.call("close-session", session="second").is_error)
        self.assertFalse(s.call("create-session", name="third").is_error)
        self.assertIn("A session named third already exists", s.call("create-session", name="third").text)
        for k in range(4):
            s.evaluate(f"(setf *x* {k})")
        s.call("checkpoint-session", name="kept")
        self.assertEqual(3, int(self.status(s, r"status: cl_mcp_lisp_processes (\d+)\n")))
        self.assertIn("=> 4", s.evaluate("(setf *x* 4)").text)
        self.assertIn("The server may have at most 3 processes", s.call("list-checkpoints").text)
        self.assertIn("from its last checkpoint", s.evaluate("(sb-ext:exit :abort t)").text)

    def test_at_the_process_limit_checkpoints_make_room_for_what_is_asked(self):
        s = self.start_server("--max-processes", "3", "--state-dir", self.folder())
        s.evaluate("(defvar *x* 1)")
        s.call("checkpoint-session", {"name": "a"})
        s.evaluate("(setf *x* 2)")
        self.assertFalse(s.call("create-session", {"name": "b"}).is_error)
        s.evaluate("1", session="b")
        for _ in range(2):
            self.assertIn("Returned to the state after evaluation 1.", s.call("rollback-session", to="a").text)
            self.assertValue(s.evaluate("*x*"), "1")
        s = self.start_server("--max-processes", "4", "--state-dir", self.folder())
        for number in range(6):
            s.evaluate("(list %d)" % number)
        self.assertIn("Saved session default", s.call("save-session").text)
        for number in range(6):
            s.evaluate("(list %d)" % number)
        self.assertFalse(s.call("macroexpand-form", form="(when a b)").is_error)

    def test_the_status_goes_to_the_log(self):
        s = self.s
        s.evaluate("(defvar *x* 1)")
        s.evaluate("(car *x*)")
        s.evaluate("*x*")
        self.assertRegex(self.status(s, r"status: session (.*)\n"), r"^default: \w+, process \d+, \d processes, [1-9]\d* KiB, 0 operations, \d checkpoints, 3 evaluations, 1 errors$")
        text = s.stderr()
        self.assertIn('status: cl_mcp_evaluations_total{outcome="ok"} 2\n', text)
        self.assertIn('status: cl_mcp_evaluations_total{outcome="error"} 1\n', text)

    def get(self, port, path, method="GET", body=None, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20 * mcp.STRETCH)
        self.addCleanup(connection.close)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), response

    def test_figures_over_http(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        s = self.start_server("--metrics", f"127.0.0.1:{port}", "--log-level", "info")
        s.evaluate("(princ 1234)")
        s.evaluate("(car 42)")
        s.call("create-session", name="other")
        self.assertEqual((200, "ok\n"), self.get(port, "/healthz")[:2])
        status, text, response = self.get(port, "/metrics")
        self.assertEqual(200, status)
        self.assertEqual("text/plain; version=0.0.4; charset=utf-8", response.getheader("Content-Type"))
        figures = {}
        kind = name = None
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split()[2]
            elif line.startswith("# TYPE "):
                self.assertEqual(name, line.split()[2])
                self.assertIn(line.split()[3], ("counter", "gauge"))
            else:
                key, value = line.rsplit(" ", 1)
                self.assertEqual(name, key.split("{")[0])
                self.assertRegex(key, r'^cl_mcp_[a-z_]+(\{[a-z]+="[a-z]+"\})?$')
                self.assertNotIn(key, figures)
                figures[key] = int(value)
        self.assertEqual(1, figures['cl_mcp_evaluations_total{outcome="ok"}'])
        self.assertEqual(1, figures['cl_mcp_evaluations_total{outcome="error"}'])
        self.assertEqual(2, figures["cl_mcp_sessions"])
        self.assertEqual(4, figures["cl_mcp_output_bytes_total"])
        self.assertGreaterEqual(figures["cl_mcp_lisp_processes"], 2)
        self.assertEqual(404, self.get(port, "/")[0])
        self.assertEqual(405, self.get(port, "/metrics", "POST", "x" * 100000)[0])
        self.assertEqual((200, ""), self.get(port, "/healthz", "HEAD")[:2])
        # A web page must not read them: one of another origin, or one whose name resolves to this machine.
        for headers, status in (({"Host": "evil.example:%d" % port}, 403), ({"Origin": "https://evil.example"}, 403), ({"Host": "localhost"}, 200),
                                ({"Host": "[::1]:%d" % port, "Origin": "http://localhost:3000"}, 200)):
            self.assertEqual(status, self.get(port, "/metrics", headers=headers)[0], headers)
        self.assertIn("=> 3", s.evaluate("(+ 1 2)").text)
