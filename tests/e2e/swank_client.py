"""A client of Swank or Slynk that reads what comes in a thread and parses it: an editor, or the server without its C half."""

import os
import re
import socket
import threading

LIMIT = 60.0 * float(os.environ.get("CL_MCP_TEST_STRETCH", "1"))


class Keyword(str):
    pass


class Symbol(str):
    pass


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


TOKEN = re.compile(r'\s*(?:([()])|"((?:[^"\\]|\\.)*)"|\'|([^\s()"]+))', re.S)


def parse(text):
    """Parse the value that TEXT is: lists, strings, integers, keywords, symbols."""
    stack = [[]]
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            break
        position = match.end()
        bracket, string, word = match.groups()
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            done = stack.pop()
            stack[-1].append(done)
        elif string is not None:
            stack[-1].append(re.sub(r"\\(.)", r"\1", string, flags=re.S))
        elif word is not None:
            stack[-1].append(int(word) if re.fullmatch(r"-?\d+", word)
                             else None if word.lower() == "nil"
                             else True if word.lower() == "t"
                             else Keyword(word[1:].lower()) if word.startswith(":")
                             else Symbol(word))
    return stack[0][0]


class Aborted(Exception):
    pass


class Editor:
    """A connection as SLIME makes one. A thread reads what comes; requests wait for their answer."""

    def __init__(self, port, reads=True, server="swank"):
        self.server = server
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self.number = 0
        self.answers = {}
        self.events = []
        self.changed = threading.Condition()
        self.closed = False
        self.reader = threading.Thread(target=self.read, daemon=True)
        if reads:
            self.reader.start()

    def read(self):
        try:
            while len(header := self.file.read(6)) == 6:
                self.take(self.file.read(int(header, 16)).decode())
        except (OSError, ValueError):
            pass
        finally:
            with self.changed:
                self.closed = True
                self.changed.notify_all()

    def take(self, text):
        if text.startswith("(:indentation-update"):
            return
        message = parse(text)
        if message[0] == "ping":
            self.send(f"(:emacs-pong {message[1]} {message[2]})")
            return
        with self.changed:
            if message[0] == "return":
                self.answers[message[2]] = message[1]
            else:
                self.events.append(message)
            self.changed.notify_all()

    def send(self, text):
        octets = text.encode()
        self.socket.sendall(b"%06x" % len(octets) + octets)

    def begin(self, form, thread="t", package="COMMON-LISP-USER"):
        with self.changed:
            self.number += 1
            number = self.number
            self.send(f'(:emacs-rex {form} {quote(package)} {thread} {number})')
        return number

    def end(self, number):
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers or self.closed, LIMIT):
                raise AssertionError("no answer; events: %r" % self.events[-5:])
            if number not in self.answers:
                raise AssertionError("the connection was cut")
            answer = self.answers.pop(number)
        if answer[0] != "ok":
            raise Aborted(answer[1])
        return answer[1]

    def request(self, form, **options):
        return self.end(self.begin(form, **options))

    def evaluate(self, code):
        """What the person evaluates: its values as text."""
        return self.request(f"({self.server}:eval-and-grab-output {quote(code)})")[1]

    def event(self, kind, test=lambda event: True):
        """Wait for an event of this kind, take it and return it."""
        def find():
            return next((event for event in self.events if event[0] == kind and test(event)), None)
        with self.changed:
            if not self.changed.wait_for(find, LIMIT):
                raise AssertionError("no %s; events: %r" % (kind, self.events[-5:]))
            event = find()
            self.events.remove(event)
            return event

    def debugger(self, text="", level=1):
        """Wait until the debugger opens at this level for an error whose message has this text; the number of its thread."""
        return self.event("debug", lambda event: event[2] == level and text in event[3][0])[1]

    def leave_debugger(self, thread, form="(throw-to-toplevel)"):
        """Leave the debugger of this thread; the request aborts itself with it."""
        try:
            self.request(f"({self.server}:{form[1:]}", thread=thread)
        except Aborted:
            pass
        self.event("debug-return", lambda event: event[1] == thread)

    def close(self):
        """As an editor leaves: a Swank that still writes would stay in the debugger of its thread for connections."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
            if self.reader.is_alive():
                self.reader.join(LIMIT)
        except OSError:
            pass
        self.cut()

    def cut(self):
        """As a connection breaks."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        if self.reader.is_alive():
            self.reader.join(LIMIT)
        self.file.close()
