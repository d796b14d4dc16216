"""--sandbox on older kernels and in a container: what still holds there is tried, and the program claims that and no more.

tests/proc/helpers/elsewhere.c stands for the kernel. A child's inherited descriptors on Linux 5.10: tests/proc/test_child.c."""

import os
import platform
import re
import subprocess
import sys
import unittest

import mcp
from test_sandbox import CLAIMS, HELD, LANDLOCK, PRELUDE, SIGNALS, TRUNCATE, WAYS_OUT, WITHOUT_SIGNALS, Sandbox, printed
from test_sandbox_habits import Habits

ELSEWHERE = os.path.join(os.path.dirname(mcp.SERVER), "tests", "proc", "elsewhere")
# The first Linux with each version of Landlock.
FIRST = {1: "5.13", 2: "5.19", 3: "6.2", 4: "6.7", 5: "6.10", 6: "6.12"}
KERNELS = {kernel: version for version, kernel in FIRST.items() if version <= LANDLOCK}

# What Docker leaves to root.
CAPABILITIES = "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap"
USERS = {
    "root": "setpriv --inh-caps=-all --bounding-set=-all,+" + CAPABILITIES.replace(" ", ",+"),
    "an ordinary user": "setpriv --inh-caps=-all --bounding-set=-all --reuid=1000 --regid=1000 --clear-groups",
}


