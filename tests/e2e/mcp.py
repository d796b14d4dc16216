"""A client of cl-mcp-server for tests and for scripts/demo: it starts the real program and talks to it over its stdio.

Client       one server process: raw lines, requests and replies, notifications, both eras, and an ending that is checked
Report       the text of an evaluation, taken apart into its sections (docs/tools.md has the contract)
TestCase     a unittest.TestCase that hands out clients and checks how each of them ended
main()       runs the tests of a file and prints TAP, for run_one.py

Environment:
  CL_MCP_SERVER         the program; build/cl-mcp-server unless set
  CL_MCP_TEST_STRETCH   every time limit here is multiplied by this
  CL_MCP_TEST_SEED      replays the random tests of a run that printed this seed
  CL_MCP_TEST_CACHE     XDG_CACHE_HOME of the servers, kept between runs, so that systems are compiled once
  CL_MCP_TEST_SANDBOX   the servers run with --sandbox and this
  CL_MCP_TEST_JOINED    set when the default session of each server is to be an image that is joined
  CL_MCP_TEST_SANITIZED set when the server was built with sanitizers, which take memory and time of their own
"""

import collections
import ctypes
import itertools
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVER = os.path.abspath(os.environ.get("CL_MCP_SERVER", os.path.join(ROOT, "build", "cl-mcp-server")))
STRETCH = float(os.environ.get("CL_MCP_TEST_STRETCH", "1"))
SANITIZED = bool(os.environ.get("CL_MCP_TEST_SANITIZED"))
SANDBOX = os.environ.get("CL_MCP_TEST_SANDBOX")
JOINED = bool(os.environ.get("CL_MCP_TEST_JOINED"))
MARK = "CL_MCP_TEST_ID"  # an environment variable: whatever process has it was started by a test

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
LEGACY_ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

DEFAULT_LIMIT = 60  # seconds to wait for a reply

