"""Joining the Lisp that a person runs: how it is reached, what works there, and that it goes on in every case."""

import concurrent.futures
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest
import urllib.request

import joining
import mcp
import mcp_http
import swank_client


class NobodyThere(mcp.TestCase):
    def serve(self, function):
        server = joining.FalseServer(function)
        self.addCleanup(server.end)
        return server

    def free_port(self):
        with socket.create_server(("127.0.0.1", 0)) as s:
            return s.getsockname()[1]

    def assertNotJoined(self, client, *parts):
        reply = client.call("evaluate-lisp", code="(+ 1 2)")
        self.assertTrue(reply.is_error, reply.text)
        for part in parts:
            self.assertIn(part, reply.text)
        return reply

    def test_each_call_says_that_nothing_answers_and_how_to_start_a_server(self):
        port = self.free_port()
        client = self.start_server("--attach", "127.0.0.1:%d" % port)
        for _ in range(2):
            self.assertNotJoined(client, "Nothing answers at 127.0.0.1:%d" % port, "(swank:create-server :port %d" % port)
        self.assertRegex(client.call("list-sessions").text, "default: absent.*image 127.0.0.1:%d" % port)

    def test_auto_says_where_it_has_looked(self):
        folder = self.folder()
        port = self.free_port()
        with open(os.path.join(folder, ".slynk-port"), "w", encoding="ascii") as f:
            f.write("%d\n" % port)
        os.mkdir(os.path.join(folder, "src"))
        client = self.start_server("--attach", "auto", cwd=os.path.join(folder, "src"))
        self.assertNotJoined(client, "127.0.0.1:%d, as %s says" % (port, os.path.join(folder, ".slynk-port")))

    def test_a_server_that_talks_otherwise_is_named_as_such(self):
        def serve(connection):
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.recv(100000)

        client = self.start_server("--attach", self.serve(serve).address)
        self.assertNotJoined(client, "Something listens at", "it is no Swank or Slynk server")

    def test_a_server_that_hangs_up_is_asked_for_with_each_secret(self):
        seen = []

        def serve(connection):
            seen.append(joining.read_packet(connection))
            connection.shutdown(socket.SHUT_RDWR)

        home = self.folder()
        for name in (".slime-secret", ".sly-secret"):
            with open(os.path.join(home, name), "w", encoding="ascii") as f:
                f.write("secret of %s\nno part of it\n" % name)
        client = self.start_server("--attach", self.serve(serve).address, environment={"HOME": home})
        self.assertNotJoined(client, "another secret than that of %s" % os.path.join(home, ".sly-secret"))
        self.assertEqual(["secret of .slime-secret", "secret of .sly-secret"], seen)

    def test_silence_is_reported_within_seconds_and_slynk_too_can_read_what_is_asked_first(self):
        seen = []

        def serve(connection):
            seen.append(joining.read_packet(connection))
            connection.recv(1)

        client = self.start_server("--attach", self.serve(serve).address)
        self.assertNotJoined(client, "it does not answer", "there is no ~/.slime-secret")
        # Its reader knows lists, strings, symbols, numbers and quotes, and no other macro characters.
        outside_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", seen[0], flags=re.S)
        self.assertNotRegex(outside_strings, "[#`,;|]")

    def test_a_server_that_does_not_read_is_hung_up_on(self):
        ping = lambda size: joining.packet('(:ping 1 "%s")' % ("x" * size))
        for large, times, most_mib in ((ping(1 << 20), 300, 30), (ping(3000) * 350, 150, 100)):
            is_cut = threading.Event()

            def serve(connection, large=large, times=times, is_cut=is_cut):
                joining.read_packet(connection)
                try:
                    for _ in range(times):
                        connection.sendall(large)
                except OSError:
                    is_cut.set()

            client = self.start_server("--attach", self.serve(serve).address)
            before = mcp.peak_memory_kib(client.pid)
            reply = client.call("evaluate-lisp", code="1")
            self.assertGrowth(client.pid, before, most_mib)
            if most_mib == 100:
                self.assertIn("it does not read what it is sent", reply.text)
                self.assertTrue(is_cut.wait(30 * mcp.STRETCH))

    def test_false_answers_harm_nothing(self):
        answers = [
            "(:return (:ok 7) 1)",
            "(:return (:ok nil) 1)",
            "(:return (:abort \"no\") 1)",
            "(:return (:abort \"%s\") 1)" % ("abort " * 20000),
            "(:return (:ok (:failed \"the disk is full\")) 1)",
            "(:return (:ok (:implementation \"X\" :version \"1\" :agent \"old\" :standing 3)) 1)",
            "(:return)(:return (:ok 1) 99)(:ping)" * 1000,
            "((((" * 1000,
            ":return",
        ]
        for answer in answers:
            def serve(connection, answer=answer):
                joining.read_packet(connection)
                connection.sendall(joining.packet("(:indentation-update ((\"foo\" . 1)))") + joining.packet(answer))
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 20)

            client = self.start_server("--attach", self.serve(serve).address)
            reply = self.assertNotJoined(client, "next call" if "old" not in answer and "return (:" not in answer else "")
            if "abort abort" in answer:
                self.assertIn("the agent could not be loaded there: abort abort", reply.text)
                self.assertLess(len(reply.text), 1000)


LISTEN = """
import os, socket, sys
os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
listening = socket.create_server((sys.argv[2], 0), family=family, dualstack_ipv6=sys.argv[2] == "::")
print(listening.getsockname()[1], flush=True)
connection, _ = listening.accept()
length = connection.recv(6)
print(connection.recv(int(length, 16))[:30] if length else b"", flush=True)
"""


