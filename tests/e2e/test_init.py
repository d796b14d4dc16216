"""What runs before the first evaluation: the user's init file, --load, --preload; one that fails costs no more than itself."""

import glob
import os
import pty
import shlex
import shutil
import subprocess

import mcp


class Terminal(mcp.TestCase):
    def test_a_person_who_starts_it_in_a_terminal_is_told_that_a_client_is_expected(self):
        person, terminal = pty.openpty()
        process = subprocess.Popen([mcp.SERVER], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=mcp.clean_environment(**{mcp.MARK: mcp.file_mark()}))
        os.close(terminal)
        try:
            self.assertIn("standard input is a terminal, where a client is expected", process.stderr.readline())
        finally:
            os.close(person)  # which ends the input
            self.assertEqual(("", 0), (process.communicate(timeout=20 * mcp.STRETCH)[0], process.returncode))

    def test_a_client_is_not(self):
        self.assertEqual("", self.s.stderr())


class UserInit(mcp.TestCase):
    def start_with(self, text, *options):
        home = self.folder()
        if text is not None:
            mcp.write(os.path.join(home, ".sbclrc"), text)
        return self.start_server(*options, environment=mcp.clean_environment(HOME=home))

    def assertReportedOnce(self, client, *words):
        first = client.evaluate("(+ 1 2)")
        self.assertValue(first, "3")
        for word in words:
            self.assertIn(word.lower(), first.text.lower())
        self.assertEqual("=> 3", client.evaluate("(+ 1 2)").text)

    def test_a_good_one_is_loaded_into_every_session_and_not_mentioned(self):
        client = self.start_with("(defvar cl-user::*from-init* 42)")
        self.assertEqual("=> 42", client.evaluate("*from-init*").text)
        client.call("create-session", name="other")
        self.assertValue(client.evaluate("*from-init*", session="other"), "42")
        client.call("reset-session")
        self.assertValue(client.evaluate("*from-init*"), "42")

    def test_a_missing_one_is_not_mentioned(self):
        client = self.start_with(None)
        self.assertEqual("=> 3", client.evaluate("(+ 1 2)").text)

    def test_one_that_fails_is_reported_and_its_earlier_definitions_are_kept(self):
        client = self.start_with('(defvar cl-user::*before* 1)\n(error "the init file is broken")\n(defvar cl-user::*after* 1)')
        self.assertReportedOnce(client, ".sbclrc", "the init file is broken")
        self.assertValue(client.evaluate("(list (boundp '*before*) (boundp '*after*))"), "(T NIL)")

    def test_one_that_cannot_be_read_exits_or_stops_is_reported(self):
        for text, word in (("(defvar cl-user::*x* (list 1 2", ".sbclrc"), ("(no-such-package:function)", ".sbclrc"), ("(sb-ext:exit :code 3)", "init file"),
                           ("(sb-ext:exit :abort t)", "init file"), ("(sb-posix:kill (sb-posix:getpid) 9)", "init file"),
                           ("(require :sb-posix) (sb-posix:kill (sb-posix:getpid) 9)", "init file"), ('(break "in init")', ".sbclrc"),
                           ("(invoke-debugger (make-condition 'simple-condition :format-control \"x\"))", ".sbclrc")):
            with self.subTest(text):
                self.assertReportedOnce(self.start_with(text), word)

    def test_one_that_never_ends_delays_no_other_request(self):
        # test_session.c tests that it is given up and reported.
        client = self.start_with("(loop)")
        self.assertEqual({}, client.request("ping", wait=2))
        self.assertIn("tools", client.request("tools/list", wait=2))
        self.assertEqual([], client.stray)

    def test_one_that_prints_disturbs_nothing(self):
        client = self.start_with('(format t "hello from init~%") (format *error-output* "and stderr~%") (print :x)')
        self.assertReportedOnce(client)
        self.assertEqual([], client.stray)

    def test_one_that_starts_threads_is_reported_and_the_session_works(self):
        client = self.start_with("(sb-thread:make-thread (lambda () (loop (sleep 1))) :name \"from-init\")")
        self.assertReportedOnce(client, "thread")
        client.call("create-session", name="other")
        self.assertValue(client.evaluate("1", session="other"), "1")
        client.call("reset-session")
        self.assertOperational(client)

    def test_one_that_breaks_the_printer_or_the_package_disturbs_nothing(self):
        client = self.start_with("(setf *print-base* 2) (setf *read-base* 16) (defpackage :elsewhere (:use :cl)) (in-package :elsewhere)")
        self.assertValue(client.evaluate("(list 9)"), "(9)")
        self.assertIn(client.evaluate("(package-name *package*)").value, ('"COMMON-LISP-USER"', '"ELSEWHERE"'))

    def test_no_userinit_skips_it(self):
        client = self.start_with('(defvar cl-user::*from-init* 42) (error "must not run")', "--no-userinit")
        self.assertEqual("=> NIL", client.evaluate("(boundp '*from-init*)").text)

    def test_userinit_selects_another(self):
        path = self.file("(defvar cl-user::*from-other* 1)", "init.lisp")
        client = self.start_with("(defvar cl-user::*from-init* 42)", "--userinit", path)
        self.assertValue(client.evaluate("(list (boundp '*from-other*) (boundp '*from-init*))"), "(T NIL)")

    def test_what_does_not_exist_is_reported(self):
        for option, name in (("--userinit", "/nonexistent/init.lisp"), ("--load", "/nonexistent/file.lisp"), ("--preload", "no-such-system-anywhere")):
            with self.subTest(option):
                self.assertReportedOnce(self.start_with(None, option, name), name)


