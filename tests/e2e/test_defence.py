"""What evaluated code may try against the server itself: floods, and what the program is built with."""

import platform
import re
import subprocess
import time
import unittest

import mcp


def frame(text):
    return "%08x%s" % (len(text), text)


# A child that writes the same frames to the channel until the channel is closed, and the Lisp that started it ends.
# The loop is foreign code only, so that nothing of it depends on the Lisp's own state after the fork.
FLOOD = """
(let* ((text "%s") (len (length text))
       (buffer (sb-alien:make-alien (sb-alien:unsigned 8) len)))
  (dotimes (i len) (setf (sb-alien:deref buffer i) (char-code (char text i))))
  (dotimes (i 3)
    (when (zerop (sb-alien:alien-funcall (sb-alien:extern-alien "fork" (function sb-alien:int))))
      (loop (when (minusp (sb-alien:alien-funcall
                           (sb-alien:extern-alien "write" (function sb-alien:long sb-alien:int (* t) sb-alien:unsigned-long))
                           3 buffer len))
              (sb-alien:alien-funcall (sb-alien:extern-alien "_exit" (function sb-alien:void sb-alien:int)) 0)))))
  %s)
"""
STRAY = frame("(1 :ok)") * 500
PROGRESS = frame('(0 :progress :message "x")') * 500


class Floods(mcp.TestCase):
    def flood(self, frames, then):
        """The code in one session; meanwhile another one and a ping are answered."""
        self.s.call("create-session", name="other")
        pending = self.s.start_call("evaluate-lisp", code=FLOOD % (frames.replace('"', '\\"'), then))
        for _ in range(20):
            start = time.monotonic()
            self.s.request("ping")
            self.assertEqual("=> 2", self.s.evaluate("2", session="other").text)
            # A server that is held up by the flood answers when the flood ends, which it never does.
            self.assertLess(time.monotonic() - start, mcp.DEFAULT_LIMIT / 2)
        pending.result()
        self.assertEqual("=> 3", self.s.evaluate("3").text)

    def test_children_that_write_without_end_while_their_parent_dies(self):
        self.flood(STRAY, "(sb-ext:exit :abort t)")

    def test_children_that_write_without_end_while_their_parent_sleeps(self):
        self.flood(STRAY, "(sleep 1)")

    def test_children_that_report_progress_without_end(self):
        self.flood(PROGRESS, "(progn (sleep 1) (sb-ext:exit :abort t))")

    def test_a_program_that_goes_on_writing_after_its_evaluation(self):
        """It is read at a bounded rate into bounded memory, named, and can be ended."""
        self.s.call("create-session", name="other")
        reply = self.s.evaluate('(sb-ext:run-program "/usr/bin/yes" nil :output t)', timeout=1)
        self.assertIn("time limit of 1 s", reply.text)
        named = re.search(r"Programs: yes \(process (\d+)\)", self.s.call("session-info").text)
        before = mcp.peak_memory_kib(self.s.pid)
        for _ in range(200):
            self.assertEqual("=> 2", self.s.evaluate("2", session="other").text)
        reply = self.s.evaluate("2")
        self.assertIn("[output between calls]\ny [… ", reply.text)
        self.assertRegex(reply.text, r"of [\d,]+ bytes left out")
        self.assertTrue(reply.text.endswith("=> 2"), reply.text[-100:])
        ref = int(re.search(r"get-output ref (\d+)", reply.text).group(1))
        self.assertRegex(self.s.call("get-output", ref=ref, offset=65000, length=1000).text, r"\[bytes 65536 to \d+ were not kept")
        self.assertGrowth(self.s.pid, before, 16)
        self.s.evaluate("(progn (require :sb-posix) (funcall (intern \"KILL\" :sb-posix) %s 9))" % named.group(1))
        mcp.wait_until(lambda: "Programs" not in self.s.call("session-info").text, 10, "the end of the program")

    def test_the_log_stays_short(self):
        self.flood(STRAY, "(sleep 1)")
        self.assertLess(len(self.s.stderr()), 4000)


PROGRAM = '(sb-ext:process-pid (sb-ext:run-program "/bin/sleep" (list "1000") :wait nil))'
# One that has left its parent, and so belongs to nobody but the server.
DAEMON = """(parse-integer (with-output-to-string (out)
              (sb-ext:run-program "/bin/sh" '("-c" "sleep 1000 >/dev/null 2>&1 & echo $!") :output out)))"""
MANY = "i=0; while [ $i -lt 1300 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done"


