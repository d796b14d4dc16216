"""Many sessions over one stdio: mixed evaluations, errors, cancels and deaths; nothing lost, nothing mixed up, nothing left. And what the
server tells about itself."""

import os
import re
import signal

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
        for round in range(3):
            expected = []
            for i in random.sample(range(SESSIONS), SESSIONS):
                kind = random.choice(["count", "count", "count", "error", "output", "wait", "die"])
                code, pattern = {
                    "count": ("(list *me* (incf *count*))", rf"=> \({i} {counts[i] + 1}\)"),
                    "error": ("(error \"session ~a\" *me*)", rf"session {i}\n"),
                    "output": ("(progn (dotimes (k 200) (print (* 1000 *me*))) *me*)", rf"(\n{1000 * i} ?)+\n[\s\S]*=> {i}"),
                    "wait": ("(loop)", None),
                    "die": ("(progn (incf *count*) (sb-ext:exit :code 3 :abort t))", r"exited with code 3"),
                }[kind]
                counts[i] += kind == "count"
                expected.append((kind, pattern, s.start_call("evaluate-lisp", session=names[i], code=code)))
            for kind, pattern, call in expected:
                if kind == "wait":
                    s.notify("notifications/cancelled", {"requestId": call.id})
            for kind, pattern, call in expected:
                if kind != "wait":
                    self.assertRegex(call.reply(wait=120).text, pattern)
        calls = [s.start_call("evaluate-lisp", session=name, code="(list *me* *count*)") for name in names]
        for i, call in enumerate(calls):
            self.assertIn(f"=> ({i} {counts[i]})", call.reply(wait=120).text)
        self.assertEqual(f"{SESSIONS + 1}", self.status(s, r"status: cl_mcp_sessions (\d+)\n"))

        for call in [s.start_call("close-session", session=name) for name in names]:
            self.assertIn("closed", call.reply().text)
        mcp.wait_until(lambda: len(s.processes()) == processes, 30, "processes are left")
        mcp.wait_until(lambda: self.descriptors(s) == descriptors, 30, "descriptors are left")
        self.assertIn("=> 1", s.evaluate("1").text)

    def test_the_bounds_are_told(self):
        s = self.start_server("--max-sessions", "2", "--max-processes", "3")
        s.evaluate("(defvar *x* 1)")
        self.assertFalse(s.call("create-session", name="second").is_error)
        reply = s.call("create-session", name="third")
        self.assertTrue(reply.is_error)
        self.assertEqual("The server may have at most 2 sessions (--max-sessions); close-session ends one.", reply.text)
        for k in range(4):
            s.evaluate(f"(setf *x* {k})")
        self.assertIn("The server may have at most 3 processes", s.call("list-checkpoints").text)
        self.assertIn("=> 3", s.evaluate("*x*").text)

    def test_the_status_goes_to_the_log(self):
        s = self.s
        s.evaluate("(defvar *x* 1)")
        s.evaluate("(car *x*)")
        s.evaluate("*x*")
        self.assertRegex(self.status(s, r"status: session (.*)\n"), r"^default: \w+, process \d+, \d processes, [1-9]\d* KiB, 0 operations, \d checkpoints, 3 evaluations, 1 errors$")
        text = s.stderr()
        self.assertIn('status: cl_mcp_evaluations_total{outcome="ok"} 2\n', text)
        self.assertIn('status: cl_mcp_evaluations_total{outcome="error"} 1\n', text)


if __name__ == "__main__":
    mcp.main()
