"""Saves that are damaged, foreign or half written: what the reply says, and that it costs no session and no other save."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

import mcp
import saves

tearDownModule = saves.remove_saved


class Damage(saves.Saves):
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

    def test_an_absent_name_is_reported(self):
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
        torn = r"The saved session default cannot be used: its image is missing, incomplete or a different one\."

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
                if os.path.exists(path):
                    os.unlink(path)
        # A save does not wait for them either: it takes the place of what is there, whatever that was.
        self.mend()
        for path in (self.path, self.image, os.path.join(self.state, "default.coming")):
            if os.path.exists(path):
                os.unlink(path)
            os.mkfifo(path)
        self.s.evaluate("(setf *saved* :anew)")
        self.save()
        self.restore()
        self.assertEvaluates("*saved*", ":ANEW")

    def test_no_link_or_pipe_is_written_to_while_a_session_is_saved(self):
        """Who can write to the directory sees the name of the image, which leads to that of the unfinished description."""
        images = lambda: [name for name in os.listdir(self.state) if name.startswith("planted-") and name.endswith(".core")]
        victim = mcp.write(os.path.join(self.folder(), "victim"), "precious", 0o644)
        for plant in (lambda path: os.symlink(victim, path), os.mkfifo):
            saving = self.s.start_call("save-session", name="planted")
            plant(os.path.join(self.state, "%s.new" % mcp.wait_until(images, 60, "an image begins")[0]))
            self.assertIsError(saving.reply(120), "File exists")
            self.assertEqual(("precious", 0o100644), (mcp.read(victim), os.stat(victim).st_mode))
            self.assertEqual([], images())
        self.assertFalse(self.s.call("save-session", name="planted").is_error)

    def test_a_foreign_description_is_an_error_and_the_session_is_untouched(self):
        def write(text):
            def damage():
                mcp.write(self.path, text)
            return damage

        unreadable, foreign = "cannot be used: its description cannot be read", "cannot be used: its description is in an unknown format"
        torn = "cannot be used: its image is missing, incomplete or a different one"
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

    def test_a_description_of_another_session_is_an_error_and_costs_that_one_nothing(self):
        for name in ("other", "default"):
            self.mend()
            shutil.copy(os.path.join(self.state, "other.json"), self.path)
            self.describe(name=name)
            if name == "other":
                self.assertNotUsed("cannot be used")
            # The image that was named there is not ours to remove when we save.
            self.save()
            self.s.call("create-session", name="other")
            self.restore(name="other")
            self.assertEvaluates("*saved*", ":OTHER", session="other")
            self.s.call("close-session", session="other")

    def test_an_invalid_journal_does_not_lose_the_session(self):
        for journal in (None, 7, [], [1, "x", {}], [{"code": 5, "package": 6, "outcome": 77, "evaluation": -1}],
                        [{"code": "1", "package": "CL-USER", "outcome": 0, "evaluation": 1, "when": when} for when in (-1, 2**62, "x")]):
            with self.subTest(journal):
                self.mend()
                self.describe(journal=journal)
                self.restore()
                self.assertEvaluates("*saved*", ":FROM-DISK")
                self.assertFalse(self.s.call("session-history").is_error)
        # Numbers that do not ascend: what breaks the order is left out.
        entry = {"package": "CL-USER", "outcome": 0, "held": True, "when": 1700000000}
        self.mend()
        self.describe(journal=[dict(entry, evaluation=n, parent=0, code="(list %d)" % n) for n in (7, 2, 7, 0, -1, 9)])
        self.restore()
        self.assertEqual(["7", "9"], re.findall(r"\(list (\S+)\)", self.s.call("session-history").text))

    def test_an_image_that_agrees_but_does_not_start_leaves_an_empty_session_that_works(self):
        self.mend()
        mcp.write(self.image, b"this is no core")
        value = 14695981039346656037
        for byte in b"this is no core" * 2:  # both ends are hashed; the file is shorter than either
            value = (value ^ byte) * 1099511628211 % (1 << 64)
        self.describe(size=15, hash="%016x" % value)
        self.assertRefuses(self.s.call("restore-session", name="default"), "could not be started.*The session is empty now")
        self.assertEvaluates("(boundp '*running*)", "NIL")
        self.mend()
        self.restore()
        self.assertEvaluates("*saved*", ":FROM-DISK")


class WhenASaveFails(saves.Saves):
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
            self.assertRefuses(self.s.call("save-session"), r"cannot write .*default-\S+\.core\.new")
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
        self._server = self.start_server("-rm", "sh", "-c", script, mcp.SERVER, self.state, saves.saved_once("default"), program="unshare")
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

    def test_a_directory_that_cannot_be_created_is_reported(self):
        path = os.path.join(self.state, "file")
        open(path, "w").close()
        for where in (path, os.path.join(path, "below"), "/proc/nowhere/at/all"):
            with self.subTest(where):
                client = self.start_server("--state-dir", where)
                client.evaluate("(defvar *n* 1)")
                self.assertRefuses(client.call("save-session"), r"(?i)not saved|cannot make the directory")
                self.assertValue(client.evaluate("*n*"), "1")


class WhenTheServerIsKilled(saves.Saves):
    @unittest.skipIf(mcp.SANITIZED, "writes many images; the plain build does")
    def test_the_earlier_save_is_complete_at_every_moment(self):
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

    def test_files_left_by_a_killed_server_are_removed_with_a_later_save(self):
        self.s.evaluate("(defvar *n* 1)")
        self.s.start_call("save-session")
        torn = self.wait_for_image()
        self.kill(self.s)
        client = self.server()
        left = {torn: 7200, "default-1-2-3.core": 7200, "default-1-2-4.core.new": 7200, "other-1-2-3.core": 7200, "x-1-2-3-4.core.new": 7200}
        kept = {"default-1-2-5.core": 0, "default-1-2.core": 7200, "default-1-2-3.core.txt": 7200, "named-1-2-3.core": 7200,
                "named.json": 7200, "exp-2026-11-25.core.json": 7200, "-1-2-3.core": 7200}
        now = time.time()
        for name, age in {**left, **kept}.items():
            path = os.path.join(self.state, name)
            open(path, "a").close()
            os.utime(path, (now - age, now - age))
        client.evaluate("(defvar *n* 2)")
        self.save(client)
        self.assertNotEqual(torn.split("-")[-1], self.description()["image"].split("-")[-1])  # each is the first of its server
        names = os.listdir(self.state)
        self.assertEqual([], [name for name in left if name in names])
        self.assertEqual([], [name for name in kept if name not in names])
        self.restore(client)
        self.assertValue(client.evaluate("*n*"), "2")
