"""Stands in for the commands of Claude Code, Codex and VS Code, which weigh up to 400 MB: records its arguments in ~/ran and changes the files
that they change. It is started by the name of the one it stands for; MODE makes it fail, hang, or do nothing and report success."""

import json
import os
import signal
import sys

NAME = os.path.basename(sys.argv[0])
HOME = os.environ["HOME"]


def load(path, empty):
    return json.load(open(path, encoding="utf-8")) if os.path.exists(path) else empty


def change(path, member, name, entry):
    value = load(path, {})
    servers = value.setdefault(member, {})
    if entry is None:
        servers.pop(name)
    elif NAME == "claude" and name in servers:
        sys.exit("MCP server %s already exists" % name)
    else:
        servers[name] = entry
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f)


def claude(_, verb, option, scope, name, *entry):
    assert option == "-s" and verb in ("add-json", "remove")
    path = {"user": os.path.join(os.environ.get("CLAUDE_CONFIG_DIR", HOME), ".claude.json"), "project": ".mcp.json"}[scope]
    change(path, "mcpServers", name, json.loads(entry[0]) if entry else None)


def codex(_, verb, name, *rest):
    path = os.path.join(os.environ.get("CODEX_HOME", HOME + "/.codex"), "state")
    if verb == "list":
        assert name == "--json"
        print(json.dumps([{"name": server, "transport": transport} for server, transport in load(path, {}).get("servers", {}).items()]))
    elif verb == "add":
        assert rest[0] == "--"
        change(path, "servers", name, {"type": "stdio", "command": rest[1], "args": rest[2:], "env": None})
    else:
        assert verb == "remove"
        change(path, "servers", name, None)


def code(option, entry):
    assert option == "--add-mcp"
    entry = json.loads(entry)
    change(HOME + "/.config/Code/User/mcp.json", "servers", entry.pop("name"), entry)


def put(folder, *names):
    """Make programs of these names in the folder, which is made too."""
    os.makedirs(folder, exist_ok=True)
    with open(__file__, encoding="utf-8") as f:
        text = "#!%s\n%s" % (sys.executable, f.read())
    for name in names:
        with open(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o755), "w", encoding="utf-8") as f:
            f.write(text)


def main():
    with open(HOME + "/ran", "a", encoding="utf-8") as ran:
        print(json.dumps([os.getpid(), NAME, *sys.argv[1:]]), file=ran)
    mode = os.environ.get("MODE")
    if mode == "fail" and "list" not in sys.argv:
        sys.exit("no room left")
    if mode == "hang":
        signal.pause()
    if mode != "lie" or "list" in sys.argv:
        {"claude": claude, "codex": codex, "code": code}[NAME](*sys.argv[1:])


if __name__ == "__main__":
    main()
