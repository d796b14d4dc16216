"""The official TypeScript clients of both generations list and call tools; tests/clients has the scripts."""

import glob
import os
import shutil
import subprocess

import mcp
import mcp_http

CLIENTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "clients")


def node():
    """The one that scripts/setup brought where the system's is too old, else the system's."""
    own = glob.glob(os.path.join(CLIENTS, "node_modules", "node-linux-*", "bin", "node"))
    return own[0] if own else shutil.which("node")


class OfficialClients(mcp.TestCase):
    def run_client(self, script, *modes):
        if node() is None or not os.path.isdir(os.path.join(CLIENTS, "node_modules")):
            self.fail("the clients are not installed: run scripts/setup")
        mark = mcp.file_mark() + "-clients-%s." % "-".join(modes)
        done = subprocess.run(
            [node(), os.path.join(CLIENTS, script), *modes, mcp.SERVER, "--stdio"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=mcp.clean_environment(**{mcp.MARK: mark}),
            timeout=90 * mcp.STRETCH,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertNotIn("not ok", done.stdout)
        self.assertGreaterEqual(done.stdout.count("ok - "), 18, done.stdout)
        mcp.assert_none_left(mark)

    def run_client_over_http(self, script, *modes):
        if mcp.SANITIZED:
            self.skipTest("the clients run against the plain build; test_http.py says the same to this one")
        tokens = os.path.join(self.folder(), "tokens")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write("client:client-0123456789\n")
        server = mcp_http.HttpServer("--token-file", tokens)
        self.addCleanup(server.end)
        done = subprocess.run(
            [node(), os.path.join(CLIENTS, script), *modes, "http://%s:%d/mcp" % server.addresses[0], "client-0123456789"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=mcp.clean_environment(),
            timeout=90 * mcp.STRETCH,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertNotIn("not ok", done.stdout)
        self.assertGreaterEqual(done.stdout.count("ok - "), 18, done.stdout)

    def test_the_first_generation_works_over_http(self):
        self.run_client_over_http("v1-http.mjs")

    def test_the_second_generation_works_over_http_in_legacy_mode(self):
        self.run_client_over_http("v2-http.mjs", "legacy")

    def test_the_second_generation_works_over_http_in_auto_mode_and_goes_modern(self):
        self.run_client_over_http("v2-http.mjs", "auto")

    def test_the_second_generation_works_over_http_pinned_to_2026_07_28(self):
        self.run_client_over_http("v2-http.mjs", "pin")

    def test_the_first_generation_works(self):
        self.run_client("v1-stdio.mjs")

    def test_the_second_generation_works_in_legacy_mode(self):
        self.run_client("v2-stdio.mjs", "legacy")

    def test_the_second_generation_works_in_auto_mode_and_goes_modern(self):
        self.run_client("v2-stdio.mjs", "auto")

    def test_the_second_generation_works_pinned_to_2026_07_28(self):
        self.run_client("v2-stdio.mjs", "pin")


if __name__ == "__main__":
    mcp.main()