class StartedPrograms(mcp.TestCase):
    """What evaluated code has started ends with its process, however that ends, and nobody else's."""

    def start(self, session, code=PROGRAM):
        pid = int(self.s.evaluate(code, session=session).value)
        self.assertIn("Programs: sleep (process %d)" % pid, self.s.call("session-info", session=session).text)
        return pid

    def gone(self, pid):
        mcp.wait_until(lambda: not mcp.is_alive(pid), 5, "the end of the program")

    def test_they_end_with_the_process_and_nobody_elses_do(self):
        self.s.call("create-session", name="mine")
        self.s.call("create-session", name="other")
        for code in PROGRAM, DAEMON:
            for how, arguments in (
                ("evaluate-lisp", {"code": "(sb-ext:exit :abort t)"}),
                ("close-session", {}),
                ("reset-session", {}),
            ):
                with self.subTest(how, code=code):
                    if how == "reset-session":
                        self.s.call("create-session", name="mine")
                    mine, other = self.start("mine", code), self.start("other", code)
                    self.s.call(how, session="mine", **arguments)
                    self.gone(mine)
                    self.assertTrue(mcp.is_alive(other))
                    self.s.call("reset-session", session="other")
                    self.gone(other)

    def test_they_end_however_many_they_are(self):
        self.s.call("create-session", name="other")
        other = self.start("other", DAEMON)
        before = len(self.children())
        self.s.evaluate("(sb-ext:run-program \"/bin/sh\" '(\"-c\" \"%s\"))" % MANY)
        self.assertGreater(len(self.children()), before + 1200)
        self.s.evaluate("(sb-ext:exit :abort t)")
        mcp.wait_until(lambda: len(self.children()) < before + 20, 30, "the end of the programs")  # 20: copies come and go
        self.assertTrue(mcp.is_alive(other))

    def children(self):
        return [pid for pid in mcp.pids() if mcp.parent_of(pid) == self.s.pid]


# Copies of the process are reported as this process.
LIE = """
(let ((honest #'cl-mcp-agent::send-message))
  (sb-ext:unlock-package :cl-mcp-agent)
  (setf (fdefinition 'cl-mcp-agent::send-message)
        (lambda (message)
          (let ((at (and (consp message) (member :pid message))))
            (when at (setf (second at) %d))
            (funcall honest message)))))
"""


class Lies(mcp.TestCase):
    def test_a_session_that_claims_the_processes_of_others_ends_none_of_them(self):
        pid = "(progn (require :sb-posix) (funcall (intern \"GETPID\" :sb-posix)))"
        self.s.call("create-session", name="other")
        other = int(self.s.evaluate(pid, session="other").values[-1])
        daemons = [int(self.s.evaluate(DAEMON.replace("sleep", sleep), session="other").value) for sleep in ("sleep", "env -i sleep")]
        children = [child for child in mcp.pids() if mcp.parent_of(child) == self.s.pid]
        self.assertLessEqual({other, *daemons}, set(children))
        for claimed in children:
            self.s.call("create-session", name="liar")
            self.s.evaluate(LIE % claimed, session="liar")
            for _ in range(12):  # more than there are checkpoints, so that some are dropped
                self.s.evaluate("1", session="liar")
            self.s.evaluate("(car 42)", session="liar")
            self.s.call("close-session", session="liar")
            self.assertTrue(mcp.is_alive(claimed), claimed)
        self.assertEqual(str(other), self.s.evaluate(pid, session="other").values[-1])
        self.assertOperational()


class Program(mcp.TestCase):
    """The options of the compiler and the linker, read from the program itself."""

    def read(self, *what):
        program = mcp.SERVER
        return subprocess.run(["readelf", "-W", *what, program], capture_output=True, text=True, check=True).stdout

    def test_relocations_are_resolved_at_the_start_and_read_only_afterwards(self):
        self.assertIn("GNU_RELRO", self.read("-l"))
        self.assertRegex(self.read("-d"), r"BIND_NOW|FLAGS_1.*NOW")

    def test_the_stack_is_not_executable_and_the_program_can_be_anywhere(self):
        self.assertRegex(self.read("-l"), r"GNU_STACK.* RW +0x")
        self.assertRegex(self.read("-h"), r"Type: +DYN")

    def test_calls_of_the_c_library_are_checked_and_so_is_the_stack(self):
        if mcp.SANITIZED:
            self.skipTest("the sanitizers do these checks")
        symbols = self.read("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        self.assertRegex(symbols, r"__(snprintf|memcpy|vsnprintf)_chk")

    @unittest.skipUnless(platform.machine() == "x86_64", "the instruction is one of x86-64")
    def test_jumps_land_where_they_may(self):
        self.assertGreater(mcp.read_bytes(mcp.SERVER).count(b"\xf3\x0f\x1e\xfa"), 100)  # endbr64

    @unittest.skipUnless(platform.machine() == "x86_64", "the instruction is one of x86-64")
    def test_no_page_of_the_stack_is_skipped(self):
        if mcp.SANITIZED:
            self.skipTest("clang, which builds the sanitizers, probes the pages by other instructions")
        with open(mcp.SERVER, "rb") as program:
            # sub $0x1000,%rsp and orq or orb $0,(%rsp), between the pages of a large frame
            self.assertRegex(program.read(), rb"\x48\x81\xec\x00\x10\x00\x00(\x48\x83|\x80)\x0c\x24\x00")
