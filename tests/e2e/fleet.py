"""What tests of several servers share: a name service (dnsmasq), balancers (HAProxy with deploy/haproxy.cfg) and a client through them.

Every node has an address of its own and the same ports, as pods and machines have.
"""

import concurrent.futures
import os
import random
import shutil
import signal
import socket
import subprocess

import mcp
import mcp_http

WHERE = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
HAPROXY = shutil.which("haproxy", path=WHERE)
DNSMASQ = shutil.which("dnsmasq", path=WHERE)
CONFIGURATION = os.path.join(mcp.ROOT, "deploy", "haproxy.cfg")
SERVICE = "lisp.test"


def free_port(addresses):
    """A port that is free on all of these."""
    while True:
        port = random.randrange(20000, 32000)
        probes = []
        try:
            for address in addresses:
                probe = socket.socket()
                probes.append(probe)
                probe.bind((address, port))
            return port
        except OSError:
            pass
        finally:
            for probe in probes:
                probe.close()


def is_open(address):
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0


class Fleet:
    """${case}, a TestCase, ends what is started here. ${addresses}: those of the nodes by name."""

    def __init__(self, case, addresses, own):
        for program, name in ((HAPROXY, "haproxy"), (DNSMASQ, "dnsmasq")):
            if program is None:
                case.fail("%s is not installed: scripts/setup installs it" % name)
        self.case, self.addresses, self.own = case, addresses, own
        self.directory = case.folder()
        self.token_file = os.path.join(self.directory, "tokens")
        with open(self.token_file, "w") as file:
            file.writelines("%s:%s\n" % (name, name * 12) for name in ("ann", "bob"))
        os.chmod(self.token_file, 0o600)
        self.port = free_port(addresses.values())
        self.health = free_port(addresses.values())
        self.names_port = free_port([own])
        self.nodes, self.balancers, self.dnsmasq = {}, [], None
        self.known = []

    def run(self, name, arguments, **environment):
        log = open(os.path.join(self.directory, name + ".log"), "w")
        self.case.addCleanup(log.close)
        mark = "%s-%s." % (mcp.file_mark(), name)
        process = subprocess.Popen(arguments, env=dict(mcp.clean_environment(), **environment, **{mcp.MARK: mark}), stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log)

        def stop():
            process.kill()
            process.wait()
            mcp.assert_none_left(mark)

        self.case.addCleanup(stop)
        return process

    def log(self, name):
        with open(os.path.join(self.directory, name + ".log")) as file:
            return file.read()

    # The name service

    def publish(self, names):
        """These nodes have names from now on, in this order."""
        self.known = list(names)
        path = os.path.join(self.directory, "hosts")
        with open(path + ".new", "w") as file:
            file.writelines("%s %s.%s %s\n" % (self.addresses[name], name, SERVICE, SERVICE) for name in self.known)
        os.rename(path + ".new", path)
        if self.dnsmasq is None:
            self.dnsmasq = self.run("dnsmasq", [
                DNSMASQ, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--addn-hosts=" + path, "--bind-interfaces",
                "--listen-address=" + self.own, "--port=%d" % self.names_port, "--local-ttl=0", "--user=", "--group=", "--pid-file="])
        else:
            self.dnsmasq.send_signal(signal.SIGHUP)

    # Nodes

    def start_node(self, name, *options):
        address = self.addresses[name]
        self.nodes[name] = self.case.start_http(
            "--node", name, "--state-dir", os.path.join(self.directory, "state"), "--token-file", self.token_file, "--no-userinit",
            "--metrics", "%s:%d" % (address, self.health), "--allow-host", self.own, *options, http=("%s:%d" % (address, self.port),))
        return self.nodes[name]

    def kill_node(self, name):
        node = self.nodes.pop(name)
        os.kill(node.pid, signal.SIGKILL)
        node.end(status=-signal.SIGKILL)

    # Balancers

    def start_balancer(self):
        address = (self.own, free_port([self.own]))
        name = "haproxy%d" % len(self.balancers)
        statistics = os.path.join(self.directory, name + ".socket")
        self.run(name, [HAPROXY, "-db", "-f", CONFIGURATION, "-f", self.with_statistics(name, statistics)], CL_MCP_BIND="%s:%d" % address, CL_MCP_SERVICE=SERVICE,
                 CL_MCP_PORT=str(self.port), CL_MCP_HEALTH_PORT=str(self.health), CL_MCP_NAMESERVER="%s:%d" % (self.own, self.names_port))
        mcp.wait_until(lambda: is_open(address) and os.path.exists(statistics), 10, "HAProxy listens")
        self.balancers.append((address, statistics))

    def with_statistics(self, name, path):
        """A second file that lets a test ask HAProxy what it knows."""
        more = os.path.join(self.directory, name + ".cfg")
        with open(more, "w") as file:
            file.write("global\n    stats socket %s mode 600 level admin\n" % path)
        return more

    def rows(self, which):
        """What a balancer knows of the nodes that it uses."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.balancers[which][1])
            connection.sendall(b"show stat\n")
            text = b""
            while True:
                data = connection.recv(65536)
                if not data:
                    break
                text += data
        titles, *rows = [line.split(",") for line in text.decode().splitlines() if line]
        rows = [dict(zip(titles, row)) for row in rows]
        return [row for row in rows if row["# pxname"] == "nodes" and row["svname"].startswith("node") and row["status"].startswith("UP")]

    def up(self, which):
        """The addresses of these."""
        return sorted(row["addr"].rsplit(":", 1)[0] for row in self.rows(which))

    def is_asked(self, name, which=0):
        """Whether a node has a request of a balancer's that it has not answered."""
        return any(row["addr"].startswith(self.addresses[name] + ":") and row["scur"] != "0" for row in self.rows(which))

    def wait_for(self, names):
        """Until each balancer uses these nodes and no other."""
        wanted = sorted(self.addresses[name] for name in names)
        for which in range(len(self.balancers)):
            try:
                mcp.wait_until(lambda: self.up(which) == wanted, 40, "balancer %d uses %s" % (which, wanted))
            except mcp.TimedOut as late:
                raise mcp.TimedOut("%s: %s" % (late, self.up(which))) from None

    def start(self, names, *options, balancers=1):
        with concurrent.futures.ThreadPoolExecutor() as together:
            list(together.map(lambda name: self.start_node(name, *options), names))
        self.publish(names)
        for _ in range(balancers):
            self.start_balancer()
        self.wait_for(names)

    # Requests

    def request(self, which=0, method="POST", headers=None, body=None, path="/mcp", seconds=30):
        with mcp_http.Wire(self.balancers[which][0], seconds=seconds) as wire:
            response = wire.request(method, path, headers, body)
            if response.is_stream:
                response.events = wire.events()
            return response

    def through(self, which=0):
        """What mcp_http.Session wants of a server."""
        fleet = self

        class Balanced:
            def request(self, method="POST", headers=None, body=None, path="/mcp"):
                return fleet.request(which, method, headers, body, path)

        return Balanced()

    def ask(self, who, tool, session=None, which=0, seconds=30, own=None, **arguments):
        """The text of a tool's reply to a client of the modern era, or None when no server answered. ${own}: headers instead of the token of ${who}."""
        if session is not None:
            arguments["session"] = session
        headers, message = mcp_http.modern("tools/call", {"name": tool, "arguments": arguments})
        headers.update(own or mcp_http.bearer(who * 12))
        try:
            response = self.request(which, headers=headers, body=message, seconds=seconds)
        except (OSError, mcp.Gone):
            return None
        if response.status in (502, 503, 504):
            return None
        assert response.status == 200, response
        return mcp_http.text_of(response.json["result"])

    def names_on(self, node, who):
        headers, message = mcp_http.modern("tools/call", {"name": "list-sessions", "arguments": {}})
        headers["Authorization"] = "Bearer " + who * 12
        return mcp_http.text_of(self.nodes[node].request(headers=headers, body=message).json["result"])
