"""What the files in tests/data/tools say of a tool, and a server to try it on. docs/tools.md shows the examples.

Tool       one file: setup, example, cases, what the driver must know
Bench      a server with a directory of its own; fresh sessions for each try
normal()   a reply without the parts that differ from run to run

A file, NAME.json:
  setup      what is done first, in order: Lisp to evaluate; or {"tool", "arguments", "wait"} for another call,
             "wait": false for one that continues while the example runs
  files      {"name": "text"}: written to the directory in which the Lisps work, first of all
  example    {"arguments", "reply", "masks", "error"}: the ordinary use; the reply is literal text, masks are
             patterns of what varies in it
  cases      [{"name", "arguments", "reply", "error"}]: the reply is a pattern that must match all of it ("." is
             any character); a case runs after those before it, on the state that the example left
  changes    true: the tool changes the session. Absent: it only looks, and the driver checks that
  contexts   {"running" | "after-error" | "second-session": reason}: where the example's reply is not the same

The directory in which the Lisps work is /project in every reply, times and addresses are masked everywhere.

usage: contract.py [--write] NAME...

Shows what the tools reply now; --write puts the example's reply into the file.
"""

import json
import os
import re
import shutil
import sys
import tempfile
import time

import mcp

FOLDER = os.path.join(mcp.ROOT, "tests", "data", "tools")
CONTEXTS = ("running", "after-error", "second-session")
SECOND = "second-session"  # the name of the other session; replies are compared as if it were the default one
MEMBERS = {"setup", "files", "example", "cases", "changes", "contexts"}

# What differs from run to run wherever it appears.
VARYING = [
    r"\{[0-9A-F]{6,16}\}",  # addresses of objects
    r"(\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\dZ",
]


def names(former=False):
    """The tools that have a file; former: the names of former versions, which can still be called."""
    folder = os.path.join(FOLDER, "former") if former else FOLDER
    return sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".json"))


def path_of(name):
    path = os.path.join(FOLDER, name + ".json")
    return path if os.path.exists(path) else os.path.join(FOLDER, "former", name + ".json")


class Tool:
    def __init__(self, name):
        with open(path_of(name), encoding="utf-8") as f:
            data = json.load(f)
        unknown = set(data) - MEMBERS
        if unknown:
            raise AssertionError("%s.json: unknown member %s" % (name, ", ".join(sorted(unknown))))
        self.name = name
        self.setup = data.get("setup", [])
        self.files = data.get("files", {})
        self.example = data["example"]
        self.cases = data.get("cases", [])
        self.changes = data.get("changes", False)
        self.contexts = data.get("contexts", {})
        if set(self.contexts) - set(CONTEXTS):
            raise AssertionError("%s.json: contexts are %s" % (name, ", ".join(CONTEXTS)))


def save(name, data):
    """Write a file in the one form they have: a line for each step, file and case."""
    def line(value):
        return json.dumps(value, ensure_ascii=False)

    def lines(opening, items, closing):
        return opening + ",".join("\n    " + item for item in items) + ("\n  " if items else "") + closing

    members = []
    for key, value in data.items():
        if isinstance(value, list):
            text = lines("[", [line(item) for item in value], "]")
        elif isinstance(value, dict):
            text = lines("{", ["%s: %s" % (line(k), line(v)) for k, v in value.items()], "}")
        else:
            text = line(value)
        members.append("  %s: %s" % (line(key), text))
    with open(path_of(name), "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join(members) + "\n}\n")


def normal(text, masks=()):
    for mask in [*VARYING, *masks]:
        text = re.sub(mask, "(…)", text)
    return text


