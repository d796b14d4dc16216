"""The protocol on stdio: both eras, cancel, progress, ids, hostile input, and every way to end."""

import json
import os
import re
import signal
import subprocess
import threading

import mcp

INVALID_REQUEST, METHOD_NOT_FOUND = -32600, -32601
IMPLEMENTATION = {"name": "t", "version": "0"}


def initialize(version=mcp.LEGACY, request_id=0):
    return {"jsonrpc": "2.0", "id": request_id, "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": IMPLEMENTATION}}


class Handshake(mcp.TestCase):
    def test_each_legacy_revision_is_answered_with_itself(self):
        for version in mcp.LEGACY_ERAS:
            with self.subTest(version):
                client = self.start_server(handshake=False)
                result = client.handshake(version)
                self.assertEqual(version, result["protocolVersion"])
                self.assertIn("tools", result["capabilities"])
                self.assertEqual("cl-mcp-server", result["serverInfo"]["name"])
                self.assertRegex(result["serverInfo"]["version"], r"^\d+\.\d+\.\d+$")
                self.assertIs(str, type(result.get("instructions")))
                self.assertLess(len(result["instructions"].encode()), 1501)
                self.assertNotIn("resultType", result)
                self.assertOperational(client)

    def test_initialize_and_tools_list_are_answered_before_any_lisp_has_started(self):
        client = self.start_server("--lisp", "/nonexistent/sbcl", handshake=False)
        client.start("initialize", initialize()["params"]).result(wait=5)
        self.assertIn("tools", client.start("tools/list").result(wait=5))

    def test_a_second_initialize_is_answered_and_the_session_continues(self):
        self.s.evaluate("(defvar *kept* 1)")
        self.assertIn("jsonrpc", self.s.start("initialize", initialize()["params"]).response())
        self.assertEvaluates("*kept*", "1")


class Legacy(mcp.TestCase):
    def test_methods_of_features_we_do_not_have_are_not_found(self):
        for method in ("subscriptions/listen", "tasks/list", "roots/list", "sampling/createMessage"):
            self.assertEqual(METHOD_NOT_FOUND, self.s.error(method)["code"], method)

    def test_members_we_do_not_know_are_ignored(self):
        self.s.send_json({"extra": [1], "jsonrpc": "2.0", "method": "ping", "id": "x" * 5000, "params": {"unknown": True, "_meta": {"x/y": 1}}})
        self.assertEqual({"jsonrpc": "2.0", "id": "x" * 5000, "result": {}}, self.s.receive())


class Modern(mcp.TestCase):
    era = mcp.MODERN

    def test_both_eras_are_served_on_one_connection(self):
        self.s.evaluate("(defvar *shared* 42)")
        self.assertEvaluates("*shared*", "42")
        self.s.send_json(initialize(request_id="old"))
        self.assertEqual("2025-11-25", self.s.receive()["result"]["protocolVersion"])
        self.s.notify("notifications/initialized")
        self.s.send_json({"jsonrpc": "2.0", "id": "legacy", "method": "tools/call", "params": {"name": "evaluate-lisp", "arguments": {"code": "*shared*"}}})
        message = self.s.receive()
        self.assertEqual("=> 42", message["result"]["content"][0]["text"])
        self.assertNotIn("resultType", message["result"])
        listing = self.s.request("tools/list")
        self.assertEqual("complete", listing["resultType"])
        self.assertEqual(listing, self.s.request("tools/list"))

    def test_cancel_works_and_sends_no_answer(self):
        self.s.evaluate("1")
        pending = self.s.start_call("evaluate-lisp", code="(loop)")
        self.s.notify("notifications/cancelled", {"requestId": pending.id})
        self.assertOperational()
        self.assertFalse(pending.is_answered)


