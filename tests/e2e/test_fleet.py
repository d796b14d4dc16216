"""Ten servers and two HAProxy with deploy/haproxy.cfg, in a network namespace of their own, with dnsmasq as the name service.

CL_MCP_FLEET_SECONDS and CL_MCP_FLEET_SESSIONS make the random test longer; scripts/fleet runs it for two minutes with 500 sessions.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import fleet
import mcp
import mcp_http
from identity_provider import Key, claims, token
from mcp_http import Session

OWN = "10.77.0.1"
NAMES = ["lisp-%d" % n for n in range(10)]
ADDRESSES = {"lisp-%d" % n: "10.77.0.%d" % (10 + n) for n in range(12)}
SECONDS = int(os.environ.get("CL_MCP_FLEET_SECONDS", 6))
SESSIONS = int(os.environ.get("CL_MCP_FLEET_SESSIONS", 8))
IS_LONG = SECONDS >= 90
# A save takes one to two seconds of a processor. What moves, drains or has its time for a save is saved, so the more sessions there are,
# the more time is between such events: for 500 sessions, two processors manage one event in ten seconds.
GAP_S = max(1, SESSIONS / 25)
DRAIN_S = 120 + SESSIONS
INSIDE = "CL_MCP_FLEET_NAMESPACE"

MOVES = re.compile(r"another server|is held by node|The session was closed|is being saved|shutting down")
TOLD = re.compile(r"Restored session|No session named|begins empty|was lost")


def running(text):
    """The names in a list of sessions, without those that are only saved."""
    return set(re.findall(r"(?m)^(?:\* |- )?([\w.-]+): ", text))


class Base(mcp_http.TestCase):
    def setUp(self):
        super().setUp()
        self.fleet = fleet.Fleet(self, ADDRESSES, own=OWN)

    def tearDown(self):
        for name in list(self.fleet.nodes):
            self.fleet.kill_node(name)  # nobody looks at what they would save at their ends
        super().tearDown()

    def homes(self, who="ann"):
        """Which nodes have each session."""
        found = {}
        for node in list(self.fleet.nodes):
            for name in running(self.fleet.names_on(node, who)):
                found.setdefault(name, []).append(node)
        return found


class Routing(Base):
    def client(self, which=0):
        return Session(self.fleet.through(which), headers=mcp_http.bearer("ann" * 12))

    def test_two_balancers_agree_and_a_new_node_takes_its_share_only(self):
        f = self.fleet
        f.start(NAMES)
        # The second one learns the nodes in another order.
        f.publish(NAMES[:3])
        f.wait_for(NAMES[:3])
        f.start_balancer()
        f.wait_for(NAMES[:3])
        f.publish(NAMES[::-1])
        f.wait_for(NAMES)
        keys = ["s%d" % n for n in range(80)]
        for n, key in enumerate(keys):
            self.assertIn("created", f.ask("ann", "create-session", name=key, which=n % 2))
        for n, key in enumerate(keys):
            self.assertIn("already exists", f.ask("ann", "create-session", name=key, which=1 - n % 2))
        homes = self.homes()
        self.assertTrue(all(len(homes[key]) == 1 for key in keys), homes)
        self.assertIn("created", f.ask("bob", "create-session", name=keys[0]), "another user's")
        shares = [sum(homes[key] == [node] for key in keys) for node in NAMES]
        self.assertTrue(all(0 < share <= 24 for share in shares), shares)
        f.start_node("lisp-10")
        f.publish([*NAMES, "lisp-10"])
        f.wait_for([*NAMES, "lisp-10"])
        moved = [key for n, key in enumerate(keys) if "already exists" not in f.ask("ann", "create-session", name=key, which=n % 2)]
        self.assertEqual(moved, [key for key in keys if "lisp-10" in self.homes()[key]])
        self.assertTrue(0 < len(moved) <= 20, moved)
        # Without the header a request means the session `default`.
        self.assertEqual("=> 1", f.ask("ann", "evaluate-lisp", code="1"))
        self.assertEqual("=> 1", f.ask("ann", "evaluate-lisp", "default", which=1, code="1"))
        self.assertEqual(1, len(self.homes()["default"]))

    def test_an_id_leads_to_its_node_or_if_that_is_gone_to_any(self):
        f = self.fleet
        f.start(NAMES[:3], balancers=2)
        clients = [self.client(n % 2) for n in range(6)]
        self.assertEqual(set(NAMES[:3]), {client.id.rsplit("-", 1)[0] for client in clients})
        for n, client in enumerate(clients):
            client.call("evaluate-lisp", code="(defvar *n* %d)" % n)
        for n, client in enumerate(clients):
            client.server = f.through(1 - n % 2)
            self.assertEqual("=> %d" % n, client.call("evaluate-lisp", code="*n*"))
        # Its name leads to an address that refuses connections.
        f.kill_node("lisp-0")
        gone = next(client for client in clients if client.id.startswith("lisp-0-"))
        for _ in range(3):
            self.assertEqual(404, gone.post(mcp_http.legacy("ping")).status)
        f.publish(NAMES[1:3])
        f.wait_for(NAMES[1:3])
        self.assertEqual(404, gone.post(mcp_http.legacy("ping")).status)
        for wrong in ("lisp-9-" + "0" * 32, "0" * 32, "-" + "0" * 32, "a/../b-" + "0" * 32, "x" * 200 + "-" + "0" * 32, "lisp-1.%s-%s" % (fleet.SERVICE, "0" * 32)):
            with self.subTest(wrong):
                headers = {**mcp_http.bearer("ann" * 12), "Mcp-Session-Id": wrong, "Accept": mcp_http.ACCEPT, "Content-Type": "application/json"}
                self.assertEqual(404, f.request(0, headers=headers, body=mcp_http.legacy("ping")).status)
        # A name service that is gone changes nothing.
        f.dnsmasq.kill()
        left = next(client for client in clients if client.id.startswith("lisp-1-"))
        for _ in range(3):
            self.assertEqual(200, left.post(mcp_http.legacy("ping")).status)
        self.assertEqual("=> 1", f.ask("ann", "evaluate-lisp", code="1"))

    def test_a_user_stays_on_a_node_when_the_token_is_renewed(self):
        f, issuer, audience = self.fleet, "https://id.example.org", "https://lisp.example.org/mcp"
        keys = [Key("ES256", "old"), Key("EdDSA", "new")]
        mcp.write(os.path.join(f.directory, "keys.json"), json.dumps({"keys": [key.jwk() for key in keys]}))
        f.start(NAMES[:4], "--oauth-issuer", issuer, "--oauth-audience", audience, "--oauth-keys", os.path.join(f.directory, "keys.json"),
                "--trust-header", "X-Forwarded-User", "--trust-from", OWN[:-1] + "0/24", balancers=2)
        renewed = lambda n: mcp_http.bearer(token(keys[n], claims(issuer, audience, "ada", jti=n)))
        passed_on = lambda n: {"X-Forwarded-User": "bob", **renewed(n)}
        for who in (renewed, passed_on):
            for n in range(12):
                self.assertIn("created", f.ask(None, "create-session", name="s%d" % n, own=who(0)))
            for n in range(12):
                self.assertIn("already exists", f.ask(None, "create-session", name="s%d" % n, which=1, own=who(1)))


class Scaling(Base):
    """The rows of the table "When nodes come and go" in docs/operations.md."""

    OPTIONS = ("--persist", "--checkpoints", "off")
    # Saves take most of the time, so there are few sessions: two on lisp-1, two on lisp-0, of which a fourth node takes one.
    KEYS = ["s0", "s1", "s2", "s3", "s7"]

    def start(self):
        """Three nodes with sessions of both eras; where each is."""
        f = self.fleet
        f.start(NAMES[:3], *self.OPTIONS)
        for key in self.KEYS:
            f.ask("ann", "create-session", name=key)
            self.assertEqual("=> 1", f.ask("ann", "evaluate-lisp", key, code='(progn (defvar *n* 1) *n*)'))
        self.legacy = [Session(f.through(), headers=mcp_http.bearer("ann" * 12)) for _ in range(3)]
        for client in self.legacy:
            self.assertEqual("=> 1", client.call("evaluate-lisp", code="(progn (defvar *n* 1) *n*)"))
        homes = {key: nodes[0] for key, nodes in self.homes().items()}
        self.assertEqual(set(NAMES[:3]), {homes[key] for key in self.KEYS}, "each node has some")
        return homes

    def start_with(self, node):
        """Start them; the sessions of this one."""
        homes = self.start()
        return [key for key in self.KEYS if homes[key] == node]

    def start_with_one(self, node):
        """The session that is left on this one, which is to end: each that it has is saved."""
        key, *others = self.start_with(node)
        for other in others:
            self.fleet.ask("ann", "close-session", other)
        return key

    def at(self, node):
        return next(client for client in self.legacy if client.id.startswith(node + "-"))

    def hear(self, key, code="*n*", seconds=60):
        """The answer of the session, and what its client heard before."""
        heard = []

        def answered():
            heard.append(self.fleet.ask("ann", "evaluate-lisp", key, code=code) or "")
            return heard[-1].startswith("=>") or "No session named" in heard[-1]

        mcp.wait_until(answered, seconds, "session %s answers" % key)
        return heard.pop(), "\n".join(heard)

    def age(self, node):
        """As if the node had been silent for two minutes."""
        then = time.time() - 120
        os.utime(os.path.join(self.fleet.directory, "state", "nodes", node), (then, then))

    def test_a_node_is_added(self):
        f = self.fleet
        homes = self.start()
        f.start_node("lisp-3", *self.OPTIONS)
        f.publish(NAMES[:4])
        f.wait_for(NAMES[:4])
        moved = 0
        for key in self.KEYS:
            text, before = self.hear(key)
            self.assertRegex(text, r"^=> 1\b")
            if before or "Restored session" in text:
                moved += 1
                self.assertIn("Session %s is open on another server, node %s, which is asked" % (key, homes[key]), before)
                self.assertEqual(["lisp-3"], self.homes()[key])
            else:
                self.assertEqual([homes[key]], self.homes()[key])
        self.assertTrue(0 < moved < len(self.KEYS), moved)
        for client in self.legacy:
            self.assertEqual("=> 1", client.call("evaluate-lisp", code="*n*"))

    def test_a_node_is_drained_and_comes_back(self):
        f = self.fleet
        key = self.start_with_one("lisp-1")
        client = self.at("lisp-1")
        f.ask("ann", "create-session", name="unused")
        f.ask("ann", "evaluate-lisp", key, code="(incf *n*)")
        f.nodes.pop("lisp-1").end(wait=60)
        text, before = self.hear(key)
        self.assertRegex(text, r"^=> 2\n\n\[Session\]\nRestored session %s" % key)
        self.assertNotEqual(["lisp-1"], self.homes()[key])
        self.assertEqual(404, client.post(mcp_http.legacy("ping")).status)
        # Its successor gets them back.
        f.start_node("lisp-1", *self.OPTIONS)
        f.wait_for(NAMES[:3])
        told = []

        def is_back():  # a balancer may still take the node for gone
            told.extend(self.hear(key))
            return re.search(r"^=> 2\n\n\[Session\]\nRestored session %s" % key, told[-2])

        mcp.wait_until(is_back, 60, "the node has its session")
        self.assertIn("is open on another server", "\n".join(told))
        self.assertEqual(["lisp-1"], self.homes()[key])

    def test_a_session_that_cannot_be_saved_is_lost_when_its_node_is_drained(self):
        f = self.fleet
        key = self.start_with_one("lisp-1")
        f.ask("ann", "evaluate-lisp", key, code="(defvar *t* (sb-thread:make-thread (lambda () (sleep 1000))))")
        f.nodes.pop("lisp-1").end(wait=60)
        text, _ = self.hear(key)
        self.assertRegex(text, r"session %s, the state after evaluation 2, was lost\." % key)
        self.assertIn("No session named", text)

    def test_a_node_is_killed_and_comes_back(self):
        f = self.fleet
        key = self.start_with("lisp-1")[0]
        client = self.at("lisp-1")
        self.assertIn("Saved", f.ask("ann", "save-session", key))
        f.kill_node("lisp-1")
        f.start_node("lisp-1", *self.OPTIONS)
        text, _ = self.hear(key)
        self.assertRegex(text, r"^=> 1\n\n\[Session\]\nRestored session %s" % key)
        mcp.wait_until(lambda: client.post(mcp_http.legacy("ping")).status == 404, 30, "the id is unknown")

    def test_a_node_is_killed_for_good(self):
        f = self.fleet
        saved, unsaved = self.start_with("lisp-1")[:2]
        self.assertIn("Saved", f.ask("ann", "save-session", saved))
        f.ask("ann", "evaluate-lisp", saved, code="(incf *n*)")
        f.kill_node("lisp-1")
        f.wait_for(["lisp-0", "lisp-2"])
        self.assertRegex(f.ask("ann", "evaluate-lisp", saved, code="*n*"), "is (held by|open on another server,) node lisp-1")
        self.age("lisp-1")
        text, _ = self.hear(saved)
        self.assertRegex(text, r"^=> 1\n\n\[Session\]\nRestored session %s" % saved)
        self.assertIn("No session named", self.hear(unsaved)[0])

    def test_a_node_is_stopped_for_longer_than_a_minute(self):
        f = self.fleet
        key = self.start_with("lisp-1")[0]
        self.assertIn("Saved", f.ask("ann", "save-session", key))
        node = f.nodes["lisp-1"]
        os.kill(node.pid, signal.SIGSTOP)
        try:
            f.wait_for(["lisp-0", "lisp-2"])
            self.age("lisp-1")
            text, _ = self.hear(key)
            self.assertRegex(text, r"^=> 1\n\n\[Session\]\nRestored session %s" % key)
            self.assertEqual("=> 2", f.ask("ann", "evaluate-lisp", key, code="(incf *n*)"))
        finally:
            os.kill(node.pid, signal.SIGCONT)
        mcp.wait_until(lambda: "session %s was lost to another server" % key in node.stderr(), 30, "it has noticed")
        f.wait_for(NAMES[:3])
        text, before = self.hear(key)
        self.assertRegex(text, r"^=> 2\b")
        self.assertEqual(1, len(self.homes()[key]))

    def test_a_node_is_stopped_for_less_than_a_minute(self):
        f = self.fleet
        homes = self.start()
        key, *others = [key for key in self.KEYS if homes[key] == "lisp-1"]
        node, heard = f.nodes["lisp-1"], []

        def ask_while_it_is_stopped(condition):
            call = threading.Thread(target=lambda: heard.append(f.ask("ann", "evaluate-lisp", key, code="(incf *n*)", seconds=60)))
            os.kill(node.pid, signal.SIGSTOP)
            try:
                call.start()
                mcp.wait_until(lambda: f.is_asked("lisp-1"), 10, "the call is at the node")
                condition()
            finally:
                os.kill(node.pid, signal.SIGCONT)
                call.join()

        ask_while_it_is_stopped(lambda: None)
        self.assertEqual(["=> 2"], heard)  # late
        ask_while_it_is_stopped(lambda: f.wait_for(["lisp-0", "lisp-2"]))
        self.assertEqual(["=> 2", None], heard)
        f.wait_for(NAMES[:3])
        self.assertRegex(f.ask("ann", "evaluate-lisp", key, code="*n*"), "^=> [23]$")
        for other in others:
            self.assertEqual("=> 1", f.ask("ann", "evaluate-lisp", other, code="*n*"))
        self.assertEqual("=> 1", self.at("lisp-1").call("evaluate-lisp", code="*n*"))
        self.assertEqual(homes, {name: nodes[0] for name, nodes in self.homes().items()})
        # One that another node was asked for meanwhile is given up, unless it is used at once, and comes back when it is asked for.
        os.kill(node.pid, signal.SIGSTOP)
        try:
            f.wait_for(["lisp-0", "lisp-2"])
            self.assertIn("node lisp-1, which is asked to save it", f.ask("ann", "evaluate-lisp", key, code="*n*"))
        finally:
            os.kill(node.pid, signal.SIGCONT)
        f.wait_for(NAMES[:3])
        self.assertRegex(self.hear(key)[0], r"^=> [23]\b")
        self.assertEqual(["lisp-1"], self.homes()[key])


class Worker(threading.Thread):
    """Clients of some sessions, one call at a time. Every call has a number, and its session keeps those that were performed."""

    def __init__(self, f, names, seed, is_legacy):
        super().__init__()
        self.fleet, self.names, self.is_legacy = f, names, is_legacy
        self.random = random.Random(seed)
        self.sent = dict.fromkeys(names, 0)
        self.answered = {name: [] for name in names}  # since the client was last told that something was lost
        self.clients = {}
        self.wrong, self.calls, self.unanswered, self.moving, self.told = [], 0, 0, 0, 0
        self.is_over = threading.Event()
        self.seconds = 15 * mcp.STRETCH

    def run(self):
        while not self.is_over.wait(0.03):  # no faster, so that the load leaves the processors to what saves
            self.step(self.random.choice(self.names))

    def step(self, name, which=None):
        """One call; whether it was performed."""
        which = self.random.randrange(2) if which is None else which
        self.sent[name] += 1
        number = self.sent[name]
        code = ("(progn (defvar *seen* nil) (push %d *seen*) (list (length *seen*) (length (remove-duplicates *seen*)) "
                "(subseq *seen* 0 (min 30 (length *seen*)))))" % number)
        try:
            text = self.legacy(name, which, code) if self.is_legacy else self.fleet.ask("ann", "evaluate-lisp", name, which, code=code, seconds=15)
        except (OSError, mcp.Gone, AssertionError) as error:
            if isinstance(error, AssertionError) and not re.match("<(404|50[234])", str(error)):
                self.wrong.append((name, str(error)))
            text = None
        self.calls += 1
        if text is None:
            self.unanswered += 1
            return False
        if TOLD.search(text):
            self.told += 1
            self.answered[name] = []
        match = re.match(r"=> \((\d+) (\d+) \(([\d ]+)\)\)", text)
        if match:
            self.check(name, number, match)
            return True
        if "No session named" in text:
            self.fleet.ask("ann", "create-session", name=name, which=which)
        elif MOVES.search(text):
            self.moving += 1
        else:
            self.wrong.append((name, text))
        return False

    def check(self, name, number, match):
        length, distinct, seen = int(match.group(1)), int(match.group(2)), [int(n) for n in match.group(3).split()]
        lost = [n for n in self.answered[name] if n > seen[-1] and n not in seen]
        if length != distinct or seen != sorted(set(seen), reverse=True) or seen[0] != number or lost:
            self.wrong.append((name, "call %d: performed %s, of %d, %d different; lost %s" % (number, seen, length, distinct, lost)))
        self.answered[name] = [*self.answered[name], number][-30:]

    def legacy(self, name, which, code):
        """By Mcp-Session-Id. After 404 the client shakes hands again: its session is a new one."""
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = Session(self.fleet.through(which), headers=mcp_http.bearer("ann" * 12))
            self.answered[name] = []
        client.server = self.fleet.through(which)
        response = client.post(mcp_http.legacy("tools/call", {"name": "evaluate-lisp", "arguments": {"code": code}}))
        if response.status == 404:
            del self.clients[name]
            self.told += 1
            return None
        if response.status in (502, 503, 504):
            return None
        assert response.status == 200, response
        message = response.events[-1].message if response.is_stream else response.json
        return mcp_http.text_of(message["result"])


class Random(Base):
    OPTIONS = ("--persist", "--save-every", str(max(10, SESSIONS)), "--checkpoints", "off")

    def test_every_answer_is_right_or_says_what_was_lost(self):
        f = self.fleet
        f.start(NAMES, *self.OPTIONS, balancers=2)
        seed = int(os.environ.get("CL_MCP_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        print("# CL_MCP_TEST_SEED=%d" % seed)
        chance = random.Random(seed)
        count = 4 if not IS_LONG else 10
        workers = [Worker(f, ["%s%d" % ("hm"[n % 2], k) for k in range(n, SESSIONS, count)], seed + n, n % 2 == 0) for n in range(count)]
        events = []
        for worker in workers:
            worker.start()
        try:
            self.disturb(f, chance, events)
        finally:
            for worker in workers:
                worker.is_over.set()
            for thread in [*workers, *self.background]:
                thread.join()
        print("# %s; %s" % (", ".join("%s %d" % (what, sum(w.__dict__[what] for w in workers)) for what in ("calls", "unanswered", "moving", "told")),
                            ", ".join("%s %d" % (what, events.count(what)) for what in sorted(set(events)))))
        self.assertEqual([], [wrong for worker in workers for wrong in worker.wrong])
        self.assertEqual([], self.undrained)
        self.assertGreater(sum(worker.calls - worker.unanswered - worker.moving for worker in workers), 100)
        # All nodes are there again: every session answers, through each balancer.
        f.wait_for(self.present)
        left = [(worker, name, which) for worker in workers for name in worker.names for which in range(2)]

        def all_answer():
            left[:] = [(worker, name, which) for worker, name, which in left if not worker.step(name, which)]
            return not left or any(worker.wrong for worker in workers)

        mcp.wait_until(all_answer, 100 + SESSIONS, "every session answers")
        self.assertEqual([], [wrong for worker in workers for wrong in worker.wrong])
        twice = {name: nodes for name, nodes in self.homes().items() if len(nodes) > 1 and name.startswith("m")}
        self.assertEqual({}, twice)

    def disturb(self, f, chance, events):
        self.present, self.background, self.draining, self.undrained = list(NAMES), [], set(), []
        end = time.monotonic() + SECONDS
        what = ["kill", "drain", "pause", "add"]
        # A node that is stopped for longer than a minute loses its sessions to others.
        long_paused = None
        if IS_LONG:
            long_paused = "lisp-9"
            os.kill(f.nodes[long_paused].pid, signal.SIGSTOP)
            resumes = time.monotonic() + 75
        try:
            while time.monotonic() < end or len(events) < len(what):
                event = what[len(events) % len(what)] if len(events) < len(what) else chance.choice(what)
                if event == "add" and len(self.present) == len(ADDRESSES):
                    event = "remove"
                node = chance.choice([name for name in self.present if name != long_paused and name in f.nodes])
                events.append(event)
                getattr(self, event)(f, node, chance)
                if long_paused is not None and time.monotonic() > resumes:
                    os.kill(f.nodes[long_paused].pid, signal.SIGCONT)
                    long_paused = None
                time.sleep(chance.random() * GAP_S)
        finally:
            if long_paused is not None:
                os.kill(f.nodes[long_paused].pid, signal.SIGCONT)

    def kill(self, f, node, chance):
        f.kill_node(node)
        time.sleep(chance.random() * 2)
        f.start_node(node, *self.OPTIONS)

    def drain(self, f, node, chance):
        self.later(lambda ended: (ended.end(wait=DRAIN_S), f.start_node(node, *self.OPTIONS)), f.nodes.pop(node))

    def pause(self, f, node, chance):
        os.kill(f.nodes[node].pid, signal.SIGSTOP)
        time.sleep(1 + chance.random() * 2)
        os.kill(f.nodes[node].pid, signal.SIGCONT)

    def add(self, f, node, chance):
        new = next((name for name in ADDRESSES if name not in self.present and name not in self.draining), None)
        if new is None:
            return
        f.start_node(new, *self.OPTIONS)
        self.present.append(new)
        f.publish(self.present)

    def remove(self, f, node, chance):
        self.present.remove(node)
        f.publish(self.present)
        self.draining.add(node)
        self.later(lambda ended: (ended.end(wait=DRAIN_S), self.draining.discard(node)), f.nodes.pop(node))

    def later(self, function, node):
        """Draining takes its time; the other events go on."""
        def run():
            try:
                function(node)
            except Exception as error:
                self.undrained.append(error)

        thread = threading.Thread(target=run)
        self.background.append(thread)
        thread.start()


def enter_namespace():
    """Run again in a network namespace."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("1..0 # SKIP no network namespace can be made here (unshare --net)")
        sys.exit(0)
    os.environ[INSIDE] = "1"
    os.execvp(alone[0], [*alone, sys.executable, *sys.argv])


def prepare():
    if INSIDE not in os.environ:
        enter_namespace()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for one in [OWN, *ADDRESSES.values()]:
        subprocess.run(["ip", "address", "add", one + "/32", "dev", "lo"], check=True)
