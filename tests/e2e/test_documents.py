"""What the documents say is so: the transcripts in README.md and docs are run and compared, options and tools
exist, links lead somewhere, the configuration of clients can be read. docs/tools.md is compared by
test_tool_contract.py and a unit test.
"""

import glob
import json
import os
import re
import subprocess

import contract
import mcp
import transcript


def pages(pattern):
    return sorted(glob.glob(os.path.join(mcp.ROOT, pattern), recursive=True))


PAGES = pages("README.md") + pages("docs/how-to/*.md")
REFERENCE = os.path.join(mcp.ROOT, "docs", "reference.md")
DOCUMENTS = pages("*.md") + pages("docs/**/*.md") + pages("plugin/*.md")
OTHERS_OPTIONS = set(
    "--add-mcp --scope --transport".split()  # of code and claude
    + "--cap-drop --network --pids-limit --read-only --security-opt --stop-timeout --user --userns".split()  # of podman
    + "--beside --count".split()  # of scripts/bench
)
OF_DEVELOPMENT = pages("CONTRIBUTING.md") + pages("docs/design.md")
COMPARED_ELSEWHERE = pages("docs/tools.md")


def blocks(path, language):
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", mcp.read(path), re.MULTILINE | re.DOTALL)
    return [block for name, block in fenced if name == language]


class Transcripts(mcp.TestCase):
    def start_bench(self, *options):
        bench = contract.Bench(*options)
        self.addCleanup(bench.close)
        return bench

    def run_page(self, path):
        bench = self.start_bench()
        of_page, of_section, compared = [], None, 0
        for kind, *what in transcript.read(path):
            if kind == "file":
                target = os.path.join(bench.project, what[0])
                mcp.write(target, what[1])
            elif kind == "section":
                of_section = []
            elif kind == "varies":
                (of_page if of_section is None else of_section).append(what[0])
            elif kind == "options":
                bench.fresh()
                bench = self.start_bench(*what[0])
            else:
                varying = of_page + (of_section or [])
                compared += self.run_call(bench, os.path.basename(path), what[0], varying)
        bench.fresh()
        return compared

    def run_call(self, bench, page, call, varying):
        place = "%s:%d: > %s %s" % (page, call.line, call.tool, call.text)
        schema = bench.schema(call.tool)
        self.assertIsNotNone(schema, place)
        arguments = call.arguments(schema)
        if call.until:
            mcp.wait_until(lambda: re.search(call.until, bench.call(call.tool, arguments)[0]), 20, place)
            return False
        for _ in range(call.times):
            text, _ = bench.call(call.tool, arguments)
        if not transcript.matches(call.reply, text, lambda t: contract.normal(t, varying)):
            self.fail("%s\nThe page says:\n%s\nThe reply is:\n%s" % (place, "\n".join(call.reply), text))
        return any(call.reply)


def test_of(path):
    def test(self):
        self.assertGreater(self.run_page(path), 1)

    return test


for _path in DOCUMENTS:
    if _path in COMPARED_ELSEWHERE or not any(kind == "call" for kind, *_ in transcript.read(_path)):
        continue
    setattr(Transcripts, "test_" + re.sub(r"\W", "_", os.path.basename(_path)[:-3].lower()), test_of(_path))


class Claims(mcp.TestCase):
    def test_no_reply_is_shown_without_its_call(self):
        for path in set(DOCUMENTS) - set(COMPARED_ELSEWHERE):
            for block in blocks(path, ""):
                if not block.startswith("> "):
                    self.assertNotRegex(block, r"(?m)^(=> |\[(ERROR|Session|stdout)\])", path)

    def test_every_option_that_is_named_exists(self):
        known = mcp.run("--help", "all", check=True).stdout
        commands = re.search(r"(?ms)^Commands:\n(.*?)\n\n", known).group(1)
        known += "".join(mcp.run(command, "--help", check=True).stdout for command in re.findall(r"(?m)^  (\S+)", commands))
        for path in set(DOCUMENTS) - set(OF_DEVELOPMENT):
            others = r"(?m)^ *(?:systemctl|systemd-run|claude|codex|gemini|make|meson) [^\n]*? (?=-- |\S*cl-mcp-server)"
            for option in re.findall(r"(?<=[`\" ])--[a-z][a-z-]+", re.sub(others, "", mcp.read(path))):
                if option not in OTHERS_OPTIONS:
                    self.assertIn(option, known, path)

    def test_the_reference_names_every_tool(self):
        tools = {tool["name"] for tool in self.start_server().request("tools/list")["tools"]}
        named = set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", mcp.read(REFERENCE)))
        self.assertEqual(set(), tools - named)
        self.assertIn("all %d tools" % len(tools), mcp.read(REFERENCE))

    def test_the_reference_names_every_prompt_and_kind_of_resource(self):
        client = self.start_server()
        for prompt in client.request("prompts/list")["prompts"]:
            self.assertIn("`%s`" % prompt["name"], mcp.read(REFERENCE))
        templates = client.request("resources/templates/list")["resourceTemplates"]
        schemes = {re.match(r"lisp://\w+", template["uriTemplate"]).group(0) for template in templates}
        for scheme in schemes:
            self.assertIn("`%s/" % scheme, mcp.read(REFERENCE))

    def test_links_lead_somewhere(self):
        for path in DOCUMENTS:
            prose = re.sub(r"(?ms)^```.*?^```$", "", mcp.read(path))
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
                where = os.path.join(os.path.dirname(path), target)
                self.assertTrue(os.path.exists(where), "%s: %s" % (path, target))

    def test_the_configuration_of_clients_can_be_read(self):
        found = 0
        for path in PAGES:
            for block in blocks(path, "json"):
                json.loads(block)
                found += 1
            for block in blocks(path, "toml"):
                for line in filter(None, block.split("\n")):
                    value = r'(".*"|\[.*\]|\d+|true|false)'
                    self.assertRegex(line, r"^(\[[a-z_.]+\]|[a-z_]+ = %s( +#.*)?)$" % value, path)
                found += 1
        self.assertGreater(found, 1)

    def test_the_clients_of_the_readme_can_be_installed_for(self):
        clients = set(re.findall(r"`cl-mcp-server install ([a-z-]+)", mcp.read(PAGES[0]))) - {"all"}  # where none is found, it fails
        self.assertGreater(len(clients), 5)
        for client in clients:
            done = mcp.run("install", "--dry-run", client, env={"HOME": self.folder(), "PATH": "/nonexistent"})
            self.assertRegex(done.stdout, "would run|would write|Paste", client)

    def test_the_picture_is_that_of_a_session(self):
        path = os.path.join(self.folder(), "session.svg")
        subprocess.run([os.path.join(mcp.ROOT, "scripts", "picture"), mcp.SERVER, path], check=True, timeout=60 * mcp.STRETCH)
        self.assertEqual(mcp.read(os.path.join(mcp.ROOT, "docs", "session.svg")), mcp.read(path), "scripts/picture draws it anew")

    def test_the_changes_begin_with_this_version(self):
        said = mcp.run("--version", check=True)
        newest = re.search(r"(?m)^## (.*)$", mcp.read(os.path.join(mcp.ROOT, "CHANGES.md"))).group(1)
        self.assertEqual(said.stdout.split()[1], newest)

    def test_nothing_speaks_of_this_machine(self):
        for path in DOCUMENTS:
            self.assertNotRegex(mcp.read(path), r"(?<!\w)/(work|tmp/w-|root)/", path)
