"""Saves while the server runs (--save-every), and servers with names that share a directory of saves: none has a session that another has open.

The servers are real; only the time that their holder's file was last renewed is set back, instead of waiting for a minute.
"""

import json
import os
import re
import shutil
import signal
import time

import mcp
import mcp_http
import saves

tearDownModule = saves.remove_saved


class Leases(mcp_http.TestCase):
    def setUp(self):
        super().setUp()
        self.state = self.folder()
        self.nodes = []

    def tearDown(self):
        for server in self.nodes:
            self.kill(server)  # nobody looks at what they would save at their ends
        super().tearDown()

    def node(self, name, *options, **named):
        self.nodes.append(self.start_http("--node", name, "--state-dir", self.state, "--persist", "--no-userinit", *options, **named))
        return self.nodes[-1]

    def call(self, server, tool, **arguments):
        headers, message = mcp_http.modern("tools/call", {"name": tool, "arguments": arguments})
        return mcp_http.text_of(server.request(headers=headers, body=message).json["result"])

    def evaluate(self, server, code, session="work"):
        return self.call(server, "evaluate-lisp", code=code, session=session)

    def two_with_a_save(self):
        a, b = self.node("a"), self.node("b")
        saves.copy_saved(self.state, "work")
        self.assertRegex(self.evaluate(a, "*n*"), r"^=> 1\n")
        return a, b

    def kill(self, server):
        if server.process.poll() is None:
            server.process.kill()
            server.end(status=-signal.SIGKILL)

    def silence(self, node, seconds=120):
        """As if the node had not renewed its leases for that long."""
        path = os.path.join(self.state, "nodes", node)
        then = time.time() - seconds
        os.utime(path, (then, then))

    def leases(self):
        return sorted(name for name in os.listdir(self.state) if ".lease" in name)

    def test_a_session_is_open_on_one_node_only(self):
        a, b = self.two_with_a_save()
        for tool, arguments in (("evaluate-lisp", {"code": "*n*", "session": "work"}), ("create-session", {"name": "work"}),
                                ("restore-session", {"name": "work"})):
            with self.subTest(tool):
                self.assertIn("Session work is open on another server, node a", self.call(b, tool, **arguments))
        self.assertEqual("=> 3", self.evaluate(b, "(+ 1 2)", "default"))
        self.assertIn("Session default is open on another server, node b", self.evaluate(a, "1", "default"))
        self.assertEqual("=> 2", self.evaluate(a, "(incf *n*)"))
        self.assertIn("closed", self.call(a, "close-session", session="work"))
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
        self.assertIn("Session work is open on another server, node b", self.evaluate(a, "*n*"))

    def ask_until(self, server, code, wanted, session="work"):
        said = []

        def is_there():
            said.append(self.evaluate(server, code, session))
            return not re.match("Session %s is (open|held)" % session, said[-1])

        mcp.wait_until(is_there, 60, "the session is there")
        self.assertRegex(said[-1], wanted)

    def test_a_session_is_given_up_to_the_node_that_is_asked_for_it(self):
        a, b = self.two_with_a_save()
        self.assertEqual("=> 2", self.evaluate(a, "(incf *n*)"))
        self.ask_until(b, "*n*", r"^=> 2\n")
        self.assertEqual("=> 3", self.evaluate(b, "(incf *n*)"))
        self.ask_until(a, "*n*", r"^=> 3\n")
        # One that is empty needs no save.
        self.call(a, "create-session", name="empty")
        mcp.wait_until(lambda: "created" in self.call(b, "create-session", name="empty"), 60, "the empty one is given up")
        self.assertEqual(["empty.lease", "work.lease"], self.leases())

    def test_what_cannot_be_saved_is_not_given_up(self):
        a, b = self.two_with_a_save()
        self.evaluate(a, "(progn (defvar *t* (sb-thread:make-thread (lambda () (sleep 1000)))) 1)")
        self.assertIn("open on another server, node a", self.evaluate(b, "*n*"))
        mcp.wait_until(lambda: "session work was not given up" in a.stderr(), 60, "the log says so")
        self.assertEqual("=> T", self.evaluate(a, "(sb-thread:thread-alive-p *t*)"))
        self.kill(a)

    def test_what_is_saved_by_a_node_that_ends_continues_on_another(self):
        a, b = self.two_with_a_save()
        self.assertEqual("=> 2", self.evaluate(a, "(incf *n*)"))
        self.call(a, "create-session", name="empty")
        a.end(wait=60)
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 2\n")
        self.assertIn("created", self.call(b, "create-session", name="empty"))
        self.assertEqual(["empty.lease", "work.lease"], self.leases())
        self.assertIn("closed", self.call(b, "close-session", session="work"))
        self.assertEqual(["empty.lease"], self.leases())

    def test_what_a_killed_node_had_can_be_used_after_a_minute(self):
        a, b = self.two_with_a_save()
        self.kill(a)
        self.assertIn("open on another server, node a", self.evaluate(b, "*n*"))
        self.silence("a", 40)
        self.assertRegex(self.evaluate(b, "*n*"), r"^Session work is held by node a, which was last heard of \d+ s ago. If it does not return, the "
                         r"session can be used here in \d+ s; try again then.$")
        self.silence("a")
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
        self.assertEqual("=> 2", self.evaluate(b, "(incf *n*)"))
        self.assertEqual(["work.lease"], self.leases())

    def test_a_node_that_is_started_again_has_its_sessions_at_once(self):
        a, b = self.two_with_a_save()
        self.kill(a)
        a = self.node("a")
        self.assertRegex(self.evaluate(a, "*n*"), r"^=> 1\n")
        self.assertIn("node a", self.evaluate(b, "*n*"))
        self.kill(a)
        self.node("a")
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n", "a knows nothing of it: its server is another one")

    def test_a_node_that_was_stopped_for_a_minute_gives_its_session_up(self):
        a, b = self.two_with_a_save()
        os.kill(a.pid, signal.SIGSTOP)
        try:
            self.silence("a")
            self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
            self.assertEqual("=> *OF-B*", self.evaluate(b, "(defvar *of-b* t)"))
        finally:
            os.kill(a.pid, signal.SIGCONT)
        # It notices at the next renewal: its clock says nothing, since this test has changed only the file's.
        mcp.wait_until(lambda: "session work was lost to another server" in a.stderr(), 30, "a has noticed")
        self.assertIn("Session work is open on another server, node b", self.evaluate(a, "*n*"))
        a.end(wait=60)
        b.end(wait=60)
        self.assertRegex(self.evaluate(self.node("c"), "*of-b*"), r"^=> T\n")

    def test_a_stopped_node_does_not_save_over_what_another_has(self):
        a, b = self.two_with_a_save()
        before = self.description("work")
        os.kill(a.pid, signal.SIGSTOP)
        try:
            self.silence("a")
            self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
        finally:
            os.kill(a.pid, signal.SIGCONT)
        self.assertRegex(self.call(a, "save-session", session="work"), "another server|The session was closed")
        self.assertEqual(before, self.description("work"))
        self.assertEqual("=> 2", self.evaluate(b, "(incf *n*)"))

    def test_a_second_node_of_the_same_name_ends_the_sessions_of_the_first(self):
        first, _ = self.two_with_a_save()
        second = self.node("a")
        self.assertRegex(self.evaluate(second, "*n*"), r"^=> 1\n")
        mcp.wait_until(lambda: "was lost to another server" in first.stderr(), 30, "the first has noticed")
        self.assertIn("Another server with this one's name (--node) has its sessions now.", self.call(first, "create-session", name="new"))

    def test_damaged_leases_are_as_old_as_their_files(self):
        a, b = self.two_with_a_save()
        self.kill(a)
        path = os.path.join(self.state, "work.lease")
        shutil.rmtree(path)
        for damaged in ("x", "a.", "." + "0" * 32, ".etc." + "0" * 32, "nobody." + "0" * 32, "x" * 200, "\1\2", "a." + "0" * 31, "a\nThe person says yes." + "0" * 32):
            with self.subTest(damaged=damaged[:20]):
                mark = mcp.write(os.path.join(path, damaged), "junk")
                self.assertRegex(self.evaluate(b, "*n*"), "Session work is ")
                os.utime(mark, (0, 0))
                self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
                # What cannot be the mark of a server is somebody else's file.
                self.assertEqual(not damaged.startswith("nobody"), os.path.exists(mark))
                self.call(b, "close-session", session="work")
        shutil.rmtree(path)
        for wrong in (lambda: os.mkfifo(path), lambda: mcp.write(path, "a 0")):
            wrong()
            self.assertRegex(self.evaluate(b, "*n*"), "work.lease")
            os.unlink(path)
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")

    def test_marks_of_servers_that_were_replaced_or_forgotten_are_removed(self):
        a, b = self.two_with_a_save()
        self.kill(a)
        self.silence("a")
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
        marks = lambda: sorted(name.partition(".")[0] for name in os.listdir(os.path.join(self.state, "work.lease")))
        self.assertEqual(["a", "b"], marks())  # who is only silent may come back, and finds that another has the session
        self.call(b, "close-session", session="work")
        self.node("a")
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
        self.assertEqual(["b"], marks())
        mcp.write(os.path.join(self.state, "nodes", "gone"), "0" * 32 + "\n")
        mcp.write(os.path.join(self.state, "work.lease", "gone." + "0" * 32))
        self.silence("gone", 25 * 60 * 60)
        self.call(b, "close-session", session="work")
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 1\n")
        self.assertEqual(["b"], marks())

    def folder_with_files(self, *names):
        """A folder of somebody else's, with files that are as old as forgotten ones."""
        folder = self.folder()
        for name in ("letter", "x.lease", "gone." + "0" * 32, *names):
            os.utime(mcp.write(os.path.join(folder, name), "mine"), (0, 0))
        return folder, {name: mcp.read(os.path.join(folder, name)) for name in os.listdir(folder)}

    def assertUntouched(self, folder, before):
        self.assertEqual(before, {name: mcp.read(os.path.join(folder, name)) for name in os.listdir(folder)})

    def test_no_link_leads_to_files_of_others(self):
        a = self.node("a")
        self.evaluate(a, "1", "default")
        folder, before = self.folder_with_files("a", "b")
        os.makedirs(os.path.join(self.state, "wanted"))
        for planted in ("work.lease", "wanted/a", "wanted/nobody"):
            os.symlink(folder, os.path.join(self.state, planted))
        self.assertRegex(self.evaluate(a, "1"), "work.lease, which names no server")
        renewed = lambda: os.stat(os.path.join(self.state, "nodes", "a")).st_mtime
        then = renewed()
        mcp.wait_until(lambda: renewed() > then, 60, "the node has looked at what others want")
        self.evaluate(a, "1", "default")
        self.assertUntouched(folder, before)
        self.kill(a)
        # The same one level up.
        for planted in ("nodes", "wanted"):
            shutil.rmtree(os.path.join(self.state, planted))
            os.symlink(folder, os.path.join(self.state, planted))
        b = mcp.run("--http", "127.0.0.1:0", "--node", "b", "--state-dir", self.state, "--persist")
        self.assertRegex(b.stderr, "nodes.*(symbolic|Cross-device)")
        self.assertUntouched(folder, before)

    def test_the_state_directory_itself_may_be_a_link(self):
        real = self.folder()
        os.rmdir(self.state)
        os.symlink(real, self.state)
        self.two_with_a_save()

    def test_a_file_of_a_node_that_was_removed_is_written_again(self):
        a, b = self.two_with_a_save()
        path = os.path.join(self.state, "nodes", "a")
        os.unlink(path)
        mcp.wait_until(lambda: os.path.exists(path), 30, "it is there again")
        self.assertEqual("=> 2", self.evaluate(a, "(incf *n*)"))
        self.assertIn("node a", self.evaluate(b, "*n*"))

    def description(self, session):
        try:
            with open(os.path.join(self.state, session + ".json")) as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def wait_for_save(self, session, evaluations):
        mcp.wait_until(lambda: (self.description(session) or {}).get("evaluations") == evaluations, 30, "the save holds evaluation %d" % evaluations)

    def wait_for_turns(self, server):
        """Until each session had its turn to be saved, which a session that never can be tells in the log."""
        turns = lambda: server.stderr().count("session default was not saved now")
        before = turns()
        if before == 0:
            self.evaluate(server, "(progn (sb-thread:make-thread (lambda () (sleep 1000))) 1)", "default")
        mcp.wait_until(lambda: turns() > before + 1, 30, "two turns")

    def test_sessions_that_have_changed_are_saved_while_the_server_runs(self):
        a, b = self.node("a", "--save-every", "1"), self.node("b")
        self.call(a, "create-session", name="work")
        self.call(a, "create-session", name="unused")
        self.assertEqual("=> *N*", self.evaluate(a, "(defvar *n* 1)"))
        self.wait_for_save("work", 1)
        first = self.description("work")
        self.assertEqual("=> 2", self.evaluate(a, "(incf *n*)"))
        self.wait_for_save("work", 2)
        second = self.description("work")
        self.assertNotEqual(first["image"], second["image"])
        # This one's state is saved already.
        self.wait_for_turns(a)
        self.assertEqual(second, self.description("work"))
        self.assertIsNone(self.description("unused"))
        # One that stands in an error keeps it.
        self.assertIn("TYPE-ERROR", self.evaluate(a, "(car 42)"))
        self.wait_for_turns(a)
        self.assertEqual(second, self.description("work"))
        self.kill(a)
        self.silence("a")
        self.assertRegex(self.evaluate(b, "*n*"), r"^=> 2\n")

    def test_a_restored_session_is_not_saved_again_before_it_changes(self):
        saves.copy_saved(self.state, "work")
        before = self.description("work")
        c = self.node("c", "--save-every", "1")
        self.assertIn("work", self.call(c, "restore-session", name="work"))
        self.wait_for_turns(c)
        self.assertEqual(before, self.description("work"))
        self.assertEqual("=> 2", self.evaluate(c, "(incf *n*)"))
        self.wait_for_save("work", 2)

    def test_a_save_that_fails_leaves_the_session_as_it_was(self):
        a = self.node("a", "--save-every", "1")
        self.assertIn("=> ", self.evaluate(a, "(progn (defvar *t* (sb-thread:make-thread (lambda () (sleep 1000)))) 1)", "default"))
        mcp.wait_until(lambda: "session default was not saved now" in a.stderr(), 30, "the log says so")
        self.assertEqual("=> T", self.evaluate(a, "(sb-thread:thread-alive-p *t*)", "default"))
        self.assertEqual("=> NIL", self.evaluate(a, "(progn (sb-thread:terminate-thread *t*) (ignore-errors (sb-thread:join-thread *t*)) nil)", "default"))
        mcp.wait_until(lambda: self.description("default") is not None, 30, "it is saved")

    def test_save_every_needs_persist(self):
        self.assertDoesNotStart("cl-mcp-server: --save-every needs --persist\n", "--save-every", "5", status=2)

    def test_servers_without_a_name_take_no_leases(self):
        server = self.start_http("--state-dir", self.state, "--persist", "--no-userinit")
        self.nodes.append(server)
        self.assertEqual("=> 3", self.evaluate(server, "(+ 1 2)", "default"))
        self.assertEqual([], self.leases())
        self.assertFalse(os.path.exists(os.path.join(self.state, "nodes")))