class WhileAnEvaluationRuns(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.s.evaluate("1")

    def start_long(self, **more):
        return self.s.start_call("evaluate-lisp", {"code": '(progn (format t "first~%second~%~%") (sleep 600))', "timeout": 600}, **more)

    def stop(self, pending):
        self.assertFalse(pending.is_answered)
        self.s.call("cancel-evaluation")
        self.assertErrorReport(pending.reply(), "CANCELLED")

    def test_requests_that_need_no_lisp_are_answered_at_once(self):
        pending = self.start_long()
        self.assertEqual({}, self.s.request("ping", wait=1))
        self.assertIn("tools", self.s.request("tools/list", wait=1))
        for tool in ("describe-last-error", "get-backtrace", "list-errors", "list-sessions", "configure-limits", "get-usage-guide"):
            self.assertFalse(self.s.call(tool, wait=1).is_error)
        self.s.call("validate-syntax", code="(a)", wait=1)
        self.stop(pending)

    def test_requests_for_the_same_session_wait_their_turn(self):
        pending = [self.s.start_call("evaluate-lisp", code="(progn (sleep 0.05) %d)" % n) for n in range(10)]
        self.assertEqual([str(n) for n in range(10)], [p.reply().value for p in pending])

    def progress(self):
        return [m["params"] for m in self.s.notifications if m["method"] == "notifications/progress"]

    def test_progress_is_reported_to_who_gave_a_token(self):
        self.s.call("create-session", name="silent")
        self.s.evaluate("1", session="silent")
        silent = self.s.start_call("evaluate-lisp", {"code": "(sleep 600)", "timeout": 600, "session": "silent"})
        pending = self.start_long(meta={"progressToken": 0})
        told_of_output = r"\A\d+ s, 14 bytes of output: second\Z"  # how much was printed, and the last line of it
        self.s.wait_for_notification(lambda _: len(self.progress()) >= 2 and re.search(told_of_output, self.progress()[-1]["message"]))
        values = [told["progress"] for told in self.progress()]
        self.assertEqual(sorted(set(values)), values)
        self.assertGreaterEqual(values[0], 0.9)
        for told in self.progress():
            # On a busy machine a second passes before the code prints.
            self.assertRegex(told["message"], told_of_output + r"|\A\d+ s\Z")
            self.assertEqual(0, told["progressToken"])
        self.stop(pending)
        count = len(self.s.notifications)
        self.assertOperational()
        self.assertEqual(count, len(self.s.notifications), "progress after the answer")
        self.assertFalse(silent.is_answered)
        self.s.call("cancel-evaluation", session="silent")

    def test_cancel_of_a_waiting_request_leaves_the_running_one_alone(self):
        running = self.start_long()
        waiting = self.s.start_call("evaluate-lisp", code="(defvar *must-not-be* 1)")
        self.s.notify("notifications/cancelled", {"requestId": waiting.id})
        self.s.request("ping")
        self.stop(running)
        self.assertEvaluates("(boundp '*must-not-be*)", "NIL")
        self.assertFalse(waiting.is_answered)


class HostileInput(mcp.TestCase):
    def assertError(self, code):
        answer = self.s.receive()
        self.assertIn("error", answer)
        self.assertEqual(code, answer["error"]["code"], answer)
        return answer

    def test_depth_100000_is_answered(self):
        for opening, closing in (("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")):
            with self.subTest(opening):
                depth = 100000 // len(opening.replace('"a":', ""))
                self.s.send_line(opening * depth + "1" + closing * depth)
                self.assertIsNone(self.assertError(INVALID_REQUEST)["id"])
                self.s.send_line('{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"x":' + opening * depth + "1" + closing * depth + "}}")
                self.assertEqual("deep", self.assertError(INVALID_REQUEST)["id"])
                self.assertOperational()

    def ask(self, request_id, arguments):
        """Evaluate with arguments that are written by hand; the answer, which has this id."""
        self.s.send_line('{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"evaluate-lisp","arguments":{%s}}}' % (request_id, arguments))
        answer = self.s.receive()
        self.assertEqual(request_id, answer["id"], answer)
        return answer

    def test_numbers_out_of_range_are_refused_and_small_or_long_ones_taken(self):
        for number in ("1e999", "-1e999", "99999999999999999999999999999999", "1" * 5000):
            with self.subTest(number[:30]):
                answer = self.ask("n", '"code":"1","timeout":%s' % number)
                self.assertEqual(INVALID_REQUEST, answer["error"]["code"], answer)
                self.assertIn("a limit of this server is exceeded", answer["error"]["message"])
        for number in ("0." + "1" * 5000, "1e-999"):
            with self.subTest(number[:30]):
                self.assertEqual("=> 1", mcp.Reply(self.ask("n", '"code":"1","timeout":%s' % number)["result"]).text)

    def test_a_client_that_does_not_read_does_no_harm(self):
        """Replies pile up in the pipe while the client is busy sending; all of them come."""
        client = self.start_server()
        client.evaluate("1")
        calls = []

        def flood():
            for n in range(200):
                calls.append(client.start_call("evaluate-lisp", {"code": "(make-string 20000 :initial-element #\\a)"}))

        thread = threading.Thread(target=flood)
        thread.start()
        thread.join(60)
        for call in calls:
            self.assertFalse(call.reply().is_error)


class CleanStdout(mcp.TestCase):
    def test_nothing_but_json_rpc_is_ever_written_to_stdout(self):
        self.s.evaluate('(print 1) (format *error-output* "e") (format *terminal-io* "t") (format *debug-io* "d") (finish-output)')
        self.s.evaluate('(sb-ext:run-program "/bin/sh" (list "-c" "echo to-stdout; echo to-stderr >&2") :output t :error t)')
        self.s.evaluate('(sb-sys:with-pinned-objects () (alien-funcall (extern-alien "write" (function long int c-string long)) 1 "raw" 3))')
        self.s.evaluate('(alien-funcall (extern-alien "puts" (function int c-string)) "puts")')
        self.s.evaluate("(describe 'car)")
        self.s.evaluate('(with-open-file (s "/dev/tty" :direction :output :if-exists :append) (print 1 s))')
        self.s.evaluate('(with-open-file (s "/proc/self/fd/1" :direction :output :if-exists :append) (print 1 s))')
        self.s.evaluate("(sb-ext:exit :code 3 :abort t)")
        self.assertOperational()
        self.assertEqual([], self.s.stray)

    def test_the_log_goes_to_stderr(self):
        client = self.start_server("--log-level", "debug")
        client.evaluate("1")
        client.close()
        self.assertNotEqual("", client.stderr())
        self.assertEqual([], client.stray)


class Endings(mcp.TestCase):
    """However it ends, nothing is left; the harness checks that after each of these."""

    def run_with(self, data, *options):
        return mcp.run(*options, input=data, text=False, env=mcp.clean_environment(**{mcp.MARK: mcp.file_mark() + "-e."}))

    def test_end_of_input_at_once_ends_it_at_once(self):
        done = self.run_with(b"")
        self.assertEqual((0, b""), (done.returncode, done.stdout))
        mcp.assert_none_left(mcp.file_mark() + "-e.")

    def test_requests_already_read_are_answered_before_it_ends(self):
        lines = [initialize(), {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "evaluate-lisp", "arguments": {"code": "(+ 1 2)"}}}]
        done = self.run_with("\n".join(json.dumps(line) for line in lines).encode() + b"\ngarbage")  # the last line has no newline
        answers = [message for message in map(json.loads, done.stdout.splitlines()) if "id" in message]
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual({0, 1, 2, None}, {answer["id"] for answer in answers})
        self.assertEqual("=> 3", next(a for a in answers if a["id"] == 2)["result"]["content"][0]["text"])
        mcp.assert_none_left(mcp.file_mark() + "-e.")

    def test_input_from_a_file_and_output_to_a_file_work(self):
        folder = self.folder()
        path = os.path.join(folder, "in")
        mcp.write(path, json.dumps(initialize()) + "\n" + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
        with open(path) as source, open(os.path.join(folder, "out"), "w") as target:
            status = subprocess.call([mcp.SERVER], stdin=source, stdout=target, env=mcp.clean_environment(**{mcp.MARK: mcp.file_mark() + "-e."}), timeout=30 * mcp.STRETCH)
        self.assertEqual(0, status)
        with open(os.path.join(folder, "out")) as f:
            self.assertEqual([0, 1], [json.loads(line)["id"] for line in f])

    def test_sigterm_ends_it_with_everything_it_started(self):
        self.s.evaluate('(sb-ext:run-program "/bin/sleep" (list "1000") :wait nil)')
        pending = self.s.start_call("evaluate-lisp", code="(loop)")
        self.s.request("ping")
        self.assertGreater(len(self.s.processes()), 2)
        self.s.process.send_signal(signal.SIGTERM)
        self.s.wait(10)
        # The evaluation is cancelled; the server may end before that is written.
        if pending.message:
            self.assertIn("[ERROR] CANCELLED", json.dumps(pending.message))
        mcp.assert_none_left(self.s.mark)
        self.s.process.stdin.close()
        self.s.process.stdin = None

    def kill_the_server(self, code):
        client = self.start_server()
        client.evaluate("1")
        client.call("create-session", name="second")
        client.evaluate("1", session="second")
        pending = client.start_call("evaluate-lisp", code=code) if code else None
        if pending:
            mcp.wait_until(lambda: pending.is_answered or any("sleep" in mcp.describe_process(pid) for pid in client.processes()) or "loop" in code, 10, "the child")
        client.request("ping")
        self.assertGreaterEqual(len(client.processes()), 3)
        client.process.kill()
        self.assertEqual(-signal.SIGKILL, client.wait(10))
        mcp.assert_none_left(client.mark)
        client.process.stdin.close()
        client.process.stdin = None

    def test_kill_9_during_a_busy_loop_leaves_no_process_behind(self):
        self.kill_the_server("(loop)")

    def test_kill_9_leaves_no_child_in_a_session_and_group_of_its_own_behind(self):
        self.kill_the_server('(sb-ext:process-pid (sb-ext:run-program "/usr/bin/setsid" (list "/bin/sh" "-c" "trap \'\' HUP TERM; sleep 1000; true") :wait nil))')

    def test_a_closed_stdout_ends_it(self):
        environment = mcp.clean_environment(**{mcp.MARK: mcp.file_mark() + "-e."})
        other = subprocess.Popen([mcp.SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        other.stdout.close()
        other.stdin.write(json.dumps(initialize()).encode() + b"\n")
        other.stdin.flush()
        self.assertIsNotNone(other.wait(15 * mcp.STRETCH))
        other.stdin.close()
        mcp.assert_none_left(mcp.file_mark() + "-e.")

    def test_a_full_stderr_blocks_nothing(self):
        environment = mcp.clean_environment(**{mcp.MARK: mcp.file_mark() + "-e."})
        other = subprocess.Popen([mcp.SERVER, "--log-level", "debug"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        other.stdin.write(json.dumps(initialize()).encode() + b"\n")
        for n in range(3000):
            other.stdin.write(b"garbage\n")
            other.stdin.flush()
            if n == 0:
                other.stdout.readline()
            other.stdout.readline()
        other.stdin.close()
        self.assertEqual(0, other.wait(15 * mcp.STRETCH))
        other.stdout.close()
        other.stderr.close()


class WithoutALisp(mcp.TestCase):
    def check(self, client):
        client.handshake() if client.era != mcp.MODERN else None
        self.assertNotEqual([], client.request("tools/list")["tools"])
        for _ in range(2):
            for tool, arguments in (("evaluate-lisp", {"code": "(+ 1 2)"}), ("list-definitions", {}), ("load-system", {"system": "alexandria"}), ("create-session", {"name": "x"})):
                reply = client.call(tool, arguments, wait=10)
                self.assertTrue(reply.is_error, reply.text)
                self.assertRegex(reply.text, r"(?i)install.*sbcl|sbcl.*install", tool)
        self.assertIn("Syntax valid", client.call("validate-syntax", code="(a b)").text)
        self.assertFalse(client.call("get-usage-guide").is_error)
        self.assertEqual({}, client.request("ping"))

    def test_a_lisp_that_does_not_exist_is_reported_in_each_reply(self):
        self.check(self.start_server("--lisp", "/nonexistent/sbcl", handshake=False))

    def test_a_path_without_sbcl_is_reported_in_each_reply(self):
        self.check(self.start_server(handshake=False, environment=mcp.clean_environment(PATH="/nonexistent")))

    def test_a_program_that_is_not_a_lisp_is_reported_in_each_reply(self):
        client = self.start_server("--lisp", "/bin/true")
        for _ in range(2):
            self.assertIsError(client.evaluate("1", wait=20), "/bin/true")
        self.assertEqual({}, client.request("ping"))

    def script(self, text):
        return self.file("#!/bin/sh\n" + text + "\n", "lisp", 0o755)

    def test_a_lisp_that_meets_an_error_is_reported_with_the_error(self):
        client = self.start_server("--lisp", self.script("""exec sbcl --noinform --disable-debugger --eval '(error "No room.")'"""))
        self.assertRegex(client.evaluate("1", wait=20).text, "Its output: Unhandled SIMPLE-ERROR in thread .*: No room\\.$")

    def test_a_program_that_never_answers_holds_up_no_other_request(self):
        # When it is given up, test_session.c tries.
        client = self.start_server("--lisp", self.script("exec sleep 1000"))
        pending = client.start_call("evaluate-lisp", code="1")
        self.assertEqual({}, client.request("ping", wait=5))
        self.assertIn("tools", client.request("tools/list", wait=5))
        self.assertFalse(pending.is_answered)
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, client.wait(10))
        client.close()


class Commandline(mcp.TestCase):
    def test_help_names_every_option(self):
        short = mcp.run("--help")
        self.assertEqual(0, short.returncode)
        self.assertLessEqual(len(short.stdout.splitlines()), 30)
        self.assertLessEqual(max(len(line) for line in short.stdout.splitlines()), 115)
        done = mcp.run("--help", "all")
        self.assertEqual(0, done.returncode)
        self.assertLess(set(short.stdout.splitlines()[:10]), set(done.stdout.splitlines()))
        for option in ("--stdio", "--lisp", "--no-userinit", "--userinit", "--load", "--preload", "--directory", "--timeout", "--max-output", "--max-heap", "--tools", "--structured", "--log-level", "--version"):
            self.assertIn(option, done.stdout)

    def test_the_version_is_printed(self):
        done = mcp.run("--version")
        self.assertEqual(0, done.returncode)
        self.assertRegex(done.stdout, r"\d+\.\d+\.\d+")

    def test_a_wrong_option_ends_it_with_a_sentence_on_stderr(self):
        for options in (("--no-such-option",), ("--timeout", "soon"), ("--tools", "no-such-tool"), ("--log-level", "loud"), ("stray-argument",), ("--lisp",)):
            with self.subTest(" ".join(options)):
                done = mcp.run(*options)
                self.assertNotEqual(0, done.returncode)
                self.assertNotEqual("", done.stderr)
                self.assertEqual("", done.stdout)