class Whose(mcp.TestCase):
    """Listeners of this user and of another one, who would like to have the secret."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.home = self.folder()
        mcp.write(os.path.join(self.home, ".slime-secret"), "the-secret\n")

    def listen(self, user, at="127.0.0.1"):
        listener = subprocess.Popen([sys.executable, "-c", LISTEN, str(user), at], stdout=subprocess.PIPE, text=True, cwd="/")
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        return listener, int(listener.stdout.readline())

    def join(self, listener, *options, **named):
        """The reply to a call, and what came first to the listener."""
        client = self.start_server(*options, environment={"HOME": self.home}, **named)
        reply = client.call("evaluate-lisp", code="1")
        self.assertTrue(reply.is_error)
        return reply.text, listener.stdout.readline().strip()

    def test_auto_tells_another_users_listener_nothing(self):
        for at in ("127.0.0.1", "0.0.0.0", "::"):
            with self.subTest(at):
                listener, port = self.listen(65534, at)
                mcp.write(os.path.join(self.home, ".swank-port"), "%d\n" % port)
                reply, seen = self.join(listener, "--attach", "auto", "--attach-secret", cwd=self.home)
                self.assertEqual("b''", seen)
                self.assertRegex(reply, r"Nothing was sent to the server at 127.0.0.1:%d, as %s/.swank-port says: it belongs to another user of this machine \(user id 65534\)\..*--attach 127.0.0.1:%d" % (port, self.home, port))

    def test_auto_sends_the_secret_to_ones_own_listener(self):
        for at in ("127.0.0.1", "0.0.0.0", "::"):
            with self.subTest(at):
                listener, port = self.listen(os.geteuid(), at)
                mcp.write(os.path.join(self.home, ".swank-port"), "%d\n" % port)
                self.assertEqual("b'the-secret'", self.join(listener, "--attach", "auto", cwd=self.home)[1])

    def test_code_in_a_sandbox_is_not_taken_for_the_persons_image(self):
        """It may listen and is of the same user, but may not read the secret."""
        project = os.path.join(self.home, "project")
        os.mkdir(project)
        sandboxed = self.start_server("--sandbox", "workspace", "--directory", project, environment=mcp.clean_environment(HOME=self.home))
        sandboxed.evaluate("(require :sb-bsd-sockets)")
        reply = sandboxed.evaluate("""(let ((socket (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)))
            (sb-bsd-sockets:socket-bind socket #(127 0 0 1) 0) (sb-bsd-sockets:socket-listen socket 5)
            (defvar *socket* socket) (nth-value 1 (sb-bsd-sockets:socket-name socket)))""")
        mcp.write(os.path.join(project, ".swank-port"), reply.value)
        client = self.start_server("--attach", "auto", environment={"HOME": self.home}, cwd=project)
        self.assertIsError(client.call("evaluate-lisp", code="1"), "Nothing was sent", "belongs to a program in a sandbox")

    def test_an_address_that_is_given_gets_the_secret_if_it_is_ones_own_or_an_option_says_so(self):
        for at, address in (("127.0.0.1", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("0.0.0.0", "0.0.0.0"), ("::1", "[::1]"), ("::", "[::]"), ("::", "127.0.0.1")):
            for user, options, is_sent in ((os.geteuid(), (), True), (65534, (), False), (65534, ("--attach-secret",), True)):
                with self.subTest(at, address=address, user=user, options=options):
                    listener, port = self.listen(user, at)
                    reply, seen = self.join(listener, "--attach", "%s:%d" % (address, port), *options)
                    self.assertRegex(seen, "the-secret" if is_sent else r"\(:emacs-rex \(cl:handler-case")
                    self.assertEqual(not is_sent, "would send it the one in %s/.slime-secret, which was not sent because the server belongs to another user" % self.home in reply, reply)


@unittest.skipIf(joining.why_not(), joining.why_not())
class ImageTest(mcp.TestCase):
    """One image for all tests of a class; each test has a server of its own that joins it."""

    @classmethod
    def setUpClass(cls):
        folder = mcp.tempfile.mkdtemp(prefix="cl-mcp-test-")
        cls.addClassCleanup(mcp.shutil.rmtree, folder, True)
        cls.image_folder = folder
        cls.image = joining.Image(folder)
        cls.addClassCleanup(cls.image.end)

    def setUp(self):
        super().setUp()
        self.options = ("--attach", self.image.address)

    def person(self):
        person = self.image.person()
        self.addCleanup(person.close)
        return person

    def threads(self, person):
        """The names of the threads that have not to do with Swank."""
        printed = person.evaluate('(mapcar (function sb-thread:thread-name) (sb-thread:list-all-threads))')
        return sorted(name for name in swank_client.parse(printed) if name.startswith("agent"))

    def await_no_threads(self):
        person = self.person()
        mcp.wait_until(lambda: self.threads(person) == [], 20, "the end of the agent's threads")


class Evaluating(ImageTest):
    def test_values_output_and_warnings_come_as_from_an_own_lisp(self):
        self.assertEvaluates("(values 1 2 :three)", "1", "2", ":THREE")
        report = self.s.evaluate('(progn (format t "to out") (format *error-output* "to err") (warn "mind") 7)')
        self.assertValue(report, "7")
        for part in ("to out", "to err", "mind"):
            self.assertIn(part, report.text)
        self.assertEqual(["stdout", "stderr"], [name for name in report.sections if name.startswith("std")])
        self.assertEqual(["5 "], [self.s.evaluate("(read-line)", stdin="5 ").values[0].strip('"')])

    def test_the_package_the_readtable_and_the_star_variables_are_the_sessions_own(self):
        person = self.person()
        self.s.evaluate("(defpackage :of-the-agent (:use :cl))")
        self.s.evaluate("(in-package :of-the-agent)")
        self.assertEvaluates("(values (package-name *package*) *)", '"OF-THE-AGENT"', "#<PACKAGE \"OF-THE-AGENT\">")
        self.assertIn("COMMON-LISP-USER", person.evaluate("(package-name *package*)"))
        self.assertIn("COMMON-LISP-USER", person.evaluate("(package-name (symbol-value '*package*))"))
        self.s.evaluate("(setf *print-base* 16 *readtable* (copy-readtable nil)) (set-macro-character #\\! (constantly 7))")
        self.assertEvaluates("(list ! *print-base*)", "(7 16)")
        self.assertEqual("10", person.evaluate("*print-base*"))
        self.assertEqual("NIL", person.evaluate("(values (get-macro-character #\\!))"))

    def test_both_see_the_same_definitions(self):
        person = self.person()
        self.s.evaluate("(defun by-the-agent () :agents)")
        self.assertEqual(":AGENTS", person.evaluate("(by-the-agent)"))
        person.evaluate("(defun by-the-person () :persons)")
        self.assertEvaluates("(by-the-person)", ":PERSONS")

    def test_an_error_stands_and_is_entered_while_others_are_evaluated(self):
        self.s.evaluate("(defun half (number) (declare (optimize debug)) (let ((wanted (list 2))) (list (/ number (first wanted)) wanted)))")
        report = self.assertFails("(half :ten)", "TYPE-ERROR")
        self.assertIn("(HALF :TEN)", report.text)
        self.assertEvaluates("(+ 1 2)", "3")
        self.assertFails("(car 7)", "TYPE-ERROR")
        number = self.s.newest_error() - 1
        frame = next(i for i, line in enumerate(report.frames) if "(HALF" in line)
        self.assertValue(self.s.call("evaluate-in-frame", frame=frame, index=number, code="(list number wanted)"), "(:TEN (2))")
        self.assertValue(self.s.call("return-from-frame", frame=frame, index=number, value="(list :instead wanted)"), "(:INSTEAD (2))")
        self.assertIn("cannot be entered", self.s.call("list-errors").text)

    def test_an_error_that_holds_the_compilers_lock_does_not_hold_the_person_up(self):
        report = self.assertFails("(defclass shared () ((x :allocation :class :initform (error \"no value\"))))", "SIMPLE-ERROR")
        self.assertIn("had to leave it at once", self.s.call("list-errors").text)
        self.assertIn("(LAMBDA NIL)", report.text)
        person = self.person()
        self.assertIn("OF-THE-PERSON", person.evaluate("(class-name (defclass of-the-person () ()))"))

    def test_restarts_continue_the_evaluation(self):
        self.assertFails('(list 1 (restart-case (error "stop") (use-value (value) value)))', "SIMPLE-ERROR")
        self.assertValue(self.s.call("invoke-restart", restart="USE-VALUE", value="(+ 20 2)"), "(1 22)")

    def test_a_time_limit_interrupts_and_the_evaluation_can_go_on(self):
        self.s.evaluate("(defvar *is-enough* nil)")
        report = self.assertFails("(loop until *is-enough* do (sleep 0.01) finally (return :done))", "TIMEOUT", timeout=0.3)
        self.assertIn("interrupted where it was", report.text)
        self.s.evaluate("(setf *is-enough* t)")
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE"), ":DONE")

    def test_code_that_no_interrupt_reaches_is_left_alone_and_named(self):
        report = self.assertFails("(sb-sys:without-interrupts (sleep 8))", "TIMEOUT", timeout=0.3)
        self.assertIn("nothing in a joined image is killed", report.text)
        self.assertRegex(report.text, r"it still runs there, in the thread \S")
        self.assertOperational()

    def test_a_look_up_is_answered_while_code_runs(self):
        self.s.evaluate("(defvar *stop* nil)")
        running = self.s.start_call("evaluate-lisp", code="(loop until *stop* do (sleep 0.01) finally (return :stopped))")
        mcp.wait_until(lambda: "running for" in self.s.call("session-info").text, 10, "the evaluation to run")
        self.assertIn("CAR", self.s.call("describe-symbol", name="car").text)
        self.assertIn("(EVAL (LOOP", self.s.call("get-backtrace").text)
        person = self.person()
        person.evaluate("(setf *stop* t)")
        self.assertValue(running.reply(), ":STOPPED")

    def test_look_ups_work(self):
        self.s.evaluate("(defclass shape () ((size :initarg :size)))")
        self.s.evaluate("(defgeneric area (shape))")
        self.s.evaluate("(defmethod area ((shape shape)) (* 2 (slot-value shape 'size)))")
        self.assertIn("SIZE", self.s.call("class-info", **{"class": "shape"}).text)
        self.assertIn("AREA", self.s.call("find-methods", **{"generic-function": "area"}).text)
        self.assertIn("(if x", self.s.call("macroexpand-form", form="(when x 1)").text)
        self.assertIn("main thread", self.s.call("list-threads").text)
        self.assertIn(":SIZE", self.s.call("inspect-object", code="'(:size 3)").text)
        self.s.evaluate("(list :size 4)")
        self.assertIn(":SIZE", self.s.call("inspect-object", handle="v5").text)
        self.assertIn("evaluation 3", self.s.call("find-definition", name="area", type="method").text)


class Refusing(ImageTest):
    def test_each_tool_that_cannot_work_says_why_and_what_to_do(self):
        self.assertOperational()
        for tool, arguments, part in (
            ("checkpoint-session", {"name": "here"}, "no checkpoints"),
            ("rollback-session", {"to": "1"}, "no checkpoints"),
            ("save-session", {}, "neither saved nor"),
            ("configure-limits", {"max-heap": 4096}, "neither max-heap nor"),
            ("configure-limits", {"checkpoint-limit": 4}, "neither max-heap nor"),
        ):
            with self.subTest(tool=tool):
                reply = self.s.call(tool, arguments)
                self.assertTrue(reply.is_error, reply.text)
                self.assertIn("image that a person runs", reply.text)
                self.assertIn(part, reply.text)
        for tool in ("session-info", "configure-limits"):
            self.assertIn("timeout", self.s.call(tool).text)
            self.assertNotRegex(self.s.call(tool).text, "max-heap|checkpoint-limit|Checkpoints:")
        self.assertOperational()

    def test_clients_over_http_may_not_have_the_server_connect_anywhere(self):
        for options, part in (((), "attach is refused over HTTP"), (("--allow-attach",), "created: SBCL")):
            server = mcp_http.HttpServer(*options)
            self.addCleanup(server.end)
            session = mcp_http.Session(server)
            self.assertIn(part, session.call("create-session", attach=self.image.address))


class Looking(ImageTest):
    def test_a_server_that_only_looks_lists_and_performs_nothing_that_evaluates(self):
        person = self.person()
        person.evaluate('(progn (defvar *left-alone* 1) (defun twice-of (x) (* 2 x)))')
        self.options += ("--attach-read-only",)
        listed = {tool["name"] for tool in self.s.request("tools/list")["tools"]}
        self.assertLessEqual({"describe-symbol", "get-backtrace", "list-errors", "list-threads", "session-info"}, listed)
        for tool, arguments in (("evaluate-lisp", {"code": "(incf *left-alone*)"}),
                                ("macroexpand-form", {"form": "(m #.(incf *left-alone*))"}),
                                ("compile-form", {"code": "(eval-when (:compile-toplevel) (incf *left-alone*))"}),
                                ("kill-thread", {"thread": "1", "force": True})):
            with self.subTest(tool):
                self.assertNotIn(tool, listed)
                reply = self.s.call(tool, arguments)
                self.assertTrue(reply.is_error)
                self.assertIn("only looks at the Lisp that it has joined", reply.text)
        self.assertIn("(X)", self.s.call("describe-symbol", name="twice-of").text)
        self.assertEqual("1", person.evaluate("*left-alone*"))


class Coming(ImageTest):
    def test_auto_finds_the_port_file_of_the_project(self):
        folder = self.folder()
        with open(os.path.join(folder, ".swank-port"), "w", encoding="ascii") as f:
            f.write("%d" % self.image.port)
        client = self.start_server("--attach", "auto", cwd=folder)
        self.assertOperational(client)
        self.assertRegex(client.call("list-sessions").text, r"default: idle.*image SBCL \S+ at %s, Swank" % self.image.address)

    def test_an_image_is_one_session_beside_others(self):
        client = self.start_server()
        reply = client.call("create-session", name="theirs", attach=self.image.address)
        self.assertRegex(reply.text, "Session theirs created: SBCL .* at %s" % self.image.address)
        client.evaluate("(defvar *where* :in-the-image)", session="theirs")
        self.assertValue(client.evaluate("*where*", session="theirs"), ":IN-THE-IMAGE")
        self.assertTrue(client.evaluate("*where*").is_error)

    def test_several_sessions_share_the_image_and_nothing_else(self):
        other = self.start_server(*self.options)
        self.assertFails('(error "of the first")', "SIMPLE-ERROR")
        self.assertIn("No errors", other.call("list-errors").text)
        other.evaluate("(in-package :cl)")
        self.assertEvaluates("(package-name *package*)", '"COMMON-LISP-USER"')
        other.evaluate("(defvar cl-user::*shared* 5)")
        self.assertEvaluates("*shared*", "5")

    def test_the_right_secret_opens(self):
        home = self.folder()
        with open(os.path.join(home, ".slime-secret"), "w", encoding="ascii") as f:
            f.write("sesame")
        image = joining.Image(home, home=home)
        self.addCleanup(image.end)
        client = self.start_server("--attach", image.address, environment={"HOME": home, "XDG_CACHE_HOME": joining.cache()})
        self.assertOperational(client)

    def test_an_image_loads_nothing_that_another_user_could_have_written(self):
        cache = self.folder()
        for said in ("", "is not a directory that only this user can change"):
            image = joining.Image(self.folder())
            self.addCleanup(image.end)
            client = self.start_server("--attach", image.address, environment={"XDG_CACHE_HOME": cache})
            self.assertValue(client.evaluate("(+ 1 2)", wait=120), "3")
            self.assertIn(said, client.stderr())
            for folder, _, files in os.walk(cache):
                for name in files:
                    if name.endswith((".lisp", ".fasl")):
                        mcp.write(os.path.join(folder, name), '(error "forged")')
            os.chmod(os.path.join(cache, "cl-mcp-server"), 0o777)

    def test_an_image_that_cannot_read_our_files_gets_the_source(self):
        image = joining.Image(self.folder())
        self.addCleanup(image.end)
        client = self.start_server("--attach", image.address, environment={"XDG_CACHE_HOME": "/dev/null"})
        report = client.evaluate("(+ 1 2)", wait=120)
        self.assertValue(report, "3")


APPLICATION = """(progn (defun serve (number) (declare (optimize debug)) (list :served (/ 10 number)))
(defvar *request* nil)
(setf *request* (sb-thread:make-thread (lambda () (serve 0)) :name "request"))
(sleep 0.2) :began)"""


class Together(ImageTest):
    def test_each_is_told_what_the_other_does(self):
        person = self.person()
        self.s.evaluate("(+ 1 2)")
        person.evaluate("(defun of-the-person () 1)")
        self.assertTrue(person.event("background-message")[1].endswith("e2e (default): (+ 1 2)"))
        report = self.s.evaluate("(of-the-person)")
        self.assertValue(report, "1")
        self.assertIn("The person evaluated (defun of-the-person () 1)", report.text)
        self.assertNotIn("The person", self.s.evaluate("(of-the-person)").text)
        person.evaluate("(defvar *later* (progn (print 1) 2))")
        # Swank tells the agent before it answers the person, but the server learns it a moment later.
        histories = []

        def knows():
            histories.append(self.s.call("session-history").text)
            return "*later*" in histories[-1]

        mcp.wait_until(knows, 30, "the person's last act")
        self.assertRegex(
            histories[-1],
            r"(?s)\n1\. \S+ CL-USER\n   \(\+ 1 2\)\n- \S+Z The person evaluated \(defun of-the-person \(\) 1\)\n2\. "
            r".*\n3\. .*\n- \S+Z The person evaluated \(defvar \*later\* \(progn \(print 1\) 2\)\)(\n\n\[Session\]|$)",
        )
        self.assertNotIn("The person", self.s.call("session-history", format="lisp").text)

    def test_both_print_much_at_the_same_time(self):
        person = self.person()
        flood = '(progn (dotimes (n 20000) (format t "line ~d of a flood~%" n)) :flooded)'
        self.assertOperational()
        running = self.s.start_call("evaluate-lisp", code=flood)
        self.assertIn(":FLOODED", person.request("(swank:interactive-eval %s)" % swank_client.quote(flood)))
        report = running.reply()
        self.assertValue(report, ":FLOODED")
        self.assertIn("line 19999 of a flood", report.stdout)

    def test_errors_in_the_persons_debugger_are_nested(self):
        person = self.person()
        self.assertOperational()
        person.begin('(swank:interactive-eval "(error \\"the first\\")")')
        thread = person.debugger("the first")
        mcp.wait_until(lambda: "SIMPLE-ERROR: the first" in self.s.call("list-errors").text, 10, "the first error")
        nested = person.begin('(swank:eval-string-in-frame "(error \\"the second\\")" 0 "CL-USER")', thread=thread)
        person.debugger("the second", level=2)
        mcp.wait_until(lambda: self.s.evaluate("1") and "the second (can be entered)" in self.s.call("list-errors").text, 10, "the second error")
        self.assertIn("no longer stopped there", self.s.call("evaluate-in-frame", index=1, frame=0, code="1", force=True).text)
        self.assertValue(self.s.call("evaluate-in-frame", index=2, frame=0, code="(list 5)", force=True), "(5)")
        # The person leaves both; and then the editor, in the middle of another one.
        person.leave_debugger(thread)
        with self.assertRaises(swank_client.Aborted):
            person.end(nested)
        self.assertEqual("3", person.evaluate("(+ 1 2)"))
        person.begin('(swank:interactive-eval "(error \\"the third\\")")')
        mcp.wait_until(lambda: self.s.evaluate("1") and "the third (can" in self.s.call("list-errors").text, 10, "the third error")
        person.close()
        self.assertOperational()
        self.assertEqual("3", self.person().evaluate("(+ 1 2)"))

    def test_a_silent_server_announces_nothing(self):
        person = self.person()
        client = self.start_server("--announce", "off", *self.options)
        self.assertOperational(client)
        person.evaluate("1")
        self.assertFalse([event for event in person.events if event[0] == "background-message"])

    def test_an_error_of_the_program_is_the_persons_until_force_is_given(self):
        person = self.person()
        person.evaluate("1")
        self.assertOperational()
        person.evaluate(APPLICATION)
        report = self.s.evaluate("1")
        self.assertIn("In the person's debugger, in thread request (error 1): DIVISION-BY-ZERO", report.text + self.s.call("session-info").text)
        person.debugger("DIVISION-BY-ZERO")
        self.assertIn("in thread request: DIVISION-BY-ZERO", self.s.call("list-errors").text)
        self.assertIn("NUMBER = 0", self.s.call("get-backtrace", index=1, locals=True).text)
        reply = self.s.call("evaluate-in-frame", index=1, frame=0, code="number")
        self.assertTrue(reply.is_error)
        self.assertIn("Pass force", reply.text)
        for tool, arguments in (("evaluate-in-frame", {"code": "1"}), ("return-from-frame", {}), ("restart-frame", {})):
            reply = self.s.call(tool, arguments, index=1, frame=50, force=True)
            self.assertTrue(reply.is_error)
            self.assertRegex(reply.text, "^There is no frame 50: this error has 1 frame, numbered from 0; see get-backtrace")
        # Those of Swank's debugger, which return to it, do not count.
        self.assertIn("no restart 2. It has 1. ABORT.", self.s.call("invoke-restart", index=1, restart="2", force=True).text)
        self.assertValue(self.s.call("evaluate-in-frame", index=1, frame=0, code="(list number)", force=True), "(0)")
        report = self.s.call("evaluate-in-frame", index=1, frame=0, code="(no-such-function)", force=True)
        self.assertEqual(["(NO-SUCH-FUNCTION)", "(EVAL (NO-SUCH-FUNCTION))"], report.frames)
        self.s.call("return-from-frame", index=1, frame=0, value=":mended", force=True)
        self.assertEvaluates("(sb-thread:join-thread *request* :default :ended)", ":MENDED")
        self.assertEqual("3", person.evaluate("(+ 1 2)"))


SHOP = """(require :asdf)
(asdf:load-system :hunchentoot)
(defun price (item) (declare (optimize debug)) (let ((table '((:tea . 3) (:cake . nil)))) (* 2 (cdr (assoc item table)))))
(eval (read-from-string "(progn
  (setf hunchentoot:*catch-errors-p* nil)
  (hunchentoot:define-easy-handler (shop :uri \\"/price\\") (item) (princ-to-string (price (intern (string-upcase item) :keyword))))
  (defvar *shop* (hunchentoot:start (make-instance 'hunchentoot:easy-acceptor :port 0 :address \\"127.0.0.1\\"
                                                   :access-log-destination nil :message-log-destination nil)))
  (format t \\"~&shop ~d.~%\\" (hunchentoot:acceptor-port *shop*)))"))"""


class WithoutEditor(ImageTest):
    def start_program(self, form, name):
        """Have a person who leaves then start a thread of the program, which fails when nobody is there."""
        self.assertOperational()
        person = self.image.person()
        person.evaluate('(progn (defvar *gate* (sb-thread:make-semaphore)) (defvar *program* (sb-thread:make-thread (lambda ()'
                        ' (sb-thread:wait-on-semaphore *gate*) %s) :name "%s")) 1)' % (form, name))
        person.close()
        self.addCleanup(self.image.forget_definitions)
        self.s.evaluate("(progn (sb-thread:signal-semaphore *gate*) nil)")

    def test_an_error_of_the_programs_thread_is_listed_and_mended(self):
        self.s.evaluate("(progn (defvar *result* nil) (defun inverse (x) (/ 1 x)))")
        self.start_program("(setf *result* (inverse 0))", "program")
        mcp.wait_until(lambda: self.s.evaluate("1") and "in thread program: DIVISION-BY-ZERO" in self.s.call("list-errors").text, 20, "the error")
        number = re.search(r"(?m)^(\d+)\. .*in thread program", self.s.call("list-errors").text).group(1)
        frame = re.search(r"(?m)^(\d+): \(INVERSE 0\)", self.s.call("get-backtrace", index=int(number)).text).group(1)
        where = {"index": int(number), "frame": int(frame)}
        # While an editor is connected, somebody is there; another agent is nobody.
        person = self.person()
        person.evaluate("1")
        self.assertIn("Pass force to act on it all the same", self.s.call("restart-frame", where).text)
        person.close()
        self.start_server(*self.options).evaluate("1")
        mcp.wait_until(lambda: self.s.evaluate("(null (cl-mcp-agent::persons-connections))").values == ["T"], 20, "the end of the connection")
        self.assertEvaluates("*result*", "NIL")
        self.s.evaluate("(defun inverse (x) (if (zerop x) :none (/ 1 x)))")
        self.assertSucceeds(self.s.call("restart-frame", where))
        mcp.wait_until(lambda: self.s.evaluate("*result*").values == [":NONE"], 20, "the thread has continued")

    def test_the_next_reply_tells_of_it(self):
        self.start_program('(error "not seen yet")', "waits")
        self.image.await_print("not seen yet")
        self.assertRegex(self.s.evaluate("(+ 1 2)").text, r"in thread waits \(error \d+\): SIMPLE-ERROR: not seen yet")
        self.s.evaluate("(sb-thread:terminate-thread *program*)")

    def test_leaving_lets_it_stand(self):
        self.start_program('(error "of the program")', "program")
        mcp.wait_until(lambda: self.s.evaluate("1") and "in thread program" in self.s.call("list-errors").text, 20, "the error")
        self.assertEqual("Session default closed. Its image continues.", self.s.call("close-session", session="default").text.strip())
        person = self.person()
        self.assertIn("program", person.evaluate('(sb-thread:thread-name (find "program" (sb-thread:list-all-threads) :key (function sb-thread:thread-name) :test (function equal)))'))
        person.evaluate('(sb-thread:terminate-thread (find "program" (sb-thread:list-all-threads) :key (function sb-thread:thread-name) :test (function equal)))')


@unittest.skipUnless(mcp.shutil.which("emacs"), "Emacs is not installed")
class InterruptedBothWays(ImageTest):
    """SLIME and the agent work in one image; each interrupts what is its own, and the person what is the agent's."""

    WAITS = "(loop until (eql %s *stop*) do (sleep 0.01) finally (return :stopped))"

    def setUp(self):
        super().setUp()
        self.emacs = joining.Emacs(self.folder())
        self.addCleanup(self.emacs.end)
        self.emacs('(slime-connect "127.0.0.1" %d)' % self.image.port)
        self.assertEqual("t", self.emacs("(and (await #'slime-connected-p) t)"))
        self.s.evaluate("(defparameter *stop* nil)")

    def waits(self, number):
        """Code that waits for NUMBER in *STOP* and tells when it begins: interrupted before its first form, a thread can
        only be ended, and SLIME's buffer stays."""
        self.s.evaluate("(defparameter *has-begun* nil)")
        return "(progn (setf *has-begun* t) %s)" % (self.WAITS % number)

    def await_begin(self):
        self.assertEqual("t", self.emacs("""(await (lambda () (slime-eval 'cl-user::*has-begun*)))"""))

    def begin(self, **arguments):
        """Have the agent evaluate what waits."""
        running = self.s.start_call("evaluate-lisp", code=self.waits(1), **arguments)
        self.await_begin()
        return running

    def interrupt_the_agents(self):
        """As with the thread list of SLIME."""
        self.emacs("""(let* ((rows (cdr (slime-eval '(swank:list-threads))))
                             (place (seq-position rows "evaluation" (lambda (row word) (string-match word (cadr row))))))
                        (slime-eval-async (list 'swank:debug-nth-thread place) #'ignore))""")
        self.assertIn("sldb", self.emacs("(mapcar #'buffer-name (await #'sldb-buffers))"))

    def leave(self, command):
        self.emacs("(with-current-buffer (car (sldb-buffers)) (%s))" % command)
        self.assertEqual("t", self.emacs("(await (lambda () (null (sldb-buffers))))"))

    def test_each_interrupts_its_own(self):
        self.emacs("(slime-eval-async '(swank:interactive-eval \"%s\") #'ignore)" % self.waits(2))
        self.await_begin()
        running = self.begin(timeout=int(2 * mcp.STRETCH))
        self.emacs("(slime-interrupt)")
        self.assertIn("sldb", self.emacs("(mapcar #'buffer-name (await #'sldb-buffers))"))
        self.assertErrorReport(running.reply(), "TIMEOUT")
        self.assertIn("Interrupt from Emacs", self.s.call("list-errors").text)
        self.leave("sldb-abort")
        self.s.evaluate("(setf *stop* 1)")
        self.assertValue(self.s.call("invoke-restart", index=self.s.newest_error(), restart="CONTINUE"), ":STOPPED")

    def test_the_person_interrupts_the_agents_evaluation_and_lets_it_go_on(self):
        running = self.begin()
        self.interrupt_the_agents()
        note = r"The person has stopped agent \d+: evaluation \d+, which stands in their debugger: Interrupt from Emacs"
        mcp.wait_until(lambda: re.search(note, self.s.call("session-info").text), 10, "the note")
        self.emacs("""(slime-eval '(swank:interactive-eval "(setf *stop* 1)"))""")
        self.leave("sldb-continue")
        self.assertValue(running.reply(), ":STOPPED")

    def test_the_person_ends_the_agents_evaluation(self):
        for command, said in (("sldb-abort", "the restart ABORT ended the evaluation"),
                              ("sldb-quit", "The thread of the evaluation was ended")):
            with self.subTest(command):
                running = self.begin()
                self.interrupt_the_agents()
                self.leave(command)
                report = running.reply()
                self.assertIn(said, report.text)
                self.assertOperational()

    def test_a_time_limit_comes_while_the_person_looks(self):
        running = self.begin(timeout=int(5 * mcp.STRETCH))
        self.interrupt_the_agents()
        report = self.assertErrorReport(running.reply(), "TIMEOUT")
        self.assertOperational()
        # The later one stands above the person's debugger and is the agent's to leave, by the outermost ABORT.
        outermost = re.findall(r"(?m)^(\d+)\. \[ABORT\]", report.text)[-1]
        self.s.call("invoke-restart", index=self.s.newest_error(), restart=outermost)
        self.assertEqual("t", self.emacs("(await (lambda () (null (sldb-buffers))))"))
        self.assertOperational()


@unittest.skipIf(joining.why_not(), joining.why_not())
@unittest.skipUnless(mcp.shutil.which("emacs"), "Emacs is not installed")
class WithEmacs(mcp.TestCase):
    """SLIME is connected to a Lisp with a running web application; the agent comes to it."""

    def get(self, item):
        with urllib.request.urlopen("http://127.0.0.1:%d/price?item=%s" % (self.shop, item), timeout=60 * mcp.STRETCH) as reply:
            return reply.read().decode()

    def test_the_agent_enters_the_error_of_a_request_mends_the_function_and_lets_it_go_on(self):
        folder = self.folder()
        image = joining.Image(folder, SHOP)
        self.addCleanup(image.end)
        self.shop = int(image.await_print(r"shop (\d+)\.", 300).group(1))
        mcp.write(os.path.join(folder, ".swank-port"), str(image.port))
        emacs = joining.Emacs(folder)
        self.addCleanup(emacs.end)
        emacs('(slime-connect "127.0.0.1" %d)' % image.port)
        self.assertEqual("t", emacs("(and (await #'slime-connected-p) t)"))
        client = self.start_server("--attach", "auto", "--tools", "full", cwd=folder)
        self.assertValue(client.evaluate("(price :tea)"), "6")
        self.assertIn("(price :tea)", emacs("(await (lambda () told))"))
        emacs("""(slime-eval '(swank:interactive-eval "(defvar *of-the-person* 1)"))""")

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            request = pool.submit(self.get, "cake")
            self.assertIn("sldb", emacs("(mapcar #'buffer-name (await #'sldb-buffers))"))
            # The agent looks at what opens in a debugger after that has opened.
            told = []
            seen = "TYPE-ERROR: The value NIL is not of type NUMBER (can be entered)"
            mcp.wait_until(lambda: told.append(client.call("list-errors").text) or seen in told[-1], 10, seen)
            self.assertIn("The person evaluated (defvar *of-the-person* 1)", told[0])
            frames = client.call("get-backtrace", index=1).text
            client.evaluate("(defun price (item) (* 2 (cdr (assoc item '((:tea . 3) (:cake . 4))))))")
            frame = int(re.search(r"(?m)^(\d+): \(PRICE :CAKE\)", frames).group(1))
            self.assertIn("Pass force", client.call("restart-frame", index=1, frame=frame).text)
            client.call("restart-frame", index=1, frame=frame, force=True)
            self.assertEqual("8", request.result(30 * mcp.STRETCH))
        self.assertEqual("t", emacs("(await (lambda () (null (sldb-buffers))))"))

        client.close()
        self.assertEqual("t", emacs("(and (slime-connected-p) t)"))
        emacs("(slime-disconnect)")
        self.assertEqual("8", self.get("cake"))


@unittest.skipIf(joining.why_no_slynk(), joining.why_no_slynk())
class WithSlynk(mcp.TestCase):
    def test_an_image_with_slynk_is_joined_and_left_as_one_with_swank(self):
        image = joining.Image(self.folder(), server="slynk")
        self.addCleanup(image.end)
        person = image.person()
        self.addCleanup(person.close)
        names = lambda: {name for name in swank_client.parse(person.evaluate("(mapcar 'sb-thread:thread-name (sb-thread:list-all-threads))"))}
        self.options = ("--attach", image.address, "--tools", "full")
        self.assertOperational()
        self.assertIn("Slynk 1.", self.s.call("list-sessions").text)
        self.assertTrue(person.event("background-message")[1].endswith("e2e (default): (+ 1 2)"))
        person.evaluate("(defun inverse (x) (declare (optimize debug)) (list (/ 10 x)))")
        report = self.s.evaluate("(restart-case (inverse 0) (use-it (value) value))")
        self.assertErrorReport(report, "DIVISION-BY-ZERO")
        self.assertIn("The person evaluated (defun inverse (x)", report.text)
        self.assertValue(self.s.call("evaluate-in-frame", index=1, frame=0, code="(list x)"), "(0)")
        self.assertValue(self.s.call("invoke-restart", index=1, restart="USE-IT", value="5"), "5")

        failing = person.begin('(slynk:interactive-eval "(restart-case (inverse 0) (use-it (value) value))")')
        person.debugger("DIVISION-BY-ZERO")
        mcp.wait_until(lambda: "thread slynk-worker: DIVISION-BY-ZERO" in self.s.call("list-errors").text, 10, "the person's error")
        self.assertIn("Pass force", self.s.call("evaluate-in-frame", index=2, frame=0, code="(list x)").text)
        self.assertValue(self.s.call("evaluate-in-frame", index=2, frame=0, code="(list x)", force=True), "(0)")
        self.s.call("invoke-restart", index=2, restart="USE-IT", value="7", force=True)
        self.assertIn("7", person.end(failing))

        self.assertErrorReport(self.s.evaluate("(car 1)"), "TYPE-ERROR")
        self.assertIn("1 error that stood there is unwound", self.s.call("close-session", session="default").text)
        mcp.wait_until(lambda: not [name for name in names() if name.startswith("agent")], 20, "the end of the agent's threads")
        self.assertEqual("NIL", person.evaluate("(sb-int:encapsulated-p 'slynk::dispatch-event 'cl-mcp-agent::cl-mcp-agent)"))


class Leaving(ImageTest):
    def test_closing_unwinds_what_stands_and_leaves_the_image(self):
        self.s.evaluate('(defvar *unwound* nil)')
        self.assertFails('(unwind-protect (error "a") (setf *unwound* t))', "SIMPLE-ERROR")
        reply = self.s.call("close-session", session="default")
        self.assertIn("Its image continues; 1 error that stood there is unwound.", reply.text)
        self.await_no_threads()
        self.assertEqual("T", self.person().evaluate("*unwound*"))
        self.assertEvaluates("*unwound*", "T")

    def test_the_end_of_the_server_ends_its_threads_only(self):
        client = self.start_server(*self.options)
        self.assertErrorReport(client.evaluate('(error "a")'))
        client.evaluate("(defparameter *mine* (sb-thread:make-thread (lambda () (sleep 1000)) :name \"mine\"))")
        client.close()
        self.await_no_threads()
        person = self.person()
        self.assertEqual("T", person.evaluate("(sb-thread:thread-alive-p *mine*)"))
        person.evaluate("(sb-thread:terminate-thread *mine*)")

    def test_a_server_that_is_killed_leaves_nothing(self):
        client = self.start_server(*self.options)
        self.assertErrorReport(client.evaluate('(error "a")'))
        client.process.kill()
        client.process.wait()
        self.await_no_threads()
        client.destroy()

    def test_reset_keeps_the_definitions(self):
        self.s.evaluate("(defvar *kept* 1)")
        self.assertFails('(error "a")', "SIMPLE-ERROR")
        self.assertIn("The image is as it was", self.s.call("reset-session").text)
        self.assertIn("No errors", self.s.call("list-errors").text)
        self.assertEvaluates("*kept*", "1")

    def test_joining_and_leaving_does_not_grow(self):
        person = self.person()
        self.assertOperational()
        # The workers that serve requests come and go.
        code = '(remove "worker" (mapcar (function sb-thread:thread-name) (sb-thread:list-all-threads)) :test (function equal))'
        names = lambda: sorted(re.sub(r"agent \d+", "agent", name) for name in swank_client.parse(person.evaluate(code)))
        before = names()
        for _ in range(20):
            self.s.call("close-session", session="default")
            self.assertOperational()
        try:
            mcp.wait_until(lambda: len(names()) <= len(before), 10, "no more threads than before")
        except mcp.TimedOut:
            self.assertEqual(before, names())


@unittest.skipIf(joining.why_not(), joining.why_not())
class Accidents(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.image = joining.Image(self.folder())
        self.addCleanup(lambda: self.image.end())
        self.options = ("--attach", self.image.address)

    def test_an_image_that_is_killed_is_joined_again_when_it_is_back(self):
        self.assertOperational()
        running = self.s.start_call("evaluate-lisp", code="(sleep 100)")
        mcp.wait_until(lambda: "running for" in self.s.call("session-info").text, 10, "the evaluation to run")
        self.image.process.kill()
        report = running.reply()
        self.assertErrorReport(report, "CONNECTION-LOST")
        self.assertIn("The next call joins the image that answers there", report.text)
        self.image.process.wait(20 * mcp.STRETCH)  # until then its port may still answer
        self.assertIn("Nothing answers at", self.s.evaluate("1").text)
        self.image.end()
        self.image = joining.Image(self.folder(), port=self.image.port)
        self.assertOperational()

    def test_a_cut_between_two_calls_is_told_with_the_next(self):
        tunnel = joining.Tunnel(self.image.port)
        self.addCleanup(tunnel.end)
        client = self.start_server("--attach", tunnel.address)
        client.evaluate("(defvar *kept* 1)")
        self.assertErrorReport(client.evaluate('(error "stands")'))
        tunnel.cut()
        mcp.wait_until(lambda: "absent" in client.call("list-sessions").text, 10, "the end of the connection")
        report = client.evaluate("*kept*")
        self.assertValue(report, "1")
        self.assertIn("had been cut", report.text)
        self.assertIn("cannot be entered", client.call("list-errors").text)

    def test_a_cut_during_an_evaluation_is_told_and_ends_it(self):
        tunnel = joining.Tunnel(self.image.port)
        self.addCleanup(tunnel.end)
        client = self.start_server("--attach", tunnel.address)
        client.evaluate("(defvar *how-far* :nowhere)")
        code = "(unwind-protect (progn (setf *how-far* :begun) (sleep 100)) (setf *how-far* :ended))"
        running = client.start_call("evaluate-lisp", code=code)
        person = self.image.person()
        self.addCleanup(person.close)
        mcp.wait_until(lambda: ":BEGUN" in person.evaluate("(and (boundp '*how-far*) (symbol-value '*how-far*))"), 10, "the evaluation to begin")
        tunnel.cut()
        self.assertErrorReport(running.reply(), "CONNECTION-LOST")
        mcp.wait_until(lambda: client.evaluate("*how-far*").values == [":ENDED"], 20, "the end of the evaluation")

    def test_an_image_that_is_stopped_costs_the_connection_not_the_image(self):
        self.assertOperational()
        self.image.process.send_signal(signal.SIGSTOP)
        report = self.s.evaluate("(+ 1 2)", timeout=0.5)
        self.assertErrorReport(report, "TIMEOUT")
        self.assertIn("did not answer after two interrupts", report.text)
        self.image.process.send_signal(signal.SIGCONT)
        self.assertOperational()


class Refused(mcp.TestCase):
    def test_attach_and_sandbox_exclude_each_other(self):
        client = mcp.Client("--attach", "127.0.0.1:1", "--sandbox", "workspace", handshake=False)
        self.assertNotEqual(0, client.process.wait(20 * mcp.STRETCH))
        self.assertIn("nothing confines a Lisp that is not the server's", client.stderr())
        client.destroy()
        reply = self.s.call("create-session", attach="127.0.0.1:1", sandbox="read-only")
        self.assertTrue(reply.is_error)
        self.assertIn("exclude each other", reply.text)

    def test_looking_only_is_for_an_image_that_is_joined(self):
        client = mcp.Client("--attach-read-only", handshake=False)
        self.assertNotEqual(0, client.process.wait(20 * mcp.STRETCH))
        self.assertIn("--attach-read-only goes together with --attach ADDRESS", client.stderr())
        client.destroy()

    def test_an_address_that_is_none_is_refused_at_once(self):
        reply = self.s.call("create-session", attach="4005")
        self.assertTrue(reply.is_error)
        self.assertIn("ADDRESS:PORT or auto", reply.text)

    def test_a_session_whose_image_does_not_answer_is_not_created(self):
        for _ in range(2):
            reply = self.s.call("create-session", name="work", attach="127.0.0.1:1")
            self.assertTrue(reply.is_error)
            self.assertIn("Nothing answers at 127.0.0.1:1", reply.text)
            self.assertNotIn("work", self.s.call("list-sessions").text)
