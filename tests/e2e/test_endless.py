"""Input without end into everything that reads: each refuses or cuts it at its bound, says what, where and how much, and no
more memory than that is used."""

import os
import subprocess

import mcp
import mcp_http

MIB = 1 << 20
ENDLESS = 1 << 40  # the size of a file with a hole: nothing reads it to its end

# name, arguments (FILE: a file of that size, or standard input), the bound, what is said
PROGRAMS = (
    ("the input of a hook", ["hook"], "yes", r"the hook's input is larger than 16777216 bytes"),
    ("a Lisp file", ["check-parens", "FILE.lisp"], None, r"FILE\.lisp is larger than 16777216 bytes"),
    ("a client's configuration", ["install", "claude-code"], None, r"/\.claude\.json is larger than 67108864 bytes"),
    ("a client's configuration that is to be cleaned", ["uninstall", "claude-code"], None, r"/\.claude\.json is larger than 67108864 bytes"),
    ("the token file", ["--http", "127.0.0.1:0", "--token-file", "FILE"], None, r"FILE is larger than 1048576 bytes"),
    ("the certificate", ["--http", "127.0.0.1:0", "--tls-cert", "FILE", "--tls-key", "FILE"], None, r"FILE is larger than 1048576 bytes"),
    ("a device as certificate", ["--http", "127.0.0.1:0", "--tls-cert", "/dev/zero", "--tls-key", "FILE"], None, r"/dev/zero is not a regular file"),
    ("a device as token file", ["--http", "127.0.0.1:0", "--token-file", "/dev/zero"], None, r"/dev/zero is not a regular file"),
)

DATA_BYTES = 64 * MIB  # what such a program may allocate; the kernel refuses more


