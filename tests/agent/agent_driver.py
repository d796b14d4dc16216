"""Speaks the agent protocol: starts a core with its channel and pipes, sends requests, reads replies."""

import array
import ctypes
import fcntl
import os
import select
import signal
import socket
import termios
import time

LIMIT = 20.0 * float(os.environ.get("CL_MCP_TEST_STRETCH", "1"))
libc = ctypes.CDLL(None, use_errno=True)


class Keyword(str):
    pass


def quote(value):
    if value is None or value is False:
        return "nil"
    if value is True:
        return "t"
    if isinstance(value, Keyword):
        return ":" + value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "(" + " ".join(quote(item) for item in value) + ")"


def parse(text):
    """Parse one value strictly as docs/agent-protocol.md section 2 says."""
    position = 0

    def value():
        nonlocal position
        character = text[position]
        if character == "(":
            position += 1
            items = []
            while text[position] != ")":
                if items:
                    assert text[position] == " ", text[position - 20:position + 20]
                    position += 1
                items.append(value())
            position += 1
            return items
        if character == '"':
            position += 1
            parts = []
            while text[position] != '"':
                if text[position] == "\\":
                    position += 1
                    assert text[position] in '"\\'
                parts.append(text[position])
                position += 1
            position += 1
            return "".join(parts)
        end = position
        while end < len(text) and text[end] not in " )":
            end += 1
        word = text[position:end]
        position = end
        if word == "nil":
            return None
        if word == "t":
            return True
        if word.startswith(":"):
            assert word == word.lower()
            return Keyword(word[1:])
        return int(word)

    result = value()
    assert position == len(text), text[position:position + 40]
    return result


class Reply:
    def __init__(self, message):
        self.id = message[0]
        self.status = str(message[1])
        rest = message[2:]
        if self.status == "refused":
            self.sentence = rest[0]
            rest = rest[1:]
        # As in every plist the first of equal keys counts: errors that come late are put before the reply's own list.
        self.fields = {str(key): item for key, item in reversed(list(zip(rest[0::2], rest[1::2])))}
        self.stdout = ""
        self.stderr = ""

    def __getattr__(self, name):
        try:
            return self.fields[name.replace("_", "-")]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"<{self.id} {self.status} {self.fields} out={self.stdout!r} err={self.stderr!r}>"

    def lists(self, name):
        return self.fields.get(name) or []


class Gone(Exception):
    pass


