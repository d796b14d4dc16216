"""install and uninstall: which commands of the clients they run, what they write to files, and what they print to be pasted.
Gemini CLI is the real one; stand_in.py stands for the others. No Lisp is started."""

import json
import os
import re
import stat
import unittest

import mcp
import stand_in
from test_official_clients import CLIENTS, node

# Clients with a file that is written, their files in the home directory.
FILES = (("claude-desktop", ".config/Claude/claude_desktop_config.json"), ("cursor", ".cursor/mcp.json"), ("eca", ".config/eca/config.json"))
CURSOR = ".cursor/mcp.json"
OPTIONS = ["--preload", 'a "b" \\ é']
PLAIN = {"command": mcp.SERVER, "args": OPTIONS}

# What JSON files look like.
JSON_TEXTS = {
    "empty": "",
    "blanks": " \t\n",
    "an empty object": "{}",
    "an empty object of servers": '{\n  "a": 1,\n  "mcpServers": {}\n}\n',
    "other members": '{"z": "dark", "n": [1, 2.5e-3, -0, true, null, {"x": {}}], "a": 0}\n',
    "another server": '{\n\t"mcpServers": {\n\t\t"other": {\n\t\t\t"command": "npx",\n\t\t\t"args": ["-y", "x"]\n\t\t}\n\t}, "last": 1\n}',
    "carriage returns": '{\r\n  "theme": "dark",\r\n  "mcpServers": {\r\n    "other": {"command": "x"}\r\n  }\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "theme": "dark"\n}\n',
    "braces and comments in strings": '{\n  "a": "}{ // no comment, \\" \\\\",\n  "b": "/*", "mcpServers": {"x}": {"command": ",]"}}\n}\n',
    "numbers that no type holds": '{"id": 12345678901234567890, "n": [-99999999999999999999999, 1e999, 0.1, -0, 0.10, 1E+2], "s": "\\u00005", "t": "\\u0000\\u00007"}',
    "the name elsewhere": '{\n  "lisp": {"command": "y"},\n  "deep": {"mcpServers": {"lisp": {"command": "z"}}}\n}\n',
    "beyond ASCII": '{\n  "schön": "日本 \\u00e9 \\u0000",\n  "mcpServers": {"naïve": {"command": "ü"}}\n}\n',
}

# Broken files with what is reported of them.
BROKEN_JSON = {
    '{\n  "a": 1\n  "b": 2\n}\n': "line 3",
    '{"a": "no end\n}': "line 1",
    "{/* no end": "line 1",
    "[1, 2]": "is not an object",
    '{"mcpServers": {}, "mcpServers": {}}': "duplicate",
    '{"mcpServers": []}': "is not an object",
    '{"mcpServers": null}': "is not an object",
    '{"a": "\udcff"}': "decode byte",
    '{"a": 01}': "column 7",
    '{"a": 99999999999999999999, "b": 1.}': "line 1",
    '{"a": ' + "[" * 5000 + "]" * 5000 + "}": "depth",
}

COMMENTED = '{ // begin\n  /* the theme */ "theme": "dark", // dark, not {light}\n  "MEMBER": { /**//* servers */\n    "other": {"command": "x",},\n  },\n}\n'


def shape(client, command, arguments):
    if client == "opencode":
        return {"type": "local", "command": [command, *arguments], "enabled": True}
    entry = {"command": command, "args": list(arguments)}
    return {"zed": {"source": "custom", **entry}, "vscode": {"type": "stdio", **entry}, "claude-code": {"type": "stdio", **entry, "alwaysLoad": True}}.get(client, entry)


def exact(text):
    """The value, with its numbers as they are written."""
    return json.loads(text, parse_float=lambda number: "number " + number, parse_int=lambda number: "number " + number)


