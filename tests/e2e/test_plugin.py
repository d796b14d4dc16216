"""The plugin folder: what clients read there is well-formed, has the program's version and names what exists.
scripts/packages-check has the bundle checked by the tool that is made for it.
"""

import json
import os
import re

import mcp

PLUGIN = os.path.join(mcp.ROOT, "plugin")
SKILL = os.path.join(PLUGIN, "skills", "live-lisp", "SKILL.md")


def read(*path):
    return json.loads(mcp.read(os.path.join(mcp.ROOT, *path)))


def shape_of(value, shape, where="$"):
    """The first place where a JSON value differs from a shape; None if it fits. A shape is a pattern that a string matches as
    a whole, a list of the shape of each element, or the members of an object, which has no others; those with ? may be absent."""
    if isinstance(shape, str):
        return None if isinstance(value, str) and re.fullmatch(shape, value) else where
    if isinstance(shape, list):
        if not isinstance(value, list):
            return where
        return next(filter(None, (shape_of(element, shape[0], f"{where}[{i}]") for i, element in enumerate(value))), None)
    if not isinstance(value, dict):
        return where
    names = {name.rstrip("?") for name in shape}
    missing = {name for name in shape if not name.endswith("?")} - set(value)
    if missing or set(value) - names:
        return f"{where}.{min(missing | (set(value) - names))}"
    shapes = {name.rstrip("?"): member for name, member in shape.items()}
    return next(filter(None, (shape_of(value[name], shapes[name], f"{where}.{name}") for name in value)), None)


URL = "https://[^ ]+"
# The members that we use of the schemas which the files name: Agent Plugins 1.0.0, and the MCP registry's of 2025-12-11.
PORTABLE_PLUGIN = {
    "$schema": re.escape("https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"),
    "name": "[a-z0-9][a-z0-9.-]{0,63}",
    "version": r"\d+\.\d+\.\d+",
    "description": ".+",
    "keywords?": [".+"],
}
PORTABLE_SERVERS = {
    "$schema": re.escape("https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"),
    "mcpServers": {"lisp": {"type": "stdio", "command": r"(\./)?[^ $]+"}},
}
REGISTRY = {
    "$schema": re.escape("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
    "name": "[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+",
    "title": ".{1,100}",
    "description": ".{1,100}",
    "version": r"\d+\.\d+\.\d+",
    "repository": {"url": URL, "source": "github"},
    "packages": [
        {
            "registryType": "mcpb",
            "identifier": URL + "mcp" + "[^ ]*",
            "version": r"\d+\.\d+\.\d+",
            "fileSha256": "[a-f0-9]{64}",
            "transport": {"type": "stdio"},
        }
    ],
}
# What scripts/package puts in.
FILLED = {
    "@OWNER@": "someone",
    "@VERSION@": "1.2.3",
    "@REPOSITORY@": "https://github.com/someone/cl-mcp-server",
    "@BUNDLE@": "https://github.com/someone/cl-mcp-server/releases/download/v1.2.3/cl-mcp-server.mcpb",
    "@SHA256@": "0" * 64,
}


class Plugin(mcp.TestCase):
    def test_the_portable_plugin_and_the_registrys_entry_have_what_their_schemas_allow(self):
        self.assertIsNone(shape_of(read("plugin", "portable", "plugin.json"), PORTABLE_PLUGIN))
        self.assertIsNone(shape_of(read("plugin", "portable", "mcp.json"), PORTABLE_SERVERS))
        entry = re.sub("@[A-Z0-9]+@", lambda name: FILLED[name.group()], mcp.read(os.path.join(mcp.ROOT, "deploy", "registry", "server.json")))
        self.assertIsNone(shape_of(json.loads(entry), REGISTRY))

    def test_everything_has_the_programs_version(self):
        version = mcp.run("--version", check=True).stdout.split()[1]
        manifests = [".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "gemini/gemini-extension.json", "portable/plugin.json"]
        for path in manifests:
            self.assertEqual(("cl-mcp-server", version), (read("plugin", path)["name"], read("plugin", path)["version"]), path)

    def test_the_marketplaces_lead_to_the_plugin(self):
        claude = read(".claude-plugin", "marketplace.json")["plugins"][0]
        codex = read(".agents", "plugins", "marketplace.json")["plugins"][0]
        for entry, path in ((claude, claude["source"]), (codex, codex["source"]["path"])):
            self.assertEqual("cl-mcp-server", entry["name"])
            self.assertTrue(os.path.samefile(PLUGIN, os.path.join(mcp.ROOT, path)))

    def test_every_client_starts_the_server_without_arguments(self):
        for path in (".mcp.json", "gemini/gemini-extension.json", "portable/mcp.json"):
            server = read("plugin", path)["mcpServers"]["lisp"]
            self.assertEqual("cl-mcp-server", server["command"], path)
            self.assertNotIn("args", server, path)
        # Claude Code defers the tools of servers without it. Codex reads the same file.
        self.assertIs(True, read("plugin", ".mcp.json")["mcpServers"]["lisp"]["alwaysLoad"])
        codex = read("plugin", ".codex-plugin", "plugin.json")
        for member in ("mcpServers", "hooks", "skills"):
            self.assertTrue(os.path.exists(os.path.join(PLUGIN, codex[member])), member)

    def test_the_hooks_are_those_of_the_documents(self):
        documented = [
            json.loads(block)["hooks"]
            for block in re.findall(r"(?ms)^```json\n(.*?)^```$", mcp.read(os.path.join(mcp.ROOT, "docs", "editing.md")))
        ]
        # Codex takes the same file as Claude Code, and has a tool of its own.
        in_plugin = json.loads(mcp.read(os.path.join(PLUGIN, "hooks", "hooks.json")).replace("|apply_patch", ""))["hooks"]
        self.assertEqual(documented, [in_plugin, read("plugin", "gemini", "hooks", "hooks.json")["hooks"]])

    def test_every_client_finds_the_skill(self):
        for folder in (PLUGIN, os.path.join(PLUGIN, "gemini"), os.path.join(PLUGIN, "portable")):
            self.assertTrue(os.path.samefile(SKILL, os.path.join(folder, "skills", "live-lisp", "SKILL.md")))
        head = re.match(r"---\nname: (.*)\ndescription: (.*)\n---\n", mcp.read(SKILL))
        self.assertEqual("live-lisp", head.group(1))
        self.assertLessEqual(len(head.group(2)), 1024)

    def test_the_skill_names_tools_and_arguments_that_exist(self):
        tools = {tool["name"]: tool for tool in self.start_server("--tools=full").request("tools/list")["tools"]}
        arguments = {name for tool in tools.values() for name in tool["inputSchema"].get("properties", {})}
        words = set(re.findall(r"`([a-z-]+)(?:: [a-z]+)?`", mcp.read(SKILL)))
        known = set(tools) | arguments | {"lisp", "fmakunbound", "unintern"}
        self.assertEqual(set(), words - known)
        self.assertGreater(len(words & set(tools)), 15)
