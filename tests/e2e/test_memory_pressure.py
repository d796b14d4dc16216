"""Memory that runs out: sessions whose copies grow, and a control group in which the kernel kills."""

import os
import re
import shutil
import unittest

import mcp

MOST_MIB = 300

# Each evaluation writes all of it anew, so that no copy shares it with the next.
REFILL = "(progn (fill *data* %d) (length *data*))"
DATA = "(progn (defvar *data* (make-array %d :element-type '(unsigned-byte 8))) (fill *data* 1) t)"

GROUPS = "/sys/fs/cgroup/memory"


class Sessions(mcp.TestCase):
    options = ("--max-memory", str(MOST_MIB))

    def held_mib(self, texts=None):
        """What session-info says, once all of it could be read; its texts are added to these."""
        text = self.s.call("session-info").text
        if texts is not None:
            texts.append(text)
        found = re.search(r"^Memory: ([\d,.]+) MiB( or more)? in", text, re.M)
        return None if found is None or found.group(2) else float(found.group(1).replace(",", ""))

    def test_copies_that_grow_are_dropped_and_the_reply_reports_it(self):
        self.s.evaluate(DATA % (64 << 20))
        texts = [self.s.evaluate(REFILL % i).text for i in range(8)]
        # All of this is 64 MiB for each checkpoint and for the process itself. It is measured within a second or so.
        mcp.wait_until(lambda: (self.held_mib(texts) or 9999) <= MOST_MIB, 20, "copies that are dropped")
        texts.append(self.s.evaluate("*package*").text)
        said = [text for text in texts if "--max-memory" in text]
        self.assertTrue(said, texts)
        self.assertRegex(said[0], r"held \d+ MiB, more than --max-memory allows \(%d MiB\)" % MOST_MIB)
        self.assertIn("only the newest was kept", said[0])
        self.assertLessEqual(self.s.call("list-checkpoints").text.count("state after evaluation"), 2)
        self.assertEvaluates("(aref *data* 0)", "7")

    def test_a_session_below_it_keeps_its_checkpoints(self):
        self.s.evaluate(DATA % (8 << 20))
        for i in range(8):
            self.assertNotIn("--max-memory", self.s.evaluate(REFILL % i).text)
        self.assertEqual("=> T", self.s.evaluate("t").text)


class Expendable(mcp.TestCase):
    """Whom the kernel ends first when memory runs out."""

    def score(self, pid):
        return int(mcp.read("/proc/%d/oom_score_adj" % pid))

    def test_copies_before_sessions_before_the_server(self):
        session = int(self.s.evaluate("(sb-posix:getpid)").value)
        self.s.evaluate("1")
        self.assertIn("evaluation 2", self.s.call("list-checkpoints").text)
        server = self.score(self.s.pid)
        scores = {pid: self.score(pid) - server for pid in mcp.marked(self.s.mark)}
        self.assertEqual(300, scores[session])
        self.assertIn(600, scores.values(), "no copy goes before the session")

    def test_a_state_that_was_returned_to_is_a_session_again(self):
        self.s.evaluate("(defvar *a* 1)")
        self.s.evaluate("(sb-ext:exit :abort t)")
        pid = int(self.s.evaluate("(sb-posix:getpid)").value)
        self.assertEqual(300, self.score(pid) - self.score(self.s.pid))


class ControlGroup(mcp.TestCase):
    """The server in a memory control group of 700 MiB, whose sessions take what there is."""

    def setUp(self):
        super().setUp()
        self.group = "%s/cl-mcp-test-%d" % (GROUPS, os.getpid())
        try:
            os.mkdir(self.group)
            self.write("memory.limit_in_bytes", "%d" % (700 << 20))
        except OSError as error:
            raise unittest.SkipTest("no memory control group can be made here: %s" % error) from None
        self.addCleanup(self.remove)

    def remove(self):
        mcp.wait_until(lambda: self.try_to_remove(), 10, "an empty control group")

    def try_to_remove(self):
        try:
            os.rmdir(self.group)
            return True
        except OSError:
            return False

    def write(self, name, text):
        mcp.write("%s/%s" % (self.group, name), text)

    def start(self, *options):
        program = os.path.join(self.folder(), "start")
        mcp.write(program, '#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s "$@"\n' % (self.group, mcp.SERVER), 0o755)
        return self.start_server(*options, program=program)

    def folder(self):
        folder = mcp.tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def test_a_session_that_takes_all_memory_is_killed_and_the_reply_reports_it(self):
        s = self.start()
        s.call("create-session", name="other")
        s.evaluate("(defvar *kept* 1)", session="other")
        s.evaluate("(defvar *before* 1)")
        reply = s.evaluate(
            "(loop (let ((block (sb-alien:make-alien (sb-alien:unsigned 8) %d)))"
            " (dotimes (i %d) (setf (sb-alien:deref block (* i 4096)) 1))))" % (16 << 20, (16 << 20) >> 12)
        )
        self.assertTrue(reply.is_error)
        self.assertIn("The kernel ran out of memory then and probably killed it.", reply.text)
        self.assertEqual("=> 1", s.evaluate("*before*").text)
        self.assertEqual("=> 1", s.evaluate("*kept*", session="other").text)
        self.assertEqual("=> 3", s.evaluate("(+ 1 2)").text)

    def test_copies_go_before_the_group_is_full(self):
        s = self.start()
        s.evaluate(DATA % (64 << 20))
        for i in range(14):
            self.assertEqual("=> %d" % (64 << 20), s.evaluate(REFILL % i).text.splitlines()[0])