if os.path.basename(sys.argv[0]).startswith("test_") and sys.argv[1:] != ["--write"]:
    sys.exit("%s runs these tests: run_one.py FILE [PART-OF-A-NAME...]" % os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_one.py"))


class TimedOut(AssertionError):
    pass


class Gone(AssertionError):
    """The server closed its stdout while something was expected."""


class RpcError(AssertionError):
    """A JSON-RPC error where a result was asked for."""

    def __init__(self, message):
        self.error = message["error"]
        self.code = self.error["code"]
        super().__init__("%d %s" % (self.code, self.error["message"]))


# Processes


def environment_of(pid):
    try:
        with open("/proc/%s/environ" % pid, "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def state_of(pid):
    """One letter, as in proc(5); "" if there is no such process."""
    try:
        with open("/proc/%s/stat" % pid, "rb") as f:
            return f.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def is_alive(pid):
    return state_of(pid) not in ("", "Z", "X")


def parent_of(pid):
    try:
        with open("/proc/%s/stat" % pid, "rb") as f:
            return int(f.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def marked(mark):
    """The living processes whose environment carries a mark that starts with this one."""
    prefix = ("%s=%s" % (MARK, mark)).encode()
    return [
        pid
        for pid in pids()
        if pid != os.getpid()
        and any(entry.startswith(prefix) for entry in environment_of(pid))
        and is_alive(pid)
    ]


def describe_process(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return "%s: %s" % (pid, f.read().replace(b"\0", b" ").decode(errors="replace")[:200])
    except OSError:
        return "%s: gone" % pid


def wait_until(condition, seconds, what):
    """Wait for something that no descriptor tells of; its value when it is true."""
    end = time.monotonic() + seconds * STRETCH
    pause = 0.001
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimedOut("%s: not within %g s" % (what, seconds * STRETCH))
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def assert_none_left(mark, seconds=5):
    try:
        wait_until(lambda: not marked(mark), seconds, "the end of every process")
    except TimedOut:
        left = marked(mark)
        message = "processes are left:\n" + "\n".join(describe_process(pid) for pid in left)
        kill(*left)
        raise AssertionError(message) from None


def kill(*pids):
    """Kill these, as far as they still exist."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def peak_memory_kib(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))


# Files


def write(path, content="", mode=None):
    """Write a file of this text, or of these bytes, and the directories that it is in. Returns its path."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    if mode is not None:
        os.chmod(path, mode)
    return path


def write_files(folder, files):
    """Write each of these texts under its name below the folder. Returns the folder."""
    for name, text in files.items():
        write(os.path.join(folder, name), text)
    return folder


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


# A client


def file_mark():
    """What marks the processes of this test file; scripts that run one file give it."""
    if "CL_MCP_TEST_FILE_ID" not in os.environ:
        os.environ["CL_MCP_TEST_FILE_ID"] = "%d-%x" % (os.getpid(), random.SystemRandom().getrandbits(32))
    return os.environ["CL_MCP_TEST_FILE_ID"]


_numbers = itertools.count(1)
_homes = []
_images = []


def joined_image():
    """The image that all servers of this file join, with CL_MCP_TEST_JOINED."""
    import joining  # it needs this file

    if not _images:
        _images.append(joining.Image(shared_home()))
    return _images[0]


def own_lisp(reason):
    """Skip a test or a class in an image that is joined, for this reason."""
    return unittest.skipIf(JOINED, "not in an image that is joined: " + reason)


def shared_home():
    """An empty home directory for all servers of this process: the person's own ~/.sbclrc must not matter."""
    if not _homes:
        _homes.append(tempfile.mkdtemp(prefix="cl-mcp-home-"))
    return _homes[0]


def clean_environment(**changes):
    """What a server gets: little, as hosts do. A change to None removes a variable."""
    kept = ("PATH", "LANG", "LC_ALL", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "SBCL_HOME")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment["HOME"] = environment["XDG_RUNTIME_DIR"] = shared_home()
    environment["XDG_CACHE_HOME"] = os.environ.get("CL_MCP_TEST_CACHE") or os.path.join(
        os.path.dirname(SERVER), "test-cache"
    )
    environment.update(changes)
    return {name: value for name, value in environment.items() if value is not None}


def run(*arguments, under=(), program=None, **named):
    """Run the program to its end, under another one if given; what became of it. Without other arguments it has no input and a clean
    environment, and what it writes is text."""
    named = {"env": clean_environment(), "capture_output": True, "text": True, "timeout": 60 * STRETCH, **named}
    if "input" not in named:
        named["stdin"] = subprocess.DEVNULL
    return subprocess.run([*under, program or SERVER, *arguments], **named)


class Reply:
    """The result of a tools/call."""

    def __init__(self, result):
        self.result = result
        self.is_error = bool(result.get("isError"))
        self.structured = result.get("structuredContent")
        self.text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")

    def __iter__(self):  # text, is_error = client.call(...)
        return iter((self.text, self.is_error))

    def __repr__(self):
        return "<%s %s>" % ("error" if self.is_error else "reply", self.text if len(self.text) < 3000 else self.text[:3000] + "...")


HEADER = re.compile(r"^\[(?:ERROR\] \S.*|[A-Za-z][A-Za-z ,]{2,60}\])$")


class Report(Reply):
    """The report of an evaluation. `sections` has their names in order; values count as the section "values"."""

    def __init__(self, result):
        super().__init__(result)
        self.sections = []
        self.values = []
        self.parts = {}
        self.error_type = None
        self.error_number = None  # of an error that is kept
        self.timing = None
        self.no_values = False
        self.earlier = None
        self._take_apart()

    def _take_apart(self):
        current, lines = None, []

        def finish():
            if current is not None:
                self.sections.append(current)
                self.parts[current] = "\n".join(lines).rstrip("\n")

        previous_is_blank = True
        for line in self.text.split("\n"):
            header = HEADER.match(line) if previous_is_blank else None
            if header:
                finish()
                lines = []
                if line.startswith("[ERROR] "):
                    current = "error"
                    self.error_type = line[len("[ERROR] "):]
                else:
                    current = line[1:-1]
            elif line.startswith("; Earlier values: ") and current not in ("values", "error"):
                self.earlier = line[len("; Earlier values: "):]
                continue
            elif previous_is_blank and (line.startswith("=> ") or line.startswith("; No values")) and current not in ("values", "error"):
                finish()
                current, lines = "values", [line]
            elif previous_is_blank and re.match(r"\(error \d+\)$", line):
                finish()
                current, lines = None, []
                self.error_number = int(line[len("(error "):-1])
            elif line.startswith("; Timing: "):
                finish()
                current, lines = None, []
                self.timing = line
                self.sections.append("timing")
            else:
                lines.append(line)
            previous_is_blank = line == ""
        finish()
        for line in self.parts.get("values", "").split("\n"):
            if line.startswith("=> "):
                self.values.append(line[3:])
            elif line in ("; No values", "; No values: the restart ABORT ended the evaluation"):
                self.no_values = True
            elif self.values and not line.startswith("; Values are printed with the standard settings;"):
                self.values[-1] += "\n" + line

    value = property(lambda self: self.values[0] if self.values else None)
    stdout = property(lambda self: self.parts.get("stdout", ""))
    stderr = property(lambda self: self.parts.get("stderr", ""))
    message = property(lambda self: self.parts.get("error"))
    hint = property(lambda self: self.parts.get("Hint", ""))
    session = property(lambda self: self.parts.get("Session", ""))

    @property
    def warnings(self):
        """(type, message) of each, without its place; the lines of one message are kept together."""
        found = []
        for line in self.parts.get("warnings", "").split("\n"):
            match = re.match(r"^(?:line \d+(?:, column \d+)?: )?([A-Z0-9:*+/-]+): (.*)$", line)
            if line.startswith("    in "):
                continue
            if match:
                found.append([match.group(1), match.group(2)])
            elif found:
                found[-1][1] += "\n" + line
        return [tuple(warning) for warning in found]

    @property
    def frames(self):
        return frames_in(self.parts.get("Backtrace", ""))

    @property
    def restarts(self):
        return re.findall(r"^(\d+)\. \[(\S+)\] (.*)$", self.parts.get("Restarts", ""), re.MULTILINE)

    @property
    def slots(self):
        return dict(re.findall(r"^(\S+): (.*)$", self.parts.get("Slots", ""), re.MULTILINE))


def frames_in(text):
    return [call for _, call in re.findall(r"^\s*(\d+): (.*)$", text, re.MULTILINE)]


class Pending:
    """A request on its way."""

    def __init__(self, client, request_id):
        self.client, self.id = client, request_id
        self.arrived = threading.Event()
        self.message = None

    def response(self, wait=DEFAULT_LIMIT):
        """The whole message, be it a result or an error."""
        if not self.arrived.wait(wait * STRETCH):
            raise TimedOut("no answer to %r within %g s\n%s" % (self.id, wait * STRETCH, self.client.story()))
        if self.message is None:
            raise Gone("the server ended without an answer to %r\n%s" % (self.id, self.client.story()))
        return self.message

    def result(self, wait=DEFAULT_LIMIT):
        message = self.response(wait)
        if "error" in message:
            raise RpcError(message)
        return message["result"]

    def reply(self, wait=DEFAULT_LIMIT):
        return Report(self.result(wait))

    @property
    def is_answered(self):
        return self.arrived.is_set()


class Client:
    def __init__(self, *options, era=LEGACY, handshake=True, environment=None, cwd=None, program=None, close_fds=True):
        self.era = era
        self.mark = "%s-%d." % (file_mark(), next(_numbers))
        environment = dict(environment if environment is not None else clean_environment())
        environment[MARK] = self.mark
        self.stderr_file = tempfile.TemporaryFile()
        self.started = time.monotonic()
        if SANDBOX and not any(option.startswith("--sandbox") for option in options):
            options = ("--sandbox", SANDBOX, *options)
        if JOINED:
            options = ("--attach", joined_image().address, *options)
        self.process = subprocess.Popen(
            [program or SERVER, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr_file,
            env=environment,
            cwd=cwd,
            bufsize=0,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self.is_closed = False
        self.ids = itertools.count(0)
        self.lock = threading.Lock()
        self.pending = {}
        self.notifications = []
        self.news = threading.Condition()
        self.inbox = queue.Queue()  # whatever is no answer to a request of ours, in order
        self.stray = []  # lines on stdout that are no JSON-RPC
        self.trace = collections.deque(maxlen=8)
        self.progress_tokens = itertools.count(1)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.server_info = None
        if handshake and era != MODERN:
            self.handshake()

    # Bytes

    def send_raw(self, data):
        """Bytes as they are; no newline is added."""
        if isinstance(data, str):
            data = data.encode()
        self.trace.append(("->", data))
        view = memoryview(data)
        while view:
            view = view[os.write(self.process.stdin.fileno(), view):]

    def send_line(self, data):
        self.send_raw((data.encode() if isinstance(data, str) else data) + b"\n")

    def send_json(self, message):
        self.send_line(json.dumps(message))

    def _read(self):
        buffered = []
        descriptor = self.process.stdout.fileno()
        while True:
            try:
                chunk = os.read(descriptor, 1 << 20)
            except OSError:
                break
            if not chunk:
                break
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                buffered.append(line)
                self._take(b"".join(buffered))
                buffered = []
            buffered.append(rest)
        if b"".join(buffered):
            self.stray.append(b"".join(buffered) + b" (without a newline)")
        with self.lock:
            for pending in self.pending.values():
                pending.arrived.set()
            self.pending.clear()
            self.is_closed = True
        self.inbox.put(None)
        with self.news:
            self.news.notify_all()

    def _take(self, line):
        self.trace.append(("<-", line))
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError:
            self.stray.append(line)
            return
        if isinstance(message, list):
            self.inbox.put(message)
            for element in message:
                self._dispatch(element, in_batch=True)
        else:
            self._dispatch(message)

    def _dispatch(self, message, in_batch=False):
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.stray.append(json.dumps(message).encode())
            return
        if "method" in message and "id" not in message:
            with self.news:
                self.notifications.append(message)
                self.news.notify_all()
            return
        with self.lock:
            pending = self.pending.pop(json.dumps(message.get("id")), None)
        if pending:
            pending.message = message
            pending.arrived.set()
        elif not in_batch:
            self.inbox.put(message)

    def receive(self, wait=DEFAULT_LIMIT):
        """The next message that answers none of our requests, e.g. the answer to a raw line; a list for a batch."""
        try:
            message = self.inbox.get(timeout=wait * STRETCH)
        except queue.Empty:
            raise TimedOut("no message within %g s\n%s" % (wait * STRETCH, self.story())) from None
        if message is None:
            raise Gone("the server ended\n" + self.story())
        return message

    def assert_silent(self):
        """Nothing is waiting, once the server has answered a request that came after everything sent so far."""
        self.request("ping") if self.era != MODERN else self.request("server/discover")
        assert self.inbox.empty(), "unexpected: %r" % self.inbox.get()

    def story(self):
        """The last lines of the conversation and of stderr, for a failure's message."""
        lines = ["%s %s" % (way, data[:600].decode(errors="replace")) for way, data in self.trace]
        return "\n".join(lines + ["stderr:"] + self.stderr()[-3000:].splitlines())

    def stderr(self):
        position = self.stderr_file.tell()
        self.stderr_file.seek(0)
        text = self.stderr_file.read().decode(errors="replace")
        self.stderr_file.seek(position)
        return text

    # Requests

    def envelope(self, params, version=MODERN):
        meta = {VERSION_KEY: version, CAPABILITIES_KEY: {}, CLIENT_KEY: {"name": "e2e", "version": "0"}}
        meta.update(params.get("_meta", {}))
        return dict(params, _meta=meta)

    def start(self, method, params=None, request_id=None):
        """Send a request and do not wait for the answer."""
        request_id = next(self.ids) if request_id is None else request_id
        pending = Pending(self, request_id)
        with self.lock:
            if self.is_closed:
                raise Gone("the server has ended\n" + self.story())
            self.pending[json.dumps(request_id)] = pending
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if self.era == MODERN:
            params = self.envelope(params or {})
        if params is not None:
            message["params"] = params
        try:
            self.send_json(message)
        except BrokenPipeError:
            raise Gone("the server has closed its stdin\n" + self.story()) from None
        return pending

    def request(self, method, params=None, wait=DEFAULT_LIMIT):
        return self.start(method, params).result(wait)

    def error(self, method, params=None, wait=DEFAULT_LIMIT):
        """The error object that answers a request."""
        message = self.start(method, params).response(wait)
        assert "error" in message, "no error: %r" % message
        return message["error"]

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send_json(message)

    def handshake(self, version=None):
        result = self.request(
            "initialize",
            {"protocolVersion": version or self.era, "capabilities": {}, "clientInfo": {"name": "e2e", "version": "0"}},
        )
        self.server_info = result["serverInfo"]
        self.notify("notifications/initialized")
        return result

    def start_call(self, tool, arguments=None, meta=None, **named):
        arguments = dict(arguments or {})
        arguments.update((name.replace("_", "-"), value) for name, value in named.items())
        params = {"name": tool, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        return self.start("tools/call", params)

    def call(self, tool, arguments=None, wait=DEFAULT_LIMIT, meta=None, **named):
        """Call a tool. Named arguments have `_` for `-`: capture_time=True."""
        return self.start_call(tool, arguments, meta, **named).reply(wait)

    def evaluate(self, code, wait=DEFAULT_LIMIT, **named):
        return self.call("evaluate-lisp", {"code": code}, wait, **named)

    def newest_error(self):
        return int(re.search(r"(?m)^(\d+)\. ", self.call("list-errors").text).group(1))

    def wait_for_notification(self, condition, wait=DEFAULT_LIMIT):
        """The first notification, already here or to come, for which the condition holds."""
        end = time.monotonic() + wait * STRETCH
        seen = 0
        with self.news:
            while True:
                for message in self.notifications[seen:]:
                    if condition(message):
                        return message
                seen = len(self.notifications)
                if self.is_closed or not self.news.wait(max(0, end - time.monotonic())):
                    raise TimedOut("the notification did not come\n" + self.story())

    # The end

    def processes(self):
        """Every living process of this server, itself included."""
        return marked(self.mark)

    def wait(self, wait=15):
        """Wait for the server to end by itself; its exit status."""
        try:
            status = self.process.wait(wait * STRETCH)
        except subprocess.TimeoutExpired:
            raise TimedOut("the server did not end within %g s\n%s" % (wait * STRETCH, self.story())) from None
        self.reader.join(5 * STRETCH)
        return status

    def close(self, status=0, wait=15):
        """End it as a client does, by closing its input, and check everything that holds for every server."""
        try:
            if self.process.stdin:
                self.process.stdin.close()
                self.process.stdin = None
            ended = self.wait(wait)
            assert ended == status, "exit status %r instead of %r\n%s" % (ended, status, self.story())
            assert not self.stray, "stray output on stdout: %r" % self.stray[:3]
            errors = self.stderr()
            assert "Sanitizer" not in errors and "runtime error:" not in errors, errors
        finally:
            self.destroy()
        assert_none_left(self.mark)

    def destroy(self):
        """Make sure that it is gone; no checks."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None
        self.reader.join(5)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind is None:
            self.close()
        else:
            self.destroy()
            kill(*marked(self.mark))


# Tests


class TestCase(unittest.TestCase):
    """`self.s` is a server with the handshake done, started on first use, ended and checked after the test.

    With `shares_server` it is ended and checked after the last test of the class, and each test begins with sessions
    that are new."""

    options = ()
    era = LEGACY
    shares_server = False
    longMessage = True
    maxDiff = 4000

    def setUp(self):
        self.clients = []
        self._server = None

    def start_server(self, *options, **named):
        named.setdefault("era", self.era)
        client = Client(*options, **named)
        self.clients.append(client)
        self.addCleanup(self._finish, client)
        return client

    def _finish(self, client):
        if client.process.poll() is not None and client.process.stdin is None:
            client.destroy()
            assert_none_left(client.mark)
        else:
            client.close()

    def _share_server(self):
        """The server of the class, with no session; another one if a test before has ended it."""
        kept = type(self).__dict__.get("_kept")
        if kept is not None and kept.is_closed:
            kept.destroy()
            kept = None
        if kept is None:
            kept = Client(*self.options, era=self.era)
            if "_kept" not in type(self).__dict__:
                self.addClassCleanup(self._end_shared_server)
            type(self)._kept = kept
        else:
            for name in re.findall(r"(?m)^- (\S+): ", kept.call("list-sessions").text):
                kept.call("close-session", session=name)
            kept.notifications.clear()
        if JOINED:
            joined_image().forget_definitions()
            # The first reply tells which Lisp it is, where the tests expect nothing else than the contract's text.
            kept.call("list-threads")
        self.clients.append(kept)
        return kept

    @classmethod
    def _end_shared_server(cls):
        cls._kept.close()

    @property
    def s(self):
        if self._server is None:
            self._server = self._share_server() if self.shares_server else self.start_server(*self.options)
        return self._server

    def folder(self):
        """A directory of its own, removed after the test."""
        path = tempfile.mkdtemp(prefix="cl-mcp-test-")
        self.addCleanup(shutil.rmtree, path, True)
        return path

    def file(self, text, name="file.lisp", mode=None):
        """The path of a file with this text, in a directory of its own."""
        return write(os.path.join(self.folder(), name), text, mode)

    def random(self):
        """A generator whose seed is printed."""
        seed = int(os.environ.get("CL_MCP_TEST_SEED", random.SystemRandom().getrandbits(32)))
        print("# %s: seed %d (CL_MCP_TEST_SEED=%d replays it)" % (self.id().partition(".")[2], seed, seed), flush=True)
        return random.Random(seed)

    def assertDoesNotStart(self, says, *options, status=1, **named):
        """The server ends at once with these options, and says why. Other arguments as of run()."""
        done = run(*options, **named)
        self.assertEqual((status, ""), (done.returncode, done.stdout), done.stderr)
        self.assertIn(says, done.stderr)
        return done.stderr

    def assertGrowth(self, pid, before, mib):
        """The process takes at most this many MiB more than the KiB of before; a sanitizer has memory of its own."""
        if not SANITIZED:
            self.assertLess(peak_memory_kib(pid) - before, mib << 10)

    def enter(self, code, frame=0, **named):
        return self.s.call("evaluate-in-frame", frame=frame, code=code, **named)

    def restart(self, name, **named):
        return self.s.call("invoke-restart", restart=str(name), **named)

    # Assertions about reports

    def assertSucceeds(self, reply, *words):
        """It is no error and says these; given back."""
        self.assertFalse(reply.is_error, reply.text)
        for word in words:
            self.assertIn(word, reply.text)
        return reply

    def assertIsError(self, reply, *words):
        """It is an error and says these; given back."""
        self.assertTrue(reply.is_error, reply.text)
        for word in words:
            self.assertIn(word, reply.text)
        return reply

    def assertValue(self, report, *values):
        """It succeeded with these values, as they are printed."""
        self.assertEqual(list(values), self.assertSucceeds(report).values, report.text)

    def assertEvaluates(self, code, *values, **named):
        report = self.s.evaluate(code, **named)
        self.assertValue(report, *values)
        return report

    def assertErrorReport(self, report, error_type=None):
        """A well-formed report of an error, of this type if given (a part of its name is enough)."""
        self.assertTrue(report.is_error, report.text)
        self.assertIsNotNone(report.error_type, report.text)
        self.assertRegex(report.error_type, r"^[^\s]+$", report.text)
        self.assertIsNotNone(report.message, report.text)
        self.assertNotEqual("", report.message.strip(), report.text)
        if error_type:
            self.assertIn(error_type, report.error_type, report.text)
        return report

    def assertFails(self, code, error_type=None, **named):
        return self.assertErrorReport(self.s.evaluate(code, **named), error_type)

    def assertOperational(self, client=None):
        """It answers, and it computes."""
        client = client or self.s
        self.assertValue(client.evaluate("(+ 1 2)"), "3")

    def assertSectionsInOrder(self, report):
        order = ["stdout", "stderr", "warnings", "values", "error", "Backtrace", "Restarts", "Slots", "Hint", "Session", "timing"]
        positions = [order.index(name) for name in report.sections if name in order]
        self.assertEqual(sorted(positions), positions, report.text)
        # Output that ends in empty lines may be cut between them: the mark of the cut is no section.
        self.assertNotRegex(report.text, r"\n\n\n\[(?!… )")


class SessionTest(TestCase):
    """A test of what happens in a session."""

    shares_server = True


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.failed = 0
        self.notes = []
        self.reason = None

    @staticmethod
    def name_of(test):
        if isinstance(test, unittest.TestCase):
            return "%s: %s" % (type(test).__name__, test._testMethodName[len("test_"):].replace("_", " "))
        return str(test)

    def startTest(self, test):
        super().startTest(test)
        self.notes, self.reason = [], None

    def _note(self, test, error):
        self.notes.append(self._exc_info_to_string(error, test))  # without the frames of unittest itself

    def addError(self, test, error):
        self._note(test, error)
        if not isinstance(test, unittest.TestCase):  # setUpClass, tearDownClass
            self._print(test)

    def addFailure(self, test, error):
        self._note(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.notes.append("%s\n%s" % (subtest._subDescription(), self._exc_info_to_string(error, test)))

    def addSkip(self, test, reason):
        self.reason = reason

    def stopTest(self, test):
        self._print(test)

    def _print(self, test):
        self.count += 1
        name = self.name_of(test).replace("#", "")
        if self.notes:
            self.failed += 1
            print("not ok %d - %s" % (self.count, name))
            for note in self.notes:
                for line in note.rstrip().splitlines():
                    print("#   " + line[:2000])
            for client in getattr(test, "clients", []):
                for line in client.stderr()[-2000:].splitlines():
                    print("#   server: " + line)
        elif self.reason is not None:
            print("ok %d - %s # SKIP %s" % (self.count, name, self.reason))
        else:
            print("ok %d - %s" % (self.count, name))
        sys.stdout.flush()
        self.notes, self.reason = [], None


def main(module, wanted):
    """Run the tests of a file, or those whose name contains one of the words; print TAP."""
    # Orphans come to us instead of to init, so that their end can be seen.
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    file_mark()
    suite = unittest.TestLoader().loadTestsFromModule(module)

    def flatten(tests):
        for test in tests:
            if isinstance(test, unittest.TestSuite):
                yield from flatten(test)
            else:
                yield test

    tests = [test for test in flatten(suite) if not wanted or any(w in TapResult.name_of(test) or w in test.id() for w in wanted)]
    print("1..%d" % (len(tests) + 1), flush=True)
    result = TapResult()
    unittest.TestSuite(tests).run(result)
    result.count += 1
    try:
        assert_none_left(file_mark())
        print("ok %d - no process is left after the file" % result.count)
    except AssertionError as error:
        result.failed += 1
        print("not ok %d - no process is left after the file" % result.count)
        print("\n".join("#   " + line for line in str(error).splitlines()))
    for image in _images:
        image.end()
    for home in _homes:
        shutil.rmtree(home, True)
    sys.stdout.flush()
    sys.exit(1 if result.failed else 0)