class Install(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.new_home()

    def new_home(self):
        self.home = self.folder()
        self.project = os.path.join(self.home, "project")
        os.mkdir(self.project)

    def run_with(self, *arguments, status=0, **environment):
        # No Lisp is to be found, and of the clients only those that a test puts there.
        env = {"PATH": self.home + "/bin", "HOME": self.home, "PYTHONDONTWRITEBYTECODE": "1", **environment}
        done = mcp.run(*arguments, cwd=self.project, env=env)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done

    def add_program(self, name, text):
        os.makedirs(self.home + "/bin", exist_ok=True)
        path = os.path.join(self.home, "bin", name)
        mcp.write(path, text, 0o755)

    def ran(self):
        """What the stand-ins were started with, without the questions of what there is."""
        calls = [json.loads(line)[1:] for line in self.read("ran").splitlines()]
        os.unlink(self.home + "/ran")
        return [call for call in calls if "list" not in call]

    def write(self, name, text):
        return mcp.write(os.path.join(self.home, name), text)

    def read(self, name):
        return mcp.read_bytes(os.path.join(self.home, name)).decode("utf-8", "surrogateescape")

    def servers(self, name):
        return json.loads(self.read(name))["mcpServers"]

    def test_files_of_plain_json_get_one_member_and_lose_it(self):
        for what, text in JSON_TEXTS.items():
            with self.subTest(what):
                self.new_home()
                path = self.write(CURSOR, text)
                os.chmod(path, 0o640)
                before = exact(text.lstrip("\ufeff")) if text.strip() else {}
                done = self.run_with("install", "cursor", "--", *OPTIONS)
                self.assertIn('wrote "lisp"', done.stdout)
                after = exact(self.read(CURSOR))
                expected = json.loads(json.dumps(before))
                expected.setdefault("mcpServers", {})["lisp"] = PLAIN
                # As texts, so that the order of the members counts.
                self.assertEqual(json.dumps(expected), json.dumps(after))
                self.assertIn(path + ".cl-mcp-server.bak", done.stdout)
                for name in (CURSOR, CURSOR + ".cl-mcp-server.bak"):
                    self.assertEqual(0o640, stat.S_IMODE(os.stat(os.path.join(self.home, name)).st_mode))
                self.assertEqual(text, self.read(CURSOR + ".cl-mcp-server.bak"))
                installed = self.read(CURSOR)
                self.assertIn("nothing to do", self.run_with("install", "cursor", "--", *OPTIONS).stdout)
                self.assertEqual(installed, self.read(CURSOR))
                self.run_with("uninstall", "cursor")
                before.setdefault("mcpServers", {})
                self.assertEqual(json.dumps(before), json.dumps(exact(self.read(CURSOR))))
                self.assertIn("nothing to do", self.run_with("uninstall", "cursor").stdout)
                self.assertEqual(["mcp.json", "mcp.json.cl-mcp-server.bak"], sorted(os.listdir(os.path.dirname(path))))

    def test_a_missing_file_is_created_for_its_user_alone(self):
        for client, name in FILES:
            with self.subTest(client):
                path = os.path.join(self.home, name)
                self.assertIn("would write", self.run_with("install", "--dry-run", client).stdout)
                self.assertFalse(os.path.exists(path))
                self.run_with("install", client, "--", *OPTIONS)
                self.assertEqual({"lisp": PLAIN}, self.servers(name))
                self.assertEqual(0o600, stat.S_IMODE(os.stat(path).st_mode))
                self.assertEqual([os.path.basename(name)], os.listdir(os.path.dirname(path)))

    def test_broken_files_are_unchanged_and_the_place_is_reported(self):
        for text, place in BROKEN_JSON.items():
            for command in ("install", "uninstall"):
                with self.subTest(text[:60], command=command):
                    path = self.write(CURSOR, text)
                    done = self.run_with(command, "cursor", status=1)
                    self.assertEqual(text, self.read(CURSOR))
                    self.assertIn(path, done.stderr)
                    self.assertIn(place, done.stderr)
                    self.assertEqual(["mcp.json"], os.listdir(os.path.dirname(path)))

    def test_a_file_with_comments_is_left_to_the_user(self):
        text = COMMENTED.replace("MEMBER", "mcpServers")
        self.write(CURSOR, text)
        shown = self.run_with("install", "cursor").stdout
        self.assertIn("comments would be lost", shown)
        self.assertIn('into the object "mcpServers" of the file', shown)
        self.assertEqual(text, self.read(CURSOR))
        self.write(CURSOR, text.replace('"other"', '"lisp": {"command": "cl-mcp-server"}, "other"'))
        self.assertIn("Remove the server lisp", self.run_with("uninstall", "cursor").stdout)

    def paste(self, client, name, shown):
        """Put what was printed where it says. The file's path and the text."""
        self.assertIn("%s: %s" % (client, os.path.join(self.home, name)), shown)
        where, snippet = re.search(r"(?ms)^  (Paste this[^\n]*):\n\n(.*)", shown).groups()
        there = self.read(name) if os.path.exists(os.path.join(self.home, name)) else ""
        if where.startswith("Paste this member into the object"):
            member = re.search(r'"(.*)" of', where)
            at = there.index("{", there.index('"%s"' % member.group(1)) if member else 0) + 1
            there = there[:at] + snippet.rstrip() + ("" if re.match(r"\s*}", there[at:]) else ",") + there[at:]
        else:
            there += snippet
        self.write(name, there)
        return there

    def test_what_is_to_be_pasted_is_whole(self):
        for client, name, member in (("opencode", ".config/opencode/opencode.json", "mcp"), ("zed", ".config/zed/settings.json", "context_servers")):
            for text in (None, "{}", "// nothing yet\n", '{"MEMBER": {}}', '{"theme": "dark"}', '{"MEMBER": {"other": {"command": "x"}}}'):
                with self.subTest(client, text=text):
                    self.new_home()
                    if text is not None:
                        self.write(name, text.replace("MEMBER", member))
                    after = self.paste(client, name, self.run_with("install", client, "--", *OPTIONS).stdout)
                    value = json.loads(after.replace("// nothing yet\n", ""))
                    self.assertEqual(shape(client, mcp.SERVER, OPTIONS), value[member]["lisp"])
                    self.assertIn("nothing to do", self.run_with("install", client).stdout)
                    done = self.run_with("uninstall", client)
                    self.assertIn("Remove the server lisp from the file", done.stdout)
                    self.assertEqual(after, self.read(name))

    def test_comments_and_trailing_commas_do_not_hide_the_entry(self):
        for client, name, member in (("opencode", ".config/opencode/opencode.jsonc", "mcp"), ("zed", ".config/zed/settings.json", "context_servers")):
            text = COMMENTED.replace("MEMBER", member)
            self.write(name, text)
            self.assertIn("nothing to do", self.run_with("uninstall", client).stdout)
            self.paste(client, name, self.run_with("install", client).stdout)
            self.assertIn("nothing to do", self.run_with("install", client).stdout)

    def test_opencode_2_keeps_its_servers_one_level_deeper(self):
        name = ".config/opencode/opencode.jsonc"
        for servers in ('{}', '{"type": {"type": "local", "command": ["x"]}}'):
            self.write(name, '{"mcp": {"timeout": 5, "servers": %s}}' % servers)
            after = json.loads(self.paste("opencode", name, self.run_with("install", "opencode", "--", *OPTIONS).stdout))
            self.assertEqual({"type": "local", "command": [mcp.SERVER, *OPTIONS]}, after["mcp"]["servers"]["lisp"])
            self.assertIn("nothing to do", self.run_with("install", "opencode").stdout)
        # In version 1's form, a server may be named like that.
        for server in ('{"type": "local", "command": ["x"]}', '{"enabled": false}'):
            self.write(name, '{"mcp": {"servers": %s}}' % server)
            after = json.loads(self.paste("opencode", name, self.run_with("install", "opencode").stdout))
            self.assertEqual(shape("opencode", mcp.SERVER, ()), after["mcp"]["lisp"])

    def test_emacs_gets_a_form_for_the_file_that_it_loads(self):
        new, dot, older, newest = ".config/emacs/init.el", ".emacs.d/init.el", ".emacs", ".emacs.el"
        for there, expected in (
            ((), dot),
            ((".emacs.d/x",), dot),
            ((".config/emacs/x",), new),
            ((".config/emacs/x", ".emacs.d/x"), dot),
            ((new, ".emacs.d/x"), dot),
            ((new, dot), dot),
            ((new, older), older),
            ((dot, older), older),
            ((older, newest), newest),
        ):
            with self.subTest(there):
                self.new_home()
                for name in there:
                    self.write(name, ";\n")
                after = self.paste("emacs", expected, self.run_with("install", "emacs", "--", *OPTIONS).stdout)
                self.assertIn('\'("lisp" :command "%s" :args ("--preload" "a \\"b\\" \\\\ é"))' % mcp.SERVER, after)
                self.run_with("check-parens", self.write("check.lisp", after))
                self.assertIn("nothing to do", self.run_with("install", "emacs", "--", *OPTIONS).stdout)
                self.assertIn("Paste", self.run_with("install", "emacs", "--", "--persist").stdout)
                self.assertIn("Remove", self.run_with("uninstall", "emacs").stdout)

    def test_the_commands_of_claude_code_and_codex_are_run(self):
        stand_in.put(self.home + "/bin", "claude", "codex")
        entry = json.dumps(shape("claude-code", mcp.SERVER, OPTIONS), ensure_ascii=False, separators=(",", ":"))
        done = self.run_with("install", "claude-code", "codex", "--", *OPTIONS)
        self.assertEqual(
            [["claude", "mcp", "add-json", "-s", "user", "lisp", entry], ["codex", "mcp", "add", "lisp", "--", mcp.SERVER, *OPTIONS]],
            self.ran(),
        )
        self.assertIn("running: codex mcp add lisp -- %s --preload 'a \"b\" \\ é'\n" % mcp.SERVER, done.stdout)
        self.assertEqual({"lisp": shape("claude-code", mcp.SERVER, OPTIONS)}, self.servers(".claude.json"))
        self.assertEqual(2, self.run_with("install", "claude-code", "codex").stdout.count("nothing to do"))
        self.assertEqual([], self.ran())
        # Claude Code adds no server of a name that it has.
        self.run_with("install", "claude-code", "codex", "--")
        entry = json.dumps(shape("claude-code", mcp.SERVER, ()), separators=(",", ":"))
        self.assertEqual(
            [["claude", "mcp", "remove", "-s", "user", "lisp"], ["claude", "mcp", "add-json", "-s", "user", "lisp", entry], ["codex", "mcp", "add", "lisp", "--", mcp.SERVER]],
            self.ran(),
        )
        self.run_with("uninstall", "claude-code", "codex")
        self.assertEqual([["claude", "mcp", "remove", "-s", "user", "lisp"], ["codex", "mcp", "remove", "lisp"]], self.ran())
        self.assertEqual(2, self.run_with("uninstall", "claude-code", "codex").stdout.count("nothing to do"))

    def test_the_command_of_vs_code_adds_and_the_user_removes(self):
        stand_in.put(self.home + "/bin", "code")
        self.run_with("install", "vscode", "--", *OPTIONS)
        self.assertEqual({"name": "lisp", **shape("vscode", mcp.SERVER, OPTIONS)}, json.loads(self.ran()[0][2]))
        self.assertIn("nothing to do", self.run_with("install", "vscode").stdout)
        self.assertIn("no command that removes", self.run_with("uninstall", "vscode").stdout)

    def test_gemini_cli_adds_and_removes_the_server(self):
        self.assertIsNotNone(node(), "the clients are not installed: run scripts/setup")
        program = os.path.join(CLIENTS, "node_modules/@google/gemini-cli/bundle/gemini.js")
        self.add_program("gemini", '#!/bin/sh\nexec "%s" "%s" "$@"\n' % (os.path.realpath(node()), program))
        self.write(".gemini/settings.json", '{\n  // mine\n  "mcpServers": {"other": {"command": "x"}}\n}\n')
        for options in (OPTIONS, ()):
            self.run_with("install", "gemini", "--", *options)
            text = self.read(".gemini/settings.json")
            self.assertIn("// mine", text)
            self.assertEqual({"other": {"command": "x"}, "lisp": shape("gemini", mcp.SERVER, options)}, json.loads(text.replace("// mine", ""))["mcpServers"])
            self.assertIn("nothing to do", self.run_with("install", "gemini").stdout)
        self.run_with("uninstall", "gemini")
        self.assertNotIn("lisp", self.read(".gemini/settings.json"))
        self.run_with("install", "gemini", "--scope", "project")
        self.assertEqual({"lisp": shape("gemini", mcp.SERVER, ())}, self.servers("project/.gemini/settings.json"))

    def test_options_of_the_server_without_their_mark_are_refused_with_it(self):
        done = self.run_with("install", "cursor", "--sandbox", "workspace", status=2)
        self.assertIn("unknown argument '--sandbox'; options for the server follow --", done.stderr)

    def test_a_missing_command_leaves_the_user_what_to_paste(self):
        for client, program, name in (("claude-code", "claude", ".claude.json"), ("gemini", "gemini", ".gemini/settings.json"), ("vscode", "code", ".config/Code/User/mcp.json")):
            done = self.run_with("install", client, "--", *OPTIONS, status=1)
            self.assertIn(program + " is not in PATH", done.stderr)
            after = json.loads(self.paste(client, name, done.stdout))
            self.assertEqual(shape(client, mcp.SERVER, OPTIONS), list(after.values())[0]["lisp"])
            self.assertIn("nothing to do", self.run_with("install", client).stdout)
            self.assertIn("Remove the server", self.run_with("uninstall", client, status=0 if client == "vscode" else 1).stdout)
        done = self.run_with("install", "codex", "--", *OPTIONS, status=1)
        self.assertIn("codex is not in PATH", done.stderr)
        self.assertIn('  [mcp_servers.lisp]\n  command = "%s"\n  args = ["--preload", "a \\"b\\" \\\\ é"]\n' % mcp.SERVER, done.stdout)

    def test_a_command_that_fails_or_does_nothing_is_reported(self):
        stand_in.put(self.home + "/bin", "claude", "codex")
        for mode, reason in (("fail", "claude failed: no room left"), ("lie", "reported no error, but the server is not there")):
            done = self.run_with("install", "claude-code", "codex", status=1, MODE=mode)
            self.assertIn(reason, done.stderr)
            self.assertEqual(2, done.stdout.count("Paste this"))
        self.run_with("install", "claude-code")
        self.assertIn("still there", self.run_with("uninstall", "claude-code", status=1, MODE="lie").stderr)
        self.add_program("codex", "#!/bin/sh\necho 'not JSON'\n")
        self.assertIn("not a list", self.run_with("install", "codex", status=1).stderr)

    @unittest.skipIf(mcp.SANITIZED, "it waits for 30 s; the plain build has it")
    def test_a_command_that_hangs_is_ended(self):
        stand_in.put(self.home + "/bin", "claude")
        done = self.run_with("install", "claude-code", status=1, MODE="hang")
        self.assertIn("claude: it did not end within 30 s", done.stderr)
        with self.assertRaises(ProcessLookupError):
            os.kill(json.loads(self.read("ran"))[0], 0)

    def test_an_entry_of_the_server_is_updated_and_keeps_what_was_added(self):
        stand_in.put(self.home + "/bin", "claude")
        entry = {"command": "/old/cl-mcp-server", "timeout": 5000, "args": ["--persist"]}
        for client, name in (("cursor", CURSOR), ("claude-code", ".claude.json")):
            self.write(name, json.dumps({"mcpServers": {"lisp": entry}}))
            self.run_with("install", client, "--", "--tools", "full")
            self.assertEqual({"timeout": 5000, **shape(client, mcp.SERVER, ["--tools", "full"])}, self.servers(name)["lisp"])

    def test_what_was_added_to_an_entry_keeps_its_numbers(self):
        stand_in.put(self.home + "/bin", "claude")
        text = '{"mcpServers": {"lisp": {"command": "/old/cl-mcp-server", "timeout": 12345678901234567890, "alwaysLoad": false}}}'
        self.write(".claude.json", text)
        self.write(CURSOR, text)
        shown = self.run_with("install", "claude-code", "cursor").stdout
        self.assertEqual(2, shown.count("12345678901234567890"))
        for name in (".claude.json", CURSOR):
            entry = self.servers(name)["lisp"]
            self.assertEqual((mcp.SERVER, 12345678901234567890, False), (entry["command"], entry["timeout"], entry["alwaysLoad"]))

    def test_earlier_options_are_kept_unless_others_are_given(self):
        stand_in.put(self.home + "/bin", "claude", "codex", "code")
        for client, name in (*FILES, ("claude-code", ".claude.json"), ("codex", ".codex/state"), ("vscode", ".config/Code/User/mcp.json")):
            with self.subTest(client):
                self.run_with("install", client, "--", *OPTIONS)
                installed = json.loads(self.read(name))
                self.write(name, self.read(name).replace(mcp.SERVER, "/old/cl-mcp-server"))
                self.run_with("install", client)
                self.assertEqual(installed, json.loads(self.read(name)))
                self.run_with("install", client, "--")
                self.assertNotIn("--preload", self.read(name))

    def test_another_server_of_the_same_name_is_not_touched(self):
        stand_in.put(self.home + "/bin", "claude", "codex")
        text = '{"mcpServers": {"lisp": {"command": "other-lisp-server"}}}'
        self.write(CURSOR, text)
        self.write(".claude.json", text)
        self.write(".codex/state", '{"servers": {"lisp": {"command": "other-lisp-server"}}}')
        for command in ("install", "uninstall"):
            done = self.run_with(command, "cursor", "claude-code", "codex", status=1)
            self.assertEqual(3, done.stderr.count("--name"))
        self.assertEqual([], self.ran())
        self.assertEqual(text, self.read(CURSOR))
        self.run_with("install", "cursor", "--name", "sbcl")
        self.assertEqual({"lisp", "sbcl"}, set(self.servers(CURSOR)))
        self.run_with("uninstall", "--name=sbcl", "cursor")
        self.assertEqual(json.loads(text), json.loads(self.read(CURSOR)))

    def test_a_project_has_its_own_files(self):
        stand_in.put(self.home + "/bin", "claude")
        os.symlink(mcp.SERVER, os.path.join(self.home, "bin", "cl-mcp-server"))
        self.run_with("install", "claude-code", "cursor", "--scope", "project")
        for name in (".mcp.json", CURSOR):
            self.assertEqual("cl-mcp-server", self.servers("project/" + name)["lisp"]["command"])
        shown = self.run_with("install", "codex", "opencode", "vscode", "--scope", "project").stdout
        self.assertEqual(3, shown.count('"cl-mcp-server"'))
        self.assertIn("Remove the server", self.run_with("uninstall", "codex", "--scope", "project").stdout)
        self.assertEqual([], [f for f in os.listdir(self.home) if f.startswith(".")])
        self.assertIn("project", self.run_with("install", "claude-desktop", "--scope=project", status=1).stderr)
        # The user's own file has the path, since programs with windows often have another PATH.
        self.run_with("install", "claude-code")
        self.assertEqual(os.path.join(self.home, "bin/cl-mcp-server"), self.servers(".claude.json")["lisp"]["command"])

    def test_all_means_the_clients_that_are_found(self):
        self.assertIn("no client", self.run_with("install", "all", status=1).stderr)
        stand_in.put(self.home + "/bin", "claude")
        os.mkdir(os.path.join(self.home, ".cursor"))
        self.run_with("install", "all")
        self.assertEqual([["mcp.json"], {"lisp"}], [os.listdir(os.path.join(self.home, ".cursor")), set(self.servers(".claude.json"))])
        self.assertFalse(os.path.exists(os.path.join(self.home, ".gemini")))
        self.assertIn("removed", self.run_with("uninstall", "all").stdout)

    def test_variables_move_the_files(self):
        stand_in.put(self.home + "/bin", "claude", "codex")
        os.mkdir(self.home + "/y")
        done = self.run_with("install", "codex", "eca", "claude-code", CODEX_HOME=self.home + "/c", XDG_CONFIG_HOME=self.home + "/x", CLAUDE_CONFIG_DIR=self.home + "/y")
        for name in ("c/state", "x/eca/config.json", "y/.claude.json"):
            self.assertIn(mcp.SERVER, self.read(name))
        self.assertIn(self.home + "/c/config.toml", done.stdout)

    def test_a_link_is_kept_and_its_target_is_changed(self):
        path = self.write("dotfiles/cursor.json", '{"a": 1}')
        os.mkdir(os.path.join(self.home, ".cursor"))
        link = os.path.join(self.home, CURSOR)
        os.symlink("../dotfiles/cursor.json", link)
        self.run_with("install", "cursor")
        self.assertTrue(os.path.islink(link))
        self.assertEqual({"a", "mcpServers"}, set(json.loads(self.read("dotfiles/cursor.json"))))
        self.assertEqual('{"a": 1}', self.read("dotfiles/cursor.json.cl-mcp-server.bak"))
        os.unlink(path)
        self.assertIn("leads nowhere", self.run_with("install", "cursor", status=1).stderr)

    def test_anything_but_a_file_is_refused(self):
        os.makedirs(os.path.join(self.home, CURSOR))
        self.assertIn("not a regular file", self.run_with("install", "cursor", status=1).stderr)
        self.run_with("install", "cursor", status=1, HOME="")

    def test_dry_run_shows_the_change_and_makes_none(self):
        stand_in.put(self.home + "/bin", "claude")
        text = '{\n  "theme": "dark",\n  "secret": "xyzzy"\n}\n'
        for name in (CURSOR, ".claude.json"):
            self.write(name, text)
        shown = self.run_with("install", "--dry-run", "cursor", "claude-code").stdout
        self.assertIn('would write "lisp": {"command": "%s", "args": []}' % mcp.SERVER, shown)
        self.assertIn("would run: claude mcp add-json -s user lisp '{", shown)
        self.assertNotIn("xyzzy", shown)
        self.assertEqual([text, text], [self.read(CURSOR), self.read(".claude.json")])
        self.run_with("install", "cursor", "claude-code")
        shown = self.run_with("uninstall", "cursor", "claude-code", "--dry-run").stdout
        self.assertIn('would remove "lisp": {"command": "%s", "args": []}' % mcp.SERVER, shown)
        self.assertIn("would run: claude mcp remove -s user lisp\n", shown)

    def test_wrong_usage_is_reported(self):
        for arguments in ((), ("no-such-client",), ("--scope", "world", "codex"), ("--name", "a b", "codex"), ("--name",), ("codex", "--frob"), ("--dry-run",)):
            with self.subTest(arguments):
                self.assertIn("usage:", self.run_with("install", *arguments, status=2).stderr)
        self.assertIn("claude-desktop", self.run_with("install", "vim", status=2).stderr)
        self.run_with("uninstall", "codex", "--", "--persist", status=2)
        self.assertEqual(["project"], os.listdir(self.home))