class Load(mcp.TestCase):
    def test_files_are_loaded_in_order_into_every_session(self):
        first, second = self.file("(defvar cl-user::*order* (list 1))"), self.file("(push 2 cl-user::*order*)")
        client = self.start_server("--load", first, "--load", second)
        self.assertEqual("=> (2 1)", client.evaluate("*order*").text)
        client.call("create-session", name="other")
        self.assertValue(client.evaluate("*order*", session="other"), "(2 1)")
        client.evaluate("(push 3 *order*)")
        client.call("reset-session")
        self.assertValue(client.evaluate("*order*"), "(2 1)")

    def test_one_that_fails_or_exits_is_reported_and_the_others_are_loaded(self):
        good = self.file("(defvar cl-user::*good* 1)", "good.lisp")
        for text in ('(error "bad file")', "(sb-ext:exit :abort t)", "(list"):
            with self.subTest(text):
                bad = self.file(text, "bad.lisp")
                client = self.start_server("--load", bad, "--load", good)
                first = client.evaluate("(boundp '*good*)")
                self.assertEqual("T", first.value, first.text)
                self.assertIn("bad.lisp", first.text)

    def test_paths_are_relative_to_the_directory(self):
        path = self.file("(defvar cl-user::*relative* 1)", "relative.lisp")
        client = self.start_server("--load", "relative.lisp", "--directory", os.path.dirname(path))
        self.assertEqual("T", client.evaluate("(boundp '*relative*)").value)
        client = self.start_server("--load", "relative.lisp", cwd=os.path.dirname(path))
        self.assertEqual("T", client.evaluate("(boundp '*relative*)").value)


class Preload(mcp.TestCase):
    def test_systems_are_loaded_in_every_session(self):
        client = self.start_server("--preload", "alexandria", "--preload", "cl-ppcre")
        self.assertEqual("=> (0 1 2)", client.evaluate("(alexandria:iota 3)", wait=120).text)
        self.assertValue(client.evaluate('(cl-ppcre:split "," "a,b")'), '("a" "b")')
        client.call("create-session", name="other")
        self.assertValue(client.evaluate("(alexandria:iota 2)", session="other"), "(0 1)")

    def test_systems_that_the_init_file_loads_are_loaded(self):
        home = self.folder()
        mcp.write(os.path.join(home, ".sbclrc"), '(require :asdf) (asdf:load-system "alexandria")')
        client = self.start_server(environment=mcp.clean_environment(HOME=home))
        self.assertValue(client.evaluate("(alexandria:iota 3)", wait=120), "(0 1 2)")


class Cache(mcp.TestCase):
    def copy_of_the_server(self):
        """A copy of the server without its core beside it."""
        program = os.path.join(self.folder(), "cl-mcp-server")
        shutil.copy(mcp.SERVER, program)
        return program

    def test_a_core_that_is_damaged_is_built_anew_and_then_used(self):
        """In the home directory, because the cache cannot be written. With none at all, test_session.c and doctor build one."""
        program, home = self.copy_of_the_server(), self.folder()
        good, = glob.glob(os.path.join(os.path.dirname(mcp.SERVER), "agent-*.core"))
        core = mcp.write(os.path.join(home, ".cache", "cl-mcp-server", os.path.basename(good)), mcp.read_bytes(good)[:100000], 0o600)
        environment = mcp.clean_environment(XDG_CACHE_HOME="/proc/nowhere", HOME=home)
        client = self.start_server(program=program, environment=environment)
        client.request("tools/list", wait=5)
        self.assertValue(client.evaluate("(+ 1 2)", wait=90), "3")
        self.assertEqual([os.path.basename(good)], os.listdir(os.path.dirname(core)))
        built = os.stat(core)
        self.assertGreater(built.st_size, os.path.getsize(good) / 2)
        again = self.start_server(program=program, environment=environment)
        self.assertValue(again.evaluate("(+ 1 2)"), "3")
        self.assertEqual(built.st_mtime_ns, os.stat(core).st_mtime_ns)

    def test_a_damaged_core_that_cannot_be_replaced_is_named_at_each_call(self):
        program = self.copy_of_the_server()
        folder = os.path.dirname(program)
        core, = glob.glob(os.path.join(os.path.dirname(mcp.SERVER), "agent-*.core"))
        damaged = os.path.join(folder, os.path.basename(core))
        mcp.write(damaged, "damaged")
        # As root, only a file system that is read-only refuses.
        mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        namespace = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, folder]
        if subprocess.run([*namespace, "true"], capture_output=True).returncode != 0:
            self.skipTest("this machine mounts nothing for a test")
        start = os.path.join(self.folder(), "server")
        mcp.write(start, "#!/bin/sh\nexec %s \"$@\"\n" % " ".join(shlex.quote(word) for word in [*namespace, program]), 0o755)
        client = self.start_server(program=start)
        for _ in range(2):
            self.assertIsError(client.evaluate("(+ 1 2)"), "cannot write %s." % damaged)
