"""With --persist, sessions are saved at the end and brought back by themselves."""

import json
import os
import signal
import subprocess
import sys
import unittest

import mcp
import saves

tearDownModule = saves.remove_saved


class Persistence(saves.Saves):
    options = ("--persist",)

    def test_sessions_are_saved_at_the_end_and_restored_on_first_use(self):
        folder = os.path.realpath(self.folder())
        mcp.write(os.path.join(folder, "a.lisp"), "(defun a () 1)\n")
        self.copy_saved("default")
        for name in ("idle", "work", "threads"):
            self.s.call("create-session", name=name, directory=folder)
        self.s.evaluate("(defpackage :shop (:use :cl))", session="work")
        self.s.evaluate("(in-package :shop)", session="work")
        self.s.evaluate("(defun price (x) (* 2 x))", session="work")
        self.s.call("checkpoint-session", session="work", name="good")
        # One that cannot be saved does not keep the others from it.
        self.s.evaluate("(sb-thread:make-thread (lambda () (sleep 1000)))", session="threads")
        self.s.close(wait=60)
        self.assertRegex(self.s.stderr(), "not saved: .*threads")
        os.unlink(os.path.join(self.state, "threads.lost"))
        self.assertOneSave("default", "work")
        self.assertIn("checkpoints", self.description("work"))
        client = self.server("--persist", "--tools", "full")
        # Before anything is evaluated there, files are edited where the session was.
        self.assertSucceeds(client.call("validate-syntax", path="a.lisp", session="work"))
        self.assertSucceeds(client.call("edit-form", path="a.lisp", kind="defun", name="a", content="(defun a () 2)", session="work"))
        # In order with what is asked of them, although they come back only now.
        pending = [client.start_call("evaluate-lisp", code=code, session="work") for code in ("(price 4)", "(defun price (x) (* 3 x))", "(price 4)")]
        self.assertValue(pending[0].reply(), "8")
        self.assertFalse(pending[1].reply().is_error)
        self.assertValue(pending[2].reply(), "12")
        self.assertIn("Package: SHOP", client.call("session-info", session="work").text)
        self.assertValue(client.evaluate('(list (load "a.lisp") (a))', session="work"), "(T 2)")
        # What came back is saved again, what nobody asked for stays as it was; SIGTERM does as the end of the input.
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, client.wait(60))
        client.close()
        self.assertOneSave("default", "work")
        self.assertNotIn("checkpoints", self.description("work"))
        again = self.server("--persist")
        self.assertValue(again.evaluate("*n*"), "2")
        self.assertValue(again.evaluate("(price 4)", session="work"), "12")
        self.assertRegex(again.call("session-history", session="work").text, r"(?s)\(\* 2 x\).*\(price 4\).*\(\* 3 x\)")
        self.kill(again)

    def test_a_session_that_could_not_be_saved_is_reported_by_the_next_server(self):
        thread = "(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))"
        self.assertIn("the session cannot be saved", self.s.evaluate(thread).session)
        self.s.close(wait=60)
        self.assertEqual(["default.lost"], self.files())
        client = self.server("--persist")
        lost = r"When the server ended at \S+Z, session default, the state after evaluation %d, was lost\. The session was not saved: Other threads .*: unnamed thread\.%s"
        self.assertRegex(client.evaluate("(defvar *n* 1)").session, lost % (1, " It begins empty"))
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
        self.assertRegex(report.session, lost % (4, "\nRestored session default, the state after evaluation 2"))
        self.assertOneSave("default")
        self.kill(client)

    def test_the_loss_of_a_session_with_a_name_is_reported_where_that_is_used(self):
        for name in ("one", "two"):
            self.s.call("create-session", name=name)
            self.s.evaluate("(defvar *thread* (sb-thread:make-thread (lambda () (sleep 1000))))", session=name)
        self.s.close(wait=60)
        client = self.server("--persist")
        reply = client.call("evaluate-lisp", code="1", session="one")
        self.assertRegex(reply.text, r"session one, the state after evaluation 1, was lost\.(?s:.*)\nNo session named one\.")
        client.call("create-session", name="two")
        self.assertRegex(client.evaluate("1", session="two").session, "session two, the state after evaluation 1, was lost.* It begins empty")
        self.assertEqual([], [name for name in self.files() if name.endswith(".lost")])
        self.kill(client)

    def test_limits_come_back_and_checkpoints_that_do_not_are_named(self):
        self.s.call("configure-limits", **{"timeout": 77, "max-heap": 1024})
        self.s.evaluate("(defvar *n* 1)")
        for name in ("good", "new"):
            self.s.call("checkpoint-session", name=name)
        self.s.evaluate("(setf *n* 2)")
        # For the next reset; the image needs no less than it had.
        self.s.call("configure-limits", **{"max-heap": 128})
        self.s.close(wait=60)
        client = self.server("--persist", "--timeout", "5", "--print-level", "6")
        # Before the image has started, too.
        limits = client.call("configure-limits", **{"print-length": 3}).text
        for line in ("timeout: 77 s", "max-heap: 128 MiB", "print-length: 3", "print-level: 6"):
            self.assertIn("  %s\n" % line, limits)
        report = client.evaluate("(list *n* (floor (sb-ext:dynamic-space-size) 1048576))")
        self.assertValue(report, "(2 1024)")
        self.assertEqual("Restored session default, the state after evaluation 2. A save holds neither checkpoints nor errors.\n"
                         "Named checkpoints, which this save does not hold: good (evaluation 1), new (evaluation 1).", report.session)
        self.assertEqual(limits, client.call("configure-limits").text)
        self.assertEqual("", client.evaluate("1").session)
        # What is no limit in the file is left out.
        self.kill(client)
        path = os.path.join(self.state, "default.json")
        description = self.description()
        description.update(heap="x", checkpoints=[7], limits={"timeout": -1, "print-length": "3", "max-output": 1e300, "print-level": 2, "nothing": 1})
        with open(path, "w", encoding="utf-8") as f:
            json.dump(description, f)
        client = self.server("--persist")
        self.assertValue(client.evaluate("*n*"), "2")
        limits = client.call("configure-limits").text
        for line in ("timeout: 30 s", "max-output: 4096 bytes", "print-length: 0 (unlimited)", "print-level: 2"):
            self.assertIn("  %s\n" % line, limits)
        self.kill(client)

    def test_a_second_sigterm_ends_it_at_once_and_the_save_before_is_whole(self):
        self.copy_saved("default")
        self.assertEvaluates("(incf *n*)", "3")
        old = self.images()
        self.s.process.send_signal(signal.SIGTERM)
        self.wait_for_image(beside=old)
        self.s.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.s.wait(10))
        self.s.close()
        other = self.server("--persist")
        report = other.evaluate("*n*")
        self.assertValue(report, "2")
        self.assertRegex(report.session, "was lost. The server was told a second time to end, before the session was saved.\nRestored session default")
        self.assertOneSave()
        self.kill(other)

    def test_a_second_signal_reports_those_that_had_not_begun_to_be_saved_too(self):
        names = ["s%d" % n for n in range(4)]
        for name in names:
            self.s.call("create-session", name=name)
            self.s.evaluate("(defvar *n* 1)", session=name)
        self.s.process.send_signal(signal.SIGTERM)
        self.wait_for_image()
        self.s.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.s.wait(10))
        kept = {name.split(".")[0] for name in self.files() if name.endswith((".lost", ".json"))}
        self.assertEqual(set(names), kept)

    def test_an_evaluation_running_at_the_end_of_the_input_is_in_the_save(self):
        self.s.evaluate('(defvar *n* 1) (defvar *length* (length "a\0b"))')
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
        self.assertValue(other.evaluate("(list *n* *length*)"), "(2 3)")
        self.kill(other)
        # One that cannot be used is reported by the first reply.
        with open(os.path.join(self.state, self.images()[0]), "r+b") as f:
            f.write(b"X")
        other = self.server("--persist")
        report = other.evaluate("(boundp '*n*)")
        self.assertValue(report, "NIL")
        self.assertRegex(report.session, "cannot be used: its image is missing, incomplete or a different one")
        self.assertEqual("", other.evaluate("1").session)
        self.kill(other)

    @unittest.skipIf(mcp.SANITIZED, "the next one takes the same way through the server")
    def test_sigterm_in_the_middle_of_an_evaluation_ends_and_saves(self):
        self.s.evaluate("(defvar *n* 1)")
        pending = self.s.start_call("evaluate-lisp", code="(progn (setf *n* 2) (loop (sleep 0.1)))", timeout=0)
        self.s.notify("notifications/nothing")
        self.s.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.s.wait(60))
        self.assertErrorReport(pending.reply(), "CANCELLED")
        other = self.server("--persist")
        self.assertIn(self.evaluated(other, "*n*"), ("1", "2"))  # it may not have begun
        self.kill(other)

    def test_sigterm_ends_an_evaluation_that_continues_without_its_call(self):
        self.s.evaluate("(defvar *n* 1)")
        for code in ("(progn (setf *n* 2) (loop))", "(setf *n* 3)"):
            self.assertIn("continues", self.s.call("evaluate-lisp", {"code": code, "timeout": 0, "wait": 0.2}).text)
        self.s.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.s.wait(60))
        other = self.server("--persist")
        self.assertEqual("2", self.evaluated(other, "*n*"))
        self.kill(other)

    def test_the_death_of_the_client_stops_what_nobody_can_read_the_answer_of_and_saves(self):
        script = """
import json, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
def call(id, **arguments):
    send(id=id, method="tools/call", params={"name": "evaluate-lisp", "arguments": arguments})
send(id=1, method="initialize", params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
server.stdout.readline()
send(method="notifications/initialized")
call(2, code="(defvar *n* 2)")
server.stdout.readline()
call(3, code='(progn (setf *n* 3) (close (open "%s" :direction :output)) (loop))' % sys.argv[1], timeout=3600)
print(server.pid, flush=True)
server.wait()
"""
        started = os.path.join(self.folder(), "started")
        client = subprocess.Popen([sys.executable, "-c", script, started, mcp.SERVER, "--persist", "--state-dir", self.state],
                                  stdout=subprocess.PIPE, env=mcp.clean_environment())
        server = int(client.stdout.readline())
        mcp.wait_until(lambda: os.path.exists(started), 20, "the evaluation")
        client.kill()
        client.wait()
        client.stdout.close()
        mcp.wait_until(lambda: not mcp.is_alive(server), 20, "the end of the server")
        other = self.server("--persist")
        self.assertEqual("3", self.evaluated(other, "*n*"))
        self.kill(other)

    def evaluated(self, client, code):
        return self.assertSucceeds(client.evaluate(code)).value

    @unittest.skipIf(mcp.SANITIZED, "SIGTERM takes the same way through the server")
    def test_a_closed_terminal_saves_too(self):
        self.s.evaluate("(defvar *n* 1)")
        self.s.process.send_signal(signal.SIGHUP)
        self.wait_for_image()
        self.s.process.send_signal(signal.SIGHUP)  # the shell sends it, too
        self.assertEqual(0, self.s.wait(60))
        other = self.server("--persist")
        self.assertEqual("1", self.evaluated(other, "*n*"))
        self.kill(other)

    def damage(self):
        path = os.path.join(self.state, self.description()["image"])
        with open(path, "r+b") as f:
            f.write(b"damaged")

    def test_a_save_that_cannot_be_used_is_protected_while_it_is_there_and_nothing_else_needs_protection(self):
        self.copy_saved("default")
        self.damage()
        client = self.server("--persist")
        report = client.evaluate("(defvar *new* 1)")
        self.assertRegex(report.session, "Work done now is not saved when the server ends, unless checkpoint-session saves it .action: save.\.")
        client.close(wait=60)
        self.assertIn("default.lost", self.files())
        client = self.server("--persist")
        looked = client.call("describe-symbol", {"name": "car"}).text
        self.assertRegex(looked, r"\[Session\](?s:.*)was left unchanged(?s:.*)Work done now is not saved")
        self.assertNotIn("default.lost", self.files())
        client.evaluate("(defvar *newer* 1)")
        client.call("delete-save", name="default")
        client.close(wait=60)
        client = self.server("--persist")
        self.assertEqual("1", self.evaluated(client, "*newer*"))
        # Of a session that runs, the state is worth more than a save that cannot be used.
        self.damage()
        self.assertTrue(client.call("restore-session", name="default").is_error)
        client.evaluate("(defvar *newest* 2)")
        client.close(wait=60)
        client = self.server("--persist")
        self.assertEqual("2", self.evaluated(client, "*newest*"))
        self.kill(client)

    def test_a_restore_that_has_no_process_says_so_and_keeps_the_note_of_a_loss(self):
        self.copy_saved("default")
        mcp.write(os.path.join(self.state, "default.lost"), "This was lost.")
        client = self.server("--persist", "--max-processes", "1", "--checkpoints", "off")
        client.call("create-session", name="other")
        client.evaluate("1", session="other")
        first = client.evaluate("(boundp '*n*)").text
        self.assertRegex(first, r"(?s)This was lost.*The saved session default could not be started.*The session is empty now; create-session with saved: true tries again")
        client.call("close-session", session="other")
        self.assertFalse(client.call("restore-session", name="default").is_error)
        self.assertEqual("2", self.evaluated(client, "*n*"))
        self.kill(client)

    def test_where_nothing_can_be_saved_it_does_not_start(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_STATE_HOME")}
        self.assertDoesNotStart("--persist needs --state-dir", "--persist", status=2, env=environment)

    def test_a_server_that_did_nothing_saves_nothing(self):
        self.s.call("create-session", name="idle")
        self.s.close(wait=60)
        self.assertEqual([], self.files())
