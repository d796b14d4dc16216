"""Two hundred clients over HTTP with sessions of their own, of both eras: values, errors, cancels, deaths and lost connections at random.
Nothing is lost, nothing is mixed up, and in the end nothing is left: processes, descriptors and memory are as before.
"""

import re
import threading
import time

import mcp
import mcp_http
from mcp_http import Session, legacy, modern, text_of

SECONDS = 5
CLIENTS = 200


class Client(threading.Thread):
    """One client: `n` is what its session counts; what it finds wrong is in `wrong`."""

    def __init__(self, server, number, seed, stop):
        super().__init__()
        self.server, self.number, self.stop, self.wrong, self.done = server, number, stop, [], 0
        self.random = mcp.random.Random(seed)
        self.n = 0
        self.uncertain = False  # a connection was lost while it counted

    def expect(self, is_right, *what):
        if not is_right:
            self.wrong.append((self.number, self.n, *map(str, what)))

    def run(self):
        try:
            self.begin()
            while not self.wrong and not (self.done and self.stop.is_set()):
                getattr(self, self.random.choice(("count",) * 6 + ("error", "print", "cancel", "lose", "die", "look")))()
                self.done += 1
            self.end()
        except Exception as error:  # whatever it is, the test must hear of it
            self.wrong.append((self.number, repr(error)))

    def start_evaluating(self, code, **arguments):
        """A wire on which the request is under way."""
        wire = self.server.wire(seconds=120)
        headers, message = self.request("tools/call", {"name": "evaluate-lisp", "arguments": dict(arguments, code=code, **self.session())})
        wire.send(mcp_http.request_bytes(headers=headers, body=message))
        return wire

    def receive(self, wire):
        response = wire.receive()
        return text_of((wire.events()[-1].message if response.is_stream else response.json)["result"])

    def evaluate(self, code, **arguments):
        with self.start_evaluating(code, **arguments) as wire:
            return self.receive(wire)

    def count(self):
        text = self.evaluate("(list %d (incf *n*))" % self.number)
        # Behind an evaluation that is being cancelled it may have waited, and that one may have been too slow to stop: the reply says so.
        told = r"(?:\n\n\[Session\](?:\nAfter a call that was cancelled: .*)?(?:\nThis evaluation waited .*)?)?"
        match = re.fullmatch(r"(?:\[[^=]*)?=> \(%d (\d+)\)%s" % (self.number, told), text)
        now = int(match.group(1)) if match else None
        self.expect(now == self.n + 1 or (self.uncertain and now == self.n + 2), text)
        self.n, self.uncertain = now or 0, False

    def error(self):
        text = self.evaluate('(error "of client ~d" %d)' % self.number)
        self.expect("[ERROR] SIMPLE-ERROR\nof client %d\n" % self.number in text, text)

    def print(self):
        text = self.evaluate("(dotimes (i 100) (print %d))" % self.number)
        self.expect("\n%d  [… 100 times …]\n" % self.number in text, text)

    def look(self):
        with self.server.wire(seconds=120) as wire:
            headers, message = self.request("tools/call", {"name": "describe-symbol", "arguments": {"name": "*n*", **self.session()}})
            text = text_of(wire.request(headers=headers, body=message).json["result"])
        self.expect("special variable" in text, text)

    def die(self):
        text = self.evaluate("(progn (incf *n*) (sb-ext:exit :code 3 :abort t))")
        self.expect("exited with code 3" in text and "state before" in text, text)

    def lose(self):
        with self.start_evaluating("(progn (sleep 0.01) (incf *n*))"):
            self.uncertain = True  # the connection is closed before the answer
        # One at a time: what was evaluated is known before the next one is lost.
        self.count()


class Modern(Client):
    def session(self):
        return {"session": "c%d" % self.number}

    def request(self, method, params):
        return modern(method, params)

    def begin(self):
        headers, message = modern("tools/call", {"name": "create-session", "arguments": {"name": "c%d" % self.number}})
        with self.server.wire(seconds=120) as wire:
            self.expect("created" in text_of(wire.request(headers=headers, body=message).json["result"]))
        self.evaluate("(defvar *n* 0)")

    def cancel(self):
        """Closing the stream cancels."""
        wire = self.start_evaluating("(loop)", timeout=100)
        wire.close()
        self.count()

    def end(self):
        headers, message = modern("tools/call", {"name": "close-session", "arguments": {"session": "c%d" % self.number}})
        with self.server.wire(seconds=120) as wire:
            wire.request(headers=headers, body=message)


class Legacy(Client):
    def session(self):
        return {}

    def request(self, method, params):
        return self.client.headers(), legacy(method, params)

    def begin(self):
        self.client = Session(self.server, seconds=120)
        self.evaluate("(defvar *n* 0)")

    def cancel(self):
        headers, message = self.request("tools/call", {"name": "evaluate-lisp", "arguments": {"code": "(loop)", "timeout": 100}})
        with self.server.wire(seconds=120) as wire:
            wire.send(mcp_http.request_bytes(headers=headers, body=message))
            self.client.post(mcp_http.notification("notifications/cancelled", {"requestId": message["id"]}))
        self.count()

    def end(self):
        self.client.delete()


class Load(mcp_http.TestCase):
    def memory(self, server):
        """Bytes of the server's own heap."""
        with open("/proc/%d/smaps_rollup" % server.pid) as file:
            return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))

    def crowd(self, server, random):
        """All clients for half of the time. Returns how many requests they made, and what was wrong."""
        stop = threading.Event()
        clients = [(Modern if n % 2 else Legacy)(server, n, random.random(), stop) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(SECONDS / 2)
        stop.set()
        for client in clients:
            client.join()
        return sum(client.done for client in clients), [wrong for client in clients for wrong in client.wrong]

    def test_two_hundred_clients(self):
        server = self.start_http("--checkpoint-limit", "2")
        # Once around, so that what is kept for good is there before it is counted.
        first = Modern(server, 999, 1, threading.Event())
        first.begin()
        first.count()
        first.end()
        mcp.wait_until(lambda: len(mcp.marked(server.mark)) <= 4, 30, "the processes of the first are gone")
        processes, descriptors, random, memory = len(mcp.marked(server.mark)), server.descriptors(), self.random(), []
        for _ in range(2):
            done, wrong = self.crowd(server, random)
            self.assertEqual([], wrong[:5])
            mcp.wait_until(lambda: len(mcp.marked(server.mark)) <= processes, 60, "the processes are those of before")
            mcp.wait_until(lambda: server.descriptors() <= descriptors, 60, "the descriptors are those of before")
            memory.append(self.memory(server))
            print("# %d clients, %d requests in %g s, then %.1f MiB in the server" % (CLIENTS, done, SECONDS / 2, memory[-1] / 2**20))
        # What malloc keeps after the first crowd serves the second.
        self.assertLess(memory[1], memory[0] + (4 << 20))
        self.assertServes(server)