class Programs(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder()
        for name in ("FILE", "FILE.lisp", ".claude.json"):
            path = os.path.join(self.root, name)
            mcp.write(path)
            os.chmod(path, 0o600)
            os.truncate(path, ENDLESS)

    def run_with(self, arguments, endless):
        # A sanitizer's own memory is far more than that.
        limit = [] if mcp.SANITIZED else ["prlimit", "--data=%d" % DATA_BYTES]
        source = subprocess.Popen([endless], stdout=subprocess.PIPE) if endless else None
        try:
            return subprocess.run(
                [*limit, mcp.SERVER, *arguments],
                stdin=source.stdout if source else subprocess.DEVNULL,
                capture_output=True, cwd=self.root, timeout=60 * mcp.STRETCH, env=mcp.clean_environment(HOME=self.root),
            )
        finally:
            if source:
                source.stdout.close()
                source.kill()
                source.wait()

    def test_each_says_what_is_too_large_and_its_bound(self):
        for name, arguments, endless, message in PROGRAMS:
            with self.subTest(name):
                done = self.run_with(arguments, endless)
                self.assertEqual(1, done.returncode, done)
                self.assertEqual(b"", done.stdout)
                self.assertRegex(done.stderr.decode(), message)
                self.assertLess(len(done.stderr), 500)


def frame(text):
    return "%08x%s" % (len(text), text)


# Code that writes these bytes to the channel again and again.
WRITING = """
(let* ((text (let ((text "%s")) (apply #'concatenate 'string (loop repeat (max 1 (floor 65536 (length text))) collect text))))
       (len (length text)) (buffer (sb-alien:make-alien (sb-alien:unsigned 8) len)))
  (dotimes (i len) (setf (sb-alien:deref buffer i) (char-code (char text i))))
  (loop (sb-alien:alien-funcall
         (sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int (* t) sb-alien:unsigned-long)) 3 buffer len)))
"""

CUT = r"\[… [\d,]+ of [\d,]+ bytes left out; get-output ref \d+ …\]"
ENDED = r"\[ERROR\] PROCESS-KILLED\nThe server ended the Lisp process, because it sent "

# name, code, what the reply says, MiB by which the server may grow
CODE = (
    ("output", '(loop (write-line "without end"))', CUT, 16),
    ("errors", '(loop (write-line "without end" *error-output*))', CUT, 16),
    ("output of a program", '(let ((yes (sb-ext:run-program "/usr/bin/yes" nil :output t :wait nil))) (sleep 1) (sb-ext:process-kill yes 9))', CUT, 16),
    ("a frame of nearly the largest size", WRITING % "00ffffff(", ENDED + "a message that cannot be read: ", 64),
    ("a frame that is too large", WRITING % "01000001(", ENDED + "something other than a message of at most 16777216 bytes", 16),
    ("messages that nobody asked for", WRITING % frame("(1 :ok)"), ENDED + "more than 100 messages that answer no request", 16),
    ("what is no frame", WRITING % "junk", ENDED + "something other than a message of at most 16777216 bytes", 16),
)

TOOLS = """
(let ((tool (first cl-mcp-agent::*tools*)))
  (setf cl-mcp-agent::*tools-told* nil
        cl-mcp-agent::*tools*
        (list (cl-mcp-agent::make-tool :name "long" :function (cl-mcp-agent::tool-function tool)
                                       :documentation (make-string %d :initial-element #\\a)))))
"""


# Code after which the Lisp reports that its evaluations took effect in thousands of pieces, each of them the whole text.
PIECES = """
(let ((honest #'cl-mcp-agent::done-part))
  (sb-ext:unlock-package :cl-mcp-agent)
  (setf (fdefinition 'cl-mcp-agent::done-part)
        (lambda (&rest arguments)
          (let ((part (apply honest arguments)))
            (when (getf part :done)
              (setf (getf part :done) (loop repeat 5000 collect (list %s nil "CL-USER" 1000))))
            part))))
"""


class Lisps(mcp.TestCase):
    def test_output_of_a_lisp_is_cut_or_ends_it(self):
        self.assertOperational()
        for name, code, message, mib in CODE:
            with self.subTest(name):
                before = mcp.peak_memory_kib(self.s.pid)
                reply = self.s.call("evaluate-lisp", code=code, timeout=2 * mcp.STRETCH, wait=60)
                self.assertRegex(reply.text, message)
                self.assertGrowth(self.s.pid, before, mib)
                self.assertOperational()

    def test_pieces_of_a_text_that_are_more_than_the_text(self):
        for start in (0, 2 * MIB - 10):
            self.s.evaluate(PIECES % start)
            self.s.evaluate("1 (car %d)" % start)
            self.s.evaluate("1 #|%s|# (car 2)" % ("é" * 2 * MIB))
            before = mcp.peak_memory_kib(self.s.pid)
            self.assertSucceeds(self.s.call("session-history", format="lisp"), "The rest of the code is left out")
            self.assertGrowth(self.s.pid, before, 256)
            restarted = self.s.call("invoke-restart", restart="RETRY", index=1)
            self.assertIn("The code evaluated since the error is too long", restarted.text)
            self.assertGrowth(self.s.pid, before, 256)
            self.s.call("reset-session")
        self.assertOperational()

    def test_a_list_of_tools_that_is_too_long_is_left_out_and_logged(self):
        self.s.evaluate('(cl-mcp:define-tool "one" () "One." 1)')
        self.assertIn("user-one", [tool["name"] for tool in self.s.request("tools/list")["tools"]])
        before = mcp.peak_memory_kib(self.s.pid)
        self.s.evaluate(TOOLS % (8 * MIB))
        self.assertEqual([], [tool["name"] for tool in self.s.request("tools/list")["tools"] if tool["name"].startswith("user-")])
        self.assertIn("the code of session default defines tools of more than 1048576 bytes; they are left out", self.s.stderr())
        self.assertGrowth(self.s.pid, before, 64)
        self.assertOperational()


class Sessions(mcp.TestCase):
    def test_what_the_server_remembers_of_a_session_is_bounded(self):
        """Its code and its errors; what it printed has a budget of its own."""
        long = "x" * (1 * MIB)
        self.assertOperational()
        before = mcp.peak_memory_kib(self.s.pid)
        for _ in range(20):
            self.s.evaluate('(progn "%s" nil)' % long)
            self.s.evaluate('(error "%s")' % long)
        self.assertIn("earlier ones are not shown", self.s.call("session-history", limit=1).text)
        self.assertGrowth(self.s.pid, before, 32)


class Saved(mcp.TestCase):
    def test_a_description_without_end_is_refused(self):
        state = self.folder()
        with self.start_server("--state-dir", state) as s:
            s.evaluate("(defvar *running* 1)")
            before = mcp.peak_memory_kib(s.pid)
            mcp.write(os.path.join(state, "big.json"))
            os.truncate(os.path.join(state, "big.json"), ENDLESS)
            reply = s.call("restore-session", name="big")
            self.assertTrue(reply.is_error)
            self.assertRegex(reply.text, r"The saved session big cannot be used: its description cannot be read \(\S+/big\.json is larger than 67108864 bytes\)")
            self.assertLess(mcp.peak_memory_kib(s.pid) - before, 16 << 10)
            self.assertValue(s.evaluate("*running*"), "1")


class Messages(mcp.TestCase):
    def test_a_line_without_end_is_dropped_at_the_bound(self):
        before = mcp.peak_memory_kib(self.s.pid)
        for _ in range(64):
            self.s.send_raw(b"x" * MIB)
        self.s.send_raw(b"\n")
        self.assertEqual("Invalid Request: a message may have at most 16777216 bytes", self.s.receive()["error"]["message"])
        self.assertGrowth(self.s.pid, before, 64)
        self.assertOperational()


class Http(mcp_http.TestCase):
    def test_a_body_without_end_is_refused_at_the_bound(self):
        headers, _ = mcp_http.modern("ping")
        before = mcp.peak_memory_kib(self.h.pid)
        head = mcp_http.request_bytes(headers={**headers, "Content-Length": None, "Transfer-Encoding": "chunked"}, body=None)
        piece = b"%x\r\n%s\r\n" % (64 << 10, b" " * (64 << 10))
        with self.h.wire() as wire:
            wire.send(head)
            for _ in range(257):
                wire.send(piece)
            wire.send(b"0\r\n\r\n")
            response = wire.receive()
            self.assertEqual(413, response.status)
            self.assertIn("at most 16777216 bytes", response.json["error"]["message"])
        with self.h.wire() as wire:
            wire.send(head)
            with self.assertRaises((ConnectionError, mcp.Gone)):
                for _ in range(1024):
                    wire.send(piece)
        self.assertGrowth(self.h.pid, before, 48)
        self.assertServes()

    def test_headers_without_end_are_refused_at_the_bound(self):
        before = mcp.peak_memory_kib(self.h.pid)
        with self.h.wire() as wire:
            try:
                wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
                for _ in range(64 * 16):
                    wire.send(b"X-Y: z\r\n" * 8192)
                self.fail("64 MiB of headers were taken")
            except (ConnectionError, mcp.Gone):
                pass
        self.assertGrowth(self.h.pid, before, 8)
        self.assertServes()
