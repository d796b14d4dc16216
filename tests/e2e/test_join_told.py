"""In an image that a person runs: what person and agent are told of each other, and of what happened to the image."""

import re
import unittest

import joining
import mcp
import swank_client
import test_join


@unittest.skipIf(joining.why_not(), joining.why_not())
class AnotherProcess(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.image = joining.Image(self.folder())
        self.addCleanup(lambda: self.image.end())
        self.options = ("--attach", self.image.address)

    def start_anew(self):
        self.image.process.kill()
        self.image.process.wait(20 * mcp.STRETCH)
        before = self.image
        self.image.end()
        self.image = joining.Image(self.folder(), port=before.port)
        return before.process.pid, self.image.process.pid

    def assertTold(self, pids, reply):
        self.assertRegex(reply.text, r"Process %d has ended; this is %d, started [0-9:]{8}Z\. Nothing that you defined is there; "
                                     r"the package is CL-USER\. session-history has your code\." % pids)

    def test_the_reply_that_finds_it_says_so_once(self):
        self.s.evaluate("(defpackage :gone (:use :cl))")
        self.s.evaluate("(in-package :gone)")
        pids = self.start_anew()
        reply = self.s.evaluate("(package-name *package*)")
        self.assertValue(reply, '"COMMON-LISP-USER"')
        self.assertTold(pids, reply)
        self.assertNotIn("has ended", self.s.evaluate("1").text)
        self.assertRegex(self.s.call("session-history").text, r"(?s)in-package :gone.*\n- \S+Z Process \d+ has ended.*package-name")

    def test_also_after_a_call_while_nothing_answered(self):
        self.assertOperational()
        running = self.s.start_call("evaluate-lisp", code="(progn (defvar *begun* 1) (sleep 100))")
        person = self.image.person()
        mcp.wait_until(lambda: person.evaluate("(boundp '*begun*)") == "T", 10, "the evaluation to run")
        person.close()
        self.image.process.kill()
        pid = self.image.process.pid
        report = self.assertErrorReport(running.reply(), "CONNECTION-LOST")
        self.assertIn("process %d is gone" % pid, report.text)
        self.image.process.wait(20 * mcp.STRETCH)
        report = self.s.evaluate("1")
        self.assertIn("Process %d, which was joined, has ended. Nothing answers at" % pid, report.text)
        pids = self.start_anew()
        self.assertTold(pids, self.s.evaluate("(+ 1 2)"))

    def test_what_ran_when_the_connection_was_cut_is_told_by_the_next_reply(self):
        tunnel = joining.Tunnel(self.image.port)
        self.addCleanup(tunnel.end)
        client = self.start_server("--attach", tunnel.address)
        person = self.image.person()
        self.addCleanup(person.close)
        for number, code, told in (
            (1, "(unwind-protect (progn (defvar *begun-1* 1) (sleep 100)) (defvar *cleaned* t))", "was unwound with its cleanup forms"),
            (3, "(progn (defvar *begun-3* 1) (sb-sys:without-interrupts (sleep 20)))", r"still runs in the thread agent \d+: evaluation 3 \(\d+\)"),
        ):
            running = client.start_call("evaluate-lisp", code=code)
            mcp.wait_until(lambda: person.evaluate("(boundp '*begun-%d*)" % number) == "T", 10, "the evaluation to begin")
            tunnel.cut()
            report = self.assertErrorReport(running.reply(), "CONNECTION-LOST")
            self.assertIn("Its process %d is still there" % self.image.process.pid, report.text)
            report = client.evaluate("*begun-%d*" % number)
            self.assertValue(report, "1")
            self.assertIn("it is still process %d" % self.image.process.pid, report.text)
            self.assertRegex(report.text, "Evaluation %d, which was running then, %s" % (number, told))
        self.assertValue(client.evaluate("*cleaned*"), "T")

    def test_an_evaluation_of_a_server_that_is_killed_is_unwound_with_its_cleanup_forms(self):
        client = self.start_server(*self.options)
        client.start_call("evaluate-lisp", code="(unwind-protect (progn (defvar *how-far* 1) (sleep 100)) (setf *how-far* 2))")
        person = self.image.person()
        self.addCleanup(person.close)
        mcp.wait_until(lambda: person.evaluate("(boundp '*how-far*)") == "T", 10, "the evaluation to begin")
        client.process.kill()
        client.process.wait()
        mcp.wait_until(lambda: person.evaluate("*how-far*") == "2", 20, "the cleanup form")
        client.destroy()


class Announced(test_join.ImageTest):
    """The person is told of whatever changes, runs or measures something, and of nothing that only reads."""

    def setUp(self):
        super().setUp()
        self.editor = self.person()
        self.editor.evaluate(
            "(progn (defun inverse (x) (declare (optimize debug)) (/ 1 x)) (defgeneric g (x)) (defmethod g (x) x))"
        )

    def assertAnnounced(self, told, tool, **arguments):
        """Announcements come in order: what follows it is the next call's."""
        self.s.call(tool, arguments)
        self.assertEqual("e2e (default): " + told, self.editor.event("background-message")[1])

    def test_what_changes_runs_or_measures(self):
        self.editor.evaluate('(sb-thread:make-thread (lambda () (loop (sleep 0.1))) :name "program")')
        for tool, told, arguments in (
            ("profile-code", "profile: (inverse 1)", {"code": "(inverse 1)"}),
            ("time-execution", "time: (inverse 2)", {"code": "(inverse 2)"}),
            ("inspect-object", "inspect: (list 1)", {"code": "(list 1)"}),
            ("explain-dispatch", "explain the dispatch of: (g 1)", {"form": "(g 1)"}),
            ("macroexpand-form", "expand: (when 1 2)", {"form": "(when 1 2)"}),
            ("compile-form", "compile: (defun h () 1)", {"code": "(defun h () 1)"}),
            ("trace-functions", "start tracing inverse", {"action": "start", "functions": ["inverse"]}),
            ("trace-functions", "stop tracing", {"action": "stop"}),
            ("run-tests", "run the tests of asdf", {"system": "asdf"}),
            ("load-file", "load no-such-file.lisp", {"path": "no-such-file.lisp"}),
            ("interrupt-thread", "interrupt the thread program", {"thread": "program", "force": True}),
            ("kill-thread", "end the thread program", {"thread": "program", "force": True}),
        ):
            with self.subTest(tool=tool):
                self.assertAnnounced(told, tool, **arguments)

    def test_not_what_reads_or_is_refused(self):
        self.assertAnnounced("1", "evaluate-lisp", code="1")
        for tool, arguments in (("list-threads", {}), ("describe-symbol", {"name": "inverse"}), ("list-errors", {}),
                                ("trace-functions", {"action": "report"}), ("find-definition", {"name": "inverse"}),
                                ("kill-thread", {"thread": "main thread"})):
            self.s.call(tool, arguments)
        self.assertAnnounced("2", "evaluate-lisp", code="2")

    def test_the_error_on_which_it_acts_is_named(self):
        self.assertOperational()
        self.editor.event("background-message")
        self.editor.begin('(swank:interactive-eval "(inverse 0)")')
        self.editor.debugger("DIVISION-BY-ZERO")
        mcp.wait_until(lambda: "(can be entered)" in self.s.call("list-errors").text, 10, "the error")
        error = "of your error 1 (DIVISION-BY-ZERO in thread worker)"
        self.assertAnnounced("in frame 0 %s: x" % error, "evaluate-in-frame", index=1, frame=0, code="x", force=True)
        self.assertAnnounced("restart ABORT " + error, "invoke-restart", index=1, restart="ABORT", force=True)
        self.assertAnnounced("(car 1)", "evaluate-lisp", code="(car 1)")
        self.assertAnnounced("restart 1 of error 2", "invoke-restart", index=2, restart="1")

    def test_an_operation_without_a_row_is_announced(self):
        self.assertOperational()
        self.editor.evaluate("(cl-mcp-agent::define-operation :brand-new (&key code) code)")
        self.addCleanup(self.editor.evaluate, "(progn (setf cl-mcp-agent::*operations* (remove :brand-new cl-mcp-agent::*operations* :key #'car)) nil)")
        self.assertEqual('("(f)" "brand-new")',
                         self.editor.evaluate("(multiple-value-list (cl-mcp-agent::announcement '(1 :brand-new :code \"(f)\")))"))


@unittest.skipUnless(mcp.shutil.which("emacs"), "Emacs is not installed")
class KeptInEmacs(test_join.ImageTest):
    def setUp(self):
        super().setUp()
        self.options += ("--announce", "buffer")
        self.emacs = joining.Emacs(self.folder())
        self.addCleanup(self.emacs.end)

    def connect(self):
        self.emacs('(slime-connect "127.0.0.1" %d)' % self.image.port)
        self.assertEqual("t", self.emacs("(and (await #'slime-connected-p) t)"))

    def test_each_line_is_kept_in_a_buffer_as_code(self):
        self.emacs("(setq slime-enable-evaluate-in-emacs t)")
        self.connect()
        for code in ("(+ 1 2)", '(princ "a \\"b\\" \\\\ ")\n(list 3)'):
            self.s.evaluate(code)
        self.s.call("time-execution", code="(list 4)")
        text = """(await (lambda () (let ((kept (get-buffer "*agent e2e (default)*")))
                     (and kept (with-current-buffer kept (and (string-match "list 4" (buffer-string)) (buffer-string)))))))"""
        time = r"; \d\d:\d\d:\d\d"
        self.assertRegex(self.emacs(text), r'"\(\+ 1 2\) %s \(princ \\"a \\\\\\"b\\\\\\" \\\\\\\\ \\"\) \(list 3\) %s \(list 4\) %s time "' % (time, time, time))
        self.assertEqual("lisp-mode", self.emacs("""(with-current-buffer "*agent e2e (default)*" major-mode)"""))

    def test_without_the_permission_the_echo_area_is_used(self):
        # An Emacs in batch mode ends with an error of a filter; others show it.
        self.emacs("(advice-add 'slime-net-filter :around (lambda (filter &rest rest) (condition-case nil (apply filter rest) (error nil))))")
        self.connect()
        for code in ("(+ 1 2)", "(+ 2 3)"):
            self.s.evaluate(code)
        self.assertIn("(+ 2 3)", self.emacs("(await (lambda () (cl-find-if (lambda (text) (string-match \"2 3\" text)) told)))"))
        self.assertEqual("nil", self.emacs('(get-buffer "*agent e2e (default)*")'))


class CleanStart(test_join.ImageTest):
    def test_it_is_made_in_the_servers_own_lisp_which_is_named(self):
        folder = self.folder()
        mcp.write_files(folder, {
            "stall.asd": '(defsystem "stall" :depends-on ("rt") :components ((:file "stall")) :perform (test-op (o c) (symbol-call :rt :do-tests)))\n',
            "stall.lisp": "(defpackage :stall (:use :cl :rt)) (in-package :stall)\n(deftest apples (plain) 2)\n",
        })
        client = self.start_server(*self.options, "--directory", folder)
        client.evaluate("(defpackage :stall (:use :cl)) (in-package :stall) (defun plain () 2)")
        text = client.call("run-tests", system="stall", clean=True).text
        self.assertRegex(text, r"\AFrom a clean start, in the server's own Lisp and not in the image:\n")
        self.assertIn("The function STALL::PLAIN is undefined.", text)
        self.assertIn("Undefined only there: STALL::PLAIN is still defined in the session.", text)
        self.assertRegex(text, r"\n\nThis ran in SBCL \S+, as the image does\.")
        self.assertTrue(self.image.is_alive())


class Replaced(test_join.ImageTest):
    """A definition that replaces one of somebody else's is told to both."""

    def setUp(self):
        super().setUp()
        self.editor = self.person()

    def shown(self, part):
        return self.editor.event("background-message", lambda event: part in event[1])[1]

    def compile(self, text, name="pricing.lisp"):
        self.editor.request('(swank:compile-string-for-emacs %s "%s" (quote ((:position 1))) nil nil)' % (swank_client.quote(text), name))

    def test_by_the_agent(self):
        self.assertOperational()
        self.compile("(defun price (item) item)")
        self.editor.evaluate("(defparameter *rate* 2)")
        report = self.s.evaluate("(defun price (item) (list item))")
        clock = r"\d\d:\d\d:\d\d"
        self.assertRegex(report.text, r"PRICE: replaces the person's of %sZ \(compiled from pricing\.lisp\)" % clock)
        self.assertRegex(self.shown("replaces"), r"e2e \(default\): PRICE: replaces yours of %s \(compiled from pricing\.lisp\)" % clock)
        self.assertNotIn("replaces", self.s.evaluate("(defun price (item) (list item item))").text)
        self.assertIn("*RATE*: replaces the person's", self.s.evaluate("(defparameter *rate* 3)").text)
        # It fails before it defines anything.
        self.editor.evaluate("(defun tax (item) item)")
        self.assertNotIn("replaces", self.s.evaluate('(progn (error "no") (defun tax (item) (list item)))').text)

    def test_by_the_person(self):
        self.s.evaluate("(progn (defun agents-1 () 1) (defmacro agents-2 () 1) (defun agents-3 () 1))")
        self.compile("(defun agents-1 () 2)")
        report = self.s.evaluate("1")
        self.assertRegex(report.text, r"AGENTS-1: the person's replaces yours of \d\d:\d\d:\d\dZ \(evaluation 1\)")
        self.assertRegex(self.shown("AGENTS-1"), r"AGENTS-1: yours replaces e2e \(default\)'s of \d\d:\d\d:\d\d \(evaluation 1\)")
        path = mcp.write(self.folder() + "/some.lisp", "(in-package :cl-user)\n(defmacro agents-2 () 2)\n(defun agents-3 () 2)\n")
        self.editor.request('(swank:load-file "%s")' % path)
        self.assertIn("AGENTS-2, AGENTS-3: the person's replace yours", self.s.evaluate("1").text)
        # The agent loads it as well, and what it replaces is the person's, not the file's.
        self.assertIn("AGENTS-2, AGENTS-3: replace the person's", self.s.call("load-file", path=path).text)
        self.assertNotIn("replace", self.s.call("load-file", path=path).text)

    def test_by_a_file_of_a_system(self):
        self.assertOperational()
        folder = self.folder()
        mcp.write(folder + "/stall.asd", '(defsystem "stall" :serial t :components ((:file "package") (:file "fruit")))')
        mcp.write(folder + "/package.lisp", "(defpackage :stall (:use :cl))\n")
        path = mcp.write(folder + "/fruit.lisp", "(in-package :stall)\n(defun apple () 1)\n(defun pear () 1)\n")
        load = '(swank:interactive-eval "(progn (require :asdf) (asdf:load-asd \\"%s/stall.asd\\") (asdf:load-system \\"stall\\") 1)")' % folder
        self.editor.request(load)
        self.assertNotIn("replace", self.s.evaluate("1").text)
        self.s.evaluate("(defun apple () 2)", package="stall")
        self.editor.evaluate("(defun stall::pear () 2)")
        mcp.write(path, "(in-package :stall)\n(defun apple () 3)\n(defun pear () 3)\n;; later\n")
        text = self.s.call("load-system", system="stall", force=True).text
        self.assertIn("PEAR: replaces the person's of ", text)
        self.assertNotIn("APPLE: replaces", text)
        self.shown("PEAR: replaces yours")
        mcp.write(path, "(in-package :stall)\n(defun apple () 4)\n(defun pear () 4)\n;; once more\n")
        self.editor.request(load)
        self.assertIn("APPLE, STALL::PEAR: the person's replace yours", self.s.evaluate("1").text)

    def test_by_another_agent_and_of_a_file(self):
        other = self.start_server(*self.options)
        self.s.evaluate("(defun shared-one () 1)")
        report = other.evaluate("(defun shared-one () 2)")
        self.assertRegex(report.text, r"SHARED-ONE: replaces e2e \(default\)'s of ")
        report = self.s.evaluate("1")
        self.assertRegex(report.text, r"SHARED-ONE: e2e \(default\)'s replaces yours of ")
        self.assertIn("e2e (default): (defun shared-one () 2)", report.text)
        path = mcp.write(self.folder() + "/file.lisp", "(in-package :cl-user)\n(defun of-a-file () 1)\n")
        self.editor.evaluate('(load (compile-file "%s"))' % path)
        self.assertIn("OF-A-FILE: replaces the one in %s" % path, self.s.evaluate("(defun of-a-file () 2)").text)

    def test_the_text_of_what_others_evaluated_is_found(self):
        self.assertOperational()
        self.editor.evaluate("(progn (defun seen-once (x) x)\n (defun persons-own (x)\n  (list x 42)))")
        reply = self.s.call("find-definition", name="persons-own")
        self.assertIn("(defun persons-own (x)\n  (list x 42))", reply.text)
        self.assertRegex(reply.text, r"\(evaluated by the person at \d\d:\d\d:\d\dZ\)")
        self.assertNotIn("seen-once", reply.text[:reply.text.index("[Session]")])
        other = self.start_server(*self.options)
        other.evaluate("(defun of-the-other () 43)")
        self.assertIn("(defun of-the-other () 43)", self.s.call("find-definition", name="of-the-other").text)


class PersonsErrors(test_join.ImageTest):
    def setUp(self):
        super().setUp()
        self.editor = self.person()
        self.editor.evaluate(
            "(progn (defun inner (x) (declare (optimize debug)) (list (/ 1 x)))"
            " (defun outer (y) (declare (optimize debug)) (list (inner y))))"
        )

    def test_one_is_told_once_as_the_persons_with_the_frames_of_the_program(self):
        self.assertOperational()
        self.editor.begin('(swank:interactive-eval "(outer 0)")')
        thread = self.editor.debugger("DIVISION-BY-ZERO")
        texts = []
        mcp.wait_until(lambda: texts.append(self.s.evaluate("1").text) or "DIVISION-BY-ZERO" in texts[-1], 10, "the error")
        texts.append(self.s.evaluate("1").text)
        self.assertEqual(1, "".join(texts).count("In the person's debugger, in thread worker (error 1): DIVISION-BY-ZERO"))
        self.assertNotIn("An error stands", "".join(texts))
        self.assertRegex(self.s.call("list-errors").text, r"1\. \S+ the person's, in thread worker: DIVISION-BY-ZERO")

        reply = self.s.call("get-backtrace", index=1, locals=True)
        self.assertLess(len(reply.text), 500)
        self.assertIn("more, of libraries and the Lisp)", reply.text)
        self.assertNotIn("SWANK", reply.text)
        # Both numbers are shown.
        for number, call in re.findall(r"(?m)^\d+: (?:.*) \[SLDB (\d+)\]|^\d+: (\(INNER.*\))$", reply.text):
            self.assertFalse(call)
        frames = {text: number for number, text, *_ in self.editor.request("(swank:backtrace 0 20)", thread=thread)}
        for call in ("(INNER 0)", "(OUTER 0)"):
            self.assertIn("%s [SLDB %d]" % (call, frames[call]), reply.text)
        self.editor.leave_debugger(thread)


@unittest.skipIf(joining.why_not(), joining.why_not())
class Program(mcp.TestCase):
    def test_the_definitions_of_the_program_are_listed_and_counted(self):
        folder = self.folder()
        path = mcp.write(
            folder + "/shop.lisp",
            "(defpackage :shop (:use :cl))\n(in-package :shop)\n(defvar *rate* 2)\n(defclass item () ((name :reader item-name)))\n"
            "(defun price (item) item)\n(defmethod total ((i item)) 1)\n(defmacro with-shop (&body b) `(progn ,@b))\n",
        )
        image = joining.Image(folder, '(load (compile-file "%s"))' % path)
        self.addCleanup(image.end)
        self.options = ("--attach", image.address, "--tools", "full")
        self.s.evaluate("(defun of-the-agent () 1)")
        text = self.s.call("list-definitions").text
        self.assertRegex(text, r"^The program: functions: 4, variables: 1, macros: 1, classes: 1, methods: 1, in the packages COMMON-LISP-USER, SHOP\.")
        self.assertRegex(text, r"Files: %s \(\d\)" % path)
        self.assertIn("Evaluated in this session: OF-THE-AGENT (evaluation 1)", text)
        for part in ("- SHOP::PRICE (ITEM)", "- SHOP::*RATE* = 2", "- SHOP::ITEM (SHOP::NAME)", "- OF-THE-AGENT ()"):
            self.assertIn(part, text)
        self.assertNotIn("SWANK", text)


@unittest.skipIf(joining.why_not(), joining.why_not())
class Place(mcp.TestCase):
    def test_the_first_reply_and_the_instructions_tell_where_one_is(self):
        image = joining.Image(self.folder())
        self.addCleanup(image.end)
        client = self.start_server("--attach", image.address, handshake=False)
        instructions = client.handshake()["instructions"]
        self.assertLessEqual(len(instructions.encode()), 1500)
        for part in ("a person runs", "force: true", "Nothing can be undone", 'marked "the person\'s"'):
            self.assertIn(part, instructions[:512])
        first = client.evaluate("(+ 1 2)")
        self.assertRegex(
            first.text,
            r"You work in the Lisp that a person runs: SBCL \S+ at %s, Swank \S+, process %d on \S+\. Its directory is /\S*; your package is CL-USER\."
            % (image.address, image.process.pid),
        )
        self.assertNotIn("You work in", client.evaluate("1").text)
        guide = client.call("get-usage-guide").text
        self.assertLessEqual(len(guide.encode()), 4000)
        for part in ("a Lisp that a person runs", "force: true acts on what is theirs", "nothing can be undone", "An error marked \"the person's\"", "evaluate-lisp"):
            self.assertIn(part, guide)
        for other in ("rollback-session to", "a checkpoint that checkpoint-session named", "create-session starts"):
            self.assertNotIn(other, guide)
        self.assertIn("force: true", client.call("get-usage-guide", topic="threads").text)
        own = self.start_server(handshake=False)
        self.assertIn("rollback-session", own.handshake()["instructions"])
        self.assertNotIn("force", own.call("get-usage-guide").text)

    def test_a_relative_path_is_below_the_sessions_directory(self):
        image = joining.Image(self.folder())
        self.addCleanup(image.end)
        folder, elsewhere = self.folder(), self.folder()
        mcp.write(folder + "/here.lisp", "(in-package :cl-user)\n(defun here () 1)\n")
        mcp.write(elsewhere + "/there.lisp", "(in-package :cl-user)\n(defun there () 2)\n")
        client = self.start_server("--attach", image.address, cwd=folder)
        client.evaluate('(progn (uiop:chdir "%s/") (setf *default-pathname-defaults* #p"%s/"))' % (elsewhere, elsewhere))
        self.assertFalse(client.call("load-system", path="here.lisp").is_error)
        self.assertValue(client.evaluate("(here)"), "1")
        self.assertFalse(client.call("edit-form", path="here.lisp", kind="defun", name="here", operation="replace", content="(defun here () 3)").is_error)
        text = client.call("load-system", path="there.lisp").text
        self.assertIn("There is no file there.lisp in %s, the session's directory. The directory of the image is %s/, where there is one." % (folder, elsewhere), text)
        text = client.call("load-system", path="nowhere.lisp").text
        self.assertIn("The directory of the image is %s/. Pass an absolute path" % elsewhere, text)
        self.assertFalse(client.call("load-system", path=elsewhere + "/there.lisp").is_error)

    def test_a_server_that_takes_one_connection_is_opened_again(self):
        image = joining.Image(self.folder())
        self.addCleanup(image.end)
        person = image.person()
        port = int(person.evaluate("(swank:create-server :port 0 :dont-close nil)"))
        person.evaluate("(swank:stop-server %d)" % image.port)
        person.close()
        client = self.start_server("--attach", "127.0.0.1:%d" % port)
        told = "has opened it again: (swank:create-server :port %d :dont-close t)" % port
        self.assertIn(told, client.evaluate("1").text)
        other = swank_client.Editor(port)
        self.addCleanup(other.close)
        self.assertEqual("3", other.evaluate("(+ 1 2)"))
        self.assertNotIn(told, self.start_server("--attach", "127.0.0.1:%d" % port).evaluate("1").text)


class Short(test_join.ImageTest):
    def test_lists_are_short_in_an_image_with_many_threads_and_errors(self):
        person = self.person()
        person.evaluate(
            "(progn (defvar *gate* (sb-thread:make-semaphore))"
            " (dotimes (n 30) (let ((n n)) (sb-thread:make-thread (lambda () (if (oddp n) (sleep 1000) (sb-thread:wait-on-semaphore *gate*)))"
            ' :name (format nil "hunchentoot-worker-127.0.0.1:~d" n)))))'
        )
        for n in range(20):
            self.s.evaluate('(error "this is error number %d of the agent, which has some text")' % n)
        threads = self.s.call("list-threads").text
        self.assertLess(len(threads), 1000, threads)
        self.assertRegex(threads, r"(?m)^\d+(, \d+){14}  hunchentoot-worker-127\.0\.0\.1:\.\.\.: waiting$")
        self.assertRegex(threads, r"evaluation 20: stopped at error 20")
        self.assertIn("are Swank's or Slynk's own.", threads)
        self.assertNotIn("reader-thread", threads)
        info = self.s.call("session-info").text
        self.assertRegex(info, r"(?m)^Threads: .*hunchentoot-worker-127\.0\.0\.1:\.\.\. \(30 threads\).* more are Swank's or Slynk's own$")
        number = re.search(r", (\d+)  hunchentoot", threads).group(1)
        self.assertIn("hunchentoot-worker", self.s.call("get-backtrace", thread=number).text)
        errors = self.s.call("list-errors").text
        self.assertLess(len(errors), 700, errors)
        self.assertIn("15 more can no longer be entered; limit: 32 shows them.", errors)
        self.assertEqual(20, len(re.findall(r"(?m)^\d+\. ", self.s.call("list-errors", limit=32).text)))
