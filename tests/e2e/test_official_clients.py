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
    def setUp(self):
        super().setUp()
        if node() is None or not os.path.isdir(os.path.join(CLIENTS, "node_modules")):
            self.fail("the clients are not installed: run scripts/setup")

    def check_all(self, runs):
        """Run scripts side by side, since they mostly wait: (name, command, environment) of each."""
        processes = []
        for name, command, environment in runs:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                text=True,
            )
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            processes.append((name, process))
        for name, process in processes:
            with self.subTest(name):
                output, _ = process.communicate(timeout=90 * mcp.STRETCH)
                self.assertEqual(0, process.returncode, output)
                self.assertNotIn("not ok", output)
                self.assertGreaterEqual(output.count("ok - "), 18, output)

    def test_both_generations_work(self):
        runs = []
        for script, *modes in (("v1.mjs",), ("v2.mjs", "legacy"), ("v2.mjs", "auto"), ("v2.mjs", "pin")):
            mark = mcp.file_mark() + "-clients-%s." % "-".join(modes)
            command = [node(), os.path.join(CLIENTS, script), *modes, mcp.SERVER, "--stdio"]
            runs.append((" ".join((script, *modes)), command, mcp.clean_environment(**{mcp.MARK: mark})))
        self.check_all(runs)
        for _, _, environment in runs:
            mcp.assert_none_left(environment[mcp.MARK])

    def test_both_generations_work_over_http(self):
        runs = []
        for script, *modes in (("v1.mjs",), ("v2.mjs", "legacy"), ("v2.mjs", "auto"), ("v2.mjs", "pin")):
            tokens = os.path.join(self.folder(), "tokens")
            with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
                f.write("client:client-0123456789\n")
            server = mcp_http.HttpServer("--token-file", tokens)
            self.addCleanup(server.end)
            address = "http://%s:%d/mcp" % server.addresses[0]
            command = [node(), os.path.join(CLIENTS, script), *modes, address, "client-0123456789"]
            runs.append((" ".join((script, *modes)), command, mcp.clean_environment()))
        self.check_all(runs)


if __name__ == "__main__":
    mcp.main()
