"""--control-groups: a control group of version 2 for each session, inside one that is delegated to the server."""

import os
import shutil
import unittest

import mcp

# Where version 2 is mounted: by itself, or beside version 1, which then may have all controllers.
MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")

LEAVES = """(sb-ext:process-pid (sb-ext:run-program "/usr/bin/env" '("-i" "/usr/bin/setsid" "/bin/sh" "-c" "/bin/sleep 1000 & exec /bin/true") :wait t :output nil))"""
FORKS = """(let ((made (loop repeat 200
                  for process = (handler-case (sb-ext:run-program "/bin/sleep" '("1000") :wait nil) (error () nil))
                  while process collect process)))
  (mapc (lambda (process) (sb-ext:process-kill process 9)) made)
  (< 0 (length made) 100))"""
TAKES_MEMORY = (
    "(loop (let ((block (sb-alien:make-alien (sb-alien:unsigned 8) %d)))"
    " (dotimes (i %d) (setf (sb-alien:deref block (* i 4096)) 1))))" % (16 << 20, (16 << 20) >> 12)
)


def processes(group):
    with open(os.path.join(group, "cgroup.procs")) as f:
        return [int(line) for line in f]


class Delegated(mcp.TestCase):
    def setUp(self):
        super().setUp()
        mount = next((m for m in MOUNTS if os.path.exists(os.path.join(m, "cgroup.controllers"))), None)
        if mount is None:
            raise unittest.SkipTest("no control groups of version 2 are mounted")
        self.group = "%s/cl-mcp-test-%d" % (mount, os.getpid())
        try:
            os.mkdir(self.group)
        except OSError as error:
            raise unittest.SkipTest("no control group can be made here: %s" % error) from None
        self.addCleanup(self.remove)

    def remove(self):
        for name in os.listdir(self.group):
            if os.path.isdir(os.path.join(self.group, name)):
                mcp.wait_until(lambda name=name: self.is_removed(os.path.join(self.group, name)), 10, "an empty group")
        mcp.wait_until(lambda: self.is_removed(self.group), 10, "an empty control group")

    def is_removed(self, group):
        try:
            os.rmdir(group)
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True

    def start(self, *options):
        folder = mcp.tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        program = os.path.join(folder, "start")
        mcp.write(program, '#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s "$@"\n' % (self.group, mcp.SERVER), 0o755)
        return self.start_server("--control-groups", *options, program=program)

    def needs(self, controller):
        with open(os.path.join(self.group, "cgroup.controllers")) as f:
            if controller not in f.read().split():
                raise unittest.SkipTest("no %s controller for groups of version 2" % controller)

    def groups(self):
        return [os.path.join(self.group, n) for n in os.listdir(self.group) if n.startswith("session-")]

    def test_a_session_with_its_copies_and_programs_is_in_its_group(self):
        s = self.start()
        self.assertIn(s.pid, processes(os.path.join(self.group, "server")))
        s.call("create-session", name="other")
        pid = int(s.evaluate("(sb-posix:getpid)").value)
        program = int(s.evaluate("""(sb-ext:process-pid (sb-ext:run-program "/bin/sleep" '("1000") :wait nil))""").value)
        other = int(s.evaluate("(sb-posix:getpid)", session="other").value)
        first, second = sorted(self.groups(), key=lambda group: pid not in processes(group))
        self.assertLessEqual({pid, program}, set(processes(first)))
        self.assertGreater(len(processes(first)), 2, "its checkpoints are in it too")
        self.assertIn(other, processes(second))
        s.evaluate("(sb-ext:exit :abort t)")
        self.assertIn(int(s.evaluate("(sb-posix:getpid)").value), processes(first), "so is the state returned to")

    def test_a_restored_session_is_in_its_group(self):
        folder = mcp.tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        s = self.start("--state-dir", folder)
        s.evaluate("(defvar *kept* 1)")
        s.call("save-session")
        s.call("restore-session")
        pid = int(s.evaluate("(+ (* 0 *kept*) (sb-posix:getpid))").value)
        self.assertEqual(1, len(self.groups()))
        self.assertIn(pid, processes(self.groups()[0]))

    def test_programs_that_hide_end_with_the_session(self):
        s = self.start()
        s.evaluate(LEAVES)
        group = self.groups()[0]
        hidden = []

        def is_alone():
            hidden[:] = set(processes(group)) - set(mcp.marked(s.mark))
            return len(hidden) == 1

        mcp.wait_until(is_alone, 10, "a program without a mark whose parent has ended")
        s.call("close-session", session="default")
        mcp.wait_until(lambda: not os.path.exists("/proc/%d" % hidden[0]), 10, "the end of the program")
        mcp.wait_until(lambda: not os.path.exists(group) or processes(group) == [], 10, "the end of all the session's processes")

    def test_the_groups_go_with_the_server(self):
        s = self.start()
        s.evaluate("1")
        s.close()
        self.assertEqual([], self.groups())

    def test_a_session_that_starts_too_many_processes_is_refused_more(self):
        self.needs("pids")
        s = self.start()
        s.evaluate("1")
        limit = os.path.join(self.groups()[0], "pids.max")
        with open(limit, "r+") as f:
            self.assertEqual("4096\n", f.read())
            f.write("100")  # so many processes as it is allowed would take minutes
        self.assertEqual("T", s.evaluate(FORKS).value)
        self.assertEqual("=> 3", s.evaluate("(+ 1 2)").text)

    def test_a_session_that_takes_more_than_its_memory_is_killed_and_no_other(self):
        self.needs("memory")
        s = self.start("--max-memory", "400")
        s.call("create-session", name="other")
        s.evaluate("(defvar *kept* 1)", session="other")
        s.evaluate("(defvar *before* 1)")
        reply = s.evaluate(TAKES_MEMORY)
        self.assertIn("The kernel ran out of memory then and probably killed it.", reply.text)
        self.assertEqual("=> 1", s.evaluate("*before*").text)
        self.assertEqual("=> 1", s.evaluate("*kept*", session="other").text)


class NotDelegated(mcp.TestCase):
    def test_the_server_does_not_start(self):
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.getuid() == 0 else ()
        said = self.assertDoesNotStart("--control-groups: ", "--control-groups", under=nobody, cwd="/")
        self.assertRegex(said, "--control-groups: (cannot make groups in /sys/fs/cgroup.*Delegate=yes|no control groups of version 2)")