class Process:
    """One Lisp process: its channel, its pipes, its pid. Made by start() or by fork()."""

    everything = []

    def __init__(self, channel, output, error, pid=None):
        self.channel, self.output, self.error, self.pid = channel, output, error, pid
        for descriptor in (output, error):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK)
        self.pending = b""
        self.next_id = 1
        self.next_token = 1000
        self.events = []
        self.stdout = b""
        self.stderr = b""
        Process.everything.append(self)

    def drain(self):
        for descriptor, name in ((self.output, "stdout"), (self.error, "stderr")):
            while True:
                try:
                    octets = os.read(descriptor, 65536)
                except BlockingIOError:
                    break
                if not octets:
                    break
                setattr(self, name, getattr(self, name) + octets)

    def receive(self, limit=LIMIT):
        end = time.monotonic() + limit
        while True:
            if len(self.pending) >= 8:
                length = int(self.pending[:8], 16)
                if len(self.pending) >= 8 + length:
                    text = self.pending[8:8 + length].decode("utf-8")
                    self.pending = self.pending[8 + length:]
                    message = parse(text)
                    if message[0] == 0 and message[1] != "hello":
                        self.events.append(message)
                        continue
                    return Reply(message)
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(self.stderr)
            ready = select.select([self.channel, self.output, self.error], [], [], left)[0]
            self.drain()
            if self.channel in ready:
                try:
                    octets = self.channel.recv(1 << 20)
                except ConnectionResetError:
                    octets = b""
                if not octets:
                    raise Gone(self.stderr.decode("utf-8", "replace"))
                self.pending += octets
            else:
                # A closed pipe is always ready.
                time.sleep(0.001)

    def send(self, operation, descriptors=(), identifier=None, **arguments):
        if identifier is None:
            identifier = self.next_id
            self.next_id += 1
        message = [identifier, Keyword(operation)]
        for key, value in arguments.items():
            message += [Keyword(key.replace("_", "-")), value]
        payload = quote(message).encode("utf-8", "surrogatepass")
        frame = b"%08x" % len(payload) + payload
        ancillary = []
        if descriptors:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = self.channel.sendmsg([frame], ancillary)
        if sent < len(frame):
            self.channel.sendall(frame[sent:])
        return identifier

    def ask(self, operation, limit=LIMIT, **arguments):
        identifier = self.send(operation, **arguments)
        return self.answer(identifier, limit)

    def answer(self, identifier, limit=LIMIT):
        reply = self.receive(limit)
        assert reply.id == identifier, (identifier, reply)
        self.drain()
        reply.stdout = self.stdout.decode("utf-8", "replace")
        reply.stderr = self.stderr.decode("utf-8", "replace")
        self.stdout = self.stderr = b""
        return reply

    def evaluate(self, code, limit=LIMIT, **arguments):
        return self.ask("evaluate", limit=limit, code=code, **arguments)

    def run(self, code, **arguments):
        """Evaluate and go back to the top level if it failed."""
        reply = self.evaluate(code, **arguments)
        if reply.status == "error":
            assert self.ask("abort").status == "ok"
        return reply

    def interrupt(self, token):
        # union sigval is passed by value as one register.
        assert libc.sigqueue(self.pid, signal.SIGURG, ctypes.c_void_p(token)) == 0

    def await_taken(self):
        """Wait until the process has read all that was sent."""
        wait_until(lambda: fcntl.ioctl(self.channel, termios.TIOCOUTQ, bytes(4)) == bytes(4))

    def await_work(self):
        """Wait until it has read what was sent, and then has computed for a while or waits for something."""
        self.await_taken()
        before, _ = self.processor()
        wait_until(lambda: self.processor()[0] >= before + 2 or self.processor()[1] in "ST")

    def processor(self):
        """(ticks of processor time that it has used, its state)"""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12]), fields[0]

    def await_output(self, text):
        """Wait until it has printed this."""
        wait_until(lambda: self.drain() or text in self.stdout)

    def start_evaluation(self, code, **arguments):
        token = self.next_token
        self.next_token += 1
        return self.send("evaluate", code=code, token=token, **arguments), token

    def fork(self, with_pipes=True):
        channel, theirs = socket.socketpair()
        if with_pipes:
            output, output_write = os.pipe()
            error, error_write = os.pipe()
            descriptors = [theirs.fileno(), output_write, error_write]
        else:
            output, error = os.dup(self.output), os.dup(self.error)
            descriptors = [theirs.fileno()]
        identifier = self.send("fork", descriptors=descriptors)
        reply = self.answer(identifier)
        theirs.close()
        for descriptor in descriptors[1:]:
            os.close(descriptor)
        if reply.status != "ok":
            channel.close()
            os.close(output)
            os.close(error)
            return reply
        copy = Process(channel, output, error, reply.pid)
        copy.hello = copy.receive()
        assert copy.hello.pid == reply.pid
        return copy

    def look(self, token, operation, **arguments):
        """Ask for a look-up while the operation with that token runs; where its answer comes."""
        channel, theirs = socket.socketpair()
        request = [Keyword(operation)]
        for key, value in arguments.items():
            request += [Keyword(key.replace("_", "-")), value]
        identifier = self.send("look", descriptors=[theirs.fileno()], request=request)
        theirs.close()
        libc.sigqueue(self.pid, signal.SIGWINCH, ctypes.c_void_p(token))
        return Look(channel, identifier)

    def question(self, token, limit=LIMIT):
        """Wait for the next question of the operation with that token; its number."""
        end = time.monotonic() + limit
        while not any(event[1] == "input" for event in self.events):
            assert time.monotonic() < end, "no question"
            ready = select.select([self.channel, self.output, self.error], [], [], 0.1)[0]
            self.drain()
            if self.channel in ready:
                self.pending += self.channel.recv(1 << 20)
                length = int(self.pending[:8], 16)
                message = parse(self.pending[8:8 + length].decode("utf-8"))
                assert message[:2] == [0, "input"], message
                self.pending = self.pending[8 + length:]
                self.events.append(message)
        event = next(event for event in self.events if event[1] == "input")
        self.events.remove(event)
        return event[3]

    def give(self, token, question, text=None):
        """Answer a question; None: there is no more input."""
        more = {} if text is None else {"text": text}
        self.send("input", identifier=0, question=question, **more)
        libc.sigqueue(self.pid, signal.SIGWINCH, ctypes.c_void_p(token))

    def close(self, limit=5.0):
        """Close the channel; return the wait status of the process."""
        if self.channel is None:
            return None
        self.channel.close()
        self.channel = None
        status = reap(self.pid, limit)
        if status is None:
            os.kill(self.pid, signal.SIGKILL)
            reap(self.pid, limit)
        os.close(self.output)
        os.close(self.error)
        Process.everything.remove(self)
        return status


class Look:
    """A look-up that is answered over a channel of its own."""

    def __init__(self, channel, identifier):
        self.channel, self.identifier, self.pid = channel, identifier, None

    def reply(self, limit=LIMIT):
        self.channel.settimeout(limit)
        text, octets = b"", True
        while octets:
            octets = self.channel.recv(1 << 20)
            text += octets
        self.channel.close()
        messages = []
        while text:
            end = 8 + int(text[:8], 16)
            messages.append(Reply(parse(text[8:end].decode("utf-8"))))
            text = text[end:]
        if messages and messages[0].id == 0:
            self.pid = messages.pop(0).fields.get("pid")
            if self.pid:
                reap(self.pid, 5)
        assert len(messages) == 1 and messages[0].id == self.identifier, messages
        return messages[0]


def wait_until(condition):
    """Wait for something that no descriptor tells of; its value when it is true."""
    end = time.monotonic() + LIMIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.001)


def reap(pid, limit):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        if found == pid:
            return status
        time.sleep(0.002)
    return None


def start(core, sbcl):
    """Start a zygote."""
    channel, theirs = socket.socketpair()
    output, output_write = os.pipe()
    error, error_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output_write, 1)
        os.dup2(error_write, 2)
        os.dup2(theirs.fileno(), 3)
        os.closerange(4, 256)
        arguments = [sbcl, "--core", core, "--noinform", "--disable-ldb", "--dynamic-space-size", "512", "--end-runtime-options"]
        try:
            os.execvp(sbcl, arguments)
        finally:
            os._exit(127)
    theirs.close()
    os.close(output_write)
    os.close(error_write)
    process = Process(channel, output, error, pid)
    process.hello = process.receive()
    assert process.ask("configure", server_pid=os.getpid(), directory="/").status == "ok"
    return process


def close_everything():
    for process in list(Process.everything):
        process.close()