class Bench:
    """A server and the directory in which its Lisps work."""

    def __init__(self, *options):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="cl-mcp-test-"))
        self.project = os.path.join(self.folder, "project")
        self.gate = os.path.join(self.folder, "gate")
        os.mkdir(self.project)
        os.mkfifo(self.gate)
        state = os.path.join(self.folder, "state")
        self.client = mcp.Client("--directory", self.project, "--state-dir", state, *options)
        self.schemas = self.listed()
        self.pending = []
        self.written = {}  # by path: the text and when

    def listed(self):
        return {tool["name"]: tool for tool in self.client.request("tools/list")["tools"]}

    def schema(self, tool):
        """The arguments it takes; None if there is no such tool now."""
        tools = self.listed() if tool.startswith("user-") else self.schemas
        return tools[tool]["inputSchema"] if tool in tools else None

    def close(self):
        try:
            self.client.close()
        finally:
            shutil.rmtree(self.folder, True)

    def takes_session(self, tool):
        return "session" in self.schemas[tool]["inputSchema"]["properties"]

    def start(self, tool, arguments, session=None):
        if session and tool in self.schemas and self.takes_session(tool):
            arguments = dict({"session": session}, **arguments)
        return self.client.start_call(tool, arguments)

    def finish(self, pending):
        """Its reply: (text, is_error)."""
        reply = pending.reply(wait=120)
        return reply.text.replace(self.project, "/project").replace(SECOND, "default"), reply.is_error

    def call(self, tool, arguments, session=None):
        return self.finish(self.start(tool, arguments, session))

    def fresh(self):
        """Nothing is left of what was tried before."""
        for name in re.findall(r"^- (\S+): ", self.client.call("list-sessions").text, re.MULTILINE):
            self.client.call("close-session", session=name)
        for pending in self.pending:
            pending.response()
        self.pending = []
        shutil.rmtree(os.path.join(self.folder, "state"), True)
        # The directory itself stays: it is the working directory of a Lisp.
        for entry in os.scandir(self.project):
            shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)

    def keep_time(self, path, text):
        """What is written once more is as old as the first time: what was compiled from it is still of this file."""
        last = self.written.get(path)
        if last is not None and last[0] == text:
            os.utime(path, ns=(last[1], last[1]))
        self.written[path] = (text, os.stat(path).st_mtime_ns)

    def prepare(self, tool, session=None):
        """What the tool's file wants done first, in a fresh session."""
        self.fresh()
        if session:
            self.client.call("create-session", name=session)
        for name, text in tool.files.items():
            path = os.path.join(self.project, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            self.keep_time(path, text)
        for step in tool.setup:
            if isinstance(step, str):
                step = {"tool": "evaluate-lisp", "arguments": {"code": step}}
            pending = self.start(step["tool"], step.get("arguments", {}), session)
            if step.get("wait", True):
                pending.reply(wait=120)
            else:
                self.pending.append(pending)
                self.wait_until_running(session or "default")

    def wait_until_running(self, session):
        pattern = re.compile(r"^- %s: (?!idle|starting)" % re.escape(session), re.MULTILINE)
        mcp.wait_until(
            lambda: pattern.search(self.client.call("list-sessions").text),
            20,
            "an evaluation that runs",
        )

    def hold(self, session=None):
        """Start an evaluation that runs until the function that this returns is called."""
        code = '(with-open-file (gate "%s") (read-char gate) :held)' % self.gate
        pending = self.start("evaluate-lisp", {"code": code}, session)
        # A pipe opens for writing without waiting only when it is open for reading.
        def opened():
            try:
                return os.open(self.gate, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return None

        gate = mcp.wait_until(opened, 20, "an evaluation at the gate")

        def release():
            try:
                os.write(gate, b"x")
            except BrokenPipeError:
                pass  # the evaluation was stopped
            os.close(gate)
            return pending.response()

        return release


def main():
    write = "--write" in sys.argv
    bench = Bench()
    for name in [a for a in sys.argv[1:] if a != "--write"]:
        tool = Tool(name)
        bench.prepare(tool)
        started = time.monotonic()
        text, is_error = bench.call(name, tool.example["arguments"])
        took_ms = 1000 * (time.monotonic() - started)
        print("== %s (%.0f ms)%s\n%s" % (name, took_ms, " error" if is_error else "", text))
        for case in tool.cases:
            text_of_case, failed = bench.call(name, case["arguments"])
            print("-- %s%s\n%s" % (case["name"], " error" if failed else "", text_of_case[:3000]))
        if write:
            with open(path_of(name), encoding="utf-8") as f:
                data = json.load(f)
            masks = tool.example.get("masks", ())
            if normal(text, masks) != normal(data["example"].get("reply", ""), masks):
                data["example"]["reply"] = text
            data["example"]["error"] = is_error
            save(name, data)
    bench.fresh()
    bench.close()


if __name__ == "__main__":
    main()