@unittest.skipUnless(os.path.exists(ELSEWHERE), "the program is installed, without what stands for a kernel")
class Elsewhere(Sandbox):
    def program(self, kernel, *under):
        path = os.path.join(self.project, "on-" + kernel)
        self.write(path, '#!/bin/sh\nexec %s "%s" %s "%s" "$@"\n' % (" ".join(under), ELSEWHERE, kernel, mcp.SERVER))
        os.chmod(path, 0o755)
        return path

    def start_on(self, kernel, *options, **variables):
        return self.start(*options, program=self.program(kernel), **variables)

    def assertSays(self, client, line, kernel="this kernel"):
        """The same words at each place."""
        with self.subTest(kernel):
            self.assertIn("\nSandbox: %s\n" % line, client.call("session-info").text)
            self.assertEqual("Sandbox: " + line, client.handshake()["instructions"].split("\n")[-1])
            self.assertIn("sandbox: " + line, client.stderr())


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers of the system calls are those of x86-64")
class Kernels(Elsewhere):
    def test_all_ways_out_but_signals_are_closed(self):
        self.assertLess(len(WITHOUT_SIGNALS), len(WAYS_OUT) - 9)
        for kernel in KERNELS:
            client = self.start_on(kernel, "workspace", "--readable", self.readable)
            self.assertEachIsClosed(client, WITHOUT_SIGNALS)
            client.destroy()

    def test_the_program_claims_what_the_kernel_does(self):
        for kernel, version in KERNELS.items():
            client = self.start_on(kernel, "workspace", "--log-level", "info")
            self.assertSays(client, "workspace, network on. " + CLAIMS[version], kernel)
            client.evaluate(PRELUDE)
            with self.subTest(kernel):
                self.assertEvaluatesIn(client, "(call 62 %d 0)" % client.pid, "0" if version < 6 else "-1")
                self.assertEvaluatesIn(client, '(progn (close (open "cut" :direction :output :if-exists :supersede)) (call 76 "cut" 0))', "-13" if version < 3 else "0")
                self.assertEvaluatesIn(client, '(let ((fd (call 2 "cut" 514))) (list (plusp fd) (call 77 fd 5)))', "(T 0)")
                self.assertEvaluatesIn(client, '(progn (ensure-directories-exist "moves/") (call 86 "cut" "moves/%s"))' % kernel, "-18" if version < 2 else "0")
            client.destroy()

    def test_with_the_network_off_that_is_said(self):
        self.assertSays(self.start_on("6.1", "workspace", "--network", "off"), "workspace, network off. %s, network.%s%s" % (HELD, SIGNALS, TRUNCATE))

    def test_the_error_of_a_move_names_the_sandbox_where_that_forbids_it(self):
        move = '(progn (ensure-directories-exist "d/") (close (open "mine" :direction :output :if-exists :supersede)) (rename-file "mine" "d/mine"))'
        self.assertIsError(self.start_on("5.13", "workspace").evaluate(move), "no file can be moved or linked to another directory")
        self.assertFalse(self.start_on("5.19", "workspace").evaluate(move).is_error)

    def test_sessions_are_kept_from_each_others_memory(self):
        client = self.start_on("5.13", "workspace")
        client.call("create-session", name="other")
        other = client.evaluate("(require :sb-posix) (sb-posix:getpid)", session="other").values[-1]
        client.evaluate(PRELUDE)
        for name in ("mem", "environ", "maps"):
            self.assertEvaluatesIn(client, '(reads "/proc/%s/%s")' % (other, name), ":DENIED")
            self.assertEvaluatesIn(client, '(reads "/proc/self/%s")' % name, ":DENIED" if name == "mem" else ":READ")

    def test_strict_starts_only_where_all_of_it_holds(self):
        for kernel in (kernel for kernel, version in KERNELS.items() if version < 6):
            self.assertRefused("--sandbox-strict does not start with less than all of the sandbox. Restricted: files", "workspace", "--sandbox-strict", program=self.program(kernel))
        if LANDLOCK < 6:
            self.skipTest("this kernel is older than Linux 6.12")
        self.assertOperational(self.start_on("6.12", "workspace", "--sandbox-strict"))
        self.assertOperational(self.start("workspace", "--sandbox-strict"))

    def test_without_landlock_there_is_no_sandbox_and_everything_else_works(self):
        for kernel in ("5.12", "unused"):
            for option in ((), ("--sandbox-best-effort",)):
                self.assertRefused("it needs Landlock, which Linux has since 5.13", "workspace", *option, program=self.program(kernel))
            client = self.start_on(kernel, "off")
            self.assertOperational(client)
            self.assertIsError(client.call("create-session", name="strict", sandbox="read-only"), "it needs Landlock")
        client = self.start_on("5.10", "off")
        self.assertOperational(client)

    def test_the_option_of_former_versions_has_no_effect(self):
        client = self.start_on("6.1", "workspace", "--sandbox-best-effort")
        self.assertSays(client, "workspace, network on. " + CLAIMS[2])
        self.assertNotIn("best-effort", mcp.run("--help", "all").stdout)
        self.assertEqual(0, mcp.run("--sandbox-best-effort", "--version").returncode)

    def test_doctor_reports_the_same(self):
        for kernel in ("5.10", *KERNELS):
            report = mcp.run("doctor", program=self.program(kernel), env=mcp.clean_environment(HOME=self.home), cwd=self.project).stdout
            says = CLAIMS[KERNELS[kernel]] if kernel in KERNELS else "it needs Landlock, which Linux has since 5.13"
            self.assertIn(says, report)


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers of the system calls are those of x86-64")
class Container(Elsewhere):
    """The rules of Docker for system calls, its capabilities, and processes of its own, of which the server is the first."""

    def containers(self):
        if os.geteuid() != 0:
            self.skipTest("only root makes the namespaces of a container")
        for user, under in USERS.items():
            for top, folders, files in os.walk(os.path.dirname(self.home)):
                for name in (".", *folders, *files):
                    os.lchown(os.path.join(top, name), *([0, 0] if user == "root" else [1000, 1000]))
            wrap = "unshare --pid --mount --ipc --uts --fork --kill-child --mount-proc " + under
            if subprocess.run([*wrap.split(), "test", "-x", mcp.SERVER], capture_output=True).returncode != 0:
                self.skipTest("%s cannot reach %s in namespaces of its own" % (user, mcp.SERVER))
            yield self.program("docker", wrap)

    def test_everything_but_the_loopback_works(self):
        for program in self.containers():
            client = self.start("workspace", "--readable", self.readable, "--log-level", "info", program=program)
            self.assertSays(client, "workspace, network on. " + CLAIMS[LANDLOCK])
            client.evaluate("(defun average (numbers) (/ (reduce #'+ numbers) (length numbers)))")
            client.evaluate("(average '())")
            self.assertEqual("=> 0", client.call("evaluate-in-frame", frame=0, code="(length numbers)").text)
            self.assertErrorReport(client.evaluate("(sb-ext:exit :abort t)"), "PROCESS-EXITED")
            self.assertEvaluatesIn(client, "(average '(1 3))", "2")
            self.assertErrorReport(client.evaluate('(open "%s/new" :direction :output)' % self.out), "FILE-ERROR")
            self.assertSucceeds(client.call("save-session"))
            client.evaluate(PRELUDE)
            for name, code, expected in WAYS_OUT:
                if not {"SERVER", "OTHER", "GUARDIAN", "SHARED", "TERMINAL"}.intersection(re.findall("[A-Z]+", code)):
                    with self.subTest(name):
                        code = code.replace("OUT", self.out).replace("HOME", self.home).replace("READABLE", self.readable)
                        allowed = expected if isinstance(expected, tuple) else (expected,)
                        self.assertIn(client.evaluate(code).text, ["=> " + printed(one) for one in allowed])
            if LANDLOCK >= 6:
                self.assertEvaluatesIn(client, "(call 62 1 15)", "-1")
            client.close()

    def test_a_private_loopback_becomes_no_network_and_that_is_said(self):
        missing = " There is no network: a private loopback needs user namespaces, which this system does not allow."
        for program in self.containers():
            client = self.start("workspace", "--network", "loopback", program=program)
            self.assertSays(client, "workspace, network loopback. " + CLAIMS[LANDLOCK].replace(".", ", network.", 1) + missing)
            client.evaluate(PRELUDE)
            self.assertEvaluatesIn(client, "(call 41 2 1 0)", "-13")
            client.close()
            self.assertRefused(missing, "workspace", "--network", "loopback", "--sandbox-strict", program=program)

    def test_doctor_says_what_is_missing(self):
        for program in self.containers():
            report = mcp.run("doctor", program=program, env=mcp.clean_environment(HOME=self.home, XDG_CACHE_HOME=None), cwd=self.project)
            self.assertIn("this system allows no user namespaces", report.stdout)
            self.assertIn("a sandboxed session could write inside its directory and not outside\n", report.stdout)
            self.assertEqual(0, report.returncode, report.stdout)


class HabitsOnKernels(Habits, Elsewhere):
    MOVING = {"a hard link lies in another directory", "two names are exchanged"}

    def test_each_works_as_outside(self):
        self.assertHabits(self.start_on("6.1", "workspace", "--readable", sys.base_prefix))

    def test_each_that_moves_nothing_works_on_the_first_kernel_with_landlock(self):
        self.assertHabits(self.start_on("5.13", "workspace", "--readable", sys.base_prefix), without=self.MOVING)
