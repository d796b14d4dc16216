"""The audit log, and what --redact removes."""

import json
import os
import re
import signal
import tempfile

import mcp

KEY = "sk-0123456789abcdef0123"


class Audit(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="cl-mcp-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "audit.jsonl")

    def lines(self, path=None):
        with open(path or self.path) as f:
            return [json.loads(line) for line in f]

    def test_each_call_is_one_line(self):
        s = self.start_server("--audit", self.path)
        s.evaluate("(+ 1 2)")
        s.evaluate("(error \"no\")")
        s.call("create-session", name="other")
        s.evaluate("(list :é 1)", session="other")
        mode = os.stat(self.path).st_mode & 0o777
        lines = self.lines()
        self.assertEqual(0o600, mode)
        self.assertEqual(["evaluate-lisp", "evaluate-lisp", "create-session", "evaluate-lisp"], [line["tool"] for line in lines])
        self.assertEqual(["ok", "error", "ok", "ok"], [line["outcome"] for line in lines])
        self.assertEqual(["default", "default", "other", "other"], [line["session"] for line in lines])
        self.assertEqual({"code": "(+ 1 2)"}, lines[0]["arguments"])
        self.assertEqual("(list :é 1)", lines[3]["arguments"]["code"])
        self.assertEqual(len("=> 3"), lines[0]["bytes"])
        self.assertRegex(lines[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual("", lines[0]["principal"])

    def test_the_session_is_the_one_that_the_call_names(self):
        s = self.start_server("--audit", self.path, "--tools", "full")
        s.call("restore-session", name="saved")
        s.call("close-session", session="gone")
        s.call("list-sessions")
        self.assertEqual(["saved", "gone", "default"], [line["session"] for line in self.lines()])

    def test_cancelled_calls_are_recorded_and_long_arguments_are_cut(self):
        s = self.start_server("--audit", self.path)
        pending = s.start_call("evaluate-lisp", code="(progn (print :begun) (finish-output) (loop))")
        s.cancel(pending.id) if hasattr(s, "cancel") else s.notify("notifications/cancelled", {"requestId": pending.id})
        s.evaluate('(length "%s")' % ("x" * 200000))
        lines = {line["outcome"]: line for line in self.lines()}
        self.assertIn("cancelled", lines)
        self.assertLess(len(lines["ok"]["arguments"]["code"]), 70000)
        self.assertRegex(lines["ok"]["arguments"]["code"], r"\[\.\.\. \d+ bytes more\]$")

    def test_sighup_reopens_the_file(self):
        s = self.start_server("--audit", self.path)
        s.evaluate("1")
        os.rename(self.path, self.path + ".1")
        os.kill(s.pid, signal.SIGHUP)
        mcp.wait_until(lambda: os.path.exists(self.path), 5, "the new file")
        s.evaluate("2")
        self.assertEqual(["1"], [line["arguments"]["code"] for line in self.lines(self.path + ".1")])
        self.assertEqual(["2"], [line["arguments"]["code"] for line in self.lines()])

    def test_it_appends_and_refuses_what_is_not_a_regular_file(self):
        for _ in range(2):
            self.start_server("--audit", self.path).evaluate("1")
        self.assertEqual(2, len(self.lines()))
        fifo = os.path.join(self.folder.name, "fifo")
        os.mkfifo(fifo)
        for path in fifo, self.folder.name, os.path.join(self.folder.name, "no", "such"):
            with self.subTest(path):
                self.assertDoesNotStart("audit log", "--audit", path)

    def test_redact_removes_credentials_from_the_log_and_from_replies(self):
        s = self.start_server("--audit", self.path, "--redact")
        reply = s.evaluate('(progn (print "%s") (list :password "hunter2" :port 80))' % KEY)
        self.assertNotIn("hunter2", reply.text)
        self.assertNotIn(KEY, reply.text)
        self.assertIn("[redacted]", reply.text)
        self.assertIn(":PORT 80", reply.text)
        s.evaluate('(defun login (user password) (declare (optimize (debug 3))) (error "refused ~a ~a" user (length password)))')
        error = s.evaluate('(login "me" "hunter2")')
        locals_shown = s.call("get-backtrace", locals=True).text
        self.assertIn("PASSWORD", locals_shown)
        self.assertNotIn('PASSWORD = "hunter2"', error.text + locals_shown)
        text = mcp.read(self.path)
        self.assertNotIn(KEY, text)
        self.assertIn(":password \\\"[redacted]\\\"", text)

    def test_redact_goes_by_the_names_of_members_and_arguments(self):
        s = self.start_server("--audit", self.path, "--redact", "--structured", "--tools", "full")
        s.evaluate('(cl-mcp:define-tool login ((user string "Who") (password string "Which")) "Logs in." (length password))')
        self.assertEqual("=> 7", s.call("user-login", user="me", password="hunter2").text)
        s.evaluate('(define-condition refused (error) ((password :initarg :password)))')
        code = '(error (quote refused) :password (concatenate (quote string) "hunt" "er2"))'
        shown = s.request("tools/call", {"name": "evaluate-lisp", "arguments": {"code": code}})
        self.assertEqual({"PASSWORD": "[redacted]"}, shown["structuredContent"]["error"]["slots"], shown)
        text = mcp.read(self.path)
        self.assertIn('"user":"me","password":"[redacted]"', text)
        self.assertNotIn("hunter2", text)

    def test_a_line_for_which_the_disk_had_no_room_does_not_spoil_the_next(self):
        s = self.start_server("--audit", self.path)
        s.evaluate("1")
        size = os.path.getsize(self.path)
        limit = "--fsize=%d:unlimited" % (size + 20)
        mcp.subprocess.run(["prlimit", "--pid", str(s.pid), limit], check=True)
        self.assertEqual("=> 2", s.evaluate("2").text)
        self.assertEqual("=> 3", s.evaluate("3").text)
        mcp.subprocess.run(["prlimit", "--pid", str(s.pid), "--fsize=unlimited:unlimited"], check=True)
        self.assertEqual("=> 4", s.evaluate("4").text)
        lines = mcp.read(self.path).splitlines()
        self.assertEqual(["1", "4"], [json.loads(line)["arguments"]["code"] for line in (lines[0], lines[2])])
        self.assertEqual(20, len(lines[1]))
        self.assertEqual(1, s.stderr().count("cannot write to the audit log"))

    def test_redact_applies_to_replies_sent_before_the_evaluation_has_ended(self):
        s = self.start_server("--redact")
        code = '(progn (print "%s") (finish-output) (loop))' % KEY
        reply = s.call("evaluate-lisp", {"code": code, "wait": 1})
        self.assertIn("continues without this call", reply.text)
        self.assertIn("[redacted]", reply.text)
        self.assertNotIn(KEY, reply.text)
        s.call("cancel-evaluation")

    def test_redact_knows_a_private_key_of_which_a_part_is_shown(self):
        s = self.start_server("--redact")
        line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
        s.evaluate("""(defun key-text ()
          (with-output-to-string (out)
            (loop repeat 600 do (write-line "text" out))
            (write-line "-----BEGIN PRIVATE KEY-----" out)
            (loop repeat 200 do (write-line "%s" out))
            (write-line "-----END PRIVATE KEY-----" out)))""" % line)
        for code in ("(progn (write-string (key-text)) 1)", "(key-text)", "(progn (write-string (key-text) *error-output*) 1)"):
            with self.subTest(code):
                reply = s.evaluate(code)
                self.assertNotIn(line[:40], reply.text)
                self.assertIn("-----END PRIVATE KEY-----", reply.text)
                ref = int(re.search(r"get-output ref (\d+)", reply.text).group(1))
                for arguments in ({"offset": 6000}, {"offset": 9001, "length": 500}, {"pattern": "-----"}, {"pattern": "MII"}, {"pattern": line[20:30]}):
                    page = s.call("get-output", ref=ref, **arguments).text
                    self.assertNotIn(line[:20], page)
                    self.assertNotIn(line[-40:], page)
                self.assertIn("text", s.call("get-output", ref=ref).text)
        loops = "(progn (write-string (subseq (key-text) 0 8000)) (finish-output) (loop))"
        reply = s.call("evaluate-lisp", {"code": loops, "wait": 1})
        self.assertIn("continues without this call", reply.text)
        self.assertNotIn(line[:30], reply.text)
        self.assertNotIn(line[:30], s.call("evaluation-status").text)
        s.call("cancel-evaluation")

    def test_without_redact_nothing_is_removed(self):
        s = self.start_server("--audit", self.path)
        self.assertIn("hunter2", s.evaluate('(list :password "hunter2")').text)
        self.assertIn("hunter2", self.lines()[0]["arguments"]["code"])
