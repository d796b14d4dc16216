"""hook: what each client writes when a file is edited, and the answer in the form that this client understands.

The inputs are as the clients write them: Claude Code's and Codex's hooks, Gemini CLI's.
"""

import json
import os

import mcp

GOOD = "(defun a ()\n  (b))\n\n(defun c ()\n  (d))\n"
BAD = GOOD.replace("(b))", "(b)")


class Hook(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder()

    def put(self, text, name="a.lisp"):
        return mcp.write(self.path(name), text)

    def path(self, name="new.lisp"):
        return os.path.join(self.root, name)

    def run_hook(self, data):
        return mcp.run("hook", input=data if isinstance(data, bytes) else json.dumps(data).encode(), text=False, env={"PATH": "/nonexistent"})

    def answer(self, data):
        """The answer, None when there is none."""
        done = self.run_hook(data)
        self.assertEqual((0, b""), (done.returncode, done.stderr))
        if not done.stdout:
            return None
        self.assertEqual(1, done.stdout.count(b"\n"))
        self.assertLess(len(done.stdout), 12000)
        return json.loads(done.stdout)

    def event(self, event, tool, tool_input, response, **members):
        """What all clients send, and the members that one has of its own. The response comes after the tool."""
        data = {"cwd": self.root, "hook_event_name": event, "tool_name": tool, "tool_input": tool_input, **members}
        return {**data, "tool_response": response} if event in ("PostToolUse", "AfterTool") else data

    def claude(self, event, tool, **tool_input):
        return self.event(
            event, tool, tool_input, {"filePath": tool_input.get("file_path"), "success": True}, permission_mode="default",
            session_id="0d5bd0d6-9f6f-4b0c-8a0a-5f0c1f6f4a11", transcript_path="/home/user/.claude/projects/p/0d5bd0d6.jsonl", tool_use_id="toolu_01ABC123")

    def codex(self, event, patch):
        return self.event(
            event, "apply_patch", {"command": patch}, "Success. Updated the following files:\nM a.lisp\n", permission_mode="default",
            session_id="019a", turn_id="1", transcript_path=None, model="gpt-5.5-codex", tool_use_id="call_1")

    def gemini(self, event, tool, **tool_input):
        return self.event(
            event, tool, tool_input, {"llmContent": "ok", "returnDisplay": "ok"}, session_id="b1",
            transcript_path="/home/user/.gemini/tmp/x/chats/session.json", timestamp="2026-11-22T20:00:00.000Z")

    def write_event(self, text):
        """Claude Code is about to write a file of this text."""
        return self.claude("PreToolUse", "Write", file_path=self.path(), content=text)

    def edit_event(self, path, old, new, **more):
        """Claude Code is about to put one text in the place of another."""
        return self.claude("PreToolUse", "Edit", file_path=path, old_string=old, new_string=new, **more)

    def assertDenied(self, answer):
        self.assertEqual(["hookSpecificOutput"], list(answer))
        specific = answer["hookSpecificOutput"]
        self.assertEqual(
            {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": specific["permissionDecisionReason"]}, specific
        )
        self.assertIn("line 2: add 1 `)`", specific["permissionDecisionReason"])
        return specific["permissionDecisionReason"]

    def assertBlocked(self, answer, decision="block"):
        self.assertEqual(decision, answer["decision"])
        self.assertIn("line 2: add 1 `)`", answer["reason"])
        return answer["reason"]

    # Claude Code

    def test_claude_writing_a_good_file_gets_no_answer(self):
        path = self.put(GOOD)
        for data in (
            self.write_event(GOOD),
            self.claude("PostToolUse", "Write", file_path=path, content=GOOD),
            self.edit_event(path, "(b)", "(e)"),
            self.claude("PostToolUse", "Edit", file_path=path, old_string="x", new_string="(b)"),
            self.claude("PreToolUse", "MultiEdit", file_path=path, edits=[{"old_string": "(b)", "new_string": "(e (f))"}]),
        ):
            with self.subTest(data["hook_event_name"] + data["tool_name"]):
                self.assertIsNone(self.answer(data))

    def test_claude_writing_what_balances_is_not_told_otherwise(self):
        self.assertIsNone(self.answer(self.write_event("(defpackage :foo\n(:use :cl)\n(:export #:a))\n")))
        reason = self.assertDenied(self.answer(self.write_event(BAD.rstrip() + ")\n")))
        self.assertIn("The parentheses balance", reason)
        self.assertNotIn("unbalanced", reason)

    def test_claude_writing_a_bad_file_is_denied_with_the_reason(self):
        reason = self.assertDenied(self.answer(self.write_event(BAD)))
        self.assertIn("(defun a …), from line 1", reason)
        self.assertIn(self.path(), reason)
        self.assertFalse(os.path.exists(self.path()))

    def test_claude_editing_a_good_file_into_a_bad_one_is_denied(self):
        path = self.put(GOOD)
        self.assertDenied(self.answer(self.edit_event(path, "(b))", "(b)")))
        edits = [{"old_string": "(d)", "new_string": "(e)"}, {"old_string": "(b))", "new_string": "(b)", "replace_all": True}]
        self.assertDenied(self.answer(self.claude("PreToolUse", "MultiEdit", file_path=path, edits=edits)))
        self.assertEqual(GOOD, mcp.read(path))

    def test_claude_editing_a_file_with_carriage_returns_is_denied_as_without(self):
        path = self.put(GOOD.replace("\n", "\r\n"))
        for end in ("\n", "\r\n"):
            with self.subTest(end):
                old, bad, good = ("(defun a ()%s  %s" % (end, rest) for rest in ("(b))", "(b)", "(e))"))
                self.assertDenied(self.answer(self.edit_event(path, old, bad)))
                self.assertIsNone(self.answer(self.edit_event(path, old, good)))

    def test_claude_creating_a_bad_file_by_an_edit_is_denied(self):
        for path in (self.path(), self.path("no/folder/a.lisp"), self.put("", "empty.lisp")):
            with self.subTest(path):
                self.assertDenied(self.answer(self.edit_event(path, "", BAD)))
                self.assertDenied(self.answer(self.claude("PreToolUse", "MultiEdit", file_path=path, edits=[{"old_string": "", "new_string": GOOD}, {"old_string": "(b))", "new_string": "(b)"}])))
                self.assertIsNone(self.answer(self.edit_event(path, "", GOOD)))
                self.assertIsNone(self.answer(self.edit_event(path, "x", BAD)))

    def test_a_broken_file_may_be_edited_step_by_step(self):
        path = self.put(BAD)
        self.assertIsNone(self.answer(self.edit_event(path, "(d)", "(e)")))
        self.assertBlocked(self.answer(self.claude("PostToolUse", "Edit", file_path=path, old_string="(d)", new_string="(e)")))

    def test_an_edit_that_the_tool_itself_will_refuse_gets_no_answer(self):
        path = self.put("(a) (b)\n(b)")
        for edit in (*({"old_string": old, "new_string": "("} for old in ("(c)", "(b)", "", 1)), {"new_string": "("}, {}):
            with self.subTest(edit):
                self.assertIsNone(self.answer(self.claude("PreToolUse", "Edit", file_path=path, **edit)))
        self.assertIsNotNone(self.answer(self.edit_event(path, "(b)", "(", replace_all=True)))

    def test_claude_is_told_that_it_broke_a_file(self):
        path = self.put(BAD)
        for tool in ("Write", "Edit", "MultiEdit"):
            reason = self.assertBlocked(self.answer(self.claude("PostToolUse", tool, file_path=path)))
            self.assertIn("was changed", reason)

    # Codex

    def test_codex_adding_a_bad_file_is_denied(self):
        patch = "*** Begin Patch\n*** Add File: new.lisp\n" + "".join("+%s\n" % line for line in BAD.splitlines()) + "*** End Patch"
        self.assertIn(self.path(), self.assertDenied(self.answer(self.codex("PreToolUse", patch))))
        self.assertIsNone(self.answer(self.codex("PreToolUse", patch.replace("(b)", "(b))"))))

    def test_codex_is_told_of_each_file_that_it_broke(self):
        self.put(BAD)
        self.put(BAD, "moved.lisp")
        self.put(GOOD, "good.lisp")
        self.put("(", "notes.txt")
        patch = (
            "*** Begin Patch\n*** Update File: a.lisp\n@@ (defun a ()\n-  (b))\n+  (b)\n"
            "*** Update File: old.lisp\n*** Move to: moved.lisp\n@@\n-x\n+y\n"
            "*** Update File: good.lisp\n@@\n-x\n+y\n*** Update File: notes.txt\n@@\n-x\n+(\n"
            "*** Delete File: gone.lisp\n*** End Patch\n"
        )
        reason = self.assertBlocked(self.answer(self.codex("PostToolUse", patch)))
        self.assertIn(self.path("a.lisp"), reason)
        self.assertIn(self.path("moved.lisp"), reason)
        self.assertNotIn("good.lisp", reason)
        self.assertNotIn("notes.txt", reason)
        self.assertIsNone(self.answer(self.codex("PreToolUse", patch)))

    # Gemini CLI

    def test_gemini_is_answered_in_its_own_format(self):
        path = self.put(BAD)
        self.assertBlocked(self.answer(self.gemini("AfterTool", "write_file", file_path=path, content=BAD)), "deny")
        self.assertBlocked(self.answer(self.gemini("AfterTool", "replace", file_path="a.lisp", old_string="x", new_string="y")), "deny")
        self.assertBlocked(self.answer(self.gemini("BeforeTool", "write_file", file_path=self.path(), content=BAD)), "deny")
        self.put(GOOD)
        self.assertIsNone(self.answer(self.gemini("AfterTool", "write_file", file_path=path, content=GOOD)))

    # What the hook must ignore

    def test_other_files_tools_and_events_get_no_answer(self):
        path = self.put(BAD)
        for data in (
            self.claude("PreToolUse", "Write", file_path=self.path("a.clj"), content="("),
            self.claude("PreToolUse", "Write", file_path=self.path("lisp"), content="("),
            self.claude("PreToolUse", "Write", file_path=self.path("kernel.cl"), content="__kernel void f(__global float *x) { x[0] = ')'; }\n"),
            self.claude("PostToolUse", "Read", file_path=path),
            self.claude("PreToolUse", "Bash", command="rm a.lisp"),
            self.claude("PostToolUse", "mcp__other__Write", file_path=path),
            self.claude("UserPromptSubmit", "Write", file_path=path),
            {"hook_event_name": "SessionStart"},
        ):
            with self.subTest(data):
                self.assertIsNone(self.answer(data))

    def test_every_kind_of_lisp_file_is_checked(self):
        for name in ("a.lisp", "a.lsp", "a.cl", "a.asd", "a.ros", "A.LISP"):
            self.assertDenied(self.answer(self.claude("PreToolUse", "Write", file_path=self.path(name), content=BAD)))

    def test_a_file_that_cannot_be_checked_gets_no_answer(self):
        os.mkfifo(self.path("pipe.lisp"))
        os.mkdir(self.path("folder.lisp"))
        with open(self.path("huge.lisp"), "wb") as f:
            f.truncate(17 << 20)
        for name in ("vanished.lisp", "none/a.lisp", "pipe.lisp", "folder.lisp", "huge.lisp", "x" * 5000 + ".lisp", "a\0.lisp"):
            with self.subTest(name[:20]):
                self.assertIsNone(self.answer(self.claude("PostToolUse", "Edit", file_path=self.path(name))))

    # Hostile input

    def test_invalid_utf8_and_other_line_endings_do_no_harm(self):
        path = self.put(GOOD.replace("\n", "\r\n").encode() + b'"\xff\xfe\x00"\r\n')
        self.assertIsNone(self.answer(self.claude("PostToolUse", "Edit", file_path=path)))
        self.put(BAD.replace("\n", "\r\n").replace("b", "b\x01 \\").encode("latin-1") + b'"\xff\xfe\x00"\r\n')
        self.assertEqual("block", self.answer(self.claude("PostToolUse", "Edit", file_path=path))["decision"])

    def test_damage_in_a_string_or_comment_is_reported_and_no_repair_offered(self):
        for text in (GOOD.replace("(b)", '"(b)'), GOOD.replace("(b)", "#| (b)"), GOOD.replace("(b)", "|(b)")):
            reason = self.answer(self.write_event(text))
            reason = reason["hookSpecificOutput"]["permissionDecisionReason"]
            self.assertIn("never closed", reason)
            self.assertNotIn("epair by", reason)

    def test_the_answer_is_short_however_much_is_wrong(self):
        text = "(defun aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ()\n  (b)\n\n" * 200
        self.assertIsNotNone(self.answer(self.write_event(text)))
        names = ["%d%s.lisp" % (i, "é" * 100) for i in range(70)]
        for name in names:
            self.put(BAD, name)
        patch = "*** Begin Patch\n" + "".join("*** Update File: %s\n@@\n-a\n+b\n" % name for name in names)
        self.assertBlocked(self.answer(self.codex("PostToolUse", patch)))

    def test_input_that_is_not_a_hooks_is_an_error_that_blocks_nothing(self):
        good = self.write_event(BAD)
        for data in (b"", b"{", b"null", b"[]", b"{}", b'{"hook_event_name": 1}', b"\xff\xfe", json.dumps(good).encode()[:-1], b"[" * 100000,
                     b'{"hook_event_name":"PreToolUse","tool_name":"\xff"}'):
            with self.subTest(data[:40]):
                done = self.run_hook(data)
                self.assertEqual((1, b""), (done.returncode, done.stdout))
                self.assertIn(b"JSON object", done.stderr)
        self.assertEqual(1, self.run_hook(b" " * (17 << 20)).returncode)

    def test_members_of_the_wrong_type_are_ignored(self):
        for tool_input in (None, 1, [], "x", {"file_path": 1}, {"file_path": []}, {"file_path": self.path(), "content": 1}, {"command": 1}):
            for tool in ("Write", "Edit", "apply_patch"):
                data = self.claude("PreToolUse", tool)
                data["tool_input"] = tool_input
                data["cwd"] = tool_input
                self.assertIsNone(self.answer(data))
