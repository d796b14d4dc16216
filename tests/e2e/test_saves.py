"""Sessions on disk: what a save holds, what becomes of it when anything goes wrong, and servers that bring sessions back by themselves."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import mcp


_saved = []


def saved_once():
    """A directory with a save of two sessions, made once for all tests that need no save of their own."""
    if not _saved:
        _saved.append(tempfile.mkdtemp(prefix="cl-mcp-test-"))
        with mcp.Client("--state-dir", _saved[0]) as client:
            for code in ("(progn (defvar *saved* :from-disk) (defvar *n* 1))", "(defun next () (incf *n*))", "(setf *n* 2)"):
                client.evaluate(code)
            client.call("create-session", name="other")
            client.evaluate("(defvar *saved* :other)", session="other")
            for pending in [client.start_call("save-session", session=name) for name in ("default", "other")]:
                reply = pending.reply()
                assert not reply.is_error, reply.text
    return _saved[0]


def tearDownModule():
    for path in _saved:
        shutil.rmtree(path, True)


class Saves(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.state = self.folder()

    def server(self, *options, **named):
        return self.start_server("--state-dir", self.state, *options, **named)

    @property
    def s(self):
        if self._server is None:
            self._server = self.server(*self.options)
        return self._server

    def save(self, client=None, **named):
        reply = (client or self.s).call("save-session", **named)
        self.assertFalse(reply.is_error, reply.text)
        return reply

    def restore(self, client=None, name="default"):
        reply = (client or self.s).call("restore-session", name=name)
        self.assertFalse(reply.is_error, reply.text)
        return reply

    def copy_saved(self, session=""):
        """Put the saves of saved_once(), or the one of a session, into the directory, and nothing else."""
        for name in os.listdir(self.state):
            os.unlink(os.path.join(self.state, name))
        for name in os.listdir(saved_once()):
            if name.startswith(session):
                shutil.copy(os.path.join(saved_once(), name), self.state)

    def kill(self, client):
        """It ends without saving anything."""
        os.kill(client.pid, signal.SIGKILL)
        client.destroy()
        mcp.assert_none_left(client.mark)

    def assertRefuses(self, reply, pattern):
        self.assertTrue(reply.is_error, reply.text)
        self.assertRegex(reply.text, pattern)

    def files(self):
        return sorted(os.listdir(self.state))

    def images(self):
        return [name for name in self.files() if name.endswith(".core")]

    def description(self, name="default"):
        with open(os.path.join(self.state, name + ".json"), encoding="utf-8") as f:
            return json.load(f)

    def assertOneSave(self, *names):
        """The directory holds a description and its image for each of these, and nothing else."""
        wanted = []
        for name in names or ("default",):
            wanted += [name + ".json", self.description(name)["image"]]
        self.assertEqual(sorted(wanted), self.files())

    def wait_for_image(self, client=None, more_than=0, beside=()):
        """The copy has begun to write the image."""
        def begun():
            for name in self.images():
                try:
                    if name not in beside and os.path.getsize(os.path.join(self.state, name)) >= more_than:
                        return name
                except OSError:
                    pass
        return mcp.wait_until(begun, 20, "an image of %d bytes" % more_than)

    def writer(self, image):
        """The process that has the image open."""
        def opener():
            for pid in self.s.processes():
                try:
                    if any(os.path.samefile("/proc/%d/fd/%s" % (pid, fd), os.path.join(self.state, image)) for fd in os.listdir("/proc/%d/fd" % pid)):
                        return pid
                except OSError:
                    pass
        return mcp.wait_until(opener, 20, "the process that writes")

    def pid(self, client=None, **named):
        return int((client or self.s).evaluate("(sb-posix:getpid)", **named).value)


class SavingAndRestoring(Saves):
    def test_a_session_comes_back_in_the_same_server_and_in_a_new_one(self):
        self.state = os.path.join(self.state, "a", "b c", "ü")  # the server makes the folders on the way
        system = self.folder()
        with open(os.path.join(system, "savestest.asd"), "w") as f:
            f.write('(asdf:defsystem "savestest" :components ((:file "code")))')
        with open(os.path.join(system, "code.lisp"), "w") as f:
            f.write('(defpackage :savestest (:use :cl) (:export #:greet))\n(in-package :savestest)\n(defun greet () "hello")\n')
        self.s.evaluate('(push #p"%s/" asdf:*central-registry*)' % system)
        reply = self.s.call("load-system", system="savestest")
        self.assertFalse(reply.is_error, reply.text)
        for code in ("(defpackage :mine (:use :cl))", "(in-package :mine)", '(defvar *table* (let ((h (make-hash-table :test (quote equal)))) (setf (gethash "ключ" h) 1) h))',
                     "(defvar *n* 1)", "(defun next () (incf *n*))", "(defmacro twice (x) `(progn ,x ,x))", "(defclass point () ((x :initarg :x :reader x)))",
                     "(defvar *point* (make-instance 'point :x 7))", "(defvar *counter* (let ((k 0)) (lambda () (incf k))))", "(funcall *counter*)"):
            report = self.s.evaluate(code)
            self.assertFalse(report.is_error, report.text)
        self.s.evaluate('(error "this stays an entry of the history")')
        self.s.evaluate("(list :last 1)")
        reply = self.save()
        self.assertRegex(reply.text, r"^Saved session default, the state after evaluation 14\.\nFile: %s/\S+\.core\nSize: [\d,]+ bytes\nTime: [\d.]+ s$" % re.escape(self.state))
        image = os.path.join(self.state, self.images()[0])
        self.assertIn("File: %s\n" % image, reply.text)
        self.assertIn("Size: {:,} bytes".format(os.path.getsize(image)), reply.text)
        self.assertEqual(0o700, os.stat(self.state).st_mode & 0o777)
        self.assertEqual({0o600}, {os.stat(os.path.join(self.state, name)).st_mode & 0o777 for name in self.files()})

        code = ("(list * *n* (gethash \"ключ\" *table*) (macroexpand-1 '(twice 1)) (x *point*) (savestest:greet)"
                " (package-name *package*) (not (null (asdf:component-loaded-p \"savestest\"))))")
        value = '((:LAST 1) 1 1 (PROGN 1 1) 7 "hello" "MINE" T)'

        def check(client):
            history = client.call("session-history").text
            self.assertRegex(history, r"(?m)^14\. ")
            self.assertRegex(history, r"(?m)^13\. .*error$")
            self.assertIn("(defun next () (incf *n*))", history)
            self.assertIn("Package: MINE", client.call("session-info").text)
            self.assertIn("savestest", client.call("session-info").text)
            self.assertValue(client.evaluate(code), value)
            self.assertValue(client.evaluate("(list (funcall *counter*) (next) (next))"), "(2 2 3)")
            definitions = client.call("list-definitions").text
            for name in ("NEXT", "TWICE", "POINT", "*TABLE*"):
                self.assertIn(name, definitions)

        self.s.evaluate("(setf *n* 100 *table* nil)")
        self.s.evaluate("(defun next () :wrong)")
        self.assertIn("Restored session default, the state after evaluation 14.", self.restore().text)
        check(self.s)
        self.s.close()
        other = self.server()
        self.assertValue(other.evaluate("(boundp '*n*)"), "NIL")
        self.restore(other)
        check(other)
        # Once more: what the restored session did is not in the image.
        self.restore(other)
        check(other)

    def test_the_session_goes_on_while_it_is_saved_and_nothing_of_that_is_in_the_save(self):
        self.s.evaluate("(defvar *n* 1)")
        # A save is of its place in the queue.
        first = self.s.start_call("evaluate-lisp", code="(progn (sleep 0.3) (setf *n* 2))")
        save = self.s.start_call("save-session")
        last = self.s.start_call("evaluate-lisp", code="(setf *n* 3)")
        self.assertValue(first.reply(), "2")
        self.assertValue(last.reply(), "3")
        pid = self.pid()
        self.wait_for_image()
        self.assertEvaluates("(incf *n*)", "4")
        self.assertEqual(pid, self.pid())
        self.assertEvaluates("(defvar *later* 3)", "*LATER*")
        self.assertErrorReport(self.s.evaluate("(sb-ext:exit :abort t)"), "PROCESS-EXITED")
        self.assertEvaluates("*n*", "4")
        self.assertFalse(self.s.call("reset-session").is_error)
        self.assertEvaluates("(boundp '*n*)", "NIL")
        self.assertFalse(save.is_answered, "the session was saved before everything else was answered")
        reply = save.reply()
        self.assertFalse(reply.is_error, reply.text)
        self.assertIn("the state after evaluation 2.", reply.text)
        self.restore()
        history = self.s.call("session-history").text
        for code in ("(defvar *n* 1)", "(progn (sleep 0.3) (setf *n* 2))"):
            self.assertIn(code, history)
        for code in ("*later*", "(setf *n* 3)", "exit"):
            self.assertNotIn(code, history)
        self.assertEvaluates("(list *n* (boundp '*later*))", "(2 NIL)")

    def test_saving_again_keeps_one_image_and_the_newer_state(self):
        for code in ("(defvar *n* 1)", "(defun undone () 1)", "(error \"no definition\")"):
            self.s.evaluate(code)
        self.s.call("rollback-session", to="1")
        self.s.evaluate("(defun kept () 1)")
        self.save()
        first, files = self.images(), self.files()
        # With threads it is refused, with the reason.
        self.s.evaluate("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))")
        self.assertRefuses(self.s.call("save-session"), r"not saved: .*threads run")
        self.assertEqual(files, self.files())
        self.assertEvaluates("(sb-thread:thread-alive-p *thread*)", "T")
        self.s.evaluate("(progn (sb-thread:terminate-thread *thread*) (sb-thread:join-thread *thread* :default nil) (setf *n* 2))")
        history, code = self.s.call("session-history").text, self.s.call("session-history", format="lisp").text
        self.assertIn("\n;; (defun undone () 1)\n", code)
        self.save()
        self.assertOneSave()
        self.assertNotEqual(first, self.images())
        self.restore()
        self.assertEqual(history, self.s.call("session-history").text)
        self.assertEqual(code, self.s.call("session-history", format="lisp").text)
        self.assertEvaluates("*n*", "2")

    def test_of_two_saves_at_once_the_later_begun_counts_although_it_is_written_sooner(self):
        self.s.evaluate("(defvar *n* 1)")
        first = self.s.start_call("save-session")
        image = self.wait_for_image()
        held = self.writer(image)
        os.kill(held, signal.SIGSTOP)
        self.assertEvaluates("(setf *n* 2)", "2")
        second = self.s.start_call("save-session")
        later = self.writer(self.wait_for_image(beside=[image]))
        mcp.wait_until(lambda: not mcp.is_alive(later), 60, "the end of the one that was begun later")
        self.assertFalse(first.is_answered or second.is_answered)
        os.kill(held, signal.SIGCONT)
        self.assertIn("the state after evaluation 1.", first.reply(wait=90).text)
        self.assertIn("the state after evaluation 2.", second.reply(wait=90).text)
        self.assertOneSave()
        self.restore()
        self.assertEvaluates("*n*", "2")
        self.assertIn("(setf *n* 2)", self.s.call("session-history").text)

    def test_a_session_closed_while_it_is_saved_leaves_nothing(self):
        self.s.call("create-session", name="short")
        self.s.evaluate("(defvar *n* 1)", session="short")
        pending = self.s.start_call("save-session", session="short")
        self.wait_for_image()
        self.s.call("close-session", session="short")
        self.assertRefuses(pending.reply(), "closed")
        mcp.wait_until(lambda: not self.images(), 10, "the end of the image")
        self.assertOperational()


class Damage(Saves):
    """Each damages a copy of one save."""

    def setUp(self):
        super().setUp()
        self.s.evaluate("(defvar *running* 42)")
        self.running = self.pid()

    def mend(self):
        self.copy_saved()
        self.path = os.path.join(self.state, "default.json")
        self.image = os.path.join(self.state, self.description()["image"])

    def assertNotUsed(self, pattern):
        """The error says why, and the session that runs is untouched: same process, same state."""
        self.assertRefuses(self.s.call("restore-session", name="default"), pattern)
        self.assertEvaluates("(list *running* (boundp '*saved*) (sb-posix:getpid))", "(42 NIL %d)" % self.running)

    def change(self, place):
        with open(self.image, "r+b") as f:
            f.seek(place, os.SEEK_SET if place >= 0 else os.SEEK_END)
            old = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([old[0] ^ 0xFF]))

    def describe(self, **changes):
        d = self.description()
        for key, value in changes.items():
            d[key] = value
        with open(self.path, "w", encoding="utf-8") as f:
            json.dump({key: value for key, value in d.items() if value is not None}, f)

    def test_the_copy_is_good_before_it_is_damaged(self):
        self.mend()
        self.assertOneSave("default", "other")
        other = self.server()
        self.restore(other, "other")
        self.assertValue(other.evaluate("*saved*", session="other"), ":OTHER")
        self.assertValue(other.evaluate("(boundp '*saved*)"), "NIL")
        self.assertIn("other", other.call("list-sessions").text)
        self.restore()
        self.assertEvaluates("(list *saved* (boundp '*running*))", "(:FROM-DISK NIL)")

    def test_a_name_that_is_not_there_is_said(self):
        self.mend()
        for name in ("nobody", "", "../" + os.path.basename(self.state) + "/default", "default/", "/etc/passwd", ".", "..", "default.json", "x" * 5000, "a\nb"):
            with self.subTest(name=name[:50]):
                response = self.s.start_call("restore-session", name=name).response()
                if "result" in response:
                    self.assertRefuses(mcp.Reply(response["result"]), r"(?i)no saved session|name")
                else:
                    self.assertEqual(-32602, response["error"]["code"])
        self.assertEvaluates("(list *running* (sb-posix:getpid))", "(42 %d)" % self.running)
        self.assertNotIn("nobody", self.s.call("list-sessions").text)

    def test_a_name_with_a_nul_is_not_the_name_before_it(self):
        self.mend()
        response = self.s.start_call("restore-session", name="default\0x").response()
        self.assertTrue("error" in response or response["result"]["isError"], response)
        self.assertEvaluates("(list *running* (sb-posix:getpid))", "(42 %d)" % self.running)

    def test_a_torn_image_is_an_error_and_the_session_is_untouched(self):
        torn = r"The saved session default cannot be used: its image is missing, torn or another one\."

        def truncate(length):
            return lambda: os.truncate(self.image, length if length >= 0 else os.path.getsize(self.image) + length)

        def append():
            with open(self.image, "ab") as f:
                f.write(b"\0")

        damages = {
            "missing": lambda: os.unlink(self.image),
            "empty": truncate(0),
            "cut in half": truncate(5000000),
            "a byte short": truncate(-1),
            "a byte long": append,
            "first byte": lambda: self.change(0),
            "a byte near the begin": lambda: self.change(60000),
            "last byte": lambda: self.change(-1),
            "a byte near the end": lambda: self.change(-60000),
            "a directory": lambda: (os.unlink(self.image), os.mkdir(self.image)),
            "of another session": lambda: shutil.copy(os.path.join(self.state, self.description("other")["image"]), self.image),
        }
        for name, damage in damages.items():
            with self.subTest(name):
                self.mend()
                damage()
                self.assertNotUsed(torn)
                if os.path.isdir(self.image):
                    os.rmdir(self.image)
        self.mend()
        self.restore()
        self.assertEvaluates("*saved*", ":FROM-DISK")

    def test_pipes_in_the_directory_are_refused_and_not_waited_for(self):
        """A pipe without a writer would be waited for without end, and all sessions with it."""
        pipes = {"description": "default.json", "image": None, "announcement": "default.coming"}
        for what, name in pipes.items():
            with self.subTest(what):
                self.mend()
                path = os.path.join(self.state, name) if name is not None else self.image
                if os.path.exists(path):
                    os.unlink(path)
                os.mkfifo(path)
                if what == "announcement":
                    self.restore()
                else:
                    self.assertNotUsed("cannot be used")
                self.save()
                if os.path.exists(path):
                    os.unlink(path)

    def test_a_foreign_description_is_an_error_and_the_session_is_untouched(self):
        def write(text):
            def damage():
                with open(self.path, "wb") as f:
                    f.write(text)
            return damage

        unreadable, foreign = "cannot be used: its description cannot be read", "cannot be used: its description is not one of ours"
        torn = "cannot be used: its image is missing, torn or another one"
        damages = (
            ("no JSON", write(b"(:this :is :lisp)"), unreadable),
            ("empty", write(b""), unreadable),
            ("cut short", lambda: os.truncate(self.path, os.path.getsize(self.path) // 2), unreadable),
            ("no UTF-8", write(b'{"format": "\xff\xfe"}'), unreadable),
            ("deep", write(b"[" * 100000), unreadable),
            ("an array", write(b"[1, 2]"), foreign),
            ("an object of nothing", write(b"{}"), foreign),
            ("another format", lambda: self.describe(format="cl-mcp-server session 999"), foreign),
            ("no format", lambda: self.describe(format=None), foreign),
            ("a format that is a number", lambda: self.describe(format=1), foreign),
            ("no image", lambda: self.describe(image=None), foreign),
            ("an image elsewhere", lambda: self.describe(image="../" + os.path.basename(self.state) + "/" + os.path.basename(self.image)), foreign),
            ("no package", lambda: self.describe(package=None), foreign),
            ("another Lisp", lambda: self.describe(lisp="SBCL 0.9.1"), r"it was saved by SBCL 0\.9\.1, and this is SBCL \d"),
            ("another size", lambda: self.describe(size=1), torn),
            ("a size that is a word", lambda: self.describe(size="big"), torn),
            ("another hash", lambda: self.describe(hash="0123456789abcdef"), torn),
        )
        for name, damage, pattern in damages:
            with self.subTest(name):
                self.mend()
                damage()
                self.assertNotUsed(pattern)
        # A save of now takes the place of what is there, whatever that was.
        write(b"(:this :is :lisp)")()
        self.save()
        self.restore()
        self.assertEvaluates("*running*", "42")

    def test_a_description_of_another_session_is_an_error_and_costs_that_one_nothing(self):
        self.mend()
        shutil.copy(os.path.join(self.state, "other.json"), self.path)
        try:
            self.assertNotUsed("cannot be used")
        finally:
            # The image that was named there is not ours to remove when we save.
            self.save()
            self.s.call("create-session", name="other")
            self.restore(name="other")
            self.assertEvaluates("*saved*", ":OTHER", session="other")

    def test_a_strange_journal_is_no_reason_to_lose_the_session(self):
        for journal in (None, 7, [], [1, "x", {}], [{"code": 5, "package": 6, "outcome": 77, "evaluation": -1}],
                        [{"code": "1", "package": "CL-USER", "outcome": 0, "evaluation": 1, "when": when} for when in (-1, 2**62, "x")]):
            with self.subTest(journal):
                self.mend()
                self.describe(journal=journal)
                self.restore()
                self.assertEvaluates("*saved*", ":FROM-DISK")
                self.assertFalse(self.s.call("session-history").is_error)

    def test_an_image_that_agrees_but_does_not_start_leaves_an_empty_session_that_works(self):
        self.mend()
        with open(self.image, "wb") as f:
            f.write(b"this is no core")
        value = 14695981039346656037
        for byte in b"this is no core" * 2:  # both ends are hashed; the file is shorter than either
            value = (value ^ byte) * 1099511628211 % (1 << 64)
        self.describe(size=15, hash="%016x" % value)
        self.assertRefuses(self.s.call("restore-session", name="default"), "could not be started.*The session is empty now")
        self.assertEvaluates("(boundp '*running*)", "NIL")
        self.mend()
        self.restore()
        self.assertEvaluates("*saved*", ":FROM-DISK")


class WhenASaveFails(Saves):
    def limit_files(self, pid, size=resource.RLIM_INFINITY):
        """How large a file the process may make; a write beyond that sends it a signal first."""
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def test_the_reply_says_why_and_the_save_before_stays(self):
        self.copy_saved("default")
        self.s.evaluate("(defvar *n* 2)")
        old = self.images()
        with self.subTest("the image is limited"):
            self.limit_files(self.pid(), 3000000)
            self.assertRefuses(self.s.call("save-session"), r"^The session was not saved: ")
            self.assertOneSave()
            self.assertEvaluates("*n*", "2")
        self.limit_files(self.pid())
        with self.subTest("the description is limited"):
            # The image is written by the Lisp, the description by the server.
            self.limit_files(self.s.pid, 16)
            self.assertRefuses(self.s.call("save-session"), r"cannot write .*default-\S+\.json")
            self.limit_files(self.s.pid)
            self.assertOneSave()
            self.assertEvaluates("*n*", "2")
        with self.subTest("the copy that writes is killed"):
            pending = self.s.start_call("save-session")
            os.kill(self.writer(self.wait_for_image(beside=old)), signal.SIGKILL)
            self.assertRefuses(pending.reply(), "not saved: .*signal 9")
            self.assertOneSave()
            self.assertEvaluates("*n*", "2")
        with self.subTest("it is cancelled"):
            pending = self.s.start_call("save-session")
            self.wait_for_image(beside=old)
            self.s.notify("notifications/cancelled", {"requestId": pending.id})
            mcp.wait_until(lambda: self.images() == old, 10, "the end of the image")
            self.assertOneSave()
            self.assertEvaluates("*n*", "2")
        other = self.server()
        self.restore(other)
        self.assertValue(other.evaluate("*saved*"), ":FROM-DISK")
        self.save()
        self.assertOneSave()
        self.restore(other)
        self.assertValue(other.evaluate("(list *n* (boundp '*saved*))"), "(2 NIL)")

    @unittest.skipIf(mcp.SANITIZED, "writes many images; the plain build does")
    def test_a_full_file_system_is_an_error_and_the_old_save_stays(self):
        # The server gets a small file system of its own that nobody else sees, so what is in it is asked of its Lisp.
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
            self.skipTest("file systems cannot be mounted here")
        script = 'mount -t tmpfs -o size=40m none "$1" && cp "$2"/default* "$1" && exec "$0" --state-dir "$1"'
        self._server = self.start_server("-rm", "sh", "-c", script, mcp.SERVER, self.state, saved_once(), program="unshare")
        listing = '(sort (mapcar #\'pathname-type (directory "%s/*.*")) #\'string<)' % self.state
        self.assertEvaluates(listing, '("core" "json")')
        self.assertEvaluates(
            '(with-open-file (s "%s/filler" :direction :output :element-type \'(unsigned-byte 8))'
            " (let ((piece (make-array 1000000 :element-type '(unsigned-byte 8))))"
            ' (ignore-errors (loop (write-sequence piece s) (finish-output s))) :full))' % self.state, ":FULL", timeout=30)
        self.s.evaluate("(defvar *new* 2)")
        self.assertRefuses(self.s.call("save-session"), r"(?s)not saved.*room in %s|No space" % re.escape(self.state))
        self.assertEvaluates("(cdr %s)" % listing, '("core" "json")')
        self.assertEvaluates("*new*", "2")
        self.restore()
        self.assertEvaluates("(list *saved* (boundp '*new*))", "(:FROM-DISK NIL)")

    def test_a_directory_that_cannot_be_made_is_said(self):
        path = os.path.join(self.state, "file")
        open(path, "w").close()
        for where in (path, os.path.join(path, "below"), "/proc/nowhere/at/all"):
            with self.subTest(where):
                client = self.start_server("--state-dir", where)
                client.evaluate("(defvar *n* 1)")
                self.assertRefuses(client.call("save-session"), r"(?i)not saved|cannot make the directory")
                self.assertValue(client.evaluate("*n*"), "1")


class WhenTheServerIsKilled(Saves):
    @unittest.skipIf(mcp.SANITIZED, "writes many images; the plain build does")
    def test_whatever_the_moment_the_save_before_is_whole(self):
        random = self.random()
        self.copy_saved("default")
        client = self.server()
        self.restore(client)
        saved = 2  # the value of *n* in the save that counts
        described = self.description()

        def at_once():
            pass

        def in_the_middle():
            self.wait_for_image(more_than=random.randint(1, 11000000), beside=old)

        def at_the_end():
            self.wait_for_image(more_than=os.path.getsize(os.path.join(self.state, old[0])) - 65536, beside=old)

        def when_it_is_described():
            mcp.wait_until(lambda: self.description() != described, 30, "the new description")

        for n, moment in enumerate((at_once, in_the_middle, at_the_end, when_it_is_described), 3):
            with self.subTest(moment.__name__):
                old = [described["image"]]
                self.assertValue(client.evaluate("(setf *n* %d)" % n), str(n))
                client.start_call("save-session")
                moment()
                self.kill(client)
                if self.description() != described:
                    saved, described = n, self.description()
                client = self.server()
                self.restore(client)
                self.assertValue(client.evaluate("*n*"), str(saved))
        self.assertEqual(n, saved, "the last one was described before the server was killed")

    def test_what_a_killed_server_left_goes_with_a_later_save(self):
        self.s.evaluate("(defvar *n* 1)")
        self.s.start_call("save-session")
        torn = self.wait_for_image()
        self.kill(self.s)
        client = self.server()
        left = {torn: 7200, "default-1-2-3.core": 7200, "default-1-2-4.core.json": 7200}
        kept = {"default-1-2-5.core": 0, "default-1-2.core": 7200, "other-1-2-3.core": 7200, "default-1-2-3.core.txt": 7200}
        now = time.time()
        for name, age in {**left, **kept}.items():
            path = os.path.join(self.state, name)
            open(path, "a").close()
            os.utime(path, (now - age, now - age))
        client.evaluate("(defvar *n* 2)")
        self.save(client)
        names = os.listdir(self.state)
        self.assertEqual([], [name for name in left if name in names])
        self.assertEqual([], [name for name in kept if name not in names])
        self.restore(client)
        self.assertValue(client.evaluate("*n*"), "2")


class Persistence(Saves):
    options = ("--persist",)

    def test_what_was_evaluated_is_saved_at_the_end_and_comes_back_by_itself(self):
        for name in ("idle", "work", "threads"):
            self.s.call("create-session", name=name)
        self.s.evaluate("(defvar *n* 1)")
        self.s.evaluate("(defpackage :shop (:use :cl))", session="work")
        self.s.evaluate("(in-package :shop)", session="work")
        self.s.evaluate("(defun price (x) (* 2 x))", session="work")
        # One that cannot be saved does not keep the others from it.
        self.s.evaluate("(sb-thread:make-thread (lambda () (sleep 1000)))", session="threads")
        self.s.close(wait=60)
        self.assertRegex(self.s.stderr(), "not saved: .*threads")
        os.unlink(os.path.join(self.state, "threads.lost"))
        self.assertOneSave("default", "work")
        client = self.server("--persist")
        # In order with what is asked of them, although they come back only now.
        pending = [client.start_call("evaluate-lisp", code=code, session="work") for code in ("(price 4)", "(defun price (x) (* 3 x))", "(price 4)")]
        self.assertValue(pending[0].reply(), "8")
        self.assertFalse(pending[1].reply().is_error)
        self.assertValue(pending[2].reply(), "12")
        self.assertIn("Package: SHOP", client.call("session-info", session="work").text)
        # What came back is saved again, what nobody asked for stays as it was; SIGTERM does as the end of the input.
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, client.wait(60))
        client.close()
        self.assertOneSave("default", "work")
        again = self.server("--persist")
        self.assertValue(again.evaluate("*n*"), "1")
        self.assertValue(again.evaluate("(price 4)", session="work"), "12")
        self.assertRegex(again.call("session-history", session="work").text, r"(?s)\(\* 2 x\).*\(price 4\).*\(\* 3 x\)")
        self.kill(again)

    def test_what_could_not_be_saved_is_said_by_the_next_server(self):
        thread = "(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))"
        self.assertIn("the session cannot be saved", self.s.evaluate(thread).session)
        self.s.close(wait=60)
        self.assertEqual(["default.lost"], self.files())
        client = self.server("--persist")
        lost = r"When the server ended at \S+Z, session default, the state after evaluation %d, was lost\. The session was not saved: Other threads .*\. %s"
        self.assertRegex(client.evaluate("(defvar *n* 1)").session, lost % (1, "It begins empty"))
        self.assertEqual("", client.evaluate("*n*").session)
        client.close(wait=60)
        self.assertOneSave("default")
        client = self.server("--persist")
        self.assertValue(client.evaluate("*n*"), "1")
        client.evaluate(thread)
        client.close(wait=60)
        client = self.server("--persist")
        report = client.evaluate("*n*")
        self.assertValue(report, "1")
        self.assertRegex(report.session, lost % (4, "This is its save from before"))
        client.evaluate("(setf *n* 2)")
        client.close(wait=60)
        self.assertOneSave("default")

    def test_a_second_sigterm_ends_it_at_once_and_the_save_before_is_whole(self):
        self.copy_saved("default")
        self.assertEvaluates("(incf *n*)", "3")
        old = self.images()
        self.s.process.send_signal(signal.SIGTERM)
        self.wait_for_image(beside=old)
        self.s.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.s.wait(10))
        self.s.close()
        self.assertOneSave()
        other = self.server("--persist")
        self.assertValue(other.evaluate("*n*"), "2")
        self.kill(other)

    def test_what_is_running_at_the_end_of_the_input_is_in_the_save(self):
        self.s.evaluate("(defvar *n* 1)")
        pending = self.s.start_call("evaluate-lisp", code="(progn (sleep 0.5) (setf *n* 2))")
        self.s.process.stdin.close()
        self.s.process.stdin = None
        self.assertValue(pending.reply(), "2")
        self.assertEqual(0, self.s.wait(60))
        # Without --persist nothing comes back and nothing is saved.
        before = self.files()
        other = self.server()
        self.assertValue(other.evaluate("(boundp '*n*)"), "NIL")
        self.assertValue(other.evaluate("(defvar *n* 3)"), "*N*")
        other.close()
        self.assertEqual(before, self.files())
        other = self.server("--persist")
        self.assertValue(other.evaluate("*n*"), "2")
        self.kill(other)
        # One that cannot be used is reported by the first reply.
        with open(os.path.join(self.state, self.images()[0]), "r+b") as f:
            f.write(b"X")
        other = self.server("--persist")
        report = other.evaluate("(boundp '*n*)")
        self.assertValue(report, "NIL")
        self.assertRegex(report.session, "cannot be used: its image is missing, torn or another one")
        self.assertEqual("", other.evaluate("1").session)
        self.kill(other)

    def test_sigterm_in_the_middle_of_an_evaluation_ends_and_saves(self):
        self.s.evaluate("(defvar *n* 1)")
        pending = self.s.start_call("evaluate-lisp", code="(loop (sleep 0.1))", timeout=3)
        self.s.notify("notifications/nothing")
        self.s.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.s.wait(60))
        self.assertErrorReport(pending.reply(), "TIMEOUT")
        other = self.server("--persist")
        self.assertValue(other.evaluate("*n*"), "1")
        self.kill(other)

    def test_a_server_that_did_nothing_saves_nothing(self):
        self.s.call("create-session", name="idle")
        self.s.close(wait=60)
        self.assertEqual([], self.files())


class Restored(Saves):
    """A session from the disk is a session like any other."""

    def setUp(self):
        super().setUp()
        self.copy_saved()
        self.restore()

    def test_a_death_leads_back_to_the_state_before(self):
        self.assertEvaluates("(next)", "3")
        for code in ("(progn (setf *n* 1000) (sb-ext:exit :abort t))", "(progn (defun next () :lost) (sb-posix:kill (sb-posix:getpid) 9))"):
            report = self.s.evaluate(code)
            self.assertErrorReport(report, "PROCESS-")
            self.assertIn("goes on from the state before this evaluation", report.session)
            self.assertEvaluates("*n*", "3")
        self.assertEvaluates("(next)", "4")

    def test_a_death_in_the_first_evaluation_leads_back_to_the_save(self):
        report = self.s.evaluate("(progn (setf *n* 1000) (sb-ext:exit :abort t))")
        self.assertErrorReport(report, "PROCESS-EXITED")
        self.assertIn("goes on", report.session)
        self.assertEvaluates("(list *n* (next))", "(2 3)")

    def test_checkpoints_can_be_named_and_returned_to(self):
        self.assertEvaluates("(next)", "3")
        self.assertFalse(self.s.call("checkpoint-session", name="three").is_error)
        self.assertEvaluates("(next)", "4")
        self.assertEvaluates("(next)", "5")
        reply = self.s.call("rollback-session", to="-1")
        self.assertFalse(reply.is_error, reply.text)
        self.assertEvaluates("*n*", "4")
        reply = self.s.call("rollback-session", to="three")
        self.assertFalse(reply.is_error, reply.text)
        self.assertEvaluates("*n*", "3")
        # The state that was restored is a state of the session as well.
        reply = self.s.call("rollback-session", to="3")
        self.assertFalse(reply.is_error, reply.text)
        self.assertEvaluates("*n*", "2")

    def test_an_error_can_be_entered_and_the_fix_goes_on(self):
        report = self.s.evaluate("(let ((here 20)) (declare (optimize debug)) (+ here (absent *n*)))")
        self.assertErrorReport(report, "UNDEFINED-FUNCTION")
        self.assertRegex(self.s.call("get-backtrace", locals=True).text, "(?m)^0: ")
        self.assertValue(self.s.call("evaluate-in-frame", frame=0, code="(1+ *n*)"), "3")
        self.assertEvaluates("(defun absent (x) (* 10 x))", "ABSENT")
        self.assertValue(self.s.call("invoke-restart", restart="RETRY", index=1), "40")
        self.assertEvaluates("(list *n* (absent 1))", "(2 10)")

    def test_a_time_limit_can_be_continued(self):
        report = self.s.evaluate("(progn (sleep 0.6) (next))", timeout=0.2)
        self.assertErrorReport(report, "TIMEOUT")
        self.assertValue(self.s.call("invoke-restart", restart="CONTINUE", timeout=20), "3")
        self.assertEvaluates("*n*", "3")

    def test_it_can_be_reset_and_restored(self):
        self.s.call("reset-session")
        self.assertEvaluates("(boundp '*n*)", "NIL")
        self.restore()
        self.assertEvaluates("*n*", "2")

    def test_output_and_errors_are_captured(self):
        report = self.s.evaluate('(progn (format t "out~%") (format *error-output* "err~%") (warn "careful") 1)')
        self.assertValue(report, "1")
        self.assertEqual(("out", "err"), (report.stdout.strip(), report.stderr.strip()), report.text)
        self.assertIn("careful", str(report.warnings))

    def test_its_processes_end_with_the_server(self):
        self.s.evaluate("(next)")
        self.s.evaluate('(error "frozen")')
        mark = self.s.mark
        self.s.destroy()
        mcp.assert_none_left(mark)


if __name__ == "__main__":
    mcp.main()
