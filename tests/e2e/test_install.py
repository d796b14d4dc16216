"""install and uninstall: what they write to the clients' files, and that everything else is unchanged. No Lisp is started."""

import json
import os
import re
import stat
import subprocess
import unittest

import mcp

try:
    import tomllib
except ImportError:  # Python before 3.11
    tomllib = None

# Client, its file in the home directory, the member that holds the servers.
JSON_CLIENTS = (
    ("claude-code", ".claude.json", "mcpServers"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("opencode", ".config/opencode/opencode.json", "mcp"),
    ("vscode", ".config/Code/User/mcp.json", "servers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("zed", ".config/zed/settings.json", "context_servers"),
    ("eca", ".config/eca/config.json", "mcpServers"),
)
CODEX = ".codex/config.toml"
EMACS = ".emacs.d/init.el"

# What JSON files look like; MEMBER stands for the member that holds the servers.
JSON_TEXTS = {
    "empty": "",
    "a newline": "\n",
    "blanks": "  \t ",
    "a comment only": "// nothing here yet",
    "a comment and a newline": "// nothing here yet\n/* nor here */\n",
    "an empty object": "{}",
    "an empty object and a newline": "{}\n",
    "an empty object with a blank": "{ }\n",
    "an empty object on two lines": "{\n}\n",
    "an empty object with a comment": "{ // later\n}\n",
    "an empty object of servers": '{\n  "a": 1,\n  "MEMBER": {}\n}\n',
    "an empty object of servers first": '{"MEMBER": {\n}, "a": 1}',
    "only an empty object of servers": '{"MEMBER":{}}',
    "the same on lines": '{\n  "MEMBER": {\n  }\n}\n',
    "a comment in the object of servers": '{\n  "MEMBER": {\n    // mine\n  }\n}\n',
    "other members": '{\n  "theme": "dark",\n  "n": [1, 2.5e-3, -0, true, null, {"x": {}}]\n}\n',
    "other members in one line": '{"theme":"dark","list":[{"MEMBER":{"lisp":1}}]}',
    "other members with blanks": '{ "theme": "dark" }\n',
    "tabs": '{\n\t"theme": "dark",\n\t"MEMBER": {\n\t\t"other": {"command": "x"}\n\t}\n}\n',
    "four blanks": '{\n    "theme": "dark"\n}',
    "another server": '{\n  "MEMBER": {\n    "other": {\n      "command": "npx",\n      "args": ["-y", "x"]\n    }\n  }\n}\n',
    "another server in one line": '{"MEMBER": {"other": {"command": "npx"}}}\n',
    "no newline at the end": '{\n  "MEMBER": {\n    "other": {"command": "x"}\n  },\n  "last": 1\n}',
    "carriage returns": '{\r\n  "theme": "dark",\r\n  "MEMBER": {\r\n    "other": {"command": "x"}\r\n  }\r\n}\r\n',
    "carriage returns, no servers": '{\r\n  "theme": "dark"\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "theme": "dark"\n}\n',
    "a byte order mark only": "\ufeff",
    "comments and trailing commas": "// Settings\n{ // begin\n  /* the theme */ \"theme\": \"dark\", // dark, not {light}\n  \"MEMBER\": { // servers\n"
    "    // a \"quoted\" remark\n    \"other\": {\"command\": \"x\",}, /* end */\n  },\n}\n// the end\n",
    "a comment over two lines behind the brace": '{ /* one\n two */ "a": 1, "MEMBER": { /* one\n two */ "b": {} } }\n',
    "a second comment over two lines behind the brace": '{ /**/ /* one\n two */ "a": 1, "MEMBER": { /**//* one\n two */ "b": {} } }\n',
    "braces in strings": '{\n  "a": "}{ // no comment \\" \\\\",\n  "MEMBER": {"x}": {"command": "{"}}\n}\n',
    "the name elsewhere": '{\n  "lisp": {"command": "y"},\n  "deep": {"MEMBER": {"lisp": {"command": "z"}}}\n}\n',
    "beyond ASCII": '{\n  "schön": "日本 \\u00e9",\n  "MEMBER": {"naïve": {"command": "ü"}}\n}\n',
}

# Broken files with the place where they are broken.
BROKEN_JSON = {
    '{\n  "a": 1\n  "b": 2\n}\n': "line 3, column 3",
    '{"a": [1, 2}': "line 1, column 12",
    '{"a": "no end\n}': "line 1, column 7",
    '{"a": 1} x': "line 1, column 10",
    '{"a": 1': "line 1, column 8",
    "{/* no end": "line 1, column 2",
    "[1, 2]": "line 1, column 1",
    '{"a": 01}': "line 1, column 7",
    '{"a": tru}': "line 1, column 7",
    "{'a': 1}": "line 1, column 2",
    '{"a": "\\x"}': "line 1, column 9",
    '{,}': "line 1, column 2",
    '{"a": 1,,}': "line 1, column 9",
    '{"mcpServers": {}, "mcpServers": {}}': "second time",
    '{"mcpServers": []}': "is not an object",
    '{"mcpServers": null}': "is not an object",
    '{"a": "\udcff"}': "UTF-8",
    '{"a": ' + "[" * 5000 + "]" * 5000 + "}": "too deep",
}

TOML_TEXTS = {
    "empty": "",
    "a newline": "\n",
    "newlines": "\n\n\n",
    "a comment": "# nothing",
    "keys": 'model = "x"\nsandbox_mode = "read-only" # careful\n',
    "no newline at the end": 'model = "x"',
    "another server": 'model = "x"\n\n[mcp_servers.other]\ncommand = "npx"\nargs = ["-y", "x"]\n\n[mcp_servers.other.env]\nKEY = "v"\n',
    "carriage returns": 'model = "x"\r\n\r\n[a.b]\r\nc = 1\r\n',
    "an empty line at the end": "[a]\nb = 1\n\n",
    "an array over lines": 'a = [\n  "x", # [mcp_servers.lisp]\n  [1, 2], ]\n\n[projects."/home/a b"]\ntrust_level = "trusted"\n',
    "long strings": 'a = """\n[mcp_servers.lisp]\n"quoted" \\""" # \n"""\nb = \'\'\'\n[mcp_servers.lisp]\ncommand = "x"\'\'\'\nc = {x = 1, y = "]"}\n',
    "a table of all servers": '[mcp_servers]\nother = {command = "x"}\n[[list]]\na = 1\n[[list]]\na = 2\n',
    "dates and numbers": "d = 1979-05-27T07:32:00Z\nn = -1_000.5e+3\n'quoted key'.x = true\n",
    "a byte order mark": '\ufeffmodel = "x"\n',
}
BROKEN_TOML = {
    'a = "no end\nb = 1\n': "line 1",
    "a = [1,\n2\n": "line 1",
    "a\n": "line 1",
    "[x\ny = 1\n": "line 1",
    "a = 1\n[x]]\n": "line 2",
    "a = \n": "line 1",
    "a = 1]\n": "line 1",
    'a = """x\n': "line 1",
    'mcp_servers = {lisp = {command = "x"}}\n': "by hand",
    'mcp_servers.lisp.command = "x"\n': "by hand",
    '[mcp_servers]\nlisp = {command = "x"}\n': "by hand",
    '[mcp_servers.lisp.env]\nA = "b"\n': "by hand",
    '[mcp_servers.lisp]\ncommand = "cl-mcp-server"\n[mcp_servers.lisp]\n': "twice",
    'a = "\udcff"\n': "UTF-8",
    "a = 1\0\n": "zero",
}
ELISP_TEXTS = {
    "empty": "",
    "forms": "(setq inhibit-startup-screen t)\n",
    "no newline at the end": "(setq a 1) ; one",
    "carriage returns": "(setq a 1)\r\n\r\n",
    "an empty line at the end": "(setq a 1)\n\n",
}


def without_comments(text):
    """JSON with comments and trailing commas as JSON."""
    token = r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|.'
    tokens = [t for t in re.findall(token, text.lstrip("\ufeff"), re.DOTALL) if t[:2] not in ("//", "/*") and not t.isspace()]
    return "".join(t for i, t in enumerate(tokens) if not (t == "," and tokens[i + 1] in "]}"))


class Install(mcp.TestCase):
    def setUp(self):
        super().setUp()
        self.new_home()

    def new_home(self):
        self.home = self.folder()
        self.project = os.path.join(self.home, "project")
        os.mkdir(self.project)

    def run_with(self, *arguments, status=0, **environment):
        done = subprocess.run(
            [mcp.SERVER, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.project,
            timeout=30 * mcp.STRETCH,
            # No Lisp and no client is to be found: none is needed.
            env={"PATH": "/nonexistent", "HOME": self.home, **environment},
        )
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done

    def write(self, name, text):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text.encode("utf-8", "surrogateescape"))
        return path

    def read(self, name):
        with open(os.path.join(self.home, name), "rb") as f:
            return f.read().decode("utf-8", "surrogateescape")

    def round_trip(self, client, name, text, check):
        """Install, install again, uninstall, uninstall again; check() gets the text in between."""
        self.write(name, text)
        self.run_with("install", client, "--", "--preload", 'a "b" \\ é')
        installed = self.read(name)
        check(installed)
        again = self.run_with("install", client, "--", "--preload", 'a "b" \\ é')
        self.assertIn("nothing to do", again.stdout)
        self.assertEqual(installed, self.read(name))
        self.run_with("uninstall", client)
        self.assertEqual(text, self.read(name))
        self.assertIn("nothing to do", self.run_with("uninstall", client).stdout)
        self.assertEqual(text, self.read(name))
        self.assertEqual([os.path.basename(name)], os.listdir(os.path.dirname(os.path.join(self.home, name))))

    def check_json(self, client, member, before, text):
        value = json.loads(without_comments(text))
        entry = value[member].pop("lisp")
        command = [mcp.SERVER, "--preload", 'a "b" \\ é']
        expected = {"command": command[0], "args": command[1:]}
        if client in ("claude-code", "vscode"):
            expected = {"type": "stdio", **expected}
        elif client == "zed":
            expected = {"source": "custom", **expected}
        elif client == "opencode":
            expected = {"type": "local", "command": command, "enabled": True}
        self.assertEqual(expected, entry)
        before = without_comments(before)
        before = json.loads(before) if before else {}
        before.setdefault(member, {})
        self.assertEqual(before, value)

    def test_json_files_of_every_layout_are_kept_and_restored(self):
        for what, text in JSON_TEXTS.items():
            # One client has more than one way to say it; the others share the editor.
            client, name, member = JSON_CLIENTS[0]
            with self.subTest(what):
                self.new_home()
                name = "w/" + name
                text = text.replace("MEMBER", member)
                os.makedirs(os.path.join(self.home, "w"))
                self.home, home = os.path.join(self.home, "w"), self.home
                self.round_trip(client, os.path.basename(name), text, lambda after: self.check_json(client, member, text, after))
                self.home = home

    def test_every_json_client_gets_the_entry_that_it_reads(self):
        text = '{\n  // mine\n  "theme": "dark",\n  "MEMBER": {\n    "other": {"command": "x"},\n  },\n}\n'
        for client, name, member in JSON_CLIENTS[1:]:
            with self.subTest(client):
                before = text.replace("MEMBER", member)
                self.round_trip(client, name, before, lambda after: self.check_json(client, member, before, after))

    def test_opencode_2_keeps_its_servers_one_level_deeper(self):
        name, members = ".config/opencode/opencode.jsonc", '"theme": "dark", // mine\n  "mcp": {\n    %s\n  },\n'
        entry = {"type": "local", "command": [mcp.SERVER, "--preload", 'a "b" \\ é']}
        for servers in ('"servers": {}', '"timeout": 5,\n    "servers": {\n      "other": {"type": "local", "command": ["x"]},\n    },', '"servers": {"type": {"type": "local", "command": ["x"]}}'):
            with self.subTest(servers):
                self.new_home()
                before = "{" + members % servers + "}"

                def check(after):
                    value = json.loads(without_comments(after))
                    self.assertEqual(entry, value["mcp"]["servers"].pop("lisp"))
                    self.assertEqual(json.loads(without_comments(before)), value)

                self.round_trip("opencode", name, before, check)
        # In version 1's form, a server may be named like that.
        for server in ({"type": "local", "command": ["x"]}, {"enabled": False}):
            self.new_home()
            before = json.dumps({"mcp": {"servers": server}})
            self.round_trip("opencode", name, before, lambda after: self.check_json("opencode", "mcp", before, after))

    def test_a_missing_file_is_created_and_removed(self):
        clients = [(client, name) for client, name, _ in JSON_CLIENTS] + [("codex", CODEX), ("emacs", EMACS)]
        for client, name in clients:
            with self.subTest(client):
                path = os.path.join(self.home, name)
                shown = self.run_with("install", "--dry-run", client).stdout
                self.assertIn("would be created", shown)
                self.assertFalse(os.path.exists(path))
                self.run_with("install", client)
                self.assertIn(mcp.SERVER, self.read(name))
                self.assertEqual(0o600, stat.S_IMODE(os.stat(path).st_mode))
                self.run_with("uninstall", client)
                self.assertFalse(os.path.exists(path))
                self.assertEqual([], [f for f in os.listdir(os.path.dirname(path)) if f.startswith(".cl-mcp")])

    def test_broken_files_are_unchanged_and_the_place_is_reported(self):
        for texts, client, name in ((BROKEN_JSON, "gemini", ".gemini/settings.json"), (BROKEN_TOML, "codex", CODEX)):
            for text, place in texts.items():
                for command in ("install", "uninstall"):
                    with self.subTest(text[:60], command=command):
                        path = self.write(name, text)
                        done = self.run_with(command, client, status=1)
                        self.assertEqual(text, self.read(name))
                        self.assertIn(path + " was not changed", done.stderr)
                        self.assertIn(place, done.stderr)
        self.write(EMACS, "(a)\n;; cl-mcp-server, server lisp: begin\n(b)\n")
        self.assertIn(": end", self.run_with("install", "emacs", status=1).stderr)

    def test_toml_files_of_every_layout_are_kept_and_restored(self):
        for what, text in TOML_TEXTS.items():
            with self.subTest(what):

                def check(after):
                    self.assertTrue(after.startswith(text))
                    self.assertIn("[mcp_servers.lisp]", after)
                    if tomllib is not None:
                        value = tomllib.loads(after.lstrip("\ufeff"))
                        entry = value["mcp_servers"].pop("lisp")
                        self.assertEqual({"command": mcp.SERVER, "args": ["--preload", 'a "b" \\ é']}, entry)
                        before = tomllib.loads(text.lstrip("\ufeff"))
                        before.setdefault("mcp_servers", {})
                        self.assertEqual(before, value)

                self.round_trip("codex", CODEX, text, check)
        if tomllib is None:
            print("# TOML is not parsed here: Python has no tomllib")

    def test_a_table_changed_by_codex_or_a_person_is_updated_and_removed_whole(self):
        before = 'model = "x"\n\n[mcp_servers.lisp.env]\nA = "b"\n\n[other]\nx = 1\n\n'
        table = "[mcp_servers.\"lisp\"]\n# mine\ncommand = '/old/bin/cl-mcp-server' # here\nargs = [\n  \"--persist\",\n]\ntool_timeout_sec = 600\n\n"
        after = '[mcp_servers.lisp.tools]\na = 1\n\n# the last table\n[z]\nz = 1\n'
        self.write(CODEX, before + table + after)
        self.run_with("install", "codex", "--", "--tools", "full")
        changed = table.replace("'/old/bin/cl-mcp-server'", '"%s"' % mcp.SERVER).replace('[\n  "--persist",\n]', '["--tools", "full"]')
        self.assertEqual(before + changed + after, self.read(CODEX))
        self.run_with("uninstall", "codex")
        text = self.read(CODEX)
        for line in ('model = "x"', "[other]\nx = 1", "[z]\nz = 1"):
            self.assertIn(line, text)
        for line in ("lisp", "tool_timeout_sec", "# mine"):
            self.assertNotIn(line, text)

    def test_comments_of_other_tables_are_kept_when_the_server_is_removed(self):
        others = '\n# about b: keep this\n\n# this too\n[mcp_servers.b]\ncommand = "y"\n# end of b\n'
        self.write("project/.codex/config.toml", '[a]\n[mcp_servers.lisp]\ncommand = "cl-mcp-server"\n' + others + '[mcp_servers.lisp.env]\nA = "b"\n')
        self.run_with("uninstall", "codex", "--scope", "project")
        self.assertEqual("[a]\n" + others, self.read("project/.codex/config.toml"))

    def test_arguments_are_added_to_a_table_without_them(self):
        for end in ("\n", ""):
            self.write(CODEX, '[mcp_servers.lisp]\ncommand = "cl-mcp-server"' + end)
            self.run_with("install", "codex", "--", "--persist")
            self.assertEqual('[mcp_servers.lisp]\ncommand = "%s"\nargs = ["--persist"]%s' % (mcp.SERVER, end), self.read(CODEX))

    def test_elisp_files_are_kept_and_restored(self):
        for what, text in ELISP_TEXTS.items():
            with self.subTest(what):

                def check(after):
                    self.assertTrue(after.startswith(text))
                    self.assertIn('\'("lisp" :command "%s" :args ("--preload" "a \\"b\\" \\\\ é"))' % mcp.SERVER, after)
                    checked = self.write("check.lisp", after)
                    self.run_with("check-parens", checked)
                    os.unlink(checked)

                self.round_trip("emacs", EMACS, text, check)

    def test_an_entry_of_the_server_is_updated_and_keeps_what_was_added(self):
        self.write(".gemini/settings.json", '{"mcpServers": {"lisp": {"command": "/old/cl-mcp-server", "timeout": 5000 /* ms */, "args": ["--persist"]}}}')
        self.run_with("install", "gemini", "--", "--tools", "full")
        entry = json.loads(self.read(".gemini/settings.json"))["mcpServers"]["lisp"]
        self.assertEqual({"command": mcp.SERVER, "timeout": 5000, "args": ["--tools", "full"]}, entry)

    def test_earlier_options_are_kept_unless_others_are_given(self):
        clients = [(client, name) for client, name, _ in JSON_CLIENTS] + [("codex", CODEX), ("emacs", EMACS)]
        for client, name in clients:
            with self.subTest(client):
                self.run_with("install", client, "--", "--preload", 'a "b" \\ é)')
                installed = self.read(name)
                self.write(name, installed.replace(mcp.SERVER, "/old/cl-mcp-server"))
                self.run_with("install", client)
                self.assertEqual(installed, self.read(name))
                self.assertIn("nothing to do", self.run_with("install", client).stdout)
                self.run_with("install", client, "--")
                self.assertNotIn("--preload", self.read(name))

    def test_a_file_with_a_lone_carriage_return_is_unchanged(self):
        for text in ("(a)\r(b)\n", "(a)\n(b)\r"):
            for command in ("install", "uninstall"):
                self.write(EMACS, text)
                self.assertIn("carriage return", self.run_with(command, "emacs", status=1).stderr)
                self.assertEqual(text, self.read(EMACS))

    def test_another_server_of_the_same_name_is_not_touched(self):
        json_text = '{"mcpServers": {"lisp": {"command": "other-lisp-server"}}}'
        toml_text = '[mcp_servers.lisp]\ncommand = "other-lisp-server"\n'
        self.write(".gemini/settings.json", json_text)
        self.write(CODEX, toml_text)
        for command in ("install", "uninstall"):
            done = self.run_with(command, "gemini", "codex", status=1)
            self.assertIn("--name", done.stderr)
        self.assertEqual((json_text, toml_text), (self.read(".gemini/settings.json"), self.read(CODEX)))
        self.run_with("install", "gemini", "--name", "sbcl")
        self.assertEqual({"lisp", "sbcl"}, set(json.loads(self.read(".gemini/settings.json"))["mcpServers"]))
        self.run_with("uninstall", "--name=sbcl", "gemini")
        self.assertEqual(json_text, self.read(".gemini/settings.json"))

    def test_an_entry_rewritten_by_its_client_can_be_removed(self):
        text = {"a": 1, "mcpServers": {"other": {"command": "x"}}}
        for move in (lambda servers: servers, lambda servers: dict(reversed(list(servers.items())))):
            for form in ({"separators": (",", ":")}, {"indent": 2}):
                self.write(".gemini/settings.json", json.dumps(text))
                self.run_with("install", "gemini")
                value = json.loads(self.read(".gemini/settings.json"))
                value["mcpServers"] = move(value["mcpServers"])
                self.write(".gemini/settings.json", json.dumps(value, **form))
                self.run_with("uninstall", "gemini")
                self.assertEqual(json.dumps(text, **form), self.read(".gemini/settings.json"))

    def test_comments_beside_the_entry_are_kept_when_it_is_removed(self):
        text = '{\n  "mcpServers": {\n    // ours\n    %s\n    /* end */\n  }\n}\n'
        self.write(".gemini/settings.json", text % '"lisp": {"command": "cl-mcp-server"}')
        self.run_with("uninstall", "gemini")
        left = self.read(".gemini/settings.json")
        self.assertEqual({"mcpServers": {}}, json.loads(without_comments(left)))
        self.assertIn("// ours", left)
        self.assertIn("/* end */", left)

    def test_what_shares_a_line_with_the_entry_stays_out_of_comments(self):
        entry = '"lisp": {"command": "cl-mcp-server", "args": []}'
        for text in (
            '{\n  "servers": {\n    "a": {"command": "x"}, // first\n    %s, "b": {"command": "y"}\n  }\n}\n',
            '{\n  "servers": {\n    "a": {"command": "x"}, // first\n    %s }\n}\n',
            '{\n  "servers": {\n    "a": {"command": "x"}, // first\n    %s, // ours\n    "b": {"command": "y"}\n  }\n}\n',
            '{\n  "servers": { // all\n    %s },\n  "inputs": []\n}\n',
        ):
            with self.subTest(text):
                before = json.loads(without_comments(text % entry))
                del before["servers"]["lisp"]
                self.write("project/.vscode/mcp.json", text % entry)
                self.run_with("uninstall", "vscode", "--scope", "project")
                left = self.read("project/.vscode/mcp.json")
                self.assertEqual(before, json.loads(without_comments(left)))
                for comment in re.findall("//.*", text):
                    self.assertRegex(left, comment + "\n")

    def test_a_project_has_its_own_files(self):
        os.mkdir(os.path.join(self.home, "bin"))
        os.symlink(mcp.SERVER, os.path.join(self.home, "bin", "cl-mcp-server"))
        for client, name, member in (("claude-code", ".mcp.json", "mcpServers"), ("vscode", ".vscode/mcp.json", "servers"), ("opencode", "opencode.json", "mcp")):
            self.run_with("install", client, "--scope", "project", PATH=os.path.join(self.home, "bin"))
            entry = json.loads(self.read("project/" + name))[member]["lisp"]
            self.assertIn(entry["command"], ("cl-mcp-server", ["cl-mcp-server"]))
        self.assertEqual([], [f for f in os.listdir(self.home) if f.startswith(".")])
        self.assertIn("project", self.run_with("install", "claude-desktop", "--scope=project", status=1).stderr)
        # The user's own file has the path, since programs with windows often have another PATH.
        self.run_with("install", "claude-code", PATH=os.path.join(self.home, "bin"))
        self.assertEqual(os.path.join(self.home, "bin/cl-mcp-server"), json.loads(self.read(".claude.json"))["mcpServers"]["lisp"]["command"])

    def test_all_means_the_clients_that_are_found(self):
        self.assertIn("no client", self.run_with("install", "all", status=1).stderr)
        os.mkdir(os.path.join(self.home, ".codex"))
        os.mkdir(os.path.join(self.home, ".gemini"))
        self.assertEqual(2, self.run_with("install", "all").stdout.count("the file was created"))
        self.assertEqual(["config.toml"], os.listdir(os.path.join(self.home, ".codex")))
        self.assertEqual(["settings.json"], os.listdir(os.path.join(self.home, ".gemini")))
        self.assertFalse(os.path.exists(os.path.join(self.home, ".cursor")))
        self.assertEqual(2, self.run_with("uninstall", "all").stdout.count("the file was removed"))

    def test_variables_move_the_files(self):
        self.run_with("install", "codex", "zed", "claude-code", CODEX_HOME=self.home + "/c", XDG_CONFIG_HOME=self.home + "/x", CLAUDE_CONFIG_DIR=self.home + "/y")
        for name in ("c/config.toml", "x/zed/settings.json", "y/.claude.json"):
            self.assertIn(mcp.SERVER, self.read(name))

    def test_an_argument_of_several_lines_is_kept_in_emacs(self):
        self.run_with("install", "emacs", "--", "--instructions", "a\nb))))\nc")
        before = self.read(EMACS)
        self.assertIn("nothing", self.run_with("install", "emacs").stdout)
        self.assertEqual(before, self.read(EMACS))

    def test_emacs_gets_the_file_that_it_loads(self):
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
                self.run_with("install", "emacs")
                self.assertIn(mcp.SERVER, self.read(expected))

    def test_a_link_is_kept_and_its_target_is_changed(self):
        text = '{"a": 1}'
        path = self.write("dotfiles/gemini.json", text)
        os.chmod(path, 0o640)
        os.mkdir(os.path.join(self.home, ".gemini"))
        link = os.path.join(self.home, ".gemini/settings.json")
        os.symlink("../dotfiles/gemini.json", link)
        self.run_with("install", "gemini")
        self.assertTrue(os.path.islink(link))
        self.assertIn("mcpServers", self.read("dotfiles/gemini.json"))
        self.assertEqual(0o640, stat.S_IMODE(os.stat(path).st_mode))
        self.run_with("uninstall", "gemini")
        self.assertTrue(os.path.islink(link))
        self.assertEqual(text, self.read("dotfiles/gemini.json"))
        os.unlink(path)
        self.assertIn("leads nowhere", self.run_with("install", "gemini", status=1).stderr)

    def test_anything_but_a_file_is_refused(self):
        os.makedirs(os.path.join(self.home, ".gemini/settings.json"))
        self.assertIn("not a regular file", self.run_with("install", "gemini", status=1).stderr)
        self.run_with("install", "gemini", status=1, HOME="")

    def test_dry_run_shows_the_change_and_makes_none(self):
        text = '{\n  "theme": "dark",\n  "secret": "xyzzy"\n}\n'
        self.write(".gemini/settings.json", text)
        shown = self.run_with("install", "--dry-run", "gemini").stdout
        self.assertIn('+     "lisp": {"command": "%s", "args": []}' % mcp.SERVER, shown)
        self.assertNotIn("xyzzy", shown)
        self.assertEqual(text, self.read(".gemini/settings.json"))
        self.run_with("install", "gemini")
        shown = self.run_with("uninstall", "gemini", "--dry-run").stdout
        self.assertIn('-     "lisp": {"command": "%s", "args": []}' % mcp.SERVER, shown)
        self.assertIn("would be changed", shown)

    def test_wrong_usage_is_reported(self):
        for arguments in ((), ("no-such-client",), ("--scope", "world", "codex"), ("--name", "a b", "codex"), ("--name",), ("codex", "--frob"), ("--dry-run",)):
            with self.subTest(arguments):
                self.assertIn("usage:", self.run_with("install", *arguments, status=2).stderr)
        self.assertIn("claude-desktop", self.run_with("install", "vim", status=2).stderr)
        self.run_with("uninstall", "codex", "--", "--persist", status=2)
        self.assertEqual(["project"], os.listdir(self.home))


if __name__ == "__main__":
    mcp.main()
