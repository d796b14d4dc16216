"""The official conformance suites against the conformance server, and the Inspector's command line against the real one."""

import json
import os
import re
import subprocess
import threading

import mcp
import mcp_http
import stand_in
from test_official_clients import CLIENTS, node, node_environment

MODULES = os.path.join(CLIENTS, "node_modules")
SUITE = os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")
# The product with the fixtures that the suites ask for, from the same build.
TASKS = ["tasks-" + name for name in ("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers",
                                      "dispatch-and-envelope", "required-task-error", "mrtr-composition")]
FIXTURES = os.path.join(os.path.dirname(mcp.SERVER), "tests", "conformance-server")
SUITE_OF_2025 = os.path.join(MODULES, "conformance-of-2025", "dist", "index.js")


def inspector():
    folder = os.path.join(MODULES, "@modelcontextprotocol", "inspector")
    with open(os.path.join(folder, "package.json")) as file:
        binary = json.load(file)["bin"]
    return os.path.join(folder, binary if isinstance(binary, str) else binary["mcp-inspector"])


class Official(mcp.TestCase):
    def run_node(self, *arguments, wanted=0, seconds=170, **environment):
        done = subprocess.run(
            [node(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=node_environment(MCP_INSPECTOR_SECRET_STORE="memory", **environment), timeout=seconds * mcp.STRETCH)
        if wanted is not None:
            self.assertEqual(wanted, done.returncode, done.stdout[-8000:])
        return done

    def start(self, *options, program=None):
        self.assertTrue(os.path.exists(SUITE), "the suites are not installed: run scripts/setup")
        server = mcp_http.HttpServer(*options, program=program)
        self.addCleanup(server.end)
        return server, "http://%s:%d/mcp" % server.addresses[0]


class Conformance(Official):
    def check(self, arguments, least):
        """Each run has a server of its own, since one sets a log level and the other counts on none."""
        server, url = self.start(program=FIXTURES)
        done = self.run_node(arguments[0], "server", "--url", url, *arguments[1:])
        passed = re.findall(r"^\u2713 (\S+): ", done.stdout, re.MULTILINE)
        self.assertGreaterEqual(len(set(passed)), least, done.stdout[-8000:])
        self.assertEqual(200, server.ask("tools/list").status)

    def test_what_2026_07_28_requires_is_there(self):
        self.check((SUITE, "--requirements", "2026-07-28"), 37)

    def test_the_extension_of_tasks_is_there(self):
        """No revision requires it: it is among what the suite calls pending, some of which is not for this server."""
        server, url = self.start(program=FIXTURES)
        done = self.run_node(SUITE, "server", "--url", url, "--suite", "pending", wanted=None)
        passed = re.findall(r"^\u2713 (\S+): [1-9]\d* passed, 0 failed", done.stdout, re.MULTILINE)
        self.assertEqual(set(), set(TASKS) - set(passed), done.stdout[-8000:])

    def test_what_2025_11_25_requires_is_there(self):
        self.check((SUITE, "--requirements", "2025-11-25"), 30)

    def test_the_suite_of_2025_passes(self):
        self.check((SUITE_OF_2025,), 26)

    def test_the_product_has_no_fixtures(self):
        server, _ = self.start()
        for method, member in (("tools/list", "tools"), ("prompts/list", "prompts"), ("resources/list", "resources")):
            self.assertNotIn("test_", json.dumps(server.ask(method).json["result"][member]))
        response = server.ask("tools/call", {"name": "test_simple_text"})
        self.assertEqual(-32602, response.json["error"]["code"])


class Inspector(Official):
    def ask(self, *arguments, wanted=0):
        done = self.run_node(inspector(), "--cli", *arguments, wanted=wanted)
        return done.stdout

    def test_it_lists_and_calls_over_both_transports(self):
        _, url = self.start()
        targets = ((mcp.SERVER,), (url, "--transport", "http"))
        failures = []

        def try_one(target, era):
            """The official clients do both with each; a start of the Inspector takes a second."""
            try:
                if era == "legacy":
                    self.assertIn("evaluate-lisp", self.ask(*target, "--protocol-era", era, "--method", "tools/list"))
                else:
                    called = self.ask(*target, "--protocol-era", era, "--method", "tools/call", "--tool-name", "evaluate-lisp", "--tool-arg", "code=(* 6 7)")
                    self.assertIn("=> 42", called)
            except AssertionError as error:
                failures.append((target, era, str(error)[-3000:]))

        threads = [threading.Thread(target=try_one, args=(target, era)) for target in targets for era in ("legacy", "modern")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)

    def test_it_reads_what_install_writes(self):
        folder = self.folder()
        stand_in.put(folder + "/bin", "claude")
        mcp.run("install", "claude-code", "--scope", "project", "--", "--tools", "core",
                check=True, cwd=folder, env=mcp.clean_environment(PATH=folder + "/bin", HOME=folder))
        listed = self.ask("--config", os.path.join(folder, ".mcp.json"), "--server", "lisp", "--method", "tools/list")
        self.assertIn("evaluate-lisp", listed)
        self.assertNotIn("macroexpand-form", listed)

    def test_its_strict_look_at_the_schemas_passes(self):
        _, url = self.start("--tools", "full")
        self.ask(url, "--transport", "http", "--method", "tools/list", "--strict")
