"""The official TypeScript clients of both generations list and call tools; tests/clients has the scripts."""

import glob
import json
import os
import shutil
import socket
import subprocess

import identity_provider
import mcp
import mcp_http

CLIENTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "clients")


def node():
    """The one that scripts/setup brought where the system's is too old, else the system's."""
    own = glob.glob(os.path.join(CLIENTS, "node_modules", "node-linux-*", "bin", "node"))
    return own[0] if own else shutil.which("node")


def node_environment(**changes):
    """Node.js keeps what it has compiled, which is a quarter of the time of its next start."""
    environment = mcp.clean_environment()
    return {**environment, "NODE_COMPILE_CACHE": os.path.join(environment["XDG_CACHE_HOME"], "node"), **changes}


class OfficialClients(mcp.TestCase):
    def setUp(self):
        super().setUp()
        if node() is None or not os.path.isdir(os.path.join(CLIENTS, "node_modules")):
            self.fail("the clients are not installed: run scripts/setup")

    def check_all(self, runs, least=18):
        """Run scripts side by side, since they mostly wait: (name, command, environment) of each, which makes at least so many checks."""
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
                self.assertGreaterEqual(output.count("ok - "), least, output)

    def test_both_generations_work(self):
        runs = []
        for script, *modes in (("v1.mjs",), ("v2.mjs", "legacy"), ("v2.mjs", "auto"), ("v2.mjs", "pin")):
            mark = mcp.file_mark() + "-clients-%s." % "-".join(modes)
            command = [node(), os.path.join(CLIENTS, script), *modes, mcp.SERVER, "--stdio"]
            runs.append((" ".join((script, *modes)), command, node_environment(**{mcp.MARK: mark})))
        self.check_all(runs)
        for _, _, environment in runs:
            mcp.assert_none_left(environment[mcp.MARK])

    def test_both_generations_work_over_http(self):
        runs = []
        for script, *modes in (("v1.mjs",), ("v2.mjs", "legacy"), ("v2.mjs", "auto"), ("v2.mjs", "pin")):
            server = mcp_http.HttpServer("--token-file", self.file("client:client-0123456789\n", "tokens", 0o600))
            self.addCleanup(server.end)
            address = "http://%s:%d/mcp" % server.addresses[0]
            command = [node(), os.path.join(CLIENTS, script), *modes, address, "client-0123456789"]
            runs.append((" ".join((script, *modes)), command, node_environment()))
        self.check_all(runs)

    def test_both_generations_log_in_at_an_identity_provider(self):
        for mode in ("v1", "legacy", "auto", "pin"):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                address = "http://127.0.0.1:%d/mcp" % probe.getsockname()[1]
            provider = identity_provider.IdentityProvider(audience=address, user="ada|%s" % mode)
            self.addCleanup(provider.close)
            state = self.folder()
            keys = os.path.join(state, "keys.json")
            with open(keys, "w") as f:
                json.dump({"keys": [provider.key.jwk()]}, f)
            server = mcp_http.HttpServer("--oauth-issuer", provider.issuer, "--oauth-audience", address, "--oauth-keys", keys, "--state-dir", state, "--persist",
                                         http=(address[len("http://"):-len("/mcp")],))
            self.addCleanup(server.end)
            self.check_all([(mode, [node(), os.path.join(CLIENTS, "oauth.mjs"), mode, address], node_environment())], least=5)
            for path in ("/.well-known/oauth-authorization-server", "/register", "/authorize", "/token"):
                self.assertEqual(1, provider.seen.count(path), provider.seen)
            server.end(wait=60)
            self.assertEqual(["ada%%7C%s" % mode], os.listdir(os.path.join(state, "principals")))
